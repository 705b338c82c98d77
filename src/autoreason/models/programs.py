"""Command-line programs as models: the user's own Claude Code, Codex or Gemini CLI, started anew for each call.

A program logs in by itself; nothing here reads or passes on what it logs in with.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import msgspec
from msgspec.structs import replace

from autoreason.characters import is_blank
from autoreason.errors import CallFailed, Failure, InvalidInput, ProviderFailed
from autoreason.exchange import OnSignal, Outcome, Reply, Request
from autoreason.files import home_folder
from autoreason.models import dialects
from autoreason.models.dialects import UnreadableReply, count, fields_of, word
from autoreason.models.failures import ErrorReply, ProviderError, read_error, refusal
from autoreason.models.providers import DialectName, Quirks

_DEADLINE = 900.0
"""Seconds after which a call is given up; a model may reason for minutes."""
_MAX_OUTPUT = 32 << 20
_MAX_SAID, _MAX_MESSAGE = 100_000, 300
_LAST_WORDS = 1.0
"""Seconds of silence after which a program that ended has said all; what it left running keeps its output open."""
_PASSED_ON = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM"),
        *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
        # Where Linux keeps logins in a keyring.
        *("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"),
    }
)
"""Variables that every program gets. Keys are none of them: it would use and charge them in place of its login."""
_AT_LIMIT = re.compile(
    r"(usage|daily|weekly|session) (limit|quota)|hit your .{0,20}limit|limit reached|per ?day\b"
    r"|insufficient_quota|credit balance|out of (extra )?usage",
    re.IGNORECASE,
)
_LOGGED_OUT = re.compile(
    r"log(ged)? ?in\b|sign in|authenticat|unauthori[sz]ed|auth method|api key", re.IGNORECASE
)
_REFUSED = re.compile(r"usage polic|content policy|prohibited_content", re.IGNORECASE)
_STATUS = re.compile(r"\b(?:status:?|API Error:?) (\d{3})\b")
_UNKNOWN_OPTION = re.compile(r"(unexpected|unknown|unrecognized) (argument|option)", re.IGNORECASE)


class _Call(NamedTuple):
    """One call, and the private folder of its files, which is not the one that the program works in."""

    request: Request
    path: str
    model: str
    folder: Path

    def write(self, name: str, content: str) -> str:
        (self.folder / name).write_text(content, encoding="utf-8")
        return str(self.folder / name)


class Program(ABC):
    """A command-line program: how it is called as lean as it allows, and how its answer reads."""

    command: ClassVar[str]
    title: ClassVar[str]
    oldest: ClassVar[tuple[int, ...]]
    """The oldest version that was tried."""
    variables: ClassVar[frozenset[str]]
    """Its own, that are passed on."""
    takes_schema: ClassVar[bool] = True
    instructions: ClassVar[tuple[str, ...]] = ()
    """Files in its folder that it shows to its model and has no switch to leave out."""
    home: ClassVar[tuple[str, str]] = ("", "")
    """The variable that names its folder, and where that is below the user's if it is not set."""

    def check(self, address: str) -> str:
        """Where it is; `InvalidInput` where it is missing, too old, or would show its model instructions."""
        path = shutil.which(self.command)
        version = _version(path) if path else ()
        if path is None or version < self.oldest:
            wanted, found = (".".join(map(str, each)) for each in (self.oldest, version))
            here = f"{path} is {found or 'not'}" if path else f"there is no `{self.command}` here"
            raise InvalidInput(
                f"{address} needs {self.title} {wanted} or newer, and {here}; install it and log in, "
                "or choose another model"
            )
        for shown in (self.folder / name for name in self.instructions):
            if shown.is_file() and not is_blank(shown.read_text("utf-8", "replace")):
                raise InvalidInput(
                    f"{self.title} shows {shown} to its model in every call and has no switch for it, so no judge "
                    f"would be blind; move it away, or set {self.home[0]} to another folder and log in there"
                )
        return path

    @property
    def folder(self) -> Path:
        return Path(os.environ.get(self.home[0]) or home_folder() / self.home[1])

    def environment(self, folder: Path) -> dict[str, str]:
        own, environ = self.variables, os.environ.items()
        # Proxies are also written small.
        kept = {name: value for name, value in environ if name in own or name.upper() in _PASSED_ON}
        return kept | {"TMPDIR": str(folder)}

    def prepare(self, work: Path) -> None:
        """Make the folder that it works in."""
        work.mkdir()

    def leave(self, work: Path) -> None:  # noqa: B027
        """Remove what it keeps about that folder."""

    @abstractmethod
    def arguments(self, call: _Call) -> list[str]: ...

    @abstractmethod
    def read(self, output: bytes, errors: bytes) -> Reply:
        """The answer; `ErrorReply` if it says that there is none, `UnreadableReply` for another form."""


class _ClaudeCode(Program):
    command, title, oldest = "claude", "Claude Code", (2, 1, 197)
    variables = frozenset({"CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN"})
    variables |= {"ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN"}

    def environment(self, folder: Path) -> dict[str, str]:
        return super().environment(folder) | {
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            # Else `@` and a path in any text bring that file into the prompt.
            "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
            # Retries are done and counted here.
            "CLAUDE_CODE_MAX_RETRIES": "0",
        }

    def arguments(self, call: _Call) -> list[str]:
        options = ["-p", "--output-format=json", f"--model={call.model}", "--setting-sources="]
        options += [f"--system-prompt-file={call.folder}/system.md", "--tools="]
        options += ["--strict-mcp-config", "--disable-slash-commands", "--no-session-persistence"]
        if schema := call.request.schema:
            options.append(f"--json-schema={json.dumps(schema.definition)}")
        if effort := call.request.effort:
            options.append(f"--effort={'low' if effort in ('none', 'minimal') else effort}")
        return options

    def read(self, output: bytes, errors: bytes) -> Reply:  # noqa: ARG002
        fields = _json(output)
        if fields.get("is_error"):
            raise _error(fields.get("result"), fields.get("api_error_status"))
        text, shaped = fields.get("result"), fields.get("structured_output")
        text = text if shaped is None else json.dumps(shaped, ensure_ascii=False)
        reply = _reply("anthropic", text, fields.get("usage"), word(fields.get("stop_reason")))
        return replace(reply, cost=dialects.money(fields.get("total_cost_usd")) or None)


class _Codex(Program):
    command, title, oldest = "codex", "Codex", (0, 160, 0)
    variables = frozenset({"CODEX_HOME", "CODEX_SQLITE_HOME"})
    instructions = ("AGENTS.md", "AGENTS.override.md")
    home = ("CODEX_HOME", ".codex")
    _SETTINGS = (
        *("project_doc_max_bytes=0", "skills.include_instructions=false", 'web_search="disabled"'),
        *("include_permissions_instructions=false", "include_environment_context=false"),
        *("include_apps_instructions=false", "include_collaboration_mode_instructions=false"),
        *("tools.experimental_request_user_input.enabled=false", "tools.update_plan.enabled=false"),
        *("agents.enabled=false", "analytics.enabled=false", "check_for_update_on_startup=false"),
    )
    _FEATURES = (
        *("shell_tool", "unified_exec", "view_image", "goals", "apps", "plugins", "multi_agent"),
        *("hooks", "image_generation", "memories", "skill_search", "tool_suggest"),
    )

    def arguments(self, call: _Call) -> list[str]:
        options = ["exec", "--json", "--ephemeral", "--ignore-user-config", "--ignore-rules"]
        options += ["--skip-git-repo-check", "--sandbox=read-only", f"--model={call.model}"]
        settings = [*self._SETTINGS, f'model_instructions_file="{call.folder}/system.md"']
        if known := _codex_catalog(call.path).get(call.model):
            # The tools that belong to a model can be left out in no other way.
            known = known | {"tool_mode": None, "apply_patch_tool_type": None}
            models = {"models": [known | {"experimental_supported_tools": []}]}
            catalog = call.write("catalog.json", json.dumps(models))
            settings.append(f'model_catalog_json="{catalog}"')
        if effort := call.request.effort:
            settings.append(f'model_reasoning_effort="{effort}"')
        if schema := call.request.schema:
            path = call.write("schema.json", json.dumps(schema.definition))
            options.append(f"--output-schema={path}")
        options += [f"--config={each}" for each in settings]
        return [*options, *(f"--disable={each}" for each in self._FEATURES), "-"]

    def read(self, output: bytes, errors: bytes) -> Reply:  # noqa: ARG002
        text, used = "", None
        for event in map(_json, output.splitlines()):
            kind, item = event.get("type"), fields_of(event.get("item"))
            if kind == "turn.failed":
                raise _error(fields_of(event.get("error")).get("message"))
            if kind == "turn.completed":
                used = fields_of(event.get("usage"))
            elif kind == "item.completed" and item.get("type") == "agent_message":
                text = word(item.get("text"))
        if used is None:
            raise UnreadableReply
        accounts = {
            "prompt_tokens": used.get("input_tokens"),
            "completion_tokens": used.get("output_tokens"),
            "prompt_tokens_details": {"cached_tokens": used.get("cached_input_tokens")},
            "completion_tokens_details": {"reasoning_tokens": used.get("reasoning_output_tokens")},
        }
        return _reply("openai_chat", text, accounts)


class _GeminiCLI(Program):
    command, title, oldest = "gemini", "Gemini CLI", (0, 55, 1)
    variables = frozenset({"GEMINI_CLI_HOME", "GOOGLE_CLOUD_PROJECT", "GOOGLE_GENAI_USE_GCA"})
    takes_schema = False
    instructions = (".gemini/GEMINI.md",)
    home = ("GEMINI_CLI_HOME", "")
    _SETTINGS: ClassVar[Mapping[str, Any]] = {
        "general": {"enableAutoUpdate": False, "maxAttempts": 1},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "context": {"includeDirectoryTree": False, "memoryBoundaryMarkers": []},
        "tools": {"core": [], "exclude": ["*"]},
        "mcp": {"allowed": []},
        "model": {"maxSessionTurns": 1, "skipNextSpeakerCheck": True},
        "experimental": {"enableAgents": False},
        **{each: {"enabled": False} for each in ("skills", "hooksConfig", "ide")},
    }

    def environment(self, folder: Path) -> dict[str, str]:
        own = {"GEMINI_SYSTEM_MD": f"{folder}/system.md", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
        return super().environment(folder) | own

    def prepare(self, work: Path) -> None:
        (work / ".gemini").mkdir(parents=True)
        (work / ".gemini/settings.json").write_text(json.dumps(self._SETTINGS), encoding="utf-8")

    def leave(self, work: Path) -> None:
        # It keeps every session, under the name of that folder, and has no switch for it.
        for kept in ("tmp", "history"):
            shutil.rmtree(self.folder / ".gemini" / kept / work.name, ignore_errors=True)

    def arguments(self, call: _Call) -> list[str]:
        return ["--output-format=json", f"--model={call.model}", "--extensions=none"]

    def read(self, output: bytes, errors: bytes) -> Reply:
        # An error comes last among what it says of itself.
        fields = _json(output or errors[errors.rfind(b"\n{") :])
        if error := fields_of(fields.get("error")):
            raise _error(error.get("message"), error.get("code"))
        models = fields_of(fields_of(fields.get("stats")).get("models"))
        used = [fields_of(fields_of(each).get("tokens")) for each in models.values()]

        def total(kind: str) -> int | None:
            return sum(count(each.get(kind)) or 0 for each in used) if used else None

        accounts = {
            "promptTokenCount": total("prompt"),
            "candidatesTokenCount": total("candidates"),
            "thoughtsTokenCount": total("thoughts"),
            "cachedContentTokenCount": total("cached"),
        }
        return _reply("gemini", fields.get("response"), accounts)


PROGRAMS: Mapping[str, Program] = MappingProxyType(
    {"claude-code": _ClaudeCode(), "codex": _Codex(), "gemini-cli": _GeminiCLI()}
)


class ProgramModel:
    """`claude-code/MODEL`, `codex/MODEL` or `gemini-cli/MODEL`."""

    def __init__(self, address: str, *, deadline: float = _DEADLINE) -> None:
        name, _, self._model = address.partition("/")
        self.address = address
        self._program = PROGRAMS[name]
        self._deadline = deadline
        self._work: Path | None = None

    def check(self) -> None:
        self._program.check(self.address)

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:  # noqa: ARG002
        began = time.monotonic()
        path = await asyncio.to_thread(self._program.check, self.address)
        if self._work is None:
            # Models are told its name, so it says nothing.
            self._work = Path(tempfile.mkdtemp(prefix=""), secrets.token_hex(8))
            self._program.prepare(self._work)
        messages = dialects.messages_of(request, Quirks(no_schema=not self._program.takes_schema))
        system = [each.text for each in messages if each.speaker == "system"]
        lead = {"user": "", "assistant": "You answered:\n\n"}
        prompt = [lead[x.speaker] + x.text for x in messages if x.speaker in lead]
        with tempfile.TemporaryDirectory(dir=self._work.parent) as folder:
            call = _Call(request, path, self._model, Path(folder))
            call.write("system.md", "\n\n".join(system))
            try:
                command = [path, *await asyncio.to_thread(self._program.arguments, call)]
                environment = self._program.environment(call.folder)
                reply = await self._run(command, "\n\n".join(prompt), self._work, environment)
            except UnreadableReply:
                raise ProviderFailed(
                    f"{self._program.title} answers in a form that is not known here, and may be newer than this "
                    "version of autoreason; update that, or choose another model"
                ) from None
        usage, seconds = dialects.credible(reply.usage, reply.text), time.monotonic() - began
        reply = replace(reply, model=self.address, usage=usage, seconds=seconds)
        return dialects.check_repetition(reply)

    async def close(self) -> None:
        if self._work is not None:
            self._program.leave(self._work)
            shutil.rmtree(self._work.parent, ignore_errors=True)
            self._work = None

    async def _run(
        self, command: list[str], prompt: str, work: Path, env: Mapping[str, str]
    ) -> Reply:
        """When this ends, so have the program and its children."""
        pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), PIPE)
        start = asyncio.create_subprocess_exec(
            *command, **pipes, cwd=work, env=env, start_new_session=True
        )
        starting = asyncio.ensure_future(start)
        try:
            async with asyncio.timeout(self._deadline):
                # Ended half way, it would leave the children.
                process = await asyncio.shield(starting)
                output, errors, _ = await asyncio.gather(
                    _read(process, process.stdout),
                    _read(process, process.stderr),
                    _write(process.stdin, prompt),
                )
                code = await process.wait()
        except TimeoutError:
            message = f"{self._program.title} gave no answer within {self._deadline:,.0f} seconds"
            raise CallFailed(Failure.TIMEOUT, message) from None
        finally:
            process = await starting
            _kill(process)
            while process.returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            # What left the group may keep its output open, which nothing public closes.
            process._transport.close()  # type: ignore[attr-defined]
        try:
            return self._program.read(output, errors)
        except ErrorReply as error:
            return self._without_answer(str(error), error.provider_error.status)
        except UnreadableReply:
            said = errors[-_MAX_SAID:].decode("utf-8", "replace").strip()
            if code == 0 or _UNKNOWN_OPTION.search(said):
                raise
            return self._without_answer(said or f"it ended with {code}", None)

    def _without_answer(self, message: str, status: int | None) -> Reply:
        """A refusal as a reply; else raise why, with what to do about it."""
        if _REFUSED.search(message):
            return Reply(outcome=Outcome.REFUSED, text="", finish=message[:_MAX_MESSAGE])
        error, title = read_error(message.encode()), self._program.title
        why = " ".join(error.message.split())[-_MAX_MESSAGE:]
        if status is None and (found := _STATUS.search(message)):
            status = int(found[1])
        if _AT_LIMIT.search(message):
            used_up = f"what {title} lets you use is used up ({why})"
            raise ProviderFailed(f"{used_up}; `autoreason resume` later")
        # Gemini CLI ends with 41 where it has no login.
        if status in (41, 401, 403) or (status is None and _LOGGED_OUT.search(message)):
            raise ProviderFailed(
                f"{title} is not logged in ({why}); start `{self._program.command}` and log in, then "
                "`autoreason resume`"
            )
        status = status or error.status
        if status is None or not 400 <= status < 600:
            raise CallFailed(Failure.BROKEN_REPLY, f"{title} failed: {why}")
        raise refusal(self.address, status, {}, error, str)


def _error(message: Any, status: Any = None) -> ErrorReply:
    return ErrorReply(ProviderError(message=word(message), status=count(status)))


def _reply(dialect: DialectName, text: Any, accounts: Any, finish: str = "") -> Reply:
    """The answer, with usage and the reason to end in the terms of its provider's format."""
    if not isinstance(text, str):
        raise UnreadableReply
    reducer = dialects.find_dialect(dialect).reducer()
    reducer.accounts = accounts
    outcome = Outcome.EMPTY if is_blank(text) else Outcome.OK
    if finish in reducer.cut | reducer.refusals:
        outcome = Outcome.TRUNCATED if finish in reducer.cut else Outcome.REFUSED
    return Reply(text=text, outcome=outcome, finish=finish, usage=reducer.usage())


@lru_cache
def _version(path: str) -> tuple[int, ...]:
    """As the program says, asked once; nothing where it does not say."""
    found = re.search(rb"\b(\d+)\.(\d+)\.(\d+)", _output(path, "--version"))
    return tuple(map(int, found.groups())) if found else ()


@lru_cache
def _codex_catalog(path: str) -> dict[str, dict[str, Any]]:
    """What Codex knows of its models, by their names."""
    models = _json(_output(path, "debug", "models")).get("models")
    if not isinstance(models, list):
        raise UnreadableReply
    return {word(fields_of(each).get("slug")): fields_of(each) for each in models}


def _output(*command: str) -> bytes:
    """What a program says that asks no model; nothing where it fails."""
    env, null = PROGRAMS["codex"].environment(Path(tempfile.gettempdir())), subprocess.DEVNULL
    with suppress(OSError, subprocess.SubprocessError):
        return subprocess.check_output(
            command, stdin=null, stderr=null, cwd="/", env=env, timeout=60
        )
    return b""


def _json(text: bytes) -> dict[str, Any]:
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        content = msgspec.json.decode(text)
        if isinstance(content, dict):
            return content
    raise UnreadableReply


async def _read(process: Process, stream: asyncio.StreamReader | None) -> bytes:
    found = bytearray()
    while stream:
        try:
            chunk = await asyncio.wait_for(stream.read(1 << 16), _LAST_WORDS)
        except TimeoutError:
            if process.returncode is None:
                continue
            break
        if not chunk:
            break
        if len(found) <= _MAX_OUTPUT:
            found += chunk
        elif process.returncode is None:
            # Its end is seen once all that it wrote is read.
            _kill(process)
        else:
            break
    return bytes(found)


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


async def _write(stream: asyncio.StreamWriter | None, text: str) -> None:
    # A program that ends early says why in what it writes.
    with suppress(BrokenPipeError, ConnectionResetError):
        if stream:
            stream.write(text.encode("utf-8", "replace"))
            await stream.drain()
            stream.close()
