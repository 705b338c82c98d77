"""How real problems are judged whose statements seem to allow several answers."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from autoreason.programs.problems.problem import Problem

CHECKERS = Path(__file__).with_name("special")
"""Our own checkers, by id."""

ONE_ANSWER = (
    *("1012_b", "1093_f", "1107_f", "1143_c", "1194_f", "1263_d", "1277_e", "1338_b", "1345_e"),
    *("1416_c", "1453_e", "1475_e", "1497_d", "177_b1", "242_c", "325_c", "32_e", "397_c"),
    *("499_c", "627_a", "634_b", "653_b", "712_d", "762_a", "98_b", "999_e", "99_d"),
)
"""Problems that ask for something of which there is only one, whatever the wording: a count, a best value, an order."""
ONE_POINT = "2_c"
"""One whose answer is a point to five digits."""
_BEYOND = "99_d"
"""One with tests beyond its own limits: the solution does not end on them, and the answers given are wrong."""
_LARGEST = 10_000


def fairly(problem: Problem) -> Problem:
    """A problem with what it takes to judge any answer to it."""
    if problem.checker != "special" or problem.checker_program:
        return problem
    name = problem.id.removeprefix("cc/")
    number = "_".join(name.split("_")[:2])
    if number == ONE_POINT:
        return replace(problem, checker="float", tolerance=1e-5)
    if number == _BEYOND:
        sound = tuple(test for test in problem.private_tests if int(test.input) <= _LARGEST)
        problem = replace(problem, private_tests=sound)
    if number in ONE_ANSWER:
        return replace(problem, checker="tokens")
    checker = (CHECKERS / f"p{name}.py").read_text("utf-8")
    return replace(problem, checker_program=checker)
