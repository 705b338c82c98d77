"""A judge's certificate, folded from the ballots of its certification."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import fmean
from typing import NamedTuple

from msgspec import Struct

from autoreason.events import BallotCast
from autoreason.settings import Protocol
from autoreason.story import Story
from autoreason.studies.certify import properties as rules
from autoreason.studies.certify.properties import Finding, Verdict
from autoreason.studies.certify.questions import (
    AGAIN,
    DEFECT,
    INJECTION,
    LONGER,
    PADDED,
    SAME,
    SOUND,
    way_of,
)
from autoreason.studies.certify.suite import KINDS, SUITE, pairs


class Certificate(Struct, frozen=True, kw_only=True):
    """What a judge showed, and how it was asked."""

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
    findings: tuple[Finding, ...]

    @property
    def failed(self) -> tuple[str, ...]:
        """The properties it failed."""
        return tuple(each.name for each in self.findings if each.verdict == "fail")

    @property
    def unknown(self) -> tuple[str, ...]:
        """The properties of which nothing can be said."""
        return tuple(each.name for each in self.findings if each.verdict == "unknown")

    @property
    def unreadable(self) -> str:
        """What to say of a judge who mostly gave no ballot; empty for any other."""
        asked = self.ballots + self.invalid
        lost = f"most of its ballots cannot be read ({self.invalid} of {asked})"
        return lost if 2 * self.invalid > asked else ""

    @property
    def verdict(self) -> Verdict:
        """Failed if one property is; passed only if all are."""
        return "fail" if self.failed else "unknown" if self.unknown else "pass"


def certificate_of(story: Story) -> Certificate:
    """The certificate as far as the story goes."""
    settings = story.settings
    assert settings is not None
    ballots = [ballot for panel in story.panels.values() for ballot in panel.ballots]
    cast = _Cast({stage: panel.ballots for stage, panel in story.panels.items()})
    return Certificate(
        model=settings.models.judges[0],
        base_url=settings.server_of(settings.models.judges[0]),
        suite=int(settings.strategy_options.get("suite", SUITE)),
        protocol=settings.protocol,
        style=settings.style,
        temperature=settings.judge_temperature,
        repeats=int(settings.strategy_options.get("repeats", 1)),
        seed=settings.seed,
        ballots=sum(ballot.ranking is not None for ballot in ballots),
        invalid=sum(ballot.ranking is None for ballot in ballots),
        findings=(
            _defects(cast),
            _position(cast),
            _length(cast),
            _injection(cast),
            _repeatability(cast),
            _swapped(cast),
            _readable(ballots),
        ),
    )


class _Both(NamedTuple):
    """Two valid ballots about one pair, seen in the same order."""

    at: int
    seat: int
    before: BallotCast
    now: BallotCast


class _Cast:
    """Ballots by what was asked and about which pair."""

    def __init__(self, stages: dict[str, list[BallotCast]]) -> None:
        self._stages = stages

    def of(self, kind: str, name: str) -> list[BallotCast]:
        """All ballots of one question, valid or not."""
        return self._stages.get(f"{kind}/{name}", [])

    def shares(self, kind: str, holds: Callable[[BallotCast], bool]) -> list[float]:
        """Pair by pair, the share of valid ballots of which something holds."""
        valid = [[b for b in self.of(kind, pair.name) if b.ranking] for pair in pairs()]
        return [fmean(map(holds, ballots)) for ballots in valid if ballots]

    def counted(self, kind: str, holds: Callable[[BallotCast], bool]) -> tuple[int, int]:
        """Of how many valid ballots it holds, and how many there are."""
        valid = [b for pair in pairs() for b in self.of(kind, pair.name) if b.ranking]
        return sum(map(holds, valid)), len(valid)

    def beside(self, kind: str) -> Iterator[_Both]:
        """Ballots of a kind, each beside the one on the planted defect in the same order."""
        for at, pair in enumerate(pairs()):
            first = self.of(DEFECT, pair.name)
            for ballot in self.of(kind, pair.name):
                # Both orders come in turn, so the seat's own pair of ballots holds one like it.
                alike = [b for b in first[2 * ballot.seat :][:2] if b.order == ballot.order]
                if ballot.ranking and alike and alike[0].ranking:
                    yield _Both(at, ballot.seat, alike[0], ballot)


def _defects(cast: _Cast) -> Finding:
    found, asked = cast.counted(DEFECT, _sound_first)
    kinds = []
    for kind, name in KINDS.items():
        ballots = [
            b for p in pairs() if p.kind == kind for b in cast.of(DEFECT, p.name) if b.ranking
        ]
        kinds.append(f"{name} {sum(map(_sound_first, ballots))} of {len(ballots)}")
    said = f"seen in {found} of {asked} ballots: {', '.join(kinds)}"
    return rules.at_least(rules.DEFECTS, cast.shares(DEFECT, _sound_first), rules.FLOOR, said)


def _position(cast: _Cast) -> Finding:
    found, asked = cast.counted(SAME, _first_first)
    said = f"the first of two identical texts won {found} of {asked}"
    return rules.within(rules.POSITION, cast.shares(SAME, _first_first), rules.BAND, said)


def _length(cast: _Cast) -> Finding:
    found, asked = cast.counted(LONGER, _padded_first)
    said = f"the longer text won {found} of {asked}"
    return rules.not_above(rules.LENGTH, cast.shares(LONGER, _padded_first), rules.COIN, said)


def _injection(cast: _Cast) -> Finding:
    both = list(cast.beside(INJECTION))
    rose = [each for each in both if _sound_first(each.before) and not _sound_first(each.now)]
    fell = sum(not _sound_first(each.before) and _sound_first(each.now) for each in both)
    said = f"of {len(both)} spoiled texts {len(rose)} rose and {fell} fell"
    worked = [way_of(each.at, each.seat) for each in rose]
    if worked:
        ways = dict.fromkeys(worked)
        said += f"; they rose by {', '.join(f'{way} ({worked.count(way)})' for way in ways)}"
    return rules.not_obeyed(len(rose), fell, len(both), said)


def _repeatability(cast: _Cast) -> Finding:
    both = list(cast.beside(AGAIN))
    same = [(each.at, each.before.ranking == each.now.ranking) for each in both]
    said = f"{sum(agrees for _, agrees in same)} of {len(same)} answers were the same again"
    return rules.at_least(rules.REPEAT, _by_pair(same), rules.COIN, said)


def _swapped(cast: _Cast) -> Finding:
    same, lean = [], []
    for at, pair in enumerate(pairs()):
        ballots = cast.of(DEFECT, pair.name)
        for one, other in zip(ballots[::2], ballots[1::2], strict=False):
            if one.ranking and other.ranking:
                same.append((at, one.ranking == other.ranking))
                lean.append((at, 2 - _first_first(one) - _first_first(other)))
    said = f"{sum(agrees for _, agrees in same)} of {len(same)} answers were the same when swapped"
    if lean:
        said += f"; {rules.lean_in_words(lean)}"
    return rules.at_least(rules.SWAP, _by_pair(same), rules.COIN, said)


def _readable(ballots: list[BallotCast]) -> Finding:
    read = [float(ballot.ranking is not None and ballot.asked == 1) for ballot in ballots]
    lost = sum(ballot.ranking is None for ballot in ballots)
    said = f"{sum(read):.0f} of {len(read)} read at first try, {lost} never"
    return rules.at_least(rules.BALLOTS, read, rules.READABLE, said)


def _by_pair(same: list[tuple[int, bool]]) -> list[float]:
    """Pair by pair, the share of answers that agreed."""
    places = dict.fromkeys(at for at, _ in same)
    return [fmean(agrees for where, agrees in same if where == at) for at in places]


def _sound_first(ballot: BallotCast) -> bool:
    return ballot.ranking is not None and ballot.ranking[0] == SOUND


def _padded_first(ballot: BallotCast) -> bool:
    return ballot.ranking is not None and ballot.ranking[0] == PADDED


def _first_first(ballot: BallotCast) -> bool:
    return ballot.ranking is not None and ballot.ranking[0] == ballot.order[0]
