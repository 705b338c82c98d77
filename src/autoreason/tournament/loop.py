"""The loop: pass after pass until A has stood its ground, then a playoff over every text that reigned."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from autoreason.contract import count_words
from autoreason.errors import PanelFailed, ProviderFailed
from autoreason.events import (
    AnyEvent,
    CandidateDropped,
    Delivered,
    DraftFailed,
    DraftReady,
    GuidanceTaken,
    PassDecided,
    PassStarted,
    Reigning,
    Slot,
    Status,
    Verdict,
)
from autoreason.exchange import Request
from autoreason.story import Story
from autoreason.tournament.challengers import challenge
from autoreason.tournament.critic import criticise
from autoreason.tournament.evidence import chance_of_survival
from autoreason.tournament.panel import Panel, Size
from autoreason.tournament.playoff import hold_playoff
from autoreason.tournament.report import deliver
from autoreason.tournament.venue import Venue
from autoreason.tournament.writing import Written, write


class Tournament:
    """One run of the method. The same seed and the same replies tell the same story."""

    def __init__(self, venue: Venue) -> None:
        self.story = Story(task=venue.task, settings=venue.settings)
        self._outside = venue.tell
        self.venue = replace(venue, tell=self._tell)
        self.settings = venue.settings

    async def run(self) -> Delivered:
        """Hold passes until something stops them, and deliver a text."""
        await self._write_draft()
        number = 0
        while self.story.streak < self.settings.k and number < self.settings.passes:
            number += 1
            await self._hold_pass(number)
            self._give_up_on_dead_panels()
        if self.story.streak >= self.settings.k:
            status: Status = "converged"
            reason = f"A survived {self.story.streak} passes in a row"
        else:
            status, reason = "capped", f"{number} passes were held, the most allowed"
        winner = await hold_playoff(self.venue, self.story.reigns)
        delivered = deliver(self.story, status, reason, winner)
        self._tell(delivered)
        return delivered

    def _tell(self, event: AnyEvent) -> None:
        self.story.tell(event)
        self._outside(event)

    @property
    def _incumbent(self) -> Reigning:
        assert self.story.incumbent is not None
        return self.story.incumbent

    async def _write_draft(self) -> None:
        task = self.venue.task
        if task.draft is not None:
            text = task.draft.strip()
            violations = task.contract.violations(text)
            self._tell(
                DraftReady(text=text, words=count_words(text), given=True, violations=violations)
            )
            return
        written = await self._ask_for_draft()
        self._tell(
            DraftReady(
                text=written.text,
                words=count_words(written.text),
                given=False,
                violations=written.violations,
                leaks=written.leaks,
            )
        )

    async def _ask_for_draft(self) -> Written:
        """The author's text; a run resumed after it got none asks once more than before."""
        settings = self.settings
        reason = mend = ""
        for attempt in range(settings.redrafts + 1):
            key = f"draft/{attempt}" if attempt else "draft"
            request = self.venue.request(
                "author",
                f"{key}/try/0",
                settings.models.author,
                self.venue.prompts.render("author"),
                temperature=settings.author_temperature,
            )
            written = await write(self.venue, request, key)
            if isinstance(written, Written):
                return written
            self._tell(DraftFailed(attempt=attempt, reason=written.reason, detail=written.detail))
            reason = f"{written.reason}: {written.detail}"
            mend = (
                "raise the output limit"
                if written.reason == "truncated"
                else "try another author model"
            )
        raise ProviderFailed(f"the author gave no first draft ({reason}); {mend}")

    async def _hold_pass(self, number: int) -> None:
        incumbent = self._incumbent
        self._tell(PassStarted(number=number, words=count_words(incumbent.text)))
        guidance = await self._guidance(number)
        findings = await criticise(self.venue, number, incumbent.text, guidance)
        if findings.outcome == "unreadable":
            return self._inconclusive(number, "no critic could be read")
        if findings.outcome == "none":
            return self._decide(
                number, "unopposed", "A", reason="two critics found nothing to mend"
            )
        challengers = await challenge(self.venue, number, incumbent.text, findings.problems)
        ballot = self._ballot(number, incumbent, challengers)
        if not challengers and self._unanswered():
            return self._inconclusive(number, "no author would write a challenger")
        if len(ballot) == 1:
            winner = next(iter(ballot))
            return self._decide(number, "unopposed", winner, reason=_alone(winner))
        panel = Panel(self.venue, f"pass/{number}", dict(ballot.items()), self._panel_size())
        verdict = await panel.hold()
        if verdict is None:
            valid, seats = len(panel.rankings), len(panel.ballots)
            return self._inconclusive(
                number, f"{valid} of {seats} ballots were valid, too few to decide"
            )
        chance = None
        if "A" in ballot:
            chance = chance_of_survival(verdict.ballots, len(ballot), self.settings.voting)
        winner = next(slot for slot in ballot if slot == verdict.winner)
        return self._decide(number, "decided", winner, verdict=verdict, survival_chance=chance)

    async def _guidance(self, number: int) -> str:
        request = Request(
            role="person", key=f"pass/{number}/guidance", model="person", messages=(), max_tokens=0
        )
        guidance = (await self.venue.ask(request)).text
        if guidance:
            self._tell(GuidanceTaken(number=number, text=guidance))
        return guidance

    def _ballot(
        self, number: int, incumbent: Reigning, challengers: dict[Slot, str]
    ) -> dict[Slot, str]:
        """Who stands, in the order in which ties are decided; a breach of contract yields to a text without."""
        standing: dict[Slot, str] = {"A": incumbent.text, **challengers}
        if challengers and not incumbent.keeps_contract:
            del standing["A"]
            violations = self.venue.task.contract.violations(incumbent.text)
            detail = "; ".join(v.message for v in violations)
            self._tell(
                CandidateDropped(
                    number=number, slot="A", reason="contract", detail=detail, violations=violations
                )
            )
        order: list[Slot] = [slot for slot in ("A", "B", "AB") if slot in standing]
        order.sort(key=self.settings.tie_order.index)
        return {slot: standing[slot] for slot in order}

    def _unanswered(self) -> bool:
        """Whether an author refused or sent nothing: that says nothing about A."""
        dropped = self.story.passes[-1].dropped
        return any(text.reason in ("refused", "empty") for text in dropped)

    def _panel_size(self) -> Size:
        settings = self.settings
        return Size(
            start=settings.judges,
            more=settings.more_judges,
            most=settings.most_judges,
            close=settings.close,
            spare=settings.spare_judges,
        )

    def _decide(
        self,
        number: int,
        outcome: Literal["decided", "unopposed"],
        winner: Slot,
        *,
        verdict: Verdict | None = None,
        survival_chance: float | None = None,
        reason: str = "",
    ) -> None:
        incumbent = self._incumbent
        streak = self.story.streak + 1 if winner == "A" else 0
        if not incumbent.keeps_contract:
            # A text that breaks its contract is never confirmed, only kept for want of a better one.
            streak = 0
        text = incumbent.text if winner == "A" else self.story.passes[-1].text(winner)
        self._tell(
            PassDecided(
                number=number,
                outcome=outcome,
                winner=winner,
                streak=streak,
                words=count_words(text),
                verdict=verdict,
                survival_chance=survival_chance,
                reason=reason,
            )
        )

    def _inconclusive(self, number: int, reason: str) -> None:
        self._tell(
            PassDecided(
                number=number,
                outcome="inconclusive",
                winner=None,
                streak=self.story.streak,
                words=count_words(self._incumbent.text),
                reason=reason,
            )
        )

    def _give_up_on_dead_panels(self) -> None:
        recent = self.story.passes[-self.settings.inconclusive :]
        dead = [
            p
            for p in recent
            if p.decided
            and p.decided.outcome == "inconclusive"
            and p.number > self.settings.forgiven
        ]
        if len(dead) == self.settings.inconclusive:
            last = recent[-1].decided
            why = last.reason if last else ""
            raise PanelFailed(
                f"{len(dead)} passes in a row were inconclusive, the last because {why}"
            )


def _alone(winner: Slot) -> str:
    return (
        "no challenger was left"
        if winner == "A"
        else "the incumbent breaks the contract, this text keeps it"
    )
