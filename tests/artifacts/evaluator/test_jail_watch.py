"""Nothing of a jail is left, at whatever moment of its start the process that starts it is killed."""

from __future__ import annotations

import subprocess
import sys
import time
from uuid import uuid4

import pytest
from tests.artifacts.evaluator.evaluating import needs_jail, processes_with
from tests.patience import PATIENCE

pytestmark = needs_jail

_OWNERS = """
import os, signal, sys, time
from autoreason.artifacts.evaluator.command_jail import Jail, jail_uid
from autoreason.artifacts.evaluator.jail_watch import start_watch
from autoreason.artifacts.research_task import LookLimits

null = os.open(os.devnull, os.O_RDWR)
for moment in range(int(sys.argv[3])):
    reading, writing = os.pipe()
    owner = os.fork()
    if owner == 0:
        start_watch()
        jail = Jail(folder="/tmp", limits=LookLimits(), uid=jail_uid(0), unsafe=sys.argv[2] == "unsafe")
        os.write(writing, b"1")
        jail.start(["sleep", sys.argv[1]], {"PATH": "/usr/bin:/bin"}, streams=(null, null, null))
        signal.pause()
    os.read(reading, 1)
    time.sleep(moment / 2500)
    os.kill(owner, signal.SIGKILL)
    os.waitpid(owner, 0)
"""
"""Kills processes, each 0.4 ms later in the start of its jail than the one before."""


@pytest.mark.parametrize(("kind", "times"), [("jailed", 40), ("unsafe", 10)])
def test_a_jail_does_not_survive_the_process_that_was_starting_it(kind: str, times: int) -> None:
    mark = f"98765.{uuid4().int % 10**12}"
    subprocess.run([sys.executable, "-c", _OWNERS, mark, kind, str(times)], check=True)
    deadline = time.monotonic() + PATIENCE
    while left := processes_with(mark):
        assert time.monotonic() < deadline, left
        time.sleep(0.02)
