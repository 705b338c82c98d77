"""Checking a host: a test word in a project's instructions, which a process of its own takes out whatever happens."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from time import sleep, time
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.files import ServerUrl, check_output, data_folder, write_atomically
from autoreason.job_types import HostCheck
from autoreason.journal import Journal
from autoreason.journal.sqlite import lock_file, make_folder
from autoreason.run.host import LEASE, give_up
from autoreason.run.prepared import ModelChoice, PreparedRun, prepare
from autoreason.run.result import Result
from autoreason.settings import HOST
from autoreason.studies.host_check import TOO_LATE
from autoreason.task import Task

_LINE = "The test word of this project is {}. (For `autoreason host check`, which takes this line out again.)"
_EVERY = 0.2
"""Seconds between two looks at whether the answer is there."""


class Canary(Struct, frozen=True, kw_only=True):
    """A test word and the file it is in; kept on disk from before it is written until it is out again."""

    word: str
    file: str
    folder: str
    """Where runs begin that the check is about."""
    original: bytes | None
    """What was in the file; None where there was none."""
    until: float
    run: str = ""
    journal: str = ""

    @property
    def content(self) -> bytes:
        before = self.original or b""
        line = f"{_LINE.format(self.word)}\n".encode()
        return before + (b"\n" if before and not before.endswith(b"\n") else b"") + line

    @property
    def without(self) -> bytes | None:
        """The file as it is to be left: as it was, and with what its person changed meanwhile; None is no file."""
        try:
            now = Path(self.file).read_bytes()
        except FileNotFoundError:
            return None
        if now == self.content:
            return self.original
        left = re.sub(rb"(?m)^.*%b.*\n?" % self.word.encode(), b"", now)
        return None if self.original is None and not left.strip() else left


def put_word(file: Path) -> Canary:
    """Have a test word put into a file, by a process that takes it out after an answer or a quarter of an hour."""
    check_output(file, "FILE")
    path = os.path.realpath(file)
    if any(each.file == path for each in _pending()):
        raise InvalidInput(f"a check of {file} is under way; finish it, or wait until it is over")
    canary = Canary(
        word=f"canary-{secrets.token_hex(4)}",
        file=path,
        folder=str(Path.cwd()),
        original=Path(path).read_bytes() if file.exists() else None,
        until=time() + LEASE,
    )
    _keep(canary)
    watcher = subprocess.Popen(
        [sys.executable, "-m", "autoreason.agents.canary", canary.word],
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    # Two processes must not write: it does, as it alone knows that nobody else takes the word out.
    while not (file.exists() and canary.word.encode() in file.read_bytes()):
        if watcher.poll() is not None:
            restore()
            raise InvalidInput(f"the test word could not be put into {file}; choose another file")
        sleep(0.02)
    # It outlives this process.
    watcher.returncode = 0
    return canary


def prepare_check(word: str, named: str, journal: str | None) -> PreparedRun[Result]:
    """The question to one fresh context, for whoever read the test word in its own instructions."""
    canary = _read(word)
    if canary is None:
        raise InvalidInput(
            "no check waits for this word; copy it as it is, or begin again with `autoreason host check FILE`"
        )
    return prepare(
        Task(brief="Say whether you were given a test word."),
        ModelChoice.judging(f"{HOST}/{named}", {}),
        {"budget": {"calls": 1}, "journal": journal},
        HostCheck(word=word, file=canary.file, folder=canary.folder),
    )


def drive_check(
    prepared: PreparedRun[Result], journal: str | None
) -> Callable[..., Coroutine[Any, Any, Result]]:
    """Drives it, after noting what the word is there for."""
    word = prepared.settings.job_as(HostCheck).word

    def drive(on_started: Callable[[str], None], **hooks: Any) -> Coroutine[Any, Any, Result]:
        def note(run: str) -> None:
            with Journal.open(journal, create=False) as book:
                place = book.place.url if isinstance(book.place, ServerUrl) else str(book.place)
            if canary := _read(word):
                _keep(replace(canary, run=run, journal=place, until=time() + LEASE))
            on_started(run)

        return prepared.run_async(on_started=note, **hooks)

    return drive


def restore() -> list[str]:
    """Take out every word whose process is gone; the files where that failed."""
    failed = []
    for canary in _pending():
        with lock_file(_path(canary.word, "lock"), 0) as lock:
            # Only now is it sure that nobody is at it.
            if lock is not None and (left := _read(canary.word)):
                try:
                    _take_out(left)
                except OSError:
                    failed.append(left.file)
    return failed


def _watch(word: str) -> None:
    with lock_file(_path(word, "lock"), 0) as lock:
        canary = _read(word)
        if lock is None or canary is None:
            return
        write_atomically(Path(canary.file), canary.content)
        while not _is_over(canary):
            sleep(_EVERY)
            canary = _read(word) or canary
        _take_out(canary)


def _is_over(canary: Canary) -> bool:
    """Whether the answer is there, or nobody has the question any more."""
    held = None
    if canary.run:
        with Journal.open(canary.journal, create=False) as book:
            asked = book.questions(canary.run)
            if book.row(canary.run).finished or any(each.answer is not None for each in asked):
                return True
        held = max((each.held_until or 0.0 for each in asked), default=0.0)
    return time() >= (held or canary.until)


def _take_out(canary: Canary) -> None:
    if canary.run:
        # First of all: an answer that comes later says nothing of the word.
        with Journal.open(canary.journal, create=False) as book:
            give_up(book, canary.run, TOO_LATE)
    file, left = Path(canary.file), canary.without
    if left is not None:
        write_atomically(file, left)
    else:
        file.unlink(missing_ok=True)
    _path(canary.word).unlink(missing_ok=True)


def _path(word: str, kind: str = "json") -> Path:
    return data_folder() / "canaries" / f"{word}.{kind}"


def _keep(canary: Canary) -> None:
    make_folder(_path(canary.word).parent)
    write_atomically(_path(canary.word), msgspec.json.encode(canary), private=True)


def _read(word: str) -> Canary | None:
    if not re.fullmatch(r"canary-[0-9a-f]{8}", word):
        return None
    try:
        return msgspec.json.decode(_path(word).read_bytes(), type=Canary)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _pending() -> Iterator[Canary]:
    words = [each.stem for each in sorted(_path("").parent.glob("*.json"))]
    return (canary for word in words if (canary := _read(word)))


if __name__ == "__main__":
    _watch(sys.argv[1])
