"""The usual way to a program: whatever has worked is tried next, and of those that pass the common behaviour wins."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import msgspec

from autoreason.assignment import Input, Observed
from autoreason.events import Delivered, PanelDecided
from autoreason.exchange import Message, Request
from autoreason.jobs.context import JobContext
from autoreason.jobs.randomness import draw
from autoreason.programs.behaviour import Choice, choose
from autoreason.programs.examination import NotExamined, observe
from autoreason.programs.policy import Option, Taken, Turn
from autoreason.programs.problems.inputs import make_inputs
from autoreason.programs.source import same_program, without_comments
from autoreason.programs.strategy import Attempt, ProgramStrategy
from autoreason.tournament.panel import Panel
from autoreason.tournament.panel_size import PanelSize, quorum

_PANEL = "panel"
"""The stage of the judges who decide between groups of the same size."""


class Final(NamedTuple):
    """Programs that may be handed in, and which of them behaviour speaks for."""

    attempts: list[Attempt]
    choice: Choice

    @property
    def chosen(self) -> Attempt:
        """The one that attempts agree with most."""
        return self.attempts[self.choice.index]

    def alike(self, attempt: Attempt) -> str:
        """How many behave as this one does, in words."""
        place, number = self.attempts.index(attempt), len(self.attempts)
        size = next(each.size for each in self.choice.groups if place in each.members)
        passing = "that pass" if attempt.settled else "that pass as many"
        which = passing if attempt.passed else "programs"
        if len(self.choice.groups) == number:
            return f"no two of {number} {which} behave alike"
        if size == 1:
            return f"none of the other {number - 1} {which} behaves as it does"
        return f"{size} of {number} {which} behave alike"

    @property
    def tied(self) -> list[Attempt]:
        """The chosen program, and one of every other group of the same size; none where another group is larger."""
        first, *others = self.choice.groups
        if any(each.size > first.size for each in others):
            return []
        same = [self.attempts[each.members[0]] for each in others if each.size == first.size]
        return [self.chosen, *same]


class Search(ProgramStrategy):
    """Attempts, repairs and merges by what has worked, until one passes; then attempts until a behaviour leads.

    Programs are run on inputs made from the public tests. Of those that pass, the one is handed in that attempts agree
    with most; judges decide between groups of the same size where the last calls are worth more as ballots.
    """

    summary = "attempts, repairs or merges by what works; of those that pass, what most agree with"

    def __init__(self, context: JobContext) -> None:
        super().__init__(context)
        self._observed: dict[str, Observed] = {}
        self._repaired: Counter[str] = Counter()
        self._merged: list[tuple[Attempt, Attempt]] = []
        self._last: Taken | None = None
        self._turns = 0

    async def run(self) -> Delivered:
        """Look for a program that passes, then for company that behaves like it."""
        await self.first_program()
        while self.attempts and not self._passing and self.may_ask():
            await self._try_next()
        if self._last:
            # The last turn would otherwise teach nobody anything.
            await self._next_of(())
        final = await self._compared()
        while final and self._passing and not final.choice.clear and self.may_ask():
            if self._judges_are_due(final):
                return await self._judged(final)
            await self.author()
            final = await self._compared()
        return self._end(final)

    @property
    def _passing(self) -> list[Attempt]:
        return [attempt for attempt in self.attempts if attempt.settled]

    async def _try_next(self) -> None:
        """One action, and what came of it."""
        failing, models = self._failing(), self.settings.models
        pairs = [pair for pair in combinations(failing, 2) if pair not in self._merged]
        options = [Option("fresh", models.author), Option("repair", models.author)]
        if pairs:
            options.append(Option("merge", models.synthesizer))
        action, before = await self._next_of(tuple(options)), self.allowance.total.calls
        match action:
            case "repair":
                # The best of those that were repaired least: the same question mostly gets the same answer.
                chosen = min(failing, key=lambda each: self._repaired[each.stage])
                self._repaired[chosen.stage] += 1
                attempt = await self.repair(chosen)
            case "merge":
                self._merged.append(pairs[0])
                attempt = await self.merge(*pairs[0])
            case _:
                attempt = await self.author()
        self._last = Taken(
            next(each for each in options if each.action == action),
            self.allowance.total.calls - before,
            passed=attempt is not None and attempt.settled,
        )

    async def _next_of(self, options: tuple[Option, ...]) -> str:
        """What the policy says, which knows how it went on every problem of the run; recorded like a reply."""
        self._turns += 1
        key = f"policy/{self._turns}"
        turn = Turn(
            strategy=self.settings.strategy,
            options=options,
            seed=draw(self.settings.seed, key).getrandbits(32),
            last=self._last,
        )
        said = Message("user", msgspec.json.encode(turn).decode())
        request = Request(role="policy", key=key, model="policy", messages=(said,), max_tokens=0)
        return (await self.context.ask(request)).text

    def _failing(self) -> list[Attempt]:
        """Different programs that fail, those that pass most tests first."""
        found: list[Attempt] = []
        for attempt in self.attempts:
            if not attempt.settled and not any(
                same_program(attempt.program, each.program) for each in found
            ):
                found.append(attempt)
        return sorted(found, key=lambda attempt: -attempt.passed)

    async def _compared(self) -> Final | None:
        """Those that pass most public tests by what they do; None where nothing is to be compared, or by nothing."""
        best = self.best()
        finalists = [each for each in self.attempts if best and each.passed == best.passed]
        if not finalists or not self._inputs or (len(finalists) == 1 and not self.may_ask()):
            return None
        others = [each for each in self.attempts if each not in finalists]
        try:
            observed = [await self._observe(each) for each in finalists]
            # Those that fail agree with what is right more often than with any one mistake.
            voters = [await self._observe(each) for each in others]
        except NotExamined:
            # They pass their tests all the same.
            return None
        programs = [each.program for each in finalists]
        return Final(finalists, choose(programs, observed, voters, left=self._left))

    async def _observe(self, attempt: Attempt) -> Observed:
        program = attempt.program
        if program not in self._observed:
            key = f"{attempt.stage}/observed"
            self._observed[program] = await observe(self.context, key, program, self._inputs)
        return self._observed[program]

    @cached_property
    def _inputs(self) -> tuple[Input, ...]:
        return make_inputs(self.assignment, draw(self.settings.seed, "inputs").getrandbits(32))

    @property
    def _left(self) -> int:
        return int(self.allowance.left or 0)

    def _judges_are_due(self, final: Final) -> bool:
        """Whether the last calls say more as ballots than as attempts, of which most would not pass."""
        few = quorum(0) <= self._left <= max(quorum(0), self.settings.judges)
        return few and len(final.tied) > 1 and 2 * len(self._passing) < len(self.attempts)

    async def _judged(self, final: Final) -> Delivered:
        """Judges between groups of the same size, who see no comments; where they tie it stays as it was."""
        tied = final.tied
        texts = {each.stage: without_comments(each.program) for each in tied}
        judges = min(self.settings.judges, self._left)
        size = PanelSize(start=judges, early_stop=self.settings.early_stop, calls=self._left)
        verdict = await Panel(self.context, _PANEL, texts, size).run()
        self.emit(PanelDecided(stage=_PANEL, verdict=verdict))
        if verdict is None:
            return self._end(final)
        winner = next(each for each in tied if each.stage == verdict.winner)
        judged = f"{verdict.ballots} judges chose between {len(tied)} groups of that size"
        return self._end(final, winner, judged)

    def _end(
        self, final: Final | None, attempt: Attempt | None = None, judged: str = ""
    ) -> Delivered:
        """Hand in the program that was chosen, and say by what."""
        if final is None:
            return self.hand_in(self.best())
        attempt = attempt or final.chosen
        said = [] if attempt.settled else [self._why_spent(attempt)]
        if len(final.attempts) > 1:
            said.append(
                f"{final.alike(attempt)} on {_count(len(self._inputs), 'input')} made by code"
            )
        return self.hand_in(attempt, reason="; ".join(filter(None, [*said, judged])))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
