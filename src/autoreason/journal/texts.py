"""A long text of a run is stored once, however many of its requests and replies contain it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from autoreason.journal import sql

_MARK = "\x01"
"""Encloses the digest of a text; JSON escapes control characters, so it never contains one."""
_MIN_LENGTH = 200
"""Characters from which a text is shared."""
_MAX_KNOWN = 8_000_000
"""Characters of texts that a writer remembers."""
# A line that separates texts in a prompt, as JSON. A pattern that begins with a choice is ten times slower.
_BOUNDARY = re.compile(r"<<<[^\\<>]{1,100}>>>(?:\\n)?")
_NEW_LINE = "\\n"
_encode = msgspec.json.Encoder().encode


class SharedTexts:
    """The part of a connection that stores long texts, and remembers which are there."""

    execute: Callable[..., Any]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._known: dict[str, dict[str, str]] = {}
        """Digests of texts, for each run."""
        self._size = 0

    def share(self, run: str, parts: tuple[str, ...]) -> str:
        """Store the long texts of JSON that was cut; returns what to write in its place."""
        known = self._known.setdefault(run, {})
        written = list(parts)
        for place in range(1, len(parts), 2):
            text = parts[place]
            digest = known.get(text)
            if digest is None:
                digest = known[text] = digest_of(text)
                self._size += len(text)
                self.execute(sql.INSERT["texts"], (run, digest, text))
            written[place] = f"{_MARK}{digest}{_MARK}"
        return "".join(written)

    def forget(self, run: str | None = None) -> None:
        """Whether texts are there is no longer known: those of a new run, or of all where something was undone."""
        if run:
            self._known.pop(run, None)
        else:
            self._known.clear()
            self._size = 0

    def forget_some(self) -> None:
        """Between two transactions: remember no more than is reasonable."""
        if self._size > _MAX_KNOWN:
            self.forget()

    def fill(self, run: str, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Rows of a run with their texts in place."""
        wanted = {digest for row in rows for value in row for digest in digests_in(value)}
        if not wanted:
            return rows
        found = dict(self.execute(sql.TEXTS, (run, sql.as_list(wanted))))
        return [tuple(_filled(value, found) for value in row) for row in rows]


def digest_of(text: str) -> str:
    """The name under which a text is stored."""
    return blake2b(text.encode(), digest_size=12).hexdigest()


def digests_in(stored: Any) -> Sequence[str]:
    """Those of the texts that a stored value refers to."""
    return stored.split(_MARK)[1::2] if isinstance(stored, str) and _MARK in stored else ()


def _filled(stored: Any, texts: dict[str, str]) -> Any:
    if not isinstance(stored, str) or _MARK not in stored:
        return stored
    parts = stored.split(_MARK)
    try:
        parts[1::2] = [texts[digest] for digest in parts[1::2]]
    except KeyError:
        raise ValueError("a text is missing") from None
    return "".join(parts)


def cut(json: str, texts: Iterable[str]) -> str | tuple[str, ...]:
    """JSON in parts, of which every second is one of these texts or stands between two boundaries in one."""
    parts: list[str] = []
    at = end = 0
    for text in texts:
        if len(text) >= _MIN_LENGTH:
            written = _encode(text)[1:-1].decode()
            # By its first characters: searching for all of a long text takes longer to prepare.
            start = json.find(written[:_MIN_LENGTH], at)
            if start >= 0 and json.startswith(written, start):
                at = start + len(written)
                for first, last in _between_boundaries(json, start, at):
                    parts += (json[end:first], json[first:last])
                    end = last
    return (*parts, json[end:]) if parts else json


def _between_boundaries(json: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for found in _BOUNDARY.finditer(json, start, end):
        # A boundary is a line of its own, and its line break belongs to neither text.
        before = found.start() - 2 * json.endswith(_NEW_LINE, start, found.start())
        if before - start >= _MIN_LENGTH:
            yield start, before
        start = found.end()
    if end - start >= _MIN_LENGTH:
        yield start, end
