"""Files that a person names, and folders on the user's machine."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EINVAL
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from autoreason.errors import InvalidInput

_PASSWORD = re.compile(r"(?<=://)([^/?#@:]*):[^?#]*(?=@)")
_PASSWORD_OPTION = re.compile(r"([?&])(?:ssl)?password=[^&]*(&|$)")


@dataclass(frozen=True)
class ServerUrl:
    """A database of PostgreSQL; shown without its password."""

    url: str

    def __str__(self) -> str:
        return hide_password(self.url)

    def __repr__(self) -> str:
        return f"ServerUrl({str(self)!r})"


Place = Path | ServerUrl
"""The file of a journal, or the server it is on."""


def hide_password(word: str) -> str:
    """A word as it may be shown: where it is a URL, without its password."""
    if "://" not in word:
        return word
    return _PASSWORD_OPTION.sub(r"\1", _PASSWORD.sub(r"\1", word)).rstrip("?&")


def data_folder() -> Path:
    """What must be kept: the journal."""
    return _folder("XDG_DATA_HOME", ".local/share", "Library/Application Support")


def certificates_folder() -> Path:
    return data_folder() / "certificates"


def cache_folder() -> Path:
    """What can be fetched again: model weights."""
    return _folder("XDG_CACHE_HOME", ".cache", "Library/Caches")


def config_folder() -> Path:
    """The user's keys and defaults."""
    return _folder("XDG_CONFIG_HOME", ".config", "Library/Preferences")


def config_file() -> Path:
    return config_folder() / "config.toml"


def _folder(variable: str, usual: str, on_a_mac: str) -> Path:
    chosen = os.environ.get(variable)
    if chosen:
        return Path(chosen) / "autoreason"
    return home_folder() / (on_a_mac if sys.platform == "darwin" else usual) / "autoreason"


def home_folder() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise InvalidInput("this user has no home folder; set HOME to one") from None


def is_word_file(path: Path | None) -> bool:
    """Whether it is a Word file; refused where what reads and writes them is not installed."""
    suffix = path.suffix.lower() if path else ""
    if suffix == ".odt":
        word = path and path.with_suffix(".docx")
        raise InvalidInput(f"{path}: give .docx; `pandoc {path} -o {word}` converts it, or back")
    if suffix == ".docx" and find_spec("docx") is None:
        raise InvalidInput(f"{path} takes python-docx; run `pip install '.[docx]'` in the clone")
    return suffix == ".docx"


def check_output(path: Path | None, option: str = "--output") -> None:
    """Find out before anything is spent that the text can be written where it should go."""
    if path is None:
        return
    is_word_file(path)
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; name a file in it for {option}")
    if _is_a_stream(path):
        if not os.access(path, os.W_OK):
            raise InvalidInput(f"cannot write to {path}; choose another {option}")
    else:
        _try_writing(Path(os.path.realpath(path)), path, option)


def check_folder(folder: Path, names: Iterable[str]) -> None:
    """Find out before anything is spent that files can be written below a folder, none of them through a link."""
    for name in names:
        for path in (folder / name, *(folder / up for up in Path(name).parents if up.parts)):
            if path.is_symlink():
                raise InvalidInput(f"{path} is a link; remove it, or choose another folder for -o")
    above = (folder.absolute(), *folder.absolute().parents)
    there = next(each for each in above if os.path.lexists(each))
    _try_writing(there / folder.name, folder, "folder for -o")


def _try_writing(target: Path, given: Path, option: str) -> None:
    """Only trying is certain; even a user who is allowed everything cannot write everywhere."""
    try:
        handle, name = _beside(target)
    except OSError as error:
        raise InvalidInput(
            f"cannot write to {given}: {error.strerror}; choose another {option}"
        ) from None
    os.close(handle)
    Path(name).unlink()


def _beside(path: Path, mark: str = "") -> tuple[int, str]:
    # Most commands write no file.
    import tempfile

    return tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.{mark}")


def write(path: Path, text: str | bytes, *, private: bool = False, mark: str = "") -> None:
    """Write a text to a path; links, pipes and devices stay what they are. `private` is for the user alone.

    With a `mark`, what a kill leaves behind is found by it.
    """
    if isinstance(text, str):
        text = (text if text.endswith("\n") else f"{text}\n").encode()
    if _is_a_stream(path):
        with named(path), path.open("ab") as stream:
            stream.write(text)
    else:
        with named(path):
            write_atomically(Path(os.path.realpath(path)), text, private=private, mark=mark)


def open_input(path: Path) -> BinaryIO:
    """Open a file to read; a pipe or a device may never end, unless it is one that this process was given."""
    given = path.absolute()
    if path.exists() and not (
        path.is_file()
        or path.is_dir()
        or given.parent == Path("/dev/fd")
        or given == Path("/dev/stdin")
    ):
        raise OSError(EINVAL, "it is a pipe or a device, and only files are read", str(path))
    return path.open("rb")


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Give the file's name to what the system says of it, which it leaves out of a full disk."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def _is_a_stream(path: Path) -> bool:
    """Whether it is read as it is written: a pipe, a device, a stream of this process."""
    return path.exists() and (not path.is_file() or Path("/dev") in path.absolute().parents)


def write_atomically(path: Path, body: bytes, *, private: bool = False, mark: str = "") -> None:
    """All of it or nothing: a reader never sees half a file."""
    handle, name = _beside(path, mark)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        # Temporary files are private; a result is as readable as any file the user makes.
        if not private:
            # There is no way to read the mask without setting it.
            os.umask(mask := os.umask(0))
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~mask
            Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
