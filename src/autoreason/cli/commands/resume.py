"""`autoreason resume`: go on with a run that paused or was killed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.cli.help import InheritingCommand
from autoreason.cli.lookup import find_run, open_journal, run_argument
from autoreason.job_types import Research

if TYPE_CHECKING:
    from autoreason.journal import RunRow


@click.command(cls=InheritingCommand, shares=options.RECORDED)
@run_argument(required=False)
@options.models_options
@options.limit_options
@options.passes_option
@options.group("The method", options.set_option)
@options.output_options
def resume(run: str | None, **values: Any) -> int:
    """Go on with a run that paused or was killed.

    RUN is a run's name or a part of it; without one, the newest that is not finished. What is
    recorded is not asked for again, and what was spent on it still counts; calls that were under way
    when a run was killed do not, and are asked again.

    \b
      autoreason resume
      autoreason resume amber-fox --cost-limit 5

    Exit status: as for the command that began the run; 6 where the text breaks its contract, with
    --fail-on-contract, or where the start of research has no number or breaks a guard.
    """
    from autoreason.cli import arguments
    from autoreason.cli.output import OutputOptions, check_artifact_folder
    from autoreason.cli.runner import disclosure, drive_run, recorded_live
    from autoreason.cli.views.certificates import warn_of_failed_judges
    from autoreason.events import LIFECYCLE
    from autoreason.files import check_output
    from autoreason.prompts import PromptSet
    from autoreason.run.record import task_and_settings
    from autoreason.run.recorded import resume, resumed_settings

    with open_journal(values["journal"]) as journal:

        def waits(row: RunRow) -> bool:
            return not (row.live or row.finished) and bool(journal.events(row.id))

        row = find_run(journal, run, waits, "run that waits to be resumed")
        chosen = arguments.run_options("resume", values) | {"journal": journal}
        story = journal.story(row.id)
        task, before = task_and_settings(row.id, story)
        notes = []
        if not isinstance(before.job, Research):
            # The output of research is a folder.
            check_output(values["output"])
        elif folder := values["output"] or before.job.output:
            values["output"] = Path(folder)
            check_artifact_folder(task, values["output"])
            notes = [f"the changed files will be written to {folder}"]
        settings = resumed_settings(before, chosen)
        warn_of_failed_judges(settings, PromptSet(story.prompts))
        known = sum(not isinstance(each.event, LIFECYCLE) for each in journal.events(row.id))
        go_on = partial(resume.aio, row.id, **chosen)
        output = OutputOptions.of(values)
        sent = disclosure(task, settings, quiet=output.quiet)
        live = recorded_live(row.id, journal)
        return drive_run(go_on, output, notes=notes, sent=sent, live=live, known=known)
