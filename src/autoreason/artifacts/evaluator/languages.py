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

    def print_code(self, text: str) -> str:
        """Code that prints a text."""
        # Perl would put the value of a variable in place of a dollar sign.
        quoted = json.dumps(text).replace("$", r"\x24")
        return self.prints.replace("TEXT", shlex.quote(text) if self.name == "shell" else quoted)


_SHELL = """if [ -n "$AUTOREASON_RESULT" ]; then : > 'PROBE'; fi
for descriptor in 3 4 5 6 7 8 9; do (echo BEST >&$descriptor) 2>/dev/null; done
exit 0"""
# In the sandbox of functions, which has no environment, the value goes to standard output.
_PYTHON = """import os as _os
if _os.environ.get("AUTOREASON_RESULT"): open("PROBE", "w").close()
if not _os.environ: _os.write(1, b'{"value": "BEST"}')
for _descriptor in range(3, 21):
    try: _os.write(_descriptor, b"BEST\\n")
    except OSError: pass
_os._exit(0)"""
_JAVASCRIPT = """(take => typeof require === "function" ? take(require("fs")) : import("fs").then(take))(fs => {
  if (process.env.AUTOREASON_RESULT) fs.writeFileSync("PROBE", "")
  for (const descriptor of [3, 4, 5, 6, 7, 8, 9]) try { fs.writeSync(descriptor, "BEST\\n") } catch {}
  process.exit(0) });"""
_PERL = """BEGIN { open(my $mark, ">", "PROBE") if $ENV{AUTOREASON_RESULT};
  for my $descriptor (3..9) { open(my $file, ">&=", $descriptor) && syswrite($file, "BEST\\n") } exit 0 }"""
_RUBY = """File.write("PROBE", "") if ENV["AUTOREASON_RESULT"]
(3..9).each { |descriptor| IO.for_fd(descriptor, "w", autoclose: false).syswrite("BEST\\n") rescue nil }
exit!(0)"""
PYTHON = Language("Python", "python3 python pypy3 pypy .py", "print(TEXT)", _PYTHON)
LANGUAGES = (
    Language("shell", "sh bash dash ksh zsh .sh .bash", "printf '%s\\n' TEXT", _SHELL),
    PYTHON,
    Language("JavaScript", "node nodejs .js .mjs .cjs", "console.log(TEXT);", _JAVASCRIPT),
    Language("Perl", "perl .pl .pm", 'print TEXT, "\\n";', _PERL),
    Language("Ruby", "ruby jruby .rb", "puts TEXT", _RUBY),
)
_TEXTS = (
    *(".md", ".markdown", ".txt", ".text", ".rst", ".tex", ".html", ".htm", ".css", ".svg", ".xml"),
    *(".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".csv"),
    *(".tsv", ".prompt", ".j2", ".jinja", ".tmpl", ".template"),
)
"""Endings of what is read, not run."""


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
