"""Recorded results of the original experiments: passes, panels and programs, read as far as they can be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.stats.ranks import borda

SONNET_4, SONNET_46 = "claude-sonnet-4-2025", "claude-sonnet-4-6"
BRIEFS = {"pitch": "task_01_constrained", "policy": "task_03_constrained", "GTM": "task_01"}
TASKS = {**{f"T{number}": f"task_0{number}" for number in range(1, 6)}, **BRIEFS}
"""How the record calls what the paper calls otherwise."""
PROBLEMS = 150
_ROLES = 3
"""Calls of a pass that are not a judge's."""
_CANDIDATES = 3
_PLACES = re.compile(
    r"(Table|Sec|Fig)s?\.? (\d[\d.]*(?:(?:, | and | & |/|-)\d[\d.]*)*)|(Discussion)"
)


class Judge(Struct):
    """What one judge answered."""

    ranking: tuple[str, ...] | None = None


class Ballot(Struct):
    """A ballot over finished texts: what stood under each label, and the methods, the best first."""

    methods: list[str] | None = None
    label_map: dict[str, str] | None = None


class PassLine(Struct, kw_only=True, dict=True):
    """A pass of a run."""

    experiment: str
    run: str
    number: int = msgspec.field(name="pass")
    winner: str | None
    raw_winner: str | None = None
    task: str = ""
    author_model: str = ""
    judge_style: str = ""
    aggregation: str = "borda"
    panel_size: int | None = None
    k: int | None = None
    pass_cap: int | None = None
    tie_order: str | None = None
    one_order_for_all_judges: bool | None = None
    judges: list[Judge] | None = None
    scores: dict[str, float] | None = None
    valid_ballots_recorded: int | None = None
    valid_ballots_implied: int | None = None
    words: dict[str, int | None] | None = None
    flags: list[str] = []

    @cached_property
    def rankings(self) -> list[tuple[str, ...]]:
        """Every full ranking; none where judges are not recorded one by one."""
        answers = [judge.ranking or () for judge in self.judges or []]
        return [ranking for ranking in answers if len(set(ranking)) == len(ranking) == _CANDIDATES]

    @cached_property
    def points(self) -> Mapping[str, float]:
        """Points by candidate: counted where rankings are recorded, else as recorded."""
        if self.aggregation == "borda" and self.rankings:
            return borda(self.rankings)
        return self.scores or {}

    @property
    def valid(self) -> int | None:
        """Ballots that count."""
        if self.rankings:
            return len(self.rankings)
        known = self.valid_ballots_recorded
        return self.valid_ballots_implied if known is None else known

    @property
    def tied(self) -> bool:
        """Whether the best two have the same points, in a panel with a ballot."""
        best = sorted(self.points.values())[-2:]
        return len(best) == 2 and best[0] == best[1] > 0


class PanelLine(Struct, kw_only=True, dict=True):
    """A panel over finished texts."""

    panel_id: str
    kind: str = "rank"
    task: str = ""
    methods: list[str] = []
    judges_requested: int | None = None
    judges_valid: int | None = None
    label_map_status: str = "unknown"
    borda: dict[str, float] | None = None
    first_place: dict[str, float] | None = None
    words: dict[str, int | None] | None = None
    ballots: list[Ballot] | None = None
    paper_table: str | None = None

    @cached_property
    def rankings(self) -> list[list[str]]:
        """Ballots by method, where it is known which text was which and none is missing."""
        cast = [each.methods for each in self.ballots or [] if each.methods]
        whole = [each for each in cast if sorted(each) == sorted(self.methods)]
        known = self.label_map_status != "unknown" and len(whole) == self.judges_valid
        return whole if known and self.kind == "rank" else []

    @property
    def lengths(self) -> dict[str, int]:
        """Words by method, as far as they are known."""
        return {name: words for name, words in (self.words or {}).items() if words}

    @cached_property
    def points(self) -> Mapping[str, float]:
        """Points by method: counted where ballots are known, else as recorded."""
        return borda(self.rankings) if self.rankings else self.borda or {}

    @cached_property
    def places(self) -> set[str]:
        """Where the paper has it: `Table 2`, `Sec 4.5`, `Discussion`."""
        found = _PLACES.findall(self.paper_table or "")
        return {
            f"{kind} {number}" if kind else other
            for kind, numbers, other in found
            for number in re.findall(r"\d[\d.]*", numbers) or [""]
        }


class ResultLine(Struct, kw_only=True):
    """What a strategy made of a problem."""

    experiment: str
    problem_id: str
    strategy: str
    model: str = ""
    difficulty: str = ""
    error: str | None = None
    public_passed: int | None = None
    private_passed: int | None = None
    pass_public: bool | None = None
    pass_private: bool | None = None


Line = PassLine | PanelLine | ResultLine
KINDS: dict[str, tuple[type[Line], tuple[str, ...]]] = {
    "ballots": (PassLine, ("experiment", "run", "number")),
    "panels": (PanelLine, ("panel_id",)),
    "code_results": (ResultLine, ("experiment", "problem_id", "strategy", "model")),
}
"""What a file has, by a word in its name, and which fields no two of its lines share."""


@dataclass(frozen=True)
class Run:
    """The passes of a run, in order."""

    passes: tuple[PassLine, ...]

    @property
    def first(self) -> PassLine:
        """Its first pass, which says what all share."""
        return self.passes[0]

    @cached_property
    def winners(self) -> list[str]:
        """Who won each pass."""
        return [line.winner or "" for line in self.passes]

    def stop(self, k: int = 2, by_prefix: bool = False) -> int | None:
        """The pass at which A has survived `k` times in a row; None where it never does.

        `by_prefix` counts AB as A, as a comparison of first letters does.
        """
        streak = 0
        for number, winner in enumerate(self.winners, 1):
            streak = streak + 1 if winner[: 1 if by_prefix else None] == "A" else 0
            if streak == k:
                return number
        return None

    def end(self) -> tuple[PassLine, ...]:
        """The passes that ended it; none where A never survives twice."""
        return self.passes[stop - 2 : stop] if (stop := self.stop()) else ()

    def calls(self) -> int:
        """Critic, revision, synthesis and judges of every pass."""
        return sum(_ROLES + (line.panel_size or 0) for line in self.passes)

    def words(self) -> int | None:
        """How long the text is that won the last pass, or that with which A survived twice."""
        last = self.passes[(self.stop() or len(self.passes)) - 1]
        return (last.words or {}).get(last.winner or "")


@dataclass(frozen=True)
class Recording:
    """Everything that could be read, and what could not."""

    runs: Mapping[tuple[str, str], Run]
    panels: tuple[PanelLine, ...]
    results: tuple[ResultLine, ...]
    files: int
    unread: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What could not be used, in a sentence each, by kind."""

    def run(self, experiment: str, name: str) -> Run | None:
        """The run of an experiment whose name a pattern describes."""
        return next(iter(self.runs_like([f"{experiment}/(?:{name})"])), None)

    def runs_like(self, patterns: Iterable[str]) -> list[Run]:
        """All runs whose experiment and name one of these patterns describes."""
        names = re.compile("|".join(patterns))
        return [run for name, run in self.runs.items() if names.fullmatch("/".join(name))]

    def panel(self, place: str, task: str, word: str = "") -> PanelLine | None:
        """The panel on a task that the paper has in this place."""
        found = (each for each in self.panels_of(place) if each.task == task)
        return next((each for each in found if word in each.panel_id), None)

    def panels_of(self, *places: str) -> list[PanelLine]:
        """All panels that the paper has in one of these places."""
        return [each for each in self.panels if each.places & set(places)]

    def arm(self, experiment: str, strategy: str, model: str) -> dict[str, ResultLine]:
        """The results of a strategy by problem, provider failures among them."""
        found = [
            each
            for each in self.results
            if (each.experiment, each.strategy) == (experiment, strategy)
        ]
        return {each.problem_id: each for each in found if model in each.model}


def read_recording(folder: Path) -> Recording:
    """Read every file of passes, panels and results in a folder and below it."""
    if not folder.is_dir():
        raise InvalidInput(f"no folder {folder}; name one with recorded results")
    files = {kind: sorted(folder.rglob(f"*{kind}*.jsonl")) for kind in KINDS}
    if not any(files.values()):
        raise InvalidInput(
            f"{folder} has no recorded results; name a folder with ballots.jsonl, panels.jsonl or code_results.jsonl"
        )
    unread: dict[str, list[str]] = {kind: [] for kind in KINDS}
    lines: dict[str, list[Any]] = {
        kind: list(_lines(folder, files[kind], *KINDS[kind], unread[kind])) for kind in KINDS
    }
    return Recording(
        runs=_runs(lines["ballots"], unread["ballots"]),
        panels=tuple(lines["panels"]),
        results=tuple(lines["code_results"]),
        files=sum(map(len, files.values())),
        unread=unread,
    )


def _lines(
    folder: Path, files: list[Path], kind: type[Line], fields: tuple[str, ...], unread: list[str]
) -> Iterator[Line]:
    """Every line once; what is not such a line is named, and so is a second one that differs."""
    decode, key = msgspec.json.Decoder(kind).decode, attrgetter(*fields)
    known: dict[object, Line] = {}
    for file in files:
        name = file.relative_to(folder)
        try:
            # What is not a file may be a pipe, which never ends.
            content = file.read_bytes() if file.is_file() else None
        except OSError:
            content = None
        if content is None:
            unread.append(f"{name} cannot be read")
            continue
        for number, text in enumerate(content.splitlines(), 1):
            if not text.strip():
                continue
            try:
                line = decode(text)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                unread.append(f"{name} line {number} is not what the file has")
                continue
            before = known.setdefault(key(line), line)
            if before is line:
                yield line
            elif before != line:
                unread.append(f"{name} line {number} contradicts an earlier one")


def _runs(lines: Iterable[PassLine], unread: list[str]) -> dict[tuple[str, str], Run]:
    """Whole runs alone: of one that lacks a pass, neither its end nor its counts are known."""
    by_run: dict[tuple[str, str], list[PassLine]] = {}
    for line in lines:
        by_run.setdefault((line.experiment, line.run), []).append(line)
    runs = {}
    for name, passes in by_run.items():
        passes.sort(key=lambda line: line.number)
        if [line.number for line in passes] == list(range(1, len(passes) + 1)):
            runs[name] = Run(tuple(passes))
        else:
            unread.append(f"{'/'.join(name)} lacks a pass")
    return runs
