"""Record what users see: help, JSON and pages of every command, with a model that costs nothing.

    python tools/recorder.py build/recordings

Times, names of runs and folders are replaced, so that two recordings differ only where the program does.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAM = Path(sys.executable).with_name("autoreason")
COMMANDS = ROOT / "tools" / "recorder.txt"
REPLACED = (
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?", "TIME"),
    (r"\b\d{8}-[a-z]+-[a-z]+(-[0-9a-z]+)?\b", "RUN"),
    (r'"seed": \d{4,}', '"seed": 0'),
    (r'"(seconds|took|duration|started|ended|elapsed)": [\d.]+', r'"\1": 0'),
    (r"\b\d+(\.\d+)? (ms|s|min)\b", "0 s"),
    (r"data:[a-z/+;0-9-]+,[A-Za-z0-9+/=%]+", "DATA"),
)


def record(line: str, folder: Path, environment: dict[str, str]) -> str:
    """What one command line prints, and the pages it writes."""
    done = subprocess.run(
        [PROGRAM, *shlex.split(line)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    parts = [f"$ autoreason {line}\nexit {done.returncode}\n", done.stdout, done.stderr]
    parts += [f"--- {page.name}\n{page.read_text()}" for page in sorted(folder.glob("*.html"))]
    for page in folder.glob("*.html"):
        page.unlink()
    text = (
        "\n".join(parts)
        .replace(str(folder), "FOLDER")
        .replace(str(ROOT), "ROOT")
        .replace(str(Path.home()), "HOME")
    )
    for pattern, replacement in REPLACED:
        text = re.sub(pattern, replacement, text)
    return text


def main(target: Path) -> None:
    """Record every line of `recorder.txt`, in order, in one folder with one journal."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {
            **os.environ,
            "COLUMNS": "80",
            "NO_COLOR": "1",
            "AUTOREASON_JOURNAL": str(folder / "journal.db"),
            "EXAMPLES": str(ROOT / "examples"),
        }
        for number, line in enumerate(COMMANDS.read_text().splitlines()):
            if not line or line.startswith("#"):
                continue
            text = record(line.replace("$ROOT", str(ROOT)), folder, environment)
            stem = re.sub(r"[^a-z]+", "-", line.replace("$ROOT", ""))[:40].strip("-")
            (target / f"{number:03}-{stem}.txt").write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
