"""Whether a folder of outcomes helps judges: pairs decided blind without records, with them, and with shuffled ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, zip_longest
from random import Random
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.events import BallotCast, JobFinished
from autoreason.job_types import KnowledgeTest
from autoreason.jobs.context import use_in_order
from autoreason.jobs.job import Job, Plans
from autoreason.keys import PAIR, sub_key
from autoreason.knowledge.holdout import (
    FLIPPED,
    MIN_PAIRS,
    TONES,
    KnowledgeVerdict,
    TestResult,
    compare_times,
    could_show,
    few_groups,
    likely_to_show,
    over_time,
    read_tests,
    record_test,
    weigh,
)
from autoreason.knowledge.index import LISTED, Index, SearchQuery, retrieve
from autoreason.knowledge.standing import MIN_GROUPS, Pair
from autoreason.knowledge.words import is_too_similar
from autoreason.knowledge_records import Knowledge, ShownOutcomes, ShownRecord
from autoreason.report import charts
from autoreason.report.numbers import UNKNOWN, count, p_statement, percent_interval, points
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, figures, words
from autoreason.settings import Settings
from autoreason.stats import BEYOND_CHANCE, Estimate
from autoreason.stats.shares import clustered_share, group_values
from autoreason.stats.sums import flips, resampled_mean, unlike_chance
from autoreason.story import Story
from autoreason.studies.panel_jobs import ballot_plans
from autoreason.task import Task, Work
from autoreason.tournament.judges import JUDGE_PROMPTS, cast_ballot


class RecordedPair(Struct, frozen=True, kw_only=True):
    """Two texts of a group, which of them did better, and what is known from elsewhere."""

    better: str
    worse: str
    group: str
    when: str = ""
    known: ShownOutcomes = ShownOutcomes()
    placebo: ShownOutcomes = ShownOutcomes()
    """The same records, each with the outcome of another."""
    retrieval: float = 0.5
    """Whether retrieval alone is right: 1, 0, or 0.5 where both are the same to it."""

    @property
    def length(self) -> float:
        """Whether counting characters is, in the same way."""
        better, worse = len(self.better), len(self.worse)
        return 0.5 if better == worse else float(better > worse)


class RecordedPairs(Work, Struct, frozen=True, kw_only=True, tag_field="type", tag=True):
    """Pairs on which judges are tested."""

    name = "recorded pairs"

    source: str
    pairs: tuple[RecordedPair, ...]
    of: int
    withheld: int = 0
    """Private records of the folder, where judges on other machines are asked: none is in a pair or shown."""
    private: bool = False
    """Whether private records are among them, which only models on this machine may be shown."""


def recorded_pair(index: Index, pair: Pair, seed: int, *, private: bool) -> RecordedPair:
    """A pair with what judges would be shown of other groups before it; nothing that resembles either text."""
    texts = (pair.better.text, pair.worse.text)
    found = [retrieve(index, SearchQuery(t, pair.group, pair.when, private=private)) for t in texts]
    known = ShownOutcomes(
        well=_choose([each.judges.well for each in found], texts),
        badly=_choose([each.judges.badly for each in found], texts),
    )
    own = RecordedPair(better=texts[0], worse=texts[1], group=pair.group, when=pair.when)
    return replace(own, known=known, placebo=shuffle(known, seed))


def shuffle(known: ShownOutcomes, seed: int) -> ShownOutcomes:
    """The same texts with the same figures in the same places, but each text with another's figure."""
    texts = Random(seed).sample(known.all, len(known.all))
    places = zip(known.all, texts, strict=True)
    moved = [replace(place, id=text.id, text=text.text) for place, text in places]
    cut = len(known.well)
    return ShownOutcomes(well=tuple(moved[:cut]), badly=tuple(moved[cut:]))


def _choose(
    lists: Sequence[Sequence[ShownRecord]], texts: Sequence[str]
) -> tuple[ShownRecord, ...]:
    """The first of each list by turns, each record once, and none that resembles one of the texts."""
    turns = chain.from_iterable(zip_longest(*lists))
    unlike = (r for r in turns if r and not any(is_too_similar(r.text, text) for text in texts))
    return tuple({record.id: record for record in unlike}.values())[:LISTED]


ARMS = ("without", "with", "placebo")


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
    verdict: KnowledgeVerdict
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
    """The smallest gain that so many groups show four times out of five; None where they show none."""
    invalid: int
    """Pairs that it did not decide in both orders under every condition."""
    weight: float | None
    """How much its ballot counts in the review of a mixed panel that is shown outcomes; None where it is unknown."""
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
    retrieval: Estimate
    pairs: int
    of: int
    groups: int

    @property
    def conclusion(self) -> str:
        return "; ".join(map(_verdict, self.judges))

    def summary(self, took: str = "") -> list[str]:
        basis = f"{self.pairs:,} of {count(self.of, 'pair')}, from {count(self.groups, 'group')}"
        return [self.sentence, " · ".join(filter(None, [basis, took]))]

    def sections(self) -> list[Section]:
        rows = []
        for each in (each for each in self.judges if each.verdict != "too few"):
            shares = map(percent_interval, (each.without, each.with_records, each.placebo))
            rows.append((each.judge, *shares, points(each.gain), each.verdict))
        none, retrieval, length = UNKNOWN, *map(percent_interval, (self.retrieval, self.length))
        rivals = [("retrieval alone", none, retrieval, none, none, "")]
        rivals += [("length: the longer one", length, none, none, none, "")]
        right = figures("without", "with records", "placebo", "with less without")
        columns = [*words("judge"), *right, *words("verdict")]
        tested = [each for each in self.judges if each.p_value is not None]
        tests = [f"{each.judge} {p_statement(each.p_value)}" for each in tested]
        both = ((each.judge, each.weight, each.weight_without) for each in self.judges)
        known = (each for each in both if None not in each)
        weights = [f"{judge} {a:g} with records, {b:g} without" for judge, a, b in known]
        # A judge alone has none.
        shown = f"of ballots in the review of a mixed panel: {'; '.join(weights)}"
        pairs = f"{self.pairs:,} of {self.of:,}, from {count(self.groups, 'group')}"
        rest = "intervals rest on groups, one of which is left out at a time"
        sentences = [
            ("Pairs", f"{pairs}; blind, both orders; {rest}"),
            ("Test", f"{'; '.join(tests)}, {FLIPPED}" if tests else ""),
            ("Placebo", "the same records, each with another's outcome: what a longer prompt does"),
        ]
        for each in (each for each in self.judges if each.by_time):
            over = over_time(each.by_time, declines=each.declines)
            sentences.append(("Over time", f"{each.judge}: {over}"))
        sentences.append(("Weights", shown if weights[1:] else ""))
        for each in (each for each in self.judges if each.invalid):
            undecided = f"{count(each.invalid, 'pair')} that {each.judge} did not decide"
            sentences.append(("Left out", undecided))
        return [
            *([Section(tables=[Table(columns, [*rows, *rivals], tones=TONES)])] if rows else []),
            Section(sentences=[(label, text) for label, text in sentences if text]),
        ]

    def page_sections(self) -> list[Section]:
        verdicts: dict[str, charts.ChartVerdict] = {"helps": "good", "harms": "bad"}
        rows = []
        for each in self.judges:
            said = f"{points(each.gain)} points: {each.verdict}"
            verdict = verdicts.get(each.verdict, "")
            rows.append(charts.ChartRow(each.judge, each.gain, said, verdict))
        sides, show = ("records mislead", "records help"), lambda value: f"{value * 100:+.3g}"
        title = "How much more often a judge is right with records, in points"
        chart = charts.interval_chart(title, rows, sides=sides, middle=0.0, scale=None, show=show)
        return [Section("What records do", charts=[chart]), *self.sections()]


def knowledge_report(story: Story) -> KnowledgeReport:
    assert story.task is not None
    assert story.settings is not None
    work = story.task.work
    assert isinstance(work, RecordedPairs)
    named = enumerate(story.settings.models.judges)
    judges = tuple(judge_answers(each, *_answers(story, work.pairs, at)) for at, each in named)
    return KnowledgeReport(
        source=work.source,
        judges=judges,
        length=clustered_share(group_values((each.group, each.length) for each in work.pairs)),
        retrieval=clustered_share(group_values((e.group, e.retrieval) for e in work.pairs)),
        pairs=len(work.pairs),
        of=work.of,
        groups=len({pair.group for pair in work.pairs}),
    )


def judge_answers(judge: str, answers: Sequence[PairAnswers], invalid: int) -> JudgeAnswers:
    def by_group(value: Callable[[PairAnswers], float]) -> list[list[float]]:
        return group_values((each.group, value(each)) for each in answers)

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
) -> tuple[KnowledgeVerdict, float | None]:
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
    story: Story, pairs: Sequence[RecordedPair], judge: int
) -> tuple[list[PairAnswers], int]:
    """The pairs that a judge decided in both orders under every condition, and how many it did not."""
    found = []
    for number, pair in enumerate(pairs, 1):
        known: dict[str, float] = {}
        for arm, name in zip(ARMS, ("without", "with_records", "placebo"), strict=True):
            panel = story.panels.get(pair_stage(number, arm))
            cast = [each for each in panel.ballots if each.seat // 2 == judge] if panel else []
            firsts = [each.ranking[0] for each in cast if each.ranking]
            if len(firsts) == 2:
                known[name] = firsts.count("better") / 2
        if len(known) == len(ARMS):
            found.append(PairAnswers(group=pair.group, when=pair.when, **known))
    return found, len(pairs) - len(found)


def pair_stage(number: int, arm: str) -> str:
    return sub_key("pairs", number, arm)


def _verdict(found: JudgeAnswers) -> str:
    if found.groups < MIN_GROUPS and found.pairs >= MIN_PAIRS:
        return few_groups(found.groups)
    if found.verdict == "too few":
        least = f"and {MIN_PAIRS} are the least to be tested"
        return f"too few: {found.judge} decided {count(found.pairs, 'pair')}, {least}"
    with_records, without = map(percent_interval, (found.with_records, found.without))
    seen = f"right on {with_records} with records and {without} without"
    if found.verdict == "not shown":
        return f"not shown to help: {found.judge} is {seen}; {likely_to_show(found.could_show)}"
    return f"{found.verdict}: {found.judge} is {seen}"


_WIDTH = 16


class KnowledgeTestJob(Job):
    """Judges decide recorded pairs blind: without records, with them, and with shuffled ones."""

    summary = "whether a folder of outcomes helps judges to see which of two texts does better"
    prompts = (*JUDGE_PROMPTS, "knowledge")

    async def run(self) -> JobFinished:
        self._room = asyncio.Semaphore(_WIDTH)
        pairs = enumerate(pairs_of(self.context.task), 1)
        works = [self._ask(number, arm, pair) for number, pair in pairs for arm in ARMS]
        await use_in_order(works, lambda ballots: [*map(self.emit, ballots)])
        return self.finish(knowledge_report(self.story).conclusion)

    async def _ask(self, number: int, arm: str, pair: RecordedPair) -> list[BallotCast]:
        shown = {"with": pair.known, "placebo": pair.placebo}.get(arm, ShownOutcomes())
        question = pair_stage(number, arm)
        context = self.context.within(
            question,
            self.emit,
            task=Task(
                brief=self.context.task.brief,
                knowledge=Knowledge(source="", digest="", judges=shown) if shown.all else None,
            ),
            # The same labels and the same seeds under every condition: only what is shown differs.
            seed_name=sub_key(PAIR, number),
        )
        texts = {"better": pair.better, "worse": pair.worse}
        ballots = []
        async with self._room:
            for seat in range(2 * len(self.settings.models.judges)):
                # Which text is first in the first of two orders must not tell which is better.
                turned = (seat + number) % 2 == 0
                order = ("better", "worse") if turned else ("worse", "better")
                ballot = await cast_ballot(context, PAIR, seat, order, texts, judge=seat // 2)
                ballots.append(replace(ballot, stage=question))
        return ballots

    @classmethod
    def plans(cls, settings: Settings) -> Plans:
        """Of one pair."""
        return ballot_plans(settings, 2 * len(ARMS) * len(settings.models.judges))

    @classmethod
    def plan_count(cls, task: Task) -> int:
        return len(pairs_of(task))

    @classmethod
    def check_task(cls, task: Task, settings: Settings) -> None:
        if not pairs_of(task):
            raise InvalidInput(f"{settings.job.label} has no pairs; give it a folder with outcomes")


def pairs_of(task: Task | None) -> tuple[RecordedPair, ...]:
    """The pairs of a task; none where it is about something else."""
    work = task.work if task else None
    return work.pairs if isinstance(work, RecordedPairs) else ()


def keep_verdicts(story: Story, run: str) -> None:
    """Append the verdict on every judge to those of the folder, once."""
    assert story.settings is not None
    folder = story.settings.job_as(KnowledgeTest).folder
    if any(each.run == run for each in read_tests(folder)):
        return
    now = datetime.now(UTC).isoformat(timespec="seconds")
    for each in knowledge_report(story).judges:
        found = TestResult(judge=each.judge, verdict=each.verdict, pairs=each.pairs, when=now)
        weights = {"weight": each.weight, "weight_without": each.weight_without}
        record_test(folder, replace(found, run=run, **weights))
