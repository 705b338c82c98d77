"""What `autoreason problems check` shows: known solutions on the tests of their problems."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from autoreason.cli import words
from autoreason.cli.consoles import stderr_console, stdout_console
from autoreason.cli.ending import print_json
from autoreason.errors import InvalidInput
from autoreason.examiner.trying import Tried, try_solutions
from autoreason.problems.formats import read_problems
from autoreason.problems.problem import NO_CHECKER
from autoreason.problems.sets import judged_apart

if TYPE_CHECKING:
    from autoreason.problems.sets import ProblemSet


def check_solutions(source: str, *, unsafe: bool, as_json: bool) -> int:
    """Try every known solution, show the ones that fail, and give the exit status."""
    found, unfair = judged_apart(read_problems(source))
    solved = [problem for problem in found.problems if problem.solution.strip()]
    if not solved:
        raise InvalidInput(f"no problem in {source} has a `solution`; give one to check it")
    tried: list[Tried] = []
    with stderr_console().status("starting the sandbox") as status:

        def tell(one: Tried) -> None:
            tried.append(one)
            status.update(f"{len(tried):,} of {words.count(len(solved), 'solution')}")

        asyncio.run(try_solutions(solved, unsafe=unsafe, tell=tell))
    failed = [one for one in tried if one.verdict != "accepted"]
    if as_json:
        print_json(_as_object(found, tried, failed) | {"unfair": unfair})
    else:
        if unfair:
            left_out = f"left out: {words.count(len(unfair), 'problem')} that cannot be judged"
            stdout_console().print(f"{left_out}: {NO_CHECKER}", soft_wrap=True)
        _show(found, tried, failed)
    return 1 if failed or found.broken else 0


def _as_object(found: ProblemSet, tried: list[Tried], failed: list[Tried]) -> dict[str, object]:
    return {
        "problems": len(found.problems),
        "solutions": len(tried),
        "accepted": len(tried) - len(failed),
        "tests": sum(one.run for one in tried),
        "level": tried[0].level,
        "failed": failed,
        "broken": found.broken,
    }


def _show(found: ProblemSet, tried: list[Tried], failed: list[Tried]) -> None:
    console = stdout_console()
    for one in sorted(failed, key=lambda one: one.problem):
        test = one.failed
        assert test is not None
        lines = test.trace.strip().splitlines()
        why = test.difference or test.detail
        more = f", {lines[-1]}" if lines and test.verdict == "runtime_error" else ""
        verdict = test.verdict.replace("_", " ")
        console.print(
            f"{one.problem}: {verdict} on test {test.number}: {why}{more}", soft_wrap=True
        )
    for broken in found.broken:
        console.print(f"left out: {broken}", soft_wrap=True)
    without = len(found.problems) - len(tried)
    missing = f"; {words.count(without, 'problem')} without a solution" if without else ""
    level = tried[0].level
    console.print(
        f"{len(tried) - len(failed):,} of {words.count(len(tried), 'known solution')} accepted, "
        f"{words.count(sum(one.run for one in tried), 'test')}{missing}; "
        f"{'no sandbox' if level == 'none' else f'sandbox {level}'}",
        soft_wrap=True,
    )
