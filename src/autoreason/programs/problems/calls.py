"""Calls of a function that its tests and its description show."""

from __future__ import annotations

import ast
import cmath
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from autoreason.programs.assignment import Assignment
from autoreason.programs.problems.set_sources import parse_python

_WRAPPERS = frozenset(
    {"set", "frozenset", "sorted", "list", "tuple", "dict", "len", "str", "Counter"}
)
"""Functions that tests apply to the result of a call before they compare it."""
_MAX_LENGTH = 2000
"""Characters in which the end of a call or a literal is searched."""
_NUMBER = re.compile(r"(?<![\w.])\d{1,6}(?![\w.])")
_QUOTED = re.compile(r"(['\"`])([^'\"`\n]{1,30})\1")
_SAMPLES: dict[str, tuple[Any, ...]] = {
    "int": (3, 10, 7, 1, 24),
    "float": (1.5, 3.0, 0.25),
    "str": ("abc", "Hello world", "racecar", "aabbc"),
    "bool": (True, False),
}


class FunctionCall(NamedTuple):
    """A call with plain values as arguments, and the code around them."""

    before: str
    """Up to and with the opening bracket: `set(f(`."""
    arguments: tuple[Any, ...]
    names: tuple[str, ...] = ()
    """Names of the last arguments, where they are keyword arguments."""
    after: str = ")"

    def __str__(self) -> str:
        unnamed = len(self.arguments) - len(self.names)
        names = ("",) * unnamed + tuple(f"{name}=" for name in self.names)
        values = (f"{name}{each!r}" for name, each in zip(names, self.arguments, strict=True))
        return f"{self.before}{', '.join(values)}{self.after}"


def find_calls(assignment: Assignment) -> list[FunctionCall]:
    """Calls in the public tests; where there are none, those in the description or by its types."""
    tests = [test.code for test in assignment.public]
    calls = [call for code in tests for call in _calls_in_tests(code, assignment.entry_point)]
    return calls or _calls_in_description(assignment) or _calls_from_annotations(assignment)


def find_constants(assignment: Assignment) -> list[Any]:
    """Numbers and texts that the tests and the description mention."""
    trees = [parse_python(test.code) for test in assignment.public]
    tested = [
        node.value
        for tree in trees
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Constant) and type(node.value) in (int, str)
    ]
    numbers = [int(each) for each in _NUMBER.findall(assignment.statement)]
    return [*tested, *numbers, *(text for _, text in _QUOTED.findall(assignment.statement))]


def _calls_in_tests(code: str, entry_point: str) -> Iterator[FunctionCall]:
    tree = parse_python(code)
    parents = {
        child: node
        for node in (ast.walk(tree) if tree else ())
        for child in ast.iter_child_nodes(node)
    }
    for node in parents:
        if isinstance(node, ast.Call) and _is_call_of(node.func, entry_point):
            call = _read_call(node)
            if call is not None:
                yield _with_wrappers(call, node, parents)


def _is_call_of(function: ast.expr, entry_point: str) -> bool:
    """Whether it is the function itself, or a method of an instance of the class."""
    match function:
        case ast.Name(id=name):
            return name == entry_point
        case ast.Attribute(value=ast.Call(func=ast.Name(id=name))):
            return name == entry_point.partition(".")[0]
    return False


def _read_call(node: ast.Call) -> FunctionCall | None:
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
    return FunctionCall(f"{ast.unparse(node.func)}(", tuple(values), names)


def _is_finite(value: Any) -> bool:
    """Whether all numbers in a value are finite: others have no literal."""
    match value:
        case float() | complex():
            return cmath.isfinite(value)
        case dict():
            return all(_is_finite(each) for entry in value.items() for each in entry)
        case list() | tuple() | set() | frozenset():
            return all(map(_is_finite, value))
    return True


def _with_wrappers(
    call: FunctionCall, node: ast.AST, parents: dict[ast.AST, ast.AST]
) -> FunctionCall:
    """The call with the functions that the test applies to its value."""
    match parents.get(node):
        case ast.Call(func=ast.Name(id=name), args=[_], keywords=[]) as wrapper if (
            name in _WRAPPERS
        ):
            outer = call._replace(before=f"{name}({call.before}", after=f"{call.after})")
            return _with_wrappers(outer, wrapper, parents)
        case ast.Call(
            func=ast.Name(id="isclose") | ast.Attribute(attr="isclose"),
            keywords=[ast.keyword(arg="rel_tol", value=ast.Constant(value=float(tolerance)))],
        ) if 0 < tolerance < 1:
            digits = len(f"{1 / tolerance:.0f}") - 1
            return call._replace(before=f"'%.{digits}g' % ({call.before}", after=f"{call.after})")
    return call


def _calls_in_description(assignment: Assignment) -> list[FunctionCall]:
    """Calls in the description, or values assigned to the parameters one by one."""
    function = _function(assignment)
    if function is None:
        return []
    names = [each.arg for each in function.args.args]
    text = ast.get_docstring(function) or assignment.statement
    before = f"{assignment.entry_point}("
    shown = [*_called_in(text, names), *_assigned_in(text, names)]
    return [FunctionCall(before, values) for values in shown]


def _function(assignment: Assignment) -> ast.FunctionDef | None:
    """The function as its starter declares it."""
    tree = parse_python(f"{assignment.starter.rstrip()}\n    pass\n") or parse_python(
        assignment.starter
    )
    functions = (node for node in (tree.body if tree else ()) if isinstance(node, ast.FunctionDef))
    return next((node for node in functions if node.name == assignment.entry_point), None)


def _called_in(text: str, names: list[str]) -> Iterator[tuple[Any, ...]]:
    """Arguments of any call with as many plain values; descriptions rename functions."""
    for match in re.finditer(r"\w+\(", text):
        value = _literal_at(text, match.end() - 1)
        values = value if isinstance(value, tuple) else (value,)
        if value is not None and len(values) == len(names):
            yield values


def _assigned_in(text: str, names: list[str]) -> Iterator[tuple[Any, ...]]:
    """Sets of values after `name =`, or after `Input:` where there is one parameter."""
    marks = "|".join(rf"\b{re.escape(name)}\s*=(?!=)" for name in names)
    if len(names) == 1:
        marks += r"|\bInput:"
    values: dict[str, Any] = {}
    for match in re.finditer(marks, text) if marks else ():
        name = names[0] if len(names) == 1 else match[0].rstrip("= \t\n")
        value = _literal_at(text, match.end())
        if value is not None:
            values[name] = value
        if len(values) == len(names):
            yield tuple(values[name] for name in names)
            values = {}


def _literal_at(text: str, start: int) -> Any:
    """The longest literal that begins at a place of a text; None where there is none."""
    rest = text[start : start + _MAX_LENGTH].lstrip(" \t")
    if not rest or rest[0] not in "([{'\"-0123456789TF":
        return None
    ends = [match.end() for match in re.finditer(r"[\])}'\"]|\w(?!\w)", rest.partition("\n\n")[0])]
    for end in ends if rest[0] in "([{" else reversed(ends[:20]):
        try:
            return ast.literal_eval(rest[:end])
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
    return None


def _calls_from_annotations(assignment: Assignment) -> list[FunctionCall]:
    """Calls with values of the annotated types; none where an annotation is missing."""
    function = _function(assignment)
    if function is None:
        return []
    kinds = [each.annotation for each in function.args.args]
    if not kinds or any(kind is None for kind in kinds):
        return []
    drawn = [[_sample(kind, turn) for kind in kinds if kind] for turn in range(3)]
    if any(None in values for values in drawn):
        return []
    return [FunctionCall(f"{assignment.entry_point}(", tuple(values)) for values in drawn]


def _sample(kind: ast.expr, turn: int) -> Any:
    """A value of an annotated type; None where that is not a plain type."""
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
