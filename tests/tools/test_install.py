"""Setting up shows how far it is on a terminal, and keeps logs clean."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.install import steps

ROOT = Path(__file__).parents[2]
SAID = (
    "Collecting aiohttp==3.14.5 (from -r requirements/dev.lock (line 10))\n",
    "  Downloading aiohttp-3.14.5.whl (1.7 MB)\n",
    "Ignoring colorama: markers 'sys_platform == \"win32\"' don't match your environment\n",
    "Requirement already satisfied: click==8.3.0 in ./lib\n",
    "Installing collected packages: aiohttp\n",
    "Successfully installed aiohttp-3.14.5\n",
)


def test_every_package_is_a_step() -> None:
    assert list(steps(SAID, 3)) == [
        "fetching aiohttp (1 of 3)",
        "fetching colorama (2 of 3)",
        "fetching click (3 of 3)",
        "unpacking 3 packages",
    ]


def test_a_failure_is_passed_on_and_said(tmp_path: Path) -> None:
    lock = tmp_path / "dev.lock"
    lock.write_text("nothing-of-the-kind==1.0 --hash=sha256:00\n")
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "install.py"), str(lock)],
        capture_output=True,
        text=True,
        env={"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null"},
        check=False,
    )
    assert done.returncode != 0
    assert "ERROR" in done.stderr
    assert done.stdout == ""
