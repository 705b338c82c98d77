"""Replay: the record run again, offline and for nothing, must tell the same story."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autoreason.errors import Interruption, InvalidInput, RecordDiverged
from autoreason.events import LIFECYCLE, AnyEvent, Delivered
from autoreason.exchange import Reply, Request
from autoreason.journal import Journal
from autoreason.prompts import PromptSet
from autoreason.run.asking import Memory
from autoreason.run.driver import Teller
from autoreason.story import tell_all
from autoreason.tournament.loop import Tournament
from autoreason.tournament.report import deliver
from autoreason.tournament.venue import Venue


@dataclass(frozen=True)
class Replayed:
    """What came of running a record again."""

    run: str
    events: int
    """Events told again exactly as recorded."""
    difference: str | None
    """Where it first went another way; None where it did not."""

    @property
    def same(self) -> bool:
        """Whether the record and its replay agree to the end."""
        return self.difference is None


class _RecordEnds(Interruption):
    """The next reply was never recorded: here the run was left."""

    status = "stopped"


async def replay(run: str, *, journal: Journal) -> Replayed:
    """Run a record again from its replies alone."""
    recorded = [item.event for item in journal.events(run)]
    story = tell_all(recorded)
    if story.task is None or story.settings is None:
        raise InvalidInput(
            f"run {run} was killed before anything was recorded; there is nothing to replay"
        )
    told = [event for event in recorded if not isinstance(event, LIFECYCLE)]
    memory = Memory(journal.replies(run))

    async def ask(request: Request) -> Reply:
        reply = memory.recall(request)
        if reply is None:
            raise _RecordEnds(request.key)
        return reply

    more: list[AnyEvent] = []
    teller = Teller(told, more.append, None)
    tournament = Tournament(
        Venue(story.task, story.settings, PromptSet(story.prompts), ask, teller)
    )
    try:
        await tournament.run()
    except _RecordEnds:
        _repeat_acceptance(tournament, told, teller)
    except Interruption:
        pass
    except RecordDiverged as diverged:
        return Replayed(run, teller.told, str(diverged))
    return Replayed(run, min(teller.told, len(told)), _difference(told, teller, more))


def _repeat_acceptance(tournament: Tournament, told: Sequence[AnyEvent], teller: Teller) -> None:
    """A person's acceptance is no reply of a model; it is repeated where the record has it."""
    last = told[-1] if told else None
    if isinstance(last, Delivered) and last.status == "accepted" and tournament.story.incumbent:
        teller(deliver(tournament.story, "accepted", last.reason, tournament.story.incumbent))


def _difference(told: Sequence[AnyEvent], teller: Teller, more: list[AnyEvent]) -> str | None:
    if teller.told < len(told):
        missing = type(told[teller.told]).__name__
        return f"event {teller.told + 1} ({missing}) is in the record and did not come again"
    if more:
        return (
            None
            if not isinstance(told[-1] if told else None, Delivered)
            else "the replay went on after the end"
        )
    return None
