"""What changed between two texts, so that it can be read: blocks are paired first, then sentences, then words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher, unified_diff
from itertools import groupby, pairwise
from typing import Literal, NamedTuple

from autoreason.characters import in_markup
from autoreason.errors import InvalidInput
from autoreason.sentences import SENTENCE_GAP, hide_points

MARKS = re.compile(r"\*\*|__|`")
"""Emphasis and code within a line."""
_MARKED = re.compile(r"(?:(#{1,6})|\s*(?:[-*+]|\d{1,3}[.)]))\s+(.*)")
"""A heading, or an item of a list."""
FENCE = re.compile(r"\s*(?:```|~~~)")
FULL_LINE = re.compile(r"(?<=[^\n]{59}\S) ?\n *")
"""Where a line was broken to fit a window; a shorter one ends because its author meant it."""
LINE_END = "\u2028"
"""Between the lines of a paragraph whose ends are to be shown."""
_SENTENCE_END = rf"{SENTENCE_GAP}|\n\s*"
_WORD = r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+"
"""Compiled when it is first needed: the range takes as long as forty other patterns."""
_MOST_PAIRS = 40_000
"""Comparisons beyond which what differs is paired by its place, or not at all."""


class Block(NamedTuple):
    kind: str
    """`h1` to `h6`, `item`, `paragraph` or `code`; or a `sentence` of one of them."""
    text: str


NONE = Block("", "")
"""What stands beside a block that is gone or new."""


class DiffPart(NamedTuple):
    kind: Literal["same", "gone", "new", "why"]
    text: str
    gap: str = " "
    """What is between it and the next."""


Reasons = Mapping[str, str]
"""Why sentences were changed, by their words."""


def split_blocks(text: str, line_end: str = " ") -> list[Block]:
    """Headings, items of lists, paragraphs and code of a text in Markdown, without their marks."""
    blocks: list[tuple[str, list[str]]] = []
    within = ""
    """What the next line may go on with."""
    for line in text.splitlines():
        found = _MARKED.match(line)
        if FENCE.match(line):
            within = "" if within == "code" else "code"
            blocks += [("code", [])] if within else []
        elif within == "code" or (within and line.strip() and not found):
            blocks[-1][1].append(line if within == "code" else line.strip())
        else:
            kind = "paragraph" if not found else f"h{len(found[1])}" if found[1] else "item"
            blocks += [(kind, [(found[2] if found else line).strip()])] if line.strip() else []
            within = kind if kind == "paragraph" and line.strip() else ""
    return [
        Block(kind, text if kind == "code" else FULL_LINE.sub(" ", text).replace("\n", line_end))
        for kind, text in ((kind, "\n".join(lines)) for kind, lines in blocks)
    ]


def split_sentences(text: str) -> list[str]:
    """Its sentences and lines, each with the white space behind it."""
    ends = {0, *(each.end() for each in re.finditer(_SENTENCE_END, hide_points(text))), len(text)}
    return [text[start:end] for start, end in pairwise(sorted(ends))]


def split_words(text: str) -> list[str]:
    """Its words, without signs; of scripts without spaces single characters."""
    return re.findall(_WORD, text)


def words_of(text: str) -> str:
    """What two texts share that differ in nothing but capitals, signs and white space."""
    return " ".join(split_words(text.casefold()))


def compare_texts(before: str, after: str, line_end: str = " ") -> Iterator[tuple[Block, Block]]:
    """The way from one text to the other, block by block."""
    return pair(split_blocks(before, line_end), split_blocks(after, line_end))


def compare_blocks(old: Block, new: Block, reasons: Reasons) -> Iterator[DiffPart]:
    """What is the same, gone or new in each sentence, and why."""
    for was, now in suggest(old.text, new.text):
        changes: list[DiffPart] = []
        for at, (gone, come) in enumerate(suggest_words(was, now, r"\S+\s*", least=3)):
            # What is last in the new text may have ended a line of the old one.
            gap = come[len(come.rstrip()) :] or gone[len(gone.rstrip()) :] or " "
            if gone.strip() and at % 2 == 0:
                changes.append(DiffPart("gone", gone.rstrip(), " " if come else gap))
            if come.strip():
                changes.append(DiffPart("same" if at % 2 else "new", come.rstrip(), gap))
        if {x.kind for x in changes} != {"same"} and (why := reasons.get(words_of(was))):
            changes[-1:] = [changes[-1]._replace(gap=" "), DiffPart("why", why, changes[-1].gap)]
        yield from changes


_HTML = {"gone": "<del>{}</del>", "new": "<ins>{}</ins>", "why": "<small>({})</small>"}


def to_html(before: str, after: str, reasons: Reasons | None = None) -> str:
    """The changes as safe HTML, with the reasons for them."""
    blocks = []
    for old, new in compare_texts(before, after, LINE_END):
        kind, parts = new.kind or old.kind, []
        for each in compare_blocks(old, new, reasons or {}):
            bare = each.text if kind == "code" else MARKS.sub("", each.text)
            parts.append(_HTML.get(each.kind, "{}").format(in_markup(bare)) + each.gap)
        inner = "".join(parts).rstrip().replace("\n", "\n" if kind == "code" else "<br>\n")
        tag = {"item": "li", "code": "pre", "paragraph": "p"}.get(kind, f'p class="{kind}"')
        blocks.append(f"<{tag}>{inner}</{tag.split()[0]}>")
    groups = groupby(blocks, key=lambda each: each.startswith("<li>"))
    lists = (("<ul>{}</ul>" if listed else "{}").format("\n".join(each)) for listed, each in groups)
    return "\n".join(lists)


def pair(
    old: Sequence[Block], new: Sequence[Block], least: float = 0.22
) -> Iterator[tuple[Block, Block]]:
    """Both rows in order: what is equal beside each other, and between that the most alike.

    `least` is the share of words that two must have in common to be one that changed.
    """
    # What comes again, such as a line between paragraphs, is not an anchor: it may be another one.
    again = {each for row in (old, new) for each, times in Counter(row).items() if times > 1}
    places: list[tuple[int, int]] = []
    matcher = SequenceMatcher(again.__contains__, old, new, autojunk=False)
    for what, i, j, k, m in matcher.get_opcodes():
        many = (j - i) * (m - k) > _MOST_PAIRS
        if what == "equal" or (many and j - i == m - k):
            places += zip(range(i, j), range(k, m), strict=True)
        elif not many:
            places += ((i + a, k + b) for a, b in _align(old[i:j], new[k:m], least))
    i = k = 0
    for j, m in [*places, (len(old), len(new))]:
        yield from ((each, NONE) for each in old[i:j])
        yield from ((NONE, each) for each in new[k:m])
        yield from zip(old[j : j + 1], new[m : m + 1], strict=True)
        i, k = j + 1, m + 1


def _align(old: Sequence[Block], new: Sequence[Block], least: float) -> Iterator[tuple[int, int]]:
    """Where the pairs are that are most alike in all, in order."""
    left, right = ([{*split_words(e.text.casefold())} for e in row] for row in (old, new))
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    paired: set[tuple[int, int]] = set()
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            shared = len(left[i] & right[j])
            alike = shared / max(1, len(left[i]) + len(right[j]) - shared)
            best[i][j] = max(best[i + 1][j], best[i][j + 1])
            changed = old[i].kind == new[j].kind and (alike > least or old[i] == new[j])
            if changed and (gain := best[i + 1][j + 1] + 0.15 + alike) >= best[i][j]:
                best[i][j] = gain
                paired.add((i, j))
    i = j = 0
    while i < len(old) and j < len(new):
        if (i, j) in paired:
            yield i, j
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1


def suggest_words(was: str, now: str, part: str, least: int) -> Iterator[tuple[str, str]]:
    """By turns what changed and what did not; between changes fewer parts than `least` have changed with them."""
    was, now = (each.replace(LINE_END, "\n") for each in (was, now))
    if not was or not now or was == now:
        yield from (("", ""), (was, now)) if was == now else ((was, now),)
        return
    old, new = (re.findall(part, each) for each in (was, now))
    bare = [[each.rstrip() for each in row] for row in (old, new)]
    i = j = 0
    for k, m, size in SequenceMatcher(None, bare[0], bare[1]).get_matching_blocks():
        if size >= least or k == m == 0 or (k + size, m + size) == (len(old), len(new)):
            yield "".join(old[i:k]), "".join(new[j:m])
            yield "".join(old[k : k + size]), "".join(new[m : m + size])
            i, j = k + size, m + size


_CRITIC_SIGN = re.compile(r"\{(?:\+\+|--|~~|>>|==)|(?:\+\+|--|~~|<<|==)\}|~>")


def to_patch(before: str, after: str) -> str:
    """A unified diff in which no hunk needs lines around it, of files as they are to the last byte."""
    old, new = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (before, after))
    lines = unified_diff(old, new, "draft", "result", n=0)
    return "".join(x if x[-1] == "\n" else f"{x}\n\\ No newline at end of file\n" for x in lines)


def to_criticmarkup(before: str, after: str, reasons: Reasons) -> str:
    """The draft with a mark for each sentence that changed, and why."""
    if _CRITIC_SIGN.search(f"{before}\0{after}"):
        raise InvalidInput("the text has signs of CriticMarkup itself; name a .patch or a .docx")
    parts = []
    for was, now in suggest(before, after):
        gone, come = was.rstrip(), now.rstrip()
        why = reasons.get(words_of(was), "") if gone != come else ""
        note = f"{{>>{why.translate({ord('{'): '(', ord('}'): ')'})}<<}}" if why else ""
        # What ends a paragraph is not a part of its last sentence.
        parts += [_mark(gone, come), note, _mark(was[len(gone) :], now[len(come) :])]
    return "".join(parts)


def _mark(gone: str, come: str) -> str:
    whole = f"~~{gone}~>{come}~~" if gone and come else f"--{gone}--" if gone else f"++{come}++"
    return gone if gone == come else f"{{{whole}}}"


def suggest(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Sentences and lines of both texts side by side; empty where one has none."""
    old, new = ([Block("sentence", e) for e in split_sentences(x)] for x in (before, after))
    for one, other in pair(old, new, least=0.3):
        yield one.text, other.text
