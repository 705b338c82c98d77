"""An author's reply: the document and its notes, what in it gives away how it was written, what it adds."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

from autoreason.exchange import Schema, object_schema
from autoreason.parsing import BOUNDARY, parse_json, pattern
from autoreason.prompts import PromptSet
from autoreason.report.changes import split_words

# Only marks around everything, before or after everything, are marks: a text may be about such tags.
_WRAPPED = re.compile(r"\A\s*<document>(.*)</document>\s*(.*)\Z", re.IGNORECASE | re.DOTALL)
_NOTES = re.compile(
    r"[ \t]*<notes>(?:[ \t]*\n(?P<open>(?:(?!</notes>).)*)\Z|(?P<closed>.*)</notes>\s*\Z)",
    re.IGNORECASE | re.DOTALL,
)
_SENTENCE_ENDS = (*".!?…”\"')]}*", "")
_NOTES_FIRST = re.compile(r"\A\s*<notes>(.*?)</notes>[ \t]*\n\s*(?=\S)", re.IGNORECASE | re.DOTALL)
# A boundary copied from the request: between its brackets, or alone on a line.
_MARK = re.compile(
    rf"<{{2,3}}(?:END )?[A-Z]+ (?:\w+ )?{BOUNDARY}>{{2,3}}[ \t]*\n?|^(?:[A-Z]+ )?{BOUNDARY}[ \t]*(?:\n|\Z)",
    re.MULTILINE,
)
SHORT = 30
"""Words below which several texts are written in one reply."""
LIST = Schema(
    "list",
    object_schema({"texts": {"type": "array", "items": {"type": "string"}}}),
    "Answer with a numbered list and nothing else: each text in a line of its own.",
)
_ITEM = pattern(
    r"(?m)^[ \t]*(?:[-*+•–—]|[*_]*\(?(?:[^\W\d]+ )?(?P<number>\d{1,2})[.):][*_]*)[ \t]+(?=\S)"
)
"""`1.`, `2)`, `-`, `**Headline 3:**`; but also how a text may begin: “Top 10: ”."""
_AROUND = pattern(r"[*_`]*[\"“”„«»]?([^*_`\"“”„«»]+)[\"“”«»]?[*_`]*")
_FENCED = re.compile(r"\A```(?:markdown|md|text|json)?[ \t]*\n(.*?)\n```\s*\Z", re.DOTALL)


class Document(NamedTuple):
    """A text and its author's notes on it."""

    text: str
    notes: str


def read_document(reply: str) -> Document:
    """The document and the notes of a reply; a model may mark the document too, though it is not asked to."""
    if wrapped := _WRAPPED.match(reply):
        return Document(_bare(wrapped[1]), _split(wrapped[2]).notes)
    return _split(reply)


def _split(reply: str) -> Document:
    """Text and notes, where notes come before it or at the end."""
    before = _NOTES_FIRST.match(reply)
    reply = reply[before.end() :] if before else reply
    start = reply.lower().rfind("<notes>")
    # At the end of a line only after the end of a sentence.
    ends = reply[:start].rstrip()[-1:] in _SENTENCE_ENDS
    line = start if ends else reply.rfind("\n", 0, start) + 1
    notes = _NOTES.match(reply, line) if start >= 0 else None
    if not notes:
        return Document(_bare(reply), before[1].strip() if before else "")
    return Document(_bare(reply[: notes.start()]), (notes["closed"] or notes["open"] or "").strip())


def same_text(one: str, other: str) -> bool:
    """Whether two texts differ in white space at most: clones are never judged."""
    # Most texts part ways within a few words, which is far quicker to see.
    return one.split(None, 9)[:9] == other.split(None, 9)[:9] and one.split() == other.split()


def share_changed(one: str, other: str) -> float:
    """The share of words that two texts do not have in common, each as often as it occurs."""
    counts, others = (Counter(split_words(text.casefold())) for text in (one, other))
    total = counts.total() + others.total()
    return (total - 2 * (counts & others).total()) / total if total else 0.0


def too_alike(one: str, other: str) -> bool:
    """Whether too few words of two texts differ for a choice between them, or short ones begin with the same three."""
    words, others = (split_words(text.casefold()) for text in (one, other))
    if max(len(words), len(others)) < SHORT:
        return words[:3] == others[:3] or share_changed(one, other) < 0.4
    return share_changed(one, other) < 0.25


def read_list(reply: str) -> list[str]:
    """Texts in JSON, or in a list without its numbers, bullets and quotation marks, or else in lines."""
    value = parse_json(reply)
    if isinstance(value, dict):
        texts = value.get("texts")
        value = texts if isinstance(texts, list) else [*value.values()]
    if isinstance(value, list):
        items = [each for each in value if isinstance(each, str)]
        marks = _marks(filter(None, map(_ITEM.match, items)))
        if len(marks) == len(items):
            items = [each.string[each.end() :] for each in marks]
    else:
        marks = _marks(_ITEM.finditer(reply))
        spans = pairwise([*marks, None])
        items = [reply[a.end() : b and b.start()].split("\n\n")[0] for a, b in spans if a]
        items = items or [x for x in reply.splitlines() if not x.rstrip().endswith(":")]
    bare = (_AROUND.fullmatch(each.strip()) or (each,) * 2 for each in items)
    return [each[1].strip() for each in bare if each[1].strip()]


def _marks(found: Iterable[re.Match[str]]) -> list[re.Match[str]]:
    """Those of one kind that are bullets or count from 1; none where there is only one."""
    kinds = defaultdict[str, list[re.Match[str]]](list)
    for each in found:
        same = kinds[re.sub(r"\d+", "", each[0].strip())]
        if not each["number"] or int(each["number"]) == len(same) + 1:
            same.append(each)
    return next((same for same in kinds.values() if same[1:]), [])


WORDS_IN_A_ROW = 3
"""As many count as kept together."""


def share_kept(first: str, last: str) -> float:
    """The share of the first text's words in a row, three at a time, that are in the last."""
    both = (text.casefold().split() for text in (first, last))
    before, after = (set(zip(w, w[1:], w[2:], strict=False)) for w in both)
    return len(before & after) / len(before) if before else float(same_text(first, last))


def _bare(body: str) -> str:
    body = _MARK.sub("", body).strip()
    fenced = _FENCED.match(body)
    return fenced.group(1).strip() if fenced and "\n```" not in fenced.group(1) else body


_ANNOUNCED = r"""
      (?:sure|certainly|of\ course|absolutely|okay|ok)\b[^\n]{0,60}?\b(?:here|below)\b[^\n]*
    | (?:here(?:\ is|['’]s|\ are)|below\ is|the\ following\ is|this\ is)\s+(?:the|my|an?|your)\b[^\n]{0,60}?
      \b(?:revis|rewrit|improv|updat|refin|synthesi[sz]|merged|combin|final|edited|polished|draft|version|document|text)[^\n]*
"""
_ANNOUNCEMENT = pattern(
    rf"\A[\s*#_>-]*+(?:{_ANNOUNCED})(?<=[:*_])[ \t]*\n++(?:-{{3,}}[ \t]*\n++)?(?=\s*\S)",
    re.IGNORECASE | re.VERBOSE,
)
"""A line that does nothing but announce what comes after its colon."""
# A text that opens like this announces itself instead of being the document.
_OPENERS = pattern(
    rf"""\A[\s*#_>-]*+(?:{_ANNOUNCED}
    | here(?:\ is|['’]s|\ are)\s[^\n]{{0,70}}:[ \t*]*$
    | i\ understand\ that\ the\ (?:text|document|draft)\b[^\n]*
    | i(?:['’]ve|\ have)\s+(?:revised|rewritten|improved|updated|refined|combined|merged|synthesi[sz]ed|edited)\b[^\n]*
    | (?:(?:the|my)\s+)?(?:revised|rewritten|improved|updated|refined|synthesi[sz]ed|merged|combined)\s+
      (?:version|draft|text|document|proposal|synthesis)\b[^\n]{{0,40}}
    | (?:final\s+)?synthesis\b\s*(?::|\*\*|$)[^\n]*
    )""",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)


def _sign(needles: str, source: str) -> tuple[list[str], re.Pattern[str]]:
    """How a text mentions how it was written; to search first for what every match has one of is far quicker."""
    return needles.split(", "), pattern(source, re.IGNORECASE | re.VERBOSE | re.MULTILINE)


_SIGNS = (
    _sign(
        "change, revision, edits, improvements, synthesis",
        r"""^[ \t*#_>-]*+(?:change[\s-]?log|changes\ (?:made|from|in\ this|since)
        |summary\ of\ (?:the\ )?(?:changes|revisions|edits)
        |(?:key|main|major)\ (?:changes|revisions|edits)|revision\ (?:notes|summary|history)
        |what\ (?:has\ )?changed|(?:key\ )?improvements\ (?:made|over|from)
        |synthesis\ (?:notes|rationale|approach))\b[^\n]{0,80}""",
    ),
    _sign(
        "criti, reviewer",
        r"""\b(?:addresses|fixes|resolves|in\ response\ to|raised\ (?:in|by)|noted\ (?:in|by)
        |identified\ (?:in|by))\s+(?:the\ )?(?:critiques?|critics?|reviewers?['’]?)\b[^\n.]{0,60}""",
    ),
    _sign(
        "has been, was ",
        r"""\b(?:this|the)\s+(?:text|sentence|paragraph|document|draft|note)\s+(?:has\ been|was)\s+
        (?:edited|revised|rewritten|reworded|shortened|corrected|improved)\s+(?:for|to)\b[^\n.]{0,60}""",
    ),
    # Lines of our own prompts, repeated by a model that took them for part of the text.
    _sign("", rf"\b(?=[a-f]*[0-9])(?=[0-9]*[a-f]){BOUNDARY}"),
    _sign("<<<", r"<<<(?:END\ )?(?:TEXT|FACTS|PROBLEMS|GUIDANCE)\b[^\n]{0,60}"),
    # An answer about the request, in place of the text.
    _sign(
        "please provide, please share, please send",
        r"""\bplease\s+(?:provide|share|send)\s+(?:me\s+)?(?:with\s+)?the\s+(?:original\ |full\ |actual\ )?
        (?:text|document|draft)\b[^\n]{0,60}""",
    ),
    _sign("(critical), (major), (minor)", r"\((?:critical|major|minor)\)\s+[\"“][^\n]{0,60}"),
    _sign(
        "here is, here's, here’s",
        r"""^[ \t*#_>-]*+here(?:\ is|['’]s)\ (?:the|my|an)\ (?:edited|revised|updated|improved|corrected|rewritten)\s
        (?:version|text|draft)\b[^\n]{0,60}""",
    ),
    _sign("the critique", r"\b(?:per|following|as)\ the\ critique\b[^\n.]{0,60}"),
    _sign(
        "this revis, this synthesis, this rewrite, this merged",
        r"\bthis\s+(?:revision|revised\ (?:version|text)|synthesis|rewrite|merged\ version)\b[^\n.]{0,60}",
    ),
    _sign(
        "version , draft , text , proposal ",
        # Only capitals name a version: "draft a plan" does not.
        r"\b(?:version|draft|text|proposal)\ (?-i:AB|A|B|X|Y)\b[^\n.]{0,40}",
    ),
    _sign(
        "original, previous, earlier, first, second, prior",
        r"""\b(?:from|in|than|unlike|both)\s+(?:the\ )?
        (?:original|previous|earlier|first|second|prior)\s+
        (?:version|draft|text|document|proposal)s?\b[^\n.]{0,60}""",
    ),
    _sign(
        "*, _, (, [",
        # Only where a row of signs begins: from every one of them, the row would be walked again.
        r"""(?<![*_(\[])[*_(\[]++[ \t]*+(?:fix(?:es|ed)?|address(?:es|ed)?|change[ds]?|was|revised|added|removed)
        \s*:[^\n)\]]{0,60}""",
    ),
)
_MAX_LENGTH = 100


def without_opener(text: str, *allowed: str) -> str:
    """The text without a line that announces it (“Sure, here is the text:”), unless the task words it so."""
    opener = _ANNOUNCEMENT.match(text)
    if not opener or _is_allowed(opener.group().strip(" *#_>-"), _plain_task(allowed)):
        return text
    return text[opener.end() :].strip()


def find_leaks(text: str, *allowed: str) -> tuple[str, ...]:
    """Passages that give the text away; wording that the task itself uses is not a leak."""
    opener = _OPENERS.match(text)
    passages = [opener.group()] if opener else []
    lowered = text.casefold()
    for needles, sign in _SIGNS:
        if any(needle in lowered for needle in needles):
            passages += [match.group() for match in sign.finditer(text)]
    if not passages:
        return ()
    task = _plain_task(allowed)
    leaks = (" ".join(passage.split()).strip(" *#_>-")[:_MAX_LENGTH] for passage in passages)
    return tuple(dict.fromkeys(leak for leak in leaks if leak and not _is_allowed(leak, task)))


def _plain_task(allowed: tuple[str, ...]) -> str:
    return " ".join("\n".join(allowed).casefold().split())


def _is_allowed(leak: str, allowed_text: str) -> bool:
    return " ".join(leak.casefold().split()[:3]) in allowed_text


Phrase = tuple[str, ...]
_PHRASE = 7
"""Words in a row that are not a coincidence."""
_LINE = 3
"""Words of a line that is a whole line of a prompt, such as a heading."""
_TAG = re.compile(r"\{[{%#].*?[}%#]\}", re.DOTALL)
_WORD = re.compile(r"\w+")
_QUOTE = re.compile(r"[.,]?[\"“”„«»]")
"""A quotation mark, and what American English puts before it."""
_PLAIN_QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"'))
_BEGINS = re.compile(
    # A line or a sentence begins, whatever marks, severity or number stand there.
    r"""(?:(?:\A|\n)[\s*#_>.:\d)"“-]*|(?:[.!?:;][*_"”)]*|\s[-–—])\s+[*_"“(\[-]*\s*)(?:\(\w+\)\s*)?[\d\s]*\Z"""
)
_BEFORE = 40
"""Characters before a sentence that say whether it begins there."""
_ENDS = r"""(?=[*_)\]]*(?:[.,;:!?"“”]|\s*$))"""


# From its writing to the ballot a text is searched several times, in hundreds of runs at once.
@lru_cache(maxsize=1024)
def find_echo(text: str, prompts: PromptSet, *allowed: str) -> str:
    """The first passage that is word for word in the prompts and not in the task; empty where there is none."""
    sources = tuple(prompts.sources.values())
    phrases, matches = _phrases_of(sources), list(_WORD.finditer(text))
    found = [
        (phrase, text[matches[at].start() : matches[at + _PHRASE - 1].end()])
        for at, phrase in enumerate(_windows(_words(text)))
        if phrase in phrases
    ]
    lines = text.splitlines()
    # Models take a line of a prompt for the name of a line.
    for line in (*lines, *(line.partition(":")[0] for line in lines if ":" in line)):
        words = tuple(_words(line))
        if words in phrases and len(words) >= _LINE:
            found.append((words, line.strip()))
    known = frozenset(_each_phrase("\n".join(allowed))) if found else ()
    return next((passage for phrase, passage in found if phrase not in known), "")


@lru_cache(maxsize=1024)
def find_sentences(text: str, sentences: tuple[str, ...], *allowed: str) -> list[re.Match[str]]:
    """Where a text has one of these as a sentence of its own, in any capitals; not where the task has it."""
    plain = _plain(text)
    # Far quicker than the pattern, which says where.
    if not any(sentence in plain for sentence in map(_plain, sentences)):
        return []
    allowed_text = _plain("\n".join(allowed))
    found = [x for x in _any_of(sentences).finditer(text) if _plain(x[0]) not in allowed_text]
    return [x for x in found if _BEGINS.search(text[max(0, x.start() - _BEFORE) : x.start()])]


@lru_cache(maxsize=64)
def _any_of(sentences: tuple[str, ...]) -> re.Pattern[str]:
    # Whatever quotation marks a model writes.
    parts = (map(_QUOTE.split, each.rstrip(".").split()) for each in sentences)
    words = ((_QUOTE.pattern.join(map(re.escape, part)) for part in each) for each in parts)
    each = sorted(map(r"\s+".join, words), key=len, reverse=True)
    return re.compile(rf"(?:{'|'.join(each)}){_ENDS}", re.IGNORECASE | re.MULTILINE)


def _plain(text: str) -> str:
    plain = " ".join(text.casefold().translate(_PLAIN_QUOTES).split())
    return plain.replace('."', '"').replace(',"', '"').rstrip(".")


@lru_cache(maxsize=16)
def _phrases_of(sources: tuple[str, ...]) -> frozenset[Phrase]:
    parts = (part for source in sources for part in _TAG.split(source))
    return frozenset(phrase for part in parts for phrase in _each_phrase(part))


def _each_phrase(text: str) -> Iterator[Phrase]:
    """Words in a row that are not a coincidence, and the words of each line."""
    lines = [_words(line) for line in text.splitlines()]
    return chain(_windows([*chain(*lines)]), filter(None, map(tuple, lines)))


def _windows(words: list[str]) -> Iterator[Phrase]:
    return zip(*(words[at:] for at in range(_PHRASE)), strict=False)


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def find_additions(text: str, *sources: str) -> tuple[str, ...]:
    """The sentences of a text that are not what remains of a paragraph of a source once words are taken out.

    Case, punctuation and layout do not count, nor does the order of sentences. A paragraph and not a sentence
    is what must contain the words, so that two sentences may be cut to one.
    """
    paragraphs = [_words(p) for each in sources for p in re.split(r"\n[ \t]*\n", each) if p.strip()]
    # A line break ends a sentence, too, which asks less of a list or a wrapped line, and never more.
    parts = re.split(r"(?<=[.!?:;])\s+|\n", text)
    sentences = (part.strip() for part in parts if re.search(r"\w", part))
    return tuple(
        each for each in sentences if not any(_remains_of(p, _words(each)) for p in paragraphs)
    )


def _remains_of(paragraph: list[str], words: list[str]) -> bool:
    """Whether the words are in the paragraph in their order, with others between them or not."""
    left = iter(paragraph)
    return all(word in left for word in words)
