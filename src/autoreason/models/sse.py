"""Server-sent events: bytes in, the data of whole events out."""

from __future__ import annotations

from codecs import BOM_UTF8


class UnstreamedBody(bytes):
    """A body that is no stream: the server answered in one piece, though asked for many."""


class ErrorEvent(bytes):
    """The data of an event that the server marks as an error."""


class SseParser:
    """Cuts a byte stream into events, wherever the network happened to cut it."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: bytes | None = None
        self._failed = False
        self._has_started = False
        self._half_end = False
        """The last byte ended a line; a line feed that follows belongs to the same end."""
        self._whole: list[bytes] | None = None
        """Pieces of a body that is JSON, and so no stream."""

    def feed(self, received: bytes) -> list[bytes]:
        """The data of every event that these bytes complete."""
        received = self._rest + received
        if not self._has_started:
            received = self._begin(received)
        if self._whole is not None:
            self._whole.append(received)
            self._rest = b""
            return []
        lines = self._lines(received)
        self._rest = lines.pop()
        events: list[bytes] = []
        for line in lines:
            self._take(line, events)
        return events

    def end(self) -> list[bytes]:
        """What the stream left unfinished; some servers forget the last blank line."""
        if self._whole is not None:
            return [UnstreamedBody(b"".join(self._whole))]
        events: list[bytes] = []
        if self._rest:
            self._take(self._rest, events)
            self._rest = b""
        self._take(b"", events)
        return events

    def _begin(self, received: bytes) -> bytes:
        """Distinguish a stream from a plain body by its first character, which begins no field of an event."""
        received = received.removeprefix(BOM_UTF8)
        bare = received.lstrip()
        # Part of a byte order mark may be all that has come so far.
        self._has_started = bool(bare) and not BOM_UTF8.startswith(bare)
        if bare.startswith((b"{", b"[")):
            self._whole = []
        return received

    def _lines(self, received: bytes) -> list[bytes]:
        if received and self._half_end:
            received = received.removeprefix(b"\n")
            self._half_end = False
        if b"\r" in received:
            self._half_end = received.endswith(b"\r")
            received = received.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return received.split(b"\n")

    def _take(self, line: bytes, events: list[bytes]) -> None:
        if line.startswith(b"data:"):
            data = line[6:] if line[5:6] == b" " else line[5:]
            self._data = data if self._data is None else self._data + b"\n" + data
        elif not line:
            if self._data is not None:
                events.append(ErrorEvent(self._data) if self._failed else self._data)
            self._data = None
            self._failed = False
        elif line.startswith(b"event:"):
            self._failed = line[6:].strip() == b"error"
        # Anything else is a comment, or a field whose content the data repeats.
