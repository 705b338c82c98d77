"""A program run as the interpreter would run a script, in a process that was forked. Standard library only."""

from __future__ import annotations

import _sitebuiltins
import atexit
import builtins
import contextlib
import gc
import io
import linecache
import mmap
import os
import resource
import sys
import threading
import traceback
from collections.abc import Callable
from functools import partial
from itertools import islice
from types import CodeType, ModuleType
from typing import Any, NoReturn, Self, TextIO

from autoreason.programs.sandbox.depth import DEEP, rightly_named

Way = Callable[[CodeType], None]

FRAMES = 60
"""Frames of a cut traceback that are shown: the last ones."""

_OURS = __file__.removesuffix("running.py")

CHANNEL = 3
"""The descriptor of the socket between a candidate and its tests."""
NOTHING = 4
"""The descriptor of /dev/null, for programs that name it."""


def remember(name: str, source: str) -> None:
    """Let tracebacks show a program's lines, although there is no such file."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)


def add_site_builtins() -> None:
    """The names that the `site` module adds to the built-in ones: `exit`, `quit`, `help`."""
    vars(builtins).update(
        exit=_sitebuiltins.Quitter("exit", "Ctrl-D (i.e. EOF)"),
        quit=_sitebuiltins.Quitter("quit", "Ctrl-D (i.e. EOF)"),
        help=_sitebuiltins._Helper(),
    )


_usual_open, _usual_descriptor = builtins.open, os.open
_usual_fstat, _usual_stack_size = os.fstat, threading.stack_size
_streams: dict[int, os.stat_result] = {}
"""What the standard streams were like at the start."""
_DEEP_ENOUGH = 128 << 20
"""Bytes of a thread's stack; room that is asked for counts as memory, used or not."""


def _open(file: Any, *args: Any, **kwargs: Any) -> Any:
    if str(file) == "/dev/stdin":
        file, kwargs = 0, kwargs | {"closefd": False}
    elif str(file) == os.devnull:
        file = os.dup(NOTHING)
    return _usual_open(file, *args, **kwargs)


def _open_descriptor(path: Any, *args: Any, **kwargs: Any) -> int:
    if path == os.devnull:
        return os.dup(NOTHING)
    return _usual_descriptor(path, *args, **kwargs)


def _keep_limits(what: int, limits: tuple[int, int]) -> None:
    """Programs ask for a deeper stack, which they have already."""


def _fstat(fd: int) -> os.stat_result:
    """Programs ask how much there is to read, by a call that is refused where it could tell of other files too."""
    try:
        return _usual_fstat(fd)
    except OSError:
        if fd in _streams:
            return _streams[fd]
        raise


class _Map(mmap.mmap):
    """Finds out by the same call how long what it maps is."""

    def __new__(cls, fileno: int, length: int, *args: Any, **kwargs: Any) -> Self:
        """A map of a standard stream is as long as that was at the start."""
        if length == 0 and fileno in _streams:
            length = _streams[fileno].st_size
        return super().__new__(cls, fileno, length, *args, **kwargs)


def _stack_size(size: int = 0) -> int:
    """Programs ask for half a gigabyte, to be on the safe side."""
    return _usual_stack_size(min(size, _DEEP_ENOUGH))


_WORDS_FOR_NOTHING = ("/dev/null", "devnull")
_ACCOMMODATED: tuple[tuple[str, ModuleType, str, Any], ...] = (
    *(
        (word, module, "open", _open)
        for word in ("/dev/stdin", *_WORDS_FOR_NOTHING)
        for module in (builtins, io)
    ),
    *((word, os, "open", _open_descriptor) for word in _WORDS_FOR_NOTHING),
    ("fstat", os, "fstat", _fstat),
    ("mmap", mmap, "mmap", _Map),
    ("setrlimit", resource, "setrlimit", _keep_limits),
    ("stack_size", threading, "stack_size", _stack_size),
)
"""Words of a program, and what is put in whose place where it has them."""


def stay_at_the_root() -> None:
    """Let programs ask where they are, also where the kernel could not tell: their folder may be no longer there."""
    os.getcwd = lambda: "/"


def needs_nothing(source: str) -> bool:
    """Whether a program may open /dev/null."""
    return any(word in source for word in _WORDS_FOR_NOTHING)


def accommodate(source: str) -> None:
    """Let pass what some programs do first, and what changes nothing here. Never before the limits are set."""
    for word, module, name, ours in _ACCOMMODATED:
        if word in source:
            setattr(module, name, ours)


def open_streams() -> None:
    """Standard streams over descriptors 0, 1 and 2, as the interpreter makes them."""
    for descriptor, mode, name in ((0, "r", "stdin"), (1, "w", "stdout"), (2, "w", "stderr")):
        _streams[descriptor] = os.fstat(descriptor)
        stream = _stream(descriptor, mode, f"<{name}>")
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def way_of(part: str) -> Way:
    """How a part is run; called while files can still be read."""
    if part == "candidate":
        from autoreason.programs.sandbox.rpc_server import serve

        return partial(_over_channel, serve)
    if part == "tests":
        from autoreason.programs.sandbox.test_driver import drive

        return partial(_over_channel, drive)
    return _as_main


def run(code: CodeType, way: Way) -> NoReturn:
    """Run a program and end this process as the interpreter would."""
    status = 0
    try:
        way(code)
    except SystemExit as stop:
        status = _status(stop)
    except BaseException as error:
        status = 1
        _report(error)
    os._exit(_finish(status))


def _as_main(code: CodeType) -> None:
    main = ModuleType("__main__")
    main.__file__ = code.co_filename
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    sys.argv = [code.co_filename]
    exec(code, main.__dict__)


def _over_channel(hold: Callable[[CodeType, int], None], code: CodeType) -> None:
    hold(code, CHANNEL)


def _stream(descriptor: int, mode: str, name: str) -> TextIO:
    errors = "backslashreplace" if descriptor == 2 else "strict"
    newline = None if mode == "r" else "\n"
    raw = io.FileIO(descriptor, mode, closefd=False)
    raw.name = name
    buffer = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
    stream = io.TextIOWrapper(buffer, "utf-8", errors, newline, line_buffering=descriptor == 2)
    # The usual template for fast reading looks at it.
    vars(stream)["mode"] = mode
    return stream


def _status(stop: SystemExit) -> int:
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        # What is no C integer is -1, as the interpreter has it.
        return stop.code & 0xFF if -(1 << 63) <= stop.code < 1 << 63 else 255
    with contextlib.suppress(Exception):
        print(stop.code, file=sys.stderr)
    return 1


def _report(error: BaseException) -> None:
    error = rightly_named(error)
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OURS):
        trace = trace.tb_next
    with contextlib.suppress(BaseException):
        if sys.excepthook is not sys.__excepthook__:
            sys.excepthook(type(error), error, trace)
            return
        # The built-in hook would look for the source in a file.
        deep = next(islice(traceback.walk_tb(trace), DEEP, None), None) is not None
        traceback.print_exception(type(error), error, trace, limit=-FRAMES if deep else None)
        return
    with contextlib.suppress(BaseException):
        os.write(2, f"{type(error).__name__}\n".encode())


def _finish(status: int) -> int:
    """What the interpreter does at the end, less the parts that nobody can see."""
    with contextlib.suppress(BaseException):
        threading._shutdown()  # type: ignore[attr-defined]
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()
    flushed = _flush()
    if len(sys._current_frames()) == 1:
        _let_go()
        flushed = _flush() and flushed
    return status if flushed else 120


def _let_go() -> None:
    """Drop a program's globals: files it opened over a descriptor write what they still hold."""
    with contextlib.suppress(BaseException):
        # What a program put in their place may no longer work without its globals.
        sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
        # All at once and not name by name: what is written last may need other names for it.
        del sys.modules["__main__"]
        gc.collect()


def _flush() -> bool:
    flushed = True
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not getattr(stream, "closed", False):
                stream.flush()
        except BaseException:
            flushed = flushed and stream is sys.stderr
    return flushed
