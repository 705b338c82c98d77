"""What tests of a folder said: for which judges its outcomes help."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from autoreason.knowledge.holdout import Verdict

_FILE = ".tests.jsonl"


class TestResult(Struct, frozen=True, kw_only=True):
    """One test of a folder with one judge."""

    __test__ = False
    """It is no test of pytest's."""

    judge: str
    """Its address; or the name of a predictor."""
    verdict: Verdict
    difference: float
    """Share of pairs decided rightly with knowledge, less that without."""
    low: float | None
    high: float | None
    pairs: int
    groups: int
    when: str
    run: str = ""
    """The run in which it was tested."""


def record_test(folder: str | Path, result: TestResult) -> None:
    """Append a result to the folder's own."""
    with Path(folder, _FILE).open("ab") as file:
        file.write(msgspec.json.encode(result) + b"\n")


def read_tests(folder: str | Path) -> list[TestResult]:
    """Every result, the oldest first; a line that cannot be read says nothing."""
    try:
        lines = Path(folder, _FILE).read_bytes().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            found.append(msgspec.json.decode(line, type=TestResult))
        except msgspec.MsgspecError:
            continue
    return found


def helps_judge(folder: str | Path, judge: str) -> bool:
    """Whether the last test of a judge says that outcomes help it."""
    verdicts = [each.verdict for each in read_tests(folder) if each.judge == judge]
    return verdicts[-1:] == ["helps"]
