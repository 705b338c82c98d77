"""An author and judges with known habits, for advice from start to end."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.studies.certify.judges import Habit, judge, luck, merit
from tests.tournament.stage import critique

from autoreason.exchange import Request
from autoreason.journal import Journal
from autoreason.models.doubles import ScriptedModel
from autoreason.run.result import StudyResult
from autoreason.run.studies import advise
from autoreason.studies.advice_job import AdviceReport
from autoreason.task import Task

BRIEF = Task(brief="Write a note about the new coffee machine.")
_GRADE = re.compile(r"Grade (\d+)")
_WORDS = [f"{start}{end}" for start in "bcdfghklmnprst" for end in ("ana", "olo", "uru", "imi")]


def written(request: Request) -> str:
    """A text of its own: drafts of any grade, revisions one grade above."""
    seed = luck(request.key)
    words = " ".join(_WORDS[each % len(_WORDS)] for each in seed[:40])
    return f"Grade {seed[0] % 5 if request.role == 'author' else 6 + seed[1] % 3}. {words}."


def grade(text: str) -> float:
    """What a text is worth."""
    found = _GRADE.search(text)
    return int(found[1]) if found else merit(text)


def by_grade(request: Request, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Sees planted defects and prefers the higher grade."""
    return tuple(sorted(texts, key=lambda label: (-grade(texts[label]), luck(request.key, label))))


def blind(request: Request, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Sees planted defects, and tosses coins where texts of the brief are compared."""
    if any(_GRADE.search(text) for text in texts.values()):
        return tuple(sorted(texts, key=lambda label: luck(request.key, label)))
    return by_grade(request, texts)


def keeps_draft(request: Request, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Sees defects, likes every revision less than its draft, and tosses coins between drafts."""
    if not any(_GRADE.search(text) for text in texts.values()):
        return by_grade(request, texts)
    return tuple(
        sorted(texts, key=lambda label: (grade(texts[label]) > 5, luck(request.key, label)))
    )


def cast(
    habit: Habit, author: Callable[[Request], str] = written, most: int | None = None
) -> ScriptedModel:
    """One model for all roles; after so many calls its key is revoked."""

    def others(request: Request) -> str:
        return critique("It lacks an example.") if request.role == "critic" else author(request)

    return judge(habit, most, others, "scripted/scripted")


async def advised(
    journal: Journal, model: ScriptedModel, task: Task = BRIEF, **options: Any
) -> StudyResult[AdviceReport]:
    """Advice from start to end, or until it paused."""
    options = {"seed": 7, **options}
    result = await advise.prepare(task, model, journal=journal, **options).run_async()
    assert isinstance(result, StudyResult)
    return result
