"""Addresses of requests, as people count, and who is asked."""

from __future__ import annotations

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from autoreason.exchange import Request, Role, is_model, seed_of


def test_a_person_an_examiner_the_budget_and_the_policy_are_no_models() -> None:
    roles = get_args(Role)
    assert {role for role in roles if not is_model(role)} == {
        *("person", "examiner", "budget", "policy")
    }


@given(st.integers(), st.text())
def test_what_a_model_draws_from_depends_on_the_seed_and_the_key_alone(seed: int, key: str) -> None:
    assert 0 <= seed_of(seed, key) < 2**31
    asked = Request(role="author", key="", model="a/b", messages=(), max_tokens=9, seed=seed)
    assert asked.renamed(key).seed == seed_of(seed, key)
    assert replace(asked, seed=None).renamed(key).seed is None
