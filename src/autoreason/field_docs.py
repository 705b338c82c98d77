"""What classes say of their fields, read from the source: Python keeps no docstrings of fields."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_PACKAGE = Path(__file__).parent
_STATEMENT = re.compile(r"^(?=[^\s)}\]])", re.MULTILINE)
_DEFINED = re.compile(r"(?:class )?(\w+)(?=[:(]| =)")
_METHOD = re.compile(r"^    (?=def |@)", re.MULTILINE)


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

    def default_text(self, show: Callable[[Any], str] | None = None) -> str:
        """The default of new runs, and where a protocol or a model has another; nothing where there is none.

        `show` writes one value; without it, as on a command line.
        """
        show, usual = show or _shown, self.read_doc().default
        if self.owner != "Settings":
            return show(usual)
        others = {
            "paper": read_constant(self.module, "PAPER").get(self.name, usual),
            read_constant(self.module, "DEFAULT_MODEL"): read_constant(
                self.module, "FOR_THE_EMBEDDED_MODEL"
            ).get(self.name, usual),
        }
        differing = (f"{who}: {show(value)}" for who, value in others.items() if value != usual)
        return "; ".join((show(usual), *differing))


@cache
def read_docs(module: str, owner: str) -> dict[str, FieldDoc]:
    """The fields of a class and of its bases in the same module, with their defaults and docstrings."""
    definition = _statement(module, owner)
    assert isinstance(definition, ast.ClassDef)
    docs: dict[str, FieldDoc] = {}
    for base in definition.bases:
        if isinstance(base, ast.Name) and isinstance(_statement(module, base.id), ast.ClassDef):
            docs |= read_docs(module, base.id)
    body = definition.body
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
    return ast.parse(_METHOD.split(source, maxsplit=1)[0]).body[0] if source else None


@cache
def _sources(module: str) -> dict[str, str]:
    """The statements of a module by the names they define: parsing all of it would take too long."""
    path = _PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")
    statements = _STATEMENT.split(path.read_text("utf-8"))
    return {found[1]: each for each in statements if (found := _DEFINED.match(each))}


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
