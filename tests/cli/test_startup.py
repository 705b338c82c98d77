"""Help is quick because nothing heavy is loaded for it."""

from __future__ import annotations

import subprocess
import sys

from click import Context
from click.testing import CliRunner
from tests.cli.conftest import BRIEF, FAST, Shell

from autoreason.cli.__main__ import OTHERS, SECTIONS, cli

HEAVY = ("aiohttp", "rich", "msgspec", "jinja2", "yaml", "sqlite3", "asyncio", "xllamacpp", "mcp")


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def imported(*arguments: str) -> set[str]:
    done = python("-X", "importtime", "-m", "autoreason.cli", *arguments)
    lines = (line.rpartition("|")[2].strip() for line in done.stderr.splitlines())
    return {line.partition(".")[0] for line in lines}


def test_python_runs_the_package_as_the_command() -> None:
    for arguments, status in ((("--version",), 0), (("nothing",), 2)):
        said = [python("-m", name, *arguments) for name in ("autoreason", "autoreason.cli")]
        assert said[0].returncode == said[1].returncode == status
        assert (said[0].stdout, said[0].stderr) == (said[1].stdout, said[1].stderr)


def test_the_help_of_no_command_loads_what_only_its_work_needs() -> None:
    every = "[cli.get_command(None, name) for name in cli.list_commands(None)]"
    code = f"import sys; from autoreason.cli.__main__ import cli; {every}; print(*sys.modules)"
    loaded = {*python("-c", code).stdout.split()}
    assert "autoreason.cli.commands.writing" in loaded
    assert loaded.isdisjoint({*HEAVY} - {"msgspec"})
    ours = {name.split(".")[1] for name in loaded if name.startswith("autoreason.")}
    rooms = "artifacts jobs journal knowledge pages programs run studies tournament"
    assert ours.isdisjoint(rooms.split())
    assert imported("--help").isdisjoint(HEAVY)


def test_a_run_into_a_file_loads_nothing_that_only_others_need() -> None:
    loaded = imported("run", "Explain tides.", "-m", "echo/echo", "--rounds", "1")
    assert {"jinja2", "sqlite3"} <= loaded
    web = {"aiohttp", "html", "webbrowser", "xllamacpp"}
    assert loaded.isdisjoint(web | {"numpy", "rich", "scipy", "yaml", "zipfile"})


def test_commands_find_what_they_need_in_a_process_of_their_own(shell: Shell) -> None:
    assert shell("run", BRIEF, *FAST, "-q", "--seed", "5").returncode == 0
    for command in (
        *("runs", "view --no-browser", "show", "audit", "export last --pairs -", "runs check last"),
        *("export last out", "rate new study --run last", "fork last -q --rounds 1", "models"),
        *("judge last -m echo/echo -q", "runs check", "prompts", "doctor"),
    ):
        done = shell(*command.split())
        assert done.returncode == 0, f"{command}: {done.stderr}"


def test_every_command_is_listed_with_the_first_line_of_its_help() -> None:
    for name, listed in (each for some in (*SECTIONS.values(), OTHERS) for each in some.items()):
        command = cli.get_command(Context(cli), name)
        assert command is not None
        assert command.help, name
        assert listed == command.help.splitlines()[0]
        assert listed.endswith((".", "?"))
        assert len(listed) <= 56, "short help is cut off at 80 columns"


def test_a_resumed_run_has_no_defaults_of_ours() -> None:
    said = CliRunner().invoke(cli, ["resume", "--help"]).output
    assert "smollm2" not in said
    assert "Who writes and judges." in said
