"""One place decides what may leave the examiner."""

from __future__ import annotations

from msgspec.structs import replace
from tests.programs.examiner.made_up import SECRET

from autoreason.programs.assignment import CodeVerdict, Trial
from autoreason.programs.examiner.examiner import REASONS, redact, summarize


def test_whatever_is_in_a_private_trial_is_redacted() -> None:
    filled = dict.fromkeys(Trial.__struct_fields__[5:], SECRET)
    full = Trial(number=1, verdict=CodeVerdict.SANDBOX_ERROR, seconds=1, wall=2, memory=3, **filled)
    redacted = redact(summarize([full], "private", 1, "landlock")).trials[0]
    assert redacted == Trial(
        number=1, verdict=CodeVerdict.SANDBOX_ERROR, seconds=1, wall=2, memory=3
    )
    public = summarize([full], "public", 1, "landlock")
    assert redact(public) == public
    for reason in REASONS:
        known = replace(full, detail=f"{reason}: {SECRET}")
        assert redact(summarize([known], "private", 1, "none")).trials[0].detail == reason
