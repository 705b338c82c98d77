"""What a proposer is shown, and the proposals of the optimiser."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.artifacts.knob import START, Meter, research_settings, research_task, turning
from tests.run.leaving import emitted
from tests.run.runs import start_run

from autoreason.artifacts.acceptance import Effect
from autoreason.artifacts.artifact import Evaluation, Measurement
from autoreason.artifacts.proposer import ledger_text
from autoreason.artifacts.research_history import TrialDecided, TrialStatus
from autoreason.journal import Journal
from autoreason.run.recorded import replay


def trial(number: int, status: TrialStatus = "dropped", words: int = 4) -> TrialDecided:
    """What became of a proposal."""
    measured = status in ("kept", "dropped")
    return TrialDecided(
        number=number,
        incumbent=0,
        by="model",
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


MARKED = {**START, "run.toml": "gain = 0.1  # tune 0..1\n"}


class Tuned(Meter):
    """A meter that also likes a gain of one."""

    def measure(self, evaluation: Evaluation) -> Measurement:
        """The knob's number, and the gain."""
        (gain,) = re.findall(r"gain = ([\d.]+)", evaluation.files["run.toml"])
        number = super().measure(evaluation)
        value = (number.value or 0.0) + float(gain)
        return Measurement(outcome=number.outcome, value=value, metrics={"score": value})


async def run(journal: Journal) -> tuple[str, list[TrialDecided]]:
    """A run's name and its trials."""
    model = turning(lambda number: 0.001 * number)
    task = research_task(files=MARKED, artifact=tuple(MARKED))
    terms = research_settings(evaluations=40)
    result = await start_run(journal, model, task=task, settings=terms, service=Tuned())
    story = emitted(journal, result.run)
    return result.run, [each for each in story if isinstance(each, TrialDecided)]


async def test_every_third_proposal_is_the_optimisers(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna", reason="needs the extra `tune`")
    name, trials = await run(journal)
    assert {each.number for each in trials if each.by == "optimiser"} == {
        number for number in range(1, len(trials) + 1) if number % 3 == 0
    }
    tuned = next(each for each in trials if each.by == "optimiser")
    assert re.fullmatch(r"gain 0\.1 -> [\d.]+", tuned.hypothesis)
    assert list(tuned.changes) == ["run.toml"]
    # A replay needs no optimiser: what it proposed is in the record.
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert (await replay.aio(name, journal=journal)).same


async def test_without_the_extra_the_model_proposes_all(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    _, trials = await run(journal)
    assert {each.by for each in trials} == {"model"}
