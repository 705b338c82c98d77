"""The prompts can be looked at and taken out, and one that would cost money for nothing is refused."""

from __future__ import annotations

import json

import pytest
from tests.cli.conftest import BRIEF, FAST, Shell
from tests.cli.inside import Inside

from autoreason.prompts import built_in


@pytest.mark.parametrize(
    ("more", "writes"), [([], None), (["--programs"], "programs"), (["--research"], "files")]
)
def test_prompts_are_listed_shown_and_exported(
    inside: Inside, more: list[str], writes: str | None
) -> None:
    listed = inside("prompts", *more).out
    assert "candidates*, boundary, " in listed
    shown = inside("prompts", "judge", *more).out
    assert "the texts or programs to rank" in shown
    assert "# Your part: judge" in shown
    assert "{#-" not in shown
    assert inside("prompts", "judge", "--json", *more).json["variables"][0]["required"]
    assert inside("prompts", "--export", "mine", *more).status == 0
    written = {path.stem: path.read_text() for path in (inside.folder / "mine").iterdir()}
    assert written == built_in(writes=writes).sources
    assert "is there already" in inside("prompts", "--export", "mine", *more).sentence
    assert inside("prompts", "--export", "mine", "--force", *more).status == 0


def test_what_is_exported_is_what_a_run_says(shell: Shell) -> None:
    assert shell("prompts", "--export", "p").returncode == 0
    dry = ("run", BRIEF, *FAST, "--dry-run", "--json")
    ours, exported = shell(*dry), shell(*dry, "--prompts", "p")
    assert json.loads(exported.stdout) == json.loads(ours.stdout)
