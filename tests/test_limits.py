"""Plain limits in prose are read as a person reads them; what is not about the whole text is none."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.contract import Contract
from autoreason.limits import Limit, add_limits, limits_kept, read_limits

LINES = (Path(__file__).parent / "data" / "limits.txt").read_text("utf-8").splitlines()
TABLE = [line for line in LINES if line and not line.startswith("#")]
KNOWN = [line for line in TABLE if not line.startswith("!")]


def show(limits: tuple[Limit, ...]) -> list[str]:
    """Limits as the table has them."""
    keys: dict[str, str] = {}
    for limit in limits:
        for name, value in limit.keys.items():
            words = ",".join(value) if isinstance(value, tuple) else str(value)
            keys[name] = re.sub(r"/\(\?i\)(?:\\b)?|(?:\\b)?/", "", words)
    return sorted(
        [*(f"{key}={value}" for key, value in keys.items()), *("?" for x in limits if not x.keys)]
    )


def test_a_sentence_is_read_as_a_person_reads_it() -> None:
    table = [line.partition(" | ") for line in KNOWN]
    expected = {
        sentence: sorted(re.findall(r"\?|\w+=.*?(?= \w+=|$)", wanted))
        for wanted, _, sentence in table
    }
    assert {sentence: show(read_limits(sentence)) for sentence in expected} == expected


def test_what_is_read_wrong_is_little_and_never_a_limit() -> None:
    assert len(KNOWN) >= 330
    wrong = [line.partition(" | ") for line in TABLE if line.startswith("!")]
    assert len(wrong) <= 8
    assert [
        sentence for _, _, sentence in wrong if any(x.keys for x in read_limits(sentence))
    ] == []


def test_a_word_that_ends_in_a_sign_is_found() -> None:
    contract = add_limits(Contract(), 'Write about languages. Mention "C++" and "Rust".')
    assert not contract.violations("C++, or Rust.")
    assert contract.rules() == ("Contains “C++”.", "Contains “Rust”.")
    assert len(contract.violations("C, or Rusty.")) == 2


def test_a_phrase_says_where_it_stands() -> None:
    brief = "Write a note to Ann:\nthe pool opens.\n\n- at most\n  80 words\n- each item under 9 words\n"
    limits = read_limits(brief)
    assert [limit.phrase for limit in limits] == ["at most 80 words", "- each item under 9 words"]
    assert [brief[x.start : x.end] for x in limits] == ["at most\n  80 words", "under 9 words"]


@pytest.mark.parametrize(
    ("brief", "given", "expected"),
    [
        ("At most 80 words.", Contract(), Contract(max_words=80)),
        ("At most 80 words.", Contract(max_words=60), Contract(max_words=60)),
        ("At least 80 words.", Contract(max_words=60), Contract(max_words=60)),
        ("At most 80 words, at most 60 words.", Contract(), Contract()),
        ("Answer in JSON.", Contract(sections=("Risks",)), Contract(sections=("Risks",))),
        (
            'Never say "sorry". Do not use the word "very".',
            Contract(),
            Contract(must_not_include=(r"/(?i)\bsorry\b/", r"/(?i)\bvery\b/")),
        ),
    ],
)
def test_a_contract_takes_what_does_not_contradict_it(
    brief: str, given: Contract, expected: Contract
) -> None:
    assert add_limits(given, brief) == expected


def test_what_a_contract_has_of_a_brief_is_told_from_what_it_has_not() -> None:
    brief = "At most 80 words. In German. Each section at most 20 words."
    kept = limits_kept(Contract(max_words=60, language="de"), brief)
    assert [(x.phrase, bool(x.keys), x.kept) for x in kept] == [
        ("At most 80 words", True, False),
        ("In German", True, True),
        ("Each section at most 20 words", False, False),
    ]
    assert not limits_kept(Contract(), "At most 80 words."), "it was declined"


_PIECES = [
    *("at most", "80", "words", "in", "German", "each", "no", "emojis", "write", "a"),
    *('"x"', "\n", ".", ",", "(", "JSON"),
]


@given(st.lists(st.sampled_from(_PIECES) | st.text(max_size=3), max_size=25).map(" ".join))
def test_any_brief_can_be_read_and_adds_to_an_empty_contract_alone(brief: str) -> None:
    limits = read_limits(brief)
    assert all(0 <= x.start < x.end <= len(brief) for x in limits)
    assert all(x.end <= y.start for x, y in pairwise(limits))
    full = Contract(min_words=9, max_words=9, max_characters=9)
    added = add_limits(full, brief)
    assert (added.min_words, added.max_words, added.max_characters) == (9, 9, 9)


def test_no_brief_takes_long_to_be_read() -> None:
    started = time.process_time()
    for piece in ("Write it in at most 80 words. ", '"a ', "one word "):
        read_limits(piece * (20_000 // len(piece)))
    assert time.process_time() - started < 10
