"""Over people, nobody's text gains by where it stands."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.studies.raters.conftest import Study

from autoreason.studies.raters.build import OpenTask
from autoreason.studies.raters.reading_plan import plan
from autoreason.task import Entry, Task

steady = settings(derandomize=True)


def texts(count: int) -> OpenTask:
    """A task with so many texts."""
    return OpenTask(
        Task(brief="Write"), tuple(Entry(name=f"{n}", text=f"Text {n}") for n in range(count))
    )


@settings(steady, max_examples=25)
@given(st.integers(2, 10), st.integers(0, 2**32), st.integers(0, 3))
def test_in_every_group_of_people_each_text_stands_once_in_each_place(
    count: int, seed: int, group: int
) -> None:
    with TemporaryDirectory() as folder:
        packet = Study(Path(folder) / "study", texts(count), seed=seed).packet
    seats = range(group * count, (group + 1) * count)
    places = Counter(
        (place, step.codes[0])
        for seat in seats
        for place, step in enumerate(plan(packet, seat))
        if step.kind == "text"
    )
    assert len(places) == count * count
    assert set(places.values()) == {1}


def test_a_task_is_ranked_right_after_its_texts(two_tasks: Study) -> None:
    for seat in range(4):
        steps = plan(two_tasks.packet, seat)
        kinds = [(step.task, step.kind) for step in steps]
        for task, number in ((0, 3), (1, 2)):
            first = kinds.index((task, "text"))
            assert kinds[first : first + number + 1] == [
                *[(task, "text")] * number,
                (task, "ranking"),
            ]


def test_both_tasks_come_first_for_someone(two_tasks: Study) -> None:
    assert {plan(two_tasks.packet, seat)[0].task for seat in range(2)} == {0, 1}
