"""Only the document becomes a candidate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.parsing.documents import Document, read_document, same_text


@pytest.mark.parametrize(
    ("reply", "text", "notes"),
    [
        ("<document>\nHello.\n</document>\n<notes>\nCut.\n</notes>", "Hello.", "Cut."),
        ("<document>\nHello.\n</document>\nHope it helps.", "Hello.", ""),
        ("Hello.\n<notes>\nCut.", "Hello.", "Cut."),
        ("Hello.\n<notes>Cut.</notes>\n", "Hello.", "Cut."),
        ("Use the <notes> element.\n\nMore.", "Use the <notes> element.\n\nMore.", ""),
        ("The <document> tag wraps.\n\nEnd.", "The <document> tag wraps.\n\nEnd.", ""),
        ("A\n<notes>\nx\n</notes>\nB", "A\n<notes>\nx\n</notes>\nB", ""),
        ("<notes>Cut.</notes>\n\nHello.", "Hello.", "Cut."),
        ("<notes>A</notes>\n" * 9999 + "Hello.", "<notes>A</notes>\n" * 9998 + "Hello.", "A"),
        (
            "<notes>Hello.</notes> is how notes look.",
            "<notes>Hello.</notes> is how notes look.",
            "",
        ),
        ("Hello.", "Hello.", ""),
        ("Hello.\n<notes>\nCut.\n</notes>", "Hello.", "Cut."),
        ("```markdown\n# Hello\n```", "# Hello", ""),
        ("<document>\n```\nHello.\n```\n</document>", "Hello.", ""),
        ("<DOCUMENT>Hello.</DOCUMENT>", "Hello.", ""),
        (
            "<document>\nUse <document> tags </document> well.\n</document>",
            "Use <document> tags </document> well.",
            "",
        ),
        ("<<<TEXT 4e0c1f2a3b4d5e6f>>>\nHello.\n<<<END TEXT 4e0c1f2a3b4d5e6f>>>", "Hello.", ""),
        ("<<<TEXT 4e0c1f2a3b4d5e6f>>\n\nHello.\n<notes>\nCut.\n</notes>", "Hello.", "Cut."),
        ("Hello.\n<<<END TEXT FS 4e0c1f2a3b4d5e6f>>>\n", "Hello.", ""),
        ("<<<TEXT 4e0c1f2a3b4d5e6f>>>", "", ""),
        (
            "One.\n<<<END TEXT 4e0c1f2a3b4d5e6f>>>\n\n<<<TEXT 4e0c1f2a3b4d5e6f>>>\nTwo.",
            "One.\n\nTwo.",
            "",
        ),
        ("TEXT 4e0c1f2a3b4d5e6f\nHello.\n4e0c1f2a3b4d5e6f", "Hello.", ""),
        ("The trace is 4e0c1f2a3b4d5e6f.", "The trace is 4e0c1f2a3b4d5e6f.", ""),
        ("", "", ""),
    ],
)
def test_document_and_notes_are_kept_apart(reply: str, text: str, notes: str) -> None:
    assert read_document(reply) == Document(text, notes)


def test_a_code_block_inside_a_document_stays() -> None:
    text = "```python\nx = 1\n```\n\nand\n\n```python\ny = 2\n```"
    assert read_document(f"<document>\n{text}\n</document>").text == text


@given(st.text(alphabet=st.characters(exclude_characters="<>`", exclude_categories=["Cs", "Cc"])))
def test_any_document_comes_back_as_it_was(text: str) -> None:
    assert (
        read_document(f"<document>\n{text}\n</document>\n<notes>\nx\n</notes>").text == text.strip()
    )


def test_clones_differ_in_white_space_at_most() -> None:
    assert same_text("a  b\n\nc", "a b c")
    assert not same_text("a b c", "a b c.")
