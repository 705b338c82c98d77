"""What an artifact could do beside an evaluator that is a command: which languages run there, what its jail shows."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from autoreason.artifacts.evaluator.command_jail import Jail, Programs
from autoreason.artifacts.evaluator.evaluator_client import Reach
from autoreason.artifacts.evaluator.jail_watch import leave
from autoreason.artifacts.evaluator.languages import (
    LANGUAGES,
    Language,
    gap_in,
    language_of,
    run_by,
)
from autoreason.artifacts.measurement import Files
from autoreason.artifacts.research_task import EvaluationSource

_SEPARATOR = "--"


def find_reach(source: EvaluationSource, start: Files, programs: Programs, jail: Jail) -> Reach:
    """Try every interpreter in the artifact's jail, and look for the task's folder from there."""
    tries = [
        f"{program} </dev/null >/dev/null 2>&1 && echo {shlex.quote(language.name)}"
        for language in LANGUAGES
        for program in language.programs
    ]
    script = "\n".join([*tries, f"echo {_SEPARATOR}", f"ls -A {shlex.quote(source.folder)}"])
    nothing, pipe = subprocess.DEVNULL, subprocess.PIPE
    streams = (nothing, pipe, nothing)
    process = jail.start(["sh", "-c", script], {"PATH": programs.path}, streams=streams)
    output, _ = process.communicate(timeout=source.limits.seconds)
    leave(process.pid)
    names, _, listed = output.decode(errors="replace").partition(f"{_SEPARATOR}\n")
    here = tuple(dict.fromkeys(names.split()))
    folder = Path(source.folder)
    mounted = {
        Path(each.inside).relative_to(folder).parts[0]
        for each in jail.mounts
        if source.folder and Path(each.inside).is_relative_to(folder)
    }
    return Reach(
        languages=here,
        gap=next(filter(None, _gaps(source, start, programs, here)), ""),
        exposed=tuple(name for name in listed.splitlines() if name not in mounted),
    )


def _gaps(
    source: EvaluationSource, start: Files, programs: Programs, here: tuple[str, ...]
) -> Iterator[str]:
    """Why files of the artifact or the evaluator cannot be attacked in their own language."""
    words = (word.removeprefix("./") for word in shlex.split(source.evaluate))
    named = {
        word: source.files[word].decode(errors="replace") for word in words if word in source.files
    }
    own = [language_of(path, text) for path, text in named.items()]
    if not any(isinstance(each, Language) for each in own):
        own.append(_language_of_program(programs.command))
    for each in own:
        yield gap_in(each, here, "the evaluator")
    for path, text in start.items():
        yield gap_in(language_of(path, text), here, path)


def _language_of_program(path: str) -> Language | str:
    """The language of a program that is a script, or else the one that it runs."""
    first = ""
    with suppress(OSError), Path(path).open("rb") as file:
        first = file.readline(200).decode(errors="replace")
    return language_of(path, first) if first.startswith("#!") else run_by(path)
