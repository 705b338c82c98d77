"""A model reached over HTTP, in any of the wire formats."""

from __future__ import annotations

import time
from contextlib import aclosing

import msgspec
from msgspec.structs import replace

from autoreason.errors import CallFailed, Failure
from autoreason.exchange import (
    REPEATS,
    OnSignal,
    Outcome,
    Reply,
    Request,
    Signal,
    TextArrived,
)
from autoreason.models import prices
from autoreason.models.api_keys import Secret
from autoreason.models.dialects import find_dialect
from autoreason.models.dialects.base import Dialect, UnreadableReply, credible
from autoreason.models.failures import ErrorReply, Refused, read_error, refusal
from autoreason.models.log import LOG, current_call
from autoreason.models.providers import Provider
from autoreason.models.quirks import Quirks, learn
from autoreason.models.repetition import LoopDetector, check_repetition
from autoreason.models.sse import ErrorEvent, SseParser, UnstreamedBody
from autoreason.models.transport import HttpCall, Transport


class WireModel:
    """One model of one provider."""

    def __init__(
        self,
        address: str,
        provider: Provider,
        *,
        base: str,
        key: Secret | None = None,
        transport: Transport | None = None,
        batch: bool = False,
    ) -> None:
        """With `batch`, the transport is the model's own and sends in batches, at half the price."""
        self.address = address
        """`provider/model`."""
        self._model = address.partition("/")[2]
        self._provider = provider
        self._base = base
        self._dialect = find_dialect(provider.dialect)
        self._headers = self._dialect.headers(key)
        self._batch = batch
        self._owned = transport is None or batch
        self._transport = transport or Transport()
        self.quirks = replace(provider.quirks_of(self._model, base), no_stream=batch)
        self._repeats = False

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Answer one request; streamed with `on_signal`, except for judges, or where the text must be watched."""
        listener = None if request.role == "judge" else on_signal
        if listener is None and self._repeats:
            listener = _ignore
        started = time.perf_counter()
        while True:
            quirks = self.quirks
            try:
                reply = await self._ask_once(request, quirks, listener)
                break
            except Refused as refused:
                if refused.provider_error.refused:
                    reply = Reply(
                        outcome=Outcome.REFUSED, text="", model=self.address, finish=str(refused)
                    )
                    break
                learned = learn(quirks, refused, request, listener is not None)
                if not learned:
                    raise
                LOG.info("%sagain with %s", current_call(), ", ".join(learned))
                self.quirks = replace(self.quirks, **learned)
        known = self._provider.quirks_of(self._model, self._base)
        refused_schema = bool(request.schema) and self.quirks.no_schema and not known.no_schema
        reply = check_repetition(reply)
        # A model that did it once does it again, and only a stream can be left early.
        self._repeats = self._repeats or reply.finish == REPEATS
        usage, cost = credible(reply.usage, reply.text), reply.cost
        if cost is None:
            cost = prices.price(self.address, usage, batch=self._batch)
        return replace(
            reply,
            usage=usage,
            cost=cost,
            seconds=time.perf_counter() - started,
            schema_refused=refused_schema,
        )

    async def close(self) -> None:
        """Close the connections, unless they are shared."""
        if self._owned:
            await self._transport.close()

    async def _ask_once(
        self, request: Request, quirks: Quirks, on_signal: OnSignal | None
    ) -> Reply:
        dialect = find_dialect("openai_responses") if quirks.responses else self._dialect
        streamed = on_signal is not None and not quirks.no_stream
        call = self._call(request, dialect, quirks, streamed=streamed)
        try:
            if on_signal is not None and streamed:
                return await self._stream(call, dialect, request.key, on_signal)
            reply = self._read(dialect, await self._transport.fetch(call))
        except ErrorReply as error:
            raise refusal(call.who, 200, {}, error.provider_error, call.hide) from None
        except (UnreadableReply, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CallFailed(
                Failure.BROKEN_REPLY,
                f"{call.who} sent a reply that cannot be read: {call.hide(str(error))}",
            ) from None
        if on_signal is not None:
            on_signal(TextArrived(request.key, reply.text))
        return reply

    def _read(self, dialect: Dialect, body: bytes) -> Reply:
        """A complete reply; some servers stream it without being asked to."""
        events = SseParser()
        payloads = [*events.feed(body), *events.end()]
        if not payloads or isinstance(payloads[0], UnstreamedBody):
            return dialect.read(body, self.address)
        reducer = dialect.reducer()
        for payload in payloads:
            if isinstance(payload, ErrorEvent):
                raise ErrorReply(read_error(payload))
            reducer.feed(payload)
            if reducer.ended:
                break
        return reducer.finish(self.address)

    async def _stream(
        self, call: HttpCall, dialect: Dialect, key: str, on_signal: OnSignal
    ) -> Reply:
        reducer, detector = dialect.reducer(), LoopDetector()
        texts: list[str] = []
        try:
            async with aclosing(self._transport.stream(call)) as payloads:
                async for payload in payloads:
                    if isinstance(payload, UnstreamedBody):
                        reply = dialect.read(payload, self.address)
                        on_signal(TextArrived(key, reply.text))
                        return reply
                    if isinstance(payload, ErrorEvent):
                        raise ErrorReply(read_error(payload))
                    if text := reducer.feed(payload):
                        texts.append(text)
                        on_signal(TextArrived(key, text))
                        if detector.feed(text):
                            # Its accounts would have come at the end.
                            return Reply(
                                outcome=Outcome.TRUNCATED,
                                text="".join(texts),
                                model=self.address,
                                finish=REPEATS,
                            )
                    if reducer.ended:
                        break
        except CallFailed:
            # A complete text is paid for; only its usage was still to come.
            if not reducer.whole:
                raise
        return reducer.finish(self.address)

    def _call(
        self, request: Request, dialect: Dialect, quirks: Quirks, *, streamed: bool
    ) -> HttpCall:
        body = dialect.body(request, self._model, quirks, streamed)
        try:
            encoded = msgspec.json.encode(body)
        except UnicodeEncodeError:
            raise CallFailed(
                Failure.BAD_REQUEST, "the text contains half a character, which cannot be sent"
            ) from None
        return HttpCall(
            who=self._provider.name,
            url=self._base + dialect.path(self._model, streamed),
            headers=self._headers,
            body=encoded,
        )


def _ignore(_: Signal) -> None:
    """Ignores the signals of a streamed reply."""
