"""Questions about what was written: leaking, in breach, growing, drifting; the critics; programs; and the calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from statistics import fmean, median

from autoreason.contract import count_words
from autoreason.events import RunPaused, RunResumed
from autoreason.exchange import Outcome
from autoreason.parsing.documents import find_leaks, same_text
from autoreason.programs.events import examined_in
from autoreason.programs.source import same_program
from autoreason.report.numbers import percent
from autoreason.stats import Estimate
from autoreason.stats.shares import share
from autoreason.studies.audit.audited_run import AuditedRun, Runs
from autoreason.studies.audit.findings import (
    Answer,
    Found,
    Level,
    listed,
    many,
    part,
    question,
    share_level,
)
from autoreason.tournament.voting import is_revision

_SWING = 0.1
_SHINGLE = 3
_FEW, _MANY = 0.05, 0.2
_FIRST_STAGES = ("draft", "attempt/")
"""Stages that write a program without knowing another."""
_LONG, _UNUSUAL = 600.0, 20.0


def _challengers(runs: Runs) -> Iterator[tuple[AuditedRun, str, str]]:
    """Texts other than A that went to a panel, with their run and slot."""
    for run in runs:
        for audited in run.passes:
            for slot in audited.panel.candidates if audited.panel else ():
                if slot != "A":
                    yield run, slot, audited.texts[slot]


@question(
    "texts",
    "leaks",
    "no candidate mentions how it was written, else judging is not blind",
    "let authors send notes apart from the text, and send texts that give themselves away back",
)
def leaks(runs: Runs) -> Answer:
    """Candidates that mention how they were written."""
    leaking: dict[str, list[bool]] = {"revision": [], "synthesis": []}
    example = ""
    for run, slot, text in _challengers(runs):
        # What the task says itself gives nothing away.
        passages = find_leaks(text, run.task.brief, run.task.facts or "", run.task.draft or "")
        leaking["revision" if is_revision(slot) else "synthesis"].append(bool(passages))
        example = example or (passages[0] if passages else "")
    every = [each for kind in leaking.values() for each in kind]
    if not every:
        return "no texts were kept"
    number = share(sum(every), len(every))
    if not any(every):
        return Found("fine", f"none of {many(len(every), 'challenger')} gives itself away", number)
    plural = {"revision": "revisions", "synthesis": "syntheses"}
    parts = [part(sum(e), len(e), noun, plural[noun]) for noun, e in leaking.items() if e]
    sentence = f"{' and '.join(parts)} mention how they were written, such as “{example[:60]}”"
    return Found(share_level(number, 0.0, 0.05), sentence, number)


@question(
    "texts",
    "contract",
    "the text delivered keeps every limit of the task",
    "read these texts; loosen a limit that asks too much, or write more drafts or with a stronger model",
)
def contract(runs: Runs) -> Answer:
    """Texts that break the limits of their task; those that came with it were not written under them."""
    written = [run for run in runs if not run.programs and not run.task.entries and run.last]
    limited = [run for run in written if not run.task.contract.empty]
    if not limited:
        return "no text was kept that was written under limits that code can check"
    broken = {
        run.name: found[0].message
        for run in limited
        if (found := run.task.contract.violations(run.last or ""))
    }
    judged = [bool(run.task.contract.violations(text)) for run, _, text in _challengers(limited)]
    sentence = (
        f"limits of the task are broken in {part(len(broken), len(limited), 'text')} delivered"
    )
    if broken:
        sentence += f" ({listed(f'{name}: {why}' for name, why in broken.items())})"
    if any(judged):
        sentence += f", and in {part(sum(judged), len(judged), 'challenger')} that went to a panel"
    level: Level = "alarm" if broken else "look" if any(judged) else "fine"
    return Found(level, sentence, share(len(broken), len(limited)))


@question(
    "texts",
    "length swings",
    "length settles as a run goes on",
    "set a word limit: judges who want more and critics who want less take turns",
)
def length_swings(runs: Runs) -> Answer:
    """How often the incumbent turns from growing to shrinking and back."""
    turns = chances = 0
    for run in runs:
        lengths = [each.words["A"] for each in run.passes[:1]]
        lengths += [
            each.words[each.winner] for each in run.passes if each.winner not in (None, "A")
        ]
        steps = [(before, after - before) for before, after in pairwise(lengths)]
        moves = [step for before, step in steps if abs(step) > _SWING * before]
        turns += sum((one > 0) != (other > 0) for one, other in pairwise(moves))
        chances += max(0, len(moves) - 1)
    if not chances:
        return "no text changed its length by a tenth twice"
    sentence = (
        f"of {many(chances, 'change')} in length by a tenth or more that followed another, "
        f"{turns} went the other way ({percent(turns / chances)})"
    )
    level: Level = "look" if turns > 0.5 * chances and chances >= 3 else "fine"
    return Found(level, sentence, share(turns, chances))


@question(
    "texts",
    "drift",
    "a better text keeps a good part of the first draft and much of its length",
    "compare the last text with the first: is it still what was asked for?",
)
def drift(runs: Runs) -> Answer:
    """How far the text delivered is from the first draft, in words and in length."""
    both = [(run.first, run.last) for run in runs if run.first and run.last]
    if not both:
        return "neither texts nor their lengths were kept"
    growth = fmean(count_words(last) / count_words(first) for first, last in both)
    kept = fmean(share_kept(first, last) for first, last in both)
    over = f" on average over {many(len(both), 'run')}" if len(both) > 1 else ""
    sentence = (
        f"the text at the end has {percent(growth)} of the first draft's length{over}"
        f" and keeps {percent(kept)} of its wording (runs of {_SHINGLE} words)"
    )
    level: Level = "look" if has_drifted(growth, kept) else "fine"
    return Found(level, sentence, Estimate(growth, n=len(both)))


def has_drifted(growth: float, kept: float | None) -> bool:
    """Whether a text is far from its draft: half as long again, half as long, or in other words altogether."""
    return not 0.5 <= growth <= 1.5 or (kept is not None and kept < 0.1)


def share_kept(first: str, last: str) -> float:
    """The share of the first text's runs of words that are in the last."""
    if count_words(first) < _SHINGLE:
        return float(same_text(first, last))
    before, after = _shingles(first), _shingles(last)
    return len(before & after) / len(before)


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = text.casefold().split()
    return set(zip(*(words[at:] for at in range(_SHINGLE)), strict=False))


@question(
    "texts",
    "critics",
    "a critic of a good text sometimes finds nothing",
    "allow an empty critique and check every quote: a critic that must find something invents it",
)
def critics(runs: Runs) -> Answer:
    """Whether a critic ever found nothing, and how often a quote was invented."""
    passes = [audited.record.critiques for run in runs for audited in run.passes]
    asked = [[each for each in written if each.readable and not each.by_code] for written in passes]
    silent = [not any(each.problems or each.prose for each in found) for found in asked if found]
    if not silent:
        return "no critique was kept"
    every = [each for critiques in asked for each in critiques]
    invented = sum(each.dropped for each in every)
    quotes = invented + sum(p.kind == "quote" for each in every for p in each.problems)
    sentence = f"{part(sum(silent), len(silent), 'critique')} found nothing to fix"
    if quotes:
        sentence += f"; critics invented {part(invented, quotes, 'quote')}"
    often_invented = quotes > 0 and invented > 0.2 * quotes
    level: Level = "look" if often_invented or (len(silent) >= 5 and not any(silent)) else "fine"
    return Found(level, sentence, share(sum(silent), len(silent)))


@question(
    "programs",
    "no program",
    "hardly an answer is without a program",
    "look at such an answer, and say in the prompts that the program comes first, in one block",
)
def no_program(runs: Runs) -> Answer:
    """Complete answers without a program."""
    found = [(examined_in(run.story), _clones(run)) for run in runs if run.programs]
    without = sum(not each.program for examined, _ in found for each in examined)
    answers = sum(len(examined) + clones for examined, clones in found)
    how = "without a program; a second try counts with the first"
    return _share_of(without, answers, "answer", "answers", how)


@question(
    "programs",
    "repeated programs",
    "a repair or a merge is another program than those before",
    "try another model, or attempts of their own: a repair that repeats what failed is a wasted call",
)
def repeated(runs: Runs) -> Answer:
    """Programs derived from earlier ones, by repairs, revisions and merges, that repeat one of them."""
    same = derived = 0
    for run in runs:
        # Within a pass they are kept from being run again.
        same, derived = same + _clones(run), derived + _clones(run)
        before: list[str] = []
        for each in examined_in(run.story):
            if each.program and not each.stage.startswith(_FIRST_STAGES):
                derived += 1
                same += any(same_program(each.program, other) for other in before)
            before.append(each.program)
    return _share_of(same, derived, "repair or merge", "repairs and merges", "repeated")


def _clones(run: AuditedRun) -> int:
    dropped = [drop for each in run.story.passes for drop in each.dropped] if run.programs else []
    return sum(drop.reason == "clone" for drop in dropped)


@question(
    "calls",
    "cut-off replies",
    "hardly a reply is cut off at the output limit",
    "raise the output limit: half a text is none, and it is asked for again",
)
def cut_replies(runs: Runs) -> Answer:
    """Replies that the output limit cut off."""
    outcomes = sum((run.outcomes for run in runs), Counter[Outcome]())
    how = "cut off; every reply counts, second tries too"
    return _share_of(outcomes[Outcome.TRUNCATED], outcomes.total(), "reply", "replies", how)


def _share_of(number: int, total: int, one: str, several: str, how: str) -> Answer:
    if not total:
        return f"there was no {one}"
    value = share(number, total)
    sentence = f"{part(number, total, one, several)} {how}"
    return Found(share_level(value, _FEW, _MANY), sentence, value)


@question(
    "calls",
    "outages",
    "every call is answered in its time",
    "look at these passes one by one: what a failing provider sent is not a result",
)
def outages(runs: Runs) -> Answer:
    """Pauses because a provider failed, gaps that nothing explains, and calls without a text."""
    if not any(run.events for run in runs):
        return "neither times nor calls were kept"
    notes = [f"{run.name}: {note}" for run in runs for note in _pauses(run)]
    if unanswered := sum(run.unanswered for run in runs):
        notes.append(f"{many(unanswered, 'call')} never answered")
    empty = sum(run.outcomes[Outcome.REFUSED] + run.outcomes[Outcome.EMPTY] for run in runs)
    if empty:
        notes.append(f"{many(empty, 'reply', 'replies')} refused or empty")
    number = Estimate(float(len(notes)))
    if not notes:
        return Found("fine", "no pause, no gap, no pass that took far longer than others", number)
    return Found("look", listed(notes, 4, "; "), number)


def _pauses(run: AuditedRun) -> Iterator[str]:
    for recorded in run.events:
        if isinstance(recorded.event, RunPaused) and recorded.event.status.endswith("_failed"):
            yield f"paused, {recorded.event.reason}"
    # While a run is paused or killed nothing is expected to happen.
    waits = [
        (after.at - before.at).total_seconds()
        for before, after in pairwise(run.events)
        if not isinstance(after.event, RunResumed)
    ]
    usual = median(waits) if waits else 0.0
    for wait in waits:
        if wait > max(_LONG, _UNUSUAL * usual):
            yield f"nothing happened for {wait / 60:.0f} minutes"
