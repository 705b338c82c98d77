"""Every sentence of a result is traced to the text that has it first."""

from __future__ import annotations

import re
from itertools import pairwise

from tests.cases import cases
from tests.pages.plays import BACK, BACK_SETTINGS, SEEDS, play_story, random_story

from autoreason.pages.course import draw, trace


@cases("seed", SEEDS)
def test_a_sentence_is_born_in_a_text_that_has_it_and_in_no_earlier_one(seed: int) -> None:
    story = random_story(seed)
    if (river := trace(story)) is None:
        return
    texts = {0: [story.incumbents[0].text]}
    for one in story.passes:
        texts[one.number] = [each.text for each in one.candidates.values()]
    for sentence in river.result:
        birth = river.birth(sentence)
        assert any(sentence.text in text for text in texts[birth.number])
        earlier = (
            text for number, found in texts.items() if number < birth.number for text in found
        )
        assert not any(f"\n{sentence.text}\n" in f"\n{text}\n" for text in earlier)


@cases("seed", SEEDS)
def test_what_is_left_adds_up_and_what_went_is_gone(seed: int) -> None:
    if (river := trace(random_story(seed))) is None:
        return
    assert sum(left for _, _, left in river.sources) == len(river.result)
    assert all(0 <= left <= taken for _, taken, left in river.sources)
    gone = iter(river.gone)
    for before, after in pairwise(river.columns):
        left = [each.text for each in after.sentences]
        if {each.key for each in before.sentences} <= {each.key for each in after.sentences}:
            continue
        name, sentences = next(gone)
        assert name == after.name
        assert all(
            left.count(each) < sentences.count(each) + left.count(each) for each in sentences
        )
    drawn = draw(river)
    bars = "".join(re.findall(r'dasharray="\S+ \S+" d="(.*?)"', drawn))
    high = sum(map(int, re.findall(r"v(\d+)", bars)))
    assert high == sum(len(each.sentences) for each in river.columns)
    short = sum(map(int, re.findall(r"h1v(\d+)h-1z", drawn)))
    assert short == sum(len(went) for _, went in river.gone)


def test_what_a_review_gave_up_ends_there() -> None:
    river = trace(play_story(3, BACK, **BACK_SETTINGS))
    assert river is not None
    names = ["First draft", *(f"Round {number}" for number in range(1, 6)), "Back to round 3"]
    names += ["Round 6", "Round 7", "Back to round 3"]
    assert [each.name for each in river.columns] == names
    went = [sentences for name, sentences in river.gone if name == "Back to round 3"]
    assert went == [["Written in round 5."], ["Written in round 7."]]
    assert [each.text for each in river.result][-1] == "Written in round 3."
    assert [birth.number for birth, _, left in river.sources if left] == [0, 3]
    assert {birth.number for birth, *_ in river.sources if birth.lost} == {4, 5, 6, 7}
