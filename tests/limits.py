"""No test hangs for ever: what its time-out cannot end ends with the process, which first says where it was.

pytest-timeout raises once. That is not enough where the teardown hangs as well, where the event loop catches what
is raised in one of its callbacks, or where no line of Python is reached.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from typing import Protocol

import pytest


class _Settings(Protocol):
    timeout: float


_LATER = 1.5
"""Of its limit a test has, and once more what comes after a failure, before the process is ended."""
_EXIT = 60.0
"""Seconds that threads may take to end after the last test."""
_LIMIT = pytest.StashKey[float]()
_STDERR = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep the terminal, which is not to be had while output is captured."""
    assert sys.__stderr__
    config.stash[_STDERR] = os.dup(sys.__stderr__.fileno())


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: _Settings) -> None:
    """Learn the limit of a test, and leave the rest to pytest-timeout."""
    item.stash[_LIMIT] = _LATER * settings.timeout


def _watch(item: pytest.Item) -> None:
    if limit := item.stash.get(_LIMIT, None):
        faulthandler.dump_traceback_later(limit, exit=True, file=item.config.stash[_STDERR])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Watch the test from its first fixture until its event loop has ended."""
    _watch(item)


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """Watch anew what comes after a failure, where pytest itself has stopped the watch."""
    if isinstance(node, pytest.Item):
        _watch(node)


def pytest_runtest_logfinish() -> None:
    """It has ended."""
    faulthandler.cancel_dump_traceback_later()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Watch the process end."""
    faulthandler.dump_traceback_later(_EXIT, exit=True, file=config.stash[_STDERR])
