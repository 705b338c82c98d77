"""A journal in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.journal.samples import create_run

from autoreason.journal import Journal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the journal is, or will be."""
    return tmp_path / "kept" / "journal.db"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    """A new journal with one run, `20261115-amber-fox`."""
    with Journal.open(str(path), create=True) as journal:
        create_run(journal, "20261115-amber-fox")
        yield journal
