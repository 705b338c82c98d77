"""A whole tournament answered by subagents of a real coding agent, whose model is a script.

Run where only the loopback can be reached: `python -m tests.agents.real_agents PROGRAM SCRIPT FOLDER` prints what the
model was sent. Our skill is installed as users install it.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from aiohttp import web
from examples.host_agent import reply_to

TASK = "IMPROVE-THIS-BRIEF"
INSTRUCTIONS = {"claude-code": "CLAUDE.md", "codex": "AGENTS.md", "gemini-cli": "GEMINI.md"}
"""What each of them reads of a project."""
_START = (
    "autoreason host start brief.md --call-limit 40 --rounds 1 --set reviewers=3 "
    "--set confirmation=3 --seed 7 --name agent --json"
)
_FILES = {
    "project/brief.md": "Explain tides.",
    "project/CLAUDE.md": "CANARY-PROJECT",
    "project/AGENTS.md": "CANARY-PROJECT",
    "project/GEMINI.md": "CANARY-PROJECT",
    "home/.claude/CLAUDE.md": "CANARY-USER",
    "home/.codex/AGENTS.md": "CANARY-USER",
    "home/.gemini/GEMINI.md": "CANARY-USER",
    "home/.codex/auth.json": '{"OPENAI_API_KEY": "of-nobody"}',
    "home/.gemini/settings.json": json.dumps(
        {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "mcpServers": {"autoreason": {"command": "autoreason", "args": ["mcp"]}},
        }
    ),
    "bin/autoreason": f'#!/bin/sh\nexec {sys.executable} -m autoreason.cli "$@"\n',
}
"""What is there beforehand: canaries in all that programs read of a project and of its user, and keys of nobody."""
_QUIET = (
    *("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING"),
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
)
_COMMAND = re.compile(r"Run `(autoreason host [^`]+)`")
_TOKEN = re.compile(r"Token: ([a-z0-9]{12,})")


class Call(NamedTuple):
    """A tool that the model calls."""

    tool: str
    input: dict[str, Any]


Does = list[Call] | str
"""Calls, or a text, with which a turn ends."""


class Turn(NamedTuple):
    """What a model is sent."""

    text: str
    """All of it but tools and system prompt."""
    results: list[str]
    """What its tools gave back so far."""
    tools: list[str]
    told: list[str]
    """What it begins with."""
    word: str = "NONE"
    """The test word of a check, where that is anywhere in the request."""

    @property
    def is_answerer(self) -> bool:
        """Whether it is one context of many: neither the user's own words nor a command are in it."""
        return TASK not in self.text and not _COMMAND.search(self.text)


def answer_one(turn: Turn, take: str, answer: str) -> Does:
    """Takes its token, answers it, and ends."""
    token = _TOKEN.findall(turn.text)[0]
    match turn.results:
        case []:
            return [Call(take, {"token": token})]
        case [prompt]:
            text = turn.word if "test word" in prompt else reply_to(prompt)
            return [Call(answer, {"token": token, "text": text})]
    # Where a subagent ends with a tool of its own.
    done = [Call("complete_task", {"result": "recorded"})]
    return done if "complete_task" in turn.tools else "recorded"


def hand_out(
    turn: Turn, run: Callable[[str], Call], start: Callable[[str], Call], *after: Call
) -> Does:
    """Hands out the token of a check, then those of a run until it is done; `after` them it waits where it has to."""
    if not turn.results:
        return [run(f"autoreason host check --word {turn.word} --json")]
    last, names = turn.results[-1], re.findall(r'"run": "([^"]+)', "".join(turn.results))
    if '"open"' not in last:
        return [run(f"autoreason host next {names[-1]} --json")]
    standing = json.loads(last[last.index("{") : last.rindex("}") + 1])
    if standing["done"]:
        return f"DONE {standing['says']}" if {*names[1:]} - {names[0]} else [run(_START)]
    return [*(start(f"Token: {token}") for token in standing["open"]), *after]


def _events(parts: Iterable[dict[str, Any]]) -> web.Response:
    lines = ""
    for each in parts:
        lines += f"event: {each['type']}\n" if "type" in each else ""
        lines += f"data: {json.dumps(each)}\r\n\r\n"
    return web.Response(text=lines, content_type="text/event-stream")


def _plain(content: Any) -> str:
    """The text of what comes as a text or as parts."""
    return (
        content if isinstance(content, str) else "".join(each.get("text", "") for each in content)
    )


class Agent(Protocol):
    """A program: how it is started, and the words it has with its model."""

    path: str
    take: str
    answer: str

    def arguments(self, base: str) -> list[str]: ...

    def read(self, body: dict[str, Any]) -> Turn: ...

    def orchestrate(self, turn: Turn) -> Does: ...

    def write(self, body: dict[str, Any], does: Does) -> web.Response: ...


class ClaudeCode:
    """Our plugin, found among the user's skills."""

    path = "/messages"
    take = "mcp__plugin_autoreason_autoreason__take"
    answer = "mcp__plugin_autoreason_autoreason__answer"

    def arguments(self, base: str) -> list[str]:  # noqa: ARG002
        tools = "--allowedTools=Bash(autoreason:*),Agent,mcp__plugin_autoreason_autoreason"
        return ["-p", f"{TASK} brief.md", "--model=sonnet", tools]

    def read(self, body: dict[str, Any]) -> Turn:
        parts = [
            part
            for each in body["messages"]
            for part in ([{}] if isinstance(each["content"], str) else each["content"])
        ]
        results = [_plain(each["content"]) for each in parts if each.get("type") == "tool_result"]
        tools, first = [each["name"] for each in body["tools"]], body["messages"][0]["content"]
        told = [first] if isinstance(first, str) else [each["text"] for each in first]
        return Turn(json.dumps(body["messages"]), results, tools, told)

    def orchestrate(self, turn: Turn) -> Does:
        asked = {"description": "one answer", "subagent_type": "autoreason:answerer"}
        more = asked | {"run_in_background": False}
        return hand_out(
            turn,
            lambda line: Call("Bash", {"command": line}),
            lambda prompt: Call("Agent", more | {"prompt": prompt}),
        )

    def write(self, body: dict[str, Any], does: Does) -> web.Response:
        used = {"input_tokens": 10, "output_tokens": 5}
        message: dict[str, Any] = {"id": "1", "type": "message", "role": "assistant"}
        message |= {"content": [], "usage": used}
        start = {"type": "message_start", "message": message | {"model": body["model"]}}
        parts: list[dict[str, Any]] = [start]
        for index, each in enumerate([does] if isinstance(does, str) else does):
            block: dict[str, Any] = {"type": "text", "text": ""}
            delta: dict[str, Any] = {"type": "text_delta", "text": each}
            if isinstance(each, Call):
                block = {"type": "tool_use", "id": f"toolu_{os.urandom(8).hex()}", "input": {}}
                block["name"] = each.tool
                delta = {"type": "input_json_delta", "partial_json": json.dumps(each.input)}
            parts += [
                {"type": "content_block_start", "index": index, "content_block": block},
                {"type": "content_block_delta", "index": index, "delta": delta},
                {"type": "content_block_stop", "index": index},
            ]
        why = "end_turn" if isinstance(does, str) else "tool_use"
        end = {"delta": {"stop_reason": why, "stop_sequence": None}, "usage": used}
        return _events([*parts, {"type": "message_delta", **end}, {"type": "message_stop"}])


class Workflow(ClaudeCode):
    """The same, where the loop is our script: it asks for two commands, and hands out tokens itself."""

    def arguments(self, base: str) -> list[str]:
        *others, tools = super().arguments(base)
        return [*others, f"{tools},Workflow"]

    def orchestrate(self, turn: Turn) -> Does:
        if not (command := _COMMAND.search(turn.text)):
            options = _START.partition("--call-limit 40")[2].removesuffix("--json")
            asked = {"brief": "brief.md", "options": options}
            start = [Call("Workflow", {"name": "autoreason:refine", "args": asked})]
            return "DONE" if turn.results else start
        if not turn.results:
            return [Call("Bash", {"command": command[1]})]
        found = json.loads(turn.results[0])
        needed = {name: found[name] for name in ("run", "open", "done", "says")}
        return "done" if turn.results[1:] else [Call("StructuredOutput", needed)]


class Codex:
    """Calls most tools in scripts of its own, which may call what no request lists."""

    path = "/responses"
    take = "mcp__autoreason__take"
    answer = "mcp__autoreason__answer"

    def arguments(self, base: str) -> list[str]:
        settings = [
            *("analytics.enabled=false", "check_for_update_on_startup=false"),
            *("allow_login_shell=false", f'openai_base_url="{base}/v1"'),
            *('mcp_servers.autoreason.command="autoreason"', 'mcp_servers.autoreason.args=["mcp"]'),
        ]
        # Its own sandbox needs more than a namespace allows.
        options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        chosen = [f"--config={each}" for each in settings]
        return ["exec", *options, "--model=gpt-6-luna", *chosen, f"{TASK} brief.md"]

    def read(self, body: dict[str, Any]) -> Turn:
        sent = body["input"]
        results = [_plain(each["output"]) for each in sent if each["type"].endswith("_output")]
        tools = [
            each["name"]
            for item in sent
            if item["type"] == "additional_tools"
            for room in item["tools"]
            for each in room["tools"]
        ]
        # What one agent says to another is marked as encrypted.
        words = {"message": "text", "agent_message": "encrypted_content"}
        told = [
            part[words[each["type"]]]
            for each in sent
            if each["type"] == "agent_message" or each.get("role") == "user"
            for part in each["content"]
            if words[each["type"]] in part
        ]
        return Turn(json.dumps(sent), results, tools, told)

    def orchestrate(self, turn: Turn) -> Does:
        def start(prompt: str) -> Call:
            asked = {"task_name": prompt.replace("Token: ", "token_"), "message": prompt}
            return Call("spawn_agent", asked | {"agent_type": "answerer", "fork_turns": "none"})

        wait = Call("wait_agent", {"timeout_ms": 10_000})
        return hand_out(turn, lambda line: Call("exec_command", {"cmd": line}), start, wait)

    def write(self, body: dict[str, Any], does: Does) -> web.Response:  # noqa: ARG002
        items = []
        for each in [does] if isinstance(does, str) else does:
            item: dict[str, Any] = {"id": os.urandom(8).hex()}
            if isinstance(each, str):
                content = [{"type": "output_text", "text": each, "annotations": []}]
                item |= {"type": "message", "role": "assistant", "content": content}
            elif each.tool.endswith("_agent"):
                item |= {"type": "function_call", "namespace": "collaboration", "name": each.tool}
                item |= {"call_id": item["id"], "arguments": json.dumps(each.input)}
            else:
                call = f"await tools.{each.tool}({json.dumps(each.input)})"
                script = f"const found = {call}; text(found.output ?? found.content[0].text)"
                item |= {"type": "custom_tool_call", "namespace": "functions", "name": "exec"}
                item |= {"call_id": item["id"], "input": script}
            items.append(item)
        used = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        done = [
            {"type": "response.output_item.done", "output_index": at, "item": item}
            for at, item in enumerate(items)
        ]
        end = {"type": "response.completed", "response": {"id": "1", "usage": used}}
        return _events([{"type": "response.created", "response": {"id": "1"}}, *done, end])


class GeminiCLI:
    """Our subagent, with a server of tools among its settings."""

    path = "GenerateContent"
    take = "mcp_autoreason_take"
    answer = "mcp_autoreason_answer"

    def arguments(self, base: str) -> list[str]:
        os.environ |= {"GEMINI_API_KEY": "of-nobody", "GOOGLE_GEMINI_BASE_URL": base}
        return ["--model=gemini-3-flash", "--yolo", "-p", f"{TASK} brief.md"]

    def read(self, body: dict[str, Any]) -> Turn:
        parts = [part for each in body["contents"] for part in each["parts"]]
        found = [
            part["functionResponse"]["response"] for part in parts if "functionResponse" in part
        ]
        tools = [
            each["name"]
            for tool in body.get("tools", [])
            for each in tool.get("functionDeclarations", [])
        ]
        told = [each["text"] for each in body["contents"][0]["parts"]]
        results = [str(each.get("output", each)) for each in found]
        return Turn(json.dumps(body["contents"]), results, tools, told)

    def orchestrate(self, turn: Turn) -> Does:
        return hand_out(
            turn,
            lambda line: Call("run_shell_command", {"command": line}),
            lambda prompt: Call("invoke_agent", {"agent_name": "answerer", "prompt": prompt}),
        )

    def write(self, body: dict[str, Any], does: Does) -> web.Response:  # noqa: ARG002
        parts = [
            {"text": each}
            if isinstance(each, str)
            else {"functionCall": {"name": each.tool, "args": each.input}}
            for each in ([does] if isinstance(does, str) else does)
        ]
        content = {"role": "model", "parts": parts}
        used = {"promptTokenCount": 10, "candidatesTokenCount": 5}
        ended = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}
        return _events([ended | {"usageMetadata": used}])


AGENTS: dict[str, Agent] = {
    "claude-code": ClaudeCode(),
    "claude-code-workflow": Workflow(),
    "codex": Codex(),
    "gemini-cli": GeminiCLI(),
}


async def output_of(*command: str, cwd: Path) -> str:
    """What a program prints."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await asyncio.wait_for(process.communicate(), 280)
    return output.decode()


async def main(program: str, script: Path, folder: Path) -> dict[str, Any]:
    agent = AGENTS[program]
    sent: list[dict[str, Any]] = []

    async def reply(asked: web.Request) -> web.Response:
        if "upgrade" in asked.headers:
            return web.Response(status=426)
        if asked.method != "POST" or not asked.path.endswith(agent.path):
            return web.json_response({}, status=404)
        body = await asked.json()
        word = re.search("canary-[0-9a-f]{8}", json.dumps(body))
        turn = agent.read(body)._replace(word=word[0] if word else "NONE")
        canaries = sorted(set(re.findall("CANARY-[A-Z]+", json.dumps(body))))
        sent.append(
            {"answers": turn.is_answerer, "canaries": canaries, "size": len(json.dumps(body))}
        )
        if turn.is_answerer:
            sent[-1] |= {"tools": turn.tools, "told": turn.told}
            return agent.write(body, answer_one(turn, agent.take, agent.answer))
        return agent.write(body, agent.orchestrate(turn))

    app = web.Application(client_max_size=1 << 26)
    app.router.add_route("*", "/{path:.*}", reply)
    runner = web.AppRunner(app)
    await runner.setup()
    listening = socket.create_server(("127.0.0.1", 0))
    await web.SockSite(runner, listening).start()
    base = f"http://127.0.0.1:{listening.getsockname()[1]}"
    for name, content in _FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    (folder / "bin/autoreason").chmod(0o755)
    (folder / "project/.git").mkdir()
    path = f"{folder}/bin:{os.environ['PATH']}"
    os.environ |= dict.fromkeys(_QUIET, "1")
    os.environ |= {"PATH": path, "HOME": f"{folder}/home", "ANTHROPIC_BASE_URL": base}
    os.environ |= {"ANTHROPIC_API_KEY": "of-nobody", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    known = program.removesuffix("-workflow")
    await output_of("autoreason", "skill", "install", "--for", known, cwd=folder)
    if program in INSTRUCTIONS:
        check = ("host", "check", INSTRUCTIONS[program], "--yes")
        await output_of("autoreason", *check, cwd=folder / "project")
    command = ["node", str(script), *agent.arguments(base)]
    said = await output_of(*command, cwd=folder / "project")
    await runner.cleanup()
    record = json.loads(await output_of("autoreason", "show", "--json", cwd=folder))
    calls, status = record["spent"]["calls"], record["status"]
    found = record["settings"]["models"]["hosts"]
    return {"said": said, "calls": calls, "status": status, "found": found, "sent": sent}


if __name__ == "__main__":
    # Whatever such a program does, it stays on this machine.
    interfaces = Path("/proc/net/dev").read_text().splitlines()[2:]
    assert [each.split(":")[0].strip() for each in interfaces] == ["lo"]
    name, program_script, own_folder = sys.argv[1:]
    print(json.dumps(asyncio.run(main(name, Path(program_script), Path(own_folder)))))
