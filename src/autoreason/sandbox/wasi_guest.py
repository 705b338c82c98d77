"""Runs inside WebAssembly, as `-c`, around a program: makes its world look like a script's and says what it lacked.

Standard library only, and none of our modules but those that the door brings.
"""

from __future__ import annotations

import linecache
import os
import sys
from types import CodeType, ModuleType, SimpleNamespace

import _host

# Not imported here: it takes a third of the time in which an interpreter starts.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

NAME = "solution.py"
_CHANNEL = 3
_FOLDER = "autoreason.sandbox"


def main() -> None:
    """Run what the door brings; how it ends is how this ends."""
    part, size = sys.argv[1:]
    source = _host.call(b"s")
    _look_like_a_script(source, int(size))
    try:
        code = compile(source, NAME, "exec", dont_inherit=True)
        _START[part](code)
    except SystemExit:
        raise
    except BaseException as error:
        _note(error)
        _print(error)
        sys.exit(1)


def _look_like_a_script(source: bytes, size: int) -> None:
    """What programs written for a judge's machine rely on."""
    sys.argv[:] = [NAME]
    sys.set_int_max_str_digits(0)
    lines = source.decode("utf-8", "replace").splitlines(keepends=True)
    linecache.cache[NAME] = (len(source), None, lines, NAME)
    if b"threading" in source:
        _call_threads_with_a_deep_stack()
    real = os.fstat

    def fstat(fd: int) -> os.stat_result:
        # Fast readers take as many bytes as standard input is said to have.
        return os.stat_result((0o100600, 0, 0, 1, 0, 0, size, 0, 0, 0)) if fd == 0 else real(fd)

    os.fstat = fstat


def _call_threads_with_a_deep_stack() -> None:
    """A thread that is made for the depth of its stack is called instead; there are no others."""
    import threading

    thread: Any = threading.Thread
    start = thread.start
    wanted = []

    def stack_size(size: int = 0) -> int:
        wanted.append(size)
        return 0

    def call(self: Any) -> None:
        if not any(wanted):
            start(self)
        self._started.set()
        self.run()

    threading.stack_size = stack_size
    thread.start = call
    thread.join = lambda *_, **__: None
    thread.is_alive = lambda _: False


def _run_script(code: CodeType) -> None:
    module = ModuleType("__main__")
    module.__file__ = NAME
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


def _serve(code: CodeType) -> None:
    _module("values").os = _door_as_a_file()
    _module("depth")
    _module("serving").serve(code, _CHANNEL)


def _drive(code: CodeType) -> None:
    _module("values").os = _door_as_a_file()
    _module("warm")
    _module("asking")
    _module("observing")
    _module("driving").drive(code, _CHANNEL)


_START: dict[str, Callable[[CodeType], None]] = {
    "program": _run_script,
    "candidate": _serve,
    "tests": _drive,
    "checker": _run_script,
}


def _door_as_a_file() -> Any:
    def write(_: int, data: bytes) -> int:
        _host.call(b"w" + bytes(data))
        return len(data)

    def read(_: int, size: int) -> bytes:
        return bytes(_host.call(b"r%d" % size))

    return SimpleNamespace(write=write, read=read)


def _module(name: str) -> Any:
    """One of our own modules, from the source that the door brings."""
    for package in (_FOLDER.partition(".")[0], _FOLDER):
        sys.modules.setdefault(package, ModuleType(package))
    module = ModuleType(f"{_FOLDER}.{name}")
    module.__file__ = f"{name}.py"
    sys.modules[module.__name__] = module
    source = _host.call(b"m" + name.encode())
    exec(compile(source, module.__file__, "exec", dont_inherit=True), module.__dict__)
    return module


def _note(error: BaseException) -> None:
    """Tell the host which limit was met, or what a program may expect and this place has not."""
    message = str(error)
    if isinstance(error, MemoryError):
        _host.call(b"nmemory")
    elif isinstance(error, RecursionError) and message.startswith("Stack overflow"):
        _host.call(b"nstack")
    elif isinstance(error, RuntimeError) and message == "can't start new thread":
        _host.call(b"nthreads")
    elif isinstance(error, OSError) and "asyncio" in sys.modules:
        _host.call(b"nasyncio")


def _print(error: BaseException) -> None:
    """The usual traceback, from the program's own first line on."""
    within = error.__traceback__
    while within and within.tb_frame.f_globals is globals():
        within = within.tb_next
    sys.excepthook(type(error), error.with_traceback(within), within)


if __name__ == "__main__":
    main()
