"""Revision after revision, each accepted without a vote."""

from __future__ import annotations

from typing import ClassVar

from autoreason.events import Delivered
from autoreason.jobs.job import Plan
from autoreason.keys import pass_key
from autoreason.settings import Settings
from autoreason.tournament.authors import MissingText, WrittenText
from autoreason.tournament.critics import CRITIC_SETTINGS, CRITICS, criticise
from autoreason.tournament.plan import MAX_CALLS_PER_TEXT, TRIES
from autoreason.tournament.revision import revise, reviser_key
from autoreason.tournament.strategy import Strategy


class Iterated(Strategy):
    """One instruction, repeated in every pass; there is no vote and no way to stop early."""

    prompt: ClassVar[str]
    used_settings: ClassVar[tuple[str, ...] | None] = ("passes",)

    async def run(self) -> Delivered:
        """Revise until the passes are used up."""
        await self.write_draft()
        number = 0
        while self.may_begin(number + 1):
            number += 1
            self.begin_pass(number)
            await self.run_pass(number, await self.guidance(number))
        return self.deliver("capped", self.why_capped(number))

    async def run_pass(self, number: int, guidance: str) -> None:
        """One revision."""
        self.take(number, await self._revise(number, guidance))

    @classmethod
    def plans(cls, settings: Settings) -> tuple[Plan, Plan, Plan]:
        """One text per pass."""
        passes = settings.passes
        likely = {"author": 1, "reviser": passes}
        return (
            likely,
            likely,
            {"author": MAX_CALLS_PER_TEXT, "reviser": passes * MAX_CALLS_PER_TEXT},
        )

    async def _revise(self, number: int, guidance: str) -> WrittenText | MissingText:
        text = self.incumbent.text
        key = pass_key(number, "reviser")
        prompt = self.context.prompt(
            self.prompt, key, (text, guidance), text=text, guidance=guidance
        )
        return await self.write(number, prompt)


class Conservative(Iterated):
    """Only what is clearly wrong is changed."""

    summary = "revised in every pass, asked to change as little as possible"
    prompt = "conservative"
    prompts = ("conservative",)


class Improve(Iterated):
    """The usual request: improve it."""

    summary = "revised in every pass, asked to improve it"
    prompt = "improve"
    prompts = ("improve",)


class Harsh(Iterated):
    """The author is asked to find fault with its own text."""

    summary = "revised in every pass by its own harshest critic"
    prompt = "harsh"
    prompts = ("harsh",)


class CritiqueRevise(Iterated):
    """A critic's problems, then a revision against them; a pass in which nothing is found changes nothing."""

    summary = "a critique and a revision in every pass, taken without a vote"
    prompts = ("critic", "critique_again", "reviser")
    used_settings = ("passes", *CRITIC_SETTINGS, "critic_facts", "protocol")

    async def run_pass(self, number: int, guidance: str) -> None:
        """One critique and one revision."""
        text = self.incumbent.text
        findings = await criticise(self.context, number, text, guidance)
        if findings.outcome == "unreadable":
            self.end_pass(number, "inconclusive", None, reason="no critic could be read")
        elif findings.outcome == "none":
            self.end_pass(number, "unopposed", "A", reason="two critics found nothing to fix")
        else:
            key = reviser_key(number)
            self.take(number, await revise(self.context, key, text, findings.problems))

    @classmethod
    def plans(cls, settings: Settings) -> tuple[Plan, Plan, Plan]:
        """A critic and a text per pass."""
        passes = settings.passes
        return (
            {"author": 1, "critic": passes * CRITICS},
            {"author": 1, "critic": passes, "reviser": passes},
            {
                "author": MAX_CALLS_PER_TEXT,
                "critic": passes * CRITICS * TRIES,
                "reviser": passes * MAX_CALLS_PER_TEXT,
            },
        )
