"""Panels over finished texts, all at once or two at a time, and recorded passes judged again by another panel."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from math import comb
from typing import Any, ClassVar, NamedTuple

from msgspec import Struct

from autoreason.characters import is_blank
from autoreason.contract import count_words, word_starts
from autoreason.errors import InvalidInput, PanelFailed
from autoreason.events import BallotCast, JobFinished, PanelDecided, ReviewDecided, Verdict
from autoreason.job_types import Judge, JudgePairs, Rejudge
from autoreason.jobs.context import Emit, side_by_side, use_in_order
from autoreason.jobs.job import Job, Plans, last_panel, panel_attempts
from autoreason.keys import PAIR, Key, attempt_stage, pass_key, sub_key
from autoreason.parsing.documents import same_text
from autoreason.report.numbers import UNKNOWN, count, describe_tie, percent
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, figures, words
from autoreason.settings import Settings
from autoreason.stats import BEYOND_CHANCE
from autoreason.stats.shares import holm
from autoreason.story import REVIEW, RecordedPanel, Story
from autoreason.task import Entry, Metric, Task
from autoreason.tournament.evidence import chance_of_margin
from autoreason.tournament.judges import JUDGE_PROMPTS, cast_ballot, seat_calls
from autoreason.tournament.panel import Panel
from autoreason.tournament.voting import PanelSize, from_scores, in_tie_order, quorum

MIN_TEXTS, MAX_TEXTS = 2, 10
_SENTENCE = re.compile(r"[^\n]*?[.!?…][\"'”’)\]*_]*(?=\s|\Z)|[^\n]+")
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_FENCE = re.compile(r"[ \t]*(```+|~~~+)")
_HEADING = re.compile(r"[ \t]*#{1,6} ")


def same_texts(texts: Mapping[str, str | None]) -> dict[str, tuple[str, ...]]:
    """For everyone who delivered, all who delivered the same text, itself included."""
    delivered = {name: text for name, text in texts.items() if text is not None}
    return {
        name: tuple(other for other, second in delivered.items() if same_text(text, second))
        for name, text in delivered.items()
    }


def distinct(texts: Mapping[str, str | None]) -> tuple[Entry, ...]:
    """What there is to judge, each text once, under the name of the first who delivered it."""
    entries: list[Entry] = []
    for name, text in texts.items():
        if text is not None and not any(same_text(text, entry.text) for entry in entries):
            entries.append(Entry(name=name, text=text))
    return tuple(entries)


def panel_job(texts: Mapping[str, str], *, pairwise: bool, equal_length: bool) -> Judge:
    kind = JudgePairs if pairwise else Judge
    return kind(
        cut_from={name: count_words(text) for name, text in texts.items()} if equal_length else {}
    )


def make_entries(texts: Mapping[str, str], *, equal_length: bool = False) -> tuple[Entry, ...]:
    if not MIN_TEXTS <= len(texts) <= MAX_TEXTS:
        missing, most = MIN_TEXTS - len(texts), f"{MIN_TEXTS} to {MAX_TEXTS} texts"
        fix = f"give {missing} more" if missing > 0 else f"leave out {len(texts) - MAX_TEXTS}"
        raise InvalidInput(f"a panel compares {most}, not {len(texts)}; {fix}")
    for name, text in texts.items():
        if is_blank(text):
            raise InvalidInput(f"{name} is empty; there is nothing to judge in it")
    if equal_length:
        texts = cut_to_equal_length(texts)
    for (name, text), (other, second) in combinations(texts.items(), 2):
        if same_text(text, second):
            alike = "begin alike and are the same once cut" if equal_length else "are the same text"
            raise InvalidInput(f"{name} and {other} {alike}; leave one of them out")
    return tuple(Entry(name=name, text=text.strip()) for name, text in texts.items())


def cut_to_equal_length(texts: Mapping[str, str]) -> dict[str, str]:
    """All texts cut to one length as nearly as sentences allow, layout kept.

    Of all lengths from half of the shortest text on, the one at which texts differ least is taken.
    """
    shortest = min(count_words(text) for text in texts.values())
    options = [
        {name: cut(text, words) for name, text in texts.items()}
        for words in range(shortest, shortest // 2, -1)
    ]

    def spread(cut_texts: Mapping[str, str]) -> float:
        lengths = [count_words(text) for text in cut_texts.values()]
        return (max(lengths) - min(lengths)) / max(lengths)

    return min(options, key=spread)


def cut(text: str, words: int) -> str:
    """The beginning of a text, up to so many words, where a sentence ends; never less than the first one."""
    starts = word_starts(text)
    if len(starts) <= words:
        return text.strip()
    end_of_text = 0
    for end in _ends(text):
        if end_of_text and bisect_left(starts, end) > words:
            break
        end_of_text = end
    return text[: end_of_text or len(text)].strip()


def _ends(text: str) -> Iterator[int]:
    """Where a text can be cut: after sentences and whole blocks of code, never after a heading."""
    fence = ""
    for line in _LINE.finditer(text):
        mark = _FENCE.match(line.group())
        if fence:
            # Only a mark of the same kind, and of no smaller length, ends a block.
            if mark and line.group().strip() == mark[1] and mark[1].startswith(fence):
                fence = ""
                yield line.end()
        elif mark:
            fence = mark[1]
        elif not _HEADING.match(line.group()):
            yield from (sentence.end() for sentence in _SENTENCE.finditer(text, *line.span()))


def ballot_plans(settings: Settings, ballots: int) -> Plans:
    """Calls for so many ballots."""
    calls = seat_calls(settings)
    return {"judge": ballots}, {"judge": ballots * calls.usual}, {"judge": ballots * calls.most}


class PanelJob(Job):
    prompts = JUDGE_PROMPTS
    fewer_calls = "lower `judges`"
    ballots_per_judge: ClassVar[int] = 1
    """In one panel."""

    @classmethod
    def plans(cls, settings: Settings) -> Plans:
        return ballot_plans(settings, settings.judges * cls.ballots_per_judge)

    @classmethod
    def min_calls(cls, task: Task, settings: Settings) -> int:
        return sum(cls.plans(settings)[0].values()) * cls.plan_count(task)

    @classmethod
    def check_task(cls, task: Task, settings: Settings) -> None:
        if not task.entries:
            raise InvalidInput(f"{settings.job.name} has no texts; give the task its entries")


STAGE = "panel"
_FEW = 3


class RankedPanel(PanelJob):
    summary = "a blind panel over finished texts"

    async def run(self) -> JobFinished:
        texts = {entry.name: entry.text for entry in self.context.task.entries}
        for attempt in panel_attempts(self.context):
            stage = attempt_stage(STAGE, attempt)
            panel = Panel(self.context, stage, texts, PanelSize(self.settings.judges))
            verdict = await panel.run()
            self.emit(PanelDecided(stage=stage, verdict=verdict))
            if verdict:
                reason = f"{verdict.winner} has the most points of {verdict.ballots} judges"
                if verdict.tied:
                    reason = describe_tie(verdict.scores, verdict.winner)
                return self.finish(reason, texts[verdict.winner], verdict.winner)
        pairs = "; judges who cannot rank so many at once may compare two at a time, pairwise"
        raise PanelFailed(
            f"{len(panel.rankings)} of {len(panel.ballots)} rankings could be read, too few to decide"
            f"{pairs if len(texts) > _FEW else ''}"
        )


class PairVote(NamedTuple):
    judge: int
    winner: str | None
    """None where the judge flipped with the order, or gave no valid ballot."""
    flipped: bool


class PairwisePanel(PanelJob):
    summary = "a blind panel over finished texts, two at a time, in both orders"
    ballots_per_judge = 2

    async def run(self) -> JobFinished:
        texts = {entry.name: entry.text for entry in self.context.task.entries}
        for attempt in panel_attempts(self.context):
            await self._run_duels(texts, attempt)
            duels = votes_by_pair(self.story.panels)
            all_votes = [vote for each in duels.values() for vote in each]
            winners = [vote.winner for vote in all_votes]
            points = {name: winners.count(name) for name in texts}
            valid = sum(vote.winner is not None or vote.flipped for vote in all_votes)
            if valid >= quorum(len(all_votes)) and any(points.values()):
                result = from_scores(points, list(points))
                won = f"{points[result.winner]} of {sum(points.values())} votes over all pairs"
                reason = f"{result.winner} has {won}"
                if result.tied:
                    reason = f"{describe_tie(points, result.winner)}; each has {won}"
                return self.finish(reason, texts[result.winner], result.winner)
        if valid < quorum(len(all_votes)):
            raise PanelFailed(
                f"{valid} of {len(all_votes)} judges could be read both ways round, too few to decide"
            )
        raise PanelFailed("no judge kept to a choice when the order was reversed")

    @classmethod
    def plan_count(cls, task: Task) -> int:
        return comb(len(task.entries), 2)

    async def _run_duels(self, texts: Mapping[str, str], attempt: int) -> None:
        stages = {
            attempt_stage(sub_key(PAIR, at), attempt): pair
            for at, pair in enumerate(combinations(texts, 2), 1)
        }
        seats = [
            cast_ballot(self.context, stage, seat, order, texts, judge=seat // 2)
            for stage, pair in stages.items()
            for seat, order in enumerate(_orders(pair, self.settings.judges))
        ]
        await use_in_order(seats, self.emit)
        for stage in stages:
            pair_votes = votes(self.story.panels[stage].ballots)
            self.emit(PanelDecided(stage=stage, verdict=pair_verdict(pair_votes)))


def _orders(pair: tuple[str, str], judges: int) -> list[tuple[str, ...]]:
    """Judge by judge both ways round; every other judge begins with the second text."""
    return [pair[:: -1 if seat % 4 in (1, 2) else 1] for seat in range(2 * judges)]


def votes_by_pair(panels: Mapping[str, RecordedPanel]) -> dict[tuple[str, str], list[PairVote]]:
    return {
        (panel.ballots[0].order[0], panel.ballots[0].order[1]): votes(panel.ballots)
        for panel in duels_of(panels)
    }


def duels_of(panels: Mapping[str, RecordedPanel]) -> list[RecordedPanel]:
    duels = [
        panel for panel in panels.values() if Key.parse(panel.stage).head == PAIR and panel.ballots
    ]
    return list({frozenset(panel.ballots[0].order): panel for panel in duels}.values())


def votes(ballots: Sequence[BallotCast]) -> list[PairVote]:
    pair_votes = []
    for judge in range(len(ballots) // 2):
        firsts = [b.ranking[0] if b.ranking else None for b in ballots[2 * judge : 2 * judge + 2]]
        valid = None not in firsts
        agreed = valid and firsts[0] == firsts[1]
        pair_votes.append(PairVote(judge, firsts[0] if agreed else None, valid and not agreed))
    return pair_votes


def pair_verdict(pair_votes: Sequence[PairVote]) -> Verdict | None:
    winners = [vote.winner for vote in pair_votes if vote.winner]
    if not winners:
        return None
    scores = {name: winners.count(name) for name in sorted(set(winners))}
    winner = max(scores, key=lambda name: scores[name])
    margin = 2 * scores[winner] - len(winners)
    return Verdict(
        winner=winner,
        scores=scores,
        margin=margin,
        chance=chance_of_margin(len(winners), margin, candidates=2),
        tied=margin == 0,
        ballots=len(winners),
        invalid=sum(vote.winner is None for vote in pair_votes),
        agreement=None,
    )


_AGAIN = "again"


class Decision(Struct, frozen=True):
    stage: str
    recorded_winner: str
    new_winner: str | None
    """None where too few of the new ballots were valid."""
    recorded_verdict: Verdict | None
    new_verdict: Verdict | None
    changed: bool


class RejudgeReport(Report, Struct, frozen=True, kw_only=True):
    """Recorded decisions and those of another panel."""

    rejudged_run: str
    decisions: tuple[Decision, ...]

    heading = "Recorded panels, judged again"

    @property
    def conclusion(self) -> str:
        judged = [each for each in self.decisions if each.new_verdict]
        changed = sum(each.changed for each in self.decisions)
        clear = sum(each.changed for each in beyond_chance(self.decisions))
        by = f", {clear or 'none'} of them by a lead beyond chance" if changed else ""
        undecided = len(self.decisions) - len(judged)
        exclusion = f"; {undecided} got too few valid ballots to say" if undecided else ""
        recorded = [each.recorded_verdict for each in self.decisions if each.recorded_verdict]
        seats = " and a ".join(dict.fromkeys(name for each in recorded for name in each.code))
        alone = f"; a {seats} had a seat on those, and none on this one" if seats else ""
        return (
            f"another panel would have decided {changed} of {len(judged)} "
            f"recorded panels otherwise{by}{exclusion}{alone}"
        )

    def sections(self) -> list[Section]:
        heads = ("recorded", "other panel", "", "its lead")
        rows = []
        for each in self.decisions:
            lead = _lead(each.new_verdict) if each.new_verdict else "too few valid ballots"
            winners = (each.recorded_winner, each.new_winner or UNKNOWN)
            rows.append((each.stage, *winners, "changed" * each.changed, lead))
        columns = [*words("decision"), *figures(*heads)]
        return [Section(tables=[Table(columns, rows, tones={"changed": "warning"})])]

    def run_fields(self) -> dict[str, Any]:
        return self.to_dict()


def _lead(verdict: Verdict) -> str:
    if verdict.tied:
        return "a tie"
    if verdict.margin < 0:
        return f"{count(-verdict.margin, 'point')} behind"
    return f"{count(verdict.margin, 'point')}, {percent(verdict.chance)} by chance"


class RejudgeJob(PanelJob):
    summary = "recorded passes judged again by another panel"

    async def run(self) -> JobFinished:
        stages = stages_of(self.context.task)
        for attempt in panel_attempts(self.context):
            works = [partial(self._judge_again, stage, attempt) for stage in stages]
            verdicts = await side_by_side(self.emit, works)
            if any(verdicts):
                return self.finish(f"{len(stages)} panels were run again")
        raise PanelFailed("of no panel enough rankings could be read to decide anything")

    @classmethod
    def plan_count(cls, task: Task) -> int:
        return len(stages_of(task))

    async def _judge_again(self, stage: str, attempt: int, emit: Emit) -> Verdict | None:
        texts = {e.name: e.text for e in self.context.task.entries if e.stage == stage}
        context = replace(self.context, emit=emit)
        stage_again = attempt_stage(stage, attempt)
        panel = Panel(context, stage_again, texts, PanelSize(self.settings.judges))
        verdict = await panel.run()
        emit(PanelDecided(stage=stage_again, verdict=verdict))
        return verdict


def stages_of(task: Task) -> list[str]:
    return list(dict.fromkeys(entry.stage for entry in task.entries))


def recorded_panels(story: Story, run: str) -> Task:
    """A run's task with the texts of every panel, in the order in which ties are decided."""
    if story.task is None or story.settings is None:
        raise InvalidInput(f"run {run} was killed before anything was recorded")
    entries: list[Entry] = []
    for recorded in story.passes:
        if recorded.verdict:
            stage = sub_key(_AGAIN, pass_key(recorded.number))
            slots = in_tie_order(recorded.verdict.scores, story.settings)
            texts = {"A": recorded.incumbent} | {s: c.text for s, c in recorded.candidates.items()}
            entries += [Entry(name=slot, text=texts[slot], stage=stage) for slot in slots]
    for stage, review, verdict in _reviews(story):
        # Ties go to the latest, which is last among the finalists; of two stages the last one decided.
        ranked = [text for text in reversed(review.texts) if text.name in verdict.scores]
        entries += [Entry(name=text.name, text=text.text, stage=stage) for text in ranked]
    is_text = not story.task.work or isinstance(story.task.work, Metric)
    if not entries or not is_text:
        raise InvalidInput(
            f"run {run} has no round and no review of texts that a panel decided; name one that has, "
            "or give finished texts to `autoreason judge`"
        )
    return Task(
        brief=story.task.brief,
        facts=story.task.facts,
        contract=story.task.contract,
        criteria=story.task.criteria,
        entries=tuple(entries),
        knowledge=story.task.knowledge and story.task.knowledge.origin(),
    )


def _reviews(story: Story) -> Iterator[tuple[str, ReviewDecided, Verdict]]:
    """Reviews that decided something, under the stage of a new panel over their texts."""
    for review in (each.decided for each in story.reviews):
        if review and review.verdict:
            after = (review.after,) if review.after else ()
            yield sub_key(_AGAIN, REVIEW, *after), review, review.verdict


def rejudge_report(story: Story, before: Story) -> RejudgeReport:
    run = rejudged_run(story)
    return RejudgeReport(rejudged_run=run, decisions=tuple(decisions(before, story.panels)))


def rejudged_run(story: Story) -> str:
    assert story.settings is not None
    return story.settings.job_as(Rejudge).of


def decisions(before: Story, panels: Mapping[str, RecordedPanel]) -> list[Decision]:
    verdicts = {
        sub_key(_AGAIN, pass_key(recorded.number)): recorded.verdict
        for recorded in before.passes
        if recorded.verdict
    }
    verdicts |= {stage: verdict for stage, _, verdict in _reviews(before)}
    found = []
    for stage, was in verdicts.items():
        panel = last_panel(panels, stage)
        now = panel.verdict if panel else None
        name, winner = " ".join(Key.parse(stage).steps[1:]), now.winner if now else None
        changed = winner not in (None, was.winner)
        found.append(Decision(name, was.winner, winner, was, now, changed))
    return found


def beyond_chance(decisions: Sequence[Decision]) -> list[Decision]:
    """Decisions with a lead that chance would seldom give, corrected for the number of panels (Holm)."""
    chances = holm([each.new_verdict.chance if each.new_verdict else None for each in decisions])
    return [
        each
        for each, chance in zip(decisions, chances, strict=True)
        if chance is not None and chance <= BEYOND_CHANCE
    ]
