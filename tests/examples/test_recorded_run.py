"""The run that the README shows is the one in examples/, as it is described today."""

from __future__ import annotations

import shutil
from pathlib import Path

from autoreason.journal import Journal
from autoreason.run.record import recorded_result
from autoreason.tournament.rounds import tell

ROOT = Path(__file__).parents[2]


def test_the_readme_shows_how_the_recorded_run_ended(tmp_path: Path) -> None:
    # Opening a journal writes beside it.
    copy = shutil.copy(ROOT / "examples" / "lost-card.db", tmp_path)
    with Journal.open(copy, create=False) as journal:
        row = journal.find("last")
        story = journal.story(row.id)
        ending = recorded_result(row, story, journal).summary()
    shown = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert [line for line in ending[:3] if line not in shown] == []
    # Where nothing was compared, nothing is said to have been beaten.
    silent = "3 times in a row critics named no fault that is in the text"
    assert ending[1].endswith(f"{silent}; a review went back to the text of round 6.")
    *_, rewritten, one, two, three, review = [one.sentence for one in tell(story)]
    assert {one, two, three} == {"kept: critics named no fault that is in the text"}
    assert rewritten == "rewritten"
    assert review == "the text of round 6 is put first by 4 of 7 judges: back to it"
