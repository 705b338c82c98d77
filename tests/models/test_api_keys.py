"""Keys are found where the user put them, and are never seen again."""

from __future__ import annotations

import copy
import traceback
from pathlib import Path

import pytest

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
    secret = Secret("sk-123")
    for shown in (repr(secret), str(secret), f"{secret}", repr({"k": secret}), repr([secret])):
        assert "123" not in shown
    assert secret.after("Bearer ").reveal() == "Bearer sk-123"
    assert secret.after("Bearer ").hide("was sk-123.") == "was [key]."
    assert copy.copy(secret).reveal() == "sk-123"


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
