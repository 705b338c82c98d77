"""The table of providers: where they are, and what is known about their models."""

from __future__ import annotations

import copy
import re
import traceback
from base64 import b64encode, urlsafe_b64encode
from datetime import date
from pathlib import Path
from urllib.parse import quote

import click
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.cases import cases

from autoreason.cli.__main__ import cli
from autoreason.errors import InvalidInput
from autoreason.models import examples, providers
from autoreason.models.dialects import find_dialect
from autoreason.models.providers import (
    PROVIDERS,
    SAME_PRICES,
    Quirks,
    Secret,
    find_key,
    key_file,
    snapshot,
)

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
)
SOURCES = sorted((ROOT / "src").rglob("*.py"))

RETIRED = {
    "claude-sonnet-4-5": date(2026, 11, 30),
    "gpt-5": date(2026, 12, 11),
    "gpt-5-mini": date(2026, 12, 11),
    "gpt-4.1": date(2027, 1, 14),
}
"""Models with an announced last day that somebody might still want to name."""

_ADDRESS = re.compile(rf"(?<![\w/.])(?:{'|'.join(PROVIDERS)})/[a-z0-9][\w.:-]*")
_NAME = re.compile(
    r"(?<![\w/.-])(?!(?:claude-code|gemini-cli)(?![\w.-]))(?:claude|gpt|gemini|grok|kimi|glm)-[a-z0-9][\w.-]*"
)


def addresses(text: str) -> set[str]:
    return set(_ADDRESS.findall(text))


@pytest.mark.parametrize("address", examples.ALL)
def test_an_example_has_a_price_and_no_last_day(address: str) -> None:
    assert providers.rates(address) is not None
    assert address.partition("/")[2] not in RETIRED


@cases("page", PAGES)
def test_pages_name_no_other_models(page: Path) -> None:
    text = page.read_text("utf-8")
    assert addresses(text) <= set(examples.ALL)
    assert _NAME.findall(text) == []


def test_the_source_names_them_in_one_place() -> None:
    naming = {path.name for path in SOURCES if addresses(path.read_text("utf-8"))}
    assert naming == {"examples.py"}


def commands(group: click.Group, ctx: click.Context) -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None
        found[name] = command
        if isinstance(command, click.Group):
            found |= {f"{name} {each}": it for each, it in commands(command, ctx).items()}
    return found


def test_help_names_the_examples_and_no_other_models() -> None:
    ctx = click.Context(cli)
    shown = cli.get_help(ctx)
    for name, command in commands(cli, ctx).items():
        shown += command.get_help(click.Context(command, info_name=name))
    assert addresses(shown) == set(examples.ALL)
    assert not re.search(r"\{(model|other|cheap|local)\}", shown)


PAGE = Path(__file__).parents[2] / "docs" / "models.md"


def test_every_provider_is_listed_under_its_name_and_complete() -> None:
    for name, provider in PROVIDERS.items():
        assert provider.name == name
        assert provider.key_variables
        assert provider.base_variables
        assert provider.base() == provider.base_url
        assert provider.needs_key is not provider.local
        assert provider.base_url.startswith("http://127." if provider.local else "https://")
        assert 1 <= provider.concurrency <= 16
        assert find_dialect(provider.dialect).models_path
    # Google's own client prefers it, too.
    assert PROVIDERS["gemini"].key_variables[0] == "GOOGLE_API_KEY"


@cases(
    ("name", "given", "base"),
    [
        ("openai", "http://h:1/~latency=200,chunks=40/v1", "http://h:1/~latency=200,chunks=40/v1"),
        ("openai", "http://h:1/v1/", "http://h:1/v1"),
        ("openai", "h:1/v1", "http://h:1/v1"),
        ("anthropic", "http://h:1/~latency=200", "http://h:1/~latency=200"),
        ("anthropic", "http://h:1/proxy/v1", "http://h:1/proxy"),
        ("gemini", "http://h:1", "http://h:1/v1beta"),
        ("gemini", "http://h:1/~a=1/", "http://h:1/~a=1/v1beta"),
        ("gemini", "http://h:1/v1beta", "http://h:1/v1beta"),
        ("gemini", "http://h:1/v1", "http://h:1/v1"),
        ("ollama", "h:1", "http://h:1/v1"),
        ("ollama", "h", "http://h:11434/v1"),
        ("ollama", "0.0.0.0:1", "http://127.0.0.1:1/v1"),
        ("ollama", "[::1]:1", "http://[::1]:1/v1"),
        ("ollama", "https://h", "https://h:443/v1"),
        ("ollama", "http://h:1/v1/", "http://h:1/v1"),
        ("vllm", "http://h:1/v1", "http://h:1/v1"),
    ],
)
def test_an_address_is_used_as_the_format_needs_it(name: str, given: str, base: str) -> None:
    assert PROVIDERS[name].base(given) == base


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai", "OPENAI_BASE_URL"),
        ("gemini", "GEMINI_BASE_URL"),
        ("gemini", "GOOGLE_GEMINI_BASE_URL"),
        ("ollama", "OLLAMA_HOST"),
    ],
)
def test_the_environment_can_name_the_address(
    name: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "http://h:1/v1")
    assert PROVIDERS[name].base() == "http://h:1/v1"
    assert PROVIDERS[name].base("http://other:2/v1") == "http://other:2/v1"


@cases(
    "given",
    [
        *("ftp://h/v1", "http://", "http://h:port/v1", "http://h:99999/v1", "http://[::1"),
        *("http://h/v1?key=secret", "http://h/v1#secret", "http://bob:secret@host/v1"),
        *("https://secret@host", "bob:secret@host:80", "http://bob:secret@[::1"),
        *("http://bob:sec/secret@host", "http://bob:secret@"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_and_not_repeated(given: str) -> None:
    with pytest.raises(
        InvalidInput, match=r"address for openai must read .* OPENAI_API_KEY"
    ) as found:
        PROVIDERS["openai"].base(given)
    assert "secret" not in str(found.value)


def test_what_is_known_of_models_is_asked_for_accordingly() -> None:
    openai = PROVIDERS["openai"]
    own = Quirks(completion_tokens=True, cache_key=True)
    assert openai.quirks_of("gpt-4.1", openai.base_url) == own
    assert openai.quirks_of("gpt-4.1", "https://eu.api.openai.com/v1") == own
    assert openai.quirks_of("gpt-4.1", "http://localhost:8000/v1") == Quirks()
    assert PROVIDERS["deepseek"].quirks_of("deepseek-chat", "").no_schema
    assert PROVIDERS["gemini"].quirks_of("gemma-3-27b-it", "").no_schema
    assert not PROVIDERS["gemini"].quirks_of("gemini-2.5-flash", "").no_schema


@cases(
    ("name", "model", "warm"),
    [
        ("openai", "gpt-4.1", True),
        ("openai", "o3-mini", False),
        ("openai", "gpt-5.2-mini", False),
        ("openai", "gpt-5-chat-latest", True),
        ("anthropic", "claude-sonnet-4-5", True),
        ("anthropic", "claude-opus-4-7", False),
        ("openrouter", "openai/gpt-5", True),
        ("moonshot", "kimi-k3", False),
        ("moonshot", "moonshot-v1-8k", True),
    ],
)
def test_models_known_to_take_no_temperature_are_given_none(
    name: str, model: str, warm: bool
) -> None:
    provider = PROVIDERS[name]
    assert provider.quirks_of(model, provider.base_url).no_temperature is not warm


def test_the_page_on_models_has_the_same_table() -> None:
    page, priced = PAGE.read_text("utf-8"), snapshot().providers
    rows = [line.split(" | ") for line in page.splitlines() if "/…` | http" in line]
    assert [(name.strip("| `/…"), base, key.rstrip(" |")) for name, base, key in rows] == [
        (each.name, each.base_url, " or ".join(f"`{name}`" for name in each.key_variables))
        for each in PROVIDERS.values()
    ]
    assert [each.local for each in PROVIDERS.values()][-4:] == [True] * 4
    assert "The last four cost nothing." in page
    others = [each.name for each in PROVIDERS.values() if not each.local]
    unknown = [f"`{name}`" for name in others if SAME_PRICES.get(name, name) not in priced]
    assert f"Prices of {' and '.join(unknown)} are unknown" in page


VARIABLES = ("ACME_API_KEY", "ACME_TOKEN")


def write(content: str, mode: int = 0o600) -> Path:
    path = key_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(mode)
    return path


def found(needed: bool = True) -> str | None:
    key = find_key("acme", VARIABLES, needed=needed)
    return key.reveal() if key else None


@pytest.mark.parametrize("name", ["ACME_API_KEY", "ACME_TOKEN", "acme"])
def test_the_key_file_knows_variables_and_providers(name: str) -> None:
    assert found(needed=False) is None
    write(f'\ufeff{name} = "from-file"\nother = "no"\n')
    assert found() == "from-file"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_key_file_that_others_can_read_is_refused(mode: int) -> None:
    path = write('ACME_API_KEY = "x"\n', mode)
    with pytest.raises(InvalidInput, match=f"chmod 600 {path}"):
        found()


def test_the_first_variable_that_is_set_gives_the_key_and_a_missing_one_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(InvalidInput) as caught:
        found()
    assert "ACME_API_KEY" in str(caught.value)
    assert str(key_file()) in str(caught.value)
    write('ACME_API_KEY = "from-file"\n')
    monkeypatch.setenv("ACME_TOKEN", "second")
    assert found() == "second"
    monkeypatch.setenv("ACME_API_KEY", " first \n")
    assert found() == "first"


def test_a_damaged_key_file_or_a_key_no_header_can_carry_is_not_quoted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write("ACME_API_KEY = sk-not-in-quotes\n")
    with pytest.raises(InvalidInput, match="is not TOML") as caught:
        found()
    shown = "".join(traceback.format_exception(caught.value))
    assert "sk-not" not in shown
    monkeypatch.setenv("ACME_API_KEY", "sk-a\nb")
    with pytest.raises(InvalidInput, match="ACME_API_KEY has characters") as caught:
        found()
    assert "sk-a" not in str(caught.value)


def test_a_secret_does_not_show_itself() -> None:
    secret = Secret("sk-12345")
    for shown in (repr(secret), str(secret), f"{secret}", repr({"k": secret}), repr([secret])):
        assert "123" not in shown
    assert secret.after("Bearer ").reveal() == "Bearer sk-12345"
    assert secret.after("Bearer ").hide("was sk-12345.") == "was [key]."
    assert copy.copy(secret).reveal() == "sk-12345"


@example("0000000%", "")
@given(st.text("abcXYZ019-_+/=.:% ", min_size=8), st.text(st.characters(codec="ascii")))
def test_a_key_is_hidden_in_whatever_form_a_server_repeats_it(key: str, before: str) -> None:
    forms = [
        *(key, key.upper(), quote(key, safe=""), quote(key, safe="").lower()),
        "".join(f"%{ord(sign):02X}" for sign in key),
        *(code(f"{before}{key}!".encode()).decode() for code in (b64encode, urlsafe_b64encode)),
    ]
    for form in forms:
        assert Secret(key).hide(f"wrong key <{form}>") == "wrong key <[key]>"


@pytest.mark.parametrize("key", ["v", "none", "EMPTY"])
def test_what_is_too_short_for_a_key_hides_no_other_word(key: str) -> None:
    assert Secret(key).hide(f"no route /{key}1") == f"no route /{key}1"


@pytest.mark.parametrize("value", ["5", '["sk-secret"]', '{key = "sk-secret"}', "true"])
def test_a_line_of_the_key_file_that_is_no_key_is_not_quoted(value: str) -> None:
    write(f"other = {value}\n")
    with pytest.raises(InvalidInput, match="is not TOML with lines") as caught:
        found(needed=False)
    assert "secret" not in str(caught.value)
