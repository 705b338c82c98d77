"""Looks at the stopping: is survival more than luck, do fresh texts win for being fresh, did anything break?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import fsum, sqrt
from statistics import fmean, median

from autoreason.stats.results import Estimate
from autoreason.stats.shares import exact_share, share, sign_test
from autoreason.stats.sums import flips, moments, more_than_chance, unlike_chance
from autoreason.studies.audit.chance import (
    MANY_RUNS,
    Course,
    independent,
    pairs_by_chance,
    survivals_by_chance,
)
from autoreason.studies.audit.findings import (
    LEVEL,
    Finding,
    Found,
    Level,
    OpenFinding,
    Topic,
    likely,
    listed,
    many,
    number_of,
    part,
    percent,
)
from autoreason.studies.audit.record import AuditedPass, AuditedRun, Panel
from autoreason.tournament.evidence import chance_of_survival
from autoreason.tournament.voting import BUILT_IN

Runs = Sequence[AuditedRun]

_SURVIVAL = Topic(
    "survival",
    "stopping",
    "A survives more often than judges ranking at random would let it",
    "do not take convergence for quality: let fresh judges compare the last text with the first",
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
    "its judges choose the text to deliver, so what they prefer is no evidence that it is better",
    "deliver the first draft: even the judges who chose the text prefer the draft to it",
)
_CONFIRMATION = Topic(
    "confirmation",
    "stopping",
    "fresh judges, who had no part in choosing it, prefer the delivered text to the first draft",
    "ask more fresh judges before anybody relies on the text, or deliver the first draft",
)
_OUTAGES = Topic(
    "outages",
    "stopping",
    "every call is answered in its time",
    "look at these passes one by one: what a failing provider sent is not a result",
)
_WORTH_SEEING = 0.15
"""A lead in the share of survivals that would mean something, if it were real."""
_ONE_SIDED = 1.645
_FEW = 30
_FADED = 0.1
"""Points a ballot below 2.0 from which a fall is called large."""
_LONG, _UNUSUAL = 600.0, 8.0


def survival(runs: Runs) -> Found:
    """How often A survived, against what judges ranking at random give under the same rule for stopping."""
    chances, parts, leads, survived = [], [], [], 0
    for run in runs:
        decided = [(p.winner == "A", _chance_of_a(p)) for p in _panels_with_a([run]) if _voted(p)]
        if not decided:
            continue
        course = Course.of([won for won, _ in decided], run.k)
        own = [chance for _, chance in decided]
        # A run that converged could have gone on; any other ended where it did.
        passes = max(len(own), run.most or 0) if course.converged else len(own)
        chance = round(fmean(own), 4)
        parts.append(survivals_by_chance(chance, passes, course.k))
        # By the same rounded chance, or what was observed would lie between what is possible.
        leads.append(sum(course.survived) - len(own) * chance)
        chances += own
        survived += sum(course.survived)
    if not chances:
        return _SURVIVAL.unknown("no panel that decided for or against A was kept with its ballots")
    expected = fsum(chances)
    said = (
        f"A survived {part(survived, len(chances), 'panel')}; "
        f"judges ranking at random would keep it in {expected:.0f}"
    )

    def conclude(p: float) -> Finding:
        if p > LEVEL:
            level: Level = "look"
            how = f", so chance explains it ({likely(p)})"
        elif survived > expected:
            level, how = "fine", f", so it survived more often than chance explains ({likely(p)})"
        else:
            level, how = "alarm", f", so standing as A was a handicap ({likely(p)})"
        return _SURVIVAL.found(level, said + how, share(survived, len(chances)), p)

    return OpenFinding(unlike_chance(parts, fsum(leads)), conclude)


def _voted(panel: Panel) -> bool:
    return bool(panel.valid and panel.winner and panel.rule in BUILT_IN)


def _chance_of_a(panel: Panel) -> float:
    if panel.chance_of_a is not None:
        return panel.chance_of_a
    return chance_of_survival(panel.valid or 1, len(panel.candidates), panel.rule)


def streaks(runs: Runs) -> Found:
    """Whether A survives more often right after a survival than otherwise."""
    courses = [
        Course.of([held.winner == "A" for held in run.passes if held.winner and held.panel], run.k)
        for run in runs
    ]
    steps = [step for course in courses for step in pairwise(course.survived)]
    after = sum(before for before, _ in steps)
    if not after or after == len(steps):
        return _STREAKS.unknown("needs passes after a survival and after a defeat of A")
    yes = sum(course.pairs for course in courses)
    others = sum(now and not before for before, now in steps)
    said = (
        f"A survived {percent(yes / after)} of {many(after, 'pass', 'passes')} right after a survival "
        f"and {percent(others / (len(steps) - after))} of {len(steps) - after:,} others"
    )
    number = share(yes, after)
    parts = [pairs for course in courses if (pairs := pairs_by_chance(course))]
    by_chance = moments(parts)
    if not by_chance.variance:
        reason = "the passes of these runs could have come in no other order"
        return _STREAKS.found("look", f"{said}; that says nothing, as {reason}", number)
    said += f"; with their passes in any other order {by_chance.mean:.1f} instead of {yes} would be right after one"
    # Too little data to see an effect is no sign that there is none.
    most = (yes - by_chance.mean + _ONE_SIDED * sqrt(by_chance.variance)) / after
    seen = len(steps) >= _FEW and most < _WORTH_SEEING

    def conclude(p: float) -> Finding:
        if p <= LEVEL:
            return _STREAKS.found("fine", f"{said}, more than coin flips ({likely(p)})", number, p)
        how = f", no more than coin flips give ({likely(p)})"
        return _STREAKS.found("alarm" if seen else "look", said + how, number, p)

    return OpenFinding(more_than_chance(parts, yes), conclude)


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
            else f"none of {number_of(known)} converged"
        )
        said = f"{who}, so nothing rests on a streak"
        return _CONVERGENCE.found("fine", said, Estimate(None, n=0, reason="no run converged"))
    empty = [run for run in converged if any(_empty(held) for held in _last(run))]
    tied = [run for run in converged if any(held.panel and held.panel.tied for held in _last(run))]
    idle_section = [run for run in converged if run in empty or run in tied]
    number = share(len(idle_section), len(converged))
    if not idle_section:
        said = f"none of {many(len(converged), 'convergence')} rests on a tie or an empty panel"
        return _CONVERGENCE.found("fine", said, number)
    verb = "rests" if len(idle_section) == 1 else "rest"
    said = f"{part(len(idle_section), len(converged), 'convergence')} {verb} on a tie or an empty panel"
    if empty:
        said += f", {len(empty)} of them on an empty one"
    names = listed(run.name for run in idle_section)
    level: Level = "alarm" if empty or len(idle_section) > 0.2 * len(converged) else "look"
    return _CONVERGENCE.found(level, f"{said}: {names}", number)


def _last(run: AuditedRun) -> tuple[AuditedPass, ...]:
    return run.passes[-(run.k or 1) :]


def _empty(held: AuditedPass) -> bool:
    return bool(held.panel and held.panel.valid == 0)


def novelty(runs: Runs) -> Found:
    """What a challenger that won scores one pass later, when it is the text that stands."""
    fresh: defaultdict[str, list[float]] = defaultdict(list)
    won: list[float] = []
    off: list[list[list[float]]] = []
    for run in runs:
        off.append([])
        for before, now in pairwise(run.passes):
            if before.winner not in ("B", "AB"):
                continue
            first, then = _points(before.panel, before.winner), _points(now.panel, "A", fair=True)
            if first is not None and then is not None and now.panel:
                won.append(first)
                fresh[now.panel.judge].append(then)
                off[-1].append([then - 2])
    if not won:
        return _NOVELTY.unknown("no challenger won and was then judged as A by points")
    stood = fsum(then for each in fresh.values() for then in each) / len(won)
    said = (
        f"a fresh winner has {fmean(won):.1f} points a ballot and {stood:.1f} one pass later "
        f"({many(len(won), 'winner')})"
    )
    if len(fresh) > 1:
        by_judge = sorted(fresh.items(), key=lambda item: (-len(item[1]), item[0]))
        said += ": " + listed(f"{fmean(each):.1f} by {who}" for who, each in by_judge)
    said += "; judges who rank at random give it 2.0"
    scores = [fsum(each) for each in independent(off)]
    number = Estimate(stood - fmean(won), n=len(won))

    def conclude(p: float) -> Finding:
        level: Level = "fine"
        if p <= LEVEL and stood < 2:
            level = "alarm" if stood < 2 - _FADED else "look"
        return _NOVELTY.found(level, f"{said} ({likely(p)})", number, p)

    return OpenFinding(unlike_chance(flips(scores), fsum(scores)), conclude)


def _points(panel: Panel | None, name: str, *, fair: bool = False) -> float | None:
    """Points a ballot of three texts, on request of the ballots that stopping cannot bias; None under another rule."""
    if not panel or panel.rule != "borda" or len(panel.candidates) != 3:
        return None
    scores = panel.fair_scores if fair else panel.scores
    if not panel.valid or not scores or name not in scores:
        return None
    # Every ballot gives six points.
    return 6 * scores[name] / sum(scores.values())


def playoff(runs: Runs) -> Found:
    """What the judges of the playoff prefer, who chose the text that was delivered."""
    held = [run.preferred for run in runs if run.preferred]
    if not held:
        return _PLAYOFF.unknown("no playoff chose another text than the first draft")
    prefer, judges = (sum(column) for column in zip(*held, strict=True))
    said = f"{part(prefer, judges, 'judge')} of the playoff prefer the delivered text to the first draft"
    unproven = _PLAYOFF.unknown(f"{said}; the same ballots chose it, so they prove nothing")
    p = sign_test(prefer, judges - prefer).p
    if p is None or 2 * prefer >= judges:
        return unproven

    def conclude(p: float) -> Finding:
        if p > LEVEL:
            return unproven
        number = exact_share(prefer, judges)
        return _PLAYOFF.found(
            "alarm", f"{said}; even they prefer the draft ({likely(p)})", number, p
        )

    return OpenFinding(p / 2, conclude)


def confirmation(runs: Runs) -> Found:
    """Whether fresh judges prefer what was delivered to the first draft."""
    judged = [run for run in runs if run.confirmed and run.confirmed[1]]
    ballots = [run.confirmed for run in judged if run.confirmed]
    kept = [run for run in runs if run.first is not None and run.first == run.last]
    verb = "is" if len(kept) == 1 else "are"
    left_out = f"{number_of(kept)} that delivered the first draft {verb} left out"
    if not ballots:
        reason = "no fresh judges compared a delivered text with its first draft"
        return _CONFIRMATION.unknown(f"{reason}; {left_out}" if kept else reason)
    prefer, judges = (sum(column) for column in zip(*ballots, strict=True))
    number = exact_share(prefer, judges)
    said = (
        f"{part(prefer, judges, 'fresh judge')} prefer the delivered text to the first draft "
        f"(95 % interval {percent(number.low or 0)} to {percent(number.high or 0)})"
    )
    if len(ballots) > 1 or kept:
        said += f" in {number_of(judged)}" + (f"; {left_out}" if kept else "")
    # Judges of one run compare the same two texts: over many runs, the runs must bear it out too.
    p = (sign_test(prefer, judges - prefer).p or 1.0) / 2
    if len(ballots) >= MANY_RUNS:
        leads = [2 * one - of for one, of in ballots]
        p = max(p, more_than_chance(flips(leads), abs(sum(leads))))

    def conclude(p: float) -> Finding:
        if p > LEVEL:
            how = f"; an even split is not ruled out ({likely(p)})"
            return _CONFIRMATION.found("look", said + how, number, p)
        if 2 * prefer > judges:
            return _CONFIRMATION.found(
                "fine", f"{said}; that is an improvement ({likely(p)})", number, p
            )
        return _CONFIRMATION.found(
            "alarm", f"{said}; they prefer the draft ({likely(p)})", number, p
        )

    return OpenFinding(p, conclude)


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
