"""Which program to deliver, tried on recorded attempts of a real model: no model and no network is needed.

    python -m benchmarks.real.offline --cache observed.jsonl

Attempts of a problem are drawn, in another order each time, from its own recorded ones. Every way to choose sees the
same draws, and the private tests say who was right.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import BinaryIO

import msgspec
from msgspec import Struct
from paper.figures import paired_gain

from autoreason.programs.assignment import Observed
from autoreason.programs.examiner.examiner import ProgramExaminer
from autoreason.programs.problems.formats import read_problems
from autoreason.programs.problems.inputs import make_inputs
from autoreason.programs.problems.problem import Problem, to_assignment
from autoreason.programs.sandbox.levels import open_sandbox
from autoreason.programs.search import Choice, choose
from autoreason.stats.resampling import permutation_test
from benchmarks.server import ROOT

SHARED = ROOT.parent / "shared"
SETS = ("humaneval", "mbpp")
BUDGETS = (6, 12)
"""Calls allowed."""
DRAWS = 50
_SEED = 1
_AT_ONCE = 4
_LEAST = 0.001


class Step(Struct, frozen=True, kw_only=True):
    """One recorded call, as far as it matters here."""

    set: str
    problem: str
    kind: str
    program: str = ""
    public: int = 0
    public_total: int = 0
    private: str = ""

    @property
    def passes(self) -> bool:
        """Whether there is a program, and it passes every public test."""
        return bool(self.program.strip()) and self.public == self.public_total

    @property
    def right(self) -> bool:
        """Whether it passes every private test."""
        return self.private == "accepted"


class Picked(Struct, frozen=True):
    """The attempt that a way of choosing delivers, and after how many calls."""

    attempt: Step | None
    calls: int


class Look(Struct, frozen=True, kw_only=True):
    """What one program was seen to do."""

    problem: str
    program: str
    observed: Observed


Seen = dict[tuple[str, str], Observed]
"""What programs do, by problem and program."""
Way = Callable[[Sequence[Step], Seen], Picked]


def first_passing(drawn: Sequence[Step], _: Seen) -> Picked:
    """What `single` delivers: the first that passes, or else the first of all."""
    for calls, attempt in enumerate(drawn, 1):
        if attempt.passes:
            return Picked(attempt, calls)
    return Picked(next((each for each in drawn if each.program.strip()), None), len(drawn))


def by_behaviour(drawn: Sequence[Step], seen: Seen) -> Picked:
    """What most attempts agree with, of those that pass, as soon as that is clear."""
    for calls, attempt in enumerate(drawn, 1):
        if attempt.passes and _choice(drawn[:calls], seen, len(drawn) - calls).clear:
            return by_behaviour_of_all(drawn[:calls], seen)
    return by_behaviour_of_all(drawn, seen)


def by_behaviour_of_all(drawn: Sequence[Step], seen: Seen) -> Picked:
    """The same with every call that is allowed."""
    passing = [each for each in drawn if each.passes]
    if not passing:
        return first_passing(drawn, seen)
    return Picked(passing[_choice(drawn, seen).index], len(drawn))


def _choice(drawn: Sequence[Step], seen: Seen, left: int = 0) -> Choice:
    programs = [each.program for each in drawn if each.passes]
    others = [
        seen[each.problem, each.program]
        for each in drawn
        if each.program.strip() and not each.passes
    ]
    return choose(programs, [seen[drawn[0].problem, each] for each in programs], others, left=left)


def any_right(drawn: Sequence[Step], seen: Seen) -> Picked:
    """The upper bound: a right one wherever one passes."""
    right = next((each for each in drawn if each.passes and each.right), None)
    return Picked(right or first_passing(drawn, seen).attempt, len(drawn))


WAYS: dict[str, Way] = {
    "first that passes": first_passing,
    "by behaviour": by_behaviour,
    "by behaviour, all calls": by_behaviour_of_all,
    "right wherever one passes": any_right,
}


def main() -> int:
    """Observe what is not in the cache, draw, and show how often each way was right."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real.offline", description=__doc__)
    parser.add_argument("--cache", type=Path, metavar="FILE", help="keep what programs do there")
    parser.add_argument("--draws", type=int, default=DRAWS, metavar="N", help="of each problem")
    parser.add_argument(
        "--inputs", type=int, default=40, metavar="N", help="generated for each problem"
    )
    given = parser.parse_args()
    file = SHARED / "recorded" / "real_programs.jsonl"
    if not file.exists():
        sys.exit(f"no attempts at {file}: they are not part of the project, and needed here")
    steps = read_steps(file)
    problems = {
        problem.id: problem
        for name in SETS
        for problem in read_problems(SHARED / "problems" / f"{name}.jsonl").problems
    }
    recorded = {name: attempts for name, attempts in attempts_of(steps).items() if name in problems}
    seen = read_seen(given.cache) if given.cache and given.cache.exists() else {}
    with (given.cache or Path(os.devnull)).open("ab") as cache:
        asyncio.run(observe_all(problems, recorded, given.inputs, seen, cache))
    for budget in BUDGETS:
        print(as_text(budget, play(recorded, seen, budget, given.draws)))
    return 0


def read_steps(path: Path) -> list[Step]:
    """Every recorded call that is not left out."""
    return msgspec.json.Decoder(Step).decode_lines(path.read_bytes())


def attempts_of(steps: Sequence[Step]) -> dict[str, list[Step]]:
    """The fresh attempts of each problem."""
    found: dict[str, list[Step]] = {}
    for step in steps:
        if step.kind == "fresh":
            found.setdefault(step.problem, []).append(step)
    return found


def read_seen(path: Path) -> Seen:
    """What was observed before."""
    looks = msgspec.json.Decoder(Look).decode_lines(path.read_bytes())
    return {(look.problem, look.program): look.observed for look in looks}


async def observe_all(
    problems: Mapping[str, Problem],
    recorded: Mapping[str, Sequence[Step]],
    count: int,
    seen: Seen,
    cache: BinaryIO,
) -> None:
    """Add what every other recorded program does on the inputs generated for its problem."""
    inputs = {name: make_inputs(to_assignment(problems[name]), _SEED, count) for name in recorded}
    wanted = {
        (name, each.program)
        for name, attempts in recorded.items()
        for each in attempts
        if each.program.strip()
    }
    left = sorted(wanted - seen.keys())
    sandbox = open_sandbox()
    examiner, places = ProgramExaminer(sandbox), asyncio.Semaphore(_AT_ONCE)

    async def look_at(name: str, program: str) -> None:
        async with places:
            observed = await examiner.observe(problems[name], program, inputs[name])
        seen[name, program] = observed
        look = Look(problem=name, program=program, observed=observed)
        cache.write(msgspec.json.encode(look) + b"\n")
        print(f"\r{len(seen)} of {len(wanted)} programs", end="", file=sys.stderr, flush=True)

    try:
        async with asyncio.TaskGroup() as every_one:
            for name, program in left:
                every_one.create_task(look_at(name, program))
    finally:
        await sandbox.close()


class Played(Struct, frozen=True, kw_only=True):
    """How one way of choosing did on one problem, on average over the draws."""

    set: str
    right: float
    calls: float


def play(
    recorded: Mapping[str, Sequence[Step]], seen: Seen, budget: int, draws: int
) -> dict[str, list[Played]]:
    """Every way on the same draws of every problem."""
    played: dict[str, list[Played]] = {way: [] for way in WAYS}
    for name, attempts in recorded.items():
        random = Random(f"{_SEED} {name}")
        drawn = [random.sample(attempts, min(budget, len(attempts))) for _ in range(draws)]
        for way, pick in WAYS.items():
            picked = [pick(each, seen) for each in drawn]
            played[way].append(
                Played(
                    set=attempts[0].set,
                    right=fmean(bool(each.attempt and each.attempt.right) for each in picked),
                    calls=fmean(each.calls for each in picked),
                )
            )
    return played


def as_text(budget: int, played: Mapping[str, Sequence[Played]]) -> str:
    """A line for each way and set: how often it was right, and how much more often than the first way."""
    lines = [f"{budget} calls allowed"]
    first = played[next(iter(played))]
    for name in (*dict.fromkeys(each.set for each in first), "all"):
        of = [place for place, each in enumerate(first) if name in ("all", each.set)]
        for way, results in played.items():
            more = [results[place].right - first[place].right for place in of]
            gain, p = paired_gain(more), permutation_test(more).p_value
            interval = [f"{100 * (end or 0):+.2f}" for end in (gain.value, gain.low, gain.high)]
            lines.append(
                f"{name:9} {len(of):3} problems  {way:25} {_mean(results, of, 'right'):6.1%}  "
                f"{interval[0]} ({interval[1]} to {interval[2]}) points, p {_shown(p)}  "
                f"{_mean(results, of, 'calls'):4.1f} calls"
            )
    return "\n".join(lines)


def _mean(results: Sequence[Played], of: Sequence[int], field: str) -> float:
    return fmean(getattr(results[place], field) for place in of)


def _shown(p: float | None) -> str:
    return "unknown" if p is None else f"= {p:.3f}" if p >= _LEAST else f"< {_LEAST}"


if __name__ == "__main__":
    sys.exit(main())
