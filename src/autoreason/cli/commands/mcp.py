"""`autoreason mcp`: a server that a coding agent starts."""

from __future__ import annotations

import sys
from decimal import Decimal

import click

from autoreason.cli.command import Command
from autoreason.cli.options import field_option, group
from autoreason.errors import InvalidInput
from autoreason.settings import Budget, limit_remedy


@click.command(cls=Command, shares="journal")
@group(
    "Limits", field_option(Budget, "cost", "--cost-limit USD", help="For all its runs together.")
)
def mcp(cost_limit: Decimal | None, journal: str | None) -> None:
    """Serve a coding agent over MCP, which starts this.

    No key is needed: contexts of the agent answer. Models that may cost money are refused without
    --cost-limit; runs with them go on in this process, and pause when it ends.

    \b
      claude mcp add autoreason -- autoreason mcp
    """
    import asyncio

    from autoreason.run.record import use_journal

    try:
        from autoreason.agents.canary import restore
        from autoreason.agents.mcp_server import serve
    except ModuleNotFoundError:
        raise InvalidInput("MCP needs its SDK; run `pip install '.[mcp]'` in the clone") from None
    if sys.stdin.isatty():
        raise InvalidInput("an agent starts this, and nobody types here; see docs/host.md")
    if remedy := limit_remedy(cost_limit):
        raise InvalidInput(f"--cost-limit is {cost_limit}; {remedy} or leave it out")
    restore()
    with use_journal(journal, create=True) as book:
        asyncio.run(serve(book, cost_limit))
