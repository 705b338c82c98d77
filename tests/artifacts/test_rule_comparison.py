"""Rules of research against each other: equal evaluations and seeds, and what fresh looks say of each."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tests.artifacts.knob import (
    Meter,
    SlowWhenFresh,
    knob_of,
    research_settings,
    research_task,
    turning,
)
from tests.run.leaving import told
from tests.run.runs import go_on, start_run

from autoreason.artifacts.research_terms import RuleName
from autoreason.artifacts.rule_comparison_report import RuleComparisonReport
from autoreason.artifacts.trial_events import NoiseMeasured
from autoreason.errors import InvalidInput
from autoreason.events import PartEvent
from autoreason.journal import Journal
from autoreason.keys import Key
from autoreason.models.doubles import ScriptedModel
from autoreason.run.export import export, make_result_patch
from autoreason.run.recorded import fork, replay
from autoreason.run.reports import StudyResult, reported_result
from autoreason.run.research_rules import compare_rules
from autoreason.settings import Settings
from autoreason.task import Task

RULES: tuple[RuleName, ...] = ("race", "greedy", "independent")


def settings(repeats: int = 2, **terms: Any) -> Settings:
    """A small comparison of all rules."""
    return research_settings(
        strategy="research_rules", rivals=RULES[1:], repeats=repeats, evaluations=40, **terms
    )


def proposer() -> ScriptedModel:
    """Proposals of which most do nothing or harm."""
    return turning(lambda number: random.Random(number).gauss(-0.5, 1.0))


async def compare(
    journal: Journal, meter: Meter, task: Task | None = None, **terms: Any
) -> tuple[str, RuleComparisonReport]:
    """A comparison and its report."""
    result = await start_run(
        journal, proposer(), task=task or research_task(), settings=settings(**terms), service=meter
    )
    assert result.status == "done"
    found = reported_result(result, journal)
    assert isinstance(found, StudyResult)
    report = found.report
    assert isinstance(report, RuleComparisonReport)
    return result.run, report


async def test_every_rule_has_the_same_evaluations_and_meets_the_start_on_the_same_looks(
    journal: Journal,
) -> None:
    meter = Meter(noise=1.0)
    run, report = await compare(journal, meter)
    assert [each.rule for each in report.rules] == list(RULES)
    assert all(len(each.runs) == 2 for each in report.rules)
    looks: dict[Any, int] = {}
    seeds: dict[Any, set[int]] = {}
    for key, look in meter.looks:
        parsed = Key.parse(key)
        looks[parsed.part] = looks.get(parsed.part, 0) + 1
        if parsed.head == "end":
            assert parsed.part
            seeds.setdefault(parsed.part.repeat, set()).add(look.seed)
    assert max(looks.values()) <= 40
    # Four looks at the end of every run of a repeat, with the same seeds whatever the rule.
    assert {repeat: len(each) for repeat, each in seeds.items()} == {1: 6, 2: 6}
    assert (await replay.aio(run, journal=journal)).same


async def test_greedy_claims_more_than_fresh_looks_show(journal: Journal) -> None:
    _, report = await compare(journal, Meter(noise=2.0, interaction=1.0), repeats=6)
    greedy = next(each for each in report.rules if each.rule == "greedy")
    claimed = sum(run.claimed for run in greedy.runs)
    assert claimed > sum(greedy.gains.values())
    text = " ".join(str(report).split())
    assert "do not quote it" in text
    assert "race - greedy" in text


async def test_a_result_that_breaks_a_guard_on_fresh_looks_counts_as_no_gain(
    journal: Journal,
) -> None:
    guarded = research_task(guard={"ms": "<= 0"})
    _, report = await compare(journal, SlowWhenFresh("end"), guarded)
    runs = [run for each in report.rules for run in each.runs]
    broken = [run for run in runs if run.broken]
    assert any(run.claimed > 0 for run in broken)
    assert {run.gain for run in broken} == {0.0}
    counted = f"{len(broken)} results break a guard on these looks and count as no gain"
    assert counted in " ".join(str(report).split())


async def test_a_comparison_goes_on_where_it_was_left_and_measures_nothing_twice(
    journal: Journal,
) -> None:
    meter = Meter(noise=1.0)
    whole, _ = await compare(journal, meter)
    again = Meter(noise=1.0)

    async def fail_at(query: Any) -> Any:
        if len(again.looks) == 70:
            raise InvalidInput("the machine was switched off")
        return await Meter.answer(again, query)

    again.answer = fail_at  # type: ignore[method-assign]
    with pytest.raises(InvalidInput):
        await start_run(
            journal, proposer(), task=research_task(), settings=settings(), service=again
        )
    run = next(row.id for row in journal.runs() if row.id != whole)
    del again.answer
    result = await go_on(journal, run, proposer(), service=again)
    assert result.status == "done"
    assert len({key for key, _ in again.looks}) == len(again.looks)
    assert _decisions(told(journal, run)) == _decisions(told(journal, whole))


def _decisions(story: list[Any]) -> list[Any]:
    inner = [each.event for each in story if isinstance(each, PartEvent)]
    return [each for each in inner if not isinstance(each, NoiseMeasured)]


def test_a_comparison_is_prepared_from_a_task_and_refuses_one_rule(tmp_path: Path) -> None:
    task = tmp_path / "task.md"
    (tmp_path / "knob.txt").write_text("knob = 0\n")
    (tmp_path / "evaluate.py").write_text("def score(artifact):\n    return 1.0\n")
    task.write_text("---\nartifact: knob.txt\nevaluate: evaluate.py:score\n---\nTurn it.\n")
    prepared = compare_rules.prepare(task, "echo/echo", rules=RULES, repeats=2)
    assert prepared.notes[-1].startswith("2 repeats of 3 rules cannot show")
    with pytest.raises(InvalidInput, match="two different rules or more"):
        compare_rules.prepare(task, "echo/echo", rules=("race",))
    calls = prepared.estimate().calls
    once = compare_rules.prepare(task, "echo/echo", rules=RULES).estimate().calls
    assert calls
    assert once
    assert calls.low == 2 * once.low


def test_rules_are_compared_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("knob.txt").write_text("knob = 0\n")
    task = "---\nartifact: knob.txt\njudge: the shorter one\n---\nTurn it."

    def measure(folder: Path, seed: int, items: list[Any]) -> float:
        del seed, items
        return knob_of((folder / "knob.txt").read_text())

    result = compare_rules(
        *(task, turning(lambda _: 1.0)),
        evaluate=measure,
        rules=["race", "independent"],
        repeats=2,
        evaluations=20,
        patience=2,
    )
    assert [each.rule for each in result.report.rules] == ["race", "independent"]
    (pair,) = result.report.pairs
    assert pair.difference > 0
    assert result.conclusion.startswith("no rule is shown to be better")
    assert replay(result.run).same


@pytest.mark.parametrize(
    "options", [{"rules": []}, {"rules": ["race", "islands"]}, {"rule": "race"}]
)
def test_a_comparison_without_two_known_rules_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("knob.txt").write_text("knob = 0\n")
    task = "---\nartifact: knob.txt\n---\nTurn it."
    with pytest.raises(InvalidInput, match="rule"):
        compare_rules(task, "echo/echo", evaluate=lambda *_: 0.0, **options)


@pytest.fixture
def sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyResult[RuleComparisonReport]:
    """A comparison with a sealed set, in which every run kept a change."""
    monkeypatch.chdir(tmp_path)
    Path("knob.txt").write_text("knob = 0\n")
    Path("items.txt").write_text("\n".join(map(str, range(20))))
    Path("sealed.txt").write_text("\n".join(map(str, range(100, 120))))
    task = "---\nartifact: knob.txt\nitems: items.txt\nsealed: sealed.txt\n---\nTurn it."
    return compare_rules(
        *(task, turning(lambda _: 1.0)),
        evaluate=lambda folder, seed, items: (  # noqa: ARG005
            knob_of((folder / "knob.txt").read_text())
        ),
        rules=["race", "greedy"],
        repeats=2,
        evaluations=20,
        patience=2,
    )


def test_a_comparison_says_how_often_the_sealed_set_has_been_opened(
    sealed: StudyResult[RuleComparisonReport],
) -> None:
    assert sealed.report.opened == 4
    assert "the sealed set has been opened 4 times" in " ".join(str(sealed).split())


def test_a_comparison_has_no_one_result_to_hand_over_or_to_fork(
    sealed: StudyResult[RuleComparisonReport], tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match=r"compares rules and has no one result; .*FOLDER"):
        make_result_patch(sealed.run, tmp_path)
    with pytest.raises(InvalidInput, match=r"compares rules and has no one result to fork"):
        fork.prepare(sealed.run)
    export(sealed.run, tmp_path / "out")
    for part in ("race", "greedy"):
        (patch,) = {each.read_text() for each in (tmp_path / "out").glob(f"**/{part}*/**/*.patch")}
        assert "-knob = 0\n+knob = " in patch
    assert not (tmp_path / "out/result").exists()
