"""What a proposer is shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autoreason.artifacts.acceptance import Effect
from autoreason.artifacts.proposer import ledger_text
from autoreason.artifacts.research_history import TrialDecided, TrialStatus


def trial(number: int, status: TrialStatus = "dropped", words: int = 4) -> TrialDecided:
    """What became of a proposal."""
    measured = status in ("kept", "dropped")
    return TrialDecided(
        number=number,
        incumbent=0,
        hypothesis=" ".join([f"idea-{number}"] * words),
        expected="+0.1",
        status=status,
        reason="it took too long",
        effect=Effect(value=0.021, error=0.006, evaluations=3, against=6) if measured else None,
        tail=f"noise\nlast-line-{number}",
        shared=1,
    )


def test_a_trial_has_hypothesis_effect_with_interval_evaluations_status_and_tail() -> None:
    text = ledger_text([trial(1, "kept"), trial(2, "failed")])
    assert "trial 1, on the start: kept; +0.021 (0.009 to 0.033) in 3 evaluations" in text
    assert "idea-1" in text
    assert "(expected +0.1)" in text
    assert "| last-line-1" in text
    assert "trial 2, on the start: failed; it took too long" in text


def test_every_keep_and_the_last_twenty_are_shown() -> None:
    trials = [trial(number, "kept" if number in (2, 5) else "dropped") for number in range(1, 61)]
    text = ledger_text(trials)
    shown = [number for number in range(1, 61) if f"trial {number}, on" in text]
    assert shown == [2, 5, *range(41, 61)]
    assert text.startswith("38 earlier trials left out\n")


@given(
    st.lists(st.sampled_from(["kept", "dropped", "refused"]), max_size=300), st.integers(1, 2000)
)
def test_a_ledger_is_bounded_and_ends_with_the_latest_trial(
    statuses: list[TrialStatus], words: int
) -> None:
    trials = [trial(number, status, words) for number, status in enumerate(statuses, 1)]
    text = ledger_text(trials)
    assert len(text) < 24_100
    assert not trials or f"last-line-{len(trials)}" in text
