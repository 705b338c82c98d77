"""Server-sent events: bytes in, the data of whole events out."""

from __future__ import annotations


class Events:
    """Cuts a byte stream into events, wherever the network happened to cut it."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: bytes | None = None

    def feed(self, received: bytes) -> list[bytes]:
        """The data of every event that these bytes complete."""
        lines = (self._rest + received).split(b"\n")
        self._rest = lines.pop()
        events: list[bytes] = []
        for line in lines:
            self._take(line, events)
        return events

    def end(self) -> list[bytes]:
        """What the stream left unfinished; some servers forget the last blank line."""
        events: list[bytes] = []
        if self._rest:
            self._take(self._rest, events)
            self._rest = b""
        self._take(b"", events)
        return events

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
