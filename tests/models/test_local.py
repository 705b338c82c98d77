"""The embedded model answers like any other, within its limits, and leaves quietly."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE

from autoreason.errors import CallFailed, Failure, InvalidInput
from autoreason.exchange import REPEATS, Message, Outcome, Request, Schema, Signal, TextArrived
from autoreason.models import local
from autoreason.models.local import LocalModel, bounded, pull

RANKINGS = [" > ".join(each) for each in permutations(("KV", "RT", "XM"))]
BALLOT = Schema(
    name="ballot",
    definition={
        "type": "object",
        "properties": {
            "reasoning": {"type": "string"},
            "ranking": {"type": "string", "enum": RANKINGS},
        },
        "required": ["reasoning", "ranking"],
        "additionalProperties": False,
    },
    plain="",
)


def request(text: str, *, key: str = "draft/try/0", **more: Any) -> Request:
    given: dict[str, Any] = {"max_tokens": 24, "temperature": 0.8, "seed": 7, **more}
    return Request(
        role="author", key=key, model="local/smollm2", messages=(Message("user", text),), **given
    )


def need_the_engine() -> None:
    # Looked up, not imported: how it is imported is the model's to decide.
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("needs the `local` extra")


@pytest.fixture(scope="module")
def weights() -> Path:
    """The real weights, fetched once; a machine that cannot fetch them cannot test them."""
    need_the_engine()
    try:
        return pull()
    except InvalidInput as problem:
        pytest.skip(f"the embedded model cannot be fetched here: {problem}")


@pytest.fixture(scope="module")
def model(weights: Path) -> Iterator[LocalModel]:
    """One model for all tests, so that it is loaded once."""
    assert weights.is_file()
    opened = LocalModel("local/smollm2")
    yield opened
    asyncio.run(opened.close())


# Without a model


@pytest.mark.parametrize("address", ["local/llama", "smollm2", "local/", "openai/x.gguf"])
def test_an_unknown_local_model_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match=r"local/smollm2, .*, or local/PATH\.gguf"):
        LocalModel(address)


def test_a_missing_model_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no local model"):
        LocalModel(f"local/{tmp_path}/none.gguf")


def test_a_path_may_start_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.gguf").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert LocalModel("local/~/own.gguf").address == "local/~/own.gguf"


def test_without_the_engine_its_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(InvalidInput, match="run `pip install xllamacpp`"):
        LocalModel("local/smollm2").check()


async def test_without_weights_the_pull_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_the_engine()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(InvalidInput, match="autoreason models pull"):
        await LocalModel("local/smollm2").ask(request("Hello"))


def test_what_has_no_end_in_a_schema_is_given_one() -> None:
    words = {"type": "string", "enum": ["a", "b", "c", "d", "e"]}
    shape = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": {"type": "string"}},
            "short": {"type": "string", "maxLength": 3},
            "word": words,
            "ranking": {"type": "array", "items": words},
            "type": {"type": "string"},
        },
        "required": ["list"],
    }
    assert bounded(shape, max_string=9, max_list=2)["properties"] == {
        "list": {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 9}},
        "short": {"type": "string", "maxLength": 3},
        "word": words,
        "ranking": {"type": "array", "maxItems": 5, "items": words},
        "type": {"type": "string", "maxLength": 9},
    }


class Parrot:
    """An engine that says the same until it is stopped."""

    def __init__(self) -> None:
        self.said = 0

    def handle_chat_completions(
        self, prompt: dict[str, Any], callback: Callable[[dict[str, Any]], bool]
    ) -> None:
        assert "seed" in prompt
        while not callback({"choices": [{"delta": {"content": "The same. "}}]}):
            self.said += 1


async def test_a_model_that_repeats_itself_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_the_engine()
    path, parrot = tmp_path / "own.gguf", Parrot()
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 0))
    monkeypatch.setattr(local, "_engines", local._Engines())
    monkeypatch.setattr(local, "_load", lambda *_: parrot)
    model = LocalModel(f"local/{path}")
    reply = await model.ask(request("Hello"))
    await model.close()
    assert (reply.outcome, reply.finish) == (Outcome.TRUNCATED, REPEATS)
    assert not reply.usage.metered
    assert parrot.said < 500


# With the real one


async def test_text_streams_and_the_same_calls_have_the_same_answers(model: LocalModel) -> None:
    heard: list[Signal] = []
    asked, other = request("Write one sentence about tea."), request("Hello", key="critic/try/0")

    await model.ask(other)
    reply = await model.ask(asked, heard.append)
    await model.ask(other)
    again = await model.ask(asked)

    assert reply.outcome in (Outcome.OK, Outcome.TRUNCATED)
    assert "".join(each.text for each in heard if isinstance(each, TextArrived)) == reply.text
    assert len(heard) > 1
    assert again.text == reply.text
    assert reply.usage.input
    assert reply.usage.output
    assert reply.usage.output <= 24
    assert reply.cost == Decimal(0)


async def test_an_answer_keeps_its_schema_and_comes_to_an_end(model: LocalModel) -> None:
    reply = await model.ask(
        request("Rank the texts KV, RT and XM.", max_tokens=400, temperature=0.3, schema=BALLOT)
    )
    assert reply.outcome is Outcome.OK
    ballot = json.loads(reply.text)
    assert ballot["ranking"] in RANKINGS
    assert len(ballot["reasoning"]) <= 400


async def test_an_answer_cut_off_is_not_a_result(model: LocalModel) -> None:
    reply = await model.ask(request("Count from one to one hundred.", max_tokens=4))
    assert reply.outcome is Outcome.TRUNCATED
    assert reply.usage.output == 4


async def test_a_prompt_that_does_not_fit_is_refused_with_its_size(model: LocalModel) -> None:
    with pytest.raises(CallFailed, match=r"has 9\d\d\d tokens of 8192") as got:
        await model.ask(request("word " * 9000))
    assert got.value.failure is Failure.BAD_REQUEST


async def test_a_schema_that_cannot_be_enforced_is_refused(model: LocalModel) -> None:
    nonsense = Schema(name="x", definition={"type": "nonsense"}, plain="")
    with pytest.raises(CallFailed) as got:
        await model.ask(request("Hello", schema=nonsense))
    assert got.value.failure is Failure.BAD_REQUEST


async def test_chat_markers_in_a_text_are_just_characters(model: LocalModel) -> None:
    plain = await model.ask(request("a b", max_tokens=1))
    cached = await model.ask(request("a <|im_end|> b", max_tokens=1))
    assert plain.usage.input is not None
    assert cached.usage.input is not None
    # As a marker it would be one token; as characters it is several.
    assert cached.usage.input > plain.usage.input + 1


async def test_a_cancelled_call_makes_way_for_the_next(model: LocalModel) -> None:
    begun = asyncio.Event()
    long = asyncio.create_task(
        model.ask(request("Tell a long story.", max_tokens=4000), lambda _: begun.set())
    )
    waiting = asyncio.create_task(model.ask(request("Hello", max_tokens=4000)))
    await begun.wait()
    long.cancel()
    waiting.cancel()
    ended = await asyncio.gather(long, waiting, return_exceptions=True)
    assert [type(each) for each in ended] == [asyncio.CancelledError] * 2

    began = time.monotonic()
    await model.ask(request("Hello", max_tokens=1))
    # Twice 4000 tokens take longer than that on any machine.
    assert time.monotonic() - began < PATIENCE


async def test_two_of_the_same_file_share_one_in_memory(
    model: LocalModel, weights: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link.gguf"
    link.symlink_to(weights)
    await model.ask(request("Hello", max_tokens=1))
    other = LocalModel(f"local/{link}")
    await other.ask(request("Hello", max_tokens=1))
    assert other._engine is model._engine
    await other.close()
    await other.close()
    assert (await model.ask(request("Hello", max_tokens=1))).usage.output == 1


async def test_calls_under_way_when_a_model_is_closed_fail_in_passing(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Apart from the model the other tests share.
    monkeypatch.setattr(local, "_engines", local._Engines())
    link = tmp_path / "link.gguf"
    link.symlink_to(weights)
    model = LocalModel(f"local/{link}")
    begun = asyncio.Event()
    calls = [
        asyncio.create_task(model.ask(request("Tell.", max_tokens=4000), lambda _: begun.set()))
        for _ in range(2)
    ]
    await begun.wait()
    await model.close()
    ended = await asyncio.gather(*calls, return_exceptions=True)
    assert [getattr(each, "failure", each) for each in ended] == [Failure.CONNECTION] * 2


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.gguf"
    path.write_bytes(b"not a model")
    with pytest.raises(InvalidInput, match="not a GGUF model file"):
        LocalModel(f"local/{path}").check()


async def test_a_file_that_ends_too_early_is_refused(weights: Path, tmp_path: Path) -> None:
    path = tmp_path / "half.gguf"
    with weights.open("rb") as whole:
        path.write_bytes(whole.read(4_000_000))
    model = LocalModel(f"local/{path}")
    with pytest.raises(InvalidInput, match="cannot be loaded"):
        await model.ask(request("Hello"))
    await model.close()


SCRIPT = """
import asyncio, sys
from autoreason.exchange import Message, Request
from autoreason.models.local import LocalModel

async def main():
    model = LocalModel("local/smollm2")
    hello = Request(role="author", key="a", model="local/smollm2", max_tokens=LIMIT,
                    messages=(Message("user", "Tell a long story."),))
    await model.ask(hello, lambda _: told())

def told(done=[]):
    if not done:
        print("begun", flush=True)
        done.append(1)

asyncio.run(main())
"""


def run(limit: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT.replace("LIMIT", str(limit))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.usefixtures("weights")
def test_it_prints_nothing_and_need_not_be_closed() -> None:
    with run(8) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (0, "begun\n", "")


@pytest.mark.usefixtures("weights")
def test_ctrl_c_ends_the_process_at_once() -> None:
    started = time.monotonic()
    with run(4000) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert time.monotonic() - began < 10 * (began - started)
    assert process.returncode == -signal.SIGINT
    assert err.rstrip().endswith("KeyboardInterrupt")
