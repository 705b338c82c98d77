"""A journal of each test's own: in a file, on a server, or on both in turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.journal.samples import RUN, create_run

from autoreason.journal import Journal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "journal.db"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """Where the journal is, or will be: a test that takes this runs on each kind of database."""
    if request.param == "sqlite":
        return str(request.getfixturevalue("path"))
    on_server: str = request.getfixturevalue("postgres_url")
    return on_server


@pytest.fixture
def journal(url: str) -> Iterator[Journal]:
    """A new journal with one run, on each kind of database."""
    with Journal.open(url, create=True) as journal:
        create_run(journal, RUN)
        yield journal


@pytest.fixture
def file_journal(path: Path) -> Iterator[Journal]:
    """The same in a file only."""
    with Journal.open(str(path), create=True) as journal:
        create_run(journal, RUN)
        yield journal
