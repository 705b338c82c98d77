"""Modules imported before a program runs: once jailed it can open no file, so it can import no other."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from encodings import normalize_encoding
from encodings.aliases import aliases

COMMON_MODULES = (
    "_strptime",
    "array",
    "bisect",
    "cmath",
    "collections.abc",
    "contextlib",
    "copy",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "heapq",
    "io",
    "itertools",
    "json",
    "linecache",
    "math",
    "numbers",
    "operator",
    "queue",
    "random",
    "re",
    "statistics",
    "string",
    "struct",
    "textwrap",
    "threading",
    "traceback",
    "types",
    "typing",
    "unicodedata",
    "warnings",
    "weakref",
)
"""Modules that programs use most, and those the interpreter itself imports at run time."""

MISSING_HOME = "/nonexistent"

OWN_MODULES = tuple(
    f"autoreason.programs.sandbox.{name}"
    for name in ("test_driver", "rpc", "canonical_values", "scoring")
)

LAZY_MODULES = ("_pylong", "_pydatetime", "_colorize")
"""Modules that newer interpreters import only when needed."""

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
"""Modules of packages that are programs."""

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
    try:
        _preload(source, _used(source) if used else ())
    finally:
        del os.environ["HOME"]


def _used(source: str) -> Iterator[str]:
    return (match[1] for match in _USED.finditer(source) if match[1] in IMPORTABLE)


def _preload(source: str, used: Iterable[str]) -> None:
    for name in dict.fromkeys((*imported_modules(source), *used)):
        parts = name.split(".")
        if parts[0] in IMPORTABLE and not _PROGRAM_MODULES.intersection(parts):
            for each in (name, *IMPLIED_IMPORTS.get(name, ())):
                _try_import(each)
    for quoted in _QUOTED.finditer(source):
        spelled = normalize_encoding(quoted[1]).lower()
        codec = aliases.get(spelled, spelled)
        if codec in _CODECS:
            _try_import(f"encodings.{codec}")


def preload_common_modules() -> None:
    """Import the common modules."""
    for name in (
        *COMMON_MODULES,
        *OWN_MODULES,
        *LAZY_MODULES,
        *(f"encodings.{each}" for each in ENCODINGS),
    ):
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
