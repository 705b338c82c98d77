"""Counts of an A/B test: was the split equal, which text does better, and what of that will last."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import fsum, sqrt
from pathlib import Path
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.files import open_input
from autoreason.knowledge.columns import Columns, MissingColumn
from autoreason.knowledge.standing import find_standings
from autoreason.knowledge.tables import read_table
from autoreason.knowledge_records import Record, RecordedOutcome
from autoreason.report.numbers import (
    UNKNOWN,
    digits_of,
    listed,
    p_statement,
    percent_interval,
    points,
    shorten,
)
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table, Tone, figures, words
from autoreason.stats.power import always_valid_difference, unequal_split
from autoreason.stats.results import Estimate
from autoreason.stats.shares import exact_share
from autoreason.studies.ab.ab_plan import AbPlan, Arm
from autoreason.studies.ab.effect import AbEffect

_MISMATCH = 0.001
"""Less likely than this, the split was not what was planned, and no number below can be trusted."""
_COMPARISONS = 60
"""Of texts in other tests, one fewer than a test has texts; with fewer nobody knows how far texts truly differ."""
_SHOWN = 60
"""Characters of a text."""
_AS_PLANNED = re.compile(rb"^\W*code,n,count\s*$", re.MULTILINE | re.IGNORECASE)
_COMMA = re.compile(rb"^([^,\n]*,[^,\n]*,[ \t]*\d+),(\d+(?:[ \t]*%)?[ \t\r]*)$", re.MULTILINE)
"""A comma within a number, in a table that commas divide."""
_TONES: dict[str, Tone] = {"better": "good", "worse": "bad"}


class ArmResult(Struct, frozen=True, kw_only=True):
    """One text and what came of it."""

    code: str
    text: str
    origin: str
    n: int
    count: int
    rate: Estimate
    difference: Estimate | None
    """From the control; the interval holds however often it is looked at. None for the control."""
    shrunken: float | None
    """The rate that is expected when it is tried again; None where other tests are too few or the split unequal."""

    @property
    def name(self) -> str:
        """Its code and how it begins."""
        return f"{self.code} “{shorten(self.text, _SHOWN)}”"


@dataclass(frozen=True, repr=False)
class AbReport(Report):
    """The result of an A/B test so far."""

    heading: ClassVar[str] = "A/B test"
    run: str
    arms: tuple[ArmResult, ...]
    control: str
    mismatch: float
    """How likely an equal split is ever to be so unequal, however often it is looked at."""
    planned: int
    comparisons: int
    """Of texts in other tests of the folder: what the expected rates rest on."""
    records: tuple[Record, ...]
    """For a folder of records; none where the split was unequal."""
    appended: int = 0
    """How many records were written to the folder that was named."""
    replaced: int = 0
    """How many of an earlier look at this test they replace."""
    effect: AbEffect | None = None
    """Over runs, where judged ones were named."""

    @property
    def is_unequal(self) -> bool:
        """Whether readers were not split as planned."""
        return self.mismatch < _MISMATCH

    @property
    def conclusion(self) -> str:
        """Which text does better, or why nothing can be said."""
        if self.is_unequal:
            return (
                "the readers were not split equally, so something chose among them and no rate can be "
                f"compared ({p_statement(self.mismatch)}); find out what, and begin again"
            )
        control = next(arm.name for arm in self.arms if arm.code == self.control)
        better, worse = (
            [arm for arm in self.arms if _verdict(arm) == verdict]
            for verdict in ("better", "worse")
        )
        if better:
            best = max(better, key=lambda arm: arm.count / arm.n)
            expected = "" if best.shrunken is None else f"; expect {_expected(best)}"
            return (
                f"{best.name} ({best.origin}) does better than {control}: "
                f"{points(best.difference or best.rate)} points{expected}"
            )
        if worse:
            does = "does" if len(worse) == 1 else "do"
            names = listed([arm.name for arm in worse])
            return f"none is shown to do better than {control}; {names} {does} worse"
        missing = max(self.planned - min(arm.n for arm in self.arms), 0)
        more = f"; {missing:,} more in each arm were planned" if missing else ""
        return f"no text is shown to do better than {control}{more}"

    def sections(self) -> list[Section]:
        """The table, the split, and how to read both; of an unequal split only how many there were."""
        if self.is_unequal:
            split = ("Split", f"unequal ({p_statement(self.mismatch)})")
            sizes = [(arm.code, f"{arm.n:,}") for arm in self.arms]
            return [
                Section(tables=[Table([*words("code"), *figures("n")], sizes)]),
                Section(sentences=[split]),
            ]
        is_expected = any(arm.shrunken is not None for arm in self.arms)
        measured = ["n", "rate (95 %)", f"points over {self.control}", *["expected"] * is_expected]
        columns = [*words("code"), Column("text", figures=False, least=24), *words("from")]
        columns += [*figures(*measured), *words("verdict")]
        rows = [
            (
                arm.code,
                shorten(arm.text, _SHOWN),
                arm.origin,
                f"{arm.n:,}",
                percent_interval(arm.rate),
                points(arm.difference) if arm.difference else UNKNOWN,
                *[_expected(arm)] * is_expected,
                _verdict(arm),
            )
            for arm in self.arms
        ]
        sentences = [
            ("Split", self._split),
            ("Intervals", "of differences hold however often you look, for all texts together"),
            ("Expected", self._expected_how),
        ]
        if self.appended:
            again = f"; {self.replaced:,} of an earlier look at this test replaced" * bool(
                self.replaced
            )
            sentences.append(("Records", f"{self.appended:,} appended to the folder{again}"))
        if self.effect:
            sentences.append(("Over runs", self.effect.statement))
        return [Section(tables=[Table(columns, rows, tones=_TONES)]), Section(sentences=sentences)]

    @property
    def _split(self) -> str:
        least, most = min(arm.n for arm in self.arms), max(arm.n for arm in self.arms)
        if least == most:
            return f"{most:,} readers of each text"
        return (
            f"{least:,} to {most:,} readers of a text, uneven and not alarming "
            f"({p_statement(self.mismatch)} however often you look; the limit is {_MISMATCH})"
        )

    @property
    def _expected_how(self) -> str:
        if self.comparisons >= _COMPARISONS:
            return (
                "rates drawn towards their mean by how few they rest on, and by how far texts of other tests in the "
                "folder truly differ: winners are lucky"
            )
        return (
            f"unknown: to know how far texts truly differ takes {_COMPARISONS} comparisons in other tests of a folder "
            f"(`--knowledge`; a test of four texts has three), and there are {self.comparisons:,}"
        )


def report_of(
    plan: AbPlan,
    counts: Mapping[str, tuple[int, int]],
    *,
    group: str = "",
    metric: str = "rate",
    known: Iterable[Record] = (),
) -> AbReport:
    """What counts, `(count, n)` by code, show of a plan; rates are expected as far as `known` records of others say."""
    codes = {arm.code for arm in plan.arms}
    if wrong := sorted(codes ^ set(counts)):
        one, other = ("plan", "results") if wrong[0] in codes else ("results", "plan")
        raise InvalidInput(
            f"{wrong[0]} is in the {one} and not in the {other}; give every code of the plan once"
        )
    group = group or plan.run
    records = [_record(arm, counts[arm.code], group, metric) for arm in plan.arms]
    standings = find_standings([*records, *_other_tests(known, group, metric)])
    others = (each for record, each in standings if record.group != group and each.n)
    comparisons = round(fsum(1 - 1 / each.size for each in others))
    shrunken = {
        record.text: each.shrunken if comparisons >= _COMPARISONS else None
        for record, each in standings
        if record.group == group
    }
    alpha = 0.05 / (len(plan.arms) - 1)
    mismatch = unequal_split(
        [n for _, n in counts.values()], plan.sample * len(plan.arms), _MISMATCH
    )
    arms = [_result(arm, plan, counts, alpha, shrunken[arm.text]) for arm in plan.arms]
    if mismatch < _MISMATCH:
        arms, records = [replace(arm, difference=None, shrunken=None) for arm in arms], []
    return AbReport(
        run=plan.run,
        arms=tuple(sorted(arms, key=lambda arm: (arm.code != plan.control, arm.code))),
        control=plan.control,
        mismatch=mismatch,
        planned=plan.sample,
        comparisons=comparisons,
        records=tuple(records),
    )


def read_results(path: Path) -> dict[str, tuple[int, int]]:
    """Counts by code from a table with the columns `code`, `n` and `count`; all may be given in per cent of n."""
    how = "give a table with the columns code, n and count, and every code of the plan once"
    try:
        with open_input(path) as file:
            data = file.read()
        if _AS_PLANNED.search(data):
            data = _COMMA.sub(rb"\1.\2", data)
        found = read_table(path.name, data, Columns(text="code", count="count", n="n"))
        if found.problems and all("%" in each for each in found.problems) and not found.records:
            found = read_table(path.name, data, Columns(text="code", value="count", n="n"))
            _check_rounding(path, found.records)
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}") from None
    except MissingColumn:
        raise InvalidInput(f"{path}: a column is missing; {how}") from None
    counts: dict[str, tuple[int, int]] = {}
    for record in found.records:
        result, code = record.result, record.text.upper()
        if result is None or result.n is None or code in counts:
            raise InvalidInput(f"{path}: {code} has no n and count, or stands twice; {how}")
        counts[code] = (round(result.value * result.n), result.n)
        if result.value > 1:
            raise InvalidInput(
                f"{path}: {code} has a count of {counts[code][0]:,}, more than its n of {result.n:,}; correct one"
            )
    if found.problems:
        if "is no count" in found.problems[0] and "%" not in found.problems[0]:
            how = "give the count, or per cent with the sign, such as 24.1 %"
        raise InvalidInput(
            f"{path} is not filled in, or not as planned: {found.problems[0]}; {how}"
        )
    return counts


def _check_rounding(path: Path, records: Iterable[Record]) -> None:
    """Refuse rates that may be off by more than half of what chance moves them."""
    results = [each.result for each in records if each.result]
    digits = max((len(f"{each.value * 100:.9g}".partition(".")[2]) for each in results), default=0)
    for each in results:
        n = each.n or 1
        share = (each.value * n + 1) / (n + 2)
        if share < 1 and 10 ** -(digits + 2) > sqrt(share * (1 - share) / n):
            raise InvalidInput(
                f"{path}: {each.value * 100:.{digits}f} % of {each.n or 0:,} is rounded too much; "
                "give the count, or more decimals"
            )


def _result(
    arm: Arm,
    plan: AbPlan,
    counts: Mapping[str, tuple[int, int]],
    alpha: float,
    shrunken: float | None,
) -> ArmResult:
    number, n = counts[arm.code]
    is_control = arm.code == plan.control
    return ArmResult(
        code=arm.code,
        text=arm.text,
        origin=arm.origin,
        n=n,
        count=number,
        rate=exact_share(number, n),
        difference=None
        if is_control
        else always_valid_difference(
            counts[arm.code], counts[plan.control], 2 * plan.sample, alpha
        ),
        shrunken=shrunken,
    )


def _record(arm: Arm, counted: tuple[int, int], group: str, metric: str) -> Record:
    number, n = counted
    return Record(
        text=arm.text,
        kind="outcome",
        result=RecordedOutcome(metric=metric, value=number / n if n else 0.0, n=n),
        group=group,
        chosen=arm.chosen,
        note=f"arm {arm.code}, {arm.origin}",
    )


def _other_tests(known: Iterable[Record], group: str, metric: str) -> Iterator[Record]:
    """What other tests say of this metric, and nothing else."""
    for each in known:
        result = each.result
        is_other = each.group not in ("", group) and each.chosen != "picked"
        if is_other and result and result.metric.casefold() == metric.casefold():
            yield replace(each, result=replace(result, metric=metric), verdict=None, score=None)


def _verdict(arm: ArmResult) -> str:
    found = arm.difference
    if found is None:
        return "control"
    if found.low is None or found.high is None:
        return "undecided"
    return "better" if found.low > 0 else "worse" if found.high < 0 else "undecided"


def _expected(arm: ArmResult) -> str:
    if arm.shrunken is None:
        return UNKNOWN
    return f"{arm.shrunken * 100:.{max(digits_of(arm.rate), 1)}f} %"
