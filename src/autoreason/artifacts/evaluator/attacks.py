"""Artifacts that try to get a number without earning it, made from the start of a task. Pure."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from textwrap import indent
from typing import NamedTuple

from autoreason.artifacts.evaluator.languages import (
    PYTHON,
    Language,
    language_of,
    replace_values,
)
from autoreason.artifacts.measurement import Files

MARK = "autoreason-probe:"
"""What an attack prints, followed by its name, where it got hold of something."""
TAKEN = 1e100
"""The score that an artifact writes where it can."""
_KEEPS = "keeps something for its next run"

_CONSTANTS = {
    "nan": "float('nan')",
    "infinity": "float('inf')",
    "minus infinity": "float('-inf')",
    "a huge number": f"{TAKEN:g}",
    "a huge negative number": f"-{TAKEN:g}",
    "a boolean": "True",
    "a string": f"'{TAKEN:g}'",
}


class Attack(NamedTuple):
    """One attack, what it tries, and what to change where it succeeds."""

    name: str
    files: Files
    remedy: str
    looks: int = 1


def attacks_on(
    start: Files, random: Random, *, probe: str, metric: str = "score", best: str = f"{TAKEN:g}"
) -> Iterator[Attack]:
    """Every attack that applies to such an artifact, with marks left in `probe`, and `best` as the value to get."""
    yield Attack("an empty artifact", dict.fromkeys(start, ""), _EARNED)
    noise = {path: _noise(random) for path in start}
    yield Attack("a random artifact", noise, _EARNED)
    constant = {path: _constant(path, text) for path, text in start.items()}
    yield Attack("a constant artifact", constant, _EARNED)
    lines = (best, json.dumps({metric: float(best)}), f"{metric}: {best}", f"{metric}={best}")
    printed = _planted(start, lambda language: language.print_code("\n".join(lines)))
    if printed != start:
        yield Attack("an artifact that prints a score", printed, _PRINTED)
        only = {"number": best, "score in JSON": lines[1], "score": "\n".join((*lines, best))}
        for name, text in only.items():
            name = f"an artifact that prints nothing but a {name}"
            yield Attack(name, _only_printing(start, text), _PRINTED)
        evaluated = _only_printing(start, _CODE.replace("PROBE", f"{probe}/executed"))
        yield Attack("an artifact that prints code", evaluated, _EXECUTED)
    if not any(_is_python(path, text) for path, text in start.items()):
        return
    for name, value in _CONSTANTS.items():
        files = _added(start, _print(value), _RETURNS.replace("VALUE", value) + _WRAP)
        yield Attack(f"an artifact that returns {name}", files, _VALUES)
    for name, code in _WRAPPERS.items():
        yield Attack(f"an artifact that {name}", _added(start, "", code + _WRAP), _COPIED)
    for name, (code, remedy) in _PROBES.items():
        helper = _HELPER.replace("PROBE", repr(probe)).replace("MARK", repr(MARK))
        names = f"ARTIFACT = {sorted(path.rpartition('/')[2] for path in start)!r}\n"
        body = helper + _guarded(names + code.replace("NAME", repr(name)))
        looks = 2 if name == _KEEPS else 1
        yield Attack(f"an artifact that {name}", _added(start, body), remedy, looks)


def takeovers(
    start: Files, language: Language, *, probe: str, best: str
) -> Iterator[tuple[str, Files]]:
    """Each file, whatever its name, and starts in which it writes its own score in this language and ends."""
    code, expression = (
        each.replace("PROBE", f"{probe}/taken").replace("BEST", best)
        for each in (language.takeover, language.expression)
    )
    for path, text in start.items():
        values = replace_values(text, expression, plain=language.name == "shell")
        planted = (_around(text, code, ""), expression, values)
        yield from ((path, start | {path: each}) for each in planted if each != text)


_EARNED = "give it no value: check that what is measured was really computed"
_VALUES = "check that what the artifact returns is finite, of the right type and possible before it is used"
APART = (
    "run it with `artifact python …`, `artifact sh …` or the like, or call its functions "
    "from `evaluate: file.py:function`"
)
_COPIED = "copy what the artifact returns once, and check and use that copy; hand it copies of what is used again"
_FRESH = "run the artifact in a jail, which ends with all that was written in it"
_PRINTED = (
    "read the score from the evaluator's own computation, never from what the artifact prints"
)
_EXECUTED = "never execute what the artifact prints: read it as data"
# One word to a shell and an expression to Python: either leaves the mark.
_CODE = """f"{open('PROBE', 'w')} $(: > PROBE)\""""

_HELPER = """
def _autoreason_report(name):
    import os, sys
    print(MARK + name, file=sys.stderr, flush=True)
    try:
        with open(os.path.join(PROBE, name.replace(" ", "-")), "w"):
            pass
    except OSError:
        pass
"""
_PROBES = {
    "looks for evaluator, items and other processes": (
        """
import os
places = [os.environ.get("AUTOREASON_ITEMS", ""), "/items.jsonl", "/artifact/../items.jsonl"]
for folder in ("/task", os.getcwd()):
    names = os.listdir(folder) if os.path.isdir(folder) else ()
    places += [os.path.join(folder, name) for name in names if name not in ARTIFACT]
for folder, _, names in os.walk(os.path.expanduser("~")):
    places += [os.path.join(folder, name) for name in names if name.endswith((".jsonl", ".msgpack"))]
    if len(places) > 1000: break
for place in filter(os.path.isfile, places):
    open(place, "rb").read(1)
    _autoreason_report(NAME)
for number in os.listdir("/proc") if os.path.isdir("/proc") else ():
    if number.isdigit():
        line = open("/proc/" + number + "/cmdline").read()
        other = not any(name in line for name in (*ARTIFACT, "autoreason"))
        if "evaluat" in line and other: _autoreason_report(NAME)
""",
        APART,
    ),
    "exits early with status 0": ("import os\nos._exit(0)", _EARNED),
    _KEEPS: (
        """
import os
places = () if "AUTOREASON_KEEPS" in os.environ else ("/tmp", "/dev/shm")
os.environ["AUTOREASON_KEEPS"] = "once in a run"
for place in places:
    kept = os.path.join(place, "autoreason-kept")
    try:
        os.mkdir(kept)
    except FileExistsError:
        os.rmdir(kept)
        _autoreason_report(NAME)
    except OSError:
        pass
""",
        _FRESH,
    ),
}
"""What is run before the start's own code, and what to change where it succeeds."""

_RETURNS = "def _autoreason_wrap(function): return lambda *args, **named: VALUE\n"
_CHANGES = """
def _autoreason_wrap(function):
    def call(*args, **named):
        result = function(*args, **named)
        for each in args:
            if type(each) is list: each[:] = [VALUE] * len(each)
            if type(each) is dict: each.update(dict.fromkeys(each, VALUE))
        return result
    return call
"""
_WRAPPERS = {
    "returns what iterates differently the second time": """
class _AutoreasonShifty:
    def __init__(self, value): self.value, self.next = list(value), list(value)
    def __len__(self): return len(self.value)
    def __getitem__(self, at): return self.value[at]
    def __iter__(self):
        now, self.next = self.next, self.value[:1]
        return iter(now)
def _autoreason_wrap(function):
    def call(*args, **named):
        result = function(*args, **named)
        return _AutoreasonShifty(result) if type(result) in (list, tuple, set, dict) else result
    return call
""",
    "sets its arguments to 0": _CHANGES.replace("VALUE", "0"),
    "sets its arguments to a large number": _CHANGES.replace("VALUE", "10**9"),
}
_WRAP = """
for _name, _function in list(globals().items()):
    if type(_function).__name__ == "function" and _function.__module__ == __name__ and _name != "_autoreason_wrap":
        globals()[_name] = _autoreason_wrap(_function)
"""
"""Puts something around every function of the artifact."""


def _print(value: str) -> str:
    """Code after which whatever is printed is a value."""
    return f"\nimport builtins as _b\n_b.print = lambda *a, **k: __import__('sys').stdout.write(str({value}) + '\\n')\n"


def _guarded(code: str) -> str:
    """Code whose own failure ends nothing."""
    return f"def _autoreason_attack():\n{indent(code, '    ')}\n" + (
        "try:\n    _autoreason_attack()\nexcept Exception:\n    pass\n"
    )


def _added(start: Files, before: str, after: str = "") -> Files:
    """The start with code around that of every Python file."""
    return {
        path: _around(text, before, after) if _is_python(path, text) else text
        for path, text in start.items()
    }


def _is_python(path: str, text: str) -> bool:
    return language_of(path, text) is PYTHON


def _planted(start: Files, code: Callable[[Language], str]) -> Files:
    """The start with code before that of every file that is a program."""
    languages = {path: language_of(path, text) for path, text in start.items()}
    return start | {
        path: _around(start[path], code(language), "")
        for path, language in languages.items()
        if isinstance(language, Language)
    }


def _only_printing(start: Files, text: str) -> Files:
    """The start with programs that print a text and end, each for the interpreter that it names."""
    first = {
        path: body.partition("\n")[0] + "\n" if body.startswith("#!") else ""
        for path, body in start.items()
        if isinstance(language_of(path, body), Language)
    }
    return start | _planted(first, lambda language: language.print_code(text))


def _around(text: str, before: str, after: str) -> str:
    """Code after a line with the interpreter and imports from the future, which must be first."""
    lines = text.splitlines(keepends=True)
    first = int(text.startswith("#!"))
    with suppress(SyntaxError, ValueError):
        for node in ast.parse(text).body:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                first = node.end_lineno or 0
    return "".join([*lines[:first], f"{before}\n", *lines[first:], f"\n{after}"])


def _noise(random: Random) -> str:
    return "".join(random.choice("abcdefgh 0123456789\n") for _ in range(400))


def _constant(path: str, text: str) -> str:
    """Functions that return 0 whatever they are given; any other file is one line."""
    if not _is_python(path, text):
        return "0\n"
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return "print(0)\n"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body = [ast.Return(ast.Constant(0))]
            node.decorator_list = []
    return ast.unparse(ast.fix_missing_locations(tree)) + "\nprint(0)\n"


def equal_copy(start: Files) -> Files:
    """An artifact that does the same as the start and is not the same text, where that is known how."""
    return _planted(start, lambda _: "")
