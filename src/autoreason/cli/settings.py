"""The settings that `--set NAME=VALUE` changes, as each command understands them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from autoreason.cli.fields import show_value
from autoreason.contract import Contract
from autoreason.fields import FieldDoc, read_docs
from autoreason.job_types import Research
from autoreason.run.verbs import (
    AdviseOptions,
    CertifyOptions,
    CompareOptions,
    ForkOptions,
    JudgeOptions,
    KnowledgeTestOptions,
    RefineOptions,
    ResearchOptions,
    ResumeOptions,
    SolveOptions,
)
from autoreason.settings import ROLE_MODELS, SETTING_DOCS, Models, describe_default

_OPTIONS: Mapping[str, type] = {
    "run": RefineOptions,
    "fork": ForkOptions,
    "resume": ResumeOptions,
    "compare": CompareOptions,
    "advise": AdviseOptions,
    "judge": JudgeOptions,
    "certify": CertifyOptions,
    "test": KnowledgeTestOptions,
    "solve": SolveOptions,
    "research": ResearchOptions,
}
"""The arguments of the function behind each command."""
_NOT_SET = ("models", "budget", "base_url")
_CONTRACT_KEYS = ("compare", "advise")
"""Commands that have no options for a contract."""


class Setting(NamedTuple):
    """What `--set` can change, with its default as help shows it."""

    doc: FieldDoc
    default: str


def settings_of(command: str) -> dict[str, Setting]:
    """Every setting that a command understands."""
    taken, own = read_docs(_OPTIONS[command]), SETTING_DOCS
    found = {
        name: Setting(own[name], describe_default(name, _show_value))
        for name in own
        if name in taken and name not in _NOT_SET
    }
    for name, role in ROLE_MODELS.items():
        if name in taken:
            found[name] = Setting(read_docs(Models)[role], "")
    if command == "fork":
        found |= {
            name: Setting(read_docs(Research)[name], "") for name in ("evaluations", "patience")
        }
    if command in _CONTRACT_KEYS:
        found |= {name: Setting(doc, "") for name, doc in read_docs(Contract).items()}
    return found


def _show_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else show_value(value)
