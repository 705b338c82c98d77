"""Artifacts that try to get a number without earning it, made from the start of a task, and their languages. Pure."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import PurePosixPath
from random import Random
from textwrap import indent
from typing import NamedTuple

from autoreason.artifacts.artifact import Files


class Language(NamedTuple):
    """A language, and how a program in it tries to write its own score."""

    name: str
    words: str
    """Its interpreters, which a file may name in its first line, and the endings of its files."""
    prints: str
    takeover: str
    """Code that marks `PROBE` where it has the result's descriptor, writes `BEST` to all descriptors and ends."""
    expression: str
    """The same in one line, where a value is expected, without the names that a careful evaluator takes away."""

    def print_code(self, text: str) -> str:
        # Perl would put the value of a variable in place of a dollar sign.
        quoted = json.dumps(text).replace("$", r"\x24")
        return self.prints.replace("TEXT", shlex.quote(text) if self.name == "shell" else quoted)


_SHELL = """if [ -n "$AUTOREASON_RESULT" ]; then true > "PROBE"; fi
for descriptor in 3 4 5 6 7 8 9; do (echo BEST >&$descriptor) 2>/dev/null; done
exit 0"""
_SHELL_LINE = _SHELL.replace("\n", "; ")
# An index is computed even in arithmetic; the second half is for make, where `$(if` would be a function.
_SHELL_VALUE = f"x[$(true; {_SHELL_LINE})$(shell sh -c '{_SHELL_LINE.replace('$', '$$')}')0]"
# In the sandbox of functions, which has no environment, the value goes to standard output.
_PYTHON = """import os as _os
if _os.environ.get("AUTOREASON_RESULT"): open("PROBE", "w").close()
if not _os.environ: _os.write(1, b'{"value": "BEST"}')
for _descriptor in range(3, 21):
    try: _os.write(_descriptor, b"BEST\\n")
    except OSError: pass
_os._exit(0)"""
# A class of the module os leads to the builtins where the names of an evaluator's own are all there is.
_PYTHON_VALUE = (
    f'(lambda b: b["exec"]({_PYTHON!r}, {{"__builtins__": b}}))([c for c in ().__class__.__base__'
    '.__subclasses__() if c.__name__ == "_wrap_close"][0].__init__.__globals__["__builtins__"])'
).replace(": ", ":")  # In YAML a colon with a space would end the value.
_JAVASCRIPT_LINES = """if (process.env.AUTOREASON_RESULT) fs.writeFileSync("PROBE", "")
  for (const descriptor of [3, 4, 5, 6, 7, 8, 9]) try { fs.writeSync(descriptor, "BEST\\n") } catch {}
  process.exit(0)"""
_JAVASCRIPT = f"""(take => typeof require === "function" ? take(require("fs")) : import("fs").then(take))(fs => {{
  {_JAVASCRIPT_LINES} }});"""
_FS = 'const fs = process.mainModule ? process.mainModule.require("fs") : process.getBuiltinModule("fs")'
# The constructor of a context's global object is that of the program outside.
_JAVASCRIPT_VALUE = (
    f"globalThis.constructor.constructor({json.dumps(f'{_FS}; {_JAVASCRIPT_LINES}')})()"
)
_PERL = """BEGIN { open(my $mark, ">", "PROBE") if $ENV{AUTOREASON_RESULT};
  for my $descriptor (3..9) { open(my $file, ">&=", $descriptor) && syswrite($file, "BEST\\n") } exit 0 }"""
_RUBY = """File.write("PROBE", "") if ENV["AUTOREASON_RESULT"]
(3..9).each { |descriptor| IO.for_fd(descriptor, "w", autoclose: false).syswrite("BEST\\n") rescue nil }
exit!(0)"""
PYTHON = Language("Python", "python3 python pypy3 pypy .py", "print(TEXT)", _PYTHON, _PYTHON_VALUE)
LANGUAGES = (
    Language(
        "shell", "sh bash dash ksh zsh .sh .bash", "printf '%s\\n' TEXT", _SHELL, _SHELL_VALUE
    ),
    PYTHON,
    Language(
        "JavaScript",
        "node nodejs .js .mjs .cjs",
        "console.log(TEXT);",
        _JAVASCRIPT,
        _JAVASCRIPT_VALUE,
    ),
    Language(
        "Perl", "perl .pl .pm", 'print TEXT, "\\n";', _PERL, f"do {{ {_PERL} }}".replace("\n", " ")
    ),
    Language("Ruby", "ruby jruby .rb", "puts TEXT", _RUBY, f"({_RUBY})".replace("\n", "; ")),
)
_VALUE = re.compile(
    r"""(["'])(?:\\.|(?!\1)[^\\\n])*\1(\s*:)?|(?<=[\w \t][=:])([ \t]*)[^\s"'\[{](?:[^\n]*[^\s,}\]])?$""",
    re.MULTILINE,
)
"""A string, with the colon where it is a key, or what follows a bare key in its line."""
_PLAIN = re.compile(r"""[\s"']*([-+\d.eE_]+|[Tt]rue|[Ff]alse)["']?""")
_TEXTS = (
    *(".md", ".markdown", ".txt", ".text", ".rst", ".tex", ".html", ".htm", ".css", ".svg", ".xml"),
    *(".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".csv"),
    *(".tsv", ".prompt", ".j2", ".jinja", ".tmpl", ".template"),
)
"""Endings of what is read, not run."""


def replace_values(text: str, expression: str, *, plain: bool = False) -> str:
    """A text such as JSON, TOML or lines of `key = value` with an expression as its values.

    Numbers and truth values, which many evaluators convert first, stay if there are others and `plain` is false.
    """

    def replace(found: re.Match[str]) -> str:
        if found[2] or (not plain and _PLAIN.fullmatch(found[0])):
            return found[0]
        return json.dumps(expression) if found[1] else f"{found[3]}{expression}"

    changed = _VALUE.sub(replace, text)
    return changed if plain or changed != text else replace_values(text, expression, plain=True)


def language_of(path: str, text: str) -> Language | str:
    """The language of a file by its first line or its ending; a word for any other, an empty one for a text."""
    name, suffix = PurePosixPath(path).name, PurePosixPath(path).suffix.lower()
    if text.startswith("#!"):
        return run_by(*text[2:].split("\n", 1)[0].split())
    if not suffix:
        # Such as Makefile and Dockerfile.
        return name if name.lower().endswith("file") else ""
    found = next((each for each in LANGUAGES if suffix in each.words.split()), None)
    return found or ("" if suffix in _TEXTS else suffix)


def run_by(*command: str) -> Language | str:
    """The language that a command runs, by the interpreter's name without its version; else that name."""
    names = (PurePosixPath(word).name for word in command if not word.startswith("-"))
    name = next((each for each in names if each != "env"), "")
    bare = re.sub(r"[\d.-]+$", "", name)
    return next((each for each in LANGUAGES if bare in each.words.split()), name)


def gap_in(found: Language | str, here: Collection[str], what: str) -> str:
    """Why something in this language cannot be attacked, in words; empty where it can."""
    if isinstance(found, str):
        names = ", ".join(language.name for language in LANGUAGES)
        return f"{what} is a {found} program, and attacks are in {names} alone" if found else ""
    return "" if found.name in here else f"{what} is in {found.name}, which cannot be run here"


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
    times: int = 1


def attacks_on(
    start: Files, random: Random, *, probe: str, metric: str = "score", best: str = f"{TAKEN:g}"
) -> Iterator[Attack]:
    """Every attack that applies to such an artifact, with marks left in `probe`, and `best` as the value to get."""
    yield Attack("an empty artifact", dict.fromkeys(start, ""), _EARNED)
    letters = "abcdefgh 0123456789\n"
    noise = {path: "".join(random.choices(letters, k=400)) for path in start}
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
        own = indent(names + code.replace("NAME", repr(name)), "    ")
        # Its own failure ends nothing.
        guarded = "try:\n    _autoreason_attack()\nexcept Exception:\n    pass\n"
        body = f"{helper}def _autoreason_attack():\n{own}\n{guarded}"
        times = 2 if name == _KEEPS else 1
        yield Attack(f"an artifact that {name}", _added(start, body), remedy, times)


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
_PRINTED = "read the score from the evaluator's own computation, never what the artifact prints"
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


def _added(start: Files, before: str, after: str = "") -> Files:
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
