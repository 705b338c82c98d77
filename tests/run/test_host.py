"""Questions to a host: each is answered once, nobody waits for them, and the run is the one of a single process."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from benchmarks.kills import run_with_kills, story
from examples.host_agent import reply_to
from hypothesis import given
from hypothesis import strategies as st
from tests.programs.stage import MadeUpExaminer, fenced, program
from tests.run.host_runs import (
    ADDRESS,
    answer_all,
    begin,
    play,
    play_by_commands,
    play_on,
    play_within,
    resume,
    terms,
)
from tests.run.leaving import emitted
from tests.run.runs import open_journal, settings
from tests.run.solve_runs import DIGEST, task

import autoreason
from autoreason.errors import InvalidInput, ProviderFailed, Waiting
from autoreason.exchange import Message, OnSignal, Reply, Request
from autoreason.job_types import Solve
from autoreason.journal import Journal
from autoreason.journal.maintenance import copy_runs
from autoreason.models.doubles import EchoModel
from autoreason.models.pool import ModelPool
from autoreason.programs.examination import ExaminerService
from autoreason.run import driver, host
from autoreason.run.host import LEASE, MAX_ANSWER, MAX_LEASES, answer, can_go_on, standing, take
from autoreason.run.recorded import replay
from autoreason.settings import Budget, Models, make_settings


class Clock:
    """The time that leases see."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        for module in ("autoreason.run.host", "autoreason.run.asker"):
            patch.setattr(f"{module}.time", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with open_journal(tmp_path) as opened:
        yield opened


def refusal(journal: Journal, token: str, text: str | None = None, **options: Any) -> str:
    """Why a question is not given or an answer not taken."""
    with pytest.raises(InvalidInput) as refused:
        answer(journal, token, text) if text is not None else take(journal, token, **options)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def only(journal: Journal, run: str) -> str:
    (question,) = journal.questions(run)
    return question.token


# ---- the same run --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"judges": 3, "candidates": "B+AB", "early_stop": False},
        {"ballot": "graded", "budget": Budget(calls=60)},
        {"style": "verified", "quoted_critique": False},
    ],
)
async def test_a_run_answered_from_outside_is_that_of_one_process(
    journal: Journal, changes: dict[str, Any]
) -> None:
    outside = await play(journal, terms(**changes))
    within = await play_within(journal, terms(**changes))
    assert outside.finished
    assert (outside.text, outside.status, outside.calls) == (
        within.text,
        within.status,
        within.calls,
    )
    assert emitted(journal, outside.run) == emitted(journal, within.run)
    assert (outside.tokens, outside.cost) == (None, None)
    assert (await replay.aio(outside.run, journal=journal)).same
    # Asked once each, however often the run was taken up.
    assert not journal.questions(outside.run)
    assert not journal.in_flight(outside.run)


async def test_a_run_on_a_server_is_the_same(tmp_path: Path, postgres_url: str) -> None:
    with (
        open_journal(tmp_path) as file,
        Journal.open(postgres_url, create=True) as server,
    ):
        there, here = await play(server), await play_within(file)
        assert emitted(server, there.run) == emitted(file, here.run)


async def test_a_run_waits_at_once_and_no_time_passes_for_it(journal: Journal) -> None:
    result = await begin(journal, terms(budget=Budget(seconds=60.0)))
    assert result.status == "waiting"
    assert result.reason.startswith("1 question was asked; `autoreason host next ")
    assert not can_go_on(result.run, journal)
    with pytest.raises(Waiting):
        _ = result.text
    answer_all(journal, result.run)
    assert can_go_on(result.run, journal)
    assert (await resume(journal, result.run)).seconds is not None


async def test_panels_are_asked_as_one_wave_and_partial_answers_are_taken_in(
    journal: Journal,
) -> None:
    result = await begin(journal)
    while len(journal.questions(result.run)) < 3:
        answer_all(journal, result.run)
        result = await resume(journal, result.run)
    answer_all(journal, result.run, most=2)
    before = journal.spent(result.run).calls
    result = await resume(journal, result.run)
    assert (result.status, result.calls) == ("waiting", before + 2)
    assert len(journal.questions(result.run)) == 1


async def test_a_limit_of_calls_is_kept_and_what_waits_for_it_does_not_hang(
    journal: Journal,
) -> None:
    limit = Budget(calls=7)
    settings = terms(passes=1, confirmation=0, reviewers=9, budget=limit)
    result = await begin(journal, settings)
    most = 0
    while result.status == "waiting":
        most = max(most, len(journal.questions(result.run)))
        answer_all(journal, result.run)
        result = await resume(journal, result.run)
    assert result.status == "capped" or result.calls <= 7
    assert result.calls <= 7
    assert most <= 7


async def test_judges_of_a_provider_are_asked_as_usual(journal: Journal) -> None:
    pool = ModelPool()
    pool.add({"echo/echo": EchoModel()})
    models = Models(author=ADDRESS, critic=ADDRESS, synthesizer=ADDRESS, judges=("echo/echo",))
    settings = make_settings(models, 7, passes=1, review_every=0, reviewers=3, confirmation=3)
    result = await begin(journal, settings, pool=pool)
    waves = 0
    while result.status == "waiting":
        waves += 1
        assert {each.key.split("/")[-3] for each in journal.questions(result.run)} != {"judge"}
        answer_all(journal, result.run)
        result = await resume(journal, result.run)
    assert result.finished
    assert waves == 3
    asked_by = {call.request.model for call in journal.calls(result.run)}
    assert asked_by == {ADDRESS, "echo/echo"}


async def test_other_jobs_wait_as_well(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        texts = {"one": "Tides come twice a day.", "two": "The sea moves."}
        found = await autoreason.judge.aio(
            "Explain tides.", texts, model=ADDRESS, judges=3, journal=journal
        )
        assert found.status == "waiting"
        assert answer_all(journal, found.run) == 3
        found = await autoreason.resume.aio(found.run, journal=journal)  # type: ignore[assignment]
        assert found.status == "done"
        assert "asked" in standing(found, journal).text  # type: ignore[operator]


async def test_the_parts_of_a_suite_wait_together(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        compared = await autoreason.compare.aio(
            "Explain tides.",
            ADDRESS,
            strategies=["autoreason", "single"],
            repeats=2,
            passes=1,
            journal=journal,
        )
        assert compared.status == "waiting"
        open_ones = standing(compared, journal).open
        assert len(open_ones) == len(set(open_ones)) >= 2
        run = compared.run
        while (row := journal.row(run)).status == "waiting":
            assert answer_all(journal, run)
            await autoreason.resume.aio(run, journal=journal)
        assert journal.row(run).finished, row


def test_research_is_proposed_from_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, journal: Journal
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("knob.txt").write_text("1\n")
    Path("task.md").write_text("---\nartifact: knob.txt\n---\nTurn the knob up.\n")
    options: Any = {"evaluate": lambda folder, *_: float((folder / "knob.txt").read_text())}
    found: Any = autoreason.research(
        "task.md", ADDRESS, **options, evaluations=20, patience=1, journal=journal
    )
    asked = 0
    while found.status == "waiting":
        (question,) = journal.questions(found.run)
        asked += 1
        take(journal, question.token)
        proposal = f"HYPOTHESIS: more\nEXPECTED: +1\n\nknob.txt\n```\n{asked + 1}\n```\n"
        answer(journal, question.token, proposal)
        found = autoreason.resume(found.run, journal=journal, **options)
    assert (found.status, found.calls) == ("done", asked)
    assert standing(found, journal).text == found.patch
    assert found.patch


async def test_a_provider_that_fails_is_why_a_run_pauses(journal: Journal) -> None:
    class Failing(EchoModel):
        async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:  # noqa: ARG002
            raise ProviderFailed("it is down")

    pool = ModelPool()
    pool.add({"echo/echo": Failing()})
    texts = {"one": "Tides come twice a day.", "two": "The sea moves."}
    found = await autoreason.judge.aio(
        "Explain tides.",
        texts,
        judge_models=[ADDRESS, "echo/echo"],
        judges=4,
        pool=pool,
        journal=journal,
    )
    assert found.status == "provider_failed"
    assert "it is down" in found.reason
    assert journal.questions(found.run)


def test_what_waits_is_copied_with_its_run(tmp_path: Path, journal: Journal) -> None:
    run = asyncio.run(begin(journal)).run
    token = only(journal, run)
    take(journal, token)
    answer(journal, token, "A machine stands in the hall now. Press the large button.")
    with open_journal(tmp_path / "other") as other:
        assert copy_runs(journal, other, lambda *_: None).copied == [run]
        assert other.questions(run) == journal.questions(run)
        assert asyncio.run(resume(other, run)).calls == 1
        other.delete_run(run)
        assert other.question(token) is None


# ---- one question --------------------------------------------------------------------------


async def test_a_prompt_is_whole_and_says_nothing_of_its_run(journal: Journal) -> None:
    result = await begin(journal)
    token = only(journal, result.run)
    text = take(journal, token).text
    assert "coffee machine" in text
    assert result.run not in text
    assert token not in text
    assert not {"draft/try", "host/", "pass"} & {*text.split()}
    answer_all(journal, result.run)


async def test_a_question_is_taken_by_one_until_its_lease_is_over(
    journal: Journal, clock: Clock
) -> None:
    token = only(journal, (await begin(journal)).run)
    assert refusal(journal, token, "It") == "this question was not read yet; take it first"
    take(journal, token)
    assert refusal(journal, token).startswith("this question is taken; it is free again in ")
    clock.now += LEASE - 1
    refusal(journal, token)
    clock.now += 1
    take(journal, token)
    # A clock that was set back keeps a question from nobody.
    clock.now -= 3 * LEASE
    take(journal, token)
    answer(journal, token, "A machine stands in the hall now. Press the large button.")
    for text in (None, "Another."):
        assert "answered already" in refusal(journal, token, text)
        assert "no question of this token" in refusal(journal, "abc", text)


async def test_three_leases_without_an_answer_pause_the_run_once(
    journal: Journal, clock: Clock
) -> None:
    result = await begin(journal)
    token = only(journal, result.run)
    for _ in range(MAX_LEASES):
        assert not can_go_on(result.run, journal)
        take(journal, token)
        assert standing(result, journal).open == []
        clock.now += LEASE
    assert can_go_on(result.run, journal)
    result = await resume(journal, result.run)
    assert (result.status, result.reason.partition(";")[0]) == (
        "provider_failed",
        "a question was taken 3 times and never answered",
    )
    result = await resume(journal, result.run)
    assert (result.status, standing(result, journal).says) == (
        "waiting",
        "1 question to be answered",
    )
    assert answer_all(journal, result.run) == 1
    assert standing(result, journal).says == "0 questions to be answered"


async def test_an_answer_that_its_reader_cannot_read_is_refused_and_the_question_stays_open(
    journal: Journal,
) -> None:
    result = await begin(journal)
    roles = set()
    while result.status == "waiting":
        for question in journal.questions(result.run):
            prompt = take(journal, question.token).text
            role = journal.request_of(question).role
            roles.add(role)
            for empty in (" \n", "\0\0"):
                said = refusal(journal, question.token, empty)
                assert said == "the answer is empty; give what was asked for"
            wrong = {"judge": "RANKING: AA > BB", "critic": "I like it."}.get(role)
            if wrong:
                assert "in the form the prompt ends with" in refusal(journal, question.token, wrong)
            answer(journal, question.token, reply_to(prompt))
        result = await resume(journal, result.run)
    assert {"author", "critic", "judge"} <= roles


async def test_an_answer_has_an_upper_size(journal: Journal) -> None:
    token = only(journal, (await begin(journal)).run)
    take(journal, token)
    most = "x" * MAX_ANSWER
    assert (
        refusal(journal, token, most + "x") == "the answer has more than 1 MB; give a shorter one"
    )
    answer(journal, token, most)


async def test_prose_is_refused_where_a_program_is_asked_for(journal: Journal) -> None:
    chosen = settings(ADDRESS, job=Solve(set=DIGEST, strategy="single"))
    service = ExaminerService(MadeUpExaminer())
    result = await driver.start(task(), chosen, journal, {"pool": ModelPool()}, service=service)
    token = only(journal, result.run)
    take(journal, token)
    assert "in the form the prompt ends with" in refusal(journal, token, "I would add them up.")
    answer(journal, token, fenced(program(3)))


async def test_nobody_answers_what_is_no_longer_asked(journal: Journal) -> None:
    result = await begin(journal)
    token = only(journal, result.run)
    take(journal, token)
    pool = ModelPool()
    pool.add({"echo/echo": EchoModel()})
    ended = await autoreason.resume.aio(
        result.run, journal=journal, model="echo/echo", pool=pool, passes=1
    )
    assert ended.finished
    assert "no answer is needed any more" in refusal(journal, token, "A text.")
    assert standing(ended, journal).open == []


async def test_what_waits_for_one_host_is_asked_anew_of_another(journal: Journal) -> None:
    run = (await begin(journal)).run
    before = only(journal, run)
    take(journal, before)
    answer(journal, before, "From a host.")
    options: Any = {"model": "host/other", "journal": journal, "pool": ModelPool()}
    assert (await autoreason.resume.aio(run, **options)).status == "waiting"
    (question,) = journal.questions(run)
    assert (question.answer, question.times) == (None, 0)
    assert journal.request_of(question).model == journal.in_flight(run)[0].model == "host/other"
    assert "no question of this token" in refusal(journal, before, "Once more.")
    take(journal, question.token)
    answer(journal, question.token, "From another.")
    # What has waited for one of them all along is taken.
    assert (await autoreason.resume.aio(run, journal=journal)).text == "From another."


def test_a_long_prompt_is_read_in_pages(journal: Journal) -> None:
    long = "".join(f"Line {number} of the record: ☕ and more.\n" for number in range(4000))

    async def ask() -> str:
        started = await begin(journal)
        request = journal.request_of(journal.questions(started.run)[0])
        asked = request.renamed("draft/try/9", messages=(Message("user", long + "x" * 90_000),))
        return (await journal.post_question(started.run, asked)).token

    token = asyncio.run(ask())
    assert "nobody has this question" in refusal(journal, token, page=2)
    first = take(journal, token)
    pages = [first, *(take(journal, token, page) for page in range(2, first.pages + 1))]
    assert "".join(page.text for page in pages) == long + "x" * 90_000
    assert first.pages > 3
    assert all(len(page.text.encode()) <= 60_000 for page in pages)
    assert f"has {first.pages} pages" in refusal(journal, token, page=first.pages + 1)


@given(
    st.lists(st.sampled_from(["take", "good", "bad", "resume", "later"]), max_size=25),
    st.integers(0),
)
def test_a_question_has_one_answer_whatever_is_tried(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], seed: int
) -> None:
    with (
        pytest.MonkeyPatch.context() as patch,
        open_journal(tmp_path_factory.mktemp("one")) as journal,
    ):
        clock, given_answers, taken, until = Clock(patch), list[str](), False, 0.0
        run = asyncio.run(begin(journal)).run
        token = only(journal, run)
        for number, step in enumerate(steps):
            is_free = not given_answers and clock.now >= until
            if step == "later":
                clock.now += LEASE / 2
            elif step == "resume":
                asyncio.run(resume(journal, run))
            elif step == "take":
                with suppress(InvalidInput):
                    take(journal, token)
                    assert is_free
                    taken, until = True, clock.now + LEASE
            else:
                text = f"A text of {seed % 1000}, number {number}." if step == "good" else ""
                with suppress(InvalidInput):
                    answer(journal, token, text)
                    assert taken and step == "good"  # noqa: PT018
                    given_answers.append(text)
        assert len(given_answers) <= 1
        if given_answers:
            asyncio.run(resume(journal, run))
            replies = journal.replies(run)
            assert [each.reply.text for each in replies.values()] == given_answers


# ---- several agents, kills -----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_two_agents_share_the_questions(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    url = tmp_path / "journal.db" if kind == "sqlite" else request.getfixturevalue("postgres_url")
    with Journal.open(url, create=True) as journal:
        result = asyncio.run(begin(journal, terms(passes=1, reviewers=9)))
        run = result.run

        def agent(_: int) -> int:
            with Journal.open(url, create=False) as own:
                return answer_all(own, run)

        while not journal.row(run).finished:
            wanted = len(journal.questions(run))
            with ThreadPoolExecutor(3) as agents:
                assert sum(agents.map(agent, range(3))) == wanted
            asyncio.run(resume(journal, run))
        alone = asyncio.run(play_within(journal, terms(passes=1, reviewers=9)))
        assert emitted(journal, run) == emitted(journal, alone.run)


class Killing(NamedTuple):
    """Kills a process that plays a run, until it ends by itself, and compares the run with an unbroken one."""

    play: Callable[[str, int], None]
    place: Callable[[], str]

    def __call__(self, kills: int, **shared: Any) -> None:
        """Run after run, until so many kills are through."""
        chance, killed = random.Random(5), 0
        while killed < kills:
            broken, unbroken, seed = self.place(), self.place(), killed
            code, times = run_with_kills(partial(self.play, broken, seed), chance, **shared)
            assert code == 0
            killed += times
            self.play(unbroken, seed)
            assert story(broken) == story(unbroken)


@pytest.fixture(params=["file", "server", "commands"])
def killing(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Killing:
    # What a killed agent took is free at once, however often that happens.
    monkeypatch.setattr(host, "LEASE", 0.0)
    monkeypatch.setattr(host, "MAX_LEASES", 10**6)
    play = play_by_commands if request.param == "commands" else play_on
    if request.param == "server":
        server = request.getfixturevalue("postgres")
        return Killing(play, server.create)
    numbers = count()
    return Killing(play, lambda: str(tmp_path / f"{next(numbers)}.db"))


def test_runs_killed_at_any_moment_end_as_if_nothing_had_happened(killing: Killing) -> None:
    killing(4, longest=0.4)


@pytest.mark.slow
def test_sixty_kills_change_nothing(killing: Killing) -> None:
    killing(60, longest=0.3, more=1.05)


def test_a_thousand_questions_are_no_more_than_a_list(journal: Journal) -> None:
    async def post() -> str:
        run = (await begin(journal)).run
        request = journal.request_of(journal.questions(run)[0])
        renamed = (request.renamed(f"draft/try/{number}") for number in range(1000))
        await asyncio.gather(*(journal.post_question(run, each) for each in renamed))
        return run

    run = asyncio.run(post())
    tokens = {each.token for each in journal.questions(run)}
    assert len(tokens) == 1000
    assert all(len(token) >= 12 and token.isalnum() for token in tokens)
    answered = [each for each in list(tokens)[:50] if not take(journal, each).page - 1]
    for each in answered:
        answer(journal, each, "A text that is short.")
    assert sum(each.answer is None for each in journal.questions(run)) == 950


def test_only_a_run_asks_and_names_are_plain() -> None:
    with pytest.raises(InvalidInput, match="write host/NAME"):
        ModelPool().check_here("host/a b")
    with pytest.raises(InvalidInput, match="batch"):
        ModelPool(batch=True).check_here("host/agent")
    assert ModelPool().destination("host/agent") is not None
    assert make_settings(Models.everywhere("host/agent"), 1).base_url is None
