"""Server-sent events: bytes in, the data of whole events out."""

from __future__ import annotations


class Whole(bytes):
    """A body that is no stream: the server answered in one piece, though asked for many."""


class Events:
    """Cuts a byte stream into events, wherever the network happened to cut it."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: bytes | None = None
        self._begun = False
        self._whole: list[bytes] | None = None
        """Pieces of a body that is JSON, and so no stream."""

    def feed(self, received: bytes) -> list[bytes]:
        """The data of every event that these bytes complete."""
        received = self._rest + received
        if not self._begun:
            self._begin(received)
        if self._whole is not None:
            self._whole.append(received)
            self._rest = b""
            return []
        lines = received.split(b"\n")
        self._rest = lines.pop()
        events: list[bytes] = []
        for line in lines:
            self._take(line, events)
        return events

    def end(self) -> list[bytes]:
        """What the stream left unfinished; some servers forget the last blank line."""
        if self._whole is not None:
            return [Whole(b"".join(self._whole))]
        events: list[bytes] = []
        if self._rest:
            self._take(self._rest, events)
            self._rest = b""
        self._take(b"", events)
        return events

    def _begin(self, received: bytes) -> None:
        """Tell a stream from a plain body by its first character; no field of an event begins so."""
        bare = received.lstrip()
        self._begun = bool(bare)
        if bare.startswith((b"{", b"[")):
            self._whole = []

    def _take(self, line: bytes, events: list[bytes]) -> None:
        if line.startswith(b"data:"):
            data = line[6:] if line[5:6] == b" " else line[5:]
            if data.endswith(b"\r"):
                data = data[:-1]
            self._data = data if self._data is None else self._data + b"\n" + data
        elif self._data is not None and line in (b"", b"\r"):
            events.append(self._data)
            self._data = None
        # Anything else is a comment, or a field whose content the data repeats.
