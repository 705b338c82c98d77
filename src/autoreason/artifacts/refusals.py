"""What code refuses or flags before anything is measured. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from autoreason.artifacts.artifact_paths import MAX_ARTIFACT, MAX_FILE
from autoreason.artifacts.conditions import broken_constraint
from autoreason.artifacts.measurement import Files
from autoreason.artifacts.normal_form import fingerprint, normal_form

Tried = Callable[[str], str | None]
"""What became of an artifact with a fingerprint; None where it is new."""
_WORD = re.compile(r"\w+")
_RUN = 8
"""Words in a row that no two texts share by accident."""


def refusal(
    before: Files, after: Files, tried: Tried, constraints: Iterable[str] = ()
) -> str | None:
    """Why a change is not measured, in words; None where it is.

    `tried` gives what became of earlier artifacts, the start included, by their fingerprint.
    """
    for path, text in after.items():
        if len(text.encode(errors="replace")) > MAX_FILE:
            return f"{path} is over {MAX_FILE // 1000} kB"
    if sum(len(text.encode(errors="replace")) for text in after.values()) > MAX_ARTIFACT:
        return f"the artifact is over {MAX_ARTIFACT // 1_000_000} MB"
    if broken := broken_constraint(constraints, after):
        return broken
    if before == after:
        return "it changes nothing"
    mark = fingerprint(after)
    if mark == fingerprint(before):
        if normal_form(before) == normal_form(after):
            return "it changes only comments or formatting"
        return "it changes only a seed, which is not an improvement but a draw"
    if before_now := tried(mark):
        return f"it was tried before: {before_now}"
    return None


class ItemWords:
    """Runs of eight words in a set of items, for the process that has them."""

    def __init__(self, items: Iterable[Any]) -> None:
        self._runs = {run for item in items for run in _runs(" ".join(_texts(item)))}

    def shared_runs(self, before: Files, after: Files) -> tuple[str, ...]:
        """Runs that an artifact shares with an item and the one before it did not have."""
        if not self._runs:
            return ()
        old = {run for text in before.values() for run in _runs(text)}
        new = {path: text for path, text in after.items() if before.get(path) != text}
        found = (run for text in new.values() for run in _runs(text))
        return tuple(
            " ".join(run) for run in dict.fromkeys(found) if run in self._runs and run not in old
        )


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return zip(*(words[start:] for start in range(_RUN)), strict=False)


def _texts(item: Any) -> Iterator[str]:
    """What an item says, without the names of its fields, which all of them share."""
    if isinstance(item, dict):
        item = list(item.values())
    if isinstance(item, list):
        for each in item:
            yield from _texts(each)
    elif item is not None and not isinstance(item, bool):
        yield str(item)
