"""A research run whose evaluations take 50 ms of processor time each: what is left of both cores for anything else."""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import msgspec
from msgspec import Struct

from autoreason.artifacts.artifact import EvaluationQuery, EvaluationService
from autoreason.artifacts.evaluators import EvaluatorClient, OpenEvaluation
from autoreason.artifacts.research_task import EvaluationSource, ResearchTask
from autoreason.artifacts.saved_evaluation import save_evaluation
from autoreason.exchange import OnSignal, QueryEnded, QueryStarted, Reply, Request
from autoreason.job_types import Research
from autoreason.journal import Journal
from autoreason.models.doubles import ScriptedModel
from autoreason.models.pool import ModelPool
from autoreason.run.driver import start
from autoreason.settings import Models, make_settings
from autoreason.task import Task
from benchmarks.commands import bare_start
from benchmarks.measure import IN_STARTS, Measure, at_most, for_information
from benchmarks.processes import (
    MemoryWatch,
    children_of,
    cpu_time,
    cpu_time_below,
    total_cpu_time,
)
from benchmarks.server import ROOT

EVALUATIONS = 2000
LOOK_SECONDS = 0.05
"""Processor time that one evaluation takes by itself."""
_ADDRESS = "scripted/scripted"
_ARTIFACT = """\
from time import process_time

GAIN = {gain}

def work(seconds):
    end = process_time() + seconds
    while process_time() < end:
        pass
    return GAIN
"""
_EVALUATOR = f"""\
import random

def score(artifact, seed):
    return artifact.work({LOOK_SECONDS}) + random.Random(seed).gauss(0, 1)
"""


class ResearchCost(Struct, frozen=True, kw_only=True):
    """What a research run cost; seconds and megabytes."""

    evaluations: int
    seconds: float
    cores: int
    in_jails: float
    """Processor time of the sandbox's processes, the evaluations themselves included."""
    in_loop: float
    in_evaluator: float
    other_load: float
    """Processor time of others on this machine."""
    decision: float
    """Between an evaluation and the next, in the middle."""
    loop_memory: tuple[float, float]
    """On average in the second and in the last quarter."""
    evaluator_memory: tuple[float, float]
    level: str

    @property
    def available(self) -> float:
        """Time of all cores, without what others took."""
        return self.seconds * self.cores - self.other_load

    @property
    def own_cpu(self) -> float:
        """All processor time that the run took."""
        return self.in_jails + self.in_loop + self.in_evaluator


async def run_research(evaluations: int) -> ResearchCost:
    """A whole run in this process, with its evaluator in another."""
    with (
        tempfile.TemporaryDirectory(prefix="autoreason-bench-") as folder,
        Journal.open(str(Path(folder, "journal.db")), create=True) as journal,
    ):
        os.environ["XDG_DATA_HOME"] = folder
        source = EvaluationSource(
            evaluate="evaluate.py:score", files={"evaluate.py": _EVALUATOR.encode()}
        )
        opening = OpenEvaluation(digest=save_evaluation(source), parallel=2)
        evaluator = await EvaluatorClient.connect(opening)
        try:
            return await _drive(evaluator, evaluations, journal)
        finally:
            await evaluator.close()


async def _drive(evaluator: EvaluatorClient, evaluations: int, journal: Journal) -> ResearchCost:
    job = Research(evaluations=evaluations, parallel=2, patience=10_000)
    settings = make_settings(Models.everywhere(_ADDRESS), 7, job=job)
    work = ResearchTask(
        files={"work.py": _ARTIFACT.format(gain=0)},
        artifact=("work.py",),
        evaluate="evaluate.py:score",
    )
    pool = ModelPool()
    pool.add({_ADDRESS: _Forgetful(_propose)})
    loop = os.getpid()
    (process,) = children_of(loop)
    watch = MemoryWatch([loop, process])
    between = _Between()
    before, idle, started = cpu_time_below(process), cpu_time(process), time.monotonic()
    own, whole = time.process_time(), total_cpu_time()
    evaluating = asyncio.create_task(watch.look())
    result = await start(
        Task(brief="Gain.", work=work),
        settings,
        journal,
        {"pool": pool, "on_signal": between.note},
        service=EvaluationService(evaluator),
    )
    evaluating.cancel()
    seconds = time.monotonic() - started
    in_jails, in_evaluator = cpu_time_below(process) - before, cpu_time(process) - idle
    in_loop = time.process_time() - own
    answers = journal.answers(result.run).values()
    return ResearchCost(
        evaluations=sum(each.kind == EvaluationQuery.kind for each in answers),
        seconds=seconds,
        cores=len(os.sched_getaffinity(0)),
        in_jails=in_jails,
        in_loop=in_loop,
        in_evaluator=in_evaluator,
        other_load=max(0.0, total_cpu_time() - whole - in_jails - in_loop - in_evaluator),
        decision=median(between.seconds),
        loop_memory=watch.quarters(loop),
        evaluator_memory=watch.quarters(process),
        level=evaluator.reply.level,
    )


class _Forgetful(ScriptedModel):
    """A scripted model that does not keep what it was asked."""

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        self.requests.clear()
        return await super().ask(request, on_signal)


class _Between:
    """Processor time of the loop from the end of an evaluation to the start of the next."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._ended: float | None = None

    def note(self, signal: object) -> None:
        if isinstance(signal, QueryEnded):
            self._ended = time.process_time()
        elif isinstance(signal, QueryStarted) and self._ended is not None:
            self.seconds.append(time.process_time() - self._ended)
            self._ended = None


def _propose(request: Request) -> str:
    """A gain that is drawn by the number of the trial."""
    gain = random.Random(request.key).gauss(0, 0.3)
    return (
        f"HYPOTHESIS: more\nEXPECTED: +1\n\nwork.py\n```python\n{_ARTIFACT.format(gain=gain)}```\n"
    )


def measure_research(evaluations: int = EVALUATIONS) -> list[Measure]:
    """Cores busy in evaluations, time to decide, and memory over the run."""
    command = [sys.executable, "-m", "benchmarks.research", "--evaluations", str(evaluations)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    cost = msgspec.json.decode(done.stdout, type=ResearchCost)
    return [*_shares(cost), *_limits(cost), *_processor_times(cost)]


def _shares(cost: ResearchCost) -> list[Measure]:
    """How busy the cores were with evaluations."""
    busy = 100 * cost.in_jails / cost.available
    functions = 100 * cost.evaluations * LOOK_SECONDS / cost.available
    what = f"{cost.evaluations} evaluations of {1000 * LOOK_SECONDS:.0f} ms"
    return [
        Measure(
            name="research",
            what=f"{what}: share of {cost.cores} cores in evaluations, jails included ({cost.level})",
            target="≥ 90 %",
            measured=f"{busy:.0f} %",
            kept=busy >= 90,
            raw={"value": busy, "seconds": cost.seconds},
        ),
        for_information(
            "research",
            "the same without the jails: the function alone",
            f"{functions:.0f} %",
            value=functions,
        ),
        for_information(
            "research",
            "of all processor time of the run: with jails, the function alone",
            f"{100 * cost.in_jails / cost.own_cpu:.0f} %, "
            f"{100 * cost.evaluations * LOOK_SECONDS / cost.own_cpu:.0f} %",
        ),
    ]


def _limits(cost: ResearchCost) -> list[Measure]:
    """Time to decide, and memory over the run."""
    return [
        at_most(
            "research",
            f"deciding after an evaluation ({1000 * cost.decision:.2f} ms), {IN_STARTS}",
            cost.decision / bare_start().cpu,
            0.33,
            "x",
        ),
        *(
            at_most(
                "research",
                f"{whose} memory in the last quarter, as a multiple of the second ({early:.0f} MB)",
                late / early,
                1.25,
                "x",
            )
            for whose, (early, late) in (
                ("the loop's", cost.loop_memory),
                ("the evaluator's", cost.evaluator_memory),
            )
        ),
    ]


def _processor_times(cost: ResearchCost) -> list[Measure]:
    """Where the rest of the processor time went."""
    each = {
        "in jails beyond that": cost.in_jails - cost.evaluations * LOOK_SECONDS,
        "in the loop": cost.in_loop,
        "in the evaluator's process": cost.in_evaluator,
    }
    return [
        *(
            for_information(
                "research",
                f"processor time of one evaluation {where}",
                f"{1000 * seconds / cost.evaluations:.1f} ms",
            )
            for where, seconds in each.items()
        ),
        for_information(
            "research",
            "processor time of others on the machine, of all cores",
            f"{100 * cost.other_load / (cost.seconds * cost.cores):.0f} %",
        ),
    ]


def main() -> None:
    """Run it, shorter if asked, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS, metavar="N")
    arguments = parser.parse_args()
    print(msgspec.json.encode(asyncio.run(run_research(arguments.evaluations))).decode())


if __name__ == "__main__":
    main()
