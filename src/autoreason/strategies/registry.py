"""Strategies by name: built in, of installed packages, or a class in a user's file."""

from __future__ import annotations

from autoreason.errors import InvalidInput
from autoreason.plugins import installed, load
from autoreason.settings import Settings, make_settings
from autoreason.tournament.strategy import Strategy

BUILT_IN = {
    "autoreason": "autoreason.tournament.loop:Tournament",
    "single": "autoreason.strategies.sampling:Single",
    "conservative": "autoreason.strategies.iteration:Conservative",
    "improve": "autoreason.strategies.iteration:Improve",
    "harsh": "autoreason.strategies.iteration:Harsh",
    "critique_revise": "autoreason.strategies.iteration:CritiqueRevise",
    "best_of_n": "autoreason.strategies.sampling:BestOfN",
    "self_refine": "autoreason.strategies.self_refine:SelfRefine",
}
"""Built-in strategies by name, each imported when it is used."""
_OF_TOURNAMENTS = (
    *("candidates", "blind_revision", "subtractive_synthesis", "required_lead"),
    *("k", "rivals", "plateau", "stop_rules"),
)
"""Settings that the other built-in strategies never look at."""


def find_strategy(
    name: str, others: dict[str, str] | None = None, parent: str = "Strategy"
) -> type[Strategy]:
    """The class behind a name, which must have this parent."""
    kind = load("strategies", name, others if name in (others or {}) else BUILT_IN)
    if not (isinstance(kind, type) and issubclass(kind, Strategy)):
        raise InvalidInput(f"{name} is no strategy; make it a subclass of autoreason.{parent}")
    if kind.run is Strategy.run:
        raise InvalidInput(f"{name} does not define `run`; add it")
    return kind


def unused_setting(settings: Settings) -> str:
    """A sentence about a setting that this strategy never looks at; empty where there is none, or that is not known."""
    usual = make_settings(settings.models, settings.seed, settings.protocol)
    if settings.plateau_change != usual.plateau_change and not settings.plateau:
        return "`plateau_change` does nothing without `plateau`; give both or leave it out"
    if settings.strategy == "autoreason" or settings.strategy not in BUILT_IN:
        return ""
    changed = [
        *(name for name in _OF_TOURNAMENTS if getattr(settings, name) != getattr(usual, name)),
        *(["reviser_models"] if settings.models.revisers else []),
    ]
    if not changed:
        return ""
    return f"`{changed[0]}` does nothing in {settings.strategy}, only in a tournament; leave it out"


def installed_strategies() -> list[str]:
    """Strategies of installed packages."""
    return installed("strategies")
