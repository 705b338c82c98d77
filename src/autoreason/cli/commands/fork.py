"""`autoreason fork`: start a new run from a text of an old one."""

from __future__ import annotations

from typing import Any

import click

from autoreason.cli import options
from autoreason.cli.help import InheritingCommand
from autoreason.cli.lookup import run_argument
from autoreason.job_types import Research
from autoreason.models.examples import with_examples


@click.command(cls=InheritingCommand, shares=options.RECORDED)
@run_argument(required=True)
@options.group(
    "Start from",
    options.option(
        "--pass N",
        "at_pass",
        type=int,
        help="The text that stood after pass N; 0 is the draft. [default: the text delivered]",
    ),
)
@options.models_options
@options.role_models_options
@options.contract_options
@options.limit_options
@options.passes_option
@options.run_options
@options.asking_options
@options.output_options
@with_examples
def fork(run: str, at_pass: int | None, **values: Any) -> int:
    """Start a new run from a text of an old one.

    The brief, the contract and the settings are those of RUN, apart from the options given here. A
    fork of a research run starts from its result's files.

    \b
      autoreason fork amber-fox --pass 2 -m {model}
      autoreason fork amber-fox --max-words 300
      autoreason fork calm-otter --set evaluations=400
    """
    from autoreason.cli import arguments
    from autoreason.cli.output import record_folder
    from autoreason.cli.runner import run_prepared
    from autoreason.files import check_output
    from autoreason.run.recorded import fork

    chosen = arguments.run_options("fork", values) | {"contract": arguments.contract_of(values)}
    prepared = fork.prepare(run, at_pass, **chosen)
    if isinstance(prepared.settings.job, Research):
        prepared = record_folder(prepared, values["output"])
    else:
        check_output(values["output"])
    return run_prepared(prepared, values)
