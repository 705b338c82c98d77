"""Checks the texts: cut off, leaking, cloned, in breach, growing, drifting; and the critics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import combinations, pairwise
from statistics import fmean

from autoreason.contract import count_words
from autoreason.parsing.documents import find_leaks, same_text
from autoreason.report.numbers import percent
from autoreason.stats.results import Estimate
from autoreason.stats.shares import share
from autoreason.studies.audit.audited_record import AuditedPass, AuditedRun, Runs
from autoreason.studies.audit.findings import (
    AuditFinding,
    Level,
    Topic,
    listed,
    many,
    number_of,
    part,
    share_level,
)
from autoreason.studies.audit.wording import cut_off
from autoreason.tournament.candidates import is_revision

_topic = partial(Topic, "texts")
_CUT = _topic(
    "cut-off texts",
    "no text on a ballot ends in mid-sentence",
    "raise the output limit and judge no text that was cut off",
)
_LEAKS = _topic(
    "leaks",
    "no candidate mentions how it was written, else judging is not blind",
    "let authors send notes apart from the text, and send texts that give themselves away back",
)
_CLONES = _topic(
    "clones",
    "no two candidates are the same text",
    "leave a missing candidate missing: a duplicate splits its votes with itself",
)
_CONTRACT = _topic(
    "contract",
    "the text delivered keeps every limit of the task",
    "read these texts; loosen a limit that asks too much, or write more drafts or with a stronger model",
)
_LENGTHS = _topic(
    "length swings",
    "length settles as a run goes on",
    "set a word limit: judges who want more and critics who want less take turns",
)
_DRIFT = _topic(
    "drift",
    "a better text keeps a good part of the first draft and much of its length",
    "compare the last text with the first: is it still what was asked for?",
)
_CRITICS = _topic(
    "critics",
    "a critic of a good text sometimes finds nothing",
    "allow an empty critique and check every quote: a critic that must find something invents it",
)
_PILE, _PILE_SHARE, _MIN_TEXTS = 0.1, 0.7, 24
"""How near the longest, what share of texts, and of how many at least, show a limit."""
_SWING = 0.1
_SHINGLE = 3


def cut_texts(runs: Runs) -> AuditFinding:
    """Texts on a ballot whose end is missing, by their ends or by their lengths."""
    texts = list(_candidates(runs))
    piled = _piled_up(run for run in runs if run.first is None)
    if not texts:
        if not piled:
            return _CUT.unknown("no texts were kept, and lengths do not pile up at a limit")
        return _CUT.finding(
            "look", f"no texts were kept, but {piled}", Estimate(None, reason=piled)
        )
    cut = [
        (run, audited, slot, why) for run, audited, slot, text in texts if (why := cut_off(text))
    ]
    sentence = f"an end is missing in {part(len(cut), len(texts), 'text')} on a ballot"
    if cut:
        run, audited, slot, why = cut[0]
        sentence += f", such as {slot} of pass {audited.number} of {run.name}: {why}"
        whole = _fully_cut_panels([(run.name, audited) for run, audited, _, _ in cut])
        sentence += f"; in {many(whole, 'panel')} every text is cut off" if whole else ""
    truncated = sum(run.calls.truncated for run in runs if run.calls)
    if truncated:
        sentence += f"; the output limit cut {many(truncated, 'reply', 'replies')} off before that"
    number = share(len(cut), len(texts))
    level = share_level(number, 0.0, 0.05)
    if piled:
        level, sentence = (
            ("look" if level == "fine" else level),
            f"{sentence}; where no texts were kept, {piled}",
        )
    return _CUT.finding(level, sentence, number)


def _fully_cut_panels(cut_texts: list[tuple[str, AuditedPass]]) -> int:
    """Panels none of whose texts is whole."""
    by_pass = {(name, audited.number): audited for name, audited in cut_texts}
    times = Counter((name, audited.number) for name, audited in cut_texts)
    return sum(times[key] == len(audited.texts) for key, audited in by_pass.items())


def _piled_up(runs: Iterable[AuditedRun]) -> str:
    """Without texts, lengths that pile up at the longest are the only trace of a limit."""
    piled = []
    for run in runs:
        words = [
            count for audited in run.passes for slot, count in audited.words.items() if slot != "A"
        ]
        near = sum(count >= (1 - _PILE) * max(words) > 0 for count in words)
        if len(words) >= _MIN_TEXTS and near >= _PILE_SHARE * len(words):
            piled.append(
                (run, f"{near} of {len(words)} in {run.name} (up to {max(words):,} words)")
            )
    if not piled:
        return ""
    return (
        f"lengths of {number_of(run for run, _ in piled)} pile up within 10 % of the longest, as if cut at a "
        f"limit: {listed((each for _, each in piled), 3, '; ')}"
    )


def leaks(runs: Runs) -> AuditFinding:
    """Candidates that mention how they were written."""
    leaks_by_slot: dict[str, list[bool]] = {"B": [], "AB": []}
    example = ""
    for run, _, slot, text in _candidates(runs):
        kind = "B" if is_revision(slot) else slot
        if kind in leaks_by_slot:
            passages = find_leaks(text, *run.allowed)
            leaks_by_slot[kind].append(bool(passages))
            example = example or (passages[0] if passages else "")
    every = [leaking for each in leaks_by_slot.values() for leaking in each]
    if not every:
        return _LEAKS.unknown("no texts were kept")
    number = share(sum(every), len(every))
    if not any(every):
        return _LEAKS.finding(
            "fine", f"none of {many(len(every), 'challenger')} gives itself away", number
        )
    parts = [
        part(sum(each), len(each), noun, plural)
        for each, noun, plural in (
            (leaks_by_slot["B"], "revision", "revisions"),
            (leaks_by_slot["AB"], "synthesis", "syntheses"),
        )
        if each
    ]
    sentence = f"{' and '.join(parts)} mention how they were written, such as “{example[:60]}”"
    return _LEAKS.finding(share_level(number, 0.0, 0.05), sentence, number)


def clones(runs: Runs) -> AuditFinding:
    """Candidates on one ballot that are the same text."""
    passes = [(run, audited) for run in runs for audited in run.passes if audited.panel]
    if not passes:
        return _CLONES.unknown("there was no panel")
    judged = [
        f"pass {audited.number} of {run.name}" for run, audited in passes if _has_clone(audited)
    ]
    dropped = sum(reason == "clone" for _, audited in passes for _, reason in audited.dropped)
    number = share(len(judged), len(passes))
    sentence = f"{part(len(judged), len(passes), 'panel')} judged a text against its own clone"
    if judged:
        return _CLONES.finding("alarm", f"{sentence}: {listed(judged)}", number)
    if dropped:
        sentence += f"; {many(dropped, 'clone')} kept off the ballot"
    if not any(audited.texts for _, audited in passes):
        return _CLONES.unknown("no texts were kept, and the record names no clones")
    return _CLONES.finding("fine", sentence, number)


def _has_clone(audited: AuditedPass) -> bool:
    on_ballot = audited.panel.candidates if audited.panel else ()
    texts = [audited.texts[slot] for slot in on_ballot if slot in audited.texts]
    return bool(audited.clones) or any(same_text(a, b) for a, b in combinations(texts, 2))


def contract(runs: Runs) -> AuditFinding:
    """Texts that break the limits of their task."""
    with_limits = [run for run in runs if run.contract and not run.contract.empty and run.last]
    if not with_limits:
        return _CONTRACT.unknown(
            "no text was kept that was written under limits that code can check"
        )
    broken = {
        run.name: run.contract.violations(run.last)[0].message
        for run in with_limits
        if run.contract and run.last and run.contract.violations(run.last)
    }
    judged = [
        bool(run.contract and run.contract.violations(text))
        for run, _, slot, text in _candidates(with_limits)
        if slot != "A"
    ]
    sentence = (
        f"limits of the task are broken in {part(len(broken), len(with_limits), 'text')} delivered"
    )
    if broken:
        sentence += f" ({listed(f'{name}: {why}' for name, why in broken.items())})"
    if any(judged):
        sentence += f", and in {part(sum(judged), len(judged), 'challenger')} that went to a panel"
    level: Level = "alarm" if broken else "look" if any(judged) else "fine"
    return _CONTRACT.finding(level, sentence, share(len(broken), len(with_limits)))


def length_swings(runs: Runs) -> AuditFinding:
    """How often the incumbent turns from growing to shrinking and back."""
    turns = chances = 0
    for run in runs:
        lengths = list(_incumbent_lengths(run))
        moves = [
            after - before
            for before, after in pairwise(lengths)
            if abs(after - before) > _SWING * before
        ]
        turns += sum((one > 0) != (other > 0) for one, other in pairwise(moves))
        chances += max(0, len(moves) - 1)
    if not chances:
        return _LENGTHS.unknown("no text changed its length by a tenth twice")
    sentence = (
        f"of {many(chances, 'change')} in length by a tenth or more that followed another, "
        f"{turns} went the other way ({percent(turns / chances)})"
    )
    level: Level = "look" if turns > 0.5 * chances and chances >= 3 else "fine"
    return _LENGTHS.finding(level, sentence, share(turns, chances))


def drift(runs: Runs) -> AuditFinding:
    """How far the text delivered is from the first draft, in words and in length."""
    growth = [(run, ratio) for run in runs if (ratio := _growth(run)) is not None]
    kept = [(run, share_kept(run.first, run.last)) for run in runs if run.first and run.last]
    shares_kept = [each for _, each in kept]
    if not growth:
        return _DRIFT.unknown("neither texts nor their lengths were kept")
    mean = fmean(ratio for _, ratio in growth)
    over = f" on average over {number_of(run for run, _ in growth)}" if len(growth) > 1 else ""
    sentence = f"the text at the end has {percent(mean)} of the first draft's length{over}"
    if shares_kept:
        where = (
            f" in the {number_of(run for run, _ in kept)} whose texts were kept"
            if len(kept) < len(growth)
            else ""
        )
        sentence += f" and keeps {percent(fmean(shares_kept))} of its wording{where} (runs of {_SHINGLE} words)"
    level: Level = "look" if has_drifted(mean, fmean(shares_kept or [1.0])) else "fine"
    return _DRIFT.finding(level, sentence, Estimate(mean, n=len(growth)))


def has_drifted(growth: float, kept: float | None) -> bool:
    """Whether a text is far from its draft: half as long again, half as long, or in other words altogether."""
    return not 0.5 <= growth <= 1.5 or (kept is not None and kept < 0.1)


def critics(runs: Runs) -> AuditFinding:
    """Whether a critic ever found nothing, and how often a quote was invented."""
    passes = [audited for run in runs for audited in run.passes]
    verdicts = [audited.no_problem for audited in passes if audited.no_problem is not None]
    quotes = sum(audited.quotes or 0 for audited in passes)
    invented = sum(audited.false_quotes or 0 for audited in passes)
    if not verdicts:
        lengths = [audited.critique_words for audited in passes if audited.critique_words]
        if not lengths:
            return _CRITICS.unknown("no critique was kept")
        sentence = (
            f"no critique was kept, but the shortest of {len(lengths):,} has "
            f"{many(min(lengths), 'word')}: none found nothing"
        )
        return _CRITICS.finding(
            "look" if min(lengths) > 40 else "fine", sentence, share(0, len(lengths))
        )
    sentence = f"{part(sum(verdicts), len(verdicts), 'critique')} found nothing to fix"
    if quotes:
        sentence += f"; critics invented {part(invented, quotes, 'quote')}"
    often_invented = quotes > 0 and invented > 0.2 * quotes
    level: Level = (
        "look" if often_invented or (len(verdicts) >= 5 and not any(verdicts)) else "fine"
    )
    return _CRITICS.finding(level, sentence, share(sum(verdicts), len(verdicts)))


def _candidates(runs: Runs) -> Iterator[tuple[AuditedRun, AuditedPass, str, str]]:
    for run in runs:
        for audited in run.passes:
            if audited.panel:
                for slot in audited.panel.candidates:
                    if slot in audited.texts:
                        yield run, audited, slot, audited.texts[slot]


def _incumbent_lengths(run: AuditedRun) -> Iterator[int]:
    """Lengths of the incumbent, each time it changed."""
    first = True
    for audited in run.passes:
        if first and "A" in audited.words:
            yield audited.words["A"]
            first = False
        if audited.winner not in (None, "A") and audited.winner in audited.words:
            yield audited.words[audited.winner]


def _growth(run: AuditedRun) -> float | None:
    """The length of the text delivered over that of the draft; without texts, that of the last incumbent."""
    if run.first and run.last:
        return count_words(run.last) / count_words(run.first)
    lengths = list(_incumbent_lengths(run))
    return lengths[-1] / lengths[0] if len(lengths) > 1 and lengths[0] else None


def share_kept(first: str, last: str) -> float:
    """The share of the first text's runs of words that are in the last."""
    if count_words(first) < _SHINGLE:
        return float(same_text(first, last))
    before, after = _shingles(first), _shingles(last)
    return len(before & after) / len(before)


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = text.casefold().split()
    return set(zip(*(words[at:] for at in range(_SHINGLE)), strict=False))
