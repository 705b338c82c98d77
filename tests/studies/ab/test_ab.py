"""A run's texts tried on real readers: from the plan to what is known afterwards."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from autoreason import refine
from autoreason.errors import InvalidInput, UnknownRun
from autoreason.events import BallotCast, Incumbent, PanelDecided
from autoreason.journal import Journal
from autoreason.knowledge.folder import read_folder
from autoreason.knowledge_records import Record, RecordedOutcome
from autoreason.run.ab_study import plan_ab, report_ab
from autoreason.run.result import Result
from autoreason.story import CONFIRMATION, RecordedPanel, Story
from autoreason.studies.ab.ab_plan import AbPlan, read_plan
from autoreason.studies.ab.effect import effect_over_runs
from autoreason.tournament.panel import verdict_of


@pytest.fixture
def result(journal: Journal) -> Result:
    return refine("Explain tides.", "echo/echo", passes=4, k=9, seed=2, journal=journal)


@pytest.fixture
def plan(result: Result, journal: Journal, tmp_path: Path) -> AbPlan:
    found = plan_ab(result, arms=3, base=0.2, lift=0.2, journal=journal)
    found.write(tmp_path / "test")
    return found


def fill_in(folder: Path, counts: dict[str, tuple[int, int]]) -> Path:
    lines = ["code,n,count", *(f"{code},{n},{count}" for code, (count, n) in counts.items())]
    (folder / "results.csv").write_text("\n".join(lines))
    return folder / "results.csv"


def test_a_plan_is_blind_and_complete(plan: AbPlan, result: Result, tmp_path: Path) -> None:
    assert read_plan(tmp_path / "test") == plan
    assert len({arm.text for arm in plan.arms}) == 3
    assert {arm.chosen for arm in plan.arms} == {"ab", "random"}
    assert sum(arm.chosen == "random" for arm in plan.arms) == 1
    assert result.text in {arm.text for arm in plan.arms}
    for arm in plan.arms:
        assert (tmp_path / "test" / f"{arm.code}.md").read_text().strip() == arm.text.strip()
        assert 0 < arm.propensity <= 1
    shown = plan.to_markdown()
    assert all(arm.origin not in shown for arm in plan.arms if arm.origin.startswith("pass"))
    assert f"{plan.sample:,} readers" in plan.conclusion


def test_a_plan_is_not_written_over(plan: AbPlan, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="has a plan already"):
        plan.write(tmp_path / "test")


def test_the_better_text_is_found_and_its_outcome_handed_on(plan: AbPlan, tmp_path: Path) -> None:
    others = [arm.code for arm in plan.arms if arm.code != plan.control]
    size = plan.sample
    counts = {
        plan.control: (round(0.2 * size), size),
        others[0]: (round(0.3 * size), size + 7),
        others[1]: (round(0.2 * size), size - 5),
    }
    kb = tmp_path / "kb"
    kb.mkdir()
    report = report_ab(fill_in(tmp_path / "test", counts), knowledge=kb, metric="opens")
    assert report.conclusion.startswith(f"{others[0]} (")
    best = next(arm for arm in report.arms if arm.code == others[0])
    assert 0.2 < best.shrunken < 0.3
    records = read_folder(kb).records
    assert len(records) == 3
    assert {record.chosen for record in records} == {"ab", "random"}
    assert len({record.group for record in records}) == 1
    report_ab(tmp_path / "test" / "results.csv", knowledge=kb, metric="opens")
    assert len(read_folder(kb).records) == 3


def test_an_unequal_split_is_named_and_nothing_is_handed_on(plan: AbPlan, tmp_path: Path) -> None:
    codes = [arm.code for arm in plan.arms]
    counts = {code: (400, 2000 - 300 * at) for at, code in enumerate(codes)}
    kb = tmp_path / "kb"
    kb.mkdir()
    report = report_ab(fill_in(tmp_path / "test", counts), knowledge=kb)
    assert "not split equally" in report.conclusion
    assert list(kb.iterdir()) == []


def test_texts_that_are_alike_are_rarely_told_apart(plan: AbPlan, tmp_path: Path) -> None:
    rng = random.Random(3)
    spread = (plan.sample * 0.2 * 0.8) ** 0.5
    found = 0
    for _ in range(100):
        counts = {
            arm.code: (round(rng.gauss(0.2 * plan.sample, spread)), plan.sample)
            for arm in plan.arms
        }
        report = report_ab(fill_in(tmp_path / "test", counts))
        found += "does better than" in report.conclusion and not report.conclusion.startswith("no")
    assert found <= 12


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("code,n,count\nNONE,10,2", "in the plan or in the results"),
        ("code,n,count\n", "in the plan or in the results"),
    ],
)
def test_results_that_do_not_fit_are_one_sentence(
    plan: AbPlan, tmp_path: Path, lines: str, says: str
) -> None:
    assert plan.arms
    file = tmp_path / "test" / "results.csv"
    file.write_text(lines)
    with pytest.raises(InvalidInput, match=says):
        report_ab(file)


def test_a_run_with_too_few_texts_is_refused(result: Result, journal: Journal) -> None:
    with pytest.raises(InvalidInput, match="can be told apart"):
        plan_ab(result, arms=10, journal=journal)
    with pytest.raises(InvalidInput, match="from 2 to 10"):
        plan_ab(result, arms=1, journal=journal)


def judged_story(at: int, prefer: int, judges: int = 9) -> Story:
    """A run whose fresh judges compared its result with its draft."""
    draft, result = (
        Incumbent(name=name, since=0, text=f"{name} {at}", keeps_contract=True)
        for name in ("draft", "pass 1 B")
    )
    ballots = [
        BallotCast(
            stage=CONFIRMATION,
            seat=seat,
            model="m",
            order=("draft", "pass 1 B"),
            labels=("X", "Y"),
            ranking=("pass 1 B", "draft") if seat < prefer else ("draft", "pass 1 B"),
        )
        for seat in range(judges)
    ]
    verdict = verdict_of(ballots, ("draft", "pass 1 B"), "borda", judges)
    panel = RecordedPanel(
        stage=CONFIRMATION,
        ballots=ballots,
        decided=PanelDecided(stage=CONFIRMATION, verdict=verdict),
    )
    return Story(incumbents=[draft, result], panels={CONFIRMATION: panel})


def tried(at: int, gain: float, **changes: Any) -> list[Record]:
    """Outcomes of a run's two texts."""
    return [
        Record(
            text=f"{name} {at}",
            kind="outcome",
            result=RecordedOutcome(metric="rate", value=value, n=5000),
            **{"group": f"test {at}", "chosen": "ab", **changes},
        )
        for name, value in (("draft", 0.2), ("pass 1 B", 0.2 + gain))
    ]


def test_few_tests_and_many_judged_runs_are_joined() -> None:
    rng = random.Random(3)
    stories = [judged_story(at, at % 10) for at in range(120)]
    records = [
        record
        for at in rng.sample(range(120), 20)
        for record in tried(at, 0.01 * (at % 10 - 4) + rng.gauss(0, 0.005))
    ]
    found = effect_over_runs(stories, records)
    assert (found.tests, found.judged) == (20, 100)
    assert found.weight > 0
    assert found.joined.low is not None
    assert found.joined.high is not None
    assert found.joined.low < 0.005 < found.joined.high
    assert found.joined.high - found.joined.low < 0.6 * (
        (found.alone.high or 0) - (found.alone.low or 0)
    )
    assert "from 20 tests and 100 judged runs;" in found.statement
    assert "add nothing" not in found.statement


def test_judges_who_foretell_nothing_are_left_out_and_that_is_said() -> None:
    rng = random.Random(5)
    stories = [judged_story(at, rng.randint(0, 9)) for at in range(60)]
    records = [record for at in range(25) for record in tried(at, rng.gauss(0.01, 0.01))]
    found = effect_over_runs(stories, records)
    assert found.weight == 0
    assert found.joined == found.alone
    assert "35 judged runs more add nothing, for judges do not foretell tests" in found.statement
    few = effect_over_runs(stories, records[:12])
    assert "54 judged runs more add nothing, for judges count from 20 tests on" in few.statement


def test_texts_that_were_picked_other_metrics_and_other_groups_are_no_tests() -> None:
    stories = [judged_story(0, 5), Story()]
    both = tried(0, 0.1)
    assert effect_over_runs(stories, both).tests == 1
    assert effect_over_runs(stories, tried(0, 0.1, chosen="picked")).tests == 0
    assert effect_over_runs(stories, both, "clicks").tests == 0
    assert effect_over_runs(stories, [both[0], tried(0, 0.1, group="other")[1]]).tests == 0
    assert "1 test of result and draft so far" in effect_over_runs(stories, both).statement


def test_a_report_joins_the_runs_that_were_judged(
    plan: AbPlan, result: Result, journal: Journal, tmp_path: Path
) -> None:
    counts = {arm.code: (800, 4000) for arm in plan.arms}
    file = fill_in(tmp_path / "test", counts)
    kb = tmp_path / "kb"
    kb.mkdir()
    found = report_ab(file, knowledge=kb, judged=[result, result.run], journal=journal)
    assert found.effect is not None
    assert (found.effect.tests, found.effect.judged) == (1, 0)
    other = refine("Explain tides.", "echo/echo", passes=4, k=9, seed=3, journal=journal)
    more = report_ab(file, knowledge=kb, judged=[result, other], journal=journal).effect
    assert more is not None
    assert (more.tests, more.judged) == (1, 1)
    assert "Over runs" in str(found)
    assert found.to_dict()["effect"]["tests"] == found.effect.tests
    assert report_ab(file).effect is None
    with pytest.raises(UnknownRun):
        report_ab(file, judged=["nobody"], journal=journal)
