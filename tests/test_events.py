"""Events as a person reads them."""

from __future__ import annotations

from tests.run.runs import TASK, settings

from autoreason.events import DraftReady, RunStarted
from autoreason.prompts import built_in


def test_a_printed_event_is_one_short_line_and_its_repr_has_everything() -> None:
    prompts = built_in().sources
    begun = RunStarted(task=TASK, settings=settings(), prompts=prompts, version="1.0")
    assert str(begun).endswith(f"fields), prompts=<{len(prompts)} items>, version='1.0')")
    assert len(str(begun)) < 120
    assert repr(prompts["judge"]) in repr(begun)


def test_a_printed_event_cuts_texts_and_leaves_out_what_is_as_usual() -> None:
    draft = DraftReady(text="The moon\npulls. " * 99, words=297, given=False)
    assert str(draft).startswith("DraftReady(text='The moon pulls.")
    assert str(draft).endswith(" …', words=297, given=False)")
    assert len(str(draft)) < 150
