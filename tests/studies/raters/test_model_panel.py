"""A panel's rankings come from a small file."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoreason.errors import InvalidInput
from autoreason.studies.raters.model_panel import read_panel

ONE, OTHER = ("a", "b"), ("b", "a")


def written(folder: Path, contents: str) -> Path:
    """A file with these contents."""
    path = folder / "panel.json"
    path.write_text(contents)
    return path


def test_rankings_of_one_task_stand_alone(tmp_path: Path) -> None:
    found = read_panel(written(tmp_path, '{"rankings": [["a", "b"], ["b", "a"]]}'))
    assert found.by_task() == ((ONE, OTHER),)


def test_rankings_of_several_tasks_stand_in_their_order(tmp_path: Path) -> None:
    tasks = '{"tasks": [{"rankings": [["a", "b"]]}, {"rankings": [["b", "a"]]}]}'
    assert read_panel(written(tmp_path, tasks)).by_task() == ((ONE,), (OTHER,))


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ("{", "is not valid JSON; fix it"),
        ('{"rankings": [[1]]}', "panel .*: .*must be text, not a whole number"),
        ('{"ranks": []}', "panel .*: "),
        ('{"rankings": []}', 'needs "rankings"'),
        ('{"rankings": [["a"]], "tasks": [{"rankings": [["a"]]}]}', 'needs "rankings"'),
        ('{"tasks": [{"rankings": []}]}', 'needs "rankings"'),
    ],
)
def test_a_file_that_is_no_panel_is_refused(tmp_path: Path, contents: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_panel(written(tmp_path, contents))
