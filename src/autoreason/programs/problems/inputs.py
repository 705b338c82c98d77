"""Inputs generated from a problem's examples, to compare programs where no right answer is known.

Calls and samples are varied within what the examples show: types, shapes, ranges, letters, order and lengths.
"""

from __future__ import annotations

import ast
import cmath
import re
import string
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple, TypeVar

from autoreason.programs.assignment import Assignment, Input
from autoreason.programs.problems.problem import find_function, parse_python

T = TypeVar("T")

_RULE_SHARE = 0.85
"""How often a rule that all examples follow is kept."""
_DRAWS_PER_INPUT = 10
"""Inputs drawn for each one wanted: many equal another one or an example."""
_MAX_LENGTH = 2000
"""Characters of a generated input, and of the example behind it; all are recorded for every program."""


def make_inputs(assignment: Assignment, seed: int, count: int = 40) -> tuple[Input, ...]:
    """Generate inputs like those of the public tests; none where there are no examples."""
    random = Random(f"{seed} {assignment.id}")
    drawn: Iterator[Input] = iter(())
    if assignment.kind == "function":
        calls = [call for call in find_calls(assignment) if len(str(call)) <= _MAX_LENGTH]
        known = {str(call) for call in calls}
        drawn = _vary_calls(calls, _find_constants(assignment), count, random)
    else:
        texts = (test.input for test in assignment.public)
        samples = [each for each in texts if each.strip() and len(each) <= _MAX_LENGTH]
        known = set(samples)
        if samples:
            form, turns = SampleForm(samples), range(_DRAWS_PER_INPUT * count)
            drawn = (form.vary(turn % len(samples), random) for turn in turns)
    inputs: dict[Input, None] = {}
    for each in drawn:
        if each not in known and len(each) <= _MAX_LENGTH:
            inputs[each] = None
        if len(inputs) == count:
            break
    # The small ones first: a program too slow for one of them is too slow for those that follow, too.
    return tuple(sorted(inputs, key=lambda each: (len(each), each)))


# Calls: where examples are found, and how several arguments are varied together.

_WRAPPERS = ("set", "frozenset", "sorted", "list", "tuple", "dict", "len", "str", "Counter")
"""Functions that tests apply to the result of a call before they compare it."""
_NUMBER = re.compile(r"(?<![\w.])\d{1,6}(?![\w.])")
_QUOTED = re.compile(r"(['\"`])([^'\"`\n]{1,30})\1")
_NOT_LITERAL = (ValueError, SyntaxError, TypeError, RecursionError, MemoryError)


class FunctionCall(NamedTuple):
    """A call with plain values as arguments, and the code around them."""

    before: str
    arguments: tuple[Any, ...]
    after: str = ")"

    def __str__(self) -> str:
        return f"{self.before}{', '.join(map(repr, self.arguments))}{self.after}"


def find_calls(assignment: Assignment) -> list[FunctionCall]:
    """Calls in the public tests; where there are none, those in the description."""
    calls: list[FunctionCall] = []
    for test in assignment.public:
        nodes = ast.walk(parse_python(test.code))
        parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
        for node in parents:
            match node:
                # The function itself, or a method of an instance of the class.
                case ast.Call(
                    func=ast.Name(id=name) | ast.Attribute(value=ast.Call(func=ast.Name(id=name)))
                ) if name == assignment.entry_point.partition(".")[0]:
                    calls += _read_call(node, parents)
    return calls or _calls_in_description(assignment)


def _read_call(node: ast.Call, parents: dict[ast.AST, ast.AST]) -> Iterator[FunctionCall]:
    """A call of plain values, with the functions that the test applies to its value."""
    try:
        values = tuple(map(ast.literal_eval, node.args))
    except _NOT_LITERAL:
        return
    if node.keywords or not all(map(_is_finite, values)):
        return
    before, after = f"{ast.unparse(node.func)}(", ")"
    inner: ast.AST = node
    while True:
        inner = parents.get(inner, inner)
        match inner:
            case ast.Call(func=ast.Name(id=name), args=[_], keywords=[]) if name in _WRAPPERS:
                before, after = f"{name}({before}", f"{after})"
                continue
            case ast.Call(
                func=ast.Name(id="isclose") | ast.Attribute(attr="isclose"),
                keywords=[ast.keyword(arg="rel_tol", value=ast.Constant(value=float(tolerance)))],
            ) if 0 < tolerance < 1:
                digits = len(f"{1 / tolerance:.0f}") - 1
                before, after = f"'%.{digits}g' % ({before}", f"{after})"
        yield FunctionCall(before, values, after)
        return


def _is_finite(value: Any) -> bool:
    if isinstance(value, float | complex):
        return cmath.isfinite(value)
    return isinstance(value, str | bytes) or all(map(_is_finite, _items(value)))


def _calls_in_description(assignment: Assignment) -> list[FunctionCall]:
    """Calls of anything with as many plain values, for descriptions rename functions; or values by parameter."""
    starter = assignment.starter.rstrip()
    trees = map(parse_python, (f"{starter}\n    pass\n", starter))
    functions = (find_function(tree, assignment.entry_point) for tree in trees)
    function = next(filter(None, functions), None)
    if function is None:
        return []
    names = [each.arg for each in function.args.args]
    text = ast.get_docstring(function) or assignment.statement
    shown: list[tuple[Any, ...]] = []
    for match in re.finditer(r"\w+\(", text):
        value = _literal_at(text, match.end() - 1)
        values = value if isinstance(value, tuple) else (value,)
        if value is not None and len(values) == len(names):
            shown.append(values)
    assigned: dict[str, Any] = {}
    for match in re.finditer(r"\b(\w+)\s*=(?!=)|\bInput:", text):
        name = match[1] or names[0] if len(names) == 1 else match[1]
        value = _literal_at(text, match.end())
        if name in names and value is not None:
            assigned[name] = value
        if names and len(assigned) == len(names):
            shown.append(tuple(assigned[name] for name in names))
            assigned = {}
    return [FunctionCall(f"{assignment.entry_point}(", values) for values in shown]


def _literal_at(text: str, start: int) -> Any:
    """The longest literal that begins at a place of a text; None where there is none."""
    rest = text[start : start + _MAX_LENGTH].lstrip(" \t")
    if not rest or rest[0] not in "([{'\"-0123456789TF":
        return None
    ends = [match.end() for match in re.finditer(r"[\])}'\"]|\w(?!\w)", rest.partition("\n\n")[0])]
    for end in ends if rest[0] in "([{" else reversed(ends[:20]):
        try:
            return ast.literal_eval(rest[:end])
        except _NOT_LITERAL:
            continue
    return None


def _find_constants(assignment: Assignment) -> list[Any]:
    tested = [
        node.value
        for test in assignment.public
        for node in ast.walk(parse_python(test.code))
        if isinstance(node, ast.Constant) and type(node.value) in (int, str)
    ]
    numbers = [int(each) for each in _NUMBER.findall(assignment.statement)]
    return [*tested, *numbers, *(text for _, text in _QUOTED.findall(assignment.statement))]


def _vary_calls(
    calls: Sequence[FunctionCall], constants: Sequence[Any], count: int, random: Random
) -> Iterator[Input]:
    """Edge cases of one argument at a time first, then random variations of some arguments."""
    calls = [call for call in calls if len(call.arguments) == len(calls[0].arguments)]
    if not calls or not calls[0].arguments:
        return
    places = range(len(calls[0].arguments))
    values = ExampleValues([call.arguments for call in calls], constants)
    ties = _find_ties([call.arguments for call in calls])

    def written(call: FunctionCall, arguments: list[Any], *, tied: bool = True) -> Input:
        for tie, one, other in ties if tied else ():
            value, leading = arguments[one], arguments[other]
            if tie == "equal":
                shorter = min(len(value), len(leading))
                arguments[one], arguments[other] = value[:shorter], leading[:shorter]
            else:
                lowest = len(leading) if tie == "length" else 0
                arguments[one] = max(lowest, min(value, len(leading)))
        return str(call._replace(arguments=tuple(arguments)))

    edges = [
        (call, [*call.arguments[:place], edge, *call.arguments[place + 1 :]])
        for call in calls
        for place in places
        for edge in values.edges((place,), call.arguments[place])
    ]
    random.shuffle(edges)
    yield from (written(call, arguments) for call, arguments in edges[: count // 3])
    for turn in range(_DRAWS_PER_INPUT * count):
        call = calls[turn % len(calls)]
        arguments = list(call.arguments)
        chosen = [place for place in places if random.random() < 0.6]
        for place in chosen or [random.choice(places)]:
            for _ in range(random.choice([1, 1, 1, 2])):
                arguments[place] = values.vary((place,), arguments[place], random)
        one, other = random.choices(places, k=2)
        first, second = arguments[one], arguments[other]
        if type(first) is type(second) and random.random() < 0.15:
            arguments[one], arguments[other] = second, random.choice([first, second])
        yield written(call, arguments, tied=random.random() < _RULE_SHARE)


def _find_ties(examples: Sequence[Sequence[Any]]) -> list[tuple[str, int, int]]:
    """Relations that hold in every example: one argument is the `length` of another, `within` it, or as long."""
    places = range(len(examples[0]))
    ties = []
    for one, other in ((one, other) for one in places for other in places if one != other):
        pairs = [(each[one], each[other]) for each in examples]
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
    return sorted(ties)


# Values: every collection, and every text, is varied as a sequence of items.

ValuePath = tuple[object, ...]
"""The place of a value: the argument's number, then one step per level inside it."""

_TRIES = 8
_FEW = 3
"""Letters of a class that examples must have before all of that class are used."""
_HUGE = 1e300
"""Integers may be larger; a float cannot represent those."""
_LETTER_CLASSES = (string.ascii_lowercase, string.ascii_uppercase, string.digits)
_TEXT_RULES: tuple[Callable[[str], bool], ...] = (
    *(str.isdigit, str.isalpha, str.islower, str.isupper),
    lambda text: text == text.strip(),
    lambda text: "  " not in text,
    lambda text: len(set(text)) == len(text),
)


class ExampleValues:
    """The values at each place of the examples, and similar values."""

    def __init__(self, examples: Iterable[Sequence[Any]], constants: Iterable[Any] = ()) -> None:
        self._constants = list(dict.fromkeys(constants))
        self._examples: defaultdict[ValuePath, list[Any]] = defaultdict(list)
        for arguments in examples:
            for number, value in enumerate(arguments):
                self._add_example((number,), value)

    def _add_example(self, place: ValuePath, value: Any) -> None:
        self._examples[place].append(value)
        if not isinstance(value, str | bytes):
            for step, each in enumerate(_items(value)):
                inside = "entry" if isinstance(value, dict) else "item"
                step_into = step if _is_record(place, value) else inside
                self._add_example((*place, step_into), each)

    def edges(self, place: ValuePath, value: Any) -> list[Any]:
        """Edge cases for a place: empty, one item, repeated, the smallest, the largest."""
        match value:
            case bool():
                return [not value]
            case int() | float():
                numbers = self._numbers(place)
                top = max(numbers)
                edges = (0, 1, 2, value + 1, value - 1, min(numbers), top, top + 1)
                varied = [type(value)(each) for each in edges if abs(each) <= _HUGE]
                return [each for each in varied if self._allows(place, each)]
            case list() | tuple() if self._is_fixed(place):
                return []
            case str() | list() | tuple():
                # Inside another value it is empty only if an example has it so.
                empty = [value[:0]] if len(place) == 1 or not all(self._examples[place]) else []
                one: Any = value[:1]
                return [*empty, one, one * 3, value[::-1], value[1:], value + one]
            case dict():
                return [{}, dict(_items(value)[:1])]
        return []

    def vary(self, place: ValuePath, value: Any, random: Random) -> Any:
        for _ in range(_TRIES):
            varied = self._vary(place, value, random)
            if self._allows(place, varied) or random.random() > _RULE_SHARE:
                return varied
        return value

    def _vary(self, place: ValuePath, value: Any, random: Random) -> Any:
        if isinstance(value, bool):
            return random.random() < 0.5
        if isinstance(value, int | float):
            return self._vary_number(place, value, random)
        if isinstance(value, str):
            return self._vary_text(place, value, random)
        if isinstance(value, tuple) and value and _is_record(place, value):
            at = random.randrange(len(value))
            return tuple(
                self.vary((*place, n), each, random) if n == at or random.random() < 0.3 else each
                for n, each in enumerate(value)
            )
        inside = (*place, "entry" if isinstance(value, dict) else "item")
        known, is_dict = self._examples[inside], isinstance(value, dict)
        if not isinstance(value, list | tuple | dict) or not known:
            return value
        fixed = not is_dict and self._is_fixed(place)
        varied = _reshape(
            _items(value), known, lambda each: self.vary(inside, each, random), random, fixed=fixed
        )
        return dict(varied) if is_dict else type(value)(self._in_order(place, varied, random))

    def _numbers(self, place: ValuePath) -> list[Any]:
        """The numbers at a place; a varied value may have come from another place."""
        numbers = [each for each in self._examples[place] if isinstance(each, int | float)]
        return [each for each in numbers if abs(each) <= _HUGE] or [0]

    def _vary_number(self, place: ValuePath, value: float, random: Random) -> float:
        numbers = self._numbers(place)
        low, high = min(numbers), max(numbers)
        mentioned = [each for each in self._constants if type(each) is int] or numbers
        ranges = ((min(0, low), max(3, high)), (low - 3, low + 10), (high, 10 * max(10, 2 * high)))
        drawn = random.choice(
            [
                value + random.choice([-2, -1, 1, 2]),
                random.choice(numbers),
                random.choice(mentioned) + random.choice([-1, 0, 0, 1]),
                *(value * 2, value // 2, -value),
                random.choice([0, 1, 2, 3]),
                *(random.randint(int(one), int(other)) for one, other in ranges),
            ]
        )
        if isinstance(value, int):
            return int(drawn)
        drawn = float(drawn) + random.choice([0, 0, 0.5, random.random()])
        return round(drawn, random.choice([0, 1, 2, 3])) if cmath.isfinite(drawn) else value

    def _vary_text(self, place: ValuePath, value: str, random: Random) -> str:
        others = [each for each in self._examples[place] if isinstance(each, str)] or [value]
        mentioned = [each for each in self._constants if isinstance(each, str)] or others
        if random.random() < 0.3:
            return random.choice([random.choice(mentioned), random.choice(others) + value])
        letters = set("".join(others)) | {each for each in mentioned if len(each) == 1}
        for each in _LETTER_CLASSES:
            if len(letters & set(each)) >= _FEW:
                letters |= set(each)
        known, gap = sorted(letters) or ["a"], ""
        if " " in value and random.random() < 0.4:
            known, gap = [word for each in others for word in each.split(" ")], " "
        for _ in range(random.choice([1, 1, 2])):
            items = value.split(" ") if gap else list(value)
            value = gap.join(_reshape(items, known, lambda _: random.choice(known), random))
        return value

    def _in_order(self, place: ValuePath, items: list[Any], random: Random) -> list[Any]:
        examples = [each for each in self._examples[place] if isinstance(each, list | tuple)]
        if not examples or max(map(len, examples)) < _FEW or random.random() > _RULE_SHARE:
            return items
        try:
            for backwards in (False, True):
                ordered = [each[::-1] if backwards else each for each in examples]
                if all(one <= other for each in ordered for one, other in pairwise(each)):
                    return sorted(items, reverse=backwards)
        except TypeError:
            pass
        return items

    def _is_fixed(self, place: ValuePath) -> bool:
        """Whether the value here is a record or, inside another value, always of one length."""
        examples = [each for each in self._examples[place] if isinstance(each, list | tuple)]
        if any(_is_record(place, each) for each in examples):
            return True
        return len(place) > 1 and len(examples) > 1 and len(set(map(len, examples))) == 1

    def _allows(self, place: ValuePath, value: Any) -> bool:
        if isinstance(value, str):
            texts = [each for each in self._examples[place] if isinstance(each, str) and each]
            return not value or all(rule(value) for rule in _TEXT_RULES if all(map(rule, texts)))
        if isinstance(value, int | float) and not isinstance(value, bool):
            numbers = self._numbers(place)
            bits = len(numbers) >= _FEW and all(each in (0, 1) for each in numbers)
            return (value >= 0 or min(numbers) < 0) and (not bits or value <= max(numbers))
        return True


def _items(value: Any) -> list[Any]:
    """What a list, a tuple or a dictionary consists of; nothing for other values."""
    if isinstance(value, dict):
        return list(value.items())
    return list(value) if isinstance(value, list | tuple) else []


def _is_record(place: ValuePath, value: Any) -> bool:
    """Whether it is a tuple of values that mean different things."""
    mixed = isinstance(value, tuple) and len({type(each) for each in value}) > 1
    return mixed or place[-1] == "entry"


def _reshape(
    items: list[T],
    known: Sequence[T],
    varied: Callable[[T], T],
    random: Random,
    *,
    fixed: bool = False,
) -> list[T]:
    """The items with some changed, moved or, unless their number is fixed, added, repeated and left out."""

    def other() -> T:
        return varied(random.choice(items or known))

    at = random.randrange(len(items) + 1)
    before, after = items[:at], items[at:]
    changes: list[Callable[[], list[T]]] = [
        *[lambda: [*before, other(), *after[1:]] if after else items] * 2,
        lambda: list(map(varied, items)),
        lambda: random.sample(items, len(items)),
    ]
    if not fixed:
        changes += [
            lambda: [*before, other(), *after],
            lambda: [*before, *after[1:]],
            lambda: before,
            lambda: after,
            lambda: [*before, *items[at - 1 :]] if items else [other()],
            lambda: [other() for _ in range(random.randint(1, len(items) + 2))],
            lambda: items[::-1],
            lambda: [*items, *items[::-1]],
            lambda: [*items, *random.choices(known, k=2)],
        ]
    return random.choice(changes)()


# Samples: lines of tokens, in which some numbers announce a length.

_INTEGER = re.compile(r"-?\d{1,18}")
_FRACTION = re.compile(r"-?\d+\.\d+")
_HEAD_LINES = 3
"""Lines at the beginning whose numbers may refer to any later line."""
_MAX_DISTANCE = 20

TokenLines = list[list[str]]


class Count(NamedTuple):
    """A number that is the length of something in every sample."""

    line: int
    place: int
    what: str
    """`lines` that follow, `tokens` of a line, or `letters` of the one token in it."""
    target: int = 0
    """The line it counts; 0: every line that follows."""
    less: int = 0
    """By how much the counted length is smaller, as a tree has one edge less than nodes."""

    def counted(self, lines: TokenLines) -> TokenLines:
        return lines[self.target : self.target + 1] if self.target else lines[self.line + 1 :]

    def holds(self, lines: TokenLines) -> bool:
        if self.line >= len(lines) or self.place >= len(lines[self.line]):
            return False
        token, counted = lines[self.line][self.place], self.counted(lines)
        if not _INTEGER.fullmatch(token) or not counted:
            return False
        size = int(token) - self.less
        match self.what:
            case "lines":
                return len(counted) == size
            case "tokens":
                return all(len(line) == size for line in counted)
        return all(len(line) == 1 and len(line[0]) == size for line in counted)


class SampleForm:
    """The common form of all samples, and other inputs of that form; numbers that announce a length stay correct."""

    def __init__(self, samples: Sequence[str]) -> None:
        self._samples: list[TokenLines] = [
            [line.split() for line in sample.strip("\n").split("\n")] for sample in samples
        ]
        self._case_lines = self._lines_per_case()
        if self._case_lines:
            cases = (case for lines in self._samples for case in self._split_cases(lines))
            self._case = SampleForm(["\n".join(map(" ".join, case)) for case in cases])
        self._counts = self._find_counts()
        self._counted = {(count.line, count.place) for count in self._counts}
        self._bounded = all(
            max((each for row in sample[1:] for each in _integers(row)), default=0)
            <= max(_integers(sample[0]), default=-1)
            for sample in self._samples
        )
        """Whether no later number is larger than every number of the first line."""

    def vary(self, number: int, random: Random) -> str:
        lines = self._vary([list(line) for line in self._samples[number]], random)
        return "\n".join(map(" ".join, lines)) + "\n"

    def _vary(self, lines: TokenLines, random: Random) -> TokenLines:
        if self._case_lines:
            cases = self._split_cases(lines)

            def varied(case: TokenLines) -> TokenLines:
                return self._case._vary([list(line) for line in case], random)

            cases = _reshape(cases, cases, varied, random) or cases[:1]
            return [[str(len(cases))], *(line for case in cases for line in case)]
        changes = [self._change_tokens, self._change_tokens, self._reorder]
        changes += [self._resize] * (2 if self._counts else 0)
        for _ in range(random.choice([1, 1, 2, 3])):
            random.choice(changes)(lines, random)
        return lines

    def _lines_per_case(self) -> int:
        """The lines of each case, where the first line is only the number of cases; 0 where it is not."""
        sizes = set()
        for lines in self._samples:
            first = lines[0]
            cases = int(first[0]) if len(first) == 1 and _INTEGER.fullmatch(first[0]) else 0
            if cases < 1 or (len(lines) - 1) % cases:
                return 0
            sizes.add((len(lines) - 1) // cases)
        # One line after a 1 is more likely what the 1 counts.
        several = any(lines[0] != ["1"] for lines in self._samples)
        return sizes.pop() if len(sizes) == 1 and several else 0

    def _split_cases(self, lines: TokenLines) -> list[TokenLines]:
        return [lines[at : at + self._case_lines] for at in range(1, len(lines), self._case_lines)]

    def _find_counts(self) -> list[Count]:
        first = self._samples[0]
        counts = []
        for line, tokens in enumerate(first):
            # At the beginning a number may count all later lines or one of them, further on the next one.
            head = line < _HEAD_LINES
            last = min(len(first), _MAX_DISTANCE if head else line + 2)
            targets = [*([0] if head else []), *range(line + 1, last)]
            counts += [
                Count(line, place, what, target, less)
                for place in range(len(tokens) if not line else len(tokens) == 1)
                for what in ("lines", "tokens", "letters")
                for target in (targets if what != "lines" else (0,))
                for less in (0, 1)
            ]
        counts = [each for each in counts if all(map(each.holds, self._samples))]
        # An exact count is not also a count of something else less one.
        exact = {each[:2] for each in counts if not each.less}
        return [each for each in counts if not each.less or each[:2] not in exact]

    def _resize(self, lines: TokenLines, random: Random) -> None:
        true = [count for count in self._counts if count.holds(lines)]
        if not true:
            return
        chosen = random.choice(true)
        size = int(lines[chosen.line][chosen.place]) + random.choice([-3, -2, -1, -1, 1, 1, 2])
        size = max(1 + chosen.less, size)
        for count in (each for each in self._counts if each[:2] == chosen[:2]):
            length = size - count.less
            if count.what == "lines":
                rest = _resize_items(lines[count.line + 1 :], length, random)
                lines[count.line + 1 :] = [list(line) for line in rest]
                continue
            for counted in count.counted(lines):
                if count.what == "tokens":
                    counted[:] = _resize_items(counted, length, random)
                else:
                    counted[0] = "".join(_resize_items(list(counted[0]), length, random))
        lines[chosen.line][chosen.place] = str(size)

    def _change_tokens(self, lines: TokenLines, random: Random) -> None:
        places = [
            (line, place)
            for line, tokens in enumerate(lines)
            for place in range(len(tokens))
            if (line, place) not in self._counted
        ]
        for line, place in random.sample(places, min(len(places), random.choice([1, 1, 2, 4]))):
            lines[line][place] = self._other(lines, line, place, random)

    def _other(self, lines: TokenLines, line: int, place: int, random: Random) -> str:
        """Another token for a place, like those of the samples there or in the same line."""
        token = lines[line][place]
        rows = [each[min(line, len(each) - 1)] for each in self._samples]
        seen = [each for tokens in rows for each in tokens]
        if len(set(map(len, rows))) == 1 and len(rows) > 1 and place < len(rows[0]) <= 4:
            seen = [tokens[place] for tokens in rows]
        if _INTEGER.fullmatch(token):
            # Of a sign seen in samples, and bounded by the first line if all samples are.
            numbers = _integers(seen)
            low = 1 if min(numbers, default=0) >= 1 else min(0, *numbers, 0)
            high = max([10, *(2 * each for each in numbers)])
            if line and self._bounded:
                high = max(_integers(lines[0]), default=high)
            high = max(low, high)
            drawn = [int(token) + random.choice([-1, 1]), low, high, random.randint(low, high)]
            drawn.append(random.randint(low, min(high, low + 5)))
            return str(max(low, min(random.choice(drawn), high)))
        if _FRACTION.fullmatch(token):
            digits = len(token.partition(".")[2])
            return f"{float(token) * random.choice([0.5, 2, 1.5, 0.9]):.{digits}f}"
        letters = sorted(set("".join(e for e in seen if not _INTEGER.fullmatch(e)) or token))
        at = random.randrange(len(token))
        changed = token[:at] + random.choice(letters) + token[at + 1 :]
        one_length = len(set(map(len, seen))) == 1 and len(seen) > 1
        counted = any(count.what == "letters" for count in self._counts)
        if one_length or counted or random.random() < 0.4:
            return changed
        return random.choice([token[:at] + token[at + 1 :] or token, changed * 2, *seen[:2]])

    def _reorder(self, lines: TokenLines, random: Random) -> None:
        counted = {line for line, _ in self._counted}
        free = [line for at, line in enumerate(lines) if at not in counted and len(line) > 2]
        if not free:
            return
        line = random.choice(free)
        line[:] = random.choice(
            [
                sorted(line, key=lambda token: (len(token), token)),
                line[::-1],
                [line[0]] * len(line),
                random.sample(line, len(line)),
            ]
        )


def _integers(tokens: Iterable[str]) -> list[int]:
    return [int(each) for each in tokens if _INTEGER.fullmatch(each)]


def _resize_items(items: list[T], size: int, random: Random) -> list[T]:
    indices = sorted(random.sample(range(len(items)), min(size, len(items))))
    extra = random.choices(items, k=size - len(indices)) if items else []
    return [*(items[at] for at in indices), *extra]
