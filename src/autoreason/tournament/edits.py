"""Edits of a text that its author keeps: how far they go, what they leave to a person, and why each was made."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import zip_longest
from math import ceil

from autoreason.jobs.context import Excess
from autoreason.parsing.critiques import Prose
from autoreason.parsing.documents import share_changed
from autoreason.report.changes import Reasons, compare_texts, split_blocks, split_sentences
from autoreason.report.numbers import percent
from autoreason.settings import Settings
from autoreason.story import Story

_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
_WORD = re.compile(r"[^\w\s]*\w\S*")
_ALIKE = 0.5
"""Share of words in which paragraphs, or problems, differ at most that are the same in other words."""
_SAME_LETTERS = 0.6


def find_excess(settings: Settings, draft: str, incumbent: str, text: str) -> Excess | None:
    """How a text is more than an edit of the text so far, or of the draft; None where all may change."""
    if settings.edit == "free":
        return None
    compared = ((incumbent, "the words"), (draft, "the draft's words"))
    for (before, what), most in zip(compared, settings.edit_shares, strict=True):
        words, changed = count_changed(before, text)
        if changed > max(1, most * words):
            share = f"{ceil(100 * changed / words)} % of {what}, at most {percent(most)} allowed"
            return Excess("changed", f"changed {share}", "take back what matters least")
    if _moved(incumbent, text):
        return Excess("changed", "its paragraphs have changed places", "put them back")
    if settings.edit == "proof" and _reworded(incumbent, text):
        return Excess("changed", "a sentence is new, gone or another", "correct errors and no more")
    return None


def count_changed(before: str, after: str) -> tuple[int, int]:
    """The words of a text, and how many of them another has not or has besides, in their order."""
    old, new = (_WORD.findall(text) for text in (before, after))
    matching = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return max(1, len(old)), max(len(old), len(new)) - sum(each.size for each in matching)


def _moved(before: str, after: str) -> bool:
    """Whether paragraphs of a text stand in another order; those that are new or gone have none."""
    old, new = (_PARAGRAPH_END.split(text.strip()) for text in (before, after))
    last = 0
    for paragraph in new:
        kept = paragraph in old
        apart = [each != paragraph if kept else share_changed(each, paragraph) for each in old]
        places = [at for at, each in enumerate(apart) if each == min(apart) <= _ALIKE]
        if places and places[-1] < last:
            return True
        last = next((at for at in places if at >= last), last)
    return False


def _reworded(before: str, after: str) -> bool:
    """Whether a sentence, or what it stands in, is new, gone or another, and not the same in other letters."""
    pairs = zip_longest(_sentences(before), _sentences(after), fillvalue="")
    changed = (SequenceMatcher(None, *pair, autojunk=False) for pair in pairs if pair[0] != pair[1])
    return any(each.ratio() < _SAME_LETTERS for each in changed)


def _sentences(text: str) -> list[str]:
    return [x for block in split_blocks(text) for x in (block.kind, *split_sentences(block.text))]


def undecided(story: Story) -> list[str]:
    """What would take more than an edit, each once, although critics of every round may find it again."""
    found: list[str] = []
    for each in (one for step in story.passes for e in step.critiques for one in e.withheld):
        if all(share_changed(each.problem, other) > _ALIKE for other in found):
            found.append(each.problem)
    return found


def find_reasons(story: Story) -> Reasons:
    """What critics found wrong with the sentences of the first draft, or what they became, that have changed since."""
    rounds = {each.number: each for each in story.passes}
    texts = [each.text for each in story.incumbents]
    last = texts.index(story.text) + 1 if story.text in texts else len(texts)
    origin: dict[str, str] = {}
    reasons: dict[str, list[str]] = {}
    for one, after in ((rounds[each.since], each.text) for each in story.incumbents[1:last]):
        prose = Prose(one.incumbent)
        faults = [fault for each in one.critiques for fault in each.problems]
        quotes = [(*place, each.problem) for each in faults for place in prose.places(each.quote)]
        blocks = compare_texts(one.incumbent, after)
        for change in (each for block in blocks for each in block.changes):
            for sentence in split_sentences(change.was):
                first = origin[change.now] = origin.get(sentence, sentence)
                for start, end in prose.places(sentence):
                    why = [problem for a, b, problem in quotes if a < end and start < b]
                    reasons.setdefault(first, []).extend(why)
    return reasons
