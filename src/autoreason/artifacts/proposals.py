"""Reads what a proposer writes: a hypothesis, the effect it expects, and edits in blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from autoreason.artifacts.artifact import Edit, ProposalError
from autoreason.artifacts.measurement import Files
from autoreason.characters import without_controls
from autoreason.programs.source import without_reasoning

_FIELD = re.compile(
    r"^[\s#>*_-]*(?P<name>hypothesis|expected(?: effect| gain| change)?)[*_ ]*(?::[*_ ]*|$)(?P<rest>.*)",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^[ \t]*(?P<mark>`{3,}|~{3,})(?P<info>[^`\n]*)$")
_SEARCH = re.compile(r"^[ \t]*<{5,9}[ \t]*SEARCH\b.*$")
_MIDDLE = re.compile(r"^[ \t]*={5,9}[ \t]*$")
_REPLACE = re.compile(r"^[ \t]*>{5,9}[ \t]*REPLACE\b.*$")
_REMOVE = re.compile(r"^[\s#>*_-]*(?:REMOVE|DELETE)(?: FILE)?[*_: ]+(?P<path>\S.*)$")
_LABEL = re.compile(
    r"^[\s#>*_\d.)-]*(?P<named>(?:new |whole )?(?:file|path|replace|edit|create|change|in)[*_: ]+)?(?P<path>\S.*)$",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,9}")
_LEFT_OUT = re.compile(
    r"(?:#|//|--|%|<!--)?\s*(?:\.\.\.|…)\s*\(?(?:(?:the )?(?:rest|remain|exist|unchanged|same|other|previous)\b.*)"
    r"|(?:#|//|--)\s*(?:(?:the )?(?:rest|remainder) of|existing code|unchanged)\b.*",
    re.IGNORECASE,
)
_MAX_WORDS = 600
"""Characters of a hypothesis that are kept."""
FORM = "a block of SEARCH and REPLACE, or a whole file, below a line with its path"


class Proposal(NamedTuple):
    """A change and what its author thinks of it."""

    hypothesis: str
    expected: str
    """The effect it expects, in its words."""
    edits: tuple[Edit, ...]


def read_proposal(reply: str, files: Files) -> Proposal:
    """The proposal in a reply, whatever prose is around it; `ProposalError` where there is none."""
    lines = without_reasoning(reply).split("\n")
    blocks = _Blocks(lines, files)
    edits = tuple(blocks.read())
    if not edits:
        raise ProposalError(f"there is no change in that; give {FORM}")
    fields = _read_fields(blocks.prose)
    hypothesis = fields.get("hypothesis") or _first_paragraph(blocks.prose)
    return Proposal(hypothesis, fields.get("expected", ""), edits)


class _Blocks:
    """The lines of a reply, read once from top to bottom."""

    def __init__(self, lines: list[str], files: Files) -> None:
        self.lines = lines
        self.files = files
        self.prose: list[str] = []
        """Lines outside of any block."""
        self._at = 0
        self._path = ""
        """The path that was named last."""
        self._fence = ""
        """The fence around blocks of SEARCH and REPLACE."""

    def read(self) -> list[Edit]:
        """Every edit, in its order; a block without a path counts only where there is one file and one block."""
        edits: list[Edit] = []
        nameless: list[str] = []
        while self._at < len(self.lines):
            line = self.lines[self._at]
            self._at += 1
            fence = _FENCE.match(line)
            if _SEARCH.match(line):
                edits.append(self._replacement())
            elif self._fence and fence and fence["mark"].startswith(self._fence):
                self._fence = ""
            elif fence and not self._fence:
                edits += self._fenced(fence["mark"], fence["info"].strip(), nameless)
            elif removal := _REMOVE.match(line):
                edits.append(Edit(path=_bare(removal["path"]), text=None))
            else:
                self._read_line(line)
        if not edits and len(nameless) == 1 and len(self.files) == 1:
            self._path = next(iter(self.files))
            edits.append(self._whole_file(nameless[0], ""))
        if not edits and nameless:
            raise ProposalError(f"no path says which file a block is for; give {FORM}")
        return edits

    def _fenced(self, mark: str, info: str, nameless: list[str]) -> Iterator[Edit]:
        """The whole file in a block; blocks of SEARCH and REPLACE are only entered."""
        # A path may be next to the language: ```python pack.py, ```python:pack.py or ```pack.py.
        for word in (*info.split()[-1:], info.rpartition(":")[2]):
            path = _bare(word.removeprefix("file=").removeprefix("title="))
            if self._is_path(path):
                self._path = path
        following = (self.lines[at] for at in range(self._at, len(self.lines)))
        first, second, *_ = *islice(filter(str.strip, following), 2), "", ""
        if _SEARCH.match(first) or (self._is_path(_bare(first)) and _SEARCH.match(second)):
            self._fence = mark
            return
        body = self._body(mark)
        if self._path:
            yield self._whole_file(body, info)
            self._path = ""
        elif body is not None:
            nameless.append(body)

    def _is_path(self, word: str) -> bool:
        return word in self.files or bool(_PATH.fullmatch(word))

    def _read_line(self, line: str) -> None:
        label = _LABEL.match(line)
        path = _bare(label["path"]) if label else ""
        if self._is_path(path) or (
            label and label["named"] and path and not re.search(r"[\s,]", path)
        ):
            self._path = path
        elif not self._fence:
            self.prose.append(line)

    def _until(self, end: re.Pattern[str], what: str) -> list[str]:
        start = self._at
        for at in range(start, len(self.lines)):
            if end.match(self.lines[at]):
                self._at = at + 1
                return self.lines[start:at]
        raise ProposalError(f"a block of SEARCH and REPLACE has no {what}; give every block whole")

    def _replacement(self) -> Edit:
        search = "\n".join(self._until(_MIDDLE, "line of `=======`"))
        text = "\n".join(self._until(_REPLACE, "line of `>>>>>>> REPLACE`"))
        if not self._path and len(self.files) == 1:
            self._path = next(iter(self.files))
        if not self._path:
            raise ProposalError(f"no path says which file a block is for; give {FORM}")
        if not search.strip() and self._path not in self.files:
            return Edit(path=self._path, text=_whole(text))
        return Edit(path=self._path, search=search, text=text)

    def _body(self, mark: str) -> str | None:
        """What a fence encloses; None where it is not closed."""
        closing = re.compile(rf"^[ \t]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")
        for at in range(self._at, len(self.lines)):
            if closing.match(self.lines[at]):
                body = "\n".join(self.lines[self._at : at])
                self._at = at + 1
                return body
        self._at = len(self.lines)
        return None

    def _whole_file(self, body: str | None, info: str) -> Edit:
        if body is None:
            raise ProposalError(f"the block of {self._path} has no end; give every block whole")
        if info.lower().startswith(("diff", "patch")):
            raise ProposalError(f"a diff cannot be applied here; give {FORM}")
        before = self.files.get(self._path, "").splitlines()
        if gap := next(
            (line for line in body.splitlines() if _leaves_out(line) and line not in before), ""
        ):
            raise ProposalError(
                f"{self._path} is not whole, it leaves parts out ({gap.strip()!r}); "
                "give the whole file, or replace passages by SEARCH and REPLACE"
            )
        return Edit(path=self._path, text=_whole(body))


def _leaves_out(line: str) -> bool:
    return bool(_LEFT_OUT.match(line.strip()[:_MAX_WORDS]))


def _whole(text: str) -> str:
    return text if text.endswith("\n") or not text else f"{text}\n"


def _bare(word: str) -> str:
    """A path without the marks that Markdown puts around it."""
    return word.strip().strip("*`\"'():").removeprefix("./").strip("*`\"'(): ")


def _read_fields(prose: list[str]) -> dict[str, str]:
    """Hypothesis and expected effect, each up to the next blank line or field."""
    fields: dict[str, str] = {}
    name = ""
    for line in prose:
        if found := _FIELD.match(line):
            name = found["name"].split()[0].lower()
            fields[name] = found["rest"]
        elif name and (line.strip() or not fields[name].strip()):
            fields[name] += f" {line}"
        else:
            name = ""
    return {name: _tidy(text) for name, text in fields.items()}


def _first_paragraph(prose: list[str]) -> str:
    return next((text for text in map(_tidy, _paragraphs(prose)) if text), "")


def _paragraphs(lines: list[str]) -> Iterator[str]:
    yield from "\n".join(lines).split("\n\n")


def _tidy(text: str) -> str:
    line = " ".join(without_controls(text).split()).strip("*_ ")
    return line if len(line) <= _MAX_WORDS else f"{line[: _MAX_WORDS - 1].rstrip()}…"
