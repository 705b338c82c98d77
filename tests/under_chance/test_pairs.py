"""Panels held from start to end by the echo model, which tosses coins, and the preference pairs they leave."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean, stdev

from tests.run.runs import open_journal, start_run
from tests.under_chance.luck import most_often

from autoreason.job_types import Judge
from autoreason.models.doubles import EchoModel
from autoreason.studies.pairs import find_pairs
from autoreason.studies.panel_report import panel_report
from autoreason.task import Entry, Task

TIMES = 25
TASK = Task(
    brief="Write about tides.",
    entries=tuple(Entry(name=name, text=f"The tide is {name}.") for name in ("a", "b", "c")),
)


async def test_panels_from_start_to_end_find_nothing_and_their_pairs_choose_no_side(
    tmp_path: Path,
) -> None:
    reports = []
    with open_journal(tmp_path) as journal:
        for seed in range(TIMES):
            changes = {"job": Judge(), "judges": 7, "seed": seed}
            result = await start_run(journal, EchoModel(), task=TASK, changes=changes)
            reports.append(panel_report(result.story))
        runs = [row.id for row in journal.runs(TIMES)]
        found = find_pairs(runs, journal=journal).pairs
    assert sum(each.winner is not None for each in reports) <= most_often(TIMES)
    taus = [each.agreement or 0 for each in reports]
    assert abs(fmean(taus)) <= 4 * stdev(taus) / TIMES**0.5
    # Seven judges are never tied on two texts, and three pairs of a run count as one thing.
    assert len(found) == 3 * TIMES
    first = sum(each.chosen_name < each.rejected_name for each in found)
    assert abs(first - len(found) / 2) <= 4 * (3 * len(found) / 4) ** 0.5
