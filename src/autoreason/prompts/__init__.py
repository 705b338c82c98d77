"""The prompts: one Markdown file per role, rendered by Jinja in its sandbox."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from autoreason.errors import InvalidInput
from autoreason.task import read_text

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.sandbox import SandboxedEnvironment

_HEADER = re.compile(r"\{#- required: (.*?); optional: (.*?) -#\}")
_BUILT_IN = Path(__file__).parent
_FOLDERS: dict[str | None, str] = {"programs": "code", "files": "research"}
"""Of jobs that write something other than texts."""
_SMALL = "small/"
"""The prefix of short prompts in a set that has both."""
SMALL = Path("small")
"""Selects the built-in short prompts in place of a folder."""


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

    def compile(self, names: Iterable[str]) -> None:
        """Do now what the first time that one of these is rendered would take milliseconds."""
        for name in self.sources.keys() & names:
            _compiled(self.sources[name])

    @property
    def small(self) -> PromptSet | None:
        """The set with its short prompts in place of the long ones; None where there are none."""
        few = {
            name.removeprefix(_SMALL): text
            for name, text in self.sources.items()
            if name.startswith(_SMALL)
        }
        return PromptSet(self.sources | few) if few else None

    def with_small(self) -> PromptSet:
        """The set with the short version of every built-in prompt that the user has not replaced."""
        usual, few = built_in().sources, _read_all(_BUILT_IN / "small")
        sources = self.sources
        return PromptSet(
            sources | {_SMALL + name: few[name] for name in few if sources.get(name) == usual[name]}
        )

    def with_short_judge(self) -> PromptSet:
        """The set with fewer words for judges, unless the user replaced theirs or they judge programs."""
        if self.sources.get("judge") != built_in().sources["judge"]:
            return self
        return PromptSet(self.sources | _read_all(_BUILT_IN / "short"))

    def only(self, names: Iterable[str] | None) -> PromptSet:
        """Just the prompts of these names; None is all of them."""
        if names is None:
            return self
        names = tuple(names)
        if missing := set(names) - set(self.sources):
            raise InvalidInput(f"no prompt {min(missing)!r}; the prompts are {_list(self.sources)}")
        return PromptSet({name: self.sources[name] for name in names})

    def write(self, folder: Path, *, force: bool = False) -> None:
        """One file per prompt into a folder; `force` replaces those that are there."""
        if folder == SMALL:
            raise InvalidInput("small means our own prompts; name another folder")
        files = {folder / f"{name}.md": source for name, source in self.sources.items()}
        if not force and (there := next((file for file in files if file.exists()), None)):
            raise InvalidInput(f"{there} is there already; name another folder, or set `force`")
        folder.mkdir(parents=True, exist_ok=True)
        for file, source in files.items():
            file.write_text(source, "utf-8")


@cache
def built_in(*, small: bool = False, writes: str | None = None) -> PromptSet:
    """The prompts of jobs that write this: texts, programs or files; `small` are the short ones for texts."""
    if folder := _FOLDERS.get(writes):
        # They are short enough for any model. Artifacts are judged as texts are, programs by prompts of their own.
        names = ("ballot_again", "judge", "length_check") if writes == "files" else ()
        judging = {name: built_in().sources[name] for name in names}
        return PromptSet(judging | _read_all(_BUILT_IN / folder))
    sources = _read_all(_BUILT_IN)
    return PromptSet(sources | _read_all(_BUILT_IN / "small") if small else sources)


@cache
def _read_all(folder: Path) -> dict[str, str]:
    return {path.stem: path.read_text("utf-8") for path in sorted(folder.glob("*.md"))}


def load(folder: Path | None, *, small: bool = False, writes: str | None = None) -> PromptSet:
    """The built-in prompts, with those in `folder` in place of their namesakes."""
    if folder == SMALL:
        if writes in _FOLDERS:
            raise InvalidInput(f"{writes} have no prompts in few words; leave out `prompts` small")
        folder, small = None, True
    usual = built_in(small=small, writes=writes)
    if folder is None:
        return usual
    try:
        found = folder.is_dir()
    except OSError as error:
        raise InvalidInput(f"cannot read the prompt folder: {error.strerror}") from None
    if not found:
        raise InvalidInput(f"no prompt folder at {folder}; check the name")
    own = {path.stem: path for path in sorted(folder.glob("*.md"))}
    if not own:
        raise InvalidInput(f"{folder} has no prompts; name them {_list(usual.sources)}, with .md")
    return PromptSet(
        usual.sources
        | {name: _check(path, usual, built_in(writes=writes)) for name, path in own.items()}
    )


def _check(path: Path, usual: PromptSet, full: PromptSet) -> str:
    # Jinja is only needed once a prompt is rendered.
    from autoreason.prompts.overrides import check_override

    if path.stem not in usual.sources:
        raise InvalidInput(f"{path} is not the name of a prompt; they are {_list(usual.sources)}")
    known = takes(full.sources[path.stem]).all
    needed = takes(usual.sources[path.stem]).required
    source = read_text(path, "prompt")
    check_override(path, source, known, needed, _environment())
    return source


class Takes(NamedTuple):
    """The variables a prompt takes, by name."""

    required: frozenset[str]
    """Those it must show; of a list's entries, as `candidates.text`."""
    optional: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        """All of them, without the fields of their entries."""
        return self.optional | {name.partition(".")[0] for name in self.required}


def takes(source: str) -> Takes:
    header = _HEADER.match(source)
    assert header, "every built-in prompt states its variables"
    required, optional = (frozenset(part.split(", ")) - {"none"} for part in header.groups())
    return Takes(required, optional)


@lru_cache(maxsize=256)
def _compiled(source: str) -> Template:
    # Compiling takes milliseconds: only what is used is compiled, and once for hundreds of runs.
    return _environment().from_string(source)


@cache
def _environment() -> SandboxedEnvironment:
    # Jinja is only needed once a prompt is rendered.
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(undefined=StrictUndefined)
    # A prompt has its variables and nothing else.
    environment.globals.clear()
    return environment


def _list(names: Any) -> str:
    return ", ".join(sorted(names))
