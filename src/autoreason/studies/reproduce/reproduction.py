"""The report: every claim of the paper beside what its recorded results give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import ClassVar

from msgspec import Struct

from autoreason.report.numbers import count, listed
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table, Tone
from autoreason.studies.reproduce.claims import Claim, read_claims
from autoreason.studies.reproduce.figures import NOTHING, PaperFigure, Verdict, compare, conclude
from autoreason.studies.reproduce.recording import PassLine, Recording, read_recording
from autoreason.tournament.voting import from_scores
from autoreason.type_hints import check_call

_KINDS = {"run": "ballots", "pass": "ballots", "panel": "panels", "problem": "code_results"}
"""The kind of file that each unit is read from."""
_PLURALS = {"pass": "passes", "count": "counts in the paper"}
_TONES: dict[str, Tone] = {
    "agrees": "good",
    "consistent": "muted",
    "differs": "bad",
    "no data": "muted",
}
_RULES = (
    (
        "agrees",
        "all that it rests on is here, and every figure is the paper's, rounded as the paper rounds",
    ),
    (
        "consistent",
        "only a part is here, and nothing in it contradicts the paper: its figures lie within what the whole may "
        "give. Missing runs and panels may come to anything that is possible; missing problems and lengths, to what "
        "99.9 % intervals of a random part leave open",
    ),
    ("differs", "a figure is another one, or lies outside what the whole may give"),
    ("no data", "nothing of what it rests on is here"),
)


class ReproducedLine(Struct, frozen=True, kw_only=True):
    """A claim of the paper beside what the data give."""

    section: str
    ref: str
    """Where it stands in the paper."""
    claim: str
    verdict: Verdict
    figures: tuple[PaperFigure, ...]
    unit: str
    """What it rests on: `panel`, `run`, `pass`, `problem`."""
    here: int
    """How many of them are here."""
    whole: int
    """How many the paper has."""
    unread: int
    """How many files, lines and runs of the kind it rests on could not be used."""
    note: str = ""
    """What else is to be known of it; where there are no data, what is missing."""


class Reproduction(Report, Struct, frozen=True, kw_only=True):
    """The paper's tables rebuilt from recorded results."""

    heading: ClassVar[str] = "The paper beside its data"
    folder: str
    passes: int
    panels: int
    results: int
    files: int
    unread: tuple[str, ...]
    """What could not be used, in a sentence each."""
    recounted: tuple[int, int]
    """Passes and panels with every ballot: in how many the ballots give what is recorded, of how many."""
    lines: tuple[ReproducedLine, ...]

    @property
    def conclusion(self) -> str:
        """How many claims agree, and which do not."""
        verdicts = Counter(line.verdict for line in self.lines)
        differ = dict.fromkeys(line.ref for line in self.lines if line.verdict == "differs")
        parts = [f"{verdicts['agrees']} agree with the data"]
        if verdicts["consistent"]:
            parts.append(f"{verdicts['consistent']} are consistent with the part that is here")
        if verdicts["no data"]:
            parts.append(f"{verdicts['no data']} have no data here")
        parts.append(
            f"{verdicts['differs']} differ" + (f" ({listed(list(differ))})" if differ else "")
        )
        return f"of {count(len(self.lines), 'claim')} in the paper, {listed(parts)}"

    def sections(self) -> Sequence[Section]:
        """The paper section by section, then what was read and how claims are judged."""
        parts = groupby(self.lines, lambda line: line.section)
        found = [_section(title, list(lines)) for title, lines in parts]
        same, of = self.recounted
        read = (
            f"{count(self.passes, 'pass', 'passes')}, {count(self.panels, 'panel')} and "
            f"{count(self.results, 'result')} of programs in {count(self.files, 'file')} of {self.folder}; "
            f"{len(self.unread)} files, lines or runs could not be used"
        )
        sentences = [("read", read)]
        if of:
            again = f"ballots give the recorded points in {same:,} of {of:,} passes and panels that have all"
            sentences.append(("counted", again))
        sentences += [("left out", each) for each in self.unread]
        return [*found, Section("What was read", sentences), Section("Verdicts", _RULES)]


def reproduce(folder: str | Path) -> Reproduction:
    """Rebuild the tables of the paper from its recorded results, beside what it says.

    Args:
        folder: A folder with `ballots.jsonl`, `panels.jsonl` or `code_results.jsonl`, in it or below it. What
            is missing is said; a line that cannot be read is left out and named.

    Returns:
        A report with a line for each claim: what the paper says, what the data give, on how much that rests,
        and a verdict.

    Raises:
        InvalidInput: There is no such folder, or it has none of these files.

    Example:
        >>> from pathlib import Path
        >>> from autoreason import reproduce
        >>> line = '{"panel_id": "p", "paper_table": "Sec 4.3", "first_place": {"pass15": 6, "pass25": 1}}'
        >>> _ = Path("panels.jsonl").write_text(line)
        >>> [line.claim for line in reproduce(".").lines if line.here and line.unit == "panel"]
        ['votes, pass 15 against pass 25']
    """
    check_call(reproduce, folder=folder)
    recording = read_recording(Path(folder))
    return Reproduction(
        folder=str(folder),
        passes=sum(len(run.passes) for run in recording.runs.values()),
        panels=len(recording.panels),
        results=len(recording.results),
        files=recording.files,
        unread=tuple(each for kind in recording.unread.values() for each in kind),
        recounted=_recount(recording),
        lines=tuple(judge_claim(claim, recording) for claim in read_claims()),
    )


def judge_claim(claim: Claim, recording: Recording) -> ReproducedLine:
    """A claim beside what the data give, with its verdict."""
    answer = claim.find(recording)
    figures = tuple(
        compare(name, paper, answer.values.get(name, NOTHING))
        for name, paper in claim.figures.items()
    )
    verdict = conclude(figures)
    kind = _KINDS.get(claim.unit, "")
    needs = claim.needs or f"what it rests on in {kind}.jsonl"
    note = [f"missing: {needs}"] if verdict == "no data" else []
    note += [answer.note] if answer.note and (answer.here or not kind or claim.needs) else []
    return ReproducedLine(
        section=claim.section,
        ref=claim.ref,
        claim=claim.about,
        verdict=verdict,
        figures=figures,
        unit=claim.unit,
        here=min(answer.here, claim.whole),
        whole=claim.whole,
        unread=len(recording.unread.get(kind, ())),
        note="; ".join(note),
    )


def _recount(recording: Recording) -> tuple[int, int]:
    """Where rankings are recorded with points: how often the former give the latter, and the winner."""
    passes = [line for run in recording.runs.values() for line in run.passes]
    same = [_same_pass(line) for line in passes if line.rankings and line.scores and line.tie_order]
    panels = [panel for panel in recording.panels if panel.rankings and panel.borda]
    same += [panel.points == panel.borda for panel in panels]
    return sum(same), len(same)


def _same_pass(line: PassLine) -> bool:
    points = {name: round(each) for name, each in line.points.items()}
    order = (line.tie_order or "").split(">")
    if points != line.scores or sorted(points) != sorted(order):
        return False
    return from_scores(points, order).winner == (line.raw_winner or line.winner)


def _section(title: str, lines: Sequence[ReproducedLine]) -> Section:
    wide = {"paper": 18, "data": 18}
    titles = ("where", "claim", "paper", "data", "rests on", "verdict")
    columns = [Column(name, figures=False, least=wide.get(name, 0)) for name in titles]
    rows = [(line.ref, *_cells(line), line.verdict) for line in lines]
    # Rows of one table often share a note.
    notes = {(line.ref, line.note): line.claim for line in reversed(lines) if line.note}
    sentences = [(ref, f"{claim}: {note}") for (ref, note), claim in reversed(notes.items())]
    return Section(title, sentences, [Table(columns, rows, tones=_TONES)])


def _cells(line: ReproducedLine) -> tuple[str, str, str, str]:
    """The claim with the names of its figures, what the paper and the data say, and what it rests on."""
    names = f": {', '.join(each.name for each in line.figures)}" if len(line.figures) > 1 else ""
    paper = ", ".join(each.claimed() for each in line.figures)
    data = ", ".join(each.shown() for each in line.figures)
    unread = f", {line.unread} not read" if line.unread else ""
    basis = f"{line.here:,} of {count(line.whole, line.unit, _PLURALS.get(line.unit, ''))}{unread}"
    return line.claim + names, paper, "no data here" if line.verdict == "no data" else data, basis
