"""Languages in which an artifact can attack an evaluator, and which of them a file is written in. Pure."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import NamedTuple

MARK = "autoreason-probe:"
"""What an attack prints, followed by its name, where it got hold of something."""
IN_PROCESS = "in-process"
"""The name under which it reports that it runs in one process with the evaluator."""


class Language(NamedTuple):
    """A language, and how a program in it tries to write its own score."""

    name: str
    programs: tuple[str, ...]
    """The interpreters, by name; of a file they are in its first line."""
    suffixes: tuple[str, ...]
    comment: str
    prints: str
    """Code that prints `TEXT`."""
    takeover: str
    """Code that reports to `PROBE` that it has the result's descriptor, writes `BEST` to all and ends."""

    def print_code(self, text: str) -> str:
        """Code that prints a text before the program goes on."""
        return self.prints.replace("TEXT", (shlex.quote if self is _SHELL else json.dumps)(text))

    def takeover_code(self, probe: str, best: str) -> str:
        """Code that writes its own score where it can."""
        return self.takeover.replace("PROBE", f"{probe}/{IN_PROCESS}").replace("BEST", best)


_SHELL = Language(
    "shell",
    ("sh", "bash", "dash", "ksh", "zsh"),
    (".sh", ".bash"),
    "#",
    "printf '%s\\n' TEXT",
    """\
if [ -n "$AUTOREASON_RESULT" ]; then : > 'PROBE'; fi
for descriptor in 3 4 5 6 7 8 9; do (echo BEST >&$descriptor) 2>/dev/null; done
exit 0
""",
)
PYTHON = Language(
    "Python",
    ("python3", "python", "pypy3", "pypy"),
    (".py",),
    "#",
    "print(TEXT)",
    f"""\
import os, sys
def _autoreason_takeover():
    own, frame = bool(os.environ.get("AUTOREASON_RESULT")), sys._getframe()
    while frame is not None:
        code, frame = frame.f_code, frame.f_back
        own = own or (code.co_name == "score" and code.co_filename.endswith("/sandbox/scoring.py"))
    if own:
        print({MARK + IN_PROCESS!r}, file=sys.stderr, flush=True)
        try: open("PROBE", "w").close()
        except OSError: pass
    for descriptor in range(3, 21):
        try: os.write(descriptor, b"BEST\\n")
        except OSError: pass
    os._exit(0)
_autoreason_takeover()
""",
)
LANGUAGES = (
    _SHELL,
    PYTHON,
    Language(
        "JavaScript",
        ("node", "nodejs"),
        (".js", ".mjs", ".cjs"),
        "//",
        "console.log(TEXT);",
        """\
(() => {
  const takeOver = files => {
    if (process.env.AUTOREASON_RESULT) try { files.writeFileSync("PROBE", "") } catch {}
    for (let each = 3; each < 10; each++) try { files.writeSync(each, "BEST\\n") } catch {}
    process.exit(0)
  }
  typeof require === "function" ? takeOver(require("fs")) : import("fs").then(takeOver)
})();
""",
    ),
    Language(
        "Perl",
        ("perl",),
        (".pl", ".pm"),
        "#",
        'print TEXT, "\\n";',
        """\
BEGIN {
  if ($ENV{AUTOREASON_RESULT}) { open(my $mark, ">", "PROBE"); }
  for my $each (3..9) { if (open(my $file, ">&=", $each)) { syswrite($file, "BEST\\n"); } }
  exit 0;
}
""",
    ),
    Language(
        "Ruby",
        ("ruby", "jruby"),
        (".rb",),
        "#",
        "puts TEXT",
        """\
begin; File.write("PROBE", "") if ENV["AUTOREASON_RESULT"]; rescue StandardError; end
(3..9).each { |each| begin; IO.for_fd(each, "w", autoclose: false).syswrite("BEST\\n"); rescue StandardError; end }
exit!(0)
""",
    ),
)
_TEXTS = (
    *("", ".md", ".markdown", ".txt", ".text", ".rst", ".tex", ".html", ".htm", ".css", ".svg", ".xml"),
    *(".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".csv", ".tsv"),
    *(".prompt", ".j2", ".jinja", ".tmpl", ".template"),
)  # fmt: skip
"""Endings of what is read, not run."""
_BUILD_FILES = ("makefile", "gnumakefile", "justfile", "dockerfile")
"""Files that are run and have no ending."""


def language_of(path: str, text: str) -> Language | str:
    """The language of a file, by its first line or its ending; the word for it where that is none of these.

    A text that is not run as far as can be told is an empty word.
    """
    name = PurePosixPath(path).name
    if text.startswith("#!"):
        words = [word for word in text[2:].split("\n", 1)[0].split() if not word.startswith("-")]
        return run_by(next((word for word in words if not word.endswith("/env")), ""))
    suffix = PurePosixPath(path).suffix
    known = next((each for each in LANGUAGES if suffix.lower() in each.suffixes), None)
    if known is not None:
        return known
    return suffix or name if suffix.lower() not in _TEXTS or name.lower() in _BUILD_FILES else ""


def run_by(program: str) -> Language | str:
    """The language that a program runs, by its name without its version; that name where it is none of these."""
    name = PurePosixPath(program).name
    bare = re.sub(r"[\d.-]+$", "", name)
    return next((each for each in LANGUAGES if bare in each.programs), name)


def gap_in(found: Language | str, here: Collection[str], what: str) -> str:
    """Why something in this language cannot be attacked, in words; empty where it can."""
    if isinstance(found, str):
        names = ", ".join(language.name for language in LANGUAGES)
        return f"{what} is a {found} program, and attacks are in {names} alone" if found else ""
    return "" if found.name in here else f"{what} is in {found.name}, which cannot be run here"
