"""The report of a comparison: the panel's table over all repeats, and what each strategy spent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from msgspec import Struct

from autoreason.contract import count_words
from autoreason.exchange import Spent
from autoreason.jobs.job import read_options
from autoreason.keys import PartName
from autoreason.parsing.documents import same_text
from autoreason.plugins import short
from autoreason.report.numbers import UNKNOWN, count, listed, money
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, figures, words
from autoreason.story import RecordedPanel, Story
from autoreason.studies.compare.comparison import (
    ComparisonOptions,
    Texts,
    last_part,
    panels_of,
)
from autoreason.studies.panels.entries import same_texts
from autoreason.studies.panels.panel_report import CountedBallot, PanelReport, report
from autoreason.studies.panels.panel_tables import duels, notes, standings, win_matrix


class ComparedStrategy(Struct, frozen=True, kw_only=True):
    """What one strategy spent and delivered, over all its repeats."""

    strategy: str
    delivered: int
    """Repeats in which it delivered a text."""
    words: float | None
    """Of the texts it delivered, on average."""
    spent: Spent
    same_as_draft: int
    """Repeats in which it delivered the shared draft itself."""
    keeps_contract: int | None
    """Repeats in which its text keeps the contract; None where there is no contract."""


class ComparisonReport(Report, Struct, frozen=True, kw_only=True):
    """A comparison in numbers."""

    strategies: tuple[ComparedStrategy, ...]
    panel: PanelReport | None
    """None where no panel decided anything: all texts were the same, or too few ballots were valid."""
    repeats: int
    judged_repeats: int
    """Repeats whose panel gave enough valid ballots."""
    match: str
    left_out: tuple[str, ...]
    """What is not in the table, and why."""

    heading = "A comparison of strategies"

    @property
    def conclusion(self) -> str:
        """Who wins, or that none does beyond chance."""
        return self.panel.conclusion if self.panel else "no winner: there was nothing to judge"

    def names(self) -> list[str]:
        """Those of the strategies."""
        return [each.strategy for each in self.strategies]

    def sections(self) -> list[Section]:
        """What each strategy spent, then the panel's tables."""
        sections = [Section(tables=[self._strategy_table()])]
        sentences: list[tuple[str, str]] = []
        if self.panel:
            first = self.strategies[0].strategy
            tables = [standings(self.panel), win_matrix(self.panel), duels(self.panel, first)]
            sections.append(Section(tables=tables))
            if self.judged_repeats == 1:
                alone = "one was judged: it says something about its texts, nothing about the strategies"
                sentences.append(("Repeats", alone))
            sentences += [*notes(self.panel), *_missing_intervals(self.panel, first)]
        sentences += [("Matched", self._matched()), *(("Left out", why) for why in self.left_out)]
        return [*sections, Section(sentences=sentences)]

    def _matched(self) -> str:
        """What strategies could spend, and which of them ended long before."""
        spent = {each.strategy: getattr(each.spent, self.match) for each in self.strategies}
        known = {name: amount for name, amount in spent.items() if amount is not None}
        less = [name for name, amount in known.items() if 2 * amount < max(known.values())]
        fewer = "less" if self.match == "cost" else "fewer"
        needed = f"; {listed(less)} needed far {fewer}" if less else ""
        return (
            f"by {self.match}, the most that each may take{needed}; "
            "what each strategy spent is in the table above"
        )

    def _strategy_table(self) -> Table:
        """What each strategy spent and delivered."""
        ruled = all(each.keeps_contract is not None for each in self.strategies)
        heads = ("texts", "words", "calls", "tokens", "cost", "kept the draft")
        rows = [
            (
                each.strategy,
                f"{each.delivered} of {self.repeats}",
                UNKNOWN if each.words is None else f"{each.words:,.0f}",
                f"{each.spent.calls:,}",
                "unknown" if each.spent.tokens is None else f"{each.spent.tokens:,}",
                money(each.spent.cost),
                str(each.same_as_draft),
                *([str(each.keeps_contract)] if ruled else []),
            )
            for each in self.strategies
        ]
        columns = figures(*heads, *(["keeps contract"] if ruled else []))
        return Table([*words("strategy"), *columns], rows)


def _missing_intervals(panel: PanelReport, name: str) -> list[tuple[str, str]]:
    """Which rows of the table of duels have a share without an interval, and why."""
    its_duels = [each.seen_from(name) for each in panel.duels if name in (each.first, each.second)]
    without = [d for d in its_duels if d.preferred.value is not None and d.preferred.low is None]
    if not without:
        return []
    names = listed([each.second for each in without])
    return [("Interval", f"none against {names}: {without[0].preferred.reason}")]


def comparison_report(story: Story, spent: Mapping[str, Spent]) -> ComparisonReport:
    """The report of a comparison's story; `spent` is by part, such as `repeat/2/harsh`."""
    assert story.settings is not None
    options = read_options(story.settings, ComparisonOptions)
    panels = {number: panel for number, panel in panels_of(story).items() if panel.verdict}
    texts = {
        number: {name: _text(story, number, name) for name in options.strategies}
        for number in range(1, options.repeat_count + 1)
    }
    judged = [
        each for number, panel in panels.items() for each in _ballots(number, panel, texts[number])
    ]
    compared = tuple(_compared_strategy(story, name, options, spent) for name in options.strategies)
    # A strategy that never delivered has no place in the standings.
    words = {each.strategy: round(each.words) for each in compared if each.words is not None}
    ballots = [ballot for panel in panels.values() for ballot in panel.ballots]
    return ComparisonReport(
        strategies=compared,
        panel=report(judged, words, ballots, clustered=True, lengths=_lengths(texts))
        if judged
        else None,
        repeats=options.repeat_count,
        judged_repeats=len({each.cluster for each in judged}),
        match=options.match,
        left_out=(
            *_failed_strategies(story, options),
            *_missing_panels(story, options, texts),
            *_shared_places(texts, panels),
            *_failed_attempts(spent),
        ),
    )


def _ballots(number: int, panel: RecordedPanel, texts: Texts) -> list[CountedBallot]:
    """Ballots over texts as ballots over strategies: those who delivered the same text share its place."""
    groups = same_texts(texts)
    return [
        CountedBallot(
            ranking=tuple(tuple(map(short, groups[name])) for name in ballot.ranking),
            cluster=number,
        )
        for ballot in panel.ballots
        if ballot.ranking
    ]


def _lengths(texts: Mapping[int, Texts]) -> dict[int, dict[str, int]]:
    """Words of what each strategy delivered, repeat by repeat."""
    return {
        number: {short(name): count_words(text) for name, text in each.items() if text is not None}
        for number, each in texts.items()
    }


def _shared_places(texts: Mapping[int, Texts], panels: Mapping[int, RecordedPanel]) -> list[str]:
    """Where votes between two strategies are missing because they delivered the same text."""
    shared = sum(
        any(len(who) > 1 for who in same_texts(texts[number]).values()) for number in panels
    )
    if not shared:
        return []
    return [
        f"in {shared} of {len(texts)} repeats strategies delivered the same text and share its place"
    ]


def _compared_strategy(
    story: Story, name: str, options: ComparisonOptions, spent: Mapping[str, Spent]
) -> ComparedStrategy:
    parts = _parts(story, name, options)
    total = Spent()
    for number in range(1, options.repeat_count + 1):
        total = total.joined(spent.get(last_part(story, number, name), Spent()))
    return ComparedStrategy(
        strategy=short(name),
        delivered=sum(part.delivered is not None for part in parts),
        words=_mean_words(parts),
        spent=total,
        same_as_draft=sum(map(_is_draft, parts)),
        keeps_contract=None
        if story.task is None or story.task.contract.empty
        else sum(bool(part.delivered and not part.delivered.violations) for part in parts),
    )


def _parts(story: Story, name: str, options: ComparisonOptions) -> list[Story]:
    """The parts of a strategy that were started, in the order of the repeats."""
    names = [last_part(story, number, name) for number in range(1, options.repeat_count + 1)]
    return [story.parts[each] for each in names if each in story.parts]


def _is_draft(part: Story) -> bool:
    return bool(part.delivered and part.draft and same_text(part.delivered.text, part.draft.text))


def _mean_words(parts: Sequence[Story]) -> float | None:
    counts = [part.delivered.words for part in parts if part.delivered]
    return fmean(counts) if counts else None


def _text(story: Story, number: int, name: str) -> str | None:
    part = story.parts.get(last_part(story, number, name))
    return part.delivered.text if part and part.delivered else None


def _failed_strategies(story: Story, options: ComparisonOptions) -> Iterator[str]:
    for name in options.strategies:
        failed = [part.reason for part in _parts(story, name, options) if not part.delivered]
        if failed:
            yield f"{short(name)} delivered no text in {len(failed)} of {options.repeat_count}: {failed[0]}"


def _failed_attempts(spent: Mapping[str, Spent]) -> Iterator[str]:
    """What strategies and panels took that were run again after the run was resumed."""
    parts = {PartName.parse(name): each for name, each in spent.items()}
    last: dict[tuple[int, str], int] = {}
    for part in parts:
        place = (part.repeat, part.name)
        last[place] = max(part.attempt, last.get(place, 0))
    total = Spent()
    for part, each in parts.items():
        if part.attempt < last[part.repeat, part.name]:
            total = total.joined(each)
    if total.calls:
        tokens = "unknown" if total.tokens is None else f"{total.tokens:,}"
        yield (
            f"attempts that failed and were run again took {count(total.calls, 'call')}, "
            f"{tokens} tokens, {money(total.cost)}"
        )


def _missing_panels(
    story: Story, options: ComparisonOptions, texts: Mapping[int, Texts]
) -> Iterator[str]:
    """Repeats that were not judged, by the reason why."""
    panels = panels_of(story)
    missing = [number for number in texts if number not in panels]
    alone = sum(sum(text is not None for text in texts[number].values()) < 2 for number in missing)
    undecided = sum(panel.verdict is None for panel in panels.values())
    for number, why in (
        (len(missing) - alone, "had nothing to judge: all texts were the same"),
        (alone, "had nothing to judge: fewer than two strategies delivered a text"),
        (undecided, "got too few valid ballots to decide anything"),
    ):
        if number:
            yield f"{number} of {options.repeat_count} repeats {why}"
