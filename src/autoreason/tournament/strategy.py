"""What every way from a task to a text has in common: the story so far, and how it is told."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace as changed

from autoreason.contract import count_words
from autoreason.errors import InvalidInput, PanelFailed, StrategyError, plainly
from autoreason.events import (
    FINISHED,
    AnyEvent,
    Delivered,
    GuidanceGiven,
    Incumbent,
    PassDecided,
    PassOutcome,
    PassStarted,
    PromptsShortened,
    Slot,
    Status,
    Verdict,
)
from autoreason.exchange import Message, Need, Reply, Request
from autoreason.jobs.context import JobContext
from autoreason.settings import Settings
from autoreason.story import Story
from autoreason.tournament.admission import admit
from autoreason.tournament.delivery import deliver
from autoreason.tournament.drafting import draft
from autoreason.tournament.panel_size import pass_size
from autoreason.tournament.plan import Plan
from autoreason.tournament.writing import Unwritten, Written, write

COMMON_PROMPTS = ("system", "task", "author", "fix_leak", "fix_contract")
Own = TypeVar("Own", bound=Struct)


class Strategy:
    """A way from a task to a text: `run` asks through the venue, tells what happens, and delivers.

    The same seed and the same replies must tell the same story: that is what resuming rests on.
    """

    summary: ClassVar[str] = ""
    """What it does, in a line."""
    prompts: ClassVar[tuple[str, ...] | None] = None
    """The prompts it uses beside the common ones; None is all of them."""
    over_texts: ClassVar[bool] = False
    """Whether finished texts are what it is held over."""
    over_programs: ClassVar[bool] = False
    """Whether programs are what it writes, with prompts of their own."""
    ending: ClassVar[str] = "self.deliver(...)"
    """How its run ends, as whoever writes one types it."""

    def __init__(self, context: JobContext) -> None:
        self.story = Story(task=context.task, settings=context.settings)
        self._outside = context.emit
        self._ask_outside = context.ask
        self.context = replace(context, emit=self.emit, ask=self._ask_watchfully)
        self.settings = context.settings
        self._short = ""
        """What the run's budget lacks for another pass and what comes after it."""
        self._formed = ""
        """The first request to the author's model for an answer in a certain form."""
        self._weakness = ""
        """What the author's model has shown that calls for the short prompts."""

    async def run(self) -> Delivered:
        """From the task to a text."""
        raise NotImplementedError

    @classmethod
    def plans(cls, settings: Settings) -> tuple[Plan, Plan, Plan] | None:  # noqa: ARG003
        """Calls by role, from the fewest to the most, without a given draft; None where nobody can say."""
        return None

    @classmethod
    def check(cls, settings: Settings) -> None:
        """Raise `InvalidInput` for options it does not understand; by default it understands none."""
        if settings.strategy_options:
            name = min(settings.strategy_options)
            raise InvalidInput(f"{settings.strategy} has no option `{name}`; leave it out")

    def emit(self, event: AnyEvent) -> None:
        """Take an event into the story and pass it on."""
        self.story.emit(event)
        self._outside(event)

    @property
    def incumbent(self) -> Incumbent:
        """The text that stands now."""
        if self.story.incumbent is None:
            raise InvalidInput("there is no text yet; write the draft first")
        return self.story.incumbent

    async def write_draft(self) -> Incumbent:
        """The first text: given, or written by the author."""
        await draft(self.context)
        return self.incumbent

    async def _ask_watchfully(self, request: Request) -> Reply:
        """Ask, and notice a model that cannot answer in a form: short prompts are for such authors."""
        formed = request.schema is not None and request.model == self.settings.models.author
        if formed:
            self._formed = self._formed or request.key.removesuffix("/try/0")
            if request.key == f"{self._formed}/try/1":
                self._weakness = "its first answer in a form could not be read"
        reply = await self._ask_outside(request)
        if formed and reply.schema_refused:
            self._weakness = "it takes no schema"
        return reply

    def _shorten_prompts(self, number: int) -> None:
        """Between passes, so that it depends on recorded replies alone and not on which came first."""
        small = self.context.prompts.small
        if self._weakness and small and not self.story.shortened:
            self.emit(PromptsShortened(number=number, reason=self._weakness))
            self.context = replace(self.context, prompts=small)

    def begin_pass(self, number: int) -> None:
        """The next pass begins with the text that stands."""
        self._shorten_prompts(number)
        if self.context.allowance:
            self.context.allowance.begin_pass()
        self.emit(PassStarted(number=number, words=count_words(self.incumbent.text)))

    def check_begun(self, number: int) -> None:
        """Refuse what belongs to a pass that is not under way, before anything of it is asked or told."""
        if not self.story.passes or self.story.passes[-1].number != number:
            raise StrategyError(
                f"the strategy {self.settings.strategy} works in pass {number}, which has not begun; "
                f"call self.begin_pass({number}) first"
            )

    def may_begin(self, number: int, *, calls_after: int = 0) -> bool:
        """Whether this pass may be held, with this many calls to come after the last one."""
        return number <= self.settings.passes and self.affords_another(calls_after)

    def affords_another(self, calls_after: int = 0) -> bool:
        """Whether the allowance, where there is one, pays for another pass and what comes after."""
        allowance = self.context.allowance
        return allowance is None or allowance.fits_another(self._calls_a_pass(), calls_after)

    async def budget_allows(self, number: int, calls_after: int) -> bool:
        """Whether the run's budget pays for this pass and the calls that come after the last one.

        It is asked without limits, too, and the answer recorded: a resumed run takes the same turn whatever its limits.
        """
        if not calls_after or self.context.allowance:
            return True
        need = Need(self.most_calls_a_pass(), calls_after)
        self._short = await self.short_of(f"pass/{number}", need)
        return not self._short

    async def short_of(self, stage: str, need: Need) -> str:
        """What is left of the run's budget, where that does not pay for what a stage needs; else nothing."""
        request = Request(
            role="budget",
            key=f"{stage}/budget",
            model="budget",
            messages=(Message("user", msgspec.json.encode(need).decode()),),
            max_tokens=0,
        )
        return (await self.context.ask(request)).text

    async def guidance(self, number: int) -> str:
        """What a person wants the critic of this pass to look at."""
        request = Request(
            role="person", key=f"pass/{number}/guidance", model="person", messages=(), max_tokens=0
        )
        guidance = (await self.context.ask(request)).text
        if guidance:
            self.emit(GuidanceGiven(number=number, text=guidance))
        return guidance

    async def write(self, number: int, prompt: str) -> Written | Unwritten:
        """A text of this pass by the author: asked for again if cut off, sent back for a leak or a breach."""
        key = f"pass/{number}/reviser"
        request = self.context.request(
            "reviser",
            f"{key}/try/0",
            self.settings.models.author,
            prompt,
            temperature=self.settings.author_temperature,
        )
        return await write(self.context, request, key)

    def take(self, number: int, written: Written | Unwritten) -> None:
        """End a pass with its revision, unless it cannot stand: cut off, a clone, or in breach of contract."""
        if admit(self.context, number, "B", written, (self.incumbent.text,)):
            self.end_pass(number, "unjudged", "B")
        elif isinstance(written, Unwritten) and written.reason != "truncated":
            self.end_pass(number, "inconclusive", None, reason="the author wrote nothing")
        else:
            self.end_pass(number, "unopposed", "A", reason="the revision cannot stand")

    def decide(
        self,
        number: int,
        winner: Slot,
        *,
        verdict: Verdict | None = None,
        survival_chance: float | None = None,
        reason: str = "",
    ) -> None:
        """End a pass that somebody won, by a vote or unopposed; A survives it only if it keeps its contract."""
        survived = winner == "A" and self.incumbent.keeps_contract
        self.end_pass(
            number,
            "decided" if verdict else "unopposed",
            winner,
            streak=self.story.streak + 1 if survived else 0,
            verdict=verdict,
            survival_chance=survival_chance,
            reason=reason,
        )

    def end_pass(
        self,
        number: int,
        outcome: PassOutcome,
        winner: Slot | None,
        *,
        streak: int = 0,
        verdict: Verdict | None = None,
        survival_chance: float | None = None,
        reason: str = "",
    ) -> None:
        """Tell how a pass ended; after too many that decided nothing the run pauses."""
        self.check_begun(number)
        text = self.incumbent.text
        if winner and winner != "A":
            text = self.story.passes[-1].text(winner)
        self.emit(
            PassDecided(
                number=number,
                outcome=outcome,
                winner=winner,
                # An inconclusive pass says nothing about A: the streak neither grows nor ends.
                streak=streak if winner else self.story.streak,
                words=count_words(text),
                verdict=verdict,
                survival_chance=survival_chance,
                reason=reason,
            )
        )
        if self.context.allowance:
            self.context.allowance.end_pass()
        self._give_up_on_dead_passes()

    def why_capped(self, done: int) -> str:
        """What kept another pass from being run."""
        if self._short:
            return f"{_passes(done)} run; another did not fit the budget, of which {self._short}"
        if done < self.settings.passes:
            return f"{_passes(done)} run; another would not fit the allowance"
        return f"{_passes(done)} run, the most allowed"

    def deliver(self, status: Status, reason: str, text: Incumbent | None = None) -> Delivered:
        """The end: this text, or the one that stands."""
        if status not in FINISHED:
            raise InvalidInput(
                f"{self.settings.strategy} ends as {status!r}; a run ends as converged, capped or done"
            )
        delivered = deliver(self.story, status, reason, text or self.incumbent)
        self.emit(delivered)
        return delivered

    def _calls_a_pass(self) -> int:
        """What a pass takes as it is planned; a call where nobody can say."""
        one = changed(self.settings, passes=1, playoff=0, confirmation=0, drafts=1, max_drafts=1)
        _, likely, _ = self.plans(one) or ({}, {}, {})
        return max(1, sum(likely.values()) - likely.get("author", 0))

    def most_calls_a_pass(self) -> int:
        """What a pass takes if its panel grows as large as it may."""
        settings = self.settings
        return self._calls_a_pass() + pass_size(settings).limit - settings.judges

    def _give_up_on_dead_passes(self) -> None:
        recent = self.story.passes[-self.settings.max_inconclusive :]
        dead = [
            p
            for p in recent
            if p.decided
            and p.decided.outcome == "inconclusive"
            and p.number > self.settings.forgiven
        ]
        if len(dead) == self.settings.max_inconclusive:
            last = recent[-1].decided
            why = last.reason if last else ""
            raise PanelFailed(
                f"{len(dead)} passes in a row were inconclusive, the last because {why}"
            )


def _passes(done: int) -> str:
    return "1 pass was" if done == 1 else f"{done} passes were"


def read_options(settings: Settings, kind: type[Own]) -> Own:
    """A strategy's own options as it declares them; what it does not know is one clear sentence."""
    unknown = set(settings.strategy_options) - set(kind.__struct_fields__)
    if unknown:
        known = ", ".join(kind.__struct_fields__)
        raise InvalidInput(
            f"{settings.strategy} has no option `{min(unknown)}`; it has {known or 'none'}"
        )
    try:
        # Typed on a command line they are words.
        return msgspec.convert(settings.strategy_options, kind, strict=False)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, InvalidInput):
            raise error.__cause__ from None
        raise InvalidInput(f"{settings.strategy}: {plainly(error)}") from None
