"""Studies: texts, strategies, recorded passes or a judge in, the run with its report out."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Unpack, cast

from msgspec.structs import replace

from autoreason.exchange import Model
from autoreason.prompts import load
from autoreason.run.knowledge_choice import destinations, find_origin
from autoreason.run.lab import PreparedLab, prepare_suite
from autoreason.run.model_choice import ModelChoice
from autoreason.run.parameters import (
    CertifyOptions,
    CompareOptions,
    JudgeOptions,
    PanelOptions,
    RecordedRun,
    check_arguments,
)
from autoreason.run.prepared import PreparedRun, prepare
from autoreason.run.record import name_and_journal, use_journal
from autoreason.run.refine import task_in
from autoreason.run.reports import StudyResult
from autoreason.run.sync import wait_for
from autoreason.settings import DEFAULT_MODEL, PANEL_JUDGES
from autoreason.studies.certify.certificate import Certificate
from autoreason.studies.certify.certification import Certification
from autoreason.studies.certify.suite import SUITE
from autoreason.studies.lab.lab_report import LabReport
from autoreason.studies.lab.lab_suite import SuiteMatch
from autoreason.studies.lab.made_suites import STRATEGIES, compare_strategies, few_repeats
from autoreason.studies.panels.entries import cut_options, make_entries
from autoreason.studies.panels.panel_report import PanelReport, require_statistics
from autoreason.studies.panels.rejudge import RejudgeReport, recorded_panels
from autoreason.task import Task


def judge(
    brief: str | Task,
    texts: Mapping[str, str],
    model: str | Model = DEFAULT_MODEL,
    **options: Unpack[JudgeOptions],
) -> StudyResult[PanelReport]:
    """Let a blind panel rank 2 to 10 texts for the same brief.

    Args:
        brief: What the texts were written for.
        texts: The texts by name.
        model: Judges, unless `judge_models` names others.
        options: See `JudgeOptions`; there are 7 judges unless `judges` gives another number.

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
    return wait_for(lambda: judge_async(brief, texts, model, **options), "judge")


async def judge_async(
    brief: str | Task,
    texts: Mapping[str, str],
    model: str | Model = DEFAULT_MODEL,
    **options: Unpack[JudgeOptions],
) -> StudyResult[PanelReport]:
    """Like `judge`, in an event loop."""
    return cast(
        StudyResult[PanelReport], await prepare_judge(brief, texts, model, **options).run_async()
    )


def prepare_judge(
    brief: str | Task,
    texts: Mapping[str, str],
    model: str | Model = DEFAULT_MODEL,
    **options: Unpack[JudgeOptions],
) -> PreparedRun:
    """The run that `judge` with the same arguments would drive.

    Args:
        brief: What the texts were written for.
        texts: The texts by name.
        model: Judges, unless `judge_models` names others.
        options: See `JudgeOptions`.

    Returns:
        The run, to be looked at, estimated and run.

    Raises:
        InvalidInput: Something cannot be used.

    Example:
        >>> from autoreason import prepare_judge
        >>> prepared = prepare_judge("Explain tides.", {"a": "The moon.", "b": "The wind."})
        >>> prepared.estimate().calls
        Span(low=7, likely=7, high=28)
    """
    check_arguments(prepare_judge, options, brief=brief, texts=texts, model=model)
    require_statistics()
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
        strategy="judge_pairs" if options.get("pairwise") else "judge",
        strategy_options=cut_options(texts, equal_length=equal_length),
    )


def rejudge(
    run: RecordedRun, model: str | Model = DEFAULT_MODEL, **options: Unpack[PanelOptions]
) -> StudyResult[RejudgeReport]:
    """Let another panel judge the recorded passes of a run; no text is written.

    Args:
        run: The run's name, a part of it that no other has, or its result.
        model: Judges, unless `judge_models` names others.
        options: See `PanelOptions`; there are 7 judges unless `judges` gives another number, and
            votes are counted as they were.

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
    return wait_for(lambda: rejudge_async(run, model, **options), "rejudge")


async def rejudge_async(
    run: RecordedRun, model: str | Model = DEFAULT_MODEL, **options: Unpack[PanelOptions]
) -> StudyResult[RejudgeReport]:
    """Like `rejudge`, in an event loop."""
    return cast(
        StudyResult[RejudgeReport], await prepare_rejudge(run, model, **options).run_async()
    )


def prepare_rejudge(
    run: RecordedRun, model: str | Model = DEFAULT_MODEL, **options: Unpack[PanelOptions]
) -> PreparedRun:
    """The run that `rejudge` with the same arguments would drive.

    Args:
        run: The run's name, a part of it that no other has, or its result.
        model: Judges, unless `judge_models` names others.
        options: See `PanelOptions`.

    Returns:
        The run, to be looked at, estimated and run.

    Raises:
        UnknownRun: No run has that name.
        InvalidInput: Something cannot be used.

    Example:
        >>> from autoreason import prepare_rejudge, refine
        >>> result = refine("Explain tides.", "echo/echo", passes=1, seed=1)
        >>> prepare_rejudge(result.run, "echo/echo").settings.judges
        7
    """
    check_arguments(prepare_rejudge, options, run=run, model=model)
    require_statistics()
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
        strategy="rejudge",
        strategy_options={"of": run},
    )


def compare(
    brief: str | Task, model: str | Model = DEFAULT_MODEL, **options: Unpack[CompareOptions]
) -> StudyResult[LabReport]:
    """Compare strategies on one brief, from one shared draft and with matched budgets.

    Args:
        brief: What is to be written; a `Task` says more.
        model: Plays every role that has none of its own.
        options: See `CompareOptions`; `autoreason`, `single` and `critique_revise` are compared
            unless `strategies` names others.

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
    return wait_for(lambda: compare_async(brief, model, **options), "compare")


async def compare_async(
    brief: str | Task, model: str | Model = DEFAULT_MODEL, **options: Unpack[CompareOptions]
) -> StudyResult[LabReport]:
    """Like `compare`, in an event loop."""
    return await prepare_compare(brief, model, **options).run_async()


def prepare_compare(
    brief: str | Task, model: str | Model = DEFAULT_MODEL, **options: Unpack[CompareOptions]
) -> PreparedLab:
    """The run that `compare` with the same arguments would drive.

    Args:
        brief: What is to be written; a `Task` says more.
        model: Plays every role that has none of its own.
        options: See `CompareOptions`.

    Returns:
        The run, to be looked at, estimated and run.

    Raises:
        InvalidInput: Something cannot be used.

    Example:
        >>> from autoreason import prepare_compare
        >>> prepared = prepare_compare("Explain tides.", "echo/echo", strategies=["improve", "single"])
        >>> list(prepared.suite.arms), prepared.suite.repeats
        (['improve', 'single'], 6)
    """
    check_arguments(prepare_compare, options, brief=brief, model=model)
    require_statistics()
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


def certify(model: str | Model, **options: Unpack[CertifyOptions]) -> StudyResult[Certificate]:
    """Measure a judge on questions whose answers are known, and store its certificate.

    Args:
        model: The judge, as `provider/model` or as a model object.
        options: See `CertifyOptions`.

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
    return wait_for(lambda: certify_async(model, **options), "certify")


async def certify_async(
    model: str | Model, **options: Unpack[CertifyOptions]
) -> StudyResult[Certificate]:
    """Like `certify`, in an event loop."""
    return cast(StudyResult[Certificate], await prepare_certify(model, **options).run_async())


def prepare_certify(model: str | Model, **options: Unpack[CertifyOptions]) -> PreparedRun:
    """The run that `certify` with the same arguments would drive.

    Args:
        model: The judge, as `provider/model` or as a model object.
        options: See `CertifyOptions`.

    Returns:
        The run, to be looked at, estimated and run.

    Raises:
        InvalidInput: Something cannot be used.

    Example:
        >>> from autoreason import prepare_certify
        >>> prepare_certify("echo/echo", repeats=2).estimate().calls
        Span(low=336, likely=336, high=1344)
    """
    check_arguments(prepare_certify, options, model=model)
    choice = ModelChoice.judging(model, {})
    (address,) = choice.models.judges
    repeats = options.get("repeats")
    prepared = prepare(
        Task(brief=f"Certify the judge {address}"),
        choice,
        options,
        strategy="certify",
        strategy_options={
            "model": address,
            "suite": SUITE,
            "repeats": 1 if repeats is None else repeats,
        },
    )
    Certification.check(prepared.settings)
    # Not those that an earlier certificate of the same judge asks for: it is measured afresh.
    return replace(prepared, prompts=load(None, small=address == DEFAULT_MODEL))
