"""A whole problem, with what only the examiner may see, and the checks that make it usable."""

from __future__ import annotations

import ast
import math

from msgspec import structs

from autoreason.errors import InvalidInput
from autoreason.programs.assignment import Assignment, Example, ProblemStatement
from autoreason.programs.problems.answer_comparison import TOLERANCE, Checker, Comparison, compare
from autoreason.programs.problems.record_fields import MAX_ID_LENGTH
from autoreason.programs.problems.set_sources import compile_error, parse_python
from autoreason.programs.problems.statement_hints import stated_tolerance

MAX_SECONDS = 60
"""The longest time limit."""
MEMORY_RANGE_MB = (16, 4096)
"""The smallest and the largest memory limit."""

_CHECK_ARGUMENTS = 3
NO_CHECKER = "several answers are right; give a `checker_program` that tells which"
"""Why a problem cannot be examined fairly."""


class Problem(ProblemStatement, frozen=True, kw_only=True, omit_defaults=True):
    """The statement of a problem, its tests, and how an answer is compared."""

    setup: str = ""
    """Statements before each test of a function: imports, definitions the tests use."""
    time_limit_s: float = 10.0
    memory_limit_mb: int = 512
    public_tests: tuple[Example, ...] = ()
    private_tests: tuple[Example, ...] = ()
    checker: Checker = "tokens"
    checker_program: str = ""
    """Python that defines `check(input, output, expected)`: True, False, or a sentence that explains why not."""
    tolerance: float | None = None
    """For `float`; None: what the statement says, or 1e-6."""
    ignore_case: bool = False
    """Tokens match in any case; for `tokens` and `float`."""
    solution: str = ""
    """A program known to be right."""
    tags: tuple[str, ...] = ()
    source: str = ""

    @property
    def tests(self) -> tuple[Example, ...]:
        """All tests, public ones first."""
        return self.public_tests + self.private_tests


def to_assignment(problem: Problem) -> Assignment:
    """The problem without what roles may not see."""
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
    """How answers are compared where there is no checker program."""
    stated = stated_tolerance(problem.statement) if problem.checker == "float" else None
    tolerance = problem.tolerance if problem.tolerance is not None else stated
    return Comparison(
        checker=problem.checker,
        tolerance=TOLERANCE if tolerance is None else tolerance,
        ignore_case=problem.ignore_case,
    )


def describe_comparison(problem: Problem) -> str:
    """How answers are compared, in words."""
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
    """The same problem; an error where it cannot be used."""
    _check_texts(problem)
    _check_limits(problem)
    _check_tests(problem)
    _check_comparison(problem)
    return problem


def check_test_limits(seconds: float | None, megabytes: int | None) -> None:
    """Refuse limits for all problems that no problem may have either."""
    if seconds is not None and not 0 < seconds <= MAX_SECONDS:
        raise InvalidInput(
            f"`test_time_limit` is {seconds:g}; give more than 0 and at most {MAX_SECONDS} seconds"
        )
    low, high = MEMORY_RANGE_MB
    if megabytes is not None and not low <= megabytes <= high:
        raise InvalidInput(f"`test_memory_limit` is {megabytes:,}; give {low} to {high} MB")


def _error(problem: Problem, why: str) -> InvalidInput:
    return InvalidInput(f"problem {problem.id[:MAX_ID_LENGTH]!r}: {why}")


def _check_texts(problem: Problem) -> None:
    if not problem.id.strip() or len(problem.id) > MAX_ID_LENGTH or not problem.id.isprintable():
        raise _error(
            problem,
            f"`id` is not a name; give 1 to {MAX_ID_LENGTH} printable characters on one line",
        )
    for field, value in structs.asdict(problem).items():
        texts = value if isinstance(value, tuple) else (value,)
        for text in texts:
            parts = structs.astuple(text) if isinstance(text, Example) else (text,)
            if not all(_is_text(part) for part in parts):
                raise _error(
                    problem, f"some characters in `{field}` are not text; give plain UTF-8 text"
                )
    if not problem.statement.strip():
        raise _error(problem, "`statement` is empty; say what the program must do")


def _is_text(value: object) -> bool:
    if not isinstance(value, str):
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in value


def _check_limits(problem: Problem) -> None:
    if not 0 < problem.time_limit_s <= MAX_SECONDS:
        raise _error(problem, f"`time_limit_s` must be over 0 and at most {MAX_SECONDS} seconds")
    low, high = MEMORY_RANGE_MB
    if not low <= problem.memory_limit_mb <= high:
        raise _error(problem, f"`memory_limit_mb` must be {low} to {high}")


def _check_tests(problem: Problem) -> None:
    if not problem.tests:
        raise _error(problem, "it has no tests; give `public_tests`, `private_tests` or both")
    _check_kinds(problem)
    if problem.kind == "stdio":
        if any(test.code for test in problem.tests):
            raise _error(problem, 'a test with `code` needs `"kind": "function"`')
        _check_consistency(problem)
        return
    if not all(part.isidentifier() for part in problem.entry_point.split(".")):
        raise _error(problem, "a test that is code calls a function; name it in `entry_point`")
    for number, test in enumerate(problem.tests, 1):
        if test.input or test.output or not test.code.strip():
            raise _error(problem, f"test {number} of a function needs `code`, and nothing else")
        _check_code(problem, test.code, f"test {number}")
    _check_code(problem, problem.setup, "`setup`")


def _check_kinds(problem: Problem) -> None:
    """Refuse a mix of tests that call a function and tests with input and output."""
    first: dict[bool, int] = {}
    for number, test in enumerate(problem.tests, 1):
        if test.code and (test.input or test.output):
            raise _error(
                problem, f"test {number} has both; give either `code` or `input` and `output`"
            )
        first.setdefault(bool(test.code), number)
    if len(first) > 1:
        one, other = sorted(first.values())
        raise _error(
            problem,
            f"tests {one} and {other} are of different kinds; give either pairs of input and "
            "output or code that calls a function",
        )


def _check_consistency(problem: Problem) -> None:
    """Refuse tests that want different answers to the same input, where only one can be right."""
    if problem.checker == "special" or problem.checker_program:
        return
    how = comparison(problem)
    first_tests: dict[str, tuple[int, str]] = {}
    for number, test in enumerate(problem.tests, 1):
        first, wanted = first_tests.setdefault(test.input, (number, test.output))
        if compare(wanted, test.output, how) and compare(test.output, wanted, how):
            raise _error(
                problem,
                f"tests {first} and {number} contradict each other (same input, different output); "
                'correct one, or set `"checker": "special"` and give a `checker_program`',
            )


def _check_code(problem: Problem, source: str, what: str) -> None:
    if why := compile_error(source):
        raise _error(problem, f"{what} is not valid Python ({why}); correct it")


def _check_comparison(problem: Problem) -> None:
    if problem.tolerance is not None:
        if problem.checker != "float":
            raise _error(problem, '`tolerance` needs `"checker": "float"`')
        if problem.checker_program:
            raise _error(problem, "its `checker_program` decides; drop `tolerance`")
        if not (math.isfinite(problem.tolerance) and 0 <= problem.tolerance <= 1):
            raise _error(problem, "`tolerance` must be 0 to 1, such as 1e-6")
    if not problem.checker_program:
        return
    if problem.kind == "function":
        raise _error(problem, "a function's tests assert by themselves; drop `checker_program`")
    _check_code(problem, problem.checker_program, "`checker_program`")
    tree = parse_python(problem.checker_program)
    functions = [node for node in (tree.body if tree else []) if isinstance(node, ast.FunctionDef)]
    check = next((node for node in functions if node.name == "check"), None)
    if check is None or not _takes_three(check.args):
        raise _error(problem, "`checker_program` must define `check(input, output, expected)`")


def _takes_three(arguments: ast.arguments) -> bool:
    places = len(arguments.posonlyargs) + len(arguments.args)
    needed = places - len(arguments.defaults)
    enough = places >= _CHECK_ARGUMENTS or arguments.vararg is not None
    keywords = any(default is None for default in arguments.kw_defaults)
    return enough and needed <= _CHECK_ARGUMENTS and not keywords
