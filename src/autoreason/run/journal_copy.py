"""Copies runs to another journal, and replays each finished one from there."""

from __future__ import annotations

from typing import NamedTuple

from autoreason.errors import AutoreasonError
from autoreason.journal import Journal
from autoreason.journal.maintenance import OnProgress, copy_runs
from autoreason.run.replay import replay


class CopyResult(NamedTuple):
    """What became of the runs of a journal."""

    copied: list[str]
    there: list[str]
    """Those that the other journal had already."""
    replayed: list[str]
    differences: dict[str, str]
    """For each run whose replay is not as recorded, a sentence."""
    failed: dict[str, str]
    """For each run that cannot be replayed, a sentence."""
    damaged: dict[str, str]
    """For each run that could not be copied, a sentence."""
    live: list[str]
    """Those that are left out because a process writes to them."""
    conflicts: dict[str, str]
    """For each run or suite that differs in the other journal, a sentence."""
    differing: list[str]
    """Runs of these that are not copied."""


def copy_journal(
    source: Journal, target: Journal, on_progress: OnProgress, *, check: bool = True
) -> CopyResult:
    """Copy every run that is sound and not live; each that is finished is replayed as soon as it is there."""
    replayed: list[str] = []
    differences: dict[str, str] = {}
    failed: dict[str, str] = {}

    def replay_copy(run: str) -> None:
        try:
            if not target.row(run).finished:
                return
            result = replay(run, journal=target)
        except AutoreasonError as error:
            failed[run] = f"{run} cannot be replayed: {error}"
        else:
            replayed.append(run)
            if not result.same:
                differences[run] = result.conclusion

    found = copy_runs(source, target, on_progress, *([replay_copy] if check else []))
    return CopyResult(**found._asdict(), replayed=replayed, differences=differences, failed=failed)
