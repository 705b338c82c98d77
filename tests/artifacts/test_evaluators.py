"""Evaluators: saved by digest, checked every time, as many at a time as asked for; functions, and what they return."""

from __future__ import annotations

import asyncio
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.artifacts.evaluating import command, evaluation, function, measure, needs_jail, opened

from autoreason.artifacts.artifact import (
    Evaluation,
    EvaluationOutcome,
    EvaluationQuery,
    EvaluationService,
    Files,
)
from autoreason.artifacts.evaluators import (
    CallerEvaluator,
    EvaluatorClient,
    FunctionEvaluator,
    OpenEvaluation,
)
from autoreason.artifacts.research_task import EvaluationLimits, EvaluationSource
from autoreason.artifacts.saved_evaluation import (
    MAX_RESULT_BYTES,
    MAX_VALUE,
    count_openings,
    evaluation_path,
    load_evaluation,
    read_measurement,
    record_opening,
    save_evaluation,
)
from autoreason.errors import InvalidInput, MetricFailed
from autoreason.files import data_folder
from autoreason.programs.sandbox.levels import open_sandbox

CONSTANT = function("def score(artifact): return 1")


def test_a_saved_evaluation_is_private_and_the_same_content_has_the_same_digest() -> None:
    source = function("def score(a): return 1", items=({"a": 1 << 80},), sealed=("x",))
    digest = save_evaluation(source)
    assert save_evaluation(source) == digest
    assert evaluation_path(digest).stat().st_mode & 0o777 == 0o600
    assert evaluation_path(digest).parent.stat().st_mode & 0o777 == 0o700
    assert load_evaluation(digest) == source
    with pytest.raises(InvalidInput, match="sealed items"):
        save_evaluation(EvaluationSource(evaluate="true", mounts=(str(data_folder().parent),)))


async def test_an_evaluation_that_was_changed_or_is_missing_measures_nothing() -> None:
    digest = save_evaluation(CONSTANT)
    with evaluation_path(digest).open("ab") as file:
        file.write(b" ")
    with pytest.raises(InvalidInput, match="was changed"):
        await EvaluatorClient.connect(OpenEvaluation(digest=digest))
    evaluation_path(digest).unlink()
    with pytest.raises(InvalidInput, match="no evaluator is saved"):
        await EvaluatorClient.connect(OpenEvaluation(digest=digest))


@needs_jail
async def test_what_a_killed_evaluator_left_in_the_temporary_folder_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    source = command("import time\ntime.sleep(1)\ngive(1)", sealed=("secret",))
    async with opened(source, apart=True) as client:
        evaluating = asyncio.create_task(client.measure(evaluation(sealed=True, items=(0,))))
        await asyncio.sleep(0.5)
        assert client._connection is not None
        os.kill(client._connection._process.pid, 9)
        assert (await evaluating).value == 1.0
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
            assert [(await client.measure(evaluation())).value for _ in range(2)] == [1.0, 1.0]


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
        async with opened(source, apart=run == "two", run=run) as client:
            await client.measure(evaluation(items=(0,)))
            ok = await client.measure(evaluation(items=(0, 1), sealed=True))
            failed = await client.measure(evaluation(items=(0,), seed=1, sealed=True))
            assert (ok.value, ok.tail) == (2.0, "")
            assert failed.outcome == EvaluationOutcome.FAILED
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


async def test_a_run_pauses_where_the_evaluator_cannot_be_run_or_gives_no_number() -> None:
    def query(seed: int = 0, items: tuple[int, ...] = ()) -> EvaluationQuery:
        taken = evaluation(seed=seed, items=items)
        return EvaluationQuery(key="start/evaluation/0", evaluation=taken)

    service = EvaluationService(CallerEvaluator(lambda _, seed, __: 1 / seed), 2)
    assert (await service.answer(query(seed=1))).value == 1.0
    assert (await service.answer(query())).value is None
    with pytest.raises(MetricFailed, match=r"gave no number 2 times in a row.*ZeroDivisionError"):
        await service.answer(query())
    with pytest.raises(MetricFailed, match=r"could not be run 3 times in a row .there are only 0"):
        await service.answer(query(items=(3,)))


async def test_words_that_an_artifact_has_from_an_item_are_counted() -> None:
    item = "the quick brown fox jumps over the lazy dog today"
    source = function("def score(artifact): return 1", items=({"text": item},))
    async with opened(source, start={"prompt.md": "start"}) as client:
        assert (await client.measure(evaluation("start", path="prompt.md"))).shared == 0
        assert (await client.measure(evaluation(item, path="prompt.md"))).shared == 3


@pytest.mark.parametrize("path", ["../outside.py", "/outside.py"])
@needs_jail
async def test_a_path_outside_of_the_artifact_is_never_written(path: str) -> None:
    result = await measure(command("give(1)"), evaluation(path=path))
    assert result.outcome == EvaluationOutcome.EVALUATOR_ERROR
    assert "outside.py" in result.detail


async def test_a_function_of_the_caller_is_given_folder_seed_and_items_for_a_number() -> None:
    def evaluate(folder: Path, seed: int, items: list[str]) -> object:
        if seed:
            raise ValueError("wrong")
        return {"score": len((folder / "a" / "prompt.md").read_text()), "n": len(items)}

    evaluator = CallerEvaluator(evaluate, EvaluationSource(evaluate="", items=("x", "y")))
    result = await evaluator.measure(evaluation("four", path="a/prompt.md", items=(1,)))
    assert (result.value, result.level, result.metrics["n"]) == (4.0, "caller", 1.0)
    failed = await evaluator.measure(evaluation("four", path="a/prompt.md", seed=1))
    assert (failed.outcome, failed.detail) == (EvaluationOutcome.FAILED, "ValueError: wrong")
    import numpy

    for wrong in (numpy.bool_(True), object()):
        result = await CallerEvaluator(lambda *_, wrong=wrong: wrong).measure(evaluation())
        assert result.outcome is EvaluationOutcome.INVALID
        assert result.detail
    assert (await CallerEvaluator(lambda *_: numpy.float32(2)).measure(evaluation())).value == 2.0

    async def later(*_: object) -> float:
        return 1.0

    with pytest.raises(InvalidInput, match="`evaluate` is an async function"):
        CallerEvaluator(later)


@pytest.mark.parametrize(
    "error", [SystemExit, asyncio.CancelledError, GeneratorExit, StopIteration]
)
async def test_no_exception_of_the_callers_function_ends_the_callers_program(
    error: type[BaseException],
) -> None:
    def evaluate(*_: object) -> float:
        raise error("end")

    result = await CallerEvaluator(evaluate).measure(evaluation())
    assert (result.outcome, result.detail) == (EvaluationOutcome.FAILED, f"{error.__name__}: end")


def test_folders_of_evaluations_that_were_killed_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    program = (
        "import asyncio, os\n"
        "from autoreason.artifacts.evaluators import CallerEvaluator\n"
        "from autoreason.artifacts.artifact import Evaluation\n"
        "killed = CallerEvaluator(lambda *_: os.kill(os.getpid(), 9))\n"
        "asyncio.run(killed.measure(Evaluation(files={'a': 'b'}, seed=0)))\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=False)
    assert [each.name[:18] for each in tmp_path.iterdir()] == ["autoreason-caller-"]
    CallerEvaluator(lambda *_: 1.0)
    assert not list(tmp_path.iterdir())


async def test_of_sealed_evaluations_only_the_numbers_that_the_task_names_are_told() -> None:
    code = "def score(artifact, seed, items): return {'score': 1, 'ms': 2, items[0]: 3}"
    source = function(code, items=("known",), sealed=("secret",))
    async with opened(source, guards=("ms",)) as client:
        assert (await client.measure(evaluation(items=(0,)))).metrics["known"] == 3.0
        sealed = await client.measure(evaluation(items=(0,), sealed=True))
    assert sealed.metrics == {"score": 1.0, "ms": 2.0}


PACK = "def pack(sizes):\n    return sorted(sizes)\n"


async def test_the_function_calls_the_artifact_with_seed_and_items() -> None:
    source = function(
        """
        import random
        def score(artifact, seed, items):
            print("measuring")
            random.Random(seed).shuffle(items)
            packed = artifact.pack([item["size"] for item in items])
            return {"score": packed[0], "seed": seed, "items": packed}
        """,
        items=({"size": 3}, {"size": 1}, {"size": 2}),
    )
    async with opened(source) as client:
        one = await client.measure(evaluation(PACK, seed=7, items=(0, 2)))
        assert (one.outcome, one.value) == (EvaluationOutcome.OK, 2.0)
        assert one.metrics == {"score": 2.0, "seed": 7.0}
        assert one.by_item == (2.0, 3.0)
        assert one.tail == "measuring\n"
        assert one.level == client.reply.level != "none"
        assert one.seconds > 0


DECORATED = """
import functools
def once(function):
    @functools.wraps(function)
    def call(*given): return function(*given)
    return call
@once
def score(artifact, seed): return seed
"""
IMPORTING = {
    "solver/pack.py": "from helpers.sums import add\ndef total(numbers):\n    return add(numbers)\n",
    "solver/helpers/sums.py": "import bisect, zlib\ndef add(numbers):\n    return sum(numbers)\n",
    "solver/config.toml": "a = 1",
}
TWO = {"one.py": "def f(): return 1\ndef g(): return 1", "two.py": "def g(): return 2"}


@pytest.mark.parametrize(
    ("code", "files", "value"),
    [
        (
            "def score(artifact): return artifact.pack.total([1, 2]) + len(artifact.text('solver/config.toml'))",
            IMPORTING,
            8.0,
        ),
        (
            "def score(artifact, seed): return len(artifact.files['prompt.md'])",
            {"prompt.md": "four"},
            4.0,
        ),
        (DECORATED, {"pack.py": PACK}, 2.0),
        ("def score(*given): return len(given)", {"pack.py": PACK}, 3.0),
        ("score = lambda artifact, seed=5: seed", {"pack.py": PACK}, 2.0),
        ("import limits\ndef score(artifact): return limits.BEST", {"pack.py": PACK}, 5.0),
        ("def score(artifact): return artifact.f()", TWO, 1.0),
        ("def score(artifact): return artifact.two.g()", TWO, 2.0),
        ("def score(artifact): return artifact.g()", TWO, None),
        ("def score(artifact): return artifact.h()", TWO, None),
    ],
)
async def test_functions_and_artifacts_of_any_form_are_measured(
    code: str, files: Files, value: float | None
) -> None:
    source = function(code)
    source = replace(source, files={**source.files, "limits.py": b"BEST = 5"})
    evaluator = FunctionEvaluator(open_sandbox(workers=1), source)
    try:
        result = await evaluator.execute(Evaluation(files=files, seed=2), (), 0)
    finally:
        await evaluator.close()
    assert result.value == value
    assert value is not None or "write `artifact.NAME." in result.detail


async def test_what_is_no_finite_number_is_invalid_and_never_zero() -> None:
    returned = (
        *("float('nan')", "float('inf')", "True", "'0.9'", "None", "[1]", "{'other': 1}"),
        "artifact.pack",
    )
    values = ", ".join(f"lambda artifact: {each}" for each in returned)
    source = function(
        f"VALUES = [{values}]\ndef score(artifact, seed): return VALUES[seed](artifact)"
    )
    async with opened(source) as client:
        for seed, each in enumerate(returned):
            result = await client.measure(evaluation(PACK, seed=seed))
            assert result.outcome in (EvaluationOutcome.INVALID, EvaluationOutcome.FAILED), each
            assert result.value is None
            assert result.detail


async def test_each_way_to_fail_has_its_outcome() -> None:
    source = function(
        """
        import time
        def score(artifact, seed, items):
            if seed == 0: return artifact.pack([])
            if seed == 1: raise ValueError("wrong")
            if seed == 2:
                while True: pass
            if seed == 3: time.sleep(100)
            if seed == 4: return len(bytearray(10 << 30))
            return 1
        """,
        limits=EvaluationLimits(seconds=2, memory_mb=256),
    )
    async with opened(source) as client:
        raised = await client.measure(evaluation("def pack(x): return x[1]"))
        assert raised.outcome == EvaluationOutcome.FAILED
        assert "IndexError" in raised.detail
        assert "def pack" in raised.tail
        outcomes = [
            (await client.measure(evaluation(PACK, seed=seed))).outcome for seed in range(1, 6)
        ]
        assert outcomes == ["failed", "timeout", "timeout", "memory", "ok"]


async def test_an_evaluator_that_cannot_be_run_is_no_result() -> None:
    broken = ("import numpy\ndef score(artifact): return 1", "def other(): pass", "def score(:")
    for source in (CONSTANT, *map(function, broken)):
        # There is no fourth item.
        result = await measure(source, evaluation(PACK, items=(3,) if source is CONSTANT else ()))
        assert result.outcome == EvaluationOutcome.EVALUATOR_ERROR
        assert result.detail


ATTACKS = {
    "prints a score": "print(99.0)\ndef pack(x): return x",
    "writes to every descriptor": """
        import os
        def pack(x):
            for number in range(3, 64):
                try: os.write(number, b'{"value": "99"}')
                except OSError: pass
            return x
        """,
    "exits early": "import os\ndef pack(x): os._exit(0)",
    "raises the exit": "def pack(x): raise SystemExit(0)",
    "patches the arithmetic": """
        import builtins, json, random
        builtins.len = lambda x: 99
        json.dumps = lambda *a, **k: "99"
        random.seed = random.random = lambda *a: 99
        def pack(x): return x
        """,
    "evaluations of frames": """
        import sys, gc
        def pack(x):
            frame = sys._getframe()
            while frame is not None:
                for name in list(frame.f_locals):
                    if "secret" in str(frame.f_locals[name]): return [0] * 99
                frame = frame.f_back
            for each in gc.get_objects():
                if isinstance(each, dict) and "secret-item" in each.values(): return [0] * 99
            return x
        """,
    "reads files": """
        import glob, os
        def pack(x):
            for root in ("/", ".", "/proc/self", "/tmp"):
                try: names = os.listdir(root)
                except OSError: continue
                if any("evaluat" in name for name in names): return [0] * 99
            try: return [0] * (99 if "secret" in open("evaluate.py").read() else 3)
            except OSError: return x
        """,
    "returns what compares as it likes": """
        class Best(list):
            def __len__(self): return 99
            def __float__(self): return 99.0
        def pack(x): return Best(x)
        """,
}


async def test_an_artifact_cannot_get_a_better_number_by_an_attack() -> None:
    source = function(
        """
        import json, random
        def score(artifact, seed, items):
            secret = "secret-item"
            return len(artifact.pack([1, 2, 3]))
        """,
        items=("secret-item",),
    )
    async with opened(source) as client:
        for name, attack in ATTACKS.items():
            result = await client.measure(evaluation(attack, items=(0,)))
            assert result.value in (None, 3.0), name


SHIFTY = """
class Shifty:
    def __init__(self): self.times = 0
    def __len__(self): return 60
    def __iter__(self):
        self.times += 1
        return iter(range(60) if self.times == 1 else [0])
    def place(self, size): return size + 1
    @property
    def seen(self):
        self.times += 1
        return self.times
def pack(x): return Shifty()
def nested(x): return [Shifty()] * 60
TABLE = Shifty()
def __getattr__(name):
    TABLE.times += 1
    return TABLE.times
"""


async def test_a_returned_object_is_no_value_and_every_constant_is_copied_once() -> None:
    uses = (
        *("list(b)", "len(b)", "set(b)", "b[0]", "1 in b", "bool(b)", "sum(b)", "float(b)"),
        *("next(b)", "b < 3", "max(b, 1)", "'%d' % b", "round(b)", "sorted([b, b])"),
    )
    code = ", ".join(f"lambda b: {each}" for each in uses)
    source = function(
        f"""
        USES = [{code}]
        def score(artifact, seed):
            if seed == -1: return artifact.pack(0).place(2)
            if seed == -2: return artifact.COUNT * 10 + artifact.COUNT
            if seed == -3:
                packed = artifact.pack(0)
                return packed.seen * 10 + packed.seen
            value = (artifact.pack(0), artifact.nested(0)[0], artifact.TABLE)[seed % 3]
            USES[seed // 3](value)
            return 99
        """
    )
    async with opened(source) as client:
        for seed, value in {-1: 3.0, -2: 22.0, -3: 11.0}.items():
            assert (await client.measure(evaluation(SHIFTY, seed=seed))).value == value
        for seed in range(3 * len(uses)):
            result = await client.measure(evaluation(SHIFTY, seed=seed))
            assert result.value is None, uses[seed // 3]
            assert "TypeError: " in result.detail, uses[seed // 3]
        returned = await client.measure(evaluation(SHIFTY, seed=0))
        assert "the artifact returned a Shifty, which is not a plain value" in returned.detail


async def test_an_artifact_changes_arguments_only_where_the_evaluator_asks_to_see_them() -> None:
    source = function(
        """
        def score(artifact, seed):
            own, table = [3, 1, 2], {"a": [1]}
            artifact.pack(own, table)
            artifact.returns(own)
            assert (own, table) == ([3, 1, 2], {"a": [1]}), (own, table)
            ordered, changed = artifact.arguments_after(artifact.pack, own, table)
            assert own == [3, 1, 2]
            [left] = artifact.arguments_after(artifact.returns, own)
            return {"score": ordered[0], "items": [*ordered, changed["b"], len(left)]}
        """
    )
    artifact = """
        def pack(x, table):
            x.sort()
            table["b"] = 7
        def returns(x):
            x.clear()
            return x
        """
    result = await measure(source, evaluation(artifact))
    assert result.by_item == (1.0, 2.0, 3.0, 7.0, 0.0), result


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["score", "items", "x", "\x1b"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON)
def test_a_value_is_a_finite_number_or_there_is_a_sentence(result: object) -> None:
    read = read_measurement(json.dumps(result), "score")
    decides = result.get("score") if isinstance(result, dict) else result
    usable = type(decides) in (int, float) and abs(decides) <= MAX_VALUE  # type: ignore[arg-type]
    assert (read.value is not None) == usable
    assert bool(read.detail) != usable
    assert all(math.isfinite(each**2) for each in (*read.metrics.values(), *read.by_item))
    assert all(name.isprintable() for name in read.metrics)


@given(st.binary(max_size=40))
def test_whatever_is_written_is_read_without_an_error(written: bytes) -> None:
    read = read_measurement(written, "score")
    assert (read.value is None) == bool(read.detail)


def test_large_results_and_many_metrics_are_cut() -> None:
    assert "1 MB" in read_measurement(b"1" * (MAX_RESULT_BYTES + 1), "score").detail
    many = read_measurement(json.dumps({str(n): n for n in range(500)} | {"score": 1}), "score")
    assert (many.value, len(many.metrics)) == (1.0, 64)
    # One number for each item is read only where all are numbers.
    assert read_measurement('{"score": 1, "items": [1, 2.5]}', "score").by_item == (1.0, 2.5)
    assert read_measurement('{"score": 1, "items": [1, null]}', "score").by_item == ()
