"""What a judge says the first place of a ballot rests on."""

from __future__ import annotations

import pytest

from autoreason.parsing.ballots import rests_on_length


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ('{"reasoning": "All of it is needed.", "first_place": "quality"}', False),
        ('{"reasoning": "It is padded.", "first_place": "length"}', True),
        ("It has more words and no more in them.\n\n**FIRST PLACE: length**", True),
        ("The length is what it takes.\nFirst place: Quality.", False),
        ("- Length", True),
        ("quality", False),
        ('{"reasoning": "Both.", "first_place": "either"}', None),
        ("FIRST PLACE: length\nOn second thought:\nFIRST PLACE: quality", None),
        ("It is not the length, and the quality is the same.", None),
        ("[1]", None),
        ("", None),
    ],
)
def test_only_a_plain_answer_is_one(reply: str, answer: bool | None) -> None:
    assert rests_on_length(reply) is answer
