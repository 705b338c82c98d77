"""The other ways from a task to a text, and all of them by name: built in, or a class of the user's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, ClassVar

from msgspec import Meta, Struct
from msgspec.structs import astuple, replace

from autoreason import events
from autoreason.contract import count_words
from autoreason.errors import InvalidInput, PanelFailed
from autoreason.events import CritiqueWritten, Delivered, Incumbent
from autoreason.exchange import Message, Outcome
from autoreason.job_types import AnyJob, Refine
from autoreason.jobs.context import repeat_request, use_in_order
from autoreason.jobs.job import Job, Plan, own_options, panel_attempts
from autoreason.keys import attempt_stage, pass_key, sub_key, try_key
from autoreason.parsing.documents import SHORT, too_alike
from autoreason.plugins import load
from autoreason.report.numbers import count
from autoreason.settings import MAX_ALTERNATIVES, MAX_DRAFTS, ROLE_MODELS, SETTING_DOCS, Settings
from autoreason.stats import BEYOND_CHANCE
from autoreason.story import ALTERNATIVES, DRAFTS, REVIEW, Story
from autoreason.tournament.challengers import WorseText, prepare_draft, write_draft
from autoreason.tournament.evidence import standings
from autoreason.tournament.judges import JUDGE_PROMPTS, JUDGE_SETTINGS, seat_calls
from autoreason.tournament.loop import MAX_CALLS_PER_TEXT, TRIES
from autoreason.tournament.panel import Panel, confirm, review
from autoreason.tournament.strategy import Ending, Strategy
from autoreason.tournament.voting import PanelSize
from autoreason.tournament.writing import (
    CRITIC_SETTINGS,
    CRITICS,
    MissingText,
    WrittenText,
    breaches,
    criticise,
    revise,
    reviser_key,
    write,
    write_several,
)

BUILT_IN = {
    "autoreason": "autoreason.tournament.loop:Tournament",
    "single": "autoreason.strategies:Single",
    "conservative": "autoreason.strategies:Conservative",
    "improve": "autoreason.strategies:Improve",
    "harsh": "autoreason.strategies:Harsh",
    "critique_revise": "autoreason.strategies:CritiqueRevise",
    "best_of_n": "autoreason.strategies:BestOfN",
    "self_refine": "autoreason.strategies:SelfRefine",
    "alternatives": "autoreason.strategies:Alternatives",
}
_ALWAYS_USED = (
    *("strategy", "strategy_options", "seed", "max_tokens"),
    *("author_model", "author_temperature", "author_effort"),
    *("budget", "base_url", "allow_http", "batch"),
)
_NEEDS = {
    "plateau_change": "plateau",
    "review_texts": "reviewers",
    "review_every": "reviewers",
    "ballot_texts": "reviewers",
    "min_reviews": "review_every",
}
"""Settings that say how another one works."""


def job_class(job: AnyJob) -> type[Job]:
    if isinstance(job, Refine):
        return find_strategy(job.strategy)
    kind = load("strategy", job.name, {job.name: job.code})
    assert isinstance(kind, type)
    assert issubclass(kind, Job)
    return kind


def find_strategy(
    name: str, others: dict[str, str] | None = None, parent: str = "Strategy"
) -> type[Strategy]:
    kind = load("strategy", name, others if name in (others or {}) else BUILT_IN)
    if not (isinstance(kind, type) and issubclass(kind, Strategy)):
        raise InvalidInput(f"{name} is not a strategy; make it a subclass of autoreason.{parent}")
    if kind.run is Strategy.run:
        raise InvalidInput(f"{name} does not define `run`; add it")
    return kind


def unused_setting(
    settings: Settings, given: Iterable[str], used: Sequence[tuple[str, ...] | None]
) -> str:
    """A sentence about a setting that was given and does nothing; empty where there is none.

    `used` is what each job that is run says it looks at.
    """
    for name in given:
        if name not in (*SETTING_DOCS, *ROLE_MODELS):
            continue
        if all(names is not None and name not in (*_ALWAYS_USED, *names) for names in used):
            return f"`{name}` does nothing in {settings.job.label}; leave it out"
        needed = _NEEDS.get(name)
        if needed and not getattr(settings, needed):
            return f"`{name}` does nothing without `{needed}`; give both or leave it out"
    return ""


def _repeated(plan: Plan) -> Plan:
    """The same with every text and critique asked for as often as it may be."""
    most = {"critic": TRIES}
    return {role: calls * most.get(role, MAX_CALLS_PER_TEXT) for role, calls in plan.items()}


class Iterated(Strategy):
    """One instruction, repeated in every pass; there is no vote and no way to stop early."""

    used_settings: ClassVar[tuple[str, ...] | None] = ("passes",)

    async def run(self) -> Delivered:
        await self.write_draft()
        number = 0
        while self.may_begin(number + 1):
            number += 1
            self.begin_pass(number)
            await self.run_pass(number, await self.guidance(number))
        return self.deliver("capped", self.why_capped(number))

    async def run_pass(self, number: int, guidance: str) -> None:
        key = pass_key(number, "reviser")
        text = self.incumbent.text
        assert self.prompts
        prompt = self.context.prompt(self.prompts[0], key, text=text, guidance=guidance)
        self.end_unjudged(number, await self.write(number, prompt))

    @classmethod
    def plans(cls, settings: Settings) -> tuple[Plan, Plan, Plan]:
        likely = {"author": 1, "reviser": settings.passes}
        return likely, likely, _repeated(likely)


class Conservative(Iterated):
    summary = "revised in every pass, asked to change as little as possible"
    prompts = ("conservative",)


class Improve(Iterated):
    summary = "revised in every pass, asked to improve it"
    prompts = ("improve",)


class Harsh(Iterated):
    summary = "revised in every pass by its own harshest critic"
    prompts = ("harsh",)


class CritiqueRevise(Iterated):
    summary = "a critique and a revision in every pass, taken without a vote"
    prompts = ("critic", "critique_again", "reviser")
    used_settings = ("passes", *CRITIC_SETTINGS, "critic_facts", "protocol")

    async def run_pass(self, number: int, guidance: str) -> None:
        text = self.incumbent.text
        findings = await criticise(self.context, number, text, guidance)
        if findings.outcome == "unreadable":
            self.end_pass(number, "inconclusive", None, reason="no critic could be read")
        elif findings.outcome == "none":
            self.end_pass(number, "unopposed", "A", reason="two critics found nothing to fix")
        else:
            revision = revise(self.context, reviser_key(number), text, findings.problems)
            self.end_unjudged(number, await revision)

    @classmethod
    def plans(cls, settings: Settings) -> tuple[Plan, Plan, Plan]:
        passes = settings.passes
        found_nothing = {"author": 1, "critic": passes * CRITICS}
        likely = {"author": 1, "critic": passes, "reviser": passes}
        return found_nothing, likely, _repeated({**found_nothing, "reviser": passes})


class Single(Strategy):
    summary = "one draft, delivered as it is"
    prompts = ()
    used_settings = ()

    async def run(self) -> Delivered:
        await self.write_draft()
        return self.deliver("done", Ending("drafts", "one draft was asked for"))

    @classmethod
    def plans(cls, settings: Settings) -> tuple[Plan, Plan, Plan]:  # noqa: ARG003
        return {"author": 1}, {"author": 1}, _repeated({"author": 1})


class Samples(Struct, frozen=True, kw_only=True):
    n: Annotated[int, Meta(ge=2, le=MAX_DRAFTS), "Drafts that are written."] = 6


def sample_count(settings: Settings) -> int:
    n = own_options(settings, Samples).n
    return max(n, min(2 * n, MAX_ALTERNATIVES)) if settings.job.name == "alternatives" else n


def sampled_draft(story: Story, number: int) -> str:
    """`draft 6 of 8`: what a pass of `best_of_n` is; within a comparison the budget decides how many there are."""
    most = sample_count(story.settings) if story.settings else 0
    return f"draft {number} of {most}" if number <= most else f"draft {number}"


class BestOfN(Strategy):
    summary = "independent drafts (option n, default 6), the best by a blind panel"
    prompts: ClassVar[tuple[str, ...] | None] = JUDGE_PROMPTS
    options_type = Samples
    used_settings = (*JUDGE_SETTINGS, "reviewers", "ballot_texts", "confirmation", "protocol")

    async def run(self) -> Delivered:
        await self.write_draft()
        await self._write_others()
        drafts = self.story.incumbents
        for attempt in panel_attempts(self.context):
            stage = attempt_stage(REVIEW, attempt)
            await review(self.context, drafts, max_texts=MAX_DRAFTS, stage=stage)
            if self.story.closing_review is None or self.story.closing_review.verdict:
                winner = await self._confirm(drafts, self.story.chosen or self.incumbent)
                chosen = Ending("drafts", f"the best of {count(len(drafts), 'draft')}")
                return self.deliver("done", chosen, winner)
        raise PanelFailed(f"too few rankings could be read to choose among {len(drafts)} drafts")

    async def _confirm(self, drafts: Sequence[Incumbent], best: Incumbent) -> Incumbent:
        return await confirm(self.context, drafts[0], best)

    async def _write_others(self) -> None:
        """All at once; where budgets are matched, one by one, as many as fit."""
        if self.context.allowance and self.context.allowance.amount is not None:
            for number in range(2, MAX_DRAFTS + 1):
                if not self.affords_another(_judging(self.settings)[0]):
                    return
                self.begin_pass(number)
                draft = await write_draft(self.context, pass_key(number, "author"))
                self.end_unjudged(number, draft)
            return
        numbers = range(2, sample_count(self.settings) + 1)
        drafts = [write_draft(self.context, pass_key(number, "author")) for number in numbers]
        # All have arrived before the first is used: an error here must not lose the others.
        written: list[WrittenText | MissingText] = []
        await use_in_order(drafts, written.append)
        for number, each in zip(numbers, written, strict=True):
            self.begin_pass(number)
            self.end_unjudged(number, each)

    @classmethod
    def plans(cls, settings: Settings) -> tuple[Plan, Plan, Plan]:
        n, (usual, most) = sample_count(settings), _judging(settings)
        likely = {"author": n, "judge": usual}
        return {**likely, "judge": 0}, likely, {"author": n * MAX_CALLS_PER_TEXT, "judge": most}

    @classmethod
    def check(cls, settings: Settings) -> None:
        super().check(settings)
        if not settings.reviewers:
            needs = f"{settings.job.name} needs a panel to choose with"
            raise InvalidInput(f"{needs}; set `reviewers` to 2 or more")


def _judging(settings: Settings) -> tuple[int, int]:
    """Calls that choosing takes: the usual number, and the most."""
    usual, most = seat_calls(settings)
    judges = settings.reviewers + settings.confirmation
    return judges * usual, judges * most


_FURTHER = 3
"""How often texts are asked for once more, in place of those that are too alike or break a limit."""


class Alternatives(BestOfN):
    summary = "different texts to choose from (option n, default 6), ranked by a blind panel"
    prompts = ("alternatives", *JUDGE_PROMPTS)
    # An author who goes on declining leaves the texts that are there.
    max_inconclusive = MAX_DRAFTS

    async def write_draft(self) -> Incumbent:
        await prepare_draft(self.context, self._prompt(1))
        return self.incumbent

    async def _write_others(self) -> None:
        """Texts that differ, short ones several in a reply, until as many keep all limits as judges choose from."""
        words = self.context.task.contract.max_words, count_words(self.incumbent.text)
        is_short, most = min(filter(None, words)) < SHORT, sample_count(self.settings)
        for attempt in range(_FURTHER if is_short else most + _FURTHER):
            missing = most - len(self._kept)
            if not missing or not self.affords_another(_judging(self.settings)[0]):
                return
            self.begin_pass(len(self.story.passes) + 2)
            asked = self.context, sub_key(DRAFTS, attempt), self._prompt(missing if is_short else 1)
            for each in await write_several(*asked) if is_short else [await write_draft(*asked)]:
                if len(self._kept) == most:
                    return
                if self.story.passes[-1].decided:
                    self.begin_pass(len(self.story.passes) + 2)
                text = each.text if isinstance(each, WrittenText) else ""
                alike = text and any(too_alike(text, other) for other in self._kept)
                taken = WorseText(text, "", "alike") if alike else each
                self.end_unjudged(len(self.story.passes) + 1, taken)

    @property
    def _kept(self) -> list[str]:
        return [each.text for each in self.story.incumbents if each.keeps_contract]

    def _prompt(self, number: int) -> str:
        broken = dict.fromkeys(each.message for broken in self.story.breaches for each in broken)
        shown = {"number": number, "taken": self._kept, "violations": [*broken]}
        return self.context.prompt("alternatives", pass_key(len(self.story.passes)), **shown)

    async def _confirm(self, drafts: Sequence[Incumbent], best: Incumbent) -> Incumbent:
        """The best of the texts, by judges who chose none: ballots that chose a text favour it, even at random."""
        review, texts = self.story.closing_review, {each.name: each.text for each in drafts}
        points = review.verdict.scores if review and review.verdict else {best.name: 0}
        wanted, judges = own_options(self.settings, Samples).n, self.settings.confirmation
        ranked = sorted(points, key=points.__getitem__, reverse=True)[:wanted]
        verdict, stands = None, dict[str, tuple[float | None, ...]]()
        if ranked[1:] and judges:
            shown = {name: texts[name] for name in ranked}
            panel = Panel(self.context, ALTERNATIVES, shown, PanelSize(judges))
            verdict = await panel.run()
            self.emit(events.PanelDecided(stage=ALTERNATIVES, verdict=verdict))
            if verdict:
                ranked.sort(key=verdict.scores.__getitem__, reverse=True)
                stands = {n: astuple(each)[:3] for n, each in standings(panel.rankings).items()}
        found = [events.Alternative(n, texts[n], *stands.get(n, ())) for n in ranked]
        first = verdict is not None and verdict.margin > 0 and verdict.chance <= BEYOND_CHANCE
        self.emit(events.AlternativesRanked(wanted=wanted, texts=tuple(found), leads=first))
        return next(each for each in drafts if each.name == ranked[0])

    @classmethod
    def plans(cls, settings: Settings) -> tuple[Plan, Plan, Plan]:
        low, likely, high = super().plans(settings)
        most = (1 + sample_count(settings) + _FURTHER) * MAX_CALLS_PER_TEXT
        return {**low, "author": 2}, likely, {**high, "author": most}


_MAX_ROUNDS = 3
"""Rounds of the conversation that are repeated: all of it would soon fill any window."""
_DONE = "DONE"
"""What the author is asked to say when nothing is left to improve."""


class SelfRefine(Strategy):
    summary = (
        "the author's own feedback and refinement in one conversation, until it says it is done"
    )
    prompts = ("feedback", "refine")
    used_settings = ("passes", "critic_effort", "critic_facts")

    async def run(self) -> Delivered:
        await self.write_draft()
        conversation: list[Message] = []
        number = 0
        while self.may_begin(number + 1):
            number += 1
            self.begin_pass(number)
            history = conversation[-2 * _MAX_ROUNDS :]
            feedback = await self._feedback(number, history)
            if not feedback:
                self.end_pass(number, "inconclusive", None, reason="no feedback could be read")
                continue
            broken = breaches(self.context, self.incumbent.text)
            is_content = feedback.splitlines()[0].strip(" .!*_#`\"'").upper() == _DONE
            if is_content and not broken:
                self.end_pass(number, "unopposed", "A", reason="the author is content", streak=1)
                content = Ending("author", "the author found nothing more to improve")
                return self.deliver("converged", content)
            wanted = [*(f"- {fix}" for _, fix in broken), *([] if is_content else [feedback])]
            before, key = self.incumbent.text, pass_key(number, "reviser")
            prompt = self.context.prompt("refine", key, text=before, critique="\n".join(wanted))
            written = await write(self.context, "reviser", key, prompt, history=history)
            self.end_unjudged(number, written)
            conversation += [Message("user", prompt), Message("assistant", self.incumbent.text)]
        return self.deliver("capped", self.why_capped(number))

    @classmethod
    def plans(cls, settings: Settings) -> tuple[Plan, Plan, Plan]:
        likely = {"author": 1, "critic": settings.passes, "reviser": settings.passes}
        return {"author": 1, "critic": 1}, likely, _repeated(likely)

    async def _feedback(self, number: int, history: Sequence[Message]) -> str:
        """What the author thinks of its text; empty where nothing can be read."""
        guidance, text = await self.guidance(number), self.incumbent.text
        key, author = pass_key(number, "critic", 0), self.settings.models.author
        prompt = self.context.prompt("feedback", key, text=text, guidance=guidance)
        request = self.context.request("critic", try_key(key, 0), author, prompt, history=history)
        request = replace(request, temperature=self.settings.author_temperature)
        reply = await self.context.ask(request)
        if reply.outcome is not Outcome.OK or not reply.text.strip():
            reply = await self.context.ask(repeat_request(request, try_key(key, 1), reply))
        feedback = reply.text.strip() if reply.outcome is Outcome.OK else ""
        self.emit(CritiqueWritten(number=number, critic=0, prose=feedback, readable=bool(feedback)))
        return feedback
