"""Checks the ballots: how many are invalid, what was decided without them, and whether they can be read."""

from __future__ import annotations

from collections import Counter
from functools import partial

from autoreason.parsing.ballots import read_ranking
from autoreason.report.numbers import percent
from autoreason.stats.shares import share
from autoreason.studies.audit.audited_record import (
    AuditedPass,
    AuditedVote,
    Runs,
    panels_of,
    votes_of,
)
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
from autoreason.studies.audit.wording import is_exact, structured_ranking
from autoreason.tournament.voting import quorum

_topic = partial(Topic, "ballots")
_INVALID = _topic(
    "invalid ballots",
    "under 2 % are invalid where judges are asked again",
    "ask for structured ballots, ask once more, then replace the judge; leave out a model with many",
)
_EMPTY = _topic(
    "empty panels",
    "a panel without a ballot decides nothing",
    "run these passes again: no one voted, so A did not win them",
)
_QUORUM = _topic(
    "quorum",
    "a panel decides with a majority of its ballots, two at least",
    "set a quorum: the vote of one judge of three is not the panel's",
)
_FORM = _topic(
    "ballot form",
    "nearly all answers give the ranking in exactly the form asked for",
    "read rankings tolerantly and strictly as permutations, or ask for structured ballots",
)
_FAULTY = _topic(
    "partial rankings",
    "a ballot ranks every text once or is no ballot",
    "count full permutations only; ask the judge again for a ranking that is none",
)
_TIES = _topic(
    "ties",
    "few decisions are ties; six judges tie less often than three",
    "add judges while the vote is close, so that the tie rule does not decide",
)


def invalid_ballots(runs: Runs) -> AuditFinding:
    """How many judges were asked and gave no valid ballot."""
    seats, invalid = Counter[str](), Counter[str]()
    for panel in panels_of(runs):
        if panel.seats is not None and panel.valid is not None:
            seats[panel.judge] += panel.seats
            invalid[panel.judge] += panel.seats - panel.valid
    total, invalid_total = seats.total(), invalid.total()
    if not total:
        return _INVALID.unknown("the record does not say how many judges were asked")
    level = invalid_level(invalid_total, total)
    sentence = f"the record counts {part(invalid_total, total, 'ballot')} as invalid"
    bad = [judge for judge in seats if invalid[judge] > 0.25 * seats[judge] and seats[judge] > 5]
    if bad:
        level = "alarm"
        sentence += ": " + listed(f"{invalid[judge]} of {seats[judge]} by {judge}" for judge in bad)
    return _INVALID.finding(level, sentence, share(invalid_total, total))


def invalid_level(invalid: int, cast: int) -> Level:
    """How bad it is that so many ballots have no vote."""
    return share_level(share(invalid, cast), 0.02, 0.1)


def empty_panels(runs: Runs) -> AuditFinding:
    """Panels without any valid ballot, and how they were counted."""
    panels = [panel for panel in panels_of(runs) if panel.valid is not None]
    if not panels:
        return _EMPTY.unknown("the record does not say how many ballots were valid")
    empty = [panel for panel in panels if not panel.valid]
    number = share(len(empty), len(panels))
    if not empty:
        return _EMPTY.finding("fine", f"none of {many(len(panels), 'panel')} is empty", number)
    won = [(run, audited) for run in runs for audited in run.passes if _won_without_votes(audited)]
    sentence = f"{part(len(empty), len(panels), 'panel')} had no valid ballot"
    if not won:
        return _EMPTY.finding("look", f"{sentence}; none was taken for a decision", number)
    sentence += f", and {len(won)} of them counted as a win for A"
    affected_runs = {
        run.name: run
        for run, audited in won
        if run.converged and audited in run.passes[-(run.k or 1) :]
    }
    if affected_runs:
        sentence += f"; {number_of(affected_runs.values())} converged on one: {listed(sorted(affected_runs))}"
    return _EMPTY.finding("alarm", sentence, number)


def _won_without_votes(audited: AuditedPass) -> bool:
    return bool(audited.panel and audited.panel.valid == 0 and audited.winner == "A")


def below_quorum(runs: Runs) -> AuditFinding:
    """Panels that decided although most of their ballots were invalid, or that never had two judges."""
    decided = [
        panel
        for panel in panels_of(runs)
        if panel.winner and panel.valid and panel.seats is not None
    ]
    if not decided:
        return _QUORUM.unknown(
            "no panel that decided is recorded with its judges and their valid ballots"
        )
    alone = sum(panel.seats == 1 for panel in decided)
    short = sum(
        (panel.seats or 0) > 1 and (panel.valid or 0) < quorum(panel.seats or 0)
        for panel in decided
    )
    number = share(short, len(decided))
    if not short and not alone:
        return _QUORUM.finding(
            "fine", f"every one of {many(len(decided), 'panel')} had its quorum", number
        )
    notes = []
    if short:
        notes.append(f"{part(short, len(decided), 'panel')} decided below a quorum")
    if alone:
        notes.append(f"{many(alone, 'panel')} had a single judge")
    return _QUORUM.finding(
        "alarm" if short > 0.05 * len(decided) else "look", "; ".join(notes), number
    )


def partial_rankings(runs: Runs) -> AuditFinding:
    """Rankings that name a text twice or leave one out, and were counted nevertheless."""
    votes = list(votes_of(runs))
    if not votes:
        return _FAULTY.unknown("no ballots were kept, only scores")
    faulty = sum(vote.faulty for vote in votes)
    sentence = f"{part(faulty, len(votes), 'ballot')} named a text twice or left one out"
    return _FAULTY.finding("alarm" if faulty else "fine", sentence, share(faulty, len(votes)))


def ballot_form(runs: Runs) -> AuditFinding:
    """Whether answers give their ranking in the form asked for, and what a tolerant reader gets from the rest."""
    votes = [
        vote for vote in votes_of(runs) if vote.text is not None and vote.labels and vote.order
    ]
    if not votes:
        return _FORM.unknown("no judge's answers were kept")
    structured = [structured_ranking(vote.text or "", vote.labels or ()) for vote in votes]
    exact = sum(
        bool(ranking) or is_exact(vote.text or "", vote.labels or ())
        for vote, ranking in zip(votes, structured, strict=True)
    )
    # Reading tolerantly takes far longer, and a structured ballot leaves nothing to tolerate.
    rankings = [
        (vote, _ranking_of(vote, ranking)) for vote, ranking in zip(votes, structured, strict=True)
    ]
    unread = sum(ranking is None for _, ranking in rankings)
    other = sum(
        bool(ranking and vote.ranking and ranking != vote.ranking) for vote, ranking in rankings
    )
    recovered = sum(bool(ranking and not vote.ranking) for vote, ranking in rankings)
    sentence = f"{part(exact, len(votes), 'answer')} gave the ranking in exactly the form asked for"
    if exact < len(votes):
        sentence += f"; our tolerant reader reads {len(votes) - unread:,} of the {len(votes):,}"
    if recovered:
        sentence += f", {recovered} of which the record counts as invalid"
    if other:
        sentence += (
            f"; {many(other, 'recorded ballot')} say{'s' if other == 1 else ''} something else"
        )
    level: Level = "fine" if exact >= 0.9 * len(votes) else "look"
    if other or unread > 0.1 * len(votes):
        level = "alarm"
    return _FORM.finding(level, sentence, share(exact, len(votes)))


def ties(runs: Runs) -> AuditFinding:
    """Decisions by the tie rule."""
    decided = [p for p in panels_of(runs) if p.winner and p.valid and p.tied is not None]
    if not decided:
        return _TIES.unknown("no decision was kept with its scores")
    tied = [panel for panel in decided if panel.tied]
    sentence = f"{part(len(tied), len(decided), 'decision')} rested on a tie at the top"
    by_a = sum(panel.winner == "A" for panel in tied)
    if by_a:
        survivals = sum(panel.winner == "A" for panel in decided)
        sentence += f"; {percent(by_a / survivals)} of those that A won are such ties"
    number = share(len(tied), len(decided))
    return _TIES.finding(share_level(number, 0.1, 0.25), sentence, number)


def _ranking_of(vote: AuditedVote, structured: tuple[str, ...] | None) -> tuple[str, ...] | None:
    labels, order = vote.labels or (), vote.order or ()
    ranking = structured or read_ranking(vote.text or "", labels)
    names = dict(zip(labels, order, strict=True))
    return tuple(names[label] for label in ranking) if ranking else None
