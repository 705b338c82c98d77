"""What holds for every test: no network, no user's folders, no user's keys."""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from collections.abc import Iterator
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from tests.once import FOLDER

if TYPE_CHECKING:
    from autoreason.journal import Journal

# Started in the background, the suite inherits an ignored Ctrl-C, and so would every process that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Compiling all of the tests takes a worker ten seconds, and our sources every process that is started half a second.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

pytest_plugins = ("tests.limits", "tests.postgres")

# Programs are run on Linux; elsewhere texts are tested, and what needs no sandbox.
_PROGRAMS = ["programs", "cli/commands/test_check.py", "cli/commands/test_solve.py"]
collect_ignore = [] if sys.platform == "linux" else _PROGRAMS

DATA = Path(__file__).parent / "data"
_NUMBERS = count()
LONGEST = (
    *("test_lab_ray.py", "test_solve_kills.py", "test_attacks.py", "test_kills.py"),
    *("test_lab_kills.py", "test_batch_kills.py", "test_terminal.py"),
)

# How long an example takes says more of the machine than of the rule.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=20
)
settings.register_profile("all", settings.get_profile("any machine"), max_examples=500)
settings.load_profile("any machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    """What takes long can be asked for."""
    parser.addoption(
        "--all",
        action="store_true",
        help="also the tests that take long: real problems, the embedded model",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Properties are tried on more examples where everything is tested; all processes share a folder."""
    gc.disable()  # Until the tests are collected, none of which is garbage.
    if config.getoption("--all"):
        settings.load_profile("all")
    if FOLDER not in os.environ:
        shared = TemporaryDirectory(prefix="autoreason-tests-")
        config.add_cleanup(shared.cleanup)
        os.environ[FOLDER] = shared.name


def pytest_runtest_setup(item: pytest.Item) -> None:
    """What takes long is left out unless it was asked for."""
    if item.get_closest_marker("slow") and not item.config.getoption("--all"):
        pytest.skip("takes long; --all runs it")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what waits longest, and spare the garbage collector everything that stays until the end."""
    items.sort(key=lambda item: item.path.name not in LONGEST)
    gc.collect()
    gc.freeze()
    gc.enable()


class NetworkReached(RuntimeError):
    """A test tried to leave this machine. Not an OSError: code that retries must not swallow it."""


def _refuse_unless_local(host: object) -> None:
    name = host.decode() if isinstance(host, bytes) else str(host or "localhost")
    try:
        address = ip_address(name.partition("%")[0])
    except ValueError:
        local = name == "localhost"
    else:
        local = address.is_loopback or address.is_unspecified
    if not local:
        raise NetworkReached(f"tests may not reach the network: {name}")


@pytest.fixture(scope="session", autouse=True)
def no_network() -> Iterator[None]:
    """Only loopback and Unix sockets can be reached."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex
    getaddrinfo = socket.getaddrinfo

    def check(sock: socket.socket, address: Any) -> None:
        if sock.family in (socket.AF_INET, socket.AF_INET6):
            _refuse_unless_local(address[0])

    def guarded_connect(self: socket.socket, address: Any) -> None:
        check(self, address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        check(self, address)
        return connect_ex(self, address)

    def guarded_getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        _refuse_unless_local(host)
        return getaddrinfo(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        patch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)
        yield


@pytest.fixture(autouse=True)
def own_environment(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Folders of the test's own and no provider's key."""
    # For the thousands that never look at it, a folder that is neither numbered nor removed before the end.
    if "tmp_path" in request.fixturenames:
        tmp_path = request.getfixturevalue("tmp_path")
    else:
        tmp_path = tmp_path_factory.getbasetemp() / "own" / str(next(_NUMBERS))
        tmp_path.mkdir(parents=True)
    # XDG_CACHE_HOME stays: the embedded model lives there and is too large to fetch again.
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("AUTOREASON_JOURNAL", str(tmp_path / "journal.db"))
    monkeypatch.delenv("AUTOREASON_LOG", raising=False)
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")) or name in ("OLLAMA_HOST", "HF_TOKEN"):
            monkeypatch.delenv(name)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """Empty, and closed afterwards."""
    from autoreason.journal import Journal

    with Journal.open(str(tmp_path / "journal.db"), create=True) as opened:
        yield opened


@pytest.fixture
def evaluator_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Saved evaluators work in the test's process."""
    from tests.artifacts.evaluating import connect_here

    from autoreason.artifacts.evaluators import EvaluatorClient

    monkeypatch.setattr(EvaluatorClient, "connect", connect_here)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of recorded data beside the project; tests that need it are skipped without it."""
    folder = Path(__file__).parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("needs the recorded data in ../shared, beside the project's root")
    return folder


@pytest.fixture(scope="session", params=["tests/data", "../shared"])
def records(request: pytest.FixtureRequest) -> Path:
    """Recorded data: a small sample of our own, and then the large recordings where they are."""
    if request.param == "tests/data":
        return DATA
    folder: Path = request.getfixturevalue("shared")
    return folder
