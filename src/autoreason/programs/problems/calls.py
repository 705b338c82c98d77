"""Calls of a function that its tests and its description show."""

from __future__ import annotations

import ast
import cmath
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from autoreason.assignment import Assignment
from autoreason.programs.problems.sources import parsed

_AROUND = frozenset(
    {"set", "frozenset", "sorted", "list", "tuple", "dict", "len", "str", "Counter"}
)
"""Functions that tests apply to what a call returns, because the rest of it does not count."""
_LONGEST = 2000
"""Characters in which the end of a call or of a literal is looked for."""
_NUMBER = re.compile(r"(?<![\w.])\d{1,6}(?![\w.])")
_QUOTED = re.compile(r"(['\"`])([^'\"`\n]{1,30})\1")
_SAMPLES: dict[str, tuple[Any, ...]] = {
    "int": (3, 10, 7, 1, 24),
    "float": (1.5, 3.0, 0.25),
    "str": ("abc", "Hello world", "racecar", "aabbc"),
    "bool": (True, False),
}


class Call(NamedTuple):
    """A call whose arguments are plain values, and what stands around them."""

    before: str
    """Up to and with the opening bracket: `set(f(`."""
    arguments: tuple[Any, ...]
    names: tuple[str, ...] = ()
    """Of the last arguments, where they are given by name."""
    after: str = ")"

    def __str__(self) -> str:
        unnamed = len(self.arguments) - len(self.names)
        names = ("",) * unnamed + tuple(f"{name}=" for name in self.names)
        given = (f"{name}{each!r}" for name, each in zip(names, self.arguments, strict=True))
        return f"{self.before}{', '.join(given)}{self.after}"


def find_calls(assignment: Assignment) -> list[Call]:
    """Those of the public tests; where there are none, those that the description shows or its types allow."""
    tests = [test.code for test in assignment.public]
    found = [call for code in tests for call in _tested(code, assignment.entry_point)]
    return found or _described(assignment) or _annotated(assignment)


def find_constants(assignment: Assignment) -> list[Any]:
    """Numbers and texts that the tests and the description mention."""
    trees = [parsed(test.code) for test in assignment.public]
    tested = [
        node.value
        for tree in trees
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Constant) and type(node.value) in (int, str)
    ]
    numbers = [int(each) for each in _NUMBER.findall(assignment.statement)]
    return [*tested, *numbers, *(text for _, text in _QUOTED.findall(assignment.statement))]


def _tested(code: str, entry_point: str) -> Iterator[Call]:
    tree = parsed(code)
    parents = {
        child: node
        for node in (ast.walk(tree) if tree else ())
        for child in ast.iter_child_nodes(node)
    }
    for node in parents:
        if isinstance(node, ast.Call) and _calls(node.func, entry_point):
            call = _read(node)
            if call is not None:
                yield _within(call, node, parents)


def _calls(function: ast.expr, entry_point: str) -> bool:
    """Whether it is the function itself, or a method of what the class makes."""
    match function:
        case ast.Name(id=name):
            return name == entry_point
        case ast.Attribute(value=ast.Call(func=ast.Name(id=name))):
            return name == entry_point.partition(".")[0]
    return False


def _read(node: ast.Call) -> Call | None:
    if any(keyword.arg is None for keyword in node.keywords):
        return None
    try:
        values = [
            ast.literal_eval(each) for each in (*node.args, *(k.value for k in node.keywords))
        ]
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return None
    if not all(map(_is_finite, values)):
        return None
    names = tuple(keyword.arg or "" for keyword in node.keywords)
    return Call(f"{ast.unparse(node.func)}(", tuple(values), names)


def _is_finite(value: Any) -> bool:
    """Whether all numbers in a value are finite: others cannot be written down as they are."""
    match value:
        case float() | complex():
            return cmath.isfinite(value)
        case dict():
            return all(_is_finite(each) for entry in value.items() for each in entry)
        case list() | tuple() | set() | frozenset():
            return all(map(_is_finite, value))
    return True


def _within(call: Call, node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Call:
    """The call with whatever the test does to its value before it compares."""
    match parents.get(node):
        case ast.Call(func=ast.Name(id=name), args=[_], keywords=[]) as around if name in _AROUND:
            outer = call._replace(before=f"{name}({call.before}", after=f"{call.after})")
            return _within(outer, around, parents)
        case ast.Call(
            func=ast.Name(id="isclose") | ast.Attribute(attr="isclose"),
            keywords=[ast.keyword(arg="rel_tol", value=ast.Constant(value=float(tolerance)))],
        ) if 0 < tolerance < 1:
            digits = len(f"{1 / tolerance:.0f}") - 1
            return call._replace(before=f"'%.{digits}g' % ({call.before}", after=f"{call.after})")
    return call


def _described(assignment: Assignment) -> list[Call]:
    """Calls in the description that show other values, or values given to the parameters one by one."""
    function = _function(assignment)
    if function is None:
        return []
    names = [each.arg for each in function.args.args]
    text = ast.get_docstring(function) or assignment.statement
    before = f"{assignment.entry_point}("
    shown = [*_called_in(text, names), *_given_in(text, names)]
    return [Call(before, values) for values in shown]


def _function(assignment: Assignment) -> ast.FunctionDef | None:
    """The function as its starter declares it."""
    tree = parsed(f"{assignment.starter.rstrip()}\n    pass\n") or parsed(assignment.starter)
    functions = (node for node in (tree.body if tree else ()) if isinstance(node, ast.FunctionDef))
    return next((node for node in functions if node.name == assignment.entry_point), None)


def _called_in(text: str, names: list[str]) -> Iterator[tuple[Any, ...]]:
    """Arguments of whatever is called with as many plain values; descriptions rename functions."""
    for found in re.finditer(r"\w+\(", text):
        value = _literal_at(text, found.end() - 1)
        values = value if isinstance(value, tuple) else (value,)
        if value is not None and len(values) == len(names):
            yield values


def _given_in(text: str, names: list[str]) -> Iterator[tuple[Any, ...]]:
    """Values after `name =`, or after `Input:` where there is one parameter, one set of them after the other."""
    marks = "|".join(rf"\b{re.escape(name)}\s*=(?!=)" for name in names)
    if len(names) == 1:
        marks += r"|\bInput:"
    given: dict[str, Any] = {}
    for found in re.finditer(marks, text) if marks else ():
        name = names[0] if len(names) == 1 else found[0].rstrip("= \t\n")
        value = _literal_at(text, found.end())
        if value is not None:
            given[name] = value
        if len(given) == len(names):
            yield tuple(given[name] for name in names)
            given = {}


def _literal_at(text: str, start: int) -> Any:
    """The longest literal that begins at a place of a text; None where there is none."""
    rest = text[start : start + _LONGEST].lstrip(" \t")
    if not rest or rest[0] not in "([{'\"-0123456789TF":
        return None
    ends = [found.end() for found in re.finditer(r"[\])}'\"]|\w(?!\w)", rest.partition("\n\n")[0])]
    for end in ends if rest[0] in "([{" else reversed(ends[:20]):
        try:
            return ast.literal_eval(rest[:end])
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
    return None


def _annotated(assignment: Assignment) -> list[Call]:
    """Values of the types that the signature names; nothing where it leaves one out."""
    function = _function(assignment)
    if function is None:
        return []
    kinds = [each.annotation for each in function.args.args]
    if not kinds or any(kind is None for kind in kinds):
        return []
    drawn = [[_sample(kind, turn) for kind in kinds if kind] for turn in range(3)]
    if any(None in values for values in drawn):
        return []
    return [Call(f"{assignment.entry_point}(", tuple(values)) for values in drawn]


def _sample(kind: ast.expr, turn: int) -> Any:
    """A value of an annotated type; None where it is no plain one."""
    match kind:
        case ast.Name(id=name) if name in _SAMPLES:
            return _SAMPLES[name][turn % len(_SAMPLES[name])]
        case ast.Name(id="list" | "List"):
            return [3, 1, 2][: turn + 1]
        case ast.Subscript(value=ast.Name(id="list" | "List"), slice=inner):
            items = [_sample(inner, each) for each in range(turn, turn + 4)]
            return None if None in items else items
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            return _sample(inner, turn)
        case ast.Subscript(value=ast.Name(id="tuple" | "Tuple"), slice=ast.Tuple(elts=inner)):
            parts = tuple(_sample(each, turn) for each in inner)
            return None if None in parts else parts
        case ast.Subscript(value=ast.Name(id="dict" | "Dict"), slice=ast.Tuple(elts=[key, inner])):
            keys, values = _sample(key, turn), _sample(inner, turn)
            return None if None in (keys, values) else {keys: values}
    return None
