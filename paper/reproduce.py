"""The tables of the paper rebuilt from its recorded results, beside what it says.

    python -m paper.reproduce recorded/

The folder has ballots.jsonl (passes), panels.jsonl (panels over finished texts) or code_results.jsonl
(programs), in it or below it; no model is asked. Every claim of `claims.txt` stands beside what the data
give, on how many passes, panels, runs or problems that rests, and a verdict: agrees, consistent (only a
part is here), differs, or no data. What cannot be read is left out and named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import ClassVar, NamedTuple

from msgspec import Struct

from autoreason.report.numbers import count, listed
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table, Tone
from autoreason.tournament.voting import from_scores
from paper import answers
from paper.command import add_output, make_parser, show
from paper.figures import NOTHING, Answer, PaperFigure, Verdict, compare, conclude
from paper.recording import PROBLEMS, TASKS, PassLine, Recording, read_recording

_FILE = Path(__file__).with_name("claims.txt")


class Claim(NamedTuple):
    """A claim of the paper, where it stands, and what it rests on."""

    section: str
    ref: str
    about: str
    figures: Mapping[str, str]
    """As the paper prints them; an empty one is not in the paper."""
    find: Callable[[Recording], Answer]
    """What the data give for these figures."""
    unit: str
    whole: int
    """How many of these it rests on in the paper."""
    needs: str
    """What is missing where there are no data."""


@cache
def read_claims() -> tuple[Claim, ...]:
    """All claims, in the order of the paper."""
    return tuple(_claims(_FILE.read_text("utf-8")))


def _claims(text: str) -> Iterator[Claim]:
    section, head = "", [""]
    for line in text.partition("\n\n")[2].splitlines():
        parts = line.strip().split(" | ")
        if line.startswith("== "):
            section = line[3:]
        elif line.startswith(" "):
            yield _row(section, head, *parts)
        elif len(parts) > 4:
            ref, about, how, rests, figures, *needs = parts
            unit, whole = rests.split()
            name, *names = how.split()
            find = getattr(answers, name)
            find = partial(find, names, int(whole)) if names else find
            pairs = (each.rpartition(" ") for each in figures.split(", "))
            paper = {each: _given(value) for each, _, value in pairs}
            yield Claim(section, ref, about, paper, find, unit, int(whole), *needs or [""])
        else:
            head = parts


def _row(section: str, head: list[str], name: str, where: str, figures: str) -> Claim:
    ref, about, kind, columns = head
    names = [column.replace("_", " ") for column in columns.split()]
    paper = dict(zip(names, map(_given, figures.split()), strict=True))
    row: answers.Row
    unit, whole = "run", 1
    if kind == "runs":
        row = answers.RunRow(*where.split())
    elif kind == "programs":
        row, unit, whole = answers.Arm(*where.split()), "problem", PROBLEMS
    elif kind == "duels":
        row, unit = answers.Duel(ref, *where.split(), *names), "panel"
    else:
        tasks = kind.removeprefix("panels of ").split()
        labels = names if len(tasks) > 1 else ["points"]
        row = answers.PanelRow(
            ref, {a: TASKS.get(b, b) for a, b in zip(labels, tasks, strict=False)}, where
        )
        unit, whole = "panel", len(tasks)
    return Claim(section, ref, f"{about}, {name}", paper, row.find, unit, whole, row.needs())


def _given(word: str) -> str:
    return "" if word == "-" else word


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
    """Rebuild the tables of the paper; what is missing is said, and a line that cannot be read is named."""
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


def main() -> None:
    """The command line."""
    parser = make_parser("paper.reproduce", __doc__)
    parser.add_argument("folder", type=Path, help="recorded results")
    add_output(parser)
    arguments = parser.parse_args()
    show(arguments, "claims", lambda _: reproduce(arguments.folder))


if __name__ == "__main__":
    main()
