"""The certificate is a fold over ballots, and a page that says what it rests on."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tests.studies.certify.judges import (
    ADDRESS,
    certified,
    erratic,
    garbled,
    ideal,
    luck,
    merit,
    obedient,
    reported,
    settings,
)

from autoreason.events import BallotCast
from autoreason.exchange import Request
from autoreason.story import Story
from autoreason.studies.certify.certificate import certificate_of
from autoreason.studies.certify.properties import PROPERTIES
from autoreason.studies.certify.suite import SUITE


async def test_findings_come_in_the_order_in_which_they_are_taught() -> None:
    certificate = await certified(ideal)
    assert [each.name for each in certificate.findings] == [each.name for each in PROPERTIES]
    assert [each.rule for each in certificate.findings] == [each.rule for each in PROPERTIES]
    assert (certificate.model, certificate.suite, certificate.style) == (ADDRESS, SUITE, "reasoned")


async def test_the_same_ballots_give_the_same_certificate() -> None:
    story, events = await reported(erratic)
    again = Story(settings=settings(), task=story.task)
    for event in events:
        again.apply(event)
    assert certificate_of(again) == certificate_of(story)


async def test_asking_twice_about_a_pair_does_not_make_it_two() -> None:
    once, twice = [await certified(erratic, repeats=repeats) for repeats in (1, 2)]
    assert [each.n for each in once.findings[:3]] == [24, 24, 24]
    assert [each.n for each in twice.findings[:3]] == [24, 24, 24]
    assert (once.repeats, twice.repeats) == (1, 2)
    assert "of 96 ballots" in twice.findings[0].statement


async def test_repeats_compare_like_with_like() -> None:
    certificate = await certified(ideal, repeats=3)
    assert certificate.verdict == "passed"
    message = {each.name: each.statement for each in certificate.findings}
    assert message["repeatability"] == "72 of 72 answers were the same again"
    assert message["swapped order"].startswith("72 of 72 answers were the same when swapped; ")
    assert message["injection"] == "of 72 spoiled texts 0 rose and 0 fell"


async def test_a_story_cut_short_knows_less_and_fails_nothing_for_it() -> None:
    story, events = await reported(ideal)
    begun = Story(settings=settings(), task=story.task)
    ballots = [event for event in events if isinstance(event, BallotCast)]
    for event in ballots[:20]:
        begun.apply(event)
    certificate = certificate_of(begun)
    assert certificate.failed == ()
    assert certificate.verdict == "not shown"


async def test_a_ballot_read_only_when_asked_again_is_not_a_first_try() -> None:
    def stammering(request: Request, texts: Mapping[str, str]) -> str | tuple[str, ...]:
        return "Let me think." if request.key.endswith("try/0") else ideal(request, texts)

    certificate = await certified(stammering)
    assert certificate.failed == ("valid ballots",)
    assert certificate.invalid == 0
    assert certificate.findings[-1].statement == "0 of 168 read at first try, 0 never"


async def test_the_certificate_says_which_place_a_judge_goes_by() -> None:
    def second_come(request: Request, texts: Mapping[str, str]) -> tuple[str, ...]:
        # But for one pair in a few, where it sees what is wrong.
        return ideal(request, texts) if luck(*texts)[0] < 40 else tuple(texts)[::-1]

    message = (await certified(second_come)).findings[6].statement
    found = re.search(
        r"of 48 ballots on pairs shown both ways (\d+) go to the text in second place", message
    )
    assert found
    assert int(found[1]) >= 40
    assert message.endswith("where 24 would if the place did not count (p < 0.001)")
    message = (await certified(ideal)).findings[6].statement
    assert "24 go to the text in first place" in message
    assert message.endswith("(no pair leans to either)")


async def test_pairs_that_were_read_one_way_only_say_nothing_of_places() -> None:
    def shy(request: Request, texts: Mapping[str, str]) -> str | tuple[str, ...]:
        del request
        return tuple(texts) if merit(next(iter(texts.values()))) == 2 else "Hard to say."

    finding = (await certified(shy)).findings[6]
    assert finding.statement == "0 of 0 answers were the same when swapped"


async def test_the_page_gives_every_verdict_with_its_interval_and_rule() -> None:
    page = (await certified(obedient)).to_markdown()
    assert page.startswith(f"# Certificate of the judge {ADDRESS}\n\n**The judge failed ")
    for each in PROPERTIES:
        assert re.search(
            rf"^\| {each.name} +\| (passed|failed|not shown) .*{each.rule} +\|$", page, re.M
        )
        assert each.why in page
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert len({len(row) for row in rows}) == 1, "columns line up"


async def test_the_page_says_why_something_is_not_shown() -> None:
    page = (await certified(garbled)).to_markdown()
    assert page.count("Not shown: 0 pairs answered, 16 are needed to say anything.") == 4
    assert page.count("Not shown: there was nothing to count.") == 3
    assert "48 without a ballot" in page
