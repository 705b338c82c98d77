"""Code that users bring, by name: found in files and in modules, refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.inside import Inside

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.models.doubles import EchoModel
from autoreason.models.pool import open_model
from autoreason.settings import Models, provider_of, providers_of
from autoreason.task import read_task

OWN = '''
from autoreason.models.doubles import EchoModel

def no_emoji(text):
    """Has no emoji."""
    return [f"{sign} is an emoji" for sign in text if ord(sign) > 0x1F000]

def five(*_):
    return 5

def abc(*_):
    return "abc"

def sentences(text):
    yield "one sentence"

def exits(*_):
    raise SystemExit(3)

def halves(text):
    return ["half \\ud800"]

class Exits(EchoModel):
    def __init__(self, address):
        raise SystemExit(3)

class Mine(EchoModel):
    def __init__(self, address):
        self.address = address
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    monkeypatch.chdir(tmp_path)
    return file


def test_a_check_of_ones_own_is_a_rule_of_the_contract_which_no_brief_can_name(own: Path) -> None:
    contract = Contract(max_words=3, checks=("own.py:no_emoji",))
    assert contract.checks == (f"{own.resolve()}:no_emoji",), "found again from another folder"
    assert contract.rules() == ("At most 3 words.", "Has no emoji.")
    assert contract.violations("plain text") == ()
    (violation,) = contract.violations("good \N{ROCKET}")
    assert (violation.rule, violation.message) == ("checks", "\N{ROCKET} is an emoji")
    brief = own.with_name("brief.md")
    brief.write_text("---\nchecks: own.py:no_emoji\n---\nWrite.\n")
    with pytest.raises(InvalidInput, match="a brief cannot name code; give `checks` as"):
        read_task(str(brief))


def test_a_model_of_ones_own_is_opened_by_file_and_name(own: Path) -> None:
    address = Models.everywhere("own.py:Mine/x").author
    assert address == f"{own.resolve()}:Mine/x"
    assert provider_of(address) == f"{own.resolve()}:Mine"
    assert providers_of([address]) == ()
    assert open_model(address).address == address
    with pytest.raises(InvalidInput, match=r"Exits raised SystemExit \(3\)"):
        open_model(f"{own}:Exits/one")


def test_a_model_of_an_installed_package_is_opened_by_its_module() -> None:
    address = "tests.test_plugins:open_mine/large"
    assert Models.everywhere(address).author == address
    assert open_model(address).address == EchoModel.address
    with pytest.raises(InvalidInput, match="nowhere:Thing cannot be loaded"):
        open_model("nowhere:Thing/x")


def open_mine(address: str) -> EchoModel:
    """What a package might announce."""
    assert address == "tests.test_plugins:open_mine/large"
    return EchoModel()


def test_a_check_gives_sentences_and_nothing_else(own: Path) -> None:
    (violation,) = Contract(checks=(f"{own}:sentences",)).violations("Text.")
    assert violation.message == "one sentence"
    no_result = "has no valid result; return a list of text"
    for name, said in (
        *((each, no_result) for each in ("abc", "five", "halves")),
        ("exits", r"raised SystemExit \(3\) at own.py:\d+; correct it"),
    ):
        with pytest.raises(InvalidInput, match=f"{name} {said}"):
            Contract(checks=(f"{own}:{name}",)).violations("Text.")


@pytest.mark.usefixtures("own")
def test_a_run_with_all_of_them_is_recorded_and_replays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inside = Inside(tmp_path, capsys)
    done = inside(
        *("run", "Write a note.", "-m", "own.py:Mine/x", "--check", "own.py:no_emoji"),
        *("--rounds", "1", "--seed", "3", "--journal", "j.db", "--json"),
    )
    assert done.status == 0, done.err
    assert inside("runs", "check", "last", "--journal", "j.db").status == 0
