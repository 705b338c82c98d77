"""YAML from anybody: no key is given twice, and a few aliases cannot stand for gigabytes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import yaml

_MAX_ALIASED = 10_000
"""Values that all aliases of a document may stand for together."""


class BoundedLoader(yaml.SafeLoader):
    """A safe loader that refuses both."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._aliased = 0
        self._sizes: Counter[yaml.Node] = Counter()
        """Values in each node that is whole, those that aliases stand for included."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        is_alias = self.check_event(yaml.AliasEvent)
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        node = super().compose_node(parent, index)
        assert node is not None
        if is_alias and node not in self._sizes:
            raise yaml.MarkedYAMLError(problem="an alias is part of itself", problem_mark=mark)
        self._aliased += self._sizes[node] if is_alias else 0
        if self._aliased > _MAX_ALIASED:
            problem = f"aliases stand for more than {_MAX_ALIASED:,} values"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
        if not is_alias:
            parts = node.value if isinstance(node, yaml.CollectionNode) else ()
            pairs = isinstance(node, yaml.MappingNode)
            inside = [each for pair in parts for each in pair] if pairs else parts
            self._sizes[node] = 1 + sum(self._sizes[each] for each in inside)
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """A mapping as it is written: before merges, which put keys of one into others."""
        node = super().compose_mapping_node(anchor)
        names: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in names:
                    problem = f"`{key.value}` is given twice"
                    raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
                names.add(key.value)
        return node


def load_yaml(text: str) -> Any:
    """The value of a document; raises `ValueError` with what is wrong and where."""
    try:
        return yaml.load(text, BoundedLoader)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise ValueError(f"{line}{error.problem}") from None
    except (yaml.YAMLError, LookupError, AttributeError, RecursionError) as error:
        # Invalid dates and numbers raise the errors of their types.
        raise ValueError(str(error)) from None
