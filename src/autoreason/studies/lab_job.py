"""Runs the cells of a suite, drafts, arms and panels of a task and a repeat in this order, and counts how far it is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cached_property, partial, reduce
from typing import NamedTuple

from msgspec.structs import replace

from autoreason.errors import InvalidInput, PanelFailed, ProviderFailed
from autoreason.events import JobFinished, Status
from autoreason.exchange import Spent
from autoreason.job_types import Lab
from autoreason.jobs.context import amount_spent, run_in_windows, use_in_order
from autoreason.jobs.job import Job, panel_attempts
from autoreason.keys import attempt_stage
from autoreason.report.numbers import count
from autoreason.settings import Settings
from autoreason.story import Story
from autoreason.studies.lab_suite import (
    DRAFT,
    PANEL,
    Cell,
    CellFinished,
    CellGroup,
    CellQuery,
    CellResult,
    Suite,
    all_cells,
    groups,
    panel_texts,
    suite_of,
)
from autoreason.studies.panel_jobs import distinct, same_texts
from autoreason.task import Task

_MAX_GROUPS_AHEAD = 2
"""Windows of groups that may start while an earlier group is still running."""


class LabJob(Job):
    """Asks for every cell, once for all comparisons that need it; which process runs it is not its concern."""

    summary = "a suite: tasks by arms, each cell a run of its own, and what was asked about them"
    common_prompts = ()
    prompts = ()

    async def run(self) -> JobFinished:
        """Run all cells, and end whatever came of them; strategies that no panel could compare pause it."""
        terms = self.settings.job_as(Lab)
        suite = self._suite
        self._room = asyncio.Semaphore(terms.parallel)
        self._held: list[CellFinished] = []
        self._out_of_reach: ProviderFailed | None = None
        works = (partial(self._run_group, suite, group) for group in groups(suite))
        await run_in_windows(works, terms.parallel, _MAX_GROUPS_AHEAD * terms.parallel)
        ended = self.story.of(CellFinished)
        decided = any(each.cell.kind == PANEL and each.result.finished for each in ended)
        if not decided and any(each.result.status == "panel_failed" for each in self._held):
            raise PanelFailed("of no panel enough rankings could be read to decide anything")
        for each in sorted(self._held, key=lambda each: each.cell.number):
            self.emit(each)
        finished = self.story.of(CellFinished)
        failed = sum(not each.result.finished for each in finished)
        left_out = f"; {failed} of them left out" if failed else ""
        return self.finish(f"{count(len(finished), 'part')}{left_out}")

    @classmethod
    def check(cls, settings: Settings) -> None:
        terms = settings.job_as(Lab)
        if settings.batch and (terms.workers or terms.ray):
            other = "ray" if terms.ray else "workers"
            raise InvalidInput(f"one process collects a batch; leave `batch` or `{other}` out")

    @classmethod
    def check_task(cls, task: Task, settings: Settings) -> None:
        if suite_of(task) is None:
            raise InvalidInput(f"{settings.job.name} runs suites; use `autoreason lab run`")

    @property
    def _suite(self) -> Suite:
        suite = suite_of(self.context.task)
        assert suite is not None
        return suite

    async def _run_group(self, suite: Suite, group: CellGroup) -> None:
        drafts = await self._ask([CellQuery.of(cell) for cell in group.drafts])
        match = suite.match
        if match and match.amount is None:
            results = await self._run_arms(group, group.arms[:1], drafts)
            amount = None
            if (first := results.get(group.arms[0].part)) and first.finished:
                amount = amount_spent(first.spent, match.by)
                results |= await self._run_arms(group, group.arms[1:], drafts, amount)
            elif first:
                for cell in group.arms[1:]:
                    why = f"no budget to match: {first.reason}"
                    self._emit(cell, replace(first, run="", reason=why, spent=Spent()))
        else:
            amount = match.amount if match else None
            results = await self._run_arms(group, group.arms, drafts, amount)
        texts = {
            cell.arms[0]: result.text
            for cell in group.arms
            if (result := results.get(cell.part)) and result.finished and result.text
        }
        panels: list[CellQuery] = []
        for cell in group.panels:
            own = {arm: text for arm in cell.arms if (text := texts.get(arm))}
            assert suite.panel is not None
            if len(distinct(panel_texts(suite.panel, own))) > 1:
                panels.append(CellQuery.of(cell, own))
            else:
                same = len(own) > 1
                why = "all texts are the same" if same else "fewer than two arms delivered a text"
                reason = f"nothing to judge: {why}"
                status: Status = "done" if same else "stopped"
                ended = CellResult(run="", status=status, reason=reason, finished=same)
                self._emit(cell, ended, own)
        await self._ask(panels)

    async def _run_arms(
        self,
        group: CellGroup,
        cells: Iterable[Cell],
        drafts: Mapping[str, CellResult],
        amount: Decimal | None = None,
    ) -> dict[str, CellResult]:
        begin: list[CellQuery] = []
        for cell in cells:
            draft = group.draft_of(cell.arms[0])
            result = drafts[draft.part] if draft else None
            if result is None or result.text:
                texts: dict[str, str] = {DRAFT: result.text} if result and result.text else {}
                begin.append(CellQuery.of(cell, texts, amount))
            else:
                self._emit(cell, replace(result, run="", reason=f"its draft: {result.reason}"))
        return await self._ask(begin)

    async def _ask(self, queries: Iterable[CellQuery]) -> dict[str, CellResult]:
        results: dict[str, CellResult] = {}

        async def ask(query: CellQuery) -> None:
            async with self._room:
                if self._out_of_reach:
                    # It is not asked again for every other cell.
                    raise self._out_of_reach
                for attempt in panel_attempts(self.context):
                    key = attempt_stage(query.key, attempt)
                    try:
                        result = await self.context.ask(replace(query, key=key, attempt=attempt))
                    except ProviderFailed as failure:
                        self._out_of_reach = failure
                        raise
                    if result.status != "panel_failed":
                        break
            results[query.cell.part] = result
            self._emit(query.cell, result, query.texts)

        await use_in_order([ask(each) for each in queries], lambda _: None)
        return results

    def _emit(self, cell: Cell, result: CellResult, texts: dict[str, str] | None = None) -> None:
        judged_as: dict[str, str] = {}
        if cell.kind == PANEL and texts:
            assert self._suite.panel is not None
            same = same_texts(panel_texts(self._suite.panel, texts))
            judged_as = {arm: names[0] for arm, names in same.items()}
        ended = CellFinished(cell=cell, result=replace(result, text=None), judged_as=judged_as)
        failed = not result.finished and result.status in ("panel_failed", "stopped")
        if failed and self._suite.form == "strategies":
            # It is run again where no panel decides anything.
            self._held.append(ended)
        else:
            self.emit(ended)


class LabProgress(NamedTuple):
    total: int
    done: int
    left_out: int
    running: int
    spent: Spent
    seconds: float
    missing: int = 0
    """Those that have ended and whose runs are not in this journal."""

    @property
    def left(self) -> int:
        return max(0, self.total - self.done - self.missing - self.running)

    @property
    def so_far(self) -> str:
        """`12 of 40 parts done, 1 of them left out, 3 running, 25 left`."""
        parts = count(self.total, "part")
        failed = f", {self.left_out} of them left out" if self.left_out else ""
        missing = f", {self.missing} not in this journal" if self.missing else ""
        rest = f"{self.running} running, {self.left:,} left"
        return f"{self.done:,} of {parts} done{failed}{missing}, {rest}"

    @property
    def seconds_left(self) -> float | None:
        """None where it is not known yet, and where nothing is left."""
        left = self.total - self.done - self.missing
        if not self.done or not left or self.seconds < 1:
            return None
        return self.seconds / self.done * left


class SuiteCells:
    def __init__(self, story: Story) -> None:
        self._story = story

    @cached_property
    def cells(self) -> Mapping[str, Cell]:
        suite = suite_of(self._story.task)
        return {cell.part: cell for cell in all_cells(suite)} if suite else {}

    def progress(
        self, running: int, spent_by_cell: Mapping[str, Spent], seconds: float
    ) -> LabProgress:
        """How far the suite is, with what the cells that have not ended have spent, by their parts or runs."""
        finished = self._story.of(CellFinished)
        ended = {name for each in finished for name in (each.cell.part, each.result.run)}
        # Without a run, it is another cell's that this one could not do without.
        spent = [each.result.spent for each in finished if each.result.run]
        spent += [each for cell, each in spent_by_cell.items() if cell not in ended]
        return LabProgress(
            total=len(self.cells),
            done=len(finished),
            left_out=sum(not each.result.finished for each in finished),
            running=running,
            spent=reduce(Spent.joined, spent, Spent()),
            seconds=seconds,
        )
