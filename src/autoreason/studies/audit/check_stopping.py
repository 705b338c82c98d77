"""Checks the stopping: is survival more than luck, do fresh texts win for being fresh, did anything break?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from math import fsum, sqrt
from statistics import fmean, median

from autoreason.events import RunPaused, RunResumed
from autoreason.exchange import Outcome
from autoreason.report.numbers import p_statement, percent, percent_range
from autoreason.stats.results import Estimate
from autoreason.stats.shares import exact_share, share, sign_test
from autoreason.stats.sums import flips, moments, more_than_chance, unlike_chance
from autoreason.studies.audit.audited_run import AuditedPass, AuditedRun, Panel, Runs
from autoreason.studies.audit.chance import (
    MANY_RUNS,
    Course,
    independent,
    pairs_by_chance,
    survivals_by_chance,
)
from autoreason.studies.audit.findings import (
    LEVEL,
    AuditFinding,
    AuditResult,
    Conclusion,
    Level,
    PendingFinding,
    Topic,
    listed,
    many,
    number_of,
    part,
)
from autoreason.tournament.voting import BUILT_IN

_topic = partial(Topic, "stopping")
_SURVIVAL = _topic(
    "survival",
    "A survives more often than judges ranking at random would let it",
    "do not take convergence for quality: let fresh judges compare the last text with the first",
)
_STREAKS = _topic(
    "streaks",
    "A survives more often right after a survival: then a streak means something",
    "ask for evidence with every stop; a streak that a coin could throw is none",
)
_CONVERGENCE = _topic(
    "convergence",
    "a run converges on panels that voted and put A clearly first",
    "run more passes: a tie or an empty panel has confirmed nothing",
)
_NOVELTY = _topic(
    "novelty",
    "a winner keeps 2.0 points per ballot or more as A",
    "run a playoff over all incumbents: winning once for being new does not add up",
)
_PLAYOFF = _topic(
    "playoff",
    "its judges choose the text to deliver, so what they prefer is no evidence that it is better",
    "deliver the first draft: even the judges who chose the text prefer the draft to it",
)
_CONFIRMATION = _topic(
    "confirmation",
    "fresh judges, who had no part in choosing it, prefer the delivered text to the first draft",
    "ask more fresh judges before relying on the text, or deliver the first draft",
)
_OUTAGES = _topic(
    "outages",
    "every call is answered in its time",
    "look at these passes one by one: what a failing provider sent is not a result",
)
_USEFUL_LEAD = 0.15
"""A lead in the share of survivals that would mean something, if it were real."""
_ONE_SIDED = 1.645
_FEW = 30
_FADED = 0.1
"""Points per ballot below 2.0 from which a fall is called large."""
_LONG, _UNUSUAL = 600.0, 20.0
_WITHOUT_TEXT = (Outcome.REFUSED, Outcome.EMPTY)


def survival(runs: Runs) -> AuditResult:
    """How often A survived, against what judges ranking at random give under the same rule for stopping."""
    chances: list[float] = []
    parts, leads, survived = [], [], 0
    for run in runs:
        decided = [
            (each.panel.winner, each.unconfirmed, each.panel.chances_of_a)
            for each in run.passes
            if each.panel and each.panel.chances_of_a and _has_decided(each.panel)
        ]
        if not decided:
            continue
        winners = [winner == "A" for winner, unconfirmed, _ in decided if not unconfirmed]
        course = Course.of(winners, run.settings.k)
        run_chances, ties = zip(*(both for _, _, both in decided), strict=True)
        # A run that converged could have gone on; any other ended where it did.
        passes = len(run_chances)
        if course.converged:
            passes = max(passes, run.settings.passes)
        chance = round(fmean(run_chances), 4)
        parts.append(survivals_by_chance(chance, passes, course.k, round(fmean(ties), 4)))
        # By the same rounded chance, or what was observed would lie between what is possible.
        leads.append(sum(course.survived) - len(run_chances) * chance)
        chances += run_chances
        survived += sum(course.survived)
    if not chances:
        return _SURVIVAL.unknown("no panel that decided for or against A was kept with its ballots")
    expected = fsum(chances)
    sentence = (
        f"A survived {part(survived, len(chances), 'panel')}; "
        f"judges ranking at random would let it survive {expected:.0f}"
    )

    def conclude(p: float) -> Conclusion:
        if p > LEVEL:
            return "look", f"{sentence}, so chance explains it ({p_statement(p)})"
        if survived > expected:
            how = "so it survived more often than chance explains"
            return "fine", f"{sentence}, {how} ({p_statement(p)})"
        return "alarm", f"{sentence}, so being A was a handicap ({p_statement(p)})"

    number = share(survived, len(chances))
    return _SURVIVAL.pending(unlike_chance(parts, fsum(leads)), number, conclude)


def _has_decided(panel: Panel) -> bool:
    """Whether a vote over A and others was decided."""
    contested = "A" in panel.candidates and len(panel.candidates) > 1
    return bool(contested and panel.valid and panel.winner and panel.rule in BUILT_IN)


def streaks(runs: Runs) -> AuditResult:
    """Whether A survives more often right after a survival than otherwise."""
    courses = [
        Course.of(
            [
                audited.winner == "A"
                for audited in run.passes
                if audited.winner and audited.panel and not audited.unconfirmed
            ],
            run.settings.k,
        )
        for run in runs
    ]
    steps = [step for course in courses for step in pairwise(course.survived)]
    after = sum(before for before, _ in steps)
    if not after or after == len(steps):
        return _STREAKS.unknown("needs passes after a survival and after a defeat of A")
    yes = sum(course.pairs for course in courses)
    others = sum(now and not before for before, now in steps)
    sentence = (
        f"A survived {percent(yes / after)} of {many(after, 'pass', 'passes')} right after a survival "
        f"and {percent(others / (len(steps) - after))} of {len(steps) - after:,} others"
    )
    number = share(yes, after)
    parts = [pairs for course in courses if (pairs := pairs_by_chance(course))]
    by_chance = moments(parts)
    if not by_chance.variance:
        reason = "the passes of these runs could have come in no other order"
        return _STREAKS.finding("look", f"{sentence}; that says nothing, as {reason}", number)
    sentence += f"; with their passes in any other order {by_chance.mean:.1f} instead of {yes} would be right after one"
    # Too little data to see an effect is no sign that there is none.
    upper = (yes - by_chance.mean + _ONE_SIDED * sqrt(by_chance.variance)) / after
    enough = len(steps) >= _FEW and upper < _USEFUL_LEAD
    none_converged = all(run.converged is False for run in runs)

    def conclude(p: float) -> Conclusion:
        if p <= LEVEL:
            return "fine", f"{sentence}, more than coin flips ({p_statement(p)})"
        how = f", no more than coin flips give ({p_statement(p)})"
        if none_converged:
            return "look", f"{sentence}{how}; no run ended on a streak"
        return "alarm" if enough else "look", sentence + how

    return _STREAKS.pending(more_than_chance(parts, yes), number, conclude)


def convergence(runs: Runs) -> AuditFinding:
    """Runs that converged, and on what."""
    runs_with_end = [run for run in runs if run.converged is not None]
    converged = [run for run in runs_with_end if run.converged]
    if not converged:
        if not runs_with_end:
            return _CONVERGENCE.unknown("the record does not say how runs ended")
        who = (
            "the run did not converge"
            if len(runs_with_end) == 1
            else f"none of {number_of(runs_with_end)} converged"
        )
        sentence = f"{who}, so nothing rests on a streak"
        return _CONVERGENCE.finding(
            "fine", sentence, Estimate(None, n=0, reason="no run converged")
        )
    empty = [run for run in converged if any(audited.empty for audited in _last(run))]
    tied = [
        run
        for run in converged
        if any(audited.panel and audited.panel.tied for audited in _last(run))
    ]
    affected_runs = [run for run in converged if run in empty or run in tied]
    number = share(len(affected_runs), len(converged))
    if not affected_runs:
        sentence = f"none of {many(len(converged), 'convergence')} rests on a tie or an empty panel"
        return _CONVERGENCE.finding("fine", sentence, number)
    verb = "rests" if len(affected_runs) == 1 else "rest"
    sentence = f"{part(len(affected_runs), len(converged), 'convergence')} {verb} on a tie or an empty panel"
    if empty:
        sentence += f", {len(empty)} of them on an empty one"
    names = listed(run.name for run in affected_runs)
    level: Level = "alarm" if empty or len(affected_runs) > 0.2 * len(converged) else "look"
    return _CONVERGENCE.finding(level, f"{sentence}: {names}", number)


def _last(run: AuditedRun) -> list[AuditedPass]:
    """The passes that ended it."""
    return [each for each in run.passes if not each.unconfirmed][-run.settings.k :]


def novelty(runs: Runs) -> AuditResult:
    """What a challenger that won scores one pass later, when it is the incumbent."""
    fresh: defaultdict[str, list[float]] = defaultdict(list)
    won: list[float] = []
    off: list[list[list[float]]] = []
    for run in runs:
        off.append([])
        for before, now in pairwise(run.passes):
            if before.winner in (None, "A"):
                continue
            first, then = _points(before.panel, before.winner), _points(now.panel, "A", fair=True)
            if first is not None and then is not None and now.panel:
                won.append(first)
                fresh[now.panel.judge].append(then)
                off[-1].append([then - 2])
    if not won:
        return _NOVELTY.unknown("no challenger won and was then judged as A by points")
    as_incumbent = fsum(then for each in fresh.values() for then in each) / len(won)
    sentence = (
        f"a fresh winner has {fmean(won):.1f} points per ballot and {as_incumbent:.1f} one pass later "
        f"({many(len(won), 'winner')})"
    )
    if len(fresh) > 1:
        by_judge = sorted(fresh.items(), key=lambda item: (-len(item[1]), item[0]))
        sentence += ": " + listed(f"{fmean(each):.1f} by {who}" for who, each in by_judge)
    sentence += "; judges who rank at random give it 2.0"
    scores = [fsum(each) for each in independent(off)]
    number = Estimate(as_incumbent - fmean(won), n=len(won))

    def conclude(p: float) -> Conclusion:
        level: Level = "fine"
        if p <= LEVEL and as_incumbent < 2:
            level = "alarm" if as_incumbent < 2 - _FADED else "look"
        return level, f"{sentence} ({p_statement(p)})"

    return _NOVELTY.pending(unlike_chance(flips(scores), fsum(scores)), number, conclude)


def _points(panel: Panel | None, name: str, *, fair: bool = False) -> float | None:
    """Points per ballot of three texts, if `fair` from ballots that stopping cannot bias; None under another rule."""
    if not panel or panel.rule != "borda" or len(panel.candidates) != 3:
        return None
    scores = panel.fair_scores if fair else panel.scores
    if not panel.valid or not scores or name not in scores:
        return None
    # Every ballot gives six points.
    return 6 * scores[name] / sum(scores.values())


def playoff(runs: Runs) -> AuditResult:
    """What the judges of the playoff prefer, who chose the text that was delivered."""
    playoffs = [
        (decided.preferred, decided.verdict.ballots)
        for run in runs
        if not run.programs
        and (decided := run.story.playoff)
        and decided.preferred is not None
        and decided.verdict
    ]
    if not playoffs:
        return _PLAYOFF.unknown("no playoff chose another text than the first draft")
    prefer, judges = (sum(column) for column in zip(*playoffs, strict=True))
    sentence = f"{part(prefer, judges, 'judge')} of the playoff prefer the delivered text to the first draft"
    unproven = _PLAYOFF.unknown(f"{sentence}; the same ballots chose it, so they prove nothing")
    p = sign_test(prefer, judges - prefer).p_value
    if p is None or 2 * prefer >= judges:
        return unproven

    def conclude(p: float) -> AuditFinding:
        if p > LEVEL:
            return unproven
        number = exact_share(prefer, judges)
        return _PLAYOFF.finding(
            "alarm", f"{sentence}; even they prefer the draft ({p_statement(p)})", number, p
        )

    return PendingFinding(p / 2, conclude)


def confirmation(runs: Runs) -> AuditResult:
    """Whether fresh judges prefer what was delivered to the first draft."""
    confirmed = [
        (run, found.prefer, found.judges)
        for run in runs
        if not run.programs and (found := run.story.confirmation) and found.judges
    ]
    ballots = [(prefer, judges) for _, prefer, judges in confirmed]
    unchanged = [run for run in runs if run.first is not None and run.first == run.last]
    verb = "is" if len(unchanged) == 1 else "are"
    exclusion = f"{number_of(unchanged)} that delivered the first draft {verb} left out"
    if not ballots:
        reason = "no fresh judges compared a delivered text with its first draft"
        return _CONFIRMATION.unknown(f"{reason}; {exclusion}" if unchanged else reason)
    prefer, judges = (sum(column) for column in zip(*ballots, strict=True))
    number = exact_share(prefer, judges)
    sentence = (
        f"{part(prefer, judges, 'fresh judge')} prefer the delivered text to the first draft "
        f"(95 % interval {percent_range(number.low or 0, number.high or 0)})"
    )
    if len(ballots) > 1 or unchanged:
        sentence += f" in {number_of(run for run, *_ in confirmed)}" + (
            f"; {exclusion}" if unchanged else ""
        )
    # Judges of one run compare the same two texts: over many runs, the runs must bear it out too.
    p = (sign_test(prefer, judges - prefer).p_value or 1.0) / 2
    if len(ballots) >= MANY_RUNS:
        leads = [2 * one - of for one, of in ballots]
        p = max(p, more_than_chance(flips(leads), abs(sum(leads))))

    def conclude(p: float) -> Conclusion:
        if p > LEVEL:
            return "look", f"{sentence}; an even split is not ruled out ({p_statement(p)})"
        if 2 * prefer > judges:
            return "fine", f"{sentence}; that is an improvement ({p_statement(p)})"
        return "alarm", f"{sentence}; they prefer the draft ({p_statement(p)})"

    return _CONFIRMATION.pending(p, number, conclude)


def outages(runs: Runs) -> AuditFinding:
    """Pauses because a provider failed, gaps that nothing explains, and calls without a text."""
    if not any(run.events for run in runs):
        return _OUTAGES.unknown("neither times nor calls were kept")
    notes = [f"{run.name}: {note}" for run in runs for note in _pauses(run)]
    unanswered = sum(run.unanswered for run in runs)
    if unanswered:
        notes.append(f"{many(unanswered, 'call')} never answered")
    without_text = sum(run.outcomes[each] for run in runs for each in _WITHOUT_TEXT)
    if without_text:
        notes.append(f"{many(without_text, 'reply', 'replies')} refused or empty")
    if not notes:
        return _OUTAGES.finding(
            "fine", "no pause, no gap, no pass that took far longer than others", 0
        )
    return _OUTAGES.finding("look", listed(notes, 4, "; "), len(notes))


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
