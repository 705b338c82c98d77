"""Whether an evaluator is fit to be optimised against: equal artifacts, noise, and attacks. No model is asked."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import stdev
from typing import Any, ClassVar, Literal, NamedTuple

from autoreason.artifacts.conditions import broken_constraint, broken_guard
from autoreason.artifacts.evaluator.attacks import (
    APART,
    MARK,
    TAKEN,
    Attack,
    attacks_on,
    equal_copy,
    takeovers,
)
from autoreason.artifacts.evaluator.evaluator_client import EvaluatorClient, OpenEvaluation, Reach
from autoreason.artifacts.evaluator.languages import LANGUAGES
from autoreason.artifacts.evaluator.saved_evaluation import is_checked, record_check
from autoreason.artifacts.measurement import Evaluator, Files, Look, LookOutcome, Measurement
from autoreason.artifacts.research_task import ResearchTask
from autoreason.errors import InvalidInput
from autoreason.report.numbers import count, p_value
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table, words

_ALPHA = 0.01 / 3
"""For each of three tests, so that a good evaluator fails one in a hundred checks."""
_BEYOND_NOISE = 3.0
"""Standard deviations by which an attack must beat the start to count."""
_INSIDE = "/probe"

CheckStatus = Literal["passed", "FAILED", "not checked", "does not apply"]


class CheckRow(NamedTuple):
    """One thing that was tried."""

    name: str
    status: CheckStatus
    detail: str


@dataclass(frozen=True)
class CheckReport(Report):
    """What was tried on an evaluator, and what it let through."""

    heading: ClassVar[str] = "An evaluator under attack"
    rows: tuple[CheckRow, ...]
    evaluations: int
    level: str
    start: tuple[float, ...]

    @property
    def passed(self) -> bool:
        """Whether everything was tried and nothing got through."""
        return not any(row.status in ("FAILED", "not checked") for row in self.rows)

    @property
    def conclusion(self) -> str:
        """Whether a research run may trust this evaluator."""
        tried = sum(row.status != "does not apply" for row in self.rows)
        failed = sum(row.status == "FAILED" for row in self.rows)
        unknown = next((row.detail for row in self.rows if row.status == "not checked"), "")
        if not failed:
            return (
                unknown
                or f"this evaluator can be optimised against: {count(tried, 'check')}, all passed"
            )
        return (
            f"this evaluator is not fit to be optimised against: {failed} of "
            f"{count(tried, 'check')} failed"
        )

    def sections(self) -> list[Section]:
        """What was tried, and how it was measured."""
        columns = [*words("tried", "result"), Column("why", figures=False, least=40)]
        table = Table(
            columns, self.rows, tones={"FAILED": "bad", "not checked": "bad", "passed": "good"}
        )
        looks = f"{count(self.evaluations, 'evaluation')}, sandbox: {self.level}"
        return [Section(tables=[table], sentences=[("measured", looks)])]


async def check_evaluation(
    task: ResearchTask,
    evaluator: Evaluator | None = None,
    *,
    unsafe: bool = False,
    pairs: int = 10,
    seed: int = 0,
    on_look: Callable[[int], None] = lambda _: None,
) -> CheckReport:
    """Try everything on a task's saved evaluation, or on an evaluator of the caller.

    `on_look` is given the number of each look before it is taken.
    """
    if evaluator is not None:
        with _probe_folder() as folder:
            check = _Check(task, evaluator, Reach(), Path(folder), folder, seed, pairs, on_look)
            return await check.run("caller")
    async with _open(task, unsafe, seed, pairs, on_look) as (check, level):
        report = await check.run(level)
    if report.passed:
        record_check(task.evaluation, task.files)
    return report


async def score_fault(task: ResearchTask, *, unsafe: bool = False, seed: int = 0) -> str:
    """Why an artifact might write its own score, in words; empty where it cannot, which is not looked at again."""
    if is_checked(task.evaluation, task.files):
        return ""
    async with _open(task, unsafe, seed) as (check, _):
        row = await check.apart()
    if row.status != "passed":
        return row.detail
    record_check(task.evaluation, task.files)
    return ""


@asynccontextmanager
async def _open(task: ResearchTask, unsafe: bool, *terms: Any) -> AsyncIterator[tuple[_Check, str]]:
    """A check of a task's saved evaluation, and how artifacts are kept from everything else in it."""
    with _probe_folder() as folder:
        opening = OpenEvaluation(
            digest=task.evaluation, unsafe=unsafe, parallel=2, probe=folder, start=task.files
        )
        client = await EvaluatorClient.connect(opening)
        try:
            inside = folder if unsafe else _INSIDE
            reach = client.reply.reach
            yield _Check(task, client, reach, Path(folder), inside, *terms), client.reply.level
        finally:
            await client.close()


@contextmanager
def _probe_folder() -> Iterator[str]:
    """A folder that every user of a jail can write to."""
    with tempfile.TemporaryDirectory(prefix="autoreason-probe-") as folder:
        Path(folder).chmod(0o777)
        yield folder


@dataclass
class _Check:
    task: ResearchTask
    evaluator: Evaluator
    reach: Reach
    probe: Path
    """Where attacks leave what they got hold of."""
    probe_inside: str
    """The same as artifacts see it."""
    seed: int
    pairs: int = 0
    on_look: Callable[[int], None] = lambda _: None
    evaluations: int = 0

    async def run(self, level: str) -> CheckReport:
        start, rows = await self._compare_equals()
        random = Random(f"{self.seed}/random")
        spread = stdev(start) if len(start) > 1 else 0.0
        attacks = attacks_on(
            self.task.files,
            random,
            probe=self.probe_inside,
            metric=self.task.metric,
            best=f"{self.task.sign * TAKEN:g}",
        )
        for attack in attacks:
            rows.append(await self._attack(attack, start[0], spread))
        rows += [self._folder(), await self.apart()]
        return CheckReport(tuple(rows), self.evaluations, level, tuple(start))

    async def _compare_equals(self) -> tuple[list[float], list[CheckRow]]:
        """Equal artifacts with the same seeds, in both orders, and once more beside another look."""
        start, other = self.task.files, equal_copy(self.task.files)
        first: list[float] = []
        equal: list[float] = []
        order: list[float] = []
        loaded: list[float] = []
        for number in range(self.pairs):
            forwards = number % 2 == 0
            artifacts = (start, other) if forwards else (other, start)
            early, late = [self._value(await self.look(each, number)) for each in artifacts]
            one, two = (early, late) if forwards else (late, early)
            first.append(one)
            equal.append(two - one)
            order.append(late - early)
            if not self.task.timed:
                busy, _ = await asyncio.gather(self.look(start, number), self.look(other, number))
                loaded.append(self._value(busy) - one)
        rows = [
            _compare("two equal artifacts", equal, "it must not depend on names, comments or time"),
            _compare("first or second", order, "a look must leave nothing behind for the next"),
            _compare("alone or beside another", loaded, "say `timed: true`, or measure no times")
            if loaded
            else CheckRow("alone or beside another", "does not apply", "looks are taken alone"),
        ]
        return first, rows

    async def look(self, files: Files, number: int) -> Measurement:
        """Look at an artifact with the seed and the items of this number."""
        task, random = self.task, Random(f"{self.seed}/{number}")
        size = task.per_look or task.items
        for left in self.probe.iterdir():
            left.unlink()
        self.evaluations += 1
        self.on_look(self.evaluations)
        return await self.evaluator.measure(
            Look(
                files=files,
                seed=random.getrandbits(31),
                items=tuple(random.sample(range(task.items), size)),
                alone=task.timed,
            )
        )

    def _value(self, measurement: Measurement) -> float:
        if measurement.value is None:
            raise InvalidInput(
                f"the evaluator gives no value for the start ({measurement.outcome}: {measurement.detail}); "
                "make it measure that first"
            )
        return measurement.value

    async def _attack(self, attack: Attack, start: float, spread: float) -> CheckRow:
        for _ in range(attack.looks):
            result = await self.look(attack.files, 0)
        if self._marks(result):
            return CheckRow(attack.name, "FAILED", f"it got through; {attack.remedy}")
        if result.value is None:
            status: CheckStatus = "passed"
            if result.outcome == LookOutcome.EVALUATOR_ERROR:
                status = "FAILED"
            why = f"no value came back: {result.outcome}: {result.detail}"[:200]
            return CheckRow(attack.name, status, why)
        gain = self.task.sign * (result.value - start)
        # What writes its own score could write the numbers of the guards, too.
        dropped = "" if abs(result.value) >= TAKEN else self._dropped(attack, result)
        if dropped:
            return CheckRow(attack.name, "passed", f"it would be dropped: {dropped}")
        if gain > max(self.task.tolerance, _BEYOND_NOISE * spread):
            beats = f"{result.value:.6g} beats the start's {start:.6g}"
            return CheckRow(attack.name, "FAILED", f"{beats}; {attack.remedy}")
        nothing = "no gain" if not spread else "no gain beyond noise"
        return CheckRow(
            attack.name, "passed", f"{nothing}: {result.value:.6g}, the start {start:.6g}"
        )

    def _dropped(self, attack: Attack, result: Measurement) -> str:
        """Which constraint or guard keeps a run from this artifact, in words; empty where none does."""
        return broken_constraint(self.task.constraints, attack.files) or broken_guard(
            self.task.guard, [result]
        )

    def _marks(self, result: Measurement) -> set[str]:
        """What an attack got hold of, as it left it in the folder or in what was printed."""
        printed = (
            line.partition(MARK)[2].strip().replace(" ", "-")
            for line in result.tail.splitlines()
            if MARK in line
        )
        return {*(each.name for each in self.probe.iterdir()), *printed}

    def _folder(self) -> CheckRow:
        name = "the artifact does not see the task's folder"
        if shown := self.reach.exposed:
            remedy = "run it in a jail, with no more in `mounts` than it needs"
            return CheckRow(name, "FAILED", f"it could read {shown[0]}; {remedy}")
        return CheckRow(name, "passed", "nothing of it is there")

    async def apart(self) -> CheckRow:
        """Whether a file of the artifact, whatever its name, could write its own score in any language."""
        name, tried = "the artifact runs apart from the evaluator", self.reach.languages
        best = f"{self.task.sign * TAKEN:g}"
        for language in (each for each in LANGUAGES if each.name in tried):
            trials = takeovers(self.task.files, language, probe=self.probe_inside, best=best)
            for path, files in trials:
                result = await self.look(files, 0)
                if result.outcome is LookOutcome.EVALUATOR_ERROR:
                    return CheckRow(name, "not checked", f"not checked: {result.detail}")
                # Beside a value of the evaluator's own it is no number, but it was written.
                written = result.outcome is LookOutcome.INVALID and best in result.detail
                if written or abs(result.value or 0.0) >= TAKEN or self._marks(result):
                    why = f"{path} could write its own score, in {language.name}, beside the evaluator"
                    return CheckRow(name, "FAILED", f"{why}: {APART}")
        if self.reach.gap:
            return CheckRow(name, "not checked", f"not checked: {self.reach.gap}")
        return CheckRow(name, "passed", f"tried in {', '.join(tried) or 'no language'}")


def _compare(name: str, differences: Sequence[float], remedy: str) -> CheckRow:
    if not any(differences):
        return CheckRow(name, "passed", f"the same number {len(differences)} times")
    from autoreason.stats.resampling import permutation_test

    test = permutation_test(differences)
    stated = f"mean difference {test.statistic:.3g}, p {p_value(test.p_value)}"
    if test.p_value is not None and test.p_value < _ALPHA:
        return CheckRow(name, "FAILED", f"{stated}; {remedy}")
    return CheckRow(name, "passed", stated)
