"""Which prompts a run is held with, and that a resumed run and a replay are held with the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.run.runs import go_on, open_journal, scripted, settings, start_run
from tests.studies.certify.judges import stored
from tests.tournament.stage import critique, document

from autoreason.contract import Contract
from autoreason.errors import CallFailed, Failure
from autoreason.exchange import Outcome, Reply, Request
from autoreason.prompts import built_in
from autoreason.run.prompt_choice import choose_prompts
from autoreason.run.replay import replay_async
from autoreason.settings import DEFAULT_MODEL, Budget
from autoreason.studies.certify.certificate_files import write_certificate
from autoreason.studies.certify.properties import BALLOTS, POSITION, CertificateFinding, Property
from autoreason.task import Task

SMALL = built_in(small=True).sources


def failed(what: Property) -> None:
    """A certificate of `openai/gpt` that failed in one respect."""
    before = stored()
    kept = [each for each in before.certificate.findings if each.name != what.name]
    finding = CertificateFinding(
        name=what.name, verdict="fail", value=0.0, low=0.0, high=0.1, n=24, statement="", rule=""
    )
    certificate = replace(before.certificate, findings=(*kept, finding))
    write_certificate(replace(before, certificate=certificate))


def test_the_embedded_model_is_asked_in_few_words_and_others_are_not() -> None:
    assert choose_prompts(settings(DEFAULT_MODEL)).sources == SMALL
    assert choose_prompts(settings("openai/gpt")).sources == built_in().sources


def test_a_word_in_place_of_a_folder_chooses_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert choose_prompts(settings("openai/gpt"), Path("small")).sources == SMALL
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "author.md").write_text("Mine.")
    assert choose_prompts(settings("openai/gpt"), Path("small")).sources == SMALL
    assert choose_prompts(settings("openai/gpt"), tmp_path / "small").render("author") == "Mine."


def test_a_failed_certificate_chooses_them_where_it_says_how_to_ask() -> None:
    failed(POSITION)
    assert choose_prompts(settings("openai/gpt")).sources == built_in().sources
    failed(BALLOTS)
    assert choose_prompts(settings("openai/gpt")).sources == SMALL
    assert choose_prompts(settings("openai/other")).sources == built_in().sources


REFUSED = Reply(
    outcome=Outcome.OK, text=critique("Dull."), model="scripted/scripted", schema_refused=True
)


def drafts(request: Request) -> str:
    """The third draft keeps the contract."""
    kept = request.key.startswith("drafts/3")
    return document("First text." if kept else "First text of far too many words.")


@pytest.mark.parametrize(
    "lost",
    [
        *("draft/repair", "drafts/2/try/0", "drafts/3/try/0", "pass/1/critic/0/try/0"),
        *("pass/1/judge/1/try/0", "pass/2/critic/0/try/0", "pass/2/reviser/try/0"),
    ],
)
async def test_a_run_that_broke_off_goes_on_with_the_same_drafts_and_prompts(
    tmp_path: Path, lost: str
) -> None:
    script: dict[str, Any] = {"author": drafts, "critic": REFUSED}
    down = CallFailed(Failure.CONNECTION, "nobody answers")
    task = Task(brief="Write.", contract=Contract(max_words=5))
    limit = {"budget": Budget(calls=200)}
    with open_journal(tmp_path) as journal:
        broken = scripted(script | {lost: down})
        paused = await start_run(journal, broken, task=task, changes=limit | {"passes": 2})
        assert paused.status == "provider_failed"
        model = scripted(script)
        result = await go_on(journal, paused.run, model, changes={"budget": Budget(calls=300)})
        assert result.story.draft is not None
        assert (result.story.draft.number, result.story.draft.of) == (3, 3)
        assert result.story.shortened is not None
        asked = [request.key for request in (*broken.requests, *model.requests)]
        assert [key for key in asked if asked.count(key) > 1] == [lost, lost]
        assert (await replay_async(result.run, journal=journal)).same
