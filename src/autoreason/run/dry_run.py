"""What a run would do and take, without doing any of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import comb
from textwrap import shorten
from typing import Any, ClassVar

import msgspec

from autoreason.artifacts.acceptance import FINALISTS, BudgetPlan
from autoreason.artifacts.research_history import NoiseMeasured
from autoreason.artifacts.research_task import ResearchTask, research_of
from autoreason.job_types import Advise, Judge, JudgePairs, Refine, Rejudge, Research, Solve
from autoreason.knowledge_records import Knowledge
from autoreason.plugins import short
from autoreason.programs.assignment import assignments_of
from autoreason.report.numbers import count, duration, money, percent
from autoreason.report.report import Report, Section, plain_values
from autoreason.report.table import Column, Table
from autoreason.run.estimate import RunEstimate, describe_time_limit
from autoreason.run.knowledge_choice import disclose_task
from autoreason.run.verbs import PanelOptions
from autoreason.settings import Budget, Models, Settings, make_settings
from autoreason.task import Task
from autoreason.tournament.panel import Metric, MetricRole, code_seats
from autoreason.tournament.statements import ONE_VOTE, predictor_seat

_DESCRIBED = (
    "drafts",
    "max_drafts",
    "k",
    "passes",
    "judges",
    "single_judge",
    "extra_judges",
    "max_judges",
    "required_lead",
    "plateau",
    "playoff",
    "confirmation",
    "seed",
    "protocol",
)
"""Settings that the plan describes in words."""
_SHOWN_TEXT = 60
"""Characters of a record that are listed."""


@dataclass(frozen=True, repr=False)
class DryRun(Report):
    """The estimate, the settings and the first prompt of a run that was not started."""

    heading: ClassVar[str] = "Dry run"
    task: Task
    settings: Settings
    estimate: RunEstimate
    noise: NoiseMeasured | None = None
    """The noise of a research task's evaluator, where it was measured."""

    @property
    def conclusion(self) -> str:
        """What a run would most likely take."""
        nothing = "nothing was called and nothing was written"
        if self.noise:
            nothing = "no model was called and no run was recorded; the start was measured"
        return f"{nothing}; {self.estimate.conclusion}"

    def sections(self) -> list[Section]:
        """Estimate, settings and the first prompt."""
        numbers, *prompt = self.estimate.sections()
        if research_of(self.task) and not self.noise:
            zeros = ", with 0 for what will be measured"
            prompt = [each._replace(title=f"{each.title}{zeros}") for each in prompt]
        numbers = numbers._replace(
            sentences=[*numbers.sentences, *_evaluations(self.task, self.settings, self.noise)]
        )
        sections = [numbers, Section("Settings", plan(self.task, self.settings))]
        if self.task.knowledge and self.task.knowledge.digest:
            sections.append(_shown_records(self.task.knowledge))
        return [*sections, *prompt]

    def to_dict(self) -> dict[str, Any]:
        """The task, the settings, the first request and the estimate as plain values."""
        fields = {
            "task": self.task,
            "settings": self.settings,
            "request": self.estimate.request,
            "estimate": self.estimate.spans(),
            "noise": self.noise,
        }
        return {"conclusion": self.conclusion, **plain_values(fields)}


def _shown_records(knowledge: Knowledge) -> Section:
    """Every record that is sent, and who is shown it."""
    shown = [
        *((record, "all") for record in knowledge.facts),
        *((record, "authors and critics") for record in knowledge.style),
        *((record, "critics") for record in (*knowledge.feedback, *knowledge.critic.all)),
        *((record, "judges") for record in knowledge.judges.all),
    ]
    rows = [
        (
            record.id,
            who,
            record.figure,
            shorten(" ".join(record.text.split()), _SHOWN_TEXT, placeholder=" …"),
        )
        for record, who in shown
    ]
    left_out = "; ".join(
        f"{count(number, 'record')} ({why})" for why, number in knowledge.left_out.items()
    )
    leasts = {"record": 0, "shown to": 0, "figure": 18, "text": 24}
    columns = [Column(title, figures=False, least=least) for title, least in leasts.items()]
    return Section(
        "Records",
        [("left out", left_out or "none")],
        tables=[Table(columns, rows)],
    )


def plan(task: Task, settings: Settings) -> list[tuple[str, str]]:
    """What would be done, as far as a person decides it."""
    contract = " ".join(task.contract.rules())
    # Programs are written by other rules, which no protocol has a say in.
    texts = isinstance(settings.job, Refine | Advise)
    rows = [
        *_models(settings.models),
        ("contract", contract or ("none" if texts else "")),
        *_work(task, settings),
        ("knowledge", disclose_task(task, settings)),
        ("limits", _limits(settings.budget)),
        ("protocol", settings.protocol if texts else ""),
        ("seed", str(settings.seed)),
        ("changed", " · ".join(changed_settings(settings))),
    ]
    return [(label, text) for label, text in rows if text]


def _work(task: Task, settings: Settings) -> list[tuple[str, str]]:
    """What is done, in the words of its job; nothing for a strategy of the user's own."""
    judges = count(settings.judges, "judge")
    match settings.job:
        case Refine(strategy="autoreason"):
            metric = task.work if isinstance(task.work, Metric) else None
            return [
                ("metric", _METRIC_ROLES[metric.role].format(metric.evaluate) if metric else ""),
                ("drafts", _drafts(task, settings)),
                ("predictor", predictor_seat(task, settings)),
                ("panel", _panel(settings, code_seats(task))),
                ("ends", _ends(settings)),
            ]
        case JudgePairs():
            pairs = count(comb(len(task.entries), 2), "pair")
            return [("panel", f"{judges} over {pairs} of texts, each pair in both orders")]
        case Judge():
            return [("panel", f"{judges}, each ranks {count(len(task.entries), 'text')}")]
        case Rejudge(of=of):
            panels = len({entry.stage for entry in task.entries})
            return [("panel", f"{judges} over {count(panels, 'recorded panel')} of run {of}")]
        case Advise():
            return _advised(task, settings)
        case Solve():
            return [_problems(task, settings)]
        case Research() if research := research_of(task):
            measure = research.evaluate or "a function of the caller"
            files = ", ".join(research.artifact)
            return [("improves", f"{files}: {research.better} {research.metric} by {measure}")]
    return []


def _evaluations(
    task: Task, settings: Settings, noise: NoiseMeasured | None
) -> list[tuple[str, str]]:
    """What the evaluations of research are for, how long they take, and what they can show."""
    research = research_of(task)
    if research is None:
        return []
    from autoreason.artifacts.acceptance import budget_plan

    terms = settings.job_as(Research)
    plan = budget_plan(terms)
    parts = [
        f"{plan.floor} for the noise floor",
        f"{plan.search} for proposals",
        f"{FINALISTS * plan.playoff} for the playoff" if plan.playoff else "",
        f"{2 * plan.end} for the end test",
    ]
    rows = [("evaluations", f"{terms.evaluations}: {', '.join(filter(None, parts))}")]
    wide = 1 if research.timed else terms.parallel
    if noise is None:
        longest = duration(terms.evaluations * research.limits.seconds / wide)
        rows.append(("time", f"{longest} at most for evaluations; --measure tells more"))
    else:
        takes = duration(terms.evaluations * noise.seconds / wide)
        rows.append(("time", f"about {takes} for evaluations, and what the model takes"))
        rows.append(("noise", noise.describe(research.metric)))
    return [*rows, ("least gain", _least_gain(research, plan, noise))]


def _least_gain(research: ResearchTask, plan: BudgetPlan, noise: NoiseMeasured | None) -> str:
    """The smallest gain that the end test can be expected to show."""
    from autoreason.artifacts.research_history import figure

    shown = "which the end test shows four times in five"
    if noise is None:
        return f"{plan.least_gain(1.0):.1f} times the spread of one evaluation, {shown}"
    if research.sealed and not noise.drawn:
        return "unknown until the end test opens the sealed items, which differ from each other"
    if noise.spread:
        return f"{figure(plan.least_gain(noise.spread), noise.spread)}, {shown}"
    if noise.drawn:
        return "unknown: items are drawn for each evaluation, and no noise was seen yet"
    return "any, if no noise comes up: none was seen yet"


def _problems(task: Task, settings: Settings) -> tuple[str, str]:
    """What is to be solved, by whom and how often."""
    terms = settings.job_as(Solve)
    (problem,) = assignments_of(task)
    return "solves", f"{problem.id} by {short(terms.strategy)}, with at most {terms.calls} calls"


def _advised(task: Task, settings: Settings) -> list[tuple[str, str]]:
    """What is measured before anything is advised."""
    from autoreason.studies.advise.advice_job import describe_limit, ends_by_rule, max_pilots
    from autoreason.studies.advise.measures import JUDGES, LEAST_QUESTIONS, QUESTIONS

    if ends_by_rule(task, settings):
        return [("advises", "by a rule that needs no call")]
    judge = f"the judge on {LEAST_QUESTIONS} to {QUESTIONS} questions"
    pilots = count(max_pilots(settings), "pilot")
    revised = f"up to {pilots}, each a draft and a revision before {JUDGES} judges"
    return [("measures", f"{judge}, {revised}"), ("costs", describe_limit(settings))]


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


def _drafts(task: Task, settings: Settings) -> str:
    if task.draft is not None:
        return "one, given"
    if settings.drafts == 1:
        text = "one"
    else:
        text = f"{settings.drafts}, one of them chosen by {count(settings.judges, 'judge')}"
    if task.contract.empty or settings.max_drafts == settings.drafts:
        return text
    return f"{text}; {settings.max_drafts} at most while too few keep the contract"


_METRIC_ROLES: dict[MetricRole, str] = {
    "guard": "{} guards the candidates",
    "judge": "{} is one judge among others, on every panel but the confirmation",
}


def _panel(settings: Settings, code: Sequence[str]) -> str:
    text = ONE_VOTE if settings.judges == 1 else count(settings.judges, "judge")
    beside = "".join(f" and the {name}" for name in code)
    if code:
        can = "it" if len(code) == 1 else "they"
        ballots = settings.judges + len(code)
        text += f"{beside}, {ballots} ballots where {can} can rank the texts"
    if settings.extra_judges and settings.max_judges > settings.judges:
        text += (
            f", {settings.extra_judges} more while the vote is close, {settings.max_judges} at most"
        )
    if settings.required_lead > 1:
        text += f"; a challenger must lead A by {settings.required_lead} points"
    ends = (("playoff", settings.playoff), ("confirmation", settings.confirmation))
    last = [f"a {name} of {judges}" if judges else f"no {name}" for name, judges in ends]
    if settings.playoff:
        last[0] += beside
    return "; ".join([text, *last])


def _ends(settings: Settings) -> str:
    survived = "survives" if settings.k == 1 else f"survives {settings.k} passes in a row"
    least = f"at most {percent(settings.plateau_change)} of the words"
    little = f"after {count(settings.plateau, 'pass', 'passes')} in a row that change {least}, "
    return (
        f"when A {survived}, {little if settings.plateau else ''}"
        f"after {count(settings.passes, 'pass', 'passes')} at most"
    )


def _limits(budget: Budget) -> str:
    limits = (
        money(budget.cost) if budget.cost is not None else "",
        count(budget.tokens, "token") if budget.tokens is not None else "",
        count(budget.calls, "call") if budget.calls is not None else "",
        describe_time_limit(budget.seconds) if budget.seconds is not None else "",
    )
    return ", ".join(filter(None, limits)) or "none"


def changed_settings(settings: Settings) -> list[str]:
    """Settings that are not the usual ones of the protocol, apart from those described in words."""
    usual = every_setting(make_settings(settings.models, settings.seed, settings.protocol))
    judged = None if settings.models.author else PanelOptions.__annotations__
    return [
        f"{name} {text}"
        for name, text in every_setting(settings).items()
        if name not in _DESCRIBED and (judged is None or name in judged) and usual.get(name) != text
    ]


def every_setting(settings: Settings) -> dict[str, str]:
    plain = msgspec.structs.asdict(settings)
    for name in ("job", "models", "budget"):
        plain.pop(name)
    if isinstance(settings.job, Refine):
        plain |= msgspec.structs.asdict(settings.job)
    return {name: _in_words(value) for name, value in plain.items() if value is not None}


def _in_words(value: Any) -> str:
    if isinstance(value, tuple):
        return ">".join(value)
    if isinstance(value, dict):
        return ", ".join(f"{name}={each}" for name, each in value.items())
    if isinstance(value, Decimal):
        return money(value)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
