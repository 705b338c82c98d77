"""Forks: a new run that starts from a text another run had reached."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Unpack, get_type_hints

from msgspec.structs import asdict, replace

from autoreason.artifacts.evaluator.caller import Evaluate, check_evaluate
from autoreason.artifacts.research_task import ResearchTask, research_of
from autoreason.errors import InvalidInput
from autoreason.programs.task import assignments_of
from autoreason.prompts import PromptSet
from autoreason.run.model_choice import ModelChoice, change_servers
from autoreason.run.parameters import ForkOptions, RecordedRun, ResearchOptions, check_arguments
from autoreason.run.prepared import PreparedRun, prepare_with
from autoreason.run.record import name_and_journal, task_and_settings, use_journal
from autoreason.run.refine import strategy_name
from autoreason.run.result import Result
from autoreason.run.resume import change_budget
from autoreason.run.sync import wait_for
from autoreason.settings import Settings, make_settings, single_judge_changes
from autoreason.story import Story
from autoreason.task import Task, check_task, make_contract

_TERMS = ("evaluations", "patience")
"""What a fork of a research run may change of its search."""


def fork(run: RecordedRun, at_pass: int | None = None, **options: Unpack[ForkOptions]) -> Result:
    """Start a new run from a text of an old one.

    Args:
        run: The old run's name, a part of it that no other has, or its result.
        at_pass: The text that was the incumbent after this pass; 0 is the first draft, None the
            text delivered.
        options: See `ForkOptions`. What is not given is as it was in the old run.

    Returns:
        As of `refine`.

    Raises:
        UnknownRun: No run has that name.
        InvalidInput: The old run has no such text, or something else cannot be used.
        JournalError: The journal cannot be read or written.

    Example:
        >>> from autoreason import fork, refine
        >>> result = refine("Explain tides.", "echo/echo", passes=1)
        >>> fork(result.run, 0, contract={"max_words": 50}, passes=2).status
        'capped'
    """
    return wait_for(lambda: fork_async(run, at_pass, **options), "fork")


async def fork_async(
    run: RecordedRun, at_pass: int | None = None, **options: Unpack[ForkOptions]
) -> Result:
    """Like `fork`, in an event loop."""
    return await prepare_fork(run, at_pass, **options).run_async()


def prepare_fork(
    run: RecordedRun, at_pass: int | None = None, **options: Unpack[ForkOptions]
) -> PreparedRun:
    """The run that `fork` with the same arguments would drive.

    Args:
        run: The old run's name, a part of it that no other has, or its result.
        at_pass: The text that was the incumbent after this pass.
        options: See `ForkOptions`.

    Returns:
        The run, to be looked at, estimated and run.

    Raises:
        UnknownRun: No run has that name.
        InvalidInput: The old run has no such text, or something else cannot be used.

    Example:
        >>> from autoreason import prepare_fork, refine
        >>> result = refine("Explain tides.", "echo/echo", passes=1)
        >>> prepare_fork(result.run).task.draft == result.text
        True
    """
    check_arguments(prepare_fork, options, run=run, at_pass=at_pass)
    name, options["journal"] = name_and_journal(run, options.get("journal"))
    with use_journal(options["journal"]) as journal:
        run = journal.find(name).id
        story = journal.story(run)
    evaluate = options.get("evaluate")
    task, before = _forked_task(story, run, at_pass, evaluate)
    _check_research_options(run, options, is_research=research_of(task) is not None)
    if contract := options.get("contract"):
        merged = make_contract({**asdict(task.contract), **contract}, "contract")
        task = check_task(replace(task, contract=merged))
    if story.strategy == "advise":
        # It is followed, not repeated; its limit of calls was that of the advice.
        budget = replace(before.budget, calls=None)
        before = replace(before, strategy="autoreason", strategy_options={}, budget=budget)
    choice = ModelChoice()
    settings = _forked_settings(before, choice, options)
    prepared = prepare_with(task, settings, choice, options)
    if not options.get("prompts"):
        # Another strategy may need prompts that the run it comes from had no use for.
        prompts = PromptSet(prepared.prompts.sources | story.prompts)
        prepared = replace(prepared, prompts=prompts)
    prepared = replace(prepared, forked_from=run)
    if research_of(task):
        from autoreason.run.research import PreparedResearch, read_recorded

        source = read_recorded(task, evaluate)[1] if evaluate else None
        return PreparedResearch(**asdict(prepared), _source=source, _evaluate=evaluate)
    return prepared


def _check_research_options(run: str, options: ForkOptions, *, is_research: bool) -> None:
    """Refuse what means nothing to the kind of run."""
    given = {name for name, value in options.items() if value is not None}
    given = (given - {"contract"}) | set(options.get("contract") or {})
    if is_research:
        unknown = given - set(get_type_hints(ResearchOptions)) - {"model"}
        what = "improves an artifact"
    else:
        unknown, what = given & {*_TERMS, "evaluate"}, "writes no artifact"
    if unknown:
        raise InvalidInput(
            f"run {run} {what}, and `{min(unknown)}` means nothing to it; leave it out"
        )


def _forked_settings(before: Settings, choice: ModelChoice, options: Mapping[str, Any]) -> Settings:
    """Those of the run it comes from, but for what is given."""
    models = choice.change(before.models, options)
    seed = options.get("seed")
    changes = {
        name: options[name]
        for name in Settings.__struct_fields__
        if name not in ("seed", "protocol") and options.get(name) is not None
    }
    if "strategy" in changes:
        changes["strategy"] = strategy_name(changes["strategy"])
    if terms := {name: options[name] for name in _TERMS if options.get(name) is not None}:
        changes["strategy_options"] = {**before.strategy_options, **terms}
    changes |= change_servers(before, models, options)
    changes["budget"] = change_budget(before.budget, options.get("budget"))
    seed = secrets.randbits(32) if seed is None else seed
    if protocol := options.get("protocol"):
        return make_settings(models, seed, protocol, **changes)
    if changes.get("single_judge"):
        changes = single_judge_changes(changes)
    elif "judges" in changes:
        changes["single_judge"] = False
    for name in ("judges", "drafts"):
        if name in changes:
            maximum = f"max_{name}"
            changes.setdefault(maximum, max(changes[name], getattr(before, maximum)))
    return replace(before, models=models, seed=seed, **changes)


def _forked_task(
    story: Story, run: str, at_pass: int | None, evaluate: Evaluate | None
) -> tuple[Task, Settings]:
    task, settings = task_and_settings(run, story, "there is nothing to fork")
    if task.entries:
        raise InvalidInput(f"run {run} judges finished texts; there is no text to fork")
    if research := research_of(task):
        return _forked_research(task, research, story, run, at_pass, evaluate), settings
    if assignments_of(task):
        raise InvalidInput(f"run {run} writes programs; there is no text to fork")
    return replace(task, draft=_text(story, run, at_pass)), settings


def _forked_research(
    task: Task,
    research: ResearchTask,
    story: Story,
    run: str,
    at_pass: int | None,
    evaluate: Evaluate | None,
) -> Task:
    """The same task with the result's files as its start."""
    from autoreason.artifacts.research_history import deliverable
    from autoreason.run.research import read_recorded

    if at_pass is not None:
        raise InvalidInput(f"run {run} has no passes; a fork starts from its result")
    if research.evaluate and evaluate:
        raise InvalidInput(f"run {run} needs no `evaluate`; leave it out")
    if not research.evaluate and not evaluate:
        raise InvalidInput(
            f"run {run} is measured by a Python function, which is not recorded; fork it from Python "
            f'with `autoreason.fork("{run}", evaluate=function)`'
        )
    if evaluate:
        check_evaluate(evaluate)
    delivered = deliverable(story)
    assert delivered is not None
    work = replace(research, files=delivered.files, origin=delivered.start)
    return read_recorded(replace(task, work=work), evaluate)[0]


def _text(story: Story, run: str, at_pass: int | None) -> str:
    if at_pass is None and story.strategy == "advise" and story.text:
        return story.text
    decided = sum(p.decided is not None for p in story.passes)
    if not story.incumbents or (at_pass is not None and not 0 <= at_pass <= decided):
        raise InvalidInput(
            f"run {run} has no text after pass {at_pass or 0}; it has {decided} decided passes"
        )
    if at_pass is None:
        return story.text or ""
    return [each for each in story.incumbents if each.since <= at_pass][-1].text
