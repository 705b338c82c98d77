"""Questions answered by token, from the command line: each take and answer is a process, beside one that lists runs."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from statistics import median
from time import monotonic

from examples.host_agent import reply_to
from mcp import Client, StdioServerParameters, stdio_client

import autoreason
from autoreason.journal import Journal
from autoreason.run.host import prompt_of
from benchmarks.commands import AUTOREASON, Ran, timed
from benchmarks.measure import Measure, at_most, for_information

_JUDGES = 99
_MANY = 1000


def measure_host(rounds: int = 15) -> list[Measure]:
    """What a take and an answer take, in the time of `runs` next to them; among a thousand questions, too."""
    with tempfile.TemporaryDirectory(prefix="autoreason-bench-") as folder:
        path = Path(folder, "journal.db")
        few = _compare(path, rounds, _JUDGES)
        many = _compare(path, rounds, _MANY)
    words = f"take and answer over MCP among {_MANY} questions, as a multiple of among {_JUDGES}"
    return [
        *_describe("", *few),
        *_describe(f" among {_MANY} questions", *many),
        at_most("host", words, median(many[3]) / median(few[3]), 1.5, "x"),
    ]


def _describe(
    where: str, listed: list[Ran], took: list[Ran], answered: list[Ran], served: list[float]
) -> list[Measure]:
    found = []
    for what, runs in (("take", took), ("answer", answered)):
        shares = [one.cpu / other.cpu for one, other in zip(runs, listed, strict=True)]
        words = f"processor time of `host {what}`{where}, as a multiple of that of `runs`"
        found.append(at_most("host", words, median(shares), 1.5, "x", best=min(shares)))
    walls = [1000 * median(each.wall for each in runs) for runs in (listed, took, answered)]
    said = ", ".join(f"{each:.0f} ms" for each in walls)
    said += f", {1000 * median(served):.0f} ms"
    words = f"`runs`, take, answer, and both over MCP{where}"
    return [*found, for_information("host", words, said)]


def _compare(
    path: Path, rounds: int, questions: int
) -> tuple[list[Ran], list[Ran], list[Ran], list[float]]:
    tokens = _ask(path, questions)
    journal = ("--journal", str(path))
    listed, took, answered = [], [], []
    for token, answer in tokens[:rounds]:
        listed.append(timed((AUTOREASON, "runs", *journal)))
        took.append(timed((AUTOREASON, "host", "take", token, *journal)))
        answered.append(timed((AUTOREASON, "host", "answer", token, *journal), answer))
    return listed, took, answered, asyncio.run(_over_mcp(path, tokens[rounds : 2 * rounds]))


async def _over_mcp(path: Path, asked: list[tuple[str, str]]) -> list[float]:
    """Seconds for each question that is taken and answered at a server that is up."""
    server = StdioServerParameters(command=AUTOREASON, args=["mcp", "--journal", str(path)])
    took = []
    async with Client(stdio_client(server)) as client:
        for token, text in asked:
            began = monotonic()
            await client.call_tool("take", {"token": token})
            await client.call_tool("answer", {"token": token, "text": text})
            took.append(monotonic() - began)
    return took


def _ask(path: Path, questions: int) -> list[tuple[str, str]]:
    """So many questions that wait in a new run, with their answers."""
    texts = {"one": "The moon pulls the sea. " * 40, "two": "The sea rises and falls. " * 40}
    with Journal.open(path, create=True) as journal:
        run = autoreason.judge(
            "Explain tides.", texts, model="host/agent", judges=_JUDGES, journal=journal
        ).run
        request = journal.request_of(journal.questions(run)[0])

        async def more() -> None:
            for number in range(_JUDGES, questions):
                await journal.post_question(run, request.renamed(f"draft/try/{number}"))

        asyncio.run(more())
        asked = journal.questions(run)
        return [(each.token, reply_to(prompt_of(journal.request_of(each)))) for each in asked]
