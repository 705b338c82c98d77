"""A run's record: its journal and story, its replies by key, its events in order; running it again, or not yet."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct, ValidationError, convert
from msgspec.structs import asdict

from autoreason.errors import Interruption, InvalidInput, ReplayMismatch
from autoreason.events import AnyEvent, Delivered, JobFinished, OnEvent, Recovery
from autoreason.exchange import BudgetQuery, Query, Reply, Request
from autoreason.files import data_folder
from autoreason.jobs.context import JobContext
from autoreason.jobs.job import build_job, run_job
from autoreason.journal import Journal, RecordedAnswer, RecordedCall, RecordedTime, RunRow
from autoreason.journal.journal import locate
from autoreason.keys import Key
from autoreason.models.batch_interface import BatchNote
from autoreason.plugins import is_own, short
from autoreason.prompts import PromptSet
from autoreason.run.result import UNDER_WAY, Result
from autoreason.run.verbs import JournalPlace, RecordedRun
from autoreason.settings import Settings
from autoreason.story import Story
from autoreason.strategies import job_class
from autoreason.task import Task


class WorkingTime(Struct, frozen=True):
    spans: tuple[tuple[datetime, datetime], ...]
    """From a start to the last sign of life before the next one."""

    def until(self, moment: datetime) -> float:
        """Seconds worked until a moment; the last process is taken to be still at it."""
        ends = [end for _, end in self.spans[:-1]] + [moment]
        spans = zip((start for start, _ in self.spans), ends, strict=False)
        return sum(max(0.0, (min(end, moment) - start).total_seconds()) for start, end in spans)

    @property
    def seconds(self) -> float:
        return sum((end - start).total_seconds() for start, end in self.spans)


def working_time(run: str, *, journal: Journal) -> WorkingTime:
    return working_time_of(journal.times(run))


def working_time_of(times: Sequence[RecordedTime]) -> WorkingTime:
    """The same, from these times; a host's clock may lie behind that of the host before."""
    starts = [at for at, start in times if start]
    by_clock, ends = sorted(zip(starts, range(len(starts)), strict=True)), list(starts)
    for at, _ in times:
        if place := bisect_right(by_clock, (at, len(starts))):
            _, process = by_clock[place - 1]
            ends[process] = max(ends[process], at)
    return WorkingTime(tuple(zip(starts, ends, strict=True)))


@contextmanager
def use_journal(place: JournalPlace, *, create: bool = False) -> Iterator[Journal]:
    """The journal; one that is opened here is closed at the end."""
    if isinstance(place, Journal):
        yield place
        return
    located = locate(place)
    if create:
        # Another than the usual one may be a typing error.
        folder = located.parent if isinstance(located, Path) else data_folder()
        if folder != data_folder() and not folder.is_dir():
            raise InvalidInput(f"no folder {folder} for the journal; make it first")
    with Journal.open(located, create=create) as journal:
        yield journal


def name_and_journal(run: RecordedRun, place: JournalPlace) -> tuple[str, JournalPlace]:
    """The name of a run, and its journal: that of the result unless another is given."""
    if isinstance(run, Result):
        return run.run, run.journal if place is None else place
    return run, place


def find_story(run: RecordedRun, place: JournalPlace) -> tuple[str, Story]:
    name, place = name_and_journal(run, place)
    with use_journal(place) as journal:
        found = journal.find(name).id
        return found, journal.story(found)


def task_and_settings(
    run: str, story: Story, remedy: str = "start it again"
) -> tuple[Task, Settings]:
    """A run's task and settings; there are none where it was killed in its first moment."""
    if story.task is None or story.settings is None:
        raise InvalidInput(f"run {run} was killed before anything was recorded; {remedy}")
    return story.task, story.settings


def recorded_result(row: RunRow, story: Story, journal: Journal) -> Result:
    return Result(
        run=row.id,
        status=story.status,
        reason=story.reason or (UNDER_WAY if row.live else "killed before it ended"),
        spent=row.spent,
        story=story,
        seconds=working_time(row.id, journal=journal).seconds,
        journal=journal.place,
        spent_by_role=journal.spent_by_role(row.id),
    )


_OTHER_QUESTION = "{} asks something else than the record answers"
A = TypeVar("A")
AnyQuery = TypeVar("AnyQuery", bound=Query[Any])


class Memory:
    """Recorded replies and answers by key; a question that differs from the recorded one is refused."""

    def __init__(
        self, replies: Mapping[str, RecordedCall], answers: Mapping[str, RecordedAnswer]
    ) -> None:
        self._replies = replies
        self._answers = answers
        self._recalled: set[str] = set()

    def recall(self, request: Request) -> Reply | None:
        recorded = self._replies.get(request.key)
        if recorded is None:
            return None
        asked = recorded.request
        # Model, temperature and length may differ.
        if (asked.role, asked.messages, asked.schema) != (
            request.role,
            request.messages,
            request.schema,
        ):
            raise ReplayMismatch(_OTHER_QUESTION.format(request.key))
        self._recalled.add(request.key)
        return recorded.reply

    def recall_answer(self, query: Query[A]) -> A | None:
        recorded = self._answers.get(query.key)
        if recorded is None:
            return query.read_answer("") if self._was_affordable(query) else None
        try:
            same = recorded.kind == query.kind and convert(recorded.question, type(query)) == query
            answer = query.read_answer(recorded.answer) if same else None
        except ValidationError:
            answer = None
        if answer is None:
            raise ReplayMismatch(_OTHER_QUESTION.format(query.key))
        self._recalled.add(query.key)
        return answer

    def _was_affordable(self, query: Query[Any]) -> bool:
        """Where the record has no answer of the budget, it was enough for what the record has of that stage."""
        stage = f"{Key.parse(query.key).before('budget')}/"
        return isinstance(query, BudgetQuery) and any(
            key.startswith(stage) for key in (*self._replies, *self._answers)
        )

    def questions(self, kind: type[AnyQuery]) -> list[AnyQuery]:
        return [
            convert(recorded.question, kind)
            for recorded in self._answers.values()
            if recorded.kind == kind.kind
        ]

    @property
    def unused(self) -> list[str]:
        """Keys of replies that were not asked for; that a budget was enough changes nothing where nobody asks."""
        enough = (BudgetQuery.kind, "")
        answers = (
            key
            for key, each in self._answers.items()
            # How requests were sent is nothing that a job asks.
            if each.kind != BatchNote.kind and (each.kind, each.answer) != enough
        )
        return [key for key in (*self._replies, *answers) if key not in self._recalled]


def _is_repeated(recorded: AnyEvent, now: AnyEvent) -> bool:
    """Whether an event came again, perhaps in other words."""
    return recorded == now or _without_sentences(recorded) == _without_sentences(now)


def _without_sentences(value: Any) -> Any:
    """A value without the fields that its classes name as `worded` for people, at any depth."""
    if isinstance(value, tuple):
        return [_without_sentences(each) for each in value]
    if isinstance(value, dict):
        return {name: _without_sentences(each) for name, each in value.items()}
    if not isinstance(value, Struct):
        return value
    names, fields = getattr(value, "worded", ()), asdict(value)
    said = {x: {*y} if isinstance(y := fields[x], dict) else bool(y) for x in names}
    return type(value), {name: _without_sentences(each) for name, each in (fields | said).items()}


class EventRecorder:
    """Records new events; those that are recorded already must come again as they were.

    Cells end in any order, so each must repeat its own, whatever the order between them.
    """

    def __init__(
        self,
        recorded: Sequence[AnyEvent],
        append: Callable[[AnyEvent], object],
        on_event: OnEvent | None = None,
    ) -> None:
        self._recorded: dict[str, deque[AnyEvent]] = {}
        for event in recorded:
            self._recorded.setdefault(event.of_cell, deque()).append(event)
        self._append = append
        self._on_event = on_event
        self.repeated = 0
        """Events that came again as recorded."""

    def __call__(self, event: AnyEvent) -> None:
        expected = self._recorded.get(event.of_cell)
        if not expected:
            self._append(event)
        elif _is_repeated(expected[0], event):
            expected.popleft()
            self.repeated += 1
        else:
            raise ReplayMismatch(
                f"event {self.repeated + 1} is {type(event).__name__} now and differs from the record"
            )
        if self._on_event:
            self._on_event(event)

    @property
    def missing(self) -> AnyEvent | None:
        """An event of the record that has not come again; None where all have."""
        return next((events[0] for events in self._recorded.values() if events), None)


class RerunResult(NamedTuple):
    events: int
    """Events that came again as recorded."""
    difference: str | None
    """Where it first differed; None where it did not."""
    likely_cause: str = ""


class _EndOfRecord(Interruption):
    """The next reply was never recorded: the run was interrupted here."""

    status = "stopped"


async def rerun(
    task: Task,
    settings: Settings,
    prompts: PromptSet,
    recorded: Sequence[AnyEvent],
    memory: Memory,
    recovery: Recovery,
) -> RerunResult:
    async def ask(request: Request | Query[Any]) -> Any:
        answer = (
            memory.recall_answer(request) if isinstance(request, Query) else memory.recall(request)
        )
        if answer is None:
            raise _EndOfRecord(request.key)
        return answer

    extra: list[AnyEvent] = []
    recorder = EventRecorder(recorded, extra.append)
    job = build_job(
        job_class(settings.job), JobContext.open(task, settings, prompts, ask, recorder, recovery)
    )
    try:
        await run_job(job)
    except _EndOfRecord:
        if cut := cut_of(recorded):
            with suppress(_EndOfRecord):
                await job.conclude(cut)
        last = recorded[-1] if recorded else None
        if isinstance(last, Delivered | JobFinished) and last.status == "accepted":
            # A person's acceptance is not a reply of a model.
            job.accept(last.reason)
    except Interruption:
        pass
    except ReplayMismatch as diverged:
        return RerunResult(recorder.repeated, str(diverged), _likely_cause(task, settings))
    difference = _difference(recorded, recorder, extra, memory)
    return RerunResult(recorder.repeated, difference, _likely_cause(task, settings))


def _likely_cause(task: Task, settings: Settings) -> str:
    """The most likely reason why running a record again differs: a user's code, where there is any."""
    changed = "was changed since, or it draws at random or reads the clock"
    if is_own(settings.job.name):
        return f"the strategy {changed}: it must draw from `self.settings.seed` alone"
    if own := [f"the check {short(name)}" for name in task.contract.checks]:
        return f"{' or '.join(own)} {changed}: the same input must give the same result"
    return "the run was recorded by another version of autoreason or its record was changed"


def cut_of(recorded: Sequence[AnyEvent]) -> str:
    """Which limit or stop ended a run before its end; empty where none did."""
    return next((event.cut for event in recorded if event.cut), "")


def _difference(
    recorded: Sequence[AnyEvent], recorder: EventRecorder, extra: list[AnyEvent], memory: Memory
) -> str | None:
    if recorder.missing is not None:
        missing = type(recorder.missing).__name__
        return f"event {recorder.repeated + 1} ({missing}) is in the record and did not come again"
    if extra and recorded and isinstance(recorded[-1], Delivered | JobFinished):
        return "it went on after the end"
    if memory.unused:
        return f"the reply to {memory.unused[0]} is in the record and was not asked for again"
    return None


async def first_requests(
    task: Task,
    settings: Settings,
    prompts: PromptSet,
    measure: Callable[[Query[Any]], Awaitable[Any]] | None = None,
    emit: OnEvent = lambda _: None,
) -> list[Request]:
    """The requests that would be sent before any model has answered: often one, or those of a whole panel.

    Queries are answered with samples, unless `measure` answers them.
    """
    requests: list[Request] = []
    kind = job_class(settings.job)

    async def ask(request: Request | Query[Any]) -> Any:
        if isinstance(request, Request):
            requests.append(request)
            raise _EndOfRecord(request.key)
        answer = await measure(request) if measure else None
        if answer is None and (answer := kind.sample_answer(task, request)) is None:
            raise _EndOfRecord(request.key)
        return answer

    job = build_job(kind, JobContext(task, settings, prompts, ask, emit))
    with suppress(_EndOfRecord):
        await run_job(job)
    return requests
