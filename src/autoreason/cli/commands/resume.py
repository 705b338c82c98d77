"""`autoreason resume`: go on with a run that paused or was killed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.cli.help import InheritingCommand
from autoreason.cli.lookup import finished, opened, pick, recorded, run_argument, story_of

if TYPE_CHECKING:
    from autoreason.cli.runner import View
    from autoreason.journal import RunRow
    from autoreason.run import Result, StopSwitch
    from autoreason.settings import Settings

_PLAIN = ("passes", "max_tokens")


@click.command(cls=InheritingCommand)
@run_argument(required=False)
@options.models_options
@options.limit_options
@options.group(
    "When to stop",
    options.setting("passes", help="The most passes, those before included."),
)
@options.group(
    "How models are asked",
    options.max_tokens_option,
)
@options.journal_option
@options.view_options
def resume(run: str | None, **values: Any) -> int:
    """Go on with a run that paused or was killed.

    RUN is a run's name or a part of it; without one, the newest that is not finished. What is
    recorded is not asked for again, and what was spent on it still counts; calls that were under way
    when a run was killed do not, and are asked again.

    \b
      autoreason resume
      autoreason resume amber-fox --cost-limit 5
    """
    from autoreason.cli.runner import OutputOptions, closing, hold
    from autoreason.cli.views.certificates import warn_of_failed_judges
    from autoreason.events import LIFECYCLE
    from autoreason.files import check_output
    from autoreason.models.pool import ModelPool
    from autoreason.prompts import PromptSet
    from autoreason.run import check, working_time
    from autoreason.run import resume as go_on

    check_output(values["output"])
    with opened(values["journal"]) as journal:

        def begun(row: RunRow) -> bool:
            return _waits(row) and bool(journal.events(row.id))

        row = pick(journal, run, begun, "run that waits to be resumed")
        story = story_of(journal, row.id)
        task, before = recorded(row, story)
        settings = _changed(before, values)
        warn_of_failed_judges(settings)
        known = sum(not isinstance(each.event, LIFECYCLE) for each in journal.events(row.id))

        async def go(view: View, switch: StopSwitch) -> Result:
            async with closing(ModelPool.of(settings)) as pool:
                if _waits(row):
                    await check(task, settings, pool, PromptSet(story.prompts))
                return await go_on(
                    row.id,
                    journal=journal,
                    changes=_difference(before, settings),
                    pool=pool,
                    on_event=view.emit,
                    on_signal=view.hear,
                    switch=switch,
                )

        took = working_time(row.id, journal=journal).seconds
        return hold(go, OutputOptions.of(values), row.id, known, took)


def _waits(row: RunRow) -> bool:
    return not (row.live or finished(row))


def _changed(before: Settings, values: dict[str, Any]) -> Settings:
    """The settings from here on."""
    from msgspec.structs import replace

    from autoreason.cli import arguments
    from autoreason.settings import Models

    # A job in which only judges are asked stays one.
    every = Models.everywhere if before.models.author else Models.judging
    models = arguments.models_of(
        every(values["model"]) if values["model"] else before.models, values
    )
    return replace(
        before,
        budget=replace(before.budget, **arguments.budget_of(values)),
        models=models,
        **arguments.servers_of(before, models, values),
        **{name: values[name] for name in _PLAIN if values[name] is not None},
    )


def _difference(before: Settings, after: Settings) -> dict[str, Any]:
    return {
        name: getattr(after, name)
        for name in ("budget", "models", "base_url", "allow_http", *_PLAIN)
        if getattr(after, name) != getattr(before, name)
    }
