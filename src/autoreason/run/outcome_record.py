"""What became of a run's text, as a record for the next run."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from autoreason.errors import InvalidInput
from autoreason.knowledge.outcome_file import append_outcomes
from autoreason.knowledge.values import read_date
from autoreason.knowledge_records import Chosen, Record, RecordedOutcome
from autoreason.run.parameters import JournalPlace, RecordedRun, check_arguments
from autoreason.run.record import name_and_journal, use_journal


def add_outcome(
    run: RecordedRun,
    value: float,
    knowledge: str | Path,
    *,
    group: str,
    n: int | None = None,
    se: float | None = None,
    metric: str = "result",
    better: Literal["higher", "lower"] = "higher",
    chosen: Chosen = "picked",
    when: str | None = None,
    audience: str = "",
    private: bool = False,
    note: str = "",
    journal: JournalPlace = None,
) -> str | None:
    """Append what the text that a run delivered came to in the world to `outcomes.jsonl` of a folder.

    Args:
        run: The run's name, a part of it that no other has, or its result.
        value: The number: a rate from 0 to 1, or any other.
        knowledge: The folder.
        group: The test, campaign or list within which results can be compared.
        n: How many the number rests on.
        se: Its standard error, where that is known instead.
        metric: What was measured.
        better: Which numbers are better, `higher` or `lower`.
        chosen: How the text came to be used: `random` or `ab` where it was drawn, else `picked`.
        when: A date; None for today.
        audience: Who read it.
        private: Whether only local models may be shown it.
        note: Anything else.
        journal: An open journal, the file of one, or None for the result's or the user's own.

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
    check_arguments(
        add_outcome,
        run=run,
        value=value,
        knowledge=knowledge,
        group=group,
        n=n,
        se=se,
        metric=metric,
        better=better,
        chosen=chosen,
        when=when,
        audience=audience,
        private=private,
        note=note,
        journal=journal,
    )
    name, journal = name_and_journal(run, journal)
    with use_journal(journal) as book:
        found = book.find(name).id
        text = book.story(found).text
    if not text:
        raise InvalidInput(f"run {found} has no text yet; name one that has delivered its text")
    if n is not None and n < 1:
        raise InvalidInput(f"`n` must be at least 1, not {n}")
    if se is not None and se < 0:
        raise InvalidInput(f"`se` must be at least 0, not {se}")
    try:
        day = read_date(when) if when else datetime.now(UTC).date().isoformat()
    except ValueError as error:
        raise InvalidInput(f"{error}; give `when` as YYYY-MM-DD") from None
    record = Record(
        text=text,
        kind="outcome",
        result=RecordedOutcome(
            metric=metric.casefold(),
            value=float(value),
            n=n,
            se=se,
            better=better,
        ),
        group=group,
        when=day,
        audience=audience,
        chosen=chosen,
        private=private,
        note=note or f"run {found}",
    )
    return record.id if append_outcomes(knowledge, [record]) else None
