"""What did well and what did badly among similar texts, without anything that gives the answer away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from autoreason.knowledge.index import MAX_POSTINGS, OUTCOMES, Index, IndexedRecord
from autoreason.knowledge.screening import mask
from autoreason.knowledge.standing import Standing
from autoreason.knowledge.values import is_earlier, is_rate
from autoreason.knowledge.words import is_too_similar, plain_text
from autoreason.knowledge_records import (
    Knowledge,
    Record,
    RecordedOutcome,
    RecordKind,
    ShownOutcomes,
    ShownRecord,
)

LISTED = 4
"""Records on each of the two lists."""
MAX_WORDS = 120
"""Words that are shown of a record."""
_SIGNS_PER_WORD = 8
"""Signs after which a text without spaces is cut."""
_NEAREST = 20
"""Similar texts among which the best and the worst are looked for, in either half."""
_MAX_FACTS = 12
_FEW_WORDS = 5
_VERDICT = 1e-9


class Query(NamedTuple):
    """What is looked for, and what must not be found."""

    text: str
    group: str = ""
    """Nothing of this group is found."""
    before: str = ""
    """Only what is surely earlier than this date is found."""
    private: bool = False
    """Private records are found, too."""
    to_models: bool = False
    """Records that address a model are found, too."""


class Retrieved(NamedTuple):
    """What may be shown to whom, and how much was kept out."""

    critic: ShownOutcomes
    judges: ShownOutcomes
    left_out: dict[str, int]
    leaks: int
    """Records that should have been kept out and were not, counted again: 0."""


def find_neighbours(
    index: Index,
    query: Query,
    left_out: Counter[str] | None = None,
    *,
    max_postings: int = MAX_POSTINGS,
) -> Iterator[IndexedRecord]:
    """Outcomes of similar texts, the nearest first, each text once; `left_out` counts what was passed over."""
    near = index.nearest(query.text, OUTCOMES, until=query.before, max_postings=max_postings)
    yield from _admit(near, query, left_out)


def _admit(
    found: Iterator[IndexedRecord], query: Query, left_out: Counter[str] | None = None
) -> Iterator[IndexedRecord]:
    texts: set[str] = set()
    for each in found:
        plain = plain_text(each.record.text)
        if plain in texts:
            continue
        if reason := _reason_to_leave_out(each, query):
            if left_out is not None:
                left_out[reason] += 1
            continue
        texts.add(plain)
        yield each


def _reason_to_leave_out(found: IndexedRecord, query: Query) -> str:
    record = found.record
    if record.private and not query.private:
        return "private"
    if found.to_models and not query.to_models:
        return "addresses a model"
    return gives_away(record, query)


def gives_away(record: Record, query: Query) -> str:
    """Why a record says too much about a query's text; empty where it does not."""
    if query.group and record.group == query.group:
        return "same group"
    if query.before and not is_earlier(record.when, query.before):
        return "later"
    # A draft may be a paragraph after a long brief.
    parts = (query.text, *query.text.split("\n\n"))
    if any(is_too_similar(record.text, each) for each in parts) or _contains(
        record.text, query.text
    ):
        return "too similar"
    return ""


def _contains(one: str, other: str) -> bool:
    """Whether one text, of more than a few words, is a part of the other, word for word."""
    short, long = sorted((plain_text(one), plain_text(other)), key=len)
    return short.count(" ") >= _FEW_WORDS and f" {short} " in f" {long} "


def count_leaks(records: Sequence[Record], query: Query) -> int:
    """How many records give the answer away, counted without the rule that chose them."""
    own = plain_text(query.text)
    return sum(
        plain_text(record.text) == own
        or (bool(query.group) and record.group == query.group)
        or (bool(query.before) and not is_earlier(record.when, query.before))
        or is_too_similar(record.text, query.text)
        for record in records
    )


def retrieve(index: Index, query: Query, *, for_judges: bool = True) -> Retrieved:
    """Two short lists each for critics and for judges, who are shown different texts; or all for critics."""
    similar: Counter[str] = Counter()
    halves: list[list[IndexedRecord]] = [[], []] if for_judges else [[]]
    texts: set[str] = set()
    # Few records may share words with a brief; those that say most are better than none.
    nearest = find_neighbours(index, query, similar)
    strongest = islice(_admit(index.strongest(OUTCOMES), query), 8 * LISTED)
    metric = next(iter(index.metrics), "")
    for found in chain(nearest, strongest):
        # Opens and clicks on one list would say that those who clicked did badly.
        if found.record.result and found.record.result.metric != metric:
            continue
        plain = plain_text(found.record.text)
        half = halves[found.half % len(halves)]
        if len(half) < _NEAREST and _score(found) and plain not in texts:
            half.append(found)
            texts.add(plain)
        if min(map(len, halves)) == _NEAREST:
            break
    critic, judges = (_choose(half) for half in (halves if for_judges else [*halves, []]))
    chosen = [each.record for one in (critic, judges) for part in one for each in part]
    return Retrieved(
        _show_both(critic),
        _show_both(judges),
        _count_left_out(index, query, similar["too similar"]),
        count_leaks(chosen, query),
    )


def choose_knowledge(index: Index, query: Query, *, for_judges: bool = True) -> Knowledge:
    """What a run shows of a folder: facts and style near a brief, and outcomes for critics and for judges."""
    found = retrieve(index, query, for_judges=for_judges)
    return Knowledge(
        source=index.path,
        digest=index.digest,
        facts=_choose_quoted(index, query, "fact"),
        style=_choose_quoted(index, query, "style"),
        feedback=_choose_quoted(index, query, "feedback"),
        critic=found.critic,
        judges=found.judges,
        left_out=found.left_out,
        leaks=found.leaks,
    )


def show(found: IndexedRecord) -> ShownRecord:
    """A record as a model is shown it: cut, masked, with its figure in words."""
    return ShownRecord(
        id=found.record.id,
        text=_cut(mask(found.record.text)),
        figure=describe_figure(found.record, found.standing),
        private=found.record.private,
    )


def describe_figure(record: Record, standing: Standing | None) -> str:
    """`open rate 38 % of 2,100; group 24 %; adjusted 34 %`, `approved`; empty where nothing is known."""
    if (result := record.result) is None:
        return record.verdict or ("" if record.score is None else f"scored {record.score:g}")
    value, n, se, pooled = result.value, result.n, result.se, ""
    if standing and standing.values:
        value, n, se, pooled = standing.value, standing.n, None, _describe_pool(result, standing)
    basis = f" ± {se:.2g}" if se is not None else ", n unknown"
    if n is not None:
        basis = f" of {n:,}" if _is_share(result) else f", n {n:,}"
    figure = f"{result.metric}{pooled} {show_number(result, value)}{basis}"
    if standing is None or standing.size < 2 or not record.group:
        return figure
    mean, adjusted = (show_number(result, each) for each in (standing.mean, standing.shrunken))
    return f"{figure}; group {mean}; adjusted {adjusted}"


def show_number(result: RecordedOutcome, value: float) -> str:
    """A number of the kind that a result is."""
    return f"{value * 100:.3g} %" if _is_share(result) else f"{value:.4g}"


def _is_share(result: RecordedOutcome) -> bool:
    return 0 <= result.value <= 1 and (result.n is not None or is_rate(result.metric))


def _describe_pool(result: RecordedOutcome, standing: Standing) -> str:
    """`, sent twice: 25.1 and 28.7 %, together`; of many results the least and the most."""
    *others, last = (show_number(result, each) for each in sorted(standing.values))
    numbers = [each.removesuffix(" %") for each in others]
    shown = " and ".join([*numbers, last]) if len(numbers) < 4 else f"{numbers[0]} to {last}"
    times = "twice" if len(numbers) == 1 else f"{len(numbers) + 1:,} times"
    return f", {'sent' if result.metric == 'open rate' else 'measured'} {times}: {shown}, together"


_Lists = tuple[list[IndexedRecord], list[IndexedRecord]]
"""What did well, and what did badly."""


def _choose(found: Sequence[IndexedRecord]) -> _Lists:
    """The best and the worst, without near-duplicates."""
    ranked = sorted(found, key=lambda each: (-_score(each), each.record.id))
    well = _thin([each for each in ranked if _score(each) > 0])
    badly = _thin([each for each in reversed(ranked) if _score(each) < 0])
    return well, badly


def _thin(found: Sequence[IndexedRecord]) -> list[IndexedRecord]:
    kept: list[IndexedRecord] = []
    for each in found:
        if len(kept) == LISTED:
            break
        if not any(is_too_similar(each.record.text, other.record.text) for other in kept):
            kept.append(each)
    return kept


def _show_both(lists: _Lists) -> ShownOutcomes:
    well, badly = (tuple(map(show, one)) for one in lists)
    return ShownOutcomes(well=well, badly=badly)


def _choose_quoted(index: Index, query: Query, kind: RecordKind) -> tuple[ShownRecord, ...]:
    """Facts or lines of style, the nearest first, then the others."""
    if not index.count("kind = ?", kind):
        return ()
    found = chain(index.nearest(query.text, (kind,)), index.strongest((kind,)))
    # Facts of the same group or day give nothing away.
    anything = query._replace(text="", group="", before="")
    return tuple(map(show, islice(_admit(found, anything), _MAX_FACTS)))


def _count_left_out(index: Index, query: Query, similar: int) -> dict[str, int]:
    """What was kept out of all records, by reason."""
    found = {
        "private": 0 if query.private else index.count("private"),
        "addresses a model": 0 if query.to_models else index.count("to_models"),
        "same group": index.count("grp = ?", query.group) if query.group else 0,
        "later": index.count("day >= ?", query.before[:10]) if query.before else 0,
        "too similar": similar,
        "measured by another metric": sum([*index.metrics.values()][1:]),
        "no better and no worse than its group": index.count("kind = 'outcome' AND strength = 0"),
    }
    return {reason: number for reason, number in found.items() if number}


def _score(found: IndexedRecord) -> float:
    score = found.standing.score if found.standing else 0.0
    if score or found.record.result or not found.record.verdict:
        return score
    # A verdict counts where its group says nothing, after all that is compared.
    return _VERDICT if found.record.verdict == "approved" else -_VERDICT


def _cut(text: str) -> str:
    """The beginning of a text, as many words as are allowed."""
    words = text.split()
    limit = MAX_WORDS * _SIGNS_PER_WORD
    short = text if len(words) <= MAX_WORDS else " ".join(words[:MAX_WORDS]) + " …"
    return short if len(short) <= limit + 2 else short[:limit].rstrip() + " …"
