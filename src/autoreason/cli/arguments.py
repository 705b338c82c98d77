"""What the options of a command become: a task, and arguments of the library's functions."""

from __future__ import annotations

from typing import Any

from autoreason.cli.fields import LIMITS
from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.settings import ROLE_MODELS, Budget, Settings
from autoreason.task import Task, read_task
from autoreason.tournament.candidates import SLOT_NAMES

_SOLVE = (
    *("repeats", "calls", "width", "ids", "difficulty", "limit"),
    *("test_time_limit", "test_memory_limit", "unsafe"),
)
_RESEARCH = ("evaluations", "rule", "parallel", "patience", "unsafe", "unchecked")
_ARGUMENTS = ("model", *Settings.__struct_fields__, *ROLE_MODELS, "prompts", "journal")


def task_of(brief: str, values: dict[str, Any]) -> Task:
    """The task that a brief and the options describe."""
    contract = {name: values[name] for name in Contract.__struct_fields__}
    return read_task(brief, draft=values["draft"], facts=values["facts"], contract=contract)


def run_options(values: dict[str, Any]) -> dict[str, Any]:
    """What the options give of a run, by the names of the library's arguments."""
    limits = {name: values[option] for name, option in LIMITS.items()}
    set_limits = {name: limit for name, limit in limits.items() if limit is not None}
    return given(values, *_ARGUMENTS) | ({"budget": Budget(**set_limits)} if set_limits else {})


def write_options(values: dict[str, Any]) -> dict[str, Any]:
    """The same where texts are written."""
    if values["no_playoff"] and values["playoff"] is not None:
        raise InvalidInput("--playoff and --no-playoff contradict each other; give one of them")
    chosen = run_options(values) | efforts_of(values)
    if values["no_playoff"]:
        chosen["playoff"] = 0
    if "tie_order" in chosen:
        chosen["tie_order"] = tuple(
            slot.upper() if slot.upper() in SLOT_NAMES else slot
            for slot in map(str.strip, values["tie_order"].split(">"))
        )
    if "strategy_options" in chosen:
        chosen["strategy_options"] = dict(map(_pair, values["strategy_options"]))
    return chosen


def judge_options(values: dict[str, Any]) -> dict[str, Any]:
    """The same where only judges are asked."""
    return run_options(values) | {"judge_effort": values["effort"]}


def solve_options(values: dict[str, Any]) -> dict[str, Any]:
    """The same where programs are written."""
    return run_options(values) | efforts_of(values) | given(values, *_SOLVE)


def research_options(values: dict[str, Any]) -> dict[str, Any]:
    """The same where an artifact is improved."""
    efforts = {f"{role}_effort": values["effort"] for role in ("author", "judge")}
    return run_options(values) | given(efforts, *efforts) | given(values, *_RESEARCH)


def contract_of(values: dict[str, Any]) -> dict[str, Any]:
    """The keys of a contract that were given."""
    return given(values, *Contract.__struct_fields__)


def given(values: dict[str, Any], *names: str) -> dict[str, Any]:
    """Those of these options that were given."""
    return {name: values[name] for name in names if values.get(name) not in (None, ())}


def efforts_of(values: dict[str, Any]) -> dict[str, Any]:
    """How much each role reasons, where an option says so."""
    levels = {
        f"{role}_effort": values[f"{role}_effort"] or values["effort"]
        for role in ("author", "critic", "judge")
    }
    return given(levels, *levels)


def _pair(option: str) -> tuple[str, str]:
    name, equals, value = option.partition("=")
    if not equals or not name.strip():
        raise InvalidInput(f"--option {option} says no value; write it as name=value")
    return name.strip(), value.strip()
