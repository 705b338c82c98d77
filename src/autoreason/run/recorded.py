"""What is done with recorded runs: they are resumed, forked, replayed and copied."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack, get_type_hints

from msgspec.structs import asdict, replace

from autoreason.artifacts.evaluators import Evaluate, check_evaluate
from autoreason.artifacts.research_history import deliverable
from autoreason.artifacts.research_task import research_of
from autoreason.errors import AutoreasonError, InvalidInput
from autoreason.events import LIFECYCLE
from autoreason.exchange import Service
from autoreason.fields import make_struct
from autoreason.job_types import Advise, Lab, Refine, Research
from autoreason.journal import CommandKind, Journal, RunRow
from autoreason.journal.maintenance import Copied, OnProgress, copy_runs
from autoreason.journal.run_names import refuse_cell
from autoreason.programs.assignment import assignments_of
from autoreason.prompts import PromptSet
from autoreason.report.numbers import count
from autoreason.report.report import Report, Section
from autoreason.run import driver
from autoreason.run.prepared import (
    ModelChoice,
    PreparedRun,
    change_budget,
    change_servers,
    check,
    hooks_in,
    prepare_with,
    reported_result,
    store_verdict,
    use_pool,
)
from autoreason.run.record import (
    Memory,
    find_story,
    name_and_journal,
    rerun,
    task_and_settings,
    use_journal,
)
from autoreason.run.refine import strategy_name
from autoreason.run.research import PreparedResearch, caller_service, check_function, read_recorded
from autoreason.run.result import Result, StopSwitch
from autoreason.run.verbs import (
    ForkOptions,
    JournalPlace,
    RecordedRun,
    ResearchOptions,
    ResumeOptions,
    RunHooks,
    door,
    verb,
)
from autoreason.settings import Settings, make_settings
from autoreason.story import RecordedPass, Story, build_story
from autoreason.task import Task, check_task, make_contract


@verb()
async def resume(run: RecordedRun, **options: Unpack[ResumeOptions]) -> Result:
    """Go on with a run that paused or was killed; what is recorded is not asked for again.

    Args:
        run: The run's name, a part of it that no other has, or its result.
        options: What is different from here on, such as `budget`, `passes` and `model`, and who follows the run.
            `print(resume.options())` lists all of them.

    Returns:
        As of the function that started it; calls, tokens and cost are those of the whole run.

    Raises:
        UnknownRun: No run has that name.
        RunLocked: Another process is driving the run.
        InvalidInput: The run is finished, or it cannot go on under these settings.
        ReplayMismatch: The record cannot be run again, such as after a change of its strategy.
        JournalError: The journal cannot be read or written.

    Example:
        >>> from autoreason import Budget, refine, resume
        >>> paused = refine("Explain tides.", "echo/echo", reviewers=0, confirmation=0, budget=Budget(calls=2))
        >>> resume(paused.run, budget=Budget(calls=99), passes=1).status
        'capped'
    """
    name, place = name_and_journal(run, options.get("journal"))
    choice = ModelChoice()
    async with AsyncExitStack() as exits:
        journal = exits.enter_context(use_journal(place))
        run = journal.find(name).id
        refuse_cell(run, "resume")
        # First of all: what another process still changes cannot be checked.
        await exits.enter_async_context(journal.lock_async(run))
        story = journal.story(run)
        task, before = task_and_settings(run, story)
        driver.check_unfinished(run, story)
        settings = resumed_settings(before, options, choice)
        old, evaluate = asdict(before), options.get("evaluate")
        changes = {name: new for name, new in asdict(settings).items() if new != old[name]}
        check_function(run, task, evaluate)
        if isinstance(before.job, Lab) and changes.keys() - {"budget", "base_url", "allow_http"}:
            raise InvalidInput("of a suite only the budget can change; leave the rest out")
        pool = use_pool(options.get("pool"), settings, choice.objects, exits)
        switch = options.get("stop_switch") or StopSwitch()
        service: Service | None
        await check(task, settings, pool, PromptSet(story.prompts))
        if isinstance(before.job, Lab):
            from autoreason.run.cells import CellServices
            from autoreason.run.lab import open_cells

            terms = (task, settings, journal, pool, switch, options.get("on_signal"))
            opened = open_cells(*terms, CellServices(evaluate))
            service = cells = await exits.enter_async_context(opened)
            cells.run = run
        else:
            service = caller_service(task, settings, evaluate, run)
        if on_ready := options.get("on_ready"):
            on_ready()
        if on_started := options.get("on_started"):
            on_started(run)
        hooks: RunHooks = {**hooks_in(options), "pool": pool, "stop_switch": switch}
        result = await driver.resume(
            run, journal, hooks, changes=changes, service=service, locked=True
        )
        store_verdict(result, options.get("on_warning"))
        return reported_result(result, journal)


def resumed_settings(
    before: Settings, options: Mapping[str, Any], choice: ModelChoice | None = None
) -> Settings:
    models = (choice or ModelChoice()).change(before.models, options)
    plain = {name: options.get(name) for name in ("passes", "max_tokens")}
    return replace(
        before,
        budget=change_budget(before.budget, options.get("budget")),
        models=models,
        batch=before.batch or bool(options.get("batch")),
        **change_servers(before, models, options),
        **{name: value for name, value in plain.items() if value is not None},
    )


_TERMS = ("evaluations", "patience")
"""What a fork of a research run may change of its search."""


@door()
def fork(
    run: RecordedRun, at_pass: int | None = None, **options: Unpack[ForkOptions]
) -> PreparedRun[Result]:
    """Start a new run from a text of an old one.

    Args:
        run: The old run's name, a part of it that no other has, or its result.
        at_pass: The text that was the incumbent after this pass; 0 is the first draft, None the
            text delivered.
        options: What is different in the new run, such as `model`, `contract`, `passes` and `budget`; all else is as
            in the old one. `print(fork.options())` lists all of them.

    Returns:
        As of `refine`.

    Example:
        >>> from autoreason import fork, refine
        >>> result = refine("Explain tides.", "echo/echo", passes=1)
        >>> fork(result.run, 0, contract={"max_words": 50}, passes=2).status
        'capped'
    """
    name, options["journal"] = name_and_journal(run, options.get("journal"))
    run, story = find_story(name, options["journal"])
    evaluate = options.get("evaluate")
    task, before = _forked_task(story, run, at_pass, evaluate)
    _check_research_options(run, options, is_research=research_of(task) is not None)
    if contract := options.get("contract"):
        # What a run without a draft keeps was not a default of its own.
        old = {**asdict(task.contract), "keep": task.contract.keep or ()}
        merged = make_contract({**old, **contract}, "contract")
        task = check_task(replace(task, contract=merged))
    if isinstance(story.job, Advise):
        # It is followed, not repeated; its limit of calls was that of the advice.
        budget = replace(before.budget, calls=None)
        before = replace(before, job=Refine(), budget=budget)
    choice = ModelChoice()
    settings = _forked_settings(before, choice, options)
    prepared = prepare_with(task, settings, choice, options)
    if not options.get("prompts"):
        # Another strategy may need prompts that the run it comes from had no use for.
        prompts = PromptSet(prepared.prompts.sources | story.prompts)
        prepared = replace(prepared, prompts=prompts)
    prepared = replace(prepared, forked_from=run)
    if research_of(task):
        source = read_recorded(task, evaluate)[1] if evaluate else None
        return PreparedResearch(**asdict(prepared), _source=source, evaluate=evaluate)
    return prepared


def _check_research_options(run: str, options: ForkOptions, *, is_research: bool) -> None:
    given = {name for name, value in options.items() if value is not None}
    given = (given - {"contract"}) | set(options.get("contract") or {})
    unknown = given & {*_TERMS, "evaluate"}
    if is_research:
        unknown = given - set(get_type_hints(ResearchOptions)) - {"model"}
    if unknown:
        raise InvalidInput(f"`{min(unknown)}` means nothing to run {run}; leave it out")


def _forked_settings(before: Settings, choice: ModelChoice, options: Mapping[str, Any]) -> Settings:
    models = choice.change(before.models, options)
    seed = options.get("seed")
    changes = {
        name: options[name]
        for name in Settings.__struct_fields__
        if name not in ("seed", "protocol") and options.get(name) is not None
    }
    names = _TERMS if isinstance(before.job, Research) else Refine.__struct_fields__
    if own := {name: options[name] for name in names if options.get(name) is not None}:
        if "strategy" in own:
            own = {"strategy_options": {}} | own | {"strategy": strategy_name(own["strategy"])}
        changes["job"] = make_struct(type(before.job), asdict(before.job) | own)
    changes |= change_servers(before, models, options)
    changes["budget"] = change_budget(before.budget, options.get("budget"))
    seed = secrets.randbits(32) if seed is None else seed
    if protocol := options.get("protocol"):
        return make_settings(models, seed, protocol, **changes)
    if drafts := changes.get("drafts"):
        changes.setdefault("max_drafts", max(drafts, before.max_drafts))
    return replace(before, models=models, seed=seed, **changes)


def _forked_task(
    story: Story, run: str, at_pass: int | None, evaluate: Evaluate | None
) -> tuple[Task, Settings]:
    task, settings = task_and_settings(run, story, "there is nothing to fork")
    if task.entries or assignments_of(task):
        raise InvalidInput(f"run {run} judges texts or writes programs; there is no text to fork")
    research = research_of(task)
    if research is None:
        return replace(task, draft=_text(story, run, at_pass)), settings
    # The same task with the result's files as its start.
    if at_pass is not None:
        raise InvalidInput(f"run {run} has no rounds; a fork starts from its result")
    check_function(run, task, evaluate, "fork")
    if evaluate:
        check_evaluate(evaluate)
    delivered = deliverable(story)
    assert delivered is not None
    work = replace(research, files=delivered.files, origin=delivered.start)
    return read_recorded(replace(task, work=work), evaluate)[0], settings


def _text(story: Story, run: str, at_pass: int | None) -> str:
    if at_pass is None and story.text:
        return story.text
    # As each pass left it, a review may have gone back behind it since.
    steps = zip(story.steps, story.left, strict=False)
    after = story.incumbents[:1]
    after += [text for each, text in steps if isinstance(each, RecordedPass)]
    if at_pass is None or not 0 <= at_pass < len(after):
        decided = len(story.trajectory)
        none = "" if at_pass is None else f" after round {at_pass}; {decided} rounds are over"
        raise InvalidInput(f"run {run} has no text to start from{none}; name one that has")
    return after[at_pass].text


@dataclass(frozen=True, repr=False)
class ReplayResult(Report):
    """The result of a replay."""

    heading: ClassVar[str] = "Replay"
    run: str
    events: int
    """Events that came again as recorded."""
    difference: str | None
    """Where it first differed; None where it did not."""

    @property
    def same(self) -> bool:
        """Whether the record and its replay agree to the end."""
        return self.difference is None

    @property
    def conclusion(self) -> str:
        events = count(self.events, "event")
        if self.same:
            return f"{self.run}: the same, {events}"
        return f"{self.run}: differs after {events}: {self.difference}"

    def names(self) -> list[str]:
        return [self.run]

    def sections(self) -> list[Section]:
        return []

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "same": self.same}


@verb()
async def replay(run: RecordedRun, *, journal: JournalPlace = None) -> ReplayResult:
    """Run a record again from its replies alone, offline and for nothing, and compare.

    Args:
        run: The run's name, a part of it that no other has, or its result.
        journal: An open journal, the file of one, or None for the result's or the user's own.

    Returns:
        Whether the replay gave the events of the record, and where it first differed.

    Example:
        >>> from autoreason import refine, replay
        >>> result = refine("Explain tides.", "echo/echo", passes=1)
        >>> replay(result.run).same
        True
    """
    name, journal = name_and_journal(run, journal)
    with use_journal(journal) as book:
        run = book.find(name).id
        recorded = [item.event for item in book.events(run)]
        memory = Memory(book.replies(run), book.answers(run))
    story = build_story(recorded)
    task, settings = task_and_settings(run, story, "there is nothing to replay")
    emitted = [event for event in recorded if not isinstance(event, LIFECYCLE)]
    prompts = PromptSet(story.prompts)
    result = await rerun(task, settings, prompts, emitted, memory, story.recovery)
    difference = result.difference and f"{result.difference}; {result.likely_cause}"
    return ReplayResult(run, result.events, difference)


def tell(journal: Journal, row: RunRow, message: str) -> str:
    """Guide, accept or stop a run, which may be another process's; what comes of it, in one sentence."""
    kind: CommandKind = (
        "stop" if message == "stop" else "accept" if message == "accept" else "guide"
    )
    refuse_cell(row.id, kind)
    story, again = journal.story(row.id), f"`autoreason resume {row.id}`"
    if row.finished:
        raise InvalidInput(f"run {row.id} is finished; `autoreason show {row.id}` has its result")
    if kind != "stop" and story.writes not in ("text", "files"):
        raise InvalidInput(f"run {row.id} writes no text that could be guided; it can be stopped")
    if kind == "guide" and story.is_sampling:
        raise InvalidInput(f"run {row.id} has no critic to guide; it can be stopped or accepted")
    accepted = kind == "stop" and bool(journal.pending_commands(row.id, ["accept"]))
    if kind == "stop" and not (row.live or accepted):
        raise InvalidInput(f"run {row.id} is not under way; go on with {again}")
    guidance = message.strip() if kind == "guide" else ""
    if kind == "guide" and not guidance:
        raise InvalidInput("the guidance is empty; say what the next critic should look at")
    if not accepted:
        # A later command would take the place of one that is not yet read.
        journal.command(row.id, kind, guidance)
    reader = "critic of the next round will read it, with the text so far"
    reader = "next proposal will read it" if story.writes == "files" else reader
    what = {
        "guide": f"the {reader}",
        "accept": "it ends with what it has once its replies on the way are in",
        "stop": "it was accepted already, and ends with what it has"
        if accepted
        else f"it stops once its replies on the way are in; go on later with {again}",
    }[kind]
    later = "" if row.live else f"; it is not under way: that is kept for {again}"
    return f"{row.id}: {what}{later}"


def copy_journal(
    source: Journal, target: Journal, on_progress: OnProgress, *, check: bool = True
) -> Copied:
    """Copy every run that is sound and not live; each that is finished is replayed as soon as it is there."""
    replayed: list[str] = []
    differences: dict[str, str] = {}
    failed: dict[str, str] = {}

    def replay_copy(run: str) -> None:
        try:
            if not target.row(run).finished:
                return
            result = replay(run, journal=target)
        except AutoreasonError as error:
            failed[run] = f"{run} cannot be replayed: {error}"
        else:
            replayed.append(run)
            if not result.same:
                differences[run] = result.conclusion

    found = copy_runs(source, target, on_progress, *([replay_copy] if check else []))
    return found._replace(replayed=replayed, differences=differences, failed=failed)
