"""Rules of research against each other: equal evaluations and seeds, and what fresh evaluations say of each."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.artifacts.knob import SlowWhenFresh, knob_of, research_settings, research_task, turning
from tests.run.runs import lend, start_run

from autoreason.errors import InvalidInput
from autoreason.journal import Journal
from autoreason.models.doubles import ScriptedModel
from autoreason.run.cells import measure_cell
from autoreason.run.export import export, make_result_patch
from autoreason.run.recorded import replay, resume
from autoreason.run.result import StudyResult
from autoreason.run.studies import compare_rules
from autoreason.studies.lab_report import LabReport

TASK = "---\nartifact: knob.txt\n---\nTurn it."
RULES = ("race", "greedy", "independent")


@pytest.fixture(autouse=True)
def _knob(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("knob.txt").write_text("knob = 0\n")


def proposer() -> ScriptedModel:
    """Proposals of which most do nothing or harm."""
    return turning(lambda number: random.Random(number).gauss(-0.5, 1.0))


class Noisy:
    """The knob with noise from the seed alone; it may be out of order after so many evaluations."""

    def __init__(self, noise: float = 1.0, fails_at: int | None = None) -> None:
        self.seeds: list[int] = []
        self.noise, self.fails_at = noise, fails_at

    def __call__(self, folder: Path, seed: int, items: list[Any]) -> float:
        del items
        if len(self.seeds) == self.fails_at:
            raise KeyboardInterrupt
        self.seeds.append(seed)
        knob = knob_of((folder / "knob.txt").read_text())
        return knob + random.Random(f"{seed}/{knob}").gauss(0, self.noise)


def compare(evaluate: Callable[..., float], **options: Any) -> StudyResult[LabReport]:
    usual: dict[str, Any] = {"rules": RULES, "repeats": 2, "evaluations": 40, "seed": 7}
    return compare_rules(TASK, proposer(), evaluate=evaluate, **{**usual, **options})


def test_every_rule_has_the_same_evaluations_and_ends_on_the_same_seeds() -> None:
    meter = Noisy()
    result = compare(meter)
    assert [each.arm for each in result.report.arms] == list(RULES)
    assert [each.finished for each in result.report.arms] == [2, 2, 2]
    assert all(0 < (each.means["evaluations"] or 0) <= 40 for each in result.report.arms)
    assert len(set(meter.seeds)) < len(meter.seeds)
    assert replay(result.run).same
    assert result.conclusion.startswith("no rule is shown to be better on fresh evaluations, in 2")


def test_greedy_claims_more_than_fresh_evaluations_show() -> None:
    report = compare(Noisy(2.0), repeats=6).report
    greedy = report.arms[1].means
    assert (greedy["claimed"] or 0) > (greedy["value"] or 0)
    shown = " ".join(str(report).split())
    assert "do not quote it" in shown
    assert "race-greedy" in shown


async def test_a_result_that_breaks_a_guard_on_fresh_evaluations_counts_as_no_gain(
    journal: Journal,
) -> None:
    task = research_task(guard={"ms": "<= 0"})
    run = await start_run(
        *(journal, turning(lambda _: 1.0)),
        task=task,
        settings=research_settings(evaluations=40),
        service=SlowWhenFresh("end"),
    )
    cell = measure_cell(run)
    assert (cell.value, cell.broken) == (0.0, True)
    assert (cell.claimed or 0) > 0


def test_a_comparison_goes_on_where_it_was_left() -> None:
    whole = compare(Noisy())
    with pytest.raises(KeyboardInterrupt):
        compare(Noisy(fails_at=70))
    with pytest.raises(InvalidInput, match="measured by a Python function"):
        resume("last")
    result = resume("last", evaluate=Noisy(), pool=lend(proposer()))
    assert isinstance(result, StudyResult)
    assert result.report.pairs == whole.report.pairs


@pytest.mark.parametrize(
    "options",
    [{"rules": []}, {"rules": ["race"]}, {"rules": ["race", "islands"]}, {"rule": "race"}],
)
def test_a_comparison_without_two_known_rules_is_refused(options: Any) -> None:
    with pytest.raises(InvalidInput, match="rule"):
        compare_rules(TASK, "echo/echo", evaluate=lambda *_: 0.0, **options)


def test_a_comparison_has_the_openings_of_a_sealed_set_and_a_result_for_each_cell(
    tmp_path: Path,
) -> None:
    Path("items.txt").write_text("\n".join(map(str, range(20))))
    Path("sealed.txt").write_text("\n".join(map(str, range(100, 120))))
    task = TASK.replace("\n---\nTurn", "\nitems: items.txt\nsealed: sealed.txt\n---\nTurn")
    sealed = compare_rules(
        *(task, turning(lambda _: 1.0)),
        evaluate=lambda folder, *_: knob_of((folder / "knob.txt").read_text()),
        rules=["race", "greedy"],
        repeats=2,
        evaluations=20,
        patience=2,
    )
    assert sealed.report.opened == 4
    assert "the sealed set has been opened 4 times" in " ".join(str(sealed).split())
    with pytest.raises(InvalidInput, match="is not a research run"):
        make_result_patch(sealed.run, tmp_path)
    export(sealed.run, tmp_path / "out")
    for rule in ("race", "greedy"):
        (patch,) = {each.read_text() for each in (tmp_path / "out").glob(f"**/{rule}/**/*.patch")}
        assert "-knob = 0\n+knob = " in patch
