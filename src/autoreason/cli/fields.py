"""Fields of settings as the command line shows and reads them, so that an option repeats none of it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, get_origin

import click

if TYPE_CHECKING:
    from decimal import Decimal

LIMITS = {
    "cost": "cost_limit",
    "tokens": "token_limit",
    "calls": "call_limit",
    "seconds": "time_limit",
}
"""The options that limit a run, by the names that its budget has for them."""
_PACKAGE = Path(__file__).parents[1]
# Compiled only for help.
_STATEMENT = r"(?m)^(?=[^\s)}\]])"
_DEFINED = r"(?:class )?(\w+)(?=[:(]| =)"
_METHOD = r"(?m)^    (?=def |@)"
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


class Money(click.ParamType["Decimal"]):
    """A sum in US dollars, with or without the sign."""

    name = "usd"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Decimal:
        """Exact, as typed."""
        from decimal import Decimal, InvalidOperation

        try:
            amount = Decimal(str(value).strip().removeprefix("$"))
        except InvalidOperation:
            amount = Decimal("NaN")
        if not amount.is_finite():
            self.fail(f"{value!r} is not a sum of money; write it like 0.50", param, ctx)
        return amount


class Duration(click.ParamType[float]):
    """A time such as 90s, 30m or 2h, in seconds."""

    name = "time"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read the number and its unit; seconds where there is none."""
        if isinstance(value, int | float):
            return float(value)
        found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([smh]?)", str(value).strip())
        if not found:
            self.fail(f"{value!r} is no time; write 90s, 30m or 2h", param, ctx)
        return float(found[1]) * _UNITS[found[2]]


class FieldDoc(NamedTuple):
    """What a class says of one of its fields."""

    default: Any
    """None where there is none."""
    description: str
    annotation: ast.expr


class Field(NamedTuple):
    """A field of a class, by the names of both, which is loaded only when it is used."""

    module: str
    owner: str
    name: str

    def read_doc(self) -> FieldDoc:
        """What the source says: help would take half as long again if it loaded the class."""
        return read_docs(self.module, self.owner)[self.name]

    def read_metavar(self) -> str | None:
        """The choices of a literal type, N for a whole number, nothing for others."""
        nodes = list(ast.walk(_Definitions(self.module).visit(self.read_doc().annotation)))
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        if "Literal" in names:
            values = [node.value for node in nodes if isinstance(node, ast.Constant)]
            return f"[{'|'.join(value for value in values if isinstance(value, str))}]"
        return "N" if "int" in names else None

    def default_text(self) -> str:
        """The default of new runs, and where a protocol or a model has another; nothing where there is none."""
        default = self.read_doc().default
        if self.owner != "Settings":
            return _shown(default)
        usual = read_constant(self.module, "ROBUST").get(self.name, default)
        others = {
            "paper": read_constant(self.module, "PAPER").get(self.name, default),
            read_constant(self.module, "DEFAULT_MODEL"): read_constant(
                self.module, "FOR_THE_EMBEDDED_MODEL"
            ).get(self.name, usual),
        }
        differing = (f"{who}: {_shown(value)}" for who, value in others.items() if value != usual)
        return "; ".join((_shown(usual), *differing))

    @property
    def parameter_type(self) -> click.ParamType[Any]:
        """How a value is read from the command line."""
        return _parameter_types(self.module, self.owner)[self.name]


class FieldType(click.ParamType[Any]):
    """The type of a field, which is looked up when there is a value to be read."""

    name = "field"

    def __init__(self, field: Field) -> None:
        self.field = field

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """As the field's own type does it."""
        return self.field.parameter_type.convert(value, param, ctx)


@cache
def read_docs(module: str, owner: str) -> dict[str, FieldDoc]:
    """The fields of a class with their defaults and docstrings, from its source."""
    definition = _statement(module, owner)
    assert isinstance(definition, ast.ClassDef)
    body, docs = definition.body, {}
    for node, below in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            docs[node.target.id] = FieldDoc(
                default=_literal(module, node.value) if node.value else None,
                description=_docstring(below),
                annotation=node.annotation,
            )
    return docs


@cache
def read_constant(module: str, name: str) -> Any:
    """The value of a constant, from its module's source."""
    return _literal(module, ast.Name(name))


class _Definitions(ast.NodeTransformer):
    """Replaces names that a module assigns by what they stand for."""

    def __init__(self, module: str) -> None:
        self.module = module

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """The value; the name itself where it comes from somewhere else."""
        statement = _statement(self.module, node.id)
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value:
            value: ast.AST = self.visit(statement.value)
            return value
        return node


@cache
def _statement(module: str, name: str) -> ast.stmt | None:
    """One statement of a module; of a class what precedes its methods."""
    source = _sources(module).get(name)
    return ast.parse(re.split(_METHOD, source, maxsplit=1)[0]).body[0] if source else None


@cache
def _sources(module: str) -> dict[str, str]:
    """The statements of a module by the names they define: parsing all of it would take too long."""
    path = _PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")
    statements = re.split(_STATEMENT, path.read_text("utf-8"))
    return {found[1]: each for each in statements if (found := re.match(_DEFINED, each))}


def _docstring(node: ast.stmt) -> str:
    """The text of a docstring as one line of plain text; nothing for any other statement."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return " ".join(str(node.value.value).replace("`", "").split())
    return ""


def _literal(module: str, node: ast.expr) -> Any:
    """The value of a literal; None for what only running the module would give."""
    if isinstance(node, ast.Constant):
        return node.value
    try:
        return ast.literal_eval(_Definitions(module).visit(node))
    except ValueError:
        return None


def _shown(default: Any) -> str:
    if default is None or default is False or default in ((), {}):
        return ""
    # In quotes, because a shell would write files.
    return repr(">".join(default)) if isinstance(default, tuple) else str(default)


@cache
def _parameter_types(module: str, owner: str) -> dict[str, click.ParamType[Any]]:
    from importlib import import_module

    from msgspec.structs import fields

    struct = getattr(import_module(module), owner)
    return {field.name: _parameter_type(field.type) for field in fields(struct)}


def _parameter_type(annotation: Any) -> click.ParamType[Any]:
    """The click type of a field's type; of a union or a list the first member's."""
    from decimal import Decimal

    if get_origin(annotation) is Literal:
        return click.Choice(get_args(annotation))
    if get_args(annotation):
        return _parameter_type(get_args(annotation)[0])
    return Money() if annotation is Decimal else click.types.convert_type(annotation)
