"""What the options of a function mean, from the fields that they set, so that `help` and the reference show it."""

from __future__ import annotations

import re
import textwrap
from typing import Any, NamedTuple

from autoreason.field_docs import FieldDoc, read_docs
from autoreason.programs.solve_job import SolveTerms
from autoreason.run.parameters import WriteOptions
from autoreason.settings import (
    PANEL_JUDGES,
    ROLE_MODELS,
    Budget,
    Models,
    Settings,
    describe_default,
)
from autoreason.studies.compare.comparison import ComparisonOptions

_WIDTH = 96
_TERMS: dict[str, tuple[type, tuple[str, ...]]] = {
    "CompareOptions": (ComparisonOptions, ("strategies", "repeats", "match")),
    "SolveOptions": (SolveTerms, ("repeats", "calls", "width", "k")),
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
    lines = [purpose, "", "Options:"]
    for name, doc in read_options(options).items():
        default = f" [default: {doc.default}]" if doc.default else ""
        indent = " " * 8
        lines.append(f"    {name}: {doc.type}")
        lines += textwrap.wrap(
            doc.text + default, _WIDTH, initial_indent=indent, subsequent_indent=indent
        )
    options.__doc__ = "\n".join(lines)


def read_options(options: type) -> dict[str, OptionDoc]:
    """Type, default and meaning of every option."""
    kind = options.__name__
    docs = {}
    for name, own in read_docs(options).items():
        field = _field(kind, name)
        docs[name] = OptionDoc(
            type=_type_text(own.type),
            default=_default(kind, name, field) if field else "",
            text=(own.sentence or (field.sentence if field else "")).replace("`", ""),
        )
    return docs


def _field(kind: str, name: str) -> FieldDoc | None:
    """The field that an option sets, where its default is that field's."""
    if _PANELS.get(kind) == name == "panel_judges":
        return read_docs(ComparisonOptions)["judges"]
    terms, fields = _TERMS.get(kind, (Settings, ()))
    if name in fields:
        return read_docs(terms)[name]
    if name in ROLE_MODELS:
        return read_docs(Models)[ROLE_MODELS[name]]
    return read_docs(Settings).get(name)


def _default(kind: str, name: str, field: FieldDoc) -> str:
    if _PANELS.get(kind) == name:
        return str(PANEL_JUDGES)
    is_setting = field is read_docs(Settings).get(name)
    # A program's tournament ends by rules of its own.
    other = kind == "SolveOptions" and is_setting and name in WriteOptions.__annotations__
    if kind in _CHANGES or other:
        return ""
    return describe_default(name, _shown) if is_setting else _shown(field.default)


def _shown(value: Any) -> str:
    return "" if value is None or isinstance(value, Budget) else repr(value)


def _type_text(hint: Any) -> str:
    """A type as it is written, without the modules it comes from."""
    text = hint.__name__ if type(hint) is type else str(hint)
    text = re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", text)
    return re.sub(r"Optional\[(.*)\]", r"\1 | None", text)
