"""A service answers every call, also one over which it fails, and ends with its client."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import msgspec
import pytest
from msgspec import Raw

from autoreason.errors import InvalidInput, ProviderFailed
from autoreason.programs.assignment import Probe
from autoreason.programs.examiner import service
from autoreason.programs.examiner.client import ExaminerClient, OpenReply, OpenRequest
from autoreason.programs.examiner.service import Call, Reply, encode_frame, read_frame


class Scripted:
    """Fails over programs that are empty."""

    opened = OpenReply(digest="d", assignments=(), broken=(), level="none")

    def __init__(self) -> None:
        self.closed = False
        self.methods = {"observe": (Probe, self.observe)}

    async def observe(self, probe: Probe) -> str:
        """The program itself."""
        if not probe.program:
            raise KeyError("wrong")
        return probe.program

    async def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True


async def exchange(open_: Callable[[OpenRequest], Scripted], *programs: str) -> list[Reply | None]:
    """What a service replies to an opening and to calls, before the client disconnects."""
    local, remote = socket.socketpair()
    serving = asyncio.create_task(service._serve(remote, OpenRequest, open_))
    reader, writer = await asyncio.open_connection(sock=local)
    probes = [Probe(problem="p", program=each, inputs=()) for each in programs]
    replies = []
    for number, argument in enumerate((OpenRequest(digest="d"), *probes)):
        writer.write(encode_frame(Call(number, "observe", Raw(msgspec.msgpack.encode(argument)))))
        replies.append(await read_frame(reader, Reply))
    writer.close()
    await serving
    return replies


async def test_a_call_that_fails_is_answered_and_the_next_one_as_well() -> None:
    served = Scripted()
    opened, failed, answered = await exchange(lambda _: served, "", "x")
    assert opened == Reply(0, Raw(msgspec.msgpack.encode(served.opened)))
    assert failed == Reply(1, error="KeyError: 'wrong'", user_error=False)
    assert answered == Reply(2, Raw(msgspec.msgpack.encode("x")))
    assert served.closed


async def test_what_cannot_be_opened_is_refused_in_the_words_of_its_error() -> None:
    def refuse(_: OpenRequest) -> Scripted:
        raise InvalidInput("there is no such set; name another")

    assert await exchange(refuse) == [Reply(0, error="there is no such set; name another")]


def test_only_what_a_user_can_change_is_the_users_error() -> None:
    client = ExaminerClient(OpenRequest())
    own, others = (Reply(1, error="m", user_error=user) for user in (True, False))
    assert isinstance(client._error_of(own), InvalidInput)
    with pytest.raises(ProviderFailed, match="the examiner failed: m"):
        raise client._error_of(others)
