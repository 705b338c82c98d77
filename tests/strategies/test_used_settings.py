"""A strategy names the settings it looks at: any other changes no request, and is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.programs.stage import fenced, program, work
from tests.tournament.stage import Answer, Played, critique, document, play, vote

from autoreason.contract import Contract
from autoreason.exchange import Request
from autoreason.programs.program_strategies import PROGRAM_STRATEGIES, find_program_strategy
from autoreason.settings import ROLE_MODELS, SETTING_DOCS, Models
from autoreason.strategies import BUILT_IN, find_strategy, unused_setting

DECLARED = [name for name in BUILT_IN if find_strategy(name).used_settings is not None]
OTHER: dict[str, Any] = {
    "protocol": "paper",
    "drafts": 2,
    "max_drafts": 3,
    "anyway": True,
    "rivals": False,
    "candidates": "B",
    "blind_revision": True,
    "subtractive_synthesis": True,
    "critic_facts": False,
    "k": 1,
    "passes": 1,
    "judges": 4,
    "early_stop": False,
    "balanced_orders": False,
    "style": "holistic",
    "ballot": "graded",
    "voting": "majority",
    "required_lead": 2,
    "plateau": 1,
    "plateau_change": 0.9,
    "tie_order": ("A", "B", "AB"),
    "quoted_critique": False,
    "reviewers": 2,
    "review_texts": 3,
    "ballot_texts": 3,
    "review_every": 1,
    "min_reviews": 2,
    "max_growth": 0.0,
    "edit": "light",
    "edit_share": 0.5,
    "confirmation": 2,
    "critic_temperature": 0.1,
    "judge_temperature": 0.1,
    "critic_effort": "low",
    "judge_effort": "low",
    **dict.fromkeys(list(ROLE_MODELS)[1:], "other/other"),
}
"""Every setting that not all strategies use, with a value that is not the default."""
ALWAYS = (
    *("strategy", "strategy_options", "models", "seed", "max_tokens", "author_temperature"),
    *("author_effort", "budget", "base_url", "allow_http", "batch", "author_model"),
)
SELDOM = ("voting", "balanced_orders")
"""Used by the order of equals."""


def numbered(request: Request) -> str:
    """Texts of which none is like another."""
    mark = request.key.replace("/", "")
    if request.schema:
        return json.dumps({"texts": [f"{mark}{n} is{n} text{n}" for n in range(6)]})
    return document(f"The text of {request.key.replace('/', ' ')}.")


SCRIPT: dict[str, Answer] = {
    "author": numbered,
    "reviser": numbered,
    "critic": critique("It lacks an example."),
    "judge": vote("pass 3", "pass 2"),
}


async def played(strategy: str, name: str = "", value: Any = None) -> Played:
    """A short run with one setting changed."""
    changes: dict[str, Any] = {"passes": 2, "judges": 3, "reviewers": 3}
    if name in ROLE_MODELS:
        role, _, several = name.partition("_model")
        own = {f"{role}s": (value,)} if several else {role: value}
        roles = {"author": "fake/a", "critic": "fake/a", "synthesizer": "fake/a"}
        changes["models"] = Models(**{**roles, "judges": ("fake/a",), **own})
    elif name:
        changes[name] = value
    return await play(
        SCRIPT,
        facts="Tides come twice a day.",
        contract=Contract(max_words=60),
        strategy=strategy,
        **{"models": Models.everywhere("fake/a"), **changes},
    )


def test_every_setting_is_tried() -> None:
    # What is matched is decided by a suite.
    assert {*OTHER, *ALWAYS, "matched"} == {*SETTING_DOCS, *ROLE_MODELS}


@pytest.mark.parametrize("strategy", DECLARED)
async def test_requests_depend_on_what_a_strategy_declares_and_on_nothing_else(
    strategy: str,
) -> None:
    kind, usual = find_strategy(strategy), await played(strategy)
    assert usual.settings
    for name, value in OTHER.items():
        used = not unused_setting(usual.settings, [name], [kind.used_settings])
        best = strategy in ("best_of_n", "alternatives")
        if name == "edit" or (name == "protocol" and best):
            # They have no review, without which there is nothing to choose with; an edit is refused.
            continue
        same = (await played(strategy, name, value)).requests == usual.requests
        assert same or used, f"{strategy} looks at {name}"
        assert not same or not used or name in SELDOM, f"{strategy} never looks at {name}"


@pytest.mark.parametrize("strategy", PROGRAM_STRATEGIES)
async def test_requests_for_programs_depend_on_nothing_else(strategy: str) -> None:
    def attempt(request: Request) -> str:
        return fenced(program(1, request.key))

    used = find_program_strategy(strategy).used_settings
    assert used is not None
    script: dict[str, Any] = dict.fromkeys(("author", "reviser", "synthesizer"), attempt)
    script |= {"critic": critique("It is wrong."), "judge": vote("reviser", "synthesizer")}
    contests: dict[str, Any] = {"judges": 3, "candidates": "B+AB"}
    usual = (await work(strategy, script, calls=14, **contests)).requests
    # A problem has no facts that a critic could go without, and an edit is refused.
    for name in OTHER.keys() - {*used, *ROLE_MODELS, "critic_facts", "edit"}:
        changed = await work(strategy, script, calls=14, **contests | {name: OTHER[name]})
        assert changed.requests == usual, f"{strategy} looks at {name}"
