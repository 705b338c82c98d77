"""What an artifact could do beside an evaluator that is a command: which languages run there, what its jail shows."""

from __future__ import annotations

import shlex
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


def find_reach(source: EvaluationSource, start: Files, programs: Programs, jail: Jail) -> Reach:
    """Try every interpreter in the artifact's jail, and look for the task's own files from there."""
    script = [
        f"{program} </dev/null >/dev/null 2>&1 && echo {language.name}"
        for language in LANGUAGES
        for program in language.words.split()
        if not program.startswith(".")
    ]
    own = [str(Path(source.folder, name)) for name in source.files] if source.folder else []
    script += [f"test ! -r {shlex.quote(path)} || echo {shlex.quote(path)}" for path in own]
    command, streams = ["sh", "-c", "\n".join(script)], (-3, -1, -3)
    process = jail.start(command, {"PATH": programs.path}, streams=streams)
    output, _ = process.communicate()
    leave(process.pid)
    found = dict.fromkeys(output.decode(errors="replace").splitlines())
    here = [language.name for language in LANGUAGES if language.name in found]
    gap = next(filter(None, _gaps(source, start, programs.command, here)), "")
    return Reach(languages=here, gap=gap, exposed=[path for path in own if path in found])


def _gaps(source: EvaluationSource, start: Files, program: str, here: list[str]) -> Iterator[str]:
    """Why files of the evaluator or the artifact cannot be attacked in their own language."""
    words = [word.removeprefix("./") for word in shlex.split(source.evaluate)]
    named = {word: source.files[word] for word in words if word in source.files}
    own = [language_of(path, body.decode(errors="replace")) for path, body in named.items()]
    if not any(isinstance(each, Language) for each in own):
        first = ""
        with suppress(OSError), Path(program).open("rb") as file:
            first = file.readline(200).decode(errors="replace")
        own.append(language_of(program, first) if first.startswith("#!") else run_by(program))
    yield from (gap_in(each, here, "the evaluator") for each in own)
    yield from (gap_in(language_of(path, text), here, path) for path, text in start.items())
