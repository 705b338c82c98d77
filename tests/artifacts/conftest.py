"""A journal for every test of this room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.run.runs import open_journal

from autoreason.journal import Journal


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """Empty, and closed afterwards."""
    with open_journal(tmp_path) as opened:
        yield opened
