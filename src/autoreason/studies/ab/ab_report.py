"""Counts of an A/B test: was the split equal, which text does better, and what of that will last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.knowledge.columns import Columns, MissingColumn
from autoreason.knowledge.standing import find_standings
from autoreason.knowledge.tables import read_table_file
from autoreason.knowledge_records import Record, RecordedOutcome
from autoreason.report.numbers import UNKNOWN, digits_of, p_statement, percent_interval, points
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, Tone, figures, words
from autoreason.stats.results import Estimate
from autoreason.stats.sequential import always_valid_difference, unequal_split
from autoreason.stats.shares import exact_share
from autoreason.studies.ab.ab_plan import AbPlan, Arm
from autoreason.studies.ab.effect import AbEffect

_MISMATCH = 0.001
"""Less likely than this, the split was not what was planned, and no number below can be trusted."""
_TONES: dict[str, Tone] = {"better": "good", "worse": "bad"}


class ArmResult(Struct, frozen=True, kw_only=True):
    """One text and what came of it."""

    code: str
    origin: str
    n: int
    count: int
    rate: Estimate
    difference: Estimate | None
    """From the control; the interval holds however often it is looked at. None for the control."""
    shrunken: float | None
    """The rate that is expected when it is tried again; None where the split was unequal."""


@dataclass(frozen=True, repr=False)
class AbReport(Report):
    """The result of an A/B test so far."""

    heading: ClassVar[str] = "A/B test"
    run: str
    arms: tuple[ArmResult, ...]
    control: str
    mismatch: float
    """How likely an equal split is to come out so unequal."""
    planned: int
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
        better = [arm for arm in self.arms if _verdict(arm) == "better"]
        if better:
            best = max(better, key=lambda arm: arm.shrunken or 0)
            return (
                f"{best.code} ({best.origin}) does better than {self.control}: "
                f"{points(best.difference or best.rate)} points; expect {_expected(best)}"
            )
        if any(_verdict(arm) == "worse" for arm in self.arms):
            return f"none does better than {self.control}, and some do worse"
        missing = max(self.planned - min(arm.n for arm in self.arms), 0)
        more = f"; {missing:,} more in each arm were planned" if missing else ""
        return f"no text is shown to do better than {self.control}{more}"

    def sections(self) -> list[Section]:
        """The table, the split, and how to read both; of an unequal split only how many there were."""
        if self.is_unequal:
            split = ("Split", f"unequal ({p_statement(self.mismatch)})")
            sizes = [(arm.code, f"{arm.n:,}") for arm in self.arms]
            return [
                Section(tables=[Table([*words("code"), *figures("n")], sizes)]),
                Section(sentences=[split]),
            ]
        measured = figures("n", "rate (95 %)", f"points over {self.control}", "expected")
        columns = [*words("code", "from"), *measured, *words("verdict")]
        rows = [
            (
                arm.code,
                arm.origin,
                f"{arm.n:,}",
                percent_interval(arm.rate),
                points(arm.difference) if arm.difference else UNKNOWN,
                _expected(arm),
                _verdict(arm),
            )
            for arm in self.arms
        ]
        sentences = [
            ("Split", f"as equal as chance makes it ({p_statement(self.mismatch)})"),
            ("Intervals", "of differences hold however often you look, for all texts together"),
            (
                "Expected",
                "rates drawn towards their mean by how few they rest on: winners are lucky",
            ),
        ]
        if self.appended:
            again = f"; {self.replaced:,} of an earlier look at this test replaced" * bool(
                self.replaced
            )
            sentences.append(("Records", f"{self.appended:,} appended to the folder{again}"))
        if self.effect:
            sentences.append(("Over runs", self.effect.statement))
        return [Section(tables=[Table(columns, rows, tones=_TONES)]), Section(sentences=sentences)]


def report_of(
    plan: AbPlan, counts: Mapping[str, tuple[int, int]], *, group: str = "", metric: str = "rate"
) -> AbReport:
    """What counts, `(count, n)` by code, show of a plan."""
    codes = {arm.code for arm in plan.arms}
    if wrong := sorted(codes ^ set(counts)):
        one, other = ("plan", "results") if wrong[0] in codes else ("results", "plan")
        raise InvalidInput(
            f"{wrong[0]} is in the {one} and not in the {other}; give every code of the plan once"
        )
    records = [_record(arm, counts[arm.code], group or plan.run, metric) for arm in plan.arms]
    standings = {record.text: standing for record, standing in find_standings(records)}
    alpha = 0.05 / (len(plan.arms) - 1)
    mismatch = unequal_split([n for _, n in counts.values()])
    arms = [_result(arm, plan, counts, alpha, standings[arm.text].shrunken) for arm in plan.arms]
    if mismatch < _MISMATCH:
        arms, records = [replace(arm, difference=None, shrunken=None) for arm in arms], []
    return AbReport(
        run=plan.run,
        arms=tuple(sorted(arms, key=lambda arm: (arm.code != plan.control, arm.code))),
        control=plan.control,
        mismatch=mismatch,
        planned=plan.sample,
        records=tuple(records),
    )


def read_results(path: Path) -> dict[str, tuple[int, int]]:
    """Counts by code from a table with the columns `code`, `n` and `count`."""
    how = "give a table with the columns code, n and count, and every code of the plan once"
    try:
        found = read_table_file(path, Columns(text="code", count="count", n="n"))
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
        raise InvalidInput(
            f"{path} is not filled in, or not as planned: {found.problems[0]}; {how}"
        )
    return counts


def _result(
    arm: Arm, plan: AbPlan, counts: Mapping[str, tuple[int, int]], alpha: float, shrunken: float
) -> ArmResult:
    number, n = counts[arm.code]
    is_control = arm.code == plan.control
    return ArmResult(
        code=arm.code,
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


def _verdict(arm: ArmResult) -> str:
    found = arm.difference
    if found is None or found.low is None or found.high is None:
        return ""
    return "better" if found.low > 0 else "worse" if found.high < 0 else ""


def _expected(arm: ArmResult) -> str:
    if arm.shrunken is None:
        return UNKNOWN
    return f"{arm.shrunken * 100:.{max(digits_of(arm.rate), 1)}f} %"
