"""What the test shows: how often judges are right with records, without, and with shuffled ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import Struct

from autoreason.keys import sub_key
from autoreason.knowledge.holdout import (
    FLIPPED,
    MIN_PAIRS,
    TONES,
    Verdict,
    compare_times,
    could_show,
    few_groups,
    group_values,
    likely_to_show,
    over_time,
    weigh,
)
from autoreason.knowledge.standing import MIN_GROUPS
from autoreason.report.numbers import UNKNOWN, count, p_statement, percent_interval, points
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, figures, words
from autoreason.stats.results import BEYOND_CHANCE, Estimate
from autoreason.stats.shares import clustered_share
from autoreason.stats.sums import flips, resampled_mean, unlike_chance
from autoreason.story import Story
from autoreason.studies.knowledge_test.recorded_pairs import RecordedPair, RecordedPairs

Arm = Literal["without", "with", "placebo"]


class PairAnswers(Struct, frozen=True, kw_only=True):
    """How one judge decided one pair under each condition: 1 right, 0 wrong, 0.5 where the order decided."""

    group: str
    when: str = ""
    without: float
    with_records: float
    placebo: float


class JudgeAnswers(Struct, frozen=True, kw_only=True):
    """How often one judge is right, and whether records help it."""

    judge: str
    verdict: Verdict
    pairs: int
    groups: int
    without: Estimate
    with_records: Estimate
    placebo: Estimate
    gain: Estimate
    """With records less without, over the same pairs."""
    p_value: float | None
    over_placebo: Estimate
    could_show: float | None
    """The smallest gain that so many groups show four times out of five."""
    invalid: int
    """Pairs that it did not decide in both orders under every condition."""
    weight: float | None
    """How much its ballot counts in the playoff of a mixed panel that is shown outcomes; None where it is unknown."""
    weight_without: float | None
    """The same on a panel that is shown none."""
    by_time: tuple[Estimate, Estimate] | None
    """With records: the first two thirds of the pairs by date, and the last."""
    declines: bool


@dataclass(frozen=True, repr=False)
class KnowledgeReport(Report):
    """Judges with, without and with shuffled records, beside what needs no judge."""

    heading: ClassVar[str] = "Does this knowledge help?"
    source: str
    judges: tuple[JudgeAnswers, ...]
    length: Estimate
    """Counting characters."""
    retrieval: Estimate
    pairs: int
    of: int
    """Pairs that the folder has."""
    groups: int

    @property
    def conclusion(self) -> str:
        """The verdict on every judge."""
        return "; ".join(map(_verdict, self.judges))

    def sections(self) -> list[Section]:
        """The table, and what it rests on."""
        rows = [
            (
                each.judge,
                percent_interval(each.without),
                percent_interval(each.with_records),
                percent_interval(each.placebo),
                points(each.gain),
                each.verdict,
            )
            for each in self.judges
            if each.verdict != "too few"
        ]
        none = UNKNOWN
        rivals = [
            ("retrieval alone", none, percent_interval(self.retrieval), none, none, ""),
            ("length: the longer one", percent_interval(self.length), none, none, none, ""),
        ]
        right = figures("without", "with records", "placebo", "with less without")
        columns = [*words("judge"), *right, *words("verdict")]
        tests = [
            f"{each.judge} {p_statement(each.p_value)}"
            for each in self.judges
            if each.p_value is not None
        ]
        sentences = [
            (
                "Pairs",
                f"{self.pairs:,} of {self.of:,}, from {count(self.groups, 'group')}; blind, both orders; "
                "intervals rest on groups, one of which is left out at a time",
            ),
            ("Test", f"{'; '.join(tests)}, {FLIPPED}" if tests else ""),
            ("Placebo", "the same records, each with another's outcome: what a longer prompt does"),
            *(
                ("Over time", f"{each.judge}: {over_time(each.by_time, declines=each.declines)}")
                for each in self.judges
                if each.by_time
            ),
            ("Weights", self._weights()),
            *(
                ("Left out", f"{count(each.invalid, 'pair')} that {each.judge} did not decide")
                for each in self.judges
                if each.invalid
            ),
        ]
        return [
            *([Section(tables=[Table(columns, [*rows, *rivals], tones=TONES)])] if rows else []),
            Section(sentences=[(label, text) for label, text in sentences if text]),
        ]

    def _weights(self) -> str:
        """How much ballots count in a playoff; nothing of a judge alone."""
        known = [
            f"{each.judge} {each.weight:g} with records, {each.weight_without:g} without"
            for each in self.judges
            if each.weight is not None and each.weight_without is not None
        ]
        return (
            f"of ballots in the playoff of a mixed panel: {'; '.join(known)}" if known[1:] else ""
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {"conclusion": self.conclusion, **msgspec.to_builtins(self)}


def knowledge_report(story: Story) -> KnowledgeReport:
    """What a test shows so far."""
    assert story.task is not None
    assert story.settings is not None
    work = story.task.work
    assert isinstance(work, RecordedPairs)
    judges = tuple(
        judge_answers(judge, *_answers(story, work.pairs, number))
        for number, judge in enumerate(story.settings.models.judges)
    )
    return KnowledgeReport(
        source=work.source,
        judges=judges,
        length=clustered_share(group_values(work.pairs, _group, _by_length)),
        retrieval=clustered_share(group_values(work.pairs, _group, lambda each: each.retrieval)),
        pairs=len(work.pairs),
        of=work.of,
        groups=len({pair.group for pair in work.pairs}),
    )


def judge_answers(judge: str, answers: Sequence[PairAnswers], invalid: int) -> JudgeAnswers:
    """What one judge's decisions come to."""

    def by_group(value: Callable[[PairAnswers], float]) -> list[list[float]]:
        return group_values(answers, lambda each: each.group, value)

    gains = by_group(lambda each: each.with_records - each.without)
    real = by_group(lambda each: each.with_records - each.placebo)
    verdict, p_value = decide(gains, real)
    without = clustered_share(by_group(lambda each: each.without))
    with_records = clustered_share(by_group(lambda each: each.with_records))
    weight, weight_without = (
        None if verdict == "too few" else weigh(share.value or 0.0, share.n)
        for share in (with_records, without)
    )
    by_time, declines = compare_times((e.when, e.group, e.with_records) for e in answers)
    return JudgeAnswers(
        judge=judge,
        verdict=verdict,
        pairs=len(answers),
        groups=len(gains),
        without=without,
        with_records=with_records,
        placebo=clustered_share(by_group(lambda each: each.placebo)),
        gain=resampled_mean(gains),
        p_value=p_value,
        over_placebo=resampled_mean(real),
        could_show=could_show(gains),
        invalid=invalid,
        weight=weight,
        weight_without=weight_without,
        by_time=by_time,
        declines=declines,
    )


def decide(
    gains: Sequence[Sequence[float]], over_placebo: Sequence[Sequence[float]]
) -> tuple[Verdict, float | None]:
    """The verdict on differences by group, and how likely chance is to bring so much.

    Records help where they do beyond chance, and at least half of that is gone when outcomes are shuffled.
    """
    if sum(map(len, gains)) < MIN_PAIRS or len(gains) < MIN_GROUPS:
        return "too few", None
    gain = sum(map(sum, gains))
    p_value = unlike_chance(flips(map(sum, gains)), gain)
    if p_value >= BEYOND_CHANCE:
        return "not shown", p_value
    if gain < 0:
        return "harms", p_value
    return "helps" if sum(map(sum, over_placebo)) >= gain / 2 else "not shown", p_value


def _answers(
    story: Story, pairs: Iterable[RecordedPair], judge: int
) -> tuple[list[PairAnswers], int]:
    """The pairs that a judge decided in both orders under every condition, and how many it did not."""
    found, invalid = [], 0
    for number, pair in enumerate(pairs, 1):
        shares = [_right(story, number, arm, judge) for arm in ("without", "with", "placebo")]
        if None in shares:
            invalid += 1
            continue
        without, with_records, placebo = (share for share in shares if share is not None)
        found.append(
            PairAnswers(
                group=pair.group,
                when=pair.when,
                without=without,
                with_records=with_records,
                placebo=placebo,
            )
        )
    return found, invalid


def pair_stage(number: int, arm: str) -> str:
    """Where ballots on a pair under a condition are recorded."""
    return sub_key("pairs", number, arm)


def _right(story: Story, number: int, arm: Arm | str, judge: int) -> float | None:
    """The share of both orders in which the better text came first; None where a ballot is missing."""
    panel = story.panels.get(pair_stage(number, arm))
    ballots = [each for each in (panel.ballots if panel else ()) if each.seat // 2 == judge]
    rankings = [each.ranking for each in ballots if each.ranking]
    if len(rankings) < 2:
        return None
    return sum(ranking[0] == "better" for ranking in rankings) / 2


def _group(pair: RecordedPair) -> str:
    return pair.group


def _by_length(pair: RecordedPair) -> float:
    better, worse = len(pair.better), len(pair.worse)
    return 0.5 if better == worse else float(better > worse)


def _verdict(found: JudgeAnswers) -> str:
    """One judge's verdict in a sentence."""
    if found.groups < MIN_GROUPS and found.pairs >= MIN_PAIRS:
        return few_groups(found.groups)
    if found.verdict == "too few":
        return (
            f"too few: {found.judge} decided {count(found.pairs, 'pair')}, and {MIN_PAIRS} are the "
            "least to be tested"
        )
    seen = (
        f"right on {percent_interval(found.with_records)} with records and "
        f"{percent_interval(found.without)} without"
    )
    if found.verdict == "not shown":
        shown = "" if found.could_show is None else f"; {likely_to_show(found.could_show)}"
        return f"not shown: {found.judge} is {seen}{shown}"
    return f"{'helps' if found.verdict == 'helps' else 'harms'}: {found.judge} is {seen}"
