"""The forms in which judges write a ranking, parsed strictly: every label once, or no ranking."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from autoreason.parsing import pattern


class TextLine(NamedTuple):
    """A line that is not empty."""

    text: str
    indent: int
    fenced: bool


def own_lines(answer: str) -> list[TextLine]:
    text = "\n".join(_without_thinking(answer).splitlines())
    text = unicodedata.normalize("NFKC", text)
    text = _BLOCK_QUOTE.sub(lambda quote: quote["rest"].replace("\n", f"\n{_DISCUSSED} "), text)
    text = _spell_out_json(text)
    text = text.replace('\\"', "'").replace("__", "").translate(_PLAIN)
    text = _RANKING_TAG.sub(lambda tag: "\n" if tag[1] else "\nranking: ", text)
    text = _QUOTATION.sub(lambda quote: " " if "rank" in quote[0].lower() else quote[0], text)
    return list(_lines(text.replace("“", '"').replace("”", '"')))


Fields = list[tuple[str, Any]]
"""Of a JSON object, in their order."""


class JsonBallot(NamedTuple):
    """A ranking in a JSON object, and the text of its other fields."""

    ranking: tuple[str, ...]
    before: str
    after: str


def read_json_ballot(text: str) -> JsonBallot | None:
    """The ballot of an answer that is one JSON object, as judges with a schema give it."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        fields: Fields = _JSON.decode(text)
        before, after = _text_around_ranking(fields)
    except (ValueError, RecursionError):
        return None
    at = [index for index, (key, _) in enumerate(fields) if key == "ranking"]
    ranking = _names(fields[at[0]][1]) if len(at) == 1 else ()
    if not ranking or any(
        sorted(names) == sorted(ranking) and names != ranking
        for key, value in fields
        if "rank" in key.lower() and (names := _names(value))
    ):
        return None
    return JsonBallot(ranking, "\n".join(before), "\n".join(after))


def _names(value: object) -> tuple[str, ...]:
    names = value.split(">") if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return ()
    return tuple(name.strip() for name in names)


def _text_around_ranking(fields: Fields) -> tuple[list[str], list[str]]:
    """The text of an object before its ranking and after it, line by line."""
    before: list[str] = []
    after: list[str] = []
    ranked = False
    for key, value in fields:
        if key in _RANKINGS:
            ranked = True
            continue
        for line in _statements(key.replace("_", " "), value):
            # Few words do not reason towards a ranking: they are a verdict, before it as after it.
            verdict = len(line.split()) <= _VERDICT_WORDS
            (after if ranked or verdict else before).append(line)
    return before, after


def _statements(name: str, value: object) -> Iterator[str]:
    """The lines of a field: "winner: C"; "scores:" and "scores: C: 3"; "text: C | score: 3"."""
    if not isinstance(value, list):
        if value is not None and value is not False:
            yield name if value is True else f"{name}: {value}"
    elif value and isinstance(value[0], tuple):
        yield f"{name}:"
        for key, inner in value:
            yield from _statements(f"{name.rpartition(': ')[2]}: {key}", inner)
    else:
        plain = [str(item) for item in value if not isinstance(item, list)]
        yield f"{name}: {', '.join(plain)}"
        for item in value:
            if isinstance(item, list):
                yield " | ".join(line.strip(": ") for line in _statements("", item))


def is_reported(line_before: str) -> bool:
    """Whether a line leads up to a ranking that is not given here: another's, a sample, a denial."""
    if not line_before.endswith(":"):
        return bool(_LEADS_TO_ANOTHERS.search(line_before))
    if _OWN_ANSWER.search(line_before) and not _DENIAL.search(line_before):
        return False
    return bool(_REPORTING.search(line_before)) or not _OWN_LEAD.search(line_before)


def retracts(text: str) -> bool:
    return bool(_RETRACTION.search(text))


def is_worst_first(text: str) -> bool:
    """Whether a judge says that some ranking begins with the worst."""
    plain = text.lower().replace("_", " ")
    return any(word in plain for word in _MAYBE_WORST_FIRST) and bool(_WORST_FIRST.search(plain))


def _without_thinking(answer: str) -> str:
    """The answer after the model's reasoning; empty where the reasoning never ends."""
    tag, end = "</", 0
    for match in _THINKING.finditer(answer):
        tag, end = match[1], match.end()
    return answer[end:] if tag == "</" else ""


def _lines(text: str) -> Iterator[TextLine]:
    fenced = False
    for raw in text.splitlines():
        bare = raw.lstrip()
        if bare.startswith("```"):
            fenced = not fenced
        elif words := " ".join(bare.replace("`", "").strip("#| ").split()):
            yield TextLine(words, len(raw) - len(bare), fenced)


def _spell_out_json(text: str) -> str:
    """Every JSON object that starts a line becomes lines, its rankings as rankings."""
    # The real ballot comes last, and no answer has more objects than this; it bounds the work.
    starts = [match.end() - 1 for match in _OBJECT.finditer(text)][-_MAX_OBJECTS:]
    parts, end_of_last = [], 0
    for start in starts:
        if start < end_of_last:
            continue
        try:
            value, end = _JSON.raw_decode(text, start)
            lines = _ballot_lines(value)
        except (ValueError, RecursionError):
            continue
        parts += [text[end_of_last:start], "\n", *lines, "\n"]
        end_of_last = end
    return "".join(parts) + text[end_of_last:]


def _ballot_lines(fields: Fields) -> list[str]:
    before, after = (
        [f"{_DISCUSSED} {' '.join(line.translate(_NO_MARKS).split())}.\n" for line in lines]
        for lines in _text_around_ranking(fields)
    )
    rankings = []
    for value in (value for key, value in fields if key in _RANKINGS):
        if isinstance(value, list) and all(isinstance(item, str | int) for item in value):
            rankings.append(f"RANKING: {', '.join(map(str, value))}\n")
        elif isinstance(value, str):
            rankings.append(f"RANKING: {value}\n")
    return [*before, *rankings, *after]


# In front of a line, it keeps what is merely discussed from being taken for a ranking of its own.
_DISCUSSED = "'"
_RANKINGS = ("ranking", "final_ranking")
_VERDICT_WORDS = 4
_MAX_OBJECTS = 50
# As pairs: a repeated key must not hide its first value.
_JSON = json.JSONDecoder(strict=False, object_pairs_hook=list)
_NO_MARKS = dict.fromkeys(map(ord, '"“”<~'), " ")
_THINKING = pattern(r"(</?)think(?:ing)?>", re.IGNORECASE)
_OBJECT = pattern(r"^[ \t]*\{", re.MULTILINE)
# A quotation may go on, without its mark, to the end of the paragraph.
_BLOCK_QUOTE = pattern(r"^[ \t]*>.*(?P<rest>(?:\n(?![ \t]*>)[ \t]*\S.*)*+)", re.MULTILINE)
_RANKING_TAG = pattern(r"<(/?)(?:final[_-])?ranking>", re.IGNORECASE)
# A quotation may run over lines but, as a stray mark must not swallow an answer, not over a gap.
_QUOTATION = pattern(r'“[^“”]*”|"(?:[^"\n]|\n(?![ \t]*\n))*"|~~[^~]*~~')
_PLAIN = str.maketrans(
    dict.fromkeys("‐‑‒–—―−", "-")  # noqa: RUF001
    | dict.fromkeys("→⇒➔➜➡⟶≻≫", ">")
    | dict.fromkeys("«„「『", "“")
    | dict.fromkeys("»」』", "”")
    | dict.fromkeys("‘’‚´", "'")  # noqa: RUF001
    | {"、": ",", "🥇": "1. ", "🥈": "2. ", "🥉": "3. "}
    | dict.fromkeys("*\\\u200b\u200d\ufeff\ufe0f", "")
)
_REPORTING = pattern(
    r"\b(?:format|template|examples?|e\.g\.|instruct\w*|ask(?:s|ed)?|prompt|says?|said|contains?"
    r"|claims?|writes?|wrote|reads?|states?|includes?|ends?|embed\w*|inject\w*|tells?|gives?|gave"
    r"|quot\w+|previous|other|another|earlier|prior|someone|suppose|hypothetical\w*|if|not|never"
    r"|wrong|fake|its)\b|n't\b",
    re.IGNORECASE,
)
_OWN_ANSWER = pattern(
    r"\b(?:my|(?<!its )final|here(?: is|'s) the) (?:final )?"
    r"(?:ranking|answer|verdict|ballot|json|response)\b",
    re.IGNORECASE,
)
_OWN_LEAD = pattern(
    r"^\W*(?:based|looking|considering|given|after|so|thus|therefore|hence|here)\b"
    r"|\b(?:i|i'd|i'll|my|final|overall|verdict|decision|conclusion|summary|result|ranking)\b",
    re.IGNORECASE,
)
_DENIAL = pattern(r"\b(?:not|never|if|were)\b|n't\b", re.IGNORECASE)
# Without a colon only the end of a line can lead up to the next: "Text A contains the line".
_LEADS_TO_ANOTHERS = pattern(
    r"\b(?:says?|said|contains?|claims?|writes?|wrote|written|writing|reads?|states?|includes?"
    r"|inserts?|adds?|ends? with|embeds?|injects?|gives?|gave|quotes?|suggests?"
    r"|demands?|prints?|(?:tells?|asks?|wants?|urges?)(?: me| (?:the )?judges?)(?: for| to \w+)?|asks? (?:for|to \w+)"
    r"|ha[ds] (?:in|inside|within) (?:it|itself|its \w+)|like|as in|e\.g\.|for example|for instance"
    r"|judge|not|never)"
    r"(?: (?:the|this|that|these|those|a|an|its?|own|following|last|first|final|fake|false|lines?"
    r"|text|words?|sentences?|instructions?|rankings?|order|verdict|answer|phrase|string|statement"
    r"|output|of|for|me|us|to|be|simply|just|only|exactly|literally))*[ ,;-]*$",
    re.IGNORECASE,
)
_WORST_FIRST = pattern(
    r"\b(?:worst|weakest|lowest|last|bottom|least|worse)(?: \w+)?(?: to | ?- ?to ?- ?| ?> ?)(?:the )?"
    r"(?:best|strongest|highest|first|top|most|better)\b"
    r"|\b(?:worst|weakest|lowest|least \w+)(?: \w+)?(?:[ -]| comes | is )first\b"
    r"|\b(?:starting|beginning|begins?|starts?) (?:with|from|at) the (?:worst|weakest|lowest|bottom)\b"
    r"|\b(?:worst|weakest|lowest)(?: \w+)?,? (?:at|on|to) (?:the )?left\b"
    r"|\b(?:best|strongest|highest)(?: \w+)?(?:,? (?:at|on|to) (?:the )?(?:right|end)| (?:comes |is )?last)\b"
    r"|\bmost (?:\w+ )?to (?:the )?fewest\b|\bmost (?:flaw|fault|error|mistake|problem|issue|weak)\w* to\b"
    r"|\border\W+(?:is )?(?:ascending|increasing|reversed?)\b"
    r"|\b(?:reversed?|ascending|increasing) order\b|\b1 ?(?:=|means|being) ?(?:the )?(?:worst|weakest)\b"
    r"|(?:>|\b(?:sign|symbol|arrow)s?)['\" )]*(?:here )?(?:means?|denotes?|indicates?|stands? for|reads?"
    r"|signif\w+|represents?|=|is)\b[^.\n]{0,30}\b(?:worse|weaker|lower|inferior|less|below|beaten)\b",
    re.IGNORECASE,
)
# Every match of that pattern contains one of these, which are searched for in far less time.
_MAYBE_WORST_FIRST = (
    *("wors", "weakest", "lowest", "last", "least", "bottom", "order", " left", " right", " end"),
    "most ",
    *(">", "sign", "symbol", "arrow"),
)
_RETRACTION = pattern(
    r"\b(?:(?:scratch|strike|reverse|swap|flip) (?:that|this|it|them|the|\w+ and)|just kidding"
    r"|on (?:second thought|reflection)"
    r"|i (?:(?:have |'ve )?made an? (?:mistake|error)|mis(?:read|spoke|stated|ranked|labell?ed))"
    r"|my (?:mistake|bad|error)|(?:wait|correction|sorry|oops|hmm+)\s?[,:!.-]"
    r"|wait,? (?:no|that|i|a)\b|no,? wait|rankings? should (?:be|have been)|should (?:be|have been) "
    r"(?:revers|swapp|flipp)ed|(?:that|this|it|which|above|ranking|order)(?:'s| is| was| looks| seems)"
    r"(?: \w+ly)? (?:not (?:my|the|right|correct|what)|(?:the )?(?:wrong|incorrect|backwards?|reversed?)"
    r"|a mistake|an error|mistaken|false|upside)|i (?:got|had|have) (?:that|this|it|them) (?:wrong|back)"
    r"|(?:let me|i(?:'ll| will| must| should| need to| want to| have to)) (?:now )?(?:re-?do|re-?think"
    r"|re-?consider|re-?rank|re-?order|revise|start over|try again|correct (?:that|this|it|my)|fix"
    r"|change my|take (?:that|it) back|retract|withdraw|swap)|i (?:now )?(?:retract|withdraw|disown)"
    r"|the (?:opposite|reverse|contrary)(?: order| ranking)? (?:is|was|holds|applies)"
    r"|(?:changed?|changing) my (?:mind|ranking|answer)|(?:the|my) (?:correct|right|true|real|actual"
    r"|proper|revised|corrected|new) (?:order|ranking|answer|verdict)|(?:ignore|disregard|discard"
    r"|forget) (?:that|this|it|the (?:above|ranking|line|order|previous)|my)|i (?:do not|don't|cannot|can't) "
    r"(?:agree|endorse|follow|accept|mean|stand)|i (?:\w+ )?disagree|(?:cannot|can't|could not|couldn't"
    r"|unable to|not able to|impossible to) (?:\w+ )?(?:decide|rank|choose|determine|tell|judge|say|order)"
    r"|(?:tries|trying|tried|attempts?|meant|wants?) to (?:fool|trick|manipulate|mislead|influence|deceive"
    r"|hijack|bias|game)|(?:is|was|were) (?:only|just|merely) (?:an? )?(?:example|sample|placeholder|guess))"
    r"|(?:^|[.!?] )(?:actually|no|nope|instead|rather)\b(?! (?:other|one|text|such|additional|single|matter))"
    r"|^(?:which|who)\b",
    re.IGNORECASE | re.MULTILINE,
)


Ranked = tuple[str, ...]
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


class InlineRanking(NamedTuple):
    """A ranking written on one line."""

    ranking: Ranked
    is_chain: bool
    is_alone: bool


class Forms:
    """The forms for one set of labels."""

    def __init__(self, labels: Ranked) -> None:
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
        self._another = re.compile(rf"\s*(?:,|and\b|or\b|&|/|=|\+)\s*(?:{NOUN}\s*)?{label}", re.I)

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

    def as_list(self, lines: Sequence[TextLine]) -> Ranked | None:
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

    def alone(self, lines: Sequence[TextLine]) -> Ranked | None:
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

    def _bare_list(self, lines: Sequence[TextLine]) -> Ranked | None:
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

    def _arranged(self, entries: Sequence[RankedLabel]) -> Ranked:
        """The labels by their places; without places, in the order in which they are written."""
        places = [entry.place or 0 for entry in entries]
        written = list(range(1, len(entries) + 1))
        if 0 in places:
            # "C (best), A, B (worst)" is clear; "1. C, A, B" may put all of them first.
            if any(e.place and (e.place != n or not e.in_words) for n, e in enumerate(entries, 1)):
                raise UnreadableRanking(f"places and order disagree: {entries}")
            places = written
        by_place = [entry for _, entry in sorted(zip(places, entries, strict=True))]
        ranking = tuple(entry.label for entry in by_place)
        if sorted(ranking) != sorted(self.labels) or sorted(places) != written:
            raise UnreadableRanking(f"not every label once: {entries}")
        notes = [_SCORE.match(entry.note) for entry in by_place]
        marks = [float(note["mark"]) for note in notes if note]
        # If all have one, marks fall from the best to the worst.
        if len(marks) == len(notes) and marks != sorted(marks, reverse=True):
            raise UnreadableRanking(f"marks and order disagree: {entries}")
        return ranking


_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth"
PLACES = (
    dict.fromkeys(("best", "strongest", "top", "highest", "winner"), 1)
    | dict.fromkeys(("favourite", "favorite", "number one"), 1)
    | dict.fromkeys(("worst", "weakest", "last", "bottom", "lowest"), -1)
    | {word: place for place, word in enumerate(_ORDINALS.split(), 1)}
)
"""The words for places; -1 is the last one."""
_PLACE = rf"(?:{'|'.join(PLACES)}|\d{{1,2}}(?:st|nd|rd|th))"
_PLACE_NOUN = r"(?:[ -](?:best|place|choice))?"
_MARK = r"(?:[.):]+|\s?-)\s*"
_OPEN, _CLOSE = r"[\[({\"']*", r"[\])}\"']*"
_PLACE_WORD = pattern(_PLACE, re.IGNORECASE)
_OPENING = 80
_GOES_ON = pattern(r"\s+\w")
_BULLET = pattern(r"[-+•]\s*")
_NUMBERED = pattern(r"\(?\d{1,2}[.)]\s")
_NOTE = pattern(r"\s*(?:\([^()]*\)|[:-]?\s*\d+(?:\.\d+)?\s*(?:/\s*\d+|%|points?\b))")
_SCORE = pattern(r"[\s(:-]*(?:score:? )?(?P<mark>\d+(?:\.\d+)?)\s*(?:/|%|points?\b|\)$)", re.I)
_PLACE_BEHIND = pattern(
    r"\s*(?:[:=-]?\s*(?:(?:is|ranks|comes(?: in)?)\s+)?(?:the\s+)?"
    r"|(?P<bracket>\((?:(?:the|in|at|my|clear(?:ly)?|by far|overall|being|is|ranked|rank|place|position) )*+#?))"
    rf"(?P<place>{_PLACE}|(?(bracket)\d{{1,2}}|(?!))){_PLACE_NOUN}"
    rf"(?(bracket)(?: of (?:all|them|the \w+))?(?:(?:[,;:]| -) [^()]*)?\)|(?=\s*(?:$|[-,.;:!?>]|then\b)))",
    re.IGNORECASE,
)
_SEPARATOR = pattern(
    r"(?P<comma>\s*,\s*(?:(?:and )?then |and |followed by )?)"
    r"|(?P<chain>\s*[-=]*>+(?!=)\s*)"
    r"|(?P<semicolon>\s*;\s*)"
    r"|(?P<then>\s+(?:then|followed by)\s+)"
    r"|(?P<dash>\s*-+\s*)"
    r"|(?P<space>\s+)",
    re.IGNORECASE,
)
# An explanation is set off from what it explains.
_SET_OFF = pattern(r"\s*(?:$|[-.:;!?,(\[|]|because\b|since\b)", re.IGNORECASE)
_EXPLAINED = pattern(r"\s*(?:[.;!?(\[|-]|,?\s*(?:because|since|as|due to)\b)", re.IGNORECASE)
_DOUBT = pattern(
    r"\b(?:ti(?:e|es|ed)|equal(?:ly)?|joint(?:ly)?|revers\w+|ascending|instead)\b|^\W*(?:or|but)\b",
    re.IGNORECASE,
)


def _is_apart(tail: str, kinds: set[str | None]) -> bool:
    """Whether what follows the last label cannot be more of the ranking."""
    if not re.search(r"\w", tail):
        return not re.search(r"[<>=/&+]", tail)
    return "dash" not in kinds and bool(_EXPLAINED.match(tail)) and not _DOUBT.search(tail)


def contradicts_scores(text: str, where: Mapping[str, int]) -> bool:
    """Whether a text gives every label one number, and these contradict their places."""
    figures: dict[int, set[tuple[float, bool]]] = {}
    first = None
    scored = False
    for match in _STATED_MARK.finditer(text):
        # "1: 2" may be anything; "Version 1: 2" is a mark.
        if match["label"] in where and (match["noun"] or not match["label"].isdigit()):
            first = first or match
            scored = scored or bool(match["unit"] or _STATED_SCORE.search(match["words"]))
            mark = (float(match["figure"]), bool(match["ordinal"]))
            figures.setdefault(where[match["label"]], set()).add(mark)
    # Several figures for one text are about single criteria.
    if first is None or len(figures) < max(where.values()):
        return False
    if any(len(marks) > 1 for marks in figures.values()):
        return False
    marks = [next(iter(figures[place])) for place in sorted(figures)]
    # The heading of a table or a list may say that these are scores.
    heading = text[: first.start()].rpartition("\n")[0].splitlines()[-_HEADING_LINES:]
    scored = scored or bool(_STATED_SCORE.search("\n".join(heading)))
    in_order = [figure for figure, _ in marks]
    places = [float(place) for place in range(1, len(marks) + 1)]
    if any(ordinal for _, ordinal in marks) or (sorted(in_order) == places and not scored):
        # Mere 3, 2, 1 may be places from the worst up, or points: too doubtful to be believed.
        return in_order != places
    return in_order != sorted(in_order, reverse=True)


_HEADING_LINES = 2
_STATED_SCORE = pattern(r"\b(?:scor(?:e|es|ed|ing)|points?|marks?|ratings?|rated)\b", re.IGNORECASE)
_STATED_MARK = pattern(
    rf"(?:(?P<noun>{NOUN})[ #]*+)?\b(?P<label>\w++)['\")\]]*+"
    r"(?P<words>(?: ?[:=|(-]++| (?:scor(?:es|ed)|gets|got|earns|receives|is|was|rated|ranks?|comes in"
    r"|with|at|(?-i:an?|the)|overall|total|final|score|rating|mark|place)\b){0,6}+) ?"
    r"(?P<figure>\d{1,3}(?:\.\d+)?+)"
    r"(?:(?P<unit> ?(?:/ ?\d|%|points?\b|out of \d))|(?P<ordinal>(?:st|nd|rd|th)\b)"
    r"|(?= ?(?:$|[|),;-]|\.(?:\s|$)|and\b)))"
    r"(?! ?\| ?\d{1,3}(?:\.\d+)? ?(?:\||$))",
    re.IGNORECASE | re.MULTILINE,
)
