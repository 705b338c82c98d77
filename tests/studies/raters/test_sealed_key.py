"""The key stays shut until somebody means to open it, and that is on record."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.studies.raters.conftest import NAMES, Study

from autoreason.errors import InvalidInput
from autoreason.studies.raters.sealed_key import (
    NamedTask,
    PacketKey,
    open_key,
    opening,
    seal,
    unseal,
)

steady = settings(derandomize=True)

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


def test_a_sealed_key_shows_no_name_and_says_what_it_is(study: Study) -> None:
    sealed = (study.folder / "key.sealed").read_text()
    assert "autoreason rate report" in sealed
    assert not any(name in sealed for name in (*NAMES, *study.codes))


def test_the_key_names_every_code(study: Study) -> None:
    key, opened = open_key(study.folder, study.packet, NOW)
    assert sorted(key.tasks[0].names.values()) == sorted(NAMES)
    assert set(key.tasks[0].names) == set(study.codes)
    assert (key.seed, key.tasks[0].source) == (7, "toast.md")
    assert opened.at == NOW


def test_the_first_opening_is_the_one_on_record(study: Study) -> None:
    assert opening(study.folder) is None
    open_key(study.folder, study.packet, NOW)
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
    with pytest.raises(InvalidInput, match="not the key of this packet"):
        open_key(study.folder, study.packet, NOW)
    assert opening(study.folder) is None
