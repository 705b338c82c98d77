"""Checking a host: a test word in a project's instructions, which a process of its own takes out whatever happens."""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, Popen
from time import sleep, time

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from autoreason.errors import AutoreasonError, InvalidInput
from autoreason.files import ServerUrl, data_folder, write
from autoreason.job_types import HostCheck
from autoreason.journal import Journal, RunRow
from autoreason.journal.sqlite import lock_file, make_folder
from autoreason.run.host import LEASE, check_usable
from autoreason.run.prepared import ModelChoice, PreparedRun, prepare
from autoreason.run.result import Result
from autoreason.settings import HOST
from autoreason.studies.host_check import BRIEF, TOO_LATE
from autoreason.task import Task

_LINE = "The test word of this project is {}. (For `autoreason host check`, which takes this line out again.)"


class Canary(Struct, frozen=True, kw_only=True):
    """A test word and the file it is in; kept on disk from before it is written until it is out again."""

    word: str
    file: str
    original: bytes | None
    until: float
    journal: str = ""
    """Where the question is asked; empty before that."""

    @property
    def added(self) -> bytes:
        end = b"\n" if self.original and not self.original.endswith(b"\n") else b""
        return end + f"{_LINE.format(self.word)}\n".encode()

    @property
    def content(self) -> bytes:
        return (self.original or b"") + self.added

    def is_over(self) -> bool:
        """Whether the answer is there, the word is gone, or the time that its person agreed to has passed."""
        file = Path(self.file)
        is_there = file.is_file() and self.word.encode() in file.read_bytes()
        if time() >= self.until or not is_there:
            return True
        if not self.journal:
            return False
        # A record that cannot be read now may be read later.
        with suppress(AutoreasonError), Journal.open(self.journal, create=False) as book:
            runs = self._runs(book)
            asked = (each for run in runs for each in book.questions(run.id))
            return any(run.finished for run in runs) or any(x.answer is not None for x in asked)
        return False

    def take_out(self) -> None:
        """Leave the file as it was, and with what its person changed meanwhile."""
        # First of all: an answer that comes later says nothing of the word.
        with suppress(AutoreasonError), Journal.open(self.journal, create=False) as book:
            for each in (each for run in self._runs(book) for each in book.questions(run.id)):
                with suppress(InvalidInput):
                    book.answer_question(each.token, TOO_LATE, check_usable)
        file = Path(self.file)
        if file.is_file():
            left = file.read_bytes().removesuffix(self.added)
            if self.word.encode() in left:
                # Its person or a formatter changed what is around it.
                said = rb"\s+".join(map(re.escape, self.added.split()))
                left = re.sub(rb"(?m)^%b\r?\n?|[ \t]*%b" % (said, said), b"", left)
                left = left.replace(self.word.encode(), b"")
            is_kept = left or self.original is not None
            write(file, left, mark=self.word) if is_kept else file.unlink()
        for left_behind in file.parent.glob(f".*.{self.word}*"):
            left_behind.unlink()
        _path(self.word).unlink(missing_ok=True)

    def _runs(self, book: Journal) -> list[RunRow]:
        """Those that ask for the word: a second session may have been shown it, too."""
        checks = ((each, book.story(each.id).job) for each in book.iter_runs(search=BRIEF))
        return [run for run, job in checks if isinstance(job, HostCheck) and job.word == self.word]


def put_word(file: Path) -> Canary:
    """Have a test word put into a file, by a process that takes it out after an answer or a quarter of an hour."""
    path = os.path.realpath(file)
    if os.path.lexists(path) and not (Path(path).is_file() and Path(path).stat().st_nlink == 1):
        raise InvalidInput(f"{file} is not a file, or one with several names; choose another file")
    if any(each.file == path for each in _pending()):
        raise InvalidInput(f"a check of {file} is under way; finish it, or wait until it is over")
    before = Path(path).read_bytes() if file.exists() else None
    word = f"canary-{secrets.token_hex(4)}"
    canary = Canary(word=word, file=path, original=before, until=time() + LEASE)
    _keep(canary)
    command = [sys.executable, "-m", "autoreason.agents.canary", word]
    watcher = Popen(command, -1, None, DEVNULL, DEVNULL, DEVNULL, cwd="/", start_new_session=True)
    # That one writes it, as it alone knows that nobody else takes the word out.
    while not (file.exists() and word.encode() in file.read_bytes()):
        if watcher.poll() is not None:
            restore()
            raise InvalidInput(f"the test word could not be put into {file}; choose another file")
        sleep(0.02)
    watcher.returncode = 0  # It outlives this process.
    return canary


def prepare_check(word: str, named: str, journal: str | None) -> PreparedRun[Result]:
    """The question to one fresh context, for a session that was shown the word."""
    found = next((each for each in _pending() if each.word == word), None)
    if found is None or time() > found.until - 5:
        raise InvalidInput("no check waits for this word; copy it as it is, or check FILE again")
    with Journal.open(journal, create=False) as book:
        place = book.place.url if isinstance(book.place, ServerUrl) else str(book.place)
    _keep(replace(found, journal=place))
    return prepare(
        Task(brief=BRIEF),
        ModelChoice.judging(f"{HOST}/{named}", {}),
        {"budget": {"calls": 1}, "journal": journal},
        HostCheck(word=word, file=found.file, folder=str(Path.cwd())),
    )


def restore() -> None:
    """Take out every word whose process is gone."""
    for each in _pending():
        _if_alone(each.word, Canary.take_out)


def _if_alone(word: str, work: Callable[[Canary], None]) -> None:
    """Do it with a word that is pending, unless another process is at it."""
    with lock_file(_path(word, "lock"), 0) as lock:
        for each in _pending():
            if lock is not None and each.word == word:
                work(each)


def _watch(canary: Canary) -> None:
    file = Path(canary.file)
    if (file.read_bytes() if file.exists() else None) == canary.original:
        write(file, canary.content, mark=canary.word)
        while not canary.is_over():
            sleep(0.2)
            canary = next((each for each in _pending() if each.word == canary.word), canary)
    canary.take_out()


def _path(word: str, kind: str = "json") -> Path:
    return data_folder() / "canaries" / f"{word}.{kind}"


def _keep(canary: Canary) -> None:
    make_folder(_path(canary.word).parent)
    write(_path(canary.word), msgspec.json.encode(canary), private=True)


def _pending() -> list[Canary]:
    found = []
    for each in sorted(_path("").parent.glob("canary-*.json")):
        with suppress(FileNotFoundError):
            found.append(msgspec.json.decode(each.read_bytes(), type=Canary))
    return found


if __name__ == "__main__":
    _if_alone(sys.argv[1], _watch)
