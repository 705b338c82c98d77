"""The plan for real models: fixed before anything is seen, gone on with where it was, and read from its records."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from benchmarks.real.__main__ import parser
from benchmarks.real.page import as_page
from benchmarks.real.plan import SETS, Job, jobs, missing, run
from benchmarks.real.results import Results, Unit, arms, gains, pooled, read_texts
from tests.run.runs import open_journal, scripted, start_run
from tests.studies.lab.rivals import compared, comparing, priced
from tests.tournament.stage import critique, document

from autoreason.contract import Contract
from autoreason.task import Task

SERVER = ("--base-url", "http://127.0.0.1:9/v1", "--model", "openai/x")
STORED = Path(__file__).parents[2] / "benchmarks" / "real" / "results"


def planned(tmp_path: Path, *arguments: str) -> list[Job]:
    for name in SETS:
        Path(tmp_path, f"{name}.jsonl").touch()
    briefs = tmp_path / "mine" / "briefs"
    briefs.mkdir(parents=True, exist_ok=True)
    Path(briefs, "tea.md").write_text("Write about tea.", "utf-8")
    given = ("--out", str(tmp_path / "out"), "--problems", str(tmp_path), "--briefs", str(briefs))
    return list(jobs(parser().parse_args([*SERVER, *given, *arguments])))


def test_the_plan_is_the_same_every_time_and_has_a_seed_for_everything(tmp_path: Path) -> None:
    found = planned(tmp_path)
    assert found == planned(tmp_path)
    assert [job.name for job in found] == [
        *(f"{name}-{calls}" for calls in (6, 12) for name in ("humaneval", "mbpp", "stdio")),
        *("certificate-reasoned", "certificate-holistic", "text-mine-tea"),
    ]
    assert all("--seed" in job.arguments for job in found)
    assert [job.name for job in planned(tmp_path, "--parts", "texts")] == ["text-mine-tea"]
    assert missing(found) == []
    Path(tmp_path, "mbpp.jsonl").unlink()
    assert missing(found) == [str(tmp_path / "mbpp.jsonl")]


def units(better: float) -> list[Unit]:
    """Forty problems, of which one strategy solves some more than the other."""
    return [
        Unit("mbpp-6", f"p{n}", name, n < solved, calls)
        for name, solved, calls in (("search", 20 + round(40 * better), 5), ("single", 20, 2))
        for n in range(40)
    ]


def test_strategies_are_compared_on_the_same_problems_and_over_all_sets() -> None:
    some = units(0.2)
    every = [*some, *pooled(some)]
    assert [(arm.group, arm.strategy, arm.kept.value, arm.calls) for arm in arms(every)] == [
        *(("mbpp-6", "search", 0.7, 5), ("mbpp-6", "single", 0.5, 2)),
        *(("all sets-6", "search", 0.7, 5), ("all sets-6", "single", 0.5, 2)),
    ]
    one, _ = gains(every, ("search", "single"))
    assert one.difference.value == pytest.approx(0.2)
    assert one.p is not None
    assert one.p < 0.05


def test_an_earlier_table_is_next_to_the_new_one() -> None:
    def results(better: float) -> Results:
        some = units(better)
        both = ("search", "single")
        return Results(
            model="a/b", version="0", programs=arms(some), program_gains=gains(some, both)
        )

    page = as_page(results(0.2), results(0.1))
    assert "| mbpp-6 | search | 70.0% (" in page
    assert "| 60.0% (" in page
    assert "before" not in as_page(results(0.2), None)


@pytest.mark.parametrize("path", sorted(STORED.glob("*.json")), ids=lambda path: path.stem)
def test_what_was_measured_before_can_be_read(path: Path) -> None:
    stored = msgspec.json.decode(path.read_bytes(), type=Results)
    assert as_page(stored, stored)


async def test_texts_are_those_of_a_comparison_with_the_passes_that_judges_decided(
    tmp_path: Path,
) -> None:
    job = Job("text-a-b", "compare", ())
    written = priced(lambda request: document(f"Another text, of {request.key}."))
    critic = priced(lambda request: critique(*(() if "pass/2" in request.key else ("Why?",))))
    script = {"reviser": written, "synthesizer": written, "critic": critic}
    with open_journal(tmp_path) as journal:
        task = Task(brief="Write.", contract=Contract(must_not_include=("Made",)))
        await start_run(journal, scripted(), task=task)
        await compared(journal, comparing("autoreason", "best_of_n", task=task), script)
    journal.path.rename(job.journal(tmp_path))
    units, passes, judged = read_texts([job], tmp_path)
    kept = {(unit.strategy, unit.good, unit.calls > 1) for unit in units}
    assert kept == {("draft", False, True), ("autoreason", True, True), ("best_of_n", False, True)}
    assert len(units) == 6
    assert (passes, judged) == (4, 2), "where critics find nothing no judge is asked"


async def test_a_command_killed_when_its_run_was_over_is_run_anew(tmp_path: Path) -> None:
    job = Job("text-a-b", "no-such-command", ())
    with open_journal(tmp_path) as journal:
        await start_run(journal, scripted())
    journal.path.rename(job.journal(tmp_path))
    over = Job("over", "no-such-command", ())
    over.output(tmp_path).write_text("{}", "utf-8")
    assert run([over, job], tmp_path, 2, "http://127.0.0.1:9/v1") == [job]
    assert not job.journal(tmp_path).exists(), "it was not resumed"
    assert "no-such-command" in (tmp_path / f"{job.name}.err").read_text("utf-8")
