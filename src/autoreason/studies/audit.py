"""The audit: every question about some runs; those about what was written, the programs and the calls are here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import fmean, median

from msgspec import Struct

from autoreason.contract import count_words
from autoreason.errors import InvalidInput
from autoreason.events import RunPaused, RunResumed
from autoreason.exchange import Outcome
from autoreason.parsing.documents import WORDS_IN_A_ROW, find_leaks, share_kept
from autoreason.programs.events import examined_in
from autoreason.programs.examination import same_program
from autoreason.report.numbers import count, percent
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, Tone, words
from autoreason.stats import Estimate
from autoreason.stats.shares import share
from autoreason.studies.audit_findings import (
    GROUPS,
    LEVELS,
    AuditAnswer,
    AuditCheck,
    AuditedRun,
    AuditFinding,
    Found,
    Runs,
    Severity,
    find,
    listed,
    many,
    panels_of,
    part,
    question,
    share_level,
)
from autoreason.studies.audit_panels import OF_PANELS
from autoreason.tournament.voting import is_revision

_FIRST_STAGES = ("draft", "attempt/")
"""Stages that write a program without knowing another."""
_LONG, _UNUSUAL = 600.0, 20.0


def _challengers(runs: Runs) -> Iterator[tuple[AuditedRun, str, str]]:
    """Texts other than A that went to a panel or took its place unseen, with their run and slot."""
    for run in runs:
        for audited in run.passes:
            for slot in audited.panel.candidates if audited.panel else [audited.winner]:
                if slot not in (None, "A"):
                    yield run, slot, audited.texts[slot]


@question(
    "texts",
    "no candidate mentions how it was written, else judging is not blind",
    "let authors send notes apart from the text, and send back texts that mention how they were written",
)
def leaks(runs: Runs) -> AuditAnswer:
    leaking: dict[bool, list[str]] = {True: [], False: []}
    for run, slot, text in _challengers(runs):
        # What the task says itself gives nothing away.
        passages = find_leaks(text, run.task.brief, run.task.facts or "", run.task.draft or "")
        leaking[is_revision(slot)].append(passages[0] if passages else "")
    every = [each for kind in leaking.values() for each in kind]
    if not every:
        return "no text but the first draft was kept"
    number = share(sum(map(bool, every)), len(every))
    if not any(every):
        return Found("fine", f"no leak in {many(len(every), 'challenger')}", number)
    nouns = {True: ("revision", "revisions"), False: ("synthesis", "syntheses")}
    parts = [part(sum(map(bool, e)), len(e), *nouns[kind]) for kind, e in leaking.items() if e]
    example = next(filter(None, every))[:60]
    sentence = f"{' and '.join(parts)} mention how they were written, such as “{example}”"
    return Found(share_level(number, 0.0, 0.05), sentence, number)


@question(
    "texts",
    "the text delivered keeps every limit of the task",
    "read these texts; loosen a limit that asks too much, or write more drafts or with a stronger model",
)
def contract(runs: Runs) -> AuditAnswer:
    """Texts that break the limits of their task; those that came with it were not written under them."""
    written = [run for run in runs if not run.programs and not run.task.entries and run.last]
    limited = [run for run in written if run.task.limited]
    if not limited:
        return "no text was kept that was written under limits that code can check"
    violations = [(run.name, run.task.violations(run.last or "")) for run in limited]
    broken = [f"{name}: {found[0].message}" for name, found in violations if found]
    judged = [bool(run.task.violations(text)) for run, _, text in _challengers(limited)]
    texts = part(len(broken), len(limited), "text")
    sentence = f"limits of the task are broken in {texts} delivered"
    sentence += f" ({listed(broken)})" if broken else ""
    if any(judged):
        sentence += f", and in {part(sum(judged), len(judged), 'challenger')}"
    level: Severity = "alarm" if broken else "check" if any(judged) else "fine"
    return Found(level, sentence, share(len(broken), len(limited)))


@question(
    "texts",
    "a better text keeps a good part of the first draft and much of its length",
    "compare the last text with the first: is it still what was asked for?",
)
def drift(runs: Runs) -> AuditAnswer:
    both = [(run.first, run.last) for run in runs if run.first and run.last]
    if not both:
        return "neither texts nor their lengths were kept"
    growth = fmean(count_words(last) / count_words(first) for first, last in both)
    kept = fmean(share_kept(first, last) for first, last in both)
    over = f" on average over {many(len(both), 'run')}" if len(both) > 1 else ""
    sentence = (
        f"the text at the end has {percent(growth)} of the first draft's length{over}"
        f" and keeps {percent(kept)} of its wording (runs of {WORDS_IN_A_ROW} words)"
    )
    level: Severity = "check" if has_drifted(growth, kept) else "fine"
    return Found(level, sentence, Estimate(growth, n=len(both)))


def has_drifted(growth: float, kept: float | None) -> bool:
    """Whether a text is far from its draft: half as long again, half as long, or in other words altogether."""
    return not 0.5 <= growth <= 1.5 or (kept is not None and kept < 0.1)


@question(
    "texts",
    "a critic of a good text sometimes finds nothing",
    "read some of these faults: a critic that always finds one may invent it; try another (--critic-model)",
)
def critics(runs: Runs) -> AuditAnswer:
    passes = [audited.record.critiques for run in runs for audited in run.passes]
    asked = [[each for each in written if each.readable and not each.by_code] for written in passes]
    silent = [not any(e.problems or e.prose or e.dropped for e in each) for each in asked if each]
    if not silent:
        return "no critique was kept"
    every = [each for critiques in asked for each in critiques]
    invented = sum(each.dropped for each in every)
    quotes = invented + sum(p.kind == "quote" for each in every for p in each.problems)
    sentence = f"{part(sum(silent), len(silent), 'critique')} found nothing to fix"
    if quotes:
        sentence += f"; critics invented {part(invented, quotes, 'quote')}"
    often_invented = quotes > 0 and invented > 0.2 * quotes
    level: Severity = (
        "check" if often_invented or (len(silent) >= 5 and not any(silent)) else "fine"
    )
    return Found(level, sentence, share(sum(silent), len(silent)))


@question(
    "programs",
    "a repair or a merge is another program than those before",
    "try another model, or attempts of their own: a repair that repeats what failed is a wasted call",
)
def repeated_programs(runs: Runs) -> AuditAnswer:
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
    "hardly a reply is cut off at the output limit",
    "raise the output limit: half a text is none, and it is asked for again",
)
def cut_off_replies(runs: Runs) -> AuditAnswer:
    outcomes = sum((run.outcomes for run in runs), Counter[Outcome]())
    how = "cut off; every reply counts, second tries too"
    return _share_of(outcomes[Outcome.TRUNCATED], outcomes.total(), "reply", "replies", how)


def _share_of(number: int, total: int, one: str, several: str, how: str) -> AuditAnswer:
    if not total:
        return f"there was no {one}"
    value = share(number, total)
    sentence = f"{part(number, total, one, several)} {how}"
    return Found(share_level(value, 0.05, 0.2), sentence, value)


@question(
    "calls",
    "every call is answered in its time",
    "look at these passes one by one: what a failing provider sent is not a result",
)
def outages(runs: Runs) -> AuditAnswer:
    if not any(run.events for run in runs):
        return "neither times nor calls were kept"
    notes = [f"{run.name}: {note}" for run in runs for note in _pauses(run)]
    if unanswered := sum(run.unanswered for run in runs):
        notes.append(f"{many(unanswered, 'call')} never answered")
    if empty := sum(run.outcomes[Outcome.REFUSED] + run.outcomes[Outcome.EMPTY] for run in runs):
        notes.append(f"{many(empty, 'reply', 'replies')} refused or empty")
    said = listed(notes, 4, "; ") or "no pause, no gap, no pass that took far longer than others"
    return Found("check" if notes else "fine", said, Estimate(float(len(notes))))


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


QUESTIONS: tuple[AuditCheck, ...] = (
    *OF_PANELS,
    *(leaks, contract, drift, critics),
    repeated_programs,
    *(outages, cut_off_replies),
)

_TONES: dict[str, Tone] = {"alarm": "bad", "check": "warning", "fine": "good", "unknown": "muted"}


class Audit(Report, Struct, frozen=True, kw_only=True):
    """The findings about some runs, with a conclusion."""

    runs: int
    passes: int
    panels: int
    ballots: int | None
    """Valid ballots; None where there was no panel."""
    tested: int
    """Questions that were put to a test; their p-values are corrected for that (Holm 1979)."""
    conclusion: str
    findings: tuple[AuditFinding, ...]

    heading = "An audit"

    def sections(self) -> list[Section]:
        size = [count(self.runs, "run"), count(self.passes, "pass", "passes")]
        size += [count(self.panels, "panel")]
        size += [] if self.ballots is None else [count(self.ballots, "valid ballot")]
        sections = [Section(sentences=[("", f"{', '.join(size)}.")])]
        for group in GROUPS:
            found = [finding for finding in self.findings if finding.group == group]
            found.sort(key=lambda finding: LEVELS.index(finding.level))
            # Where it is not fine, also what is normal and what to do.
            more = [(f"normal: {e.normal}", f"do: {e.fix}") if e.fix else () for e in found]
            rows = [
                (e.level, e.name, (e.statement, *also)) for e, also in zip(found, more, strict=True)
            ]
            table = Table(words("level", "question", "finding"), rows, tones=_TONES, headings=False)
            if rows:
                sections.append(Section(group.capitalize(), tables=[table]))
        if self.tested:
            tested = count(self.tested, "question")
            note = f"Chance was tested in {tested}; p-values are corrected for that (Holm)."
            sections.append(Section(sentences=[("", note)]))
        return sections


def audit_runs(runs: Runs) -> Audit:
    if not runs:
        raise InvalidInput("there is nothing to audit; name a run")
    panels = list(panels_of(runs))
    groups = {"calls"} | {"ballots", "judges"} if panels else {"calls"}
    for run in runs:
        # Where programs are written a panel is the exception.
        groups |= {"programs"} if run.programs else {"ballots", "judges", "stopping", "texts"}
    findings = find([each for each in QUESTIONS if each.group in groups], runs)
    return Audit(
        runs=len(runs),
        passes=sum(len(run.passes) for run in runs),
        panels=len(panels),
        ballots=sum(panel.valid for panel in panels) if panels else None,
        tested=sum(each.p_value_adjusted is not None for each in findings),
        conclusion=conclude(findings),
        findings=findings,
    )


def conclude(findings: Sequence[AuditFinding]) -> str:
    """One sentence: whether the record can be relied on."""
    names = {level: [each.name for each in findings if each.level == level] for level in LEVELS}
    alarms, checks, open_ = names["alarm"], names["check"], len(names["unknown"])
    unknown = f"; {open_} of {len(findings)} questions it cannot answer" if open_ else ""
    if alarms:
        what = "the alarm is" if len(alarms) == 1 else f"{len(alarms)} alarms are"
        before = f"before {what} dealt with: {listed(alarms, 12)}"
        return f"Do not rely on this record {before}{unknown}."
    if checks:
        return f"Nothing alarming, but check {listed(checks, 12)}{unknown}."
    if names["fine"]:
        return f"Nothing speaks against this record{unknown}."
    return "This record says too little about itself to be judged."
