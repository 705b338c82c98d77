"""A certification as a job: every question is a seat, and the certificate is its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.events import BallotCast, JobFinished, PanelDecided, Verdict
from autoreason.jobs.job import Job, Plan, read_options
from autoreason.jobs.tasks import use_in_order
from autoreason.settings import Settings
from autoreason.studies.certify.questions import Question, defect_questions, other_questions
from autoreason.studies.certify.report import certificate_of
from autoreason.studies.certify.suite import SUITE
from autoreason.tournament.judges import JUDGES_PER_SEAT, cast_ballot
from autoreason.tournament.panel import verdict_of
from autoreason.tournament.plan import TRIES

MAX_REPEATS = 20


class Asked(Struct, frozen=True, kw_only=True):
    """Whom, what and how often."""

    model: str
    suite: int = SUITE
    repeats: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.repeats <= MAX_REPEATS:
            raise InvalidInput(
                f"`repeats` is {self.repeats}; give a number from 1 to {MAX_REPEATS}"
            )


class Certification(Job):
    """Questions whose answers are known, put to one judge as a panel would put them."""

    summary = "a judge's certificate: what it sees, and what leads it astray"
    prompts = ("judge", "ballot_again")

    async def run(self) -> JobFinished:
        """Ask about planted defects first; a judge who gives not one ballot is asked nothing else."""
        asked = read_options(self.settings, Asked)
        await self._ask(defect_questions(asked.repeats))
        if any(b.ranking for panel in self.story.panels.values() for b in panel.ballots):
            await self._ask(other_questions(self.settings.seed, asked.repeats))
        return self.finish(certificate_of(self.story).conclusion)

    async def _ask(self, questions: Sequence[Question]) -> None:
        """All of them side by side; told in their order, question by question."""
        seats = [
            cast_ballot(
                replace(self.context, task=each.task), each.stage, each.seat, each.order, each.texts
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
        """How the two texts of a question stand; a single ballot will do, since nothing is decided by it."""
        ballots = self.story.panels[stage].ballots
        valid = sum(ballot.ranking is not None for ballot in ballots)
        names = sorted(ballots[0].order)
        return verdict_of(ballots, names, self.settings.voting, valid) if valid else None

    @classmethod
    def plans(cls, settings: Settings) -> tuple[Plan, Plan, Plan]:
        """One call a question, unless ballots have to be asked for again."""
        repeats = read_options(settings, Asked).repeats
        first = len(defect_questions(repeats))
        questions = first + len(other_questions(settings.seed, repeats))
        again = TRIES * JUDGES_PER_SEAT
        return {"judge": questions}, {"judge": questions}, {"judge": questions * again}

    @classmethod
    def check(cls, settings: Settings) -> None:
        """One judge, the one it was begun for, and the suite it was begun with."""
        asked = read_options(settings, Asked)
        if settings.models.judges != (asked.model,):
            raise InvalidInput(
                f"this run certifies {asked.model}; begin another with "
                f"`autoreason certify {settings.models.judges[0]}`"
            )
        if asked.suite != SUITE:
            raise InvalidInput(
                f"this run asks the questions of suite {asked.suite} and this version has suite "
                f"{SUITE}; begin again with `autoreason certify {asked.model}`"
            )
