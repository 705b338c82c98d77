"""The demonstrations of research: they can be run, measure honestly, and show loops that fool themselves."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from autoreason.artifacts.artifact import Files
from autoreason.artifacts.evaluator_check import check_evaluation
from autoreason.artifacts.proposals import Edit, ProposalError, apply_edits, read_proposal
from autoreason.artifacts.research_task import ResearchTask, read_research_task
from autoreason.artifacts.saved_evaluation import save_evaluation
from autoreason.run.research import research
from autoreason.run.research_result import ResearchResult

DEMOS = Path(__file__).parents[2] / "examples" / "research"
PROPOSER = f"{DEMOS / 'scripted.py'}:Proposer"
NAMES = ("circles", "bins", "bytes", "digits", "salesman")
SMALLER: dict[str, tuple[str, str]] = {
    "bytes": ("LENGTH = 6144", "LENGTH = 100"),
    "salesman": ("SECONDS = 2.0", "SECONDS = 0.1"),
}
"""What is replaced in an evaluator so that an evaluation takes little time."""
FEWER: dict[str, list[dict[str, int]]] = {
    "bins": [{"length": 50, "seed": seed} for seed in range(6)],
    "salesman": [{"n": 30, "seed": seed} for seed in range(6)],
}

pytestmark = pytest.mark.usefixtures("evaluator_here")
in_sandbox = pytest.mark.skipif(sys.platform != "linux", reason="evaluators are jailed on Linux")


def load(path: Path) -> ModuleType:
    """A file of a demonstration as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"demo_{path.parent.name}_{path.stem}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def small(name: str, folder: Path) -> Path:
    """The task of a demonstration, in a copy with little to compute."""
    place = shutil.copytree(DEMOS / name, folder / name)
    evaluator = place / "evaluate.py"
    if name in SMALLER:
        text = evaluator.read_text()
        assert SMALLER[name][0] in text
        evaluator.write_text(text.replace(*SMALLER[name]))
    if name in FEWER:
        (place / "items.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in FEWER[name]))
        sealed = [{**each, "seed": each["seed"] + 10} for each in FEWER[name]]
        (place / "sealed.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in sealed))
    return place / "task.md"


def propose(name: str) -> dict[str, Files]:
    """The artifact after each proposal, by its idea, applied to the latest one before that it fits."""
    artifacts = [work_of(DEMOS / name / "task.md").files]
    after = {}
    for reply in (DEMOS / name / "proposals.md").read_text("utf-8").split("\n* * *\n"):
        proposal = read_proposal(reply, artifacts[0])
        assert proposal.hypothesis
        assert proposal.expected
        artifacts.append(apply_to_latest(artifacts, proposal.edits))
        after[proposal.hypothesis] = artifacts[-1]
    return after


def apply_to_latest(artifacts: list[Files], edits: tuple[Edit, ...]) -> Files:
    """An artifact with edits, made to the latest that has the passages to be replaced."""
    for files in reversed(artifacts):
        with suppress(ProposalError):
            return apply_edits(files, edits, tuple(files))
    raise AssertionError("the proposal applies to nothing before it")


def work_of(task: Path) -> ResearchTask:
    work = read_research_task(str(task)).task.work
    assert isinstance(work, ResearchTask)
    return work


def score(name: str, source: str, items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What an evaluator says of an artifact, both in this process."""
    artifact: dict[str, Any] = {}
    exec(compile(source, f"{name}.py", "exec"), artifact)
    module = load(DEMOS / name / "evaluate.py")
    found: dict[str, Any] = module.score(SimpleNamespace(**artifact), 1, items)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_demonstration_has_a_task_with_sealed_items_and_a_readme(name: str) -> None:
    work = work_of(DEMOS / name / "task.md")
    assert work.items
    assert work.sealed
    readme = (DEMOS / name / "README.md").read_text("utf-8")
    assert f"scripted.py:Proposer/{name}" in readme
    commands = [line for line in readme.splitlines() if line.startswith("autoreason research ")]
    assert commands
    assert all(" --seed 1" in each for each in commands)
    assert name in (DEMOS / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_every_proposal_can_be_read_and_applied_to_one_before_it(name: str) -> None:
    files = list(propose(name).values())
    assert len(files) >= 7
    assert all(one != other for one, other in pairwise(files))


@in_sandbox
@pytest.mark.parametrize("name", ["circles", "bins", "bytes", "salesman"])
async def test_no_attack_on_the_evaluator_of_a_demonstration_gets_through(
    name: str, tmp_path: Path
) -> None:
    found = read_research_task(str(small(name, tmp_path)))
    assert isinstance(found.task.work, ResearchTask)
    task = replace(found.task.work, evaluation=save_evaluation(found.evaluation))
    report = await check_evaluation(task, pairs=1)
    assert [row for row in report.rows if row.status == "FAILED"] == []


def run_small(name: str, folder: Path, evaluations: int = 18) -> ResearchResult:
    return research(
        small(name, folder),
        f"{PROPOSER}/{name}",
        evaluations=evaluations,
        patience=3,
        seed=1,
        journal=folder / "journal.db",
    )


@in_sandbox
def test_circles_of_different_sizes_beat_the_grid_also_with_other_numbers(tmp_path: Path) -> None:
    result = run_small("circles", tmp_path, 19)
    assert [row.status for row in result.report.trials] == ["dropped", "failed", "kept"]
    assert result.gain
    assert (result.gain.n, result.gain.gain > 0) == (6, True)


@in_sandbox
def test_a_predictor_with_longer_contexts_is_claimed_on_other_texts(tmp_path: Path) -> None:
    result = run_small("bytes", tmp_path)
    assert result.report.trials[0].status == "kept"
    assert result.report.end
    assert result.report.end.sealed


@in_sandbox
@pytest.mark.parametrize("name", ["bins", "salesman"])
def test_a_demonstration_runs_to_its_end_test(name: str, tmp_path: Path) -> None:
    result = run_small(name, tmp_path, 28 if name == "salesman" else 18)
    assert result.status == "done"
    assert {row.status for row in result.report.trials} <= {"kept", "dropped", "refused"}
    if name == "salesman":
        assert result.report.end


def test_digits_are_measured_on_rows_that_are_not_trained_on(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    module = load(DEMOS / "digits" / "evaluate.py")
    _, _, part = module.digits()
    assert 0.27 < sum(part >= module.OPEN) / len(part) < 0.33
    start = (DEMOS / "digits" / "pipeline.toml").read_text()
    kernel = list(propose("digits").values())[2]["pipeline.toml"]
    found = []
    for text in (start, kernel):
        (tmp_path / "pipeline.toml").write_text(text)
        found.append(module.score(tmp_path, 1, [{"part": each} for each in range(70, 100)]))
    assert found[0]["accuracy"] == pytest.approx(0.965, abs=0.01)
    assert found[1]["accuracy"] == pytest.approx(0.985, abs=0.01)
    (tmp_path / "pipeline.toml").write_text(start.replace('"logistic"', '"perfect"'))
    with pytest.raises(KeyError):
        module.score(tmp_path, 1, [{"part": 1}])


def test_circles_are_checked_without_any_tolerance() -> None:
    source = (DEMOS / "circles" / "pack.py").read_text()
    assert score("circles", source, [{"n": 26}])["sum"] == pytest.approx(2.5414, abs=1e-4)
    check = load(DEMOS / "circles" / "evaluate.py").sum_of_radii
    assert check([[0.25, 0.5, 0.25], [0.75, 0.5, 0.25]], 2) == 0.5
    touching = 0.25 + 2**-53
    for bad in (
        [[0.25, 0.5, touching], [0.75, 0.5, 0.25]],
        [[0.5, 0.5, 0.25], [0.75, 0.5, touching]],
        [[0.25, 0.5, float("nan")], [0.75, 0.5, 0.25]],
        [[0.25, 0.5, -0.25], [0.75, 0.5, 0.25]],
        [[0.25, 0.5, 0.25]],
        [[0.25, 0.5, True], [0.75, 0.5, 0.25]],
        "circles",
    ):
        with pytest.raises(ValueError, match=r"circle|NaN"):
            check(bad, 2)


def test_the_rule_for_long_packings_loses_to_best_fit_on_short_ones() -> None:
    best_fit = (DEMOS / "bins" / "pack.py").read_text()
    tuned = propose("bins")["And a space of 20."]["pack.py"].replace("roomy[0]", "roomy[-1]")
    gains = {}
    for length, seeds in ((500, range(900, 908)), (5000, range(900, 902))):
        items = [{"length": length, "seed": seed} for seed in seeds]
        gains[length] = (
            score("bins", best_fit, items)["excess"] - score("bins", tuned, items)["excess"]
        )
    assert gains[5000] > 2
    assert gains[500] < 0


def test_bins_that_are_too_full_or_not_there_are_no_packing() -> None:
    check = load(DEMOS / "bins" / "evaluate.py").excess_of
    assert check(lambda _: 0, [40, 60]) == 0
    for place, sizes in ((lambda _: 0, [60, 60]), (lambda _: 1, [60]), (lambda _: True, [60])):
        with pytest.raises(ValueError, match="bin"):
            check(place, sizes)


def test_texts_cannot_be_known_by_heart_and_are_worth_the_same_to_compressors() -> None:
    module = load(DEMOS / "bytes" / "evaluate.py")
    one, other = (module.text_of("compound", seed) for seed in (1, 2))
    assert one != other
    assert len(one) == len(other) == module.LENGTH
    assert sorted(map(one.count, set(one))) == sorted(map(other.count, set(other)))
    uniform = bytes([1, 0] * 256)
    assert module.bits_of(lambda _: uniform, one[:100]) == pytest.approx(8)
    for bad in (bytes(512), b"", "x" * 512, [1] * 256):
        with pytest.raises(ValueError, match="weight"):
            module.weights_of(bad)


def test_a_tour_visits_every_point_once_and_in_time() -> None:
    module = load(DEMOS / "salesman" / "evaluate.py")
    points = module.points_of({"n": 20, "seed": 1, "clusters": 3})
    assert all(0 <= each < 1 for point in points for each in point)
    order = list(range(20))
    assert module.length_of(order, points) > 0
    for bad in ([*order[1:], 1], order[1:], [*order, 20], tuple(order), [True, *order[1:]]):
        with pytest.raises(ValueError, match="tour"):
            module.length_of(bad, points)
    vars(module)["SLACK"] = -module.SECONDS
    with pytest.raises(ValueError, match="seconds"):
        module.score(SimpleNamespace(tour=lambda *_: order), 1, [{"n": 20, "seed": 1}])


def test_the_figures_of_a_readme_are_those_of_its_evaluator() -> None:
    for name, metric, items in (
        ("circles", "sum", [{"n": 26}]),
        ("bytes", "bits", [{"topic": "specialnames"}]),
    ):
        (artifact,) = work_of(DEMOS / name / "task.md").files.values()
        value = score(name, artifact, items)[metric]
        assert re.search(rf"{value:.3g}", (DEMOS / name / "README.md").read_text("utf-8"))


PAGE = Path(__file__).parents[2] / "docs" / "research.md"
EXPERIMENTS = ("noise", "instances", "lengths")


@pytest.fixture
def overfitting(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The program behind the page, with few of the evaluations that no run has seen."""
    module = load(DEMOS / "overfitting.py")
    measuring = module.evaluations_of_no_run
    monkeypatch.setattr(
        module, "evaluations_of_no_run", lambda evaluate, looks: measuring(evaluate, looks[:3])
    )
    return module


def test_a_gain_on_one_length_is_seen_by_the_loop_and_not_claimed(overfitting: Any) -> None:
    name, run = next(overfitting.compare_on_lengths(20))
    assert name == "greedy, task.md"
    outcome = run(1)
    assert outcome.seen > 1
    assert not outcome.claims


def test_a_gain_on_five_instances_is_seen_by_the_loop_and_not_claimed(overfitting: Any) -> None:
    # Its folder is removed with it.
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
