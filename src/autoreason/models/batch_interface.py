"""The batch interfaces of providers: how a batch is sent, looked at, found again and read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from autoreason.errors import CallFailed, Failure
from autoreason.exchange import Query
from autoreason.models.dialects import decoder
from autoreason.models.failures import Hide, read_error, read_error_value, refusal
from autoreason.models.providers import BatchKind

T = TypeVar("T")
BatchOutcome = bytes | CallFailed
_CLOCK_ERROR = 3600.0
"""Seconds by which the clocks of this machine and of a provider may differ."""
_UNANSWERED = frozenset({"batch_expired", "batch_cancelled", "request_timeout"})
_decoder: Callable[[Any], Callable[[bytes], Any]] = cache(decoder)


class BatchNote(Query[str], frozen=True, kw_only=True):
    """What is known of a batch: recorded before it is sent, and again when the provider has named it."""

    kind = "batch"
    batch: str
    size: int
    """Requests in it, those of other runs among them."""
    at: float
    """When it was recorded first, in seconds since 1970."""
    items: tuple[str, ...] = ()
    file: str = ""
    """The uploaded requests, where they are uploaded first."""
    remote: str = ""
    """The provider's name for it; empty where it may not have been sent."""


class BatchState(Struct, frozen=True, kw_only=True):
    """A batch as its provider shows it."""

    remote: str
    ended: bool
    done: int
    """Requests that have ended, with a reply or without."""
    outputs: tuple[str, ...] = ()
    """Paths of the files with its results; none where there are none."""
    failed: CallFailed | None = None
    """Why none of it was begun: a limit of rates where the account's queue is full."""


Send = Callable[..., Awaitable[bytes]]
"""Sends a call: the path below the base URL, a body, and its `media` type or a `method` where it is another one."""


class _Interface:
    """One provider's way to take many requests at once."""

    def __init__(self, send: Send, who: str) -> None:
        self._send, self._who = send, who

    async def _get(self, path: str, kind: type[T], body: bytes | None = None, **more: str) -> T:
        return self._decode(await self._send(path, body, **more), kind)

    def _decode(self, content: bytes, kind: type[T]) -> T:
        try:
            found: T = _decoder(kind)(content)
            return found
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise CallFailed(
                Failure.BROKEN_REPLY, f"{self._who} sent news of a batch that cannot be read"
            ) from None


def unanswered(who: str, why: str) -> CallFailed:
    """A request of a batch that was not answered, and can be asked again."""
    return CallFailed(Failure.TIMEOUT, f"{who} did not answer a request of a batch ({why})")


class _Fault(Struct):
    code: str | None = None
    message: str | None = None
    line: int | None = None


class _Faults(Struct):
    data: list[_Fault] | None = None


class _Counts(Struct):
    """Requests by their state; OpenAI has the first three, Anthropic the others."""

    total: int = 0
    completed: int = 0
    failed: int = 0
    processing: int = 0
    succeeded: int = 0
    errored: int = 0
    canceled: int = 0
    expired: int = 0


class _OpenAIBatch(Struct):
    id: str
    status: str
    metadata: dict[str, str] | None = None
    request_counts: _Counts | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: _Faults | None = None


class _Named(Struct):
    id: str


class _OpenAIList(Struct):
    data: list[_OpenAIBatch]
    has_more: bool = False


class _OpenAIResponse(Struct):
    status_code: int
    body: msgspec.Raw = msgspec.Raw(b"{}")


class _OpenAILine(Struct):
    custom_id: str
    response: _OpenAIResponse | None = None
    error: _Fault | None = None


class OpenAIBatches(_Interface):
    """Requests are uploaded as a file; a batch over it has our name in its metadata."""

    max_requests = 50_000
    max_bytes = 200_000_000
    finds_by_name = True
    """A batch that is found is surely the one looked for; else its results must show it."""
    _ENDED = ("failed", "completed", "expired", "cancelled")
    _MARK = "autoreason"

    def line(self, item: str, endpoint: str, body: bytes) -> bytes:
        return msgspec.json.encode(
            {"custom_id": item, "method": "POST", "url": endpoint, "body": msgspec.Raw(body)}
        )

    async def upload(self, name: str, lines: Sequence[bytes]) -> str:
        """Upload requests, which starts nothing; the name of the file."""
        disposition = b'--%b\r\nContent-Disposition: form-data; name="' % name.encode()
        body = b"".join(
            (
                disposition + b'purpose"\r\n\r\nbatch\r\n',
                disposition + b'file"; filename="%b.jsonl"\r\n' % name.encode(),
                b"Content-Type: application/jsonl\r\n\r\n",
                b"\n".join(lines),
                b"\n\r\n--%b--\r\n" % name.encode(),
            )
        )
        media = f"multipart/form-data; boundary={name}"
        return (await self._get("/files", _Named, body, media=media)).id

    async def create(
        self,
        note: BatchNote,
        endpoint: str,
        lines: Sequence[bytes],  # noqa: ARG002
    ) -> BatchState:
        wanted = {
            "input_file_id": note.file,
            "endpoint": endpoint,
            "completion_window": "24h",
            "metadata": {self._MARK: note.batch},
        }
        return self._state(await self._get("/batches", _OpenAIBatch, msgspec.json.encode(wanted)))

    async def look(self, remote: str) -> BatchState:
        return self._state(await self._get(f"/batches/{remote}", _OpenAIBatch))

    async def find(self, note: BatchNote) -> list[BatchState]:
        """Batches that may be the one that was about to be sent when it was recorded."""
        if not note.file:
            return []
        after = ""
        while True:
            page = await self._get(f"/batches?limit=100{after}", _OpenAIList)
            for each in page.data:
                if (each.metadata or {}).get(self._MARK) == note.batch:
                    return [self._state(each)]
            if not (page.has_more and page.data):
                return []
            after = f"&after={page.data[-1].id}"

    async def abandon(self, note: BatchNote) -> None:
        """Keep a batch that was not found from starting later: without the file it has nothing to do."""
        if not note.file:
            return
        try:
            await self._send(f"/files/{note.file}", method="DELETE")
        except CallFailed as failed:
            if failed.status != 404:
                raise

    def read(self, line: bytes, hide: Hide) -> tuple[str, BatchOutcome]:
        found = self._decode(line, _OpenAILine)
        answer = found.response
        if answer and answer.status_code < 300:
            return found.custom_id, bytes(answer.body)
        if answer:
            error = read_error(bytes(answer.body))
            return found.custom_id, refusal(self._who, answer.status_code, {}, error, hide)
        fault = found.error or _Fault()
        if fault.code in _UNANSWERED:
            return found.custom_id, unanswered(self._who, fault.code or "")
        error = read_error_value({"error": msgspec.to_builtins(fault)})
        return found.custom_id, refusal(self._who, 200, {}, error, hide)

    def _state(self, batch: _OpenAIBatch) -> BatchState:
        counts = batch.request_counts or _Counts()
        files = filter(None, (batch.output_file_id, batch.error_file_id))
        fault = ((batch.errors.data if batch.errors else None) or [_Fault()])[0]
        where = f"line {fault.line}: " if fault.line is not None else ""
        why = f"{where}{(fault.message or fault.code or 'no reason given').rstrip('.')}"
        full = fault.code == "token_limit_exceeded"
        failed = CallFailed(
            Failure.RATE_LIMIT if full else Failure.BAD_REQUEST,
            f"{self._who} did not take the batch: {why}",
        )
        return BatchState(
            remote=batch.id,
            ended=batch.status in self._ENDED,
            done=counts.completed + counts.failed,
            outputs=tuple(f"/files/{each}/content" for each in files),
            failed=failed if batch.status == "failed" else None,
        )


class _AnthropicBatch(Struct):
    id: str
    processing_status: str
    request_counts: _Counts
    created_at: datetime
    results_url: str | None = None


class _AnthropicList(Struct):
    data: list[_AnthropicBatch]
    has_more: bool = False
    last_id: str | None = None


class _AnthropicResult(Struct):
    type: str
    message: msgspec.Raw = msgspec.Raw(b"{}")
    error: Any = None


class _AnthropicLine(Struct):
    custom_id: str
    result: _AnthropicResult


class AnthropicBatches(_Interface):
    """Requests are sent with the batch, which can have no name of ours: its results show whose it is."""

    max_requests = 100_000
    max_bytes = 256_000_000
    finds_by_name = False
    _PATH = "/v1/messages/batches"

    def line(self, item: str, endpoint: str, body: bytes) -> bytes:  # noqa: ARG002
        return msgspec.json.encode({"custom_id": item, "params": msgspec.Raw(body)})

    async def upload(self, name: str, lines: Sequence[bytes]) -> str:  # noqa: ARG002
        return ""

    async def abandon(self, note: BatchNote) -> None:
        """There is no such step."""

    async def create(
        self,
        note: BatchNote,  # noqa: ARG002
        endpoint: str,  # noqa: ARG002
        lines: Sequence[bytes],
    ) -> BatchState:
        body = b'{"requests":[%b]}' % b",".join(lines)
        return self._state(await self._get(self._PATH, _AnthropicBatch, body))

    async def look(self, remote: str) -> BatchState:
        return self._state(await self._get(f"{self._PATH}/{remote}", _AnthropicBatch))

    async def find(self, note: BatchNote) -> list[BatchState]:
        """Batches of the same size that were created since; the newest are listed first."""
        since, found, after = note.at - _CLOCK_ERROR, list[BatchState](), ""
        while True:
            page = await self._get(f"{self._PATH}?limit=1000{after}", _AnthropicList)
            for each in page.data:
                if each.created_at.timestamp() < since:
                    return found
                if sum(msgspec.structs.astuple(each.request_counts)) == note.size:
                    found.append(self._state(each))
            if not (page.has_more and page.last_id):
                return found
            after = f"&after_id={page.last_id}"

    def read(self, line: bytes, hide: Hide) -> tuple[str, BatchOutcome]:
        found = self._decode(line, _AnthropicLine)
        result = found.result
        if result.type == "succeeded":
            return found.custom_id, bytes(result.message)
        if result.type == "errored":
            error = read_error_value(result.error)
            return found.custom_id, refusal(self._who, 200, {}, error, hide)
        return found.custom_id, unanswered(self._who, result.type)

    def _state(self, batch: _AnthropicBatch) -> BatchState:
        counts = batch.request_counts
        ended = batch.processing_status == "ended"
        return BatchState(
            remote=batch.id,
            ended=ended,
            done=sum(msgspec.structs.astuple(counts)) - counts.processing,
            # Asked for at the server that we were given: a key goes nowhere else.
            outputs=(f"{self._PATH}/{batch.id}/results",) if ended and batch.results_url else (),
        )


BATCH_INTERFACES: dict[BatchKind, type[OpenAIBatches | AnthropicBatches]] = {
    "openai": OpenAIBatches,
    "anthropic": AnthropicBatches,
}
