"""What changed between two texts, so that it can be read: blocks are paired first, then sentences, then words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal, NamedTuple, TypeVar

from autoreason.characters import in_markup, without_controls

Kind = Literal["same", "gone", "new"]
_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(.*)")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_SENTENCE_END = re.compile(r"(?<=[.!?])(?:\*\*|[\"”’)])*\s+(?=\S)")
MARKS = re.compile(r"\*\*|__|`")
_SIGNS = re.compile(r"[^\w\s]")
_BLOCK_LIKE, _SENTENCE_LIKE = 0.22, 0.3
"""Shares of words that two blocks, or two sentences, must have in common to be one that changed."""
_SHORT_RUN = 3
"""Common words that are fewer belong to the change around them."""
_MOST_PAIRS = 40_000
"""Comparisons beyond which only what is equal is paired."""
T = TypeVar("T")


class Block(NamedTuple):
    kind: str
    """`h1` to `h6`, `item`, `paragraph` or `code`."""
    text: str


class Change(NamedTuple):
    kind: Kind
    text: str


class ChangedBlock(NamedTuple):
    kind: str
    changes: Sequence[Change]


def split_blocks(text: str) -> list[Block]:
    """Headings, items of lists, paragraphs and code of a text in Markdown, without their marks."""
    blocks: list[Block] = []
    lines: list[str] = []

    def flush() -> None:
        if lines:
            blocks.append(Block("paragraph", " ".join(lines)))
            lines.clear()

    code: list[str] | None = None
    for line in without_controls(text).splitlines():
        if _FENCE.match(line):
            flush()
            if code is not None:
                blocks.append(Block("code", "\n".join(code)))
            code = [] if code is None else None
        elif code is not None:
            code.append(line)
        elif found := _HEADING.match(line):
            flush()
            blocks.append(Block(f"h{len(found[1])}", found[2].strip()))
        elif found := _ITEM.match(line):
            flush()
            blocks.append(Block("item", found[1].strip()))
        elif line.strip():
            lines.append(line.strip())
        else:
            flush()
    flush()
    if code:
        blocks.append(Block("code", "\n".join(code)))
    return blocks


def split_sentences(text: str) -> list[str]:
    """The sentences of a block."""
    return [each for each in _SENTENCE_END.split(text) if each.strip()]


def compare_texts(before: str, after: str) -> list[ChangedBlock]:
    """The way from one text to the other, block by block."""
    paired = _pair(split_blocks(before), split_blocks(after), _block_words, _is_same_block)
    changed = []
    for old, new in paired:
        if old and new:
            changed.append(ChangedBlock(new.kind, _compare_blocks(old.text, new.text)))
        elif only := old or new:
            changed.append(ChangedBlock(only.kind, [Change("gone" if old else "new", only.text)]))
    return changed


def share_left(before: str, after: str) -> float:
    """How much of the later text, by its words, is from the earlier one."""
    pieces = [change for block in compare_texts(before, after) for change in block.changes]
    words = {
        kind: sum(len(each.text.split()) for each in pieces if each.kind == kind)
        for kind in ("same", "new")
    }
    return words["same"] / max(1, sum(words.values()))


def to_html(before: str, after: str) -> str:
    """The changes as safe HTML."""
    parts: list[str] = []
    for block, following in pairwise([*compare_texts(before, after), None]):
        assert block is not None
        inner = " ".join(_mark(change, code=block.kind == "code") for change in block.changes)
        listed = (
            "<ul>" if block.kind == "item" and not (parts and parts[-1].endswith("</li>")) else ""
        )
        tag = {"item": "li", "code": "pre", "paragraph": "p"}.get(block.kind, "")
        whole = f"<{tag}>{inner}</{tag}>" if tag else f'<p class="{block.kind}">{inner}</p>'
        ends = block.kind == "item" and (following is None or following.kind != "item")
        parts.append(f"{listed}{whole}{'</ul>' if ends else ''}")
    return "\n".join(parts)


def _mark(change: Change, *, code: bool) -> str:
    text = in_markup(change.text if code else MARKS.sub("", change.text))
    tag = {"same": "", "gone": "del", "new": "ins"}[change.kind]
    return f"<{tag}>{text}</{tag}>" if tag else text


# ---- pairing -----------------------------------------------------------------------------------


def _words(text: str) -> frozenset[str]:
    return frozenset(_SIGNS.sub(" ", text.lower()).split())


def _block_words(block: Block) -> frozenset[str]:
    return _words(block.text)


def _is_same_block(one: Block, other: Block, likeness: float) -> bool:
    """Whether it changed rather than went; a title is the title, in other words, too."""
    return one.kind == other.kind and (likeness > _BLOCK_LIKE or one.kind == "h1")


def _is_same_sentence(_one: str, _other: str, likeness: float) -> bool:
    return likeness > _SENTENCE_LIKE


def _pair(
    old: Sequence[T],
    new: Sequence[T],
    words_of: Callable[[T], frozenset[str]],
    is_same: Callable[[T, T, float], bool],
) -> list[tuple[T | None, T | None]]:
    """Both rows in order, the most alike beside each other; where there are too many, only equal ones."""
    if len(old) * len(new) > _MOST_PAIRS:
        return list(_pair_equal(old, new))
    left, right = list(map(words_of, old)), list(map(words_of, new))
    likeness = [[_likeness(one, other) for other in right] for one in left]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]

    def gain(i: int, j: int) -> float:
        alike = likeness[i][j]
        if old[i] == new[j] or is_same(old[i], new[j], alike):
            return best[i + 1][j + 1] + 0.15 + alike
        return 0.0

    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], gain(i, j))
    found: list[tuple[T | None, T | None]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and best[i][j] and best[i][j] == gain(i, j):
            found.append((old[i], new[j]))
            i, j = i + 1, j + 1
        elif i < len(old) and (j == len(new) or best[i + 1][j] >= best[i][j + 1]):
            found.append((old[i], None))
            i += 1
        else:
            found.append((None, new[j]))
            j += 1
    return found


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / max(1, len(one) + len(other) - shared)


def _pair_equal(old: Sequence[T], new: Sequence[T]) -> Iterator[tuple[T | None, T | None]]:
    # Frequent blocks, such as empty headings, are no anchors: the matcher would take hours over them.
    for what, i, j, k, m in SequenceMatcher(None, old, new, autojunk=True).get_opcodes():
        if what == "equal":
            yield from zip(old[i:j], new[k:m], strict=True)
        else:
            yield from ((each, None) for each in old[i:j])
            yield from ((None, each) for each in new[k:m])


# ---- within a block ----------------------------------------------------------------------------


def _compare_blocks(before: str, after: str) -> list[Change]:
    if before == after:
        return [Change("same", after)]
    old, new = split_sentences(before), split_sentences(after)
    changes: list[Change] = []
    for one, other in _pair(old, new, _words, _is_same_sentence):
        if one and other:
            changes += _compare_words(one.split(), other.split())
        else:
            changes.append(Change("gone" if one else "new", one or other or ""))
    return _join(changes)


def _compare_words(old: list[str], new: list[str]) -> list[Change]:
    if old == new:
        return [Change("same", " ".join(new))]
    if len(old) * len(new) > _MOST_PAIRS:
        return [Change("gone", " ".join(old)), Change("new", " ".join(new))]
    opcodes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    changes: list[Change] = []
    for at, (what, i, j, k, m) in enumerate(opcodes):
        short = m - k < _SHORT_RUN and 0 < at < len(opcodes) - 1
        if what == "equal" and not short:
            changes.append(Change("same", " ".join(new[k:m])))
        else:
            changes += [Change("gone", " ".join(old[i:j]))] if i < j else []
            changes += [Change("new", " ".join(new[k:m]))] if k < m else []
    return changes


def _join(changes: Sequence[Change]) -> list[Change]:
    """Neighbours of one kind as one; what goes before what comes, within every change."""
    joined: list[Change] = []
    gone: list[str] = []
    new: list[str] = []

    def flush() -> None:
        if gone:
            joined.append(Change("gone", " ".join(gone)))
        if new:
            joined.append(Change("new", " ".join(new)))
        gone.clear()
        new.clear()

    for change in changes:
        if change.kind == "same":
            flush()
            if joined and joined[-1].kind == "same":
                joined[-1] = Change("same", f"{joined[-1].text} {change.text}")
            else:
                joined.append(change)
        else:
            (gone if change.kind == "gone" else new).append(change.text)
    flush()
    return joined
