"""Which model plays which role, and which prompts a run uses."""

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
from autoreason.run.prepared import change_servers, choose_prompts
from autoreason.run.recorded import replay
from autoreason.settings import DEFAULT_MODEL, Budget, Models, make_settings
from autoreason.studies.certify.certificate_files import write_certificate
from autoreason.studies.certify.properties import (
    BALLOTS,
    DEFECTS,
    POSITION,
    CertificateFinding,
    CertificateVerdict,
    Property,
)
from autoreason.task import Task

ACME, OPENAI = (Models.everywhere(f"{name}/x") for name in ("acme", "openai"))
MIXED = replace(ACME, judges=("openai/y",))
HERE, THERE = "http://here.example", "http://there.example"


@pytest.mark.parametrize(
    ("models", "recorded", "after", "given", "url"),
    [
        pytest.param(ACME, HERE, ACME, None, {"acme": HERE}, id="goes on"),
        pytest.param(ACME, HERE, OPENAI, None, None, id="not to another provider"),
        pytest.param(ACME, HERE, MIXED, None, {"acme": HERE}, id="not to a provider added"),
        pytest.param(ACME, HERE, ACME, THERE, THERE, id="another for the one"),
        pytest.param(
            ACME,
            HERE,
            MIXED,
            {"openai": THERE},
            {"acme": HERE, "openai": THERE},
            id="one more",
        ),
        pytest.param(ACME, None, OPENAI, None, None, id="none"),
        pytest.param(MIXED, HERE, MIXED, None, HERE, id="still in doubt"),
        pytest.param(MIXED, HERE, OPENAI, None, None, id="doubt is not settled by a change"),
        pytest.param(MIXED, HERE, MIXED, {"acme": HERE}, {"acme": HERE}, id="doubt is settled"),
    ],
)
def test_a_server_stays_with_its_provider(
    models: Models, recorded: str | None, after: Models, given: Any, url: Any
) -> None:
    before = make_settings(models, 1, base_url=recorded)
    assert (
        change_servers(before, after, {"base_url": given, "allow_http": False})["base_url"] == url
    )


@pytest.mark.parametrize(
    ("after", "given", "flag", "allowed"),
    [
        (ACME, None, False, True),
        (ACME, THERE, False, False),
        (ACME, THERE, True, True),
        (OPENAI, None, False, False),
        (MIXED, {"openai": THERE}, False, False),
    ],
)
def test_consent_to_plain_http_is_for_what_it_was_given_for(
    after: Models, given: Any, flag: bool, allowed: bool
) -> None:
    before = make_settings(ACME, 1, base_url=HERE, allow_http=True)
    found = change_servers(before, after, {"base_url": given, "allow_http": flag})
    assert found["allow_http"] is allowed


SMALL = built_in(small=True).sources


def write_finding(what: Property, verdict: CertificateVerdict) -> None:
    """A certificate of `openai/gpt` with one verdict."""
    before = stored()
    finding = CertificateFinding(
        name=what.name, verdict=verdict, value=0.0, low=0.0, high=0.1, n=24, statement="", rule=""
    )
    certificate = replace(before.certificate, findings=(finding,))
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


@pytest.mark.parametrize("what", [BALLOTS, DEFECTS])
def test_a_failed_certificate_changes_the_judges_prompt_and_no_other(what: Property) -> None:
    write_finding(what, "failed")
    usual, chosen = built_in().sources, choose_prompts(settings("openai/gpt")).sources
    assert {name for name in usual if chosen[name] != usual[name]} == {"judge"}
    assert len(chosen["judge"]) < len(usual["judge"])
    assert choose_prompts(settings("openai/other")).sources == usual
    author = replace(settings("openai/gpt"), models=Models(author="openai/gpt", judges=("a/b",)))
    assert choose_prompts(author).sources == usual, "it says nothing of authors"
    programs = choose_prompts(settings("openai/gpt"), writes="programs")
    assert programs.sources == built_in(writes="programs").sources


@pytest.mark.parametrize(("what", "verdict"), [(POSITION, "failed"), (BALLOTS, "not shown")])
def test_other_failures_and_what_is_not_shown_change_no_prompt(
    what: Property, verdict: CertificateVerdict
) -> None:
    write_finding(what, verdict)
    assert choose_prompts(settings("openai/gpt")).sources == built_in().sources


def test_a_prompt_for_judges_of_the_users_own_stays(tmp_path: Path) -> None:
    write_finding(BALLOTS, "failed")
    own = "{% for one in candidates %}{{ one.label }}: {{ one.text }}{% endfor %} Rank them."
    (tmp_path / "judge.md").write_text(own)
    assert choose_prompts(settings("openai/gpt"), tmp_path).sources["judge"] == own


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
        assert (await replay.aio(result.run, journal=journal)).same
