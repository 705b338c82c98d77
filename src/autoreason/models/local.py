"""A model file run in this process: the embedded one, or any other in GGUF format."""

from __future__ import annotations

import asyncio
import atexit
import importlib.util
import os
import re
import secrets
import struct
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec.structs import replace

from autoreason.errors import CallFailed, Failure, InvalidInput
from autoreason.exchange import REPEATS, OnSignal, Outcome, Reply, Request, TextArrived
from autoreason.models.dialects import LoopDetector, UnreadableReply, turns
from autoreason.models.dialects.openai import OPENAI_CHAT
from autoreason.models.weights import CATALOG, is_pulled, named_path

EMBEDDED = "local/smollm2"
LARGEST_WINDOW = 8192
"""Tokens. Every one of them takes memory whether it is used or not, so a larger model gets no more."""

_BATCH = 128
"""Tokens of a prompt read at once. A call can be stopped between two batches only."""
_REPEAT_PENALTY = 1.1
"""Of six drafts of the embedded model, five ended in endless repetition without it, one with it."""
_MAX_SMALL_STRING = 400
_MAX_STRING = 2000
_MAX_SMALL_LIST = 4
_MAX_LIST = 16
_MARKER = re.compile(r"<\|(?=\w+\|>)")


class LocalModel:
    """`local/NAME` or `local/PATH.gguf`, loaded on the first call and shared by all who name it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._path = _path_of(address)
        self._engine: _Engine | None = None

    @cached_property
    def window(self) -> int:
        """Tokens of prompt and answer together."""
        return min(trained_context(self._path) or LARGEST_WINDOW, LARGEST_WINDOW)

    def check(self) -> None:
        """Raise `InvalidInput` if the model cannot be run here; loads nothing."""
        if importlib.util.find_spec("xllamacpp") is None:
            raise InvalidInput(
                f"{self.address} needs xllamacpp; run `pip install xllamacpp`, "
                "or choose another model"
            )
        name = self.address.removeprefix("local/")
        known = CATALOG.get(name)
        if known and not is_pulled(known):
            raise InvalidInput(
                f"{self.address} is not on this machine yet ({(known.size or 0) // 1_000_000:,} MB); "
                f"run `autoreason models pull{'' if self.address == EMBEDDED else f' {name}'}`"
            )

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Answer one request; one at a time, the others wait for their turn."""
        if self._engine is None:
            self.check()
            self._engine = _engines.acquire(self._path, self.window)
        answer = _Answer(request, asyncio.get_running_loop(), on_signal)
        under_way = self._engine.start(self._body(request), answer)
        try:
            await asyncio.wrap_future(under_way)
        finally:
            # The call is still running here only if the waiting task was cancelled.
            answer.cancelled = True
        return answer.reply()

    async def close(self) -> None:
        """Release the model; the last release frees its memory."""
        engine, self._engine = self._engine, None
        if engine is not None:
            await asyncio.to_thread(_engines.release, engine)

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            # One turn a speaker, because many models' templates insist on it. A chat marker within a
            # text would end its turn; broken up, it is just characters.
            "messages": [
                {"role": speaker, "content": _MARKER.sub("< |", text)}
                for speaker, text in turns(request.messages)
            ],
            "max_tokens": request.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            # Signs of life while a long prompt is read: the only moments it can be stopped at.
            "return_progress": True,
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.seed is not None:
            body["seed"] = request.seed
        small = self.address == EMBEDDED
        if request.schema is None and small:
            body["repeat_penalty"] = _REPEAT_PENALTY
        if request.schema is not None:
            shape = bounded(
                request.schema.definition,
                max_string=_MAX_SMALL_STRING if small else _MAX_STRING,
                max_list=_MAX_SMALL_LIST if small else _MAX_LIST,
            )
            wanted = {"name": request.schema.name, "schema": shape}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        return body


def bounded(definition: Any, *, max_string: int, max_list: int) -> Any:
    """A JSON schema with limits where it has none: a small model fills what has no end."""

    def within(part: Any) -> Any:
        if isinstance(part, list):
            return [within(each) for each in part]
        if not isinstance(part, dict):
            return part
        limits: dict[str, Any] = {}
        if part.get("type") == "string" and not {"enum", "const", "pattern", "format"} & set(part):
            limits = {"maxLength": max_string}
        elif part.get("type") == "array":
            # A list that picks from given words needs room for all of them.
            choices = part.get("items", {}).get("enum", ())
            limits = {"maxItems": len(choices) or max_list}
        return limits | {name: within(value) for name, value in part.items()}

    return within(definition)


def _path_of(address: str) -> Path:
    name = address.removeprefix("local/")
    pulled = named_path(name)
    if name != address and "/" not in name and (name in CATALOG or pulled.is_file()):
        return pulled
    path = Path(name).expanduser()
    if name == address or not name.endswith(".gguf") or not path.is_file():
        raise InvalidInput(
            f"there is no local model {address!r}; it is {EMBEDDED}, another of `autoreason models`, "
            "or local/PATH.gguf for a model file of your own"
        )
    return path


class _Answer:
    """One reply as it comes in, in OpenAI's chat format. Lives on the engine's thread until it is complete."""

    def __init__(
        self, request: Request, loop: asyncio.AbstractEventLoop, on_signal: OnSignal | None
    ) -> None:
        self._request, self._loop, self._on_signal = request, loop, on_signal
        self._reducer = OPENAI_CHAT.reducer()
        self._detector = LoopDetector()
        self._repeats = False
        self._error: dict[str, Any] | None = None
        self.cancelled = False
        self.seconds = 0.0

    @property
    def unwanted(self) -> bool:
        """Whether no task waits for it any more."""
        # Of an event loop that was closed under us we hear nothing else.
        return self.cancelled or self._loop.is_closed()

    def feed(self, chunk: dict[str, Any]) -> bool:
        """Take in one piece; True stops the model."""
        self._error = chunk.get("error")
        if self.unwanted or self._error is not None:
            return True
        if piece := self._reducer.feed(msgspec.json.encode(chunk)):
            self._repeats = self._detector.feed(piece)
            if self._on_signal is not None:
                arrived = TextArrived(self._request.key, piece)
                self._loop.call_soon_threadsafe(self._on_signal, arrived)
        return self._repeats

    def reply(self) -> Reply:
        """The whole reply, once the model is done."""
        model, error = self._request.model, self._error
        if error is not None:
            why = error.get("message", "it did not say why")
            if error.get("type") == "exceed_context_size_error":
                tokens, window = error["n_prompt_tokens"], error["n_ctx"]
                why = f"the prompt has {tokens} tokens of {window}, which include the answer"
            known = error.get("code") in range(400, 500)
            failure = Failure.BAD_REQUEST if known else Failure.BROKEN_REPLY
            raise CallFailed(failure, f"{model}: {why}")
        if self._repeats:
            self._reducer.finish_reason = REPEATS
        try:
            reply = self._reducer.finish(model)
        except UnreadableReply:
            raise CallFailed(Failure.CONNECTION, f"{model} was closed while it wrote") from None
        outcome = Outcome.TRUNCATED if self._repeats else reply.outcome
        return replace(reply, outcome=outcome, cost=Decimal(0), seconds=self.seconds)


_STRING, _ARRAY = 8, 9
_NUMBERS = dict(zip((*range(8), 10, 11, 12), "BbHhIif?Qqd", strict=True))
"""Of the types in a GGUF file, those of a fixed size."""


def trained_context(path: Path) -> int | None:
    """The context length a GGUF file states for its model; None if it does not."""
    try:
        with path.open("rb") as file:
            # Magic, version, number of tensors, number of entries, then the entries.
            magic, _, _, entries = _numbers(file, "4sIQQ")
            if magic != b"GGUF":
                raise ValueError("magic")
            for _ in range(entries):
                name, value = _text(file), _value(file, *_numbers(file, "I"))
                if name.endswith(".context_length"):
                    return int(value)
            return None
    # Reading numbers, lengths and offsets that make no sense can lead to anything.
    except Exception as problem:
        raise InvalidInput(f"{path} is not a complete GGUF model file; fetch it again") from problem


def _value(file: IO[bytes], kind: int) -> Any:
    if kind == _STRING:
        return _text(file)
    if kind != _ARRAY:
        return _numbers(file, _NUMBERS[kind])[0]
    items, count = _numbers(file, "IQ")
    if items in _NUMBERS:
        return file.seek(count * struct.calcsize(_NUMBERS[items]), os.SEEK_CUR)
    return [_value(file, items) for _ in range(count)]


def _text(file: IO[bytes]) -> str:
    (length,) = _numbers(file, "Q")
    return file.read(length).decode()


def _numbers(file: IO[bytes], layout: str) -> tuple[Any, ...]:
    return struct.unpack(f"<{layout}", file.read(struct.calcsize(f"<{layout}")))


class _Engine:
    """One model file in memory and the one thread that talks to it.

    One call at a time is as fast as three side by side on two cores, where reading prompts takes
    most of the time: each call finds the stable part read by the one before. It takes half the
    memory, and the same calls in the same order have the same answers.
    """

    def __init__(self, path: Path, window: int) -> None:
        self.path = path
        self.window = window
        self.users = 0
        self._stopping = False
        self._server: Any = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="autoreason-local")

    def start(self, body: dict[str, Any], answer: _Answer) -> Future[None]:
        """Have a call answered when its turn comes."""
        return self._thread.submit(self._run, body, answer)

    def stop(self) -> None:
        """End the call under way at the next opportunity and free the memory."""
        self._stopping = True
        self._thread.shutdown(wait=True)
        self._server = None

    def _run(self, body: dict[str, Any], answer: _Answer) -> None:
        if self._stopping or answer.unwanted:
            return
        if self._server is None:
            self._server = _load(self.path, self.window)
        began = time.monotonic()
        try:
            self._server.handle_chat_completions(
                body, lambda chunk: answer.feed(chunk) or self._stopping
            )
        except (ValueError, RuntimeError) as problem:
            raise CallFailed(Failure.BAD_REQUEST, f"{self.path.name}: {problem}") from problem
        answer.seconds = time.monotonic() - began


def _load(path: Path, window: int) -> Any:
    xllamacpp = _library()
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = window
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = _BATCH
    params.verbosity = -1
    params.warmup = False
    # Finished prompts would otherwise be kept in up to 8 GB of memory.
    params.cache_ram_mib = 0
    # It also listens on a local port, which must not be used: a random key locks it.
    params.api_keys = [secrets.token_hex()]
    params.cors_origins = ""
    params.ui = params.endpoint_slots = False
    try:
        return xllamacpp.Server(params)
    except RuntimeError as problem:
        raise InvalidInput(
            f"{path} cannot be loaded; it is damaged, or of a kind xllamacpp {xllamacpp.__version__} "
            "does not know"
        ) from problem


def _library() -> Any:
    # Waiting threads spin by default, which on a busy machine makes it many times slower.
    # It is read once, when the library is loaded; child processes must not inherit it.
    is_ours = {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}.isdisjoint(os.environ)
    if is_ours:
        os.environ["GOMP_SPINCOUNT"] = "1000"
    try:
        return importlib.import_module("xllamacpp")
    except ImportError as problem:
        raise InvalidInput(
            f"xllamacpp is installed but cannot be used here ({problem}); choose another model"
        ) from problem
    finally:
        if is_ours:
            del os.environ["GOMP_SPINCOUNT"]


class _Engines:
    """The engines in use, one a file; freed with their last user or with the interpreter."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._engines: dict[Path, _Engine] = {}

    def acquire(self, path: Path, window: int) -> _Engine:
        with self._lock:
            engine = self._engines.setdefault(path.resolve(), _Engine(path, window))
            engine.users += 1
            return engine

    def release(self, engine: _Engine) -> None:
        with self._lock:
            engine.users -= 1
            if engine.users:
                return
            del self._engines[engine.path.resolve()]
        engine.stop()

    def stop_all(self) -> None:
        for engine in self._engines.values():
            engine.stop()


_engines = _Engines()
# Left to the interpreter's own end, the model would be freed when half of what it needs is gone.
atexit.register(_engines.stop_all)
