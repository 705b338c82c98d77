"""Requests and queries are what they say; models that reason have room to do so."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import ValidationError
from msgspec.structs import replace
from tests.cases import cases

from autoreason.exchange import (
    BudgetQuery,
    Effort,
    GuidanceQuery,
    Message,
    Outcome,
    Query,
    Reply,
    Request,
    Role,
    Schema,
    reasoning_tokens_for,
    reasons_by_default,
    seed_of,
)
from autoreason.jobs.context import JobContext, repeat_request
from autoreason.models.budget import upper_bound
from autoreason.models.providers import Rates
from autoreason.programs.examination import ExaminationQuery, ProbeQuery
from autoreason.programs.policy import PolicyQuery
from autoreason.prompts import load
from autoreason.settings import Models, make_settings
from autoreason.task import Task

PROGRAM_QUERIES = (ExaminationQuery, ProbeQuery, PolicyQuery)


class Weather(Query[tuple[int, ...]], frozen=True, kw_only=True):
    kind = "weather"
    days: int


def test_a_query_reads_its_answer_as_its_type_and_is_recorded_as_no_role() -> None:
    assert Weather.read_answer([3, 4]) == (3, 4)
    assert BudgetQuery.read_answer("3 calls are left") == "3 calls are left"
    with pytest.raises(ValidationError):
        Weather.read_answer("warm")
    kinds = [each.kind for each in (GuidanceQuery, BudgetQuery, *PROGRAM_QUERIES)]
    assert len(set(kinds)) == len(kinds)
    assert not set(kinds) & set(get_args(Role))


def test_without_a_schema_the_last_question_asks_for_the_form_in_words_once() -> None:
    schema = Schema(name="ballot", definition={}, plain="End with RANKING.")
    texts = (Message("system", "Rules."), Message("user", "Rank."), Message("assistant", "Hm."))
    asked = Request(role="judge", key="judge/0", model="m/x", messages=texts, max_tokens=9)
    assert asked.in_words() == texts
    shaped = replace(asked, schema=schema)
    said = shaped.in_words()
    assert [each.text for each in said] == ["Rules.", "Rank.\n\nEnd with RANKING.", "Hm."]
    assert replace(shaped, messages=said).in_words() == said
    assert replace(shaped, messages=()).in_words() == (Message("user", schema.plain),)


@given(st.integers(), st.text())
def test_what_a_model_draws_from_depends_on_the_seed_and_the_key_alone(seed: int, key: str) -> None:
    assert 0 <= seed_of(seed, key) < 2**31
    asked = Request(role="author", key="", model="a/b", messages=(), max_tokens=9, seed=seed)
    assert asked.renamed(key).seed == seed_of(seed, key)
    assert replace(asked, seed=None).renamed(key).seed is None


LEVELS: tuple[Effort, ...] = get_args(Effort)


REASON = """
openai/o3-mini openai/gpt-5 openai/gpt-6-astra openai-responses/gpt-5-pro openrouter/anthropic/claude-opus-5.5
anthropic/claude-haiku-5-5 bedrock/anthropic.claude-sonnet-5-20260901-v1:0 gemini/gemini-2.5-flash
gemini/gemini-flash-latest deepseek/deepseek-reasoner xai/grok-4-fast groq/openai/gpt-oss-120b
together/moonshotai/Kimi-K2-Thinking
"""
DO_NOT = """
openai/gpt-4o openai/gpt-5-chat-latest anthropic/claude-sonnet-4-5 anthropic/claude-sonnet-4-20250514
anthropic/claude-3-7-sonnet-latest gemini/gemini-2.0-flash deepseek/deepseek-chat xai/grok-4-fast-non-reasoning
mistral/mistral-large-latest ollama/gpt-oss local/smollm2 echo/echo
"""


@cases("address", REASON.split())
def test_models_that_reason_unasked_are_known_by_name(address: str) -> None:
    assert reasons_by_default(address)
    assert reasoning_tokens_for(address, None) == reasoning_tokens_for(address, "medium") > 0


@cases("address", DO_NOT.split())
def test_other_models_have_the_room_of_the_text_alone(address: str) -> None:
    assert reasoning_tokens_for(address, None) == 0


def test_more_effort_has_more_room_and_none_or_a_model_that_never_reasons_has_none() -> None:
    rooms = [reasoning_tokens_for("acme/any", level) for level in LEVELS]
    assert rooms == sorted(set(rooms))
    assert rooms[0] == 0
    assert reasoning_tokens_for("openai/gpt-5", "none") == 0
    assert reasoning_tokens_for("local/smollm2", "max") == 0
    never = ("openai/gpt-4o", "azure/gpt-35-turbo", "anthropic/claude-3-haiku")
    for address in (*never, "gemini/gemini-2.0-flash"):
        assert {reasoning_tokens_for(address, level) for level in LEVELS} == {0}


def context(address: str, **changes: Any) -> JobContext:
    async def ask(_: Request | Query[Any]) -> Any:
        raise AssertionError

    settings = make_settings(Models.everywhere(address), 1, **changes)
    return JobContext(Task(brief="Write."), settings, load(None), ask, print)


@given(
    st.sampled_from(["openai/gpt-5", "openai/gpt-4.1", "local/smollm2"]),
    st.sampled_from([None, *LEVELS]),
    st.integers(16, 10_000),
)
def test_a_budget_sets_aside_all_that_a_request_may_write(
    address: str, effort: Effort | None, limit: int
) -> None:
    held = context(address, max_tokens=limit, author_effort=effort)
    request = held.request("author", "draft/try/0", address, "Write.")
    assert request.max_tokens == limit + reasoning_tokens_for(address, effort)
    assert request.effort == effort
    upper = upper_bound(request, Rates(Decimal(0), Decimal(1_000_000)))
    assert upper.cost == request.max_tokens
    assert upper.tokens > request.max_tokens
    cut_off = Reply(text="So", outcome=Outcome.TRUNCATED)
    again = repeat_request(request, "draft/try/1", cut_off)
    assert again.max_tokens == 2 * request.max_tokens


def test_each_role_has_an_effort_of_its_own() -> None:
    held = context("acme/m", author_effort="high", critic_effort="medium", judge_effort="low")
    wanted = {**dict.fromkeys(("author", "reviser", "synthesizer"), "high"), "critic": "medium"}
    for role in ("author", "reviser", "synthesizer", "critic", "judge"):
        asked = held.request(role, "key", "acme/m", "x").effort
        assert asked == wanted.get(role, "low")
