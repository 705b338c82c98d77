"""The prompts: one Markdown file a role, rendered by Jinja in its sandbox."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreason.errors import InvalidInput
from autoreason.task import read_text

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.sandbox import SandboxedEnvironment

_HEADER = re.compile(r"\{#-?\s*variables:\s*(.*?)\s*-?#\}", re.DOTALL)
_BUILT_IN = Path(__file__).parent
_FULL: dict[str, Any] = {
    "boundary": "a1b2",
    "brief": "Write it.",
    "candidates": [{"label": "P", "text": "One."}, {"label": "Q", "text": "Two."}],
    "critique": "It is short.",
    "facts": "It rains.",
    "guidance": "Look at the end.",
    "form": "End with a ranking.",
    "labels": ["P", "Q"],
    "leaks": ["revised version"],
    "lens": "clarity",
    "quoted": True,
    "rules": ("At most 9 words.",),
    "style": "reasoned",
    "text": "One.",
    "texts": ["One.", "Two."],
    "violations": ["12 words, at most 9 allowed"],
    "entry_point": "add",
    "examples": [
        {"input": "1 2", "output": "3", "code": ""},
        {"input": "", "output": "", "code": "assert add(1, 2) == 3"},
    ],
    "findings": "It adds 1 too many.",
    "memory": 512,
    "program": "print(3)",
    "programs": [
        {"text": "print(3)", "results": "Test 1: wrong answer."},
        {"text": "print(4)", "results": "Test 1: accepted."},
    ],
    "results": "Test 1: wrong answer.",
    "seconds": 2,
    "starter": "def add(a, b):",
    "statement": "Add two numbers.",
    "title": "Sums",
    "tried": "print(5)",
}
_SPARE = _FULL | {
    "facts": None,
    "guidance": "",
    "lens": "",
    "quoted": False,
    "rules": (),
    "entry_point": "",
    "examples": [],
    "findings": "",
    "results": "",
    "starter": "",
    "title": "",
    "tried": "",
}
_SAMPLES = (_FULL, _SPARE, _SPARE | {"style": "holistic"}, _FULL | {"style": "specialists"})
"""What prompts are given, in the ways that make a difference."""


class PromptSet:
    """Templates by name, ready to render."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.sources = dict(sources)

    def render(self, name: str, **variables: Any) -> str:
        """One prompt with its variables filled in."""
        template = _compiled(self.sources[name])
        # Jinja's own `render` goes through its globals every time; our prompts use none.
        context = _environment().context_class(
            _environment(), variables, template.name, template.blocks
        )
        return "".join(template.root_render_func(context)).strip()

    def compile_all(self) -> None:
        """Compile what has not been rendered yet, at a moment when nobody waits for it."""
        for source in self.sources.values():
            _compiled(source)

    def only(self, names: Iterable[str] | None) -> PromptSet:
        """Just the prompts of these names; None is all of them."""
        if names is None:
            return self
        names = tuple(names)
        if missing := set(names) - set(self.sources):
            raise InvalidInput(
                f"there is no prompt {min(missing)!r}; the prompts are {_list(self.sources)}"
            )
        return PromptSet({name: self.sources[name] for name in names})


@cache
def built_in(*, small: bool = False, code: bool = False) -> PromptSet:
    """The prompts that come with the library, for texts or for programs; for a very small author, in a few words."""
    if code:
        # They are short enough for any model.
        return PromptSet(_read_all(_BUILT_IN / "code"))
    sources = _read_all(_BUILT_IN)
    return PromptSet(sources | _read_all(_BUILT_IN / "small") if small else sources)


def _read_all(folder: Path) -> dict[str, str]:
    return {path.stem: path.read_text("utf-8") for path in sorted(folder.glob("*.md"))}


def load(folder: Path | None, *, small: bool = False, code: bool = False) -> PromptSet:
    """The built-in prompts, with those in `folder` in place of their namesakes."""
    usual = built_in(small=small, code=code)
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
        usual.sources
        | {name: _check(name, path, built_in(code=code)) for name, path in own.items()}
    )


def _check(name: str, path: Path, usual: PromptSet) -> str:
    from jinja2 import TemplateSyntaxError, meta, nodes

    if name not in usual.sources:
        raise InvalidInput(f"{path} is no prompt of ours; the prompts are {_list(usual.sources)}")
    source = read_text(path, "prompt")
    try:
        tree = _environment().parse(source)
        used = meta.find_undeclared_variables(tree)
    except TemplateSyntaxError as error:
        raise InvalidInput(
            f"{path} line {error.lineno}: {error.message}; mend the template"
        ) from None
    if any(map(tree.find, (nodes.Include, nodes.Extends, nodes.Import, nodes.FromImport))):
        raise InvalidInput(f"{path} takes in another template; write the prompt whole in one file")
    known = variables_of(usual.sources[name])
    if used - known:
        offered = _list(known) if known else "none"
        raise InvalidInput(
            f"{path} uses unknown variable `{min(used - known)}`; {name} has {offered}"
        )
    _try_out(path, source, known)
    return source


def _try_out(path: Path, source: str, known: frozenset[str]) -> None:
    """Render a prompt as a run would: what fails later is paid for."""
    prompts = PromptSet({"it": source})
    try:
        for sample in _SAMPLES:
            prompts.render("it", **{name: sample[name] for name in known})
    except Exception as error:
        raise InvalidInput(f"{path} cannot be rendered: {error}; mend the template") from None


def variables_of(source: str) -> frozenset[str]:
    """The variables a built-in prompt states at its top."""
    header = _HEADER.match(source)
    assert header, "every built-in prompt states its variables"
    return frozenset(header.group(1).split(", ")) - {"none"}


@lru_cache(maxsize=256)
def _compiled(source: str) -> Template:
    # Compiling takes milliseconds: only what is said is compiled, and once for hundreds of runs.
    return _environment().from_string(source)


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
