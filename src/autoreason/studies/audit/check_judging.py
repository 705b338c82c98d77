"""Checks the judging: which ballots are lost, what was decided without them, and whether judges can be relied on."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from math import factorial, fsum
from statistics import fmean

from autoreason.parsing.ballots import read_ranking
from autoreason.parsing.rankings import read_json_ballot
from autoreason.report.numbers import p_statement, percent
from autoreason.stats.results import Estimate
from autoreason.stats.shares import holm, share
from autoreason.stats.sums import Part, coin, flips, more_than_chance, resampled_mean, unlike_chance
from autoreason.studies.audit.audited_run import AuditedPass, AuditedRun, Panel, Runs, panels_of
from autoreason.studies.audit.chance import (
    Agreement,
    SeenVote,
    agreement,
    agreement_by_chance,
    independent,
    position_by_chance,
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
    part,
    share_level,
)
from autoreason.tournament.voting import quorum

_ballots = partial(Topic, "ballots")
_INVALID = _ballots(
    "invalid ballots",
    "under 2 % are invalid where judges are asked again",
    "ask for structured ballots, ask once more, then replace the judge; leave out a model with many",
)
_EMPTY = _ballots(
    "empty panels",
    "a panel without a ballot decides nothing",
    "run these passes again: no one voted, so A did not win them",
)
_QUORUM = _ballots(
    "quorum",
    "a panel decides with a majority of its ballots, two at least",
    "set a quorum: the vote of one judge of three is not the panel's",
)
_FORM = _ballots(
    "ballot form",
    "nearly all answers give the ranking in exactly the form asked for",
    "read rankings tolerantly and strictly as permutations, or ask for structured ballots",
)
_TIES = _ballots(
    "ties",
    "few decisions are ties; six judges tie less often than three",
    "add judges while the vote is close, so that the tie rule does not decide",
)
_judges = partial(Topic, "judges")
_POSITION = _judges(
    "position",
    "each position gets an equal share of first places",
    "balance the orders over the panel, so that the effect cancels out; distrust panels with one order",
)
_SHARED = _judges(
    "shared order",
    "every judge sees an order of its own",
    "draw an order for each judge: a shared one makes a shared bias look like agreement",
)
_AGREEMENT = _judges(
    "agreement",
    "a mean tau of 0.2 to 0.7, and more than chance explains; judges who rank at random come to 0",
    "take better judges or more of them; where they cannot agree, no vote means much",
)
_CONCORDANCE = _judges(
    "concordance",
    "well over what judges who rank at random come to: 1 divided by their number",
    "take better judges or more of them",
)
_LENGTH = _judges(
    "length preferred",
    "the longer of two texts is preferred about half of the time",
    "tell judges that longer is not better, set a word limit, compare at equal length",
)
_NO_PANEL = "there was no panel"
_NO_AGREEMENT = (
    "no panel over {} texts or more has two ballots of judges who are asked whatever the others say"
)
_ENOUGH = 12
_SAME_ORDER = 6
_CLEAR = 0.1
"""How far from its equal share a position must be to be called large."""
_LIKES_LENGTH, _LOVES_LENGTH = 0.55, 0.65
_USEFUL_TAU = 0.1
"""Two judges prefer the same of two texts 55 % of the time; less than that decides next to nothing."""
_USEFUL_W = 0.15
"""The same, as a share of the way from chance to full agreement in W."""


def invalid_ballots(runs: Runs) -> AuditFinding:
    """How many judges were asked and gave no valid ballot."""
    seats, invalid = Counter[str](), Counter[str]()
    for panel in panels_of(runs):
        seats[panel.judge] += panel.seats
        invalid[panel.judge] += panel.seats - panel.valid
    total, invalid_total = seats.total(), invalid.total()
    if not total:
        return _INVALID.unknown(_NO_PANEL)
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
    panels = list(panels_of(runs))
    if not panels:
        return _EMPTY.unknown(_NO_PANEL)
    empty = [panel for panel in panels if not panel.valid]
    number = share(len(empty), len(panels))
    if not empty:
        return _EMPTY.finding("fine", f"none of {many(len(panels), 'panel')} is empty", number)
    won = sum(audited.empty and audited.winner == "A" for run in runs for audited in run.passes)
    sentence = f"{part(len(empty), len(panels), 'panel')} had no valid ballot"
    if not won:
        return _EMPTY.finding("look", f"{sentence}; none was taken for a decision", number)
    return _EMPTY.finding("alarm", f"{sentence}, and {won} of them counted as a win for A", number)


def below_quorum(runs: Runs) -> AuditFinding:
    """Panels that decided although most of their ballots were invalid, or that never had two judges."""
    decided = [panel for panel in panels_of(runs) if panel.winner and panel.valid]
    if not decided:
        return _QUORUM.unknown("no panel decided anything")
    alone = sum(panel.seats == 1 for panel in decided)
    short = sum(panel.seats > 1 and panel.valid < quorum(panel.seats) for panel in decided)
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


def ballot_form(runs: Runs) -> AuditFinding:
    """Whether answers give their ranking in the form asked for, and what a tolerant reader gets from the rest."""
    answers = [
        (ballot, text)
        for run in runs
        for panel in run.panels
        for ballot in panel.ballots
        if (text := run.answer(ballot)) is not None
    ]
    if not answers:
        return _FORM.unknown("no judge's answers were kept")
    exact = unread = other = recovered = 0
    for ballot, text in answers:
        structured = _structured_ranking(text, ballot.labels)
        exact += bool(structured) or _has_line(text, sorted(ballot.labels))
        # Reading tolerantly takes far longer, and a structured ballot leaves nothing to tolerate.
        labels = structured or read_ranking(text, ballot.labels)
        names = dict(zip(ballot.labels, ballot.order, strict=True))
        ranking = tuple(names[label] for label in labels) if labels else None
        recorded = ballot.first_ranking
        unread += ranking is None
        other += bool(ranking and recorded and ranking != recorded)
        recovered += bool(ranking and not recorded)
    total = len(answers)
    sentence = f"{part(exact, total, 'answer')} gave the ranking in exactly the form asked for"
    if exact < total:
        sentence += f"; our tolerant reader reads {total - unread:,} of the {total:,}"
    if recovered:
        sentence += f", {recovered} of which the record counts as invalid"
    if other:
        sentence += (
            f"; {many(other, 'recorded ballot')} say{'s' if other == 1 else ''} something else"
        )
    level: Level = "fine" if exact >= 0.9 * total else "look"
    if other or unread > 0.1 * total:
        level = "alarm"
    return _FORM.finding(level, sentence, share(exact, total))


def _structured_ranking(text: str, labels: Sequence[str]) -> tuple[str, ...] | None:
    """The ranking of a structured ballot; None where it is none, or not over these labels."""
    ballot = read_json_ballot(text)
    return tuple(ballot.ranking) if ballot and sorted(ballot.ranking) == sorted(labels) else None


def _has_line(text: str, wanted: list[str]) -> bool:
    """Whether one plain line gives the ranking."""
    return any(
        sorted(re.split(r"(?:, | > )", line)) == wanted
        for line in re.findall(r"^RANKING: (\S.*?)[ \t]*$", text, re.MULTILINE)
    )


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


def position(runs: Runs) -> AuditResult:
    """First places by the position a text stood in, model by model."""
    by_judge = _positions(runs)
    enough = {who: panels for who, panels in by_judge.items() if _votes(panels) >= _ENOUGH}
    if not enough:
        largest = max(map(_votes, by_judge.values()), default=0)
        return _POSITION.unknown(
            f"needs {_ENOUGH} valid votes over three texts, in orders that vary, by one judge model; "
            f"there {'is one' if largest == 1 else f'are {largest} at most'}"
        )
    chances = {who: position_by_chance(panels) for who, panels in enough.items()}
    corrected = dict(zip(chances, holm(list(chances.values())), strict=True))
    tested = {who: p for who, p in corrected.items() if p is not None}
    if not tested:
        return _POSITION.unknown(
            "judges agreed so fully on balanced orders that position could not show"
        )
    counts = {}
    for who, panels in enough.items():
        places = [order.index(first) for panel in panels for order, first in panel]
        counts[who] = [places.count(place) for place in range(3)]
    strongest = min(tested, key=lambda who: (tested[who], -sum(counts[who])))
    top = share(max(counts[strongest]), sum(counts[strongest]))

    def conclude(p: float) -> Conclusion:
        sentence = "; ".join(
            f"{who}: {_shares(each)} of {sum(each)}"
            + (f" ({p_statement(max(tested[who], p))})" if who in tested else "")
            for who, each in sorted(counts.items(), key=lambda item: -sum(item[1]))
        )
        level: Level = "fine"
        if p <= LEVEL:
            level = "alarm" if (top.value or 0) - 1 / 3 > _CLEAR else "look"
        return level, f"first places by position, first to last: {sentence}"

    return _POSITION.pending(tested[strongest], top, conclude)


def _positions(runs: Runs) -> dict[str, list[list[SeenVote]]]:
    """Votes over three texts by judge model and panel, without groups whose orders never varied."""
    groups: defaultdict[str, list[defaultdict[str, list[SeenVote]]]] = defaultdict(list)
    for run in runs:
        for panel in run.panels:
            votes: defaultdict[str, list[SeenVote]] = defaultdict(list)
            for ballot in panel.ballots:
                if (ranking := ballot.first_ranking) and len(ranking) == 3:
                    votes[ballot.model].append((ballot.order, ranking[0]))
            if votes:
                groups[run.group].append(votes)
    by_judge: defaultdict[str, list[list[SeenVote]]] = defaultdict(list)
    for panels in groups.values():
        orders = [order for votes in panels for seen in votes.values() for order, _ in seen]
        if len(set(orders)) > 1 or len(orders) < _SAME_ORDER:
            for votes in panels:
                for who, seen in votes.items():
                    by_judge[who].append(seen)
    return by_judge


def _votes(panels: Sequence[Sequence[SeenVote]]) -> int:
    return sum(map(len, panels))


def _shares(counts: Sequence[int]) -> str:
    return " / ".join(f"{count / sum(counts) * 100:.0f}" for count in counts) + " %"


def one_order(runs: Runs) -> AuditResult:
    """Panels whose judges all saw one order, and what that did to unanimity."""
    panels = [p for p in panels_of(runs) if p.shared_order is not None]
    if not panels:
        return _SHARED.unknown("no panel of two judges or more was kept with its orders")
    shared = [panel for panel in panels if panel.shared_order]
    number = share(len(shared), len(panels))
    sentence = f"{part(len(shared), len(panels), 'panel')} showed all judges one order"
    # How likely judges are to see one order by chance, each drawing its own.
    chances = [factorial(len(panel.candidates)) ** (1.0 - panel.seats) for panel in panels]
    p_shared = more_than_chance(list(map(coin, chances)), len(shared))

    def conclude(p: float) -> Conclusion:
        if p > LEVEL:
            often = ", no more often than orders drawn at random" if shared else ""
            return "fine", sentence + often
        return "alarm", sentence

    return _SHARED.pending(p_shared, number, conclude)


def judges_agree(runs: Runs) -> AuditResult:
    """Mean Kendall tau between the judges of a panel, model by model."""
    taus: defaultdict[str, list[float]] = defaultdict(list)
    by_run: list[list[list[float]]] = []
    chances: list[Part] = []
    for run in runs:
        by_run.append([])
        for panel, agreed in _agreements(run, 2):
            taus[panel.judge].append(agreed.tau)
            by_run[-1].append([agreed.tau])
            chances.append(agreement_by_chance(len(panel.sample), len(panel.candidates)).tau)
    every = [tau for each in taus.values() for tau in each]
    if not every:
        return _AGREEMENT.unknown(_NO_AGREEMENT.format("two"))
    number = resampled_mean(independent(by_run))
    mean = number.value or 0.0
    sentence = f"mean tau {mean:.2f}{_interval(number)} over {many(len(every), 'panel')}"
    if len(taus) > 1:
        sentence += ": " + listed(f"{who} {fmean(each):.2f}" for who, each in sorted(taus.items()))
    sentence += (
        f"; shown two texts, two judges prefer the same one {percent((1 + mean) / 2)} of the time"
        " (by chance 50 %)"
    )
    hardly = len(every) >= _ENOUGH and number.high is not None and number.high < _USEFUL_TAU
    p = more_than_chance(chances, fsum(every))
    enough = mean >= 2 * _USEFUL_TAU
    return _against_chance(_AGREEMENT, p, sentence, number, enough=enough, hardly=hardly)


def concordance(runs: Runs) -> AuditResult:
    """Kendall's W, panel by panel, against what judges who rank at random come to."""
    above: list[list[list[float]]] = []
    chances: list[Part] = []
    expected, room = [], []
    for run in runs:
        above.append([])
        for panel, agreed in _agreements(run, 3):
            judges = len(panel.sample)
            above[-1].append([agreed.w - 1 / judges])
            expected.append(1 / judges)
            room.append(1 - 1 / judges)
            chances.append(agreement_by_chance(judges, len(panel.candidates)).w)
    if not expected:
        return _CONCORDANCE.unknown(_NO_AGREEMENT.format("three"))
    excess, chance = resampled_mean(independent(above)), fmean(expected)
    low, high = (None if each is None else each + chance for each in (excess.low, excess.high))
    mean = (excess.value or 0.0) + chance
    number = Estimate(mean, low, high, n=excess.n, reason=excess.reason)
    sentence = (
        f"Kendall's W is {mean:.2f}{_interval(number)} on average over {many(len(room), 'panel')}; "
        f"judges ranking at random come to {chance:.2f}"
    )
    useful = _USEFUL_W * fmean(room)
    hardly = len(room) >= _ENOUGH and excess.high is not None and excess.high < useful
    p = more_than_chance(chances, len(room) * mean)
    enough = mean - chance > useful
    return _against_chance(_CONCORDANCE, p, sentence, number, enough=enough, hardly=hardly)


def _agreements(run: AuditedRun, texts: int) -> Iterator[tuple[Panel, Agreement]]:
    for panel in run.panels:
        if len(panel.candidates) >= texts and (agreed := agreement(panel.sample)):
            yield panel, agreed


def _interval(number: Estimate) -> str:
    if number.low is None or number.high is None:
        return ""
    return f" ({number.low:.2f} to {number.high:.2f})"


def _against_chance(
    topic: Topic, p: float, sentence: str, number: Estimate, *, enough: bool, hardly: bool
) -> PendingFinding:
    """How far judges agree, against chance; `hardly` is too little to be useful, `enough` is not."""

    def conclude(p: float) -> Conclusion:
        if p > LEVEL:
            how = f"that is not shown to be more than chance ({p_statement(p)})"
        else:
            how = f"{'hardly ' if hardly else ''}more than chance gives ({p_statement(p)})"
        level: Level = "fine" if p <= LEVEL and enough else "look"
        return "alarm" if hardly else level, f"{sentence}; {how}"

    return topic.pending(p, number, conclude)


def longer_preferred(runs: Runs) -> AuditResult:
    """How often the longer of two texts has the better score."""
    by_run = [[each for audited in run.passes if (each := list(_longer(audited)))] for run in runs]
    every = [longer for panels in by_run for each in panels for longer in each]
    if not every:
        return _LENGTH.unknown(
            "no two texts of different lengths were judged with different scores"
        )
    clusters = independent(by_run)
    scores = [2 * sum(each) - len(each) for each in clusters]
    number = resampled_mean(clusters)
    value = number.value or 0.0
    sentence = (
        f"of two texts the longer scored higher in {part(sum(every), len(every), 'comparison')}"
    )

    def conclude(p: float) -> Conclusion:
        is_more = p <= LEVEL and value > 0.5
        level: Level = "fine"
        if is_more and value > _LIKES_LENGTH:
            level = "alarm" if value > _LOVES_LENGTH else "look"
        how = (
            f", more than chance explains ({p_statement(p)})" if is_more else f", {p_statement(p)}"
        )
        return level, sentence + how

    return _LENGTH.pending(unlike_chance(flips(scores), sum(scores)), number, conclude)


def _longer(audited: AuditedPass) -> Iterator[bool]:
    """For any two texts of a panel with different lengths and scores, whether the longer has more."""
    scores, words = audited.panel.fair_scores if audited.panel else {}, audited.words
    for one, other in combinations(scores, 2):
        if words[one] != words[other] and scores[one] != scores[other]:
            yield (words[one] > words[other]) == (scores[one] > scores[other])
