"""Suites on a Ray cluster whose nodes come, go and are killed: the same end, within the same limits."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests import patience
from tests.artifacts.evaluating import needs_jail
from tests.run.counting_server import ADDRESS, CountingServer
from tests.run.suites import run_suite, write_knob
from tests.run.test_lab_kills import asked_again, results

from autoreason.errors import InvalidInput
from autoreason.journal import Journal
from autoreason.run import workers
from autoreason.run.result import StudyResult
from autoreason.settings import Budget
from autoreason.studies.lab_report import LabReport

# Not imported before it is used: every process that collects tests would take half a second more.
if find_spec("ray") is None:
    pytest.skip("needs Ray; install autoreason[ray]", allow_module_level=True)
# Its types are not all to be had.
module: Callable[[str], Any] = import_module

pytestmark = [
    pytest.mark.filterwarnings("default"),
    # On a busy machine it takes minutes until a node of a cluster can be used.
    pytest.mark.timeout(1200),
]


class Nodes:
    """A cluster of several nodes on this machine; nothing that is run there needs a processor of its own."""

    def __init__(self) -> None:
        few = {"include_dashboard": False, "include_log_monitor": False, "no_monitor": True}
        self._small = {"num_cpus": 0, "object_store_memory": 80 * 2**20, **few}
        # Else it takes Ray half a minute to notice that a node is gone.
        soon = {
            "health_check_initial_delay_ms": 0,
            "health_check_period_ms": 500,
            "health_check_failure_threshold": 3,
        }
        self._cluster = module("ray.cluster_utils").Cluster(
            initialize_head=True,
            head_node_args={**self._small, "_system_config": soon},
            shutdown_at_exit=False,
        )
        self.address: str = self._cluster.address

    def add(self) -> Any:
        """Another node, once Ray may place something there."""
        node = self._cluster.add_node(wait=False, **self._small)
        state = module("ray._private.state")
        patience.until(lambda: node.node_id in state.available_resources_per_node())
        return node

    def kill(self, node: Any) -> None:
        self._cluster.remove_node(node, allow_graceful=False)

    def actors(self, kind: str) -> list[int]:
        return [
            each["Pid"]
            for each in module("ray._private.state").actors().values()
            if each["ActorClassName"] == kind and each["State"] == "ALIVE"
        ]

    def close(self) -> None:
        self._cluster.shutdown()


def start_patiently() -> Nodes:
    """A cluster, at the third try at the latest."""
    for _ in range(2):
        with suppress(Exception):
            return Nodes()
    return Nodes()


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """A cluster with one node so far, to which this process is connected."""
    with pytest.MonkeyPatch.context() as patch:
        # Like another machine, its nodes have a folder of their own.
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("nodes")))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        # Else Ray writes one into the user's folder.
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
        # On a busy machine Ray's own patience of half a minute may not be enough.
        patch.setenv("RAY_gcs_server_port_wait_time_s", "120")
        nodes = start_patiently()
        try:
            module("ray").init(address=nodes.address, log_to_driver=False)
            yield nodes
        finally:
            module("ray").shutdown()
            nodes.close()


@pytest.fixture(scope="module")
def all_tests(pytestconfig: pytest.Config) -> None:
    """Skip what takes long, unless it was asked for."""
    if not pytestconfig.getoption("--all"):
        pytest.skip("starts many processes; --all runs it")


class Whole(NamedTuple):
    """A suite that nothing happens to."""

    asked: Counter[bytes]
    results: tuple[object, ...]
    pairs: object


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """The same suite in one process, recorded in a file."""
    folder = tmp_path_factory.mktemp("whole")
    url = str(folder / "journal.db")

    async def run() -> Whole:
        async with CountingServer(delay=0).serving() as server:
            with Journal.open(url, create=True) as journal:
                result = await run_suite(folder, journal, model=ADDRESS, base_url=server.url)
            return Whole(server.asked, results(url), result.report.pairs)

    return asyncio.run(run())


async def run_on(
    nodes: Nodes, server: CountingServer, folder: Path, journal: Journal, **options: Any
) -> StudyResult[LabReport]:
    """The usual suite, on two workers unless other options are given."""
    options = {"workers": 2, "parallel": 6, **options}
    return await run_suite(
        folder, journal, model=ADDRESS, base_url=server.url, ray=nodes.address, **options
    )


async def until(
    happened: Callable[[], object], running: asyncio.Task[StudyResult[LabReport]] | None = None
) -> None:
    """Wait for something while a suite runs."""
    async with asyncio.timeout(3 * patience.PATIENCE):
        while not happened():
            assert running is None or not running.done(), running.result()
            await asyncio.sleep(0.02)


async def kill_one(nodes: Nodes, kind: str) -> None:
    """SIGKILL to an actor of a class, once there is one that lives."""
    await until(partial(nodes.actors, kind))
    for process in nodes.actors(kind)[:1]:
        # It may have died in this moment.
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


async def test_a_suite_whose_nodes_come_and_go_ends_like_the_unbroken_one(
    tmp_path: Path,
    postgres_url: str,
    nodes: Nodes,
    whole: Whole,
) -> None:
    first = nodes.add()
    async with CountingServer(delay=0).serving() as server:
        with Journal.open(postgres_url, create=True) as journal:
            limit = Budget(calls=whole.asked.total())
            running = asyncio.create_task(run_on(nodes, server, tmp_path, journal, budget=limit))

            async def answer(number: int) -> None:
                """Let the suite come so far, with calls in flight."""
                server.answers = number
                await until(lambda: server.answered == number and server.inside, running)

            await answer(3)
            await until(lambda: len(nodes.actors("CellActor")) == 2, running)
            await asyncio.to_thread(nodes.add)
            await asyncio.to_thread(nodes.kill, first)
            await answer(20)
            await kill_one(nodes, "CellActor")
            server.answers = inf
            result = await running
        assert result.status == "done"
        assert result.report.pairs == whole.pairs
        assert results(postgres_url) == whole.results
        assert asked_again(postgres_url) == 0
        # Those in flight when the node was killed, and when the worker was killed.
        assert server.beyond(whole.asked) <= 2 * server.most


SOLUTION = "```python\nprint(2 * int(input()))\n```"
PROPOSAL = "HYPOTHESIS: more is better\nEXPECTED: +4\n\nknob.txt\n```\nknob = 5\n```\n"
PROGRAMS = """\
name: programs
tasks: {first: {problems: set.jsonl, ids: [p1]}, second: {problems: set.jsonl, ids: [p2]}}
arms: {search: {strategy: search, calls: 3}}
measures: [passed]
"""
KNOBS = """\
name: knobs
tasks: {knob: {research: task.md}}
arms: {race: {strategy: race, evaluations: 16, patience: 2}}
repeats: 2
measures: [value]
"""


@needs_jail
@pytest.mark.usefixtures("all_tests")
@pytest.mark.parametrize(
    ("text", "says", "measure", "mean"),
    [(PROGRAMS, SOLUTION, "passed", 1.0), (KNOBS, PROPOSAL, "value", 5.0)],
    ids=["problems", "research"],
)
async def test_sets_of_problems_and_research_need_nothing_from_the_machine_that_started_them(
    tmp_path: Path,
    postgres_url: str,
    nodes: Nodes,
    text: str,
    says: str,
    measure: str,
    mean: float,
) -> None:
    problem = {"statement": "Double it.", "public_tests": [["2", "4"]]}
    problems = tmp_path / "set.jsonl"
    problems.write_text("\n".join(json.dumps({**problem, "id": f"p{n}"}) for n in (1, 2)))
    files = [problems, *write_knob(tmp_path)]
    async with CountingServer(delay=0, says=says).serving() as server:
        with Journal.open(postgres_url, create=True) as journal:
            server.answers = 0
            running = asyncio.create_task(run_on(nodes, server, tmp_path, journal, text=text))
            await until(lambda: server.inside, running)
            for each in files:
                each.unlink()
            server.answers = inf
            result = await running
        assert result.status == "done"
        assert [(each.finished, each.means[measure]) for each in result.report.arms] == [(2, mean)]


def test_rays_own_lines_are_not_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    worker = module("ray._private.worker")
    logging_module = module("ray._private.ray_logging")
    monkeypatch.setattr(worker, "_worker_logs_enabled", True)
    # As with RAY_DEDUP_LOGS=0.
    monkeypatch.setattr(logging_module, "RAY_DEDUP_LOGS", False)
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    with pytest.raises(InvalidInput, match="no Ray cluster"):
        workers.connect("127.0.0.1:1")
    line = {"lines": ["Task CellActor.run failed."], "pid": "raylet", "is_err": False}
    worker.print_to_stdstream(line, ignore_prefix=False)
    assert capsys.readouterr() == ("", "")


async def test_what_cannot_run_on_a_cluster_is_refused_in_one_sentence(
    tmp_path: Path, journal: Journal, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"model": "echo/echo", "ray": "127.0.0.1:1"}
    with pytest.raises(InvalidInput, match="Ray needs a journal on a server"):
        await run_suite(tmp_path, journal, **options)
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    with Journal.open(postgres_url, create=True) as server:
        with pytest.raises(InvalidInput, match=r"no Ray cluster is at 127\.0\.0\.1:1"):
            await run_suite(tmp_path, server, **options)
        with pytest.raises(InvalidInput, match="no Ray cluster is at ray://head"):
            await run_suite(tmp_path, server, **{**options, "ray": "ray://head:10001"})
        with pytest.raises(InvalidInput, match="leave `ray` out"):
            await run_suite(tmp_path, server, ray="local")
        monkeypatch.setitem(sys.modules, "ray", None)
        with pytest.raises(InvalidInput, match=r"pip install '\.\[ray\]'"):
            await run_suite(tmp_path, server, **options)
        assert not server.runs()
