"""What the options of a command become: a task, and arguments of the library's functions."""

from __future__ import annotations

from typing import Any

from autoreason.cli.config import LIMITS
from autoreason.cli.views.words import SLOTS
from autoreason.errors import InvalidInput
from autoreason.settings import Budget
from autoreason.task import Task, read_task

_CONTRACT = (
    "min_words",
    "max_words",
    "sections",
    "must_include",
    "must_not_include",
    "format",
    "checks",
)
_MODELS = ("model", "author_model", "critic_model", "synthesizer_model", "judge_models")
_ASK = (
    *("seed", "max_tokens", "judge_temperature", "base_url", "allow_http"),
    *("style", "judges", "judge_models", "prompts", "journal"),
)
_WRITE = (
    *("author_model", "critic_model", "synthesizer_model", "protocol"),
    *("drafts", "max_drafts", "k", "passes", "extra_judges", "max_judges", "confirmation"),
    *("close_margin", "voting", "stop_rules", "author_temperature", "critic_temperature"),
)


def task_of(brief: str, values: dict[str, Any]) -> Task:
    """The task that a brief and the options describe."""
    contract = {name: values[name] for name in _CONTRACT}
    return read_task(brief, draft=values["draft"], facts=values["facts"], contract=contract)


def write_options(values: dict[str, Any]) -> dict[str, Any]:
    """What the options give of a run that writes, by the names of the library's arguments."""
    if values["no_playoff"] and values["playoff"] is not None:
        raise InvalidInput("--playoff and --no-playoff contradict each other; give one of them")
    chosen = ask_options(values) | _given(values, _WRITE) | efforts_of(values) | _strategy(values)
    if values["no_playoff"] or values["playoff"] is not None:
        chosen["playoff"] = 0 if values["no_playoff"] else values["playoff"]
    if values["tie_order"]:
        chosen["tie_order"] = tuple(
            slot.upper() if slot.upper() in SLOTS else slot
            for slot in map(str.strip, values["tie_order"].split(">"))
        )
    return chosen


def ask_options(values: dict[str, Any]) -> dict[str, Any]:
    """What the options give of any run: how models are asked, limits and the journal."""
    limits = {name: values[option] for name, option in LIMITS.items()}
    given = {name: limit for name, limit in limits.items() if limit is not None}
    return _given(values, _ASK) | ({"budget": Budget(**given)} if given else {})


def judge_options(values: dict[str, Any]) -> dict[str, Any]:
    """The same where only judges are asked."""
    model = {"model": values["model"]} if values.get("model") else {}
    return model | ask_options(values) | {"judge_effort": values["effort"]}


def solve_options(values: dict[str, Any]) -> dict[str, Any]:
    """The same where programs are written."""
    names = ("strategy", "repeats", "calls", "width")
    return ask_options(values) | _given(values, (*_WRITE, *names)) | efforts_of(values)


def resume_options(values: dict[str, Any]) -> dict[str, Any]:
    """What is different when a run goes on."""
    return ask_options(values) | _given(values, (*_MODELS, "passes"))


def contract_of(values: dict[str, Any]) -> dict[str, Any]:
    """The keys of a contract that were given."""
    return _given(values, _CONTRACT)


def _given(values: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: values[name] for name in names if values.get(name) not in (None, ())}


def efforts_of(values: dict[str, Any]) -> dict[str, Any]:
    """How much each role reasons, where an option says so."""
    given = {
        f"{role}_effort": values[f"{role}_effort"] or values["effort"]
        for role in ("author", "critic", "judge")
    }
    return {name: level for name, level in given.items() if level is not None}


def _strategy(values: dict[str, Any]) -> dict[str, Any]:
    """The strategy, and what only it understands."""
    own = dict(_pair(given) for given in values["strategy_options"])
    chosen = {"strategy": values["strategy"]} if values["strategy"] else {}
    return chosen | ({"strategy_options": own} if own else {})


def _pair(given: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not equals or not name.strip():
        raise InvalidInput(f"--option {given} says no value; write it as name=value")
    return name.strip(), value.strip()


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
