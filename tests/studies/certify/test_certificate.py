"""A certificate says what a judge is: how it is asked, what it shows, and where it is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.run.runs import go_on, start_run
from tests.studies.certify.judges import (
    ADDRESS,
    TASK,
    Habit,
    certified,
    credulous,
    erratic,
    first_come,
    garbled,
    head_of,
    ideal,
    judge,
    luck,
    obedient,
    reported,
    settings,
    stored,
    wordy,
)

from autoreason.errors import InvalidInput
from autoreason.events import BallotCast, JobFinished, PanelDecided
from autoreason.exchange import Request
from autoreason.fields import make_struct
from autoreason.files import certificates_folder
from autoreason.job_types import Certify
from autoreason.journal import Journal
from autoreason.run.estimate import estimate_run
from autoreason.run.recorded import replay
from autoreason.settings import Models, make_settings
from autoreason.studies.certificate import (
    PROPERTIES,
    Certification,
    all_certificates,
    certificate_of,
    certificate_path,
    find_certificate,
    write_certificate,
)
from autoreason.studies.certificate_questions import (
    INJECTIONS,
    SUITE,
    defect_questions,
    other_questions,
    pairs,
)

QUESTIONS = 180


async def test_a_judge_that_knows_the_sound_text_passes_everything() -> None:
    certificate = await certified(ideal)
    assert certificate.verdict == "passed"
    assert [finding.verdict for finding in certificate.findings] == ["passed"] * 8
    assert [(each.name, each.rule) for each in certificate.findings] == [
        (each.name, each.rule) for each in PROPERTIES
    ]
    assert (certificate.ballots, certificate.invalid) == (QUESTIONS, 0)
    assert certificate.ranks_nine.startswith(
        "ranks nine texts: yes (the better came before the worse"
    )


def backwards(request: Request, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Prefers what stands second."""
    return first_come(request, texts)[::-1]


def stammering(request: Request, texts: Mapping[str, str]) -> str | tuple[str, ...]:
    """Can be read only when it is asked again."""
    return "Let me think." if request.key.endswith("try/0") else ideal(request, texts)


@pytest.mark.parametrize(
    ("habit", "failed", "statement"),
    [
        (first_come, ("position", "swapped order"), "of two identical texts won 24 of 24"),
        (backwards, ("position", "swapped order"), "of two identical texts won 0 of 24"),
        (wordy, ("planted defects", "length"), "the longer text won 24 of 24"),
        (obedient, ("injection",), f"they rose by {' (4), '.join(INJECTIONS)} (4)"),
        (credulous, ("hostile records",), "the text that a record named won 24 of 24"),
        (stammering, ("valid ballots",), "0 of 168 read at first try, 0 never"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_a_judge_fails_on_its_habit_alone(
    habit: Habit, failed: tuple[str, ...], statement: str
) -> None:
    certificate = await certified(habit)
    assert certificate.failed == failed
    named = [each.statement for each in certificate.findings if each.name in failed]
    assert any(each.endswith(statement) for each in named)


@pytest.mark.parametrize("seed", range(3))
async def test_a_judge_that_throws_coins_shows_nothing(seed: int) -> None:
    certificate = await certified(erratic, seed)
    open_ = {"planted defects", "repeatability", "swapped order"}
    assert open_ <= {*certificate.failed, *certificate.not_shown}
    assert {"injection", "hostile records", "valid ballots"}.isdisjoint(certificate.failed)
    assert certificate.verdict != "passed"


async def test_a_judge_right_in_four_of_five_cases_passes_though_it_is_not_steady() -> None:
    def decent(request: Request, texts: Mapping[str, str]) -> tuple[str, ...]:
        ranked = ideal(request, texts)
        return ranked if luck(request.key)[0] < 205 else ranked[::-1]

    certificates = [await certified(decent, seed) for seed in range(4)]
    assert [each.failed for each in certificates] == [()] * 4
    passed = [each for each in certificates if each.verdict == "passed"]
    assert passed
    unsteady = next(each for each in passed if each.not_shown)
    assert unsteady.conclusion.startswith("the judge passed; not shown: ")


async def test_a_judge_that_gives_no_ballot_fails_and_is_not_asked_further() -> None:
    story, events = await reported(garbled)
    end = events[-1]
    assert isinstance(end, JobFinished)
    assert end.reason == "the judge failed: most of its ballots cannot be read (48 of 48)"
    assert set(story.panels) == {question.stage for question in defect_questions(1)}
    certificate = await certified(garbled)
    assert certificate.not_shown == tuple(each.name for each in certificate.findings[:-1])
    assert (certificate.ballots, certificate.invalid) == (0, 48)


async def test_a_judge_who_is_seldom_read_at_first_is_asked_everything_all_the_same() -> None:
    def mumbling(request: Request, texts: Mapping[str, str]) -> str | tuple[str, ...]:
        stage, seat = request.key.split("/judge/")
        if stage.startswith("defect/") and luck(stage, seat[0])[0] < 170:
            return "Both have their merits."
        return ideal(request, texts)

    story, events = await reported(mumbling)
    certificate = certificate_of(story)
    assert 25 <= certificate.invalid <= 40
    assert certificate.ballots + certificate.invalid == QUESTIONS
    verdicts = {each.name: each.verdict for each in certificate.findings}
    assert verdicts["position"] == verdicts["length"] == "passed"
    assert verdicts["valid ballots"] == certificate.verdict == "not shown"
    end = events[-1]
    assert isinstance(end, JobFinished)
    assert end.reason.startswith("whether the judge is good enough is not known; not shown: ")


async def test_a_judge_who_loses_track_of_nine_texts_is_given_five_and_not_failed() -> None:
    def lost(request: Request, texts: Mapping[str, str]) -> str | tuple[str, ...]:
        return ideal(request, texts) if len(texts) == 2 else garbled(request, texts)

    def upside_down(request: Request, texts: Mapping[str, str]) -> tuple[str, ...]:
        ranked = ideal(request, texts)
        return ranked if len(texts) == 2 else ranked[::-1]

    for habit, read in ((lost, 0), (upside_down, 12)):
        found = await certified(habit)
        assert (found.verdict, found.conclusion) == ("passed", "the judge passed everything")
        said = (
            "It ranks nine texts: no, five at a time: `--set ballot_texts=5` "
            f"(the better came before the worse in 0 of 12 rankings, of which {read} could be read)."
        )
        assert said in found.summary()
        assert said in found.to_markdown()


async def test_every_question_is_reported_in_order_and_its_panel_after_its_ballots() -> None:
    _, events = await reported(ideal, repeats=2)
    questions = defect_questions(2) + other_questions(7, 2)
    cast = [event for event in events if isinstance(event, BallotCast)]
    assert [(b.stage, b.seat) for b in cast] == [(q.stage, q.seat) for q in questions]
    panels = [event for event in events if isinstance(event, PanelDecided)]
    assert [panel.stage for panel in panels] == list(dict.fromkeys(q.stage for q in questions))
    for panel in panels:
        place = events.index(panel)
        before, after = events[place - 1], events[place + 1]
        assert isinstance(before, BallotCast)
        assert before.stage == panel.stage
        assert getattr(after, "stage", "") != panel.stage


async def test_an_injection_names_the_labels_that_its_judge_sees() -> None:
    story, _ = await reported(ideal)
    named = 0
    for question in other_questions(7, 1):
        if question.stage.startswith("injection/"):
            (ballot,) = story.panels[question.stage].ballots
            output = question.texts["spoiled"].rpartition("\n\n")[2]
            own = ballot.labels[ballot.order.index("spoiled")]
            named += own in output
    assert named == 16  # four of the six ways name labels


async def test_nothing_that_is_sent_tells_which_text_is_spoiled() -> None:
    model = judge(ideal)
    await reported(model)
    sent = {message.text for request in model.requests for message in request.messages}
    assert len(model.requests) == QUESTIONS
    for word in (*(head_of(pair)["spoiled"] for pair in pairs()), "spoiled", "padded", "Certify"):
        assert not any(word in text for text in sent), word


async def test_a_certification_that_breaks_off_goes_on_without_asking_anything_twice(
    journal: Journal,
) -> None:
    at_once = await start_run(journal, judge(ideal), task=TASK, settings=settings())
    paused = await start_run(journal, judge(ideal, most=60), task=TASK, settings=settings())
    assert paused.status == "provider_failed"
    recorded = set(journal.replies(paused.run))
    assert recorded
    patient = judge(ideal)
    ended = await go_on(journal, paused.run, patient)
    asked = [request.key for request in patient.requests]
    assert recorded.isdisjoint(asked)
    assert len(recorded) + len(asked) == QUESTIONS
    assert (ended.status, ended.reason) == ("done", at_once.reason)
    assert (await replay.aio(ended.run, journal=journal)).difference is None


async def test_the_estimate_counts_every_question() -> None:
    found = await estimate_run(TASK, settings(repeats=3))
    assert found.calls is not None
    assert tuple(found.calls) == (3 * QUESTIONS, 3 * QUESTIONS, 12 * QUESTIONS)


@pytest.mark.parametrize(
    ("options", "output"),
    [
        ({"repeats": 0}, "`repeats` is 0; give a number from 1 to 20"),
        ({"model": "other/judge"}, "this run certifies other/judge"),
        ({"suite": 0}, "questions of suite 0"),
    ],
)
def test_what_cannot_be_certified_is_refused(options: dict[str, object], output: str) -> None:
    def check() -> None:
        job = make_struct(Certify, {"model": ADDRESS, "suite": SUITE} | options)
        Certification.check(make_settings(Models.everywhere(ADDRESS), 7, job=job))

    with pytest.raises(InvalidInput, match=output):
        check()


async def test_repeats_compare_like_with_like_and_do_not_make_one_pair_two() -> None:
    certificate = await certified(ideal, repeats=3)
    assert certificate.verdict == "passed"
    message = {each.name: each.statement for each in certificate.findings}
    assert message["repeatability"] == "72 of 72 answers were the same again"
    assert message["swapped order"] == "72 of 72 answers were the same when swapped"
    assert message["injection"] == "of 72 spoiled texts 0 rose and 0 fell"
    once, twice = [await certified(erratic, repeats=repeats) for repeats in (1, 2)]
    assert [each.n for each in once.findings[:3]] == [24, 24, 24]
    assert [each.n for each in twice.findings[:3]] == [24, 24, 24]
    assert (once.repeats, twice.repeats) == (1, 2)
    assert "of 96 ballots" in twice.findings[0].statement


async def test_the_page_gives_every_verdict_with_its_rule_or_why_it_is_not_shown() -> None:
    page = (await certified(obedient)).to_markdown()
    assert page.startswith(f"# Certificate of the judge {ADDRESS}\n\n**The judge failed ")
    for each in PROPERTIES:
        assert re.search(
            rf"^\| {each.name} +\| (passed|failed|not shown) .*{each.rule} +\|$", page, re.M
        )
        assert each.why in page
    table = page[page.index("| property") :]
    rows = [line for line in table.splitlines() if line.startswith("|")]
    assert len({len(row) for row in rows}) == 1, "columns line up"
    page = (await certified(garbled)).to_markdown()
    assert page.count("Not shown: 0 pairs answered, 16 are needed to say anything.") == 4
    assert page.count("Not shown: there was nothing to count.") == 3
    assert "48 without a ballot" in page


def test_the_newest_certificate_of_a_judge_on_its_own_server_is_found_again() -> None:
    assert find_certificate("openai/gpt") is None
    assert all_certificates() == []
    write_certificate(stored(run="one"))
    write_certificate(stored(run="two"))
    assert find_certificate("openai/gpt") == stored(run="two")
    assert all_certificates() == [stored(run="two")]
    assert [path.suffix for path in certificates_folder().iterdir()] == [".json"]
    write_certificate(stored("a/own", base_url="http://127.0.0.1:8000/v1"))
    assert find_certificate("a/own") is None
    assert find_certificate("a/own", "http://127.0.0.1:8000/v1") is not None


def test_a_certificate_is_for_its_user_alone() -> None:
    path = certificate_path("openai/gpt")
    for mode in (None, 0o644):
        if mode:
            path.chmod(mode)
        write_certificate(stored())
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", [b"", b'{"certificate": {}}', b"\xff\xfe"])
def test_a_damaged_certificate_is_none(damage: bytes) -> None:
    write_certificate(stored("a/one"))
    write_certificate(stored("b/other"))
    certificate_path("a/one").write_bytes(damage)
    assert find_certificate("a/one") is None
    assert [each.certificate.model for each in all_certificates()] == ["b/other"]
    certificate_path("b/other").replace(certificate_path("a/other"))
    assert find_certificate("a/other") is None


steady = hypothesis.settings(derandomize=True)
ADDRESSES = st.text(min_size=1, max_size=400).filter(lambda text: text.isprintable())


@steady
@given(ADDRESSES, ADDRESSES)
def test_every_judge_has_a_file_of_its_own_inside_the_folder(one: str, other: str) -> None:
    paths = certificate_path(f"p/{one}"), certificate_path(f"p/{other}")
    assert all(path.parent == certificates_folder() for path in paths)
    assert all(len(path.name.encode()) <= 255 for path in paths)
    assert (paths[0] == paths[1]) == (one == other)
