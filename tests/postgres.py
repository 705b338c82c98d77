"""A PostgreSQL server of the tests' own: one for all workers, started by the first that needs it."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tools.postgres import Server, find_program

_RUN = "AUTOREASON_TEST_RUN"
"""The process that started the tests."""


def shared_server() -> Server:
    """The server that all workers of a test run share."""
    # Not in pytest's folder, which is closed to the user that the server is run as.
    return Server(Path(tempfile.gettempdir(), f"autoreason-postgres-{os.environ[_RUN]}"))


def pytest_configure() -> None:
    """Workers inherit the number of the process that started them."""
    os.environ.setdefault(_RUN, str(os.getpid()))


def pytest_unconfigure() -> None:
    """Stop the server, however the tests have ended."""
    if os.environ.get(_RUN) == str(os.getpid()):
        shared_server().remove()


@contextmanager
def _alone(server: Server) -> Iterator[None]:
    with Path(f"{server.folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def skip_without_server() -> None:
    """Skip a test where there is no server, or no driver."""
    pytest.importorskip("psycopg", reason="needs psycopg; install autoreason[postgres]")
    if find_program("initdb") is None:
        pytest.skip("needs PostgreSQL, Debian's `postgresql`")


@pytest.fixture(scope="session")
def postgres() -> Server:
    """The server, started; it is stopped when all tests have ended."""
    skip_without_server()
    server = shared_server()
    with _alone(server):
        if not (server.data / "postmaster.pid").exists():
            server.begin()
    return server


@pytest.fixture
def own_server(postgres: Server) -> Iterator[Server]:
    """A server that no other test uses, and that may be stopped."""
    server = Server(Path(f"{postgres.folder}-{os.getpid()}"))
    server.begin()
    yield server
    server.remove()


@pytest.fixture
def postgres_url(postgres: Server) -> str:
    return postgres.create()
