"""Inputs generated from a problem's examples, to compare programs where no right answer is known."""

from __future__ import annotations

import ast
import cmath
import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from autoreason.programs.assignment import Assignment, Input
from autoreason.programs.problems.problem import find_function, parse_python
from autoreason.programs.problems.variation import Samples, ValueKinds

_KEEP_TIES_SHARE = 0.85
"""How often a relation between the arguments of all examples is kept."""
_SWAP_SHARE = 0.15
"""How often two arguments are swapped or made equal."""
_DRAWS_PER_INPUT = 10
"""Inputs drawn for each one wanted: many equal another one or an example."""
_MAX_LENGTH = 2000
"""Characters of a generated input, and of the example behind it; all are recorded for every program."""
_WRAPPERS = frozenset(
    {"set", "frozenset", "sorted", "list", "tuple", "dict", "len", "str", "Counter"}
)
"""Functions that tests apply to the result of a call before they compare it."""
_NUMBER = re.compile(r"(?<![\w.])\d{1,6}(?![\w.])")
_QUOTED = re.compile(r"(['\"`])([^'\"`\n]{1,30})\1")


def make_inputs(assignment: Assignment, seed: int, count: int = 40) -> tuple[Input, ...]:
    """Generate inputs like those of the public tests; none where there are no examples."""
    random = Random(f"{seed} {assignment.id}")
    drawn: Iterator[Input] = iter(())
    if assignment.kind == "function":
        calls = [call for call in find_calls(assignment) if len(str(call)) <= _MAX_LENGTH]
        known = {str(call) for call in calls}
        drawn = _vary_calls(calls, find_constants(assignment), count, random)
    else:
        texts = (test.input for test in assignment.public)
        samples = [each for each in texts if each.strip() and len(each) <= _MAX_LENGTH]
        known = set(samples)
        if samples:
            form, turns = Samples(samples), range(_DRAWS_PER_INPUT * count)
            drawn = (form.vary(turn % len(samples), random) for turn in turns)
    inputs: dict[Input, None] = {}
    for each in drawn:
        if each not in known and len(each) <= _MAX_LENGTH:
            inputs[each] = None
        if len(inputs) == count:
            break
    # The small ones first: a program too slow for one of them is too slow for those that follow, too.
    return tuple(sorted(inputs, key=lambda each: (len(each), each)))


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

    def with_argument(self, place: int, value: Any) -> FunctionCall:
        """The same call with another value at one place."""
        changed = (*self.arguments[:place], value, *self.arguments[place + 1 :])
        return self._replace(arguments=changed)


def _vary_calls(
    calls: Sequence[FunctionCall], constants: Sequence[Any], count: int, random: Random
) -> Iterator[Input]:
    """Edge cases of one argument at a time first, then random variations of some arguments."""
    calls = [call for call in calls if len(call.arguments) == len(calls[0].arguments)]
    if not calls or not calls[0].arguments:
        return
    places = range(len(calls[0].arguments))
    kinds = ValueKinds([call.arguments for call in calls], constants)
    ties = _find_ties(calls)
    edges = [
        call.with_argument(place, edge)
        for call in calls
        for place in places
        for edge in kinds.edges((place,), call.arguments[place])
    ]
    random.shuffle(edges)
    for call in edges[: count // 3]:
        yield str(_restore_ties(call, ties))
    for turn in range(_DRAWS_PER_INPUT * count):
        call = calls[turn % len(calls)]
        chosen = [place for place in places if random.random() < 0.6]
        for place in chosen or [random.choice(places)]:
            value = call.arguments[place]
            for _ in range(random.choice([1, 1, 1, 2])):
                value = kinds.vary((place,), value, random)
            call = call.with_argument(place, value)
        one, other = random.choices(places, k=2)
        first, second = call.arguments[one], call.arguments[other]
        if type(first) is type(second) and random.random() < _SWAP_SHARE:
            call = call.with_argument(one, second)
            call = call.with_argument(other, random.choice([first, second]))
        if random.random() < _KEEP_TIES_SHARE:
            call = _restore_ties(call, ties)
        yield str(call)


Tie = tuple[str, int, int]
"""A relation of two arguments: `length`, `within` or `equal`, the dependent one, and the one it depends on."""


def _find_ties(calls: Sequence[FunctionCall]) -> list[Tie]:
    """Relations between the arguments of every example that are unlikely to be chance."""
    places = range(len(calls[0].arguments))
    ties: list[Tie] = []
    for one, other in ((one, other) for one in places for other in places if one != other):
        pairs = [(call.arguments[one], call.arguments[other]) for call in calls]
        if not all(isinstance(second, str | list | tuple) for _, second in pairs):
            continue
        if all(type(first) is int for first, _ in pairs):
            if all(first == len(second) for first, second in pairs):
                ties.append(("length", one, other))
            elif all(0 <= first <= len(second) for first, second in pairs):
                ties.append(("within", one, other))
        elif one > other and all(
            type(first) is type(second) and len(first) == len(second) for first, second in pairs
        ):
            ties.append(("equal", one, other))
    return ties


def _restore_ties(call: FunctionCall, ties: Sequence[Tie]) -> FunctionCall:
    """The call with the relations of its arguments restored."""
    for tie, one, other in sorted(ties):
        value, leading = call.arguments[one], call.arguments[other]
        if tie == "equal":
            shorter = min(len(value), len(leading))
            call = call.with_argument(one, value[:shorter])
            call = call.with_argument(other, leading[:shorter])
        elif tie == "length":
            call = call.with_argument(one, len(leading))
        else:
            call = call.with_argument(one, max(0, min(value, len(leading))))
    return call


def find_calls(assignment: Assignment) -> list[FunctionCall]:
    """Calls in the public tests; where there are none, those in the description."""
    tests = [test.code for test in assignment.public]
    calls = [call for code in tests for call in _calls_in_tests(code, assignment.entry_point)]
    return calls or _calls_in_description(assignment)


def find_constants(assignment: Assignment) -> list[Any]:
    """Numbers and texts that the tests and the description mention."""
    tested = [
        node.value
        for test in assignment.public
        for node in ast.walk(parse_python(test.code))
        if isinstance(node, ast.Constant) and type(node.value) in (int, str)
    ]
    numbers = [int(each) for each in _NUMBER.findall(assignment.statement)]
    return [*tested, *numbers, *(text for _, text in _QUOTED.findall(assignment.statement))]


def _calls_in_tests(code: str, entry_point: str) -> Iterator[FunctionCall]:
    nodes = ast.walk(parse_python(code))
    parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
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
    names = [keyword.arg for keyword in node.keywords]
    arguments = (*node.args, *(keyword.value for keyword in node.keywords))
    try:
        values = tuple(map(ast.literal_eval, arguments))
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return None
    if None in names or not all(map(_is_finite, values)):
        return None
    return FunctionCall(f"{ast.unparse(node.func)}(", values, tuple(filter(None, names)))


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
    starter = assignment.starter.rstrip()
    trees = map(parse_python, (f"{starter}\n    pass\n", starter))
    functions = (find_function(tree, assignment.entry_point) for tree in trees)
    function = next(filter(None, functions), None)
    if function is None:
        return []
    names = [each.arg for each in function.args.args]
    text = ast.get_docstring(function) or assignment.statement
    shown = [*_called_in(text, names), *_assigned_in(text, names)]
    return [FunctionCall(f"{assignment.entry_point}(", values) for values in shown]


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
