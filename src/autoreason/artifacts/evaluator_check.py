"""Whether an evaluator is fit to be optimised against: equal artifacts, noise, and attacks. No model is asked."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import stdev
from typing import ClassVar, Literal, NamedTuple

from autoreason.artifacts import attacks
from autoreason.artifacts.artifact import (
    Evaluation,
    EvaluationOutcome,
    Evaluator,
    Files,
    Measurement,
)
from autoreason.artifacts.evaluators import EvaluatorClient, OpenEvaluation
from autoreason.artifacts.research_task import ResearchTask, broken_constraint, broken_guard
from autoreason.artifacts.saved_evaluation import Reach, is_checked, record_check
from autoreason.errors import InvalidInput
from autoreason.report.numbers import count, p_value
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table, words

_ALPHA = 0.01 / 3
"""For each of three tests, so that a good evaluator fails one in a hundred checks."""
_BEYOND_NOISE = 3.0
"""Standard deviations by which an attack must beat the start to count."""

CheckStatus = Literal["passed", "FAILED", "not checked", "does not apply"]


class CheckRow(NamedTuple):
    name: str
    status: CheckStatus
    detail: str


@dataclass(frozen=True)
class CheckReport(Report):
    heading: ClassVar[str] = "An evaluator under attack"
    rows: tuple[CheckRow, ...]
    evaluations: int
    level: str
    start: tuple[float, ...]

    @property
    def passed(self) -> bool:
        return not any(row.status in ("FAILED", "not checked") for row in self.rows)

    @property
    def conclusion(self) -> str:
        tried = count(sum(row.status != "does not apply" for row in self.rows), "check")
        failed = sum(row.status == "FAILED" for row in self.rows)
        if failed:
            return f"this evaluator is not fit to be optimised against: {failed} of {tried} failed"
        unknown = next((row.detail for row in self.rows if row.status == "not checked"), "")
        return unknown or f"this evaluator can be optimised against: {tried}, all passed"

    def sections(self) -> list[Section]:
        columns = [*words("tried", "result"), Column("why", figures=False, least=40)]
        measured = f"{count(self.evaluations, 'evaluation')}, sandbox: {self.level}"
        table = Table(
            columns, self.rows, tones={"FAILED": "bad", "not checked": "bad", "passed": "good"}
        )
        return [Section(tables=[table], sentences=[("measured", measured)])]


async def check_evaluation(
    task: ResearchTask,
    evaluator: Evaluator | None = None,
    *,
    unsafe: bool = False,
    pairs: int = 10,
    seed: int = 0,
    on_evaluation: Callable[[int], None] = lambda _: None,
) -> CheckReport:
    """Try everything on a task's saved evaluation, or on an evaluator of the caller.

    `on_evaluation` is given the number of each evaluation before it is made.
    """
    async with _open(task, evaluator, unsafe, seed) as check:
        check.on_evaluation = on_evaluation
        report = await check.run(pairs)
    if evaluator is None and report.passed:
        record_check(task.evaluation, task.files)
    return report


async def score_fault(task: ResearchTask, *, unsafe: bool = False, seed: int = 0) -> CheckRow:
    """Whether an artifact could write its own score; where it could not, that is not tried again."""
    name = "the artifact runs apart from the evaluator"
    if is_checked(task.evaluation, task.files):
        return CheckRow(name, "passed", "as was found before")
    async with _open(task, None, unsafe, seed) as check:
        row = await check.apart(name)
    if row.status == "passed":
        record_check(task.evaluation, task.files)
    return row


@asynccontextmanager
async def _open(
    task: ResearchTask, evaluator: Evaluator | None, unsafe: bool, seed: int
) -> AsyncIterator[_Check]:
    with tempfile.TemporaryDirectory(prefix="autoreason-probe-") as folder:
        # Every user of a jail writes to it.
        os.chmod(folder, 0o777)  # noqa: PTH101
        if evaluator is not None:
            yield _Check(task, evaluator, Reach(), "caller", Path(folder), folder, seed)
            return
        opening = OpenEvaluation(
            digest=task.evaluation, unsafe=unsafe, parallel=2, probe=folder, start=task.files
        )
        client = await EvaluatorClient.connect(opening)
        try:
            inside = folder if unsafe else "/probe"
            reply = client.reply
            yield _Check(task, client, reply.reach, reply.level, Path(folder), inside, seed)
        finally:
            await client.close()


@dataclass
class _Check:
    task: ResearchTask
    evaluator: Evaluator
    reach: Reach
    level: str
    probe: Path
    """Where attacks leave what they got hold of."""
    probe_inside: str
    """The same as artifacts see it."""
    seed: int
    on_evaluation: Callable[[int], None] = lambda _: None
    evaluations: int = 0

    async def run(self, pairs: int) -> CheckReport:
        start, rows = await self._compare_equals(pairs)
        spread = stdev(start) if len(start) > 1 else 0.0
        for attack in attacks.attacks_on(
            self.task.files,
            Random(f"{self.seed}/random"),
            probe=self.probe_inside,
            metric=self.task.metric,
            best=f"{self.task.sign * attacks.TAKEN:g}",
        ):
            status, detail = await self._attack(attack, start[0], spread)
            rows.append(CheckRow(attack.name, status, detail))
        name = "the artifact does not see the task's folder"
        if shown := self.reach.exposed:
            remedy = "run it in a jail, with no more in `mounts` than it needs"
            rows.append(CheckRow(name, "FAILED", f"it could read {shown[0]}; {remedy}"))
        else:
            rows.append(CheckRow(name, "passed", "nothing of it is there"))
        rows.append(await self.apart("the artifact runs apart from the evaluator"))
        return CheckReport(tuple(rows), self.evaluations, self.level, tuple(start))

    async def _compare_equals(self, pairs: int) -> tuple[list[float], list[CheckRow]]:
        """Equal artifacts with the same seeds, in both orders, and once more beside another evaluation."""
        start, other = self.task.files, attacks.equal_copy(self.task.files)
        first: list[float] = []
        equal: list[float] = []
        order: list[float] = []
        loaded: list[float] = []
        for pair in range(pairs):
            forwards = pair % 2 == 0
            artifacts = (start, other) if forwards else (other, start)
            early, late = [self._value(await self.measure(each, pair)) for each in artifacts]
            one, two = (early, late) if forwards else (late, early)
            first.append(one)
            equal.append(two - one)
            order.append(late - early)
            if not self.task.timed:
                busy, _ = await asyncio.gather(self.measure(start, pair), self.measure(other, pair))
                loaded.append(self._value(busy) - one)
        rows = [
            _compare("two equal artifacts", equal, "it must not depend on names, comments or time"),
            _compare("first or second", order, "an evaluation must leave nothing for the next"),
            _compare("alone or beside another", loaded, "say `timed: true`, or measure no times")
            if loaded
            else CheckRow("alone or beside another", "does not apply", "each is measured alone"),
        ]
        return first, rows

    async def measure(self, files: Files, number: int) -> Measurement:
        task, random = self.task, Random(f"{self.seed}/{number}")
        for left in self.probe.iterdir():
            left.unlink()
        self.evaluations += 1
        self.on_evaluation(self.evaluations)
        seed = random.getrandbits(31)
        items = tuple(random.sample(range(task.items), task.per_evaluation or task.items))
        return await self.evaluator.measure(Evaluation(files=files, seed=seed, items=items))

    def _value(self, measurement: Measurement) -> float:
        if measurement.value is None:
            raise InvalidInput(
                f"the evaluator gives no value for the start ({measurement.outcome}: {measurement.detail}); "
                "make it measure that first"
            )
        return measurement.value

    async def _attack(
        self, attack: attacks.Attack, start: float, spread: float
    ) -> tuple[CheckStatus, str]:
        for _ in range(attack.times):
            found = await self.measure(attack.files, 0)
        if self._marks(found):
            return "FAILED", f"it got through; {attack.remedy}"
        if found.value is None:
            failed = found.outcome == EvaluationOutcome.EVALUATOR_ERROR
            why = f"no value came back: {found.outcome}: {found.detail}"[:200]
            return "FAILED" if failed else "passed", why
        # What writes its own score could write the numbers of the guards, too.
        if abs(found.value) < attacks.TAKEN and (
            dropped := broken_constraint(self.task.constraints, attack.files)
            or broken_guard(self.task.guard, [found])
        ):
            return "passed", f"it would be dropped: {dropped}"
        gain = self.task.sign * (found.value - start)
        if gain > max(self.task.tolerance, _BEYOND_NOISE * spread):
            return "FAILED", f"{found.value:.6g} beats the start's {start:.6g}; {attack.remedy}"
        nothing = "no gain beyond noise" if spread else "no gain"
        return "passed", f"{nothing}: {found.value:.6g}, the start {start:.6g}"

    def _marks(self, found: Measurement) -> bool:
        """Whether an attack got hold of something, as it left it in the folder or in what was printed."""
        return attacks.MARK in found.tail or any(self.probe.iterdir())

    async def apart(self, name: str) -> CheckRow:
        """Whether a file of the artifact, whatever its name, could write its own score in any language."""
        tried, best = self.reach.languages, f"{self.task.sign * attacks.TAKEN:g}"
        for language in (each for each in attacks.LANGUAGES if each.name in tried):
            tries = attacks.takeovers(self.task.files, language, probe=self.probe_inside, best=best)
            for path, files in tries:
                found = await self.measure(files, 0)
                if found.outcome is EvaluationOutcome.EVALUATOR_ERROR:
                    return CheckRow(name, "not checked", f"not checked: {found.detail}")
                # Beside a value of the evaluator's own it is not a number, but it was written.
                written = found.outcome is EvaluationOutcome.INVALID and best in found.detail
                if written or abs(found.value or 0.0) >= attacks.TAKEN or self._marks(found):
                    why = f"{path} could write its own score, in {language.name}, beside the evaluator"
                    return CheckRow(name, "FAILED", f"{why}: {attacks.APART}")
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
