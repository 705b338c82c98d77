"""Which models and prompts a run uses, and the model that is built in."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.run.runs import go_on, open_journal, scripted, settings, start_run
from tests.studies.certify.judges import stored
from tests.tournament.stage import critique, document

from autoreason.contract import Contract
from autoreason.errors import CallFailed, Failure, InvalidInput
from autoreason.events import BallotCast, CritiqueWritten
from autoreason.exchange import Outcome, Reply, Request
from autoreason.job_types import Solve
from autoreason.journal import Journal
from autoreason.models import local
from autoreason.models.local import pull, weights_path
from autoreason.prompts import built_in
from autoreason.run.knowledge import measure_knowledge
from autoreason.run.prepared import change_servers, choose_prompts
from autoreason.run.recorded import replay
from autoreason.run.refine import refine
from autoreason.run.result import Result
from autoreason.run.studies import advise
from autoreason.settings import DEFAULT_MODEL, Budget, Models, make_settings
from autoreason.studies import advice_measures
from autoreason.studies.certificate import (
    BALLOTS,
    DEFECTS,
    POSITION,
    CertificateFinding,
    CertificateVerdict,
    Property,
    write_certificate,
)
from autoreason.task import Task

ACME, OPENAI = (Models.everywhere(f"{name}/x") for name in ("acme", "openai"))
MIXED = replace(ACME, judges=("openai/y",))
HERE, THERE = "http://here.example", "http://there.example"
BOTH = {"acme": HERE, "openai": THERE}


@pytest.mark.parametrize(
    ("models", "recorded", "after", "given", "url"),
    [
        pytest.param(ACME, HERE, ACME, None, {"acme": HERE}, id="goes on"),
        pytest.param(ACME, HERE, OPENAI, None, None, id="not to another provider"),
        pytest.param(ACME, HERE, MIXED, None, {"acme": HERE}, id="not to a provider added"),
        pytest.param(ACME, HERE, ACME, THERE, THERE, id="another for the one"),
        pytest.param(ACME, HERE, MIXED, {"openai": THERE}, BOTH, id="one more"),
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
    changed = change_servers(before, after, {"base_url": given, "allow_http": False})
    assert changed["base_url"] == url


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
    programs = choose_prompts(replace(settings("openai/gpt"), job=Solve(strategy="single")))
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


BRIEF = "Write one sentence about rain."
DRAFT = "Rain falls on the roof and sings."
SERVER = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port = sys.argv[1], 0
params.n_ctx, params.n_parallel, params.verbosity, params.warmup = 4096, 1, -1, False
params.api_keys = [sys.argv[2]]
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
pytestmark = pytest.mark.timeout(1200)


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of the embedded model, where it is here or can be fetched; it answers in few words."""
    monkeypatch.setattr(local, "_MAX_SMALL_STRING", 24)
    monkeypatch.setattr(local, "_MAX_SMALL_LIST", 1)
    try:
        pull()
    except InvalidInput as error:
        pytest.skip(f"the embedded model cannot be fetched here: {error}")
    return "local/smollm2"


@pytest.fixture
def llama_server(embedded: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:  # noqa: ARG001
    """The address of llama.cpp's own server, in a process of its own, with the embedded model's weights and a key."""
    monkeypatch.setenv("LLAMACPP_API_KEY", "sk-of-this-server")
    command = [sys.executable, "-c", SERVER, str(weights_path()), "sk-of-this-server"]
    # Threads that wait would spin, which makes it many times slower beside other work.
    monkeypatch.setenv("GOMP_SPINCOUNT", "1000")
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, "the server did not start"
        yield f"{address}/v1"
        process.kill()


@pytest.fixture
def records(tmp_path: Path) -> Path:
    folder = tmp_path / "kb"
    folder.mkdir()
    (folder / "mails.csv").write_text(
        "subject,opens,sent,list,date\n"
        "Rain again,400,1000,spring,2024-03-01\n"
        "The weather report of this week,100,1000,spring,2024-03-01\n"
        "Umbrellas are here,390,1000,spring,2024-03-01\n"
        "Dear customer,110,1000,spring,2024-03-01\n"
        "Rain or shine,450,1000,autumn,2024-09-01\n"
        "News about the sky,50,1000,autumn,2024-09-01\n"
    )
    (folder / "facts").mkdir()
    (folder / "facts" / "one.md").write_text("It rains on 170 days of the year here.")
    return folder


async def small_run(model: str, journal: Journal, **options: Any) -> Result:
    """A round with two judges, which costs nothing."""
    options |= {"prompts": "small", "seed": 1, "passes": 1, "judges": 2}
    options |= {"draft": DRAFT, "reviewers": 0, "confirmation": 0, "journal": journal}
    result = await refine.aio(BRIEF, model, **options)
    assert result.status in ("converged", "capped")
    assert result.text
    assert result.tokens
    assert result.cost == 0
    return result


@pytest.mark.slow
async def test_a_whole_run_with_records_on_the_embedded_model(
    journal: Journal, embedded: str, records: Path
) -> None:
    with_records: Any = {"knowledge": records, "judge_outcomes": "yes", "predictor_seat": "no"}
    result = await small_run(embedded, journal, max_tokens=32, **with_records)
    events = [item.event for item in journal.events(result.run)]
    assert any(isinstance(event, CritiqueWritten) for event in events)
    assert all(event.ranking for event in events if isinstance(event, BallotCast))
    shown = journal.story(result.run).task
    assert shown is not None
    assert shown.knowledge is not None
    calls = list(journal.calls(result.run))
    for role, outcomes in (("critic", shown.knowledge.critic), ("judge", shown.knowledge.judges)):
        asked = [call.request.messages for call in calls if call.request.role == role]
        sent = ["".join(message.text for message in messages) for messages in asked]
        # Where a very small model writes nothing new, there is nothing to judge.
        assert sent or role == "judge"
        assert outcomes.all
        assert all(record.id in text for text in sent for record in outcomes.all)
        assert all("170 days" in text for text in sent)
    assert (await replay.aio(result.run, journal=journal)).same


@pytest.mark.slow
async def test_a_whole_run_on_the_server_of_llama_cpp(journal: Journal, llama_server: str) -> None:
    server: Any = {"base_url": llama_server, "max_tokens": 48}
    result = await small_run("llamacpp/smollm2", journal, **server)
    asked = {call.request.role for call in journal.calls(result.run)}
    assert asked >= {"critic", "reviser", "judge"}
    assert (await replay.aio(result.run, journal=journal)).same


@pytest.mark.slow
async def test_a_whole_test_of_records_on_the_embedded_model(
    journal: Journal, embedded: str, records: Path
) -> None:
    result = await measure_knowledge.aio(
        records, embedded, pairs=1, seed=1, max_tokens=64, journal=journal
    )
    assert result.status == "done"
    (judge,) = result.report.judges
    assert judge.verdict == "too few"
    assert len(list(journal.calls(result.run))) >= 6
    assert (records / ".tests.jsonl").exists()
    assert (await replay.aio(result.run, journal=journal)).same


@pytest.mark.slow
async def test_advice_on_the_embedded_model(
    journal: Journal, embedded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(advice_measures, "PAIRS", 1)
    result = await advise.aio(BRIEF, embedded, seed=1, max_tokens=64, journal=journal)
    assert result.status == "done"
    assert result.report.judge is not None
    # Two ballots, however good, are not a certificate.
    assert result.report.advice == "another judge"
    assert (await replay.aio(result.run, journal=journal)).same


async def test_judges_who_failed_to_rank_nine_texts_review_in_two_stages(tmp_path: Path) -> None:
    def prepared(**options: Any) -> int:
        return refine.prepare("Write.", "echo/echo", **options).settings.ballot_texts

    one = stored("echo/echo")
    assert prepared() == 10
    for verdict, texts in (("passed", 10), ("not shown", 10), ("failed", 5)):
        finding = replace(one.certificate.findings[0], verdict=verdict)
        certificate = replace(one.certificate, nine_texts=finding)
        path = write_certificate(replace(one, certificate=certificate))
        assert prepared() == texts
    assert prepared(ballot_texts=8) == 8
    for options in ({"reviewers": 0}, {"strategy": "single"}, {"protocol": "paper"}):
        assert prepared(**options) == 10
    chosen: Any = {"journal": tmp_path / "j.db", "passes": 5, "seed": 1}
    result = await refine.aio("Write.", "echo/echo", **chosen)
    assert result.story.settings is not None
    path.unlink()
    assert result.story.settings.ballot_texts == 5
    assert (await replay.aio(result.run, journal=chosen["journal"])).same
