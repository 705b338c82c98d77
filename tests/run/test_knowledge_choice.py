"""A run with the user's own records: who is shown what, what is sent where, and that it is decided once."""

from __future__ import annotations

import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from tests.run.leaving import leave_when_asked
from tests.run.runs import go_on

from autoreason import measure_knowledge, rejudge
from autoreason.errors import InvalidInput
from autoreason.exchange import Model, OnSignal, Reply, Request
from autoreason.journal import Journal
from autoreason.knowledge.holdout import KnowledgeVerdict, TestResult, record_test
from autoreason.knowledge_records import Knowledge, ShownOutcomes, ShownRecord
from autoreason.models.doubles import EchoModel
from autoreason.models.pool import ModelPool
from autoreason.run.knowledge_choice import disclose_task
from autoreason.run.recorded import fork, replay, resume
from autoreason.run.refine import refine
from autoreason.run.result import StopSwitch
from autoreason.settings import Budget, Models, make_settings
from autoreason.task import Task

BRIEF = "Write a subject line for a night by the sea."
ROWS = [
    ("Stay where the foghorn sings", 798, "spring"),
    ("Our spring news in short", 246, "spring"),
    ("Wake up above the waves", 640, "summer"),
    ("Newsletter twelve", 210, "summer"),
    ("The keeper saves you a room", 700, "autumn"),
    ("An update from us", 190, "autumn"),
    ("A lamp, a stove, a view", 655, "winter"),
    ("Offers", 120, "winter"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "kb"
    for name, text in (
        ("facts/steps.md", "The tower has 112 steps."),
        ("style/voice.md", "Short sentences. No exclamation marks."),
        ("feedback/guests.md", "Guests asked where the key is."),
    ):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(text)
    lines = [f"{text.replace(',', '')},2000,{opens},{group}" for text, opens, group in ROWS]
    (root / "mails.csv").write_text("\n".join(["subject,sent,opens,campaign", *lines]))
    return root


def add_mails(folder: Path) -> None:
    """So many that all pairs can be tested: more than twenty texts of other groups are known."""
    with (folder / "mails.csv").open("a") as file:
        file.writelines(f"\nword{at},2000,{100 + at % 2 * 300},g{at // 2}" for at in range(16))


class Watched(EchoModel):
    """Remembers what each role was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: dict[str, list[str]] = defaultdict(list)

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        self.shown[request.role].append("\n".join(each.text for each in request.messages))
        return await super().ask(request, on_signal)


class Other(EchoModel):
    """Another judge."""

    address = "echo/other"


def texts_in(prompts: list[str]) -> set[str]:
    return {text for text, *_ in ROWS if any(text.replace(",", "") in prompt for prompt in prompts)}


async def stopped_run(folder: Path, journal: Journal, **options: Any) -> str:
    """A run that was stopped before its first call."""
    switch = StopSwitch()
    switch.stop()
    options = {"knowledge": folder, "passes": 1, "journal": journal, **options}
    stopped = await refine.aio(BRIEF, "echo/echo", stop_switch=switch, **options)
    assert stopped.status == "stopped"
    return stopped.run


def styles(folder: Path, model: str, **options: Any) -> int:
    """How many records on style a run with a model has."""
    prepared = refine.prepare(BRIEF, model, knowledge=folder, **options)
    assert prepared.task.knowledge is not None
    return len(prepared.task.knowledge.style)


def test_every_role_is_shown_its_own_part(folder: Path, journal: Journal) -> None:
    model = Watched()
    refine.prepare(
        *(BRIEF, model), knowledge=folder, judge_outcomes="yes", passes=2, journal=journal
    ).run()
    for role in ("author", "critic", "reviser", "synthesizer"):
        assert all("112 steps" in each and "No exclamation" in each for each in model.shown[role])
    assert all("112 steps" in each for each in model.shown["judge"])
    assert all("where the key is" in each for each in model.shown["critic"])
    assert not any("where the key is" in each for each in model.shown["judge"])
    assert texts_in(model.shown["author"]) == texts_in(model.shown["reviser"]) == set()
    critics, judges = texts_in(model.shown["critic"]), texts_in(model.shown["judge"])
    assert critics
    assert judges
    assert not critics & judges


def test_judges_are_shown_outcomes_only_where_a_test_says_that_helps(folder: Path) -> None:
    def shown(**options: str) -> bool:
        prepared = refine.prepare(BRIEF, "echo/echo", knowledge=folder, **options)  # type: ignore[arg-type]
        assert prepared.task.knowledge is not None
        return bool(prepared.task.knowledge.judges.all)

    def tested(verdict: KnowledgeVerdict) -> None:
        result = TestResult(judge="echo/echo", verdict=verdict, pairs=200, when="2026-01-01")
        record_test(folder, result)

    assert not shown()
    assert shown(judge_outcomes="yes")
    tested("helps")
    assert shown()
    assert not shown(judge_outcomes="no")
    tested("not shown")
    assert not shown()


async def test_a_folder_that_is_gone_changes_nothing(folder: Path, journal: Journal) -> None:
    options: Any = {"judges": 3, "reviewers": 0, "confirmation": 0, "passes": 2}
    options |= {"budget": {"calls": 4}, "journal": journal}
    paused = await refine.aio(BRIEF, "echo/echo", knowledge=folder, **options)
    assert paused.status == "budget"
    shutil.rmtree(folder)
    model = Watched()
    ended = await go_on(journal, paused.run, model, changes={"budget": Budget()})
    assert ended.finished
    assert any("112 steps" in each for each in model.shown["judge"])
    assert (await replay.aio(ended.run, journal=journal)).same


async def test_weights_are_kept_with_the_run_whatever_becomes_of_the_folder(
    folder: Path, journal: Journal
) -> None:
    weights = {"echo/echo": 0.5, "echo/other": 2.0}
    judges: list[str | Model] = ["echo/echo", Other()]
    for address, weight in weights.items():
        result = TestResult(
            judge=address, verdict="not shown", pairs=200, when="2026-01-01", weight_without=weight
        )
        record_test(folder, result)
    run = await stopped_run(folder, journal, judge_models=judges, passes=3, k=9, seed=2)
    shutil.rmtree(folder)
    ended = await resume.aio(run, journal=journal, judge_models=judges)
    assert ended.finished
    assert ended.story.closing_review is not None
    assert ended.story.closing_review.weights == weights
    assert "echo/echo 0.5 and echo/other 2" in " ".join(str(ended).split())
    assert (await replay.aio(ended.run, journal=journal)).same


def test_private_records_reach_only_models_of_this_machine(folder: Path) -> None:
    (folder / "kb.toml").write_text('private = ["style/*"]\n')

    assert styles(folder, "echo/echo") == 1
    assert styles(folder, "openai/gpt-5") == 0
    assert styles(folder, "ollama/qwen3") == 1
    assert styles(folder, "ollama/qwen3", base_url="https://models.example.org") == 0
    assert styles(folder, "vllm/mine", base_url="http://127.0.0.1:4000/v1") == 1
    # A server on this machine may be a gateway.
    assert styles(folder, "openai/mine", base_url="http://127.0.0.1:8080/v1") == 0
    assert styles(folder, "mine/mine", base_url="http://127.0.0.1:8080/v1") == 0
    assert styles(folder, "ollama/gpt-oss:120b-cloud") == 0
    assert styles(folder, "ollama/glm-4.6:cloud") == 0


def test_a_run_is_refused_where_the_folder_or_what_is_private_may_be_mistyped(folder: Path) -> None:
    (folder / "kb.toml").write_text('private = ["stlye/*"]\n')
    with pytest.raises(InvalidInput, match=r"'stlye/[*]' matches no file here"):
        refine.prepare(BRIEF, "echo/echo", knowledge=folder)
    with pytest.raises(InvalidInput, match=r"'stlye/[*]' matches no file here"):
        measure_knowledge.prepare(folder, "echo/echo")
    with pytest.raises(InvalidInput, match="nowhere"):
        refine.prepare(BRIEF, "echo/echo", knowledge=folder / "nowhere")


def test_what_is_sent_where_is_one_sentence() -> None:
    record = ShownRecord(id="r0123456789", text="four words of text")
    knowledge = Knowledge(
        source="kb/",
        digest="",
        facts=(record,),
        critic=ShownOutcomes(well=(record,)),
        left_out={"private": 3},
    )
    task = Task(brief=BRIEF, knowledge=knowledge)
    shown, stays = "2 records, 8 words of kb/", "3 private records stay here"
    near = "the server at localhost:4000"
    for model, base_url, sentence in (
        ("anthropic/claude", None, f"{shown} go to anthropic; {stays}"),
        ("echo/echo", None, f"{shown} stay on this machine; {stays}"),
        ("openai/gpt-5", "https://a.corp/v1", f"{shown} go to the server at a.corp; {stays}"),
        (
            "openai/gpt-5",
            "http://localhost:4000/v1",
            f"{shown} go to {near}; {stays} (if {near} runs the model itself, call the model vllm/NAME)",
        ),
        ("ollama/glm-4.6:cloud", None, f"{shown} go to ollama's cloud; {stays}"),
    ):
        settings = make_settings(Models.everywhere(model), 1, base_url=base_url)
        assert disclose_task(task, settings) == sentence


def test_a_test_of_records_says_what_it_sends_where(folder: Path) -> None:
    (folder / "kb.toml").write_text('private = ["style/*"]\n')
    add_mails(folder)
    away, here = (
        measure_knowledge.prepare(folder, model) for model in ("openai/gpt-5", "echo/echo")
    )
    told, stay = f"24 texts, 50 words of {folder}", "1 private record stays here"
    assert disclose_task(away.task, away.settings) == f"{told} go to openai; {stay}"
    assert disclose_task(here.task, here.settings) == f"{told} stay on this machine"


def test_a_pool_decides_what_its_servers_are_shown(folder: Path, journal: Journal) -> None:
    (folder / "kb.toml").write_text('private = ["style/*"]\n')

    away, here, own = ModelPool("https://models.example.org"), ModelPool(), ModelPool()
    own.add({"echo/echo": Watched()})
    assert styles(folder, "ollama/qwen3", pool=here) == 1
    assert styles(folder, "ollama/qwen3", pool=away) == 0
    assert styles(folder, "echo/echo", pool=away) == 1
    assert styles(folder, "echo/echo", pool=own) == 0
    prepared = refine.prepare(BRIEF, "ollama/qwen3", knowledge=folder, pool=here, journal=journal)
    with pytest.raises(InvalidInput, match=r"private records.* to the server at models\.example"):
        prepared.run(pool=away)
    assert not journal.runs()


def test_private_pairs_go_nowhere_with_another_pool(folder: Path, journal: Journal) -> None:
    (folder / "kb.toml").write_text('private = ["mails.csv"]\n')
    add_mails(folder)
    prepared = measure_knowledge.prepare(folder, "ollama/qwen3", journal=journal)
    with pytest.raises(InvalidInput, match="private records"):
        prepared.run(pool=ModelPool("https://models.example.org"))


async def test_what_is_private_is_checked_after_another_process_has_left_the_run(
    folder: Path, journal: Journal
) -> None:
    (folder / "kb.toml").write_text('private = ["style/*"]\n')
    run = await stopped_run(folder, journal)
    model = Watched()
    with leave_when_asked(journal, run), pytest.raises(InvalidInput, match="private"):
        await resume.aio(run, model=model, journal=journal)
    assert not model.shown


async def test_private_records_of_a_run_go_nowhere_with_other_models(
    folder: Path, journal: Journal
) -> None:
    (folder / "kb.toml").write_text('private = ["facts/*", "style/*"]\n')
    run = await stopped_run(folder, journal)
    away = {"model": "openai/gpt-5", "journal": journal}
    with pytest.raises(InvalidInput, match=r"private records.*fork"):
        await resume.aio(run, **away)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="private records"):
        await resume.aio(run, model=Watched(), journal=journal)
    ended = await resume.aio(run, journal=journal)
    assert ended.finished
    prepared = fork.prepare(ended.run, **away)  # type: ignore[arg-type]
    knowledge = prepared.task.knowledge
    assert knowledge is not None
    assert knowledge.shown
    assert not any(each.private for each in knowledge.shown)
    said = disclose_task(prepared.task, prepared.settings)
    assert "2 private records stay here" in said
    assert f"its texts were written with 2 private records of {folder} at hand" in said
    texts = f"the texts go to openai; they were written with 2 private records of {folder} at hand"
    again = rejudge.prepare(ended.run, **away)  # type: ignore[arg-type]
    assert texts in disclose_task(again.task, again.settings)
    here = rejudge.prepare(ended.run, "echo/echo", journal=journal)
    assert not disclose_task(here.task, here.settings)
    known = fork.prepare(ended.run, journal=journal).task.knowledge
    assert known is not None
    assert len(known.facts) == len(known.style) == 1
    model = Watched()
    await fork.prepare(ended.run, model=model, journal=journal).run_async()
    assert not any("112 steps" in each for shown in model.shown.values() for each in shown)
