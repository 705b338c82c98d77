"""What a run would do and take, without doing any of it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

import msgspec

from autoreason.jobs.job import read_options
from autoreason.models.prices import rates
from autoreason.plugins import short
from autoreason.programs.task import assignments_of
from autoreason.reasoning import reasoning_tokens_for
from autoreason.report.numbers import count, duration, money
from autoreason.report.report import Report, Section, plain_values
from autoreason.report.sentences import listed
from autoreason.run.estimate import RunEstimate, Span
from autoreason.settings import Budget, Models, Settings, make_settings
from autoreason.task import Task

_DESCRIBED = (
    "drafts",
    "max_drafts",
    "k",
    "passes",
    "judges",
    "extra_judges",
    "max_judges",
    "playoff",
    "confirmation",
    "seed",
    "protocol",
)
"""Settings that the plan describes in words."""
_OF_STUDIES = ("strategy", "strategy_options")


@dataclass(frozen=True)
class DryRun(Report):
    """The estimate, the settings and the first prompt of a run that was not started."""

    heading: ClassVar[str] = "Dry run"
    task: Task
    settings: Settings
    estimate: RunEstimate
    verbose: bool = False
    """Whether every setting is listed."""

    @property
    def conclusion(self) -> str:
        """What a run would most likely take."""
        estimate = self.estimate
        parts = [
            count(estimate.calls.likely, "call") if estimate.calls else "",
            count(estimate.tokens.likely, "token") if estimate.tokens else "",
            money(estimate.cost[1]) if estimate.cost else "",
        ]
        takes = listed([part for part in parts if part] or ["an unknown number of calls"])
        return f"nothing was called and nothing was written; a run takes about {takes}"

    def sections(self) -> list[Section]:
        """Estimate, settings and the first prompt."""
        estimate = self.estimate
        rows = [
            ("calls", _numbers(estimate.calls)),
            ("tokens", _numbers(estimate.tokens)),
            ("cost", _cost(estimate, self.settings)),
            *_reasoning(estimate, self.settings),
        ]
        sections = [Section("Estimate", rows), Section("Settings", plan(self.task, self.settings))]
        if self.verbose:
            sections.append(Section("Every setting", list(every_setting(self.settings).items())))
        if request := estimate.request:
            title = f"First prompt, to the {request.role} ({request.model})"
            messages = [f"── {each.speaker} ──\n{each.text}" for each in request.messages]
            sections.append(Section(title, text="\n".join(messages)))
        return sections

    def to_dict(self) -> dict[str, Any]:
        """The task, the settings, the first request and the estimate as plain values."""
        estimate = self.estimate
        spans = {"calls": estimate.calls, "tokens": estimate.tokens, "cost": estimate.cost}
        fields = {
            "task": self.task,
            "settings": self.settings,
            "request": estimate.request,
            "estimate": {
                name: span and dict(zip(("low", "likely", "high"), span, strict=True))
                for name, span in spans.items()
            },
        }
        return {"conclusion": self.conclusion, **plain_values(fields)}


def _reasoning(estimate: RunEstimate, settings: Settings) -> list[tuple[str, str]]:
    """That what models reason is not in the estimate, where they do."""
    models = settings.models
    efforts = [(address, settings.judge_effort) for address in models.judges]
    if models.author:
        efforts += [
            (models.author, settings.author_effort),
            (models.critic, settings.critic_effort),
        ]
    room = max(reasoning_tokens_for(address, effort) for address, effort in efforts)
    if not room or not estimate.tokens:
        return []
    most = f"up to {room:,} tokens a call come on top and are charged as output"
    return [("reasoning", f"not counted: {most}")]


def plan(task: Task, settings: Settings) -> list[tuple[str, str]]:
    """What would be done, as far as a person decides it."""
    tournament = [
        ("drafts", _drafts(task, settings)),
        ("panel", _panel(settings)),
        ("ends", _ends(settings)),
    ]
    rows = [
        *_models(settings.models),
        _problems(task, settings)
        if assignments_of(task)
        else ("contract", " ".join(task.contract.rules()) or "none"),
        *(tournament if settings.strategy == "autoreason" else ()),
        *(_compared(settings) if settings.strategy == "compare" else ()),
        ("limits", _limits(settings.budget)),
        # Programs are written by other rules than texts, which no protocol has a say in.
        *([] if settings.strategy == "solve" else [("protocol", settings.protocol)]),
        ("seed", str(settings.seed)),
    ]
    changed = _changed(settings)
    return [*rows, ("changed", " · ".join(changed))] if changed else rows


def _problems(task: Task, settings: Settings) -> tuple[str, str]:
    """What is to be solved, by whom and how often."""
    from autoreason.programs.solve_job import SolveTerms

    terms = read_options(settings, SolveTerms)
    text = [
        count(sum(not each.remark for each in assignments_of(task)), "problem"),
        " and ".join(short(name) for name in terms.strategies),
        "once each" if terms.repeats == 1 else f"{terms.repeats} times each",
        f"at most {count(terms.calls, 'call')} a time",
    ]
    left_out = sum(bool(each.remark) for each in assignments_of(task)) + len(terms.broken)
    return "solves", "; ".join(text) + (f"; {left_out} left out" if left_out else "")


def _compared(settings: Settings) -> list[tuple[str, str]]:
    """Which strategies, how often, at what, and who judges what they deliver."""
    from autoreason.studies.compare.comparison import ComparisonOptions

    terms = read_options(settings, ComparisonOptions)
    often = "once" if terms.repeat_count == 1 else f"{terms.repeat_count} times"
    return [
        ("compares", f"{', '.join(map(short, terms.strategies))}; {often} each"),
        ("matched", f"by {terms.match}"),
        ("panel", f"{count(terms.judges, 'judge')} over what the strategies deliver"),
    ]


def _models(models: Models) -> list[tuple[str, str]]:
    if not models.author:
        return [("judges", ", ".join(models.judges))]
    if len(models.all()) == 1:
        return [("model", f"{models.author} in every role")]
    return [
        ("author", models.author),
        ("critic", models.critic),
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


def _panel(settings: Settings) -> str:
    text = count(settings.judges, "judge")
    if settings.extra_judges and settings.max_judges > settings.judges:
        text += (
            f", {settings.extra_judges} more while the vote is close, {settings.max_judges} at most"
        )
    ends = (("playoff", settings.playoff), ("confirmation", settings.confirmation))
    last = (f"a {name} of {judges}" if judges else f"no {name}" for name, judges in ends)
    return "; ".join([text, *last])


def _ends(settings: Settings) -> str:
    survived = "survives" if settings.k == 1 else f"survives {settings.k} passes in a row"
    return f"when A {survived}, after {count(settings.passes, 'pass', 'passes')} at most"


def _limits(budget: Budget) -> str:
    limits = (
        money(budget.cost) if budget.cost is not None else "",
        count(budget.tokens, "token") if budget.tokens is not None else "",
        count(budget.calls, "call") if budget.calls is not None else "",
        duration(budget.seconds) if budget.seconds is not None else "",
    )
    return ", ".join(filter(None, limits)) or "none"


def _changed(settings: Settings) -> list[str]:
    """Settings that are not the usual ones of the protocol, apart from those described in words."""
    usual = every_setting(make_settings(settings.models, settings.seed, settings.protocol))
    described = (*_DESCRIBED, *(_OF_STUDIES if settings.strategy in ("solve", "compare") else ()))
    return [
        f"{name} {text}"
        for name, text in every_setting(settings).items()
        if name not in described and usual.get(name) != text
    ]


def every_setting(settings: Settings) -> dict[str, str]:
    plain = msgspec.structs.asdict(settings)
    for name in ("models", "budget"):
        plain.pop(name)
    return {name: _in_words(value) for name, value in plain.items() if value is not None}


def _in_words(value: Any) -> str:
    if isinstance(value, tuple):
        return ">".join(value)
    if isinstance(value, dict):
        return ", ".join(f"{name}={each}" for name, each in value.items())
    if isinstance(value, Decimal):
        return money(value)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _span(low: str, likely: str, high: str) -> str:
    return f"{low} to {high}, most likely about {likely}"


def _numbers(span: Span | None) -> str:
    if span is None:
        return "unknown: the strategy does not say"
    return _span(*(f"{number:,}" for number in span))


def _cost(estimate: RunEstimate, settings: Settings) -> str:
    if estimate.cost is not None:
        return _span(*map(money, estimate.cost))
    unpriced = [each for each in settings.models.all() if rates(each) is None]
    if unpriced:
        return f"unknown: the price of {' and '.join(unpriced)} is not known"
    return "unknown: the strategy does not say how many calls it makes"
