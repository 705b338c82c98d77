"""`take` and `answer` as MCP over standard streams, by hand: no more than subagents need."""

from __future__ import annotations

import json
import sys
from typing import Any

from autoreason.errors import AutoreasonError
from autoreason.journal import Journal
from autoreason.run import host

_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}
_TOOLS: dict[str, Any] = {
    "take": {"token": _TEXT, "page": _NUMBER},
    "answer": {"token": _TEXT, "text": _TEXT},
}


def call(name: str, given: dict[str, Any]) -> str:
    """What a tool says."""
    with Journal.open(None, create=False) as book:
        if name == "take":
            return host.take(book, given["token"], given.get("page", 1)).text
        host.answer(book, given["token"], given["text"])
        return "recorded"


def reply(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The result of a request."""
    if method == "initialize":
        about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "autoreason", "version": ""}}
        return about | {"protocolVersion": params["protocolVersion"]}
    if method == "tools/list":
        schemas = {
            name: {"type": "object", "properties": fields, "required": ["token"]}
            for name, fields in _TOOLS.items()
        }
        about = {"take": "The task of a token.", "answer": "Hand in its answer."}
        tools = [
            {"name": each, "description": about[each], "inputSchema": schemas[each]}
            for each in _TOOLS
        ]
        return {"tools": tools}
    if method != "tools/call":
        return {}
    failed = False
    try:
        text = call(params["name"], params["arguments"])
    except AutoreasonError as error:
        text, failed = str(error), True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        found = reply(asked["method"], asked.get("params", {}))
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": found}) + "\n")
        sys.stdout.flush()
