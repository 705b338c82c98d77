"""Advice before a run: a brief in, whether and how to run it out."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Unpack

from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.exchange import Model, Spent
from autoreason.files import open_input
from autoreason.job_types import Advise, Instead
from autoreason.run.choices import ModelChoice
from autoreason.run.door import checked, door
from autoreason.run.parameters import AdviseOptions, JournalPlace, RecordedRun
from autoreason.run.prepared import PreparedRun, job_in, prepare
from autoreason.run.record import name_and_journal, use_journal
from autoreason.run.refine import task_in
from autoreason.run.reports import StudyResult
from autoreason.settings import DEFAULT_MODEL, Settings
from autoreason.story import Story
from autoreason.studies.advise.advice_job import ends_by_rule, limit_calls, pilots_of
from autoreason.studies.advise.advice_report import AdviceReport, recorded_advice, spent_by_role
from autoreason.studies.advise.pilots import Pilot, read_pilot
from autoreason.task import Task, read_source, split_front_matter

_TABLES = (".json", ".jsonl")
_RESEARCH_KEYS = ("artifact", "evaluate")


@door()
def advise(
    brief: str | Task, model: str | Model = DEFAULT_MODEL, **options: Unpack[AdviseOptions]
) -> PreparedRun[StudyResult[AdviceReport]]:
    """Measure whether a brief is worth a whole run, and what else would do.

    Args:
        brief: What is to be written; a `Task` says more.
        model: Plays every role that is given no model of its own.
        options: As for `refine`, without records and metric: the settings of the run that is asked about.
            `print(advise.options())` lists all of them.

    Returns:
        Its `report` says `run it`, `one draft`, `another judge`, `research` or `undecided`, with
        error rates, the price and the command that goes on; a run that paused has none yet, as with
        `judge`. It takes at most a third of the calls of the run that is asked about.

    Raises:
        InvalidInput: Something cannot be used.
        JournalError: The journal cannot be read or written.

    Example:
        >>> from autoreason import advise
        >>> advise("In which year was the telescope invented?", "echo/echo").report.advice
        'one draft'
    """
    choice = ModelChoice.writing(model, options)
    prepared = prepare(task_in(brief, options), choice, options, job_in(Advise, options))
    settings = prepared.settings
    # Where no call is needed, a limit says nothing.
    if ends_by_rule(prepared.task, settings):
        return prepared
    budget = replace(settings.budget, calls=limit_calls(settings))
    return replace(prepared, settings=replace(settings, budget=budget))


def command_for(source: str) -> Instead:
    """The command that a file is for because it has a number or tests; empty for a brief."""
    path = Path(source).expanduser()
    if path.suffix in _TABLES:
        return "solve" if _is_problem(path) else ""
    _, text = read_source(source) if source != "-" else ("", "")
    keys, _ = split_front_matter(source, text, _RESEARCH_KEYS)
    return "research" if all(key in keys for key in _RESEARCH_KEYS) else ""


def _is_problem(path: Path) -> bool:
    """Whether the first record of a file is a problem; tests in it are not looked at."""
    from autoreason.programs.problems.formats import format_of

    try:
        with open_input(path) as file:
            record: Any = json.loads(file.readline() if path.suffix == ".jsonl" else file.read())
    except (OSError, ValueError):
        return False
    if isinstance(record, list):
        record = record[0] if record else None
    return isinstance(record, dict) and format_of(record) is not None


@checked
def advise_from(runs: Sequence[RecordedRun], *, journal: JournalPlace = None) -> AdviceReport:
    """Advice from recorded runs, for nothing: each counts as a pilot by its confirmation.

    Args:
        runs: Names of finished runs, parts of them that no other has, or their results.
        journal: An open journal, the file of one, or None for the results' or the user's own.

    Returns:
        `run it`, `one draft` or `undecided`, with error rates for so many runs.

    Raises:
        UnknownRun: No run has that name.
        InvalidInput: No run says anything, or one is named twice.
        JournalError: The journal cannot be read.

    Example:
        >>> from autoreason import advise_from, refine
        >>> runs = [refine("Explain tides.", "echo/echo", passes=1, seed=at) for at in (1, 2)]
        >>> advise_from(runs).advice
        'undecided'
    """
    pilots: list[Pilot] = []
    notes: list[str] = []
    authors: dict[str, Settings] = {}
    spent: defaultdict[str, Spent] = defaultdict(Spent)
    seen: set[str] = set()
    for run in runs:
        name, place = name_and_journal(run, journal)
        with use_journal(place) as book:
            name = book.find(name).id
            if name in seen:
                raise InvalidInput(f"run {name} is named twice; name every run once")
            seen.add(name)
            story = book.story(name)
            found = list(_recorded_pilots(name, story))
            if not found or story.settings is None:
                notes.append(f"{name} is left out: it has no judges who compared result and draft")
                continue
            pilots += found
            authors[story.settings.models.author] = story.settings
            for role, each in spent_by_role(book, name).items():
                spent[role] = spent[role].joined(each)
    if not pilots:
        raise InvalidInput(
            "no run named here says anything; name runs that ended with a confirmation"
        )
    notes.append("chosen runs show what they were chosen for: name all there are of this kind")
    if len(authors) > 1:
        notes.append(f"these are runs of several authors: {', '.join(authors)}")
    return recorded_advice(pilots, next(iter(authors.values())), spent, tuple(notes))


def _recorded_pilots(name: str, story: Story) -> Iterator[Pilot]:
    """What a run says of result and draft: a tournament by its confirmation, advice by its pilots."""
    settings = story.settings
    if settings is None:
        return
    if isinstance(settings.job, Advise):
        for pilot in pilots_of(story):
            yield replace(pilot, name=f"{name}, {pilot.name}")
    elif settings.job.is_tournament and settings.confirmation and story.delivered:
        yield read_pilot(name, story)
