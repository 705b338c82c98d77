"""What changed between two texts, so that it can be read: blocks are paired first, then sentences, then words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher, unified_diff
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Literal, NamedTuple

from autoreason.characters import in_markup, without_controls

Kind = Literal["same", "gone", "new"]
MARKS = re.compile(r"\*\*|__|`")
"""Emphasis and code within a line."""
_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(.*)")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_SENTENCE_END = re.compile(r"(?<=[.!?])((?:\*\*|[\"”’)])*)\s+(?=\S)")
_SIGNS = re.compile(r"[^\w\s]")
_BLOCK_LIKE, _SENTENCE_LIKE = 0.22, 0.3
"""Shares of words that two blocks, or two sentences, must have in common to be one that changed."""
_SHORT_RUN = 3
"""Common words that are fewer belong to the change around them."""
_MOST_PAIRS = 40_000
"""Comparisons beyond which what differs is not paired."""


class Block(NamedTuple):
    kind: str
    """`h1` to `h6`, `item`, `paragraph` or `code`; or a `sentence` of one of them."""
    text: str


class Change(NamedTuple):
    kind: Kind
    text: str
    was: str = ""
    """Of the last change within a sentence or a block: all of it as it was; empty if it was not there."""
    now: str = ""
    """The sentence as it is; empty if it is not there."""


Reasons = Mapping[str, Sequence[str]]
"""Why sentences were changed, by what they were."""


class ChangedBlock(NamedTuple):
    kind: str
    changes: Sequence[Change]

    @property
    def between(self) -> str:
        """What stands between two changes."""
        return "\n" if self.kind == "code" else " "


def split_blocks(text: str) -> list[Block]:
    """Headings, items of lists, paragraphs and code of a text in Markdown, without their marks."""
    blocks: list[tuple[str, list[str]]] = []
    within = ""
    """What the next line may go on with."""
    for line in without_controls(text).splitlines():
        if _FENCE.match(line):
            within = "" if within == "code" else "code"
            blocks += [("code", [])] if within else []
        elif within == "code":
            blocks[-1][1].append(line)
        elif found := _HEADING.match(line):
            within = ""
            blocks.append((f"h{len(found[1])}", [found[2].strip()]))
        elif found := _ITEM.match(line):
            within = ""
            blocks.append(("item", [found[1].strip()]))
        elif not line.strip():
            within = ""
        else:
            blocks += [] if within else [("paragraph", [])]
            within = "paragraph"
            blocks[-1][1].append(line.strip())
    return [Block(kind, ("\n" if kind == "code" else " ").join(each)) for kind, each in blocks]


def split_sentences(text: str) -> list[str]:
    """The sentences of a block."""
    return [each for each in _SENTENCE_END.sub("\\1\0", text).split("\0") if each.strip()]


# A page compares a draft and its result twice: to show it, and to say how much is left.
@lru_cache(maxsize=4)
def compare_texts(before: str, after: str) -> Sequence[ChangedBlock]:
    """The way from one text to the other, block by block."""
    changed = []
    for old, new in pair(split_blocks(before), split_blocks(after), _BLOCK_LIKE):
        if old and new:
            changed.append(ChangedBlock(new.kind, _compare_blocks(old, new)))
        elif only := old or new:
            whole = Change("gone" if old else "new", only.text, old.text if old else "")
            changed.append(ChangedBlock(only.kind, [whole]))
    return changed


def reason(was: str, reasons: Reasons) -> str:
    """Why the sentences of a passage were changed; empty where no one said."""
    found = (each for sentence in split_sentences(was) for each in reasons.get(sentence, ()))
    return " ".join(dict.fromkeys(found))


def share_left(before: str, after: str) -> float:
    """How much of the later text, by its words, is from the earlier one."""
    words = dict.fromkeys(("same", "new", "gone"), 0)
    for block in compare_texts(before, after):
        for change in block.changes:
            words[change.kind] += len(change.text.split())
    return words["same"] / max(1, words["same"] + words["new"])


def to_html(before: str, after: str, reasons: Reasons | None = None) -> str:
    """The changes as safe HTML, with the reasons for them."""
    parts = []
    changed = compare_texts(before, after)
    for listed, blocks in groupby(changed, key=lambda block: block.kind == "item"):
        shown = "\n".join(_block_to_html(block, reasons or {}) for block in blocks)
        parts.append(f"<ul>{shown}</ul>" if listed else shown)
    return "\n".join(parts)


def _block_to_html(block: ChangedBlock, reasons: Reasons) -> str:
    parts = []
    for change in block.changes:
        shown = in_markup(change.text if block.kind == "code" else MARKS.sub("", change.text))
        tag = {"same": "", "gone": "del", "new": "ins"}[change.kind]
        parts.append(f"<{tag}>{shown}</{tag}>" if tag else shown)
        if why := reason(change.was, reasons):
            parts.append(f'<small class="muted">({in_markup(why)})</small>')
    inner = block.between.join(parts)
    tag = {"item": "li", "code": "pre", "paragraph": "p"}.get(block.kind, "")
    return f"<{tag}>{inner}</{tag}>" if tag else f'<p class="{block.kind}">{inner}</p>'


# ---- pairing -----------------------------------------------------------------------------------

Pairs = Iterator[tuple[Block | None, Block | None]]


def pair(old: Sequence[Block], new: Sequence[Block], least: float) -> Pairs:
    """Both rows in order: what is equal beside each other, and between that the most alike."""
    # Frequent blocks, such as empty headings, are no anchors: the matcher would take hours over them.
    for what, i, j, k, m in SequenceMatcher(None, old, new, autojunk=True).get_opcodes():
        if what == "equal":
            yield from zip(old[i:j], new[k:m], strict=True)
        elif what == "replace" and (j - i) * (m - k) <= _MOST_PAIRS:
            yield from _align(old[i:j], new[k:m], least)
        else:
            yield from ((each, None) for each in old[i:j])
            yield from ((None, each) for each in new[k:m])


def _align(old: Sequence[Block], new: Sequence[Block], least: float) -> Pairs:
    """The pairs that are most alike in all, in order; `least` is how alike two must be to be one that changed."""
    left, right = (
        [frozenset(_SIGNS.sub(" ", e.text.lower()).split()) for e in row] for row in (old, new)
    )
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    paired: set[tuple[int, int]] = set()
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            shared = len(left[i] & right[j])
            alike = shared / max(1, len(left[i]) + len(right[j]) - shared)
            best[i][j] = max(best[i + 1][j], best[i][j + 1])
            # A title is the title, in other words, too.
            titles = old[i].kind == "h1" and left[i] and right[j]
            changed = old[i].kind == new[j].kind and (alike > least or titles)
            if changed and (gain := best[i + 1][j + 1] + 0.15 + alike) >= best[i][j]:
                best[i][j] = gain
                paired.add((i, j))
    i = j = 0
    while i < len(old) or j < len(new):
        if (i, j) in paired:
            yield old[i], new[j]
            i, j = i + 1, j + 1
        elif i < len(old) and (j == len(new) or best[i + 1][j] >= best[i][j + 1]):
            yield old[i], None
            i += 1
        else:
            yield None, new[j]
            j += 1


# ---- within a block ----------------------------------------------------------------------------


def _compare_blocks(old: Block, new: Block) -> list[Change]:
    if old == new:
        return [Change("same", new.text)]
    if new.kind == "code":
        return _join(_compare(old.text.split("\n"), new.text.split("\n"), "\n"), "\n")
    changes: list[Change] = []
    before, after = (
        [Block("sentence", each) for each in split_sentences(text)] for text in (old.text, new.text)
    )
    for one, other in pair(before, after, _SENTENCE_LIKE):
        was, now = one.text if one else "", other.text if other else ""
        if was != now:
            *others, last = _join(_compare(was.split(), now.split(), " "), " ")
            changes += [*others, last._replace(was=was, now=now)]
        elif changes and changes[-1].kind == "same" and not changes[-1].now:
            changes[-1] = Change("same", f"{changes[-1].text} {now}")
        else:
            changes.append(Change("same", now))
    return changes


def _compare(old: list[str], new: list[str], between: str) -> Iterator[Change]:
    """Word by word, or line by line; few words that are the same go with the changes around them."""
    opcodes: Sequence[tuple[str, int, int, int, int]] = [("replace", 0, len(old), 0, len(new))]
    if len(old) * len(new) <= _MOST_PAIRS:
        opcodes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for at, (what, i, j, k, m) in enumerate(opcodes):
        short = between == " " and m - k < _SHORT_RUN and 0 < at < len(opcodes) - 1
        if what == "equal" and not short:
            yield Change("same", between.join(new[k:m]))
        else:
            yield from [Change("gone", between.join(old[i:j]))] if i < j else []
            yield from [Change("new", between.join(new[k:m]))] if k < m else []


def _join(changes: Iterable[Change], between: str) -> list[Change]:
    """Neighbours of one kind as one; what goes before what comes, within every change."""
    joined: list[Change] = []
    kinds: tuple[Kind, ...] = ("same", "gone", "new")
    for _, run in groupby(changes, key=lambda each: each.kind == "same"):
        found = list(run)
        for kind in kinds:
            if pieces := [each.text for each in found if each.kind == kind]:
                joined.append(Change(kind, between.join(pieces)))
    return joined


# ---- as suggestions ----------------------------------------------------------------------------

_PIECE_END = re.compile(r"(?<=[.!?])[\"”’)*_]*\s+|\n\s*")
_OPENER = re.compile(r"\{(?=\+\+|--|~~|>>|==)")
_IN_MARK = re.compile(
    r"(?<=\{)(?=\+\+|--|~~|>>|==)|(?:(?<=\+\+)|(?<=--)|(?<=~~)|(?<=<<)|(?<===))(?=\})|(?<=~)(?=>)"
)


def to_patch(before: str, after: str) -> str:
    """A unified diff in which no hunk needs lines around it."""
    old, new = ([f"{line}\n" for line in text.split("\n")] for text in (before, after))
    return "".join(unified_diff(old, new, "draft", "result", n=0))


def to_criticmarkup(before: str, after: str, reasons: Reasons) -> str:
    """The draft with a mark for each sentence that changed, and why; marks within the texts are taken apart."""
    parts = []
    for one, other in suggest(before, after):
        if one == other:
            # An empty comment keeps a brace apart from signs that would make a mark of it.
            parts.append(_OPENER.sub("{{>><<}", one))
            continue
        end = one[len(one.rstrip()) :] if one.strip() and other.strip() else ""
        end = end if end == other[len(other.rstrip()) :] else ""
        gone, come = ([p for p in _IN_MARK.split(x.removesuffix(end)) if p] for x in (one, other))
        if len(gone) == len(come) == 1:
            parts.append(f"{{~~{gone[0]}~>{come[0]}~~}}")
        else:
            parts += [f"{{--{each}--}}" for each in gone] + [f"{{++{each}++}}" for each in come]
        if why := reason(" ".join(block.text for block in split_blocks(one)), reasons):
            parts.append(f"{{>>{why.replace('{', '(').replace('}', ')')}<<}}")
        parts.append(end)
    return "".join(parts)


def suggest(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Sentences and lines of both texts side by side, with the white space behind them; empty where one has none."""
    for one, other in pair(_pieces(before), _pieces(after), _SENTENCE_LIKE):
        yield one.text if one else "", other.text if other else ""


def _pieces(text: str) -> list[Block]:
    ends = {0, *(each.end() for each in _PIECE_END.finditer(text)), len(text)}
    return [Block("sentence", text[start:end]) for start, end in pairwise(sorted(ends))]
