"""What an evaluator's process has on disk, and what it reads: saved evaluations, folders, returned numbers."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from autoreason.artifacts.artifact import EvaluationOutcome, Files, Measurement
from autoreason.artifacts.research_task import EvaluationSource, encode_source
from autoreason.errors import InvalidInput
from autoreason.files import data_folder, write_atomically

MAX_RESULT_BYTES = 1 << 20
MAX_OUTPUT = 16 << 20
"""Bytes that an evaluation may print; then it is ended."""
TAIL = 2000
"""Characters of output that are kept: its end."""
MAX_VALUE = 1e150
"""The largest number that is a value: sums of squares of such numbers are finite."""
_MAX_METRICS = 64
_MAX_NAME = 80
_MARK_LENGTH = 16
"""Hexadecimal digits that tell items apart."""
_NOTHING = "the evaluator returned nothing"
_WORD = re.compile(r"\w+")
_RUN = 8
"""Words in a row that no two texts share by accident."""
_LOCK = "lock"


class Reach(Struct, frozen=True, kw_only=True):
    """What an artifact could do beside the evaluator, for a check."""

    languages: list[str] = []
    """Those that the evaluator could run, in which an artifact may attack it."""
    gap: str = ""
    """Why attacks in these languages are not enough, in words; empty where they are."""
    exposed: list[str] = []
    """Files of the task that the artifact could read."""


def function_of(evaluate: str) -> tuple[str, str] | None:
    """File and function of `file.py:function`; None for a command."""
    file, mark, name = evaluate.strip().rpartition(".py:")
    return (f"{file}.py", name) if mark and name.isidentifier() and " " not in file else None


def save_evaluation(source: EvaluationSource) -> str:
    """Save an evaluation, readable by its owner alone, and return its digest."""
    saved = data_folder().resolve()
    for mount in source.mounts:
        path = Path(mount).resolve()
        if saved.is_relative_to(path) or path.is_relative_to(saved):
            raise InvalidInput(f"`mounts`: {mount} contains the sealed items; name less of it")
    body = encode_source(source)
    digest = sha256(body).hexdigest()
    path = evaluation_path(digest)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(path, body, private=True)
    return digest


def evaluation_path(digest: str) -> Path:
    return data_folder() / "evaluations" / f"{digest}.msgpack"


def load_evaluation(digest: str) -> EvaluationSource:
    """A saved evaluation, which must be as it was saved."""
    path = evaluation_path(digest)
    try:
        body = path.read_bytes()
    except OSError:
        raise InvalidInput(f"no evaluator is saved as {path}; start again from its task") from None
    if sha256(body).hexdigest() != digest:
        raise InvalidInput(f"{path} was changed; remove it and start again from the task's files")
    source = msgspec.msgpack.decode(body, type=EvaluationSource)
    items, sealed = (tuple(map(json.loads, each)) for each in (source.items, source.sealed))
    return replace(source, items=items, sealed=sealed)


def signature(path: Path) -> tuple[int, ...]:
    """What changes when a file does, and cannot be set back; empty where there is none."""
    try:
        status = path.lstat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def is_checked(evaluation: str, start: Mapping[str, str]) -> bool:
    """Whether no artifact like this start could write its own score when that was tried."""
    return _check_path(evaluation, start).exists()


def record_check(evaluation: str, start: Mapping[str, str]) -> None:
    """Record that an evaluation keeps its score from artifacts like this start."""
    write_atomically(_check_path(evaluation, start), b"", private=True)


def _check_path(evaluation: str, start: Mapping[str, str]) -> Path:
    digest = sha256(json.dumps([evaluation, start], sort_keys=True).encode()).hexdigest()
    return data_folder() / "evaluations" / f"{digest}.checked"


def count_openings(sealed: Sequence[Any]) -> int:
    """How many end tests have opened a sealed set, or another that has most of its items."""
    return len(_openings_of(_item_marks(sealed)))


def record_opening(sealed: Sequence[Any], test: str) -> int:
    """Record that an end test opens a sealed set, once however often it is resumed; how many have by now."""
    marks = _item_marks(sealed)
    if test not in _openings_of(marks):
        path = _openings_path()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # One line for each: two runs at once must not overwrite each other's.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(handle, f"{test}\t{' '.join(sorted(marks))}\n".encode())
        finally:
            os.close(handle)
    return len(_openings_of(marks))


def _item_marks(sealed: Sequence[Any]) -> set[str]:
    """Digests of single items, so that neither their order nor a few others make another set."""
    texts = (json.dumps(item, sort_keys=True) for item in sealed)
    return {sha256(text.encode()).hexdigest()[:_MARK_LENGTH] for text in texts}


def _openings_of(marks: set[str]) -> set[str]:
    """The end tests that opened more than half of these items."""
    path = _openings_path()
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    openings = (line.partition("\t") for line in lines)
    return {
        test
        for test, _, items in openings
        if 2 * len(marks.intersection(items.split())) > len(marks)
    }


def _openings_path() -> Path:
    return data_folder() / "evaluations" / "sealed.opened"


class ItemWords:
    """Runs of eight words in a set of items, for the process that has them."""

    def __init__(self, items: Iterable[Any]) -> None:
        self._runs = {run for item in items for run in _runs(" ".join(_texts(item)))}

    def shared_runs(self, before: Files, after: Files) -> tuple[str, ...]:
        """Runs that an artifact shares with an item and the one before it did not have."""
        if not self._runs:
            return ()
        old = {run for text in before.values() for run in _runs(text)}
        new = (text for path, text in after.items() if before.get(path) != text)
        found = dict.fromkeys(run for text in new for run in _runs(text))
        return tuple(" ".join(run) for run in found if run in self._runs and run not in old)


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return zip(*(words[start:] for start in range(_RUN)), strict=False)


def _texts(item: Any) -> Iterator[str]:
    """What an item says, without the names of its fields, which all of them share."""
    if isinstance(item, dict):
        item = list(item.values())
    if isinstance(item, list):
        for each in item:
            yield from _texts(each)
    elif item is not None and not isinstance(item, bool):
        yield str(item)


def read_measurement(text: str | bytes, metric: str, tail: str = "") -> Measurement:
    """What an evaluator returned: one finite number decides, and nothing else is a value."""
    try:
        return replace(_read(text, metric), tail=tail)
    except ValueError as error:
        return Measurement(outcome=EvaluationOutcome.INVALID, detail=str(error), tail=tail)


def _read(text: str | bytes, metric: str) -> Measurement:
    """Read one number, or a JSON object in which `metric` decides and `items` may have one number each."""
    if len(text) > MAX_RESULT_BYTES:
        raise ValueError("the result is larger than 1 MB; return numbers only")
    if not text.strip():
        raise ValueError(_NOTHING)
    try:
        result = json.loads(text)
    except (ValueError, RecursionError):
        start = text[:40].decode(errors="replace") if isinstance(text, bytes) else text[:40]
        raise ValueError(f"the evaluator returned {start!r}, which is not JSON") from None
    if not isinstance(result, dict):
        result = {metric: result}
    if metric not in result:
        raise ValueError(
            f"the evaluator returned no {metric!r}; return it, or name the one that decides as `metric`"
        )
    metrics = {
        name: each
        for name, found in result.items()
        if (each := _number(found)) is not None and name.isprintable() and len(name) <= _MAX_NAME
    }
    if metric not in metrics:
        shown = json.dumps(result[metric])
        shown = shown if len(shown) <= _MAX_NAME else f"{shown[:_MAX_NAME]}…"
        raise ValueError(f"{metric!r} is {shown}, not a finite number of at most {MAX_VALUE:g}")
    value, items = metrics.pop(metric), result.get("items")
    kept = {metric: value} | dict(list(metrics.items())[: _MAX_METRICS - 1])
    found = [_number(each) for each in items] if isinstance(items, list) else []
    by_item = tuple(each for each in found if each is not None) if None not in found else ()
    return Measurement(outcome=EvaluationOutcome.OK, value=value, metrics=kept, by_item=by_item)


def _number(value: Any) -> float | None:
    """A finite number that can be computed with; a boolean is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) <= MAX_VALUE else None


def too_much_printed(tail: str) -> Measurement:
    """The measurement of an evaluation that was ended because it printed too much."""
    detail = f"more than {MAX_OUTPUT >> 20} MB were printed"
    return Measurement(outcome=EvaluationOutcome.FAILED, detail=detail, tail=tail)


_HINT = (
    "; the artifact is in the folder $AUTOREASON_ARTIFACT, not in the current one, and the number, or a JSON object, "
    "goes to descriptor $AUTOREASON_RESULT, which is 3, not to the screen. In Python: "
    '`open(os.environ["AUTOREASON_ARTIFACT"] + "/NAME")` to read it, or to run it '
    '`subprocess.run(["artifact", "python", "NAME"], capture_output=True)`, and '
    '`print(score, file=open(int(os.environ["AUTOREASON_RESULT"]), "w"))`; '
    'in a shell: `"$AUTOREASON_ARTIFACT/NAME"` and `echo "$score" >&3`'
)


def interface_hint(detail: str, files: Collection[str]) -> str:
    """What to change in a command that expects the artifact beside itself or prints its number, else nothing."""
    absent = re.search("No such file|not found|No module named", detail)
    names = (re.escape(name) for path in files for name in (path, f"{PurePosixPath(path).stem}'"))
    beside = absent and re.search(rf"(?<![\w/])(?:\./)?(?:{'|'.join(names)})(?!\w)", detail)
    return _HINT.replace("NAME", next(iter(files))) if beside or detail == _NOTHING else ""


def write_files(folder: Path, files: Mapping[str, str | bytes], mode: int = 0o644) -> None:
    """Write files into a folder; scripts are executable, since tasks often name them as commands."""
    for name, text in files.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise InvalidInput(f"{name!r} is not a path inside the artifact")
        path.parent.mkdir(parents=True, exist_ok=True)
        body = text if isinstance(text, bytes) else text.encode(errors="replace")
        path.write_bytes(body)
        path.chmod(mode | 0o111 if body.startswith(b"#!") else mode)


@contextmanager
def locked_folder(prefix: str) -> Iterator[Path]:
    """A folder for the user alone, in one that is locked until it is removed, also where its process is killed."""
    path = Path(tempfile.mkdtemp(prefix=prefix))
    lock = os.open(path / _LOCK, os.O_CREAT | os.O_RDONLY, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        (path / "work").mkdir()
        yield path / "work"
    finally:
        remove_folder(path)
        os.close(lock)


def remove_folder(folder: Path) -> None:
    """Remove a folder, whatever its modes are."""
    for path in (folder, *folder.rglob("*")) if folder.exists() else ():
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(prefix: str) -> None:
    """Remove the folders of processes that were killed: their evaluations may have had sealed items."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):
            lock = os.open(folder / _LOCK, os.O_RDONLY)
            try:
                if folder.stat().st_uid == os.geteuid():
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    remove_folder(folder)
            finally:
                os.close(lock)
