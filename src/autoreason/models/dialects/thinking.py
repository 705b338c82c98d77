"""Reasoning that a model writes into its answer: `<think>…</think>` at the very start."""

from __future__ import annotations

from collections.abc import Callable

_OPEN, _CLOSE = "<think>", "</think>"


class Thinking:
    """Separates reasoning from text as pieces arrive, without showing a part of a mark."""

    def __init__(self) -> None:
        self.reasoning: list[str] = []
        self.text: list[str] = []
        self._buffer = ""
        # Not bound to this object: a reference cycle would keep every reply until the collector runs.
        self._take: Callable[[Thinking, str], str] = Thinking._before

    def feed(self, piece: str) -> str:
        """Take a piece of the answer; returns the text in it."""
        return self._take(self, piece)

    def end(self) -> None:
        """No more pieces: what was buffered is not the start of a mark."""
        buffered, self._buffer = self._buffer, ""
        (self.reasoning if self._take is Thinking._within else self.text).append(buffered)

    def _before(self, piece: str) -> str:
        self._buffer += piece
        start = self._buffer.lstrip()
        if _OPEN.startswith(start):
            return ""
        buffered, self._buffer = self._buffer, ""
        if start.startswith(_OPEN):
            self._take = Thinking._within
            return self._within(start[len(_OPEN) :])
        self._take = Thinking._after
        return self._after(buffered)

    def _within(self, piece: str) -> str:
        self._buffer += piece
        thought, mark, rest = self._buffer.partition(_CLOSE)
        if not mark:
            safe = len(self._buffer) - _overlap(self._buffer, _CLOSE)
            self.reasoning.append(self._buffer[:safe])
            self._buffer = self._buffer[safe:]
            return ""
        self.reasoning.append(thought)
        self._buffer = ""
        self._take = Thinking._past
        return self._past(rest)

    def _past(self, piece: str) -> str:
        """The blank lines after the mark are not part of the text."""
        text = piece.lstrip()
        if not text:
            return ""
        self._take = Thinking._after
        return self._after(text)

    def _after(self, piece: str) -> str:
        self.text.append(piece)
        return piece


def _overlap(text: str, mark: str) -> int:
    """How many characters at the end of the text may be the start of the mark."""
    return next((n for n in range(len(mark) - 1, 0, -1) if text.endswith(mark[:n])), 0)
