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
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
from msgspec import Struct

from autoreason.exchange import OnSignal, Reply, Request
from autoreason.journal import Journal
from autoreason.keys import Key, PartName
from autoreason.models.pool import ModelPool
from autoreason.models.testing import EchoModel, ScriptedModel
from autoreason.programs.events import Solved
from autoreason.programs.examination import ExaminationQuery
from autoreason.programs.examiner.client import ExaminerClient
from autoreason.programs.task import Assignments
from autoreason.prompts import built_in
from autoreason.run import start
from autoreason.settings import Models, make_settings
from autoreason.task import Task
from benchmarks.measure import Measure, at_most, for_information
from benchmarks.server import ROOT

STRATEGIES = ("search", "single", "best_of_n", "critique_revise", "analyse_revise", "tournament")
PROBLEMS = 150
SET = ROOT.parent / "shared" / "problems" / "stdio.jsonl"
_ADDRESS = "scripted/scripted"
_WRITERS = ("author", "reviser", "synthesizer")
_EVERY = 0.5
"""Seconds between two looks at memory."""
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Took(Struct, frozen=True, kw_only=True):
    """What a set took; seconds and megabytes."""

    parts: int
    solved: int
    lost: int
    tests: int
    calls: int
    seconds: float
    cores: int
    in_tests: float
    """Processor time of the sandbox's processes."""
    in_loop: float
    in_examiner: float
    elsewhere: float
    """Processor time that others on this machine took."""
    loop_memory: tuple[float, float]
    """On average in the second and in the last quarter."""
    examiner_memory: tuple[float, float]
    level: str

    @property
    def busy(self) -> float:
        """Share of all cores that was busy in tests, of the time that others left."""
        return self.in_tests / (self.seconds * self.cores - self.elsewhere)


class Writer:
    """Hands in the wrong programs of a problem first and then the right one, never the same text twice."""

    address = _ADDRESS

    def __init__(self, problems: Sequence[dict[str, Any]]) -> None:
        self._programs = [list(_programs(each)) for each in problems]
        self._written: Counter[PartName] = Counter()
        self._echo = EchoModel()

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """A program where one is asked for, else anything of the right shape."""
        if request.role not in _WRITERS:
            return await self._echo.ask(request, on_signal)
        part = Key.parse(request.key).part
        assert part is not None
        assert part.problem is not None
        programs = self._programs[part.problem - 1]
        program = programs[min(self._written[part], len(programs) - 1)]
        self._written[part] += 1
        text = f"```python\n{program}\n# {request.key}\n```\n"
        return await ScriptedModel([text]).ask(request, on_signal)

    async def close(self) -> None:
        """Nothing to let go of."""


def _programs(problem: dict[str, Any]) -> Iterator[str]:
    # Programs that never end would keep the cores busy without any work of this project.
    yield from (each["code"] for each in problem["wrong_solutions"] if each["verdict"] != "TLE")
    yield problem["solution"]


class _Watch:
    """Looks at memory now and then."""

    def __init__(self, processes: Sequence[int]) -> None:
        self.seen: dict[int, list[float]] = {process: [] for process in processes}

    async def look(self) -> None:
        while True:
            for process, seen in self.seen.items():
                seen.append(_memory(process))
            await asyncio.sleep(_EVERY)

    def quarters(self, process: int) -> tuple[float, float]:
        seen = self.seen[process]
        quarter = max(1, len(seen) // 4)
        return fmean(seen[quarter : 2 * quarter] or seen), fmean(seen[-quarter:])


async def solve_set(problems: int) -> Took:
    """Hold the whole run in this process, its examiner beside it."""
    lines = SET.read_text(encoding="utf-8").splitlines()[:problems]
    with (
        tempfile.TemporaryDirectory(prefix="autoreason-bench-") as folder,
        Journal.open(str(Path(folder, "journal.db")), create=True) as journal,
    ):
        os.environ["XDG_DATA_HOME"] = folder
        examiner = await ExaminerClient.open(_written(Path(folder, "set.jsonl"), lines))
        try:
            return await _run_strategies(examiner, [json.loads(line) for line in lines], journal)
        finally:
            await examiner.close()


def _written(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


async def _run_strategies(
    examiner: ExaminerClient, problems: Sequence[dict[str, Any]], journal: Journal
) -> Took:
    options = {"set": examiner.digest, "strategies": STRATEGIES}
    settings = make_settings(
        Models.everywhere(_ADDRESS), 7, strategy="solve", strategy_options=options
    )
    pool = ModelPool()
    pool.add({_ADDRESS: Writer(problems)})
    loop = os.getpid()
    (beside,) = _children(loop)
    watch = _Watch([loop, beside])
    solved: list[Solved] = []
    # Whatever was imported before the first test is not work on tests.
    before, idle, started = _below(beside), _own(beside), time.monotonic()
    own, whole = time.process_time(), _everybody()
    looking = asyncio.create_task(watch.look())
    result = await start(
        Task(brief="Solve them.", work=Assignments(examiner.assignments)),
        settings,
        journal=journal,
        prompts=built_in(code=True),
        pool=pool,
        on_event=lambda event: solved.append(event) if isinstance(event, Solved) else None,
        examiner=examiner,
    )
    looking.cancel()
    seconds = time.monotonic() - started
    in_tests, in_examiner = _below(beside) - before, _own(beside) - idle
    in_loop = time.process_time() - own
    return Took(
        parts=len(solved),
        solved=sum(
            each.private is not None and each.private.verdict == "accepted" for each in solved
        ),
        lost=sum(each.private is None for each in solved),
        tests=_tests(journal, result.run),
        calls=result.calls,
        seconds=seconds,
        cores=len(os.sched_getaffinity(0)),
        in_tests=in_tests,
        in_loop=in_loop,
        in_examiner=in_examiner,
        elsewhere=max(0.0, _everybody() - whole - in_tests - in_loop - in_examiner),
        loop_memory=watch.quarters(loop),
        examiner_memory=watch.quarters(beside),
        level=examiner.level,
    )


def _tests(journal: Journal, run: str) -> int:
    """How many tests were run."""
    answers = journal.answers(run).values()
    return sum(each.answer["run"] for each in answers if each.kind == ExaminationQuery.kind)


def _memory(process: int) -> float:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE / 1e6


def _stat(process: int) -> list[str]:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def _own(process: int) -> float:
    """Processor time of one process."""
    return sum(map(int, _stat(process)[11:13])) / _TICKS


def _everybody() -> float:
    """Processor time that all cores were busy, with whatever."""
    user, nice, system, _, _, hardware, software, *_ = map(
        int, Path("/proc/stat").read_text().partition("\n")[0].split()[1:]
    )
    return (user + nice + system + hardware + software) / _TICKS


def _below(process: int) -> float:
    """Processor time of everything a process started, and of everything that these started and waited for."""
    return sum(
        sum(map(int, _stat(child)[11:15])) / _TICKS + _below(child) for child in _children(process)
    )


def _children(process: int) -> list[int]:
    threads = Path(f"/proc/{process}/task").iterdir()
    return [int(child) for each in threads for child in (each / "children").read_text().split()]


def measure_solving(problems: int = PROBLEMS) -> list[Measure]:
    """Cores busy in tests, and memory over the run."""
    if not SET.exists():
        return [for_information("solve", "needs the problems in ../shared", "not measured")]
    command = [sys.executable, "-m", "benchmarks.solving", "--problems", str(problems)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return measures(msgspec.json.decode(done.stdout, type=Took), problems)


def measures(took: Took, problems: int) -> list[Measure]:
    """What was measured beside what was promised."""
    busy, what = 100 * took.busy, f"{problems} problems x {len(STRATEGIES)} strategies"
    rate = took.tests / took.seconds
    return [
        Measure(
            name="solve",
            what=f"{what}: share of {took.cores} cores busy in tests ({took.level})",
            target="≥ 80 %",
            measured=f"{busy:.0f} %",
            kept=busy >= 80,
            raw={"value": busy, "seconds": took.seconds, "in_tests": took.in_tests},
        ),
        _flat("the loop's", took.loop_memory),
        _flat("the examiner's", took.examiner_memory),
        for_information("solve", "parts without a verdict", str(took.lost), lost=took.lost),
        for_information(
            "solve",
            "parts, tests, calls; tests a second",
            f"{took.parts:,}, {took.tests:,}, {took.calls:,}; {rate:.0f}/s",
            tests_per_second=rate,
        ),
        for_information(
            "solve",
            "processor time of loop and examiner, of all cores",
            f"{_share(took.in_loop, took):.0f} % and {_share(took.in_examiner, took):.0f} %",
        ),
        for_information(
            "solve", "the same of others on the machine", f"{_share(took.elsewhere, took):.0f} %"
        ),
        for_information("solve", "time it took", f"{took.seconds:.0f} s", seconds=took.seconds),
    ]


def _share(seconds: float, took: Took) -> float:
    return 100 * seconds / (took.seconds * took.cores)


def _flat(whose: str, memory: tuple[float, float]) -> Measure:
    early, late = memory
    what = f"{whose} memory in the last quarter, as a multiple of the second ({early:.0f} MB)"
    return at_most("solve", what, late / early, 1.25, "x", early=early, late=late)


def main() -> None:
    """Solve a set, smaller if asked, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=PROBLEMS, metavar="N")
    given = parser.parse_args()
    took = asyncio.run(solve_set(given.problems))
    print(msgspec.json.encode(took).decode())


if __name__ == "__main__":
    main()
