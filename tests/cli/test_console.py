"""What is printed into a pipe is no wider than a usual terminal, whatever other streams are."""

from __future__ import annotations

import pytest
from tests.cli.conftest import FAST
from tests.cli.inside import Inside

LONG = (
    "Write about the tides of the northern sea and about boats that are older than their harbours"
)


@pytest.fixture
def piped(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> Inside:
    """A folder with a run and a panel, where nothing says how wide lines may be."""
    monkeypatch.delenv("COLUMNS", raising=False)
    for name in ("alpha", "beta"):
        inside.write(f"{name}-with-a-long-name-of-its-own.md", f"The text {name}, at some length.")
    texts = (f"{name}-with-a-long-name-of-its-own.md" for name in ("alpha", "beta"))
    assert inside("run", LONG, *FAST, "-q").status == 0
    panel = ("-m", "echo/echo", "--judges", "3", "--seed", "1", "-q", "--pairwise")
    assert inside("judge", LONG, *texts, *panel).status == 0
    return inside


COMMANDS = (
    *("runs", "audit", "show", "show @2", "models", "models list", "prompts"),
    "compare x --strategies improve,single,harsh --repeats 3 --rounds 1 --seed 1 -m echo/echo -q",
    "simulate --world help --runs 2 -q",
)


def test_no_line_is_wider_than_80_columns(piped: Inside) -> None:
    wide = []
    for command in COMMANDS:
        done = piped(*command.split())
        assert done.status == 0, done.err
        wide += [line for line in done.out.splitlines() if len(line) > 80]
    # A path is not broken.
    assert [line for line in wide if " " in line] == []
