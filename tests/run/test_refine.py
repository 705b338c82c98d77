"""The library's front door."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from tests.run.runs import scripted

import autoreason
from autoreason import Budget, InvalidInput, refine
from autoreason.events import AnyEvent, Delivered
from autoreason.journal import Journal
from autoreason.task import Task
from autoreason.testing import ScriptedModel


def test_one_call_from_brief_to_text() -> None:
    result = refine("Write one sentence about rain.", model="echo/echo", seed=1, passes=3)
    assert result.text
    assert result.status in ("converged", "capped")


async def test_it_can_be_awaited_and_followed() -> None:
    events: list[AnyEvent] = []
    result = await refine.aio("Write.", model=scripted(), on_event=events.append)
    assert isinstance(events[-1], Delivered)
    assert events[-1].text == result.text


async def test_many_runs_share_a_journal_and_a_pool(tmp_path: Path) -> None:
    pool = autoreason.ModelPool()
    with Journal.open(str(tmp_path / "many.db"), create=True) as journal:
        runs = [
            refine.aio("Write.", model="echo/echo", seed=seed, passes=2, journal=journal, pool=pool)
            for seed in range(8)
        ]
        results = await asyncio.gather(*runs)
        assert len({result.run for result in results}) == 8
        assert len(journal.runs(limit=50)) == 8
    await pool.close()


async def test_a_contract_draft_and_facts_can_be_given_as_they_are() -> None:
    model = scripted()
    limits = {"max_words": 9, "must_include": "text"}
    given: Any = {"draft": "First text.", "facts": "It rains.", "contract": limits}
    result = await refine.aio("Write.", model, **given)
    assert result.text == "First text."
    assert not [r for r in model.requests if r.role == "author"]
    assert "It rains." in model.requests[0].messages[1].text
    assert "At most 9 words." in model.requests[0].messages[1].text


async def test_roles_can_have_models_of_their_own() -> None:
    author, judge = scripted(), ScriptedModel(lambda _: "no comment", address="scripted/judge")
    result = await refine.aio("Write.", model=author, judge_models=[judge, judge], judges=3)
    assert result.status == "panel_failed"
    assert {r.role for r in judge.requests} == {"judge"}


@pytest.mark.parametrize(
    ("brief", "options", "message"),
    [
        ("Write.", {"model": "acme"}, "is not the address of a model"),
        ("Write.", {"model": "antropic/claude"}, "did you mean anthropic/claude"),
        ("Write.", {"model": "openai/gpt-4.1"}, "OPENAI_API_KEY"),
        ("Write.", {"model": "acme/x", "base_url": "http://127.0.0.1:9/v1"}, "127.0.0.1"),
        ("Write.", {"k": 0}, "`k` is 0"),
        ("Write.", {"contract": {"max_word": 3}}, "unknown key `max_word`"),
        ("Write.", {"prompts": Path("nowhere")}, "no prompt folder"),
        (None, {}, "`brief` is None; give text"),
        (b"Write.", {}, "`brief` is a bytes; give text"),
        ("x \udcff", {}, "`brief` contains a null or half of a character"),
        ("x \0 y", {}, "the brief contains a null"),
        (Task(brief=" "), {}, "the brief is empty"),
        (Task(brief="Write.", draft=" "), {}, "the draft is empty"),
        ("Write.", {"draft": "\n"}, "the draft is empty"),
        ("Write.", {"draft": b"x"}, "`draft` is a bytes; give text"),
        ("Write.", {"facts": "\udcff"}, "`facts` contains a null or half of a character"),
        ("Write.", {"contract": 3}, "`contract` is 3; give a Contract or a dict"),
        ("Write.", {"contract": {"facts": "x"}}, "unknown key `facts`"),
        (Task(brief="Write."), {"draft": "x"}, "a Task has its own draft"),
        (Task(brief="Write."), {"facts": "x"}, "a Task has its own facts"),
        (Task(brief="Write."), {"contract": {"max_words": 3}}, "a Task has its own contract"),
        # It could not be read again.
        ("Write.", {"contract": {"max_words": 9.5}}, "`max_words` must be"),
        # It would be ignored.
        ("---\nmax_words: 50\n---\nWrite.", {}, "read_task"),
    ],
)
async def test_what_cannot_be_used_is_refused_before_anything_is_written(
    tmp_path: Path, brief: Any, options: dict[str, Any], message: str
) -> None:
    options = {"model": "echo/echo", **options}
    with pytest.raises(InvalidInput, match=message):
        await refine.aio(brief, journal=tmp_path / "none.db", **options)
    assert not (tmp_path / "none.db").exists()


async def test_line_ends_of_a_brief_are_plain() -> None:
    result = await refine.aio("Write\r\nit.", model=scripted())
    assert result.story.task
    assert result.story.task.brief == "Write\nit."


async def test_prompts_can_be_named_by_a_string(tmp_path: Path) -> None:
    (tmp_path / "author.md").write_text("Write like Hemingway.")
    model = scripted()
    await refine.aio("Write.", model=model, prompts=str(tmp_path))
    assert model.requests[0].messages[-1].text == "Write like Hemingway."


async def test_waiting_inside_a_running_loop_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"await refine.aio\(...\)"):
        refine("Write.", model="echo/echo")


async def test_a_limit_that_could_not_be_read_again_is_refused(journal: Journal) -> None:
    budget = Budget(tokens=cast("int", 1e6))
    with pytest.raises(InvalidInput, match=r"budget\.tokens` must be a whole number"):
        await refine.aio("Write.", "echo/echo", journal=journal, budget=budget)
    assert journal.runs() == []


def test_an_error_is_shown_without_a_word_of_event_loops(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as raised:
        refine("Write.", "nowhere/x", journal=tmp_path / "journal.db")
    assert not isinstance(raised.value.__context__, RuntimeError)


def test_the_name_of_a_file_is_not_taken_for_the_brief(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "brief.md").write_text("Write about tides.")
    for name in ("brief.md", str(tmp_path / "brief.md")):
        with pytest.raises(InvalidInput, match="only `read_task` reads files"):
            refine(name, "echo/echo", journal=tmp_path / "journal.db")
    assert autoreason.refine.prepare("Write other.md", "echo/echo").task.brief == "Write other.md"
    assert autoreason.refine.prepare(autoreason.read_task("brief.md")).task.brief != "brief.md"
