"""The tests' side of function tests: they run here, and what they call is in another process.

Standard library only: this runs inside a jail of its own. How the process ends is the verdict, and only the tests
decide that.
"""

from __future__ import annotations

import builtins
import dis
import importlib
import json
import linecache
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from types import CodeType, ModuleType
from typing import NoReturn

from autoreason.programs.sandbox.rpc_client import LONGEST, Driver, Ended, trace_of
from autoreason.programs.sandbox.warm import KNOWN

PASSED = 0
FAILED = 10
"""An assertion does not hold, or the tests stumbled over what they were given."""
RAISED = 11
"""The program raised something the tests did not expect, or lacks what they call."""
LOST = 12
"""The program is gone, or sent what is no message."""
UNFIT = 13
"""The tests themselves cannot be held."""
EXHAUSTED = 14
"""The program, or a value of its, ran out of memory."""
_USES = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS")
_TESTS, _SETUP = "tests.py", "setup.py"
"""What they are called in tracebacks; the latter where the tests come apart from what precedes them."""


def drive(code: CodeType, channel: int) -> NoReturn:
    """Run the tests against the program at the other end, tell what failed, and leave with the verdict."""
    driver = Driver(channel)
    wanted, more = json.loads(sys.stdin.read())
    sys.stdout = sys.stderr
    status, error = PASSED, None
    try:
        codes = [_named(code, _SETUP), _compiled(more)] if more else [_named(code, _TESTS)]
        names = _surroundings(codes, driver, wanted)
        for each in codes:
            exec(each, names)
    except BaseException as raised:
        status, error = _judged(raised, driver), raised
    if driver.unfit or driver.lost:
        status = UNFIT if driver.unfit else LOST
    # The verdict stands; a report that cannot be made takes nothing from it.
    with suppress(BaseException):
        sys.stderr.flush()
        os.write(1, json.dumps(_report(error, driver)).encode())
    os._exit(status)


def _named(code: CodeType, name: str) -> CodeType:
    """The same code from a file of that name, so that nobody takes its lines for the program's."""
    _remember(name, linecache.getlines(code.co_filename))
    return _renamed(code, name)


def _renamed(code: CodeType, name: str) -> CodeType:
    inner = (_renamed(c, name) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=name, co_consts=tuple(inner))


def _compiled(source: str) -> CodeType:
    """Tests too long to come as a program; tracebacks show them all the same."""
    _remember(_TESTS, source.splitlines(keepends=True))
    return compile(source, _TESTS, "exec", dont_inherit=True)


def _remember(name: str, lines: list[str]) -> None:
    linecache.cache[name] = (sum(map(len, lines)), None, lines, name)


def _surroundings(codes: list[CodeType], driver: Driver, always: list[str]) -> dict[str, object]:
    """The globals of the tests: what Python has is Python's, names nobody else defines are the program's."""
    module = _script()
    named = {name for code in codes for name in _used(code) if not _every_module_has(name)}
    theirs = named - set(vars(builtins)) - set(always)
    modules = theirs & sys.stdlib_module_names
    for name in modules & KNOWN:
        # The tests may only have a variable of that name; and what was not loaded before cannot be.
        with suppress(Exception):
            module.__dict__[name] = importlib.import_module(name)
    module.__dict__.update(driver.names(sorted(theirs - modules | set(always))))
    return module.__dict__


def _script() -> ModuleType:
    """A module for the tests that is like a script's: `unittest` and the usual guard look at its name."""
    module = ModuleType("__main__")
    module.__file__ = _TESTS
    sys.modules["__main__"] = module
    sys.argv = [_TESTS]
    return module


def _every_module_has(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _used(code: CodeType) -> Iterator[str]:
    """Names whose value is asked for as a global's somewhere in the code; not attributes, not what is only assigned."""
    unseen = set(code.co_names)
    for step in dis.get_instructions(code) if unseen else ():
        if step.opname in _USES and step.argval in unseen:
            unseen.remove(step.argval)
            yield step.argval
            if not unseen:
                break
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _used(constant)


def _judged(error: BaseException, driver: Driver) -> int:
    match error:
        case SystemExit():
            return PASSED if _success(error.code) else FAILED
        case MemoryError():
            return EXHAUSTED
        case ImportError() if trace_of(error) is None:
            driver.unfit = f"{error}"
            return UNFIT
        case NameError(name=str(name)) if name in sys.stdlib_module_names and not trace_of(error):
            driver.unfit = f"the tests use `{name}` without importing it"
            return UNFIT
        case NameError() if type(error) is NameError:
            return RAISED
    return FAILED if trace_of(error) is None else RAISED


def _success(code: object) -> bool:
    """Whether an exit status means success; something of the program's never does, and is not asked."""
    return code is None or (isinstance(code, int) and code == 0)


def _report(error: BaseException | None, driver: Driver) -> dict[str, str]:
    """What helps to see why: the last call, the line that failed, the traceback."""
    if error is None and not driver.lost:
        return {}
    called, got = driver.hang_up()
    return {
        "called": called,
        "got": got,
        "trace": _trace(error),
        "line": _line(error),
        "reason": driver.unfit or driver.lost or _missing(error),
    }


def _missing(error: BaseException | None) -> str:
    """The name that the tests use and the program lacks, in words."""
    lacks = isinstance(error, NameError) and trace_of(error) is None and error.name
    return f"it defines no {lacks}" if lacks else ""


def _trace(error: BaseException | None) -> str:
    """The program's own traceback where it raised; otherwise that of the tests, unless they left with a status."""
    if error is None or isinstance(error, Ended) or _told_before(error):
        return ""
    of_the_program = trace_of(error)
    if of_the_program is not None:
        return of_the_program
    within = error.__traceback__.tb_next if error.__traceback__ else None
    return "".join(traceback.format_exception(type(error), error, within))[-LONGEST:]


def _told_before(error: BaseException) -> bool:
    """Whether the tests left with a number: what it is about they have printed."""
    return isinstance(error, SystemExit) and isinstance(error.code, int)


def _line(error: BaseException | None) -> str:
    """The line of the tests at which they failed."""
    frames = traceback.extract_tb(error.__traceback__) if error else []
    lines = [frame.line for frame in frames if frame.filename in (_TESTS, _SETUP)]
    return (lines[-1] or "")[:LONGEST] if lines else ""
