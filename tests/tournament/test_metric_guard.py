"""A metric as a guard: what it calls worse than A, beyond its noise, is not on the ballot."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.under_chance.luck import most_often

from autoreason.errors import InvalidInput
from autoreason.events import CandidateDropped, CandidateReady
from autoreason.journal import Journal
from autoreason.run.refine import refine
from autoreason.run.replay import replay
from autoreason.run.resume import resume
from autoreason.testing import EchoModel
from autoreason.tournament import statements
from autoreason.tournament.challengers import is_worse
from autoreason.tournament.metric import LOOKS

LENGTH = """
def score(artifact, seed):
    return SIGN * len(artifact.text("text.md"))
"""


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=LOOKS))
def test_what_is_not_below_on_average_is_never_worse(differences: list[float]) -> None:
    if sum(differences) >= 0:
        assert not is_worse(differences)


def test_without_noise_any_difference_counts_and_with_noise_it_must_exceed_it() -> None:
    assert is_worse([-0.001] * LOOKS)
    assert not is_worse([0.0] * LOOKS)
    assert not is_worse([-3.0, 2.0, -2.0, 1.0])
    assert is_worse([-3.0, -3.1, -2.9, -3.0])
    assert not is_worse([])


def test_noise_alone_leaves_out_one_text_in_forty() -> None:
    chance, times = random.Random(1), 4000
    dropped = sum(is_worse([chance.gauss(0, 1) for _ in range(LOOKS)]) for _ in range(times))
    assert dropped <= most_often(times, 0.025)


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_candidates_that_the_metric_calls_worse_are_left_out_and_the_run_replays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, better: Literal["higher", "lower"]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("metric.py").write_text(LENGTH.replace("SIGN", "1"))
    result = refine(
        "Write a note about the coffee machine.",
        EchoModel(),
        passes=3,
        seed=4,
        metric="metric.py:score",
        metric_better=better,
    )
    Path("metric.py").unlink()
    assert result.finished
    assert "metric.py:score left out" in " ".join(str(result).split())
    assert replay(result.run).same
    with Journal.open(None, create=False) as journal:
        events = [each.event for each in journal.events(result.run)]
        looks = [key for key in journal.answers(result.run) if "/metric/" in key]
    sign = 1 if better == "higher" else -1
    compared = 0
    for at, recorded in enumerate(result.story.passes, 1):
        for event in events:
            if isinstance(event, CandidateReady | CandidateDropped) and event.number == at:
                if isinstance(event, CandidateDropped) and event.reason != "metric":
                    continue
                worse = sign * (len(event.text) - len(recorded.incumbent)) < 0
                assert worse == isinstance(event, CandidateDropped)
                compared += 1
    assert compared
    assert f"pass/1/metric/A/look/{LOOKS - 1}" in looks


def test_a_metric_that_cannot_be_used_is_refused_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=r"metric\.py"):
        refine("Write.", EchoModel(), metric="metric.py:score")
    Path("metric.py").write_text(LENGTH)
    with pytest.raises(InvalidInput, match="single has no use for a metric"):
        refine("Write.", EchoModel(), metric="metric.py:score", strategy="single")


@pytest.mark.parametrize("body", ["return float('nan')", "raise ValueError('no scale')"])
def test_without_a_number_for_the_text_as_it_is_the_run_pauses_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("metric.py").write_text(f"def score(artifact, seed):\n    {body}\n")
    paused = refine("Write a note.", EchoModel(), passes=3, seed=4, metric="metric.py:score")
    assert paused.status == "metric_failed"
    assert paused.calls <= 4
    assert "paused: the metric failed: the metric gave no number 4 times in a row" in paused.ending
    assert "no scale" in paused.ending or "NaN" in paused.ending
    again = resume(paused)
    assert (again.status, again.calls) == ("metric_failed", paused.calls)


def test_a_candidate_without_a_number_is_left_out_and_the_reason_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = "This is the text as it is."
    Path("metric.py").write_text(
        "def score(artifact, seed):\n"
        f"    if artifact.text('text.md').strip() != {first!r}:\n"
        "        raise ValueError('no scale')\n"
        "    return 1\n"
    )
    result = refine(
        "Write a note.", EchoModel(), draft=first, passes=2, seed=4, metric="metric.py:score"
    )
    assert result.finished
    left_out = [each for one in result.story.passes for each in one.dropped]
    unmeasured = [each for each in left_out if each.reason == "number"]
    assert unmeasured
    assert all("no scale" in statements.dropped(each) for each in unmeasured)
    assert "left out: the metric gives it no number" in statements.dropped(unmeasured[0])
    assert f"{len(unmeasured)} for which it gave no number" in " ".join(str(result).split())
    assert replay(result.run).same
