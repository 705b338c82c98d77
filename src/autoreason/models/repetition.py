"""Replies that repeat themselves: noticed while they stream, so that the rest is neither awaited nor paid for."""

from __future__ import annotations

from msgspec.structs import replace

from autoreason.exchange import REPEATS, Outcome, Reply

_TAILS = (4_000, 8_000)
"""Characters. Refrains, tables, forms and lists of zeros that were asked for are shorter."""
_TIMES = 5
_INTERVAL = 500
"""Characters between two looks."""


def repeats_itself(text: str) -> bool:
    """Whether thousands of characters at the end are one block, at least five times over, and nothing else."""
    return any(len(text) >= size and _is_one_block(text[-size:]) for size in _TAILS)


def _is_one_block(tail: str) -> bool:
    # A text repeats every n characters if it equals itself moved by n; the search is linear.
    longest_block = len(tail) // _TIMES
    moved = tail.find(tail[:-longest_block], 1)
    return moved > 0 and tail.startswith(tail[moved:])


def check_repetition(reply: Reply) -> Reply:
    """A reply that came whole; one that repeats itself at the end is no result."""
    if reply.outcome in (Outcome.OK, Outcome.TRUNCATED) and repeats_itself(reply.text):
        return replace(reply, outcome=Outcome.TRUNCATED, finish=REPEATS)
    return reply


class LoopDetector:
    """Looks at a text while it streams."""

    def __init__(self) -> None:
        self._tail = ""
        self._new: list[str] = []
        self._unseen = 0

    def feed(self, piece: str) -> bool:
        """Take the next piece; True where the text repeats itself."""
        self._new.append(piece)
        self._unseen += len(piece)
        if self._unseen < _INTERVAL:
            return False
        self._tail = "".join((self._tail, *self._new))[-max(_TAILS) :]
        self._new.clear()
        self._unseen = 0
        return repeats_itself(self._tail)
