"""What the options of a run become: its task and its settings."""

from __future__ import annotations

import secrets
from typing import Any

import msgspec

from autoreason.cli.fields import LIMITS
from autoreason.cli.views.words import SLOTS
from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.settings import (
    DEFAULT_MODEL,
    Budget,
    Models,
    Settings,
    make_settings,
    providers_of,
)
from autoreason.task import Task, check_task, read_task


def task_of(brief: str, values: dict[str, Any]) -> Task:
    """The task that a brief and the options describe."""
    contract = {name: values[name] for name in Contract.__struct_fields__}
    return read_task(brief, draft=values["draft"], facts=values["facts"], contract=contract)


def settings_of(values: dict[str, Any], **more: Any) -> Settings:
    """Settings for a new run."""
    everywhere = Models.everywhere(values["model"] or DEFAULT_MODEL)
    return make_settings(
        models_of(everywhere, values),
        seed_of(values),
        values["protocol"] or "robust",
        **_changes(values),
        **more,
    )


def forked(task: Task, settings: Settings, values: dict[str, Any]) -> tuple[Task, Settings]:
    """A fork's task and settings: those of the run it comes from, but for what was asked for."""
    contract = {
        name: values[name] for name in Contract.__struct_fields__ if values[name] not in (None, ())
    }
    if contract:
        changed = msgspec.structs.replace(task.contract, **contract)
        task = check_task(msgspec.structs.replace(task, contract=changed))
    before = Models.everywhere(values["model"]) if values["model"] else settings.models
    models, seed, changes = models_of(before, values), seed_of(values), _changes(values)
    changes |= servers_of(settings, models, values)
    changes["budget"] = msgspec.structs.replace(settings.budget, **budget_of(values))
    if values["protocol"]:
        return task, make_settings(models, seed, values["protocol"], **changes)
    for name in ("judges", "drafts"):
        if name in changes:
            most = f"max_{name}"
            changes.setdefault(most, max(changes[name], getattr(settings, most)))
    return task, msgspec.structs.replace(settings, models=models, seed=seed, **changes)


def models_of(before: Models, values: dict[str, Any]) -> Models:
    """Who plays which role, where an option says so."""
    return Models(
        author=values["author_model"] or before.author,
        critic=values["critic_model"] or before.critic,
        synthesizer=values["synthesizer_model"] or before.synthesizer,
        judges=tuple(values["judge_models"]) or before.judges,
    )


def efforts_of(values: dict[str, Any]) -> dict[str, Any]:
    """How much each role reasons, where an option says so."""
    given = {
        f"{role}_effort": values[f"{role}_effort"] or values["effort"]
        for role in ("author", "critic", "judge")
    }
    return {name: level for name, level in given.items() if level is not None}


def servers_of(before: Settings, models: Models, values: dict[str, Any]) -> dict[str, Any]:
    """Where providers are asked from here on; what was agreed to for one is not for another."""
    given, recorded, used = values["base_url"], before.base_url, providers_of(models.all())
    if given is None and isinstance(recorded, str) and len(used) > 1:
        # Nobody said whose it is, and the pool will ask for that before anything is sent.
        given = recorded
    if not isinstance(given, str):
        kept = recorded.items() if isinstance(recorded, dict) else ()
        given = {name: url for name, url in kept if name in used} | (given or {})
    same = (given or None, models) == (recorded, before.models)
    return {
        "base_url": given or None,
        "allow_http": values["allow_http"] or (same and before.allow_http),
    }


def budget_of(values: dict[str, Any]) -> dict[str, Any]:
    """The limits that were given, by the names the budget has for them."""
    limits = {name: values[option] for name, option in LIMITS.items()}
    return {name: limit for name, limit in limits.items() if limit is not None}


def budget_in(values: dict[str, Any]) -> Budget | None:
    """The budget that was given; None where no limit was."""
    limits = budget_of(values)
    return Budget(**limits) if limits else None


def _changes(values: dict[str, Any]) -> dict[str, Any]:
    if values["no_playoff"] and values["playoff"] is not None:
        raise InvalidInput("--playoff and --no-playoff contradict each other; give one of them")
    changes = {
        name: values[name]
        for name in Settings.__struct_fields__
        if name not in ("protocol", "seed") and values.get(name) not in (None, ())
    }
    if values["no_playoff"]:
        changes["playoff"] = 0
    if "tie_order" in changes:
        changes["tie_order"] = tuple(
            slot.upper() if slot.upper() in SLOTS else slot
            for slot in map(str.strip, values["tie_order"].split(">"))
        )
    if limits := budget_in(values):
        changes["budget"] = limits
    return changes | efforts_of(values) | _strategy(values)


def _strategy(values: dict[str, Any]) -> dict[str, Any]:
    """The strategy by a name that means the same in any folder, and its own options."""
    from autoreason.plugins import absolute
    from autoreason.strategies.registry import find_strategy

    changes: dict[str, Any] = {}
    if values["strategy"]:
        find_strategy(values["strategy"])
        changes["strategy"] = absolute(values["strategy"])
    own = dict(_pair(given) for given in values["strategy_options"])
    return changes | ({"strategy_options": own} if own else {})


def _pair(given: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not equals or not name.strip():
        raise InvalidInput(f"--option {given} says no value; write it as name=value")
    return name.strip(), value.strip()


def seed_of(values: dict[str, Any]) -> int:
    """The seed that was given, or one that is drawn now."""
    return secrets.randbits(32) if values["seed"] is None else int(values["seed"])


def require_positive(values: dict[str, Any], names: tuple[str, ...]) -> None:
    """Refuse numbers that ask for nothing."""
    for name in names:
        if values[name] is not None and values[name] <= 0:
            option = f"--{name.replace('_', '-')}"
            raise InvalidInput(f"{option} is {values[name]:g}; give more than 0")


def require_limits(seconds: float | None, megabytes: int | None) -> None:
    """Refuse limits of programs that no problem may have either."""
    from autoreason.programs.problems.problem import MAX_SECONDS, MEMORY_RANGE_MB

    if seconds is not None and not 0 < seconds <= MAX_SECONDS:
        raise InvalidInput(
            f"--test-time-limit is {seconds:g}; give more than 0 and at most {MAX_SECONDS} seconds"
        )
    least, most = MEMORY_RANGE_MB
    if megabytes is not None and not least <= megabytes <= most:
        raise InvalidInput(f"--test-memory-limit is {megabytes:,}; give {least} to {most} MB")
