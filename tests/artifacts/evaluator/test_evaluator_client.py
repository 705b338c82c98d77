"""The evaluator's process: saved by digest, checked before every look, as many at a time as asked for."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.artifacts.evaluator.evaluating import (
    command,
    function,
    look,
    measure,
    needs_jail,
    opened,
)

from autoreason.artifacts.evaluation_service import EvaluationService
from autoreason.artifacts.evaluator.bench import LookSlots
from autoreason.artifacts.evaluator.caller import CallerEvaluator
from autoreason.artifacts.evaluator.evaluator_client import EvaluatorClient, OpenEvaluation
from autoreason.artifacts.evaluator.saved_evaluation import (
    SavedEvaluation,
    count_openings,
    record_opening,
    save_evaluation,
)
from autoreason.artifacts.measurement import LookOutcome, LookQuery
from autoreason.artifacts.research_task import EvaluationSource
from autoreason.errors import InvalidInput
from autoreason.paths import data_folder

CONSTANT = function("def score(artifact): return 1")


def saved_file(digest: str) -> Path:
    """Where an evaluation is saved."""
    return data_folder() / "evaluations" / f"{digest}.msgpack"


def test_a_saved_evaluation_is_private_and_the_same_content_has_the_same_digest() -> None:
    source = function("def score(a): return 1", items=({"a": 1 << 80},), sealed=("x",))
    digest = save_evaluation(source)
    assert save_evaluation(source) == digest
    assert saved_file(digest).stat().st_mode & 0o777 == 0o600
    assert saved_file(digest).parent.stat().st_mode & 0o777 == 0o700
    assert SavedEvaluation(digest).source == source


def test_a_folder_with_the_sealed_items_cannot_be_mounted() -> None:
    with pytest.raises(InvalidInput, match="sealed items"):
        save_evaluation(EvaluationSource(evaluate="true", mounts=(str(data_folder().parent),)))


async def test_an_evaluation_that_was_changed_or_is_missing_measures_nothing() -> None:
    digest = save_evaluation(CONSTANT)
    async with opened(CONSTANT) as client:
        assert (await client.measure(look())).value == 1.0
        with saved_file(digest).open("ab") as file:
            file.write(b" ")
        result = await client.measure(look())
        assert result.outcome == LookOutcome.EVALUATOR_ERROR
        assert "was changed" in result.detail
    with pytest.raises(InvalidInput, match="was changed"):
        await EvaluatorClient.connect(OpenEvaluation(digest=digest))
    saved_file(digest).unlink()
    with pytest.raises(InvalidInput, match="not saved here"):
        await EvaluatorClient.connect(OpenEvaluation(digest=digest))


@needs_jail
async def test_what_a_killed_evaluator_left_in_the_temporary_folder_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    source = command("import time\ntime.sleep(1)\ngive(1)", sealed=("secret",))
    async with opened(source) as client:
        looking = asyncio.create_task(client.measure(look(sealed=True, items=(0,))))
        await asyncio.sleep(0.5)
        assert client._connection is not None
        os.kill(client._connection._process.pid, 9)
        assert (await looking).value == 1.0
        assert len(list(tmp_path.glob("autoreason-evaluator-*"))) == 1  # noqa: ASYNC240
    assert not list(tmp_path.glob("autoreason-*"))  # noqa: ASYNC240


@needs_jail
async def test_an_evaluator_that_changes_its_own_file_is_written_anew() -> None:
    source = command(
        """
        import pathlib
        before = pathlib.Path("evaluate.py").read_text()
        try:
            os.chmod(".", 0o755); os.chmod("evaluate.py", 0o644)
            pathlib.Path("evaluate.py").write_text("import os; os.write(3, b'99')")
            pathlib.Path("new.py").write_text("")
        except OSError:
            pass
        give(1)
        """
    )
    for unsafe in (False, True):
        async with opened(source, unsafe=unsafe) as client:
            assert [(await client.measure(look())).value for _ in range(2)] == [1.0, 1.0]


async def test_a_sealed_set_counts_the_runs_that_opened_it_and_shows_nothing_of_itself() -> None:
    source = function(
        """
        def score(artifact, seed, items):
            print(items)
            if seed: raise ValueError(items[0])
            return len(items)
        """,
        items=("known",),
        sealed=("sealed-a", "sealed-b"),
    )
    for run in ("one", "one", "two"):
        async with opened(source, run=run) as client:
            await client.measure(look(items=(0,)))
            ok = await client.measure(look(items=(0, 1), sealed=True))
            failed = await client.measure(look(items=(0,), seed=1, sealed=True))
            assert (ok.value, ok.tail) == (2.0, "")
            assert failed.outcome == LookOutcome.FAILED
            assert "sealed-a" not in failed.detail + failed.tail
    assert count_openings(source.sealed) == 2
    assert count_openings(("other",)) == 0


def test_a_sealed_set_is_known_by_most_of_its_items_in_any_order() -> None:
    items = [{"a": number, "b": 1} for number in range(10)]
    assert record_opening(items, "first") == 1
    assert record_opening(items, "first") == 1
    again = [{"b": 1, "a": number} for number in reversed(range(10))]
    assert count_openings(again) == 1
    assert record_opening([*again[:8], "new", "newer"], "second") == 2
    assert count_openings(items[:3]) >= 1
    assert count_openings([*items[:3], *"abcdefg"]) == 0


async def test_a_sealed_set_is_counted_when_it_is_opened_once_for_each_end_test() -> None:
    source = EvaluationSource(evaluate="", sealed=("one", "two"))
    sealed = look(items=(0, 1), sealed=True)
    found = []
    for run, side in (("run", "start"), ("cell", "result"), ("cell", "start")):
        service = EvaluationService(CallerEvaluator(lambda *_: 1.0, source, run=run))
        key = f"end/{side}/look/0"
        found.append((await service.answer(LookQuery(key=key, look=sealed))).opened)
        record_opening(("two", "one"), "another run")
    assert found == [1, 3, 3]
    assert (await service.answer(LookQuery(key="start/look/0", look=look()))).opened == 0


async def test_words_that_an_artifact_has_from_an_item_are_counted() -> None:
    item = "the quick brown fox jumps over the lazy dog today"
    source = function("def score(artifact): return 1", items=({"text": item},))
    async with opened(source, start={"prompt.md": "start"}) as client:
        assert (await client.measure(look("start", path="prompt.md"))).shared == 0
        assert (await client.measure(look(item, path="prompt.md"))).shared == 3


async def test_an_item_that_is_not_there_is_the_evaluators_fault() -> None:
    result = await measure(CONSTANT, look(items=(3,)))
    assert result.outcome == LookOutcome.EVALUATOR_ERROR


@pytest.mark.parametrize("path", ["../outside.py", "/outside.py"])
@needs_jail
async def test_a_path_outside_of_the_artifact_is_never_written(path: str) -> None:
    result = await measure(command("give(1)"), look(path=path))
    assert result.outcome == LookOutcome.EVALUATOR_ERROR
    assert "outside.py" in result.detail


async def test_looks_run_side_by_side_and_one_that_is_alone_waits() -> None:
    slots, running, most = LookSlots(2), 0, {True: 0, False: 0}

    async def take(alone: bool) -> None:
        nonlocal running
        async with slots.take(alone=alone):
            running += 1
            most[alone] = max(most[alone], running)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            running -= 1

    async with asyncio.TaskGroup() as group:
        for number in range(30):
            group.create_task(take(alone=number % 5 == 0))
    assert most == {True: 1, False: 2}


async def test_two_runs_measure_one_task_at_once() -> None:
    source = function("def score(artifact, seed): return artifact.pack(seed)")
    async with opened(source, parallel=2) as one, opened(source, parallel=2) as other:
        looks = [look("def pack(x): return x * x", seed=seed) for seed in range(8)]
        results = await asyncio.gather(
            *(client.measure(each) for each in looks for client in (one, other))
        )
    assert [each.value for each in results] == [float(n * n) for n in range(8) for _ in range(2)]


async def test_a_process_that_dies_is_started_again_and_nothing_is_lost() -> None:
    source = function("import time\ndef score(artifact): time.sleep(0.5); return 1")
    async with opened(source) as client:
        looking = asyncio.create_task(client.measure(look()))
        await asyncio.sleep(0.2)
        assert client._connection is not None
        os.kill(client._connection._process.pid, 9)
        assert (await looking).value == 1.0


async def test_a_function_of_the_caller_is_given_folder_seed_and_items() -> None:
    def evaluate(folder: Path, seed: int, items: list[str]) -> object:
        if seed:
            raise ValueError("wrong")
        return {"score": len((folder / "a" / "prompt.md").read_text()), "n": len(items)}

    evaluator = CallerEvaluator(evaluate, EvaluationSource(evaluate="", items=("x", "y")))
    result = await evaluator.measure(look("four", path="a/prompt.md", items=(1,)))
    assert (result.value, result.level, result.metrics["n"]) == (4.0, "caller", 1.0)
    failed = await evaluator.measure(look("four", path="a/prompt.md", seed=1))
    assert (failed.outcome, failed.detail) == (LookOutcome.FAILED, "ValueError: wrong")


class _NoFloat:
    def __float__(self) -> float:
        raise LookupError("no")


def _deep() -> object:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize(
    "error", [SystemExit, asyncio.CancelledError, GeneratorExit, StopIteration]
)
async def test_no_exception_of_the_callers_function_ends_the_callers_program(
    error: type[BaseException],
) -> None:
    def evaluate(*_: object) -> float:
        raise error("end")

    result = await CallerEvaluator(evaluate).measure(look())
    assert (result.outcome, result.detail) == (LookOutcome.FAILED, f"{error.__name__}: end")


async def test_an_error_that_cannot_be_told_is_a_failed_look() -> None:
    class Odd(RecursionError):
        def __str__(self) -> str:
            raise ValueError

    def evaluate(*_: object) -> float:
        raise Odd

    result = await CallerEvaluator(evaluate).measure(look())
    assert (result.outcome, result.detail) == (LookOutcome.FAILED, "Odd")


@pytest.mark.parametrize("make", [_deep, _NoFloat, object])
async def test_what_the_callers_function_returns_is_a_number_or_invalid(
    make: Callable[[], object],
) -> None:
    result = await CallerEvaluator(lambda *_: make()).measure(look())
    assert result.outcome is LookOutcome.INVALID
    assert result.detail


async def test_a_boolean_of_numpy_is_no_number() -> None:
    import numpy

    result = await CallerEvaluator(lambda *_: numpy.bool_(True)).measure(look())
    assert result.outcome is LookOutcome.INVALID
    assert (await CallerEvaluator(lambda *_: numpy.float32(2)).measure(look())).value == 2.0


def test_an_async_function_is_refused() -> None:
    async def evaluate(*_: object) -> float:
        return 1.0

    with pytest.raises(InvalidInput, match="`evaluate` is an async function"):
        CallerEvaluator(evaluate)


def test_folders_of_looks_that_were_killed_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    program = (
        "import asyncio, os\n"
        "from autoreason.artifacts.evaluator.caller import CallerEvaluator\n"
        "from autoreason.artifacts.measurement import Look\n"
        "killed = CallerEvaluator(lambda *_: os.kill(os.getpid(), 9))\n"
        "asyncio.run(killed.measure(Look(files={'a': 'b'}, seed=0)))\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=False)
    assert [each.name[:16] for each in tmp_path.iterdir()] == ["autoreason-look-"]
    CallerEvaluator(lambda *_: 1.0)
    assert not list(tmp_path.iterdir())


async def test_of_sealed_looks_only_the_numbers_that_the_task_names_are_told() -> None:
    code = "def score(artifact, seed, items): return {'score': 1, 'ms': 2, items[0]: 3}"
    source = function(code, items=("known",), sealed=("secret",))
    async with opened(source, guards=("ms",)) as client:
        assert (await client.measure(look(items=(0,)))).metrics["known"] == 3.0
        sealed = await client.measure(look(items=(0,), sealed=True))
    assert sealed.metrics == {"score": 1.0, "ms": 2.0}
