"""The prompts: one Markdown file a role, rendered by Jinja in its sandbox."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreason.errors import InvalidInput

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.sandbox import SandboxedEnvironment

_HEADER = re.compile(r"\{#-?\s*variables:\s*(.*?)\s*-?#\}", re.DOTALL)
_BUILT_IN = Path(__file__).parent


class PromptSet:
    """Templates by name, ready to render."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.sources = dict(sources)

    def render(self, name: str, **variables: Any) -> str:
        """One prompt with its variables filled in."""
        template = self._templates[name]
        # Jinja's own `render` copies its globals every time; our prompts use none.
        context = template.new_context(variables, shared=True)
        return "".join(template.root_render_func(context)).strip()

    @cached_property
    def _templates(self) -> dict[str, Template]:
        environment = _environment()
        return {name: environment.from_string(source) for name, source in self.sources.items()}


@cache
def built_in() -> PromptSet:
    """The prompts that come with the library."""
    return PromptSet(
        {path.stem: path.read_text("utf-8") for path in sorted(_BUILT_IN.glob("*.md"))}
    )


def load(folder: Path | None) -> PromptSet:
    """The built-in prompts, with those in `folder` in place of their namesakes."""
    usual = built_in()
    if folder is None:
        return usual
    if not folder.is_dir():
        raise InvalidInput(f"no prompt folder at {folder}; check the name")
    own = {path.stem: path for path in sorted(folder.glob("*.md"))}
    if not own:
        raise InvalidInput(
            f"{folder} has no prompts; name them {_list(usual.sources)}, each ending in .md"
        )
    return PromptSet(
        usual.sources | {name: _check(name, path, usual) for name, path in own.items()}
    )


def _check(name: str, path: Path, usual: PromptSet) -> str:
    from jinja2 import TemplateSyntaxError, meta

    if name not in usual.sources:
        raise InvalidInput(f"{path} is no prompt of ours; the prompts are {_list(usual.sources)}")
    source = path.read_text("utf-8")
    try:
        used = meta.find_undeclared_variables(_environment().parse(source))
    except TemplateSyntaxError as error:
        raise InvalidInput(
            f"{path} line {error.lineno}: {error.message}; mend the template"
        ) from None
    known = variables_of(usual.sources[name])
    if used - known:
        offered = _list(known) if known else "none"
        raise InvalidInput(
            f"{path} uses unknown variable `{min(used - known)}`; {name} has {offered}"
        )
    return source


def variables_of(source: str) -> frozenset[str]:
    """The variables a built-in prompt states at its top."""
    header = _HEADER.match(source)
    assert header, "every built-in prompt states its variables"
    return frozenset(header.group(1).split(", ")) - {"none"}


@cache
def _environment() -> SandboxedEnvironment:
    # Jinja is only needed once something is to be said.
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    return SandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, keep_trailing_newline=False
    )


def _list(names: Any) -> str:
    return ", ".join(sorted(names))
