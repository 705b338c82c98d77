"""Requests, replies and journals for the journal's tests."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from decimal import Decimal
from pathlib import Path

from autoreason.exchange import Message, Outcome, Reply, Request, Role, Usage
from autoreason.journal import Journal, sql
from autoreason.journal.codec import now, write_text
from autoreason.journal.journal import locate, open_store

RUN = "20261115-amber-fox"
PROJECT = Path(__file__).parents[2]


def a_request(
    key: str = "pass/1/judge/0/try/0", role: Role = "judge", text: str = "Rank."
) -> Request:
    return Request(
        role=role, key=key, model="fake/model", messages=(Message("user", text),), max_tokens=100
    )


def a_reply(text: str = "B, A", cost: str | None = "0.001", tokens: int | None = 10) -> Reply:
    return Reply(
        outcome=Outcome.OK,
        text=text,
        model="fake/model",
        usage=Usage(input=tokens, output=tokens),
        cost=None if cost is None else Decimal(cost),
        seconds=0.5,
    )


def create_run(
    journal: Journal,
    run: str,
    title: str = "A letter",
    version: str = "0.1.0",
    forked_from: str | None = None,
) -> None:
    """Enter a run under a given name, of which nothing else is recorded yet."""
    title = write_text(title)
    search = f"{title}\n{run}".casefold()
    row = (run, title, "running", now(), now(), version, forked_from, search, "")
    journal._get_writer().commit_now(run, lambda shelf: shelf.execute(sql.INSERT_RUN, row))


def committed(url: str, table: str) -> int:
    """Rows that another connection sees."""
    with closing(open_store(locate(url)).open_reader()) as reader:
        (number,) = reader.connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        return int(number)


def change(url: str, *statements: str) -> None:
    """Change a journal behind its back, as another program would."""
    with closing(open_store(locate(url)).open_writer()) as connection:
        connection.begin()
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def a_process(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A real process that runs `code` with the journal and these samples imported."""
    header = (
        "import sys\nfrom autoreason.journal import Journal\nfrom tests.journal.samples import *\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", header + textwrap.dedent(code), *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{PROJECT / 'src'}{os.pathsep}{PROJECT}"},
    )


def kill(process: subprocess.Popen[str], lines: int, moment: float = 0.0) -> list[str]:
    """End a process once it has printed so many lines, and a moment later; all that it printed whole."""
    assert process.stdout
    printed = [process.stdout.readline() for _ in range(lines)]
    time.sleep(moment)
    process.kill()
    printed += process.stdout.readlines()
    process.stdout.close()
    process.wait()
    return [line.strip() for line in printed if line.endswith("\n")]


def quietly(*_: object) -> None:
    """Says nothing of how far it is."""
