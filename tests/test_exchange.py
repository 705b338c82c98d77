"""What is asked of models and of others, and how both are recorded."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import ValidationError
from msgspec.structs import replace

from autoreason.exchange import BudgetQuery, GuidanceQuery, Query, Request, Role, seed_of
from autoreason.programs.examination import ExaminationQuery, ProbeQuery
from autoreason.programs.search import PolicyQuery

PROGRAM_QUERIES = (ExaminationQuery, ProbeQuery, PolicyQuery)


class Weather(Query[tuple[int, ...]], frozen=True, kw_only=True):
    """The temperatures of some days."""

    kind = "weather"
    days: int


def test_a_query_reads_its_answer_as_the_type_it_is_declared_with() -> None:
    assert Weather.read_answer([3, 4]) == (3, 4)
    assert BudgetQuery.read_answer("3 calls are left") == "3 calls are left"
    with pytest.raises(ValidationError):
        Weather.read_answer("warm")


def test_no_query_is_recorded_as_what_a_model_is_asked_to_be() -> None:
    kinds = [each.kind for each in (GuidanceQuery, BudgetQuery, *PROGRAM_QUERIES)]
    assert len(set(kinds)) == len(kinds)
    assert not set(kinds) & set(get_args(Role))


@given(st.integers(), st.text())
def test_what_a_model_draws_from_depends_on_the_seed_and_the_key_alone(seed: int, key: str) -> None:
    assert 0 <= seed_of(seed, key) < 2**31
    asked = Request(role="author", key="", model="a/b", messages=(), max_tokens=9, seed=seed)
    assert asked.renamed(key).seed == seed_of(seed, key)
    assert replace(asked, seed=None).renamed(key).seed is None
