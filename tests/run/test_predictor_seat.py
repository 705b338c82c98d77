"""A predictor fitted on the user's outcomes, on one seat of the panels: when it sits there, and how it votes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.knowledge.test_holdout import BAD, FILLER, GOOD, make_records
from tests.run.runs import go_on, scripted
from tests.tournament.stage import document, vote

from autoreason import evaluate_predictor, refine
from autoreason.errors import InvalidInput
from autoreason.journal import Journal
from autoreason.knowledge.folder import encode_records
from autoreason.knowledge.holdout import KnowledgeVerdict, TestResult, read_tests, record_test
from autoreason.knowledge.predictor import load_ridge
from autoreason.knowledge_records import PredictorSeat, Record
from autoreason.run.prepared import PreparedRun
from autoreason.run.recorded import replay
from autoreason.settings import Budget
from autoreason.stats import Estimate

BRIEF = "Write a subject line for a night by the sea."
FIRST, SECOND, THIRD = (
    f"{' '.join(words)} {' '.join(FILLER[at : at + 5])}"
    for at, words in enumerate((BAD[:2], (GOOD[0], BAD[0]), GOOD[:2]))
)
"""Texts of which the last is the one that the records like best."""
SCRIPT: dict[str, Any] = {
    "author": document(FIRST),
    "reviser": document(SECOND),
    "synthesizer": document(THIRD),
    "judge": vote(BAD[1], GOOD[1], BAD[0]),
    "pass/1/judge/1/try/0": vote(GOOD[1], BAD[1], BAD[0]),
}
PANEL: dict[str, Any] = {
    "judges": 2,
    "candidates": "B+AB",
    "early_stop": False,
    "reviewers": 0,
    "confirmation": 0,
    "drafts": 1,
    "passes": 3,
    "k": 3,
    "seed": 5,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Records from which it can be learned which words do well."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    load_ridge.cache_clear()
    root = tmp_path / "kb"
    root.mkdir()
    write(root, make_records(150))
    return root


def write(folder: Path, records: list[Record]) -> None:
    (folder / "records.jsonl").write_bytes(encode_records(records))


def keep(folder: Path, verdict: KnowledgeVerdict, judge: str = "words", right: float = 0.8) -> None:
    share = Estimate(right, right - 0.03, right + 0.03)
    result = TestResult(judge=judge, verdict=verdict, pairs=200, when="2026-01-01", right=share)
    record_test(folder, result)


def prepared(folder: Path, **options: Any) -> PreparedRun[Any]:
    model = options.pop("model", "echo/echo")
    return refine.prepare(BRIEF, model, **{"knowledge": folder, **options})


async def run(folder: Path, journal: Journal, **options: Any) -> Any:
    """A run of the panel."""
    options = {"model": scripted(SCRIPT), **PANEL, **options}
    return await prepared(folder, **options).run_async(journal=journal)


def seat_of(folder: Path, **options: Any) -> PredictorSeat | None:
    knowledge = prepared(folder, **options).task.knowledge
    assert knowledge is not None
    return knowledge.seat


def test_it_sits_only_where_the_last_test_says_that_it_helps(folder: Path) -> None:
    assert seat_of(folder) is None
    found = evaluate_predictor(folder, "words")
    (kept,) = read_tests(folder)
    assert (kept.judge, kept.verdict, kept.right) == ("words", "helps", found.right)
    seat = seat_of(folder)
    assert seat is not None
    assert (seat.predictor, seat.records, seat.verdict) == ("words", 300, "helps")
    right = found.right
    assert (seat.right, seat.low, seat.high) == (right.value, right.low, right.high)
    assert seat_of(folder, predictor_seat="no") is None
    keep(folder, "not shown")
    assert seat_of(folder) is None
    forced = seat_of(folder, predictor_seat="yes")
    assert forced is not None
    assert forced.verdict == "not shown"


def test_retrieval_and_single_files_keep_no_verdict_for_a_seat(folder: Path) -> None:
    evaluate_predictor(folder, "retrieval")
    evaluate_predictor(folder / "records.jsonl", "words")
    assert read_tests(folder) == []


def test_untested_it_sits_where_it_is_wanted_and_says_so(folder: Path) -> None:
    shown = str(prepared(folder, predictor_seat="yes", judges=4).estimate())
    assert shown
    seat = seat_of(folder, predictor_seat="yes")
    assert seat is not None
    assert (seat.verdict, seat.right) == ("", None)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"predictor_seat": "maybe"}, "predictor_seat"),
        ({"predictor_seat": "yes", "strategy": "best_of_n"}, "best_of_n has no panels"),
        ({"predictor_seat": "yes", "knowledge": ""}, "`predictor_seat` goes with `knowledge`"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(
    folder: Path, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        prepared(folder, **options)


def test_with_too_few_outcomes_there_is_nothing_to_fit(folder: Path) -> None:
    write(folder, make_records(10))
    with pytest.raises(InvalidInput, match=r"has 20$"):
        prepared(folder, predictor_seat="yes")
    keep(folder, "helps")
    assert seat_of(folder) is None


def test_neither_the_runs_group_nor_copies_of_its_draft_nor_picked_texts_are_learned(
    folder: Path,
) -> None:
    keep(folder, "helps")
    records = make_records(150)
    assert seat_of(folder, knowledge_group="g7").records == 298  # type: ignore[union-attr]
    assert seat_of(folder, draft=records[20].text).records == 299  # type: ignore[union-attr]
    write(folder, [replace(each, chosen="picked") for each in records[:100]] + records[100:])
    assert seat_of(folder).records == 200  # type: ignore[union-attr]


async def test_private_records_are_learned_and_none_of_their_words_leave_this_machine(
    folder: Path, journal: Journal, tmp_path: Path
) -> None:
    keep(folder, "helps")
    secret = "zanzibar"
    records = [
        replace(each, text=f"{each.text} {secret}", private=True)
        if each.text.split()[0] in GOOD
        else each
        for each in make_records(150)
    ]
    write(folder, records)
    ended = await run(folder, journal)
    story = json.dumps([str(ended), str(ended.story)])
    assert secret not in story
    assert not any(secret in str(each) for each in journal.answers(ended.run).values())
    assert secret in "".join(
        str(load_ridge(each.name).ridge.words)
        for each in (tmp_path / "data" / "autoreason" / "predictors").iterdir()
    )


async def test_its_ballot_moves_the_winner_and_the_run_says_so(
    folder: Path, journal: Journal
) -> None:
    keep(folder, "helps", right=0.63)
    alone, beside = [await run(folder, journal, predictor_seat=each) for each in ("no", "tested")]
    assert alone.story.trajectory[0] == "A"
    assert beside.story.trajectory[0] == "AB"
    shown = " ".join(str(beside).split())
    assert (
        "among the judges who choose sits a predictor fitted on 300 of your outcomes (words), "
        "right on 63 % (60 to 66) of past pairs; it voted in 3 of 3 decisions"
    ) in shown
    assert "and are not evidence" in shown
    assert "a predictor" not in str(alone)
    assert (await replay.aio(beside.run, journal=journal)).same


@pytest.mark.parametrize("calls", [3, 9])
async def test_a_folder_that_changed_between_kill_and_resume_changes_nothing(
    folder: Path, journal: Journal, calls: int
) -> None:
    keep(folder, "helps")
    whole = await run(folder, journal)
    paused = await run(folder, journal, budget=Budget(calls=calls))
    assert paused.status == "budget"
    # What did well does badly now, and no test says that it helps.
    told = [(each, each.result) for each in make_records(150) if each.result]
    opposite = [(each, replace(came, value=0.5 - came.value)) for each, came in told]
    write(folder, [replace(each, result=came) for each, came in opposite])
    keep(folder, "harms")
    ended = await go_on(journal, paused.run, scripted(SCRIPT), changes={"budget": Budget()})
    assert ended.finished
    assert [each.decided for each in ended.story.passes] == [
        each.decided for each in whole.story.passes
    ]
    assert (await replay.aio(ended.run, journal=journal)).same


async def test_without_the_saved_predictor_a_run_replays_and_says_why_it_cannot_go_on(
    folder: Path, journal: Journal, tmp_path: Path
) -> None:
    keep(folder, "helps")
    whole, paused = await run(folder, journal), await run(folder, journal, budget=Budget(calls=3))
    load_ridge.cache_clear()
    for file in (tmp_path / "data" / "autoreason" / "predictors").iterdir():
        file.unlink()
    assert (await replay.aio(whole.run, journal=journal)).same
    with pytest.raises(InvalidInput, match="is not saved here"):
        await go_on(journal, paused.run, scripted(SCRIPT), changes={"budget": Budget()})


def test_a_run_that_is_only_prepared_saves_nothing(folder: Path, tmp_path: Path) -> None:
    keep(folder, "helps")
    prepared(folder).estimate()
    assert not (tmp_path / "data" / "autoreason" / "predictors").exists()


@pytest.mark.parametrize(
    ("judged", "votes"),
    [
        ({}, "0 of 3 decisions"),
        # The rewrite is the same again, which is not reviewed once more.
        ({"judges": 0, "candidates": "B", "review_every": 1, "reviewers": 2}, "0 of 1 decision"),
    ],
)
async def test_next_to_a_long_text_it_has_no_vote(
    folder: Path, journal: Journal, judged: dict[str, Any], votes: str
) -> None:
    keep(folder, "helps")
    script = {**SCRIPT, "author": document(f"{FIRST} {'more words ' * 60}")}
    ended = await run(folder, journal, model=scripted(script), **judged)
    assert f"it voted in {votes}, in {votes[5]} not: " in " ".join(str(ended).split())
    (line,) = (each for each in ended.summary() if each.startswith("Written with "))
    assert line.endswith(f" records; the predictor voted in {votes}.")
    assert len(line) < 80
