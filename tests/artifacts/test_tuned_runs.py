"""In a run every third proposal is the optimiser's, where constants are marked."""

from __future__ import annotations

import re
import sys

import pytest
from tests.artifacts.knob import START, Meter, research_settings, research_task, turning
from tests.run.leaving import told
from tests.run.runs import start_run

from autoreason.artifacts.measurement import Look, Measurement
from autoreason.artifacts.trial_events import TrialDecided
from autoreason.journal import Journal
from autoreason.run.recorded import replay
from autoreason.task import Task

MARKED = {**START, "run.toml": "gain = 0.1  # tune 0..1\n"}


class Tuned(Meter):
    """A meter that also likes a gain of one."""

    def measure(self, look: Look) -> Measurement:
        """The knob's number, and the gain."""
        (gain,) = re.findall(r"gain = ([\d.]+)", look.files["run.toml"])
        number = super().measure(look)
        value = (number.value or 0.0) + float(gain)
        return Measurement(outcome=number.outcome, value=value, metrics={"score": value})


def marked_task() -> Task:
    """The knob, and a constant that is marked."""
    return research_task(files=MARKED, artifact=("knob.txt", "run.toml"))


async def run(journal: Journal) -> tuple[str, list[TrialDecided]]:
    """A run's name and its trials."""
    result = await start_run(
        journal,
        turning(lambda number: 0.001 * number),
        task=marked_task(),
        settings=research_settings(evaluations=40),
        service=Tuned(),
    )
    return result.run, [
        each for each in told(journal, result.run) if isinstance(each, TrialDecided)
    ]


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
