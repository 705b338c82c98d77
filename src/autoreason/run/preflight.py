"""Checks before a run starts, so that nothing is written and nothing is paid for a run that would fail."""

from __future__ import annotations

from msgspec.json import encode
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.jobs.runner import check_job, user_code_errors
from autoreason.models.budget import require_prices
from autoreason.models.pool import ModelPool, require_batches
from autoreason.models.prices import rates
from autoreason.prompts import PromptSet
from autoreason.run.estimate import first_requests, unseen_tokens
from autoreason.run.kinds import job_class, written_by
from autoreason.settings import Settings
from autoreason.task import Task
from autoreason.tournament.judges import lens_of
from autoreason.tournament.stop import chosen_rules
from autoreason.tournament.voting import check_rule

_BYTES_PER_TOKEN = 4


async def check(task: Task, settings: Settings, pool: ModelPool, prompts: PromptSet) -> None:
    """Raise `InvalidInput` for what would only fail later; spends nothing."""
    check_settings(task, settings)
    if task.knowledge or task.work:
        from autoreason.run.knowledge_choice import check_destinations

        check_destinations(task, settings, pool)
    await check_models(task, settings, pool, prompts)
    for address in settings.models.all():
        result = await pool.check(address)
        if False in (result.reachable, result.key_accepted, result.model_known):
            raise InvalidInput(result.problem)


def check_settings(task: Task, settings: Settings) -> None:
    """Refuse what no model and no machine could run."""
    check_job(task, settings, job_class(settings))
    if settings.batch:
        for address in settings.models.all():
            require_batches(address)
    check_rule(settings.voting)
    lens_of(settings.style, 0)
    chosen_rules(settings)


def check_call_limit(task: Task, settings: Settings) -> None:
    """Refuse a limit of calls that would be spent without coming to anything."""
    kind = job_class(settings)
    limit = settings.budget.calls
    with user_code_errors(kind, settings.strategy):
        least = kind.min_calls(task, settings)
    if limit is not None and limit < least:
        raise InvalidInput(
            f"`budget.calls` is {limit}, and this run needs at least {least}; "
            f"give so many{kind.fewer_calls and f', or {kind.fewer_calls}'}"
        )


async def check_models(task: Task, settings: Settings, pool: ModelPool, prompts: PromptSet) -> None:
    """Refuse what these models cannot do, as far as that is known without reaching any of them."""
    require_prices(settings.budget, {address: rates(address) for address in settings.models.all()})
    if written_by(settings) == "programs":
        task = _with_longest_problem(task)
    needed = await _tokens_needed(task, settings, prompts)
    for address in settings.models.all():
        # All are opened before the first is asked: a key may be missing, or not meant for its server.
        pool.check_here(address)
    for address in settings.models.all():
        room = pool.window(address)
        if room is not None and needed > room:
            raise InvalidInput(
                f"the {_largest(task, settings)} needs about {needed:,} tokens and {address} has room for {room:,}; "
                "shorten it or choose a model with a larger window"
            )


def _largest(task: Task, settings: Settings) -> str:
    if written_by(settings) == "programs":
        return "longest problem"
    return "text to be judged" if task.entries else "draft" if task.draft else "brief"


def _with_longest_problem(task: Task) -> Task:
    """The task with its longest problem alone."""
    from autoreason.programs.assignment import Assignments, assignments_of

    longest = max(assignments_of(task), key=lambda each: len(encode(each)))
    return replace(task, work=Assignments((longest,)))


async def _tokens_needed(task: Task, settings: Settings, prompts: PromptSet) -> int:
    requests = await first_requests(task, settings, prompts)
    longest_request = max(
        (sum(_tokens(message.text) for message in each.messages) for each in requests), default=0
    )
    # The first request contains a given draft once; a synthesizer reads two texts and writes a third.
    unseen = unseen_tokens(task, requests, job_class(settings))
    return longest_request + unseen + 2 * _tokens(task.draft or "")


def _tokens(text: str) -> int:
    return len(text.encode()) // _BYTES_PER_TOKEN
