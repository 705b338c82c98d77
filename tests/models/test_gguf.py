"""A model file says what it was trained for, or is refused in one sentence."""

from __future__ import annotations

import struct
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autoreason.errors import InvalidInput
from autoreason.models.gguf import trained_context


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
