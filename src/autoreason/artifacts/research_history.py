"""What happens in research, in events that say what they show, and the fold over them: trials, kept changes, result."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from math import floor, inf, isfinite, log10
from statistics import mean
from typing import Literal, NamedTuple

from msgspec import field

from autoreason.artifacts import acceptance
from autoreason.artifacts.artifact import Changes, Files, path_fault, with_changes
from autoreason.artifacts.research_task import ResearchTask, research_of
from autoreason.errors import JournalError
from autoreason.events import Event
from autoreason.job_types import Research
from autoreason.report.numbers import count, duration, shorten
from autoreason.story import Story

TrialStatus = Literal["kept", "dropped", "refused", "failed", "guarded"]
"""`refused` by code before an evaluation; `failed` without a value; `guarded` by a guard, whatever the metric said."""
ProposalSource = Literal["model", "optimiser"]
NORMAL = 1.96
"""Standard errors to each side of a mean that its interval of 95 % reaches."""
_MAX_DIGITS = 12
_LONG = 1e15
"""From here on numbers are written with a power of ten."""
_MAX_IDEA = 100


def figure(value: float, reach: float = 0.0) -> str:
    """A number with as many digits as its uncertainty leaves; six where there is none."""
    digits = max(0, 1 - floor(log10(reach))) if reach and isfinite(reach) else inf
    if digits > _MAX_DIGITS or abs(value) >= _LONG:
        return f"{value:z.6g}"
    return f"{value:z,.{digits}f}"


def signed(value: float, reach: float = 0.0) -> str:
    text = figure(value, reach)
    return text if text.startswith("-") or not text.strip("0.,") else f"+{text}"


def show_gain(value: float, low: float, high: float) -> str:
    """`+0.021 (0.009 to 0.033)`."""
    reach = (high - low) / 2
    if not reach or not isfinite(reach):
        return signed(value)
    return f"{signed(value, reach)} ({figure(low, reach)} to {figure(high, reach)})"


def show_effect(found: acceptance.Effect) -> str:
    """An effect with its interval of 95 %."""
    reach = NORMAL * found.error
    return show_gain(found.value, found.value - reach, found.value + reach)


def name_trial(trial: int) -> str:
    """The artifact after a trial, in words."""
    return f"trial {trial}" if trial else "the start"


class NoiseMeasured(Event, frozen=True, kw_only=True):
    """The start was measured several times, before the first proposal."""

    values: tuple[float, ...]
    spread: float
    """Standard deviation of one evaluation; 0 where all are equal."""
    seconds: float
    """Of one evaluation, on average."""
    level: str = ""
    """How artifacts were kept from everything else."""
    drawn: bool = False
    """Items were drawn for each evaluation, so that equal values do not show that there is no noise."""

    def describe(self, metric: str = "") -> str:
        number = count(len(self.values), "evaluation")
        takes = f"{duration(self.seconds)} each"
        average = mean(self.values)
        metric = f"{metric} " if metric else ""
        if len(self.values) == 1:
            return f"one evaluation of the start: {metric}{figure(average)}, {takes}"
        if not self.spread:
            shows = "on items drawn anew, maybe by chance" if self.drawn else "no noise was seen"
            return f"{number} of the start all gave {metric}{figure(average)}: {shows}, {takes}"
        return (
            f"{number} of the start: {metric}{figure(average, self.spread)} on average, "
            f"spread {figure(self.spread, self.spread)}, {takes}"
        )

    @property
    def line(self) -> str:
        return f"noise: {self.describe()}"


class TrialDecided(Event, frozen=True, kw_only=True):
    """A proposal was measured, or refused, and is decided."""

    worded = ("reason",)
    number: int
    """From 1."""
    incumbent: int
    """The trial whose artifact it was measured against; 0 is the start."""
    by: ProposalSource
    hypothesis: str = ""
    expected: str = ""
    """The effect that the proposer expected, in its words."""
    status: TrialStatus
    reason: str
    changes: Changes = field(default_factory=dict)
    """Paths with their new texts; None where a file is removed. Empty where it was refused."""
    values: tuple[float, ...] = ()
    """Evaluation by evaluation, as the evaluator returned them."""
    seeds: tuple[int, ...] = ()
    """Which of the incumbent's evaluations each shares seed and items with."""
    record: dict[int, float] = field(default_factory=dict)
    """The incumbent's evaluations that it was compared with, by number, as the evaluator returned them."""
    effect: acceptance.Effect | None = None
    """Against the incumbent; None where there was no value."""
    evaluations: int = 0
    """Values it took, the incumbent's included."""
    shared: int = 0
    """Runs of eight words that it shares with an item and the start does not."""
    tail: str = ""

    @property
    def decision(self) -> str:
        if self.effect is None or self.status in ("failed", "guarded"):
            return f"{self.status}: {self.reason}"
        times = count(self.effect.evaluations, "evaluation")
        return f"{self.status}: {show_effect(self.effect)}, {times}"

    @property
    def line(self) -> str:
        idea = self.hypothesis or ", ".join(self.changes) or "no change"
        return f"trial {self.number} {self.decision}; {shorten(idea, _MAX_IDEA)}"


class SearchCut(Event, frozen=True, kw_only=True):
    """A limit or a person ended the search; playoff and end test need no model and follow."""

    reason: str

    @property
    def cut(self) -> str:
        return self.reason

    @property
    def line(self) -> str:
        return f"search ended: {self.reason}; the end test follows, which asks no model"


class FinalistsMeasured(Event, frozen=True, kw_only=True):
    """The playoff: fresh evaluations of the start, the last incumbent and two in between."""

    worded = ("broken",)
    trials: tuple[int, ...]
    """0 is the start."""
    means: tuple[float | None, ...]
    """None where no evaluation gave a number."""
    evaluations: int
    """Of each."""
    chosen: int
    broken: dict[int, str] = field(default_factory=dict)
    """Guards that they break, in words, by trial: what breaks one is not chosen."""

    def describe(self) -> str:
        known = [each for each in self.means if each is not None]
        apart = max(known) - min(known) if known else 0.0
        means = ", ".join(
            f"{name_trial(trial)} {'no number' if value is None else figure(value, apart / 10)}"
            + (f", which breaks a guard ({self.broken[trial]})" if trial in self.broken else "")
            for trial, value in zip(self.trials, self.means, strict=True)
        )
        times = count(self.evaluations, "fresh evaluation")
        return f"{name_trial(self.chosen)} chosen, by {times} each: {means}"

    @property
    def line(self) -> str:
        return f"finalists: {self.describe()}"


class EndTested(Event, frozen=True, kw_only=True):
    """The result against the start, on evaluations that chose nothing: the only number that is claimed."""

    worded = ("broken",)
    trial: int
    """Whose artifact is the result; 0 is the start, which needs no test."""
    result: tuple[float | None, ...]
    start: tuple[float | None, ...]
    """Evaluation by evaluation with the same seed and items; None where one gave no number."""
    sealed: bool
    opened: int = 0
    """How often the sealed set has been opened, this time included."""
    broken: str = ""
    """The guard that the result breaks here, in words: then nothing is claimed."""

    @property
    def place(self) -> str:
        return "sealed items" if self.sealed else "fresh evaluations"

    @property
    def line(self) -> str:
        return f"end test: {count(len(self.result), 'pair')} on {self.place}"


class Deliverable(NamedTuple):
    """The artifact at the start and at the end."""

    start: Files
    """As it is on disk: of a fork, the start of the first run."""
    files: Files
    trials: tuple[TrialDecided, ...]
    """The kept changes of this run that lead to it, in order; none where its start is the result."""


def deliverable(story: Story) -> Deliverable | None:
    """What a run delivers, or would if it ended now; None where it is not research."""
    research = research_of(story.task)
    if research is None:
        return None
    kept = {each.number: each for each in story.of(TrialDecided) if each.status == "kept"}
    # What was tested, or won the playoff, or was kept last.
    if tested := story.of(EndTested):
        chosen = tested[-1].trial
    elif measured := story.of(FinalistsMeasured):
        chosen = measured[-1].chosen
    else:
        chosen = next(reversed(kept), 0)
    trials = _lineage(kept, chosen)
    files = _with_changes(research.files, trials)
    for path in {*research.origin, *research.files, *files}:
        if fault := path_fault(path):
            raise JournalError(f"a path in the record {fault}: {path!r}; the record is damaged")
    return Deliverable(research.origin or research.files, files, tuple(trials))


def _lineage(kept: Mapping[int, TrialDecided], number: int) -> list[TrialDecided]:
    """The kept changes that lead to a trial, in order: each was measured against an earlier one."""
    trials: list[TrialDecided] = []
    while number:
        trials.insert(0, kept[number])
        number = kept[number].incumbent
    return trials


def _with_changes(files: Files, trials: Iterable[TrialDecided]) -> Files:
    for trial in trials:
        files = with_changes(files, trial.changes)
    return files


class ResearchHistory:
    """The fold over the events of a research run; made anew when there are more."""

    def __init__(self, story: Story) -> None:
        research, delivered = research_of(story.task), deliverable(story)
        assert research is not None
        assert delivered is not None
        self.research: ResearchTask = research
        self.delivered: Deliverable = delivered
        """The artifact at the start, and what it has become."""
        self.forked_from = story.forked_from or ""
        """The run whose result is the start; empty where this is not a fork."""
        self.trials = story.of(TrialDecided)
        """In the order in which they were decided."""
        self.noise = next(reversed(story.of(NoiseMeasured)), None)
        self.playoff = next(reversed(story.of(FinalistsMeasured)), None)
        self.end = next(reversed(story.of(EndTested)), None)

    @cached_property
    def kept(self) -> list[TrialDecided]:
        return [trial for trial in self.trials if trial.status == "kept"]

    @property
    def result(self) -> int:
        """The trial whose artifact is the result so far; 0 is the start."""
        return self.delivered.trials[-1].number if self.delivered.trials else 0

    def files_of(self, number: int) -> Files:
        """The artifact after a trial that was kept; 0 is the start."""
        kept = {trial.number: trial for trial in self.kept}
        return _with_changes(self.research.files, _lineage(kept, number))

    def values_of(self, incumbent: int) -> dict[int, float]:
        """The evaluations of an incumbent that trials were compared with, by number; 0 is the start."""
        records = (trial.record for trial in self.trials if trial.incumbent == incumbent)
        return {number: value for record in records for number, value in record.items()}

    @property
    def evaluations(self) -> int:
        search = sum(trial.evaluations for trial in self.trials)
        floor = len(self.noise.values) if self.noise else 0
        playoff = self.playoff.evaluations * len(self.playoff.trials) if self.playoff else 0
        end = len(self.end.result) + len(self.end.start) if self.end else 0
        return floor + search + playoff + end

    @cached_property
    def spread(self) -> float:
        """The standard deviation of one evaluation, by every evaluation of floor and search; 0 where none differs."""
        first = {0: self.noise.values if self.noise else ()}
        values = first | {trial.number: trial.values for trial in self.trials}
        for number in (0, *(trial.number for trial in self.kept)):
            # An incumbent's record begins with the evaluations it was kept with.
            record = tuple(self.values_of(number).values())
            values[number] = max(values[number], record, key=len)
        return acceptance.measure_noise(values.values()).spread

    @cached_property
    def end_result(self) -> acceptance.EndResult | None:
        """The end test over the pairs that have both numbers; None where there is none, or the result failed."""
        if self.end is None or None in self.end.result:
            return None
        groups, sign = len(self.end.start), self.research.sign
        pairs = [
            (sign * one, sign * other, len(range(at, self.research.sealed, groups)))
            for at, (one, other) in enumerate(zip(self.end.result, self.end.start, strict=True))
            if one is not None and other is not None
        ]
        if not pairs:
            return None
        result, start, items = zip(*pairs, strict=True)
        return acceptance.end_test(result, start, self.spread, items if any(items) else ())

    @property
    def claimed(self) -> bool:
        """Whether a gain is claimed.

        It must be shown and break no guard, and without chance the items must not be those that chose the result.
        """
        found, research = self.end_result, self.research
        if self.end is None or self.end.broken or found is None or not found.shown:
            return False
        return not found.deterministic or not research.items or bool(research.sealed)

    @cached_property
    def corrected(self) -> acceptance.CorrectedEffects | None:
        """What the kept changes that led to the result are worth; None where no end test says so."""
        effects = [trial.effect for trial in self.delivered.trials if trial.effect]
        if self.end_result is None or len(effects) < len(self.delivered.trials):
            return None
        return acceptance.correct_effects(effects, self.end_result.gain)

    @property
    def idle(self) -> int | None:
        """How many kept changes in the result do nothing or harm at least; None where no end test says so.

        Sealed items may be of another kind, and what is lost on them is then not luck.
        """
        return self.corrected.idle if self.corrected and self.end and not self.end.sealed else None

    @property
    def loop_gain(self) -> float | None:
        """All values of the search at the result against those at the start; None where nothing was kept."""
        kept = [trial for trial in self.kept if trial.number == self.result] or self.kept[-1:]
        if not kept or not kept[0].values or self.noise is None:
            return None
        # What no later trial was compared with has the values it was kept for.
        seen = self.values_of(kept[0].number).values() or kept[0].values
        start = self.values_of(0).values() or self.noise.values
        # Rounded once each: equal numbers differ by nothing.
        return self.research.sign * (mean(seen) - mean(start))


def describe_progress(story: Story, asked: Collection[str]) -> Iterator[str]:
    """What is going on by the first words of the keys under way, and how far it is."""
    assert story.settings is not None
    history, terms = ResearchHistory(story), story.settings.job_as(Research)
    research = history.research
    yield f"{history.evaluations:,} of {count(terms.evaluations, 'evaluation')}"
    if history.noise is None:
        yield "measuring the start"
        return
    if "end" in asked or history.end:
        yield "end test"
    elif "playoff" in asked or history.playoff:
        yield "finalists measured again"
    gain = history.loop_gain
    if gain is not None:
        start = mean(history.values_of(0).values() or history.noise.values)
        now, reach = start + research.sign * gain, history.spread
        yield f"{research.metric} {figure(start, reach)} → {figure(now, reach)} so far (unproven)"
    yield f"{len(history.kept)} kept of {len(history.trials)}"
    kept = [at for at, trial in enumerate(history.trials, 1) if trial.status == "kept"]
    # Those under way when patience ended are decided, too.
    idle = min(len(history.trials) - (kept[-1] if kept else 0), terms.patience)
    if idle > 1:
        yield f"the last {idle} not kept, at {terms.patience} it stops"
