"""The map of judges: what sways a judge is found, with its interval, and what does not is left unsaid."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.cases import cases
from tests.pages.plays import SEEDS, play_story, random_script, random_story
from tests.tournament.stage import shown_texts

from autoreason.exchange import Request
from autoreason.pages.votes import map_judges
from autoreason.tournament.evidence import gather_evidence, longer_preferred_in


def ranked(key: Callable[[tuple[int, str]], float]) -> Callable[[Request], str]:
    """A judge who goes by something of each text: its place, or its words."""

    def judge(request: Request) -> str:
        shown = [*enumerate(shown_texts(request).items())]
        order = sorted(shown, key=lambda each: key((each[0], each[1][1])))
        return json.dumps({"reasoning": "", "ranking": " > ".join(each[1][0] for each in order)})

    return judge


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (lambda each: each[0], "favours the text shown first"),
        (lambda each: -each[0], "disfavours the text shown first"),
        (lambda each: -len(each[1].split()), "prefers longer texts"),
        (lambda each: len(each[1].split()), "prefers shorter texts"),
    ],
)
def test_what_sways_every_ranking_is_said(
    key: Callable[[tuple[int, str]], float], said: str
) -> None:
    script = {**random_script(3, flaws=0.0), "judge": ranked(key)}
    found = map_judges(play_story(3, script, k=9, passes=15))
    assert found is not None
    assert any(said in each for each in found.findings)


def test_of_judges_of_one_model_it_says_what_the_evidence_says() -> None:
    for story in map(random_story, SEEDS):
        found = map_judges(story)
        if found and len(found.rows) == 1:
            (_, _, (agrees, _, longer)) = found.rows[0]
            tau = gather_evidence(story, story.origin).agreement
            assert agrees.value == (None if tau is None else pytest.approx((1 + tau) / 2))
            assert longer.value == longer_preferred_in(story).value


@cases("seed", SEEDS)
def test_every_share_is_within_its_interval_and_said_only_beyond_it(seed: int) -> None:
    if (found := map_judges(random_story(seed))) is None:
        return
    for row in found.rows:
        for share in row.shares:
            if share.value is not None and share.low is not None and share.high is not None:
                assert share.low <= share.value <= share.high
                if not any(each.startswith(row.name) for each in found.findings):
                    assert share.low <= 0.5 <= share.high
