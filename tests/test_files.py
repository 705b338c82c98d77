"""Only regular files are read, and the streams that this process was given."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autoreason.errors import InvalidInput
from autoreason.files import open_input
from autoreason.knowledge.tables import read_named, read_rows
from autoreason.programs.problems.formats import read_problems
from autoreason.task import read_text


def test_a_pipe_is_refused_and_not_waited_for_as_is_a_link_to_a_device(tmp_path: Path) -> None:
    pipe = tmp_path / "suite.yaml"
    os.mkfifo(pipe)
    with pytest.raises(InvalidInput, match=f"cannot read suite {pipe}: it is a pipe or a device"):
        read_text(pipe, "suite")
    with pytest.raises(InvalidInput, match="it is a pipe or a device"):
        read_named(pipe, read_rows)
    with pytest.raises(InvalidInput, match="it is a pipe or a device"):
        read_problems(pipe)
    link = tmp_path / "brief.md"
    link.symlink_to("/dev/zero")
    with pytest.raises(OSError, match="pipe or a device"):
        open_input(link)


def test_what_a_shell_substitutes_is_read() -> None:
    ours, theirs = os.pipe()
    os.write(theirs, b"Explain tides.")
    os.close(theirs)
    assert read_text(Path(f"/dev/fd/{ours}"), "brief") == "Explain tides."
    os.close(ours)
