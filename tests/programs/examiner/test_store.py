"""Sets of problems are kept by what is in them, for their owner alone."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from tests.programs.examiner.made_up import adding, doubling

from autoreason.errors import InvalidInput
from autoreason.files import data_folder
from autoreason.programs.examiner.process import load_set, save_set

PROBLEMS = (adding(), doubling())


def kept() -> Path:
    """The one file in the store."""
    [path] = (data_folder() / "problems").iterdir()
    return path


def test_a_set_is_found_again_by_its_digest() -> None:
    digest = save_set(PROBLEMS)
    assert load_set(digest) == PROBLEMS
    assert save_set(PROBLEMS) == digest
    assert kept().name == f"{digest}.jsonl"


def test_only_its_owner_may_read_it() -> None:
    save_set(PROBLEMS)
    assert stat.S_IMODE(kept().stat().st_mode) == 0o600


def test_a_set_that_is_not_there_or_was_changed_is_refused_in_one_sentence() -> None:
    digest = save_set(PROBLEMS)
    with pytest.raises(InvalidInput, match="not saved here"):
        load_set("0" * 64)
    kept().write_bytes(kept().read_bytes().replace(b"their sum", b"their product"))
    with pytest.raises(InvalidInput, match="was changed"):
        load_set(digest)
    kept().write_bytes(b"{")
    with pytest.raises(InvalidInput, match="damaged"):
        load_set(digest)
