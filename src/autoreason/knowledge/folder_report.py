"""What is in a folder of records, and what is found in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import sqrt
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.fields import check_call
from autoreason.knowledge.folder import FileReading, read_folder
from autoreason.knowledge.holdout import MIN_PAIRS, SHOWN, UNTESTED, few_groups
from autoreason.knowledge.index import Index, IndexedRecord, describe_figure, is_share_of
from autoreason.knowledge.predictor import find_testable
from autoreason.knowledge.standing import MIN_GROUPS, Standing, find_standings
from autoreason.knowledge.words import lines_to_models
from autoreason.knowledge_records import Record, RecordedOutcome, RecordKind
from autoreason.report.charts import Chart, ChartRow, interval_chart
from autoreason.report.numbers import count, listed, shorten, signed
from autoreason.report.report import Report, Section, report_page
from autoreason.report.table import Column, Table, figures, words
from autoreason.stats import BEYOND_CHANCE, Estimate
from autoreason.stats.shares import exact_share

_MAX_NAMED = 5
"""Lists, texts at either end of one, and what to put right on a page."""
_MAX_SHOWN = 120
_MAX_LINES = 3
"""Groups that a summary names."""
_MAX_GROUPS, _MAX_TABLED = 20, 200
"""Of which a terminal and a page show the ends."""
_TO_MODELS = "Lines that address a model, shown to models only if kb.toml says `allow`"
_NO_READERS = "without a number of readers: not ranked"
_DIFFER = 0.3
"""The share of pairs on which judges with and without knowledge usually differ."""
_MOST = 50
"""Points that can be gained over a coin."""
_RANKING = [*words("group", "", "text"), *figures("result", "adjusted", "over it"), *words("when")]
_KINDS: dict[RecordKind, tuple[str, str]] = {
    "outcome": ("result", ""),
    "verdict": ("verdict", ""),
    "fact": ("fact", ""),
    "style": ("page of style", "pages of style"),
    "feedback": ("page of feedback", "pages of feedback"),
}


class RankedText(msgspec.Struct, frozen=True):
    """One of the best or the worst texts of a group."""

    end: str
    """`best` or `worst`."""
    text: str
    when: str
    n: int | None
    seen: Estimate
    """Its result; the intervals hold for all texts of the group, so for those picked from them."""
    adjusted: float
    """Drawn towards the group's mean."""
    lift: float
    """What that is above the mean."""


class RankedGroup(msgspec.Struct, frozen=True):
    """What did best and worst among texts that can be compared."""

    group: str
    metric: str
    texts: int
    readers: int
    """Of all its texts, as far as they are known."""
    mean: float
    is_share: bool
    ends: tuple[RankedText, ...]
    """From the best to the worst."""

    @property
    def title(self) -> str:
        readers = f", {self.readers:,} readers" if self.readers else ""
        return f"{self.group}: {self.metric} of {count(self.texts, 'text')}{readers}"

    def show(self, value: float) -> str:
        return f"{value * 100:.{1 + (value < 0.01)}f} %" if self.is_share else f"{value:.4g}"

    def show_lift(self, lift: float) -> str:
        """In points of a hundred where it is one of shares; never a false 0."""
        return f"{signed(lift * 100)} points" if self.is_share else f"{lift:+.3g}"

    def rows(self) -> list[tuple[str, ...]]:
        return [
            (
                *(self.group, each.end, shorten(each.text, _MAX_SHOWN)),
                self.show(each.seen.value or 0.0) + (f" of {each.n:,}" if each.n else ""),
                *(self.show(each.adjusted), self.show_lift(each.lift), each.when),
            )
            for each in self.ends
        ]


@dataclass(frozen=True, repr=False)
class FolderReport(Report):
    """What was understood of a folder, and what could be shown with it."""

    heading: ClassVar[str] = "A folder of records"
    is_summarized: ClassVar[bool] = True
    folder: str
    digest: str
    kinds: dict[str, int]
    ranked: tuple[RankedGroup, ...]
    """Which texts did best and worst, each within its own group; what differs most first."""
    unranked: int
    """Results without a number of readers, which luck alone may have made."""
    grouped_by: str
    """What groups are called in the tables; empty where they say nothing of it, or several things."""
    files: tuple[FileReading, ...]
    problems: tuple[str, ...]
    groups: int
    ungrouped: int
    """Outcomes and verdicts without a group."""
    private: int
    picked: int
    no_error: int
    """Results whose error is unknown: shares without n, other numbers without se."""
    to_models: tuple[str, ...]
    pairs: int
    paired_groups: int
    independent_pairs: float
    """What the pairs are worth if all of one group agree."""
    untested: int
    """Pairs on which nothing can be tested: too little is known before them, or a copy of a text is."""
    metrics: tuple[str, ...]
    """What files measure that is not compared with what most records measure."""

    @property
    def conclusion(self) -> str:
        found = [count(self.kinds[kind], *_KINDS[kind]) for kind in _KINDS if self.kinds.get(kind)]
        what = f"{listed(found) if found else 'no record'} in {self.folder}"
        if not self.groups:
            return what
        apart, differ = self.pairs + self.untested, "no two texts of one group differ"
        if apart:
            differ = f"{count(apart, 'pair')} of texts {'differs' if apart == 1 else 'differ'}"
        return f"{what} ({count(self.groups, 'group')}): {differ} clearly"

    def page_sections(self) -> list[Section]:
        """Which texts did best and worst, what can be tested, what to check; how it was read is folded."""
        hint = "Each text is compared with its own group. Unless readers were assigned by lot, these are hints."
        shown, others = self.ranked[:_MAX_NAMED], self.ranked[_MAX_NAMED:]
        if others:
            hint += f" Of {len(self.ranked):,} groups, the {_MAX_NAMED} that differ most; the others are below."
        charts = [_chart(each) for each in shown]
        best = [Section(self._best_and_worst, [("", hint)], charts=charts)] if charts else []
        pairs = f"{count(self.pairs, 'pair')} of {count(self.paired_groups, 'group')} can be used"
        tested = Section("What can be tested", [("", f"{pairs}: {self._power()}.")])
        wrong = [*self.metrics, *self.to_models, *self.problems]
        more = f"and {len(wrong) - _MAX_NAMED:,} more" if len(wrong) > _MAX_NAMED else ""
        lines = [("", each) for each in (*wrong[:_MAX_NAMED], more) if each]
        right = [Section("To check", lines)] if lines else []
        folded = [each._replace(folded=True) for each in _tabled("The other groups", others)]
        read = Section("How it was read", self._sentences(), self._files(), folded=True)
        return [*best, tested, *right, *folded, read]

    def to_html(self, about: Mapping[str, str] | None = None) -> str:
        """Its page, which shows the best and the worst as charts."""
        return report_page(self.heading, [self.sentence], self.page_sections(), about or {})

    @property
    def _best_and_worst(self) -> str:
        return f"Best and worst by {self.grouped_by or 'group'}"

    def summary(self, took: str = "") -> list[str]:  # noqa: ARG002
        """What there is, the best and the worst text of the groups that differ most, and what to check."""
        lines = [self.sentence]
        if shown := self.ranked[:_MAX_LINES]:
            of = f"; the {len(shown)} of {len(self.ranked):,} that differ most" * (
                shown != self.ranked
            )
            lines.append(f"{self._best_and_worst} (over its mean, adjusted for luck{of}):")
            lines += (
                f"  {each.show_lift(end.lift)} in {each.group}: {shorten(end.text, _MAX_SHOWN)}"
                for each in shown
                for end in (each.ends[0], each.ends[-1])
            )
        wrong = [*self.metrics, *self.problems]
        to_models = f"{count(len(self.to_models), 'line')} that may address a model"
        if wrong or self.to_models:
            rest = len(wrong) - 1 + len(self.to_models) if wrong else 0
            more = f" · {rest:,} more: --evidence" if rest else ""
            # What is in brackets is short, and says how many lines it is about.
            what, bracket, where = (*wrong, to_models)[0].partition(" (")
            lines.append(f"To check: {shorten(what, _MAX_SHOWN)}{bracket}{where}{more}")
        return lines

    def sections(self) -> list[Section]:
        return [
            *_tabled(f"{self._best_and_worst}, what differs most first", self.ranked[:_MAX_GROUPS]),
            Section(tables=self._files(), sentences=self._sentences()),
            *_named(_TO_MODELS, self.to_models),
            *_named("To check", self.problems),
        ]

    def _files(self) -> list[Table]:
        columns = [*words("file"), *figures("records"), *words("read as")]
        tables = [each for each in self.files if each.columns or each.is_table]
        rows = [(each.file, f"{each.records:,}", _describe_columns(each)) for each in tables]
        texts = Counter(each.file.partition("/")[0] for each in self.files if each not in tables)
        rows += [(f"{name}/", f"{n:,}", "text" if n == 1 else "texts") for name, n in texts.items()]
        return [Table(columns, rows)] if rows else []

    def _sentences(self) -> list[tuple[str, str]]:
        counted = [
            ("Groups", self.groups, self._divided()),
            ("No group", self.ungrouped, "in no pair"),
            ("Private", self.private, "for local models only"),
            ("Picked", self.picked, "which inform critics and are left out of tests"),
            ("No error", self.no_error, "without n of a share or se, in no pair"),
            ("Pairs", self.pairs, "that can be tested: texts that differ beyond their error"),
            ("Not tested", self.untested, f"of the pairs: {UNTESTED}"),
        ]
        found = [(label, f"{number:,} {what}".strip()) for label, number, what in counted if number]
        warnings = [("Metrics", each) for each in self.metrics]
        return [*warnings, *found, ("Power", self._power())]

    def _divided(self) -> str:
        """What groups that run side by side are divided by, and how kb.toml says the same."""
        # What was imported has its group already, and its columns are not here.
        tables = (each.divided for each in self.files if not each.imported)
        divided = max(tables, key=len, default=())
        stated = ", ".join(f'"{part}"' for part in divided)
        why = f"by {' and '.join(divided)}, so that something is known before they begin"
        return f"{why}; kb.toml can say so, under [columns]: group = [{stated}]" if divided else ""

    def _power(self) -> str:
        if self.pairs < MIN_PAIRS:
            return f"too few to test whether they help; {MIN_PAIRS} pairs are the least"
        if self.paired_groups < MIN_GROUPS:
            return few_groups(self.paired_groups)
        pairs = (self.pairs, self.independent_pairs)
        best, worst = (round(SHOWN * sqrt(_DIFFER / each) * 100) for each in pairs)
        shows = "the smallest gain that a test shows four times out of five is"
        if worst > _MOST:
            return f"{shows} {best} points at best; most pairs are of few groups, which may show nothing"
        return f"{shows} {best if best == worst else f'between {best} and {worst}'} points"


@dataclass(frozen=True, repr=False)
class SearchReport(Report):
    """Records that share words with what was looked for."""

    heading: ClassVar[str] = "Records found"
    folder: str
    text: str
    found: tuple[IndexedRecord, ...]

    @property
    def conclusion(self) -> str:
        return f"{count(len(self.found), 'record')} of {self.folder} found for “{shorten(self.text, _MAX_SHOWN)}”"

    def sections(self) -> list[Section]:
        leasts = {"id": (0, 0), "text": (30, 0), "figure": (16, 0)}
        leasts |= {"group": (0, 2), "when": (0, 1), "source": (0, 3)}
        columns = [Column(name, figures=False, least=a, spare=b) for name, (a, b) in leasts.items()]
        known = ((each.record, _figure(each)) for each in self.found)
        rows = [(r.id, shorten(r.text, _MAX_SHOWN), f, r.group, r.when, r.source) for r, f in known]
        return [Section(tables=[Table(columns, rows)])] if rows else []

    def to_dict(self) -> dict[str, Any]:
        known = ((each.record, _figure(each)) for each in self.found)
        records = [{"id": r.id, "figure": said, **msgspec.to_builtins(r)} for r, said in known]
        return {"conclusion": self.conclusion, "summary": self.summary(), "records": records}


def check_knowledge(folder: str | Path) -> FolderReport:
    """Say what was understood of a folder of records, and what could be shown with it.

    Args:
        folder: The folder, or a single CSV or JSONL file.

    Returns:
        The report.

    Raises:
        InvalidInput: There is no such folder, or its `kb.toml` cannot be used.

    Example:
        >>> from pathlib import Path
        >>> from autoreason import check_knowledge
        >>> _ = Path("mails.csv").write_text("subject,opens,sent,list\\nA,40,90,x\\nB,1,90,x\\n")
        >>> check_knowledge("mails.csv").conclusion
        '2 results in mails.csv (1 group): 1 pair of texts differs clearly'
    """
    check_call(check_knowledge, folder=folder)
    content = read_folder(folder)
    found = find_testable(content.records)
    by_group = Counter(pair.group for pair in found.pairs)
    squares = sum(number**2 for number in by_group.values())
    outcomes = [each for each in content.records if each.result or each.verdict or each.score]
    results = [each for each in content.records if each.result]
    measured = [each for each in results if each.result and (each.result.n or each.result.se)]
    # What was imported has its group already; what that was called is not here.
    grouped = (each for each in content.files if "group" in each.columns)
    names = {"" if each.imported else each.columns["group"] for each in grouped}
    guarded = [each for each in content.records if not each.allowed]
    flagged = [(each.source, line) for each in guarded for line in lines_to_models(each.text)]
    return FolderReport(
        folder=content.path,
        digest=content.digest,
        kinds=dict(Counter(record.kind for record in content.records)),
        ranked=tuple(_rank(measured)),
        unranked=(bare := len(results) - len(measured)),
        grouped_by=names.pop() if len(names) == 1 else "",
        files=content.files,
        problems=(*content.problems, *[f"{count(bare, 'result')} {_NO_READERS}"] * bool(bare)),
        groups=len({record.group for record in outcomes if record.group}),
        ungrouped=sum(not record.group for record in outcomes),
        private=sum(record.private for record in content.records),
        picked=found.picked,
        no_error=found.no_error,
        to_models=tuple(f"{file}: {shorten(line, _MAX_SHOWN)}" for file, line in flagged),
        pairs=len(found.pairs),
        paired_groups=len(by_group),
        independent_pairs=len(found.pairs) ** 2 / squares if squares else 0.0,
        untested=found.untested,
        metrics=_other_metrics(content.records),
    )


def _rank(records: Sequence[Record]) -> list[RankedGroup]:
    """The best and the worst texts of every group by one metric, by their adjusted results."""
    # What nobody has grouped can be compared within its table at most.
    known = (replace(e, group=e.group or _file(e), verdict=None, score=None) for e in records)
    groups: dict[tuple[str, RecordedOutcome], list[tuple[Record, Standing]]] = {}
    for record, standing in find_standings(known):
        if (result := record.result) and standing.size > 1:
            kind = RecordedOutcome(metric=result.metric, value=0.0, better=result.better)
            groups.setdefault((record.group, kind), []).append((record, standing))
    found = []
    for (group, kind), texts in groups.items():
        sign = 1 if kind.better == "lower" else -1
        texts.sort(key=lambda each: (each[1].shrunken * sign, each[0].text))
        is_share = all(is_share_of(record.result) for record, _ in texts if record.result)
        # Of a test of five, the third is neither.
        size, n = max(1, min(_MAX_NAMED, len(texts) // 4)), len(texts)
        ends = []
        for at, (record, own) in enumerate((*texts[:size], *texts[-size:])):
            end, lift = "best" if at < size else "worst", own.shrunken - own.mean
            seen = Estimate(own.value, reason="the number of readers is not known")
            if is_share and own.n:
                seen = exact_share(round(own.value * own.n), own.n, 1 - BEYOND_CHANCE / n)
            ends.append(
                RankedText(end, record.text, record.when[:10], own.n, seen, own.shrunken, lift)
            )
        readers, mean = sum(own.n or 0 for _, own in texts), texts[0][1].mean
        found.append(RankedGroup(group, kind.metric, n, readers, mean, is_share, tuple(ends)))
    found.sort(key=lambda each: -abs(each.ends[0].lift - each.ends[-1].lift))
    return sorted(found, key=lambda each: not each.is_share)


def _tabled(title: str, groups: Sequence[RankedGroup]) -> list[Section]:
    """The ends of groups as one table."""
    rows = [row for each in groups[:_MAX_TABLED] for row in each.rows()]
    rest = len(groups) - _MAX_TABLED
    more = [("", f"{rest:,} more groups are in --json")] if rest > 0 else []
    return [Section(title, more, [Table(_RANKING, rows)])] if rows else []


def _chart(group: RankedGroup) -> Chart:
    rows = []
    for each, (_, end, text, result, adjusted, lift, _) in zip(
        group.ends, group.rows(), strict=True
    ):
        said = f"{result}; adjusted for luck {adjusted}, {lift} against its group"
        rows.append(ChartRow(f"{end}: {text}", each.seen, said))
    off = f"the line how far it can be off (95 % for all {group.texts:,} texts of the group)"
    return interval_chart(
        group.title,
        rows,
        middle=group.mean,
        middle_label=f"the mean of {group.group}",
        scale=None,
        show=group.show,
        note=f"The dot is what was seen, {off}.",
    )._replace(numbers=Table(_RANKING, group.rows()))


def _other_metrics(records: Sequence[Record]) -> tuple[str, ...]:
    """A sentence for every metric that is not that of most records."""
    files: dict[str, Counter[str]] = {}
    for record in records:
        if record.result:
            files.setdefault(record.result.metric, Counter())[_file(record)] += 1
    main, *others = sorted(files, key=lambda each: -files[each].total()) or [""]
    return tuple(
        f"{file} measures {metric}, most records {main}; they are not compared (if they are the same, "
        "give them one name: `metric` in kb.toml)"
        for metric in others
        for file in files[metric]
    )


def _file(record: Record) -> str:
    return record.source.rpartition(":")[0] or record.source


def search_knowledge(folder: str | Path, text: str, *, limit: int = 10) -> SearchReport:
    """Find the records of a folder that are nearest to a text, by BM25; private ones are found, too.

    Args:
        folder: The folder, or a single CSV or JSONL file.
        text: What to look for, a few words or a whole draft, in any script; a word that no record has is
            looked for in longer ones.
        limit: How many to find.

    Returns:
        The report, with the records in `found`.

    Raises:
        InvalidInput: There is no such folder, or its `kb.toml` cannot be used.

    Example:
        >>> from pathlib import Path
        >>> from autoreason import search_knowledge
        >>> _ = Path("mails.csv").write_text("subject,opens,sent\\nFree tea,9,90\\nLast day,1,90\\n")
        >>> [each.record.text for each in search_knowledge("mails.csv", "tea").found]
        ['Free tea']
    """
    check_call(search_knowledge, folder=folder, text=text, limit=limit)
    if limit < 1:
        raise InvalidInput(f"`limit` is {limit}; give 1 or more")
    with Index.open(folder) as index:
        near = index.nearest(index.known_words(text))
        return SearchReport(str(folder), text, tuple(islice(near, limit)))


def _describe_columns(reading: FileReading) -> str:
    columns = [name if name == its else f"{name}: {its}" for name, its in reading.columns.items()]
    columns += [f"dates such as {reading.dates}"] * bool(reading.dates)
    columns += [f"not read: {', '.join(reading.unread)}"] * bool(reading.unread)
    return ", ".join(columns) or ("records as they are" if reading.records else "nothing")


def _named(title: str, lines: Sequence[str]) -> list[Section]:
    sentences = [("", line) for line in lines]
    return [Section(title=f"{title}: {len(lines):,}", sentences=sentences)] if lines else []


def _figure(found: IndexedRecord) -> str:
    return describe_figure(found.record, found.standing) or found.record.kind
