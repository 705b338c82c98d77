"""The comparison of grades with rankings counts what it says, and decides by pairs."""

from __future__ import annotations

from benchmarks.real.grading import ARMS, as_table, judged_pair
from msgspec.structs import replace

from autoreason.events import BallotCast


def cast(first: str, asked: int = 1, **grades: float) -> BallotCast:
    """A ballot of a judge who saw the sound text first."""
    other = "spoiled" if first == "sound" else "sound"
    ranking = (first, other) if first else None
    both = ("sound", "spoiled")
    marks = {name: (grade,) for name, grade in grades.items()}
    about = {"stage": "panel", "seat": 0, "model": "m", "order": both, "labels": both}
    return BallotCast(**about, ranking=ranking, asked=asked, grades=marks)  # type: ignore[arg-type]


def test_ballots_are_counted_and_the_difference_is_that_of_pairs() -> None:
    ballots = [cast("sound", sound=9, spoiled=4), cast("spoiled", 2, sound=7, spoiled=7), cast("")]
    found = judged_pair("a", ballots, 4, 300)
    assert (found.ballots, found.readable, found.first_try, found.right) == (3, 2, 1, 1.5)
    assert (found.shown_first, found.tied, found.share) == (1, 1, 0.75)
    better = [replace(found, right=2, name=str(at)) for at in range(24)]
    worse = [replace(found, right=0, name=str(at)) for at in range(24)]
    arms = dict(zip(ARMS, (worse, better, worse, worse), strict=True))
    table = as_table(arms)
    assert "| graded | 48 of 48 | 48 of 72 | 24 of 48 | 24 of 48 | 24 | 96 | 100 |" in table
    assert "\n\ngraded less ranked: +" in table
    assert "graded, criteria less ranked, criteria: +0.0 points" in table
