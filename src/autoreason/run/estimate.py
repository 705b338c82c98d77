"""What a run would do and take, without doing any of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from msgspec.structs import asdict, replace

from autoreason.contract import count_words
from autoreason.exchange import Request, Role, reasoning_tokens_for
from autoreason.job_types import Advise, JobType, Refine, Research
from autoreason.jobs.job import Plans, plan_calls
from autoreason.knowledge_records import Knowledge
from autoreason.limits import limits_kept
from autoreason.models.providers import rates
from autoreason.prompts import PromptSet, built_in
from autoreason.report.numbers import count, duration, listed, money, percent
from autoreason.report.report import Report, Section, plain_values
from autoreason.run.record import first_requests
from autoreason.run.verbs import PanelOptions
from autoreason.settings import BY_PROGRAM, Budget, Models, Settings, make_settings, provider_of
from autoreason.strategies import job_class
from autoreason.task import Metric, Task
from autoreason.tournament.endings import describe_limit
from autoreason.tournament.loop import texts_per_ballot, without_drafts
from autoreason.tournament.panel import review_seats
from autoreason.tournament.statements import ONE_VOTE, predictor_seat, records_table, unlike_records
from autoreason.tournament.voting import ballot_size

if TYPE_CHECKING:
    from autoreason.artifacts.acceptance import BudgetPlan
    from autoreason.artifacts.research_history import NoiseMeasured
    from autoreason.artifacts.research_task import ResearchTask

_TOKENS_PER_WORD = 1.4
_BYTES_PER_TOKEN = 4
_USUAL_DOCUMENT = 900
_CRITIQUE = 400
_BALLOT = 450
_MILLION = 1_000_000

Number = TypeVar("Number", int, Decimal, float)
Sizes = dict[str, tuple[int, int]]
"""Tokens read and written in one call, by role."""
_SPANS = ("calls", "tokens", "cost", "reasoning_tokens", "reasoning_cost")


class Span(NamedTuple, Generic[Number]):
    """From, most likely, up to."""

    low: Number
    likely: Number
    high: Number


_ALL = Span(1.0, 1.0, 1.0)


@dataclass(frozen=True, repr=False)
class RunEstimate(Report):
    """What a run may take. Rough by nature: the number of passes is not known."""

    heading: ClassVar[str] = "Estimate"
    request: Request | None
    """The first one; None where the run would ask nothing."""
    calls: Span[int] | None = None
    """None where the strategy cannot estimate it."""
    tokens: Span[int] | None = None
    cost: Span[Decimal] | None = None
    """US dollars; None where a price is not known."""
    unpriced: tuple[str, ...] = ()
    """Models whose price is not known."""
    reasoning_tokens: Span[int] | None = None
    """What models that reason may take at most on top of `tokens`; None where none of them reasons."""
    reasoning_cost: Span[Decimal] | None = None
    """US dollars on top of `cost`."""
    paid: Span[float] = _ALL
    """How much of the least, the likely and the most the limits pay for; 1 is all of it."""

    @property
    def conclusion(self) -> str:
        parts = [count(self.calls.likely, "call")] if self.calls else []
        parts += [count(self.tokens.likely, "token")] if self.tokens else []
        parts += [money(self.cost.likely)] if self.cost and not self._is_free else []
        takes = listed(parts or ["an unknown number of calls"])
        more = f", and up to {extra} more for reasoning" if (extra := self._max_reasoning()) else ""
        free = ", free of charge" if self._is_free else ""
        cut = " up to its limit, which " + describe_paid(self.paid.likely)
        return f"a run takes about {takes}{cut if self.paid.likely < 1 else ''}{more}{free}"

    def sections(self) -> list[Section]:
        rows = [
            ("calls", _describe(self.calls)),
            ("tokens", _describe(self.tokens)),
            ("cost", "free" if self._is_free else _describe(self.cost, money)),
        ]
        if self.cost is None and self.unpriced:
            why = f"unknown: the price of {' and '.join(self.unpriced)} is not known"
            own = all(provider_of(each) in BY_PROGRAM for each in self.unpriced)
            rows[-1] = ("cost", "no price: your own subscription" if own else why)
        if extra := self._max_reasoning():
            rows.append(("reasoning", f"up to {extra} more, which is charged as output"))
        if self.paid.likely < 1:
            least = ", less than the least, so that it would stop before its end"
            paid = describe_paid(self.paid.likely) + (least if self.paid.low < 1 else "")
            rows.append(("budget", paid))
        sections = [Section("Estimate", rows)]
        if request := self.request:
            title = f"First prompt, to the {request.role} ({request.model})"
            messages = [f"── {each.speaker} ──\n{each.text}" for each in request.messages]
            sections.append(Section(title, text="\n".join(messages)))
        return sections

    def to_dict(self) -> dict[str, Any]:
        request = plain_values({"request": self.request})
        return {"conclusion": self.conclusion, **self.spans(), **request}

    def spans(self) -> dict[str, Any]:
        """Calls, tokens and cost, each from low to high, and how much of each is paid for."""
        spans = {name: getattr(self, name) for name in (*_SPANS, "paid")}
        return plain_values({name: span and span._asdict() for name, span in spans.items()})

    @property
    def _is_free(self) -> bool:
        return self.cost is not None and not any(self.cost)

    def _max_reasoning(self) -> str:
        """The most tokens and money for reasoning in the likely number of calls; empty where there is none."""
        if self.reasoning_tokens is None or not self.reasoning_tokens.likely:
            return ""
        tokens = count(self.reasoning_tokens.likely, "token")
        cost = self.reasoning_cost.likely if self.reasoning_cost else None
        return f"{tokens} and {money(cost)}" if cost else tokens


def _describe(span: Span[Any] | None, show: Callable[[Any], str] = "{:,}".format) -> str:
    if span is None:
        return "unknown: the strategy does not say"
    low, likely, high = map(show, span)
    return low if low == high else f"{low} to {high}, most likely about {likely}"


async def estimate_run(
    task: Task, settings: Settings, prompts: PromptSet | None = None
) -> RunEstimate:
    prompts = prompts or built_in(writes=settings.job.writes or settings.job.steps_write)
    requests = await first_requests(task, settings, prompts)
    unpriced = tuple(each for each in settings.models.all() if rates(each) is None)
    unknown = RunEstimate(requests[0] if requests else None, unpriced=unpriced)
    plans = plan_run(task, settings)
    if plans is None:
        return unknown
    if not sum(plans[2].values()):
        nothing, free = Span(0, 0, 0), Span(*[Decimal(0)] * 3)
        return dataclasses.replace(unknown, calls=nothing, tokens=nothing, cost=free)
    if not requests:
        return unknown
    # Where judges are asked first about texts that are there, their prompt contains them already.
    shown = requests[0].role == "judge" and not (settings.job.writes or settings.job.steps_write)
    sizes = _sizes(task, settings, requests, shown=shown)
    reasoning = _reasoning(settings, plans)
    whole = dataclasses.replace(
        unknown,
        calls=Span(*(sum(plan.values()) for plan in plans)),
        tokens=_tokens(sizes, plans),
        cost=_cost(settings, sizes, plans),
        reasoning_tokens=_tokens(reasoning, plans) if reasoning else None,
        reasoning_cost=_cost(settings, reasoning, plans) if reasoning else None,
    )
    return _cut(whole, settings.budget)


def plan_run(task: Task, settings: Settings) -> Plans | None:
    """The fewest, the likely and the most calls of a run, by role."""
    kind = job_class(settings.job)
    if task.draft is not None:
        # It is the only draft.
        settings = replace(settings, drafts=1, max_drafts=1)
    plans = plan_calls(kind, settings)
    if plans and task.draft is not None:
        plans = without_drafts(plans, kind.draft_count(settings))
    return plans and kind.fit_plans(plans, task, settings)


def describe_paid(share: float) -> str:
    return f"pays for {percent(share)} of what it likely takes"


def share_paid(budget: Budget, needed: Mapping[str, int | Decimal]) -> Fraction:
    """How much of what is needed these limits allow, 1 is all."""
    limits = {unit: getattr(budget, unit) for unit in needed if needed[unit]}
    shares = [Fraction(n) / Fraction(needed[unit]) for unit, n in limits.items() if n is not None]
    return min([Fraction(1), *shares])


def _cut(whole: RunEstimate, budget: Budget) -> RunEstimate:
    """The estimate of a run that ends at its limits, of which reasoning may take what is left."""
    spans = {name: span for name in _SPANS if (span := getattr(whole, name)) is not None}
    paid = [
        share_paid(budget, {unit: spans[unit][at] for unit in _SPANS[:3] if unit in spans})
        for at in range(3)
    ]
    within = {name: list(map(_part, span, paid)) for name, span in spans.items()}
    for unit in _SPANS[:3]:
        limit, reasoning = getattr(budget, unit), f"reasoning_{unit}"
        if limit is not None and reasoning in within:
            left = [limit - taken for taken in within[unit]]
            within[reasoning] = list(map(min, within[reasoning], left))
        if unit in within:
            # Roles differ, so that as many calls may take less in a longer run.
            within[unit] = list(accumulate(within[unit], max))
    cut: dict[str, Any] = {name: Span(*parts) for name, parts in within.items()}
    return dataclasses.replace(whole, paid=Span(*map(float, paid)), **cut)


def _part(amount: Any, share: Fraction) -> Any:
    if isinstance(amount, int):
        return round(amount * share)
    exact = Fraction(amount) * share
    return Decimal(exact.numerator) / exact.denominator


def unseen_tokens(task: Task, requests: Sequence[Request], job: JobType) -> int:
    """Tokens of a brief that parts are shown later, where the first requests are about something else."""
    texts = [message.text for request in requests for message in request.messages]
    if not job.steps_write or any(task.brief in text for text in texts):
        return 0
    return text_tokens(f"{task.brief}{task.facts or ''}")


def text_tokens(text: str) -> int:
    return len(text.encode()) // _BYTES_PER_TOKEN


def _sizes(task: Task, settings: Settings, requests: Sequence[Request], *, shown: bool) -> Sizes:
    texts = [message.text for request in requests for message in request.messages]
    prompt = sum(len(text.encode()) for text in texts) // _BYTES_PER_TOKEN // len(requests)
    prompt += unseen_tokens(task, requests, settings.job)
    words = task.contract.max_words or (count_words(task.draft) if task.draft else None)
    document = round(words * _TOKENS_PER_WORD) if words else _USUAL_DOCUMENT
    # Next to the candidates an anchored judge reads the first draft.
    judged = texts_per_ballot(settings) if settings.job.is_tournament else ballot_size(settings)
    judged += settings.style == "anchored"
    return {
        "author": (prompt, document),
        "critic": (prompt + document, _CRITIQUE),
        "reviser": (prompt + _CRITIQUE + (not settings.blind_revision) * document, document),
        "synthesizer": (prompt + 2 * document, document),
        "judge": (prompt + (0 if shown else round(judged * document)), _BALLOT),
    }


def _players(models: Models, plans: Plans) -> Iterator[tuple[Role, tuple[str, ...]]]:
    players: dict[Role, tuple[str, ...]] = {
        "author": (models.author,),
        "critic": (models.critic,),
        "reviser": models.revisers or (models.author,),
        "synthesizer": (models.synthesizer,),
        "judge": models.judges,
    }
    roles = {role for plan in plans for role in plan}
    return ((role, addresses) for role, addresses in players.items() if role in roles)


def _reasoning(settings: Settings, plans: Plans) -> Sizes:
    """The most tokens of reasoning in one call of each role; empty where no model reasons."""
    sizes: Sizes = {
        role: (0, max(reasoning_tokens_for(each, settings.effort(role)) for each in addresses))
        for role, addresses in _players(settings.models, plans)
    }
    return sizes if any(written for _, written in sizes.values()) else {}


def _tokens(sizes: Sizes, plans: Plans) -> Span[int]:
    return Span(*(sum(calls * sum(sizes[role]) for role, calls in plan.items()) for plan in plans))


def _cost(settings: Settings, sizes: Sizes, plans: Plans) -> Span[Decimal] | None:
    prices: dict[str, Decimal] = {}
    for role, addresses in _players(settings.models, plans):
        known = [rates(address, batch=settings.batch) for address in addresses]
        if None in known:
            return None
        read, written = sizes[role]
        # A mixed panel is priced by its most expensive member.
        prices[role] = max((read * p.input + written * p.output) / _MILLION for p in known if p)
    return Span(
        *(sum((calls * prices[role] for role, calls in plan.items()), Decimal(0)) for plan in plans)
    )


@dataclass(frozen=True, repr=False)
class DryRun(Report):
    heading: ClassVar[str] = "Dry run"
    task: Task
    settings: Settings
    estimate: RunEstimate
    noise: NoiseMeasured | None = None
    """The noise of a research task's evaluator, where it was measured."""

    @property
    def conclusion(self) -> str:
        nothing = "nothing was called and nothing was written"
        if self.noise:
            nothing = "no model was called and no run was recorded; the start was measured"
        return f"{nothing}; {self.estimate.conclusion}"

    def sections(self) -> list[Section]:
        numbers, *prompt = self.estimate.sections()
        if isinstance(self.settings.job, Research) and not self.noise:
            zeros = ", with 0 for what will be measured"
            prompt = [each._replace(title=f"{each.title}{zeros}") for each in prompt]
        said = [*numbers.sentences, *_evaluations(self.task, self.settings, self.noise)]
        plan = Section("Settings", _plan(self.task, self.settings))
        sections = [numbers._replace(sentences=said), plan]
        if self.task.knowledge and self.task.knowledge.digest:
            sections.append(_shown_records(self.task.knowledge))
        return [*sections, *prompt]

    def to_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "task": self.task,
            "settings": self.settings,
            "request": self.estimate.request,
            "estimate": self.estimate.spans(),
            "noise": self.noise,
        }
        if self.settings.job.writes == "text":
            read = limits_kept(self.task.contract, self.task.brief)
            fields["limits"] = [each._asdict() for each in read]
            fields["keeps"] = [*self.task.given.rules(short=True), *self.task.given.notes()]
        return {"conclusion": self.conclusion, **plain_values(fields)}


def _shown_records(knowledge: Knowledge) -> Section:
    left_out = "; ".join(
        f"{count(number, 'record')} ({why})" for why, number in knowledge.left_out.items()
    )
    said = [("left out", left_out or "none"), ("similar", unlike_records(knowledge))]
    return Section("Records", [each for each in said if each[1]], [records_table(knowledge)])


def _plan(task: Task, settings: Settings) -> list[tuple[str, str]]:
    from autoreason.run.knowledge_choice import disclose_task

    given = asdict(settings.budget).items()
    limits = [describe_limit(name, amount) for name, amount in given if amount is not None]
    read = limits_kept(task.contract, task.brief) if settings.job.writes == "text" else []
    rows = [
        *_models(settings.models),
        ("text", " ".join(task.rules(short=True))),
        ("as its brief says", " · ".join(f"“{x.phrase}”" for x in read if x.kept)),
        ("set otherwise", " · ".join(f"“{x.phrase}”" for x in read if x.keys and not x.kept)),
        ("not understood", " · ".join(f"“{x.phrase}”" for x in read if not x.keys)),
        ("facts", "; ".join(task.given.notes())),
        *_work(task, settings),
        ("knowledge", disclose_task(task, settings)),
        ("spending", ", ".join(limits) or "no limit"),
        ("protocol", "" if settings.protocol == "robust" else settings.protocol),
        ("seed", str(settings.seed)),
        ("changed", " · ".join(changed_settings(settings))),
    ]
    return [(label, text) for label, text in rows if text]


def _work(task: Task, settings: Settings) -> list[tuple[str, str]]:
    """What is done and is not on the command line, where the job has more of that than its settings."""
    if isinstance(settings.job, Advise):
        from autoreason.studies import advice_job

        by_rule = advice_job.ends_by_rule(task, settings)
        return [("advises", "without a call" if by_rule else advice_job.describe_limit(settings))]
    if not settings.job.is_tournament:
        return []
    work = task.work
    return [
        ("metric", f"{work.evaluate}, a {work.role}" if isinstance(work, Metric) else ""),
        ("predictor", predictor_seat(task, settings)),
        ("judges", _describe_judges(settings)),
        ("ends", _describe_end(settings)),
    ]


def _describe_judges(settings: Settings) -> str:
    """`none in a round; 7 in a review every 5 rounds; 9 fresh ones at the end`."""
    parts = [f"{settings.judges or 'none'} in a round" if settings.judges != 1 else ONE_VOTE]
    if settings.reviewers:
        every = settings.review_every
        when = f"every {count(every, 'round')}" if 0 < every < settings.passes else "at the end"
        parts.append(f"{settings.reviewers} in a review {when}")
        most = min(settings.review_texts, settings.passes + 1)
        if most > settings.ballot_texts:
            stages = f"in two stages where it has more than {settings.ballot_texts} texts"
            parts[-1] += f", {review_seats(settings, most)} {stages}"
    return "; ".join([*parts, f"{settings.confirmation or 'no'} fresh ones at the end"])


def _describe_end(settings: Settings) -> str:
    since, flat = settings.min_reviews * settings.review_every, ""
    if settings.reviewers and 0 < since < settings.passes:
        flat = f"from round {since} on where a review puts the same text first again; "
    row = "once" if settings.k == 1 else f"{settings.k} times in a row"
    what = "the text is kept" if settings.judges else "a round brings no new text"
    return f"after {count(settings.passes, 'round')}, or sooner: {flat}where {what} {row}"


def _evaluations(
    task: Task, settings: Settings, noise: NoiseMeasured | None
) -> list[tuple[str, str]]:
    if not isinstance(settings.job, Research):
        return []
    from autoreason.artifacts.acceptance import FINALISTS, budget_plan
    from autoreason.artifacts.research_task import research_of

    research = research_of(task)
    assert research is not None
    terms = settings.job
    plan = budget_plan(terms)
    parts = [
        f"{plan.floor} for the noise floor",
        f"{plan.search} for proposals",
        f"{FINALISTS * plan.playoff} for the playoff" if plan.playoff else "",
        f"{2 * plan.end} for the end test",
    ]
    wide = 1 if research.timed else terms.parallel
    each = noise.seconds if noise else research.limits.seconds
    takes = duration(terms.evaluations * each / wide)
    return [
        ("evaluations", f"{terms.evaluations}: {', '.join(filter(None, parts))}"),
        ("time", f"{'about' if noise else 'at most'} {takes} for evaluations"),
        *([("noise", noise.describe(research.metric))] if noise else []),
        ("least gain", _least_gain(research, plan, noise)),
    ]


def _least_gain(research: ResearchTask, plan: BudgetPlan, noise: NoiseMeasured | None) -> str:
    from autoreason.artifacts.research_history import figure

    shown = "which the end test shows four times in five"
    if noise is None:
        return f"{plan.least_gain(1.0):.1f} times the spread of one evaluation, {shown}"
    if research.sealed and not noise.drawn:
        return "unknown until the end test opens the sealed items, which differ from each other"
    if noise.spread:
        return f"{figure(plan.least_gain(noise.spread), noise.spread)}, {shown}"
    return "unknown: no noise was seen yet"


def _models(models: Models) -> list[tuple[str, str]]:
    if models.author and len(models.all()) == 1:
        return [("model", f"{models.author} in every role")]
    return [
        ("author", models.author),
        ("critic", models.critic),
        ("revisions", ", ".join(models.revisers)),
        ("synthesis", models.synthesizer),
        ("judges", ", ".join(models.judges)),
    ]


def changed_settings(settings: Settings) -> list[str]:
    """Settings that are not the usual ones of the protocol."""
    usual = every_setting(make_settings(settings.models, settings.seed, settings.protocol))
    judged = None if settings.models.author else PanelOptions.__annotations__
    return [
        f"{name} {text}"
        for name, text in every_setting(settings).items()
        if (judged is None or name in judged) and usual.get(name) != text
    ]


def every_setting(settings: Settings) -> dict[str, str]:
    plain = asdict(settings)
    for name in ("job", "models", "budget"):
        plain.pop(name)
    if isinstance(settings.job, Refine):
        plain |= asdict(settings.job)
    return {name: _in_words(value) for name, value in plain.items() if value is not None}


def _in_words(value: Any) -> str:
    if isinstance(value, tuple):
        return ">".join(value)
    if isinstance(value, dict):
        return ", ".join(f"{name}={each}" for name, each in value.items())
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
