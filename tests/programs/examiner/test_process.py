"""The examiner is a process of its own: it alone knows the private tests, and nothing is lost where it dies."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
from msgspec import Raw
from tests.closing import closed_after
from tests.patience import PATIENCE
from tests.programs.examiner.made_up import ADDING, SECRET, adding, doubling

import autoreason.programs.examiner.service
from autoreason.errors import InvalidInput, ProviderFailed
from autoreason.files import data_folder
from autoreason.programs.assignment import CodeVerdict, Examination, Observation, Probe
from autoreason.programs.examiner import service
from autoreason.programs.examiner.process import (
    ExaminerClient,
    OpenReply,
    OpenRequest,
    load_set,
    save_set,
)
from autoreason.programs.examiner.service import ServiceCall, ServiceReply, encode_frame, read_frame
from autoreason.programs.problems.problem import encode_set

SLOW = "import time\ntime.sleep(0.6)\n" + ADDING


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return written(tmp_path)


def written(folder: Path) -> Path:
    """A file with two problems, a checker, known solutions, and a broken line."""
    path = folder / "problems.jsonl"
    checker = (
        f"def check(input, output, expected): return output.strip() == expected.strip() # {SECRET}"
    )
    problems = (
        adding(checker="special", checker_program=checker),
        doubling(solution=f"# {SECRET}"),
    )
    path.write_bytes(encode_set(problems) + b'{"id": 3}\n')
    return path


@asynccontextmanager
async def opened(source: Path | str, **options: object) -> AsyncIterator[ExaminerClient]:
    """A client that is closed in the end."""
    client = await ExaminerClient.open(source, workers=1, **options)
    try:
        yield client
    finally:
        await client.close()


def asked(program: str = ADDING, problem: str = "adding", **fields: object) -> Examination:
    usual = {"problem": problem, "program": program, "which": "public"}
    return msgspec.convert(usual | fields, Examination)


def process_of(client: ExaminerClient) -> int:
    assert client._connection is not None
    return client._connection._process.pid


def alive(pid: int) -> bool:
    """Whether there is such a process, other than as a zombie."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def children(pid: int) -> set[int]:
    listed = subprocess.run(
        ["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
    )
    pairs = [tuple(map(int, line.split())) for line in listed.stdout.splitlines()]
    found, last = {pid}, set[int]()
    while found != last:
        last = set(found)
        found |= {child for child, parent in pairs if parent in found}
    return found


async def until(happened: Callable[[], bool]) -> bool:
    for _ in range(int(PATIENCE / 0.05)):
        if happened():
            return True
        await asyncio.sleep(0.05)
    return False


async def gone(pids: set[int]) -> bool:
    return await until(lambda: not any(map(alive, pids)))


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ExaminerClient]:
    async with opened(written(tmp_path_factory.mktemp("set"))) as client:
        yield client


@pytest.mark.asyncio(loop_scope="module")
async def test_it_tells_what_programs_do(client: ExaminerClient) -> None:
    probe = Probe(problem="doubling", program="def double(x): return 2 * x \udc80", inputs=())
    broken = await client.observe(msgspec.structs.replace(probe, inputs=("double(2)",)))
    assert broken.observations == (Observation(failure="runtime_error"),)
    right = Probe(problem="adding", program=ADDING, inputs=("1 2", "2 3"))
    assert [each.value for each in (await client.observe(right)).observations] == ["3", "5"]
    with pytest.raises(InvalidInput, match="no problem 'other'"):
        await client.observe(msgspec.structs.replace(right, problem="other"))


@pytest.mark.asyncio(loop_scope="module")
async def test_it_tells_what_everybody_may_know_and_gives_verdicts_and_nothing_private(
    client: ExaminerClient,
) -> None:
    assert [each.id for each in client.reply.assignments] == ["adding", "doubling"]
    assert [each.private for each in client.reply.assignments] == [1, 0]
    assert [each.line for each in client.reply.broken] == [3]
    assert client.reply.level in ("bubblewrap", "landlock", "seccomp")
    public, private, other, no_text = await asyncio.gather(
        client.examine(asked()),
        client.examine(asked(which="private")),
        client.examine(asked("def double(x): return x", "doubling", every=True)),
        client.examine(asked("print('\ud800', 3)")),
    )
    assert public.verdict is private.verdict is CodeVerdict.ACCEPTED
    assert (other.verdict, other.run) == (CodeVerdict.WRONG_ANSWER, 2)
    assert no_text.verdict is CodeVerdict.WRONG_ANSWER
    assert SECRET not in repr(client.reply.assignments)
    for program in ("print(input())", "raise ValueError(input())", ADDING):
        examined = await client.examine(asked(program, which="private", every=True))
        assert SECRET not in repr(examined)


@pytest.mark.parametrize("only", [(), ("doubling",)])
async def test_a_set_or_a_part_of_it_is_opened_again_by_its_digest_without_the_file(
    source: Path, only: tuple[str, ...]
) -> None:
    async with opened(source, only=only) as client:
        reply = client.reply
        assert [each.id for each in reply.assignments] == [*(only or ("adding", "doubling"))]
    await asyncio.to_thread(source.unlink)
    async with opened(reply.digest) as client:
        assert client.reply.assignments == reply.assignments


async def test_what_cannot_be_used_is_refused_in_a_sentence(source: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="No such file"):
        await ExaminerClient.open(tmp_path / "none.json")
    with pytest.raises(InvalidInput, match="no problem 'other'; there is"):
        await ExaminerClient.open(source, only=("other",))


async def test_where_its_process_dies_what_was_in_flight_is_asked_again(source: Path) -> None:
    async with opened(source) as client:
        waiting = [asyncio.create_task(client.examine(asked(f"{SLOW} # {n}"))) for n in range(3)]
        await asyncio.sleep(0.3)
        first = process_of(client)
        os.kill(first, signal.SIGKILL)
        examined = await asyncio.gather(*waiting)
        assert {each.verdict for each in examined} == {CodeVerdict.ACCEPTED}
        assert process_of(client) != first
        assert [each.line for each in client.reply.broken] == [3]
        assert (await client.examine(asked())).verdict is CodeVerdict.ACCEPTED


async def test_what_it_dies_of_twice_is_not_asked_a_third_time(source: Path) -> None:
    async with opened(source) as client:
        waiting = asyncio.create_task(client.examine(asked("import time\ntime.sleep(60)")))
        for _ in range(2):
            await asyncio.sleep(0.1)
            listening = client._listener
            os.kill(process_of(client), signal.SIGKILL)
            assert await until(lambda: client._listener is not listening)  # noqa: B023
        with pytest.raises(ProviderFailed, match="died twice"):
            await waiting
        assert (await client.examine(asked())).verdict is CodeVerdict.ACCEPTED


async def test_one_that_cannot_be_started_again_fails_all_who_wait(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(source) as client:
        waiting = asyncio.create_task(client.examine(asked(SLOW)))
        await asyncio.sleep(0)
        monkeypatch.setattr(sys, "executable", "/nowhere/python")
        os.kill(process_of(client), signal.SIGKILL)
        with pytest.raises(ProviderFailed, match=r"cannot be started again: .*/nowhere/python"):
            await waiting
    with pytest.raises(ProviderFailed, match=r"cannot be started .*autoreason doctor"):
        await ExaminerClient.open(source)


async def test_one_that_stopped_reading_is_ended_all_the_same(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(autoreason.programs.examiner.service, "_EXIT_SECONDS", 0.1)
    async with opened(source) as client:
        pid = process_of(client)
        os.kill(pid, signal.SIGSTOP)
        waiting = asyncio.create_task(client.examine(asked("#" * (4 << 20))))
        await asyncio.sleep(0)
    with pytest.raises(ProviderFailed, match="closed"):
        await waiting
    assert not alive(pid)


def test_a_loop_that_is_closed_while_it_starts_ends_with_its_process(source: Path) -> None:
    listed = Path("/proc/thread-self/children")
    before = listed.read_text()

    async def examine() -> None:
        async with opened(source) as client:
            await client.examine(asked())

    for turns in range(1, 7):
        closed_after(turns, examine)
        assert listed.read_text() == before


async def test_closing_leaves_no_process_behind(source: Path) -> None:
    async with opened(source) as client:
        waiting = asyncio.create_task(client.examine(asked(SLOW)))
        assert await until(lambda: len(children(process_of(client))) > 1)
        processes = children(process_of(client))
    with pytest.raises(ProviderFailed):
        await waiting
    assert await gone(processes)
    with pytest.raises(ProviderFailed, match="closed"):
        await client.examine(asked())


LEAVING = """
import asyncio, sys
from autoreason.programs.assignment import Examination
from autoreason.programs.examiner.process import ExaminerClient
async def main():
    client = await ExaminerClient.open(sys.argv[1], workers=1)
    asked = Examination(problem="adding", program="while True: pass", which="public")
    task = asyncio.create_task(client.examine(asked))
    await asyncio.sleep(0.3)
    print(client._connection._process.pid, flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


async def test_it_ends_with_its_client_even_where_that_was_killed(source: Path) -> None:
    loop = await asyncio.create_subprocess_exec(
        sys.executable, "-c", LEAVING, str(source), stdout=asyncio.subprocess.PIPE
    )
    assert loop.stdout is not None
    processes = children(int(await loop.stdout.readline()))
    loop.kill()
    await loop.wait()
    assert await gone(processes)


async def test_ctrl_c_in_the_terminal_does_not_reach_it(source: Path) -> None:
    async with opened(source) as client:
        pid = process_of(client)
        assert os.getpgid(pid) != os.getpgid(0)
        os.kill(pid, signal.SIGINT)
        assert (await client.examine(asked())).verdict is CodeVerdict.ACCEPTED
        assert process_of(client) == pid


def test_it_is_given_no_keys_and_hides_its_memory(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a key")

    async def look() -> tuple[bytes, int]:
        async with opened(source) as client:
            folder = Path("/proc", str(process_of(client)))
            return await asyncio.to_thread(_look, folder)

    environment, owner = asyncio.run(look())
    assert b"OPENAI_API_KEY" not in environment
    assert owner == 0, "a process that hides its memory belongs to root in /proc"


def _look(folder: Path) -> tuple[bytes, int]:
    owner = (folder / "mem").stat().st_uid
    try:
        return (folder / "environ").read_bytes(), owner
    except PermissionError:
        return b"", owner


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


async def test_its_memory_stays_flat_over_many_examinations(source: Path) -> None:
    async with opened(source) as client:

        async def examine_many(first: int) -> None:
            programs = (f"print(3)  # {number}" for number in range(first, first + 6))
            await asyncio.gather(*(client.examine(asked(each)) for each in programs))

        await examine_many(0)
        before = resident(process_of(client))
        for round_number in range(1, 4):
            await examine_many(6 * round_number)
        assert resident(process_of(client)) - before < 2 << 20


class Scripted:
    """Fails over programs that are empty."""

    opened = OpenReply(digest="d", assignments=(), broken=(), level="none")

    def __init__(self) -> None:
        self.closed = False
        self.methods = {"observe": (Probe, self.observe)}

    async def observe(self, probe: Probe) -> str:
        if not probe.program:
            raise KeyError("wrong")
        return probe.program

    async def close(self) -> None:
        self.closed = True


async def exchange(
    open_: Callable[[OpenRequest], Scripted], *programs: str
) -> list[ServiceReply | None]:
    """What a service replies to an opening and to calls, before the client disconnects."""
    local, remote = socket.socketpair()
    serving = asyncio.create_task(service._serve(remote, OpenRequest, open_))
    reader, writer = await asyncio.open_connection(sock=local)
    probes = [Probe(problem="p", program=each, inputs=()) for each in programs]
    replies = []
    for number, argument in enumerate((OpenRequest(digest="d"), *probes)):
        writer.write(
            encode_frame(ServiceCall(number, "observe", Raw(msgspec.msgpack.encode(argument))))
        )
        replies.append(await read_frame(reader, ServiceReply))
    writer.close()
    await serving
    return replies


async def test_what_fails_or_cannot_be_opened_is_answered_in_words_and_the_next_call_too() -> None:
    served = Scripted()
    opened, failed, answered = await exchange(lambda _: served, "", "x")
    assert opened == ServiceReply(0, Raw(msgspec.msgpack.encode(served.opened)))
    assert failed == ServiceReply(1, error="KeyError: 'wrong'", user_error=False)
    assert answered == ServiceReply(2, Raw(msgspec.msgpack.encode("x")))
    assert served.closed

    def refuse(_: OpenRequest) -> Scripted:
        raise InvalidInput("there is no such set; name another")

    assert await exchange(refuse) == [ServiceReply(0, error="there is no such set; name another")]


def test_only_what_a_user_can_change_is_the_users_error() -> None:
    client = ExaminerClient(OpenRequest())
    own, others = (ServiceReply(1, error="m", user_error=user) for user in (True, False))
    assert isinstance(client._error_of(own), InvalidInput)
    with pytest.raises(ProviderFailed, match="the examiner failed: m"):
        raise client._error_of(others)


PROBLEMS = (adding(), doubling())


def kept() -> Path:
    [path] = (data_folder() / "problems").iterdir()
    return path


def test_a_set_is_found_again_by_its_digest_for_its_owner_unless_it_was_changed() -> None:
    digest = save_set(PROBLEMS)
    assert load_set(digest) == PROBLEMS
    assert save_set(PROBLEMS) == digest
    assert kept().name == f"{digest}.jsonl"
    save_set(PROBLEMS)
    assert stat.S_IMODE(kept().stat().st_mode) == 0o600
    with pytest.raises(InvalidInput, match="no problems saved"):
        load_set("0" * 64)
    kept().write_bytes(kept().read_bytes().replace(b"their sum", b"their product"))
    with pytest.raises(InvalidInput, match="was changed"):
        load_set(digest)
    kept().write_bytes(b"{")
    with pytest.raises(InvalidInput, match="damaged"):
        load_set(digest)
