"""Checks what was written: cut off, leaking, cloned, in breach, growing, drifting; the critics; and programs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import combinations, pairwise
from statistics import fmean

from autoreason.contract import count_words
from autoreason.exchange import Outcome
from autoreason.parsing.documents import find_leaks, same_text
from autoreason.programs.events import examined_in
from autoreason.programs.source import same_program
from autoreason.report.numbers import percent
from autoreason.stats.results import Estimate
from autoreason.stats.shares import share
from autoreason.studies.audit.audited_run import AuditedPass, AuditedRun, Runs
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
from autoreason.tournament.candidates import is_revision

_texts = partial(Topic, "texts")
_CUT = _texts(
    "cut-off texts",
    "no text on a ballot ends in mid-sentence",
    "raise the output limit and judge no text that was cut off",
)
_LEAKS = _texts(
    "leaks",
    "no candidate mentions how it was written, else judging is not blind",
    "let authors send notes apart from the text, and send texts that give themselves away back",
)
_CLONES = _texts(
    "clones",
    "no two candidates are the same text",
    "leave a missing candidate missing: a duplicate splits its votes with itself",
)
_CONTRACT = _texts(
    "contract",
    "the text delivered keeps every limit of the task",
    "read these texts; loosen a limit that asks too much, or write more drafts or with a stronger model",
)
_LENGTHS = _texts(
    "length swings",
    "length settles as a run goes on",
    "set a word limit: judges who want more and critics who want less take turns",
)
_DRIFT = _texts(
    "drift",
    "a better text keeps a good part of the first draft and much of its length",
    "compare the last text with the first: is it still what was asked for?",
)
_CRITICS = _texts(
    "critics",
    "a critic of a good text sometimes finds nothing",
    "allow an empty critique and check every quote: a critic that must find something invents it",
)
_SWING = 0.1
_SHINGLE = 3


def cut_texts(runs: Runs) -> AuditFinding:
    """Texts on a ballot whose end is missing."""
    texts = list(_candidates(runs))
    if not texts:
        return _CUT.unknown("no texts were kept")
    cut = [
        (run, audited, slot, why) for run, audited, slot, text in texts if (why := cut_off(text))
    ]
    sentence = f"an end is missing in {part(len(cut), len(texts), 'text')} on a ballot"
    if cut:
        run, audited, slot, why = cut[0]
        sentence += f", such as {slot} of pass {audited.record.number} of {run.name}: {why}"
    truncated = sum(run.outcomes[Outcome.TRUNCATED] for run in runs)
    if truncated:
        sentence += f"; the output limit cut {many(truncated, 'reply', 'replies')} off before that"
    number = share(len(cut), len(texts))
    return _CUT.finding(share_level(number, 0.0, 0.05), sentence, number)


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
        f"pass {audited.record.number} of {run.name}"
        for run, audited in passes
        if _has_clone(audited)
    ]
    dropped = sum(
        each.reason == "clone" for _, audited in passes for each in audited.record.dropped
    )
    number = share(len(judged), len(passes))
    sentence = f"{part(len(judged), len(passes), 'panel')} judged a text against its own clone"
    if judged:
        return _CLONES.finding("alarm", f"{sentence}: {listed(judged)}", number)
    if dropped:
        sentence += f"; {many(dropped, 'clone')} kept off the ballot"
    return _CLONES.finding("fine", sentence, number)


def _has_clone(audited: AuditedPass) -> bool:
    on_ballot = audited.panel.candidates if audited.panel else ()
    return any(
        same_text(audited.texts[one], audited.texts[other])
        for one, other in combinations(on_ballot, 2)
    )


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
    both = [(run, run.first, run.last) for run in runs if run.first and run.last]
    if not both:
        return _DRIFT.unknown("neither texts nor their lengths were kept")
    growth = fmean(count_words(last) / count_words(first) for _, first, last in both)
    kept = fmean(share_kept(first, last) for _, first, last in both)
    over = f" on average over {number_of(run for run, *_ in both)}" if len(both) > 1 else ""
    sentence = (
        f"the text at the end has {percent(growth)} of the first draft's length{over}"
        f" and keeps {percent(kept)} of its wording (runs of {_SHINGLE} words)"
    )
    level: Level = "look" if has_drifted(growth, kept) else "fine"
    return _DRIFT.finding(level, sentence, Estimate(growth, n=len(both)))


def has_drifted(growth: float, kept: float | None) -> bool:
    """Whether a text is far from its draft: half as long again, half as long, or in other words altogether."""
    return not 0.5 <= growth <= 1.5 or (kept is not None and kept < 0.1)


def critics(runs: Runs) -> AuditFinding:
    """Whether a critic ever found nothing, and how often a quote was invented."""
    asked = [
        [each for each in audited.record.critiques if each.readable and not each.by_code]
        for run in runs
        for audited in run.passes
    ]
    silent = [
        not any(each.problems or each.prose for each in critiques)
        for critiques in asked
        if critiques
    ]
    if not silent:
        return _CRITICS.unknown("no critique was kept")
    invented = sum(each.dropped for critiques in asked for each in critiques)
    quotes = invented + sum(
        problem.kind == "quote"
        for critiques in asked
        for each in critiques
        for problem in each.problems
    )
    sentence = f"{part(sum(silent), len(silent), 'critique')} found nothing to fix"
    if quotes:
        sentence += f"; critics invented {part(invented, quotes, 'quote')}"
    often_invented = quotes > 0 and invented > 0.2 * quotes
    level: Level = "look" if often_invented or (len(silent) >= 5 and not any(silent)) else "fine"
    return _CRITICS.finding(level, sentence, share(sum(silent), len(silent)))


def _candidates(runs: Runs) -> Iterator[tuple[AuditedRun, AuditedPass, str, str]]:
    for run in runs:
        for audited in run.passes:
            for slot in audited.panel.candidates if audited.panel else ():
                yield run, audited, slot, audited.texts[slot]


def _incumbent_lengths(run: AuditedRun) -> Iterator[int]:
    """Lengths of the incumbent, each time it changed."""
    for at, audited in enumerate(run.passes):
        if not at:
            yield audited.words["A"]
        if audited.winner not in (None, "A"):
            yield audited.words[audited.winner or ""]


def share_kept(first: str, last: str) -> float:
    """The share of the first text's runs of words that are in the last."""
    if count_words(first) < _SHINGLE:
        return float(same_text(first, last))
    before, after = _shingles(first), _shingles(last)
    return len(before & after) / len(before)


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = text.casefold().split()
    return set(zip(*(words[at:] for at in range(_SHINGLE)), strict=False))


_programs = partial(Topic, "programs")
_CUT_REPLIES = _programs(
    "cut-off replies",
    "hardly a reply is cut off at the output limit",
    "raise the output limit: half a program is none, and it is asked for again",
)
_NO_PROGRAM = _programs(
    "no program",
    "hardly an answer is without a program",
    "look at such an answer, and say in the prompts that the program comes first, in one block",
)
_REPEATED = _programs(
    "repeated programs",
    "a repair or a merge is another program than those before",
    "try another model, or attempts of their own: a repair that repeats what failed is a wasted call",
)
_FEW, _MANY = 0.05, 0.2
_FIRST_STAGES = ("draft", "attempt/")
"""Stages that write a program without knowing another."""


def cut_replies(runs: Runs) -> AuditFinding:
    """Replies that the output limit cut off."""
    outcomes = sum((run.outcomes for run in runs if run.programs), Counter[Outcome]())
    how = ("reply", "replies", "cut off; every reply counts, second tries too")
    return _share_of(_CUT_REPLIES, outcomes[Outcome.TRUNCATED], outcomes.total(), how)


def no_program(runs: Runs) -> AuditFinding:
    """Complete answers without a program."""
    found = [(examined_in(run.story), _clones(run)) for run in runs if run.programs]
    without = sum(not each.program for examined, _ in found for each in examined)
    answers = sum(len(examined) + clones for examined, clones in found)
    how = "without a program; a second try counts with the first"
    return _share_of(_NO_PROGRAM, without, answers, ("answer", "answers", how))


def repeated(runs: Runs) -> AuditFinding:
    """Programs derived from earlier ones, by repairs, revisions and merges, that repeat one of them."""
    same = derived = 0
    for run in runs:
        if not run.programs:
            continue
        # Within a pass they are kept from being run again.
        same, derived = same + _clones(run), derived + _clones(run)
        before: list[str] = []
        for each in examined_in(run.story):
            if each.program and not each.stage.startswith(_FIRST_STAGES):
                derived += 1
                same += any(same_program(each.program, other) for other in before)
            before.append(each.program)
    how = ("repair or merge", "repairs and merges", "repeated")
    return _share_of(_REPEATED, same, derived, how)


def _clones(run: AuditedRun) -> int:
    return sum(drop.reason == "clone" for each in run.story.passes for drop in each.dropped)


def _share_of(topic: Topic, number: int, total: int, what: tuple[str, str, str]) -> AuditFinding:
    one, several, how = what
    if not total:
        return topic.unknown(f"there was no {one}")
    value = share(number, total)
    sentence = f"{part(number, total, one, several)} {how}"
    return topic.finding(share_level(value, _FEW, _MANY), sentence, value)


_FENCE = re.compile(r"^[ \t]*(```|~~~)", re.MULTILINE)
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)]|[a-z][.)]|\[[ x]\]|>)[ \t]+")
_ENDED = re.compile(r"""[.!?:;…。\uff01\uff1f|)\]}>"'”’`*_=~-][\s"'”’)\]*_`]*\Z""")
_OPEN_ENDED = re.compile(
    r"(?:[,(\[{“/&+=$-]|\b(?:a|an|the|and|or|but|of|to|in|on|at|by|for|from|with|without|as|is|are|was|were|be"
    r"|that|which|who|this|these|their|its|our|your|will|would|should|can|may|must|not|into|than|if|when|while"
    r"|because|per|via|each|every|all))\Z",
    re.IGNORECASE,
)
_LINK = re.compile(r"https?://\S+\Z")
_HEADING = re.compile(r"[ \t]*#{1,6}(?:[ \t].*)?\Z")
_EMPTY_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])")
_MARKS = ".,;:!?()[]{}*_`\"'“”‘’"
_END = 40
_PROSE = 8
"""Words of a line that is a sentence rather than a label."""
_ENOUGH = 3
_NEARLY_ALL = 0.75


# The incumbent is on the ballot of every pass.
@lru_cache(maxsize=512)
def cut_off(text: str) -> str:
    """Why a text looks as if its end were missing; empty where it does not."""
    body = text.rstrip()
    if not body:
        return ""
    if len(_FENCE.findall(body)) % 2:
        return "a code block is never closed"
    *before, last = [line.rstrip() for line in body.splitlines() if line.strip()]
    if last.lstrip().startswith("|"):
        return "" if last.endswith("|") else "it ends within a row of a table"
    return _open_ending(last) or ("" if _complete(last) else _odd_ending(before, last))


def _open_ending(last: str) -> str:
    """What the last line begins and does not end."""
    if _HEADING.match(last):
        return "it ends with a heading"
    if _EMPTY_ITEM.fullmatch(last):
        return "it ends with an empty item of a list"
    if last.count("**") % 2:
        return "emphasis is never closed"
    if last.count("(") > last.count(")") or last.count("[") > last.count("]"):
        return "a bracket is never closed"
    # The end alone: from every place of a long line the pattern would be tried in vain.
    if _OPEN_ENDED.search(last[-_END:]) and not _is_rule(last):
        return f"it ends with “{last[-30:].lstrip()}”"
    return ""


def _is_rule(line: str) -> bool:
    return not line.strip(" -=*_")


def _complete(line: str) -> bool:
    return bool(_ENDED.search(line) or _LINK.search(line))


def _odd_ending(before: list[str], last: str) -> str:
    """Whether a last line without a full stop is odd: half a word, or unlike the others of its kind."""
    *_, word = last.split()
    words = {each.strip(_MARKS) for line in before for each in line.split()}
    if word.isalpha() and word.islower() and word not in words:
        longer = sorted(each for each in words if each.startswith(word))
        if longer:
            return f"it ends with “{word}”, perhaps the beginning of “{longer[0]}”"
    item = bool(_ITEM.match(last))
    if not item and count_words(last) < _PROSE:
        return ""
    kind = [
        line for line in before if bool(_ITEM.match(line)) == item and count_words(line) >= _PROSE
    ]
    ended = sum(map(_complete, kind))
    if len(kind) < _ENOUGH or ended < _NEARLY_ALL * len(kind):
        return ""
    what = "items of lists" if item else "paragraphs"
    return f"the last line has no full stop, and {ended} of {len(kind)} {what} have one"
