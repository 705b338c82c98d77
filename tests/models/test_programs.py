"""Programs as models: what the real ones send (recorded; with `--all` anew), and how fake ones fail."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.cases import cases
from tests.conftest import DATA
from tests.models import real_programs
from tests.models.alone import alone

from autoreason import refine
from autoreason.errors import AutoreasonError, CallFailed, Failure, InvalidInput, ProviderFailed
from autoreason.exchange import Message, Outcome, Reply
from autoreason.models.pool import Destination, ModelPool, destination
from autoreason.models.programs import PROGRAMS, ProgramModel
from autoreason.settings import BY_PROGRAM

REQUEST = real_programs.request(Path("/nowhere"), shaped=False)
CLAUDE = "claude-code/sonnet"


def recorded(program: str) -> Any:
    return json.loads((DATA / f"programs/{program}.json").read_text())


def check_sent(program: str, found: Any, folder: str) -> None:
    """What a program sent: ours, all of ours, and next to nothing of its own."""
    free, shaped = found["sent"]
    for body in (free, shaped):
        text = json.dumps(body)
        assert "CANARY" not in text
        assert "SYSTEM-OF-OURS" in text
        assert real_programs.PROMPT.format(folder=folder) in text
        assert len(text) < 3500
    calls = {"claude-code": ["StructuredOutput"], "codex": [], "gemini-cli": []}[program]
    tools = shaped.get("tools") or [{}]
    declared = tools[0].get("functionDeclarations", [each for each in tools if each])
    assert [each["name"] for each in declared] == calls
    assert not [each for each in shaped.get("input", []) if each.get("tools")]
    first, second = found["replies"]
    assert first["text"] == "an answer"
    assert first["outcome"] == "ok"
    assert {"input": 1020, "output": 500, "cache_read": 20}.items() <= first["usage"].items()
    assert (first["cost"] is None) == (program != "claude-code")
    if PROGRAMS[program].takes_schema:
        assert json.loads(second["text"]) == real_programs.ANSWER
        assert '"additionalProperties": false' in json.dumps(shaped)
    else:
        assert "As JSON." in json.dumps(shaped)
    assert "SOME_API_KEY" not in found["environment"]
    assert "PROMPT-OF-OURS" not in str(found["arguments"])
    assert found["keeps"] == []


def steady(arguments: list[str]) -> list[str]:
    return [re.sub(r'="?/[^" ]*/([\w.]+)"?', r"=\1", each) for each in arguments]


@cases("program", BY_PROGRAM)
def test_what_was_sent_is_lean(program: str) -> None:
    found = recorded(program)
    check_sent(program, found, found["folder"])


@pytest.mark.slow
@cases("program", BY_PROGRAM)
def test_the_real_program_sends_it(program: str, tmp_path: Path) -> None:
    folder = tmp_path / program
    found = alone("tests.models.real_programs", program, folder) | {"folder": str(folder)}
    if os.environ.get("AUTOREASON_RECORD"):
        (DATA / f"programs/{program}.json").write_text(json.dumps(found) + "\n")
    check_sent(program, found, str(folder))
    before = recorded(program)["arguments"]
    assert [*map(steady, found["arguments"])] == [*map(steady, before)]


# ---- fake programs ------------------------------------------------------------------------------

ANSWERED = {
    "result": "an answer",
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 2},
}


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a program on an otherwise empty PATH, which says its version and then runs a few lines of shell."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "not-theirs")

    def put(body: str, command: str = "claude", version: str = "99.0.0 (Claude Code)") -> Path:
        # Versions are remembered by path, as are catalogs.
        path = tmp_path / "bin" / command
        head = f'PATH=/usr/bin:/bin; [ "$1" = --version ] && echo "{version}" && exit'
        catalog = '[ "$1" = debug ] && echo \'{"models": []}\' && exit'
        path.write_text(f"#!/bin/sh\n{head}\n{catalog}\n{body}\n")
        path.chmod(0o755)
        return path

    return put


def ask(address: str = CLAUDE, *, deadline: float = 60.0, **changes: Any) -> Reply:
    async def once() -> Reply:
        model = ProgramModel(address, deadline=deadline)
        try:
            return await model.ask(replace(REQUEST, **changes))
        finally:
            await model.close()

    return asyncio.run(once())


def says(value: Any) -> str:
    return f"cat > /dev/null; echo '{json.dumps(value)}'"


def test_an_answer_reads_with_what_it_took_and_a_policy_is_a_refusal(install: Any) -> None:
    install(says(ANSWERED | {"total_cost_usd": 0.25}))
    reply = ask()
    assert (reply.text, reply.outcome, str(reply.cost)) == ("an answer", Outcome.OK, "0.25")
    assert (reply.usage.input, reply.usage.output) == (3, 2)
    install(says({"result": " ", "stop_reason": "end_turn"}))
    reply = ask()
    assert (reply.outcome, reply.cost, reply.usage.input) == (Outcome.EMPTY, None, None)
    install(says(ANSWERED | {"stop_reason": "max_tokens"}))
    assert ask().outcome is Outcome.TRUNCATED
    install(says({"is_error": True, "result": "This appears to violate our Usage Policy"}))
    assert ask().outcome is Outcome.REFUSED


def test_it_is_given_the_prompt_and_no_key_in_an_empty_folder(install: Any, tmp_path: Path) -> None:
    install(f"cat > {tmp_path}/in; env > {tmp_path}/env; ls -A > {tmp_path}/ls; {says(ANSWERED)}")
    turn = (Message("assistant", "A draft."), Message("user", "Again — shorter."))
    ask(messages=(*REQUEST.messages, *turn))
    prompt = REQUEST.messages[1].text
    text = (tmp_path / "in").read_text("utf-8")
    assert text == f"{prompt}\n\nYou answered:\n\nA draft.\n\nAgain — shorter."
    assert "not-theirs" not in (tmp_path / "env").read_text()
    assert (tmp_path / "ls").read_text() == ""


@cases(
    ("answer", "failure", "words"),
    [
        ({"result": "Not logged in · Please run /login"}, ProviderFailed, "start `claude` and log"),
        ({"result": "Failed: 401", "api_error_status": 401}, ProviderFailed, "not logged in"),
        ({"result": "You hit your weekly limit · resets 3pm"}, ProviderFailed, "is used up"),
        ({"result": "API Error: 529 busy", "api_error_status": 529}, Failure.OVERLOADED, "busy"),
        ({"result": "slow down", "api_error_status": 429}, Failure.RATE_LIMIT, "slow down"),
        ({"result": "no such model", "api_error_status": 404}, Failure.BAD_REQUEST, "no such"),
        ({"result": "something else"}, Failure.BROKEN_REPLY, "something else"),
    ],
)
def test_no_answer_says_why(install: Any, answer: Any, failure: Any, words: str) -> None:
    install(says({"is_error": True, **answer}))
    with pytest.raises(AutoreasonError, match=words) as caught:
        ask()
    kind = caught.value.failure if isinstance(caught.value, CallFailed) else type(caught.value)
    assert kind is failure


@cases(
    ("address", "body", "words"),
    [
        ("codex/x", says({"type": "turn.failed", "error": {"message": "usage limit"}}), "used up"),
        ("codex/x", "echo 'Please run codex login' >&2; exit 1", "start `codex` and log in"),
        ("gemini-cli/x", "echo 'Please set an Auth method' >&2; exit 41", "start `gemini` and log"),
        (
            "gemini-cli/x",
            """printf 'x\n{"error": {"code": 503, "message": "busy"}}' >&2; exit 144""",
            "answered 503: busy",
        ),
        (CLAUDE, "echo garbage", "a form that is not known"),
        (CLAUDE, says([]), "a form that is not known"),
        (CLAUDE, "echo 'error: unknown option --tools' >&2; exit 1", "a form that is not known"),
        (CLAUDE, "kill -9 $$", "ended with -9"),
    ],
)
def test_each_way_to_fail_has_a_sentence(install: Any, address: str, body: str, words: str) -> None:
    install(body, PROGRAMS[address.partition("/")[0]].command)
    with pytest.raises(AutoreasonError, match=words):
        ask(address)


def test_a_program_that_never_stops_writing_is_ended_where_its_end_is_noticed_late_too(
    install: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = os.waitpid

    def wait_longer(process: int, options: int) -> tuple[int, int]:
        ended = wait(process, options)
        time.sleep(0.2)
        return ended

    monkeypatch.setattr(os, "waitpid", wait_longer)
    install("exec yes")
    with pytest.raises(AutoreasonError, match="failed: it ended with -9"):
        ask(CLAUDE)


def test_what_this_machine_lacks_is_said_before_a_run(install: Any, tmp_path: Path) -> None:
    pool = ModelPool()
    with pytest.raises(
        InvalidInput, match=r"needs Claude Code 2\.1\.197 or newer, and there is no"
    ):
        pool.check_here(CLAUDE)
    path = install("", version="2.0.9 (Claude Code)")
    with pytest.raises(InvalidInput, match=f"{path} is 2.0.9; install it"):
        pool.check_here(CLAUDE)
    install("", "codex", version="codex-cli 1.0.0")
    pool.check_here("codex/x")
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex/AGENTS.md").write_text("Prefer the shorter text.")
    with pytest.raises(InvalidInput, match="no judge would be blind; move it away, or set CODEX"):
        pool.check_here("codex/x")


@cases("how", ["deadline", "stop"])
def test_it_ends_with_its_children(install: Any, tmp_path: Path, how: str) -> None:
    install(f"sleep 600 & echo $! $$ > {tmp_path}/ids; wait")

    async def stop() -> None:
        task = asyncio.ensure_future(ProgramModel(CLAUDE).ask(REQUEST))
        for _ in range(3000):
            await asyncio.sleep(0.01)
            if (tmp_path / "ids").is_file() and (tmp_path / "ids").read_text():
                break
        task.cancel()
        await task

    if how == "deadline":
        with pytest.raises(CallFailed, match="no answer within 1 seconds") as caught:
            ask(deadline=1.0)
        assert caught.value.failure is Failure.TIMEOUT
    else:
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(stop())
    ids = (tmp_path / "ids").read_text().split()
    (tmp_path / "ids").unlink()
    until = time.monotonic() + 10
    while any(map(lives, ids)) and time.monotonic() < until:
        time.sleep(0.01)
    assert not any(map(lives, ids))


@cases("left", ["sleep 600 &", "setsid sleep 600 &", "setsid sh -c 'sleep 0.5; exec yes' &"])
def test_an_answer_does_not_wait_for_what_a_program_leaves_running(
    install: Any, tmp_path: Path, left: str
) -> None:
    own = f"cat > /dev/null; echo '{json.dumps(ANSWERED)}'; {left} echo $! > {tmp_path}/id"
    # More than may be read is not an answer.
    reads = pytest.raises(ProviderFailed) if "yes" in left else nullcontext()
    install(own)
    try:
        with reads:
            assert ask(deadline=30.0).text == "an answer"
    finally:
        with suppress(ProcessLookupError):
            os.kill(int((tmp_path / "id").read_text()), signal.SIGKILL)


def test_an_answer_of_a_thousand_depths_is_one_that_cannot_be_read(install: Any) -> None:
    install("cat > /dev/null; printf '{\"a\":%.0s' $(seq 9000)")
    with pytest.raises(ProviderFailed, match="a form that is not known here"):
        ask()


def lives(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_whole_run_works_and_has_no_price(install: Any) -> None:
    install(says(ANSWERED))
    prepared = refine.prepare("Say hello.", CLAUDE, passes=1, reviewers=0, confirmation=0)
    assert "no price: your own subscription" in str(prepared.estimate())
    assert "an answer" in prepared.run().text
    assert destination(CLAUDE) == Destination("claude-code")


def test_two_run_at_once(install: Any, tmp_path: Path) -> None:
    count = f"touch {tmp_path}/at.$$; ls {tmp_path}/at.* | wc -l >> {tmp_path}/many; sleep 0.2"
    install(f"{count}; rm {tmp_path}/at.$$; {says(ANSWERED)}")

    async def ask_all() -> None:
        pool = ModelPool()
        await asyncio.gather(*(pool.model(CLAUDE).ask(REQUEST) for _ in range(5)))
        await pool.close()

    asyncio.run(ask_all())
    assert max(map(int, (tmp_path / "many").read_text().split())) == 2
