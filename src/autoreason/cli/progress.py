"""How far a run is, in one line: what is done of how much, how long it may take, and what it has cost."""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from autoreason.characters import without_controls
from autoreason.cli.announcement import PACED_BY
from autoreason.cli.live import Live, View, name_role
from autoreason.events import LIFECYCLE, AnyEvent, RunStarted
from autoreason.exchange import BatchWaiting, CallRetried, Signal
from autoreason.job_types import Judge, JudgePairs, Solve
from autoreason.keys import Key, order_by_number
from autoreason.report.numbers import (
    count,
    count_within,
    duration,
    percent,
    roughly,
    show_cost,
    show_tokens,
)
from autoreason.report.table import lay_out, wrap
from autoreason.settings import Budget
from autoreason.story import CONFIRMATION, REVIEW, Story
from autoreason.wording import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from autoreason.exchange import Spent
    from autoreason.studies.lab_job import LabProgress
    from autoreason.studies.lab_suite import Cell, Suite

HEARTBEAT = 15.0
"""Seconds without a line after which one is printed."""
_BATCH_HEARTBEAT = 600.0
"""The same while batches are waited for."""
_HEADS = {"strategies": "compare", "problems": "solve", "rules": "research"}


def describe_progress(live: Live, *, timed: bool = True) -> str:
    """`compare  try 5 of 12 · refining, round 3 · 41 % · about 6 min left · $2.94 of $10.00`."""
    story = live.story
    if story.settings is None:
        return "autoreason  opening …"
    if lab := live.lab:
        head, parts, spent = *_of_suite(live, lab), lab.spent
    else:
        named = {"files": "research", "programs": "solve"}
        head = named.get(story.writes or "", story.settings.job.label.replace("_", " "))
        parts, spent = [*_steps(live, timed)], live.spent
    return f"{head}  {' · '.join(filter(None, [*parts, *describe_spending(story, spent)]))}"


def describe_spending(story: Story, spent: Spent) -> list[str]:
    """What was spent of what may be: the cost where anything costs, calls where nothing does or they are limited."""
    limits = story.settings.budget if story.settings else Budget()
    parts = []
    costs = limits.cost is not None or spent.known_cost or spent.unpriced
    if costs:
        parts.append(show_cost(spent, limits.cost))
    own_limit = story.settings is not None and isinstance(story.settings.job, Solve)
    if limits.calls is not None or not (costs or own_limit):
        parts.append(count_within(spent.calls, limits.calls, "call"))
    if limits.tokens is not None:
        parts.append(show_tokens(spent, limits.tokens))
    return parts


def describe_time(seconds: float, story: Story | None = None) -> str:
    """`1:12`; of a run with a limit, `1:12 of 30 min`."""
    limit = story.settings.budget.seconds if story and story.settings else None
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02}{f' of {roughly(limit)}' if limit else ''}"


def describe_left(live: Live) -> str:
    """`about 4 min left, at most 12 min`, at the pace so far; empty where that is not known yet, and at the end."""
    from autoreason.run.estimate import plan_run

    story, spent, seconds = live.story, live.spent, live.elapsed
    settings, task, is_ending = story.settings, story.task, CONFIRMATION in story.panels
    if not settings or not task or spent.calls < PACED_BY or is_ending:
        return ""
    if not (settings.job.is_tournament or story.is_sampling):
        return ""
    plans = plan_run(task, settings) or ()
    _, likely, most = (seconds * sum(each.values()) / spent.calls - seconds for each in plans)
    used: dict[str, float] = {"calls": spent.calls, "tokens": spent.known_tokens}
    used |= {"cost": float(spent.known_cost), "seconds": seconds}
    for name, n in used.items():
        if n and (limit := getattr(settings.budget, name)) is not None:
            most = min(most, seconds * float(limit) / n - seconds)
    if not 1 <= likely < most:
        return f"at most {roughly(most)} left" if most >= 1 else ""
    return f"about {roughly(likely)} left, at most {roughly(most)}"


# ---- kinds of jobs -----------------------------------------------------------------------------


def _steps(live: Live, timed: bool) -> Iterator[str]:
    story, settings = live.story, live.story.settings
    assert settings is not None
    if story.writes == "files":
        from autoreason.artifacts.research_history import describe_progress

        yield from describe_progress(story, {Key.parse(each).head for each in live.calls})
    elif isinstance(settings.job, Solve):
        from autoreason.programs.events import examined_in

        tried = examined_in(story)
        yield count(len(tried), "program")
        if tried:
            best = max((each.examined for each in tried), key=lambda found: found.passed)
            yield f"best so far passes {best.passed} of {count(best.total, f'{best.which} test')}"
        yield f"{live.spent.calls} of at most {count(settings.job.calls, 'call')}"
    elif story.writes == "text":
        yield _of_text(live)
    else:
        votes = sum(len(panel.ballots) for panel in story.panels.values())
        done = count(votes, "ranking") if votes else ""
        if isinstance(settings.job, Judge):
            texts = len(story.task.entries) if story.task else 0
            both = texts * (texts - 1) if isinstance(settings.job, JudgePairs) else 1
            done = f"{votes} of {count(settings.judges * both, 'ranking')}"
        yield done
    if timed and story.writes != "files":
        yield describe_time(live.elapsed, story)
        yield describe_left(live)


def _of_text(live: Live) -> str:
    """Rounds, with the reviews between them, or drafts of which one is chosen."""
    story, asked = live.story, {Key.parse(each).head for each in live.calls}
    assert story.settings is not None
    if story.draft is None:
        return "first draft"
    if CONFIRMATION in asked:
        return "fresh judges"
    if story.is_sampling:
        from autoreason.strategies import sample_count

        if REVIEW in asked or story.closing_ballots:
            return "review"
        number = sample_count(story.settings)
        return f"draft {min(len(story.passes) + 1, number)} of {number}"
    if REVIEW in asked:
        return f"review after round {len(story.passes)}"
    return f"round {len(story.passes) or 1} of at most {story.settings.passes}"


def _of_suite(live: Live, lab: LabProgress) -> tuple[str, list[str]]:
    from autoreason.studies.lab_suite import suite_of

    suite = suite_of(live.story.task)
    assert suite is not None
    head = _HEADS.get(suite.form) or f"lab {suite.name}"
    compared = suite.form == "strategies"
    done = _try(live, suite, lab) if compared else _count_texts(live, suite, lab)
    # Drafts are quick and contests are not: the pace is known once one of each is done.
    paced = lab.done * len(suite.tasks) * suite.repeats >= lab.total
    seconds = lab.seconds_left or 0.0
    left = f"about {roughly(seconds)} left" if paced and seconds >= 1 else ""
    failed = f"{lab.left_out} left out" if lab.left_out else ""
    missing = f"{lab.missing} not in this journal" if lab.missing else ""
    share = percent(lab.done / lab.total) if lab.total else ""
    return head, [*done, share, failed, missing, left]


def _try(live: Live, suite: Suite, lab: LabProgress) -> list[str]:
    """The first try that is under way, and what is done for it."""
    order = sorted(live.calls, key=order_by_number)
    under_way = [(cell, key) for key in order if (cell := live.cells.get(Key.parse(key).group))]
    if not under_way:
        return [count(suite.repeats, "try", "tries")] if lab.done < lab.total else []
    # Steps of a cell say more than that it is under way.
    cell, key = min(
        under_way, key=lambda each: (each[0].repeat, each[0].number, each[1].count("/") < 5)
    )
    return [f"try {cell.repeat} of {suite.repeats}", _describe_cell(cell, Key.parse(key))]


def _describe_cell(cell: Cell, key: Key) -> str:
    if cell.kind != "arm":
        return "first draft" if cell.kind == "draft" else "judges"
    round_number = key.number("pass")
    name = in_words(cell.arms[0])
    return f"{name}, round {round_number}" if round_number is not None else name


def _count_texts(live: Live, suite: Suite, lab: LabProgress) -> list[str]:
    from autoreason.studies.lab_suite import CellFinished

    arms, done = sum(cell.kind == "arm" for cell in live.cells.values()), lab.done
    what = "run" if any(each.job for each in suite.tasks.values()) else "text"
    what = "program" if suite.form == "problems" else what
    if arms != lab.total:
        done = sum(each.cell.kind == "arm" for each in live.story.of(CellFinished))
    return [f"{done:,} of {count(arms, what)}"]


# ---- a line a step -----------------------------------------------------------------------------


class Plain(View):
    """Prints what happens as it happens."""

    period = 1.0

    def __init__(self, live: Live, out: TextIO | None = None, skip: int = 0) -> None:
        super().__init__(live)
        self.out = out or sys.stderr
        self.skip = skip
        """Events of the tournament known from before, which are not printed again."""
        self.printed_at = live.clock()

    def on_event(self, event: AnyEvent) -> None:
        line = self.live.on_event(event)
        if self.skip and not isinstance(event, LIFECYCLE):
            self.skip -= 1
            return
        if isinstance(event, RunStarted):
            line = f"{line} · {self.live.run}" if self.live.run else line
        if line:
            self.print_note(line)

    def on_signal(self, signal: Signal) -> None:
        """Count along; only trouble, and how far batches are, is worth a line."""
        before = self.live.batch_progress()
        self.live.on_signal(signal)
        if isinstance(signal, BatchWaiting):
            if (progress := self.live.batch_progress()) not in ("", before):
                self.print_note(progress)
        elif isinstance(signal, CallRetried) and (call := self.live.calls.get(signal.key)):
            who, wait = name_role(call.role), duration(signal.wait)
            self.print_note(f"{who}: {signal.reason}; asked again in {wait}")

    def on_stop(self) -> None:
        super().on_stop()
        self.print_note(self.live.waiting())

    def print_note(self, line: str) -> None:
        time = f"{describe_time(self.live.elapsed)} "
        text = f"{time}{without_controls(line)}"
        self._print("\n".join(wrap(text, shutil.get_terminal_size().columns, " " * len(time))))

    def print_rows(self, rows: Sequence[tuple[str, str]]) -> None:
        for label, text in lay_out(rows, shutil.get_terminal_size().columns):
            self._print(f"{label}{without_controls(text)}")

    def _print(self, text: str) -> None:
        # The reader may have left; the run goes on.
        with suppress(OSError):
            print(text, file=self.out, flush=True)
        self.printed_at = self.live.clock()

    def refresh(self) -> None:
        silence, batches = self.live.clock() - self.printed_at, self.live.batch_progress()
        if silence >= (_BATCH_HEARTBEAT if batches else HEARTBEAT) and (batches or self.live.calls):
            self.print_note(
                batches or f"still at work: {describe_progress(self.live, timed=False)}"
            )
