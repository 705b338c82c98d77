"""Edits of a text that its author keeps: how far they go, what they leave to a person, and why each was made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate
from math import ceil

from autoreason.events import Excess
from autoreason.parsing.critiques import Prose
from autoreason.parsing.documents import share_changed
from autoreason.report.changes import NONE, Reasons, compare_texts, split_words, suggest, words_of
from autoreason.report.numbers import percent
from autoreason.settings import Settings
from autoreason.story import Story

_ALIKE = 0.5
"""Share of words in which paragraphs, or problems, differ at most that are the same in other words."""
_SAME_LETTERS = 0.6
"""Share of its letters that a sentence keeps at least if only its spelling and grammar change; others share half."""


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
    pairs = [*compare_texts(incumbent, text)]
    places = [*zip(accumulate(NONE not in each for each in pairs), pairs, strict=True)]
    gone = [(at, one) for at, (one, other) in places if other == NONE and split_words(one.text)]
    come = [(at, other) for at, (one, other) in places if one == NONE]
    # Those that went and came again beyond one that stayed.
    beyond = ((x, y) for a, x in gone for b, y in come if a != b and x.kind == y.kind)
    if any(share_changed(x.text, y.text) <= _ALIKE for x, y in beyond):
        return Excess("changed", "its paragraphs have changed places", "put them back")
    sentences = (each for one, other in pairs for each in suggest(one.text, other.text))
    kept = (_in_common(was, now) / max(len(was), len(now)) for was, now in sentences)
    if settings.edit == "proof" and any(share < _SAME_LETTERS for share in kept):
        return Excess("changed", "a sentence is new, gone or another", "correct errors and no more")
    return None


def count_changed(before: str, after: str) -> tuple[int, int]:
    """The words of a text, and how many of them another has not or has besides, in their order."""
    old, new = split_words(before), split_words(after)
    return max(1, len(old)), max(len(old), len(new)) - _in_common(old, new)


def _in_common(old: Sequence[str], new: Sequence[str]) -> int:
    """How many words, or letters, both have in the same order; for all of the old ones at once, as bits."""
    places: defaultdict[str, int] = defaultdict(int)
    for at, each in enumerate(old):
        places[each] |= 1 << at
    row = every = (1 << len(old)) - 1
    for each in new:
        kept = row & places[each]
        row = (row + kept | row - kept) & every
    return len(old) - row.bit_count()


def undecided(story: Story) -> list[str]:
    """What would take more than an edit, each once, although critics of every round may find it again."""
    found: list[str] = []
    for each in (one for step in story.passes for e in step.critiques for one in e.withheld):
        if all(share_changed(each.problem, other) > _ALIKE for other in found):
            found.append(each.problem)
    return found


def find_reasons(story: Story) -> Reasons:
    """What critics found wrong with words of the first draft, there or in later texts, by its sentences."""
    rounds = {each.number: each for each in story.passes}
    given = Prose(story.incumbents[0].text if story.incumbents else "")
    origin: dict[str, str] = {}
    reasons: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for one, after in ((rounds[each.since], each.text) for each in story.incumbents[1:]):
        prose = Prose(one.incumbent)
        faults = [x for each in one.critiques for x in each.problems if given.quotes(x.quote)]
        quotes = [(*place, each.problem) for each in faults for place in prose.places(each.quote)]
        blocks = compare_texts(one.incumbent, after)
        for was, now in (each for old, new in blocks for each in suggest(old.text, new.text)):
            first = origin[words_of(now)] = origin.get(words_of(was), words_of(was))
            for start, end in prose.places(was):
                why = (problem for a, b, problem in quotes if a < end and start < b)
                reasons[first] |= dict.fromkeys(why)
    return {first: " ".join(why) for first, why in reasons.items() if first and why}
