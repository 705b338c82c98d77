"""How a text did relative to its group; pairs that differ beyond their error; groups that can be tested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import ceil, fsum, log2, sqrt
from statistics import fmean, median
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from autoreason.knowledge.columns import is_earlier, read_period
from autoreason.knowledge_records import Record
from autoreason.stats import BEYOND_CHANCE

MIN_Z = 2.576
"""A difference of so many standard errors counts as one: chance alone gives it once in a hundred."""
_VERDICT = "verdict"
_DECIDED = ("score", _VERDICT)
"""What people say rather than the world."""
_NOTHING = 1e-9
_OTHERS = 16
"""Texts of other groups count as so many of a text's own in how far texts of its group truly differ."""
_TYPICAL = 0.5
"""The reliability of a result where no record of the folder says what it rests on."""


class Standing(Struct, frozen=True, kw_only=True):
    """How one text did in its group."""

    value: float
    mean: float
    size: int
    n: int | None
    values: tuple[float, ...] = ()
    """What several records of it in its group say, of which the value is the mean; empty where there is one."""
    deviation: float
    """From the mean: as a share of it where that makes sense. More is better, whatever the metric."""
    reliability: float
    """The share of the deviation that is expected to be true."""
    spread: float
    """How far texts of one group truly differ by this metric, as a standard deviation."""

    @property
    def score(self) -> float:
        """The deviation shrunken, in spreads: comparable between groups and metrics."""
        return self.deviation * self.reliability / self.spread if self.spread else 0.0

    @property
    def shrunken(self) -> float:
        return self.mean + (self.value - self.mean) * self.reliability


class Pair(NamedTuple):
    """Two texts of one group, of which one did better beyond the error of the difference."""

    group: str
    when: str
    """The group's first day; empty where no record of it has a date."""
    better: Record
    worse: Record


class FoundPairs(NamedTuple):
    pairs: list[Pair]
    picked: int
    """Records left out because a person or a panel picked their texts."""
    no_error: int
    """Results left out because it is unknown what they rest on."""
    untested: int = 0
    """Pairs left out because too little is known before them, or a copy of one of their texts is."""


class _Measure(NamedTuple):
    """What is known of one text by one metric in one group; of several records, their mean."""

    record: Record
    value: float
    n: int | None
    se: float | None
    sign: int
    """-1 where less is better."""
    values: tuple[float, ...] = ()
    """What the records say, where they are several."""

    @property
    def is_share(self) -> bool:
        """Whether its error follows from how many it rests on."""
        return self.n is not None and 0 <= self.value <= 1


_Groups = dict[tuple[str, str], dict[str, list[_Measure]]]
"""Measures by group and metric, and there by text."""


def find_standings(records: Iterable[Record]) -> list[tuple[Record, Standing]]:
    """The standing of every text that has a result, a verdict or a score, by metric.

    Records of one text in one group are one; the first of them stands for all.
    """
    by_metric: dict[str, list[list[_Measure]]] = {}
    # Results first: they say more than verdicts.
    groups = sorted(_by_group(records).items(), key=lambda each: each[0][1] in _DECIDED)
    for (_, metric), texts in groups:
        by_metric.setdefault(metric, []).append(list(map(_pool, texts.values())))
    spreads = [_Spread.of(metric, groups) for metric, groups in by_metric.items()]
    known = [each.reliability for each in spreads if each.reliability is not None]
    usual = median(known) if known else _TYPICAL
    pairs = zip(by_metric.values(), spreads, strict=True)
    all_groups = ((group, spread) for groups, spread in pairs for group in groups)
    return [each for group, spread in all_groups for each in _stand(group, spread, usual)]


def find_pairs(records: Sequence[Record]) -> FoundPairs:
    """Pairs within groups that differ beyond their error: each two texts once, contradictions not at all."""
    fair = [record for record in records if record.chosen != "picked"]
    found: dict[tuple[str, frozenset[str]], tuple[Record, Record] | None] = {}
    no_error = 0
    for (group, metric), texts in _by_group(fair).items():
        if not group:
            continue
        pooled = list(map(_pool, texts.values()))
        if metric != _VERDICT:
            no_error += sum(each.se is None and not each.is_share for each in pooled)
        linked = [each.record for some in texts.values() for each in some if each.record.pair]
        if metric == _VERDICT and linked:
            wins: Iterable[tuple[Record, Record]] = _linked(linked)
        else:
            wins = _differing(metric, pooled)
        for better, worse in wins:
            texts_of_two = frozenset((one_line(better.text), one_line(worse.text)))
            before = found.setdefault((group, texts_of_two), (better, worse))
            if before and one_line(before[0].text) != one_line(better.text):
                found[group, texts_of_two] = None
    starts = find_first_days(records)
    two_texts = ((group, two) for (group, texts), two in found.items() if two and len(texts) == 2)
    pairs = [Pair(group, starts.get(group, ""), *two) for group, two in two_texts]
    return FoundPairs(pairs, len(records) - len(fair), no_error)


def one_line(text: str) -> str:
    """A text whatever its white space; a comma can be what a test is about."""
    return " ".join(text.split())


def find_first_days(records: Iterable[Record]) -> dict[str, str]:
    first: dict[str, str] = {}
    for record in records:
        if record.when:
            first[record.group] = min(record.when, first.get(record.group, record.when))
    return first


def _by_group(records: Iterable[Record]) -> _Groups:
    groups: _Groups = {}
    for record in records:
        for metric, measure in _measures(record):
            texts = groups.setdefault((record.group, metric), {})
            texts.setdefault(one_line(record.text), []).append(measure)
    return groups


def _measures(record: Record) -> Iterator[tuple[str, _Measure]]:
    if record.result:
        result = record.result
        sign = -1 if result.better == "lower" else 1
        yield result.metric, _Measure(record, result.value, result.n, result.se, sign)
    if record.score is not None:
        yield _DECIDED[0], _Measure(record, record.score, None, None, 1)
    if record.verdict:
        value = float(record.verdict == "approved")
        # One decision says nothing of its own error; several about pairs do.
        yield _VERDICT, _Measure(record, value, 1 if record.pair else None, None, 1)


def _pool(measures: Sequence[_Measure]) -> _Measure:
    first = measures[0]
    if len(measures) == 1:
        return first
    first = first._replace(values=tuple(each.value for each in measures))
    sizes = [each.n for each in measures if each.n]
    if len(sizes) < len(measures):
        return first._replace(value=fmean(each.value for each in measures), n=None, se=None)
    total = sum(sizes)
    value = fsum(each.value * n for each, n in zip(measures, sizes, strict=True)) / total
    return first._replace(value=value, n=total, se=None)


def _linked(records: Iterable[Record]) -> list[tuple[Record, Record]]:
    """The two of every named pair, the better one first."""
    by_name: dict[str, dict[str, Record]] = {}
    for record in records:
        if record.verdict:
            by_name.setdefault(record.pair, {})[record.verdict] = record
    return [(two["approved"], two["rejected"]) for two in by_name.values() if len(two) == 2]


def _differing(metric: str, measures: Sequence[_Measure]) -> Iterator[tuple[Record, Record]]:
    for one, other in combinations(measures, 2):
        difference = (one.value - other.value) * one.sign
        if metric == _VERDICT:
            differ = abs(difference) == 1
        else:
            error = _error_of_difference(one, other)
            differ = bool(error) and abs(difference) > MIN_Z * (error or 0)
        if differ:
            yield (one.record, other.record) if difference > 0 else (other.record, one.record)


def _error_of_difference(one: _Measure, other: _Measure) -> float | None:
    if one.n and other.n and one.is_share and other.is_share:
        share = (one.value * one.n + other.value * other.n) / (one.n + other.n)
        return sqrt(share * (1 - share) * (1 / one.n + 1 / other.n))
    if one.se is None or other.se is None:
        return None
    return sqrt(one.se**2 + other.se**2)


class _Spread(NamedTuple):
    """How far texts of one group differ by one metric, truly and by chance, estimated over all groups."""

    relative: bool
    """Differences count as shares of the group's mean."""
    total: float
    """Variance within groups."""
    true: float | None
    """What of it is not chance; None where no group says what its results rest on."""
    reliability: float | None
    """Of the typical result."""
    excess: float = 0.0
    """The squares within groups that say what they rest on, less those that chance gives."""
    freedom: int = 0
    """Of these."""

    @classmethod
    def of(cls, metric: str, groups: Sequence[Sequence[_Measure]]) -> _Spread:
        """From all groups of two texts or more."""
        several = [(group, _mean(group)) for group in groups if len(group) > 1]
        positive = all(each.value >= 0 for group, _ in several for each in group)
        self = cls(metric != _VERDICT and positive, 0.0, None, None)
        total = fsum(self._squares(*each) for each in several)
        self = self._replace(total=total / max(1, sum(len(group) - 1 for group, _ in several)))
        known = [(*each, own) for each in several if (own := self._excess(*each)) is not None]
        if not known:
            return self
        excess = fsum(own for *_, own in known)
        freedom = sum(len(group) - 1 for group, *_ in known)
        true = max(0.0, excess / freedom)
        variances = (self.variance(each, mean) or 0.0 for group, mean, _ in known for each in group)
        typical = median(_share(true, each) for each in variances)
        return self._replace(true=true, reliability=typical, excess=excess, freedom=freedom)

    def true_within(self, group: Sequence[_Measure], mean: float) -> float | None:
        """What of the variance of one group is not chance, by its own texts and by those of others.

        Its own are too few, and groups differ.
        """
        own = self._excess(group, mean)
        if own is None or self.true is None:
            return self.true
        freedom = len(group) - 1
        rest = self.freedom - freedom
        others = min(rest, _OTHERS)
        beyond = own + (self.excess - own) / rest * others if others else own
        return max(0.0, beyond / (freedom + others)) if freedom + others else 0.0

    def _squares(self, group: Sequence[_Measure], mean: float) -> float:
        return fsum(self.deviation(each, mean) ** 2 for each in group)

    def _excess(self, group: Sequence[_Measure], mean: float) -> float | None:
        """Squares beyond those that chance gives; None where a text does not say what it rests on."""
        variances = [self.variance(each, mean) for each in group]
        known = [each for each in variances if each is not None]
        if len(known) < len(group):
            return None
        return self._squares(group, mean) - fsum(known) * (len(group) - 1) / len(group)

    def deviation(self, measure: _Measure, mean: float) -> float:
        """How much better than its group a text did."""
        return measure.sign * (measure.value - mean) / self._unit(mean)

    def variance(self, measure: _Measure, mean: float) -> float | None:
        """The variance that chance gives such a result."""
        scale = self._unit(mean) ** 2
        if measure.n and measure.is_share and 0 <= mean <= 1:
            # By the group's mean: a text without a single click has an error, too.
            return mean * (1 - mean) / measure.n / scale
        return None if measure.se is None else measure.se**2 / scale

    def _unit(self, mean: float) -> float:
        # Where no text of a group has a single click, none differs from another.
        return mean if self.relative and mean > _NOTHING else 1.0


def _stand(
    group: Sequence[_Measure], spread: _Spread, usual: float
) -> Iterator[tuple[Record, Standing]]:
    mean = _mean(group)
    typical = usual if spread.reliability is None else spread.reliability
    true = spread.true_within(group, mean)
    if true is None:
        true = spread.total * typical
    for each in group:
        variance = spread.variance(each, mean)
        own = Standing(
            value=each.value,
            mean=mean,
            size=len(group),
            n=each.n,
            values=each.values,
            deviation=0.0 if len(group) < 2 else spread.deviation(each, mean),
            reliability=typical if variance is None else _share(true, variance),
            spread=sqrt(spread.total * typical if spread.true is None else spread.true),
        )
        yield each.record, own


def _share(true: float, chance: float) -> float:
    return true / (true + chance) if true else 0.0


def _mean(group: Sequence[_Measure]) -> float:
    """By how many each rests on, without those that do not say, unless none does."""
    known = [(each.value, each.n) for each in group if each.n]
    if not known:
        return fmean(each.value for each in group)
    return fsum(value * n for value, n in known) / sum(n for _, n in known)


MIN_KNOWN = 20
"""Records of other groups of which more must be known before a pair to test anything on it."""
MIN_GROUPS = ceil(log2(2 / BEYOND_CHANCE))
"""Groups below which even all of them agreeing could be chance."""
_MIN_TEXTS = 5
"""Texts of a list in a week with which weeks are groups, and not months."""


class KnownBefore:
    def __init__(self, records: Sequence[Record]) -> None:
        self._sizes = Counter(record.group for record in records)
        # Of one day, what has a time comes first: it may be surely earlier than something.
        dates = sorted((each.when for each in records if each.when), key=lambda day: f"{day:~<16}")
        self._since = "".join(dates[MIN_KNOWN : MIN_KNOWN + 1])

    def is_enough(self, group: str, when: str) -> bool:
        """Of a group with a date what is surely earlier counts, without one all other groups do."""
        if when:
            return is_earlier(self._since, when)
        return self._sizes.total() - self._sizes[group] > MIN_KNOWN


def divide(records: Sequence[Record], period: str) -> list[Record]:
    """The records grouped by the time as well, unless that leaves most of a group alone."""
    sizes = Counter(each.group for each in records)
    times = {(each.group, read_period(each.when, period)) for each in records}
    parts = Counter(group for group, _ in times)
    several = {group for group in sizes if sizes[group] >= 2 * parts[group]}
    return [add_period(each, period) if each.group in several else each for each in records]


def add_period(record: Record, period: str) -> Record:
    """The record grouped by the time as well, once; what was its group is its audience then."""
    time = read_period(record.when, period)
    if time and record.group.endswith(time):
        return record
    group = ", ".join(filter(None, (record.group, time)))
    return replace(record, group=group, audience=record.audience or record.group)


def choose_period(records: Sequence[Record], others: Sequence[Record]) -> str:
    """What groups that run side by side are divided by, so that more can be tested; empty where nothing helps."""
    before = _count_testable(records, others)
    days, weeks = (
        {(each.group, read_period(each.when, period)) for each in records}
        for period in ("day", "week")
    )
    period = "week" if len(records) >= _MIN_TEXTS * len(weeks) else "month"
    # What was sent on one day was sent together, most likely to try one against the other.
    period = "day" if len(records) >= 2 * len(days) else period
    more = before < MIN_GROUPS and _count_testable(divide(records, period), others) > before
    return period if more else ""


def _count_testable(records: Sequence[Record], others: Sequence[Record]) -> int:
    """Groups of two texts or more before which enough is known."""
    texts = Counter(group for group, _ in {(each.group, each.text) for each in records})
    texts[""] = 0
    known = KnownBefore([*(each for each in records if texts[each.group] > 1), *others])
    starts = find_first_days(records)
    several = [group for group in texts if texts[group] > 1]
    return sum(known.is_enough(group, starts.get(group, "")) for group in several)
