"""The forms in which rankings are written, parsed strictly: every label once, or no ranking."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from autoreason.parsing.normalization import TextLine
from autoreason.parsing.patterns import Pattern

Ranking = tuple[str, ...]
"""Labels, best first."""

NOUN = (
    r"(?:version|proposal|text|draft|candidate|option|response|answer|document|submission|entry"
    r"|output|essay|variant|revision|solution|alternative|program|memo|plan)"
)
"""What judges call the things they rank."""


class UnreadableRanking(Exception):
    """Something looks like a ranking and is not a full one."""


class RankedLabel(NamedTuple):
    """A label and the place it is given."""

    label: str
    place: int | None
    in_words: bool
    """The place is a word, as "second" or "2nd", rather than a number in front."""
    named: bool
    """It has a noun: "Version C" may go on as a sentence, a mere "C" may not."""
    note: str
    """A remark in brackets, or a mark, behind it."""
    end: int
    """Where all that ends on its line."""


class InlineRanking(NamedTuple):
    """A ranking written on one line."""

    ranking: Ranking
    is_chain: bool
    """C > A > B"""
    is_alone: bool
    """Nothing else is on the line."""


class Forms:
    """The forms for one set of labels."""

    def __init__(self, labels: Ranking) -> None:
        self.labels = labels
        names = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
        label = rf"{_OPEN}(?<!\w)(?P<label>{names})(?![\w%]|[./]\d){_CLOSE}"
        # In front of a label that is itself a number, "2:" or "2 -" could be either.
        mark = r"[.)]+\s+" if any(map(str.isdigit, labels)) else _MARK
        self._entry = re.compile(
            rf"(?:(?:rank |place |position )?[#(]?(?P<number>\d{{1,2}})(?:{mark}|{_MARK}(?={NOUN}))"
            rf"|(?P<word>{_PLACE}){_PLACE_NOUN}\s*(?:[:.)=-]+|(?=\()|is\b)\s*)?"
            rf"(?P<noun>{NOUN}[\s#]*)?{label}",
            re.IGNORECASE,
        )
        self._another = re.compile(
            rf"\s*(?:,|and\b|or\b|&|/|=|\+)\s*(?:{NOUN}\s*)?{label}", re.IGNORECASE
        )

    def on_line(self, text: str) -> InlineRanking | None:
        """The ranking a text begins with, such as "C, A, B" or "C > A > B"; None if it has none."""
        entries: list[RankedLabel] = []
        kinds: set[str | None] = set()
        at = 0
        while entry := self._entry_at(text, at):
            entries.append(entry)
            at = entry.end
            separator = _SEPARATOR.match(text, at)
            if len(entries) == len(self.labels) or not separator:
                break
            kinds.add(separator.lastgroup)
            at = separator.end()
        if not entries:
            return None
        # "A > B, C" may mean that B and C are equal.
        if len(kinds) > 1 or not _is_apart(text[at:], kinds):
            raise UnreadableRanking(text)
        alone = not re.search(r"\w", text[at:])
        in_line = InlineRanking(
            self._arranged(entries), is_chain=kinds == {"chain"}, is_alone=alone
        )
        # "A: 2nd, B: 1st" is a ranking; "A (2nd) > B (1st)" is ambiguous.
        strict = in_line.is_chain or "(" in text[:at]
        if strict and in_line.ranking != tuple(entry.label for entry in entries):
            raise UnreadableRanking(f"places and order disagree: {entries}")
        return in_line

    def as_list(self, lines: Sequence[TextLine]) -> Ranking | None:
        """The ranking that lines begin with as a list, one label each; None if they have none."""
        first = self.list_entry(lines[0].text) if lines else None
        if first is None:
            return None
        if first.place is None:
            return self._bare_list(lines)
        entries: list[RankedLabel] = []
        for line in lines:
            if line.indent > lines[0].indent + 1:
                continue
            entry = self.list_entry(line.text)
            if entry and entry.place:
                entries.append(entry)
            elif _NUMBERED.match(line.text):
                break
            if len(entries) == len(self.labels):
                return self._arranged(entries)
        raise UnreadableRanking(lines[0].text)

    def try_line(self, text: str) -> InlineRanking | None:
        """The same of a line that need not be a ranking at all."""
        with suppress(UnreadableRanking):
            return self.on_line(text)
        return None

    def alone(self, lines: Sequence[TextLine]) -> Ranking | None:
        """The ranking in lines that contain nothing else, as a list or on the first of them."""
        text = lines[0].text
        # Two labels side by side, or one below the other, need not be in any order.
        ordered = len(self.labels) > 2 or any(mark in text for mark in ",;>-")
        with suppress(UnreadableRanking):
            if ordered and (listed := self._bare_list(lines)):
                return listed
        in_line = self.try_line(text) if ordered else None
        return in_line.ranking if in_line and in_line.is_alone else None

    def verdict(self, line: str) -> RankedLabel | None:
        """The place a line gives a label in words: "Version C: worst", "Best: A"."""
        with suppress(UnreadableRanking):
            entry = self.list_entry(line) if _PLACE_WORD.search(line, 0, _OPENING) else None
            return entry if entry and entry.in_words else None
        return None

    def list_entry(self, line: str) -> RankedLabel | None:
        """The label a line is about, if it is about exactly one."""
        bullet = _BULLET.match(line)
        entry = self._entry_at(line, bullet.end() if bullet else 0)
        if entry is None or self._another.match(line, entry.end):
            return None
        return entry if entry.named or _SET_OFF.match(line, entry.end) else None

    def _bare_list(self, lines: Sequence[TextLine]) -> Ranking | None:
        """Labels alone on their lines. With remarks next to them they may be in any order."""
        entries = []
        for line in lines[: len(self.labels)]:
            entry = self.list_entry(line.text)
            if not entry or entry.place or line.text[entry.end :].strip(" .,;"):
                return None
            entries.append(entry)
        return self._arranged(entries)

    def _entry_at(self, text: str, at: int) -> RankedLabel | None:
        match = self._entry.match(text, at)
        label = self._label(match["label"]) if match else None
        if match is None or label is None:
            return None
        exact = match["label"] == label
        if not exact and _GOES_ON.match(text, match.end()):
            return None  # more likely the article than the label A
        place_behind = _PLACE_BEHIND.match(text, match.end())
        before = self._place(match["number"] or match["word"])
        behind = self._place(place_behind["place"]) if place_behind else None
        end = place_behind.end() if place_behind and behind else match.end()
        note = _NOTE.match(text, end)
        if note:
            end = note.end()
        if (before and behind and before != behind) or _DOUBT.search(text[match.end() : end]):
            raise UnreadableRanking(text)
        return RankedLabel(
            label,
            place=before or behind,
            in_words=bool(behind or (before and match["word"])),
            named=exact and bool(match["noun"]),
            note=note[0] if note else "",
            end=end,
        )

    def _label(self, written: str) -> str | None:
        if written in self.labels:
            return written
        alike = [label for label in self.labels if label.casefold() == written.casefold()]
        return alike[0] if len(alike) == 1 else None

    def _place(self, word: str | None) -> int | None:
        if word is None:
            return None
        last = len(self.labels)
        place = PLACES.get(word.lower()) or int(word.rstrip("stndrhSTNDRH"))
        place = last if place < 0 else place
        return place if 1 <= place <= last else None

    def _arranged(self, entries: Sequence[RankedLabel]) -> Ranking:
        """The labels by their places; without places, in the order in which they are written."""
        places = [entry.place or 0 for entry in entries]
        written = list(range(1, len(entries) + 1))
        if 0 in places:
            # "C (best), A, B (worst)" is clear; "1. C, A, B" may put all of them first.
            if any(
                e.place and (e.place != at or not e.in_words) for at, e in enumerate(entries, 1)
            ):
                raise UnreadableRanking(f"places and order disagree: {entries}")
            places = written
        by_place = [entry for _, entry in sorted(zip(places, entries, strict=True))]
        ranking = tuple(entry.label for entry in by_place)
        if sorted(ranking) != sorted(self.labels) or sorted(places) != written:
            raise UnreadableRanking(f"not every label once: {entries}")
        if not _marks_agree([entry.note for entry in by_place]):
            raise UnreadableRanking(f"marks and order disagree: {entries}")
        return ranking


_ORDINALS = {
    word: place
    for place, word in enumerate(
        (
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
        ),
        start=1,
    )
}
PLACES = (
    dict.fromkeys(("best", "strongest", "top", "highest", "winner"), 1)
    | dict.fromkeys(("favourite", "favorite", "number one"), 1)
    | dict.fromkeys(("worst", "weakest", "last", "bottom", "lowest"), -1)
    | _ORDINALS
)
"""The words for places; -1 is the last one."""
_PLACE = rf"(?:{'|'.join(PLACES)}|\d{{1,2}}(?:st|nd|rd|th))"
_PLACE_NOUN = r"(?:[ -](?:best|place|choice))?"
_MARK = r"(?:[.):]+|\s?-)\s*"
_OPEN, _CLOSE = r"[\[({\"']*", r"[\])}\"']*"
_PLACE_WORD = Pattern(_PLACE, re.IGNORECASE)
_OPENING = 80
_GOES_ON = Pattern(r"\s+\w")
_BULLET = Pattern(r"[-+•]\s*")
_NUMBERED = Pattern(r"\(?\d{1,2}[.)]\s")
_NOTE = Pattern(r"\s*(?:\([^()]*\)|[:-]?\s*\d+(?:\.\d+)?\s*(?:/\s*\d+|%|points?\b))")
_SCORE = Pattern(
    r"[\s(:-]*(?:score:? )?(?P<mark>\d+(?:\.\d+)?)\s*(?:/|%|points?\b|\)$)", re.IGNORECASE
)
_PLACE_BEHIND = Pattern(
    r"\s*(?:[:=-]?\s*(?:(?:is|ranks|comes(?: in)?)\s+)?(?:the\s+)?"
    r"|(?P<bracket>\((?:(?:the|in|at|my|clear(?:ly)?|by far|overall|being|is|ranked|rank|place|position) )*+#?))"
    rf"(?P<place>{_PLACE}|(?(bracket)\d{{1,2}}|(?!))){_PLACE_NOUN}"
    rf"(?(bracket)(?: of (?:all|them|the \w+))?(?:(?:[,;:]| -) [^()]*)?\)|(?=\s*(?:$|[-,.;:!?>]|then\b)))",
    re.IGNORECASE,
)
_SEPARATOR = Pattern(
    r"(?P<comma>\s*,\s*(?:(?:and )?then |and |followed by )?)"
    r"|(?P<chain>\s*[-=]*>+(?!=)\s*)"
    r"|(?P<semicolon>\s*;\s*)"
    r"|(?P<then>\s+(?:then|followed by)\s+)"
    r"|(?P<dash>\s*-+\s*)"
    r"|(?P<space>\s+)",
    re.IGNORECASE,
)
# An explanation is set off from what it explains.
_SET_OFF = Pattern(r"\s*(?:$|[-.:;!?,(\[|]|because\b|since\b)", re.IGNORECASE)
_EXPLAINED = Pattern(r"\s*(?:[.;!?(\[|-]|,?\s*(?:because|since|as|due to)\b)", re.IGNORECASE)
_DOUBT = Pattern(
    r"\b(?:ti(?:e|es|ed)|equal(?:ly)?|joint(?:ly)?|revers\w+|ascending|instead)\b|^\W*(?:or|but)\b",
    re.IGNORECASE,
)


def _marks_agree(notes: Sequence[str]) -> bool:
    """Whether the marks in these notes, if all have one, fall from the best to the worst."""
    marks = [float(match["mark"]) for note in notes if (match := _SCORE.match(note))]
    return len(marks) < len(notes) or marks == sorted(marks, reverse=True)


def _is_apart(tail: str, kinds: set[str | None]) -> bool:
    """Whether what follows the last label cannot be more of the ranking."""
    if not re.search(r"\w", tail):
        return not re.search(r"[<>=/&+]", tail)
    return "dash" not in kinds and bool(_EXPLAINED.match(tail)) and not _DOUBT.search(tail)
