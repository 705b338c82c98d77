"""What people click is kept, and every text is equally often in every place."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.studies.raters.conftest import Study

from autoreason.errors import InvalidInput
from autoreason.studies.rating_packet import (
    LINES,
    Click,
    CommentClick,
    FinishClick,
    OpenTask,
    RankingClick,
    ScoreClick,
    Sheet,
    StepClick,
    open_sheet,
    plan,
    read_sheet,
    read_sheets,
)
from autoreason.task import Entry, Task

steady = settings(derandomize=True)

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def clicks(codes: tuple[str, ...]) -> st.SearchStrategy[Click]:
    code = st.sampled_from(codes)
    words = st.text(st.characters(codec="utf-8"), max_size=20)
    return st.one_of(
        st.builds(ScoreClick, code, st.sampled_from(LINES), st.integers(1, 5)),
        st.builds(RankingClick, st.just(0), st.lists(code, unique=True).map(tuple)),
        st.builds(CommentClick, st.just(0), st.one_of(st.none(), code), words),
        st.builds(StepClick, st.integers(0, 4)),
        st.just(FinishClick()),
    )


@settings(steady, max_examples=12)
@given(st.data())
def test_a_file_cut_off_anywhere_holds_every_click_before_the_cut(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        study = Study(Path(folder) / "study")
        made = data.draw(st.lists(clicks(study.codes), max_size=8))
        page = open_sheet(study.folder, study.packet, "Anna", NOW)
        path = study.folder / "ratings" / "rater-01.jsonl"
        ends, expected = [path.stat().st_size], [Sheet("Anna", 0)]
        for click in made:
            page.add(click, NOW)
            ends.append(path.stat().st_size)
            expected.append(read_sheet(path, study.packet))
        cut = data.draw(st.integers(ends[0], ends[-1]))
        path.write_bytes(path.read_bytes()[:cut])
        kept = sum(end <= cut for end in ends) - 1
        again = open_sheet(study.folder, study.packet, "Anna", NOW)
        assert again.sheet == expected[kept]
        again.add(StepClick(1), NOW)
        assert read_sheet(path, study.packet) == again.sheet


def test_the_last_word_counts_and_a_step_once_it_is_complete(study: Study) -> None:
    page = open_sheet(study.folder, study.packet, "Anna", NOW)
    one, two, three = study.codes
    for line in LINES:
        assert page.sheet.answered(study.packet) == 0
        page.add(ScoreClick(one, line, 3), NOW)
    page.add(ScoreClick(one, "clarity", 5), NOW)
    page.add(RankingClick(0, (two,)), NOW)
    assert page.sheet.answered(study.packet) == 1
    page.add(RankingClick(0, (three, two, one)), NOW)
    (sheet,) = read_sheets(study.folder, study.packet)
    assert sheet.scores == {one: dict.fromkeys(LINES, 3) | {"clarity": 5}}
    assert sheet.ranking(study.packet, 0) == (three, two, one)
    assert sheet.answered(study.packet) == 2


def test_a_sheet_of_another_packet_or_without_a_beginning_is_refused(study: Study) -> None:
    open_sheet(study.folder, study.packet, "Anna", NOW)
    sheet = study.folder / "ratings" / "rater-01.jsonl"
    for contents in ("", "half a li", sheet.read_text().replace(study.packet.id, "other")):
        sheet.write_text(contents)
        with pytest.raises(InvalidInput, match="does not belong to this packet"):
            read_sheets(study.folder, study.packet)


ONE = "the first code"
"""Stands for it in the cases below."""


@pytest.mark.parametrize(
    "bad",
    [
        ScoreClick("NONE", "clarity", 3),
        ScoreClick(ONE, "charm", 3),
        ScoreClick(ONE, "clarity", 0),
        ScoreClick(ONE, "clarity", 6),
        RankingClick(0, (ONE, ONE)),
        RankingClick(0, ("NONE",)),
        RankingClick(1, (ONE,)),
        RankingClick(-1, (ONE,)),
        CommentClick(1, None, "x"),
        CommentClick(0, "NONE", "x"),
        CommentClick(0, None, "x" * 10_001),
        StepClick(5),
    ],
)
def test_a_click_that_does_not_fit_leaves_no_trace(study: Study, bad: Click) -> None:
    page = open_sheet(study.folder, study.packet, "Anna", NOW)
    path = study.folder / "ratings" / "rater-01.jsonl"
    before = path.read_bytes()
    sent = msgspec.json.encode(bad).replace(ONE.encode(), study.codes[0].encode())
    with pytest.raises((InvalidInput, msgspec.ValidationError)):
        page.add(msgspec.json.decode(sent, type=Click), NOW)
    assert path.read_bytes() == before
    assert page.sheet == Sheet("Anna", 0)


def test_a_person_is_known_by_name_however_it_is_typed(study: Study) -> None:
    open_sheet(study.folder, study.packet, "Anna  Bell ", NOW).add(StepClick(2), NOW)
    open_sheet(study.folder, study.packet, "Ben", NOW)
    assert open_sheet(study.folder, study.packet, "anna bell", NOW).sheet.step == 2
    sheets = read_sheets(study.folder, study.packet)
    assert [(sheet.rater, sheet.seat) for sheet in sheets] == [("Anna Bell", 0), ("Ben", 1)]


@pytest.mark.parametrize("name", ["", "   ", "x" * 61, "a\x1b[31m"])
def test_a_name_must_be_one(study: Study, name: str) -> None:
    with pytest.raises(InvalidInput, match="needs a name"):
        open_sheet(study.folder, study.packet, name, NOW)


@pytest.mark.parametrize(
    "line",
    [
        "{",
        '{"at":"2026-05-01T12:00:00Z","what":{"type":"went","step":99}}',
        '{"at":"2026-05-01T12:00:00Z","what":{"type":"began","packet":"x","rater":"y","seat":0}}',
    ],
)
def test_a_damaged_line_is_named(study: Study, line: str) -> None:
    open_sheet(study.folder, study.packet, "Anna", NOW)
    path = study.folder / "ratings" / "rater-01.jsonl"
    path.write_text(path.read_text() + line + "\n" + line + "\n")
    with pytest.raises(InvalidInput, match="damaged in line 2"):
        read_sheets(study.folder, study.packet)


def texts(count: int) -> OpenTask:
    return OpenTask(
        Task(brief="Write"), tuple(Entry(name=f"{n}", text=f"Text {n}") for n in range(count))
    )


@settings(steady, max_examples=8)
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
    assert {plan(two_tasks.packet, seat)[0].task for seat in range(2)} == {0, 1}
    for seat in range(4):
        steps = plan(two_tasks.packet, seat)
        kinds = [(step.task, step.kind) for step in steps]
        for task, number in ((0, 3), (1, 2)):
            first = kinds.index((task, "text"))
            assert kinds[first : first + number + 1] == [
                *[(task, "text")] * number,
                (task, "ranking"),
            ]
