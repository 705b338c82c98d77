"""Questions that wait for answers from outside: one is read, answered, or listed for who goes on with its run."""

from __future__ import annotations

from collections.abc import Mapping
from time import time
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from autoreason.characters import is_blank
from autoreason.errors import InvalidInput
from autoreason.events import FINISHED
from autoreason.exchange import Request
from autoreason.job_types import HostCheck, JobType
from autoreason.journal import Journal, Question
from autoreason.limits import limits_kept
from autoreason.report.numbers import count, duration

if TYPE_CHECKING:
    from autoreason.run.result import Result

LEASE = 15 * 60.0
"""Seconds for which a question belongs to the one who took it."""
MAX_LEASES = 3
"""After so many without an answer the run pauses."""
MAX_ANSWER = 1_000_000
"""Bytes; no reply of a model is as long."""
DEFAULTS: Mapping[str, Any] = {"passes": 3, "review_every": 0, "early_stop": False}
"""Of a text written from outside, few waves of questions: each pass two or three, every panel one, and one review."""
_PAGE = 60_000
"""Bytes of a prompt read at once, which are 20,000 tokens at most in nearly all languages."""


class Prompt(NamedTuple):
    """A page of what is asked."""

    text: str
    page: int
    pages: int


def take(journal: Journal, token: str, page: int = 1) -> Prompt:
    """What a question asks, for the one who answers it; the first page begins a lease."""
    question, now = check_usable(journal.question(token)), time()
    pages = _pages(prompt_of(journal.request_of(question)))
    if not 1 <= page <= len(pages):
        raise InvalidInput(f"`page` is {page}, and this has {count(len(pages), 'page')}")
    if page == 1:
        journal.take_question(token, now + LEASE, lambda found: _check_free(found, now))
    elif not _held_for(question, now):
        raise InvalidInput("begin with the first page: nobody has this question now")
    return Prompt(pages[page - 1], page, len(pages))


def answer(journal: Journal, token: str, text: str) -> None:
    """Record the answer to a question; one that its run could not read is refused, and the question stays open."""
    question = check_usable(journal.question(token))
    if question.held_until is None:
        raise InvalidInput("this question was not read yet; take it first")
    if is_blank(text):
        raise InvalidInput("the answer is empty; give what was asked for")
    if len(text.encode()) > MAX_ANSWER:
        raise InvalidInput("the answer has more than 1 MB; give a shorter one")
    task, settings = journal.task(question.run), journal.settings(question.run)
    criteria = task.criterion_names if task else ()
    job = settings.job if settings else None
    if not _is_readable(journal.request_of(question), text, criteria, job):
        raise InvalidInput("this cannot be read; answer again, in the form the prompt ends with")
    journal.answer_question(token, text, check_usable)


def check_usable(question: Question | None) -> Question:
    """A question that is still asked."""
    if question is None:
        raise InvalidInput("there is no question of this token; copy it as it was given")
    if question.answer is not None:
        raise InvalidInput("this question was answered already; nothing is changed")
    if question.replied or question.status in FINISHED:
        raise InvalidInput("what asked this has ended; no answer is needed any more")
    return question


def _held_for(question: Question, now: float) -> float:
    """Seconds for which it is still somebody's; 0 where it is free."""
    left = (question.held_until or 0.0) - now
    # None is that long, unless the clock was wrong when it began.
    return left if 0 < left < 2 * LEASE else 0.0


def _check_free(question: Question | None, now: float) -> None:
    if left := _held_for(check_usable(question), now):
        raise InvalidInput(f"this question is taken; it is free again in {duration(left)}")


def prompt_of(request: Request) -> str:
    """All of a request as one text, with the form of its answer in words."""
    said = {"assistant": "You have answered:\n\n"}
    parts = [said.get(each.speaker, "") + each.text for each in request.in_words()]
    return "\n\n".join(part.strip() for part in parts)


def _pages(text: str) -> list[str]:
    pages = [""]
    # A character has four bytes at most.
    step = _PAGE // 4
    for line in text.splitlines(keepends=True):
        for start in range(0, len(line), step):
            piece = line[start : start + step]
            if len(f"{pages[-1]}{piece}".encode()) > _PAGE:
                pages.append("")
            pages[-1] += piece
    return pages


def _is_readable(
    request: Request, text: str, criteria: tuple[str, ...], job: JobType | None
) -> bool:
    """Whether the reader that awaits the answer finds in it what it looks for."""
    from autoreason.parsing.ballots import rests_on_length
    from autoreason.parsing.critiques import read_critique
    from autoreason.parsing.documents import read_document, read_list
    from autoreason.tournament.judges import gives_ballot

    match request.schema.name if request.schema else request.role:
        case "ballot":
            assert request.schema
            return gives_ballot(text, request.schema, criteria)
        case "critique":
            # Only its form: whether what it quotes is in the text is not asked.
            return read_critique(text, "") is not None
        case "length_check":
            return rests_on_length(text) is not None
        case "list":
            return bool(read_list(text))
        case "judge" if isinstance(job, HostCheck):
            from autoreason.studies.host_check import found_in

            return found_in(text, job.word) != "not tested"
        case "author" | "reviser" | "synthesizer" if job and job.writes == "programs":
            from autoreason.programs.examination import read_program

            return read_program(text) is not None
        case "author" | "reviser" | "synthesizer":
            return bool(read_document(text).text)
    return True


# ---- going on ----------------------------------------------------------------------------------


class HostStatus(Struct, frozen=True, omit_defaults=True):
    """How far a run is that waits for answers, for a program that sees to them."""

    run: str
    status: str
    open: list[str]
    """Tokens of the questions that nobody has taken."""
    done: bool
    says: str
    text: str | None = None
    """What it came to, where it is done."""
    path: str | None = None
    """Where that was written."""
    limits: list[str] = []
    """What code checks of the text; only before the first answer."""
    not_understood: list[str] = []
    """Phrases of the brief that look like limits and are none."""


def given_up(question: Question, now: float) -> bool:
    """Whether it was taken as often as it may be, and nobody who could answer it is left."""
    is_open = question.answer is None and not _held_for(question, now)
    return is_open and question.times >= MAX_LEASES


def can_go_on(run: str, journal: Journal) -> bool:
    """Whether anything has changed since a run began to wait: an answer, or a question that was given up."""
    row, asked = journal.row(run), journal.questions(run)
    if row.live or row.finished:
        return False
    if row.status != "waiting" or not asked or journal.pending_commands(run, ["accept"]):
        return True
    return any(each.answer is not None or given_up(each, time()) for each in asked)


def standing(result: Result, journal: Journal, path: str | None = None) -> HostStatus:
    """How far a run is, of which this is the result; `path` is where that was written."""
    row, now = journal.row(result.run), time()
    asked = [each for each in journal.questions(row.id) if each.answer is None and not row.finished]
    free = [each.token for each in asked if not _held_for(each, now)]
    says, text = result.conclusion, None
    if row.finished:
        whole = getattr(result, "patch", None) or result.story.output
        text = whole if result.story.writes else "\n".join(result.summary())
    elif row.live:
        says = "a process works on this run; ask again in a moment"
    elif row.status == "waiting":
        taken = len(asked) - len(free)
        says = f"{count(len(free), 'question')} to be answered"
        says += f", and {taken:,} taken but not answered yet" if taken else ""
    found = HostStatus(row.id, row.state, free, row.finished, says, text, path)
    task = result.story.task
    if task is None or result.calls or result.story.writes != "text":
        return found
    unread = [each.phrase for each in limits_kept(task.contract, task.brief) if not each.keys]
    return replace(found, limits=[*task.rules(short=True)], not_understood=unread)
