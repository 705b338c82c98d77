"""Which modules are there before a program runs; once jailed it can open no file, so it cannot import any other."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from encodings import normalize_encoding
from encodings.aliases import aliases

ALWAYS = (
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
"""What programs use most, and what the interpreter itself imports on the way."""

NOWHERE = "/nonexistent"

OURS = tuple(
    f"autoreason.programs.sandbox.{name}" for name in ("test_driver", "rpc_server", "observation")
)

LATE = ("_pylong", "_pydatetime", "_colorize")
"""What newer interpreters import only when it is needed."""

HIDDEN = {
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
"""What a module imports only when something of it is used."""

ENCODINGS = (
    *("ascii", "cp1251", "cp1252", "cp437", "hex_codec", "idna", "latin_1", "mbcs", "punycode"),
    *("raw_unicode_escape", "rot_13", "unicode_escape", "utf_16", "utf_16_be", "utf_16_le"),
    *("utf_32", "utf_32_be", "utf_32_le", "utf_7", "utf_8_sig", "base64_codec", "zlib_codec"),
)

REFUSED = frozenset(
    {"antigravity", "idlelib", "lib2to3", "this", "tkinter", "turtle", "turtledemo", "_tkinter"}
    | {"ensurepip", "venv", "webbrowser", "pip", "site", "sitecustomize", "usercustomize", "test"}
)
"""Of the standard library, those that do something when imported, or are of no use without a screen."""

_STARTING = frozenset({"__main__", "test", "tests"})
"""Parts of packages that are programs."""

KNOWN = sys.stdlib_module_names - REFUSED

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


def named(source: str) -> Iterator[str]:
    """Modules that a program names in what looks like an import, and what may be modules inside them."""
    for found in _IMPORT.finditer(source.replace("\\\n", " ")):
        package = found["package"]
        if package is not None:
            yield package
            names = found["inside"] or found["names"] or ""
            yield from (f"{package}.{name}" for name in _first_words(names))
        elif found["modules"] is not None:
            yield from _first_words(found["modules"])
        else:
            yield found["called"]


def preload(source: str, *, used: bool = False) -> None:
    """Import what a program is going to import of the standard library, while files can still be read.

    `used`: also what it only uses, as tests do that leave their imports to the program.
    """
    # Modules that look for a home find none: not in the list of users, and no settings of anybody's in it.
    os.environ["HOME"] = NOWHERE
    try:
        _preload(source, _used(source) if used else ())
    finally:
        del os.environ["HOME"]


def _used(source: str) -> Iterator[str]:
    return (found[1] for found in _USED.finditer(source) if found[1] in KNOWN)


def _preload(source: str, used: Iterable[str]) -> None:
    for name in dict.fromkeys((*named(source), *used)):
        parts = name.split(".")
        if parts[0] in KNOWN and not _STARTING.intersection(parts):
            for each in (name, *HIDDEN.get(name, ())):
                _try(each)
    for quoted in _QUOTED.finditer(source):
        spelled = normalize_encoding(quoted[1]).lower()
        codec = aliases.get(spelled, spelled)
        if codec in _CODECS:
            _try(f"encodings.{codec}")


def warm() -> None:
    """Import the usual modules."""
    for name in (*ALWAYS, *OURS, *LATE, *(f"encodings.{each}" for each in ENCODINGS)):
        _try(name)


def _first_words(names: str) -> Iterator[str]:
    for each in _COMMENT.sub("", names).split(","):
        if word := _WORD.match(each):
            yield word[1]


def _try(name: str) -> None:
    parent = sys.modules.get(name.rpartition(".")[0])
    if parent is not None and not hasattr(parent, "__path__"):
        return
    # A module that is not there, or not for this system, is the program's to miss.
    with contextlib.suppress(Exception, SystemExit):
        importlib.import_module(name)
