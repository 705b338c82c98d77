"""What a list says of a run: its outcome in words, its rounds, words, limits and money; and such a list as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from autoreason.contract import count_words
from autoreason.job_types import Lab
from autoreason.report.numbers import capital, money
from autoreason.story import CONFIRMATION
from autoreason.tournament.endings import limits_of, short_run, summarize
from autoreason.wording import KINDS, TextKind

if TYPE_CHECKING:
    from autoreason.journal import RunRow
    from autoreason.report.table import Tone
    from autoreason.story import Story

OUTCOMES: dict[str, tuple[str, Tone]] = {
    "preferred": ("Preferred", "good"),
    "too close to call": ("Too close to call", "muted"),
    "too few to tell": ("Too few to tell", "muted"),
    "draft preferred": ("Draft preferred", "warning"),
    "draft kept": ("Draft kept", "muted"),
    "not refined": ("Not refined: limits broken", "warning"),
    "not asked": ("Done, not asked", "muted"),
    "accepted": ("Accepted by you", "muted"),
    "done": ("Done", "muted"),
    "running": ("Running", "good"),
    "interrupted": ("Interrupted", "warning"),
    "damaged": ("Damaged", "bad"),
    "limit reached": ("Paused at a limit", "warning"),
    "stopped": ("Stopped by you", "warning"),
    "waiting": ("Waiting for answers", "muted"),
    "judges failed": ("Judges failed", "bad"),
    "provider failed": ("Provider failed", "bad"),
    "metric failed": ("Metric failed", "bad"),
}
"""What people read of each, and how it is meant."""
_PAUSED = {
    "live": "running",
    "killed": "interrupted",
    "budget": "limit reached",
    "stopped": "stopped",
    "waiting": "waiting",
    "panel_failed": "judges failed",
    "provider_failed": "provider failed",
    "metric_failed": "metric failed",
}
LIST_MARK = "<!-- a list of runs, by autoreason -->"
"""By which such a page is known when it is written again."""
RunKind = Literal["text", "program", "research", "comparison", "judging"]
_KINDS: dict[str | None, RunKind] = {"text": "text", "programs": "program", "files": "research"}


class ListedRun(NamedTuple):
    """A run in a list."""

    run: str
    title: str
    kind: RunKind
    outcome: str
    """One of `OUTCOMES`."""
    line: str
    """The first line of its ending, or how far it is."""
    rounds: tuple[TextKind | None, ...]
    """What won each round; None where a round decided nothing."""
    words_before: int | None
    """Of the first draft."""
    words: int | None
    """Of the result, or the text so far."""
    limits: Literal["kept", "broken"] | None
    """None where the text has none, or there is no text."""
    cost: Decimal | None
    cost_limit: Decimal | None
    created: datetime


def describe_run(row: RunRow, story: Story | None, line: str | None = None) -> ListedRun:
    """What a list says; `story` is None where the record is damaged, `line` the ending of another job than a text."""
    writes = story.writes if story else "text"
    text = story.text if story and writes == "text" else None
    draft = story.draft if story and text is not None else None
    is_lab = story is not None and isinstance(story.job, Lab)
    return ListedRun(
        run=row.id,
        title=(story.title if story else "") or row.title,
        kind="comparison" if is_lab else _KINDS.get(writes, "judging"),
        outcome=_outcome(row, story),
        line=_line(row, story) if line is None else line,
        rounds=_rounds(story) if story else (),
        words_before=draft.words if draft else None,
        words=None if text is None else count_words(text),
        limits=limits_of(story) if story and text is not None else None,
        cost=row.spent.cost,
        cost_limit=story.settings.budget.cost if story and story.settings else None,
        created=row.created,
    )


def describe_length(run: ListedRun) -> str:
    """`144 → 171`, `31` where it did not change; empty where there is no text."""
    if run.words is None:
        return ""
    changed = run.words_before is not None and run.words_before != run.words
    return f"{f'{run.words_before:,} → ' if changed else ''}{run.words:,}"


def _outcome(row: RunRow, story: Story | None) -> str:
    if story is None:
        return "damaged"
    if row.state in _PAUSED:
        return _PAUSED[row.state]
    delivered = story.delivered
    if delivered is None or story.writes != "text" or story.alternatives:
        return "done"
    if delivered.ended_by == "person":
        return "accepted"
    if delivered.origin == "draft" and story.draft:
        return "not refined" if delivered.ended_by == "contract" else "draft kept"
    found = delivered.evidence.preference
    if found is None or not found.judges:
        asked = story.panels.get(CONFIRMATION)
        return "too few to tell" if asked and asked.ballots else "not asked"
    if found.low > 0.5 or found.high < 0.5:
        return "preferred" if found.low > 0.5 else "draft preferred"
    return "too few to tell" if found.prefer in (0, found.judges) else "too close to call"


def _line(row: RunRow, story: Story | None) -> str:
    if story is None:
        return "Its record cannot be read."
    if row.state in ("live", "killed"):
        if story.passes:
            return f"In round {story.passes[-1].number}."
        return "In round 1." if story.draft else "Nothing is written yet."
    if story.writes == "text":
        return summarize(story, run=row.id, spent=row.spent, seconds=None)[0]
    return capital(story.reason)


def _rounds(story: Story) -> tuple[TextKind | None, ...]:
    if story.writes != "text" or not (story.job and story.job.is_tournament):
        return ()
    return tuple(
        None if each.outcome == "inconclusive" else one.kind(each.winner or "A", first=False)
        for one in story.passes
        if (each := one.decided)
    )


def runs_page(runs: Sequence[ListedRun], addresses: Mapping[str, str], more: bool = False) -> str:
    """A page of these runs by the addresses of their pages, running ones first; `more` says there are earlier ones."""
    from autoreason.report.page import fill_page

    known = [each.cost for each in runs if each.cost is not None]
    page = fill_page(
        Path(__file__).parent / "assets/runs.html",
        title="Runs",
        runs=sorted(runs, key=lambda each: each.outcome != "running"),
        addresses=addresses,
        more=more,
        running=sum(each.outcome == "running" for each in runs),
        spent=money(sum(known, Decimal(0))),
        unknown=len(runs) - len(known),
        outcomes=OUTCOMES,
        marks=KINDS,
        money=money,
        short_run=short_run,
        describe_length=describe_length,
    )
    return f"{page}{LIST_MARK}\n"
