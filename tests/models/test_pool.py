"""Runs that share a pool share connections, and each key still goes to its own provider alone."""

from __future__ import annotations

import pytest
from tests.cases import cases
from tests.models.asking import request
from tests.models.fake_provider import Answer, FakeProvider, fake_provider, provider

from autoreason.errors import InvalidInput
from autoreason.exchange import Outcome
from autoreason.models.pool import ModelPool, open_model
from autoreason.models.wire import Check, WireModel
from autoreason.run.refine import refine

__all__ = ["provider"]


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "ACME"):
        monkeypatch.setenv(f"{name}_API_KEY", f"sk-{name.lower()}")


@pytest.mark.usefixtures("keys")
async def test_each_key_goes_to_the_server_named_for_its_provider(provider: FakeProvider) -> None:
    async with fake_provider() as other:
        pool = ModelPool({"openai": provider.openai, "anthropic": other.url})
        for address in ("openai/fake-large", "anthropic/fake-small"):
            assert (await pool.check(address)).problem == ""
        await pool.close()
    assert [each.headers["authorization"] for each in provider.requests] == ["Bearer sk-openai"]
    assert [each.headers["x-api-key"] for each in other.requests] == ["sk-anthropic"]


@pytest.mark.usefixtures("keys")
async def test_a_url_alone_serves_one_provider(provider: FakeProvider) -> None:
    pool = ModelPool(provider.openai)
    pool.model("echo/echo")
    for address in ("acme/one", "acme/two"):
        assert (await pool.check(address)).reachable
    with pytest.raises(InvalidInput, match="say whose server it is"):
        pool.model("openai/x")
    await pool.close()
    assert {each.headers["authorization"] for each in provider.requests} == {"Bearer sk-acme"}


@pytest.mark.parametrize("lent", [False, True])
@pytest.mark.usefixtures("keys")
async def test_a_mixed_panel_at_one_url_is_refused_before_anything_is_sent(
    provider: FakeProvider, lent: bool
) -> None:
    pool = ModelPool(provider.openai)
    where = {"pool": pool} if lent else {"base_url": provider.openai}
    with pytest.raises(InvalidInput, match="`base_url` acme=URL"):
        await refine.aio("Write.", "acme/x", judge_models=["openai/y"], **where)
    await pool.close()
    assert provider.requests == []


@pytest.mark.usefixtures("keys")
async def test_a_pool_and_a_base_url_next_to_it_contradict_each_other(
    provider: FakeProvider,
) -> None:
    pool = ModelPool()
    with pytest.raises(InvalidInput, match="a pool has its own servers"):
        await refine.aio("Write.", "acme/x", pool=pool, base_url=provider.openai)
    await pool.close()


@cases(
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
@pytest.mark.usefixtures("keys")
def test_a_key_is_not_sent_unencrypted_to_another_machine(url: str, exposed: bool) -> None:
    open_model("acme/x", base_url=url, allow_http=True)
    open_model("keyless/x", base_url=url)
    if not exposed:
        open_model("acme/x", base_url=url)
        return
    with pytest.raises(InvalidInput, match=r"unencrypted .* set `allow_http`") as caught:
        open_model("acme/x", base_url=url)
    assert "sk-acme" not in str(caught.value)


# From an address to a model


async def test_a_model_is_opened_by_its_address(provider: FakeProvider) -> None:
    model = open_model("openai/gpt-4.1", base_url=f"{provider.url}/~prefix=1/v1")
    assert isinstance(model, WireModel)
    assert model.address == "openai/gpt-4.1"
    reply = await model.ask(request("openai/gpt-4.1"))
    await model.close()
    assert reply.outcome is Outcome.OK
    assert provider.requests[0].path == "/~prefix=1/v1/chat/completions"
    assert provider.bodies[0]["model"] == "gpt-4.1"


async def test_the_echo_is_opened_too_and_has_nothing_to_check() -> None:
    assert open_model("echo/echo").address == "echo/echo"
    with pytest.raises(InvalidInput, match="there is no model 'echo/nope'; it is echo/echo"):
        open_model("echo/nope")
    assert await check("echo/echo") == Check(address="echo/echo")


@cases("address", ["gpt-4.1", "openai/", "/gpt-4.1", "", "mine.py:Mine", "a/mine.py:Mine"])
def test_an_address_without_both_parts_is_explained(address: str) -> None:
    with pytest.raises(InvalidInput, match="provider/model, such as anthropic/"):
        open_model(address)


def test_an_unknown_provider_gets_the_list_and_the_nearest_and_no_key_for_its_spelling() -> None:
    with pytest.raises(InvalidInput) as caught:
        open_model("antropic/claude-sonnet-4-5")
    output = str(caught.value)
    assert "did you mean anthropic/claude-sonnet-4-5?" in output
    assert "openrouter" in output
    with pytest.raises(InvalidInput) as caught:
        open_model("zzz/x")
    assert "did you mean" not in str(caught.value)
    with pytest.raises(InvalidInput, match=r"did you mean openai/x\?"):
        open_model("OpenAI/x", base_url="https://far.example/v1")


async def check(address: str, base_url: str | None = None) -> Check:
    pool = ModelPool(base_url)
    try:
        (found,) = await pool.check_all([address])
        return found
    finally:
        await pool.close()


async def test_a_list_that_cannot_be_read_is_a_broken_reply(provider: FakeProvider) -> None:
    provider.will(Answer(body=b"<html>"))
    checked = await check("openai/x", provider.openai)
    assert (checked.reachable, checked.key_accepted) == (True, None)
    assert "a list of models that cannot be read" in checked.problem


async def test_a_listed_model_checks_well_and_one_that_is_not_gets_the_nearest(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_BASE_URL", provider.openai)
    monkeypatch.setenv("VLLM_API_KEY", "secret")
    assert await check("vllm/fake-large") == Check(
        address="vllm/fake-large",
        reachable=True,
        key_sent=True,
        key_accepted=True,
        model_known=True,
    )
    checked = await check("vllm/fake-larg")
    assert checked.model_known is False
    assert "close to it: fake-large" in checked.problem


@pytest.mark.parametrize(
    ("address", "listed", "known"),
    [
        ("ollama/llama3.2", "llama3.2:latest", True),
        ("ollama/llama3.2:1b", "llama3.2:latest", False),
        ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5-20250929", True),
        ("openrouter/some/model:free", "some/model", True),
        ("llamacpp/any", "/models/file.gguf", None),
        ("openai/behind-a-proxy", "other", None),
        ("gemini/models/flash", "flash", True),
    ],
)
async def test_what_a_list_says_about_a_model(
    provider: FakeProvider, address: str, listed: str, known: bool | None
) -> None:
    provider.models = [listed]
    checked = await check(address, base_url=provider.url)
    assert checked.model_known is known
    assert bool(checked.problem) is (known is False)


async def test_a_key_is_reported_where_it_is_refused_and_not_where_a_list_is_forbidden(
    provider: FakeProvider,
) -> None:
    provider.will(Answer(status=401, body={"error": {"message": "Incorrect API key"}}))
    checked = await check("openai/x", base_url=provider.openai)
    assert (checked.reachable, checked.key_accepted, checked.model_known) == (True, False, None)
    assert "Incorrect API key" in checked.problem
    provider.will(Answer(status=403, body={"error": {"message": "Missing scopes: model.read"}}))
    checked = await check("openai/x", base_url=provider.openai)
    assert (checked.reachable, checked.key_accepted, checked.model_known) == (True, None, None)
    assert checked.problem == "openai answered 403: Missing scopes: model.read"


@pytest.mark.parametrize(
    ("address", "steps"), [("echo/echo", 2), ("ollama/x", 9), ("local/smollm2", 16)]
)
def test_calls_of_panels_take_as_many_steps_as_their_provider_allows(
    address: str, steps: int
) -> None:
    pool = ModelPool()
    pool.model(address)
    assert (pool.steps(16), pool.steps(0)) == (steps, 0)
