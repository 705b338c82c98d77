"""Programs that want out stay in, whatever user runs them and however the machine can hold them."""

from __future__ import annotations

import os
import shutil
import sys

import pytest
from tests.programs.sandbox.attacks.attack import Attack, lingers
from tests.programs.sandbox.attacks.programs.functions import FUNCTIONS
from tests.programs.sandbox.attacks.programs.verdicts import VERDICTS
from tests.programs.sandbox.attacks.stage import ATTACKS, EVERYBODYS_PYTHON, Staging, stage

from autoreason.programs.sandbox.base import Level
from autoreason.programs.sandbox.levels import find_level

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")


@pytest.mark.parametrize(
    ("user", "level", "third"),
    [
        ("root", "bubblewrap", None),
        ("root", "seccomp", 0),
        ("an ordinary user", "bubblewrap", 1),
        ("an ordinary user", "landlock", 2),
    ],
)
def test_every_attack_is_stopped(
    user: str, level: Level, third: int | None, pytestconfig: pytest.Config
) -> None:
    ordinary = user != "root"
    if not ordinary and os.geteuid() != 0:
        pytest.skip("only root can try as root")
    if ordinary:
        _needs_python_for_everybody()
    if find_level(level).level != level:
        pytest.skip(f"no {level} here: {' '.join(find_level(level).reasons)}")
    names = [*(attack.name for attack in ATTACKS), *FUNCTIONS]
    assert len(set(names)) == len(names) >= 150
    if third is not None and not pytestconfig.getoption("--all"):
        # The kernel's means are the same as another user's or another level's; all of them take long.
        names = names[third::3]
    tried = stage(Staging(level=level, ordinary=ordinary, names=tuple(names)))
    assert {one.name for one in tried} >= set(names)
    assert not [f"{one.name}: {one.broken}" for one in tried if one.broken]


def test_most_attacks_succeed_without_a_sandbox(pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("--all"):
        pytest.skip("that the attacks work where nothing stops them is tried with --all")
    _needs_python_for_everybody()
    names = tuple(attack.name for attack in ATTACKS if _safe_without(attack))
    tried = stage(Staging(level="none", ordinary=True, names=names))
    held = [one.name for one in tried if one.name in names and not one.broken]
    assert len(held) <= len(names) / 5, held


def test_functions_are_fooled_when_program_and_tests_are_one() -> None:
    _needs_python_for_everybody()
    names = tuple(name for name in FUNCTIONS if "message" not in name and "channel" not in name)
    tried = stage(Staging(level="none", ordinary=True, names=names))
    assert sum(bool(one.broken) for one in tried) >= 10


def _safe_without(attack: Attack) -> bool:
    """Whether it can be let loose: neither harmful nor endless, and it is the sandbox that should stop it."""
    return not attack.harmful and attack.sign is not lingers and attack not in VERDICTS


def _needs_python_for_everybody() -> None:
    if os.geteuid() == 0 and not shutil.which(EVERYBODYS_PYTHON):
        pytest.skip(
            f"root's own Python may be out of an ordinary user's reach, and there is no {EVERYBODYS_PYTHON}"
        )
