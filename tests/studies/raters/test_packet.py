"""A packet says nothing of which text is which, and its key opens once."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.studies.raters.conftest import LETTER, NAMES, TEXTS, TOAST, Study

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.studies.rating_packet import (
    NamedTask,
    OpenTask,
    PacketKey,
    build_packet,
    draw_codes,
    open_key,
    opening,
    read_packet,
    read_part,
    seal,
    unseal,
)
from autoreason.task import Entry, Task


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_every_text_is_there_once_under_a_code_without_a_source_and_is_left_alone(
    study: Study,
) -> None:
    found = contents(study.folder)
    assert {name.rpartition("/")[2] for name in found} == {
        *("INSTRUCTIONS.md", "brief.md", "key.sealed", "packet.json"),
        *(f"{code}.md" for code in study.codes),
    }
    assert read_packet(study.folder) == study.packet
    texts = [read_part(study.folder, study.packet, f"task-1/{code}.md") for code in study.codes]
    assert sorted(text.strip() for text in texts) == sorted(TEXTS)
    assert list(study.codes) == sorted(study.codes)
    assert "autoreason rate report" in found["key.sealed"].decode()
    for name in NAMES:
        assert not any(name.encode() in data for data in found.values())
    before = contents(study.folder)
    with pytest.raises(InvalidInput, match="is not empty"):
        build_packet(study.folder, [TOAST], seed=1)
    assert contents(study.folder) == before


def test_the_same_seed_makes_the_same_packet_and_a_rater_sees_limits_and_facts(
    tmp_path: Path,
) -> None:
    one, other, third = (
        build_packet(tmp_path / name, [TOAST, LETTER], seed=seed)
        for name, seed in (("one", 3), ("other", 3), ("third", 4))
    )
    assert replace(one, created=other.created) == other
    assert one.tasks != third.tasks
    task = Task(brief="Write", facts="It rains.", contract=Contract(max_words=9))
    study = Study(tmp_path / "s", OpenTask(task, TOAST.entries))
    brief = read_part(study.folder, study.packet, "task-1/brief.md")
    assert "At most 9 words." in brief
    assert "It rains." in brief


def with_entries(*entries: tuple[str, str]) -> OpenTask:
    return OpenTask(
        Task(brief="Write"), tuple(Entry(name=name, text=text) for name, text in entries)
    )


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (with_entries(("a", "One.")), "2 to 10 texts, not 1"),
        (with_entries(*((f"{n}", f"Text {n}") for n in range(11))), "2 to 10 texts, not 11"),
        (with_entries(("a", "One  two."), ("b", "One\ntwo.\n")), "a and b are the same text"),
        (with_entries(("a", "One."), ("b", " \n")), "b is empty"),
    ],
)
def test_what_cannot_be_compared_is_refused_and_nothing_written(
    tmp_path: Path, task: OpenTask, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        build_packet(tmp_path / "study", [task], seed=1)
    assert not (tmp_path / "study").exists()


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:40])


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda folder: (folder / "packet.json").unlink(), "is not a packet"),
        (lambda folder: torn(folder / "packet.json"), "packet.json is damaged"),
        (lambda folder: torn(folder / "task-1" / "brief.md"), "brief.md is not what it was"),
        (lambda folder: (folder / "task-1" / "brief.md").unlink(), "brief.md is not what it was"),
    ],
)
def test_a_damaged_packet_is_named(
    study: Study, harm: Callable[[Path], None], message: str
) -> None:
    (study.folder / "task-1" / "brief.md").write_text("A toast for the library, and more than that")
    harm(study.folder)
    with pytest.raises(InvalidInput, match=message):
        read_part(study.folder, read_packet(study.folder), "task-1/brief.md")


steady = settings(derandomize=True, max_examples=12)

seeds = st.integers(0, 2**32)


@steady
@given(st.integers(1, 60), seeds)
def test_codes_are_four_signs_and_differ_in_two_or_more(count: int, seed: int) -> None:
    codes = draw_codes(count, [], random.Random(seed))
    assert len(codes) == count
    assert len({code[0] for code in codes}) == min(count, 16)
    assert all(len(code) == 4 and code.isascii() and code.isupper() for code in codes)
    for one, other in combinations(codes, 2):
        assert sum(map(str.__ne__, one, other)) >= 2


@steady
@given(seeds)
def test_a_code_occurs_in_no_text_in_whatever_letters(seed: int) -> None:
    usual = draw_codes(10, [], random.Random(seed))
    texts = [f"We met {usual[0].lower()} there.", f"pre{usual[1].title()}fix", " ".join(usual[2:])]
    codes = draw_codes(10, texts, random.Random(seed))
    assert not any(code in text.upper() for code in codes for text in texts)


NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
LATER = datetime(2026, 5, 2, 12, tzinfo=UTC)
words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
tasks = st.builds(NamedTask, words, st.dictionaries(words, words, max_size=10))
keys = st.builds(
    PacketKey,
    packet=words,
    seed=st.integers(0, 2**32),
    tasks=st.lists(tasks, max_size=4).map(tuple),
)


@steady
@given(keys)
def test_what_is_sealed_comes_out_again(key: PacketKey) -> None:
    assert unseal(seal(key)) == key


def test_the_key_names_every_code_and_its_first_opening_is_the_one_on_record(study: Study) -> None:
    assert opening(study.folder) is None
    key, opened = open_key(study.folder, study.packet, NOW)
    assert sorted(key.tasks[0].names.values()) == sorted(NAMES)
    assert set(key.tasks[0].names) == set(study.codes)
    assert (key.seed, key.tasks[0].source, opened.at) == (7, "toast.md", NOW)
    _, again = open_key(study.folder, study.packet, LATER)
    found = opening(study.folder)
    assert found == again
    assert found is not None
    assert found.at == NOW


@pytest.mark.parametrize("harm", ["exchanged", "torn", "gone"])
def test_a_key_that_is_not_the_one_sealed_is_refused_and_stays_shut(
    study: Study, harm: str
) -> None:
    path = study.folder / "key.sealed"
    if harm == "exchanged":
        path.write_bytes(seal(PacketKey(packet=study.packet.id, seed=1, tasks=())))
    elif harm == "torn":
        path.write_bytes(path.read_bytes()[:-9])
    else:
        path.unlink()
    with pytest.raises(InvalidInput, match="is not what it was"):
        open_key(study.folder, study.packet, NOW)
    assert opening(study.folder) is None
