"""A judge's certificate, computed from the ballots of its certification."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from msgspec import Struct

from autoreason.events import BallotCast
from autoreason.job_types import Certify
from autoreason.keys import sub_key
from autoreason.report.numbers import listed, percent, percent_range
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, figures, words
from autoreason.settings import Protocol
from autoreason.story import Story
from autoreason.studies.certify import properties as rules
from autoreason.studies.certify.properties import CertificateFinding, CertificateVerdict
from autoreason.studies.certify.questions import (
    AGAIN,
    DEFECT,
    INJECTION,
    LONGER,
    PADDED,
    RECORD,
    SAME,
    SOUND,
    injection_for,
    text_named,
)
from autoreason.studies.certify.suite import KINDS, pairs


class Certificate(Report, Struct, frozen=True, kw_only=True):
    """The results of a judge, and how it was asked."""

    model: str
    base_url: str | None = None
    suite: int
    protocol: Protocol
    style: str
    temperature: float | None
    repeats: int
    seed: int
    ballots: int
    """Seats that voted."""
    invalid: int
    """Seats that gave no ballot, however often they were asked."""
    findings: tuple[CertificateFinding, ...]

    @property
    def failed(self) -> tuple[str, ...]:
        """The properties it failed."""
        return tuple(each.name for each in self.findings if each.verdict == "failed")

    @property
    def not_shown(self) -> tuple[str, ...]:
        """The properties that are neither shown to be there nor shown to be missing."""
        return tuple(each.name for each in self.findings if each.verdict == "not shown")

    @property
    def unreadable(self) -> str:
        """The sentence for a judge whose ballots are mostly invalid; empty for any other."""
        total = self.ballots + self.invalid
        sentence = f"most of its ballots cannot be read ({self.invalid} of {total})"
        return sentence if 2 * self.invalid > total else ""

    @property
    def verdict(self) -> CertificateVerdict:
        """Failed if one property is; passed if all are that a judge must show.

        How often it agrees with itself is no more than its being right implies, so that may stay open.
        """
        if self.failed:
            return "failed"
        may_be_open = {rules.REPEAT.name, rules.SWAP.name}
        return "passed" if may_be_open.issuperset(self.not_shown) else "not shown"

    @property
    def heading(self) -> str:  # type: ignore[override]
        """Whose certificate it is."""
        return f"Certificate of the judge {self.model}"

    @property
    def conclusion(self) -> str:
        """Whether the judge passed, and what it failed."""
        if self.unreadable:
            return f"the judge failed: {self.unreadable}"
        if self.failed:
            return f"the judge failed {listed(self.failed)}"
        rest = f"; not shown: {listed(self.not_shown)}" if self.not_shown else ""
        if self.verdict == "not shown":
            return f"whether the judge is good enough is not known{rest}"
        return f"the judge passed{rest or ' everything'}"

    def run_fields(self) -> dict[str, Any]:
        """The verdict by itself, and all of it."""
        return {"conclusion": self.conclusion, "verdict": self.verdict, "certificate": self}

    def sections(self) -> list[Section]:
        """How the judge was asked and its verdicts, then what each rests on."""
        rows = [
            (
                each.name,
                each.verdict,
                "none" if each.value is None else percent(each.value),
                "none"
                if each.low is None or each.high is None
                else percent_range(each.low, each.high),
                each.rule,
            )
            for each in self.findings
        ]
        shown = figures("share", "95 % interval")
        columns = [*words("property", "verdict"), *shown, *words("passes with")]
        table = Table(columns, rows, tones={"failed": "bad", "not shown": "warning"})
        return [
            Section(sentences=[("", self._method())]),
            Section(tables=[table]),
            Section("What each rests on", [(each.name, _rests_on(each)) for each in self.findings]),
        ]

    def _method(self) -> str:
        heat = "" if self.temperature is None else f" at temperature {self.temperature:g}"
        missing = f", {self.invalid} without a ballot" if self.invalid else ""
        return (
            f"Judge {self.model}, suite {self.suite}, {self.protocol} protocol, {self.style} judging{heat}, "
            f"{self.ballots + self.invalid} questions{missing}."
        )


def _rests_on(finding: CertificateFinding) -> str:
    about = next(each for each in rules.PROPERTIES if each.name == finding.name)
    open_ = f" Not shown: {finding.reason}." if finding.verdict == "not shown" else ""
    return f"{about.asks} {finding.statement[0].upper()}{finding.statement[1:]}.{open_} {about.why}"


def certificate_of(story: Story) -> Certificate:
    """The certificate from the ballots so far."""
    settings = story.settings
    assert settings is not None
    ballots = [ballot for panel in story.panels.values() for ballot in panel.ballots]
    by_question = _Ballots({stage: panel.ballots for stage, panel in story.panels.items()})
    job = settings.job_as(Certify)
    return Certificate(
        model=settings.models.judges[0],
        base_url=settings.server_of(settings.models.judges[0]),
        suite=job.suite,
        protocol=settings.protocol,
        style=settings.style,
        temperature=settings.judge_temperature,
        repeats=job.repeats,
        seed=settings.seed,
        ballots=sum(ballot.ranking is not None for ballot in ballots),
        invalid=sum(ballot.ranking is None for ballot in ballots),
        findings=(
            _defects(by_question),
            _position(by_question),
            _length(by_question),
            _injection(by_question),
            _records(by_question, settings.seed),
            _repeatability(by_question),
            _swapped(by_question),
            _readable(ballots),
        ),
    )


class _Repeat(NamedTuple):
    """Two valid ballots about one pair, seen in the same order."""

    at: int
    seat: int
    before: BallotCast
    now: BallotCast


class _Ballots:
    """Ballots by what was asked and about which pair."""

    def __init__(self, stages: dict[str, list[BallotCast]]) -> None:
        self._stages = stages

    def of(self, kind: str, name: str) -> list[BallotCast]:
        """All ballots of one question, valid or not."""
        return self._stages.get(sub_key(kind, name), [])

    def answers(self, kind: str, is_true: Callable[[BallotCast], bool]) -> list[list[bool]]:
        """Pair by pair, for which valid ballots a condition is true."""
        valid = [[b for b in self.of(kind, pair.name) if b.ranking] for pair in pairs()]
        return [[is_true(ballot) for ballot in ballots] for ballots in valid if ballots]

    def count(self, kind: str, is_true: Callable[[BallotCast], bool]) -> tuple[int, int]:
        """For how many valid ballots it is true, and how many there are."""
        valid = [b for pair in pairs() for b in self.of(kind, pair.name) if b.ranking]
        return sum(map(is_true, valid)), len(valid)

    def repeats_of(self, kind: str) -> Iterator[_Repeat]:
        """Ballots of a kind, each with the one on the planted defect in the same order."""
        for at, pair in enumerate(pairs()):
            first = self.of(DEFECT, pair.name)
            for ballot in self.of(kind, pair.name):
                # Both orders come in turn, so one of the seat's two ballots has the same order.
                alike = [b for b in first[2 * ballot.seat :][:2] if b.order == ballot.order]
                if ballot.ranking and alike and alike[0].ranking:
                    yield _Repeat(at, ballot.seat, alike[0], ballot)


def _defects(by_question: _Ballots) -> CertificateFinding:
    right, total = by_question.count(DEFECT, _sound_first)
    kinds = []
    for kind, name in KINDS.items():
        ballots = [
            b
            for p in pairs()
            if p.kind == kind
            for b in by_question.of(DEFECT, p.name)
            if b.ranking
        ]
        kinds.append(f"{name} {sum(map(_sound_first, ballots))} of {len(ballots)}")
    statement = f"seen in {right} of {total} ballots: {', '.join(kinds)}"
    return rules.at_least(
        rules.DEFECTS, by_question.answers(DEFECT, _sound_first), rules.FLOOR, statement
    )


def _position(by_question: _Ballots) -> CertificateFinding:
    what = "the first of two identical texts"
    return _won(rules.POSITION, rules.BAND, what, by_question, SAME, _first_first)


def _length(by_question: _Ballots) -> CertificateFinding:
    return _won(rules.LENGTH, _AT_MOST_HALF, "the longer text", by_question, LONGER, _padded_first)


def _records(by_question: _Ballots, seed: int) -> CertificateFinding:
    def follows(ballot: BallotCast) -> bool:
        named = text_named(seed, ballot.stage, ballot.seat)
        return ballot.ranking is not None and ballot.ranking[0] == named

    what = "the text that a record named"
    return _won(rules.RECORDS, _AT_MOST_HALF, what, by_question, RECORD, follows)


_AT_MOST_HALF = (0.0, rules.COIN)


def _won(
    rule: rules.Property,
    band: tuple[float, float],
    what: str,
    by_question: _Ballots,
    kind: str,
    is_first: Callable[[BallotCast], bool],
) -> CertificateFinding:
    """How often a text won that should win no more often than the band says."""
    right, total = by_question.count(kind, is_first)
    statement = f"{what} won {right} of {total}"
    return rules.within(rule, by_question.answers(kind, is_first), band, statement)


def _injection(by_question: _Ballots) -> CertificateFinding:
    both = list(by_question.repeats_of(INJECTION))
    rose = [each for each in both if _sound_first(each.before) and not _sound_first(each.now)]
    fell = sum(not _sound_first(each.before) and _sound_first(each.now) for each in both)
    statement = f"of {len(both)} spoiled texts {len(rose)} rose and {fell} fell"
    worked = [injection_for(each.at, each.seat) for each in rose]
    if worked:
        ways = dict.fromkeys(worked)
        statement += f"; they rose by {', '.join(f'{way} ({worked.count(way)})' for way in ways)}"
    return rules.judge_injection(len(rose), fell, len(both), statement)


def _repeatability(by_question: _Ballots) -> CertificateFinding:
    both = list(by_question.repeats_of(AGAIN))
    same = [(each.at, each.before.ranking == each.now.ranking) for each in both]
    statement = f"{sum(agrees for _, agrees in same)} of {len(same)} answers were the same again"
    return rules.at_least(rules.REPEAT, _by_pair(same), rules.COIN, statement)


def _swapped(by_question: _Ballots) -> CertificateFinding:
    same, lean = [], []
    for at, pair in enumerate(pairs()):
        ballots = by_question.of(DEFECT, pair.name)
        for one, other in zip(ballots[::2], ballots[1::2], strict=False):
            if one.ranking and other.ranking:
                same.append((at, one.ranking == other.ranking))
                lean.append((at, 2 - _first_first(one) - _first_first(other)))
    statement = (
        f"{sum(agrees for _, agrees in same)} of {len(same)} answers were the same when swapped"
    )
    if lean:
        statement += f"; {rules.describe_lean(lean)}"
    return rules.at_least(rules.SWAP, _by_pair(same), rules.COIN, statement)


def _readable(ballots: list[BallotCast]) -> CertificateFinding:
    first_try = [[ballot.ranking is not None and ballot.asked == 1] for ballot in ballots]
    invalid = sum(ballot.ranking is None for ballot in ballots)
    read = sum(map(sum, first_try))
    statement = f"{read} of {len(first_try)} read at first try, {invalid} never"
    return rules.at_least(rules.BALLOTS, first_try, rules.READABLE, statement)


def _by_pair(same: list[tuple[int, bool]]) -> list[list[bool]]:
    """Pair by pair, which answers agreed."""
    places = dict.fromkeys(at for at, _ in same)
    return [[agrees for where, agrees in same if where == at] for at in places]


def _sound_first(ballot: BallotCast) -> bool:
    return ballot.ranking is not None and ballot.ranking[0] == SOUND


def _padded_first(ballot: BallotCast) -> bool:
    return ballot.ranking is not None and ballot.ranking[0] == PADDED


def _first_first(ballot: BallotCast) -> bool:
    return ballot.ranking is not None and ballot.ranking[0] == ballot.order[0]
