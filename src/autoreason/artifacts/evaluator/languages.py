"""Languages in which an artifact can attack an evaluator, and which of them a file is written in. Pure."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import NamedTuple


class Language(NamedTuple):
    """A language, and how a program in it tries to write its own score."""

    name: str
    words: str
    """Its interpreters, which a file may name in its first line, and the endings of its files."""
    prints: str
    """Code that prints `TEXT`."""
    takeover: str
    """Code that marks `PROBE` where it has the result's descriptor, writes `BEST` to all descriptors and ends."""
    expression: str
    """The same in one line, where a value is expected, without the names that a careful evaluator takes away."""

    def print_code(self, text: str) -> str:
        """Code that prints a text."""
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
