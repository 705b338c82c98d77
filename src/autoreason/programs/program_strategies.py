"""The built-in strategies for programs besides search: attempts, revisions of one program, and the tournament."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from autoreason.events import CandidateDropped, CritiqueWritten, Delivered, Slot
from autoreason.exchange import Outcome, Reply, Schema
from autoreason.jobs.context import repeat_request
from autoreason.jobs.job import Plan
from autoreason.keys import pass_key, try_key
from autoreason.parsing.critiques import describe
from autoreason.programs.program_strategy import PROGRAM_JUDGE_SETTINGS, Attempt, ProgramStrategy
from autoreason.programs.source import without_comments
from autoreason.tournament.stop import describe_survivals
from autoreason.tournament.voting import MAX_REQUESTS_PER_SEAT, PanelSize
from autoreason.tournament.writing import CRITIC_SETTINGS, ask_critic, critic_key


class SingleProgram(ProgramStrategy):
    """Independent attempts until one passes every public test; that one is handed in.

    Where none does, the first is handed in: there is nothing to choose by.
    """

    summary = (
        "independent attempts; the first that passes the public tests, or else the first of all"
    )
    counts_tests = False
    used_settings = ()

    async def run(self) -> Delivered:
        """Try until one passes or the calls are spent."""
        while self.may_ask():
            attempt = await self.author()
            if attempt and attempt.passes_all:
                return self.hand_in(attempt)
        return self.hand_in(self.attempts[0] if self.attempts else None)


class BestOfNPrograms(ProgramStrategy):
    """Independent attempts; the one that passes most public tests is handed in, the earliest among equals.

    It stops early only where one passes them all: no other could be chosen before it.
    """

    summary = "independent attempts; the one that passes most public tests"
    used_settings = ()

    async def run(self) -> Delivered:
        """Try as often as there are calls, then choose."""
        while self.may_ask():
            attempt = await self.author()
            if attempt and attempt.passes_all:
                break
        return self.hand_in(self.best())


_FIELDS = ("problem", "approach", "failure", "alternatives", "edge_cases")
ANALYSIS = Schema(
    name="analysis",
    definition={
        "type": "object",
        "properties": {name: {"type": "string"} for name in _FIELDS},
        "required": list(_FIELDS),
        "additionalProperties": False,
    },
    plain="Answer with one JSON object whose keys are "
    + ", ".join(f'"{name}"' for name in _FIELDS)
    + ", each with a text.",
)


class CritiqueRevisePrograms(ProgramStrategy):
    """A draft, then rounds in which one call finds what is wrong and fixes it.

    As published, every round continues from the latest program, and the last one is handed in, better or not.
    """

    summary = (
        "a draft, then critique and revision in one call a round; the last program is handed in"
    )
    used_settings = ()

    async def run(self) -> Delivered:
        """Revise until it passes or the calls are spent."""
        current = await self.first_program()
        number = 0
        while current and not current.passes_all and self.may_ask():
            number += 1
            self.begin_pass(number)
            revision = await self.revise(number, current)
            if revision:
                self.end_pass(number, "unjudged", "B")
            else:
                self.end_pass(number, "unopposed", "A", reason="the revision cannot stand")
            current = revision or current
        return self.hand_in(current)

    @classmethod
    def planned(cls, calls: int) -> Plan:
        """A draft, and one call per round."""
        return {"author": 1, "reviser": calls - 1}


class AnalyseRevisePrograms(ProgramStrategy):
    """A draft; where it fails, one structured analysis of why, then revisions that use it.

    Every revision continues from the best program so far, and the best is handed in, the earliest among equals.
    """

    summary = (
        "a draft, an analysis of its failure, revisions that know it; the best program is kept"
    )
    used_settings = ("critic_model", "critic_temperature", "critic_effort")

    async def run(self) -> Delivered:
        """Analyse once, then revise until it passes or the calls are spent."""
        best = await self.first_program()
        number = 0
        analysis = last_failure = ""
        while best and not best.passes_all and self.may_ask():
            number += 1
            self.begin_pass(number)
            if number == 1:
                analysis = await self._analyse(best)
            revision = (
                await self.revise(number, best, analysis, last_failure) if self.may_ask() else None
            )
            if revision and revision.passed > best.passed:
                best, last_failure = revision, ""
                self.end_pass(number, "unjudged", "B")
            else:
                reason = "the revision cannot stand"
                if revision:
                    last_failure = f"{revision.program}\n\n{self.results(revision)}"
                    reason = "the revision passes no more of the public tests"
                    detail = f"it passes {revision.passed} of the public tests, and A {best.passed}"
                    dropped = CandidateDropped(
                        number=number, slot="B", reason="tests", detail=detail
                    )
                    self.emit(dropped)
                self.end_pass(number, "unopposed", "A", reason=reason)
        return self.hand_in(best)

    @classmethod
    def planned(cls, calls: int) -> Plan:
        """A draft, an analysis, and one call per revision."""
        return {"author": 1, "critic": min(1, calls - 1), "reviser": max(0, calls - 2)}

    async def _analyse(self, attempt: Attempt) -> str:
        """Why it fails, as text for a reviser; empty where the reply cannot be read."""
        results = self.results(attempt)
        key = pass_key(1, "critic", 0)
        prompt = self.context.prompt(
            "analyst",
            key,
            program=attempt.program,
            results=results,
        )
        request = self.context.request(
            "critic",
            try_key(key, 0),
            self.settings.models.critic,
            prompt,
            schema=ANALYSIS,
        )
        reply = await self.context.ask(request)
        # A call for the revision itself must be left.
        if reply.outcome is not Outcome.OK and self.may_ask(2):
            reply = await self.context.ask(
                repeat_request(request, try_key(key, 1), longer=reply.needs_room)
            )
        analysis = read_analysis(reply)
        self.emit(CritiqueWritten(number=1, critic=0, prose=analysis, readable=bool(analysis)))
        return analysis


def read_analysis(reply: Reply) -> str:
    """The analysis with headings; the reply as it is where it has another form."""
    if reply.outcome is not Outcome.OK:
        return ""
    try:
        analysis: Any = json.loads(reply.text)
    except (ValueError, RecursionError):
        return reply.text.strip()
    if not isinstance(analysis, dict):
        return reply.text.strip()
    sections = [(name, str(analysis.get(name) or "").strip()) for name in _FIELDS]
    return "\n\n".join(
        f"{name.replace('_', ' ').capitalize()}: {text}" for name, text in sections if text
    )


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
        while incumbent and not incumbent.passes_all and self.may_ask(_MIN_PASS_CALLS):
            number += 1
            incumbent = await self._run_pass(number, incumbent)
            if self.story.streak >= self.settings.k:
                break
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

    async def _run_pass(self, number: int, incumbent: Attempt) -> Attempt:
        self.begin_pass(number)
        findings = await self._criticise(number, incumbent)
        candidates: dict[Slot, Attempt] = {"A": incumbent}
        if revision := await self.revise(number, incumbent, findings):
            candidates["B"] = revision
        if revision and not revision.passes_all and self.may_ask():
            prompt = self.merge_prompt(pass_key(number, "synthesizer"), incumbent, revision)
            model = self.settings.models.synthesizer
            if synthesis := await self.challenge(number, "AB", "synthesizer", model, prompt):
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
