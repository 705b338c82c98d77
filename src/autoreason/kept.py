"""What a text must keep of what was given, and what it states that nobody gave."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

from autoreason.contract import Keep, Violation, count_words
from autoreason.facts import FACT_KINDS, Fact, FactKind, compare_facts, sentence_of
from autoreason.limits import without_limits

_NAMES = {"numbers": "figures", "money": "figures", "dates": "dates", "names": "names"}
_NAMES |= {"links": "links", "quotes": "quotations", "code": "code"}
_MAX_WORDING = 60
_LISTED = 30
"""Wordings in the rule, and losses told apart."""


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

    def rules(self) -> tuple[str, ...]:
        """What must be kept, for authors, who may not have the draft before them."""
        facts = _losses(self, "")
        listed = ", ".join(f"“{_wording(fact)}”" for fact, *_ in facts[:_LISTED])
        more = f" and {len(facts) - _LISTED} more" if facts[_LISTED:] else ""
        listed = f"Keeps {listed}{more}, unless brief or facts say otherwise."
        none = "Adds no figure, date, name, link or quotation of its own."
        return (*[listed][: len(facts)], *[none] * ("strict" in self.keep))

    def in_short(self) -> tuple[str, ...]:
        """The same for the person who gave it: `Keeps 14 figures, dates and names of your draft.`"""
        kinds = [fact.kind for fact, *_ in _losses(self, "")]
        names = [*dict.fromkeys(name for kind, name in _NAMES.items() if kind in kinds)]
        what = " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
        what = what.removesuffix("s") if len(kinds) == 1 else what
        where = "your draft" if "draft" in self.keep else "what you gave"
        said = [f"keeps {len(kinds)} {what} of {where}"] if kinds else []
        said += [f"adds no {'others' if kinds else 'facts'}"] * ("strict" in self.keep)
        return (f"{' and '.join(said).capitalize()}.",) if said else ()

    def breaches(self, text: str, said: tuple[str, ...]) -> list[tuple[Violation, str]]:
        """What a text lost, changed or, if strict, added; then with its place. What a person `said` may be changed."""
        found, losses = [], _losses(self, text, said)
        for old, new, source in losses[:_LISTED]:
            what = f"“{_wording(old)}” {f'became “{_wording(new)}”' if new else 'is missing'}"
            now = f", in “{sentence_of(text, new)}”" if new else ""
            found.append((what, f"{now}; it was given in “{sentence_of(source, old)}”"))
        if more := len(losses[_LISTED:]):
            found.append((f"{more} more facts are missing or changed", ""))
        added = find_new(self, text, said) if "strict" in self.keep else ()
        for extra in (each for each in added if each.kind in self.kinds):
            found.append((f"“{extra.text}” is new", f", in “{extra.sentence}”; leave it out"))
        return [(Violation("keep", what), what + place) for what, place in found]


_Loss = tuple[Fact, Fact | None, str]
"""What a text lost, what stands there instead, and where it was given."""


@lru_cache(64)
def _losses(given: Given, text: str, said: tuple[str, ...] = ()) -> tuple[_Loss, ...]:
    if not given.keep:
        return ()
    words, sources = count_words(given.draft), [*given[3:5], without_limits(given.brief)]
    # Nothing by default where a draft must lose more than half of its words.
    of_draft = 2 * (given.max_words or words) >= words
    kept = sources[: of_draft if "draft" in given.keep else 3 * bool(given.keep)]
    found: dict[tuple[str, str], _Loss] = {}
    for at, source in enumerate(kept):
        difference = compare_facts(source, text, given.kinds)
        fixed = _added(said, source, given.kinds)
        # What comes later may correct it, in other words as well.
        wrong = {None, *_added((*sources[at + 1 :], *said), text, given.kinds)}
        right = [fact for fact in difference.added if fact not in wrong][:_LISTED]
        lost = [(old, _find_like(source, old, text, right)) for old in difference.lost]
        for old, new in (*difference.changed, *lost):
            if old in fixed and new in wrong:
                found.setdefault((old.kind, old.value), (old, new, source))
    return tuple(found.values())


def _find_like(source: str, old: Fact, text: str, others: Sequence[Fact]) -> Fact | None:
    """The first fact of a kind in a sentence that has two longer words of the old one's."""
    words = set(re.findall(r"\w{4,}", sentence_of(source, old))) if others else set()
    alike = (each for each in others if sum(it in sentence_of(text, each) for it in words) > 1)
    return next((each for each in alike if each.kind == old.kind), None)


@lru_cache(64)
def find_new(given: Given, text: str, said: tuple[str, ...]) -> tuple[NewFact, ...]:
    """All but code, the last kind, that nothing states that was given or said."""
    found = sorted(_added((*given[3:], *said), text, FACT_KINDS[:-1]), key=lambda fact: fact.start)
    return tuple(NewFact(each.kind, _wording(each), sentence_of(text, each)) for each in found)


def _added(before: Sequence[str], text: str, kinds: Sequence[FactKind]) -> set[Fact]:
    """Facts of a text that none of those before states."""
    difference = compare_facts("\n\n".join(before), text, kinds)
    return {*difference.added, *(new for _, new in difference.changed)}


def _wording(fact: Fact) -> str:
    text = " ".join(fact.text.strip("\"'“”„«»‘’").split())
    return text if len(text) <= _MAX_WORDING else f"{text[: _MAX_WORDING - 1]}…"
