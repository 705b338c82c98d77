"""What the options of a command become: a task, and arguments of the library's functions."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from autoreason.cli.options import show_value
from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.fields import FieldDoc, read_docs
from autoreason.files import is_word_file
from autoreason.job_types import Research
from autoreason.run import verbs
from autoreason.settings import (
    LIMITS,
    ROLE_MODELS,
    SETTING_DOCS,
    Budget,
    Models,
    describe_default,
    read_changes,
)
from autoreason.task import Task, check_task, read_task

_OPTIONS: Mapping[str, type] = {
    **dict.fromkeys(("run", "start"), verbs.RefineOptions),
    "fork": verbs.ForkOptions,
    "resume": verbs.ResumeOptions,
    "compare": verbs.CompareOptions,
    "advise": verbs.AdviseOptions,
    "judge": verbs.JudgeOptions,
    "certify": verbs.CertifyOptions,
    "test": verbs.KnowledgeTestOptions,
    "solve": verbs.SolveOptions,
    "research": verbs.ResearchOptions,
    "lab": verbs.LabOptions,
}
"""The arguments of the function behind each command."""
_NOT_SET = ("models", "budget", "base_url")
_OF_THE_TASK = {"draft", "facts", "criteria", "limits_from_brief", *Contract.__struct_fields__}


def settings_of(command: str) -> dict[str, tuple[FieldDoc, str]]:
    """What `--set` can change in a command, with its default as help shows it."""
    taken, own = read_docs(_OPTIONS[command]), SETTING_DOCS
    found = {
        name: (own[name], describe_default(name, _show_value) or "")
        for name in own
        if name in taken and name not in _NOT_SET
    }
    for name, role in ROLE_MODELS.items():
        if name in taken:
            found[name] = read_docs(Models)[role], ""
    if command == "fork":
        found |= {name: (read_docs(Research)[name], "") for name in ("evaluations", "patience")}
    return found


def _show_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else show_value(value)


def task_of(brief: str, values: dict[str, Any]) -> Task:
    parts = {name: values[name] for name in ("facts", "criteria", "limits_from_brief")}
    draft, contract = values["draft"], contract_of(values)
    if not is_word_file(draft):
        return read_task(brief, draft=draft, contract=contract, **parts)
    from autoreason.run.word_files import UNREAD, read_word_file

    task = read_task(brief, contract=contract, **parts)
    task = replace(task, draft=read_word_file(draft), draft_file=str(draft.resolve()))
    print(f"{draft.name}: {UNREAD}", file=sys.stderr)
    return check_task(task)


def contract_of(values: dict[str, Any]) -> dict[str, Any]:
    """The keys of the contract that options give, and --limit."""
    options = given(values, *Contract.__struct_fields__)
    others = read_changes(values.get("limit", ()), read_docs(Contract))
    if twice := options.keys() & others.keys():
        raise InvalidInput(f"`{min(twice)}` is given twice, as an option and by --limit; give one")
    if values.get("no_keep") and options.setdefault("keep", False):
        raise InvalidInput("--keep and --no-keep are contrary; give one")
    return options | others


def run_options(command: str, values: dict[str, Any]) -> dict[str, Any]:
    """What the options and `--set` give, by the names of the arguments of the function behind a command."""
    limits = {name: values[each] for name, each in LIMITS.items() if values[each] is not None}
    taken = {"model", *_OPTIONS[command].__annotations__} - _OF_THE_TASK
    chosen = given(values, *taken)
    chosen |= {"budget": Budget(**limits)} if limits else {}
    if "changes" not in values:
        return chosen
    known = settings_of(command)
    changes = read_changes(values["changes"], {name: doc for name, (doc, _) in known.items()})
    if twice := changes.keys() & chosen.keys():
        raise InvalidInput(f"`{min(twice)}` is given twice, as an option and by --set; give one")
    if values.get("effort") is not None:
        roles = {"author_effort", "critic_effort", "judge_effort"} & known.keys()
        chosen |= dict.fromkeys(roles, values["effort"])
    return chosen | changes


def given(values: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: values[name] for name in names if values.get(name) not in (None, ())}
