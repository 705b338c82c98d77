"""What became of a run's text, as a record for the next run."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Unpack

from autoreason.errors import InvalidInput
from autoreason.knowledge.columns import read_date
from autoreason.knowledge.folder import append_outcomes
from autoreason.knowledge_records import Record, RecordedOutcome
from autoreason.run.parameters import OutcomeOptions, RecordedRun, check_arguments
from autoreason.run.record import find_story


def add_outcome(
    run: RecordedRun,
    value: float,
    knowledge: str | Path,
    *,
    group: str,
    **options: Unpack[OutcomeOptions],
) -> str | None:
    """Append what the text that a run delivered came to in the world to `outcomes.jsonl` of a folder.

    Args:
        run: The run's name, a part of it that no other has, or its result.
        value: The number: a rate from 0 to 1, or any other.
        knowledge: The folder.
        group: The test, campaign or list within which results can be compared.
        options: See `OutcomeOptions`.

    Returns:
        The record's id; None where the folder had it.

    Raises:
        UnknownRun: No run has that name.
        InvalidInput: The run has no text, or the folder cannot be used.

    Example:
        >>> from pathlib import Path
        >>> from autoreason import add_outcome, refine
        >>> result = refine("Explain tides.", "echo/echo", passes=1)
        >>> Path("kb").mkdir()
        >>> add_outcome(result, 0.38, "kb", group="spring", n=2100, when="2024-03-05")[0]
        'r'
    """
    check_arguments(add_outcome, options, run=run, value=value, knowledge=knowledge, group=group)
    if not group.strip():
        raise InvalidInput("`group` is empty; name what the result can be compared in")
    name, story = find_story(run, options.get("journal"))
    if not story.text:
        raise InvalidInput(f"run {name} has no text yet; name one that has delivered its text")
    record = Record(
        text=story.text,
        kind="outcome",
        result=_read_outcome(value, options),
        group=group,
        when=_read_day(options.get("when")),
        audience=options.get("audience") or "",
        chosen=options.get("chosen") or "picked",
        private=options.get("private") or False,
        note=options.get("note") or f"run {name}",
    )
    return record.id if append_outcomes(knowledge, [record]) else None


def _read_outcome(value: float, options: OutcomeOptions) -> RecordedOutcome:
    n, se = options.get("n"), options.get("se")
    if n is not None and n < 1:
        raise InvalidInput(f"`n` must be at least 1, not {n}")
    if se is not None and se < 0:
        raise InvalidInput(f"`se` must be at least 0, not {se}")
    if n is not None and se is None and value > 1:
        raise InvalidInput(
            f"`value` is {value:g} of {n:,}, and a share lies between 0 and 1; give {value / 100:g} for per cent, or "
            "`se` for a number that is no share"
        )
    metric, better = options.get("metric") or "result", options.get("better") or "higher"
    return RecordedOutcome(metric=metric.casefold(), value=float(value), n=n, se=se, better=better)


def _read_day(when: str | None) -> str:
    try:
        return read_date(when) if when else datetime.now(UTC).date().isoformat()
    except ValueError as error:
        raise InvalidInput(f"{error}; give `when` as YYYY-MM-DD") from None
