"""What a panel is held over: two to ten different texts, perhaps cut to one length without a trace."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from autoreason.contract import count_words
from autoreason.errors import InvalidInput
from autoreason.studies.panels.entries import cut, cut_to_equal_length, make_entries


def texts(count: int) -> dict[str, str]:
    """As many different texts."""
    return {f"{number}.md": f"Text number {number}." for number in range(count)}


@pytest.mark.parametrize("count", [0, 1, 11, 30])
def test_fewer_than_two_or_more_than_ten_texts_are_no_panel(count: int) -> None:
    with pytest.raises(InvalidInput, match=f"2 to 10 texts, not {count}"):
        make_entries(texts(count))


@pytest.mark.parametrize("count", [2, 10])
def test_entries_keep_names_texts_and_order(count: int) -> None:
    entries = make_entries(texts(count))
    assert {entry.name: entry.text for entry in entries} == texts(count)
    assert [entry.name for entry in entries] == list(texts(count))


@pytest.mark.parametrize("same", ["A text.\nOf two lines.", "  A text. Of   two\n\nlines.\n"])
def test_texts_that_differ_in_white_space_alone_are_one_text(same: str) -> None:
    with pytest.raises(InvalidInput, match=r"one and three are the same text; leave one"):
        make_entries({"one": "A text. Of two lines.", "two": "Another.", "three": same})


@pytest.mark.parametrize("nothing", ["", " \n\t "])
def test_an_empty_text_is_named(nothing: str) -> None:
    with pytest.raises(InvalidInput, match=r"b\.md is empty"):
        make_entries({"a.md": "Something.", "b.md": nothing})


def test_texts_that_are_the_same_once_cut_are_refused() -> None:
    with pytest.raises(InvalidInput, match="begin alike"):
        make_entries({"a": "One two.", "b": "One two. And more."}, equal_length=True)


def test_a_cut_keeps_layout_and_ends_with_a_sentence() -> None:
    text = "# Title\n\nFirst line here.\n\n- one item\n- two items\n\nThe rest goes on. And on."
    assert cut(text, 6) == "# Title\n\nFirst line here.\n\n- one item"
    assert cut(text, 4) == "# Title\n\nFirst line here."
    assert cut(text, 100) == text


def test_a_heading_alone_is_no_text() -> None:
    assert cut("# A long title of a text\n\nThe first sentence. More.", 2) == (
        "# A long title of a text\n\nThe first sentence."
    )
    assert cut("First one. Second one.\n\n## Next part\n\nMore words here.", 7) == (
        "First one. Second one."
    )


def test_a_code_block_is_kept_whole_or_left_out() -> None:
    block = "```python\nx = 1. \ny = 2\n```"
    assert cut(f"Do this.\n\n{block}\n\nThen that.", 5) == "Do this."
    assert cut(f"Do this.\n\n{block}\n\nThen that. And more.", 9) == (
        f"Do this.\n\n{block}\n\nThen that."
    )
    assert cut(f"{block}\n\nThen that.", 2) == block


def test_one_kind_of_fence_may_stand_in_the_other() -> None:
    text = "Begin.\n\n```\n~~~\n```\n\nAnd on. And on."
    assert cut(text, 3) == "Begin.\n\n```\n~~~\n```\n\nAnd on."


_words = st.lists(
    st.sampled_from(["tide", "boat", "e.g.", "3.14", "and", "“so”"]), min_size=1, max_size=6
)
_sentences = st.builds(
    lambda words, end: " ".join(words) + end,
    _words,
    st.sampled_from([".", "!", "?", "…", '."', ""]),
)
_paragraphs = st.lists(_sentences, min_size=1, max_size=4).map(" ".join)
_blocks = st.one_of(
    _paragraphs,
    _words.map(lambda words: "## " + " ".join(words)),
    _sentences.map(lambda line: f"- {line}\n- {line}"),
    st.tuples(st.sampled_from(["```", "~~~", "```python"]), _paragraphs).map(
        lambda made: f"{made[0]}\n{made[1]}\n{made[0][:3]}"
    ),
)
_texts = st.lists(_blocks, min_size=1, max_size=8).map("\n\n".join)


def fences(text: str) -> int:
    """Lines that open or close a block of code."""
    return sum(line.lstrip().startswith(("```", "~~~")) for line in text.splitlines())


def first_whole(text: str) -> str:
    """What stands up to the first sentence that is no heading, or to the end of the block it opens."""
    return cut(text, 0)


@given(_texts, st.integers(min_value=0, max_value=60))
@example("```\na. b\n```\n\nc", 1)
@example("# a\n\nb c d. e", 1)
def test_a_cut_text_is_a_tidy_beginning_of_the_whole(text: str, most: int) -> None:
    kept = cut(text, most)
    whole = text.strip()
    assert whole.startswith(kept)
    assert kept
    rest = whole[len(kept) :]
    assert not rest or rest[0].isspace()
    assert not rest or rest.lstrip(" \t")[0] == "\n" or re.search(r"[.!?…][\"'”’)\]*_]*\Z", kept)
    assert fences(kept) % 2 == 0
    assert count_words(kept) <= most or kept == first_whole(text)
    last = kept.splitlines()[-1]
    only_headings = all(line.startswith("#") or not line for line in whole.splitlines())
    assert only_headings or not rest or not last.startswith("#")


@given(st.dictionaries(st.sampled_from("abcdef"), _texts, min_size=2))
def test_no_text_is_longer_than_the_shortest_unless_its_beginning_is(given: dict[str, str]) -> None:
    shortest = min(count_words(text) for text in given.values())
    for name, kept in cut_to_equal_length(given).items():
        assert count_words(kept) <= shortest or kept == first_whole(given[name])


def test_of_all_lengths_the_one_at_which_texts_differ_least_is_taken() -> None:
    long = "One two three four five six. Seven eight nine ten. Eleven twelve."
    short = "One two three four. Five six seven eight nine ten. Eleven."
    cut = cut_to_equal_length({"long": long, "short": short})
    assert {name: len(text.split()) for name, text in cut.items()} == {"long": 10, "short": 10}
