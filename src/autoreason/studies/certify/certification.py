"""A certification as a job: every question is a seat, and the certificate is its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec import structs

from autoreason.errors import InvalidInput
from autoreason.events import BallotCast, JobFinished, PanelDecided, Verdict
from autoreason.job_types import Certify
from autoreason.jobs.context import use_in_order
from autoreason.jobs.job import Job, Plan
from autoreason.settings import Settings
from autoreason.studies.certify.certificate import certificate_of
from autoreason.studies.certify.questions import Question, defect_questions, other_questions
from autoreason.studies.certify.suite import SUITE
from autoreason.task import Entry, Task
from autoreason.tournament.judges import JUDGE_PROMPTS, cast_ballot, seat_calls
from autoreason.tournament.panel import verdict_of


def _judged(question: Question) -> Task:
    """The task with its texts as entries, from which a prompt sees that none was thrown out for breaking a limit."""
    entries = tuple(Entry(name=name, text=text) for name, text in question.texts.items())
    return structs.replace(question.task, entries=entries)


class Certification(Job):
    """Questions whose answers are known, for one judge, asked as in a panel."""

    summary = "a judge's certificate: what it sees, and what misleads it"
    prompts = (*JUDGE_PROMPTS, "knowledge")

    async def run(self) -> JobFinished:
        """Ask about planted defects first; a judge without a valid ballot is asked nothing else."""
        options = self.settings.job_as(Certify)
        await self.ask_questions(defect_questions(options.repeats))
        if any(b.ranking for panel in self.story.panels.values() for b in panel.ballots):
            await self.ask_questions(other_questions(self.settings.seed, options.repeats))
        return self.finish(certificate_of(self.story).conclusion)

    async def ask_questions(self, questions: Sequence[Question]) -> None:
        """All of them side by side; events are emitted in the order of the questions."""
        seats = [
            cast_ballot(
                replace(self.context, task=_judged(each)),
                *(each.stage, each.seat, each.order, each.texts),
                judge=each.judge,
            )
            for each in questions
        ]
        last = {each.stage: each.seat for each in questions}

        def take(ballot: BallotCast) -> None:
            self.emit(ballot)
            if ballot.seat == last[ballot.stage]:
                self.emit(PanelDecided(stage=ballot.stage, verdict=self._verdict(ballot.stage)))

        await use_in_order(seats, take)

    def _verdict(self, stage: str) -> Verdict | None:
        """The verdict on one question's texts; one ballot is enough, since nothing is decided by it."""
        ballots = self.story.panels[stage].ballots
        valid = sum(ballot.ranking is not None for ballot in ballots)
        names = sorted(ballots[0].order)
        return verdict_of(ballots, names, self.settings.voting, valid) if valid else None

    @classmethod
    def plans(cls, settings: Settings) -> tuple[Plan, Plan, Plan]:
        """One call per question, unless ballots have to be asked for again."""
        repeats = settings.job_as(Certify).repeats
        first = len(defect_questions(repeats))
        questions = first + len(other_questions(settings.seed, repeats))
        calls = seat_calls(settings)
        likely, most = questions * calls.usual, questions * calls.most
        return {"judge": questions}, {"judge": likely}, {"judge": most}

    @classmethod
    def min_calls(cls, task: Task, settings: Settings) -> int:  # noqa: ARG003
        """Every question once: without all of them there is no certificate."""
        least, _, _ = cls.plans(settings)
        return sum(least.values())

    @classmethod
    def check(cls, settings: Settings) -> None:
        """The judge and the suite must be those the run was started with."""
        options = settings.job_as(Certify)
        if settings.models.judges != (options.model,):
            raise InvalidInput(
                f"this run certifies {options.model}; begin another with "
                f"`autoreason certify {settings.models.judges[0]}`"
            )
        if options.suite != SUITE:
            raise InvalidInput(
                f"this run asks the questions of suite {options.suite} and this version has suite "
                f"{SUITE}; begin again with `autoreason certify {options.model}`"
            )
