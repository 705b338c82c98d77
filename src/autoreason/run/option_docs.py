"""What the options of a function mean, from the fields that they set, so that `help` and the reference show it."""

from __future__ import annotations

import ast
import textwrap
from typing import NamedTuple

from autoreason.field_docs import Field, read_constant, read_docs
from autoreason.run.parameters import WriteOptions

_WIDTH = 96
_PARAMETERS = "autoreason.run.parameters"
_SETTINGS = "autoreason.settings"
_MODELS = {
    "author_model": Field(_SETTINGS, "Models", "author"),
    "critic_model": Field(_SETTINGS, "Models", "critic"),
    "synthesizer_model": Field(_SETTINGS, "Models", "synthesizer"),
    "judge_models": Field(_SETTINGS, "Models", "judges"),
    "reviser_models": Field(_SETTINGS, "Models", "revisers"),
}
_SOLVING = ("autoreason.programs.solve_job", "SolveTerms")
_TERMS = {
    "CompareOptions": {
        "match": Field("autoreason.studies.lab.lab_suite", "SuiteMatch", "by"),
        "panel_judges": Field(_SETTINGS, "Settings", "judges"),
    },
    "SolveOptions": {name: Field(*_SOLVING, name) for name in ("calls", "k")},
}
"""Fields of what only one function does, by its options."""
_CHANGES = ("ForkOptions", "ResumeOptions")
"""Options that change a recorded run, whose settings are the defaults."""
_PANELS = {"PanelOptions": "judges", "JudgeOptions": "judges", "CompareOptions": "panel_judges"}
"""How many judges a panel over finished texts has, by the options of its function."""


class OptionDoc(NamedTuple):
    """What is to be known of one option."""

    type: str
    default: str
    """Empty where there is none to be named."""
    text: str


def document(options: type) -> None:
    """Add to a class of options what each of them means."""
    purpose = (options.__doc__ or "").partition("\n")[0]
    options.__doc__ = "\n".join((purpose, "", "Options:", *_lines(read_options(options))))


def read_options(options: type) -> dict[str, OptionDoc]:
    """Type, default and meaning of every option."""
    kind, settings = options.__name__, read_docs(_SETTINGS, "Settings")
    docs = {}
    for name, own in read_docs(_PARAMETERS, kind).items():
        field = _TERMS.get(kind, {}).get(name) or _MODELS.get(name)
        if field is None and name in settings:
            field = Field(_SETTINGS, "Settings", name)
        docs[name] = OptionDoc(
            type=ast.unparse(own.annotation),
            default=_default(kind, name, field) if field else "",
            text=own.description or (field.read_doc().description if field else ""),
        )
    return docs


def _default(kind: str, name: str, field: Field) -> str:
    if _PANELS.get(kind) == name:
        return str(read_constant(_SETTINGS, "PANEL_JUDGES"))
    # A program's tournament ends by rules of its own.
    other = kind == "SolveOptions" and field.owner == "Settings"
    if kind in _CHANGES or (other and name in WriteOptions.__annotations__):
        return ""
    return field.default_text(lambda value: "" if value is None else repr(value))


def _lines(docs: dict[str, OptionDoc]) -> list[str]:
    lines = []
    for name, doc in docs.items():
        default = f" [default: {doc.default}]" if doc.default else ""
        lines.append(f"    {name}: {doc.type}")
        lines += textwrap.wrap(
            doc.text + default, _WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8
        )
    return lines
