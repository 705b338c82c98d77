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

from autoreason.programs.sandbox.rpc_client import MAX_TEXT, ProgramClient, TestsAborted, trace_of
from autoreason.programs.sandbox.warm import IMPORTABLE

PASSED = 0
FAILED = 10
"""An assertion failed, or the tests raised an exception over a value of the program."""
RAISED = 11
"""The program raised an exception the tests did not expect, or lacks what they call."""
DISCONNECTED = 12
"""The program ended early, or sent an invalid message."""
UNUSABLE = 13
"""The tests themselves cannot be run."""
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
        codes = (
            [_with_file_name(code, _SETUP), _compile_tests(tests_source)]
            if tests_source
            else [_with_file_name(code, _TESTS)]
        )
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
    _remember(name, linecache.getlines(code.co_filename))
    return _renamed(code, name)


def _renamed(code: CodeType, name: str) -> CodeType:
    inner = (_renamed(c, name) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=name, co_consts=tuple(inner))


def _compile_tests(source: str) -> CodeType:
    """Compile tests that are too long to be sent as a program; tracebacks show them as well."""
    _remember(_TESTS, source.splitlines(keepends=True))
    return compile(source, _TESTS, "exec", dont_inherit=True)


def _remember(name: str, lines: list[str]) -> None:
    linecache.cache[name] = (sum(map(len, lines)), None, lines, name)


def _build_globals(
    codes: list[CodeType], client: ProgramClient, always: list[str]
) -> dict[str, object]:
    """The globals of the tests: names that neither Python nor the tests define come from the program."""
    module = _script()
    named = {name for code in codes for name in _used(code) if not _every_module_has(name)}
    unknown = named - set(vars(builtins)) - set(always)
    modules = unknown & sys.stdlib_module_names
    for name in modules & IMPORTABLE:
        # The tests may only have a variable of that name; and a module that is not loaded yet cannot be.
        with suppress(Exception):
            module.__dict__[name] = importlib.import_module(name)
    module.__dict__.update(client.names(sorted(unknown - modules | set(always))))
    return module.__dict__


def _script() -> ModuleType:
    """A main module for the tests: `unittest` and the usual guard check its name."""
    module = ModuleType("__main__")
    module.__file__ = _TESTS
    sys.modules["__main__"] = module
    sys.argv = [_TESTS]
    return module


def _every_module_has(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


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
        case SystemExit():
            return PASSED if _success(error.code) else FAILED
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


def _success(code: object) -> bool:
    """Whether an exit status means success; a remote object never does, and is not asked."""
    return code is None or (isinstance(code, int) and code == 0)


def _report(error: BaseException | None, client: ProgramClient) -> dict[str, str]:
    """What explains a failure: the last call, the line that failed, the traceback."""
    if error is None and not client.program_error:
        return {}
    called, got = client.close()
    return {
        "called": called,
        "got": got,
        "trace": _trace(error),
        "line": _line(error),
        "reason": client.tests_error or client.program_error or _missing(error),
    }


def _missing(error: BaseException | None) -> str:
    """The name that the tests use and the program lacks, as a sentence."""
    missing = isinstance(error, NameError) and trace_of(error) is None and error.name
    return f"it defines no {missing}" if missing else ""


def _trace(error: BaseException | None) -> str:
    """The program's own traceback where it raised; otherwise that of the tests, unless they exited with a status."""
    if error is None or isinstance(error, TestsAborted) or _has_printed_reason(error):
        return ""
    program_trace = trace_of(error)
    if program_trace is not None:
        return program_trace
    within = error.__traceback__.tb_next if error.__traceback__ else None
    return "".join(traceback.format_exception(type(error), error, within))[-MAX_TEXT:]


def _has_printed_reason(error: BaseException) -> bool:
    """Whether the tests exited with a number: they have printed the reason."""
    return isinstance(error, SystemExit) and isinstance(error.code, int)


def _line(error: BaseException | None) -> str:
    """The line of the tests at which they failed."""
    frames = traceback.extract_tb(error.__traceback__) if error else []
    lines = [frame.line for frame in frames if frame.filename in (_TESTS, _SETUP)]
    return (lines[-1] or "")[:MAX_TEXT] if lines else ""
