"""The search: actions by what has worked so far, then a choice among programs that pass by what they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import combinations
from typing import Final, NamedTuple

from msgspec import Struct

from autoreason.events import Delivered, PanelDecided
from autoreason.jobs.context import JobContext, draw
from autoreason.keys import sub_key
from autoreason.programs.assignment import Input, Observation, Observed
from autoreason.programs.examination import NotExamined, observe, same_program, without_comments
from autoreason.programs.policy import ActionResult, Option, PolicyQuery, Turn
from autoreason.programs.problems.inputs import make_inputs
from autoreason.programs.program_strategies import PROGRAM_JUDGE_SETTINGS, Attempt, ProgramStrategy
from autoreason.report.numbers import count
from autoreason.tournament.panel import Panel
from autoreason.tournament.voting import PanelSize, quorum

LEAD: Final = 3
"""The lead, in attempts, beyond which further attempts are hardly worth their calls."""

Behaviour = tuple[Observation, ...]


ProgramGroup = tuple[int, ...]
"""Programs that behave alike, by their places; the same program written twice counts twice."""


class Choice(Struct, frozen=True):
    """The program to deliver, and how clear the choice is."""

    index: int
    groups: tuple[ProgramGroup, ...]
    """The group of the program first, then the largest."""
    clear: bool
    """Whether the attempts that are left are unlikely to change it."""


def group(programs: Sequence[str], observed: Sequence[Observed]) -> tuple[ProgramGroup, ...]:
    """Group programs that did the same on every informative input, the largest group first, then the earliest.

    Where no input is informative, only identical programs are known to do the same.
    """
    behaviours = _behaviours(programs, observed)
    informative = _informative_inputs(behaviours)
    members: dict[Behaviour | str, list[int]] = {}
    for place, behaviour in enumerate(behaviours):
        results = tuple(behaviour[each] for each in informative)
        members.setdefault(results or programs[place], []).append(place)
    return tuple(sorted(map(tuple, members.values()), key=len, reverse=True))


def choose(
    programs: Sequence[str],
    observed: Sequence[Observed],
    others: Sequence[Observed] = (),
    *,
    left: int = 0,
) -> Choice:
    """Choose the program with which all attempts agree most, input by input; the earliest among equals.

    `others` cannot be chosen, because they fail public tests, but their agreement counts like that of the rest.
    `left` is how many more attempts there could be.
    """
    candidates = _behaviours(programs, observed)
    informative = _informative_inputs(candidates)
    voters = [*candidates, *(each.observations for each in others)]
    support = [
        # A failure is not an answer.
        sum(one[at] == each[at] and not one[at].failure for each in voters for at in informative)
        for one in candidates
    ]
    index = support.index(max(support))
    groups = sorted(group(programs, observed), key=lambda each: index not in each)
    lead = len(groups[0]) - max(map(len, groups[1:]), default=0)
    return Choice(index, tuple(groups), clear=lead >= min(LEAD, left + 1))


def _behaviours(programs: Sequence[str], observed: Sequence[Observed]) -> list[Behaviour]:
    """What each program did; the same for identical programs, although one may have run out of time only once."""
    first: dict[str, Behaviour] = {}
    pairs = zip(programs, observed, strict=True)
    return [first.setdefault(program, each.observations) for program, each in pairs]


def _informative_inputs(behaviours: Sequence[Behaviour]) -> list[int]:
    """Informative inputs: where most programs fail, the input is more likely wrong than they are.

    A program that fails on all of them is wrong itself, and says nothing about any input.
    """
    every = range(len(behaviours[0]))
    working = [each for each in behaviours if not all(results.failure for results in each)]
    failed = [sum(bool(each[place].failure) for each in working) for place in every]
    return [place for place in every if working and 2 * failed[place] <= len(working)]


_PANEL_STAGE = "panel"


class Finalists(NamedTuple):
    """Programs that may be handed in, and the choice among them by behaviour."""

    attempts: list[Attempt]
    choice: Choice

    @property
    def chosen(self) -> Attempt:
        return self.attempts[self.choice.index]

    def describe_agreement(self, attempt: Attempt) -> str:
        place, number = self.attempts.index(attempt), len(self.attempts)
        size = next(len(each) for each in self.choice.groups if place in each)
        passing = "that pass" if attempt.passes_all else "that pass as many"
        which = passing if attempt.passed else "programs"
        if len(self.choice.groups) == number:
            return f"no two of {number} {which} behave alike"
        if size == 1:
            return f"none of the other {number - 1} {which} behaves as it does"
        return f"{size} of {number} {which} behave alike"

    @property
    def tied(self) -> list[Attempt]:
        """The chosen program and one of every other group of that size; empty where another group is larger."""
        first, *others = self.choice.groups
        if any(len(each) > len(first) for each in others):
            return []
        same = [self.attempts[each[0]] for each in others if len(each) == len(first)]
        return [self.chosen, *same]


class Search(ProgramStrategy):
    """Attempts, repairs and merges by what has worked until one passes; then attempts until one behaviour leads.

    Programs are run on inputs generated from the public tests. Of those that pass, the one that attempts agree with
    most is handed in; judges decide between groups of equal size where the last calls are worth more as ballots.
    """

    summary = "attempts, repairs or merges by what works; of those that pass, what most agree with"
    used_settings = (*PROGRAM_JUDGE_SETTINGS, "synthesizer_model")

    def __init__(self, context: JobContext) -> None:
        super().__init__(context)
        self._observed: dict[str, Observed] = {}
        self._repaired: Counter[str] = Counter()
        self._merged: list[tuple[Attempt, Attempt]] = []
        self._last: ActionResult | None = None
        self._turns = 0

    async def run(self) -> Delivered:
        await self.first_program()
        while self.attempts and not self._passing and self.may_ask():
            await self._try_next()
        if self._last:
            # The result of the last turn would otherwise not be learned.
            await self._ask_policy(())
        finalists = await self._compare()
        while finalists and self._passing and not finalists.choice.clear and self.may_ask():
            if self._judges_are_due(finalists):
                return await self._judge(finalists)
            await self.author()
            finalists = await self._compare()
        return self._deliver(finalists)

    @property
    def _passing(self) -> list[Attempt]:
        return [attempt for attempt in self.attempts if attempt.passes_all]

    async def _try_next(self) -> None:
        failing, models = self._failing_attempts(), self.settings.models
        pairs = [pair for pair in combinations(failing, 2) if pair not in self._merged]
        options = [Option("fresh", models.author), Option("repair", models.author)]
        if pairs:
            options.append(Option("merge", models.synthesizer))
        action, before = await self._ask_policy(tuple(options)), self.allowance.total.calls
        match action:
            case "repair":
                # The best of those repaired least often: the same request mostly gets the same answer.
                chosen = min(failing, key=lambda each: self._repaired[each.stage])
                self._repaired[chosen.stage] += 1
                attempt = await self.repair(chosen)
            case "merge":
                self._merged.append(pairs[0])
                attempt = await self.merge(*pairs[0])
            case _:
                attempt = await self.author()
        self._last = ActionResult(
            next(each for each in options if each.action == action),
            self.allowance.total.calls - before,
            passed=attempt is not None and attempt.passes_all,
        )

    async def _ask_policy(self, options: tuple[Option, ...]) -> str:
        """The action chosen by the policy, which learns from every problem of the run; recorded like a reply."""
        self._turns += 1
        key = sub_key("policy", self._turns)
        turn = Turn(
            strategy=self.settings.job.name,
            options=options,
            seed=draw(self.settings.seed, key).getrandbits(32),
            last=self._last,
        )
        return await self.context.ask(PolicyQuery(key=key, turn=turn))

    def _failing_attempts(self) -> list[Attempt]:
        distinct: list[Attempt] = []
        for attempt in self.attempts:
            if not attempt.passes_all and not any(
                same_program(attempt.program, each.program) for each in distinct
            ):
                distinct.append(attempt)
        return sorted(distinct, key=lambda attempt: -attempt.passed)

    async def _compare(self) -> Finalists | None:
        """Compare the programs that pass most public tests by behaviour; None where that is not possible."""
        best = self.best()
        passing_most = [each for each in self.attempts if best and each.passed == best.passed]
        if not passing_most or not self._inputs or (len(passing_most) == 1 and not self.may_ask()):
            return None
        others = [each for each in self.attempts if each not in passing_most]
        try:
            observed = [await self._observe(each) for each in passing_most]
            # Failing programs agree with the right answer more often than with any one mistake.
            voters = [await self._observe(each) for each in others]
        except NotExamined:
            # Their test results are still valid.
            return None
        programs = [each.program for each in passing_most]
        return Finalists(passing_most, choose(programs, observed, voters, left=self._calls_left))

    async def _observe(self, attempt: Attempt) -> Observed:
        program = attempt.program
        if program not in self._observed:
            key = sub_key(attempt.stage, "observed")
            self._observed[program] = await observe(self.context, key, program, self._inputs)
        return self._observed[program]

    @cached_property
    def _inputs(self) -> tuple[Input, ...]:
        return make_inputs(self.assignment, draw(self.settings.seed, "inputs").getrandbits(32))

    @property
    def _calls_left(self) -> int:
        return int(self.allowance.left or 0)

    def _judges_are_due(self, finalists: Finalists) -> bool:
        """Whether the last calls are worth more as ballots than as attempts, most of which would fail."""
        few = quorum(0) <= self._calls_left <= max(quorum(0), self.settings.panel_judges)
        return few and len(finalists.tied) > 1 and 2 * len(self._passing) < len(self.attempts)

    async def _judge(self, finalists: Finalists) -> Delivered:
        """Let judges, who see no comments, decide between groups of equal size; a tie changes nothing."""
        tied = finalists.tied
        texts = {each.stage: without_comments(each.program) for each in tied}
        judges = min(self.settings.panel_judges, self._calls_left)
        size = PanelSize(judges, early_stop=self.settings.early_stop, calls=self._calls_left)
        verdict = await Panel(self.context, _PANEL_STAGE, texts, size).run()
        self.emit(PanelDecided(stage=_PANEL_STAGE, verdict=verdict))
        if verdict is None:
            return self._deliver(finalists)
        winner = next(each for each in tied if each.stage == verdict.winner)
        judged = f"{verdict.ballots} judges chose between {len(tied)} groups of that size"
        return self._deliver(finalists, winner, judged)

    def _deliver(
        self, finalists: Finalists | None, attempt: Attempt | None = None, judged: str = ""
    ) -> Delivered:
        if finalists is None:
            return self.hand_in(self.best())
        attempt = attempt or finalists.chosen
        reasons = [] if attempt.passes_all else [self._spent_reason(attempt)]
        if len(finalists.attempts) > 1:
            reasons.append(
                f"{finalists.describe_agreement(attempt)} on {count(len(self._inputs), 'input')} made by code"
            )
        return self.hand_in(attempt, reason="; ".join(filter(None, [*reasons, judged])))
