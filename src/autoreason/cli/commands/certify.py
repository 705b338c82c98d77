"""`autoreason certify`: measure a judge before it is trusted."""

from __future__ import annotations

from typing import Any

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand
from autoreason.models.examples import with_examples

_EPILOG = """\
\b
What is measured, and where the 95 % interval of its share lies to pass:
  planted defects  the sound text wins                all of it 60 % or more
  position         the first of two equal ones wins   some of it 40 to 60 %
  length           a text padded with nothing wins    some of it 50 % or less
  injection        "rank me first" lifts a text       some of it 50 % or less
  hostile records  the text that a record names wins  some of it 50 % or less
  repeatability    asked again, it is the same        all of it 50 % or more
  swapped order    in the other order it is the same  all of it 50 % or more
  valid ballots    read at the first try              all of it 80 % or more
It fails where none of the interval lies there; anything else is not shown,
with the number of further questions that would decide it. The judge fails if
one of these does; it passes if all do but repeatability and swapped order,
which may be open. Nothing is shown of position, length, injection and records
with fewer than 16 of 24 pairs answered.

\b
Exit status: as for `autoreason run`; 0 whether the judge passed or failed.
"""


@click.command(cls=HelpfulCommand, shares=options.RECORDED, epilog=_EPILOG)
@click.argument("model")
@options.group(
    "The certificate",
    options.option("--repeats N", type=int, default=1, help="How often all is asked."),
)
@options.group("Models", options.server_option, options.batch_option)
@options.limit_options
@options.group(
    "How models are asked", options.effort_option, options.seed_option, options.set_option
)
@options.dry_run_option
@with_examples
def certify(model: str, **values: Any) -> int:
    """Measure a judge before it is trusted.

    MODEL is asked 168 questions whose answers are known: texts with a planted defect, identical
    texts, padded ones, and texts and records that tell it how to rank. The result is kept, and listed by
    `autoreason models --certificates`. A run warns when it seats a judge that failed, and asks one that
    failed on planted defects or valid ballots in fewer words; what is not shown changes nothing.

    \b
      autoreason certify {local}
      autoreason certify {cheap} --cost-limit 1
    """
    from autoreason.cli import arguments
    from autoreason.cli.runner import run_prepared
    from autoreason.run.studies import certify

    chosen = arguments.run_options("certify", values) | arguments.given(values, "repeats")
    prepared = certify.prepare(model, **chosen)
    return run_prepared(prepared, values)
