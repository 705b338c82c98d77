"""`autoreason fork`: start a new run from a text of an old one."""

from __future__ import annotations

from typing import Any

import click

from autoreason.cli import options
from autoreason.cli.help import InheritingCommand
from autoreason.cli.lookup import opened, recorded, run_argument, story_of
from autoreason.models.examples import with_examples


@click.command(cls=InheritingCommand)
@run_argument(required=True)
@options.group(
    "What to start from",
    options.option(
        "--pass",
        "at_pass",
        type=int,
        metavar="N",
        help="The text that stood after pass N; 0 is the draft. [default: the text delivered]",
    ),
)
@options.run_options
@with_examples
def fork(run: str, at_pass: int | None, **values: Any) -> int:
    """Start a new run from a text of an old one.

    The brief, the contract and the settings are those of RUN, apart from the options given here.

    \b
      autoreason fork amber-fox --pass 2 -m {model}
      autoreason fork amber-fox --max-words 300
    """
    from autoreason.cli import arguments
    from autoreason.cli.commands.run import begin
    from autoreason.files import check_output
    from autoreason.prompts import PromptSet
    from autoreason.run import fork as branch
    from autoreason.run.prompt_choice import choose_prompts

    check_output(values["output"])
    with opened(values["journal"]) as journal:
        row = journal.find(run)
        task = branch(row.id, at_pass, journal=journal)
        story = story_of(journal, row.id)
    task, settings = arguments.forked(task, recorded(row, story)[1], values)
    prompts = choose_prompts(settings, values["prompts"])
    if not values["prompts"]:
        # Another strategy may need prompts that the run it comes from had no use for.
        prompts = PromptSet(prompts.sources | story.prompts)
    return begin(task, settings, prompts, values, forked_from=row.id)
