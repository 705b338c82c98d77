"""The results of programs, as sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from autoreason.events import FINISHED
from autoreason.report.numbers import count
from autoreason.tournament.statements import ENDINGS, decided, survivals

if TYPE_CHECKING:
    from autoreason.events import PassDecided
    from autoreason.programs.assignment import Assignment, Examined, Trial
    from autoreason.programs.events import Solved


def program_decided(event: PassDecided, k: int | None = None) -> str:
    """How a pass over programs ended, where tests decide more often than judges."""
    if event.outcome == "unjudged":
        return "accepted without a vote"
    if event.outcome == "inconclusive" or event.verdict:
        return decided(event, k)
    row = f"; {survivals(event.streak, k)}" if event.survived else ""
    return f"{event.winner} goes on ({event.reason or 'unopposed'}){row}"


def examined(result: Examined) -> str:
    """How a program did on tests; where the first failure ended it, at which."""
    if result.verdict == "no_code":
        return "no program"
    verdict, tests = result.verdict.replace("_", " "), f"{result.which} test"
    if result.verdict == "accepted":
        return f"{verdict}, {result.passed} of {count(result.total, tests)}"
    if 0 < result.run < result.total:
        return f"{verdict} at {tests} {result.run} of {result.total:,}"
    return f"{verdict}, {result.passed} of {count(result.total, tests)} passed"


def failure(trial: Trial) -> str:
    """Why a test was not passed, or could not be run."""
    if trial.verdict == "sandbox_error":
        return trial.detail or trial.difference
    broken = _SYNTAX.match(trial.trace) if trial.verdict == "runtime_error" else None
    if broken:
        return f"syntax error in line {broken[1]}: {broken[2]}"
    return trial.difference or trial.detail


_SYNTAX = re.compile(
    r'\s*File "solution\.py", line (\d+)\n(?:.*\n)*?'
    r"(?:SyntaxError|IndentationError|TabError): (.*)\s*\Z"
)
"""Python's message for a program that it cannot compile; one that has started has a traceback."""


def sandbox(level: str) -> str:
    """How well a program was isolated, in two words."""
    return "no sandbox" if level == "none" else f"sandbox {level}"


def solved(event: Solved) -> str:
    """What came of one problem."""
    scores = dict.fromkeys(examined(each) for each in (event.public, event.private) if each)
    verdicts = "; ".join(scores) or f"no verdict ({event.reason})"
    return f"{verdicts}; {count(event.spent.calls, 'call')}"


def why_unsolved(events: Sequence[Solved], assignments: Sequence[Assignment], *, one: bool) -> str:
    """What the program for the one problem fails, or every program of a set; empty where that is nothing."""
    if one:
        return "" if all(map(_is_solved, events)) else solved(events[-1])
    if not events or any(map(_passes_some, events)):
        return ""
    public = [bool(each.public) for each in assignments if not each.remark]
    some = "public or, where there is none, private" if any(public) else "private"
    which = "public" if all(public) else some
    return f"no program of the set passes a {which} test"


def _is_solved(event: Solved) -> bool:
    """Whether there is a program, and no test that it is not known to pass."""
    examined = [each for each in (event.public, event.private) if each]
    return event.program is not None and all(each.verdict == "accepted" for each in examined)


def _passes_some(event: Solved) -> bool:
    result = event.public or event.private
    return event.program is not None and (result is None or result.passed > 0)


def problem(event: Solved) -> str:
    """How the work on one problem ended."""
    return f"{_ended(event)}: {event.reason}"


def problem_rows(event: Solved) -> list[tuple[str, str]]:
    """What came of one problem."""
    rows = [("Attempts", count(event.attempts, "program"))]
    if event.program is None:
        return [*rows, ("Program", "none")]
    tests = (("Public", event.public), ("Private", event.private))
    return rows + [(label, examined(result)) for label, result in tests if result]


def _ended(event: Solved) -> str:
    """What is known of the program at the end; public tests alone do not show that it solves the problem."""
    if event.program is not None and event.status in FINISHED:
        if not _is_solved(event):
            return "Not solved"
        if event.private or event.public:
            return "Solved" if event.private else "Passed"
    # No strategy for programs has a last pass: it ends by its tests or by its calls.
    return "Ended" if event.status == "capped" else ENDINGS[event.status].capitalize()


def sandbox_level(name: str) -> str:
    """How well programs were isolated, in a few more words."""
    return _LEVELS.get(name, name)


_LEVELS = {
    "bubblewrap": "bubblewrap, in namespaces of its own",
    "landlock": "Landlock and seccomp",
    "seccomp": "seccomp only; this kernel has no Landlock",
    "none": "none: programs ran unprotected",
}
