"""What is in a folder of records, and what is found in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from math import sqrt
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

import msgspec

from autoreason.errors import InvalidInput
from autoreason.fields import check_call
from autoreason.knowledge.folder import FileReading, KnowledgeFolder, read_folder
from autoreason.knowledge.holdout import MIN_PAIRS, SHOWN, UNTESTED, few_groups
from autoreason.knowledge.index import Index, IndexedRecord, describe_figure, show_number
from autoreason.knowledge.predictor import find_testable
from autoreason.knowledge.standing import MIN_GROUPS, Standing, find_standings
from autoreason.knowledge.words import lines_to_models
from autoreason.knowledge_records import Record, RecordKind
from autoreason.report.charts import Chart, Interval, interval_chart
from autoreason.report.numbers import count, listed, shorten
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table, figures, words
from autoreason.stats import BEYOND_CHANCE, Estimate
from autoreason.stats.shares import exact_share

_MAX_NAMED = 5
"""Lists, texts at either end of one, and what to put right on a page."""
_MAX_SHOWN = 120
_COLUMN, _MAX_TEXT, _MAX_LINES = 40, 28, 3
"""Of a summary: columns for the best texts, letters of a text, texts at either end."""
_DIFFER = 0.3
"""The share of pairs on which judges with and without knowledge usually differ."""
_MOST = 50
"""Points that can be gained over a coin."""
_RANKING = [*words("", "text"), *figures("result", "adjusted"), *words("when")]
_KINDS: dict[RecordKind, tuple[str, str]] = {
    "outcome": ("outcome", ""),
    "verdict": ("verdict", ""),
    "fact": ("fact", ""),
    "style": ("page of style", "pages of style"),
    "feedback": ("page of feedback", "pages of feedback"),
}


class ListNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers behind a list of the best and the worst texts."""

    texts: int
    mean: float
    """Of all texts of the list."""
    is_share: bool
    results: tuple[Estimate, ...]
    """Of those shown, in their order; the intervals hold for all texts of the list, so for those picked from them."""


@dataclass(frozen=True, repr=False)
class FolderReport(Report):
    """What was understood of a folder, and what could be shown with it."""

    heading: ClassVar[str] = "A folder of records"
    is_summarized: ClassVar[bool] = True
    folder: str
    digest: str
    kinds: dict[str, int]
    lists: dict[str, tuple[tuple[str, ...], ...]]
    """Which texts did best and worst, the longest list first: a text, what it came to, adjusted, and when."""
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
    numbers: dict[str, ListNumbers]
    """By the title of the list."""

    @property
    def conclusion(self) -> str:
        found = [count(self.kinds[kind], *_KINDS[kind]) for kind in _KINDS if self.kinds.get(kind)]
        pairs = f"{count(self.pairs, 'pair')} of {count(self.paired_groups, 'group')} can be tested"
        return f"{listed(found) if found else 'no record'} in {self.folder}; {pairs}"

    def page_sections(self) -> list[Section]:
        """Which texts did best and worst, what can be tested, what to put right; how it was read is folded."""
        charts = [self._chart(title) for title in islice(self.lists, _MAX_NAMED)]
        hint = "Unless readers were assigned by lot, as in a test, these are hints until tested."
        if len(self.lists) > _MAX_NAMED:
            hint += f" The first {_MAX_NAMED} of {len(self.lists)} lists are shown."
        best = [Section("Best and worst", [("", hint)], charts=charts)] if charts else []
        groups = count(self.paired_groups, "group")
        pairs = f"{count(self.pairs, 'pair')} of texts from {groups} differ beyond their error"
        tested = Section("What can be tested", [("", f"{pairs}; {self._power()}.")])
        wrong = [*self.metrics, *self.to_models, *self.problems]
        more = f"and {len(wrong) - _MAX_NAMED:,} more" if len(wrong) > _MAX_NAMED else ""
        lines = [("", each) for each in (*wrong[:_MAX_NAMED], more) if each]
        right = [Section("To put right", lines)] if lines else []
        read = Section("How it was read", self._sentences(), self._files(), folded=True)
        return [*best, tested, *right, read]

    def _chart(self, title: str) -> Chart:
        rows, numbers = self.lists[title], self.numbers[title]
        return interval_chart(
            title,
            [
                Interval(f"{end}: {text}", found, f"{result}; adjusted for luck {fair}")
                for (end, text, result, fair, _), found in zip(rows, numbers.results, strict=True)
            ],
            middle=numbers.mean,
            middle_label="the mean of the list",
            scale=None,
            show=(lambda value: f"{value * 100:.3g} %") if numbers.is_share else "{:.4g}".format,
            note=f"The dot is what was seen, the line how far it can be off (95 % for all {numbers.texts:,} texts "
            "of the list).",
        )._replace(numbers=Table(_RANKING, rows))

    def summary(self, took: str = "") -> list[str]:  # noqa: ARG002
        """What there is, the best and the worst texts of the longest list, and what to put right."""
        lines = [self.sentence]
        for title, rows in islice(self.lists.items(), 1):
            wide = max(len(row[3]) for row in rows)
            sides = [
                [
                    f"  {row[3]:>{wide}}  {shorten(row[1], _MAX_TEXT)}"
                    for row in rows
                    if row[0] == side
                ]
                for side in ("best", "worst")
            ]
            lines.append(f"{shorten(title, _COLUMN - 7)}; best:".ljust(_COLUMN) + "  Worst:")
            pairs = zip(*(side[:_MAX_LINES] for side in sides), strict=True)
            lines += [f"{one:<{_COLUMN}}{other}" for one, other in pairs]
        wrong = [*self.metrics, *self.problems]
        to_models = f"{count(len(self.to_models), 'line')} that may address a model"
        if wrong or self.to_models:
            rest = len(wrong) - 1 + len(self.to_models) if wrong else 0
            more = f" · {rest:,} more: --evidence" if rest else ""
            lines.append(f"To put right: {shorten((*wrong, to_models)[0], _MAX_SHOWN)}{more}")
        return lines

    def sections(self) -> list[Section]:
        tables = self._files()
        lists = [
            Section(title, tables=[Table(_RANKING, rows)])
            for title, rows in islice(self.lists.items(), _MAX_NAMED)
        ]
        return [
            *lists,
            Section(tables=tables, sentences=self._sentences()),
            *_named(
                "Lines that address a model; models are shown their records only if kb.toml says `allow`",
                self.to_models,
            ),
            *_named("Not used", self.problems),
        ]

    def _files(self) -> list[Table]:
        columns = [*words("file"), *figures("records"), *words("read as")]
        rows = [
            (each.file, f"{each.records:,}", _describe_columns(each))
            for each in self.files
            if each.columns or each.is_table
        ]
        others = (each.file for each in self.files if not (each.columns or each.is_table))
        texts = Counter(file.partition("/")[0] for file in others)
        rows += [
            (f"{folder}/", f"{number:,}", "text" if number == 1 else "texts")
            for folder, number in texts.items()
        ]
        return [Table(columns, rows)] if rows else []

    def _sentences(self) -> list[tuple[str, str]]:
        counted = [
            ("Groups", self.groups, self._divided()),
            ("No group", self.ungrouped, "in no pair"),
            ("Private", self.private, "for local models only"),
            ("Picked", self.picked, "which inform critics and are left out of tests"),
            ("No error", self.no_error, "without n of a share or se, in no pair"),
            ("Pairs", self.pairs, "of texts of one group that differ beyond their error"),
            ("Not tested", self.untested, f"pairs: {UNTESTED}"),
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
        best, worst = (
            round(SHOWN * sqrt(_DIFFER / pairs) * 100)
            for pairs in (self.pairs, self.independent_pairs)
        )
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
        columns = [
            Column("id", figures=False),
            Column("text", figures=False, least=30),
            Column("figure", figures=False, least=16),
            Column("group", figures=False, spare=2),
            Column("when", figures=False, spare=1),
            Column("source", figures=False, spare=3),
        ]
        rows = [
            (r.id, shorten(r.text, _MAX_SHOWN), _figure(each), r.group, r.when, r.source)
            for each in self.found
            for r in [each.record]
        ]
        return [Section(tables=[Table(columns, rows)])] if rows else []

    def to_dict(self) -> dict[str, Any]:
        records = [
            {"id": each.record.id, "figure": _figure(each), **msgspec.to_builtins(each.record)}
            for each in self.found
        ]
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
        '2 outcomes in mails.csv; 0 pairs of 0 groups can be tested'
    """
    check_call(check_knowledge, folder=folder)
    content = read_folder(folder)
    found = find_testable(content.records)
    by_group = Counter(pair.group for pair in found.pairs)
    squares = sum(number**2 for number in by_group.values())
    outcomes = [each for each in content.records if each.result or each.verdict or each.score]
    ranked = _rank(content)
    return FolderReport(
        folder=content.path,
        digest=content.digest,
        kinds=dict(Counter(record.kind for record in content.records)),
        lists={title: rows for title, (rows, _) in ranked.items()},
        numbers={title: numbers for title, (_, numbers) in ranked.items()},
        files=content.files,
        problems=content.problems,
        groups=len({record.group for record in outcomes if record.group}),
        ungrouped=sum(not record.group for record in outcomes),
        private=sum(record.private for record in content.records),
        picked=found.picked,
        no_error=found.no_error,
        to_models=tuple(
            f"{record.source}: {shorten(line, _MAX_SHOWN)}"
            for record in content.records
            if not record.allowed
            for line in lines_to_models(record.text)
        ),
        pairs=len(found.pairs),
        paired_groups=len(by_group),
        independent_pairs=len(found.pairs) ** 2 / squares if squares else 0.0,
        untested=found.untested,
        metrics=_other_metrics(content.records),
    )


def _rank(content: KnowledgeFolder) -> dict[str, tuple[tuple[tuple[str, ...], ...], ListNumbers]]:
    """The best and the worst texts of every list by one metric, by their adjusted results."""
    divided = {each.file for each in content.files if each.divided}
    lists: dict[tuple[str, str], list[tuple[float, tuple[str, ...], Standing]]] = {}
    shares: dict[tuple[str, str], bool] = {}
    for record, standing in find_standings(content.records):
        if (result := record.result) and standing.size > 1:
            group = "" if _file(record) in divided else record.group
            name = record.audience or group or _file(record)
            value, adjusted = (show_number(result, x) for x in (standing.value, standing.shrunken))
            basis = f"{value} of {standing.n:,}" if standing.n else value
            order = standing.shrunken * (1 if result.better == "lower" else -1)
            row = (shorten(record.text, _MAX_SHOWN), basis, adjusted, record.when[:10])
            lists.setdefault((name, result.metric), []).append((order, row, standing))
            shares[name, result.metric] = value.endswith("%")
    found = {}
    for key, texts in sorted(lists.items(), key=lambda each: -len(each[1])):
        size, n = min(_MAX_NAMED, len(texts) // 2), len(texts)
        ordered = sorted(texts, key=lambda each: each[:2])
        ends = [("best", each) for each in ordered[:size]]
        ends += [("worst", each) for each in ordered[::-1][:size]]
        numbers = ListNumbers(
            texts=n,
            mean=fmean(standing.value for _, _, standing in texts),
            is_share=shares[key],
            results=tuple(
                exact_share(round(at.value * at.n), at.n, 1 - BEYOND_CHANCE / n)
                if shares[key] and at.n
                else Estimate(at.value, reason="the number of readers is not known")
                for _, (_, _, at) in ends
            ),
        )
        title = f"{key[0]}: {key[1]} of {count(n, 'text')}"
        found[title] = tuple((end, *row) for end, (_, row, _) in ends), numbers
    return found


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
        text: What to look for, a few words or a whole draft, in any script.
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
        return SearchReport(str(folder), text, tuple(islice(index.nearest(text), limit)))


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
