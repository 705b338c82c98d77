"""Thinking that a model writes into its answer: `<think>…</think>` at the very start."""

from __future__ import annotations

from collections.abc import Callable

_OPEN, _CLOSE = "<think>", "</think>"


class Thinking:
    """Parts the thinking from the text as pieces arrive, without showing a piece of a mark."""

    def __init__(self) -> None:
        self.reasoning: list[str] = []
        self.text: list[str] = []
        self._held = ""
        # Not bound to this object: it would hold itself, and every reply would wait for the collector.
        self._take: Callable[[Thinking, str], str] = Thinking._before

    def feed(self, piece: str) -> str:
        """Take a piece of the answer; give what of it is text."""
        return self._take(self, piece)

    def end(self) -> None:
        """No more pieces: what was held back was not the start of a mark after all."""
        held, self._held = self._held, ""
        (self.reasoning if self._take is Thinking._within else self.text).append(held)

    def _before(self, piece: str) -> str:
        self._held += piece
        start = self._held.lstrip()
        if _OPEN.startswith(start):
            return ""
        held, self._held = self._held, ""
        if start.startswith(_OPEN):
            self._take = Thinking._within
            return self._within(start[len(_OPEN) :])
        self._take = Thinking._after
        return self._after(held)

    def _within(self, piece: str) -> str:
        self._held += piece
        thought, mark, rest = self._held.partition(_CLOSE)
        if not mark:
            safe = len(self._held) - _overlap(self._held, _CLOSE)
            self.reasoning.append(self._held[:safe])
            self._held = self._held[safe:]
            return ""
        self.reasoning.append(thought)
        self._held = ""
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
