"""Settings out of range are refused with the range."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases

from autoreason.errors import InvalidInput
from autoreason.fields import read_docs
from autoreason.settings import Budget, Models, Settings, make_settings, providers_of, servers

ONE = Models.everywhere("echo/echo")


def test_one_model_plays_every_role_unless_others_are_named_or_only_judges_are_asked() -> None:
    assert ONE.all() == ("echo/echo",)
    mixed = Models(author="a/x", critic="b/x", synthesizer="a/x", judges=("c/x", "b/x"))
    assert mixed.all() == ("a/x", "b/x", "c/x")
    models = Models.judging("a/x", "b/x", "a/x")
    assert models.all() == ("a/x", "b/x")
    assert make_settings(models, 1, base_url={"a": "http://h/v1"}).server_of("a/x")


def test_settings_that_cannot_be_read_are_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="`models` is 5; give a Models"):
        Settings(models=5, seed="x")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="`budget` is 5; give a Budget"):
        Settings(models=ONE, seed=1, budget=5)  # type: ignore[arg-type]


def test_the_defaults_are_reviews_of_revisions_that_no_judge_sees_and_the_paper_has_votes() -> None:
    settings = make_settings(ONE, 1)
    assert (settings.protocol, settings.passes, settings.judges) == ("robust", 40, 0)
    assert (settings.reviewers, settings.review_every, settings.review_texts) == (7, 5, 9)
    assert (settings.candidates, settings.max_growth, settings.confirmation) == ("B", 0.5, 9)
    settings = make_settings(ONE, 1, "paper")
    assert (settings.judges, settings.reviewers, settings.balanced_orders) == (3, 0, False)
    assert (settings.candidates, settings.k, settings.passes) == ("B+AB", 2, 15)
    assert settings.tie_order == ("A", "B", "AB")


@cases(
    ("changes", "message"),
    [
        ({"k": 0}, "`k` is 0; give a number from 1"),
        ({"reviewers": 1}, "`reviewers` is 1; one vote is not a panel: give 0, 2 or more"),
        ({"candidates": "AB"}, "without `judges`, `candidates` can only be B"),
        ({"required_lead": 0}, "`required_lead` is 0; give a number from 1"),
        ({"passes": 0}, "`passes` is 0"),
        ({"passes": 5000}, "`passes` is 5000"),
        ({"drafts": 5, "max_drafts": 3}, r"`max_drafts` is under `drafts` \(5\)"),
        ({"tie_order": ("B", "A", "AB")}, "`tie_order` is not A>AB>B"),
        ({"judge_temperature": 3.0}, "`judge_temperature` is 3.0"),
        ({"budget": Budget(cost=Decimal(0))}, "`budget.cost` is 0"),
        ({"budget": Budget(calls=-1)}, "`budget.calls` is -1"),
        ({"budget": Budget(cost=Decimal("NaN"))}, "`budget.cost` is NaN; give a finite number"),
        ({"budget": Budget(cost=Decimal("sNaN"))}, "`budget.cost` is sNaN; give a finite number"),
        ({"budget": Budget(cost=Decimal("inf"))}, "`budget.cost` is Infinity; give a finite"),
        ({"budget": Budget(seconds=math.nan)}, "`budget.seconds` is nan; give a finite number"),
        ({"budget": Budget(seconds=math.inf)}, "`budget.seconds` is inf; give a finite number"),
        ({"base_url": "http://bob:hunter2@127.0.0.1/v1"}, "put keys into the key file"),
        ({"base_url": {"echo": "https://key@host/v1"}}, "put keys into the key file"),
        ({"base_url": "https://host/v1?api_key=secret"}, "put keys into the key file"),
        ({"base_url": "https://host/v1#secret"}, "put keys into the key file"),
        ({"k": "many"}, "`k` must be a whole number, not text"),
        ({"reviewers": 1.5}, "`reviewers` must be a whole number, not a number"),
        ({"nonsense": 1}, "unknown setting `nonsense`"),
        ({"budget": Budget(cost=Decimal("1e999"))}, r"is 1E\+999; give at most 1,000,000,"),
    ],
)
def test_what_is_out_of_range_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make_settings(ONE, 1, **changes)


NUMBERS = [
    field
    for field in msgspec.json.schema(Settings)["$defs"]["Settings"]["properties"].items()
    if "minimum" in str(field)
]


@cases(("name", "schema"), NUMBERS)
def test_the_range_of_a_number_is_the_one_next_to_its_type(name: str, schema: Any) -> None:
    allowed = next((each for each in schema.get("anyOf", ()) if "minimum" in each), schema)
    low, high = allowed["minimum"], allowed["maximum"]
    for outside in (low - 1, high + 1):
        with pytest.raises(InvalidInput, match=f"`{name}` is {outside}; give a number from"):
            make_settings(ONE, 1, **{name: outside})
        with pytest.raises(InvalidInput, match=f"from {low} to {high}"):
            Settings(models=ONE, seed=1, **{name: outside})


def test_every_whole_number_but_the_seed_has_a_range() -> None:
    ranged = {name for name, _ in NUMBERS}
    numbers = {name for name, doc in read_docs(Settings).items() if int in doc.alternatives}
    assert numbers - ranged == {"seed"}


def test_settings_survive_the_journal() -> None:
    settings = make_settings(ONE, 2**63, budget=Budget(cost=Decimal("0.10")))
    assert msgspec.json.decode(msgspec.json.encode(settings), type=Settings) == settings


ADDRESSES = st.lists(
    st.sampled_from(["openai/a", "openai/b", "anthropic/c", "acme/d", "echo/echo", "local/e"]),
    min_size=1,
)


@given(ADDRESSES)
def test_a_url_alone_belongs_to_the_one_provider_in_use_or_to_none(addresses: list[str]) -> None:
    used = providers_of(addresses)
    if len(used) == 1:
        assert servers("http://h", addresses) == {used[0]: "http://h"}
    else:
        with pytest.raises(InvalidInput, match="`base_url`"):
            servers("http://h", addresses)


@given(
    ADDRESSES, st.dictionaries(st.sampled_from(["openai", "acme", "opnai"]), st.just("http://h"))
)
def test_a_url_with_a_name_belongs_to_that_provider_alone(
    addresses: list[str], named: dict[str, str]
) -> None:
    if set(named) <= set(providers_of(addresses)):
        assert servers(named, addresses) == named
    else:
        with pytest.raises(InvalidInput, match=r"which no model here uses|leave `base_url` out"):
            servers(named, addresses)


def test_settings_record_whose_server_a_url_is() -> None:
    made = make_settings(Models.everywhere("acme/x"), 1, base_url="http://h/v1")
    assert made.base_url == {"acme": "http://h/v1"}
    changed = msgspec.structs.replace(made, models=Models.everywhere("openai/y"))
    assert (made.server_of("acme/z"), changed.server_of("openai/y")) == ("http://h/v1", None)
