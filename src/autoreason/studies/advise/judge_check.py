"""A short certificate: is the judge shown to miss planted defects, to go by position, or to be unreadable?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import comb

from autoreason.events import JobFinished
from autoreason.exchange import BudgetQuery
from autoreason.jobs.context import draw
from autoreason.keys import sub_key
from autoreason.report.numbers import count, listed
from autoreason.settings import Settings
from autoreason.stats.shares import clustered_share
from autoreason.story import Story
from autoreason.studies.certify.certification import Certification
from autoreason.studies.certify.properties import (
    BALLOTS,
    COIN,
    DEFECTS,
    FLOOR,
    READABLE,
    SWAP,
    CertificateFinding,
    at_least,
    weigh,
)
from autoreason.studies.certify.questions import DEFECT, SOUND, Question, defect_questions
from autoreason.studies.certify.suite import KINDS, pairs
from autoreason.tournament.judges import seat_calls

PAIRS = 9
QUESTIONS = 2 * PAIRS
LEAST_QUESTIONS = 4
"""After so many right answers in a row no fault can be shown any more."""
Right = tuple[tuple[bool, bool], ...]
"""Pair by pair, whether the sound text was ranked first, in either order of the two."""


class JudgeCheck(Certification):
    """Pairs of the certificate, each in both orders, until no fault can be shown any more."""

    summary = "a short certificate: planted defects in both orders"

    async def run(self) -> JobFinished:
        """Ask about pair after pair."""
        questions = check_questions(self.settings)
        for at in range(PAIRS):
            if not may_fail(*read_answers(self.story), PAIRS - at) or await self._is_short(at):
                break
            await self.ask_questions(questions[2 * at : 2 * at + 2])
        right, read = read_answers(self.story)
        return self.finish(find_fault(judge_findings(right, read)) or no_fault(len(read)))

    async def _is_short(self, at: int) -> bool:
        calls = 2 * seat_calls(self.settings).most
        key = sub_key(sub_key("question", at), "budget")
        shortage: str = await self.context.ask(BudgetQuery(key=key, calls=calls, after=0))
        return bool(shortage)


def check_questions(settings: Settings) -> list[Question]:
    """Pairs of every kind of defect, drawn by the seed; the models of a mixed panel take turns."""
    at = {sub_key(DEFECT, name): at for at, name in enumerate(_draw_pairs(settings.seed))}
    chosen = [replace(q, judge=at[q.stage]) for q in defect_questions(1) if q.stage in at]
    return sorted(chosen, key=lambda each: (at[each.stage], each.seat))


def _draw_pairs(seed: int) -> list[str]:
    random = draw(seed, "pairs")
    by_kind = [[pair.name for pair in pairs() if pair.kind == kind] for kind in KINDS]
    for names in by_kind:
        random.shuffle(names)
    random.shuffle(by_kind)
    longest = max(map(len, by_kind))
    in_turn = [names[at] for at in range(longest) for names in by_kind if at < len(names)]
    return in_turn[:PAIRS]


def read_answers(story: Story) -> tuple[Right, tuple[bool, ...]]:
    """Pairs of which both ballots could be read, and which ballots were read at the first try."""
    right: list[tuple[bool, bool]] = []
    read: list[bool] = []
    for panel in story.panels.values():
        first = [ballot.ranking[0] == SOUND for ballot in panel.ballots if ballot.ranking]
        if len(first) == 2:
            right.append((first[0], first[1]))
        read += [ballot.ranking is not None and ballot.asked == 1 for ballot in panel.ballots]
    return tuple(right), tuple(read)


@lru_cache(1024)
def judge_findings(right: Right, read: tuple[bool, ...]) -> tuple[CertificateFinding, ...]:
    """What the answers show by the rules of the certificate."""
    same = [[one == other] for one, other in right]
    seen, agreed = sum(map(sum, right)), sum(map(sum, same))
    return (
        at_least(DEFECTS, right, FLOOR, f"seen in {seen} of {2 * len(right)} questions"),
        at_least(SWAP, same, COIN, f"{agreed} of {len(same)} answers were the same when swapped"),
        at_least(
            *(BALLOTS, [[each] for each in read], READABLE),
            f"{sum(read)} of {len(read)} ballots read at first try",
        ),
    )


@lru_cache(1024)
def may_fail(right: Right, read: tuple[bool, ...], left: int) -> bool:
    """Whether so many further pairs could still show a fault where none is shown yet."""
    if weigh(clustered_share([each] for each in read), READABLE) == "failed":
        return False
    wrong = clustered_share([*right, *[(False, False)] * left])
    turned = clustered_share([*([one == other] for one, other in right), *[[False]] * left])
    return "failed" in (weigh(wrong, FLOOR), weigh(turned, COIN))


def find_fault(findings: Sequence[CertificateFinding]) -> str:
    """What the judge failed in, in words; empty where it failed nothing."""
    failed = [f"{each.name} ({each.statement})" for each in findings if each.verdict == "failed"]
    return f"the judge failed {listed(failed)}" if failed else ""


def no_fault(questions: int) -> str:
    """That a judge failed nothing, in words."""
    return f"no fault of the judge is shown in {count(questions, 'question')}"


def chance_to_fail(share: float, lean: float = 0.0) -> float:
    """How often a judge fails who sees that share of defects and leans that much to the text shown first."""
    first, second = (min(1.0, max(0.0, share + side * lean / 2)) for side in (1, -1))
    both, none = first * second, (1 - first) * (1 - second)
    total = 0.0
    for seen in range(PAIRS + 1):
        for missed in range(PAIRS + 1 - seen):
            turned = PAIRS - seen - missed
            right = [(True, True)] * seen + [(False, False)] * missed + [(True, False)] * turned
            # With no pair left it says whether these answers themselves show a fault.
            if may_fail(tuple(right), (), 0):
                ways = comb(PAIRS, seen) * comb(PAIRS - seen, missed)
                total += ways * both**seen * none**missed * (1 - both - none) ** turned
    return total
