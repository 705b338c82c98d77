"""The desk: one person at a time, and the sheet in front of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from autoreason.errors import InvalidInput
from autoreason.studies.raters.packet import Packet
from autoreason.studies.raters.sheets import Click, FinishClick, Sheet, StepClick, steps_in
from autoreason.studies.raters.storage import OpenSheet, open_sheet

OnMessage = Callable[[str], None]
"""Is called with a line about what happens."""


class DeskOccupied(InvalidInput):
    """Another person is at the desk, or this browser no longer is."""


@dataclass
class RatingSession:
    """The person at the desk, in which browser, and since when."""

    browser: str
    page: OpenSheet
    since: datetime
    last: datetime

    @property
    def sheet(self) -> Sheet:
        """Their ratings so far."""
        return self.page.sheet


class Desk:
    """Lets one browser at a time write on one person's sheet."""

    def __init__(self, folder: Path, packet: Packet, on_message: OnMessage) -> None:
        self.session: RatingSession | None = None
        self._folder = folder
        self._packet = packet
        self._on_message = on_message

    def sheet(self, browser: str) -> Sheet | None:
        """The sheet of the person at the desk, if it is in that browser."""
        mine = self.session and self.session.browser == browser
        return self.session.sheet if self.session and mine else None

    def sit(self, browser: str, rater: str) -> None:
        """Sit down at a free desk, or again in the same browser."""
        if self.session and self.session.browser != browser:
            raise DeskOccupied(f"{self.session.sheet.rater} is rating now, in another window")
        now = datetime.now(UTC)
        page = open_sheet(self._folder, self._packet, rater, now)
        self.session = RatingSession(browser, page, now, now)
        self._report("sits down")

    def click(self, browser: str, what: Click) -> None:
        """Store a click."""
        if self.session is None or self.session.browser != browser:
            raise DeskOccupied("this window is no longer at the desk; nothing was saved here")
        before = self.session.sheet.answered(self._packet)
        now = datetime.now(UTC)
        self.session.page.add(what, now)
        self.session.last = now
        if isinstance(what, FinishClick):
            self._report("has finished")
        elif (
            not isinstance(what, StepClick) and self.session.sheet.answered(self._packet) != before
        ):
            self._report("goes on")

    def leave(self, browser: str) -> None:
        """Leave the desk to the next person."""
        if self.sheet(browser):
            self._report("leaves")
            self.session = None

    def clear(self) -> None:
        """Free the desk where a person left without saying so."""
        if self.session:
            self._report("has left")
            self.session = None

    def _report(self, what: str) -> None:
        assert self.session
        sheet = self.session.sheet
        done = f"{sheet.answered(self._packet)} of {steps_in(self._packet)} steps done"
        self._on_message(f"{sheet.rater} {what}: {done}")
