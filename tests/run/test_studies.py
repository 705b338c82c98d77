"""Studies as the library's users run them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.run.runs import open_journal, scripted, start_run

from autoreason.errors import InvalidInput
from autoreason.journal import Journal
from autoreason.run.certificate_storage import store_certificate
from autoreason.run.studies import (
    certify_async,
    compare_async,
    judge_async,
    prepare_certify,
    prepare_judge,
    rejudge_async,
)
from autoreason.settings import Budget
from autoreason.studies.certify.certificate_files import find_certificate
from autoreason.testing import EchoModel

TEXTS = {"long": "The moon pulls at the sea.", "short": "The wind."}


async def test_judges_alone_are_asked_and_play_every_role(tmp_path: Path) -> None:
    judge = EchoModel()
    prepared = prepare_judge("Explain tides.", TEXTS, judge_models=[judge], judges=3)
    assert prepared.settings.models.all() == ("echo/echo",)
    report = await judge_async(
        "Explain tides.", TEXTS, judge_models=[judge], journal=tmp_path / "j.db", seed=1
    )
    assert {each.name for each in report.standings} == set(TEXTS)


async def test_a_comparison_has_what_each_strategy_took(tmp_path: Path) -> None:
    report = await compare_async(
        "Explain tides.",
        "echo/echo",
        strategies=("critique_revise", "single"),
        repeats=2,
        panel_judges=3,
        passes=1,
        seed=1,
        journal=tmp_path / "j.db",
    )
    assert [each.spent.calls for each in report.strategies] == [4, 0], "drafts are shared"


async def test_recorded_passes_are_judged_again_under_their_own_voting_rule(
    journal: Journal,
) -> None:
    result = await start_run(journal, scripted(), changes={"voting": "majority"})
    report = await rejudge_async(result.run, "echo/echo", journal=journal, judges=2, seed=1)
    assert report.rejudged_run == result.run
    settings = journal.settings(journal.runs()[0].id)
    assert settings
    assert (settings.voting, settings.judges) == ("majority", 2)


async def test_a_certificate_is_stored_by_the_library(tmp_path: Path) -> None:
    certificate = await certify_async("echo/echo", seed=1, journal=tmp_path / "j.db")
    stored = find_certificate("echo/echo")
    assert stored
    assert stored.certificate == certificate


async def test_a_certificate_that_cannot_be_stored_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("autoreason.studies.certify.certificate_files.write_certificate", refuse)
    warnings: list[str] = []
    prepared = prepare_certify("echo/echo", seed=1, journal=tmp_path / "j.db")
    result = await prepared.run_async(on_warning=warnings.append)
    assert warnings == [
        "the certificate cannot be kept (No space left on device); the run has it: "
        f"`autoreason show {result.run}`"
    ]
    with pytest.warns(UserWarning, match="cannot be kept"):
        store_certificate(result)


async def test_a_study_that_paused_has_no_report_and_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"paused \(budget: .*\); resume it for its report"):
        await judge_async(
            "Explain tides.",
            TEXTS,
            "echo/echo",
            judges=9,
            budget=Budget(calls=2),
            journal=tmp_path / "j.db",
        )
    with open_journal(tmp_path) as other:
        assert other.runs() == []


def test_a_judge_in_a_file_is_certified_under_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("")
    options = prepare_certify("mine.py:Judge/x").settings.strategy_options
    assert options["model"] == f"{tmp_path / 'mine.py'}:Judge/x"
