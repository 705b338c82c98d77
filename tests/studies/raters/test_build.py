"""A packet tells nobody where its texts come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.studies.raters.conftest import LETTER, NAMES, TEXTS, TOAST, Study

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.studies.raters.build import OpenTask, build_packet, instructions
from autoreason.studies.raters.packet import read_packet, read_part
from autoreason.task import Entry, Task


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder by name."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_no_file_names_a_source(study: Study) -> None:
    found = contents(study.folder)
    assert {name.rpartition("/")[2] for name in found} == {
        *("INSTRUCTIONS.md", "brief.md", "key.sealed", "packet.json"),
        *(f"{code}.md" for code in study.codes),
    }
    for name in NAMES:
        assert not any(name.encode() in data for data in found.values())


def test_every_text_is_there_once_under_a_code(study: Study) -> None:
    texts = [read_part(study.folder, study.packet, f"task-1/{code}.md") for code in study.codes]
    assert sorted(text.strip() for text in texts) == sorted(TEXTS)


def test_codes_stand_in_their_own_order_not_in_that_of_the_texts(tmp_path: Path) -> None:
    for seed in range(5):
        packet = build_packet(tmp_path / str(seed), [TOAST], seed=seed)
        assert list(packet.tasks[0].codes) == sorted(packet.tasks[0].codes)


def test_the_same_seed_makes_the_same_packet(tmp_path: Path) -> None:
    one, other, third = (
        build_packet(tmp_path / name, [TOAST, LETTER], seed=seed)
        for name, seed in (("one", 3), ("other", 3), ("third", 4))
    )
    assert replace(one, created=other.created) == other
    assert one.tasks != third.tasks


def test_codes_are_unique_across_tasks(two_tasks: Study) -> None:
    codes = [code for task in two_tasks.packet.tasks for code in task.codes]
    assert len(set(codes)) == len(codes) == 5


def test_a_packet_is_read_as_it_was_made(study: Study) -> None:
    assert read_packet(study.folder) == study.packet


def test_a_rater_sees_limits_and_facts(tmp_path: Path) -> None:
    task = Task(brief="Write", facts="It rains.", contract=Contract(max_words=9))
    study = Study(tmp_path / "s", OpenTask(task, TOAST.entries))
    brief = read_part(study.folder, study.packet, "task-1/brief.md")
    assert "At most 9 words." in brief
    assert "It rains." in brief


def test_the_instructions_are_one_page_with_every_line_of_the_rubric(study: Study) -> None:
    message = (study.folder / "INSTRUCTIONS.md").read_text()
    assert message == instructions()
    for line in ("Clarity", "Usefulness", "Correctness", "Concision", "Overall"):
        assert f"**{line}:**" in message
    assert len(message.split()) < 300


def with_entries(*entries: tuple[str, str]) -> OpenTask:
    """A task with these texts."""
    return OpenTask(
        Task(brief="Write"), tuple(Entry(name=name, text=text) for name, text in entries)
    )


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (with_entries(("a", "One.")), "has 1 text; give 2 to 10"),
        (with_entries(*((f"{n}", f"Text {n}") for n in range(11))), "has 11 texts"),
        (with_entries(("a", "One  two."), ("b", "One\ntwo.\n")), "a and b are the same text"),
        (with_entries(("a", "One."), ("a", "Two.")), "two texts are called a"),
        (with_entries(("a", "One."), ("b", " \n")), "b is empty"),
    ],
)
def test_what_cannot_be_compared_is_refused_and_nothing_written(
    tmp_path: Path, task: OpenTask, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        build_packet(tmp_path / "study", [task], seed=1)
    assert not (tmp_path / "study").exists()


def test_a_folder_in_use_is_left_alone(study: Study) -> None:
    before = contents(study.folder)
    with pytest.raises(InvalidInput, match="is not empty"):
        build_packet(study.folder, [TOAST], seed=1)
    assert contents(study.folder) == before


def torn(path: Path) -> None:
    """Half a file."""
    path.write_bytes(path.read_bytes()[:40])


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda folder: (folder / "packet.json").unlink(), "is no packet"),
        (lambda folder: torn(folder / "packet.json"), "packet.json is damaged"),
        (lambda folder: torn(folder / "task-1" / "brief.md"), "brief.md is not what it was"),
        (lambda folder: (folder / "task-1" / "brief.md").unlink(), "cannot read .*brief.md"),
    ],
)
def test_a_damaged_packet_is_named(
    study: Study, harm: Callable[[Path], None], message: str
) -> None:
    (study.folder / "task-1" / "brief.md").write_text("A toast for the library, and more than that")
    harm(study.folder)
    with pytest.raises(InvalidInput, match=message):
        read_part(study.folder, read_packet(study.folder), "task-1/brief.md")


def test_a_packet_of_a_later_format_is_not_guessed_at(study: Study) -> None:
    path = study.folder / "packet.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(InvalidInput, match="newer autoreason"):
        read_packet(study.folder)
