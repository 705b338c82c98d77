"""What a model is told of the tests: the input, what was expected and what came, and the real traceback."""

from __future__ import annotations

from collections.abc import Sequence

from autoreason.assignment import Assignment, CodeVerdict, Examined, Example, Trial

_SHOWN = 3
"""Failing tests that are told in full."""
_DATA = 1500
_TRACE = 3000
_HEAD_SHARE = 0.6
_CUT_SHORT = (CodeVerdict.TIME_LIMIT, CodeVerdict.MEMORY_LIMIT)
"""How far a program came until it hit these differs from run to run, and the same seed must ask the same again."""


def feedback(examined: Examined, assignment: Assignment) -> str:
    """The results of a program under the public tests, as whoever mends it reads them."""
    if examined.verdict is CodeVerdict.NO_CODE:
        return "There was no program in the answer."
    failing = [each for each in examined.trials if each.verdict is not CodeVerdict.ACCEPTED]
    told = [f"{examined.passed} of {examined.total} tests passed."]
    if examined.run < examined.total:
        told[0] += " The first failure ended it; the other tests were not run."
    told += [_told(trial, assignment) for trial in failing[:_SHOWN]]
    if len(failing) > _SHOWN:
        rest = ", ".join(f"{each.number} ({_name(each)})" for each in failing[_SHOWN:])
        told.append(f"Failing as well: test {rest}.")
    return "\n\n".join(told)


def shortened(text: str, most: int = _DATA) -> str:
    """A long text without its middle, and marked where that was."""
    text = text.rstrip("\n")
    if len(text) <= most:
        return text
    head = int(most * _HEAD_SHARE)
    tail = most - head
    return f"{text[:head]}\n[... {len(text) - most:,} characters left out ...]\n{text[-tail:]}"


def unstated(assignment: Assignment) -> tuple[Example, ...]:
    """Public tests that the statement does not show already, with long data shortened."""
    said = _folded(assignment.statement)
    return tuple(
        Example(
            input=shortened(test.input), output=shortened(test.output), code=shortened(test.code)
        )
        for test in assignment.public
        if not _stated(test, said)
    )


def _stated(test: Example, said: str) -> bool:
    if test.code:
        return _folded(test.code) in said
    return _folded(test.input) in said and _folded(test.output) in said


def _folded(text: str) -> str:
    return " ".join(text.split())


def _told(trial: Trial, assignment: Assignment) -> str:
    lines = [f"Test {trial.number}: {_ended(trial, assignment)}."]
    if assignment.kind == "function":
        lines += _data("Test", trial.input)
    else:
        lines += _data("Input", trial.input)
        lines += _data("Expected", trial.expected)
    if trial.verdict not in _CUT_SHORT:
        lines += _data("Got", trial.got)
    if trial.verdict is CodeVerdict.WRONG_ANSWER and not trial.got.strip():
        lines += ["Nothing was printed."] if assignment.kind == "stdio" else []
    if trial.difference:
        lines.append(f"First difference: {trial.difference}")
    if trial.trace.strip() and trial.verdict is not CodeVerdict.TIME_LIMIT:
        lines += ["Traceback:", _useful_end(trial.trace)]
    return "\n".join(lines)


def _data(what: str, text: str) -> Sequence[str]:
    return (f"{what}:", shortened(text)) if text.strip() else ()


def _useful_end(trace: str) -> str:
    """Tracebacks end with what went wrong, so the end is what is kept."""
    trace = trace.strip()
    if len(trace) <= _TRACE:
        return trace
    return "[...]\n" + trace[-_TRACE:].partition("\n")[2]


def _name(trial: Trial) -> str:
    return trial.verdict.value.replace("_", " ")


def _ended(trial: Trial, assignment: Assignment) -> str:
    """A verdict with the limit that goes with it, and nothing that was measured."""
    match trial.verdict:
        case CodeVerdict.TIME_LIMIT:
            return (
                f"time limit: {assignment.seconds:g} s of processor time are allowed, and by the clock "
                "little more than three times that"
            )
        case CodeVerdict.MEMORY_LIMIT:
            return f"memory limit: more than {assignment.memory_mb} MB were asked for"
        case CodeVerdict.OUTPUT_LIMIT:
            return "output limit: far more was printed than the answer can have"
        case CodeVerdict.RUNTIME_ERROR:
            return "runtime error" + (f": {trial.detail}" if trial.detail else "")
    return _name(trial)
