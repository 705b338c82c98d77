"""Changes to an artifact: edits, as they are applied, as a model writes them, and of constants that are marked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import PurePosixPath
from textwrap import dedent, indent
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from autoreason.artifacts.artifact import Files, matches, path_fault
from autoreason.characters import without_controls
from autoreason.errors import InvalidInput
from autoreason.exchange import Query
from autoreason.programs.examination import without_reasoning
from autoreason.report.numbers import shorten

_FIELD = re.compile(
    r"^[\s#>*_-]*(?P<name>hypothesis|expected(?: effect| gain| change)?)[*_ ]*(?::[*_ ]*|$)(?P<rest>.*)",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^[ \t]*(?P<mark>`{3,}|~{3,})(?P<info>[^`\n]*)$")
_SEARCH = re.compile(r"^[ \t]*<{5,9}[ \t]*SEARCH\b.*$")
_MIDDLE = re.compile(r"^[ \t]*={5,9}[ \t]*$")
_REPLACE = re.compile(r"^[ \t]*[<=>]{5,9}[ \t]*REPLACE\b.*$")
_FILE = re.compile(r"^[ \t]*[<>]{3,9}[ \t]*(?:END )?FILE\b.*$")
"""The lines around a file in the prompt, which some models copy."""
_MARK = re.compile(r"^[ \t]*(?:<{5,9}|>{5,9})[ \t]*[A-Z]{4,}\b.*$")
_FOLDERS = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)+")
_REMOVE = re.compile(r"^[\s#>*_-]*(?:REMOVE|DELETE)(?: FILE)?[*_: ]+(?P<path>\S.*)$")
_LABEL = re.compile(
    r"^(?:[\s#>*_-]|\d+[.)])*"
    r"(?P<named>(?:new |whole )?(?:file|path|replace|edit|create|change|in)[*_: ]+)?(?P<path>\S.*)$",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,9}")
_ANY_PATH = re.compile(r"(?:[A-Za-z]:|\.\.)[\\/][\w.@+\\/-]+|[\w.@+~-]*(?:/[\w.@+-]+)+")
_LEFT_OUT = re.compile(
    r"(?:#|//|--|%|<!--)?\s*(?:\.\.\.|…)\s*\(?(?:(?:the )?(?:rest|remain|exist|unchanged|same|other|previous)\b.*)"
    r"|(?:#|//|--)\s*(?:(?:the )?(?:rest|remainder) of|existing code|unchanged)\b.*",
    re.IGNORECASE,
)
_MAX_WORDS = 600
"""Characters of a hypothesis that are kept."""
_QUOTED = 80
_HALF = "a block of SEARCH and REPLACE has no {}; give every block whole"
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
    paragraphs = map(_tidy, re.split(r"\n\s*\n", "\n".join(blocks.prose)))
    hypothesis = fields.get("hypothesis") or next(filter(None, paragraphs), "")
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
            # Most lines are none of these, and a reply may have a million.
            fence = _FENCE.match(line) if "``" in line or "~~" in line else None
            if not line.strip():
                self.prose += [] if self._fence else [line]
            elif "SEARCH" in line and _SEARCH.match(line):
                edits.append(self._replacement())
            elif self._fence and fence and fence["mark"].startswith(self._fence):
                self._fence = ""
            elif fence and not self._fence:
                edits += self._fenced(fence["mark"], fence["info"].strip(), nameless)
            elif "E" in line and (removal := _REMOVE.match(line)):
                edits.append(Edit(path=_bare(removal["path"]), text=None))
            else:
                label = _LABEL.match(line)
                path = _bare(label["path"]) if label else ""
                named = label and label["named"] and path and not re.search(r"[\s,]", path)
                if named or self._is_path(path):
                    self._path = path
                elif not self._fence:
                    self.prose.append(line)
        if len(nameless) > 1:
            # A path that names no file of the artifact, in a block of its own.
            nameless = [body for body in nameless if not _FOLDERS.fullmatch(body.strip())]
        if not edits and len(nameless) == 1 and len(self.files) == 1:
            self._path = next(iter(self.files))
            edits.append(self._whole_file(nameless[0], ""))
        if not edits and nameless:
            raise ProposalError(f"no path says which file a block is for; give {FORM}")
        return edits

    def _fenced(self, mark: str, info: str, nameless: list[str]) -> Iterator[Edit]:
        """The whole file in a block; blocks of SEARCH and REPLACE are only entered."""
        # A path may be next to the language: ```python pack.py, ```python:pack.py or ```pack.py.
        for word in (info.split()[-1], info.rpartition(":")[2]) if info else ():
            path = _bare(word.removeprefix("file=").removeprefix("title="))
            if self._is_path(path):
                self._path = path
        first, at = self._next_line(self._at)
        named = _bare(first)
        if _SEARCH.match(first) or (self._is_path(named) and _SEARCH.match(self._next_line(at)[0])):
            self._fence = mark
            return
        if not self._path and _leads_out(named):
            self._path = named
        body = self._body(mark)
        following = (self.lines[at] for at in range(self._at, len(self.lines)))
        more = (_FENCE.match(line) or _SEARCH.match(line) for line in following)
        if body and not self._path and self._is_path(alone := _bare(body)) and any(more):
            self._path = alone
            return
        if body and (meant := file_meant(named, self.files)):
            body = self._without_path(body, meant)
        if self._path:
            yield self._whole_file(body, info)
            self._path = ""
        elif body is not None:
            nameless.append(body)

    def _next_line(self, start: int) -> tuple[str, int]:
        """The first line from there on that is not blank, and the number of the one after it."""
        for at in range(start, len(self.lines)):
            if self.lines[at].strip():
                return self.lines[at], at + 1
        return "", len(self.lines)

    def _is_path(self, word: str) -> bool:
        return word in self.files or bool(_PATH.fullmatch(word)) or _leads_out(word)

    def _without_path(self, body: str, path: str) -> str:
        """A file without the path that some models write into its first line, unless that line was there before."""
        first, _, rest = body.lstrip("\n").partition("\n")
        other = self._path and file_meant(self._path, self.files) != path
        if other or first in self.files[path].splitlines()[:1]:
            return body
        self._path = path
        return rest

    def _replacement(self) -> Edit:
        search, text = map(self._without_fence, self._passages())
        if not self._path and len(self.files) == 1:
            self._path = next(iter(self.files))
        if not self._path:
            raise ProposalError(f"no path says which file a block is for; give {FORM}")
        if not search.strip() and self._path not in self.files:
            return Edit(path=self._path, text=_whole(text))
        return Edit(path=self._path, search=search, text=text)

    def _passages(self) -> tuple[list[str], list[str]]:
        """What is replaced and what takes its place; a missing mark is done without where another shows the place."""
        start = self._at
        following = range(start, len(self.lines))
        end = next((at for at in following if _SEARCH.match(self.lines[at])), len(self.lines))
        middle = next((at for at in range(start, end) if _MIDDLE.match(self.lines[at])), None)
        marks = [at for at in range(start, end) if _REPLACE.match(self.lines[at])]
        if len(marks) == 2 and (middle is None or middle > marks[0]):
            middle = marks.pop(0)
        if middle is None or (marks and marks[0] < middle):
            raise ProposalError(_HALF.format("line of `=======`"))
        last = marks[0] if marks else self._closing_fence(middle + 1, end)
        self._at = last + 1 if marks else last
        return self.lines[start:middle], self.lines[middle + 1 : last]

    def _closing_fence(self, start: int, end: int) -> int:
        """Where the fence around a block ends that has no last mark: it must be the only one, and leave some text."""
        fences = [at for at in range(start, end) if _FENCE.match(self.lines[at])]
        # The fence of a block that follows is not a part of this one.
        closing = fences[:1] if end < len(self.lines) else fences
        if (
            not self._fence
            or len(closing) != 1
            or not "".join(self.lines[start : closing[0]]).strip()
        ):
            raise ProposalError(_HALF.format("line of `>>>>>>> REPLACE`"))
        return closing[0]

    def _without_fence(self, passage: list[str]) -> str:
        """A passage without a last line that closes the fence around the block."""
        fences = [each for each in passage if _FENCE.match(each)]
        if self._fence and len(fences) % 2 and passage[-1] == fences[-1]:
            passage = passage[:-1]
        return "\n".join(passage)

    def _body(self, mark: str) -> str | None:
        """What a fence encloses; None where it is not closed."""
        for at in range(self._at, len(self.lines)):
            line = self.lines[at].strip(" \t")
            if line.startswith(mark) and not line.strip(mark[0]):
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
        path = file_meant(self._path, self.files) or self._path
        before = set(self.files.get(path, "").splitlines())
        body = _without_marks(body, before)
        new = [line for line in body.splitlines() if line not in before]
        if gap := next(filter(_LEFT_OUT.match, (line.strip()[:_MAX_WORDS] for line in new)), ""):
            raise ProposalError(
                f"{self._path} is not whole, it leaves parts out ({gap!r}); "
                "give the whole file, or replace passages by SEARCH and REPLACE"
            )
        if mark := next(filter(_MARK.match, new), ""):
            raise ProposalError(
                f"{self._path} would have a mark in it ({mark.strip()[:_QUOTED]!r}); give {FORM}"
            )
        return Edit(path=self._path, text=_whole(body))


def _leads_out(word: str) -> bool:
    """Whether a word is a path that no artifact can have, such as an absolute one; it means no other file."""
    return bool(_ANY_PATH.fullmatch(word) and path_fault(word))


def _without_marks(body: str, before: set[str]) -> str:
    """A file without the lines around it in the prompt."""
    lines = body.strip("\n").split("\n")
    if not _FILE.match(lines[0]) or lines[0] in before:
        return body
    closed = len(lines) > 1 and (_FILE.match(lines[-1]) or _MIDDLE.match(lines[-1]))
    return "\n".join(lines[1:-1] if closed else lines[1:])


def _whole(text: str) -> str:
    return text if text.endswith("\n") or not text else f"{text}\n"


def _bare(word: str) -> str:
    """A path without the marks that Markdown puts around it."""
    return word.strip().strip("*`\"'():").removeprefix("./").strip("*`\"'(): ")


def _read_fields(prose: list[str]) -> dict[str, str]:
    """Hypothesis and expected effect, each up to the next blank line or field."""
    fields: dict[str, list[str]] = {}
    name = ""
    for line in prose:
        blank = not line.strip()
        if not blank and (found := _FIELD.match(line)):
            name = found["name"].split()[0].lower()
            fields[name] = list(filter(str.strip, [found["rest"]]))
        elif name and not blank:
            fields[name].append(line)
        elif fields.get(name):
            name = ""
    return {name: _tidy(" ".join(lines)) for name, lines in fields.items()}


def _tidy(text: str) -> str:
    return shorten(" ".join(without_controls(text).split()).strip("*_ "), _MAX_WORDS)


_MAX_PLACES = 20
"""Places that are compared with a passage which lacks its margin."""


class ProposalError(ValueError):
    """A proposal cannot be read or applied; the sentence can be sent back to the one who wrote it."""


class Edit(Struct, frozen=True, kw_only=True):
    path: str
    search: str | None = None
    """What is replaced, which occurs exactly once; None replaces or creates the whole file."""
    text: str | None = None
    """What takes its place; None removes the file."""


def apply_edits(files: Files, edits: Iterable[Edit], patterns: Sequence[str]) -> Files:
    """The artifact after all edits, in their order; only what the patterns allow is written."""
    after = dict(files)
    for edit in edits:
        path = edit.path
        if fault := path_fault(path):
            raise ProposalError(f"{path!r} {fault}")
        # The file that is meant, where it cannot be a new one; what is removed is named exactly.
        if edit.text is not None and not (edit.search is None and matches(path, patterns)):
            path = file_meant(path, after) or path
        if not matches(path, patterns):
            raise ProposalError(
                f"{path} is not part of the artifact; only {', '.join(patterns)} may be changed"
            )
        if edit.text is None:
            if path not in after:
                raise ProposalError(f"there is no {path} to remove")
            del after[path]
        elif edit.search is None:
            after[path] = edit.text
        else:
            after[path] = _replace(after, path, edit.search, edit.text)
    if not after:
        raise ProposalError("that removes the whole artifact")
    return dict(sorted(after.items()))


def file_meant(path: str, files: Files) -> str:
    """The file that a path means: itself, or the only one of that name in another folder; empty where there is none."""
    if path in files:
        return path
    name = "" if path_fault(path) else path.rpartition("/")[2]
    named = [each for each in files if name and each.rpartition("/")[2] == name]
    return named[0] if len(named) == 1 else ""


def _replace(files: Files, path: str, search: str, text: str) -> str:
    if path not in files:
        raise ProposalError(
            f"there is no {path} to replace something in; the files are {', '.join(files)}"
        )
    whole = files[path]
    if "\r\n" in whole:
        search, text = (each.replace("\r\n", "\n").replace("\n", "\r\n") for each in (search, text))
    if not search.strip():
        raise ProposalError(f"what is to be replaced in {path} is empty; copy it from the file")
    times = count_passages(whole, search)
    if times == 0 and (found := _indented(whole, search, text)):
        (search, text), times = found, 1
    if times == 1:
        return whole.replace(search, text)
    quoted = search.strip().splitlines()[0].strip()[:_QUOTED]
    if times == 0:
        raise ProposalError(
            f"{path} has no such passage, beginning with {quoted!r}; copy it exactly, with its indentation"
        )
    raise ProposalError(
        f"the passage beginning with {quoted!r} occurs {times} times in {path}; "
        "add the lines around it until it occurs once"
    )


def _indented(whole: str, search: str, text: str) -> tuple[str, str] | None:
    """A passage that lacks only its margin, and its replacement, with the margin of the one place where it is."""
    sought = dedent(search).strip("\n").split("\n")
    lines, number = whole.split("\n"), len(sought)
    found = [
        at
        for at in islice(_places(lines, sought), _MAX_PLACES)
        if dedent("\n".join(lines[at : at + number])).split("\n") == sought
    ]
    if len(found) != 1 or not sought[0].strip():
        return None
    place = "\n".join(lines[found[0] : found[0] + number])
    first = _margin(sought[0])
    margin, own = (
        _margin(each)[: len(_margin(each)) - len(first)] for each in (place, search.strip("\n"))
    )
    kept = [line.removeprefix(own) for line in text.strip("\n").split("\n")]
    new = indent("\n".join(kept), margin)
    # A passage that occurs within other lines, too, is not the only one.
    return (place, new) if count_passages(whole, place) == 1 else None


def _places(lines: list[str], sought: list[str]) -> Iterator[int]:
    """Where lines are, whatever their margins; in linear time, for models repeat a line a thousand times."""
    text, passage = ("\n".join(["", *map(str.lstrip, each), ""]) for each in (lines, sought))
    at = text.find(passage)
    while at >= 0:
        yield text.count("\n", 0, at)
        at = text.find(passage, at + 1)


def _margin(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" \t"))]


def count_passages(text: str, passage: str) -> int:
    """How often a passage occurs, also where it overlaps itself."""
    times, at = 0, text.find(passage)
    while at >= 0:
        times, at = times + 1, text.find(passage, at + 1)
    return times


Value = int | float | str
_SUFFIXES = (".cfg", ".ini", ".py", ".toml", ".yaml", ".yml")
_TUNE = re.compile(r"#\s*tune\s+(?P<space>\S.*?)\s*$")
_CONSTANT = re.compile(
    r"""(?P<head>.*?(?P<name>[\w.-]+)["']?\s*(?::\s*[\w.\[\]| ]+=|[=:])\s*)"""
    r"""(?P<value>[-+]?[\d.][\w.+-]*|(?P<quote>["'])[^"']*(?P=quote)|[\w.-]+)(?P<tail>\s*,?\s*)"""
)
_RANGE = re.compile(r"(?P<low>\S+?)\.\.(?P<high>\S+?)(?P<words>(?:\s+(?:log|int))*)")
_WHOLE = re.compile(r"[-+]?[\d_]+")
_MAX_LINE = 300
_FORM = "write `# tune 1e-4..1e-1 log`, `# tune 1..64 int` or `# tune a|b|c` behind NAME = VALUE"


class Knob(Struct, frozen=True, kw_only=True):
    """A marked constant and the values it may have."""

    path: str
    name: str
    value: Value
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: tuple[str, ...] = ()

    @property
    def space(self) -> Knob:
        return replace(self, value="")

    def allows(self, value: Value) -> bool:
        if isinstance(value, str) or self.choices:
            return value in self.choices
        return self.low <= value <= self.high


class ScoredPoint(Struct, frozen=True, array_like=True):
    """Values of the knobs, and the number that they got; higher is better."""

    values: tuple[Value, ...]
    score: float


class TuningQuery(Query[tuple[Value, ...]], frozen=True, kw_only=True):
    """Which values to try next; no values where there is no optimiser. Recorded, for another version may differ."""

    kind = "tuning"
    knobs: tuple[Knob, ...]
    observations: tuple[ScoredPoint, ...] = ()
    seed: int = 0


def find_knobs(files: Files) -> list[Knob]:
    """The marked constants of an artifact; a mark that cannot be read is none."""
    return [knob for path in sorted(files) for _, knob in _knobs_in(path, files[path]) if knob]


def check_knobs(files: Files) -> str:
    """Refuse marks that cannot be read; a sentence where there are some and no optimiser to search them."""
    for path, text in files.items():
        for line, knob in _knobs_in(path, text):
            if knob is None:
                raise InvalidInput(f"{path} line {line + 1}: the mark cannot be read; {_FORM}")
    if find_knobs(files) and not find_spec("optuna"):
        return (
            "constants are marked with `# tune`, but there is no optimiser to search them; "
            "run `pip install '.[tune]'` in the clone, or leave them to the model"
        )
    return ""


def _knobs_in(path: str, text: str) -> Iterator[tuple[int, Knob | None]]:
    """Line by line, from 0; None for a mark that cannot be read."""
    if PurePosixPath(path).suffix not in _SUFFIXES:
        return
    for number, line in enumerate(text.split("\n")):
        if len(line) <= _MAX_LINE and (mark := _TUNE.search(line)):
            constant = _CONSTANT.fullmatch(line[: mark.start()])
            yield number, _read_knob(path, constant, mark["space"]) if constant else None


def _read_knob(path: str, constant: re.Match[str], space: str) -> Knob | None:
    literal = constant["value"]
    if "|" in space:
        choices = tuple(each.strip().strip("\"'") for each in space.split("|"))
        knob = Knob(path=path, name=constant["name"], value=literal.strip("\"'"), choices=choices)
        return knob if knob.allows(knob.value) and len(set(choices)) == len(choices) else None
    between = _RANGE.fullmatch(space)
    if not between:
        return None
    numbers = (literal, between["low"], between["high"])
    words = between["words"].split()
    try:
        value, low, high = map(float, numbers)
    except ValueError:
        return None
    # A whole number between whole numbers may be a count.
    whole = "int" in words or all(_WHOLE.fullmatch(each) for each in numbers)
    log = "log" in words
    if not low <= value <= high or low == high or (log and low <= 0):
        return None
    return Knob(
        path=path,
        name=constant["name"],
        value=int(value) if whole else value,
        low=low,
        high=high,
        log=log,
        whole=whole,
    )


def suggest(query: TuningQuery) -> tuple[Value, ...]:
    """The values that Optuna would try next; none where it is not installed."""
    try:
        import optuna
    except ModuleNotFoundError:
        return ()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    spaces = {str(place): _distribution(knob) for place, knob in enumerate(query.knobs)}
    sampler = optuna.samplers.TPESampler(seed=query.seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for each in query.observations:
        params = dict(zip(spaces, each.values, strict=True))
        trial = optuna.trial.create_trial(params=params, distributions=spaces, value=each.score)
        study.add_trial(trial)
    asked = study.ask(spaces).params
    return tuple(_rounded(knob, asked[at]) for at, knob in zip(spaces, query.knobs, strict=True))


def _distribution(knob: Knob) -> Any:
    from optuna import distributions

    if knob.choices:
        return distributions.CategoricalDistribution(knob.choices)
    if knob.whole:
        return distributions.IntDistribution(int(knob.low), int(knob.high), log=knob.log)
    return distributions.FloatDistribution(knob.low, knob.high, log=knob.log)


def _rounded(knob: Knob, value: Value) -> Value:
    """A number with four digits, which is all that its effect can depend on."""
    if not isinstance(value, float):
        return value
    return min(max(float(f"{value:.4g}"), knob.low), knob.high)


def set_knobs(files: Files, values: Sequence[Value]) -> tuple[Edit, ...]:
    """Edits that give the marked constants these values and touch nothing else: one for each file."""
    edits = []
    wanted = iter(values)
    for path in sorted(files):
        lines = files[path].split("\n")
        after = list(lines)
        for number, knob in _knobs_in(path, files[path]):
            if knob and (value := next(wanted)) != knob.value:
                constant = _CONSTANT.match(lines[number])
                assert constant is not None
                quote = constant["quote"] or ""
                literal = f"{quote}{value}{quote}" if isinstance(value, str) else repr(value)
                start, end = constant.span("value")
                after[number] = lines[number][:start] + literal + lines[number][end:]
        changed = [at for at, line in enumerate(lines) if line != after[at]]
        if not changed:
            continue
        first, last = changed[0], changed[-1] + 1
        while count_passages(files[path], "\n".join(lines[first:last])) > 1:
            # As few lines as there must be for the passage to occur once.
            first, last = max(0, first - 1), last + 1
        search, text = ("\n".join(each[first:last]) for each in (lines, after))
        edits.append(Edit(path=path, search=search, text=text))
    return tuple(edits)
