"""Looks at the stopping: is survival more than luck, do fresh texts win for being fresh, did anything break?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import fmean, median

from autoreason.audit.findings import Finding, Level, Topic, likely, listed, many, part, percent
from autoreason.audit.record import AuditedPass, AuditedRun, Panel
from autoreason.audit.strata import Table, compare
from autoreason.stats.results import Estimate
from autoreason.stats.shares import share, sign_test
from autoreason.tournament.evidence import chance_of_survival, survival_tail
from autoreason.tournament.voting import RULES

Runs = Sequence[AuditedRun]

_SURVIVAL = Topic(
    "survival",
    "stopping",
    "A survives more often than judges ranking at random would let it",
    "do not take convergence for quality: compare the last text with the first in a playoff",
)
_STREAKS = Topic(
    "streaks",
    "stopping",
    "A survives more often right after a survival: then a streak means something",
    "ask for evidence with every stop; a streak that a coin could throw is none",
)
_CONVERGENCE = Topic(
    "convergence",
    "stopping",
    "a run converges on panels that voted and put A clearly first",
    "hold more passes: a tie or an empty panel has confirmed nothing",
)
_NOVELTY = Topic(
    "novelty",
    "stopping",
    "a winner keeps 2.0 points a ballot or more when it stands as A",
    "hold a playoff over all texts that reigned: winning once for being new does not add up",
)
_PLAYOFF = Topic(
    "playoff",
    "stopping",
    "most judges of a final panel prefer the delivered text to the first draft",
    "deliver the first draft, or hold a larger playoff before anybody relies on the text",
)
_OUTAGES = Topic(
    "outages",
    "stopping",
    "every call is answered in its time",
    "look at these passes one by one: what a failing provider sent is not a result",
)
_ALPHA, _SURE = 0.05, 0.01
"""What counts as more than chance, and what it takes to raise an alarm: there are many looks."""
_WORTH_SEEING = 0.1
"""A lead in the share of survivals that would mean something, if it were real."""
_FEW = 30
_LONG, _UNUSUAL = 600.0, 8.0


def survival(runs: Runs) -> Finding:
    """How often A survived, against what judges ranking at random give."""
    chances, survived = [], 0
    for panel in _panels_with_a(runs):
        if panel.valid and panel.winner and panel.rule in RULES:
            chances.append(chance_of_survival(panel.valid, len(panel.candidates), panel.rule))
            survived += panel.winner == "A"
    if not chances:
        return _SURVIVAL.unknown("no panel that decided was kept with its ballots")
    more = survival_tail(survived, chances)
    less = 1 - survival_tail(survived + 1, chances)
    said = (
        f"A survived {part(survived, len(chances), 'panel')}; "
        f"judges ranking at random would keep it in {sum(chances):.0f}"
    )
    level: Level = "fine" if more < _ALPHA else "look"
    if less < _SURE:
        level = "alarm"
        said += f", so that standing as A was a handicap ({likely(less)})"
    else:
        said += f" ({likely(more)} for as many or more)"
    return _SURVIVAL.found(level, said, share(survived, len(chances)), min(more, less))


def streaks(runs: Runs) -> Finding:
    """Whether A survives more often right after a survival than otherwise."""
    tables = _steps(runs)
    after = sum(sum(row) for row, _ in tables)
    if not after or not sum(sum(row) for _, row in tables):
        return _STREAKS.unknown("needs passes after a survival and after a defeat of A")
    compared = compare(tables)
    p = _exact(tables[0]) if len(tables) == 1 else compared.p
    yes, others = compared.observed, sum(row[0] for _, row in tables)
    steps = sum(sum(row) for _, row in tables)
    said = (
        f"A survived {percent(yes / after)} of {many(after, 'pass', 'passes')} right after a survival "
        f"and {percent(others / steps)} of {steps:,} others"
    )
    if p is None:
        return _STREAKS.found("look", f"{said}; that says nothing yet", share(yes, after))
    if len(tables) > 1:
        said += (
            f"; among runs held alike {compared.expected:.1f} of the {yes} would come of themselves"
        )
    luck = p >= _ALPHA or yes <= compared.expected
    said += f", no more than coin flips give ({likely(p)})" if luck else f" ({likely(p)})"
    # Too little data to see an effect is no sign that there is none.
    unseen = after + steps < _FEW or (yes - compared.expected) / after > _WORTH_SEEING
    level: Level = "fine" if not luck else "look" if unseen else "alarm"
    return _STREAKS.found(level, said, share(yes, after), p)


def _steps(runs: Runs) -> list[Table]:
    """From pass to pass, by the way runs were held: A after A, and A after another."""
    tables: defaultdict[tuple[str, str], list[list[int]]] = defaultdict(lambda: [[0, 0], [0, 0]])
    for run in runs:
        decided = [held for held in run.passes if held.winner and held.panel]
        for before, now in pairwise(decided):
            way = run.group, now.panel.judge if now.panel else ""
            tables[way][before.winner != "A"][now.winner != "A"] += 1
    return [((a, b), (c, d)) for (a, b), (c, d) in tables.values()]


def _exact(table: Table) -> float | None:
    """Fisher's test, for a single group that may be small."""
    from autoreason.stats.position import streakiness

    steps = [
        [before == 0, now == 0]
        for before, row in enumerate(table)
        for now, times in enumerate(row)
        for _ in range(times)
    ]
    return streakiness(steps).test.p


def convergence(runs: Runs) -> Finding:
    """Runs that converged, and on what."""
    known = [run for run in runs if run.converged is not None]
    converged = [run for run in known if run.converged]
    if not converged:
        if not known:
            return _CONVERGENCE.unknown("the record does not say how runs ended")
        who = (
            "the run did not converge"
            if len(known) == 1
            else f"none of {len(known)} runs converged"
        )
        said = f"{who}, so nothing rests on a streak"
        return _CONVERGENCE.found("fine", said, Estimate(None, n=0, reason="no run converged"))
    empty = [run for run in converged if any(_empty(held) for held in _last(run))]
    tied = [run for run in converged if any(held.panel and held.panel.tied for held in _last(run))]
    resting = [run for run in converged if run in empty or run in tied]
    number = share(len(resting), len(converged))
    if not resting:
        said = f"none of {many(len(converged), 'convergence')} rests on a tie or an empty panel"
        return _CONVERGENCE.found("fine", said, number)
    said = f"{part(len(resting), len(converged), 'convergence')} rest on a tie or an empty panel"
    if empty:
        said += f", {len(empty)} of them on an empty one"
    names = listed(run.name for run in resting)
    level: Level = "alarm" if empty or len(resting) > 0.2 * len(converged) else "look"
    return _CONVERGENCE.found(level, f"{said}: {names}", number)


def _last(run: AuditedRun) -> tuple[AuditedPass, ...]:
    return run.passes[-(run.k or 1) :]


def _empty(held: AuditedPass) -> bool:
    return bool(held.panel and held.panel.valid == 0)


def novelty(runs: Runs) -> Finding:
    """What a challenger that won scores one pass later, when it is the text that stands."""
    fresh: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for run in runs:
        for before, now in pairwise(run.passes):
            if before.winner not in ("B", "AB"):
                continue
            won, stood = _points(before.panel, before.winner), _points(now.panel, "A")
            if won is not None and stood is not None and now.panel:
                fresh[now.panel.judge].append((won, stood))
    every = [pair for pairs in fresh.values() for pair in pairs]
    if not every:
        return _NOVELTY.unknown("no challenger won and was then judged as A by points")
    won, stood = (fmean(column) for column in zip(*every, strict=True))
    said = (
        f"a fresh winner has {won:.1f} points a ballot and {stood:.1f} one pass later "
        f"({many(len(every), 'winner')})"
    )
    if len(fresh) > 1:
        by_judge = sorted(fresh.items(), key=lambda item: -len(item[1]))
        said += ": " + listed(
            f"{fmean(s for _, s in pairs):.1f} by {who}" for who, pairs in by_judge
        )
    above, below = sum(s > 2 for _, s in every), sum(s < 2 for _, s in every)
    p = sign_test(above, below).p
    level: Level = "fine" if stood >= 2 else "look"
    if stood < 2 and p is not None and p < _ALPHA:
        level = "alarm" if p < _SURE else "look"
        said += f"; judges who ranked at random would give it 2.0 ({likely(p)})"
    return _NOVELTY.found(level, said, Estimate(stood - won, n=len(every)), p)


def _points(panel: Panel | None, name: str) -> float | None:
    """Points a ballot of three texts; None under another rule."""
    if not panel or panel.rule != "borda" or len(panel.candidates) != 3:
        return None
    if not panel.valid or not panel.scores or name not in panel.scores:
        return None
    return panel.scores[name] / panel.valid


def playoff(runs: Runs) -> Finding:
    """Whether anybody compared what was delivered with the first draft."""
    held = [run.preferred for run in runs if run.preferred]
    if not held:
        return _PLAYOFF.unknown("no playoff compared a delivered text with its first draft")
    prefer, judges = (sum(column) for column in zip(*held, strict=True))
    number = share(prefer, judges)
    said = f"{part(prefer, judges, 'judge')} prefer the delivered text to the first draft"
    sure = (number.low or 0) > 0.5
    level: Level = "fine" if sure else "alarm" if (number.high or 1) < 0.5 else "look"
    if not sure:
        said += (
            "; they prefer the draft" if level == "alarm" else "; an even split is not ruled out"
        )
    return _PLAYOFF.found(level, said, number)


def outages(runs: Runs) -> Finding:
    """Pauses for want of a provider, gaps, and passes that took far longer than the others."""
    noted = [f"{run.name}: {note}" for run in runs for note in (*(run.outages or ()), *_slow(run))]
    timed = any(run.outages is not None for run in runs) or any(
        held.seconds is not None for run in runs for held in run.passes
    )
    calls = [run.calls for run in runs if run.calls]
    lost = sum(call.unanswered for call in calls)
    if not timed and not calls:
        return _OUTAGES.unknown("neither times nor calls were kept")
    if lost:
        noted.append(f"{many(lost, 'call')} never answered")
    silent = sum(call.refused + call.empty for call in calls)
    if silent:
        noted.append(f"{many(silent, 'reply', 'replies')} refused or empty")
    if not noted:
        return _OUTAGES.found(
            "fine", "no pause, no gap, no pass that took far longer than others", 0
        )
    return _OUTAGES.found("look", listed(noted, 4, "; "), len(noted))


def _slow(run: AuditedRun) -> Iterator[str]:
    times = [held.seconds for held in run.passes if held.seconds is not None]
    usual = max(1.0, median(times)) if times else 1.0
    for held in run.passes:
        if held.seconds and held.seconds > max(_LONG, _UNUSUAL * usual):
            yield f"pass {held.number} took {held.seconds / usual:.0f} times as long as usual"


def _panels_with_a(runs: Runs) -> Iterator[Panel]:
    return (
        held.panel
        for run in runs
        for held in run.passes
        if held.panel and "A" in held.panel.candidates and len(held.panel.candidates) > 1
    )
