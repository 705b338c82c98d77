"""A run's texts tried on real readers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace as changed
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.knowledge.folder import read_folder, replace_outcomes
from autoreason.knowledge_records import Record
from autoreason.run.parameters import JournalPlace, RecordedRun, check_arguments
from autoreason.run.record import find_story
from autoreason.story import Story
from autoreason.studies.ab.ab_plan import AbPlan, plan_of, read_plan
from autoreason.studies.ab.ab_report import AbReport, read_results, report_of
from autoreason.studies.ab.effect import effect_over_runs


def plan_ab(
    run: RecordedRun,
    arms: int = 3,
    *,
    base: float = 0.2,
    lift: float = 0.1,
    journal: JournalPlace = None,
) -> AbPlan:
    """Plan an A/B test of the texts of a run: codes, an equal split and a sample size.

    Args:
        run: The run's name, a part of it that no other has, or its result.
        arms: How many texts: what was delivered, the first draft, then others; of three to five one
            is drawn, of more two.
        base: The share that the first draft is expected to reach, such as 0.2 of readers who open.
        lift: The smallest rise worth finding, as a share of that.
        journal: An open journal, the file of one, or None for the result's or the user's own.

    Returns:
        The plan; its `write` puts it into a folder.

    Raises:
        UnknownRun: No run has that name.
        InvalidInput: The run has too few texts, or a number is out of range.

    Example:
        >>> from autoreason import plan_ab, refine
        >>> result = refine("Explain tides.", "echo/echo", passes=2, seed=1)
        >>> len(plan_ab(result, arms=2, base=0.2, lift=0.1).arms)
        2
    """
    check_arguments(plan_ab, run=run, arms=arms, base=base, lift=lift, journal=journal)
    name, story = find_story(run, journal)
    if story.end is None:
        raise InvalidInput(
            f"run {name} has not delivered its text; end it first (`autoreason resume {name}`)"
        )
    seed = story.settings.seed if story.settings else 0
    return plan_of(story, name, arms, base=base, lift=lift, seed=seed)


def report_ab(
    results: str | Path,
    plan: str | Path | None = None,
    *,
    group: str = "",
    metric: str = "rate",
    knowledge: str | Path | None = None,
    judged: Sequence[RecordedRun] = (),
    journal: JournalPlace = None,
) -> AbReport:
    """Read the counts of an A/B test, and hand its outcomes to a folder of records.

    Args:
        results: A table with the columns `code`, `n` and `count`; counts may be given in per cent of n.
        plan: The folder of the plan; without it, that of the results.
        group: What the outcomes are filed under; the run's name where it is empty.
        metric: What was counted.
        knowledge: A folder of records that the outcomes are appended to; None for none.
        judged: Runs, by name or result (`all` is for the command line), whose fresh judges compared result
            and draft: the `effect` over them is estimated from those of which the folder has outcomes of both
            texts, and from what judges say of the others.
        journal: An open journal, the file of one, or None for the results' or the user's own.

    Returns:
        Whether the split was equal, which text does better by an interval that may be looked at any
        time, and, where the folder has enough other tests, what each is expected to reach when it is tried again.

    Raises:
        InvalidInput: The table does not fit the plan, or a file cannot be read.
        UnknownRun: No run has the name of one that was judged.

    Example:
        >>> from pathlib import Path
        >>> from autoreason import plan_ab, refine, report_ab
        >>> plan = plan_ab(refine("Explain tides.", "echo/echo", passes=2, seed=1), arms=2)
        >>> _ = plan.write(Path("test"))
        >>> rows = [f"{arm.code},5000,1000" for arm in plan.arms]
        >>> _ = Path("test/results.csv").write_text("\\n".join(["code,n,count", *rows]))
        >>> report_ab("test/results.csv").is_unequal
        False
    """
    check_arguments(
        report_ab,
        results=results,
        plan=plan,
        group=group,
        metric=metric,
        knowledge=knowledge,
        judged=judged,
        journal=journal,
    )
    file = Path(results)
    counts = read_results(file)
    found = report_of(
        read_plan(Path(plan) if plan else file.parent),
        counts,
        group=group,
        metric=metric,
        known=read_folder(knowledge).records if knowledge else (),
    )
    if knowledge and not found.is_unequal:
        today = datetime.now(UTC).date().isoformat()
        dated = [replace(record, when=today) for record in found.records]
        new, old = replace_outcomes(knowledge, dated, _same_test)
        found = changed(found, appended=len(new), replaced=old)
    if judged and not found.is_unequal:
        known = read_folder(knowledge).records if knowledge else found.records
        found = changed(found, effect=effect_over_runs(_stories(judged, journal), known, metric))
    return found


def _same_test(record: Record) -> tuple[str, ...]:
    """What two looks at one arm of a test share."""
    metric = record.result.metric if record.result else ""
    return record.text, record.group, metric, record.note


def _stories(runs: Sequence[RecordedRun], journal: JournalPlace) -> Iterator[tuple[str, Story]]:
    """What is recorded of runs, each once, one after another: all there are may be many."""
    seen: set[str] = set()
    for run in runs:
        name, story = find_story(run, journal)
        if name not in seen:
            seen.add(name)
            yield name, story
