"""What tests of a folder said: for which judges its outcomes help, and how much each is worth."""

from __future__ import annotations

from collections.abc import Collection
from math import log
from pathlib import Path

import msgspec
from msgspec import Struct

from autoreason.knowledge.holdout import Verdict

_FILE = ".tests.jsonl"
_USUAL, _STRENGTH = 0.6, 50
"""What judges are taken for before they are tested: right so often, as if on so many groups."""
_LEAST, _MOST = 0.25, 3.0


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
    weight: float | None = None
    """How much its ballot counts in a playoff if it is shown outcomes; None where the pairs were too few."""
    weight_without: float | None = None
    """The same if it is shown none."""


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


def weigh(right: float, groups: int) -> float:
    """How much the ballot of a judge counts that is right so often: 1 where nothing is known, in quarters.

    The log-odds of its share, shrunken towards 60 % as if by 50 more groups, over those of 60 %. A judge that tosses
    coins ends at the least weight, and so does one that is mostly wrong: no vote is turned round.
    """
    share = (right * groups + _USUAL * _STRENGTH) / (groups + _STRENGTH)
    odds = log(share / (1 - share)) / log(_USUAL / (1 - _USUAL))
    return min(_MOST, max(_LEAST, round(4 * odds) / 4))


def judge_weights(
    folder: str | Path, judges: Collection[str], *, with_records: bool
) -> dict[str, float]:
    """The weights of several judges by their last tests; none unless each has one."""
    last = {each.judge: each for each in read_tests(folder)}
    tests = [last[judge] for judge in judges if judge in last]
    weights = {each.judge: each.weight if with_records else each.weight_without for each in tests}
    known = {judge: weight for judge, weight in weights.items() if weight is not None}
    return known if len(known) > 1 and known.keys() == {*judges} else {}


def helps_judge(folder: str | Path, judge: str) -> bool:
    """Whether the last test of a judge says that outcomes help it."""
    verdicts = [each.verdict for each in read_tests(folder) if each.judge == judge]
    return verdicts[-1:] == ["helps"]
