"""A short certificate: does the judge see planted defects, whichever text it is shown first?"""

from __future__ import annotations

from dataclasses import replace
from math import comb

from msgspec import Struct

from autoreason.events import JobFinished
from autoreason.jobs.randomness import draw
from autoreason.report.numbers import percent
from autoreason.settings import Settings
from autoreason.story import Story
from autoreason.studies.certify.certification import Certification
from autoreason.studies.certify.questions import SOUND, Question, defect_questions
from autoreason.studies.certify.suite import KINDS, pairs

JUDGE_PART = "judge_check"
"""The part of an advice that asks these questions."""
PAIRS = 10
QUESTIONS = 2 * PAIRS
MIN_SHARE = 0.65
"""Of planted defects seen; below it judges are no use."""
MAX_LEAN = 0.25
"""How much more often than the other the text in one place may win."""
_MIN_VALID = 14
"""Ballots that must be valid, both of a pair: two thirds."""


class JudgeScore(Struct, frozen=True, kw_only=True):
    """Ballots on pairs that were answered in both orders."""

    valid: int
    right: int
    """Those that put the sound text first."""
    first: int
    """Those that put the text first that was shown first."""

    @property
    def share(self) -> float:
        """Of planted defects seen."""
        return self.right / self.valid if self.valid else 0.0

    @property
    def lean(self) -> float:
        """By how much the text shown first wins more often than the other; negative where less often."""
        return 2 * self.first / self.valid - 1 if self.valid else 0.0

    @property
    def fault(self) -> str:
        """Why another judge is needed; empty where none is."""
        if self.valid < _MIN_VALID:
            return f"only {self.valid} of {QUESTIONS} ballots can be read, in both orders of a pair"
        # A little less and more, so that rounding decides nothing.
        if self.share < MIN_SHARE - 1e-9:
            return f"the judge sees planted defects in {self.right} of {self.valid} questions"
        if abs(self.lean) > MAX_LEAN + 1e-9:
            place = "first" if self.lean > 0 else "second"
            return (
                f"the judge goes by position: the text shown {place} wins by "
                f"{abs(self.lean) * 100:.0f} points, whichever it is"
            )
        return ""

    def describe(self) -> str:
        """What it saw, and how much position counted."""
        if not self.valid:
            return self.fault
        return (
            f"planted defects seen in {self.right} of {self.valid} questions ({percent(MIN_SHARE)} are needed); the "
            f"text shown first wins by {self.lean * 100:+z.0f} points (at most {MAX_LEAN * 100:.0f} either way)"
        )


class JudgeCheck(Certification):
    """Ten pairs of the certificate, each in both orders."""

    summary = "a short certificate: planted defects in both orders"

    async def run(self) -> JobFinished:
        """Ask all questions at once."""
        await self.ask_questions(check_questions(self.settings))
        score = score_judge(self.story)
        return self.finish(score.fault or "the judge will do")


def check_questions(settings: Settings) -> list[Question]:
    """Pairs of every kind of defect, drawn by the seed; the models of a mixed panel take turns."""
    chosen = set(_draw_pairs(settings.seed))
    questions = [each for each in defect_questions(1) if each.stage.split("/")[-1] in chosen]
    return [replace(each, judge=at // 2) for at, each in enumerate(questions)]


def _draw_pairs(seed: int) -> list[str]:
    random = draw(seed, "pairs")
    by_kind = [[pair.name for pair in pairs() if pair.kind == kind] for kind in KINDS]
    for names in by_kind:
        random.shuffle(names)
    random.shuffle(by_kind)
    longest = max(map(len, by_kind))
    in_turn = [names[at] for at in range(longest) for names in by_kind if at < len(names)]
    return in_turn[:PAIRS]


def score_judge(story: Story) -> JudgeScore:
    """The ballots on pairs of which both could be read."""
    right = first = valid = 0
    for panel in story.panels.values():
        rankings = [(b.order, b.ranking) for b in panel.ballots if b.ranking]
        if len(rankings) == 2:
            valid += 2
            right += sum(ranking[0] == SOUND for _, ranking in rankings)
            first += sum(ranking[0] == order[0] for order, ranking in rankings)
    return JudgeScore(valid=valid, right=right, first=first)


def chance_to_pass(share: float, lean: float = 0.0, valid: int = QUESTIONS) -> float:
    """How often a judge passes who sees that share of defects and leans that much, ballot by ballot."""
    each = valid // 2
    seen_first, seen_second = (min(1.0, max(0.0, share + side * lean / 2)) for side in (1, -1))
    return sum(
        _binomial(each, one, seen_first) * _binomial(each, two, seen_second)
        for one in range(each + 1)
        for two in range(each + 1)
        if not JudgeScore(valid=2 * each, right=one + two, first=one + each - two).fault
    )


def _binomial(trials: int, wins: int, share: float) -> float:
    return float(comb(trials, wins) * share**wins * (1 - share) ** (trials - wins))
