"""One place decides what may leave the examiner."""

from __future__ import annotations

from msgspec.structs import replace
from tests.programs.examiner.made_up import SECRET

from autoreason.assignment import CodeVerdict, Trial
from autoreason.programs.examiner.examiner import sealed, summed_up
from autoreason.programs.examiner.verdicts import REASONS


def test_whatever_is_in_a_private_trial_is_sealed() -> None:
    filled = dict.fromkeys(Trial.__struct_fields__[5:], SECRET)
    full = Trial(number=1, verdict=CodeVerdict.SANDBOX_ERROR, seconds=1, wall=2, memory=3, **filled)
    told = sealed(summed_up([full], "private", 1, "landlock")).trials[0]
    assert told == Trial(number=1, verdict=CodeVerdict.SANDBOX_ERROR, seconds=1, wall=2, memory=3)
    public = summed_up([full], "public", 1, "landlock")
    assert sealed(public) == public
    for reason in REASONS:
        known = replace(full, detail=f"{reason}: {SECRET}")
        assert sealed(summed_up([known], "private", 1, "none")).trials[0].detail == reason
