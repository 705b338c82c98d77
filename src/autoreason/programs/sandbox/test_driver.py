"""The tests' side of function tests: they run here, and call a program in another process.

Standard library only: this runs inside a separate jail. The exit status is the verdict, and only the tests
decide it.
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

from autoreason.programs.sandbox.execution import IMPORTABLE
from autoreason.programs.sandbox.rpc import (
    MAX_TEXT,
    ProgramClient,
    cache_source,
    failure_trace,
    trace_of,
)

PASSED = 0
FAILED = 10
"""An assertion failed, or the tests raised an exception over a value of the program."""
RAISED = 11
"""The program raised an exception the tests did not expect, or lacks what they call."""
DISCONNECTED = 12
"""The program ended early, or sent an invalid message."""
UNUSABLE = 13
OUT_OF_MEMORY = 14
"""The program ran out of memory, or one of its values is too large."""
_USES = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS")
_TESTS, _SETUP = "tests.py", "setup.py"
"""File names in tracebacks; the latter where the tests are sent separately from their setup."""


def drive(code: CodeType, channel: int) -> NoReturn:
    """Run the tests against the program at the other end, report what failed, and exit with the verdict."""
    client = ProgramClient(channel)
    wanted, tests_source = json.loads(sys.stdin.read())
    sys.stdout = sys.stderr
    status, error = PASSED, None
    try:
        name = _SETUP if tests_source else _TESTS
        cache_source(name, "".join(linecache.getlines(code.co_filename)))
        codes = [_with_file_name(code, name)]
        if tests_source:
            # Tests that are too long to be sent as a program.
            cache_source(_TESTS, tests_source)
            codes.append(compile(tests_source, _TESTS, "exec", dont_inherit=True))
        names = _build_globals(codes, client, wanted)
        for each in codes:
            exec(each, names)
    except BaseException as raised:
        status, error = _status_of(raised, client), raised
    if client.tests_error or client.program_error:
        status = UNUSABLE if client.tests_error else DISCONNECTED
    # The verdict is valid even where no report can be written.
    with suppress(BaseException):
        sys.stderr.flush()
        os.write(1, json.dumps(_report(error, client)).encode())
    os._exit(status)


def _with_file_name(code: CodeType, name: str) -> CodeType:
    """The same code under that file name, so that its lines are not taken for the program's."""
    inner = (_with_file_name(c, name) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=name, co_consts=tuple(inner))


def _build_globals(
    codes: list[CodeType], client: ProgramClient, always: list[str]
) -> dict[str, object]:
    """The globals of the tests: names that neither Python nor the tests define come from the program."""
    # A main module: `unittest` and the usual guard check its name.
    module = ModuleType("__main__")
    module.__file__ = _TESTS
    sys.modules["__main__"] = module
    sys.argv = [_TESTS]
    # Every module has names with two underscores.
    named = {name for code in codes for name in _used(code) if not name.startswith("__")}
    unknown = named - set(vars(builtins)) - set(always)
    modules = unknown & sys.stdlib_module_names
    for name in modules & IMPORTABLE:
        # The tests may only have a variable of that name; and a module that is not loaded yet cannot be.
        with suppress(Exception):
            module.__dict__[name] = importlib.import_module(name)
    module.__dict__.update(client.names(sorted(unknown - modules | set(always))))
    return module.__dict__


def _used(code: CodeType) -> Iterator[str]:
    """Global names that the code reads somewhere; not attributes, not names that are only assigned."""
    remaining = set(code.co_names)
    for step in dis.get_instructions(code) if remaining else ():
        if step.opname in _USES and step.argval in remaining:
            remaining.remove(step.argval)
            yield step.argval
            if not remaining:
                break
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _used(constant)


def _status_of(error: BaseException, client: ProgramClient) -> int:
    match error:
        case SystemExit(code=code):
            # A remote object never means success, and is not asked.
            return PASSED if code is None or (isinstance(code, int) and code == 0) else FAILED
        case MemoryError():
            return OUT_OF_MEMORY
        case ImportError() if trace_of(error) is None:
            client.tests_error = f"{error}"
            return UNUSABLE
        case NameError(name=str(name)) if name in sys.stdlib_module_names and not trace_of(error):
            client.tests_error = f"the tests use `{name}` without importing it"
            return UNUSABLE
        case NameError() if type(error) is NameError:
            return RAISED
    return FAILED if trace_of(error) is None else RAISED


def _report(error: BaseException | None, client: ProgramClient) -> dict[str, str]:
    if error is None and not client.program_error:
        return {}
    called, got = client.close()
    # Tests that left with a status have printed the reason.
    left = isinstance(error, SystemExit) and isinstance(error.code, int)
    missing = isinstance(error, NameError) and trace_of(error) is None and error.name
    return {
        "called": called,
        "got": got,
        "trace": "" if error is None or left else failure_trace(error),
        "line": _line(error),
        "reason": client.tests_error
        or client.program_error
        or (f"it defines no {missing}" if missing else ""),
    }


def _line(error: BaseException | None) -> str:
    frames = traceback.extract_tb(error.__traceback__) if error else []
    lines = [frame.line for frame in frames if frame.filename in (_TESTS, _SETUP)]
    return (lines[-1] or "")[:MAX_TEXT] if lines else ""
