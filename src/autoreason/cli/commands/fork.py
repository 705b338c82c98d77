"""`autoreason fork`: start a new run from a text of an old one."""

from __future__ import annotations

from typing import Any

import click

from autoreason.cli import options
from autoreason.cli.help import InheritingCommand
from autoreason.cli.lookup import run_argument
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
    from autoreason.cli.runner import run_prepared
    from autoreason.files import check_output
    from autoreason.run.fork import prepare_fork

    chosen = arguments.write_options(values) | {"contract": arguments.contract_of(values)}
    if values["model"]:
        chosen["model"] = values["model"]
    prepared = prepare_fork(run, at_pass, **chosen)
    if prepared.settings.strategy != "research":
        # The output of research is a folder.
        check_output(values["output"])
    return run_prepared(prepared, values)
