"""A server may take a schema and ignore it: the second time, the form is asked for in words."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from tests.models.fake_provider import Answer, FakeProvider, provider

from autoreason.events import CritiqueWritten
from autoreason.exchange import Outcome, Reply
from autoreason.jobs.context import JobContext
from autoreason.models.providers import PROVIDERS
from autoreason.models.wire import WireModel
from autoreason.prompts import PromptSet, load
from autoreason.settings import Models, make_settings
from autoreason.task import Task
from autoreason.tournament.judges import cast_ballot
from autoreason.tournament.writing import criticise

__all__ = ["provider"]

TEXT = "The tide rises twice a day."
PROBLEM = (
    '{"problems": [{"severity": "major", "kind": "quote", "quote": "twice a day", '
    '"problem": "not everywhere"}]}'
)


def unbound(body: Any) -> Answer:
    """Who keeps to a form only where it is told one in words."""
    assert "response_format" in body
    last = body["messages"][-1]["content"]
    if "RANKING: " in last:
        shown = re.findall(r"^## (\S+)", body["messages"][1]["content"], re.MULTILINE)
        assert f"RANKING: {' > '.join(shown)}" in last.splitlines()
        return Answer(text=f"RANKING: {' > '.join(shown)}")
    if '{"problems": [' in last:
        return Answer(text=PROBLEM)
    return Answer(text="I like how all of this was done, most of it anyway.")


@pytest.fixture
def told() -> list[Any]:
    """What the tournament tells."""
    return []


@pytest.fixture
async def context(provider: FakeProvider, told: list[Any]) -> AsyncIterator[JobContext]:
    """One whose only model never heard of the schema."""
    provider.minded = unbound
    model = WireModel("vllm/small", PROVIDERS["vllm"], base=provider.openai)

    async def ask(request: Any) -> Any:
        return await model.ask(request)

    settings = make_settings(Models.everywhere("vllm/small"), 7)
    yield JobContext(Task(brief="Write about tides."), settings, load(None), ask, told.append)
    await model.close()


async def test_a_judge_gives_its_ballot_once_it_is_shown_the_form(
    context: JobContext, provider: FakeProvider
) -> None:
    texts = {"A": TEXT, "B": TEXT + " Mostly.", "AB": "Tides come and go."}
    ballot = await cast_ballot(context, "pass/1", 0, ("B", "A", "AB"), texts)
    assert (ballot.ranking, ballot.asked) == (("B", "A", "AB"), 2)
    assert len(provider.requests) == 2


async def test_a_judge_without_schemas_is_asked_for_reasons_first(
    context: JobContext, provider: FakeProvider
) -> None:
    provider.will(Answer(status=400, body={"error": {"message": "no", "param": "response_format"}}))
    provider.minded = lambda _: Answer(text="RANKING: ? > ?")
    ballot = await cast_ballot(
        context, "pass/1", 0, ("B", "A"), {"A": TEXT, "B": "Tides."}, max_requests=2
    )
    assert ballot.ranking is None
    _, first, second = (body["messages"][-1]["content"] for body in provider.bodies)
    names = ", ".join(sorted(ballot.labels))
    assert first.index(f"REASONS: and below it write, for each of {names},") < first.index(
        "RANKING:"
    )
    assert "REASONS" not in second
    for one, other in (ballot.labels, ballot.labels[::-1]):
        assert second.count(f"RANKING: {one} > {other}") == 1


async def test_what_a_judge_copies_beside_a_label_is_no_boundary(
    context: JobContext, provider: FakeProvider
) -> None:
    ballot = await cast_ballot(context, "pass/1", 0, ("B", "A"), {"A": TEXT, "B": "Tides."})
    shown = provider.bodies[0]["messages"][-1]["content"]
    for label in ballot.labels:
        assert [line for line in shown.splitlines() if label in line] == [f"## {label}"]
    boundaries = re.findall(r"<<<(?:END )?TEXT ([0-9a-f]{16})>>>", shown)
    assert len(boundaries) == 4
    assert len(set(boundaries)) == 1


async def test_a_critic_gives_its_problems_once_it_is_shown_the_form(
    context: JobContext, provider: FakeProvider, told: list[Any]
) -> None:
    findings = await criticise(context, 1, TEXT, "")
    assert findings.outcome == "problems"
    (made,) = told
    assert isinstance(made, CritiqueWritten)
    assert [each.quote for each in made.problems] == ["twice a day"]
    assert len(provider.requests) == 2


async def test_a_form_is_stated_once_where_no_schema_can_be_sent(
    context: JobContext, provider: FakeProvider
) -> None:
    provider.will(Answer(status=400, body={"error": {"message": "no", "param": "response_format"}}))
    provider.minded = None
    await criticise(context, 1, TEXT, "")
    said = [body["messages"][-1]["content"] for body in provider.bodies[1:]]
    assert [each.count("Answer with one JSON object") for each in said] == [1] * len(said)


async def test_the_prompts_of_an_older_run_render_as_before(context: JobContext) -> None:
    older = PromptSet(
        load(None).sources | {"critique_again": "{#- variables: none -#}\nGive them again."}
    )
    request = context.request("critic", "key", "vllm/small", "Criticise.", temperature=None)
    reply = Reply(outcome=Outcome.OK, text="Fine.", model="vllm/small")
    again = replace(context, prompts=older).second_request(
        request, "again", reply, "critique_again"
    )
    assert [each.text for each in again.messages[-2:]] == ["Fine.", "Give them again."]
