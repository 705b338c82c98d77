"""The command line within the test's own process: quick, for what needs no process of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from autoreason.cli.__main__ import run_cli
from autoreason.journal import Journal


class Said(NamedTuple):
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def sentence(self) -> str:
        lines = self.err.strip().splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("autoreason: ")
        assert self.out == ""
        return lines[0].removeprefix("autoreason: ")


class Inside:
    """Runs `autoreason` in a folder of its own."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capture = capture

    def __call__(self, *arguments: str) -> Said:
        self._capture.readouterr()
        status = run_cli(list(arguments))
        return Said(status, *self._capture.readouterr())

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text)
        return name

    @property
    def journal_exists(self) -> bool:
        return (self.folder / "journal.db").exists()

    def runs(self) -> list[str]:
        with Journal.open(str(self.folder / "journal.db"), create=False) as journal:
            return [row.id for row in journal.runs()]
