"""Recorded outcomes, read once."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoreason.knowledge.folder import read_folder
from autoreason.knowledge_records import Record


@pytest.fixture(scope="session")
def headlines(shared: Path) -> tuple[Record, ...]:
    return read_folder(shared / "outcomes" / "upworthy_tests.jsonl").records


@pytest.fixture(scope="session")
def arguments(shared: Path) -> tuple[Record, ...]:
    return read_folder(shared / "outcomes" / "ukpconvarg_pairs.jsonl").records
