"""People who rate at random, and a panel they have nothing to do with."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from tests.once import once
from tests.studies.raters.conftest import Study
from tests.under_chance.luck import misses, most_often

from autoreason.studies.rating_packet import (
    LINES,
    KeyOpening,
    OpenTask,
    Packet,
    PacketKey,
    Sheet,
    open_key,
)
from autoreason.studies.ratings import RatingsReport, ratings_report
from autoreason.task import Entry, Task

TIMES = 80
STUDIES = [(2, 3, 1), (3, 5, 1), (7, 2, 1), (7, 3, 3)]
"""People, texts and tasks."""
studies = pytest.mark.parametrize(("people", "texts", "tasks"), STUDIES)


@once
def packet_of(texts: int, tasks: int) -> tuple[Packet, PacketKey]:
    """A packet and its key."""
    entries = tuple(Entry(name=f"{at}.md", text=f"Text {at}.") for at in range(texts))
    task = OpenTask(Task(brief="Write."), entries, source="task.md")
    with TemporaryDirectory() as folder:
        study = Study(Path(folder) / "packet", *[task] * tasks)
        return study.packet, open_key(study.folder, study.packet, datetime.now(UTC))[0]


def drawn_report(rng: np.random.Generator, people: int, texts: int, tasks: int) -> RatingsReport:
    """Scores and rankings that say nothing."""
    packet, key = packet_of(texts, tasks)
    sheets = []
    for seat in range(people):
        sheet = Sheet(f"person {seat}", seat)
        for number, task in enumerate(packet.tasks):
            sheet.rankings[number] = tuple(map(str, rng.permutation(task.codes)))
            for code in task.codes:
                sheet.scores[code] = dict(zip(LINES, rng.integers(1, 6, 5).tolist(), strict=True))
        sheets.append(sheet)
    order = [f"{at}.md" for at in range(texts)]
    rankings = tuple(tuple(map(str, rng.permutation(order))) for _ in range(5))
    panel = [tuple(rankings)] * tasks
    opened = KeyOpening(at=datetime.now(UTC), ratings={})
    return ratings_report(packet, key, sheets, opened, digests={}, panel=panel)


@once
def said(people: int, texts: int, tasks: int) -> Counter[str]:
    """How often a report says what is not so."""
    rng = np.random.default_rng((people, texts, tasks))
    made: Counter[str] = Counter()
    for _ in range(TIMES):
        found = drawn_report(rng, people, texts, tasks)
        middle = (1 + texts) / 2
        first = found.tasks[0]
        made["places"] += any(misses(each.mean_place, middle) for each in first.texts)
        made["scores"] += any(misses(each.scores["overall"], 3) for each in first.texts)
        made["together"] += any(
            misses(each.mean_place, middle) or misses(each.scores["overall"], 3)
            for each in found.over_all_tasks
        )
        made["winner"] += any(found.winners)
        made["panel"] += found.panel is not None and misses(found.panel.pairs, 0.5)
    return made


@studies
@pytest.mark.parametrize("column", ["places", "scores"])
def test_the_intervals_of_a_column_hold_together(
    people: int, texts: int, tasks: int, column: str
) -> None:
    assert said(people, texts, tasks)[column] <= most_often(TIMES)


@studies
def test_the_intervals_over_all_tasks_hold_together(people: int, texts: int, tasks: int) -> None:
    # Places and scores are two columns.
    assert said(people, texts, tasks)["together"] <= most_often(TIMES, 0.1)


@studies
def test_a_text_seldom_wins_among_people_who_rank_at_random(
    people: int, texts: int, tasks: int
) -> None:
    assert said(people, texts, tasks)["winner"] <= most_often(TIMES)


@studies
def test_people_are_seldom_said_to_agree_with_a_panel(people: int, texts: int, tasks: int) -> None:
    assert said(people, texts, tasks)["panel"] <= most_often(TIMES)


@pytest.mark.parametrize(("people", "texts", "tasks"), [(2, 3, 1), (7, 3, 3)])
def test_tau_and_alpha_are_nothing_on_average(people: int, texts: int, tasks: int) -> None:
    rng = np.random.default_rng((people, texts))
    reports = [drawn_report(rng, people, texts, tasks) for _ in range(TIMES)]
    taus = [each.tasks[0].agreement for each in reports]
    alphas = [each.alpha["overall"].value for each in reports]
    for found in (taus, alphas):
        known = [each for each in found if each is not None]
        assert fmean(known) <= 4 * stdev(known) / len(known) ** 0.5
