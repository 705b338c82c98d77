"""What judges answer: a ranking, grades, whether a first place is for length. A wrong answer is worse than none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from autoreason.exchange import Schema, object_schema
from autoreason.parsing import BOUNDARY, parse_json, pattern
from autoreason.parsing.rankings import (
    NOUN,
    PLACES,
    Forms,
    Ranked,
    TextLine,
    UnreadableRanking,
    contradicts_scores,
    is_reported,
    is_worst_first,
    own_lines,
    read_json_ballot,
    retracts,
)

_FIELD = "first_place"
_ANSWERS = ("quality", "length")
_LINE = re.compile(
    rf"^\W*(?:first[ _]place\W{{0,8}})?({'|'.join(_ANSWERS)})\W*$", re.IGNORECASE | re.MULTILINE
)

LENGTH_CHECK = Schema(
    name="length_check",
    definition=object_schema(
        {"reasoning": {"type": "string"}, _FIELD: {"type": "string", "enum": list(_ANSWERS)}}
    ),
    plain=(
        "Begin with your reasons. End with one line, with quality or length in place of the question mark:\n"
        "FIRST PLACE: ?"
    ),
)


def rests_on_length(reply: str) -> bool | None:
    """Whether it rests on length alone; None where the answer is neither, or both."""
    value = parse_json(reply)
    given = [str(value.get(_FIELD))] if isinstance(value, dict) else _LINE.findall(reply)
    found = {answer.lower() for answer in given}
    return found == {"length"} if found in ({"length"}, {"quality"}) else None


LEAST, MOST = 1, 20
Grades = dict[str, tuple[float, ...]]
"""By label, in the order of the criteria; one number each where there are none."""
# As judges are asked for it in words, and as a JSON object is spelt out.
_GRADE = pattern(r"\W*(?P<name>[\w ]+): (?P<grade>\d+(?:\.\d+)?)[. ]*")


def name_grades(labels: Sequence[str], criteria: Sequence[str]) -> dict[str, list[str]]:
    """What the grades of each text are called, so that every provider takes it in JSON: `BD_sounds_like_us_2`."""
    plain = (re.sub(r"[^a-z0-9]+", "_", each.lower())[:40].strip("_") for each in criteria)
    keys = [f"_{each or 'criterion'}_{number}" for number, each in enumerate(plain, 1)] or [""]
    return {label: [label + key for key in keys] for label in sorted(labels)}


def read_grades(text: str, labels: Sequence[str], criteria: Sequence[str] = ()) -> Grades | None:
    """What a judge gave every text on every criterion; None where a grade is missing, or in doubt."""
    named = name_grades(labels, criteria)
    given = dict.fromkeys(chain.from_iterable(named.values()), 0.0)
    after: list[str] = []
    for line in own_lines(without_copies(text, labels)):
        found = _GRADE.fullmatch(line.text)
        if found and (name := found["name"].replace(" ", "_")) in given:
            after, grade = [], float(found["grade"])
            if given[name] not in (0, grade):
                return None
            given[name] = grade
        after.append(line.text)
    if retracts("\n".join(after)) or not all(LEAST <= each <= MOST for each in given.values()):
        return None
    return {label: tuple(given[name] for name in names) for label, names in named.items()}


def rank_by_grades(grades: Grades) -> Ranked:
    """The highest sum first; equal ones by their labels, which are drawn for each judge and so favour no text."""
    return tuple(sorted(grades, key=lambda label: (-sum(grades[label]), label)))


def read_ranking(text: str, labels: Sequence[str]) -> tuple[str, ...] | None:
    """All labels, best first, as the judge ranked them; None where the answer leaves any doubt."""
    text = without_copies(text, labels)
    ballot = read_json_ballot(text)
    if ballot and sorted(ballot.ranking) == sorted(labels):
        doubtful = _is_doubtful(ballot.ranking, ballot.before, ballot.after)
        return None if doubtful else ballot.ranking
    forms = _forms(tuple(sorted(labels)))
    lines = own_lines(text)
    # Without a head, C > A > B and not another word, as the first or the last line.
    declarations = list(_declarations(lines, forms)) or [
        Declaration(at, ranking)
        for at in sorted({0, len(lines) - 1} if lines else ())
        if (ranking := _bare_chain(lines, at, forms))
    ]
    ranking = _final_ranking(declarations)
    if ranking is None:
        return None
    at = declarations[-1].line
    doubtful = _is_doubtful(ranking, _joined(lines[:at]), _joined(lines[at:]))
    return None if doubtful or _has_other_places(ranking, lines, at, forms) else ranking


def without_copies(text: str, labels: Sequence[str]) -> str:
    """The answer without what it copies of the request: texts between their boundary lines, and boundary marks."""
    # Most answers contain no boundary, and skip the long searches.
    if not _BOUNDARY_MARK.search(text):
        return text
    parts, end = [], 0
    starts: dict[str, int] = {}
    for line in _BOUNDARY_LINE.finditer(text):
        name = line["name"].lower()
        if not line["end"]:
            starts[name] = line.start()
        elif starts.get(name, -1) >= end:
            parts += [text[end : starts[name]], "..."]
            end = line.end()
    own = "".join(parts) + text[end:]
    return _COPIED_MARK.sub(lambda mark: mark["name" if mark["label"] in labels else 0], own)


class Declaration(NamedTuple):
    """A place in the answer that announces the ranking."""

    line: int
    ranking: Ranked | None
    """None where it is not a full one."""
    weight: tuple[bool, int] = (False, 0)
    """The judge's own text counts before a code block, "final" before any other wording."""
    first: int = 0
    """The first line of the group of declarations that this one belongs to."""


def _final_ranking(declarations: Sequence[Declaration]) -> Ranked | None:
    """The last ranking, unless an earlier one of equal weight differs."""
    if not declarations:
        return None
    last = declarations[-1]
    others = [one for one in declarations if one.ranking not in (None, last.ranking)]
    # Side by side they are options to choose from, unless one is called final and the other is not.
    if any(other.first == last.first for other in others) and last.weight[1] < _CALLED_FINAL:
        return None
    return None if any(other.weight >= last.weight for other in others) else last.ranking


def _declarations(lines: Sequence[TextLine], forms: Forms) -> Iterator[Declaration]:
    heads = [(at, head) for at, line in enumerate(lines) if (head := _head(line.text))]
    ends = [*(at for at, _ in heads[1:]), len(lines)]
    first, together = 0, False
    for (at, head), end in zip(heads, ends, strict=False):
        # What leads up to the first of several options leads up to all.
        first = first if together else at
        below = lines[at + 1 : end]
        reported = any(line and is_reported(lines[line - 1].text) for line in {first, at})
        together = False
        try:
            ranking = _ranking_below(head, below, forms)
        except UnreadableRanking:
            if not reported:
                yield Declaration(at, None)
            continue
        if ranking:
            together = _is_continued(lines[at], below, lines[end : end + 1], forms)
            if not reported:
                # Called final, in capitals as judges are asked to, or neither.
                capitals = int((head["core"] or "").isupper())
                finality = _CALLED_FINAL if _FINAL.search(head[0]) else capitals
                yield Declaration(at, ranking, (not lines[at].fenced, finality), first)


def _is_continued(
    one: TextLine, between: Sequence[TextLine], other: Sequence[TextLine], forms: Forms
) -> bool:
    """Whether only labels in a list, or an "or", are between two declarations."""
    with suppress(UnreadableRanking):
        return all(line.fenced == one.fenced for line in (*between, *other)) and all(
            _OR.fullmatch(line.text) or forms.list_entry(line.text) for line in between
        )
    return False


def _head(line: str) -> re.Match[str] | None:
    """The opening of a line that is about the ranking, or leads up to it: "Overall, C > A > B"."""
    head = _HEAD.match(line)
    leads_up = head and head["lead"] and ">" in line[head.end() :]
    return head if head and (head["core"] or leads_up) else None


def _ranking_below(head: re.Match[str], below: Sequence[TextLine], forms: Forms) -> Ranked | None:
    """What follows a head on its line or, where nothing does, below it."""
    rest = head.string[head.end() :]
    if rest and head["delimiter"]:
        in_line = forms.on_line(rest)
        return in_line.ranking if in_line else None
    if rest:
        # "Ranking A, B, C was hard" declares nothing; "I rank C > A > B" does.
        in_line = forms.try_line(rest)
        return in_line.ranking if in_line and in_line.is_chain else None
    if listed := forms.as_list(below):
        return listed
    in_line = forms.try_line(below[0].text) if below else None
    return in_line.ranking if in_line and in_line.is_alone else None


def _bare_chain(lines: Sequence[TextLine], at: int, forms: Forms) -> Ranked | None:
    """A chain that is all of its line, unless the line above does not end before it."""
    in_line = forms.try_line(lines[at].text) if ">" in lines[at].text else None
    if not in_line or not in_line.is_chain or not in_line.is_alone:
        return None
    above = lines[at - 1].text if at else "."
    leads_up = _HEAD.fullmatch(above) and not above.endswith(":")
    return in_line.ranking if leads_up or above.endswith((".", "!", "?", ")")) else None


def _is_doubtful(ranking: Ranked, before: str, after: str) -> bool:
    if is_worst_first(before) or is_worst_first(after) or (after and retracts(after)):
        return True
    where = {label: place for place, label in enumerate(ranking, 1)}
    where = {label.lower(): at for label, at in where.items() if len(label) > 1} | where
    for text, contradicts in ((after, _contradicts_places), (before, _names_other_ends)):
        if _mentions(text, where):
            plain = text.translate(_NO_BRACKETS)
            if contradicts_scores(plain, where) or contradicts(plain, where):
                return True
    return False


def _mentions(text: str, where: Mapping[str, int]) -> bool:
    """Whether a text can be about the labels at all. Most are not, and skip the patterns."""
    # Two letters occur inside many words; only as a word of their own are they a label.
    return any(label in text for label in where) and not where.keys().isdisjoint(
        _WORD.findall(text.translate(_NO_BRACKETS))
    )


def _contradicts_places(text: str, where: Mapping[str, int]) -> bool:
    if any((where[label] == place) == denied for label, place, denied in _verdicts(text, where)):
        return True
    return any(_misordered(run, where) for run in _RUN.finditer(text)) or any(
        # "Not better" may be as good or worse, and "not much better" is better: too doubtful.
        pair["not"] or (where[pair["one"]] > where[pair["other"]]) != bool(pair["worse"])
        for pair in _COMPARISON.finditer(text)
        if pair["one"] in where and pair["other"] in where
    )


def _names_other_ends(text: str, where: Mapping[str, int]) -> bool:
    """Whether a text names one best and one worst, and they are not those of the ranking."""
    if any(run["placed"] and _misordered(run, where) for run in _RUN.finditer(text)):
        return True
    claims = {(at, where[label]) for label, at, denied in _verdicts(text, where) if not denied}
    once = len({place for place, _ in claims}) == len({label for _, label in claims}) == len(claims)
    ends = {1, max(where.values())} <= {place for place, _ in claims}
    return once and ends and any(place != label for place, label in claims)


def _verdicts(text: str, where: Mapping[str, int]) -> Iterator[tuple[str, int, bool]]:
    """Labels, the places a text gives them, and whether it denies them these places.

    Labels may differ with every ballot, so the patterns know none of them: they find any word that
    is given a place, and only then is it asked whether that is a label.
    """
    last = max(where.values(), default=0)
    for form in _VERDICTS:
        for match in form.finditer(text):
            if match["label"] in where:
                word = match.groupdict().get("place") or "best"
                place = PLACES.get(word.lower()) or int(word.strip("#stndrhSTNDRH"))
                yield match["label"], place if place > 0 else last, bool(match["not"])


def _misordered(run: re.Match[str], where: Mapping[str, int]) -> bool:
    """Whether a sequence of labels, such as "C > A" or "C, then A", is in another order."""
    places = [where[word] for word in _WORD.findall(_ASIDE.sub("", run[0])) if word in where]
    if run["listed"] and ">" not in run[0]:
        # "B, C" may be any two of them, and "B is second, C first" is in no order.
        full = len(set(places)) == max(where.values())
        if run["placed"] or not full or not _ENDS.match(run.string, run.end()):
            return False
    return len(places) > 1 and places != sorted(places, reverse="<" in run[0])


def _has_other_places(ranking: Ranked, lines: Sequence[TextLine], at: int, forms: Forms) -> bool:
    """Whether the judge states other places for the texts somewhere else."""
    others = {_bare_chain(lines, index, forms) for index in range(at)}
    others |= {forms.alone(lines[i : i + len(ranking)]) for i in range(at + 1, len(lines))}
    if others - {None, ranking}:
        return True
    entries = {(entry.place, entry.label) for line in lines if (entry := forms.verdict(line.text))}
    # Anything but one place per label is about single criteria, or about some of the texts.
    if [place for place, _ in sorted(entries)] != list(range(1, len(ranking) + 1)):
        return False
    in_words = tuple(label for _, label in sorted(entries))
    return sorted(in_words) == sorted(ranking) and in_words != ranking


def _joined(lines: Sequence[TextLine]) -> str:
    return "\n".join(line.text for line in lines)


_forms = lru_cache(maxsize=1024)(Forms)

_BOUNDARY_LINE = pattern(
    rf"^[ \t]*<{{2,3}}(?P<end>END )?(?P<name>[^<>\n]{{1,60}} {BOUNDARY})>{{2,3}}[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_BOUNDARY_MARK = pattern(f" {BOUNDARY}", re.IGNORECASE)
# "<<<END TEXT FS …>>>" is not the name of a text, and stays as it is.
_COPIED_MARK = pattern(
    rf"(?P<open><{{2,3}}(?={NOUN} ))?(?P<name>(?:{NOUN} )?\b(?P<label>\w+)) {BOUNDARY}(?(open)>{{2,3}})",
    re.IGNORECASE,
)
# A head may consist of these words and no others: "Clarity ranking" is not the ranking.
_LEAD = (
    r"(?:(?:a|i)(?= \w)|the|my|our|this|these|here(?:'s)?|is|are|so|thus|therefore|hence|overall|in"
    r"|final(?:ly)?|conclusion|summary|sum|based|on|above|below|evaluations?|analysis|review|of|all"
    r"|assessments?|comparisons?|comparative|criteria|considerations|reasoning|given|after|careful"
    r"|considering|evaluating|reviewing|comparing|each|every|i'd|i'll|would|will|now|answer|verdict"
    r"|decision|judge?ment|following|complete|full|correct|corrected|revised|updated|result)(?![\w'])"
)
_BEST_FIRST = (
    r"(?:(?:from )?(?:best to worst|highest to lowest|strongest to weakest|top to bottom"
    r"|first to last)|order of (?:preference|quality|merit)|preference order)"
)
_TRAIL = (
    rf"(?:(?:in )?(?:{_BEST_FIRST}|descending order)|in order|best first|(?:is |are )?as follows"
    rf"|below|summary|decision|verdict|result|them|(?:of )?(?:the |all |these )*"
    rf"(?:(?:two|three|four|five|six|seven|\d) )?{NOUN}s"
    rf"|(?:with|and) (?:brief )?(?:justifications?|explanations?|reasoning|reasons|rationale))"
)
_HEAD = pattern(
    rf"""[^\w"'<]*+(?:\d{{1,2}}[.)]\s+)?(?P<lead>(?:{_LEAD}[\s,:;.!-]*)*+)"""
    rf"(?:(?P<core>rank(?:ings?|ed)?(?! #?\d+ ?[:.)-])|{_BEST_FIRST})\b"
    rf"(?:[\s(,:-]*+{_TRAIL}\b\)?)*+(?P<delimiter>\s*[:=-]+|\s+(?:is|are)\b:?)?\s*)?",
    re.IGNORECASE,
)
_CALLED_FINAL = 2
_FINAL = pattern(r"\b(?:final|overall|correct|corrected|revised|updated)\b", re.IGNORECASE)
_OR = pattern(r"\W*(?:and/)?or\W*", re.IGNORECASE)
_NO_BRACKETS = dict.fromkeys(map(ord, '[]"'))
_WORD = pattern(r"\w+")
_ENDS = pattern(r" ?(?:$|[.;!])", re.MULTILINE)
_ASIDE = pattern(r"\([^()]*\)")
_PLACED = rf"(?P<place>{'|'.join(PLACES)}|#\d{{1,2}}|\d{{1,2}}(?:st|nd|rd|th))"
_KIND = rf"(?: (?:place|one|overall|all|choice|pick|best|{NOUN}|of (?:all|them|the \w+))){{0,3}}+"
_LABEL = rf"(?:the )?(?:{NOUN} )?[('#]*+(?P<label>\w++)(?!['/.]\w)"
_IS = (
    r"(?:is|was|being|as|ranks?|comes?(?: in| out)?|goes|finishes|belongs|deserves|remains|must be"
    r"|takes|gets|earns|serves (?:the|its) (?:task|reader|purpose)"
    r"|(?:sh|w)ould (?:\w+ )?(?:be|rank|come|go|have been))"
    r"(?P<not>n't|(?: \w{1,20}ly)? (?:not|never|hardly|by no means|no longer|far from))?"
)
# What may be put in anywhere and changes nothing: "is, in my opinion, by far the best".
_BY_THE_WAY = (
    r"(?:,? (?!(?:hard|scarce|bare|near|like)ly)(?:\w{1,20}ly|by (?:far|a \w+ margin|some margin)"
    r"|in my (?:\w+ )?(?:opinion|view|eyes|judge?ment)|(?:without|beyond)(?: a| any)? doubt"
    r"|of (?:the|these|all) (?:two|three|four|five|six)|i (?:think|believe)|of course|overall|still"
    r"|also|now|much|far|rather|therefore|thus|hence|do)\b,?){0,3}+"
)
_CHOOSE = (
    r"(?:prefer|pick|choose|select|favou?r|go with|vote for|recommend|hand (?:over|in)|submit|send"
    r"|keep)"
)
_CHOICE = (
    r"(?:(?:own|final|overall|clear|top|first) )?(?:pick|choice|preference|vote|selection"
    r"|recommendation)"
)
_GOES_TO = r"(?:is|was|remains|goes to|(?:sh|w)ould be)(?P<not> not|n't)?"
_CLAUSE_END = r"(?= ?(?:$|[.,;:!?)>-]|(?:then|and|because|since|while|but|so|due|as)\b))"
_FLAGS = re.IGNORECASE | re.MULTILINE
_VERDICTS = (
    pattern(
        rf"\b(?P<label>\w++)[')]*+(?P<set> ?[:=-])?(?: (?:this|it)(?: one| {NOUN})?)?{_BY_THE_WAY}"
        rf"(?: {_IS})?{_BY_THE_WAY} (?:(?:to be|in|on|the|my|clear|overall|single|very) ){{0,3}}+"
        rf"{_PLACED}{_KIND}{_BY_THE_WAY}{_CLAUSE_END}(?(set)(?!,))",
        _FLAGS,
    ),
    pattern(
        rf"\b(?<!to )(?<!least ){_PLACED}{_KIND}{_BY_THE_WAY}"
        rf"(?: {_GOES_TO}{_BY_THE_WAY} | ?[:=(]+ ?){_LABEL}",
        _FLAGS,
    ),
    pattern(rf"\b(?<!to ){_PLACED} {_LABEL}(?P<not>(?!))?(?=$|[.,;]| then\b)", _FLAGS),
    pattern(
        rf"^[-+• ]*#?(?P<place>\d{{1,2}}) ?[.):|]+ {_LABEL}(?P<not>(?!))?(?= ?(?:$|[-:(|]))", _FLAGS
    ),
    pattern(
        rf"\b(?P<label>\w++) (?:(?:should |must )?wins?|is{_BY_THE_WAY} (?:better|superior|preferable)"
        rf"|(?:is|gets|has)(?P<not> not)? my {_CHOICE}"
        rf"|is(?: the)? (?:one|what|{NOUN}) i(?:'d|'ll| would| will)?{_BY_THE_WAY} {_CHOOSE})"
        rf"{_KIND}{_CLAUSE_END}",
        _FLAGS,
    ),
    pattern(
        rf"\bi(?:'d|'ll| would| will)?{_BY_THE_WAY} {_CHOOSE} {_LABEL}(?P<not>(?!))?"
        r"(?! (?:as|last|second|third|behind|below|after)\b)",
        _FLAGS,
    ),
    pattern(rf"\bmy {_CHOICE}{_BY_THE_WAY}(?: {_GOES_TO}{_BY_THE_WAY}|:) {_LABEL}", _FLAGS),
)
_PLACED_AS = rf"(?: {_IS.replace('?P<not>', '?:')})? (?:the )?(?:{'|'.join(PLACES)})\b"
_BRACKETS = r"(?: ?\([^()\n]{0,80}\))?+"
_NEXT = (
    r" ?(?:[-=]*>++|<++|,? ?(?:and )?(?:then|followed by)\b|(?P<listed>,(?: and)?)) ?(?:the )?"
    rf"(?:{NOUN} )?"
)
_RUN = pattern(
    rf"\b\w++(?P<placed>{_PLACED_AS})?+{_BRACKETS}(?:{_NEXT}\w++(?:{_PLACED_AS})?+{_BRACKETS})++",
    _FLAGS,
)
_COMPARISON = pattern(
    rf"\b(?P<one>\w++)(?: {_IS})?{_BY_THE_WAY} (?:(?:an? )?(?:better|stronger)(?: {NOUN})? than|superior to"
    r"|preferable to|above|ahead of|before|over|beats|outranks|outperforms"
    rf"|(?P<worse>(?:an? )?(?:worse|weaker)(?: {NOUN})? than|inferior to|below"
    r"|(?:falls )?behind|loses to|falls short of|beaten by))"
    rf" (?:the )?(?:{NOUN} )?(?P<other>\w++)(?!['/.]\w)",
    _FLAGS,
)
