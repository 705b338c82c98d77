"""Every page of help fits a terminal of 80 columns and speaks of values in one way."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from autoreason.cli.group import cli


def pages(command: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    """The arguments that lead to each command."""
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from pages(child, *path, name)


@pytest.mark.parametrize("path", list(pages(cli)), ids=" ".join)
def test_no_line_of_help_is_wider_than_a_terminal(path: tuple[str, ...]) -> None:
    printed = CliRunner().invoke(cli, [*path, "--help"], terminal_width=80)
    assert printed.exit_code == 0
    assert [line for line in printed.output.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("path", list(pages(cli)), ids=" ".join)
def test_values_are_called_by_what_they_are_and_not_by_their_types(path: tuple[str, ...]) -> None:
    printed = CliRunner().invoke(cli, [*path, "--help"], terminal_width=80)
    assert not re.search(r"INTEGER|FLOAT|RANGE|BOOLEAN|x[<>]=|<=x", printed.output)
