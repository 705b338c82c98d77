"""The base class of strategies: drafts, passes, and the text that is delivered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from msgspec.structs import replace as changed

from autoreason import events
from autoreason.contract import Violation, count_words
from autoreason.errors import InvalidInput, PanelFailed, StrategyError
from autoreason.exchange import BudgetQuery, GuidanceQuery, Query, Request
from autoreason.jobs.context import JobContext
from autoreason.jobs.job import Job
from autoreason.keys import Key, pass_key, sub_key, try_key
from autoreason.parsing.documents import share_changed
from autoreason.report.numbers import count, percent
from autoreason.settings import Settings
from autoreason.story import Story
from autoreason.tournament.challengers import WorseText, admit, prepare_draft
from autoreason.tournament.evidence import SurvivalChances, gather_evidence
from autoreason.tournament.panel import CodeJudges, Panel
from autoreason.tournament.rounds import name_text
from autoreason.tournament.voting import PanelSize
from autoreason.tournament.writing import MissingText, WrittenText, violations, write


class Ending(NamedTuple):
    """What ended a run, and the same in words."""

    ended_by: events.EndedBy
    reason: str


ShareChanged = Callable[[str, str], float]


def describe_survivals(streak: int) -> str:
    """`A survived 3 passes in a row`."""
    return "A survived a pass" if streak == 1 else f"A survived {streak} passes in a row"


def find_ending(
    story: Story, settings: Settings, changed: ShareChanged = share_changed
) -> Ending | None:
    """What ends a run before A has survived k times: a contract that no text keeps, a plateau, or its reviews."""
    # The paper's runs go on whatever their texts break.
    may_end = settings.protocol != "paper" and not settings.anyway
    if may_end and (why := _contract_never_kept(story, settings)):
        return Ending("contract", why)
    if why := _plateau(story, settings, changed):
        return Ending("plateau", why)
    last = [one for one in story.passes if one.decided][-settings.k :]
    reasons = [{each.reason for each in one.dropped} for one in last if not one.candidates]
    if len(reasons) == settings.k and all("changed" in each for each in reasons):
        return Ending("author", f"no rewrite was small enough an edit in {settings.k} rounds")
    winners = [each.decided.winner for each in story.reviews if each.decided]
    if winners[-1:] != [None] and ends_by_review(winners, settings):
        text = name_text(next(filter(None, reversed(winners)))).replace("the text", "that")
        return Ending("review", f"later texts no longer ranked above {text}")
    return None


def ends_by_review(winners: Sequence[str | None], settings: Settings) -> bool:
    """Whether the last of enough reviews put the same text first as the one before it, or two pause it, unread."""
    first = [name for name in winners if name]
    enough = settings.review_every > 0 and len(first) >= settings.min_reviews
    return winners[-2:] == [None, None] or (enough and first[-1] == first[-2])


def _plateau(story: Story, settings: Settings, changed: ShareChanged) -> str:
    """Over when so many passes in a row that A lost changed no larger share of its words; its survivals are k's."""
    number, share = settings.plateau, settings.plateau_change
    decided = [(each, each.decided.winner) for each in story.passes if each.decided]
    last = [(each, winner) for each, winner in decided if winner not in (None, "A")][-number:]
    if not number or len(last) < number:
        return ""
    if any(changed(each.incumbent, each.text(winner)) > share for each, winner in last):
        return ""
    which = "the last change" if number == 1 else f"each of the last {number} changes"
    return f"a plateau: {which} was at most {percent(share)} of the words"


def _contract_never_kept(story: Story, settings: Settings) -> str:
    """Over when no text keeps the contract and one of its limits was kept by none, after all drafts or a pass.

    Limits that were each kept by some text may still come together, and a length that some text was half as far from
    may still be reached: on a real model most such runs get there.
    """
    breaches = story.breaches
    tried = len(story.drafts) >= settings.max_drafts > 1
    tried = tried or any(each.decided and each.decided.winner for each in story.passes)
    if not tried or not all(breaches):
        return ""
    every = [{_limit(each): each for each in broken} for broken in breaches]
    never = [
        min((each[name] for each in every), key=lambda broken: broken.words_off).message
        for name, first in every[0].items()
        if all(name in each and 2 * each[name].words_off >= first.words_off for each in every)
    ]
    if not never:
        return ""
    return f"none of {count(len(breaches), 'text')} kept the contract: {'; '.join(never)}"


def _limit(broken: Violation) -> str:
    """Which limit it is; the message of some differs from text to text."""
    is_named = broken.rule in ("sections", "must_include", "must_not_include", "keep")
    return broken.message if is_named else broken.rule


class Strategy(Job):
    """A way from a task to a text: `run` asks through the context, emits events, and delivers."""

    common_prompts = ("system", "task", "author", "fix_leak", "fix_contract")
    ending = "self.deliver(...)"
    max_inconclusive: ClassVar[int] = 2
    """Inconclusive passes in a row that end the run as failed."""

    def __init__(self, context: JobContext) -> None:
        super().__init__(context)
        self.context = replace(self.context, ask=self._ask_and_watch)
        self._ask_outside = context.ask
        self._shortage = ""
        """What is left of the run's budget, where that is too little for another pass and what comes after it."""
        self._first_form_key: Key | None = None
        """The key of the first request to the author's model for an answer in a given form."""
        self._weakness = ""
        """What the author's model failed at, so that it needs the short prompts."""

    async def run(self) -> events.Delivered:
        """From the task to a text."""
        raise NotImplementedError

    def accept(self, reason: str) -> events.Delivered | None:
        """Deliver the incumbent as it is, or the text that the review chose."""
        if self.story.chosen is None:
            return None
        return self._end("accepted", Ending("person", reason), self.story.chosen)

    @property
    def incumbent(self) -> events.Incumbent:
        """The current text."""
        if self.story.incumbent is None:
            raise InvalidInput("there is no text yet; write the draft first")
        return self.story.incumbent

    async def write_draft(self) -> events.Incumbent:
        """The first text: given, or written by the author."""
        await prepare_draft(self.context)
        return self.incumbent

    async def _ask_and_watch(self, request: Request | Query[Any]) -> Any:
        """Ask, and notice an author's model that cannot answer in a given form: it needs short prompts."""
        if isinstance(request, Query):
            return await self._ask_outside(request)
        asks_for_form = request.schema is not None and request.model == self.settings.models.author
        if asks_for_form:
            self._first_form_key = self._first_form_key or Key.parse(request.key).before("try")
            if request.key == try_key(str(self._first_form_key), 1):
                self._weakness = "its first answer in a form could not be read"
        reply = await self._ask_outside(request)
        if asks_for_form and reply.schema_refused:
            self._weakness = "it takes no schema"
        return reply

    def begin_pass(self, number: int) -> None:
        """Begin a pass with the incumbent."""
        small = self.context.prompts.small
        # Between passes, so that it does not depend on the order of replies.
        if self._weakness and small and not self.story.shortened:
            self.emit(events.PromptsShortened(number=number, reason=self._weakness))
            self.context = replace(self.context, prompts=small)
        if self.context.allowance:
            self.context.allowance.begin_pass()
        self.emit(events.PassStarted(number=number, words=count_words(self.incumbent.text)))

    def check_pass_started(self, number: int) -> None:
        """Refuse to work in a pass that was not started, before any request or event of it."""
        if not self.story.passes or self.story.passes[-1].number != number:
            raise StrategyError(f"pass {number} was not started; call begin_pass({number}) first")

    def may_begin(self, number: int, *, calls_after: int = 0) -> bool:
        """Whether this pass may be run, with this many calls to come after the last one."""
        return number <= self.settings.passes and self.affords_another(calls_after)

    def affords_another(self, calls_after: int = 0) -> bool:
        """Whether the allowance, where there is one, is enough for another pass and what comes after."""
        allowance = self.context.allowance
        return allowance is None or allowance.fits_another(self.calls_per_pass(), calls_after)

    async def budget_allows(self, number: int, calls_after: int) -> bool:
        """Whether the run's budget is enough for this pass and the calls that come after the last one.

        Asked without limits, too, and the answer is recorded: a resumed run goes the same way whatever its limits.
        """
        if not calls_after or self.context.allowance:
            return True
        stage, calls = pass_key(number), self.calls_per_pass()
        self._shortage = await self.budget_shortage(stage, calls, calls_after)
        return not self._shortage

    async def budget_shortage(self, stage: str, calls: int, after: int) -> str:
        """What is left of the run's budget, where that is too little for what a stage needs; else empty."""
        query = BudgetQuery(key=sub_key(stage, "budget"), calls=calls, after=after)
        return await self.context.ask(query)

    async def guidance(self, number: int) -> str:
        """What a person wants the critic of this pass to look at."""
        guidance = await self.context.ask(GuidanceQuery(key=pass_key(number, "guidance")))
        if guidance:
            self.emit(events.GuidanceGiven(number=number, text=guidance))
            self.context.said.append(guidance)
        return guidance

    async def write(self, number: int, prompt: str) -> WrittenText | MissingText:
        """A text of this pass by the author: asked for again if cut off, sent back for a leak or a breach."""
        return await write(self.context, "reviser", pass_key(number, "reviser"), prompt)

    def end_unjudged(self, number: int, written: WrittenText | MissingText | WorseText) -> None:
        """End a pass with its revision, unless that is cut off, a clone, or in breach of contract."""
        if admit(self.context, number, "B", written, (self.incumbent.text,)):
            self.end_pass(number, "unjudged", "B")
        elif isinstance(written, MissingText) and written.reason != "truncated":
            self.end_pass(number, "inconclusive", None, reason="the author wrote nothing")
        else:
            self.end_pass(number, "unopposed", "A", reason="the revision cannot stand")

    async def vote(
        self,
        number: int,
        ballot: Mapping[events.Slot, str],
        size: PanelSize,
        fallback: events.Slot | None = None,
        code: CodeJudges | None = None,
    ) -> None:
        """End a pass by a panel's verdict, ties in the order of the ballot; without one `fallback` wins, or none."""
        first = self.story.incumbents[0].text if self.story.incumbents else ""
        texts: dict[str, str] = dict(ballot.items())
        panel = Panel(
            *(self.context, pass_key(number), texts, size),
            code=code,
            reference=first,
            series="passes",
            before=(number - 1) * size.judges,
        )
        verdict = await panel.run()
        if verdict is None:
            valid, seats = len(panel.rankings), len(panel.ballots)
            reason = f"{valid} of {seats} ballots were valid, too few to decide"
            if fallback is None:
                return self.end_pass(number, "inconclusive", None, reason=reason)
            reason += "; of equals the smaller step from A is taken"
            return self.decide(number, fallback, reason=reason)
        winner = next(slot for slot in ballot if slot == verdict.winner)
        # Excluded, or in breach of its contract, A cannot survive, whatever judges say.
        may_survive = "A" in ballot and self.incumbent.keeps_contract
        chances = panel.survival_chances if may_survive else None
        return self.decide(number, winner, verdict=verdict, chances=chances)

    def decide(
        self,
        number: int,
        winner: events.Slot,
        *,
        verdict: events.Verdict | None = None,
        chances: SurvivalChances | None = None,
        reason: str = "",
    ) -> None:
        """End a pass that has a winner; A survives if it keeps its contract and, after a vote, leads."""
        outcome: events.PassOutcome = "decided" if verdict else "unopposed"
        streak = 0
        if winner == "A" and self.incumbent.keeps_contract:
            # A tie neither counts nor ends the streak.
            leads = verdict is None or verdict.margin > 0 or self.settings.ties_survive
            outcome, streak = outcome if leads else "unconfirmed", self.story.streak + leads
        self.end_pass(
            number, outcome, winner, streak=streak, verdict=verdict, chances=chances, reason=reason
        )

    def end_pass(
        self,
        number: int,
        outcome: events.PassOutcome,
        winner: events.Slot | None,
        *,
        streak: int = 0,
        verdict: events.Verdict | None = None,
        chances: SurvivalChances | None = None,
        reason: str = "",
    ) -> None:
        """End a pass; after too many inconclusive ones the run pauses."""
        self.check_pass_started(number)
        text = self.incumbent.text
        uncounted = winner == "A" and not self.incumbent.keeps_contract
        if winner and winner != "A":
            text = self.story.passes[-1].text(winner)
        self.emit(
            events.PassDecided(
                number=number,
                outcome=outcome,
                winner=winner,
                # An inconclusive pass says nothing about A: the streak neither grows nor ends.
                streak=streak if winner else self.story.streak,
                words=count_words(text),
                verdict=verdict,
                survival_chance=chances.survival if chances else None,
                tie_chance=chances.tie if chances else 0.0,
                violations=violations(self.context, text) if uncounted else (),
                reason=reason,
            )
        )
        if self.context.allowance:
            self.context.allowance.end_pass()
        recent = [each.decided for each in self.story.passes[-self.max_inconclusive :]]
        since = self.context.recovery.forgiven
        dead = [p for p in recent if p and p.outcome == "inconclusive" and p.number > since]
        if len(dead) == self.max_inconclusive:
            raise PanelFailed(f"{len(dead)} passes in a row decided nothing: {dead[-1].reason}")

    def why_capped(self, done: int) -> Ending:
        """What kept another pass from being run."""
        run = "1 pass was run" if done == 1 else f"{done} passes were run"
        if self._shortage:
            short = f"another did not fit the budget, of which {self._shortage}"
            return Ending("budget", f"{run}; {short}")
        if done < self.settings.passes:
            return Ending("allowance", f"{run}; another would not fit the allowance")
        return Ending("passes", f"{run}, the most allowed")

    def deliver(
        self, status: events.Status, reason: str | Ending, text: events.Incumbent | None = None
    ) -> events.Delivered:
        """End the run with this text, or the incumbent."""
        if status not in events.FINISHED:
            raise InvalidInput(f"a run ends as converged, capped or done, not as {status!r}")
        return self._end(status, reason, text or self.incumbent)

    def _end(
        self, status: events.Status, reason: str | Ending, text: events.Incumbent
    ) -> events.Delivered:
        broken = violations(self.context, text.text) if self.context.task.limited else ()
        ending = Ending("strategy", reason) if isinstance(reason, str) else reason
        delivered = events.Delivered(
            status=status,
            ended_by=ending.ended_by,
            reason=ending.reason,
            text=text.text,
            origin=text.name,
            words=count_words(text.text),
            violations=broken,
            evidence=gather_evidence(self.story, text.name),
        )
        self.emit(delivered)
        return delivered

    def calls_per_pass(self) -> int:
        """Calls of a pass as planned, each text sent back once where there are limits; 1 where that is not known."""
        one = changed(self.settings, passes=1, reviewers=0, confirmation=0, drafts=1, max_drafts=1)
        _, likely, _ = self.plans(one) or ({}, {}, {})
        texts = likely.get("reviser", 0) + likely.get("synthesizer", 0)
        repairs = texts if self.context.task.limited or self.settings.edit != "free" else 0
        return max(1, sum(likely.values()) - likely.get("author", 0) + repairs)
