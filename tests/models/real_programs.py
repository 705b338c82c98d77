"""The real programs against a scripted provider: what each of them sends. Run where only the loopback can be reached.

`python -m tests.models.real_programs PROGRAM SCRIPT FOLDER` asks twice and prints what was asked, sent and answered.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from autoreason.exchange import Message, Request, Schema, object_schema
from autoreason.models.programs import PROGRAMS, ProgramModel

MODELS = {
    "claude-code": "sonnet",
    "codex": "gpt-6-luna",
    "gemini-cli": "gemini-3-flash",
}
ANSWER = {"reasoning": "both are short", "ranking": "BL > QM"}
SYSTEM = "You rank texts. SYSTEM-OF-OURS"
PROMPT = "Rank them. PROMPT-OF-OURS @secret.txt @{folder}/secret.txt /help"
_CANARIES = {
    "project/CLAUDE.md": "CANARY-PROJECT",
    "project/AGENTS.md": "CANARY-PROJECT",
    "project/GEMINI.md": "CANARY-PROJECT",
    "project/secret.txt": "CANARY-FILE",
    "secret.txt": "CANARY-FILE",
    "home/secret.txt": "CANARY-FILE",
    "home/.claude/CLAUDE.md": "CANARY-USER",
}
"""Files by their place, and what none of them may bring into a request."""


def request(folder: Path, *, shaped: bool) -> Request:
    schema = Schema(
        "ballot", object_schema({each: {"type": "string"} for each in ANSWER}), "As JSON."
    )
    asked = (Message("system", SYSTEM), Message("user", PROMPT.format(folder=folder)))
    return Request(
        role="judge",
        key="pass/1/judge/0/try/0",
        model="program/model",
        messages=asked,
        max_tokens=1000,
        effort="low",
        schema=schema if shaped else None,
    )


def log_in(folder: Path, port: int) -> None:
    """Keys of nobody, where each program keeps its login, and the address of the scripted provider."""
    home, base = folder / "home", f"http://127.0.0.1:{port}"
    files = {
        **_CANARIES,
        "home/.codex/auth.json": '{"OPENAI_API_KEY": "of-nobody"}',
        "home/.gemini/.env": f"GEMINI_API_KEY=of-nobody\nGOOGLE_GEMINI_BASE_URL={base}\n",
        "home/.gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}}}',
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    os.environ |= {"HOME": str(home), "ANTHROPIC_BASE_URL": base, "SOME_API_KEY": "of-nobody"}
    os.environ["CLAUDE_CODE_OAUTH_TOKEN"] = "of-nobody"
    os.chdir(folder / "project")


def put_on_path(folder: Path, program: str, script: Path, port: int) -> None:
    """Under its name, noting how it is called; Codex finds another server through its options alone."""
    noted = f'printf "%s\\n" "$@" END >> {folder}/arguments; env > {folder}/environment'
    start = f"exec node {script}"
    if program == "codex":
        server = f"-c 'openai_base_url=\"http://127.0.0.1:{port}/v1\"'"
        start = f'[ "$1" = exec ] || {start} "$@"; shift; {start} exec {server}'
    path = folder / "bin" / PROGRAMS[program].command
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\n{noted}\n{start} "$@"\n')
    path.chmod(0o755)
    os.environ["PATH"] = f"{path.parent}:{os.environ['PATH']}"


def _events(parts: Iterable[dict[str, Any]]) -> web.Response:
    lines = ""
    for each in parts:
        lines += f"event: {each['type']}\n" if "type" in each else ""
        lines += f"data: {json.dumps(each)}\r\n\r\n"
    return web.Response(text=lines, content_type="text/event-stream")


def _anthropic(body: dict[str, Any]) -> web.Response:
    block: dict[str, Any] = {"type": "text", "text": "an answer"}
    delta = {"type": "text_delta", "text": "an answer"}
    if any(each["name"] == "StructuredOutput" for each in body["tools"]):
        block = {"type": "tool_use", "id": "1", "name": "StructuredOutput", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(ANSWER)}
    used = {"input_tokens": 1000, "output_tokens": 1, "cache_read_input_tokens": 20}
    message = {"id": "1", "type": "message", "role": "assistant", "content": [], "usage": used}
    end = {"stop_reason": "tool_use" if "id" in block else "end_turn", "stop_sequence": None}
    start = block | ({"text": ""} if "text" in block else {})
    return _events(
        [
            {"type": "message_start", "message": message | {"model": body["model"]}},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": end, "usage": {"output_tokens": 500}},
            {"type": "message_stop"},
        ]
    )


def _openai(body: dict[str, Any]) -> web.Response:
    text = json.dumps(ANSWER) if "format" in body["text"] else "an answer"
    content = [{"type": "output_text", "text": text, "annotations": []}]
    item = {"type": "message", "role": "assistant", "id": "1", "content": content}
    used = {
        "input_tokens": 1020,
        "output_tokens": 500,
        "total_tokens": 1520,
        "input_tokens_details": {"cached_tokens": 20},
        "output_tokens_details": {"reasoning_tokens": 7},
    }
    return _events(
        [
            {"type": "response.created", "response": {"id": "1"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": "1", "usage": used}},
        ]
    )


def _google(_: dict[str, Any]) -> web.Response:
    content = {"role": "model", "parts": [{"text": "an answer"}]}
    used = {"promptTokenCount": 1020, "candidatesTokenCount": 493, "thoughtsTokenCount": 7}
    ended = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}
    return _events([ended | {"usageMetadata": used | {"cachedContentTokenCount": 20}}])


async def main(program: str, script: Path, folder: Path) -> dict[str, Any]:
    sent: list[dict[str, Any]] = []

    async def answer(asked: web.Request) -> web.Response:
        if "upgrade" in asked.headers:
            return web.Response(status=426)
        if asked.method != "POST":
            return web.json_response({}, status=404)
        sent.append(await asked.json())
        formats = {"/messages": _anthropic, "/responses": _openai, "GenerateContent": _google}
        return next(make for end, make in formats.items() if end in asked.path)(sent[-1])

    app = web.Application(client_max_size=1 << 26)
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    listening = socket.create_server(("127.0.0.1", 0))
    await web.SockSite(runner, listening).start()
    port = listening.getsockname()[1]
    log_in(folder, port)
    put_on_path(folder, program, script, port)
    model = ProgramModel(f"{program}/{MODELS[program]}", deadline=100)
    replies = [await model.ask(request(folder, shaped=shaped)) for shaped in (False, True)]
    await model.close()
    await runner.cleanup()
    kept = [path for path in (folder / "home").rglob("*") if path.is_file()]
    environment = (folder / "environment").read_text()
    calls = (folder / "arguments").read_text().split("END\n")
    return {
        "sent": sent,
        "replies": msgspec.to_builtins(replies),
        "arguments": [call.splitlines() for call in calls if "--version" not in call][-3:-1],
        "environment": [each.partition("=")[0] for each in environment.splitlines()],
        "keeps": [path.name for path in kept if b"PROMPT-OF-OURS" in path.read_bytes()],
    }


if __name__ == "__main__":
    # Whatever such a program does, it stays on this machine.
    interfaces = Path("/proc/net/dev").read_text().splitlines()[2:]
    assert [each.split(":")[0].strip() for each in interfaces] == ["lo"]
    name, program_script, own_folder = sys.argv[1:]
    found = asyncio.run(main(name, Path(program_script), Path(own_folder)))
    print(json.dumps(found, default=str))
