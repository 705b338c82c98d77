"""A service answers every request, also one over which it fails, and ends with its client."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest

from autoreason.errors import InvalidInput, ProviderFailed
from autoreason.programs.assignment import Observed, Probe
from autoreason.programs.examiner import service
from autoreason.programs.examiner.client import (
    ExaminerClient,
    ObserveReply,
    ObserveRequest,
    OpenReply,
    OpenRequest,
    client_decoder,
    examiner_decoder,
)
from autoreason.programs.examiner.service import ErrorReply, encode_frame, read_frame


class Scripted:
    """Fails over requests with an odd number."""

    opened = OpenReply(digest="d", assignments=(), broken=(), level="none")

    def __init__(self) -> None:
        self.closed = False

    async def answer(self, request: ObserveRequest) -> ObserveReply:
        """An empty answer."""
        if request.number % 2:
            raise KeyError("wrong")
        return ObserveReply(number=request.number, result=Observed(observations=(), level="none"))

    async def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True


async def exchange(open_: Callable[[Any], Scripted], *requests: object) -> list[Any]:
    """What a service replies to an opening and to requests, before the client disconnects."""
    local, remote = socket.socketpair()
    serving = asyncio.create_task(service._serve(remote, client_decoder, open_))
    reader, writer = await asyncio.open_connection(sock=local)
    replies = []
    for message in (OpenRequest(digest="d"), *requests):
        writer.write(encode_frame(message))
        replies.append(await read_frame(reader, examiner_decoder))
    writer.close()
    await serving
    return replies


async def test_a_request_that_fails_is_answered_and_the_next_one_as_well() -> None:
    served = Scripted()
    probe = Probe(problem="p", program="", inputs=())
    requests = [ObserveRequest(number=number, probe=probe) for number in (1, 2)]
    opened, failed, answered = await exchange(lambda _: served, *requests)
    assert opened == served.opened
    assert failed == ErrorReply(number=1, message="KeyError: 'wrong'", user_error=False)
    assert answered.number == 2
    assert served.closed


async def test_what_cannot_be_opened_is_refused_in_the_words_of_its_error() -> None:
    def refuse(_: OpenRequest) -> Scripted:
        raise InvalidInput("there is no such set; name another")

    (reply,) = await exchange(refuse)
    assert reply == ErrorReply(message="there is no such set; name another")


def test_only_what_a_user_can_change_is_the_users_error() -> None:
    client = ExaminerClient(OpenRequest())
    own, others = (ErrorReply(message="m", user_error=user) for user in (True, False))
    assert isinstance(client._error_of(own), InvalidInput)
    with pytest.raises(ProviderFailed, match="the examiner failed: m"):
        raise client._error_of(others)
