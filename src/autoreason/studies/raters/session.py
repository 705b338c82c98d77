"""The desk: one person at a time, and the sheet in front of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from autoreason.errors import InvalidInput
from autoreason.studies.raters.packet import Packet
from autoreason.studies.raters.sheets import Click, Finished, Sheet, Went, steps_in
from autoreason.studies.raters.storage import OpenSheet, open_sheet

Say = Callable[[str], None]
"""Takes a line about what happens."""


class DeskTaken(InvalidInput):
    """Somebody else sits there, or nobody does any more."""


@dataclass
class Sitting:
    """Who sits at the desk, in which browser, and since when."""

    browser: str
    page: OpenSheet
    since: datetime
    last: datetime

    @property
    def sheet(self) -> Sheet:
        """What they have said so far."""
        return self.page.sheet


class Desk:
    """Lets one browser at a time write on one person's sheet."""

    def __init__(self, folder: Path, packet: Packet, say: Say) -> None:
        self.sitting: Sitting | None = None
        self._folder = folder
        self._packet = packet
        self._say = say

    def sheet(self, browser: str) -> Sheet | None:
        """The sheet of whoever sits there, if it is in that browser."""
        mine = self.sitting and self.sitting.browser == browser
        return self.sitting.sheet if self.sitting and mine else None

    def sit(self, browser: str, rater: str) -> None:
        """Sit down at a free desk; where one already sits, only under the same name."""
        if self.sitting and self.sitting.browser != browser:
            raise DeskTaken(f"{self.sitting.sheet.rater} is rating now, in another window")
        now = datetime.now(UTC)
        page = open_sheet(self._folder, self._packet, rater, now)
        self.sitting = Sitting(browser, page, now, now)
        self._tell("sits down")

    def click(self, browser: str, what: Click) -> None:
        """Take a click in, for good."""
        if self.sitting is None or self.sitting.browser != browser:
            raise DeskTaken("this window is no longer at the desk; nothing was saved here")
        before = self.sitting.sheet.answered(self._packet)
        now = datetime.now(UTC)
        self.sitting.page.add(what, now)
        self.sitting.last = now
        if isinstance(what, Finished):
            self._tell("has finished")
        elif not isinstance(what, Went) and self.sitting.sheet.answered(self._packet) != before:
            self._tell("goes on")

    def leave(self, browser: str) -> None:
        """Hand the desk over to whoever comes next."""
        if self.sheet(browser):
            self._tell("leaves")
            self.sitting = None

    def clear(self) -> None:
        """Free the desk of somebody who went away without a word."""
        if self.sitting:
            self._tell("has left")
            self.sitting = None

    def _tell(self, what: str) -> None:
        assert self.sitting
        sheet = self.sitting.sheet
        done = f"{sheet.answered(self._packet)} of {steps_in(self._packet)} steps done"
        self._say(f"{sheet.rater} {what}: {done}")
