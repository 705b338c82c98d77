"""Self-Refine (Madaan and others, 2023): one model, one conversation, its own feedback, until it says it is done."""

from __future__ import annotations

from autoreason.events import CritiqueWritten, Delivered
from autoreason.exchange import Message, Outcome, Reply, Request, Role
from autoreason.jobs.context import repeat_request, with_history
from autoreason.jobs.job import Plan
from autoreason.keys import pass_key, try_key
from autoreason.settings import Settings
from autoreason.tournament.authors import fixes, write
from autoreason.tournament.plan import MAX_CALLS_PER_TEXT, TRIES
from autoreason.tournament.stop import Ending
from autoreason.tournament.strategy import Strategy

_MAX_ROUNDS = 3
"""Rounds of the conversation that are repeated: all of it would soon fill any window."""
_DONE = "DONE"
"""What the author is asked to say when nothing is left to improve."""


class SelfRefine(Strategy):
    """Feedback and refinement by the author itself, who remembers the rounds before."""

    summary = (
        "the author's own feedback and refinement in one conversation, until it says it is done"
    )
    prompts = ("feedback", "refine")
    used_settings = ("passes", "critic_effort", "critic_facts")

    async def run(self) -> Delivered:
        """Refine until the author finds nothing more to improve and code nothing that breaks the contract."""
        await self.write_draft()
        rounds: list[tuple[Message, ...]] = []
        number = 0
        while self.may_begin(number + 1):
            number += 1
            self.begin_pass(number)
            feedback = await self._feedback(number, rounds)
            if feedback is None:
                self.end_pass(number, "inconclusive", None, reason="no feedback could be read")
                continue
            broken = fixes(self.context, self.incumbent.text)
            if _is_content(feedback) and not broken:
                self.end_pass(number, "unopposed", "A", reason="the author is content", streak=1)
                content = Ending("author", "the author found nothing more to improve")
                return self.deliver("converged", content)
            own_feedback = [] if _is_content(feedback) else [feedback]
            wanted = [*(f"- {fix}" for fix in broken), *own_feedback]
            await self._refine(number, "\n".join(wanted), rounds)
        return self.deliver("capped", self.why_capped(number))

    @classmethod
    def plans(cls, settings: Settings) -> tuple[Plan, Plan, Plan]:
        """Feedback and a text per pass."""
        passes = settings.passes
        return (
            {"author": 1, "critic": 1},
            {"author": 1, "critic": passes, "reviser": passes},
            {
                "author": MAX_CALLS_PER_TEXT,
                "critic": passes * TRIES,
                "reviser": passes * MAX_CALLS_PER_TEXT,
            },
        )

    async def _feedback(self, number: int, rounds: list[tuple[Message, ...]]) -> str | None:
        """What the author thinks of its text; None where nothing can be read."""
        guidance = await self.guidance(number)
        text = self.incumbent.text
        key = pass_key(number, "critic", 0)
        prompt = self.context.prompt(
            "feedback", key, (text, guidance), text=text, guidance=guidance
        )
        request = self._question("critic", try_key(key, 0), prompt, rounds)
        reply = await self.context.ask(request)
        if not _is_usable(reply):
            reply = await self.context.ask(
                repeat_request(request, try_key(key, 1), longer=reply.needs_room)
            )
        own_feedback = reply.text.strip() if _is_usable(reply) else ""
        self.emit(
            CritiqueWritten(
                number=number, critic=0, prose=own_feedback, readable=bool(own_feedback)
            )
        )
        return own_feedback or None

    async def _refine(self, number: int, feedback: str, rounds: list[tuple[Message, ...]]) -> None:
        before, key = self.incumbent.text, pass_key(number, "reviser")
        prompt = self.context.prompt(
            "refine", key, (before, feedback), text=before, critique=feedback
        )
        request = self._question("reviser", try_key(key, 0), prompt, rounds)
        self.take(number, await write(self.context, request, key))
        rounds.append((Message("user", prompt), Message("assistant", self.incumbent.text)))

    def _question(
        self, role: Role, key: str, prompt: str, rounds: list[tuple[Message, ...]]
    ) -> Request:
        settings = self.settings
        request = self.context.request(
            role, key, settings.models.author, prompt, temperature=settings.author_temperature
        )
        return with_history(
            request, [message for each in rounds[-_MAX_ROUNDS:] for message in each]
        )


def _is_content(feedback: str) -> bool:
    """Whether the author says that it is done, and nothing more."""
    first = feedback.splitlines()[0].strip(" .!*_#`\"'")
    return first.upper() == _DONE


def _is_usable(reply: Reply) -> bool:
    return reply.outcome is Outcome.OK and bool(reply.text.strip())
