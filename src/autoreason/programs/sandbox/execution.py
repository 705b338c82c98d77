"""A program run as the interpreter would run a script, its modules imported before. Standard library only."""

from __future__ import annotations

import _sitebuiltins
import atexit
import builtins
import contextlib
import gc
import importlib
import io
import mmap
import os
import re
import resource
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from encodings import normalize_encoding
from encodings.aliases import aliases
from importlib import import_module
from types import CodeType, ModuleType
from typing import Any, NoReturn, Self, TextIO

from autoreason.programs.sandbox.rpc import CHANNEL_RUNNERS

COMMON_MODULES = (
    *("_strptime", "array", "bisect", "cmath", "collections.abc", "contextlib", "copy"),
    *("dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "heapq", "io"),
    *("itertools", "json", "linecache", "math", "numbers", "operator", "queue", "random"),
    *("re", "statistics", "string", "struct", "textwrap", "threading", "traceback", "types"),
    *("typing", "unicodedata", "warnings", "weakref"),
)
"""Modules that programs use most, and those the interpreter itself imports at run time."""

MISSING_HOME = "/nonexistent"

IMPLIED_IMPORTS = {
    "argparse": ("locale", "shutil"),
    "asyncio": ("concurrent.futures.thread",),
    "cProfile": ("pstats",),
    "concurrent.futures": ("concurrent.futures.thread",),
    "email": ("email.feedparser", "email.message", "email.parser", "email.policy"),
    "email.message": ("email.feedparser", "email.parser", "email.policy"),
    "profile": ("pstats",),
    "sqlite3": ("sqlite3.dump",),
    "unittest": ("locale", "shutil", "unittest.async_case"),
    "uuid": ("hashlib",),
    "xml.dom.minidom": ("xml.dom.expatbuilder",),
    "xml.sax": ("xml.sax.expatreader",),
}
"""Modules that a module imports only when some of its functions are used."""

ENCODINGS = (
    *("ascii", "cp1251", "cp1252", "cp437", "hex_codec", "idna", "latin_1", "mbcs", "punycode"),
    *("raw_unicode_escape", "rot_13", "unicode_escape", "utf_16", "utf_16_be", "utf_16_le"),
    *("utf_32", "utf_32_be", "utf_32_le", "utf_7", "utf_8_sig", "base64_codec", "zlib_codec"),
)

REFUSED_MODULES = frozenset(
    {"antigravity", "idlelib", "lib2to3", "this", "tkinter", "turtle", "turtledemo", "_tkinter"}
    | {"ensurepip", "venv", "webbrowser", "pip", "site", "sitecustomize", "usercustomize", "test"}
)
"""Standard modules that act when imported, or need a screen."""

_PROGRAM_MODULES = frozenset({"__main__", "test", "tests"})

IMPORTABLE = sys.stdlib_module_names - REFUSED_MODULES

_IMPORT = re.compile(
    r"""\b(?:from\s+(?P<package>[\w.]+)\s+import[ \t]*(?:\((?P<inside>(?:[^)\#]|\#[^\n]*)*+)|(?P<names>[^\n;]*))
        |import[ \t]+(?P<modules>[^\n;]*)
        |(?:__import__|import_module)\s*\(\s*["'](?P<called>[\w.]+))""",
    re.VERBOSE,
)


_QUOTED = re.compile(r"""["']([A-Za-z][\w-]{1,19})["']""")
_USED = re.compile(r"(?<![\w.])([a-z_]\w*)\s*\.")
_WORD = re.compile(r"\s*([\w.]+)")
_COMMENT = re.compile(r"#[^\n]*")
_CODECS = frozenset(aliases.values())


def imported_modules(source: str) -> Iterator[str]:
    """Modules that a program names in what looks like an import, and possible submodules."""
    for match in _IMPORT.finditer(source.replace("\\\n", " ")):
        package = match["package"]
        if package is not None:
            yield package
            names = match["inside"] or match["names"] or ""
            yield from (f"{package}.{name}" for name in _first_words(names))
        elif match["modules"] is not None:
            yield from _first_words(match["modules"])
        else:
            yield match["called"]


def preload(source: str, *, used: bool = False) -> None:
    """Import the standard modules that a program imports, while files can still be read.

    `used`: also modules it only uses, as tests do that rely on the program's imports.
    """
    # Modules that look for a home folder find none, and so read no user's settings.
    os.environ["HOME"] = MISSING_HOME
    names = [*imported_modules(source), *(_USED.findall(source) if used else ())]
    try:
        for name in dict.fromkeys(names):
            parts = name.split(".")
            if parts[0] in IMPORTABLE and not _PROGRAM_MODULES.intersection(parts):
                for each in (name, *IMPLIED_IMPORTS.get(name, ())):
                    _try_import(each)
        for quoted in _QUOTED.findall(source):
            spelled = normalize_encoding(quoted).lower()
            codec = aliases.get(spelled, spelled)
            if codec in _CODECS:
                _try_import(f"encodings.{codec}")
    finally:
        del os.environ["HOME"]


def preload_common_modules() -> None:
    own = (f"autoreason.programs.sandbox.{name}" for name in ("test_driver", "rpc"))
    # Newer interpreters import these only when needed.
    lazy = ("_pylong", "_pydatetime", "_colorize")
    for name in (*COMMON_MODULES, *own, *lazy, *(f"encodings.{each}" for each in ENCODINGS)):
        _try_import(name)


def _first_words(names: str) -> Iterator[str]:
    for each in _COMMENT.sub("", names).split(","):
        if word := _WORD.match(each):
            yield word[1]


def _try_import(name: str) -> None:
    parent = sys.modules.get(name.rpartition(".")[0])
    if parent is not None and not hasattr(parent, "__path__"):
        return
    # A module that does not exist here fails in the program, where it belongs.
    with contextlib.suppress(Exception, SystemExit):
        importlib.import_module(name)


Runner = Callable[[CodeType], None]

MAX_FRAMES = 60

_FOLDER = __file__.removesuffix("execution.py")

CHANNEL = 3
"""The descriptor of the socket between a candidate and its tests."""
NULL_DEVICE = 4
"""The descriptor of /dev/null, for programs that mention it."""


def add_site_builtins() -> None:
    """The names that the `site` module adds to the built-in ones: `exit`, `quit`, `help`."""
    vars(builtins).update(
        exit=_sitebuiltins.Quitter("exit", "Ctrl-D (i.e. EOF)"),
        quit=_sitebuiltins.Quitter("quit", "Ctrl-D (i.e. EOF)"),
        help=_sitebuiltins._Helper(),
    )


_original_open, _original_os_open = builtins.open, os.open
_original_fstat, _original_stack_size = os.fstat, threading.stack_size
_streams: dict[int, os.stat_result] = {}
_MAX_THREAD_STACK = 128 << 20
"""Bytes of a thread's stack; a reserved stack counts as memory, used or not."""


def _open(file: Any, *args: Any, **kwargs: Any) -> Any:
    if str(file) == "/dev/stdin":
        file, kwargs = 0, kwargs | {"closefd": False}
    elif str(file) == os.devnull:
        file = os.dup(NULL_DEVICE)
    return _original_open(file, *args, **kwargs)


def _open_descriptor(path: Any, *args: Any, **kwargs: Any) -> int:
    if path == os.devnull:
        return os.dup(NULL_DEVICE)
    return _original_os_open(path, *args, **kwargs)


def _ignore_setrlimit(what: int, limits: tuple[int, int]) -> None:
    """Ignore a request for a deeper stack, which the program has already."""


def _fstat(fd: int) -> os.stat_result:
    """Answer how much there is to read where the call is refused because it could describe other files."""
    try:
        return _original_fstat(fd)
    except OSError:
        if fd in _streams:
            return _streams[fd]
        raise


class _Map(mmap.mmap):
    """A memory map that finds the length of its file by the same call."""

    def __new__(cls, fileno: int, length: int, *args: Any, **kwargs: Any) -> Self:
        if length == 0 and fileno in _streams:
            length = _streams[fileno].st_size
        return super().__new__(cls, fileno, length, *args, **kwargs)


def _stack_size(size: int = 0) -> int:
    """Limit the size: programs often ask for half a gigabyte."""
    return _original_stack_size(min(size, _MAX_THREAD_STACK))


_NULL_DEVICE_WORDS = ("/dev/null", "devnull")
_PATCHES: tuple[tuple[str, ModuleType, str, Any], ...] = (
    *(
        (word, module, "open", _open)
        for word in ("/dev/stdin", *_NULL_DEVICE_WORDS)
        for module in (builtins, io)
    ),
    *((word, os, "open", _open_descriptor) for word in _NULL_DEVICE_WORDS),
    ("fstat", os, "fstat", _fstat),
    ("mmap", mmap, "mmap", _Map),
    ("setrlimit", resource, "setrlimit", _ignore_setrlimit),
    ("stack_size", threading, "stack_size", _stack_size),
)
"""A word in a program, and the attribute that is replaced where the program contains it."""


def patch_getcwd() -> None:
    """Let `os.getcwd` answer where the kernel cannot: the current folder may have been removed."""
    os.getcwd = lambda: "/"


def needs_null_device(source: str) -> bool:
    return any(word in source for word in _NULL_DEVICE_WORDS)


def note_streams(source: str) -> None:
    if "fstat" in source or "mmap" in source:
        _streams.update((descriptor, os.fstat(descriptor)) for descriptor in range(3))


def apply_patches(source: str) -> None:
    """Make harmless calls that the jail refuses succeed. Never before the limits are set."""
    for word, module, name, replacement in _PATCHES:
        if word in source:
            setattr(module, name, replacement)


def open_streams() -> None:
    """Open standard streams over descriptors 0, 1 and 2, as the interpreter does, at the start of whatever they are."""
    for descriptor, mode, name in ((0, "r", "stdin"), (1, "w", "stdout"), (2, "w", "stderr")):
        stream = _stream(descriptor, mode, f"<{name}>")
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def runner_for(role: str) -> Runner:
    """The function that runs code in this role; called while files can still be read."""
    if role not in CHANNEL_RUNNERS:
        return _as_main
    module, name = CHANNEL_RUNNERS[role]
    function = getattr(import_module(f"autoreason.programs.sandbox.{module}"), name)
    return lambda code: function(code, CHANNEL)


def run(code: CodeType, runner: Runner) -> NoReturn:
    status = 0
    try:
        runner(code)
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


def _stream(descriptor: int, mode: str, name: str) -> TextIO:
    errors = "backslashreplace" if descriptor == 2 else "strict"
    newline = None if mode == "r" else "\n"
    raw = io.FileIO(descriptor, mode, closefd=False)
    raw.name = name
    buffer = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
    stream = io.TextIOWrapper(buffer, "utf-8", errors, newline, line_buffering=descriptor == 2)
    # A common template for fast reading checks it.
    vars(stream)["mode"] = mode
    return stream


def _status(stop: SystemExit) -> int:
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        # An integer too large for C is -1, as in the interpreter.
        return stop.code & 0xFF if -(1 << 63) <= stop.code < 1 << 63 else 255
    with contextlib.suppress(Exception):
        print(stop.code, file=sys.stderr)
    return 1


def _report(error: BaseException) -> None:
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_FOLDER):
        trace = trace.tb_next
    with contextlib.suppress(BaseException):
        if sys.excepthook is not sys.__excepthook__:
            sys.excepthook(type(error), error, trace)
            return
        # The built-in hook would look for the source in a file.
        traceback.print_exception(type(error), error, trace, limit=-MAX_FRAMES)
        return
    with contextlib.suppress(BaseException):
        os.write(2, f"{type(error).__name__}\n".encode())


def _finish(status: int) -> int:
    """Do what the interpreter does at exit, as far as it can be observed."""
    with contextlib.suppress(BaseException):
        threading._shutdown()  # type: ignore[attr-defined]
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()
    flushed = _flush()
    if len(sys._current_frames()) == 1:
        _drop_globals()
        flushed = _flush() and flushed
    return status if flushed else 120


def _drop_globals() -> None:
    """Drop a program's globals, so that files it opened over a descriptor write their buffers."""
    with contextlib.suppress(BaseException):
        # The program's replacements may no longer work without its globals.
        sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
        # All at once and not name by name: the last write may need other names.
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
