"""The report of a research run: noise, search, what was kept, and the one number that is claimed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from math import isfinite, sqrt
from typing import NamedTuple

from msgspec import Struct

from autoreason.artifacts.acceptance import MIN_PAIRS, Effect, EndResult, mean_of
from autoreason.artifacts.research_history import (
    NORMAL,
    EndTested,
    FinalistsMeasured,
    NoiseMeasured,
    ProposalSource,
    ResearchHistory,
    TrialDecided,
    TrialStatus,
    figure,
    name_trial,
    show_effect,
    show_gain,
    signed,
)
from autoreason.artifacts.research_task import Better
from autoreason.events import FINISHED
from autoreason.report import charts
from autoreason.report.numbers import UNKNOWN, count
from autoreason.report.report import Report, Section, add_warnings
from autoreason.report.table import Column, Table, figures, words
from autoreason.stats import Estimate
from autoreason.story import Story
from autoreason.tournament.statements import ENDINGS

_REASONS = 4
"""Reasons for refusals that are shown, the most frequent ones."""
_SERIES = ("kept, with its 95 % interval", "not kept")
_UNCHECKED = "the evaluator was not checked: the artifact may have written its own score"
_WORSE = "the result is worse than the start, keep that"


class TrialRow(Struct, frozen=True, kw_only=True):
    """One proposal and what became of it."""

    number: int
    incumbent: int
    """The trial it was measured against; 0 is the start."""
    by: ProposalSource
    status: TrialStatus
    reason: str
    hypothesis: str
    expected: str
    effect: Effect | None
    """As it was measured; of a kept change it is flattered."""
    shrunken: float | None
    """What a kept change in the result is worth, where all are scaled to the end test; None of others, and without one.

    On fresh evaluations it is the gain without luck; sealed items may differ from the loop's in more than that.
    """
    mean: float | None
    """Of its evaluations, as the evaluator returned them."""
    evaluations: int
    shared: int
    """Runs of eight words that it shares with items."""


class ResearchReport(Report, Struct, frozen=True, kw_only=True):
    """A research run in numbers; gains are positive where the result is better."""

    metric: str
    better: Better
    evaluations: int
    """Evaluations that were made for what is decided."""
    noise: NoiseMeasured | None
    trials: tuple[TrialRow, ...]
    statuses: dict[str, int]
    """Proposals by what became of them."""
    idle: int | None
    """At least so many kept changes in the result do nothing or harm; None without an end test on fresh evaluations."""
    loop_gain: float | None
    """What the loop itself saw of the result: biased by selection."""
    playoff: FinalistsMeasured | None
    end: EndTested | None
    gain: EndResult | None
    """The end test: the only number that is claimed."""
    claimed: bool
    """Whether it is."""
    result: int
    """The trial whose artifact is the result; 0 is the start."""
    claim: str
    test: str
    """What the end test shows; empty where none was made."""

    heading = "Research"

    @property
    def conclusion(self) -> str:
        return self.claim

    def summary(self, took: str = "") -> list[str]:
        """What is claimed, what the search tried and saw, and on what it rests."""
        kept, tried = len(self.kept), count(len(self.trials), "change")
        means = _end_means(self.end)
        reach = (self.gain.high - self.gain.low) / 2 if self.gain else 0.0
        moved = " → ".join(figure(mean, reach) for mean in means.values())
        ends = f"{self.metric.capitalize()} {moved}. " if len(means) > 1 else ""
        lines = [self._claimed(), f"{ends}{tried} tried, {kept or 'none'} kept."]
        saw, found = self.loop_gain, self.gain
        if saw is not None and found and not self.claimed and saw > found.gain:
            size = f"a {'fall' if self._falls(saw) else 'rise'} of {figure(abs(saw), abs(saw))}"
            lines[1] += f" The search itself saw {size}; that was chosen, do not quote it."
        evaluations = count(self.evaluations, "evaluation")
        lines.append(" · ".join(filter(None, [evaluations, took])))
        warnings = [f"Check it: {text}." for text in (_UNCHECKED,) if text in self.claim]
        if found and self.claimed:
            warnings.append(f"{_unseen(found)}.")
        if any(each.shared for each in self.kept):
            warnings.append("Check it: a kept change repeats words of the items; see --evidence.")
        return add_warnings(lines, warnings)

    def _claimed(self) -> str:
        """The end test in plain words; where it shows nothing, or rests on few or equal numbers, as it is claimed."""
        found = self.gain
        broken = self.end is not None and self.end.broken
        if found is None or broken or found.deterministic or not isfinite(found.low):
            claim = self.claim.partition("; ")[0]
            return f"{claim[:1].upper()}{claim[1:]}."
        reach = (found.high - found.low) / 2
        low, high = (self._move(end, reach) for end in (found.low, found.high))
        size = self._move(found.gain, reach)
        if found.shown and self.claimed:
            ends = f"{figure(found.low, reach)} to {figure(found.high, reach)}"
            return (
                f"{self.metric.capitalize()} {size} ({ends}), measured on evaluations that decided "
                "nothing."
            )
        verdict = "Worse than the start, which is to be kept" if found.worse else "No gain is shown"
        return f"{verdict}: {self.metric} {size} ({low} to {high})."

    def _move(self, gain: float, reach: float = 0.0) -> str:
        size = figure(abs(gain), reach or abs(gain))
        return f"{'fell' if self._falls(gain) else 'rose'} by {size}"

    def _falls(self, gain: float) -> bool:
        return (gain > 0) == (self.better == "lower")

    @property
    def kept(self) -> tuple[TrialRow, ...]:
        return tuple(trial for trial in self.trials if trial.status == "kept")

    def sections(self) -> list[Section]:
        sections = [Section(sentences=list(self._summary()), folded=True)]
        if self.gain and isfinite(self.gain.low):
            sections.append(Section("The end test", charts=[self._end_chart(self.gain)]))
        if self.trials and self.noise:
            sections.append(Section("The search", charts=[_search_chart(self, self.noise)]))
        if self.kept:
            table = _kept_table(self.kept, sealed=bool(self.end and self.end.sealed))
            sections.append(Section("Kept changes", tables=[table]))
        return sections

    def _end_chart(self, found: EndResult) -> charts.Chart:
        verdict: charts.ChartVerdict = "good" if self.claimed else "bad" if found.worse else ""
        gain = show_gain(found.gain, found.low, found.high)
        said = {"good": "a gain is shown", "bad": "worse than the start", "": "no gain is shown"}
        if found.deterministic:
            said = said | {"": "not claimed", "good": "the same in every pair"}
        place = self.end.place if self.end else "fresh evaluations"
        estimate = Estimate(found.gain, found.low, found.high, n=found.n)
        means = ", ".join(f"{name} {figure(mean)}" for name, mean in _end_means(self.end).items())
        fall = f"a fall in {self.metric} counts as a gain; " if self.better == "lower" else ""
        return charts.interval_chart(
            "Result against start",
            [charts.ChartRow(f"result, on {place}", estimate, f"{gain}: {said[verdict]}", verdict)],
            sides=("the start is ahead", "the result is ahead"),
            middle=0.0,
            scale=None,
            show=partial(figure, reach=found.high - found.low),
            note=f"Means of {self.metric}: {means}; {fall}these evaluations decided nothing before. "
            "The line is where the gain can lie (95 %).",
        )

    def _summary(self) -> Iterator[tuple[str, str]]:
        if self.noise:
            yield "Noise", self.noise.describe(self.metric)
        parts = ", ".join(f"{number} {status}" for status, number in self.statuses.items())
        tried = count(len(self.trials), "proposal") + (f": {parts}" if parts else "")
        yield "Search", f"{tried}; {count(self.evaluations, 'evaluation')}"
        for status in ("refused", "failed", "guarded"):
            reasons = Counter(each.reason for each in self.trials if each.status == status)
            for reason, number in reasons.most_common(_REASONS):
                yield status.capitalize(), f"{number} × {reason}"
            if len(reasons) > _REASONS:
                others = count(len(reasons) - _REASONS, "other reason")
                yield status.capitalize(), f"and {others}"
        if self.playoff:
            yield "Playoff", self.playoff.describe()
        if self.test:
            yield "End test", self.test
        for trial in self.kept:
            if trial.shared:
                yield (
                    "Attention",
                    f"trial {trial.number} was kept and shares {count(trial.shared, 'run')} of eight "
                    "words with items that the start does not: see whether it repeats answers",
                )


def research_report(story: Story) -> ResearchReport:
    history = ResearchHistory(story)
    corrected, used = history.corrected, history.delivered.trials
    effects = corrected.effects if corrected else (None,) * len(used)
    shrunken = {trial.number: each for trial, each in zip(used, effects, strict=True)}
    ended = f"{ENDINGS[story.status]}: {story.reason}".rstrip(": ")
    ending = "" if story.status in FINISHED else ended
    claim = _Claim(history)
    same = set(TrialRow.__struct_fields__) & set(TrialDecided.__struct_fields__)
    return ResearchReport(
        metric=history.research.metric,
        better=history.research.better,
        evaluations=history.evaluations,
        noise=history.noise,
        trials=tuple(
            TrialRow(
                **{name: getattr(trial, name) for name in same},
                shrunken=shrunken.get(trial.number),
                mean=mean_of(trial.values) if trial.values else None,
            )
            for trial in history.trials
        ),
        statuses=dict(Counter(trial.status for trial in history.trials).most_common()),
        idle=history.idle,
        loop_gain=history.loop_gain,
        playoff=history.playoff,
        end=history.end,
        gain=history.end_result,
        claimed=history.claimed,
        result=history.result,
        claim=claim.conclusion(ending, accepted=story.status == "accepted"),
        test=claim.test(history.end) if history.end else "",
    )


class _Claim:
    """What is claimed of a run, in sentences; fresh evaluations or sealed items are the only ground of a claim."""

    def __init__(self, history: ResearchHistory) -> None:
        self.history = history
        self.found = history.end_result
        fork = f" of this fork, which is the result of {history.forked_from}"
        self.start = f"the start{fork if history.forked_from else ''}"
        """What a claim is against, which is not what a fork's patch leads from."""

    def test(self, end: EndTested) -> str:
        if fault := self._fault(end, "a gain"):
            return f"nothing: {fault}"
        assert self.found is not None
        pairs = count(self.found.n, "pair")
        if self.found.deterministic:
            return f"{self._against(end, self.found)}, the same in every one of {pairs}"
        items = ""
        if end.sealed:
            least, more = divmod(self.history.research.sealed, len(end.start))
            each = f"{least} or {least + 1} items" if more else count(least, "item")
            items = f" of evaluations on {each} each"
        return f"{self._against(end, self.found)} over {pairs}{items}, 95 % interval"

    def _fault(self, end: EndTested, what: str) -> str:
        """Why an end test shows nothing; empty where it does."""
        if self.found is None:
            failures = sum(value is None for value in end.result)
            total = len(end.result)
            made = count(total, f"evaluation on {end.place}", f"evaluations on {end.place}")
            if failures:
                return f"the result gave no number in {failures} of {made}"
            return f"the start gave no number in {made}"
        if end.broken:
            return f"the result breaks a guard on {end.place}: {end.broken}"
        if not isfinite(self.found.low):
            pairs = count(self.found.n, "pair")
            return f"{pairs} of evaluations, and {MIN_PAIRS} are needed to show {what}"
        return ""

    def _against(self, end: EndTested, found: EndResult) -> str:
        history = self.history
        start = f"{self.start}," if history.forked_from else "start"
        gain = show_gain(found.gain, found.low, found.high)
        lower = history.research.better == "lower"
        unit = f" as a fall in {history.research.metric}" if lower else ""
        return f"result against {start} on {end.place} {gain}{unit}"

    def conclusion(self, ending: str, *, accepted: bool) -> str:
        """What is claimed of a run that has ended, and on what it rests; else that nothing is."""
        history = self.history
        tried = f"{count(len(history.trials), 'proposal')}, {len(history.kept) or 'none'} kept"
        if accepted:
            return (
                f"{name_trial(history.result)} was accepted by a person before the end test, "
                f"so no gain is claimed; {tried}{self._loop_gain()}"
            )
        if ending:
            none = "no end test was made yet" if history.kept else "there is nothing to test yet"
            return f"{ending}; {none}, so no gain is claimed; {tried}"
        if history.end is None:
            return f"{self._only_start()}; {tried}"
        return "; ".join([self._claim(history.end), tried, *self._remarks(history.end)])

    def _only_start(self) -> str:
        history = self.history
        if history.kept:
            broken = history.playoff.broken if history.playoff else {}
            faults = (f"{name_trial(at)} breaks a guard ({why})" for at, why in broken.items())
            why = ", ".join(faults) or "fresh evaluations preferred the start to what was kept"
            result = f"the result is {self.start}{self._loop_gain()}"
            return f"no gain: in the playoff {why}, so {result}"
        target = history.research.target
        if not history.trials and target is not None:
            return (
                f"{self.start}{',' if history.forked_from else ''} reaches the target of "
                f"{figure(target)} already, so nothing was asked and it is the result"
            )
        return f"no gain: no change was kept, so the result is {self.start}"

    def _claim(self, end: EndTested) -> str:
        """The one number that is claimed, or why none is; and what the loop itself saw."""
        found, saw = self.found, self._loop_gain()
        fault = self._fault(end, "one")
        if fault or found is None:
            few = found is not None and not end.broken and found.worse
            worse = f", and there {_WORSE}" if few else ""
            return f"no gain is claimed: {fault}{worse}{saw}"
        against = self._against(end, found)
        if not found.deterministic:
            verdict = "" if found.shown else f"{_WORSE}: " if found.worse else "no gain is shown: "
            return f"{verdict}{against}{saw}"
        always = f"{against}, the same in every one of {count(found.n, 'pair')}"
        if found.gain <= 0:
            return f"{_WORSE if found.worse else 'no gain'}: {always}"
        if not self.history.claimed:
            return (
                f"{always}, but on the items that chose it: "
                "nothing is claimed of others; name `sealed` items in the task"
            )
        if end.sealed:
            # Each had items of its own, so that equal numbers do not show that there is no noise.
            return always
        made = count(self.history.evaluations, "evaluation")
        return f"{always}; no noise was seen in {made}"

    def _loop_gain(self) -> str:
        """What the loop itself saw of the result, which was chosen for it."""
        seen, found = self.history.loop_gain, self.found
        if seen is None:
            return ""
        saw = f"; the loop itself saw {signed(seen, self.history.spread or abs(seen))}"
        if found is not None and seen <= found.gain:
            # The end test shows no less, so that selection has not flattered it.
            return f"{saw} on the evaluations that chose the result, do not quote it"
        return f"{saw}, which is selection, do not quote it"

    def _remarks(self, end: EndTested) -> Iterator[str]:
        history, found = self.history, self.found
        used = history.delivered.trials
        if history.idle and any(each.effect and each.effect.error for each in used):
            yield describe_idle(history.idle, len(used), len(history.kept))
        if found and not found.deterministic and isfinite(found.least):
            least = figure(found.least, found.least)
            yield f"such a test shows a gain of {least} four times in five"
        if history.claimed and found:
            yield _unseen(found)
        if found and found.n < len(end.start):
            missing = count(len(end.start) - found.n, "pair")
            yield f"{missing} left out, because the start gave no number there"
        if end.opened > 1:
            yield f"the sealed set has been opened {end.opened} times"
        if history.research.unchecked:
            yield _UNCHECKED


def _unseen(found: EndResult) -> str:
    rare = f"in fewer than {100 * found.unseen:.0f} % of evaluations"
    return f"{count(found.n, 'pair')} would not surely show a result that collapses {rare}"


def describe_idle(idle: int, used: int, kept: int) -> str:
    """How many of the kept changes in the result do nothing or harm, in words."""
    if used == 1:
        return f"{'it' if kept == 1 else 'the one in the result'} probably did not help"
    them = "them" if used == kept else f"the {used} in the result"
    return f"at least {idle} of {them} probably did not help"


def _kept_table(kept: Sequence[TrialRow], *, sealed: bool) -> Table:
    """Kept changes with what they seemed worth and what they probably are."""
    columns = [
        Column("trial"),
        Column("change", figures=False, least=20),
        Column("gain as measured", spare=1),
        Column("scaled to end test" if sealed else "without luck"),
        Column("evaluations", spare=2),
    ]
    rows = []
    for each in kept:
        found, shrunken = each.effect, each.shrunken
        rows.append(
            (
                str(each.number),
                each.hypothesis or UNKNOWN,
                show_effect(found) if found else UNKNOWN,
                signed(shrunken, NORMAL * found.error)
                if found and shrunken is not None
                else UNKNOWN,
                str(found.evaluations) if found else UNKNOWN,
            )
        )
    return Table(columns, rows)


def _trial_table(trials: Sequence[TrialRow], spread: float) -> Table:
    columns = [
        *(*figures("trial"), *words("on", "status")),
        *figures("mean (95 %)", "gain as measured", "evaluations"),
        *words("hypothesis", "reason"),
    ]
    rows = [
        (
            str(trial.number),
            name_trial(trial.incumbent),
            trial.status,
            UNKNOWN
            if trial.mean is None or trial.effect is None
            else _Mark(0, trial.mean, _reach(spread, trial.effect.evaluations)).about,
            show_effect(trial.effect) if trial.effect else UNKNOWN,
            str(trial.evaluations),
            trial.hypothesis or UNKNOWN,
            trial.reason,
        )
        for trial in trials
    ]
    return Table(columns, rows, tones={"kept": "good", "failed": "warning", "guarded": "warning"})


class _Mark(NamedTuple):
    """A mean over the evaluations that were made by then, and how far its interval reaches."""

    at: int
    mean: float
    reach: float

    @property
    def about(self) -> str:
        if not self.reach:
            return figure(self.mean)
        return f"{figure(self.mean, self.reach)} ± {self.reach:.2g}"


def _reach(spread: float, evaluations: int) -> float:
    return NORMAL * spread / sqrt(evaluations)


def _search_chart(report: ResearchReport, noise: NoiseMeasured) -> charts.Chart:
    """The incumbent's mean with its interval, step by step, and candidates that were not kept."""
    at = len(noise.values)
    line = [_Mark(at, mean_of(noise.values), _reach(noise.spread, at))]
    others: list[_Mark] = []
    for trial in report.trials:
        at += trial.evaluations
        if trial.mean is not None and trial.effect is not None:
            mark = _Mark(at, trial.mean, _reach(noise.spread, trial.effect.evaluations))
            (line if trial.status == "kept" else others).append(mark)
    last = max(at, report.evaluations) + 1
    kept = charts.steps([charts.Point(mark.at, mark.mean, mark.about) for mark in line], last)
    for mark in line:
        ends = mark.mean - mark.reach, mark.mean + mark.reach
        kept += [None, *(charts.Point(mark.at, end) for end in ends)]
    left = [p for mark in others for p in (charts.Point(mark.at, mark.mean, mark.about), None)]
    shades = charts.colours(_SERIES)
    series = [
        charts.Series(name, shades[name], each)
        for name, each in zip(_SERIES, (kept, left), strict=True)
    ]
    heights = [point.y for found in (kept, left) for point in found if point]
    show = partial(figure, reach=max(heights) - min(heights))
    heading = f"{report.metric} ({report.better} is better)"
    # The name of a metric may be longer than the axis.
    axes = charts.Lines(series, "evaluations", show=show, x_range=(0, last), heading=heading)
    return charts.line_chart(
        "What was kept, step by step",
        _trial_table(report.trials, noise.spread),
        axes,
        note="What is kept was chosen for these numbers, which flatters it; only the end test is claimed.",
    )


def _end_means(end: EndTested | None) -> dict[str, float]:
    """The start and the result on fresh evaluations, where there are any."""
    values = {"start": end.start, "result": end.result} if end else {}
    known = {name: [each for each in found if each is not None] for name, found in values.items()}
    return {name: mean_of(found) for name, found in known.items() if found}
