"""Strategies that repeatedly revise one program with its test results in view."""

from __future__ import annotations

import json
from typing import Any

from autoreason.events import CandidateDropped, CritiqueWritten, Delivered
from autoreason.exchange import Outcome, Reply, Schema
from autoreason.jobs.context import repeat_request
from autoreason.jobs.job import Plan
from autoreason.keys import pass_key, try_key
from autoreason.programs.program_strategy import Attempt, ProgramStrategy

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
                last_failure = self._describe_failure(revision) if revision else last_failure
                self._keep_best(number, revision, best)
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

    def _describe_failure(self, revision: Attempt) -> str:
        return f"{revision.program}\n\n{self.results(revision)}"

    def _keep_best(self, number: int, revision: Attempt | None, best: Attempt) -> None:
        reason = "the revision cannot stand"
        if revision:
            reason = "the revision passes no more of the public tests"
            detail = f"it passes {revision.passed} of the public tests, and A {best.passed}"
            self.emit(CandidateDropped(number=number, slot="B", reason="tests", detail=detail))
        self.end_pass(number, "unopposed", "A", reason=reason)


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
