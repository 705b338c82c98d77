"""The guard in conftest.py: tests reach loopback and nothing else."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest

ELSEWHERE = "192.0.2.1"
"""An address reserved for documentation: nobody answers there."""


@pytest.mark.parametrize("method", ["connect", "connect_ex"])
def test_a_socket_cannot_leave_the_machine(method: str) -> None:
    with socket.socket() as sock, pytest.raises(RuntimeError, match=ELSEWHERE):
        getattr(sock, method)((ELSEWHERE, 80))


@pytest.mark.parametrize("host", ["example.com", b"example.com", ELSEWHERE, "2001:db8::1"])
def test_no_name_is_looked_up(host: str | bytes) -> None:
    with pytest.raises(RuntimeError, match="may not reach the network"):
        socket.getaddrinfo(host, 443)


async def test_asyncio_cannot_leave_the_machine_either() -> None:
    for host in (ELSEWHERE, "example.com"):
        with pytest.raises(RuntimeError, match=host):
            await asyncio.open_connection(host, 443)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_server_on_loopback_can_be_reached(host: str) -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        reader, writer = await asyncio.open_connection(host, server.sockets[0].getsockname()[1])
        assert await reader.read() == b"hello"
        writer.close()
        await writer.wait_closed()


def test_tests_have_folders_of_their_own_and_no_keys(tmp_path: Path) -> None:
    for variable in ("AUTOREASON_JOURNAL", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        assert Path(os.environ[variable]).is_relative_to(tmp_path)
    assert not [name for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL"))]
    assert "OLLAMA_HOST" not in os.environ
