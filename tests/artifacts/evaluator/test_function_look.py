"""A function measures: the artifact runs in another jail, and only a finite number is a value."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from tests.artifacts.evaluator.evaluating import function, look, measure, opened

from autoreason.artifacts.evaluator.command_jail import descendants
from autoreason.artifacts.evaluator.function_look import FunctionEvaluator
from autoreason.artifacts.measurement import Look, LookOutcome
from autoreason.artifacts.research_task import EvaluationSource, LookLimits
from autoreason.programs.sandbox.base import RunLimits
from autoreason.programs.sandbox.levels import open_sandbox

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
        one = await client.measure(look(PACK, seed=7, items=(0, 2)))
        assert (one.outcome, one.value) == (LookOutcome.OK, 2.0)
        assert one.metrics == {"score": 2.0, "seed": 7.0}
        assert one.by_item == (2.0, 3.0)
        assert one.tail == "measuring\n"
        assert one.level == client.reply.level != "none"
        assert one.seconds > 0


async def test_files_of_an_artifact_import_each_other_and_texts_can_be_read() -> None:
    source = function(
        """
        def score(artifact):
            return artifact.pack.total([1, 2]) + len(artifact.text("solver/config.toml"))
        """
    )
    files = {
        "solver/pack.py": "from helpers.sums import add\ndef total(numbers):\n    return add(numbers)\n",
        "solver/helpers/sums.py": "import bisect, zlib\ndef add(numbers):\n    return sum(numbers)\n",
        "solver/config.toml": "a = 1",
    }
    assert (await measure(source, Look(files=files, seed=0))).value == 8.0


async def test_an_artifact_without_python_needs_no_second_jail() -> None:
    source = function("def score(artifact, seed): return len(artifact.files['prompt.md'])")
    assert (await measure(source, look("four", path="prompt.md"))).value == 4.0


async def test_a_function_is_given_as_much_as_it_takes_also_where_it_is_decorated() -> None:
    decorated = """
        import functools
        def once(function):
            @functools.wraps(function)
            def call(*given): return function(*given)
            return call
        @once
        def score(artifact, seed): return seed
        """
    cases = {
        decorated: 2.0,
        "def score(*given): return len(given)": 3.0,
        "score = lambda artifact, seed=5: seed": 2.0,
        "class Score:\n    def __call__(self, artifact): return 1\nscore = Score()": 1.0,
    }
    for code, value in cases.items():
        assert (await measure(function(code), look(PACK, seed=2))).value == value


async def test_the_evaluators_own_files_import_each_other() -> None:
    source = EvaluationSource(
        evaluate="checks/evaluate.py:score",
        files={
            "checks/evaluate.py": b"import limits\ndef score(artifact): return limits.BEST",
            "checks/limits.py": b"BEST = 5",
        },
    )
    assert (await measure(source, look(PACK))).value == 5.0


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
            result = await client.measure(look(PACK, seed=seed))
            assert result.outcome in (LookOutcome.INVALID, LookOutcome.FAILED), each
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
        limits=LookLimits(seconds=2, memory_mb=256),
    )
    async with opened(source) as client:
        raised = await client.measure(look("def pack(x): return x[1]"))
        assert raised.outcome == LookOutcome.FAILED
        assert "IndexError" in raised.detail
        assert "def pack" in raised.tail
        outcomes = [(await client.measure(look(PACK, seed=seed))).outcome for seed in range(1, 6)]
        assert outcomes == ["failed", "timeout", "timeout", "memory", "ok"]


async def test_an_evaluator_that_cannot_be_run_is_no_result() -> None:
    for code in ("import numpy\ndef score(artifact): return 1", "def other(): pass", "def score(:"):
        result = await measure(function(code), look(PACK))
        assert result.outcome == LookOutcome.EVALUATOR_ERROR
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
    "looks at frames": """
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
            result = await client.measure(look(attack, items=(0,)))
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
            assert (await client.measure(look(SHIFTY, seed=seed))).value == value
        for seed in range(3 * len(uses)):
            result = await client.measure(look(SHIFTY, seed=seed))
            assert result.value is None, uses[seed // 3]
            assert "TypeError: " in result.detail, uses[seed // 3]
        returned = await client.measure(look(SHIFTY, seed=0))
        assert "the artifact returned a Shifty, which is no plain value" in returned.detail


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
    result = await measure(source, look(artifact))
    assert result.by_item == (1.0, 2.0, 3.0, 7.0, 0.0), result


async def test_a_look_costs_little_more_than_two_runs_in_the_sandbox() -> None:
    runs = 30
    sandbox = open_sandbox(workers=1)
    bench = FunctionEvaluator(
        sandbox, function("def score(artifact): return artifact.pack([])[:0] == []")
    )
    async with sandbox.open("print(1)", RunLimits()) as session:
        await session.run(b"")
        before = _processor_seconds()
        for _ in range(2 * runs):
            await session.run(b"")
        plain = _processor_seconds() - before
    await bench.take(look(PACK), (), 0)
    before = _processor_seconds()
    for _ in range(runs):
        await bench.take(look(PACK), (), 0)
    assert _processor_seconds() - before < 3 * plain
    await bench.close()


def _processor_seconds() -> float:
    """Processor time of this process and all below it, with those that have ended."""
    ticks = 0
    for pid in descendants(os.getpid()):
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


async def test_of_several_files_a_function_is_found_where_exactly_one_defines_it() -> None:
    files = {"one.py": "def f(): return 1\ndef g(): return 1", "two.py": "def g(): return 2"}
    for called, value in {"f": 1.0, "two.g": 2.0, "one.g": 1.0}.items():
        source = function(f"def score(artifact): return artifact.{called}()")
        assert (await measure(source, Look(files=files, seed=0))).value == value
    for called in ("g", "h"):
        source = function(f"def score(artifact): return artifact.{called}()")
        failed = await measure(source, Look(files=files, seed=0))
        assert f"write `artifact.NAME.{called}`" in failed.detail
