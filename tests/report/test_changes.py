"""What changed between two texts reads back to both of them."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from autoreason.report.changes import Kind, compare_texts, share_left, split_blocks, to_html

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


def read_back(before: str, after: str, kind: Kind) -> list[tuple[str, list[str]]]:
    """The blocks of one side, in words; of code, in lines."""
    found = []
    for block in compare_texts(before, after):
        texts = [each.text for each in block.changes if each.kind in ("same", kind)]
        if texts:
            whole = block.between.join(texts)
            found.append((block.kind, whole.split("\n") if block.kind == "code" else whole.split()))
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
        blocks = [
            (block.kind, block.text.split("\n") if block.kind == "code" else block.text.split())
            for block in split_blocks(text)
        ]
        assert read_back(before, after, kind) == blocks  # type: ignore[arg-type]


@given(TEXTS)
def test_a_text_is_the_same_as_itself(text: str) -> None:
    assert "<ins>" not in to_html(text, text)
    assert "<del>" not in to_html(text, text)
    assert share_left(text, text) == (1.0 if any(b.text.split() for b in split_blocks(text)) else 0)
