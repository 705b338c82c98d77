"""Draws docs/picture.svg: the live view of a real run, caught while a panel is voting.

Usage: python tools/picture.py [BRIEF] [MODEL]
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from autoreason.cli.live import Live
from autoreason.cli.screen import draw
from autoreason.events import AnyEvent, BallotCast
from autoreason.journal import Journal
from autoreason.prompts import built_in
from autoreason.run.driver import start
from autoreason.settings import DEFAULT_MODEL, Models, make_settings
from autoreason.task import read_task

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "picture.svg"
WIDTH, HEIGHT = 96, 30


def main() -> None:
    """Drive a run and keep the last moment at which two of three judges had voted."""
    brief, model = [
        *sys.argv[1:],
        *(str(ROOT / "examples" / "brief.md"), DEFAULT_MODEL)[len(sys.argv) - 1 :],
    ]
    live = Live()

    def watch(event: AnyEvent) -> None:
        live.on_event(event)
        if isinstance(event, BallotCast) and event.stage != "playoff" and event.seat == 1:
            take_picture(live)

    settings = make_settings(Models.everywhere(model), seed=1, passes=3, extra_judges=0, playoff=0)
    with (
        tempfile.TemporaryDirectory() as folder,
        Journal.open(f"{folder}/j.db", create=True) as journal,
    ):
        asyncio.run(
            start(
                read_task(brief),
                settings,
                journal,
                {
                    "on_event": watch,
                    "on_signal": live.on_signal,
                    "on_started": lambda run: setattr(live, "run", run),
                },
                prompts=built_in(small=model == DEFAULT_MODEL),
            )
        )


def take_picture(live: Live) -> None:
    """What the screen shows now, as a drawing."""
    console = Console(record=True, width=WIDTH, height=HEIGHT, force_terminal=True, file=sys.stderr)
    console.print(draw(live, console))
    console.save_svg(str(PICTURE), title="autoreason run brief.md")


if __name__ == "__main__":
    main()
