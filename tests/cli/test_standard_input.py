"""Problems on standard input reach the examiner without passing through the process that asks models."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Shell

from autoreason.cli.commands.programs import on_disk
from autoreason.errors import InvalidInput

TEXT = b'{"id": "a"}\r\n\xff\x00'


class Unread:
    """A standard input of which only the descriptor is known: nobody in this process can read it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        """The descriptor."""
        return self._descriptor


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Something comes in."""
    reading, writing = os.pipe()
    os.write(writing, TEXT)
    os.close(writing)
    monkeypatch.setattr(sys, "stdin", Unread(reading))
    yield
    os.close(reading)


@pytest.mark.usefixtures("piped")
def test_another_process_copies_what_comes_in_to_a_file_for_our_eyes_only() -> None:
    with on_disk(Path("-")) as path:
        assert path.read_bytes() == TEXT
        assert path.parent.stat().st_mode & 0o077 == 0
    assert not path.parent.exists()


def test_what_cannot_be_read_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "written").open("wb") as written:
        monkeypatch.setattr(sys, "stdin", Unread(written.fileno()))
        with (
            pytest.raises(InvalidInput, match=r"^cannot read standard input: "),
            on_disk(Path("-")),
        ):
            pass


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "autoreason: standard input is empty; "),
        ("{", "autoreason: standard input has no usable problem; the first: line 1: this is "),
    ],
)
def test_a_set_that_cannot_be_used_is_one_sentence(shell: Shell, given: str, said: str) -> None:
    refused = shell("solve", "-", "-m", "scripted/x", stdin=given)
    assert refused.returncode == 2
    assert refused.stderr.startswith(said), refused.stderr
    assert len(refused.stderr.splitlines()) == 1
