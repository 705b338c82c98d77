"""The texts of a panel: two to ten, all different, perhaps cut to one length."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import combinations

from autoreason.contract import count_words, word_starts
from autoreason.errors import InvalidInput
from autoreason.job_types import Judge, JudgePairs
from autoreason.parsing.documents import same_text
from autoreason.task import Entry

MIN_TEXTS, MAX_TEXTS = 2, 10
_SENTENCE = re.compile(r"[^\n]*?[.!?…][\"'”’)\]*_]*(?=\s|\Z)|[^\n]+")
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_FENCE = re.compile(r"[ \t]*(```+|~~~+)")
_HEADING = re.compile(r"[ \t]*#{1,6} ")


def same_texts(texts: Mapping[str, str | None]) -> dict[str, tuple[str, ...]]:
    """For everyone who delivered, all who delivered the same text, itself included."""
    delivered = {name: text for name, text in texts.items() if text is not None}
    return {
        name: tuple(other for other, second in delivered.items() if same_text(text, second))
        for name, text in delivered.items()
    }


def distinct(texts: Mapping[str, str | None]) -> tuple[Entry, ...]:
    """What there is to judge, each text once, under the name of the first who delivered it."""
    entries: list[Entry] = []
    for name, text in texts.items():
        if text is not None and not any(same_text(text, entry.text) for entry in entries):
            entries.append(Entry(name=name, text=text))
    return tuple(entries)


def panel_job(texts: Mapping[str, str], *, pairwise: bool, equal_length: bool) -> Judge:
    """The job of a panel, with the length of texts that it sees cut."""
    kind = JudgePairs if pairwise else Judge
    return kind(
        cut_from={name: count_words(text) for name, text in texts.items()} if equal_length else {}
    )


def make_entries(texts: Mapping[str, str], *, equal_length: bool = False) -> tuple[Entry, ...]:
    """Texts ready to be judged; what cannot be compared is refused in one sentence."""
    if not MIN_TEXTS <= len(texts) <= MAX_TEXTS:
        raise InvalidInput(
            f"a panel compares {MIN_TEXTS} to {MAX_TEXTS} texts, not {len(texts)}; give as many"
        )
    for name, text in texts.items():
        if not text.strip():
            raise InvalidInput(f"{name} is empty; there is nothing to judge in it")
    if equal_length:
        texts = cut_to_equal_length(texts)
    for (name, text), (other, second) in combinations(texts.items(), 2):
        if same_text(text, second):
            alike = "begin alike and are the same once cut" if equal_length else "are the same text"
            raise InvalidInput(f"{name} and {other} {alike}; leave one of them out")
    return tuple(Entry(name=name, text=text.strip()) for name, text in texts.items())


def cut_to_equal_length(texts: Mapping[str, str]) -> dict[str, str]:
    """All texts cut to one length as nearly as sentences allow, layout kept.

    Of all lengths from half of the shortest text on, the one at which texts differ least is taken.
    """
    shortest = min(count_words(text) for text in texts.values())
    options = [
        {name: cut(text, words) for name, text in texts.items()}
        for words in range(shortest, shortest // 2, -1)
    ]
    return min(options, key=_spread)


def _spread(texts: Mapping[str, str]) -> float:
    lengths = [count_words(text) for text in texts.values()]
    return (max(lengths) - min(lengths)) / max(lengths)


def cut(text: str, words: int) -> str:
    """The beginning of a text, up to so many words, where a sentence ends; never less than the first one."""
    starts = word_starts(text)
    if len(starts) <= words:
        return text.strip()
    end_of_text = 0
    for end in _ends(text):
        if end_of_text and bisect_left(starts, end) > words:
            break
        end_of_text = end
    return text[: end_of_text or len(text)].strip()


def _ends(text: str) -> Iterator[int]:
    """Where a text can be cut: after sentences and whole blocks of code, never after a heading."""
    fence = ""
    for line in _LINE.finditer(text):
        mark = _FENCE.match(line.group())
        if fence:
            # Only a mark of the same kind, and of no smaller length, ends a block.
            if mark and line.group().strip() == mark[1] and mark[1].startswith(fence):
                fence = ""
                yield line.end()
        elif mark:
            fence = mark[1]
        elif not _HEADING.match(line.group()):
            yield from (sentence.end() for sentence in _SENTENCE.finditer(text, *line.span()))
