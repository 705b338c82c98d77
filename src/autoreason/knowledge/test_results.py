"""What tests of a folder said: which judges its outcomes help, how much each is worth, and which predictors know."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from math import log
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from autoreason.knowledge_records import FITTED, WhenTested
from autoreason.stats.results import Estimate

_FILE = ".tests.jsonl"
Verdict = Literal["helps", "harms", "worse", "not shown", "too few"]
"""Of judges and predictors; *worse* is a predictor that knows less than length does."""
_USUAL, _STRENGTH = 0.6, 50
"""What judges are taken for before they are tested: right so often, as if on so many groups."""
_LEAST, _MOST = 0.25, 3.0


class TestResult(Struct, frozen=True, kw_only=True):
    """One test of a folder with one judge, or of a predictor."""

    __test__ = False
    """It is no test of pytest's."""

    judge: str
    """Its address; or the name of a predictor."""
    verdict: Verdict
    difference: float
    """Share of pairs decided rightly with knowledge, less that without; of a predictor, less that by length."""
    low: float | None
    high: float | None
    pairs: int
    groups: int
    when: str
    run: str = ""
    """The run in which it was tested."""
    right: Estimate | None = None
    """Of a predictor: the share of pairs it was right about."""
    weight: float | None = None
    """How much its ballot counts in a playoff if it is shown outcomes; None where the pairs were too few."""
    weight_without: float | None = None
    """The same if it is shown none."""


def _results_file(folder: str | Path) -> Path:
    """Where the results of a folder are; those of a single table are beside it."""
    path = Path(folder)
    return path.with_name(f".{path.name}{_FILE}") if path.is_file() else path / _FILE


def record_test(folder: str | Path, result: TestResult) -> None:
    """Append a result to the folder's own."""
    with _results_file(folder).open("ab") as file:
        file.write(msgspec.json.encode(result) + b"\n")


def keep_test(folder: str | Path, result: TestResult) -> None:
    """The same, with a warning where nothing can be written there."""
    try:
        record_test(folder, result)
    except OSError as error:
        warnings.warn(f"the verdict cannot be kept in {folder} ({error.strerror})", stacklevel=3)


def read_tests(folder: str | Path) -> list[TestResult]:
    """Every result, the oldest first; a line that cannot be read says nothing."""
    try:
        lines = _results_file(folder).read_bytes().splitlines()
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


def choose_fitted(folder: str | Path, when: WhenTested) -> TestResult | None:
    """The last test of the predictor that deserves a seat: of those that help, or of all, the one most often right."""
    last = {each.judge: each for each in read_tests(folder) if each.judge in FITTED}
    helping = [each for each in last.values() if each.verdict == "helps"]
    found = helping or (list(last.values()) if when == "yes" else [])
    return max(found, key=lambda each: (each.right and each.right.value) or 0.0, default=None)
