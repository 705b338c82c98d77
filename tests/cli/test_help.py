"""The surface stays small, every page of help fits a terminal, and it speaks of values in one way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import click
from click.testing import CliRunner
from tests.cases import cases
from tests.cli.inside import Inside

from autoreason.cli.__main__ import OTHERS, SECTIONS, cli
from autoreason.cli.command import SHARED
from autoreason.settings import SETTING_DOCS


def commands_of(command: click.Command, *path: str) -> Iterator[tuple[Any, click.Command]]:
    """Every command, with the arguments that lead to it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from commands_of(child, *path, name)


COMMANDS = dict(commands_of(cli))


def test_the_surface_can_be_learned() -> None:
    commands = COMMANDS.values()
    groups = [each for each in commands if isinstance(each, click.Group)]
    leaves = len(commands) - sum(not each.invoke_without_command for each in groups)
    options = {
        param
        for each in commands
        for param in each.params
        if isinstance(param, click.Option) and not (param.hidden or param in SHARED.values())
    }
    assert len([path for path in COMMANDS if len(path) == 1]) <= 26
    assert leaves <= 51
    assert len(options) + len(SHARED) <= 347, "one that commands share is learned once"


def test_the_first_screen_shows_what_people_want_to_do_and_names_the_rest() -> None:
    screen = CliRunner().invoke(cli, ["--help"], terminal_width=80).output
    assert CliRunner().invoke(cli, [], terminal_width=80).output == screen
    assert len(screen.splitlines()) <= 36
    assert sum(map(len, SECTIONS.values())) <= 10
    assert f"Others: {', '.join(OTHERS)}" in " ".join(screen.split())


OUR_WORDS = re.compile(
    r"\b(AB|(?<!could )pass|passes|ballots?|surviv\w+|review|incumbents?|contract|synthes\w+"
    r"|challengers?|(?<!budget\.)cells?)\b"
)


@cases("path", COMMANDS)
def test_help_fits_a_terminal_and_has_words_that_people_know(path: tuple[str, ...]) -> None:
    printed = CliRunner().invoke(cli, [*path, "--help"], terminal_width=80)
    assert printed.exit_code == 0
    assert [line for line in printed.output.splitlines() if len(line) > 80] == []
    assert [line for line in printed.output.splitlines() if OUR_WORDS.search(line)] == []


def test_help_of_a_run_fits_on_a_screen_and_all_of_it_is_one_option_away() -> None:
    short = CliRunner().invoke(cli, ["run", "--help"], terminal_width=80).output
    assert len(short.splitlines()) <= 40
    assert "--help-all" in short
    everything = CliRunner().invoke(cli, ["run", "--help-all"], terminal_width=80).output
    for param in COMMANDS["run",].params:
        if isinstance(param, click.Option) and not param.hidden:
            assert param.opts[-1 if len(param.opts[0]) == 2 else 0] in everything
    assert "Exit status:" in everything


def test_help_lists_every_setting_with_its_value_its_meaning_and_its_default() -> None:
    printed = CliRunner().invoke(cli, ["run", "--help-all"], terminal_width=80).output
    said = " ".join(printed.partition("Settings, for --set NAME=VALUE:")[2].split())
    flags = {
        *[
            "protocol",
            "strategy",
            "k",
            "passes",
            "judges",
            "seed",
            "base_url",
            "batch",
            "anyway",
            "edit",
        ]
    }
    for name, doc in SETTING_DOCS.items():
        if name not in flags | {"models", "budget", "matched"}:
            assert f"{name} {doc.metavar}".strip() in said
            assert doc.sentence.replace("`", "")[:40] in said
    meaning = "Passes from one review to the next; with 0 there is one, at the end."
    assert f"review_every N {meaning} [default: 5; paper: 0]" in said


def test_what_commands_share_is_refused_where_it_means_nothing(inside: Inside) -> None:
    journal = ("--journal", str(inside.folder / "other.db"))
    run = ("run", "Write.", "-m", "echo/echo", "--rounds", "1")
    assert inside(*run, *journal, "-q").status == 0
    for arguments in (("runs", "--json", *journal), ("runs", "list", "--json", *journal)):
        assert len(inside(*arguments).json) == 1
    assert inside("runs", "--json").json == []


def test_settings_are_read_by_their_types(inside: Inside) -> None:
    changes = (
        *("--set", "early_stop=false", "--set", "author_temperature=0.5"),
        *("--set", "tie_order=a>b>ab"),
        *("--set", "reviser_models=echo/echo,echo/echo"),
    )
    given = ("run", "Write.", "-m", "echo/echo", *changes)
    settings = inside(*given, "--dry-run", "--json").json["settings"]
    assert (settings["early_stop"], settings["author_temperature"]) == (False, 0.5)
    assert settings["tie_order"] == ["A", "B", "AB"]
    assert settings["models"]["revisers"] == ["echo/echo", "echo/echo"]
