"""Runs with other candidates are recorded, replayed, resumed and read like any other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.run.runs import TASK, go_on, open_journal, scripted, start_run
from tests.run.runs import settings as usual
from tests.tournament.stage import document, vote

from autoreason.errors import CallFailed, Failure
from autoreason.exchange import Request
from autoreason.journal import Journal
from autoreason.run.estimate import estimate_run
from autoreason.run.prepared import ModelChoice
from autoreason.run.recorded import replay
from autoreason.settings import Settings

ADDRESS = "scripted/scripted"


def by_key(request: Request) -> str:
    return document(f"Second text, made in {'/'.join(request.key.split('/')[1:-2])}.")


def few_judges(revisers: int, **changes: Any) -> Settings:
    """No judge but those of two passes."""
    base = usual(ADDRESS, passes=2, reviewers=0, confirmation=0, **changes)
    return replace(base, models=replace(base.models, revisers=(ADDRESS,) * revisers))


@examples(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.fixed_dictionaries(
        {
            "seed": st.integers(0, 99),
            "candidates": st.sampled_from(["B+AB", "B", "AB"]),
            "blind_revision": st.booleans(),
            "subtractive_synthesis": st.booleans(),
            "critic_facts": st.booleans(),
        }
    ),
    st.integers(0, 3),
)
async def test_whatever_the_candidates_a_run_replays(
    tmp_path_factory: pytest.TempPathFactory, drawn: dict[str, Any], revisers: int
) -> None:
    drawn["subtractive_synthesis"] &= drawn["candidates"] != "B"
    chosen = few_judges(revisers, early_stop=False, **drawn)
    model = scripted({"reviser": by_key, "judge": vote("reviser", "First", "Third")})
    with open_journal(tmp_path_factory.mktemp("runs")) as journal:
        task = replace(TASK, facts="It is red.")
        result = await start_run(journal, model, settings=chosen, task=task)
        replayed = await replay.aio(result.run, journal=journal)
        assert replayed.same, replayed.difference
        span = (await estimate_run(task, chosen)).calls
        assert span is not None
        assert span.low <= result.calls <= span.high


async def test_a_run_that_goes_on_with_another_model_keeps_its_candidates(
    journal: Journal,
) -> None:
    gone = {"pass/2/reviser/2/try/0": CallFailed(Failure.CONNECTION, "gone")}
    model = scripted({"reviser": by_key, **gone})
    paused = await start_run(journal, model, settings=few_judges(2))
    assert paused.status == "provider_failed"
    finished = await go_on(journal, paused.run, scripted({"reviser": by_key}))
    assert finished.status == "converged"
    assert finished.calls == paused.calls + 5  # One revision, the synthesis and three judges.
    other = ModelChoice().change(few_judges(2).models, {"model": "acme/x"})
    assert other.revisers == ("acme/x", "acme/x")
    chosen = ModelChoice.writing("acme/x", {"reviser_models": "acme/y"})
    assert chosen.models.revisers == ("acme/y",)


async def test_a_dry_run_prices_what_is_written_and_read() -> None:
    one = usual("openai/gpt-4.1", passes=1, k=1)
    revisers = ("openai/gpt-4.1-mini", "openai/gpt-4.1-mini")
    switched = (
        one,
        replace(one, candidates="B"),
        replace(one, candidates="AB"),
        replace(one, blind_revision=True),
        replace(one, models=replace(one.models, revisers=revisers)),
    )
    priced = [(await estimate_run(TASK, each)).spans() for each in switched]
    calls, tokens, costs = (
        [(found[what] or {})["likely"] for found in priced] for what in ("calls", "tokens", "cost")
    )
    full, no_synthesis, no_revision, blind, two = calls
    assert (no_synthesis, no_revision, blind, two) == (full - 1, full, full, full + 1)
    assert tokens[1] < tokens[2] < tokens[0]
    assert tokens[3] < tokens[0] < tokens[4]
    assert costs[3] < costs[0]
