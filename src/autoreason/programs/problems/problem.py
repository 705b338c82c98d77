"""Problems with what only the examiner may see, how answers are compared, and sets of problems."""

from __future__ import annotations

import ast
import hashlib
import math
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.programs.assignment import Assignment, Example, ProblemStatement, difficulty_order
from autoreason.programs.sandbox.test_driver import number_text

Checker = Literal["tokens", "exact", "float", "special"]
"""How answers are compared; `special`: several are right, and a comparison cannot decide."""

TOLERANCE = 1e-6
"""The default for problems that compare numbers."""

_ANSWERS = frozenset(b"yes no true false possible impossible ok none never".split())
# Possessive throughout: what a program prints must not make matching slow.
_INTEGER = re.compile(rb"[+-]?\d++")
_WHOLE = re.compile(rb"([+-]?\d++)(?:\.0*+)?")
_NUMBER = re.compile(rb"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d{1,4})?")
_ROUNDING = 4 * sys.float_info.epsilon
"""An upper bound of the rounding error of two doubles, their difference and the tolerance."""
_MAX_SHOWN = 40


class Comparison(Struct, frozen=True, kw_only=True):
    """How the answers of one problem are compared."""

    checker: Checker = "tokens"
    tolerance: float = TOLERANCE
    """Absolute or relative; for `float` only."""
    ignore_case: bool = False


class Difference(Struct, frozen=True, kw_only=True):
    """The first difference of an answer from the one expected."""

    message: str
    """In words: `line 3, token 2: expected 17, got 18`."""
    expected_at: int
    """Where it begins in the text expected, in characters from 0."""
    got_at: int


def compare(expected: str, got: str, how: Comparison) -> Difference | None:
    """The first significant difference; None where the answer is right."""
    if expected == got:
        return None
    if how.checker == "exact":
        return _compare_exactly(expected, got)
    # Bytes split at ASCII white space, as judges do; text would also split at that of Unicode.
    expected_text, got_text = _bytes(expected), _bytes(got)
    wanted, tokens = expected_text.split(), got_text.split()
    if wanted == tokens:
        return None
    common = min(len(wanted), len(tokens))
    pairs = enumerate(zip(wanted, tokens, strict=False))
    place = next((n for n, pair in pairs if pair[0] != pair[1] and not _match(*pair, how)), common)
    at = _start_of(got_text, place)
    if place < common:
        line_start = got_text.rfind(b"\n", 0, at) + 1
        line = got_text.count(b"\n", 0, at) + 1
        token = len(got_text[line_start:at].split()) + 1
        difference = _describe(_text(wanted[place]), _text(tokens[place]))
        message = f"line {line}, token {token}: {difference}"
    elif len(wanted) == len(tokens):
        return None
    else:
        missing = len(wanted) > len(tokens)
        first = _shorten(_text((wanted if missing else tokens)[common]), 0)
        what = "missing" if missing else "superfluous"
        expects = f"expected {len(wanted)} {'token' if len(wanted) == 1 else 'tokens'}"
        message = f"{expects}, got {len(tokens)}; the first that is {what}: {first}"
    return Difference(
        message=message,
        expected_at=len(_text(expected_text[: _start_of(expected_text, place)])),
        got_at=len(_text(got_text[:at])),
    )


def canonical(answer: str, how: Comparison) -> str:
    """An answer as text that is the same for equal answers, except for numbers at the edge of the tolerance."""
    if how.checker == "exact":
        return answer.rstrip("\r\n")
    return " ".join(_canonical(token, how) for token in _bytes(answer).split())


def _canonical(token: bytes, how: Comparison) -> str:
    if how.ignore_case or (how.checker == "float" and token.lower() in _ANSWERS):
        return _text(token).casefold()
    if how.checker == "float" and _NUMBER.fullmatch(token) and not _INTEGER.fullmatch(token):
        digits = max(1, math.floor(-math.log10(how.tolerance or TOLERANCE)))
        return number_text(float(token), digits)
    return _text(token)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _match(expected: bytes, got: bytes, how: Comparison) -> bool:
    if how.ignore_case and _text(expected).casefold() == _text(got).casefold():
        return True
    if how.checker != "float":
        return False
    if expected.lower() in _ANSWERS:
        return expected.lower() == got.lower()
    if _INTEGER.fullmatch(expected) and (whole := _WHOLE.fullmatch(got)):
        # Digit by digit: integers of any length, none of them rounded to a double.
        return _digits(expected) == _digits(whole[1])
    if not (_NUMBER.fullmatch(expected) and _NUMBER.fullmatch(got)):
        return False
    right = float(expected)
    return abs(right - float(got)) <= (how.tolerance + _ROUNDING) * max(1.0, abs(right))


def _digits(number: bytes) -> tuple[bool, bytes]:
    significant = number.lstrip(b"+-").lstrip(b"0")
    return number.startswith(b"-") and significant != b"", significant


def _start_of(text: bytes, token: int) -> int:
    """Where a token begins, counted from 0; the end of the text where it has no such token."""
    parts = text.split(None, token)
    return len(text) - len(parts[token]) if len(parts) > token else len(text)


def _compare_exactly(expected: str, got: str) -> Difference | None:
    expected, got = expected.rstrip("\r\n"), got.rstrip("\r\n")
    if expected == got:
        return None
    at = _first_difference(expected, got)
    start = got.rfind("\n", 0, at) + 1
    lines = [repr(text[start:].partition("\n")[0]) for text in (expected, got)]
    # Lines that are equal differ after their end: one of the two texts ends with it.
    ended = "expected an end" if len(expected) < len(got) else "expected more lines"
    difference = ended if lines[0] == lines[1] else _describe(*lines)
    message = f"line {got.count(chr(10), 0, at) + 1}: {difference}"
    return Difference(message=message, expected_at=at, got_at=at)


def _first_difference(one: str, other: str) -> int:
    """The first position of a difference, by halving: comparing long texts is faster than a loop."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _describe(expected: str, got: str) -> str:
    """Both texts; long ones only around the character where they differ."""
    at = _first_difference(expected, got)
    long = max(len(expected), len(got)) > _MAX_SHOWN
    where = f" (they differ at character {at + 1})" if long else ""
    return f"expected {_shorten(expected, at)}, got {_shorten(got, at)}{where}"


def _shorten(text: str, at: int) -> str:
    if len(text) <= _MAX_SHOWN:
        return text
    start = max(0, min(at - _MAX_SHOWN // 2, len(text) - _MAX_SHOWN))
    end = start + _MAX_SHOWN
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


MAX_SECONDS = 60
MEMORY_RANGE_MB = (16, 4096)
MAX_ID_LENGTH = 200

NO_CHECKER = "several answers are right; give a `checker_program` that tells which"
"""Why a problem cannot be examined fairly."""


class Problem(ProblemStatement, frozen=True, kw_only=True, omit_defaults=True):
    """The statement of a problem, its tests, and how an answer is compared."""

    setup: str = ""
    """Statements before each test of a function: imports, definitions the tests use."""
    time_limit_s: Annotated[float, Meta(gt=0, le=MAX_SECONDS)] = 10.0
    memory_limit_mb: Annotated[int, Meta(ge=MEMORY_RANGE_MB[0], le=MEMORY_RANGE_MB[1])] = 512
    public_tests: tuple[Example, ...] = ()
    private_tests: tuple[Example, ...] = ()
    checker: Checker = "tokens"
    checker_program: str = ""
    """Python that defines `check(input, output, expected)`: True, False, or a sentence that explains why not."""
    tolerance: Annotated[float, Meta(ge=0, le=1)] | None = None
    """For `float`; None: what the statement says, or 1e-6."""
    ignore_case: bool = False
    """Tokens match in any case; for `tokens` and `float`."""
    solution: str = ""
    """A program known to be right."""
    tags: tuple[str, ...] = ()
    source: str = ""

    @property
    def tests(self) -> tuple[Example, ...]:
        return self.public_tests + self.private_tests


def to_assignment(problem: Problem) -> Assignment:
    unfair = problem.checker == "special" and not problem.checker_program
    shared = {name: getattr(problem, name) for name in ProblemStatement.__struct_fields__}
    return Assignment(
        **shared,
        seconds=problem.time_limit_s,
        memory_mb=problem.memory_limit_mb,
        public=problem.public_tests,
        private=len(problem.private_tests),
        remark=NO_CHECKER if unfair else "",
    )


def comparison(problem: Problem) -> Comparison:
    tolerance = problem.tolerance
    if tolerance is None and problem.checker == "float":
        tolerance = stated_tolerance(problem.statement)
    return Comparison(
        checker=problem.checker,
        tolerance=TOLERANCE if tolerance is None else tolerance,
        ignore_case=problem.ignore_case,
    )


def describe_comparison(problem: Problem) -> str:
    if problem.kind == "function":
        return f"by the tests, which are code and call {problem.entry_point}"
    if problem.checker_program:
        return "by the problem's own checker program"
    how = comparison(problem)
    case = ", in any case" if how.ignore_case else ""
    return {
        "tokens": f"token by token{case}; white space between them does not matter",
        "exact": "character by character, but for line ends at the very end",
        "float": f"token by token{case}; numbers may differ by {how.tolerance:g}, absolute or relative",
        "special": f"not at all: {NO_CHECKER}",
    }[how.checker]


def check_problem(problem: Problem) -> Problem:
    """The same problem; an error where it cannot be used. Types and ranges are checked where it is read."""
    if fault := next(_faults(problem), None):
        raise InvalidInput(f"problem {problem.id[:MAX_ID_LENGTH]!r}: {fault}")
    return problem


def check_test_limits(seconds: float | None, megabytes: int | None) -> None:
    """Refuse limits for all problems that no problem may have either."""
    low, high = MEMORY_RANGE_MB
    if seconds is not None and not 0 < seconds <= MAX_SECONDS:
        raise InvalidInput(f"`test_time_limit` is {seconds:g}; give up to {MAX_SECONDS} s")
    if megabytes is not None and not low <= megabytes <= high:
        raise InvalidInput(f"`test_memory_limit` is {megabytes}; give {low} to {high} MB")


def _faults(problem: Problem) -> Iterator[str]:
    """Why a problem cannot be used, each with its remedy."""
    if not problem.id.strip() or len(problem.id) > MAX_ID_LENGTH or not problem.id.isprintable():
        yield f"`id` is not a name; give 1 to {MAX_ID_LENGTH} printable characters on one line"
    if not problem.statement.strip():
        yield "`statement` is empty; say what the program must do"
    if not problem.tests:
        yield "it has no tests; give `public_tests`, `private_tests` or both"
    if problem.kind == "function":
        yield from _function_faults(problem)
    elif any(test.code for test in problem.tests):
        yield 'a test with `code` needs `"kind": "function"`, and every test must be of that kind'
    else:
        yield from _contradictions(problem)
    if problem.tolerance is not None and (problem.checker != "float" or problem.checker_program):
        yield '`tolerance` needs `"checker": "float"` and no `checker_program`'
    sources = {f"test {number}": test.code for number, test in enumerate(problem.tests, 1)}
    sources |= {"`setup`": problem.setup, "`checker_program`": problem.checker_program}
    for name, source in sources.items():
        if why := compile_error(source):
            yield f"{name} is not valid Python ({why}); correct it"
    if problem.checker_program and not find_function(
        parse_python(problem.checker_program), "check"
    ):
        yield "`checker_program` must define `check(input, output, expected)`"


def _function_faults(problem: Problem) -> Iterator[str]:
    if not all(part.isidentifier() for part in problem.entry_point.split(".")):
        yield "a test that is code calls a function; name it in `entry_point`"
    if problem.checker_program:
        yield "a function's tests assert by themselves; drop `checker_program`"
    for number, test in enumerate(problem.tests, 1):
        if test.input or test.output or not test.code.strip():
            yield f"test {number} of a function needs `code`, and nothing else"


def _contradictions(problem: Problem) -> Iterator[str]:
    """Tests that want different answers to the same input, where only one can be right."""
    if problem.checker == "special" or problem.checker_program:
        return
    how = comparison(problem)
    first_tests: dict[str, tuple[int, str]] = {}
    for number, test in enumerate(problem.tests, 1):
        first, wanted = first_tests.setdefault(test.input, (number, test.output))
        if compare(wanted, test.output, how) and compare(test.output, wanted, how):
            yield (
                f"tests {first} and {number} contradict each other (same input, different output); "
                'correct one, or set `"checker": "special"` and give a `checker_program`'
            )


def parse_python(source: str) -> ast.Module:
    """The syntax tree of a source, which is never run; an empty one where it is not Python."""
    try:
        with warnings.catch_warnings():
            # Warnings about escapes in foreign source are nothing the user can fix.
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def find_function(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return next((node for node in functions if node.name == name), None)


def compile_error(source: str) -> str | None:
    """Why a source cannot be compiled, without quoting it; None where it can."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "<source>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"line {error.lineno} is not valid Python" if error.lineno else "not valid Python"
    except (ValueError, RecursionError, MemoryError):
        return "it is too much for Python to read"
    return None


_MINUS = r"[-\u2212\u2013]"
_POWER = re.compile(
    rf"10\s*(?:\^|\*\*|<sup>)?\s*\{{?\s*{_MINUS}\s*(?P<power>\d{{1,2}})(?!\d)"
    rf"|1(?:\.0)?[eE]{_MINUS}0?(?P<exponent>\d{{1,2}})(?!\d)"
    r"|0\.(?P<zeros>0+)1(?!\d)"
)
_ABOUT_ERRORS = re.compile(
    r"error|precision|accura|inaccura|tolerance|differ|deviat|considered (?:correct|valid)|accepted",
    re.IGNORECASE,
)
_NEAR = 200
_FINEST = 15
_ANY_CASE = re.compile(
    r"in any (?:letter )?case|case[- ]insensitive|any register|(?:upper|lower)[- ]?case or (?:upper|lower)"
    r"|regardless of case|case (?:does not|doesn't) matter",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"any (?:one )?of (?:them|these|the)\b|in any order|any order you"
    r"|(?:print|output|return|construct|give) any\b"
    r"|any (?:valid|correct|suitable|optimal|possible|acceptable|such) (?:answer|solution|one|output)"
    r"|(?:multiple|several|many|various) (?:\w+ )?(?:answers|solutions|outputs)"
    r"|more than one (?:\w+ )?(?:answer|solution)",
    re.IGNORECASE,
)


def stated_tolerance(statement: str) -> float | None:
    """The error an answer may have, where the statement mentions errors and a small number."""
    for match in _POWER.finditer(statement):
        if _ABOUT_ERRORS.search(statement, max(0, match.start() - _NEAR), match.start()):
            power, exponent, zeros = match.group("power", "exponent", "zeros")
            digits = len(zeros) + 1 if zeros else int(power or exponent)
            if 1 <= digits <= _FINEST:
                return float(f"1e-{digits}")
    return None


def stated_checker(statement: str) -> Checker:
    if _SEVERAL.search(statement):
        return "special"
    return "tokens" if stated_tolerance(statement) is None else "float"


def allows_any_case(statement: str) -> bool:
    return _ANY_CASE.search(statement) is not None


class BrokenRecord(Struct, frozen=True, kw_only=True):
    """A record that could not be used."""

    line: int
    """From 1."""
    reason: str
    unit: Literal["line", "entry"] = "line"
    """What `line` counts: lines of a file, or entries of a JSON list."""

    def __str__(self) -> str:
        return f"{self.unit} {self.line}: {self.reason}"


class ProblemSet(Struct, frozen=True, kw_only=True):
    """The problems of a file."""

    problems: tuple[Problem, ...]
    broken: tuple[BrokenRecord, ...] = ()
    format: str
    """The format of the records; several joined by commas."""
    digest: str
    """SHA-256 of the problems as `encode_set` writes them."""


class ProblemShare(Struct, frozen=True, kw_only=True):
    """The problems of one kind and difficulty."""

    kind: str
    difficulty: str
    problems: int
    public_tests: int
    private_tests: int
    without_public_tests: int
    unfair: int
    """Those whose answers cannot be judged."""


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Problem)


def encode_set(problems: Sequence[Problem]) -> bytes:
    """Problems as one line each, always the same bytes for the same problems."""
    return _encoder.encode_lines(problems)


def decode_set(data: bytes) -> tuple[Problem, ...]:
    try:
        return tuple(check_problem(problem) for problem in _decoder.decode_lines(data))
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise InvalidInput("this copy of a set is damaged; give the set itself again") from None


def set_digest(problems: Sequence[Problem]) -> str:
    return hashlib.sha256(encode_set(problems)).hexdigest()


def find_problem(problems: Sequence[Problem], name: str) -> Problem:
    """The problem of that id; an error with similar ids where there is none."""
    by_id = {problem.id: problem for problem in problems}
    if name in by_id:
        return by_id[name]
    matches = [one for one in by_id if name and name.lower() in one.lower()]
    suggestions = matches or get_close_matches(name, by_id, n=3) or list(by_id)
    ellipsis = " …" if len(suggestions) > 3 else ""
    raise InvalidInput(f"no problem {name!r}; there is {', '.join(suggestions[:3])}{ellipsis}")


def split_judgeable(problem_set: ProblemSet) -> tuple[ProblemSet, tuple[str, ...]]:
    """The problems whose answers can be judged, and the ids of the others; an error where there are none."""
    fair = tuple(one for one in problem_set.problems if not to_assignment(one).remark)
    if not fair:
        raise InvalidInput(f"no problem of this set can be judged: {NO_CHECKER}")
    unfair = tuple(one.id for one in problem_set.problems if to_assignment(one).remark)
    return replace(problem_set, problems=fair), unfair


def shares(problems: Sequence[Problem]) -> tuple[ProblemShare, ...]:
    groups: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        groups.setdefault((problem.kind, problem.difficulty), []).append(problem)
    return tuple(
        ProblemShare(
            kind=kind,
            difficulty=difficulty,
            problems=len(group),
            public_tests=sum(len(one.public_tests) for one in group),
            private_tests=sum(len(one.private_tests) for one in group),
            without_public_tests=sum(not one.public_tests for one in group),
            unfair=sum(bool(to_assignment(one).remark) for one in group),
        )
        for (kind, difficulty), group in sorted(
            groups.items(), key=lambda item: (item[0][0], difficulty_order(item[0][1]))
        )
    )
