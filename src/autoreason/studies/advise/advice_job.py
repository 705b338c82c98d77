"""Advice as a job: rules, a short certificate of the judge, then pilots one after another."""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import Struct

from autoreason.errors import PanelFailed
from autoreason.events import AnyEvent, JobFinished, RunPaused
from autoreason.exchange import BudgetQuery
from autoreason.job_types import Advise
from autoreason.jobs.job import Job, Plans, build_job, join_plans, run_job
from autoreason.keys import sub_key
from autoreason.settings import Settings
from autoreason.story import Story
from autoreason.studies.advise.advice_events import JudgeChecked, PilotFinished
from autoreason.studies.advise.judge_check import (
    LEAST_QUESTIONS,
    QUESTIONS,
    JudgeCheck,
    find_fault,
    judge_findings,
    read_answers,
)
from autoreason.studies.advise.pilots import (
    MAX_PILOTS,
    MIN_PILOTS,
    Pilot,
    PilotRun,
    describe_pilots,
    pilot_settings,
    read_pilot,
    weigh_pilots,
)
from autoreason.studies.advise.rules import asks_for_fact
from autoreason.studies.certify.properties import CertificateFinding
from autoreason.task import Task
from autoreason.tournament.judges import seat_calls
from autoreason.tournament.loop import Tournament

Ending = Literal["run it", "one draft", "another judge", "research", "undecided"]
SHARE_OF_RUN = 3
"""Advice takes at most one call for so many of the run it is about."""
_JUDGE = "judge_check"
_PILOT = "pilot"
_SPARE_CALLS = 2
"""Kept for requests of a pilot that have to be repeated."""


class Advice(Struct, frozen=True, kw_only=True):
    """What was measured, and what follows from it."""

    ending: Ending
    reason: str
    judge: tuple[CertificateFinding, ...] = ()
    pilots: tuple[Pilot, ...] = ()


class AdviceJob(Job):
    """Measures whether a tournament is worth its calls for this brief, and what else would do."""

    summary = "whether a brief should be run, and how: a short certificate and pilots"

    async def run(self) -> JobFinished:
        """Go on until something is decided or the budget is too small for the next step."""
        if not ends_by_rule(self.context.task, self.settings):
            check = build_job(JudgeCheck, self.context.within(_JUDGE, _ignore))
            await run_job(check)
            right, read = read_answers(check.story)
            self.emit(JudgeChecked(right=right, read=read))
            if not find_fault(_findings(self.story)):
                await self._run_pilots()
        advice = advice_of(self.story)
        text, origin = _text(self.story, advice)
        return self.finish(f"{advice.ending}: {advice.reason}", text, origin)

    async def _run_pilots(self) -> None:
        settings = pilot_settings(self.settings)
        for number in range(1, MAX_PILOTS + 1):
            # Fewer than so many decide nothing, and are not paid for.
            times = MIN_PILOTS if number == 1 else 1
            if await self._is_short(sub_key(_PILOT, number), PilotRun.plans(settings), times):
                return
            await self._run_pilot(number, settings)
            if weigh_pilots(pilots_of(self.story)) != "undecided":
                return

    async def _is_short(self, stage: str, plans: Plans, times: int = 1) -> bool:
        """Whether the budget is too small for a step; recorded, so that a resumed run goes the same way."""
        calls = sum(plans[1].values()) * times + _SPARE_CALLS
        query = BudgetQuery(key=sub_key(stage, "budget"), calls=calls, after=0)
        shortage: str = await self.context.ask(query)
        return bool(shortage)

    async def _run_pilot(self, number: int, settings: Settings) -> None:
        """Run a pilot; one whose panels failed says nothing, and the rest goes on."""
        context = self.context.within(sub_key(_PILOT, number), _ignore, settings=settings)
        pilot = build_job(PilotRun, context)
        try:
            await run_job(pilot)
        except PanelFailed as failure:
            pilot.story.apply(RunPaused(status=failure.status, reason=str(failure)))
        story = pilot.story
        self.emit(
            PilotFinished(
                number=number,
                pilot=read_pilot(f"pilot {number}", story),
                draft=story.draft.text if story.draft else None,
                text=story.text,
                origin=story.origin,
            )
        )

    @classmethod
    def plans(cls, settings: Settings) -> Plans:
        """From a judge that fails at once to as many pilots as there may be."""
        pilot, calls = PilotRun.plans(pilot_settings(settings)), seat_calls(settings)
        return (
            {"judge": LEAST_QUESTIONS},
            join_plans(
                {"judge": LEAST_QUESTIONS * calls.usual}, *[pilot[1]] * max_pilots(settings)
            ),
            join_plans({"judge": QUESTIONS * calls.most}, *[pilot[2]] * MAX_PILOTS),
        )

    @classmethod
    def fit_plans(cls, plans: Plans, task: Task, settings: Settings) -> Plans:
        """No call where a rule is enough."""
        return ({}, {}, {}) if ends_by_rule(task, settings) else plans

    @classmethod
    def min_calls(cls, task: Task, settings: Settings) -> int:
        """As many pilots as can decide."""
        return 0 if ends_by_rule(task, settings) else calls_for(settings, MIN_PILOTS)

    @classmethod
    def draft_count(cls, settings: Settings) -> int:
        """One for every pilot."""
        return max_pilots(settings)


class StepCalls(NamedTuple):
    """Calls of each step, as planned."""

    question: int
    """One of those about the judge."""
    pilot: int


def count_calls(settings: Settings) -> StepCalls:
    """What the steps take."""
    pilot = sum(PilotRun.plans(pilot_settings(settings))[1].values())
    return StepCalls(seat_calls(settings).usual, pilot)


def calls_for(settings: Settings, pilots: int, questions: int = LEAST_QUESTIONS) -> int:
    """The limit of calls that allows so many pilots after so many questions about the judge."""
    steps = count_calls(settings)
    return questions * steps.question + pilots * steps.pilot + _SPARE_CALLS


def max_pilots(settings: Settings, questions: int = LEAST_QUESTIONS) -> int:
    """How many pilots the limit of calls allows, each as long as planned; none where they could decide nothing."""
    limit = limit_calls(settings)
    numbers = range(MIN_PILOTS, MAX_PILOTS + 1)
    return max((n for n in numbers if calls_for(settings, n, questions) <= limit), default=0)


def run_calls(settings: Settings) -> int:
    """What the run takes that is asked about, as planned."""
    return sum(Tournament.plans(settings)[1].values())


def limit_calls(settings: Settings) -> int:
    """What the advice may take: its share of the run, and no more than the budget."""
    share, limit = run_calls(settings) // SHARE_OF_RUN, settings.budget.calls
    return share if limit is None else min(limit, share)


def _ignore(_: AnyEvent) -> None:
    """The events of a step: what it came to is an event of the advice."""


def ends_by_rule(task: Task, settings: Settings) -> bool:
    """Whether the advice needs no call."""
    instead = settings.job_as(Advise).instead
    return bool(instead) or asks_for_fact(task) or is_too_dear(settings)


def is_too_dear(settings: Settings) -> bool:
    """Whether pilots that can decide would take more than the advice may take of the run."""
    return calls_for(settings, MIN_PILOTS) * SHARE_OF_RUN > run_calls(settings)


def pilots_of(story: Story) -> tuple[Pilot, ...]:
    """The pilots of advice that are over."""
    return tuple(each.pilot for each in story.of(PilotFinished))


def advice_of(story: Story) -> Advice:
    """What the record of an advice comes to."""
    assert story.task is not None
    assert story.settings is not None
    if instead := story.settings.job_as(Advise).instead:
        exists = {"research": "a number measures the result", "solve": "tests decide"}[instead]
        return Advice(ending="research", reason=f"{exists}, so no judge is needed")
    if asks_for_fact(story.task):
        reason = "the brief asks for a fact, which is right or wrong: no vote makes it truer"
        return Advice(ending="one draft", reason=reason)
    if is_too_dear(story.settings):
        calls, whole = calls_for(story.settings, MIN_PILOTS), run_calls(story.settings)
        reason = (
            f"pilots that can decide take {calls} calls, and the run itself about {whole}; run it, and its "
            "confirmation says whether fresh judges prefer the result"
        )
        return Advice(ending="undecided", reason=reason)
    judge, pilots = _findings(story), pilots_of(story)
    ending, reason = conclude(judge, pilots)
    return Advice(ending=ending, reason=reason, judge=judge, pilots=pilots)


def _findings(story: Story) -> tuple[CertificateFinding, ...]:
    (checked,) = story.of(JudgeChecked)
    return judge_findings(checked.right, checked.read)


def conclude(
    judge: tuple[CertificateFinding, ...], pilots: tuple[Pilot, ...]
) -> tuple[Ending, str]:
    """The advice that follows from what was measured, and why."""
    if fault := find_fault(judge):
        return "another judge", fault
    if not pilots:
        return "undecided", f"no pilot was run: the limits are too small for {MIN_PILOTS}"
    votes = describe_pilots(pilots)
    match weigh_pilots(pilots):
        case "run_it":
            return "run it", votes
        case "do_not":
            return "one draft", votes
        case _:
            return "undecided", f"{votes}, which decides nothing"


def best_pilot(pilots: tuple[Pilot, ...]) -> Pilot | None:
    """The one whose result the largest share of judges prefers; the first of several."""
    asked = [each for each in pilots if each.judges]
    return max(asked, key=lambda each: each.prefer / each.judges) if asked else None


def _text(story: Story, advice: Advice) -> tuple[str | None, str]:
    """The text to go on from, and where it comes from."""
    if best := best_pilot(advice.pilots):
        ended = next(each for each in story.of(PilotFinished) if each.pilot == best)
        if advice.ending != "one draft":
            return ended.text, f"{best.name}: {ended.origin}"
        if ended.draft is not None:
            return ended.draft, f"{best.name}: draft"
    if story.of(JudgeChecked) and story.task and story.task.draft is not None:
        return story.task.draft, "draft"
    return None, ""
