"""Whatever hangs ends as a failed test with the place it hung at, and the tests after it are run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HANGING = """
import asyncio, time
import pytest

pytestmark = pytest.mark.timeout(0.5)

def hang():
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass

@pytest.fixture
def hanging_setup(): hang()

@pytest.fixture
def hanging_teardown():
    yield
    hang()

def test_setup(hanging_setup): pass

def test_teardown_after_time_out(hanging_teardown): time.sleep(60)

async def never_ending():
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass

async def test_task():
    task = asyncio.create_task(never_ending())
    await asyncio.sleep(0)
    assert not "fails"
"""
HUNG = {
    "test_setup": "hang",
    "test_teardown_after_time_out": "hang",
    "test_task": "_cancel_all_tasks",
}
PLUGINS = ("tests.limits", "pytest_timeout", "pytest_asyncio.plugin", "xdist")


def pytest_in(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The tests of a folder, limited as ours are."""
    root = str(Path(__file__).parents[1])
    plugins = [part for name in PLUGINS for part in ("-p", name)]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", "-o", "asyncio_mode=auto", *plugins, *options],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": root, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_hang_anywhere_is_a_failed_test_that_says_where(tmp_path: Path) -> None:
    (tmp_path / "test_hanging.py").write_text(HANGING)
    (tmp_path / "test_sound.py").write_text("def test_sound(): pass\n")
    ran = pytest_in(tmp_path, "-n", "3")
    assert "PASSED test_sound.py::test_sound" in ran.stdout
    for test, place in HUNG.items():
        assert f"crashed while running 'test_hanging.py::{test}'" in ran.stdout
        assert f"in {place}\n" in ran.stderr


def test_a_thread_that_outlives_the_tests_does_not_keep_the_process(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("import tests.limits\ntests.limits._EXIT = 0.5\n")
    (tmp_path / "test_thread.py").write_text(
        "import threading\n"
        "def test_thread(): threading.Thread(target=threading.Event().wait).start()\n"
    )
    assert "1 passed" in pytest_in(tmp_path).stdout
