"""A model reached over HTTP, in any of the wire formats."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from difflib import get_close_matches

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from autoreason.errors import CallFailed, Failure
from autoreason.exchange import REPEATS, OnSignal, Outcome, Reply, Request, TextArrived
from autoreason.models import dialects, providers
from autoreason.models.failures import ErrorReply, Refused, read_error, refusal
from autoreason.models.providers import Provider, Quirks, Secret, learn, no_batches
from autoreason.models.transport import (
    LOG,
    ErrorEvent,
    HttpCall,
    SseParser,
    Transport,
    UnstreamedBody,
    current_call,
)


class Check(Struct, frozen=True, kw_only=True):
    """What is known about a model without spending a token; None where it is not known."""

    address: str
    reachable: bool | None = None
    key_sent: bool | None = None
    key_accepted: bool | None = None
    model_known: bool | None = None
    problem: str = ""


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
        self.address = address
        self._model = address.partition("/")[2]
        self._provider = provider
        self._base = base
        self._dialect = dialects.find_dialect(provider.dialect)
        self._headers = self._dialect.headers(key)
        self._has_key = key is not None
        self._batch = batch
        self._owned = transport is None or batch
        self._transport = transport or Transport()
        self.quirks = replace(provider.quirks_of(self._model, base), no_stream=batch)
        self._repeats = False

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Answer one request; streamed with `on_signal`, except for judges, or where the text must be watched."""
        listener = None if request.role == "judge" else on_signal
        if listener is None and self._repeats:
            listener = lambda _: None  # noqa: E731
        started = time.perf_counter()
        while True:
            quirks = self.quirks
            try:
                reply = await self._ask_once(request, quirks, listener)
                break
            except Refused as refused:
                if refused.provider_error.refused:
                    why, model = str(refused), self.address
                    reply = Reply(outcome=Outcome.REFUSED, text="", model=model, finish=why)
                    break
                learned = learn(quirks, refused, request, listener is not None)
                if not learned:
                    raise
                LOG.info("%sagain with %s", current_call(), ", ".join(learned))
                self.quirks = replace(self.quirks, **learned)
        known = self._provider.quirks_of(self._model, self._base)
        refused_schema = bool(request.schema) and self.quirks.no_schema and not known.no_schema
        reply = dialects.check_repetition(reply)
        # A model that did it once does it again, and only a stream can be left early.
        self._repeats = self._repeats or reply.finish == REPEATS
        usage, cost = dialects.credible(reply.usage, reply.text), reply.cost
        if cost is None:
            cost = providers.price(self.address, usage, batch=self._batch)
        return replace(
            reply,
            usage=usage,
            cost=cost,
            seconds=time.perf_counter() - started,
            schema_refused=refused_schema,
        )

    async def check(self, transport: Transport) -> Check:
        """Whether it can be reached, takes our key and exists, and its server batches; asks it nothing."""
        try:
            found = await self._get(self._dialect.models_path, transport)
            listed = self._dialect.read_models(found)
            if self._batch and not await self._takes_batches(transport):
                problem = str(no_batches(self.address))
                return Check(address=self.address, reachable=False, problem=problem)
        except (CallFailed, msgspec.DecodeError) as error:
            if not isinstance(error, CallFailed):
                what = f"{self._provider.name} sent a list of models that cannot be read"
                error = CallFailed(Failure.BROKEN_REPLY, what)
            # Any answer shows that the server is there, unless it is a redirect to another one.
            answered = error.status is not None and not 300 <= error.status < 400
            return Check(
                address=self.address,
                reachable=answered or error.failure in (Failure.BROKEN_REPLY, Failure.BAD_REQUEST),
                key_accepted=False if error.failure is Failure.BAD_KEY else None,
                problem=str(error),
            )
        known, problem = self._is_offered(listed), ""
        if known is False:
            problem = f"{self._provider.name} does not offer a model {self._model!r}"
            if close := get_close_matches(self._model, listed, n=3):
                problem += f"; close to it: {', '.join(close)}"
        return Check(
            address=self.address,
            reachable=True,
            key_sent=self._has_key,
            key_accepted=True if self._has_key and not self._provider.open_list else None,
            model_known=known,
            problem=problem,
        )

    async def _get(self, path: str, transport: Transport) -> bytes:
        call = HttpCall(who=self._provider.name, url=self._base + path, headers=self._headers)
        return await transport.fetch(call)

    async def _takes_batches(self, transport: Transport) -> bool:
        path = "/batches" if self._provider.batch == "openai" else "/v1/messages/batches"
        try:
            await self._get(f"{path}?limit=1", transport)
        except CallFailed as failed:
            return failed.status not in (404, 405)
        return True

    def _is_offered(self, listed: list[str]) -> bool | None:
        """Whether the model is among those listed; None where a server may have more than it lists."""
        name = self._model.removeprefix("models/")
        # A tag can be left out or added, and an alias means the dated name that is listed.
        dated = f"{name.removesuffix('-0')}-2"
        if not {name, f"{name}:latest", name.partition(":")[0]}.isdisjoint(listed) or any(
            each.startswith(dated) for each in listed
        ):
            return True
        whole = self._provider.local or self._provider.at_home(self._base)
        unlisted = self._provider.unlisted or name.endswith("-latest")
        return False if whole and not unlisted else None

    async def close(self) -> None:
        if self._owned:
            await self._transport.close()

    async def _ask_once(
        self, request: Request, quirks: Quirks, on_signal: OnSignal | None
    ) -> Reply:
        dialect = dialects.find_dialect("openai_responses") if quirks.responses else self._dialect
        streamed = on_signal is not None and not quirks.no_stream
        call = self._call(request, dialect, quirks, streamed=streamed)
        payloads = self._transport.stream(call) if streamed else self._fetch(call)
        try:
            return await read_payloads(payloads, dialect, self.address, request.key, on_signal)
        except ErrorReply as error:
            raise refusal(call.who, 200, {}, error.provider_error, call.hide) from None
        except (dialects.UnreadableReply, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CallFailed(
                Failure.BROKEN_REPLY,
                f"{call.who} sent a reply that cannot be read: {call.hide(str(error))}",
            ) from None

    async def _fetch(self, call: HttpCall) -> AsyncGenerator[bytes, None]:
        """A reply in one piece; some servers stream it without being asked to."""
        events = SseParser()
        for payload in (*events.feed(await self._transport.fetch(call)), *events.end()):
            yield payload

    def _call(
        self, request: Request, dialect: dialects.Dialect, quirks: Quirks, *, streamed: bool
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


async def read_payloads(
    payloads: AsyncGenerator[bytes, None],
    dialect: dialects.Dialect,
    address: str,
    key: str,
    on_signal: OnSignal | None,
) -> Reply:
    """The reply that a stream of events, or one body, adds up to; left early where it repeats itself."""
    reducer, detector = dialect.reducer(), dialects.LoopDetector()
    texts: list[str] = []
    try:
        async with aclosing(payloads):
            async for payload in payloads:
                if isinstance(payload, UnstreamedBody):
                    reply = dialect.read(payload, address)
                    if on_signal:
                        on_signal(TextArrived(key, reply.text))
                    return reply
                if isinstance(payload, ErrorEvent):
                    raise ErrorReply(read_error(payload))
                text = reducer.feed(payload)
                if text and on_signal:
                    texts.append(text)
                    on_signal(TextArrived(key, text))
                    if detector.feed(text):
                        # Its accounts would have come at the end.
                        return Reply(
                            outcome=Outcome.TRUNCATED,
                            text="".join(texts),
                            model=address,
                            finish=REPEATS,
                        )
                if reducer.ended:
                    break
    except CallFailed:
        # A complete text is paid for; only its usage was still to come.
        if not reducer.whole:
            raise
    return reducer.finish(address)
