"""Looks at the judges: does position decide, do they share an order, do they agree, do they like length?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import fmean

from autoreason.audit.findings import Finding, Level, Topic, likely, listed, many, part, percent
from autoreason.audit.record import AuditedRun, Panel, Vote
from autoreason.audit.strata import Table, compare
from autoreason.stats.ranks import agreement, kendalls_w
from autoreason.stats.results import Estimate
from autoreason.stats.shares import holm, share

Runs = Sequence[AuditedRun]

_POSITION = Topic(
    "position",
    "judges",
    "each position gets an equal share of first places",
    "balance the orders over the panel, so that the effect cancels out; distrust panels with one order",
)
_SHARED = Topic(
    "shared order",
    "judges",
    "every judge sees an order of its own",
    "draw an order for each judge: a shared one makes a shared bias look like agreement",
)
_AGREEMENT = Topic(
    "agreement",
    "judges",
    "a mean tau of 0.2 to 0.7; 0 is judges who have nothing in common",
    "take better judges or more of them; where they cannot agree, no vote means much",
)
_CONCORDANCE = Topic(
    "concordance",
    "judges",
    "well over the 0.33 that three judges with nothing in common come to",
    "take better judges or more of them",
)
_LENGTH = Topic(
    "length preferred",
    "judges",
    "the longer of two texts is preferred about half of the time",
    "tell judges that longer is not better, set a word limit, compare at equal length",
)
_ENOUGH = 12
_SAME_ORDER = 6
_CLEAR = 0.1
"""How far from its equal share a position must be to be called large."""
_LIKES_LENGTH, _LOVES_LENGTH = 0.55, 0.65


def position(runs: Runs) -> Finding:
    """First places by the position a text stood in, model by model."""
    seen = _positions(runs)
    if not seen:
        return _POSITION.unknown(
            "no ballot was kept with the order its judge saw, or orders never varied"
        )
    from autoreason.stats.position import position_effect

    effects = {
        who: position_effect([v.order or () for v in votes], [v.ranking or () for v in votes])
        for who, votes in seen.items()
    }
    adjusted = dict(zip(effects, holm([e.test.p for e in effects.values()]), strict=True))
    strongest = min(effects, key=lambda who: (adjusted[who] or 0.0, -len(seen[who])))
    said = "; ".join(
        f"{who}: {_shares([s.value or 0 for s in effect.shares])} of {sum(effect.counts)} "
        f"({likely(adjusted[who] or 0.0)})"
        for who, effect in sorted(effects.items(), key=lambda item: -sum(item[1].counts))
    )
    top = max(effects[strongest].shares, key=lambda s: s.value or 0)
    p = adjusted[strongest]
    level: Level = "fine"
    if p is not None and p < 0.05:
        fair = 1 / len(effects[strongest].shares)
        level = "alarm" if (top.value or 0) - fair > _CLEAR and p < 0.01 else "look"
    return _POSITION.found(level, f"first places by position, first to last: {said}", top, p)


def _positions(runs: Runs) -> dict[str, list[Vote]]:
    """Votes over three texts by judge model, without groups whose orders never varied."""
    groups: defaultdict[str, list[tuple[str, Vote]]] = defaultdict(list)
    for run in runs:
        for panel in run.panels:
            for vote in panel.votes or ():
                if vote.ranking and vote.order and len(vote.order) == 3:
                    kind = "" if len(vote.ranking) > 1 else " (asked for a winner only)"
                    groups[run.group].append((vote.judge + kind, vote))
    seen: defaultdict[str, list[Vote]] = defaultdict(list)
    for votes in groups.values():
        if len({vote.order for _, vote in votes}) > 1 or len(votes) < _SAME_ORDER:
            for who, vote in votes:
                seen[who].append(vote)
    return {who: votes for who, votes in seen.items() if len(votes) >= _ENOUGH}


def _shares(values: Sequence[float]) -> str:
    return " / ".join(f"{value * 100:.0f}" for value in values) + " %"


def one_order(runs: Runs) -> Finding:
    """Panels whose judges all saw one order, and what that did to unanimity."""
    known = [p for p in _panels(runs) if p.shared_order is not None]
    if not known:
        return _SHARED.unknown("no panel of two judges or more was kept with its orders")
    shared = [panel for panel in known if panel.shared_order]
    number = share(len(shared), len(known))
    said = f"{part(len(shared), len(known), 'panel')} showed all judges one order"
    # Three judges who draw from six orders share one in 1 of 36 panels.
    if len(shared) <= max(1, 0.1 * len(known)):
        return _SHARED.found("fine", said, number)
    by_judge: defaultdict[str, list[list[int]]] = defaultdict(lambda: [[0, 0], [0, 0]])
    for panel in known:
        if panel.unanimous is not None and panel.valid == panel.seats:
            by_judge[panel.judge][not panel.shared_order][not panel.unanimous] += 1
    tables: list[Table] = [
        ((a, b), (c, d)) for (a, b), (c, d) in by_judge.values() if a + b and c + d
    ]
    if not tables:
        return _SHARED.found(
            "alarm", f"{said}; no panel with orders of its own to compare with", number
        )
    compared = compare(tables)
    one = sum(t[0][0] for t in tables) / sum(map(sum, (t[0] for t in tables)))
    own = sum(t[1][0] for t in tables) / sum(map(sum, (t[1] for t in tables)))
    said += (
        f"; in {percent(one)} of them all judges put the same text first, against {percent(own)} "
        "where judges of the same model had orders of their own"
    )
    said += f" ({likely(compared.p)})" if compared.p is not None else ""
    return _SHARED.found("alarm", said, number, compared.p)


def judges_agree(runs: Runs) -> Finding:
    """Mean Kendall tau between the judges of a panel, model by model."""
    taus: defaultdict[str, list[float]] = defaultdict(list)
    for panel in _panels(runs):
        tau = agreement(panel.rankings)
        if tau is not None:
            taus[panel.judge].append(tau)
    every = [tau for each in taus.values() for tau in each]
    if not every:
        return _AGREEMENT.unknown("no two full ballots of one panel were kept")
    mean = fmean(every)
    said = f"mean tau {mean:.2f} over {many(len(every), 'panel')}"
    if len(taus) > 1:
        said += ": " + listed(f"{who} {fmean(each):.2f}" for who, each in taus.items())
    said += (
        f"; shown two texts, two judges prefer the same one {percent((1 + mean) / 2)} of the time"
    )
    level: Level = "fine" if mean >= 0.2 else "look"
    if mean <= 0.05 and len(every) >= _ENOUGH:
        level = "alarm"
    return _AGREEMENT.found(level, said, Estimate(mean, n=len(every)))


def concordance(runs: Runs) -> Finding:
    """Kendall's W, panel by panel."""
    found = []
    for panel in _panels(runs):
        rankings = panel.rankings
        if len(rankings) > 1 and len(panel.candidates) > 2:
            names = sorted(panel.candidates)
            w = kendalls_w([[r.index(name) for name in names] for r in rankings]).w.value
            if w is not None:
                found.append((w, 1 / len(rankings)))
    if not found:
        return _CONCORDANCE.unknown("no two full ballots of one panel were kept")
    mean, chance = fmean(w for w, _ in found), fmean(c for _, c in found)
    said = (
        f"Kendall's W is {mean:.2f} on average over {many(len(found), 'panel')}; "
        f"judges ranking at random come to {chance:.2f}"
    )
    level: Level = "fine" if mean > chance + 0.1 else "look"
    if mean <= chance and len(found) >= _ENOUGH:
        level = "alarm"
    return _CONCORDANCE.found(level, said, Estimate(mean, n=len(found)))


def longer_preferred(runs: Runs) -> Finding:
    """How often the longer of two texts has the better score."""
    longer = total = 0
    for run in runs:
        for held in run.passes:
            scores = held.panel.scores if held.panel else None
            for one, other in combinations(scores or {}, 2):
                words = held.words.get(one), held.words.get(other)
                if (
                    scores
                    and None not in words
                    and words[0] != words[1]
                    and scores[one] != scores[other]
                ):
                    total += 1
                    longer += ((words[0] or 0) > (words[1] or 0)) == (scores[one] > scores[other])
    if not total:
        return _LENGTH.unknown("no pass was kept with its scores and the lengths of its texts")
    number = share(longer, total)
    said = f"of two texts the longer scored higher in {part(longer, total, 'comparison')}"
    level: Level = "fine"
    if (number.low or 0) > 0.5 and (number.value or 0) > _LIKES_LENGTH:
        level = "alarm" if (number.value or 0) > _LOVES_LENGTH else "look"
        said += ", more than chance explains"
    return _LENGTH.found(level, said, number)


def _panels(runs: Runs) -> Iterator[Panel]:
    return (panel for run in runs for panel in run.panels)
