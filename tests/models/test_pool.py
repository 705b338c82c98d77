"""Runs that share a pool share connections, and each key still goes to its own provider alone."""

from __future__ import annotations

import pytest
from tests.models.fake_provider import Answer, FakeProvider, fake_provider, provider

from autoreason.errors import InvalidInput, ProviderFailed
from autoreason.exchange import Message, Request
from autoreason.models.open import open_model
from autoreason.models.pool import ModelPool
from autoreason.run.refine import refine

__all__ = ["provider"]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "ACME"):
        monkeypatch.setenv(f"{name}_API_KEY", f"sk-{name.lower()}")


async def test_each_key_goes_to_the_server_named_for_its_provider(provider: FakeProvider) -> None:
    async with fake_provider() as other:
        pool = ModelPool({"openai": provider.openai, "anthropic": other.url})
        for address in ("openai/fake-large", "anthropic/fake-small"):
            assert (await pool.check(address)).problem == ""
        await pool.close()
    assert [each.headers["authorization"] for each in provider.requests] == ["Bearer sk-openai"]
    assert [each.headers["x-api-key"] for each in other.requests] == ["sk-anthropic"]


async def test_a_url_alone_serves_one_provider(provider: FakeProvider) -> None:
    pool = ModelPool(provider.openai)
    pool.lend("echo/echo")
    for address in ("acme/one", "acme/two"):
        assert (await pool.check(address)).reachable
    with pytest.raises(InvalidInput, match="acme and openai are in use"):
        pool.lend("openai/x")
    await pool.close()
    assert {each.headers["authorization"] for each in provider.requests} == {"Bearer sk-acme"}


@pytest.mark.parametrize("lent", [False, True])
async def test_a_mixed_panel_at_one_url_is_refused_before_anything_is_sent(
    provider: FakeProvider, lent: bool
) -> None:
    pool = ModelPool(provider.openai)
    where = {"pool": pool} if lent else {"base_url": provider.openai}
    with pytest.raises(InvalidInput, match="`base_url` acme=URL"):
        await refine.aio("Write.", "acme/x", judge_models=["openai/y"], **where)
    await pool.close()
    assert provider.requests == []


async def test_a_pool_and_a_base_url_next_to_it_contradict_each_other(
    provider: FakeProvider,
) -> None:
    pool = ModelPool()
    with pytest.raises(InvalidInput, match="a pool has its own servers"):
        await refine.aio("Write.", "acme/x", pool=pool, base_url=provider.openai)
    await pool.close()


async def test_a_block_on_the_way_is_not_blamed_on_the_key(provider: FakeProvider) -> None:
    page = b"<html><title>Attention Required!</title></html>"
    provider.will(Answer(status=403, body=page))
    pool = ModelPool(provider.openai)
    messages = (Message("user", "Write."),)
    asked = Request(role="author", key="k", model="acme/x", messages=messages, max_tokens=9)
    with pytest.raises(ProviderFailed) as caught:
        await pool.lend("acme/x").ask(asked)
    await pool.close()
    assert str(caught.value) == (
        "acme cannot be used from here (acme answered 403: a web page, 'Attention Required!'); "
        "fix that, then `autoreason resume`"
    )


@pytest.mark.parametrize(
    ("url", "exposed"),
    [
        ("http://far.example/v1", True),
        ("HTTP://10.0.0.7:8000/v1", True),
        ("far.example:8000/v1", True),
        ("http://localhost.far.example/v1", True),
        ("https://far.example/v1", False),
        ("http://localhost:8000/v1", False),
        ("http://127.8.8.8/v1", False),
        ("http://[::1]:8000/v1", False),
        ("http://0.0.0.0:8000/v1", False),
    ],
)
def test_a_key_is_not_sent_unencrypted_to_another_machine(url: str, exposed: bool) -> None:
    open_model("acme/x", base_url=url, allow_http=True)
    open_model("keyless/x", base_url=url)
    if not exposed:
        open_model("acme/x", base_url=url)
        return
    with pytest.raises(InvalidInput, match=r"unencrypted .* set `allow_http`") as caught:
        open_model("acme/x", base_url=url)
    assert "sk-acme" not in str(caught.value)
