"""Code that users bring, by name: found in files and in installed packages, refused in one sentence."""

from __future__ import annotations

import random
from functools import partial
from importlib.metadata import EntryPoint, EntryPoints
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from tests.cli.inside import Inside
from tests.run.runs import lend, scripted, settings
from tests.tournament.stage import play

from autoreason import plugins
from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.events import BallotCast, PassDecided
from autoreason.models.doubles import EchoModel
from autoreason.models.open import open_model
from autoreason.prompts import built_in
from autoreason.run.estimate import check
from autoreason.settings import Models, provider_of, providers_of
from autoreason.story import build_story
from autoreason.task import Task, read_task
from autoreason.tournament import stop
from autoreason.tournament.evidence import chance_of_margin
from autoreason.tournament.voting import count_votes, next_wave

OWN = '''
from autoreason.models.doubles import EchoModel

def last_places(rankings, names):
    """Whoever is last least often wins."""
    return {name: -sum(ranking[-1] == name for ranking in rankings) for name in names}

def broken_rule(rankings, names):
    return dict.fromkeys(names, 1.5)

def reader(seat):
    return ["can a beginner follow it", "is it short"][seat % 2]

def long_enough(story):
    return "two passes are enough for me" if len(story.passes) == 2 else ""

def no_emoji(text):
    """Has no emoji."""
    return [f"{sign} is an emoji" for sign in text if ord(sign) > 0x1F000]

def one_text(rankings, names):
    return {names[0]: 1}

def huge(rankings, names):
    return {name: 10**12 for name in names}

def destructive(rankings, names):
    """Borda, by taking its arguments apart."""
    points = dict.fromkeys(names, 0)
    while rankings:
        for place, name in enumerate(rankings.pop()):
            points[name] += len(points) - place
    names.clear()
    return points

def five(*_):
    return 5

def abc(*_):
    return "abc"

def sentences(text):
    yield "one sentence"

def raises(*_):
    raise ValueError("no")

def exits(*_):
    raise SystemExit(3)

def half(*_):
    return "half \\ud800"

def halves(text):
    return ["half \\ud800"]

class Exits(EchoModel):
    def __init__(self, address):
        raise SystemExit(3)

class Mine(EchoModel):
    def __init__(self, address):
        self.address = address

number = 7
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of the user's own in the folder at hand."""
    file = tmp_path / "own.py"
    file.write_text(OWN)
    monkeypatch.chdir(tmp_path)
    return file


# Voting rules


def test_a_voting_rule_of_ones_own_counts_ballots(own: Path) -> None:
    found = count_votes(f"{own}:last_places", [("b", "c", "a"), ("b", "a", "c")], ("a", "b", "c"))
    assert (found.winner, found.scores) == ("b", {"a": -1, "b": 0, "c": -1})


def test_under_such_a_rule_every_judge_of_a_wave_is_asked(own: Path) -> None:
    rule = f"{own}:last_places"
    ballots = [("A", "B", "AB")] * 2
    wave = partial(next_wave, ballots, ("A", "B", "AB"), start=5, step=0, close_margin=2, limit=5)
    assert wave("majority") < 3
    assert wave(rule) == 3


async def test_a_run_under_it_states_what_chance_gives(own: Path) -> None:
    played = await play({}, voting=f"{own}:last_places", passes=1)
    (decided,) = played.of(PassDecided)
    assert decided.verdict is not None
    assert 0 < decided.verdict.chance <= 1


def test_what_chance_gives_under_it_is_what_random_judges_show(own: Path) -> None:
    rule, names = f"{own}:last_places", ("A", "AB", "B")
    rankings, chance, tries = list(permutations(names)), random.Random(5), 4000
    margins = [
        count_votes(rule, [chance.choice(rankings) for _ in range(5)], names).margin
        for _ in range(tries)
    ]
    for margin in (1, 2, 3):
        share = sum(each >= margin for each in margins) / tries
        assert abs(chance_of_margin(5, margin, 3, rule) - share) < 0.03


# Judge styles


async def test_a_judge_style_of_ones_own_tells_each_seat_what_to_look_at(own: Path) -> None:
    played = await play({}, style=f"{own}:reader", passes=1)
    lenses = {each.seat: each.lens for each in played.of(BallotCast) if each.stage == "pass/1"}
    assert lenses[0] == "can a beginner follow it"
    assert lenses[1] == "is it short"
    assert any("is it short" in request.messages[-1].text for request in played.asked("judge"))


# Stop rules


async def test_a_stop_rule_of_ones_own_ends_a_run_with_its_reason(own: Path) -> None:
    played = await play({}, stop_rules=(f"{own}:long_enough",), k=3, passes=9)
    assert played.delivered is not None
    assert len(played.of(PassDecided)) == 2
    assert played.delivered.status == "capped"
    assert played.delivered.reason == "own.py:long_enough stopped it: two passes are enough for me"


async def test_stop_rules_are_combined() -> None:
    played = await play({}, passes=2, k=3)
    both = stop.all_of(stop.passes(2), stop.survivals(1))
    either = stop.any_of(stop.survivals(5), stop.passes(2))
    story = build_story(played.events)
    assert either(story) == "2 passes were run"
    expected = "2 passes were run and A survived a pass" if story.streak else ""
    assert both(story) == expected
    assert stop.all_of()(story) == stop.any_of()(story) == ""


# Contract checks


def test_a_check_of_ones_own_is_a_rule_of_the_contract(own: Path) -> None:
    contract = Contract(max_words=3, checks=("own.py:no_emoji",))
    assert contract.checks == (f"{own.resolve()}:no_emoji",), "found again from another folder"
    assert contract.rules() == ("At most 3 words.", "Has no emoji.")
    assert contract.violations("plain text") == ()
    (violation,) = contract.violations("good \N{ROCKET}")
    assert (violation.rule, violation.message) == ("checks", "\N{ROCKET} is an emoji")


def test_a_brief_names_no_code(own: Path) -> None:
    brief = own.with_name("brief.md")
    brief.write_text("---\nchecks: own.py:no_emoji\n---\nWrite.\n")
    with pytest.raises(
        InvalidInput, match="checks are code, which a brief cannot name; give `checks` as"
    ):
        read_task(str(brief))


# Models


def test_a_model_of_ones_own_is_opened_by_file_and_name(own: Path) -> None:
    address = Models.everywhere("own.py:Mine/x").author
    assert address == f"{own.resolve()}:Mine/x"
    assert provider_of(address) == f"{own.resolve()}:Mine"
    assert providers_of([address]) == ()
    assert open_model(address).address == address


def test_a_model_that_ends_the_process_instead_of_opening_is_refused(own: Path) -> None:
    with pytest.raises(InvalidInput, match=r"Exits raised SystemExit \(3\)"):
        open_model(f"{own}:Exits/one")


def test_a_model_of_an_installed_package_is_opened_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    point = EntryPoint("mine", "tests.test_plugins:open_mine", "autoreason.models")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points(group, point))
    assert open_model("mine/large").address == EchoModel.address
    assert plugins.installed("models") == ["mine"]
    assert plugins.installed("stop_rules") == []


def points(group: str, *all_of_them: EntryPoint) -> EntryPoints:
    """What is announced under a group."""
    return EntryPoints([point for point in all_of_them if point.group == group])


def open_mine(address: str) -> EchoModel:
    """What a package might announce."""
    assert address == "mine/large"
    return EchoModel()


def test_a_voting_rule_may_take_its_arguments_apart(own: Path) -> None:
    rankings, names = [("A", "B"), ("A", "B")], ["A", "B"]
    expected = count_votes("borda", rankings, names)
    assert count_votes(f"{own}:destructive", rankings, names) == expected
    assert (len(rankings), len(names)) == (2, 2)


def test_a_check_gives_sentences_and_nothing_else(own: Path) -> None:
    (violation,) = Contract(checks=(f"{own}:sentences",)).violations("Text.")
    assert violation.message == "one sentence"
    for name, result in {"abc": "'abc'", "five": "5"}.items():
        with pytest.raises(InvalidInput, match=f"{name} has no valid result: `result` is {result}"):
            Contract(checks=(f"{own}:{name}",)).violations("Text.")
    with pytest.raises(
        InvalidInput, match=r"halves has no valid result: `result\[0\]` contains half"
    ):
        Contract(checks=(f"{own}:halves",)).violations("Text.")
    with pytest.raises(
        InvalidInput, match=r"exits raised SystemExit \(3\) at own.py:\d+; correct it"
    ):
        Contract(checks=(f"{own}:exits",)).violations("Text.")


async def test_a_stop_rule_gives_a_reason_and_nothing_else(own: Path) -> None:
    with pytest.raises(InvalidInput, match="five has no valid result: `result` is 5; give text"):
        await play({}, stop_rules=(f"{own}:five",))
    with pytest.raises(InvalidInput, match="half has no valid result: `result` contains half of"):
        await play({}, stop_rules=(f"{own}:half",))
    with pytest.raises(InvalidInput, match=r"the stop rule .*:exits raised SystemExit"):
        await play({}, stop_rules=(f"{own}:exits",))


# All of them


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"voting": "plurality"},
            "no voting rule 'plurality'; there are borda, majority, copeland, instant_runoff, or",
        ),
        (
            {"voting": "own.py:broken_rule"},
            r"broken_rule gives a 1\.5 points; give a whole number",
        ),
        ({"voting": "own.py:five"}, "no valid result: `result` is 5; give a dict"),
        (
            {"voting": "own.py:one_text"},
            "gives points to a; give a whole number to each of a, b, c",
        ),
        ({"voting": "own.py:huge"}, "gives 1000000000000 points; give at most 100,000"),
        ({"style": "own.py:five"}, "no valid result: `result` is 5; give text"),
        ({"voting": "own.py:raises"}, r"raised ValueError \(no\) at own.py"),
        ({"voting": "own.py:exits"}, r"the voting rule .* raised SystemExit \(3\) at own.py"),
        ({"voting": "own.py:number"}, "is no function"),
        ({"style": "own.py:half"}, "the judge style .* no valid result: `result` contains half"),
        ({"style": "own.py:raises"}, r"the judge style .* raised ValueError \(no\)"),
        (
            {"style": "stern"},
            "no judge style 'stern'; there are reasoned, holistic, specialists, verified, ",
        ),
        ({"stop_rules": ("own.py:nothing",)}, "has no nothing; check the name behind the colon"),
        ({"stop_rules": ("absent.py:rule",)}, "to take the stop rule rule from; check the name"),
    ],
)
@pytest.mark.usefixtures("own")
async def test_what_cannot_be_used_is_refused_before_anything_is_paid(
    changes: dict[str, Any], sentence: str
) -> None:
    chosen = settings("scripted/x", **changes)
    pool = lend(scripted({}))
    with pytest.raises(InvalidInput, match=sentence):
        await check(Task(brief="Write."), chosen, pool, built_in())


@pytest.mark.usefixtures("own")
def test_a_run_with_all_of_them_is_recorded_and_replays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inside = Inside(tmp_path, capsys)
    done = inside(
        *("run", "Write a note.", "-m", "own.py:Mine/x", "--voting", "own.py:last_places"),
        *("--style", "own.py:reader", "--stop-rule", "own.py:long_enough"),
        *("--check", "own.py:no_emoji", "--seed", "3", "--journal", "j.db", "--json"),
    )
    assert done.status == 0, done.err
    assert "two passes are enough for me" in done.json["reason"]
    assert inside("replay", "last", "--journal", "j.db").status == 0
