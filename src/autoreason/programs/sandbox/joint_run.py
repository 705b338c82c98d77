"""Two programs in two jails that work together: one calls the other over a socket."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

from autoreason.programs.sandbox.base import ProgramRun, Session
from autoreason.programs.sandbox.idle import IdleTimer


async def run_jointly(
    caller: Session, caller_stdin: bytes, callee: Session, callee_stdin: bytes = b""
) -> tuple[ProgramRun, ProgramRun]:
    """Run both until they end; each sees when the other has. The runs of caller and callee."""
    (caller_end, callee_end), idle = socket.socketpair(), IdleTimer()
    with caller_end, callee_end:
        async with asyncio.TaskGroup() as group:
            called = group.create_task(
                callee.run(callee_stdin, channel=callee_end.fileno(), idle=idle)
            )
            calling = group.create_task(
                caller.run(caller_stdin, channel=caller_end.fileno(), idle=idle)
            )
            called.add_done_callback(lambda _: _shut_down(callee_end))
            calling.add_done_callback(lambda _: _shut_down(caller_end))
    return calling.result(), called.result()


def _shut_down(end: socket.socket) -> None:
    """Let the other side see that this one has ended, although a copy of its socket is still open."""
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
