"""Studies: texts, strategies, rules, recorded passes, a judge or a brief in, the run with its report out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Unpack, cast, get_args

from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.exchange import Model, Spent
from autoreason.job_types import Advise, Certify, Instead, Rejudge, RuleName
from autoreason.prompts import load
from autoreason.run.experience import PastRun, describe_experience, past_run
from autoreason.run.lab import PreparedLab, prepare_suite
from autoreason.run.prepared import ModelChoice, PreparedRun, job_in, prepare
from autoreason.run.record import find_story, name_and_journal, use_journal
from autoreason.run.refine import task_in
from autoreason.run.research import research
from autoreason.run.result import StudyResult
from autoreason.run.verbs import (
    AdviseOptions,
    CertifyOptions,
    CompareOptions,
    CompareRulesOptions,
    JournalPlace,
    JudgeOptions,
    PanelOptions,
    RecordedRun,
    ResearchOptions,
    checked,
    door,
)
from autoreason.settings import DEFAULT_MODEL, PANEL_JUDGES, Settings, SuiteMatch
from autoreason.story import Story
from autoreason.studies.advice_job import (
    AdviceReport,
    ends_by_rule,
    limit_calls,
    pilots_of,
    recorded_advice,
    spent_by_role,
)
from autoreason.studies.advice_measures import Pilot, read_pilot
from autoreason.studies.certificate import Certificate, Certification
from autoreason.studies.certificate_questions import SUITE
from autoreason.studies.lab_suite import STRATEGIES, compare_strategies, few_repeats
from autoreason.studies.lab_suite import compare_rules as rules_suite
from autoreason.studies.panel_jobs import RejudgeReport, make_entries, panel_job, recorded_panels
from autoreason.studies.panel_report import PanelReport
from autoreason.task import Task, read_source, split_front_matter


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

    Example:
        >>> from autoreason import judge
        >>> texts = {"a": "The moon pulls at the sea.", "b": "The wind blows."}
        >>> result = judge("Explain tides.", texts, "echo/echo", judges=3, seed=1)
        >>> [standing.name for standing in result.report.standings]
        ['a', 'b']
    """
    equal_length = options.get("equal_length", False)
    read = options.get("limits_from_brief", True)
    task = replace(
        task_in(brief, {"limits_from_brief": read}),
        entries=make_entries(texts, equal_length=equal_length),
    )
    return prepare(
        task,
        ModelChoice.judging(model, options),
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

    Example:
        >>> from autoreason import refine, rejudge
        >>> result = refine("Explain tides.", "echo/echo", passes=1, seed=2)
        >>> report = rejudge(result, "echo/echo", judges=3).report
        >>> [decision.stage for decision in report.decisions]
        ['review 1']
    """
    name, options["journal"] = name_and_journal(run, options.get("journal"))
    run, story = find_story(name, options["journal"])
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
    if Path(source).suffix in (".json", ".jsonl"):
        return "solve"
    _, text = read_source(source) if source != "-" else ("", "")
    keys, _ = split_front_matter(source, text, _RESEARCH_KEYS)
    return "research" if all(key in keys for key in _RESEARCH_KEYS) else ""


@checked
def advise_from(runs: Sequence[RecordedRun], *, journal: JournalPlace = None) -> AdviceReport:
    """Advice from recorded runs, for nothing: each counts as a pilot by its confirmation.

    Args:
        runs: Names of finished runs, parts of them that no other has, or their results.
        journal: An open journal, the file of one, or None for the results' or the user's own.

    Returns:
        `run it`, `one draft` or `undecided`, with error rates for so many runs.

    Example:
        >>> from autoreason import advise_from, refine
        >>> runs = [refine("Explain tides.", "echo/echo", passes=1, seed=at) for at in (1, 2)]
        >>> advise_from(runs).advice
        'undecided'
    """
    pilots: list[Pilot] = []
    notes: list[str] = []
    past: list[PastRun] = []
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
            past += filter(None, [past_run(story)])
            authors[story.settings.models.author] = story.settings
            for role, each in spent_by_role(book, name).items():
                spent[role] = spent[role].joined(each)
    if not pilots:
        raise InvalidInput("no run here says anything; name runs with a confirmation")
    notes.append("chosen runs show what they were chosen for: name all there are of this kind")
    if len(authors) > 1:
        notes.append(f"these are runs of several authors: {', '.join(authors)}")
    settings = next(iter(authors.values()))
    if len(authors) == 1 and (said := describe_experience(past, settings)):
        notes.append(said)
    return recorded_advice(pilots, settings, spent, tuple(notes))


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


@door(rules=get_args(RuleName), repeats=1)
def compare_rules(
    task: str | Path | Task,
    model: str | Model = DEFAULT_MODEL,
    **options: Unpack[CompareRulesOptions],
) -> PreparedLab:
    r"""Compare rules of research on one task: in every repeat one run by each, with the same evaluations.

    Args:
        task: A research task as a file or as text, or a `Task` of a recorded run.
        model: Proposes changes, and judges where the task has judges.
        options: Which `rules`, how many `repeats`, and `evaluations`, which are those of each run; the rest as for
            `research`. `print(compare_rules.options())` lists all of them.

    Returns:
        Its `report` has the gain of every rule on evaluations that decided nothing next to what the loop
        itself saw, paired tests, and one sentence that says which rule is better, or that none is
        shown to be; a run that paused has none yet, as with `judge`.

    Example:
        >>> from pathlib import Path
        >>> from autoreason import compare_rules
        >>> from autoreason.testing import ScriptedModel
        >>> _ = Path("knob.txt").write_text("1\n")
        >>> reply = "HYPOTHESIS: more is better\nEXPECTED: +4\n\nknob.txt\n```\n5\n```\n"
        >>> result = compare_rules(
        ...     "---\nartifact: knob.txt\n---\nTurn the knob up.",
        ...     ScriptedModel({"author": reply}),
        ...     evaluate=lambda folder, seed, items: float((folder / "knob.txt").read_text()),
        ...     rules=["race", "greedy"],
        ...     evaluations=20,
        ...     patience=2,
        ... )
        >>> [(each.arm, each.means["value"]) for each in result.report.arms]
        [('race', 4.0), ('greedy', 4.0)]
    """
    rules, repeats = options.pop("rules", get_args(RuleName)), options.pop("repeats", 1)
    prepared = research.prepare(task, model, **cast(ResearchOptions, options))
    suite = rules_suite(prepared.task, prepared.settings, rules=rules, repeats=repeats)
    notes = [*prepared.notes, few_repeats(suite, "rules")]
    # One after another: evaluations of one rule must not disturb those of another.
    return prepare_suite(
        suite, prepared, notes, 1, evaluators=(prepared,), evaluate=prepared.evaluate
    )
