"""The best level that holds is found by trying, wherever one is, and without one nothing is run."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from typing import get_args

import pytest
from tests.programs.sandbox.circumstances import Circumstances, Findings, under
from tests.programs.sandbox.rig import LEVELS, need_level, public_python

from autoreason.errors import InvalidInput
from autoreason.programs.sandbox import levels
from autoreason.programs.sandbox.base import Level


def assert_confined(findings: Findings) -> None:
    """The programs that may do what they do did it, and the others were refused."""
    added, who, threads, read, forked, connected, listed, sized = findings.runs
    assert (added.end_reason, added.stdout) == ("exit", b"7\n")
    assert who.stdout == b"True True {}\n"
    assert (threads.stdout, threads.stderr) == (b"7\n", b"")
    assert (sized.stdout, sized.stderr) == (b"b'34\\n' b'34\\n'\n34\n\n", b"")
    for refused, why in (
        (read, b"FileNotFoundError: [Errno 2]"),
        (forked, b"PermissionError: [Errno 1]"),
        (connected, b"PermissionError: [Errno 1]"),
        (listed, b"FileNotFoundError: [Errno 2]"),
    ):
        assert (refused.end_reason, refused.status, refused.stdout) == ("exit", 1, b"")
        assert refused.stderr.rstrip().splitlines()[-1].startswith(why)


@pytest.fixture
def as_nobody() -> str:
    """An interpreter for an ordinary user; only root can become one."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("needs root on Linux, to become somebody else")
    return public_python()


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_holds_as_whoever_runs_the_tests(level: Level) -> None:
    need_level(level)
    assert_confined(under(Circumstances(level=level)))


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_holds_as_an_ordinary_user(level: Level, as_nobody: str) -> None:
    need_level(level)
    findings = under(Circumstances(ordinary=True, level=level, python=as_nobody))
    assert findings.found.level == level
    assert_confined(findings)


def test_in_a_container_landlock_is_found_and_bubblewrap_explained() -> None:
    need_level("landlock")
    findings = under(Circumstances(container=True))
    assert findings.found.level == "landlock"
    (reason,) = findings.found.reasons
    assert reason.startswith("bubblewrap needs user namespaces")
    assert_confined(findings)


def test_in_a_container_landlock_is_found_by_an_ordinary_user_too(as_nobody: str) -> None:
    need_level("landlock")
    findings = under(Circumstances(container=True, ordinary=True, python=as_nobody))
    assert findings.found.level == "landlock"
    assert_confined(findings)


def test_without_landlock_and_namespaces_system_calls_are_still_filtered() -> None:
    need_level("seccomp")
    findings = under(Circumstances(container=True, old=True))
    assert findings.found.level == "seccomp"
    assert [reason for reason in findings.found.reasons if "Landlock" in reason]
    assert_confined(findings)


def test_what_was_found_is_not_looked_for_again() -> None:
    assert levels.find_level() is levels.find_level()
    assert levels.find_level().level in get_args(Level)


@pytest.fixture
def fresh() -> Iterator[None]:
    """Nothing is known of this machine yet, and nothing is remembered."""
    levels.find_level.cache_clear()
    yield
    levels.find_level.cache_clear()


@pytest.mark.usefixtures("fresh")
def test_where_bubblewrap_is_missing_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    need_level("seccomp")
    monkeypatch.setenv("PATH", "")
    found = levels.find_level()
    assert found.level in ("landlock", "seccomp")
    assert found.reasons[0] == "bubblewrap is not installed: apt-get install bubblewrap"


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(("system", "machine"), [("darwin", "arm64"), ("linux", "riscv64")])
def test_without_a_sandbox_nothing_is_run_and_the_ways_out_are_named(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    with pytest.raises(InvalidInput) as refused:
        levels.open_sandbox()
    last_error = str(refused.value)
    assert "`unsafe`" in last_error
    assert "use Linux" in last_error
    assert "\n" not in last_error
    assert levels.open_sandbox(unsafe=True).level == "none"


@pytest.mark.usefixtures("fresh")
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_where_no_level_holds_every_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "_find_problem", lambda *_: "refused")
    assert levels.find_level().level == "none"
    assert levels.find_level("landlock").level == "none"
    assert len(levels.find_level().reasons) >= 3
