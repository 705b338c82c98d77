"""What changed between two texts reads back to both of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.cases import cases

from autoreason.errors import InvalidInput
from autoreason.report.changes import (
    compare_blocks,
    compare_texts,
    split_blocks,
    to_criticmarkup,
    to_html,
    to_patch,
)

LINES = st.sampled_from(
    [
        *("", "# A plan", "## Cost", "- We ask for more.", "2. **Why?** Nobody knows.", "```", "–"),
        *("We open on Sundays. “Why?” We are asked (often!) by many.", "  x = 1", "  x = 2  # no"),
        *("We open on Mondays. We are asked by many people.", "So “it ends.” Then it goes on."),
        "---",
    ]
)
TEXTS = st.one_of(
    st.lists(LINES, max_size=12).map("\n".join), st.text('ab .!?”"#-*`\n\t\u2028é', max_size=80)
)


def read_back(before: str, after: str, kind: str) -> list[tuple[str, list[str]]]:
    """The blocks of one side, in words."""
    found = []
    for old, new in compare_texts(before, after):
        texts = [e.text for e in compare_blocks(old, new, {}) if e.kind in ("same", kind)]
        if texts:
            found.append((new.kind or old.kind, " ".join(texts).split()))
    return found


@settings(max_examples=300, deadline=None)
@given(TEXTS, TEXTS)
@example("He said “go.” Then he left.", "He said “go.” Then he stayed.")
@example("# A plan", "# ")
@example("```\na = 1\nb = 2\n```", "```\na = 1\nb = 3\n```")
def test_without_what_is_new_it_is_the_old_text_and_without_what_is_gone_the_new_one(
    before: str, after: str
) -> None:
    for text, kind in ((before, "gone"), (after, "new")):
        blocks = [(each.kind, words) for each in split_blocks(text) if (words := each.text.split())]
        assert read_back(before, after, kind) == blocks
        assert not re.search("<(ins|del)>", to_html(text, text))


def test_a_page_shows_lines_as_lines() -> None:
    assert to_html("Kim\nBerlin", "Kim\nParis") == (
        "<p>Kim<br>\n<del>Berlin</del> <ins>Paris</ins></p>"
    )
    assert to_html("```\nx\n  y\n```", "```\nx\n  y\n```") == "<pre>x\n  y</pre>"


# ---- suggestions ---------------------------------------------------------------------------------

MARKED = st.one_of(
    st.lists(
        st.sampled_from(
            [
                *("We open on Sundays. ", "We open on Mondays. ", "Nobody knows.", "\n\n", "\n- "),
                *("{", "}", "+", "--", "~", "=", "> ", "<", "a", "{++", "~~}", "# A plan\n"),
            ]
        ),
        max_size=12,
    ).map("".join),
    st.text("{}+-~><= .\na", max_size=30),
)
MARK = r"\{\+\+(.*?)\+\+\}|\{--(.*?)--\}|\{~~(.*?)~>(.*?)~~\}|\{>>.*?<<\}"
SIGN = r"\{(\+\+|--|~~|>>|==)|(\+\+|--|~~|<<|==)\}|~>"


def answered(marked: str, *, taken: bool) -> str:
    """The text with all suggestions taken, or none."""

    def one(found: re.Match[str]) -> str:
        new, gone, old, instead = found.groups()
        return (new or instead if taken else gone or old) or ""

    return re.sub(MARK, one, marked, flags=re.DOTALL)


@settings(max_examples=200, deadline=None)
@given(MARKED, MARKED)
@example("a {", "a {++ b")
def test_all_of_them_give_the_new_text_and_none_of_them_the_old_one(old: str, new: str) -> None:
    if re.search(SIGN, f"{old} {new}"):
        with pytest.raises(InvalidInput, match="has signs of CriticMarkup itself"):
            to_criticmarkup(old, new, {})
        return
    marked = to_criticmarkup(old, new, {})
    assert answered(marked, taken=True) == new
    assert answered(marked, taken=False) == old


def test_a_suggestion_is_a_sentence_and_says_why() -> None:
    old = "We ask for money. It is {not} much. Thanks."
    new = "We ask for 900 EUR. It is not much. Thanks."
    why = {"we ask for money": "How much is {not} said."}
    assert to_criticmarkup(old, new, why) == (
        "{~~We ask for money.~>We ask for 900 EUR.~~}{>>How much is (not) said.<<} "
        "{~~It is {not} much.~>It is not much.~~} Thanks."
    )


@cases(
    "sentence",
    ["Wir schließen am 24.12. um 13 Uhr.", "Bis 24. Dezember (z. B. im 2. Stock) ist offen."],
)
def test_a_date_or_an_ordinal_ends_no_suggestion(sentence: str) -> None:
    marked = to_criticmarkup(f"{sentence} Danke.", "Wir kommen wieder. Danke.", {})
    assert marked == f"{{--{sentence}--}}{{-- --}}{{++Wir kommen wieder.++}}{{++ ++}}Danke."


@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        ("One. Two.", "One.\n\nTwo.", "One.{~~ ~>\n\n~~}Two."),
        ("One.", "One.\n\nTwo.", "One.{++\n\n++}{++Two.++}"),
        ("One.\n\nTwo.\n\nSix.", "One.\n\nSix.", "One.\n\n{--Two.--}{--\n\n--}Six."),
    ],
)
def test_the_end_of_a_paragraph_is_a_suggestion_of_its_own(old: str, new: str, marked: str) -> None:
    assert to_criticmarkup(old, new, {"one": "Why."}) == marked


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
    for end in ("", "\n", " \n\n"):
        was, now = f"{old}{end}", f"{new}{end}"
        for options, before, after in (((), was, now), (("--reverse",), now, was)):
            file.write_bytes(before.encode())
            command = ["patch", "--silent", *options, str(file)]
            subprocess.run(command, input=to_patch(was, now).encode(), check=True)
            assert file.read_bytes() == after.encode()
