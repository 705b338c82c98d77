"""A whole set by every strategy with a model that takes no time, so that only this project's time counts."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from autoreason.exchange import OnSignal, Reply, Request
from autoreason.journal import Journal
from autoreason.models.doubles import EchoModel, ScriptedModel
from autoreason.models.pool import ModelPool
from autoreason.programs.examination import ExaminationQuery
from autoreason.programs.examiner.process import ExaminerClient
from autoreason.run.solution import Solution
from autoreason.run.solve import assign, prepare_solve
from benchmarks.measure import Measure, at_most, for_information
from benchmarks.processes import (
    MemoryWatch,
    children_of,
    cpu_time,
    cpu_time_below,
    total_cpu_time,
)
from benchmarks.server import ROOT

STRATEGIES = ("search", "single", "best_of_n", "critique_revise", "analyse_revise", "tournament")
PROBLEMS = 150
SET = ROOT.parent / "shared" / "problems" / "stdio.jsonl"
_ADDRESS = "scripted/scripted"
_WRITERS = ("author", "reviser", "synthesizer")


class SetCost(Struct, frozen=True, kw_only=True):
    """What a set cost; seconds and megabytes."""

    parts: int
    solved: int
    without_verdict: int
    tests: int
    calls: int
    seconds: float
    cores: int
    in_tests: float
    """Processor time of the sandbox's processes."""
    in_loop: float
    in_examiner: float
    other_load: float
    """Processor time of others on this machine."""
    loop_memory: tuple[float, float]
    """On average in the second and in the last quarter."""
    examiner_memory: tuple[float, float]
    level: str

    @property
    def busy(self) -> float:
        """Share of all cores that was busy in tests, of the time that others left."""
        return self.in_tests / (self.seconds * self.cores - self.other_load)


class Writer:
    """Hands in the wrong programs of a problem first and then the right one, never the same text twice."""

    address = _ADDRESS

    def __init__(self, problems: Sequence[dict[str, Any]]) -> None:
        self._programs = {each["statement"].strip(): list(_programs(each)) for each in problems}
        self._echo = EchoModel()

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """A program where one is asked for, else anything of the right shape."""
        if request.role not in _WRITERS:
            return await self._echo.ask(request, on_signal)
        shown = "".join(message.text for message in request.messages)
        programs = next(each for statement, each in self._programs.items() if statement in shown)
        # `draft` is the first, `attempt/2` the second, as is what `pass/1` writes.
        written = sum(int(step) for step in request.key.split("/")[1:2] if step.isdecimal())
        written -= request.key.startswith("attempt/")
        program = programs[min(written, len(programs) - 1)]
        text = f"```python\n{program}\n# {request.key}\n```\n"
        return await ScriptedModel([text]).ask(request, on_signal)

    async def close(self) -> None:
        """Nothing to let go of."""


def _programs(problem: dict[str, Any]) -> Iterator[str]:
    # Programs that never end would keep the cores busy without any work of this project.
    yield from (each["code"] for each in problem["wrong_solutions"] if each["verdict"] != "TLE")
    yield problem["solution"]


async def solve_set(problems: int) -> SetCost:
    """Run the whole set in this process, with its examiner in another."""
    lines = SET.read_text(encoding="utf-8").splitlines()[:problems]
    with (
        tempfile.TemporaryDirectory(prefix="autoreason-bench-") as folder,
        Journal.open(str(Path(folder, "journal.db")), create=True) as journal,
    ):
        os.environ["XDG_DATA_HOME"] = folder
        examiner = await ExaminerClient.open(_write(Path(folder, "set.jsonl"), lines))
        try:
            return await _run_strategies(examiner, [json.loads(line) for line in lines], journal)
        finally:
            await examiner.close()


def _write(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


async def _run_strategies(
    examiner: ExaminerClient, problems: Sequence[dict[str, Any]], journal: Journal
) -> SetCost:
    names = list(STRATEGIES)
    prepared = assign(
        prepare_solve(_ADDRESS, strategy=names, seed=7),
        *(examiner, examiner.reply.assignments, {"set": examiner.reply.digest}),
        strategy=names,
    )
    pool = ModelPool()
    pool.add({_ADDRESS: Writer(problems)})
    loop = os.getpid()
    (examiner_process,) = children_of(loop)
    watch = MemoryWatch([loop, examiner_process])
    # Whatever was imported before the first test is not work on tests.
    before, idle, started = (
        cpu_time_below(examiner_process),
        cpu_time(examiner_process),
        time.monotonic(),
    )
    own, whole = time.process_time(), total_cpu_time()
    looking = asyncio.create_task(watch.look())
    result = await prepared.run_async(journal=journal, pool=pool)
    assert isinstance(result, Solution)
    solved = result.solved
    looking.cancel()
    seconds = time.monotonic() - started
    in_tests, in_examiner = (
        cpu_time_below(examiner_process) - before,
        cpu_time(examiner_process) - idle,
    )
    in_loop = time.process_time() - own
    return SetCost(
        parts=len(solved),
        solved=sum(
            each.private is not None and each.private.verdict == "accepted" for each in solved
        ),
        without_verdict=sum(each.private is None for each in solved),
        tests=_tests(journal, result.run),
        calls=result.calls,
        seconds=seconds,
        cores=len(os.sched_getaffinity(0)),
        in_tests=in_tests,
        in_loop=in_loop,
        in_examiner=in_examiner,
        other_load=max(0.0, total_cpu_time() - whole - in_tests - in_loop - in_examiner),
        loop_memory=watch.quarters(loop),
        examiner_memory=watch.quarters(examiner_process),
        level=examiner.reply.level,
    )


def _tests(journal: Journal, run: str) -> int:
    """How many tests were run."""
    return sum(
        each.answer["run"]
        for row in journal.cells(run)
        for each in journal.answers(row.id).values()
        if each.kind == ExaminationQuery.kind
    )


def measure_solving(problems: int = PROBLEMS) -> list[Measure]:
    """Cores busy in tests, and memory over the run."""
    if not SET.exists():
        return [for_information("solve", "needs the problems in ../shared", "not measured")]
    command = [sys.executable, "-m", "benchmarks.solving", "--problems", str(problems)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return measures(msgspec.json.decode(done.stdout, type=SetCost), problems)


def measures(cost: SetCost, problems: int) -> list[Measure]:
    """What was measured, with what was promised."""
    busy, what = 100 * cost.busy, f"{problems} problems x {len(STRATEGIES)} strategies"
    rate = cost.tests / cost.seconds
    return [
        Measure(
            name="solve",
            what=f"{what}: share of {cost.cores} cores busy in tests ({cost.level})",
            target="≥ 80 %",
            measured=f"{busy:.0f} %",
            kept=busy >= 80,
            raw={"value": busy, "seconds": cost.seconds, "in_tests": cost.in_tests},
        ),
        _flat("the loop's", cost.loop_memory),
        _flat("the examiner's", cost.examiner_memory),
        for_information(
            "solve",
            "parts without a verdict",
            str(cost.without_verdict),
            without_verdict=cost.without_verdict,
        ),
        for_information(
            "solve",
            "parts, tests, calls; tests a second",
            f"{cost.parts:,}, {cost.tests:,}, {cost.calls:,}; {rate:.0f}/s",
            tests_per_second=rate,
        ),
        for_information(
            "solve",
            "processor time of loop and examiner, of all cores",
            f"{_share(cost.in_loop, cost):.0f} % and {_share(cost.in_examiner, cost):.0f} %",
        ),
        for_information(
            "solve", "the same of others on the machine", f"{_share(cost.other_load, cost):.0f} %"
        ),
        for_information("solve", "time it took", f"{cost.seconds:.0f} s", seconds=cost.seconds),
    ]


def _share(seconds: float, cost: SetCost) -> float:
    return 100 * seconds / (cost.seconds * cost.cores)


def _flat(whose: str, memory: tuple[float, float]) -> Measure:
    early, late = memory
    what = f"{whose} memory in the last quarter, as a multiple of the second ({early:.0f} MB)"
    return at_most("solve", what, late / early, 1.25, "x", early=early, late=late)


def main() -> None:
    """Solve a set, smaller if asked, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=PROBLEMS, metavar="N")
    arguments = parser.parse_args()
    cost = asyncio.run(solve_set(arguments.problems))
    print(msgspec.json.encode(cost).decode())


if __name__ == "__main__":
    main()
