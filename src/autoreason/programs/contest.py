"""The tournament over programs: A, B and AB are run, tests exclude the weaker, blind judges decide among equals."""

from __future__ import annotations

from collections.abc import Mapping

from autoreason.events import CandidateDropped, Delivered, Slot
from autoreason.jobs.job import Plan
from autoreason.keys import pass_key
from autoreason.parsing.critiques import describe
from autoreason.programs.program_strategy import PROGRAM_JUDGE_SETTINGS, Attempt, ProgramStrategy
from autoreason.programs.source import without_comments
from autoreason.tournament.stop import describe_survivals
from autoreason.tournament.voting import MAX_REQUESTS_PER_SEAT, PanelSize
from autoreason.tournament.writing import CRITIC_SETTINGS, ask_critic, critic_key

_MIN_JUDGES = 2
_MIN_PASS_CALLS = 2
"""Calls of the shortest pass: a critic and a revision."""


class ProgramTournament(ProgramStrategy):
    """In every pass A may win; a program that passes every public test is not rewritten."""

    summary = (
        "A, a revision B and a synthesis AB; tests bar the weaker, blind judges decide among equals"
    )
    used_settings = (
        *(*CRITIC_SETTINGS, *PROGRAM_JUDGE_SETTINGS),
        *("synthesizer_model", "k", "tie_order"),
    )

    async def run(self) -> Delivered:
        """Run passes until A passes every test, survives k passes in a row, or too few calls are left."""
        incumbent = await self.first_program()
        number = 0
        while incumbent and not incumbent.passes_all and self._may_start_pass():
            number += 1
            incumbent = await self._run_pass(number, incumbent)
        if self.story.streak >= self.settings.k:
            return self.hand_in(incumbent, "converged", describe_survivals(self.story.streak))
        return self.hand_in(incumbent)

    @classmethod
    def planned(cls, calls: int) -> Plan:
        """A draft, then passes of a critic, two challengers and a panel with the remaining calls."""
        passes, left = divmod(calls - 1, 6)
        plan = {"author": 1, "critic": passes, "reviser": passes, "synthesizer": passes}
        plan["judge"] = 3 * passes
        for role in ("critic", "reviser", "synthesizer")[: left if left >= _MIN_PASS_CALLS else 0]:
            plan[role] += 1
        plan["judge"] += left - 3 if left - 3 >= _MIN_JUDGES else 0
        return plan

    def _may_start_pass(self) -> bool:
        return self.story.streak < self.settings.k and self.may_ask(_MIN_PASS_CALLS)

    async def _run_pass(self, number: int, incumbent: Attempt) -> Attempt:
        self.begin_pass(number)
        findings = await self._criticise(number, incumbent)
        candidates: dict[Slot, Attempt] = {"A": incumbent}
        if revision := await self.revise(number, incumbent, findings):
            candidates["B"] = revision
        if revision and not revision.passes_all and self.may_ask():
            synthesis = await self._synthesize(number, incumbent, revision)
            if synthesis:
                candidates["AB"] = synthesis
        await self._decide(number, self._gate(number, candidates))
        decided = self.story.passes[-1].decided
        return candidates[decided.winner if decided and decided.winner else "A"]

    async def _criticise(self, number: int, incumbent: Attempt) -> str:
        """The problems a critic finds; empty where the answer cannot be read: the test results suffice."""
        program, results = incumbent.program, self.results(incumbent)
        prompt = self.context.prompt(
            "critic", critic_key(number, 0), program=program, results=results
        )
        critique = await ask_critic(
            self.context,
            number,
            0,
            program,
            prompt,
            # A call for the revision itself must be left.
            may_repeat=lambda: self.may_ask(_MIN_PASS_CALLS),
        )
        self.emit(critique)
        return describe(critique.problems)

    async def _synthesize(self, number: int, one: Attempt, other: Attempt) -> Attempt | None:
        prompt = self.merge_prompt(pass_key(number, "synthesizer"), one, other)
        model = self.settings.models.synthesizer
        return await self.challenge(number, "AB", "synthesizer", model, prompt)

    def _gate(self, number: int, candidates: Mapping[Slot, Attempt]) -> dict[Slot, Attempt]:
        """The candidates that pass the most public tests, in tie order; the others are dropped."""
        best = max(attempt.passed for attempt in candidates.values())
        order = sorted(candidates, key=self.settings.tie_order.index)
        for slot in order:
            passed = candidates[slot].passed
            if passed < best:
                detail = f"it passes {passed} of the public tests, another {best}"
                self.emit(CandidateDropped(number=number, slot=slot, reason="tests", detail=detail))
        return {slot: candidates[slot] for slot in order if candidates[slot].passed == best}

    async def _decide(self, number: int, ballot: Mapping[Slot, Attempt]) -> None:
        """A single candidate wins; among equals judges decide, or the tie order where too few calls are left."""
        first, *others = ballot
        if not others:
            return self.decide(number, first, reason=self._unopposed_reason(first, ballot[first]))
        left = self.allowance.left
        calls = self.settings.judges * MAX_REQUESTS_PER_SEAT if left is None else int(left)
        if calls < _MIN_JUDGES:
            equals = f"{' and '.join(ballot)} pass equally many public tests"
            reason = f"{equals}, and too few calls are left for judges"
            return self.decide(number, first, reason=reason)
        # Judges see no comments: those might reveal where a program comes from.
        texts = {slot: without_comments(each.program) for slot, each in ballot.items()}
        judges = min(self.settings.judges, calls)
        ties, early = self.settings.ties_survive, self.settings.early_stop
        size = PanelSize(start=judges, early_stop=early, calls=calls, ties_survive=ties)
        # Where the tests exclude A, another candidate must take its place.
        return await self.vote(number, texts, size, fallback=None if first == "A" else first)

    def _unopposed_reason(self, winner: Slot, attempt: Attempt) -> str:
        if attempt.passes_all:
            return "it passes every public test"
        if winner == "A" and not self.story.passes[-1].candidates:
            return "no challenger was left"
        return f"it alone passes {attempt.passed} of {len(self.assignment.public)} public tests"
