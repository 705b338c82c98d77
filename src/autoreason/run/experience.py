"""Experience: what the reviews of earlier runs with the same models say about how many rounds to run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil, comb
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from autoreason.contract import count_words
from autoreason.events import FINISHED, Delivered
from autoreason.journal import Journal
from autoreason.run.prepared import certificates_of
from autoreason.run.record import use_journal
from autoreason.run.verbs import JournalPlace
from autoreason.settings import Settings
from autoreason.stats import BEYOND_CHANCE
from autoreason.story import Story
from autoreason.task import Task

LEAST, MOST = 5, 10
"""Runs without which nothing is said, and those that count."""
_LOOKED_AT = 20
_FORGET = 0.9
"""What a run weighs next to the one after it: models and briefs change."""
_MOSTLY = 0.8
_RISING = 0.5
_FURTHER = 5 / 3
TextForm = Literal["text", "list", "line"]
_ITEM = re.compile(r"\s*(?:[-*•]|\d+[.)])\s")


class PastRun(NamedTuple):
    """How one run went."""

    trend: float
    """Of its last review, 1 where younger texts always came first; 0 at most where no limit ended it with a new one."""
    rounds: int
    """After which that was held."""
    since: int
    """The round that wrote what was delivered; 0 is the first draft."""


class TextShape(NamedTuple):
    """What sort of text a run writes; None is not known."""

    form: TextForm | None
    words: int

    def is_like(self, other: TextShape) -> bool:
        same = None in (self.form, other.form) or self.form == other.form
        return same and max(self.words, other.words) <= 2 * min(self.words, other.words)


class _Review(Struct):
    """What is read of a review."""

    trend: float | None
    after: int = 0


def kind_of(text: str) -> TextShape:
    lines = [line for line in text.splitlines() if line.strip()]
    items = sum(_ITEM.match(line) is not None for line in lines)
    form: TextForm = "list" if 2 * items > len(lines) > 1 else "text" if len(lines) > 1 else "line"
    return TextShape(form, count_words(text))


def past_run(story: Story) -> PastRun | None:
    """A finished run with reviews."""
    decided = [each.decided for each in story.reviews if each.decided]
    found = [(each.trend, each.after) for each in decided if each.trend is not None]
    every = story.settings.review_every if story.settings else 0
    return _past_run(*found[-1], story.delivered, every) if found and story.delivered else None


def _past_run(trend: float, after: int, delivered: Delivered, every: int) -> PastRun:
    since, before = int(f"{delivered.origin} 0".split()[1]), (after - 1) // (every or 1) * every
    is_open = delivered.ended_by in ("passes", "budget", "allowance") and since > before
    return PastRun(trend if is_open else min(trend, 0.0), after, since)


def past_runs(journal: Journal, settings: Settings, kind: TextShape | None) -> list[PastRun]:
    """Earlier runs of such texts by the same author before the same judges, oldest first.

    Where it is not known what the next one writes, they all have to be of one kind.
    """
    found: list[PastRun] = []
    models, like, every = settings.models, kind, settings.review_every
    recorded = journal.last_events("ReviewDecided", FINISHED, settings, _LOOKED_AT)
    for run, payload in recorded.items():
        review, delivered = msgspec.json.decode(payload, type=_Review), journal.delivered(run)
        if review.trend is None or delivered is None:
            continue
        # One model plays all roles, or it must be looked up who played which.
        own = None if len(models.all()) == 1 else journal.settings(run)
        if own and (own.models.author, *own.models.judges) != (models.author, *models.judges):
            continue
        written = kind_of(delivered.text)
        if like and not like.is_like(written):
            if kind is None:
                return []
            continue
        like = like or written
        found.append(_past_run(review.trend, review.after, delivered, every))
        if len(found) == MOST:
            break
    return found[::-1]


def describe_experience(past: Sequence[PastRun], settings: Settings) -> str:
    """How many rounds such runs were worth, in a sentence; empty where that is not known, or changes nothing."""
    number, every = len(past), settings.review_every
    if number < LEAST or not every:
        return ""
    weights = [_FORGET**age for age in range(number)][::-1]
    rise = sum(w * run.trend for w, run in zip(weights, past, strict=True)) / sum(weights)
    ups = sum(run.trend > 0 for run in past)
    # Judges who rank at random put younger texts first in every second review.
    by_chance = sum(comb(number, n) for n in range(ups, number + 1)) / 2**number
    runs = f"our last {number} runs with these models"
    if rise >= _RISING and by_chance <= BEYOND_CHANCE:
        # So many that a review is the last.
        more = every * ceil(_FURTHER * max(run.rounds for run in past) / every)
        said = f"Y{runs} were still rising at their last review: --rounds {more} may pay"
        return said if more > settings.passes else ""
    for enough in range(every, settings.passes, every):
        # What was delivered was there by then, and the rounds after it brought nothing more.
        over = [run for run in past if run.since <= enough < run.rounds]
        if len(over) >= _MOSTLY * number:
            last = max(1, *(run.since for run in over))
            which = f"Y{runs}" if len(over) == number else f"{len(over)} of y{runs}"
            rounds = "the first round" if last == 1 else f"{last} rounds"
            return f"{which} had what they delivered after {rounds}: --rounds {enough} may do"
    return ""


def find_experience(
    place: JournalPlace, settings: Settings, task: Task, text: str | None = None
) -> list[str]:
    """One sentence for a run with these settings or none; `text` is what it delivered."""
    is_reviewed = settings.job.is_tournament and settings.review_every and settings.reviewers
    if not is_reviewed or _judged_by_length(settings):
        return []
    written, words = text or task.draft, task.contract.max_words
    kind = kind_of(written) if written else TextShape(None, words) if words else None
    with use_journal(place) as journal:
        said = describe_experience(past_runs(journal, settings, kind), settings)
    return [said] if said else []


def _judged_by_length(settings: Settings) -> bool:
    if not (found := certificates_of(settings)):
        return False
    from autoreason.studies.certificate import LENGTH

    return any(LENGTH.name in each.failed for each in found)
