"""A packet to rate, and a browser to rate it in."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.browser import browser as browser

from autoreason.studies.rating_packet import OpenTask, Packet, build_packet
from autoreason.task import Entry, Task

NAMES = ("a.md", "b.md", "c.md")
TEXTS = (
    "# Welcome\n\nThe house opens in *May*.",
    "It is my honour. <script>document.title = 'taken'</script> <img src=x onerror=alert(1)>",
    "Neighbours: come in.\n\n- Monday\n- Tuesday",
)
TOAST = OpenTask(
    Task(brief="A toast for the library"),
    tuple(Entry(name=name, text=text) for name, text in zip(NAMES, TEXTS, strict=True)),
    source="toast.md",
)
LETTER = OpenTask(
    Task(brief="A letter to the council"),
    (
        Entry(name="a.md", text="Dear council, build it."),
        Entry(name="b.md", text="Build it, dear council."),
    ),
    source="letter.md",
)


class Study:
    def __init__(self, folder: Path, *tasks: OpenTask, seed: int = 7) -> None:
        self.folder = folder
        self.packet: Packet = build_packet(folder, tasks or (TOAST,), seed=seed)

    @property
    def codes(self) -> tuple[str, ...]:
        return self.packet.tasks[0].codes


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path / "study")


@pytest.fixture
def two_tasks(tmp_path: Path) -> Study:
    return Study(tmp_path / "two", TOAST, LETTER)
