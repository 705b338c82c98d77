"""The tournament over programs: A, B and AB are run, tests exclude the weaker, blind judges decide among equals."""

from __future__ import annotations

from collections.abc import Mapping

from autoreason.events import CandidateDropped, CritiqueWritten, Delivered, Slot, Verdict
from autoreason.exchange import Outcome, Reply
from autoreason.jobs.job import Plan
from autoreason.parsing.critiques import SCHEMA, describe, read_critique
from autoreason.programs.source import without_comments
from autoreason.programs.strategy import Attempt, ProgramStrategy
from autoreason.tournament.judges import MAX_REQUESTS_PER_SEAT
from autoreason.tournament.panel import Panel
from autoreason.tournament.panel_size import PanelSize

_MIN_JUDGES = 2
_MIN_PASS_CALLS = 2
"""Calls of the shortest pass: a critic and a revision."""


class ProgramTournament(ProgramStrategy):
    """In every pass A may win; a program that passes every public test is not rewritten."""

    summary = (
        "A, a revision B and a synthesis AB; tests bar the weaker, blind judges decide among equals"
    )

    async def run(self) -> Delivered:
        """Run passes until A passes every test, survives k passes in a row, or too few calls are left."""
        incumbent = await self.first_program()
        number = 0
        while incumbent and not incumbent.passes_all and self._may_start_pass():
            number += 1
            incumbent = await self._run_pass(number, incumbent)
        if self.story.streak >= self.settings.k:
            reason = f"A survived {self.story.streak} passes in a row"
            return self.hand_in(incumbent, "converged", reason)
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
        ballot = self._gate(number, candidates)
        winner = await self._decide(number, ballot)
        return candidates[winner]

    async def _criticise(self, number: int, incumbent: Attempt) -> str:
        """The problems a critic finds; empty where the answer cannot be read: the test results suffice."""
        program, results = incumbent.program, self.results(incumbent)
        key = f"pass/{number}/critic/0"
        prompt = self.context.prompt(
            "critic", key, (program, results), program=program, results=results
        )
        request = self.context.request(
            "critic",
            f"{key}/try/0",
            self.settings.models.critic,
            prompt,
            temperature=self.settings.critic_temperature,
            schema=SCHEMA,
        )
        reply = await self.context.ask(request)
        critique = _critique(reply, number, program)
        # A call for the revision itself must be left.
        if not critique.readable and self.may_ask(_MIN_PASS_CALLS):
            reply = await self.context.ask(
                self.context.second_request(request, f"{key}/try/1", reply, "critique_again")
            )
            critique = _critique(reply, number, program)
        self.emit(critique)
        return describe(critique.problems)

    async def _synthesize(self, number: int, one: Attempt, other: Attempt) -> Attempt | None:
        prompt = self.merge_prompt(f"pass/{number}/synthesizer", one, other)
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

    async def _decide(self, number: int, ballot: Mapping[Slot, Attempt]) -> Slot:
        """A single candidate wins; among equals judges decide, or the tie order where too few calls are left."""
        first, *others = ballot
        if not others:
            return self._end_decided(
                number, first, reason=self._unopposed_reason(first, ballot[first])
            )
        left = self.allowance.left
        calls = self.settings.judges * MAX_REQUESTS_PER_SEAT if left is None else int(left)
        if calls < _MIN_JUDGES:
            reason = f"{_tie_text(ballot)}, and too few calls are left for judges"
            return self._end_decided(number, first, reason=reason)
        # Judges see no comments: those might reveal where a program comes from.
        texts: dict[str, str] = {
            slot: without_comments(each.program) for slot, each in ballot.items()
        }
        judges = min(self.settings.judges, calls)
        size = PanelSize(start=judges, early_stop=self.settings.early_stop, calls=calls)
        panel = Panel(self.context, f"pass/{number}", texts, size)
        verdict = await panel.run()
        if verdict is None:
            return self._undecided(number, first, len(panel.rankings), len(panel.ballots))
        winner = next(slot for slot in ballot if slot == verdict.winner)
        chance = panel.survival_chance if "A" in ballot else None
        return self._end_decided(number, winner, verdict=verdict, chance=chance)

    def _undecided(self, number: int, first: Slot, valid: int, seats: int) -> Slot:
        reason = f"{valid} of {seats} ballots were valid, too few to decide"
        if first == "A":
            self.end_pass(number, "inconclusive", None, reason=reason)
            return "A"
        # A is excluded by the tests, so another candidate must take its place.
        return self._end_decided(
            number, first, reason=f"{reason}; of equals the smaller step from A is taken"
        )

    def _end_decided(
        self,
        number: int,
        winner: Slot,
        *,
        reason: str = "",
        verdict: Verdict | None = None,
        chance: float | None = None,
    ) -> Slot:
        self.decide(number, winner, verdict=verdict, survival_chance=chance, reason=reason)
        return winner

    def _unopposed_reason(self, winner: Slot, attempt: Attempt) -> str:
        if attempt.passes_all:
            return "it passes every public test"
        if winner == "A" and not self.story.passes[-1].candidates:
            return "no challenger was left"
        return f"it alone passes {attempt.passed} of {len(self.assignment.public)} public tests"


def _critique(reply: Reply, number: int, program: str) -> CritiqueWritten:
    read = read_critique(reply.text, program) if reply.outcome is Outcome.OK else None
    if read is None:
        return CritiqueWritten(number=number, critic=0, readable=False)
    return CritiqueWritten(number=number, critic=0, problems=read.problems, dropped=read.dropped)


def _tie_text(ballot: Mapping[Slot, Attempt]) -> str:
    return f"{' and '.join(ballot)} pass equally many public tests"
