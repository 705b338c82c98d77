"""The doubles stand in for models in tests and trials, the same way every time."""

from __future__ import annotations

import io
import json
import sys
from decimal import Decimal
from itertools import combinations, permutations
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models import asking

from autoreason.contract import Contract
from autoreason.errors import CallFailed, Failure, InvalidInput
from autoreason.exchange import Message, Outcome, Reply, Request, Role, Schema, Signal, TextArrived
from autoreason.models.doubles import EchoModel, ScriptedModel
from autoreason.parsing.documents import too_alike
from autoreason.programs.examination import read_program

BRIEF = "Write a plan for opening a small bakery in a village without a railway station."


def request(
    key: str = "draft/try/0",
    role: Role = "author",
    text: str = BRIEF,
    schema: dict[str, Any] | None = None,
) -> Request:
    form = Schema("answer", schema, "") if schema else None
    messages = (Message("system", "You write."), Message("user", text))
    given: dict[str, Any] = {"key": key, "role": role, "messages": messages, "schema": form}
    return asking.request("scripted/scripted", **given)


# Scripted


async def test_a_script_is_a_list_in_order_or_a_function_of_the_request() -> None:
    refused = Reply(outcome=Outcome.REFUSED, text="", model="m", finish="content_filter")
    model = ScriptedModel(["one", " \n", refused, CallFailed(Failure.RATE_LIMIT, "slow down")])
    asked = [request(key) for key in "abcd"]
    replies = [await model.ask(each) for each in asked[:3]]
    assert [each.text for each in replies] == ["one", " \n", ""]
    assert replies[1].outcome is Outcome.EMPTY
    assert replies[2] is refused
    with pytest.raises(CallFailed, match="slow down"):
        await model.ask(asked[3])
    assert model.requests == asked
    by_key = ScriptedModel(lambda asked: f"to {asked.key}", address="acme/large")
    assert (await by_key.ask(request())).text == "to draft/try/0"
    assert by_key.address == "acme/large"


async def test_a_mapping_answers_by_key_then_pattern_then_role_or_says_what_it_knows() -> None:
    model = ScriptedModel(
        {
            "judge": "the role",
            "pass/*/judge/*": "the pattern",
            "pass/*": "a later pattern",
            "pass/1/judge/0/try/0": "the key",
            "critic": lambda asked: f"made for {asked.key}",
        }
    )

    async def message(key: str, role: Role) -> str:
        return (await model.ask(request(key, role))).text

    assert await message("pass/1/judge/0/try/0", "judge") == "the key"
    assert await message("pass/1/judge/1/try/0", "judge") == "the pattern"
    assert await message("review/judge/1/try/0", "judge") == "the role"
    assert await message("other/critic/0", "critic") == "made for other/critic/0"
    with pytest.raises(
        InvalidInput, match=r"no answer to author draft/try/0; it answers judge, pass/\*"
    ):
        await ScriptedModel({"judge": "x", "pass/*": "y"}).ask(request())


async def test_a_text_becomes_a_reply_with_usage_and_no_cost() -> None:
    reply = await ScriptedModel(["x" * 400]).ask(request(text="y" * 390))
    assert (reply.outcome, reply.model) == (Outcome.OK, "scripted/scripted")
    assert (reply.usage.input, reply.usage.output) == (100, 100)
    assert reply.cost == Decimal(0)


@pytest.mark.parametrize("model", [ScriptedModel([" Two words,\n\nand more. "]), EchoModel()])
async def test_a_listener_hears_the_text_in_pieces(model: ScriptedModel | EchoModel) -> None:
    heard: list[Signal] = []
    reply = await model.ask(request(), heard.append)
    pieces = [signal.text for signal in heard if isinstance(signal, TextArrived)]
    assert len(pieces) > 3
    assert "".join(pieces) == reply.text


# Echo


async def echoed(one: Request) -> str:
    return (await EchoModel().ask(one)).text


async def test_the_echo_reads_the_brief_between_boundaries_and_answers_in_the_form_asked() -> None:
    task = f"# The task\n\n<<<TASK x7>>>\n{BRIEF}\n<<<END TASK x7>>>"
    part = (
        "# Your part: write it\n\nAnswer in this form:\n\n<document>\nthe whole text\n</document>"
    )
    messages = (Message("user", task, stable=True), Message("user", part))
    text = await echoed(msgspec.structs.replace(request(), messages=messages))
    assert text.startswith("<document>\n# Write plan opening small bakery village\n")
    assert text.endswith("\n</document>")
    assert "boundary" not in text


async def test_the_echo_asked_for_several_texts_writes_short_ones_that_differ() -> None:
    schema = {
        "type": "object",
        "properties": {"texts": {"type": "array", "items": {"type": "string"}}},
    }
    asked = msgspec.structs.replace(
        request(schema=schema),
        messages=(Message("user", BRIEF), Message("user", "Write 6 texts, each complete.")),
    )
    texts = json.loads(await echoed(asked))["texts"]
    assert len(texts) == 6
    assert not any(too_alike(*pair) for pair in combinations(texts, 2))
    assert all(len(each.split()) <= 5 and "complete" not in each.lower() for each in texts)


CRITIQUE = {
    "type": "object",
    "properties": {
        "problems": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "severity": {"type": "string", "enum": ["critical", "major", "minor"]},
                    "quote": {"type": "string"},
                    "problem": {"type": "string"},
                },
            },
        }
    },
}


async def test_the_echo_as_critic_finds_one_problem_and_quotes_the_text() -> None:
    shown = "Bread is sold from six.\n\nThere is  no till."
    text = f"Find what is wrong.\n\n<<<TEXT k3>>>\n{shown}\n<<<END TEXT k3>>>\n\nList the problems."
    (problem,) = json.loads(await echoed(request(text=text, schema=CRITIQUE)))["problems"]
    assert problem["quote"] in ("Bread is sold from six.", "There is no till.")
    assert problem["severity"] in ("critical", "major", "minor")


async def test_the_echo_as_judge_gives_every_ranking_its_chance() -> None:
    rankings = [" > ".join(order) for order in permutations("KMT")]
    schema = {"type": "object", "properties": {"ranking": {"type": "string", "enum": rankings}}}
    given_out = {
        json.loads(await echoed(request(key=f"pass/1/judge/{seat}/try/0", schema=schema)))[
            "ranking"
        ]
        for seat in range(60)
    }
    assert given_out == set(rankings)


PROGRAM = "Write the program, in one block that begins with ```python, and nothing after it."


@pytest.mark.parametrize("key", ["draft/try/0", "attempt/2/try/0", "pass/1/reviser/try/0"])
async def test_the_echo_asked_for_a_program_writes_one_that_runs(
    key: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written = read_program(await echoed(request(key, text=PROGRAM)))
    assert written
    monkeypatch.setattr(sys, "stdin", io.StringIO("3\n1 2\n"))
    exec(written, {})
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("name", ["add", "Solution.add"])
async def test_the_echo_defines_what_a_problem_asks_for(name: str) -> None:
    wanted = f"Python 3 code that defines `{name}`, with the name given.\n\n{PROGRAM}"
    written = read_program(await echoed(request(text=wanted)), name)
    space: dict[str, Any] = {}
    exec(written or "", space)
    space["add"]("2", "1") if name == "add" else space["Solution"]().add("2", "1")


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string"}, str),
        ({"type": ["string", "null"]}, str),
        ({"type": "integer", "minimum": 3}, int),
        ({"type": "number"}, int),
        ({"type": "boolean"}, bool),
        ({"type": "null"}, type(None)),
        ({"const": 4}, int),
        ({"type": "array", "minItems": 2, "items": {"type": "string"}}, list),
    ],
)
async def test_the_echo_fills_in_any_plain_schema(schema: dict[str, Any], kind: type) -> None:
    assert type(json.loads(await echoed(request(schema=schema)))) is kind


@given(st.text(), st.booleans())
async def test_the_echo_always_has_something_to_say(text: str, structured: bool) -> None:
    schema = (
        {"type": "object", "properties": {"message": {"type": "string"}}} if structured else None
    )
    reply = await EchoModel().ask(request(text=text, schema=schema))
    assert reply.outcome is Outcome.OK
    assert not structured or json.loads(reply.text)["message"]


async def test_the_echo_model_writes_the_sections_that_the_limits_name() -> None:
    contract = Contract(sections=("Risks", "Cost", "Who does what?", "Later"))
    limits = "\n".join(f"- {rule}" for rule in contract.rules())
    reply = await EchoModel().ask(request(text=f"{BRIEF}\n\nLimits:\n\n{limits}"))
    assert contract.violations(reply.text) == ()
