"""How programs did, in plain sentences."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autoreason.report.numbers import count
from autoreason.tournament.statements import decided, survivals

if TYPE_CHECKING:
    from autoreason.assignment import Examined, Trial
    from autoreason.events import PassDecided, Solved


def program_decided(event: PassDecided, k: int | None = None) -> str:
    """How a pass over programs ended, where tests decide more often than judges."""
    if event.outcome == "unjudged":
        return "taken as it comes"
    if event.outcome == "inconclusive" or event.verdict:
        return decided(event, k)
    row = f"; {survivals(event.streak, k)}" if event.winner == "A" and event.streak else ""
    return f"{event.winner} goes on ({event.reason or 'unopposed'}){row}"


def lines(program: str) -> str:
    """How long a program is."""
    return count(len(program.splitlines()), "line")


def examined(found: Examined) -> str:
    """How a program did on tests; where the first failure ended it, at which."""
    if found.verdict == "no_code":
        return "no program"
    verdict, tests = found.verdict.replace("_", " "), f"{found.which} test"
    if found.verdict == "accepted":
        return f"{verdict}, {found.passed} of {count(found.total, tests)}"
    if 0 < found.run < found.total:
        return f"{verdict} at {tests} {found.run} of {found.total:,}"
    return f"{verdict}, {found.passed} of {count(found.total, tests)} passed"


def failure(trial: Trial) -> str:
    """Why a test was not passed, or could not be held."""
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
"""What Python says of a program that it cannot begin; one that is under way has a traceback."""


def sandbox(level: str) -> str:
    """How well a program was held, in two words."""
    return "no sandbox" if level == "none" else f"sandbox {level}"


def solved(event: Solved) -> str:
    """What came of one problem."""
    scores = dict.fromkeys(examined(each) for each in (event.public, event.private) if each)
    said = "; ".join(scores) or f"no verdict ({event.reason})"
    return f"{said}; {count(event.spent.calls, 'call')}"
