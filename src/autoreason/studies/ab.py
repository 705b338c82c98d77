"""Texts of a run tried on real readers: a plan with codes and a sample size, and counts read back."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from math import ceil, fsum
from operator import eq
from pathlib import Path
from random import Random
from typing import ClassVar, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from autoreason.contract import count_words
from autoreason.errors import InvalidInput
from autoreason.fields import plainly
from autoreason.files import write
from autoreason.knowledge.columns import ColumnGuess, Columns, NumberFormat, find_metric, plain_name
from autoreason.knowledge.standing import find_standings
from autoreason.knowledge.tables import is_summary, read_named, read_rows
from autoreason.knowledge_records import Chosen, Record, RecordedOutcome
from autoreason.parsing.documents import same_text
from autoreason.report.charts import ChartRow, interval_chart
from autoreason.report.numbers import (
    UNKNOWN,
    count,
    digits_of,
    listed,
    percent_interval,
    points,
    shorten,
)
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table, figures, to_csv, words
from autoreason.stats import Estimate
from autoreason.stats.power import MAX_SAMPLE, always_valid_difference, sample_size, unequal_split
from autoreason.stats.shares import exact_share
from autoreason.story import Story
from autoreason.studies.rating_packet import draw_codes
from autoreason.wording import KINDS, kind_of

FILE = "ab.json"
RESULTS = "results.csv"
MAX_ARMS = 10
_LIFTS = 1_000
"""Rises that are tried, in steps of one in a hundred, for the smallest that so many readers can show."""
_DRAWN = 5
"""One arm in so many is drawn at random, so that not only winners are ever tried."""


class Arm(Struct, frozen=True, kw_only=True):
    code: str
    text: str
    origin: str
    """Where in the run it comes from, in the letters of the paper; people read `describe_origin`."""
    chosen: Chosen
    """`ab` where the run's panels chose it, `random` where it was drawn."""


@dataclass(frozen=True, repr=False)
class AbPlan(Report):
    """What to send to whom, and when it is enough."""

    heading: ClassVar[str] = "A/B test"
    run: str
    arms: tuple[Arm, ...]
    """In an order that says nothing; the one to compare with is `control`."""
    control: str
    """The code of the first draft; of the delivered text where that is not an arm."""
    base: float
    lift: float
    sample: int
    unchanged: bool = False
    """Whether the run delivered its first draft, so that no arm but the control was ever delivered."""

    @property
    def conclusion(self) -> str:
        return (
            f"send each of {count(len(self.arms), 'text')} to {self.sample:,} readers drawn at random, "
            f"{self.sample * len(self.arms):,} in all; that shows a rise from {self.base * 100:.3g} to "
            f"{self.base * (1 + self.lift) * 100:.3g} % four times out of five"
        )

    def sections(self) -> list[Section]:
        """The texts by code; where they come from is in the plan's file, not here."""
        columns = [*words("code"), *figures("words"), *words("text")]
        begun = zip(self.arms, _begins([arm.text for arm in self.arms]), strict=True)
        rows = [(arm.code, str(count_words(arm.text)), begins) for arm, begins in begun]
        split = "equal and at random, reader by reader; nobody knows which is which"
        drawn = sum(arm.chosen == "random" for arm in self.arms)
        said = f"{count(drawn, 'text')} at random, so that not only winners are ever tried"
        sentences = [("Split", split), *[("Drawn", said)] * bool(drawn)]
        if self.unchanged:
            why = "is what the run delivered; the others here are texts that it did not keep"
            sentences.insert(0, ("First draft", why))
        return [Section(sentences=sentences, tables=[Table(columns, rows)])]

    def write(self, folder: str | Path) -> list[Path]:
        """The plan, one file for each text, and a table to fill in; returns what was written."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / FILE).exists():
            raise InvalidInput(f"{folder} has a plan already; name another folder")
        rows = [(arm.code, None, None) for arm in self.arms]
        files = {
            folder / FILE: msgspec.json.format(msgspec.json.encode(self)).decode(),
            folder / RESULTS: to_csv(("code", "n", "count"), rows),
            **{folder / f"{arm.code}.md": arm.text for arm in self.arms},
        }
        for path, text in files.items():
            write(path, text)
        return list(files)


def plan_of(
    story: Story,
    run: str,
    arms: int | None = None,
    *,
    base: float = 0.2,
    lift: float = 0.1,
    readers: int | None = None,
    seed: int = 0,
) -> AbPlan:
    """A test of the delivered text against the first draft and others of a run that keep its limits."""
    texts, several = _texts(story), len(story.alternatives.texts) if story.alternatives else 0
    arms = arms or (several if several > 1 else 3)
    most = min(len(texts), MAX_ARMS)
    if story.text and not any(same_text(story.text, each) for each in texts.values()):
        raise InvalidInput(f"the text of run {run} breaks a limit of its brief; name another run")
    if not 2 <= arms <= most:
        remedy = f"give 2 to {most} for `texts`" if most > 1 else "name another run"
        kept = " within its limits" if story.task and story.task.rules() else ""
        raise InvalidInput(f"run {run} has {count(len(texts), 'different text')}{kept}; {remedy}")
    rng = Random(seed)
    origins = list(texts)
    drawn = ceil(arms / _DRAWN) if arms > max(2, several) else 0
    picked = origins[: arms - drawn]
    chosen = [*picked, *rng.sample(origins[len(picked) :], drawn)]
    codes = draw_codes(arms, texts.values(), rng)
    found = [
        Arm(code=code, text=texts[at], origin=at, chosen="ab" if at in picked else "random")
        for code, at in zip(codes, chosen, strict=True)
    ]
    delivered = found[0].code
    lift, sample = _find_sample(arms, base, lift, readers)
    control = next((arm.code for arm in found if arm.origin == _DRAFT), delivered)
    same = bool(story.incumbents and same_text(story.incumbents[0].text, story.text or ""))
    arranged = tuple(sorted(found, key=lambda arm: arm.code))
    return AbPlan(run, arranged, control, base, lift, sample, unchanged=same and not several)


def _find_sample(arms: int, base: float, lift: float, readers: int | None) -> tuple[float, int]:
    """The rise that is found and how many readers each text takes: for a rise, or with the readers there are."""
    if 1 <= base <= 100:
        raise InvalidInput(f"`base` is {base:g}; write {base / 100:g} or {base:g}%")
    lifts = [lift] if readers is None else [at / 100 for at in range(1, _LIFTS)]
    most = MAX_SAMPLE if readers is None else readers // arms
    for each in lifts:
        with suppress(ValueError):
            if each > 0 and (least := sample_size(base, each, arms - 1)) <= most:
                return each, least if readers is None else most
    if readers is None:
        raise InvalidInput(
            f"a rate of {base:g} that rises by {lift:g} of itself is 1 or more, or takes more than "
            f"{MAX_SAMPLE:,} readers to find; give `base` and `lift` as shares, such as 0.2 and 0.1"
        )
    few = f"{readers:,} readers of {arms} texts show no rise over {base:g}"
    raise InvalidInput(f"{few}; give more `readers` or fewer `texts`")


def read_plan(folder: Path) -> AbPlan:
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=AbPlan)
    except OSError:
        raise InvalidInput(
            f"there is no {FILE} in {folder.resolve()}; name the plan's folder, "
            "or make one with `autoreason knowledge ab-plan`"
        ) from None
    except msgspec.MsgspecError as error:
        raise InvalidInput(f"{folder / FILE} is damaged: {plainly(error, AbPlan)}") from None


def _texts(story: Story) -> dict[str, str]:
    """Texts of a run that differ and keep its limits: the delivered one, the first draft, then the latest first."""
    found: dict[str, str] = {}

    def add(origin: str, text: str | None) -> None:
        same = text and any(same_text(text, other) for other in found.values())
        if text and not same and not (story.task and story.task.violations(text)):
            found[origin] = text

    for one in story.alternatives.texts if story.alternatives else ():
        add(one.name, one.text)
    add(story.origin or "delivered", story.text)
    add(_DRAFT, story.incumbents[0].text if story.incumbents else None)
    for each in reversed(story.passes):
        for slot, candidate in each.candidates.items():
            name = f"draft {each.number}" if story.is_sampling else f"pass {each.number}, {slot}"
            add(name, candidate.text)
    for draft in story.drafts:
        add(f"draft {draft.number}", draft.text)
    return found


def describe_origin(origin: str) -> str:
    """`the merge of round 12`, `the first draft`, `draft 3`."""
    if not (found := _OF_PASS.fullmatch(origin)):
        return KINDS["draft"].the if origin == _DRAFT else origin
    kind = kind_of(found[2] or "B", first=False)
    return f"{KINDS[kind].the} of round {found[1]}"


def _begins(texts: Sequence[str], length: int = 60) -> list[str]:
    """How texts begin; those that begin alike, from a word before they differ."""
    begins = [shorten(text, length) for text in texts]
    parts = [shorten(text, len(text)).split() for text in texts]
    for at in [at for at, begin in enumerate(begins) if begins.count(begin) > 1]:
        beside = (zip(parts[at], each, strict=False) for each in parts if each is not parts[at])
        same = max(len([*takewhile(lambda two: eq(*two), each)]) for each in beside)
        begins[at] = shorten(" ".join(["…", *parts[at][max(0, same - 1) :]]), length)
    return begins


_MISMATCH = 0.001
"""Less likely than this, the split was not what was planned, and no number below can be trusted."""
_COMPARISONS = 60
"""Of texts in other tests, one fewer than a test has texts; with fewer nobody knows how far texts truly differ."""
_DRAFT = "draft"
_OF_PASS = re.compile(r"pass (\d+)(?:,? (AB|A|B)\b.*)?")
_MAX_WORSE = 2
"""Texts that do worse and are named in one sentence."""
_REACHED = 0.95
"""Of the planned readers; some addresses of any list do not exist."""
_NAMED = 28
_TONES: dict[str, Literal["good", "bad"]] = {"better": "good", "worse": "bad"}


class ArmResult(Struct, frozen=True, kw_only=True):
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
    def points(self) -> str:
        return points(self.difference) if self.difference else UNKNOWN

    @property
    def verdict(self) -> str:
        if (found := self.difference) is None:
            return "control"
        if found.low is None or found.high is None:
            return "undecided"
        return "better" if found.low > 0 else "worse" if found.high < 0 else "undecided"

    @property
    def expected(self) -> str:
        if self.shrunken is None:
            return UNKNOWN
        return f"{self.shrunken * 100:.{max(digits_of(self.rate), 1)}f} %"


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
    replaced: int = 0
    """How many of an earlier report on this test they replace."""
    metric: str = ""
    """That it was taken from the folder, or that most of its outcomes are by another."""
    read_as: str = ""
    """Which columns were counted, where others could be meant, and lines of sums, which were not."""

    @property
    def is_unequal(self) -> bool:
        """Whether readers were not split as planned."""
        return self.mismatch < _MISMATCH

    def _names(self) -> dict[str, str]:
        begun = zip(self.arms, _begins([arm.text for arm in self.arms], _NAMED), strict=True)
        return {arm.code: f"{arm.code} “{begins}”" for arm, begins in begun}

    @property
    def conclusion(self) -> str:
        if self.is_unequal:
            return (
                "the readers were not split equally, so something chose among them and no rate can be "
                "compared: chance splits so unevenly less than once in 1,000 tests; find out what, and begin again"
            )
        names = self._names()
        control = names[self.control]
        better = [arm for arm in self.arms if arm.verdict == "better"]
        worse = [arm for arm in self.arms if arm.verdict == "worse"]
        least, planned = min(arm.n for arm in self.arms), f"{self.planned:,} planned readers"
        early = f"; read early, at {least:,} of {planned} of each text"
        early *= least < _REACHED * self.planned
        if better:
            best = max(better, key=lambda arm: arm.count / arm.n)
            expected = "" if best.shrunken is None else f"; expect {best.expected}"
            by = f"{best.points} points{expected}{early}"
            return f"{names[best.code]} does better than {control}: {by}"
        if worse:
            does = "does" if len(worse) == 1 else "do"
            some = [names[arm.code] for arm in worse]
            those = listed(some) if len(some) <= _MAX_WORSE else f"{len(some)} texts"
            return f"none is shown to do better than {control}; {those} {does} worse{early}"
        return f"no text is shown to do better than {control}{early}"

    def sections(self) -> list[Section]:
        read_as = [("Read as", self.read_as)] * bool(self.read_as)
        if self.is_unequal:
            columns = [*words("code"), *figures("readers")]
            sizes = Table(columns, [(arm.code, f"{arm.n:,}") for arm in self.arms])
            return [Section(sentences=read_as, tables=[sizes])]
        is_expected = any(arm.shrunken is not None for arm in self.arms)
        # On 80 columns what differs, how far and what of it holds is one table.
        keys = {"code": (0, 0), "text": (0, 18), "from": (1, 16)}
        columns = [Column(name, False, *each) for name, each in keys.items()]
        measured = figures("rate (95 %)", f"points over {self.control}")
        columns += [Column("readers", spare=1), *measured, *words("verdict")]
        columns += figures("expected")[:is_expected]
        rows = [
            (
                *(arm.code, begins),
                *(describe_origin(arm.origin).removeprefix("the "), f"{arm.n:,}"),
                *(percent_interval(arm.rate, 1), arm.points),
                *(arm.verdict, *[arm.expected] * is_expected),
            )
            for arm, begins in zip(self.arms, _begins([e.text for e in self.arms]), strict=True)
        ]
        least, most = min(arm.n for arm in self.arms), max(arm.n for arm in self.arms)
        split = f"{least:,} to {most:,} readers of a text, uneven and not alarming"
        expected = (
            "rates drawn towards their mean by how few they rest on, and by how far texts of other tests in the "
            "folder truly differ: winners are lucky"
        )
        if self.comparisons < _COMPARISONS:
            expected = (
                f"unknown: to know how far texts truly differ takes {_COMPARISONS} comparisons in other tests of a "
                f"folder (--knowledge; a test of four texts has three), and there are {self.comparisons:,}"
            )
        sentences = [
            ("Split", split if least < most else f"{most:,} readers of each text"),
            ("Intervals", "of differences hold however often you look, for all texts together"),
            ("Expected", expected),
        ]
        if self.appended:
            again = f"; {self.replaced:,} of an earlier report replaced" if self.replaced else ""
            sentences.append(("Records", f"{self.appended:,} appended to the folder{again}"))
        sentences += [("Metric", self.metric)] * bool(self.metric) + read_as
        return [Section(tables=[Table(columns, rows, tones=_TONES)]), Section(sentences=sentences)]

    def page_sections(self) -> list[Section]:
        if self.is_unequal:
            return self.sections()
        names, rows = self._names(), []
        for arm in self.arms:
            if by := arm.difference:
                said = f"{points(by)} points: {arm.verdict}"
                rows.append(ChartRow(names[arm.code], by, said, _TONES.get(arm.verdict, "")))
        chart = interval_chart(
            f"Points over {names[self.control]}",
            rows,
            sides=(f"{names[self.control]} does better", "the text does better"),
            middle=0.0,
            scale=None,
            show=lambda value: f"{value * 100:+.3g}",
            note="The lines hold however often you look, for all texts together (95 %).",
        )
        return [Section("What the test shows", charts=[chart]), *self.sections()]


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
        remedy = "give every code of the plan once"
        raise InvalidInput(f"{wrong[0]} is not in both plan and results; {remedy}")
    group = group or plan.run
    records = []
    for arm in plan.arms:
        number, n = counts[arm.code]
        rate = RecordedOutcome(metric=metric, value=number / n if n else 0.0, n=n)
        record = Record(text=arm.text, kind="outcome", result=rate, group=group)
        note = f"text {arm.code}, {describe_origin(arm.origin)}"
        records.append(replace(record, chosen=arm.chosen, note=note))
    tests = [
        replace(each, result=replace(each.result, metric=metric), verdict=None, score=None)
        for each in known
        if each.group not in ("", group) and each.chosen != "picked"
        if each.result and each.result.metric.casefold() == metric.casefold()
    ]
    standings = find_standings([*records, *tests])
    others = (each for record, each in standings if record.group != group and each.n)
    comparisons = round(fsum(1 - 1 / each.size for each in others))
    own = {record.text: each.shrunken for record, each in standings if record.group == group}
    alpha, sizes = 0.05 / (len(plan.arms) - 1), [n for _, n in counts.values()]
    mismatch = unequal_split(sizes, plan.sample * len(plan.arms), _MISMATCH)
    equal, control = mismatch >= _MISMATCH, counts[plan.control]
    arms = []
    for arm in plan.arms:
        number, n = counts[arm.code]
        apart = always_valid_difference((number, n), control, 2 * plan.sample, alpha)
        arms.append(
            ArmResult(
                code=arm.code,
                text=arm.text,
                origin=arm.origin,
                n=n,
                count=number,
                rate=exact_share(number, n),
                difference=apart if equal and arm.code != plan.control else None,
                shrunken=own[arm.text] if equal and comparisons >= _COMPARISONS else None,
            )
        )
    return AbReport(
        run=plan.run,
        arms=tuple(sorted(arms, key=lambda arm: (arm.code != plan.control, arm.code))),
        control=plan.control,
        mismatch=mismatch,
        planned=plan.sample,
        comparisons=comparisons,
        records=tuple(records) if equal else (),
    )


def read_results(path: Path, codes: Collection[str]) -> tuple[dict[str, tuple[int, int]], str, str]:
    """Counts by code, from the plan's table or an export with codes, their metric, and what they were read as."""
    rows = read_named(path, read_rows)
    names = {plain_name(name): name for row in rows for name in row.cells}
    coded = (each for row in rows for each in row.cells if row.cells[each].strip().upper() in codes)
    code = names.get("code") or next(coded, "")
    given = Columns(text=code, count=names.get("count", ""), n=names.get("n", ""))
    found = ColumnGuess([row.cells for row in rows], given).columns()
    if rows and not (code and found.n and found.count):
        raise InvalidInput(f"{path}: give a table with the columns code, n and count")
    counts: dict[str, tuple[int, int]] = {}
    sums = []
    for line, cells in rows:
        name = cells.get(code, "").strip().upper()
        if name not in codes and any(is_summary(each, cells.values()) for each in cells.values()):
            sums.append(f"line {line}, a summary row")
            continue
        try:
            if not name or name in counts:
                raise ValueError(f"{name} is there twice" if name else "there is no code")
            n, hits = (_read_count(cells, column, name) for column in (found.n, found.count))
            if hits > n:
                raise ValueError(f"{name} has more {found.count} ({hits:,}) than {found.n} ({n:,})")
        except ValueError as error:
            raise InvalidInput(f"{path}, line {line}: {error}; correct it") from None
        counts[name] = hits, n
    read_as = [f"n {found.n}, count {found.count}"] * ({*names} != {plain_name(code), "n", "count"})
    left_out = [f"left out: {', '.join(sums)}"] * bool(sums)
    return counts, find_metric(found.count), "; ".join(read_as + left_out)


def _read_count(cells: Mapping[str, str], column: str, code: str) -> int:
    try:
        found = NumberFormat().read_count(cells.get(column))
    except ValueError as error:
        raise ValueError(f"{column} of {code}: {error}") from None
    if found is None:
        raise ValueError(f"{column} of {code} is empty")
    return found
