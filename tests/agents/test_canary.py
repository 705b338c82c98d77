"""A test word in a file: it is out again whatever is killed, and what its person changed stays."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from benchmarks.kills import run_in_child
from msgspec.structs import replace
from tests.patience import until

from autoreason.agents import canary
from autoreason.agents.canary import prepare_check
from autoreason.errors import InvalidInput

BEFORE = b"Rules of this project.\nShort texts, please."
REST = (
    b" word of this project is . (For `autoreason host check`, which takes this line out again.)\n"
)
_STEPS = {
    "open",
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.chmod",
    "fcntl.flock",
    "subprocess.Popen",
}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's instructions."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "CLAUDE.md").write_bytes(BEFORE)
    return tmp_path / "CLAUDE.md"


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Whether a process that does this was killed before its step of this number."""
    done = count()

    def hook(event: str, _: Any) -> None:
        if event in _STEPS and next(done) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def run() -> None:
        sys.addaudithook(hook)
        work()

    code = run_in_child(run)
    assert code in (0, -signal.SIGKILL)
    return code != 0


def begin(file: Path, seconds: float) -> canary.Canary:
    """A word that is to be put into a file, and out again so soon."""
    before = file.read_bytes() if file.exists() else None
    path, over = str(file), time.time() + seconds
    begun = canary.Canary(word="canary-0123abcd", file=path, original=before, until=over)
    canary._keep(begun)
    return begun


@pytest.mark.parametrize("there", [True, False])
def test_a_process_that_is_killed_at_any_step_leaves_nothing(file: Path, there: bool) -> None:
    if not there:
        file.unlink()
    seen = set()

    def attempt() -> None:
        canary._if_alone("canary-0123abcd", canary._watch)

    for step in count():
        begun = begin(file, 0.0)
        alive = not killed_at(step, attempt)
        seen.add(file.exists() and begun.word.encode() in file.read_bytes())
        canary.restore()
        assert not canary._pending()
        assert (file.read_bytes() if file.exists() else None) == begun.original
        assert not [*file.parent.glob(".*")]
        if alive:
            break
    assert step > 8
    assert seen == {True, False}


def test_a_command_that_is_killed_at_any_step_leaves_nothing(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canary, "LEASE", 0.3)

    def attempt() -> None:
        # On a busy machine the time is over before the word is in.
        with suppress(InvalidInput):
            canary.put_word(file)

    def restored() -> bool:
        canary.restore()
        return not canary._pending()

    for step in count():
        alive = not killed_at(step, attempt)
        # What the next command does, or by then the process that outlives this one.
        until(restored)
        assert file.read_bytes() == BEFORE
        assert not [*file.parent.glob(".*")]
        if alive:
            break
    assert step > 2


def test_the_word_is_taken_out_when_its_time_is_over(file: Path) -> None:
    link = file.with_name("AGENTS.md")
    link.symlink_to(file.name)
    begun = canary.put_word(link)
    assert file.read_bytes() == begun.content
    with pytest.raises(InvalidInput, match="is under way"):
        canary.put_word(file)
    # Not by a command: it is its own process's.
    canary.restore()
    assert file.read_bytes() == begun.content
    canary._keep(replace(begun, until=time.time() + 0.1))
    until(lambda: not canary._pending())
    assert file.read_bytes() == BEFORE
    assert link.is_symlink()


def test_a_session_that_is_killed_as_it_asks_leaves_the_word_to_its_process(file: Path) -> None:
    begun = canary.put_word(file)
    for step in count():
        alive = not killed_at(step, lambda: prepare_check(begun.word, "agent", None))
        (left,) = canary._pending()
        assert file.read_bytes() == left.content == begun.content
        # The user agreed to a quarter of an hour, however often a session asks.
        assert left.until == begun.until
        if alive:
            break
    assert step > 2
    canary._keep(replace(left, until=0.0))
    until(lambda: not canary._pending())
    assert file.read_bytes() == BEFORE


@pytest.mark.parametrize(
    ("change", "after"),
    [
        (lambda now: now + b"More.\n", BEFORE + b"\nMore.\n"),
        (lambda now: now.replace(b"Short", b"Long"), BEFORE.replace(b"Short", b"Long")),
        (lambda now: now.replace(b"\nThe test", b" The test"), BEFORE + b"\n"),
        (lambda now: now.replace(b" which", b"\nwhich") + b"More.\n", BEFORE + b"\nMore.\n"),
        (lambda now: now.replace(b"The test", b"Mine. Your"), BEFORE + b"\nMine. Your" + REST),
        (lambda now: now.replace(b"\n", b"\r\n"), BEFORE.replace(b"\n", b"\r\n") + b"\r\n"),
        (lambda _: b"All new.", b"All new."),
        (lambda _: None, None),
    ],
)
def test_what_a_person_changes_meanwhile_stays(
    file: Path, change: Callable[[bytes], bytes | None], after: bytes | None
) -> None:
    begun = begin(file, 60.0)
    file.unlink() if (new := change(begun.content)) is None else file.write_bytes(new)
    canary.restore()
    assert (file.read_bytes() if file.exists() else None) == after


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to(path.name), os.mkdir])
def test_only_a_plain_file_is_written(file: Path, make: Callable[[Path], object]) -> None:
    make(other := file.with_name("AGENTS.md"))
    before = other.lstat()
    with pytest.raises(InvalidInput):
        canary.put_word(other)
    assert other.lstat().st_mode == before.st_mode


def test_a_file_of_two_names_stays_one(file: Path) -> None:
    file.with_name("AGENTS.md").hardlink_to(file)
    with pytest.raises(InvalidInput, match="several names"):
        canary.put_word(file)
    assert file.samefile(file.with_name("AGENTS.md"))


def test_the_word_is_taken_out_where_the_record_cannot_be_read(file: Path, tmp_path: Path) -> None:
    (tmp_path / "journal.db").write_bytes(b"no journal" * 5000)
    begun = replace(begin(file, 0.3), journal=str(tmp_path / "journal.db"))
    canary._keep(begun)
    canary._if_alone(begun.word, canary._watch)
    assert file.read_bytes() == BEFORE


def test_a_folder_in_place_of_the_file_keeps_no_command_from_its_work(file: Path) -> None:
    begin(file, 60.0)
    file.unlink()
    file.mkdir()
    canary.restore()
    assert not canary._pending()
