"""Studies: texts, strategies, recorded passes or a judge in, the run with its report out."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Unpack

from msgspec.structs import replace

from autoreason.exchange import Model
from autoreason.job_types import Certify, Rejudge
from autoreason.prompts import load
from autoreason.run.choices import ModelChoice
from autoreason.run.door import door
from autoreason.run.knowledge_choice import destinations, find_origin
from autoreason.run.lab import PreparedLab, prepare_suite
from autoreason.run.parameters import (
    CertifyOptions,
    CompareOptions,
    JudgeOptions,
    PanelOptions,
    RecordedRun,
)
from autoreason.run.prepared import PreparedRun, job_in, prepare
from autoreason.run.record import name_and_journal, use_journal
from autoreason.run.refine import task_in
from autoreason.run.reports import StudyResult
from autoreason.settings import DEFAULT_MODEL, PANEL_JUDGES
from autoreason.studies.certify.certificate import Certificate
from autoreason.studies.certify.certification import Certification
from autoreason.studies.certify.suite import SUITE
from autoreason.studies.lab.lab_suite import SuiteMatch
from autoreason.studies.lab.made_suites import STRATEGIES, compare_strategies, few_repeats
from autoreason.studies.panels.entries import make_entries, panel_job
from autoreason.studies.panels.panel_report import PanelReport
from autoreason.studies.panels.rejudge import RejudgeReport, recorded_panels
from autoreason.task import Task


@door(judges=PANEL_JUDGES)
def judge(
    brief: str | Task,
    texts: Mapping[str, str],
    model: str | Model = DEFAULT_MODEL,
    **options: Unpack[JudgeOptions],
) -> PreparedRun[StudyResult[PanelReport]]:
    """Let a blind panel rank 2 to 10 texts for the same brief.

    Args:
        brief: What the texts were written for.
        texts: The texts by name.
        model: Judges, unless `judge_models` names others.
        options: Such as `judges` (7), `judge_models`, `pairwise`, `equal_length` and `budget`.
            `print(judge.options())` lists all of them.

    Returns:
        Its `report` has points with intervals, who beats whom, and one sentence that says who wins,
        or that no text does beyond chance. A run that paused, as at a limit of its budget, has none
        yet: `report` then raises the `Interruption`, and `resume` goes on.

    Raises:
        InvalidInput: Something cannot be used.
        JournalError: The journal cannot be read or written.

    Example:
        >>> from autoreason import judge
        >>> texts = {"a": "The moon pulls at the sea.", "b": "The wind blows."}
        >>> result = judge("Explain tides.", texts, "echo/echo", judges=3, seed=1)
        >>> [standing.name for standing in result.report.standings]
        ['a', 'b']
    """
    equal_length = options.get("equal_length", False)
    task = replace(task_in(brief, {}), entries=make_entries(texts, equal_length=equal_length))
    choice = ModelChoice.judging(model, options)
    servers = options.get("base_url"), choice.objects, options.get("pool")
    if task.knowledge is None and destinations(choice.models, *servers):
        task = replace(task, knowledge=find_origin(texts.values(), options.get("journal")))
    return prepare(
        task,
        choice,
        {"judges": PANEL_JUDGES, **options},
        panel_job(texts, pairwise=bool(options.get("pairwise")), equal_length=equal_length),
    )


@door(judges=PANEL_JUDGES, voting=None)
def rejudge(
    run: RecordedRun, model: str | Model = DEFAULT_MODEL, **options: Unpack[PanelOptions]
) -> PreparedRun[StudyResult[RejudgeReport]]:
    """Let another panel judge the recorded passes of a run; no text is written.

    Args:
        run: The run's name, a part of it that no other has, or its result.
        model: Judges, unless `judge_models` names others.
        options: Such as `judges` (7), `judge_models` and `style`; votes are counted as they were.
            `print(rejudge.options())` lists all of them.

    Returns:
        Its `report` says which decisions would have been others; a run that paused has none yet, as
        with `judge`.

    Raises:
        UnknownRun: No run has that name.
        InvalidInput: Something cannot be used.
        JournalError: The journal cannot be read or written.

    Example:
        >>> from autoreason import refine, rejudge
        >>> result = refine("Explain tides.", "echo/echo", passes=1, seed=2)
        >>> report = rejudge(result, "echo/echo", judges=3).report
        >>> [decision.stage for decision in report.decisions]
        ['pass 1', 'playoff']
    """
    name, options["journal"] = name_and_journal(run, options.get("journal"))
    with use_journal(options["journal"]) as journal:
        run = journal.find(name).id
        story = journal.story(run)
    task = recorded_panels(story, run)
    # Votes are counted as they were: what differs must be the judges.
    voting = {"voting": story.settings.voting} if story.settings else {}
    return prepare(
        task,
        ModelChoice.judging(model, options),
        {"judges": PANEL_JUDGES, **voting, **options},
        Rejudge(of=run),
    )


@door(panel_judges=PANEL_JUDGES, strategies=STRATEGIES, match="calls")
def compare(
    brief: str | Task, model: str | Model = DEFAULT_MODEL, **options: Unpack[CompareOptions]
) -> PreparedLab:
    """Compare strategies on one brief, from one shared draft and with matched budgets.

    Args:
        brief: What is to be written; a `Task` says more.
        model: Plays every role that is given no model of its own.
        options: Which `strategies` are compared, how many `repeats` and by which `match`, the rest as for `refine`.
            `print(compare.options())` lists all of them.

    Returns:
        Its `report` has points with intervals, paired tests, what each strategy took, and one
        sentence that says which wins, or that none does beyond chance; a run that paused has none
        yet, as with `judge`.

    Raises:
        InvalidInput: Something cannot be used.
        JournalError: The journal cannot be read or written.

    Example:
        >>> from autoreason import compare
        >>> result = compare(
        ...     "Explain tides.",
        ...     "echo/echo",
        ...     strategies=["critique_revise", "single"],
        ...     repeats=2,
        ...     panel_judges=3,
        ...     seed=1,
        ... )
        >>> [each.arm for each in result.report.arms]
        ['critique_revise', 'single']
    """
    amount, names = options.get("allowance"), options.get("strategies")
    prepared = prepare(task_in(brief, options), ModelChoice.writing(model, options), options)
    suite = compare_strategies(
        prepared.task,
        prepared.settings,
        strategies=STRATEGIES if names is None else names,
        repeats=options.get("repeats"),
        match=SuiteMatch(
            by=options.get("match") or "calls", amount=None if amount is None else Decimal(amount)
        ),
        judges=PANEL_JUDGES if (judges := options.get("panel_judges")) is None else judges,
        prompts=prepared.prompts.sources if options.get("prompts") else {},
    )
    return prepare_suite(suite, prepared, [few_repeats(suite, "strategies")])


@door()
def certify(
    model: str | Model, **options: Unpack[CertifyOptions]
) -> PreparedRun[StudyResult[Certificate]]:
    """Measure a judge on questions whose answers are known, and store its certificate.

    Args:
        model: The judge, as `provider/model` or as a model object.
        options: Such as `repeats` and `budget`. `print(certify.options())` lists all of them.

    Returns:
        Its `report` is the certificate: what the judge sees and what misleads it. It is stored on
        this machine, and commands warn of judges that failed; a run that paused has none yet, as
        with `judge`.

    Raises:
        InvalidInput: Something cannot be used.
        JournalError: The journal cannot be read or written.

    Example:
        >>> from autoreason import certify
        >>> certify("echo/echo", seed=1).report.verdict
        'failed'
    """
    choice = ModelChoice.judging(model, {})
    (address,) = choice.models.judges
    prepared = prepare(
        Task(brief=f"Certify the judge {address}"),
        choice,
        options,
        job_in(Certify, options, model=address, suite=SUITE),
    )
    Certification.check(prepared.settings)
    # Not those that an earlier certificate of the same judge asks for: it is measured afresh.
    return replace(prepared, prompts=load(None, small=address == DEFAULT_MODEL))
