"""Suggestions lead from one text to the other, whichever way all of them are answered."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autoreason.report.suggestions import to_criticmarkup, to_patch

TEXTS = st.one_of(
    st.lists(
        st.sampled_from(
            [
                *("We open on Sundays. ", "We open on Mondays. ", "Nobody knows.", "\n\n", "\n- "),
                *("{++", "++}", "{--", "--}", "{~~", "~>", "~~}", "{>>", "<<}", "{==", "==}"),
                *("{", "}", "+", "-", "~", "> ", "a", "{++a++}", "{~~a~>b~~} ", "# A plan\n"),
            ]
        ),
        max_size=12,
    ).map("".join),
    st.text("{}+-~><= .\na", max_size=30),
)
MARKS = (
    (r"\{\+\+(.*?)\+\+\}", r"\1", ""),
    (r"\{--(.*?)--\}", "", r"\1"),
    (r"\{~~(.*?)~>(.*?)~~\}", r"\2", r"\1"),
    (r"\{>>(.*?)<<\}", "", ""),
    (r"\{==(.*?)==\}", r"\1", r"\1"),
)


def answered(marked: str, *, taken: bool) -> str:
    """The text with all suggestions taken, or none."""

    def one(found: re.Match[str]) -> str:
        pattern, yes, no = next(
            each for each in MARKS if re.fullmatch(each[0], found[0], re.DOTALL)
        )
        return re.sub(pattern, yes if taken else no, found[0], flags=re.DOTALL)

    any_mark = "|".join(re.sub(r"[()](?!\?)", "", pattern) for pattern, *_ in MARKS)
    return re.sub(any_mark, one, marked, flags=re.DOTALL)


@settings(max_examples=200, deadline=None)
@given(TEXTS, TEXTS)
@example("a {++ b", "c")
@example("a ++} b", "a ++} c {-- d")
@example("It is so. {~~", "It is {~~a~>b~~} so.")
def test_all_of_them_give_the_new_text_and_none_of_them_the_old_one(old: str, new: str) -> None:
    marked = to_criticmarkup(old, new, {})
    assert answered(marked, taken=True) == new
    assert answered(marked, taken=False) == old


def test_a_suggestion_is_a_sentence_and_says_why() -> None:
    old = "We ask for money. It is {not} much. Thanks."
    new = "We ask for 900 EUR. It is not much. Thanks."
    why = {"We ask for money.": ["How much is {not} said."]}
    assert to_criticmarkup(old, new, why) == (
        "{~~We ask for money.~>We ask for 900 EUR.~~}{>>How much is (not) said.<<} "
        "{~~It is {not} much.~>It is not much.~~} Thanks."
    )


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("One.\n\nTwo.\n\nThree.", "One.\n\n2.\n\nThree.\n\nFour."),
        ("-- a\n+++ b\n\\ c", "++ a\n\n--- b\n\\ c"),
        ("a\nb\nc\nd\ne", "b\nc\nx\ny\ne\nd"),
        ("One\u2028line.\x0c\rStill.", "Another."),
    ],
)
def test_a_patch_applies_both_ways(old: str, new: str, tmp_path: Path) -> None:
    file = tmp_path / "text.md"
    for options, before, after in (((), old, new), (("--reverse",), new, old)):
        file.write_bytes(f"{before}\n".encode())
        command = ["patch", "--silent", *options, str(file)]
        subprocess.run(command, input=to_patch(old, new).encode(), check=True)
        assert file.read_bytes() == f"{after}\n".encode()
