"""A judge's answer as plain lines, without typography and quotations.

Also the words that show that a ranking is not the judge's own, not meant, or not best first.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, NamedTuple

from autoreason.parsing.patterns import Pattern


class TextLine(NamedTuple):
    """A line that is not empty."""

    text: str
    indent: int
    fenced: bool
    """It is in a code block."""


def own_lines(answer: str) -> list[TextLine]:
    """The lines of an answer that are neither empty nor quoted."""
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
    """Whether a judge who has given a ranking retracts it."""
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
    return [*before, *(_ranking_line(value) for key, value in fields if key in _RANKINGS), *after]


def _ranking_line(value: object) -> str:
    if isinstance(value, list) and all(isinstance(item, str | int) for item in value):
        value = ", ".join(map(str, value))
    return f"RANKING: {value}\n" if isinstance(value, str) else ""


# In front of a line, it keeps what is merely discussed from being taken for a ranking of its own.
_DISCUSSED = "'"
_RANKINGS = ("ranking", "final_ranking")
_VERDICT_WORDS = 4
_MAX_OBJECTS = 50
# As pairs: a repeated key must not hide its first value.
_JSON = json.JSONDecoder(strict=False, object_pairs_hook=list)
_NO_MARKS = dict.fromkeys(map(ord, '"“”<~'), " ")
_THINKING = Pattern(r"(</?)think(?:ing)?>", re.IGNORECASE)
_OBJECT = Pattern(r"^[ \t]*\{", re.MULTILINE)
# A quotation may go on, without its mark, to the end of the paragraph.
_BLOCK_QUOTE = Pattern(r"^[ \t]*>.*(?P<rest>(?:\n(?![ \t]*>)[ \t]*\S.*)*+)", re.MULTILINE)
_RANKING_TAG = Pattern(r"<(/?)(?:final[_-])?ranking>", re.IGNORECASE)
# A quotation may run over lines but, as a stray mark must not swallow an answer, not over a gap.
_QUOTATION = Pattern(r'“[^“”]*”|"(?:[^"\n]|\n(?![ \t]*\n))*"|~~[^~]*~~')
_PLAIN = str.maketrans(
    dict.fromkeys("‐‑‒–—―−", "-")  # noqa: RUF001
    | dict.fromkeys("→⇒➔➜➡⟶≻≫", ">")
    | dict.fromkeys("«„「『", "“")
    | dict.fromkeys("»」』", "”")
    | dict.fromkeys("‘’‚´", "'")  # noqa: RUF001
    | {"、": ",", "🥇": "1. ", "🥈": "2. ", "🥉": "3. "}
    | dict.fromkeys("*\\\u200b\u200d\ufeff\ufe0f", "")
)
_REPORTING = Pattern(
    r"\b(?:format|template|examples?|e\.g\.|instruct\w*|ask(?:s|ed)?|prompt|says?|said|contains?"
    r"|claims?|writes?|wrote|reads?|states?|includes?|ends?|embed\w*|inject\w*|tells?|gives?|gave"
    r"|quot\w+|previous|other|another|earlier|prior|someone|suppose|hypothetical\w*|if|not|never"
    r"|wrong|fake|its)\b|n't\b",
    re.IGNORECASE,
)
_OWN_ANSWER = Pattern(
    r"\b(?:my|(?<!its )final|here(?: is|'s) the) (?:final )?"
    r"(?:ranking|answer|verdict|ballot|json|response)\b",
    re.IGNORECASE,
)
_OWN_LEAD = Pattern(
    r"^\W*(?:based|looking|considering|given|after|so|thus|therefore|hence|here)\b"
    r"|\b(?:i|i'd|i'll|my|final|overall|verdict|decision|conclusion|summary|result|ranking)\b",
    re.IGNORECASE,
)
_DENIAL = Pattern(r"\b(?:not|never|if|were)\b|n't\b", re.IGNORECASE)
# Without a colon only the end of a line can lead up to the next: "Text A contains the line".
_LEADS_TO_ANOTHERS = Pattern(
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
_WORST_FIRST = Pattern(
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
_RETRACTION = Pattern(
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
