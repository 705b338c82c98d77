"""The end of the blind part: the key is opened, once and for good, and people's ratings get names."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

from autoreason.errors import InvalidInput
from autoreason.studies.raters.lock import lock_packet
from autoreason.studies.raters.model_panel import PanelRankings
from autoreason.studies.raters.packet import read_packet
from autoreason.studies.raters.ratings import RatingsReport, ratings_report
from autoreason.studies.raters.sealed_key import open_key, opening, rating_digests
from autoreason.studies.raters.storage import read_sheets


def conclude(folder: Path, *, panel: PanelRankings | None = None) -> RatingsReport:
    """Open the key of a packet and report how people rated the texts."""
    packet = read_packet(folder)
    with nullcontext() if opening(folder) else lock_packet(folder):
        sheets = read_sheets(folder, packet)
        if all(sheet.empty for sheet in sheets):
            raise InvalidInput(
                f"no one has rated {folder} yet; begin with `autoreason rate serve {folder}`"
            )
        key, opened = open_key(folder, packet, datetime.now(UTC))
        digests = rating_digests(folder)
    return ratings_report(packet, key, sheets, opened, digests=digests, panel=panel)
