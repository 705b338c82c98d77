"""What a text must keep of what was given, and what it states that nobody gave."""

import re
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

from autoreason.contract import Keep, Violation, count_words
from autoreason.facts import (
    FACT_KINDS,
    Fact,
    FactKind,
    compare_facts,
    find_unstated,
    pattern,
    sentence_of,
)
from autoreason.limits import without_limits

_NAMES = {"numbers": "figures", "money": "figures", "quotes": "quotations"}
_ADDS_NONE = "Adds no figure, date, name, link or quotation of its own."
_MAX_WORDING = 60
_LISTED = 30
"""Wordings in the rule, and losses told apart."""
_Loss = tuple[Fact, Fact | None, str]
"""What a text lost, what stands there instead, and where it was given."""


class NewFact(Struct, frozen=True):
    """What a text states that nobody gave."""

    kind: FactKind
    text: str
    sentence: str


class Given(NamedTuple):
    """What a person gave for a text, and what of it must stay."""

    keep: tuple[Keep, ...]
    kinds: tuple[FactKind, ...]
    max_words: int | None
    draft: str
    facts: str
    brief: str
    others: str
    """Wordings of the contract, and facts among the records."""

    def rules(self, *, short: bool = False) -> tuple[str, ...]:
        """What must be kept, for authors, who may not have the draft before them; `short` for who gave it."""
        facts = [fact for fact, *_ in _losses(self, "")]
        listed = ", ".join(f"“{_wording(fact)}”" for fact in facts[:_LISTED])
        more = f" and {len(facts) - _LISTED} more" if facts[_LISTED:] else ""
        said = f"Keeps {listed}{more}, unless brief or facts say otherwise."
        if short:
            kinds = {fact.kind for fact in facts}
            names = dict.fromkeys(_NAMES.get(kind, kind) for kind in FACT_KINDS if kind in kinds)
            what = re.sub(", (?=[a-z]+$)", " and ", ", ".join(names))
            what = what.removesuffix("s") if len(facts) == 1 else what
            where = "your draft" if "draft" in self.keep else "what you gave"
            said = f"Keeps {len(facts)} {what} of {where}."
        return (*[said] * bool(facts), *[_ADDS_NONE] * ("strict" in self.keep))

    @property
    def _is_off(self) -> bool:
        """By default where a draft must lose more than half of its words."""
        words = count_words(self.draft)
        return "draft" in self.keep and 2 * (self.max_words or words) < words

    def notes(self) -> list[str]:
        """What a person should know of it before the first call."""
        short = f"{self.max_words} words are under half of your draft"
        found = [f"facts of your draft need not stay: {short}"] * self._is_off
        if not (self.draft and self.facts):
            return found
        olds = [(x, _long_words(self.draft, x)) for x in find_unstated(self.draft, [self.facts])]
        for new in find_unstated(self.facts, [self.draft]):
            words = _long_words(self.facts, new)
            same = [x for x, there in olds if x.kind == new.kind and words <= there]
            if len(words) > 1 and len(same) == 1:
                found.append(f"your draft says “{same[0].text}”, facts “{new.text}”: correct one")
        return found if len(found) < 5 else [*found[:3], f"{len(found) - 3} more like these"]

    def breaches(self, text: str, said: tuple[str, ...]) -> list[tuple[Violation, str]]:
        """What a text lost, changed or, if strict, added; then with its place. What a person `said` may be changed."""
        found, losses = [], _losses(self, text, said)
        for old, new, source in losses[:_LISTED]:
            what = f"“{_wording(old)}” {f'became “{_wording(new)}”' if new else 'is missing'}"
            now = f", in “{sentence_of(text, new)}”" if new else ""
            found.append((what, f"{now}; it was given in “{sentence_of(source, old)}”"))
        if more := len(losses[_LISTED:]):
            found.append((f"{more} more facts are missing or changed", ""))
        for extra in find_new(self, text, said) if "strict" in self.keep else ():
            if extra.kind in self.kinds:
                found.append((f"“{extra.text}” is new", f", in “{extra.sentence}”; leave it out"))
        return [(Violation("keep", what), what + place) for what, place in found]


@lru_cache(1024)
def _losses(given: Given, text: str, said: tuple[str, ...] = ()) -> tuple[_Loss, ...]:
    if not given.keep:
        return ()
    sources = (*given[3:5], without_limits(given.brief))
    sentences, goes = re.split(r"(?<=[.!?;])\s+|\n", given.brief), pattern("goes")
    may_go = [x for x in sentences if goes.search(x) and not pattern("not").search(x)]
    found: dict[tuple[str, str], _Loss] = {}
    for at, source in enumerate(sources[: not given._is_off if "draft" in given.keep else None]):
        # To name a fact allows to leave it out, not to invent another.
        firm = set(find_unstated(source, (*said, *may_go), given.kinds))
        # What comes later may correct it, in other words as well.
        later = (*sources[at + 1 :], *said)
        wrong = find_unstated(text, (source, *later), given.kinds)
        values = {None, *(x[:3:2] for x in (*wrong, *find_unstated(text, later, given.kinds)))}
        new = [fact for fact in find_unstated(text, [source], given.kinds) if fact not in wrong]
        right = [(fact.kind, sentence_of(text, fact).casefold()) for fact in new[:_LISTED]]
        for old, changed in compare_facts(source, text, given.kinds).items():
            long = _long_words(source, old)
            alike = [kind for kind, there in right if sum(word in there for word in long) > 1]
            is_lost = old in firm and old.kind not in alike
            if (changed and changed[:3:2]) in values and (changed or is_lost):
                found.setdefault((old.kind, old.value), (old, changed, source))
    return tuple(found.values())


def _long_words(text: str, fact: Fact) -> set[str]:
    """Of the sentence that a fact is in."""
    return set(re.findall(r"[^\W\d]{4,}", sentence_of(text, fact).casefold()))


@lru_cache(1024)
def find_new(given: Given, text: str, said: tuple[str, ...]) -> tuple[NewFact, ...]:
    """All but code, the last kind, that nothing states that was given or said."""
    found = find_unstated(text, (*given[3:], *said), FACT_KINDS[:-1])
    return tuple(NewFact(each.kind, _wording(each), sentence_of(text, each)) for each in found)


def _wording(fact: Fact) -> str:
    text = " ".join(fact.text.strip("\"'“”„«»‘’").split())
    return text if len(text) <= _MAX_WORDING else f"{text[: _MAX_WORDING - 1]}…"
