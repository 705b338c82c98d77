"""Protocols to compare: those we have, and changes to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.report.numbers import listed
from autoreason.settings import MAX_REVISERS, Models, Protocol, Settings, make_settings

NAMES: tuple[Protocol, ...] = ("paper", "robust")
SETTINGS = (
    "drafts",
    "k",
    "passes",
    "judges",
    "single_judge",
    "extra_judges",
    "max_judges",
    "close_margin",
    "early_stop",
    "balanced_orders",
    "voting",
    "required_lead",
    "tie_order",
    "quoted_critique",
    "playoff",
    "playoff_texts",
    "confirmation",
    "candidates",
    "revisers",
    "blind_revision",
    "subtractive_synthesis",
    "plateau",
    "plateau_change",
)
"""What makes a difference to a simulated run; `revisers` is how many there are."""
NO_DIFFERENCE = {
    "critic_facts": "nothing recorded says what a critic without facts overlooks",
    "style": "nothing recorded says how judges see otherwise who are asked otherwise",
    "strict_length": "a simulated brief has no limit of length",
    "strict_echo": "a simulated text has no words",
}
"""Switches that are played like the default, and why."""
_ADDRESS = "simulated/cast"


class NamedProtocol(NamedTuple):
    """A protocol under the name that tables give it."""

    name: str
    settings: Settings
    note: str = ""
    """Which of its changes are played like the default, and why."""


def named_protocol(protocol: Protocol, changes: Mapping[str, Any] | None = None) -> NamedProtocol:
    """A protocol with changes, named after them."""
    changes = changes or {}
    for name in changes:
        if name not in (*SETTINGS, *NO_DIFFERENCE):
            raise InvalidInput(
                f"`{name}` makes no difference to a simulated run; set one of {', '.join(SETTINGS)}"
            )
    label = " ".join(
        [protocol, *(f"{name}={_printable(value)}" for name, value in changes.items())]
    )
    models, fields = _models(changes.get("revisers", 1)), {**changes}
    fields.pop("revisers", None)
    # All of them, to refuse what cannot be.
    make_settings(models, 0, protocol, **fields)
    played = {name: value for name, value in fields.items() if name not in NO_DIFFERENCE}
    reasons: dict[str, list[str]] = {}
    for name in fields.keys() - played.keys():
        reasons.setdefault(NO_DIFFERENCE[name], []).append(f"`{name}`")
    said = [f"{listed(sorted(names))}: {why}" for why, names in sorted(reasons.items())]
    return NamedProtocol(label, make_settings(models, 0, protocol, **played), "; ".join(said))


def _models(revisers: Any) -> Models:
    if type(revisers) is not int or not 1 <= revisers <= MAX_REVISERS:
        raise InvalidInput(
            f"`revisers` is {revisers}; give how many there are, from 1 to {MAX_REVISERS}"
        )
    models = Models.everywhere(_ADDRESS)
    return replace(models, revisers=(_ADDRESS,) * revisers) if revisers > 1 else models


def choose_protocols(names: Sequence[str], changes: Sequence[str]) -> list[NamedProtocol]:
    """The protocols of these names, or all; then the last of them once more with the changes."""
    chosen = [name for name in NAMES if name in names or not names]
    protocols = [named_protocol(name) for name in chosen]
    if changes:
        last = next(name for name in NAMES if name == (names or chosen)[-1])
        protocols.append(named_protocol(last, read_changes(changes)))
    return protocols


def read_changes(changes_given: Sequence[str]) -> dict[str, Any]:
    """Changes written as NAME=VALUE."""
    from autoreason.bounded_yaml import load_yaml

    changes = {}
    for change in changes_given:
        name, equals, value = (part.strip() for part in change.partition("="))
        if not equals or not name or not value:
            raise InvalidInput(f"{change!r} changes nothing; write it like k=3")
        try:
            changes[name] = load_yaml(value)
        except ValueError:
            raise InvalidInput(f"{value!r} is no value for {name}; write it like k=3") from None
        if name == "tie_order":
            changes[name] = tuple(slot.strip().upper() for slot in value.split(">"))
    return changes


def _printable(value: Any) -> str:
    return ">".join(value) if isinstance(value, tuple) else str(value)
