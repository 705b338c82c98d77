"""Over MCP: real servers, each a process of its own, asked by the SDK's own client."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from sqlite3 import connect
from subprocess import PIPE
from typing import Any

import pytest
from examples.host_agent import reply_to
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from tests.cli.conftest import Shell
from tests.cli.server import Server, serving
from tests.patience import PATIENCE, processes_with, until
from tests.run.host_runs import ADDRESS, Within
from tests.run.leaving import emitted

from autoreason.agents.mcp_server import ARGUMENTS
from autoreason.journal import Journal
from autoreason.models.pool import ModelPool
from autoreason.run import driver
from autoreason.run.prepared import choose_prompts

PRICED = "openai/gpt-5-mini"
SHORT = {"brief": "Explain tides.", "call_limit": 60, "rounds": 1}
TEXTS = {"one": "The sea rises.", "two": "Tides are slow."}
ONE_CONTEXT = {"brief": "x", "texts": TEXTS, "call_limit": 9, "one_context": True}
KEY = "sk-canary-1234567890"
CLIENT = {"name": "test", "version": "0"}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}


class Refused(Exception):
    """What a tool answered in place of a result."""


class Agent:
    """What a coding agent does with the tools."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: Any) -> Any:
        """The result of a tool: its value, or its text where it has no other."""
        found: Any = await self.client.call_tool(tool, arguments)
        (said,) = found.content
        if found.is_error:
            raise Refused(said.text)
        return found.structured_content or said.text

    async def refusal(self, tool: str, **arguments: Any) -> str:
        with pytest.raises(Refused) as refused:
            await self(tool, **arguments)
        return str(refused.value)

    async def see_to(self, token: str) -> None:
        """What a context of its own does that is given a token."""
        assert await self("answer", token=token, text=reply_to(await self("take", token=token)))

    async def wait(self, run: str, until: Callable[[Any], bool]) -> Any:
        """How far a run is, once that is so."""
        async with asyncio.timeout(PATIENCE):
            while not until(found := await self("status", run=run)):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        return found


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@asynccontextmanager
async def connected(
    shell: Shell, *options: str, server: Server | None = None
) -> AsyncIterator[Agent]:
    """An agent with a server of its own; `server` is where models with a price are."""
    program, *arguments = shell.command("mcp", *options)
    known = environment(server) if server else {}
    parameters = StdioServerParameters(
        command=program, args=arguments, env=shell.environment | known, cwd=shell.home
    )
    with (shell.home / "log").open("a") as log:
        async with Client(stdio_client(parameters, errlog=log)) as client:
            yield Agent(client)


def environment(server: Server) -> dict[str, str]:
    """Of a process that asks this server for models with a price."""
    return {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY}


def opened(shell: Shell) -> Journal:
    return Journal.open(shell.journal, create=False)


async def play(agents: list[Agent], began: Mapping[str, Any]) -> Any:
    """A run to its end, its questions shared by several agents."""
    found = began
    while not found["done"]:
        assert found["open"], found
        turns = zip(found["open"], agents * len(found["open"]), strict=False)
        await asyncio.gather(*(agent.see_to(token) for token, agent in turns))
        found = await agents[0]("next", run=began["run"])
    return found


async def test_two_agents_with_servers_of_their_own_answer_a_whole_tournament(shell: Shell) -> None:
    async with connected(shell) as one, connected(shell) as other:
        listed = {each.name: each for each in (await one.client.list_tools()).tools}
        assert [*listed] == [*ARGUMENTS]
        assert {*listed["take"].input_schema["properties"]} == {"token", "page"}
        assert listed["answer"].input_schema["required"] == ["token", "text"]
        began = await one("refine", **SHORT, limits={"max_words": 90})
        assert began.keys() == {"run", "status", "open", "done", "says", "limits"}
        done = await play([one, other], began)
        assert (done["status"], done["open"]) == ("capped", [])
        run = done["run"]
        result = await other("result", run=run)
        status = await other("status", run=run)
        assert (status["rounds"], status["cost"]) == (1, None)
        texts = {"one": result["text"], "two": "The sea moves."}
        judged = await one("judge", brief="Explain tides.", texts=texts, call_limit=9, judges=3)
        assert len(judged["open"]) == 3
        await play([other, one], judged)
        report = (await one("result", run=judged["run"]))["text"]
        assert "## " in report
        runs = (await other("search_runs", search="tides"))["runs"]
        assert [each["run"] for each in runs] == [judged["run"], run]
        uris = [each.uri for each in (await one.client.list_resources()).resources]
        assert f"autoreason://run/{run}/text" in uris
        read = [(await one.client.read_resource(uri)).contents[0].text for uri in uris]  # type: ignore[union-attr]
        assert {result["text"], report} < {*read}
        with pytest.raises(MCPError, match="there is no such resource"):
            await one.client.read_resource("autoreason://run/../journal.db")
    with opened(shell) as journal, Journal.open(shell.home / "whole.db", create=True) as whole:
        task, settings = journal.task(run), journal.settings(run)
        assert task
        assert settings
        pool = ModelPool()
        pool.add({ADDRESS: Within()})
        prompts = choose_prompts(settings)
        unbroken = await driver.start(task, settings, whole, {"pool": pool}, prompts=prompts)
        assert unbroken.text == result["text"]
        assert emitted(whole, unbroken.run) == emitted(journal, run)


async def test_what_cannot_be_used_is_refused_in_a_sentence_that_tells_nothing_else(
    shell: Shell,
) -> None:
    code = shell.home / "own.py"
    code.write_text("open('ran', 'w')")
    (shell.home / "brief.md").write_text("Explain tides.")
    lone = {"tests": 1, "id": "x", "statement": "y", "public_tests": [{"input": "", "output": 3}]}
    with serving() as server:
        async with connected(shell, server=server) as agent:
            token = (await agent("refine", **SHORT))["open"][0]
            refused: list[tuple[str, str, dict[str, Any]]] = [
                ("unknown tool `resume`", "resume", {}),
                ("`brief` is missing", "refine", {}),
                ("give the words of the brief", "refine", SHORT | {"brief": "brief.md"}),
                ("`call_limit` is 0; give a number from 1", "refine", SHORT | {"call_limit": 0}),
                (
                    "`call_limit` is 3, and this run needs at least 19; give so many$",
                    "refine",
                    SHORT | {"call_limit": 3},
                ),
                ("`rounds` is 1001; give", "refine", SHORT | {"rounds": 1001}),
                ("`limits`: `keep` must be", "refine", SHORT | {"limits": {"keep": 3}}),
                ("one context is not a panel; name `judge_models`", "judge", ONE_CONTEXT),
                ("`rounds` must be a whole number", "refine", SHORT | {"rounds": "two"}),
                ("unknown argument `max_words`; known are", "refine", SHORT | {"max_words": 9}),
                ("unknown key `max_word`", "refine", SHORT | {"limits": {"max_word": 9}}),
                ("cannot name code", "refine", SHORT | {"limits": {"checks": ["own.py:check"]}}),
                ("openai/gpt-5-mini may cost money; ", "refine", SHORT | {"model": PRICED}),
                ("codex/x may cost money; ", "refine", SHORT | {"judge_models": ["codex/x"]}),
                ("own.py:Model/x may cost", "refine", SHORT | {"model": "own.py:Model/x"}),
                ("write host/NAME", "refine", SHORT | {"model": "host/../x"}),
                ("2 to 10", "judge", {"brief": "x", "texts": {"a": "b"}, "call_limit": 9}),
                ("no run '../journal'", "next", {"run": "../journal"}),
                ("no question of this token", "take", {"token": "' OR 1=1 --\0"}),
                ("this question was not read yet", "answer", {"token": token, "text": "x"}),
                ("this has 1 page", "take", {"token": token, "page": 2}),
                ("is not under way", "tell", {"run": "last", "message": "stop"}),
                ("the guidance is empty", "tell", {"run": "last", "message": " "}),
                (
                    "not a problem in a known format",
                    "check_program",
                    {"problem": {}, "program": ""},
                ),
                ("", "check_program", {"problem": lone, "program": "print(1)"}),
            ]
            for said, tool, arguments in refused:
                sentence = await agent.refusal(tool, **arguments)
                assert said in f"{sentence}$"
                assert "--" not in sentence
                assert len(sentence) < 400
                for secret in ("Traceback", KEY, str(shell.home), "error of autoreason"):
                    assert secret not in sentence
            long = (await agent("refine", **SHORT, draft="The sea. " * 9000))["open"][0]
            assert (await agent("take", token=long)).endswith("answer: page 2]")
            assert "[Page" not in await agent("take", token=long, page=2)
            prompt = await agent("take", token=token)
            assert "tides" in prompt
            assert "taken" in await agent.refusal("take", token=token)
            assert "answer is empty" in await agent.refusal("answer", token=token, text=" \n")
            assert "is kept for" in await agent("tell", run="last", message="mind it")
            assert len((await agent("search_runs"))["runs"]) == 2
            for each in shell.journal.parent.glob("journal.db*"):
                if each.is_file():
                    each.write_bytes(b"no journal" * 5000)
            damaged = "^the journal is damaged"
            assert re.match(damaged, await agent.refusal("take", token=token))
            with pytest.raises(MCPError, match=damaged):
                await agent.client.list_resources()
        assert not server.visits
    assert not (shell.home / "ran").exists()
    assert (shell.home / "log").read_text() == ""


async def test_a_host_without_fresh_contexts_says_so_and_so_does_its_run(shell: Shell) -> None:
    async with connected(shell) as agent:
        call = {**SHORT, "one_context": True, "key": "one"}
        done = await play([agent], await agent("refine", **call))
        assert done["says"].startswith("not blind: one context wrote and judged")
        assert (await agent("refine", **call))["run"] == done["run"]
        again = await agent.refusal("refine", **call | {"one_context": False})
        assert again.startswith("`key` was given for something else")
        result = await agent("result", run=done["run"])
        assert result["summary"][0] == "Not blind: one context wrote and judged."
        # Judges of somebody else are as blind as ever.
        judged = await agent("judge", **ONE_CONTEXT, judge_models=["echo/echo"])
        assert (await agent.wait(judged["run"], lambda run: run["done"]))["calls"] == 7


async def test_advice_is_about_what_the_tools_can_do(shell: Shell) -> None:
    free = {"model": "echo/echo"}
    async with connected(shell) as agent:
        began = await agent("refine", **SHORT, **free, limits={"max_words": 1})
        await agent.wait(began["run"], lambda run: run["done"])
        *_, last = (await agent("result", run=began["run"]))["summary"]
        assert last == "Change the model or the limit."
        judged = await agent("judge", **ONE_CONTEXT | {"one_context": False}, **free)
        await agent.wait(judged["run"], lambda run: run["done"])
        assert "; with `judges` 21 " in str((await agent("result", run=judged["run"]))["summary"])
        ended = await agent.refusal("tell", run=judged["run"], message="stop")
        assert ended.endswith(" is finished; `result` has its result")
        waits = await agent("refine", **SHORT)
        idle = await agent.refusal("tell", run=waits["run"], message="stop")
        assert idle.endswith("is not under way; go on with `next`")


async def test_a_server_takes_out_the_word_of_a_check_that_was_killed(shell: Shell) -> None:
    instructions = shell.home / "CLAUDE.md"
    instructions.write_text("Short texts.")
    assert shell("host", "check", "CLAUDE.md", "--yes").returncode == 0
    (word,) = re.findall(r"canary-[0-9a-f]{8}", instructions.read_text())
    (watcher,) = processes_with(word)
    os.kill(watcher, signal.SIGKILL)
    until(lambda: not processes_with(word))
    async with connected(shell):
        assert instructions.read_text() == "Short texts."


async def test_nobody_reads_which_text_leads_while_questions_wait(shell: Shell) -> None:
    async with connected(shell) as agent:
        began = await agent("refine", **SHORT, draft="The sea rises twice a day.")
        run = began["run"]
        assert "could read it here" in await agent.refusal("result", run=run)
        for form in ("text", "report"):
            with pytest.raises(MCPError, match="could read it here"):
                await agent.client.read_resource(f"autoreason://run/{run}/{form}")
        assert "rises" not in json.dumps(await agent("status", run=run))
        await agent("tell", run=run, message="accept")
        assert (await agent("next", run=run))["done"]
        assert (await agent("result", run=run))["text"] == "The sea rises twice a day."


async def test_a_program_is_run_on_the_tests_of_a_problem(shell: Shell) -> None:
    tests = [{"input": "2\n", "output": "4\n"}, {"input": "3\n", "output": "6\n"}]
    problem = {"id": "double", "statement": "Print twice the number.", "public_tests": tests}
    async with connected(shell) as agent:
        for program, verdict in (("print(2 * int(input()))", "accepted"), ("print(4)", "wrong")):
            found = await agent("check_program", problem=problem, program=program)
            assert found["verdict"].startswith(verdict)
            assert len(found["tests"]) == 2


async def test_a_key_is_one_run_whatever_happens_to_servers(shell: Shell) -> None:
    call = SHORT | {"model": PRICED, "key": "the toast"}
    limit = ("--cost-limit", "1")
    with serving() as server:
        server.held_from = 4
        async with (
            connected(shell, *limit, server=server) as one,
            connected(shell, *limit, server=server) as other,
        ):
            pair = (agent("refine", **call) for agent in (one, other, one, other))
            began = await asyncio.gather(*pair)
            (run,) = {each["run"] for each in began}
            assert not any(each["done"] for each in began)
            for change in ({"brief": "Another."}, {"judge_models": ["host/agent"]}):
                refusal = await other.refusal("refine", **call | change)
                assert refusal.startswith("`key` was given for something else")
            await other.wait(run, lambda found: found["calls"] == 3)
            with opened(shell) as journal:
                owner = journal.lock_owner(run)
            assert owner
            assert owner.pid
            # It is one of the two; the other is at hand as before.
            os.kill(owner.pid, signal.SIGKILL)
            left = one if await is_lost(other) else other
            before = server.asked
            await left.wait(run, lambda found: found["status"] == "killed")
            assert (await left("refine", **call))["run"] == run
            await left.wait(run, lambda found: found["status"] == "live")
        # They left while replies were under way.
        with opened(shell) as journal:
            assert journal.row(run).state in ("stopped", "killed")
            assert journal.spent(run).calls == 3
        server.gate.set()
        async with connected(shell, *limit, server=server) as agent:
            assert (await agent("refine", **call))["run"] == run
            done = await agent.wait(run, lambda found: found["done"])
            assert len((await agent("search_runs"))["runs"]) == 1
        assert server.asked > before
        asked = [str(each["messages"]) + str(each.get("seed")) for each in server.bodies]
        # What was under way when a server ended is asked again, and nothing else is.
        assert done["calls"] == len({*asked})


async def is_lost(agent: Agent) -> bool:
    try:
        await agent("search_runs")
    except MCPError:
        return True
    return False


async def test_many_calls_with_one_key_at_once_are_one_run(shell: Shell) -> None:
    async with connected(shell) as one, connected(shell) as other:
        for key in ("a", "b", "c", "d", "e", "f"):
            calls = (agent("refine", **SHORT, key=key) for agent in (one, other) * 4)
            (run,) = {each["run"] for each in await asyncio.gather(*calls)}
            waits = await one.wait(run, lambda found: found["status"] == "waiting")
            assert len(waits["open"]) == 1


async def test_what_keeps_a_run_from_going_on_is_said(shell: Shell) -> None:
    async with connected(shell) as agent:
        began = await agent("refine", **SHORT)
        await agent.see_to(began["open"][0])
        (token,) = (await agent("next", run="last"))["open"]
        await agent.see_to(token)
        with connect(shell.journal) as record:
            record.execute("DELETE FROM replies")
        record.close()
        assert "cannot go on: " in await agent.refusal("next", run="last")


def test_a_run_under_way_when_its_server_ends_is_paused(shell: Shell) -> None:
    started = {"name": "refine", "arguments": SHORT | {"model": PRICED}}
    with serving() as server:
        shell.environment |= environment(server)
        process = shell.start("mcp", "--cost-limit", "1", stdin=PIPE, stdout=PIPE)
        assert process.stdin
        assert process.stdout
        for method, params in (("initialize", HELLO), ("tools/call", started)):
            asked = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            while json.loads(process.stdout.readline()).get("id") != method:
                """It may have said something else."""
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    with opened(shell) as journal:
        (row,) = journal.runs()
        assert (row.state, row.spent.calls) == ("stopped", 0)
        assert journal.story(row.id).reason.startswith("the server that drove it ended")


async def test_a_limit_holds_for_all_runs_of_a_server_together(shell: Shell) -> None:
    call = SHORT | {"model": PRICED, "call_limit": 500, "rounds": 40}
    with serving() as server:
        server.gate.set()
        async with connected(shell, "--cost-limit", "0.03", server=server) as agent:
            refusal = await agent.refusal("refine", **SHORT, model="openai/unheard-of")
            assert "a known price" in refusal
            began = [await agent("refine", **call) for _ in range(4)]
            ends = [
                await agent.wait(each["run"], lambda run: run["status"] != "live") for each in began
            ]
            # An answer from outside costs nothing, whatever is left.
            hosted = await agent("refine", **SHORT, judge_models=[PRICED])
            assert hosted["status"] == "waiting"
        assert {each["status"] for each in ends} == {"budget"}
        assert all("of $0.03 are spent" in each["says"] for each in ends)
        assert sum(each["cost"] for each in ends) <= 0.03
        # Alone, at least one of them could have gone on.
        needed = [float(each["says"].rpartition("$")[2]) for each in ends]
        assert min(each["cost"] + more for each, more in zip(ends, needed, strict=True)) < 0.03
        assert server.asked == sum(each["calls"] for each in ends)
