"""Strategies by name: built in, or a class of the user's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from autoreason.errors import InvalidInput
from autoreason.job_types import AnyJob, Refine
from autoreason.jobs.job import Job
from autoreason.plugins import load
from autoreason.settings import ROLE_MODELS, SETTING_DOCS, Settings
from autoreason.tournament.strategy import Strategy

BUILT_IN = {
    "autoreason": "autoreason.tournament.loop:Tournament",
    "single": "autoreason.strategies.rivals:Single",
    "conservative": "autoreason.strategies.rivals:Conservative",
    "improve": "autoreason.strategies.rivals:Improve",
    "harsh": "autoreason.strategies.rivals:Harsh",
    "critique_revise": "autoreason.strategies.rivals:CritiqueRevise",
    "best_of_n": "autoreason.strategies.rivals:BestOfN",
    "self_refine": "autoreason.strategies.rivals:SelfRefine",
}
"""Built-in strategies by name, each imported when it is used."""
_ALWAYS_USED = (
    *("strategy", "strategy_options", "seed", "max_tokens"),
    *("author_model", "author_temperature", "author_effort"),
    *("budget", "base_url", "allow_http", "batch"),
)
"""What every author's request depends on."""
_NEEDS = {
    "plateau_change": "plateau",
    "playoff_texts": "playoff",
    "max_judges": "extra_judges",
    "close_margin": "extra_judges",
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
    """The class behind a name, which must have this parent."""
    kind = load("strategy", name, others if name in (others or {}) else BUILT_IN)
    if not (isinstance(kind, type) and issubclass(kind, Strategy)):
        raise InvalidInput(f"{name} is no strategy; make it a subclass of autoreason.{parent}")
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
