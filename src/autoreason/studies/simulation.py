"""Protocols in worlds: the tournament's own loop with a cast from a world behind ask, many runs of each."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import groupby, pairwise, product, starmap
from math import comb, hypot
from multiprocessing import get_context
from statistics import fmean
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from autoreason.errors import InvalidInput
from autoreason.exchange import Outcome, Query, Reply, Request
from autoreason.fields import read_docs
from autoreason.jobs.context import JobContext
from autoreason.keys import Key
from autoreason.prompts import PromptSet
from autoreason.report import charts
from autoreason.report.numbers import UNKNOWN, count, interval, listed, percent
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table
from autoreason.settings import (
    MAX_REVISERS,
    Models,
    Protocol,
    Settings,
    make_settings,
    read_changes,
)
from autoreason.stats import BEYOND_CHANCE, Estimate
from autoreason.stats.shares import pooled_share, student_t
from autoreason.story import DRAFTS
from autoreason.studies.world import (
    PassDraws,
    RandomDraws,
    Texts,
    World,
    finds_nothing,
    first_draft,
    further_draft,
    revise,
    share_changed,
    synthesize,
)
from autoreason.task import Task
from autoreason.tournament.loop import Tournament

CountsOrFlags = NDArray[np.int64] | NDArray[np.bool_]


class Outcomes(NamedTuple):
    """One number per run."""

    quality: NDArray[np.float64]
    passes: NDArray[np.int64]
    calls: NDArray[np.int64]
    displaced: NDArray[np.int64]
    """Texts after the first draft in the line that reviews left."""
    worse: NDArray[np.int64]
    """Those of them that are worse than the text before."""
    claimed: NDArray[np.bool_]
    """Whether the confirmation shows that judges prefer the delivered text to the first draft."""


class Interval(Struct, frozen=True):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return interval(Estimate(self.value, self.low, self.high))


class Summary(Struct, frozen=True, kw_only=True):
    """What a protocol delivers in a world."""

    runs: int
    quality: Interval
    passes: Interval
    calls: Interval
    worse: Interval | None
    """Share of displacements that made things worse; None where nothing was displaced."""
    claimed: Interval | None
    """Share of runs with a text better than the first draft that can say so; None where there is none."""
    claimed_wrongly: Interval | None
    """Share of runs without a better text that say they have one; None where there is none."""


def summarise(outcomes: Outcomes, *, confirmed: bool = True) -> Summary:
    """Means, shares and their intervals; `confirmed` is whether there was a confirmation."""
    better = outcomes.quality > 0
    return Summary(
        runs=len(outcomes.quality),
        quality=mean(outcomes.quality),
        passes=mean(outcomes.passes),
        calls=mean(outcomes.calls),
        worse=ratio(outcomes.worse, outcomes.displaced),
        claimed=ratio(outcomes.claimed, better) if confirmed else None,
        claimed_wrongly=ratio(outcomes.claimed, ~better) if confirmed else None,
    )


def ratio(part: CountsOrFlags, whole: CountsOrFlags) -> Interval | None:
    """The share of a part, run by run, in the whole; None where the whole is 0."""
    counted = whole > 0
    share = pooled_share(list(zip(part[counted].tolist(), whole[counted].tolist(), strict=True)))
    if share.value is None or share.low is None or share.high is None:
        return None
    return Interval(share.value, share.low, share.high)


def mean(values: NDArray[np.float64] | NDArray[np.int64]) -> Interval:
    """The mean and Student's interval; from a single run nothing is known of its error."""
    n, value, half = len(values), float(values.mean()), float("inf")
    if n > 1:
        half = student_t(n - 1, 0.025) * float(values.std(ddof=1)) / n**0.5
    return Interval(value, value - half, value + half)


PROMPTS = PromptSet(
    {
        "system": "",
        "task": "",
        "author": "",
        "critic": "{{ text }}",
        "reviser": "{{ text }}",
        "blind_reviser": "",
        "synthesizer": "{{ texts | join(' ') }}",
        "judge": "{% for one in candidates %}{{ one.label }} {{ one.text }} {% endfor %}",
    }
)
"""Just the texts, which are single words: `t0`, `t1`, in the order in which they were written."""

_LAST_STAGES = ("review", "confirmation")
_PROBLEM = '{"problems": [{"severity": "major", "kind": "quote", "quote": "%s", "problem": "It is weak."}]}'


class Cast:
    """The critics, authors and judges of one simulated run."""

    def __init__(
        self, world: World, luck: RandomDraws, row: int, *, subtractive: bool = False
    ) -> None:
        self.world = world
        self._subtractive = subtractive
        self._luck = luck
        self._row = row
        self._texts: dict[str, Texts] = {}
        self._number = 0
        self.calls: Counter[int | str] = Counter()
        """By pass, or by the stage that comes after them; the first draft is pass 0."""

    def quality(self, text: str) -> float:
        return float(self._texts[text].quality[0])

    def share_changed(self, one: str, other: str) -> float:
        """In which share of their words two texts differ."""
        first, second = self._texts[one].quality, self._texts[other].quality
        return float(share_changed(self.world, first, second)[0])

    def growth(self, first: str, text: str) -> float:
        return float((self._texts[text].length - self._texts[first].length)[0])

    async def ask(self, request: Request | Query[Any]) -> Any:
        if isinstance(request, Query):
            # There is no guidance, and the budget is enough for everything.
            return ""
        key = Key.parse(request.key)
        stage = key.head
        self._number = key.number("pass") or self._number
        is_last = stage in _LAST_STAGES and key.number(stage) is None
        self.calls[stage if is_last else self._number] += 1
        shown = request.messages[-1].text.split()
        match request.role:
            case "author":
                only, number = slice(self._row, self._row + 1), key.number(DRAFTS) or 1
                draft = first_draft(self.world, self._luck.draft_taste()[only])
                if number > 1:
                    draft = further_draft(self.world, self._luck.further_draft(number)[only])
                text = self._keep(draft)
            case "critic":
                critic = key.number("critic") or 0
                world, luck, _ = self._writing
                # Every critique in prose counts as a problem.
                text = _PROBLEM % shown[0] if request.schema else "It is weak."
                if request.schema and finds_nothing(world, luck, critic, self._texts[shown[0]])[0]:
                    text = '{"problems": []}'
            case "reviser":
                luck = self._writing[1]
                if (reviser := key.number("reviser") or 1) > 1:
                    drawn = self._luck.further_revision(self._number, reviser)
                    luck = drawn.of_run(self._row)
                start = self._texts[shown[0] if shown else "t0"]
                text = self._keep(revise(self.world, luck, self._number, start, blind=not shown))
            case "synthesizer":
                one, other = map(self._texts.__getitem__, shown)
                text = self._keep(
                    synthesize(*self._writing, one, other, subtractive=self._subtractive)
                )
            case _:
                text = self._vote(shown, key, key.number("judge") or 0)
        return Reply(outcome=Outcome.OK, text=text, model=request.model)

    @property
    def _writing(self) -> tuple[World, PassDraws, int]:
        return self.world, self._luck.of_pass(self._number).of_run(self._row), self._number

    def _keep(self, text: Texts) -> str:
        name = f"t{len(self._texts)}"
        self._texts[name] = text
        return name

    def _vote(self, shown: list[str], key: Key, seat: int) -> str:
        judges, luck, stage = self.world.judges, self._luck, key.head
        labels, texts = shown[0::2], shown[1::2]
        judge_of = {"drafts": luck.draft_judge, "confirmation": luck.confirming_judge}
        judge_of["review"] = partial(luck.review_judge, key.number("review") or 0)
        errors = judge_of[stage](seat) if stage in judge_of else luck.judge(self._number, seat)
        if len(texts) > errors.shape[1]:
            errors = np.hstack((errors, luck.further_errors(self._number, seat)))
        oldest_first = sorted(texts, key=lambda text: int(text[1:]))
        views = {}
        for position, (label, text) in enumerate(zip(labels, texts, strict=True)):
            worth = float(self._texts[text].worth(self.world, self._number)[0])
            worth += judges.noise * errors[self._row, oldest_first.index(text)]
            worth += judges.first * (position == 0) + judges.last * (position == len(texts) - 1)
            views[label] = worth
        best_first = sorted(views, key=views.__getitem__, reverse=True)
        return f'{{"reasoning": "", "ranking": "{" > ".join(best_first)}"}}'


_TASK = Task(brief="Write.")


def play_all(
    world: World, settings: Settings, runs: int, seed: int, budget: int | None = None
) -> Outcomes:
    """So many runs, one after the other, each with its own seed and luck."""
    luck = RandomDraws(seed, runs).cached()
    results = (play(world, settings, luck, row, budget) for row in range(runs))
    return Outcomes(*map(np.array, zip(*results, strict=True)))


def play(
    world: World, settings: Settings, luck: RandomDraws, row: int, budget: int | None = None
) -> tuple[float, int, int, int, int, bool]:
    """One run as `Outcomes` has it; within a budget, the longest whose review and confirmation fit into it."""
    cast, tournament = tournament_of(world, settings, luck, row)
    if budget is not None and cast.calls.total() > budget:
        # The most passes, one at least, after which draft, passes and last panels are within the budget.
        calls, displaced, within = cast.calls[0], 0, 1
        for number, winner in enumerate(tournament.story.trajectory, 1):
            calls += cast.calls[number]
            displaced += winner != "A"
            reviewed = settings.review_every and not number % settings.review_every
            last = settings.reviewers * (not reviewed) + settings.confirmation
            after = last if displaced else 0
            within = number if calls + after <= budget else within
        # The same luck again: the passes it has room for come out as they did.
        cast, tournament = tournament_of(world, replace(settings, passes=within), luck, row)
    story = tournament.story
    line = [cast.quality(incumbent.text) for incumbent in story.incumbents]
    assert story.delivered is not None
    preference = story.delivered.evidence.preference
    return (
        cast.quality(story.delivered.text),
        len(story.trajectory),
        cast.calls.total(),
        len(line) - 1,
        sum(after < before for before, after in pairwise(line)),
        preference is not None and preference.low > 0.5,
    )


def tournament_of(
    world: World, settings: Settings, luck: RandomDraws, row: int
) -> tuple[Cast, Tournament]:
    """One run to its end, and the cast that answered in it."""
    cast = Cast(world, luck, row, subtractive=settings.subtractive_synthesis)
    # No word of a simulated text is another's, so code would take every cut for an addition.
    settings = replace(settings, seed=luck.seed * 1_000_003 + row, subtractive_synthesis=False)
    tournament = Tournament(JobContext(_TASK, settings, PROMPTS, cast.ask, lambda _: None))
    tournament.share_changed, tournament.growth = cast.share_changed, cast.growth
    asyncio.run(tournament.run())
    return cast, tournament


NAMES: tuple[Protocol, ...] = ("paper", "robust")
SETTINGS = (
    *("drafts", "k", "passes", "judges", "early_stop", "balanced_orders", "voting"),
    *("required_lead", "tie_order", "ballot_texts"),
    *("quoted_critique", "reviewers", "review_texts", "confirmation", "candidates", "revisers"),
    *("blind_revision", "subtractive_synthesis", "plateau", "plateau_change"),
    *("review_every", "min_reviews", "max_growth"),
)
"""What makes a difference to a simulated run; `revisers` is how many there are."""
_ADDRESS = "simulated/cast"


class NamedProtocol(NamedTuple):
    """A protocol under the name that tables give it."""

    name: str
    settings: Settings


def named_protocol(protocol: Protocol, changes: Mapping[str, Any] | None = None) -> NamedProtocol:
    """A protocol with changes, named after them."""
    fields = dict(changes or {})
    for name in fields:
        if name not in SETTINGS:
            raise InvalidInput(
                f"`{name}` makes no difference to a simulated run; set one of {', '.join(SETTINGS)}"
            )
    shown = {name: ">".join(v) if isinstance(v, tuple) else v for name, v in fields.items()}
    label = " ".join([protocol, *(f"{name}={value}" for name, value in shown.items())])
    revisers, models = fields.pop("revisers", 1), Models.everywhere(_ADDRESS)
    if type(revisers) is not int or not 1 <= revisers <= MAX_REVISERS:
        how_many = f"give how many there are, from 1 to {MAX_REVISERS}"
        raise InvalidInput(f"`revisers` is {revisers}; {how_many}")
    if revisers > 1:
        models = replace(models, revisers=(_ADDRESS,) * revisers)
    return NamedProtocol(label, make_settings(models, 0, protocol, **fields))


def choose_protocols(names: Sequence[str], changes: Sequence[str]) -> list[NamedProtocol]:
    """The protocols of these names, or all; then the last of them once more with the changes."""
    chosen = [name for name in NAMES if name in names or not names]
    protocols = [named_protocol(name) for name in chosen]
    if changes:
        last = next(name for name in NAMES if name == (names or chosen)[-1])
        docs = read_docs(Settings)
        known = {name: docs.get(name, docs["drafts"]) for name in SETTINGS}
        protocols.append(named_protocol(last, read_changes(changes, known)))
    return protocols


R = TypeVar("R")
OnSimulated = Callable[[int, int], None]
"""Is called with how many of how many are done."""
Play = Callable[[World, Settings, int, int, int | None], Outcomes]
"""Runs of a protocol in a world: how many, their seed, and the most calls of each."""
_MIN_RUNS = 60


class SimulationPlan(Struct, frozen=True):
    runs: int
    seed: int
    budget: int | None = None
    """The most calls of a run, review included; None is unlimited."""


class SimulationCell(Struct, frozen=True, kw_only=True):
    world: str
    protocol: str
    summary: Summary


class SimulationReport(Report, Struct, frozen=True, kw_only=True):
    """Protocols in worlds whose truth is known."""

    heading: ClassVar[str] = "Protocols in simulated worlds"
    plan: SimulationPlan
    worlds: list[World]
    cells: list[SimulationCell]
    """World by world, every protocol in each."""

    @property
    def conclusion(self) -> str:
        protocols = dict.fromkeys(self.names())
        worlds = count(len(self.worlds), "world")
        if len(protocols) == 1:
            (protocol,) = protocols
            quality = fmean(cell.summary.quality.value for cell in self.cells)
            calls = self._mean_calls(protocol)
            return f"{protocol} delivers quality {quality:.2f} for {calls:.0f} calls on average over {worlds}"
        won = Counter(self.best_protocols())
        if not won:
            return f"no protocol delivers a better text than the others beyond chance in any of {worlds}"
        spent = ", ".join(f"{name} {self._mean_calls(name):.0f}" for name in protocols)
        return f"{name_winners(won, 'text')} of {worlds}, beyond chance; calls on average: {spent}"

    def names(self) -> list[str]:
        return [cell.protocol for cell in self.cells]

    def sections(self) -> list[Section]:
        sections = []
        for world in self.worlds:
            table = _protocols([cell for cell in self.cells if cell.world == world.name])
            sections.append(Section(f"{world.name}: {world.about}", tables=[table]))
        runs = f"{self.plan.runs:,} runs of each protocol in each world"
        notes = [
            ("Quality", f"{runs}; the first draft has quality 0"),
            ("Worse", "the share of displacements that made the text worse"),
            ("Claims", "of runs with a text better than the draft, those confirmed to have one"),
            ("Wrongly", "of the other runs, those confirmed to have one too"),
        ]
        return [*sections, Section(sentences=notes)]

    def page_sections(self) -> list[Section]:
        lines = [(f"{cell.protocol} in {cell.world}", cell.summary.quality) for cell in self.cells]
        rows = [
            charts.ChartRow(name, Estimate(found.value, found.low, found.high), str(found))
            for name, found in lines
        ]
        sides, title = ("worse than the first draft", "better"), "Quality of the text delivered"
        chart = charts.interval_chart(
            title, rows, sides=sides, middle=0.0, scale=None, show="{:.2g}".format
        )
        return [Section("What each protocol delivers", charts=[chart]), *self.sections()]

    def best_protocols(self) -> list[str]:
        """The protocols that lead by more than chance, world by world, corrected for every pair in every world."""
        cells = [(cell.world, cell.protocol, cell.summary.quality) for cell in self.cells]
        return best_by_world(cells, self.plan.runs)

    def _mean_calls(self, protocol: str) -> float:
        return fmean(cell.summary.calls.value for cell in self.cells if cell.protocol == protocol)


def best_by_world(cells: Sequence[tuple[str, str, Interval]], runs: int) -> list[str]:
    """Who leads in a world by more than chance, of cells with world, name and quality, world by world."""
    worlds, found = len({world for world, _, _ in cells}), []
    for _, group in groupby(cells, key=lambda cell: cell[0]):
        (_, name, first), (_, _, second), *others = sorted(group, key=lambda cell: -cell[2].value)
        if leads(first, second, runs, worlds * comb(len(others) + 2, 2)):
            found.append(name)
    return found


def name_winners(won: Counter[str], what: str) -> str:
    """Who delivers the best in how many worlds, the most frequent first."""
    (name, number), *others = won.most_common()
    return listed(
        [f"{name} delivers the best {what} in {number}", *(f"{name} in {n}" for name, n in others)]
    )


def leads(first: Interval, second: Interval, runs: int, comparisons: int) -> bool:
    """Whether one mean over runs exceeds another by more than chance, corrected for so many comparisons."""
    wider = student_t(runs - 1, BEYOND_CHANCE / 2 / comparisons) / student_t(runs - 1, 0.025)
    reach = wider * hypot(first.high - first.low, second.high - second.low) / 2
    return bool(first.value - second.value > reach)


def _protocols(cells: Sequence[SimulationCell]) -> Table:
    rows = []
    for cell in cells:
        found = cell.summary
        shares = (found.worse, found.claimed, found.claimed_wrongly)
        shown = (percent(share.value) if share else UNKNOWN for share in shares)
        means = (f"{mean.value:.1f}" for mean in (found.calls, found.passes))
        rows.append((cell.protocol, str(found.quality), *means, *shown))
    heads = ("quality (95 %)", "calls", "passes", "worse", "claims", "wrongly")
    return Table([Column("protocol", figures=False), *map(Column, heads)], rows)


def run_study(
    worlds: Sequence[World],
    protocols: Sequence[NamedProtocol],
    plan: SimulationPlan,
    on_progress: OnSimulated | None = None,
    play: Play = play_all,
) -> SimulationReport:
    """Every protocol in every world; `on_progress` hears how many cells of how many are done."""
    jobs = [(world, each, plan, play) for world, each in product(worlds, protocols)]
    processes = 1 if plan.runs * len(jobs) < _MIN_RUNS else 2
    return SimulationReport(
        plan=plan, worlds=list(worlds), cells=in_processes(_fill_cell, jobs, on_progress, processes)
    )


def _fill_cell(
    world: World, protocol: NamedProtocol, plan: SimulationPlan, play: Play
) -> SimulationCell:
    outcomes = play(world, protocol.settings, plan.runs, plan.seed, plan.budget)
    summary = summarise(outcomes, confirmed=protocol.settings.confirmation > 0)
    return SimulationCell(world=world.name, protocol=protocol.name, summary=summary)


def in_processes(
    work: Callable[..., R],
    jobs: Sequence[tuple[Any, ...]],
    on_progress: OnSimulated | None = None,
    processes: int = 2,
) -> list[R]:
    """The results of `work` on the arguments of each job, in their order; one job alone is done right here."""
    note, results = on_progress or (lambda *_: None), list[R]()
    note(0, len(jobs))
    with ExitStack() as stack:
        found: Iterable[R] = starmap(work, jobs)
        if processes > 1 and len(jobs) > 1:
            # Forking a process that may have threads is unsafe; starting a new one takes half a second.
            # Ctrl-C is for the main process, which ends these too.
            ignored = (signal.SIGINT, signal.SIG_IGN)
            pool = stack.enter_context(get_context("spawn").Pool(processes, signal.signal, ignored))
            found = pool.imap(partial(_apply, work), jobs)
        for result in found:
            results.append(result)
            note(len(results), len(jobs))
    return results


def _apply(work: Callable[..., R], arguments: tuple[Any, ...]) -> R:
    return work(*arguments)
