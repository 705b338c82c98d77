"""What can be fetched is named by the catalog, by an address with its hash, or by the hub."""

from __future__ import annotations

import pytest

from autoreason.errors import InvalidInput
from autoreason.models.catalog import CATALOG, model_file

HASH = "0123456789abcdef" * 4


def test_every_model_of_the_catalog_says_what_it_needs_and_is_good_for() -> None:
    for name, model in CATALOG.items():
        assert model_file(name) is model
        assert all((model.size, model.memory, model.licence, model.good_for, model.title))
        assert len(model.sha256) == 64
        assert model.wheels
        assert all("==" in wheel.requirement for wheel in model.wheels)
        if len(model.wheels) > 1:
            assert model.size
            assert (model.size - 1) // model.part_size == len(model.wheels) - 1


def test_an_address_needs_the_hash_of_what_it_gives() -> None:
    url = "https://example.org/models/Own%20Model-Q4.gguf?download=1"
    with pytest.raises(InvalidInput, match="`sha256`"):
        model_file("https://example.org/x.gguf")
    with pytest.raises(InvalidInput, match="its name must end"):
        model_file(url, HASH)
    own = model_file("https://example.org/models/own-Q4.gguf?download=1", HASH.upper())
    assert (own.file, own.sha256) == ("own-Q4.gguf", HASH)


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
        ("file:///etc/passwd.gguf", HASH),
        ("https://example.org/..", HASH),
        ("https://example.org/.gguf/", HASH),
        ("https://example.org/x.gguf", "abc"),
    ],
)
def test_anything_else_is_refused(source: str, sha256: str) -> None:
    with pytest.raises(InvalidInput):
        model_file(source, sha256)
