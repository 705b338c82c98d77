"""Keys are found where the user put them, and are never seen again."""

from __future__ import annotations

import copy
import traceback
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from autoreason.errors import InvalidInput
from autoreason.models.api_keys import Secret, find_key, key_file
from autoreason.models.providers import PROVIDERS

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


def test_the_first_variable_that_is_set_gives_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_TOKEN", "second")
    assert found() == "second"
    monkeypatch.setenv("ACME_API_KEY", " first \n")
    assert found() == "first"


@pytest.mark.parametrize("name", ["ACME_API_KEY", "ACME_TOKEN", "acme"])
def test_the_key_file_knows_variables_and_providers(name: str) -> None:
    write(f'{name} = "from-file"\nother = "no"\n')
    assert found() == "from-file"


def test_the_environment_comes_before_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write('ACME_API_KEY = "from-file"\n')
    monkeypatch.setenv("ACME_API_KEY", "from-environment")
    assert found() == "from-environment"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_key_file_that_others_can_read_is_refused(mode: int) -> None:
    path = write('ACME_API_KEY = "x"\n', mode)
    with pytest.raises(InvalidInput, match=f"chmod 600 {path}"):
        found()


def test_a_missing_key_names_the_variable_and_the_file() -> None:
    with pytest.raises(InvalidInput) as caught:
        found()
    assert "ACME_API_KEY" in str(caught.value)
    assert str(key_file()) in str(caught.value)


def test_a_key_that_is_not_needed_may_be_missing() -> None:
    assert found(needed=False) is None


def test_a_damaged_key_file_is_not_quoted() -> None:
    write("ACME_API_KEY = sk-not-in-quotes\n")
    with pytest.raises(InvalidInput, match="not valid TOML") as caught:
        found()
    shown = "".join(traceback.format_exception(caught.value))
    assert "sk-not" not in shown


def test_a_key_that_no_header_can_carry_is_not_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", "sk-a\nb")
    with pytest.raises(InvalidInput, match="ACME_API_KEY contains characters") as caught:
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


def test_other_words_stay_beside_a_hidden_key() -> None:
    said = "no model gpt-6-luna-2026-10-01 for c2stMTIzNDU2Nzg at /v1/chat/completions"
    assert Secret("sk-12345678").hide(said) == said.replace("c2stMTIzNDU2Nzg", "[key]")


@pytest.mark.parametrize("key", ["v", "none", "EMPTY"])
def test_what_is_too_short_for_a_key_hides_no_other_word(key: str) -> None:
    assert Secret(key).hide(f"no route /{key}1") == f"no route /{key}1"


@pytest.mark.parametrize("value", ["5", '["sk-secret"]', '{key = "sk-secret"}', "true"])
def test_a_line_of_the_key_file_that_is_no_key_is_named_and_not_quoted(value: str) -> None:
    write(f"other = {value}\n")
    with pytest.raises(InvalidInput, match=r"keys\.toml: `other` is no key") as caught:
        found(needed=False)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "provider"),
    [("opneai", "openai"), ("ANTROPIC_API_KEY", "anthropic"), ("gorq", "groq"), ("vlmm", "vllm")],
)
def test_a_misspelt_name_in_the_key_file_is_named_with_what_was_meant(
    name: str, provider: str
) -> None:
    write(f'{name} = "sk-secret"\n')
    with pytest.raises(InvalidInput) as caught:
        find_key(provider, PROVIDERS[provider].key_variables, needed=False)
    assert str(caught.value).endswith(f": unknown name `{name}`; did you mean `{provider}`?")


def test_keys_of_all_providers_and_of_servers_of_ones_own_are_no_misspelt_ones() -> None:
    own = [*("acme", "vllm2", "openai-eu", "MINE_API_KEY", "OPENAI2_API_KEY")]
    names = {
        *own,
        *PROVIDERS,
        *(name for each in PROVIDERS.values() for name in each.key_variables),
    }
    for provider in PROVIDERS.values():
        others = names - {provider.name, *provider.key_variables}
        write("".join(f'{name} = "sk-secret"\n' for name in others))
        assert find_key(provider.name, provider.key_variables, needed=False) is None


def test_a_key_file_may_begin_with_a_byte_order_mark() -> None:
    write('\ufeffacme = "from-file"\n')
    assert found() == "from-file"


def test_a_configuration_folder_that_is_a_file_is_one_clear_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    with pytest.raises(InvalidInput, match="cannot be read: Not a directory"):
        found()


def test_of_googles_two_variables_the_one_its_own_client_prefers_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "second")
    monkeypatch.setenv("GOOGLE_API_KEY", "first")
    key = find_key("gemini", PROVIDERS["gemini"].key_variables, needed=True)
    assert key is not None
    assert key.reveal() == "first"
