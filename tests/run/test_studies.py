"""Studies as the library's users run them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.run.runs import scripted, start_run

from autoreason.errors import Stopped
from autoreason.job_types import Certify
from autoreason.journal import Journal
from autoreason.run.export import export
from autoreason.run.prepared import reported_result, store_verdict
from autoreason.run.record import recorded_result
from autoreason.run.recorded import replay, resume
from autoreason.run.refine import refine
from autoreason.run.result import StopSwitch, StudyResult
from autoreason.run.studies import certify, judge, rejudge
from autoreason.studies.certificate import find_certificate
from autoreason.testing import EchoModel

TEXTS = {"long": "The moon pulls at the sea.", "short": "The wind."}


async def test_judges_alone_are_asked_and_play_every_role(tmp_path: Path) -> None:
    options: Any = {"judge_models": [EchoModel()], "judges": 3, "journal": tmp_path / "j.db"}
    prepared = judge.prepare("Explain tides.", TEXTS, **options)
    assert prepared.settings.models.all() == ("echo/echo",)
    result = await prepared.run_async()
    assert {each.name for each in result.report.standings} == set(TEXTS)


async def test_recorded_passes_are_judged_again_under_their_own_voting_rule(
    journal: Journal,
) -> None:
    result = await start_run(journal, scripted(), changes={"voting": "majority"})
    again = await rejudge.aio(result.run, "echo/echo", journal=journal, judges=2, seed=1)
    assert again.report.rejudged_run == result.run
    settings = journal.settings(journal.runs()[0].id)
    assert settings
    assert (settings.voting, settings.judges) == ("majority", 2)


async def test_a_certificate_is_stored_by_the_library(tmp_path: Path) -> None:
    certified = await certify.aio("echo/echo", seed=1, journal=tmp_path / "j.db")
    stored = find_certificate("echo/echo")
    assert stored
    assert stored.certificate == certified.report


async def test_a_certificate_that_cannot_be_stored_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("autoreason.studies.certificate.write_certificate", refuse)
    warnings: list[str] = []
    prepared = certify.prepare("echo/echo", seed=1, journal=tmp_path / "j.db")
    result = await prepared.run_async(on_warning=warnings.append)
    kept = "the certificate cannot be kept (No space left on device); the run has it: "
    assert warnings == [f"{kept}`autoreason show {result.run}`"]
    with pytest.warns(UserWarning, match="cannot be kept"):
        store_verdict(result)


async def test_a_study_knows_its_run_and_prints_what_its_command_prints(tmp_path: Path) -> None:
    place = tmp_path / "j.db"
    result = await judge.aio("Explain tides.", TEXTS, "echo/echo", judges=3, journal=place)
    assert (await replay.aio(result)).same
    export(result, tmp_path / "out")
    with Journal.open(str(place), create=False) as journal:
        row = journal.find(result.run)
        shown = reported_result(recorded_result(row, journal.story(row.id), journal), journal)
    assert str(result) == str(shown)
    assert f"autoreason show {result.run}" in str(result)
    assert result.report.conclusion == result.conclusion
    # It is short where it is typed, and so is its report.
    assert repr(result) == f"<StudyResult {result.run}, done: {result.sentence}>"
    assert repr(result.report) == f"<PanelReport: {result.sentence}>"
    written = await refine.aio("Explain tides.", "echo/echo", passes=1, journal=place)
    assert repr(written) == f"<Result {written.run}, {written.status}: {written.sentence}>"


async def test_a_study_that_paused_is_a_paused_result_that_can_be_resumed(tmp_path: Path) -> None:
    switch = StopSwitch()
    told: Any = {"on_signal": lambda _: switch.stop(), "stop_switch": switch}
    options: Any = {"judges": 40, "journal": tmp_path / "j.db", **told}
    paused = await judge.aio("Explain tides.", TEXTS, "echo/echo", **options)
    assert (paused.status, paused.finished) == ("stopped", False)
    assert "autoreason resume" in str(paused)
    assert paused.to_dict()["reason"] == paused.reason
    with pytest.raises(Stopped, match=rf"run {paused.run} has no report yet .*autoreason resume"):
        _ = paused.report
    resumed = await resume.aio(paused)
    assert isinstance(resumed, StudyResult)
    assert {each.name for each in resumed.report.standings} == set(TEXTS)


def test_a_judge_in_a_file_is_certified_under_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("")
    job = certify.prepare("mine.py:Judge/x").settings.job_as(Certify)
    assert job.model == f"{tmp_path / 'mine.py'}:Judge/x"
