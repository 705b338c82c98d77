"""Machines that are not Linux: WebAssembly where it is installed, and otherwise nothing is run."""

from __future__ import annotations

import platform
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from autoreason.errors import InvalidInput
from autoreason.sandbox import levels, wasi
from autoreason.sandbox.base import ENGINE, Limits
from autoreason.sandbox.levels import find_level, open_sandbox
from autoreason.sandbox.wasi import WasiSandbox


@pytest.fixture(autouse=True)
def looked_at_anew() -> Iterator[None]:
    """What was found out about this machine is not used for another, nor the other way round."""
    find_level.cache_clear()
    yield
    find_level.cache_clear()


@pytest.fixture(params=["darwin", "win32"])
def elsewhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A machine that is not Linux."""
    system = str(request.param)
    monkeypatch.setattr(sys, "platform", system)
    return system


def _installed(monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    monkeypatch.setattr(wasi, "is_installed", lambda: there)


def test_the_engine_that_is_named_is_the_one_that_was_tried() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["optional-dependencies"]["wasi"] == [ENGINE]


def test_elsewhere_programs_are_refused_in_one_sentence_that_names_both_ways_out(
    elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _installed(monkeypatch, there=False)
    assert find_level().level == "none"
    with pytest.raises(InvalidInput) as refused:
        open_sandbox()
    said = str(refused.value)
    assert elsewhere in said
    assert f"pip install {ENGINE}" in said
    assert "--unsafe" in said
    assert "\n" not in said


@pytest.mark.usefixtures("elsewhere")
def test_elsewhere_they_are_run_in_webassembly_where_that_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _installed(monkeypatch, there=True)
    assert find_level().level == "wasi"
    assert isinstance(open_sandbox(workers=1), WasiSandbox)


@pytest.mark.usefixtures("elsewhere")
def test_elsewhere_nothing_runs_without_a_sandbox_unless_that_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _installed(monkeypatch, there=False)
    assert open_sandbox(unsafe=True).level == "none"


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_a_linux_machine_whose_system_calls_nobody_wrote_down_is_like_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    _installed(monkeypatch, there=True)
    found = find_level()
    assert found.level == "wasi"
    assert "riscv64" in found.reasons[0]


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_a_linux_machine_where_nothing_holds_is_like_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(levels, "_trouble", lambda *_: "refused")
    _installed(monkeypatch, there=True)
    assert find_level().level == "wasi"
    assert find_level("landlock").level == "none"
    assert len(find_level().reasons) >= 3


@pytest.mark.usefixtures("elsewhere")
async def test_elsewhere_a_program_is_really_run() -> None:
    if not (wasi.is_installed() and wasi.is_prepared()):
        pytest.skip(f"needs the engine, used once before: pip install {ENGINE}")
    sandbox = open_sandbox(workers=1)
    try:
        async with sandbox.open("print(int(input()) + 1)", Limits()) as session:
            assert (await session.run(b"41")).stdout == b"42\n"
    finally:
        await sandbox.close()
