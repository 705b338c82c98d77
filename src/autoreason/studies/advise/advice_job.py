"""Advice as a job: rules, a short certificate of the judge, the pick test, then pilots one after another."""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from autoreason.events import JobFinished
from autoreason.exchange import BudgetQuery
from autoreason.jobs.job import Job, Plans, join_plans, read_options
from autoreason.jobs.parts import part_context
from autoreason.jobs.randomness import draw
from autoreason.jobs.runner import run_part
from autoreason.keys import PANEL, PartName, sub_key
from autoreason.report.numbers import count
from autoreason.settings import Settings
from autoreason.story import Story
from autoreason.strategies.sampling import BestOfN
from autoreason.studies.advise.judge_check import (
    JUDGE_PART,
    QUESTIONS,
    JudgeCheck,
    JudgeScore,
    score_judge,
)
from autoreason.studies.advise.pick_test import (
    OTHER,
    PICK,
    WORKS,
    PickTest,
    panel_settings,
    pick_settings,
    read_pick,
)
from autoreason.studies.advise.pilots import (
    MAX_PILOTS,
    MIN_PILOTS,
    Pilot,
    describe_pilots,
    pilot_settings,
    read_pilot,
    weigh_pilots,
)
from autoreason.studies.advise.rules import asks_for_fact
from autoreason.studies.panels.ranked import RankedPanel
from autoreason.task import Entry, Task
from autoreason.tournament.judges import seat_calls
from autoreason.tournament.loop import Tournament

Ending = Literal["run it", "best of n", "one draft", "another judge", "research", "undecided"]
Instead = Literal["", "research", "solve"]
_JUDGE = str(PartName(JUDGE_PART, 1))
_DRAFTS = str(PartName("drafts", 1))
_SECOND = str(PartName(PANEL, 1))
_PILOT = "pilot"
_SPARE_CALLS = 2
"""Kept for requests of a pilot that have to be repeated."""
_LIKELY_PILOTS = 4


class AdviceOptions(Struct, frozen=True, kw_only=True):
    """What is known of the brief's file."""

    instead: Instead = ""
    """The command that a file with a number or with tests is for."""
    source: str = ""
    """The file, or the brief itself, as it was given on a command line."""


class Advice(Struct, frozen=True, kw_only=True):
    """What was measured, and what follows from it."""

    ending: Ending
    reason: str
    judge: JudgeScore | None = None
    pick: PickTest | None = None
    pilots: tuple[Pilot, ...] = ()


class AdviceJob(Job):
    """Measures whether a tournament is worth its calls for this brief, and what else would do."""

    summary = "whether a brief should be run, and how: a short certificate, a pick test and pilots"
    parts_write = "text"
    options_type = AdviceOptions

    async def run(self) -> JobFinished:
        """Go on until something is decided or the budget is too small for the next step."""
        if not ends_by_rule(self.context.task, self.settings):
            await self._run_part(_JUDGE, JudgeCheck, self.context.task, self.settings)
            if not score_judge(self.story.parts[_JUDGE]).fault and await self._pick_draft():
                await self._run_pilots()
        advice = advice_of(self.story)
        text, origin = _text(self.story, advice)
        return self.finish(f"{advice.ending}: {advice.reason}", text, origin)

    async def _pick_draft(self) -> bool:
        """Write drafts and compare the pick with another, unless a draft is given; whether it was affordable."""
        task = self.context.task
        if task.draft is not None:
            return True
        if await self._is_short("drafts", _pick_plans(self.settings)):
            return False
        await self._run_part(_DRAFTS, BestOfN, task, pick_settings(self.settings))
        if entries := _compared(self.story.parts[_DRAFTS], self.settings.seed):
            settings = panel_settings(self.settings)
            await self._run_part(_SECOND, RankedPanel, replace(task, entries=entries), settings)
        return True

    async def _run_pilots(self) -> None:
        settings = pilot_settings(self.settings)
        for number in range(1, MAX_PILOTS + 1):
            # Fewer than so many decide nothing, and are not paid for.
            times = MIN_PILOTS if number == 1 else 1
            if await self._is_short(sub_key(_PILOT, number), Tournament.plans(settings), times):
                return
            await self._run_part(pilot_part(number), Tournament, self.context.task, settings)
            if weigh_pilots(pilots_of(self.story)) != "undecided":
                return

    async def _is_short(self, stage: str, plans: Plans, times: int = 1) -> bool:
        """Whether the budget is too small for a step; recorded, so that a resumed run goes the same way."""
        calls = sum(plans[1].values()) * times + _SPARE_CALLS
        query = BudgetQuery(key=sub_key(stage, "budget"), calls=calls, after=0)
        shortage: str = await self.context.ask(query)
        return bool(shortage)

    async def _run_part(self, part: str, kind: type[Job], task: Task, settings: Settings) -> None:
        """Run a part; one whose panels failed says nothing, and the rest goes on."""
        await run_part(kind, part_context(self.context, part, self.emit, task, settings))

    @classmethod
    def plans(cls, settings: Settings) -> Plans:
        """From a judge that fails at once to as many pilots as there may be."""
        pick, pilot = _pick_plans(settings), Tournament.plans(pilot_settings(settings))
        number = min(_LIKELY_PILOTS, max_pilots(settings))
        calls = seat_calls(settings)
        judge = {"judge": QUESTIONS * calls.usual}
        limit = settings.budget.calls
        is_short = limit is not None and limit < calls_for(settings, 0)
        return (
            {"judge": QUESTIONS},
            judge if is_short else join_plans(judge, pick[1], *[pilot[1]] * number),
            join_plans({"judge": QUESTIONS * calls.most}, pick[2], *[pilot[2]] * MAX_PILOTS),
        )

    @classmethod
    def fit_plans(cls, plans: Plans, task: Task, settings: Settings) -> Plans:
        """No call where a rule is enough."""
        return ({}, {}, {}) if ends_by_rule(task, settings) else plans

    @classmethod
    def min_calls(cls, task: Task, settings: Settings) -> int:
        """The short certificate, without which nothing is known."""
        return 0 if ends_by_rule(task, settings) else QUESTIONS

    @classmethod
    def draft_count(cls, settings: Settings) -> int:
        """Those of the pick test and of every pilot."""
        return cls.plans(settings)[1].get("author", 0)


def _pick_plans(settings: Settings) -> Plans:
    drafts = BestOfN.plans(pick_settings(settings))
    panel = RankedPanel.plans(panel_settings(settings))
    low, likely, high = (join_plans(*both) for both in zip(drafts, panel, strict=True))
    return low, likely, high


class StepCalls(NamedTuple):
    """Calls of each step, as planned."""

    judge: int
    pick: int
    pilot: int


def count_calls(settings: Settings) -> StepCalls:
    """What the steps take."""
    pilot = sum(Tournament.plans(pilot_settings(settings))[1].values())
    judge = QUESTIONS * seat_calls(settings).usual
    return StepCalls(judge, sum(_pick_plans(settings)[1].values()), pilot)


def max_pilots(settings: Settings) -> int:
    """How many pilots the limit of calls allows, each as long as planned; none where they could decide nothing."""
    limit = settings.budget.calls
    numbers = range(MIN_PILOTS, MAX_PILOTS + 1)
    fitting = [n for n in numbers if limit is None or calls_for(settings, n) <= limit]
    return max(fitting, default=0)


def calls_for(settings: Settings, pilots: int) -> int:
    """The limit of calls that allows so many pilots."""
    steps = count_calls(settings)
    return steps.judge + steps.pick + pilots * steps.pilot + _SPARE_CALLS


def pilot_part(number: int) -> str:
    """The part of a pilot."""
    return str(PartName(_PILOT, number))


def ends_by_rule(task: Task, settings: Settings) -> bool:
    """Whether the advice needs no call."""
    return bool(read_options(settings, AdviceOptions).instead) or asks_for_fact(task)


def pilots_of(story: Story) -> tuple[Pilot, ...]:
    """The pilots of advice that are over."""
    parts = {
        name: part
        for name, part in story.parts.items()
        if PartName.parse(name).name == _PILOT and part.status != "running"
    }
    return tuple(read_pilot(f"pilot {PartName.parse(n).repeat}", p) for n, p in parts.items())


def advice_of(story: Story) -> Advice:
    """What the record of an advice comes to."""
    assert story.task is not None
    assert story.settings is not None
    if instead := read_options(story.settings, AdviceOptions).instead:
        exists = {"research": "a number measures the result", "solve": "tests decide"}[instead]
        return Advice(ending="research", reason=f"{exists}, so no judge is needed")
    if asks_for_fact(story.task):
        reason = "the brief asks for a fact, which is right or wrong: no vote makes it truer"
        return Advice(ending="one draft", reason=reason)
    judge = score_judge(story.parts[_JUDGE])
    drafts = story.parts.get(_DRAFTS)
    pick = read_pick(drafts, story.parts.get(_SECOND)) if drafts else None
    pilots = pilots_of(story)
    ending, reason = conclude(judge, pick, pilots)
    return Advice(ending=ending, reason=reason, judge=judge, pick=pick, pilots=pilots)


def conclude(
    judge: JudgeScore, pick: PickTest | None, pilots: tuple[Pilot, ...]
) -> tuple[Ending, str]:
    """The advice that follows from what was measured, and why."""
    if judge.fault:
        return "another judge", judge.fault
    if not pilots:
        return "undecided", f"no pilot was run: the limits are too small for {MIN_PILOTS}"
    votes = describe_pilots(pilots)
    match weigh_pilots(pilots):
        case "run_it":
            return "run it", votes
        case "undecided":
            return "undecided", f"{votes}, which decides nothing"
    if pick is None:
        return "one draft", votes
    if pick.works:
        return "best of n", f"{votes}, and judges agree on which draft is best"
    if pick.alike:
        return "one draft", f"{votes}, and drafts are alike"
    asked = sum(each.judges for each in pilots)
    if 1 - WORKS <= sum(each.prefer for each in pilots) / asked <= WORKS:
        reason = f"{votes}, and they do not agree on which draft is best although drafts differ"
        return "another judge", reason
    return "one draft", votes


def _compared(drafts: Story, seed: int) -> tuple[Entry, ...]:
    """The pick and another of the drafts, drawn by the seed; nothing where there is no other."""
    if drafts.playoff is None or drafts.playoff.winner is None:
        return ()
    texts = {each.name: each.text for each in drafts.playoff.texts}
    pick = texts.pop(drafts.playoff.winner)
    other = texts[draw(seed, "pick/other").choice(sorted(texts))]
    return Entry(name=PICK, text=pick), Entry(name=OTHER, text=other)


def best_pilot(pilots: tuple[Pilot, ...]) -> Pilot | None:
    """The one whose result the largest share of judges prefers; the first of several."""
    asked = [each for each in pilots if each.judges]
    return max(asked, key=lambda each: each.prefer / each.judges) if asked else None


def _text(story: Story, advice: Advice) -> tuple[str | None, str]:
    """The text to go on from, and where it comes from."""
    if advice.ending in ("run it", "undecided") and (best := best_pilot(advice.pilots)):
        part = story.parts[pilot_part(int(best.name.split()[-1]))]
        return part.text, f"{best.name}: {part.origin}"
    if drafts := story.parts.get(_DRAFTS):
        return drafts.text, f"the pick of {count(len(drafts.incumbents), 'draft')}"
    if story.parts and story.task and story.task.draft is not None:
        return story.task.draft, "draft"
    return None, ""
