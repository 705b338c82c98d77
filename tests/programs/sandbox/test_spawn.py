"""A fork server is started as somebody who is nobody, with nothing of ours."""

from __future__ import annotations

import os
import pwd
import shutil
import sys
from pathlib import Path

import pytest

from autoreason.programs.sandbox.linux import SANDBOX_FOLDER, bubblewrap, real_python, unused_uids

needs_bubblewrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")


def test_root_becomes_a_user_who_is_nobody_and_another_one_for_each_server() -> None:
    uids = [uid for number in range(8) for uid in unused_uids(number)]
    assert len(set(uids)) == len(uids) == 64
    assert not {entry.pw_uid for entry in pwd.getpwall()} & set(uids)


def test_the_interpreter_is_the_real_one() -> None:
    assert os.path.realpath(real_python()) == os.path.realpath(sys.executable)


@needs_bubblewrap
def test_bubblewrap_shows_the_interpreter_and_its_libraries_and_no_more() -> None:
    command = bubblewrap("/opt/python/bin/python3.11")
    shown = [command[at + 1] for at, word in enumerate(command) if word == "--ro-bind"]
    assert {"/opt/python/bin/python3.11", "/opt/python/lib", str(SANDBOX_FOLDER)} <= set(shown)
    assert not {"/", "/home", "/etc", "/proc", "/dev", "/tmp", "/usr", str(Path.cwd())} & set(shown)
    assert "--unshare-net" in command
    assert "--unshare-pid" in command
    assert "--proc" not in command
    assert "--bind" not in command
