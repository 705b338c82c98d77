"""What the options of a command become: a task, and arguments of the library's functions."""

from __future__ import annotations

from typing import Any

from autoreason.cli.settings import settings_of
from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.settings import LIMITS, ROLE_MODELS, SETTING_DOCS, Budget, read_changes
from autoreason.task import Task, read_task

_SOLVE = (
    *("repeats", "calls", "width", "ids", "difficulty", "limit"),
    *("test_time_limit", "test_memory_limit", "unsafe"),
)
_RESEARCH = ("evaluations", "rule", "parallel", "patience", "unsafe", "unchecked")
_ARGUMENTS = ("model", *SETTING_DOCS, *ROLE_MODELS, "prompts", "journal")


def task_of(brief: str, values: dict[str, Any]) -> Task:
    """The task that a brief and the options describe."""
    contract = {name: values.get(name) for name in Contract.__struct_fields__}
    return read_task(brief, draft=values["draft"], facts=values["facts"], contract=contract)


def run_options(command: str, values: dict[str, Any]) -> dict[str, Any]:
    """What the options and `--set` give of a run, by the names of the library's arguments."""
    limits = {name: values[option] for name, option in LIMITS.items()}
    set_limits = {name: limit for name, limit in limits.items() if limit is not None}
    chosen = given(values, *_ARGUMENTS) | ({"budget": Budget(**set_limits)} if set_limits else {})
    if "changes" not in values:
        return chosen
    known = settings_of(command)
    changes = read_changes(values["changes"], {name: each.doc for name, each in known.items()})
    if twice := changes.keys() & chosen.keys():
        raise InvalidInput(f"`{min(twice)}` is given twice, as an option and by --set; give one")
    if "effort" in values:
        roles = [
            name for name in ("author_effort", "critic_effort", "judge_effort") if name in known
        ]
        chosen |= given(dict.fromkeys(roles, values["effort"]), *roles)
    return chosen | changes


def take_contract(chosen: dict[str, Any]) -> dict[str, Any]:
    """The keys of a contract among what was chosen, which are no settings."""
    return {name: chosen.pop(name) for name in Contract.__struct_fields__ if name in chosen}


def solve_options(values: dict[str, Any]) -> dict[str, Any]:
    """The same where programs are written."""
    return run_options("solve", values) | given(values, *_SOLVE)


def research_options(values: dict[str, Any]) -> dict[str, Any]:
    """The same where an artifact is improved."""
    return run_options("research", values) | given(values, *_RESEARCH)


def contract_of(values: dict[str, Any]) -> dict[str, Any]:
    """The keys of a contract that were given."""
    return given(values, *Contract.__struct_fields__)


def given(values: dict[str, Any], *names: str) -> dict[str, Any]:
    """Those of these options that were given."""
    return {name: values[name] for name in names if values.get(name) not in (None, ())}
