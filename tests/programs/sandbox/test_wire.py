"""Messages arrive as they were sent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autoreason.programs.sandbox.base import SOURCE_LIMIT
from autoreason.programs.sandbox.wire import ENDINGS, LARGEST, PARTS, Opening, Reply

seconds = st.floats(0, 1e6)
amounts = st.integers(0, 2**63)
anything = st.text(st.characters(codec=None))


@given(st.builds(Opening, st.sampled_from(PARTS), seconds, amounts, amounts, anything))
def test_an_opening_arrives_as_it_was_sent(opening: Opening) -> None:
    assert Opening.unpack(opening.pack()) == opening


@given(st.builds(Reply, st.sampled_from(ENDINGS), st.integers(-64, 255), seconds, seconds, amounts))
def test_a_reply_arrives_as_it_was_sent(reply: Reply) -> None:
    assert Reply.unpack(reply.pack()) == reply


def test_the_longest_source_fits_into_a_message() -> None:
    assert len(Opening("program", 1.0, 1, 1, "x" * SOURCE_LIMIT).pack()) <= LARGEST
