"""What the page on overfitting shows: loops that fool themselves, and what protects from it."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.examples.demos import DEMOS, load

PAGE = Path(__file__).parents[2] / "docs" / "research.md"
EXPERIMENTS = ("noise", "instances", "lengths")


@pytest.fixture
def overfitting(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The program behind the page, with few of the evaluations that no run has seen."""
    module = load(DEMOS / "overfitting.py")
    measuring = module.evaluations_of_no_run
    monkeypatch.setattr(
        module,
        "evaluations_of_no_run",
        lambda evaluate, evaluations: measuring(evaluate, evaluations[:3]),
    )
    return module


def test_a_gain_on_one_length_is_seen_by_the_loop_and_not_claimed(overfitting: Any) -> None:
    name, run = next(overfitting.compare_on_lengths(20))
    assert name == "greedy, task.md"
    outcome = run(1)
    assert outcome.seen > 1
    assert not outcome.claims


def test_a_gain_on_five_instances_is_seen_by_the_loop_and_not_claimed(overfitting: Any) -> None:
    experiment = overfitting.compare_on_instances(40)
    name, run = next(experiment)
    assert name == "greedy, the same five"
    outcome = run(2)
    assert outcome.seen > 0.05
    assert not outcome.claims


def test_only_noise_is_claimed_as_a_gain_by_no_end_test(overfitting: Any) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    experiment = overfitting.compare_on_noise(14)
    _, run = next(experiment)
    assert not run(1).claims


def test_instances_are_drawn_anew_where_the_name_says_so(overfitting: Any) -> None:
    names = {}
    for name, run in overfitting.compare_on_instances(20):
        task = run.args[0]
        items = len((task.parent / "items.jsonl").read_text().splitlines())
        names[name] = items, "per_evaluation: 5" in task.read_text()
    assert names == {
        "greedy, the same five": (5, False),
        "race, the same five": (5, False),
        "greedy, drawn anew": (200, True),
        "race, drawn anew": (200, True),
    }


def test_proposals_change_what_is_shown_by_a_little(overfitting: Any) -> None:
    table = overfitting.TABLE.format(overfitting.BEST_FIT)
    for text, change in (
        (overfitting.TUNED, overfitting.change_numbers),
        (table, overfitting.change_table),
    ):
        changed = change(text, Random(1))
        assert changed != text
        assert len(changed.splitlines()) == len(text.splitlines())


@pytest.mark.parametrize("what", EXPERIMENTS)
def test_the_page_names_the_command_of_each_table(
    what: str, overfitting: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[object] = []
    result = overfitting.Outcome(seen=1.0, gain=-1.0, error=0.1, claims=False)

    def compare(evaluations: int | None) -> list[object]:
        asked.append(evaluations)
        return [("greedy", lambda _: result)]

    monkeypatch.setattr(overfitting, f"compare_on_{what}", compare)
    (command,) = (
        line for line in PAGE.read_text("utf-8").splitlines() if f"overfitting.py {what}" in line
    )
    overfitting.main(command.split()[2:])
    assert asked == [None]
    runs = command.split()[-1]
    assert f"{runs} of {runs}" in capsys.readouterr().out
