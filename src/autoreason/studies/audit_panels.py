"""What an audit asks about panels, and what judges who rank at random would give."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import combinations, combinations_with_replacement, pairwise, permutations
from math import comb, factorial, fsum, prod, sqrt
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from autoreason.report.numbers import p_statement, percent, percent_range
from autoreason.stats import Estimate
from autoreason.stats.shares import exact_share, holm, share, sign_test
from autoreason.stats.sums import (
    Part,
    as_part,
    centred,
    distribution,
    flips,
    moments,
    more_than_chance,
    resampled_mean,
    unlike_chance,
)
from autoreason.studies.audit_findings import (
    LEVEL,
    AuditAnswer,
    AuditCheck,
    Conclusion,
    Found,
    Pending,
    Runs,
    Severity,
    listed,
    many,
    panels_of,
    part,
    question,
    share_level,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Places = tuple[int, ...]
"""The place each candidate has on a ballot, from 0."""
MANY_RUNS = 10
"""From so many on, runs are what is independent; with fewer, panels must do."""
_COUNTABLE = 3_000
_SAMPLE = 2_000
_FLAT = 1e-9


def independent(by_run: Sequence[Sequence[Sequence[float]]]) -> list[list[float]]:
    """Values run by run and panel by panel, grouped by what is independent: runs where there are many, else panels."""
    runs_with_panels = [panels for panels in by_run if panels]
    if len(runs_with_panels) >= MANY_RUNS:
        return [[value for panel in panels for value in panel] for panels in runs_with_panels]
    return [list(panel) for panels in runs_with_panels for panel in panels]


@lru_cache(maxsize=4096)
def mean_tau(rankings: tuple[tuple[str, ...], ...]) -> float:
    """Kendall's tau of full rankings, the mean over any two judges."""
    names = sorted(rankings[0])
    return _tau([tuple(map(ranking.index, names)) for ranking in rankings])


def _tau(ballots: Sequence[Places]) -> float:
    judges, things = len(ballots), len(ballots[0])
    score = 0
    for one, other in combinations(range(things), 2):
        first = sum(places[one] < places[other] for places in ballots)
        score += (2 * first - judges) ** 2 - judges
    return score / (comb(things, 2) * judges * (judges - 1))


@cache
def tau_by_chance(judges: int, things: int) -> Part:
    """Exact for small panels; larger ones are sampled, always the same, with their exact mean and variance."""
    ballots = list(permutations(range(things))) if things < 7 else []
    if ballots and comb(len(ballots) + judges - 2, judges - 1) <= _COUNTABLE:
        chances: defaultdict[complex, float] = defaultdict(float)
        # Every panel up to the names of the texts, which the first ballot may choose.
        for others in combinations_with_replacement(ballots, judges - 1):
            same = prod(factorial(times) for times in Counter(others).values())
            ways = factorial(judges - 1) // same
            tau = round(_tau([ballots[0], *others]), 9)
            chances[tau] += ways / len(ballots) ** (judges - 1)
        return as_part(chances)
    rng = Random(0)
    taus = [
        _tau([tuple(rng.sample(range(things), things)) for _ in range(judges)])
        for _ in range(_SAMPLE)
    ]
    # Any two judges are independent even of a third, so variances of pairs add up.
    variance = 2 * (2 * things + 5) / (9 * things * (things - 1)) / comb(judges, 2)
    return centred(taus, 0.0, variance)


class Course(NamedTuple):
    """The decided passes of a run: whether A survived each, and the rule by which it stopped."""

    survived: tuple[bool, ...]
    k: int | None
    """Survivals in a row that end it; None where it did not stop by them."""
    converged: bool

    @classmethod
    def of(cls, survived: Sequence[bool], k: int | None) -> Course:
        """A run that went on after k survivals in a row did not stop by them."""
        row, stops = 0, bool(k)
        for at, each in enumerate(survived, 1):
            row = row + 1 if each else 0
            if k and row >= k and at < len(survived):
                stops = False
        return cls(tuple(survived), k if stops else None, stops and row == k)

    @property
    def pairs(self) -> int:
        """Survivals right after a survival."""
        return sum(one and other for one, other in pairwise(self.survived))


@cache
def survivals_by_chance(chance: float, passes: int, k: int | None, tie: float = 0.0) -> Part:
    """Survivals less those expected, of a run that ends after k in a row, ties aside, or so many passes."""
    alive: dict[tuple[int, int], float] = {(0, 0): 1.0}
    chances: defaultdict[complex, float] = defaultdict(float)
    for number in range(1, passes + 1):
        further: defaultdict[tuple[int, int], float] = defaultdict(float)
        for (survived, row), p in alive.items():
            further[survived, 0] += p * (1 - chance - tie)
            if tie:
                further[survived, row] += p * tie
            if k and row + 1 == k:
                chances[round(survived + 1 - number * chance, 9)] += p * chance
            else:
                further[survived + 1, row + 1] += p * chance
        alive = further
    for (survived, _), p in alive.items():
        chances[round(survived - passes * chance, 9)] += p
    return as_part(chances)


@cache
def pairs_by_chance(course: Course) -> Part:
    """Survivals right after a survival, if the passes of a run came in any order that stops as it did."""
    passes, survived = len(course.survived), sum(course.survived)
    displaced = passes - survived
    ways: dict[complex, int] = {}
    for rows in range(1, survived + 1):
        if course.k is None:
            count = comb(survived - 1, rows - 1) * comb(displaced + 1, rows)
        elif course.converged:
            # The last row is complete and comes at the end; each of the others comes before a defeat.
            count = _split(survived - course.k, rows - 1, course.k - 1) * comb(displaced, rows - 1)
        else:
            count = _split(survived, rows, course.k - 1) * comb(displaced + 1, rows)
        if count:
            ways[survived - rows] = count
    total = sum(ways.values())
    return as_part({pairs: count / total for pairs, count in ways.items()}) if ways else ()


def _split(total: int, rows: int, longest: int) -> int:
    """Ways to split survivals into rows of 1 to `longest`."""
    if not rows:
        return int(not total)
    signed = (
        (-1) ** over * comb(rows, over) * comb(total - longest * over - 1, rows - 1)
        for over in range(rows + 1)
        if total - longest * over >= rows
    )
    return sum(signed)


SeenVote = tuple[Sequence[str], str]
"""The order a judge saw, and the text it put first."""


def position_by_chance(panels: Sequence[Sequence[SeenVote]]) -> float | None:
    """How likely first places are to be as uneven over three positions if orders had nothing to do with them.

    The names of the texts change places within each panel, for all its judges at once, in all six ways: what
    balanced orders and judges who agree bring about stays as it was. None where position cannot show.
    """
    import numpy as np
    from scipy.stats import chi2

    parts = [_relabelled(panel) for panel in panels]
    middle = sum(map(len, panels)) / 3
    observed = sum(_at(order, first) for panel in panels for order, first in panel)
    covariance = np.zeros((2, 2))
    for each, times in Counter(parts).items():
        values = np.array([(value.real, value.imag) for value, _ in each])
        weights = np.array([p for _, p in each])
        off = values - weights @ values
        covariance += times * (off.T * weights) @ off
    if covariance.trace() < _FLAT:
        return None
    # Chance may move first places in one direction only.
    variances, directions = np.linalg.eigh(covariance)
    moved = variances > _FLAT * variances.sum()

    def uneven(sums: Sequence[complex]) -> NDArray[np.float64]:
        off = np.array([(value.real - middle, value.imag - middle) for value in sums])
        found: NDArray[np.float64] = ((off @ directions[:, moved]) ** 2 / variances[moved]).sum(
            axis=1
        )
        return found

    far = float(uneven([observed])[0])
    exact = distribution(parts)
    if exact is None:
        return float(chi2.sf(far, moved.sum()))
    as_far = uneven(list(exact)) >= far - _FLAT
    return min(1.0, float(np.array(list(exact.values()))[as_far].sum()))


def _at(order: Sequence[str], name: str) -> complex:
    """First place on the first position is 1, on the second 1j, on the third neither."""
    return (1 + 0j, 1j, 0j)[order.index(name)]


def _relabelled(panel: Sequence[SeenVote]) -> Part:
    chances: defaultdict[complex, float] = defaultdict(float)
    for way in zip(*(_renamed(tuple(order), first) for order, first in panel), strict=True):
        chances[sum(way, 0j)] += 1 / 6
    return as_part(chances)


@cache
def _renamed(order: tuple[str, ...], first: str) -> tuple[complex, ...]:
    """Where the first place goes if the texts change their names, in all six ways."""
    names = sorted(order)
    at = names.index(first)
    return tuple(_at(order, renamed[at]) for renamed in permutations(names))


_ENOUGH = 12
_CLEAR = 0.1
"""How far from its equal share a position must be to be called large."""
_LIKES_LENGTH, _LOVES_LENGTH = 0.55, 0.65
_USEFUL_TAU = 0.1
"""Two judges prefer the same of two texts 55 % of the time; less than that decides next to nothing."""
_USEFUL_LEAD = 0.15
"""A lead in the share of survivals that would mean something, if it were real."""
_ONE_SIDED = 1.645
_FEW = 30


@question(
    "ballots",
    "under 2 % are invalid where judges are asked again",
    "ask for structured ballots, ask once more, then replace the judge; leave out a model with many",
)
def invalid_ballots(runs: Runs) -> AuditAnswer:
    seats, invalid = Counter[str](), Counter[str]()
    for panel in panels_of(runs):
        seats[panel.judge] += panel.seats
        invalid[panel.judge] += panel.seats - panel.valid
    if not seats.total():
        return "there was no panel"
    level = invalid_level(invalid.total(), seats.total())
    sentence = f"the record counts {part(invalid.total(), seats.total(), 'ballot')} as invalid"
    bad = [judge for judge in seats if invalid[judge] > 0.25 * seats[judge] and seats[judge] > 5]
    named = listed(f"{invalid[judge]} of {seats[judge]} by {judge}" for judge in bad)
    number = share(invalid.total(), seats.total())
    return Found("alarm", f"{sentence}: {named}", number) if bad else Found(level, sentence, number)


def invalid_level(invalid: int, cast: int) -> Severity:
    return share_level(share(invalid, cast), 0.02, 0.1)


@question(
    "ballots",
    "few decisions are ties; six judges tie less often than three",
    "add judges while the vote is close, so that the tie rule does not decide",
)
def ties(runs: Runs) -> AuditAnswer:
    decided = [p for p in panels_of(runs) if p.winner and p.valid and p.tied is not None]
    if not decided:
        return "no decision was kept with its scores"
    tied = [panel for panel in decided if panel.tied]
    sentence = f"{part(len(tied), len(decided), 'decision')} rested on a tie at the top"
    if by_a := sum(panel.winner == "A" for panel in tied):
        survivals = sum(panel.winner == "A" for panel in decided)
        sentence += f"; {percent(by_a / survivals)} of those that A won are such ties"
    number = share(len(tied), len(decided))
    return Found(share_level(number, 0.1, 0.25), sentence, number)


@question(
    "judges",
    "each position gets an equal share of first places",
    "balance the orders over the panel, so that the effect cancels out",
)
def position(runs: Runs) -> AuditAnswer:
    by_judge: defaultdict[str, list[list[SeenVote]]] = defaultdict(list)
    for panel in panels_of(runs):
        votes: defaultdict[str, list[SeenVote]] = defaultdict(list)
        for ballot in panel.ballots:
            if (ranking := ballot.first_ranking) and len(ranking) == 3:
                votes[ballot.model].append((ballot.order, ranking[0]))
        for who, seen in votes.items():
            by_judge[who].append(seen)
    enough = {who: panels for who, panels in by_judge.items() if sum(map(len, panels)) >= _ENOUGH}
    if not enough:
        most = max((sum(map(len, panels)) for panels in by_judge.values()), default=0)
        return (
            f"needs {_ENOUGH} valid votes over three texts by one judge model; "
            f"there {'is one' if most == 1 else f'are {most} at most'}"
        )
    corrected = holm([position_by_chance(panels) for panels in enough.values()])
    tested = {who: p for who, p in zip(enough, corrected, strict=True) if p is not None}
    if not tested:
        return "judges agreed so fully on balanced orders that position could not show"
    places = {
        who: Counter(order.index(first) for panel in panels for order, first in panel)
        for who, panels in enough.items()
    }
    counts = {who: [each[at] for at in range(3)] for who, each in places.items()}
    strongest = min(tested, key=lambda who: (tested[who], -sum(counts[who])))
    top = share(max(counts[strongest]), sum(counts[strongest]))

    def conclude(p: float) -> Conclusion:
        sentences = []
        for who, each in sorted(counts.items(), key=lambda item: -sum(item[1])):
            shares = " / ".join(f"{count / sum(each) * 100:.0f}" for count in each)
            shown = f" ({p_statement(max(tested[who], p))})" if who in tested else ""
            sentences.append(f"{who}: {shares} % of {sum(each)}{shown}")
        level: Severity = "fine"
        if p <= LEVEL:
            level = "alarm" if (top.value or 0) - 1 / 3 > _CLEAR else "check"
        return level, f"first places by position, first to last: {'; '.join(sentences)}"

    return Pending(tested[strongest], top, conclude)


@question(
    "judges",
    "a mean tau of 0.2 to 0.7, and more than chance explains; judges who rank at random come to 0",
    "take better judges or more of them; where they cannot agree, no vote means much",
)
def agreement(runs: Runs) -> AuditAnswer:
    taus: defaultdict[str, list[float]] = defaultdict(list)
    by_run: list[list[list[float]]] = []
    chances = []
    for run in runs:
        by_run.append([])
        for panel in run.panels:
            if len(panel.sample) > 1 and len(panel.candidates) > 1:
                tau = mean_tau(tuple(panel.sample))
                taus[panel.judge].append(tau)
                by_run[-1].append([tau])
                chances.append(tau_by_chance(len(panel.sample), len(panel.candidates)))
    every = [tau for each in taus.values() for tau in each]
    if not every:
        return "no panel over two texts or more has two ballots of judges who are asked whatever the others say"
    number = resampled_mean(independent(by_run))
    mean, low, high = number.value or 0.0, number.low, number.high
    interval = "" if low is None or high is None else f" ({low:.2f} to {high:.2f})"
    sentence = f"mean tau {mean:.2f}{interval} over {many(len(every), 'panel')}"
    if len(taus) > 1:
        sentence += ": " + listed(f"{who} {fmean(each):.2f}" for who, each in sorted(taus.items()))
    same = percent((1 + mean) / 2)
    sentence += f"; two judges agree on {same} of pairs of texts (by chance 50 %)"
    hardly = len(every) >= _ENOUGH and high is not None and high < _USEFUL_TAU

    def conclude(p: float) -> Conclusion:
        how = f"that is not shown to be more than chance ({p_statement(p)})"
        if p <= LEVEL:
            how = f"{'hardly ' if hardly else ''}more than chance gives ({p_statement(p)})"
        level: Severity = "fine" if p <= LEVEL and mean >= 2 * _USEFUL_TAU else "check"
        return "alarm" if hardly else level, f"{sentence}; {how}"

    return Pending(more_than_chance(chances, fsum(every)), number, conclude)


@question(
    "judges",
    "the longer of two texts is preferred about half of the time",
    "tell judges that longer is not better, set a word limit, compare at equal length",
)
def length_preferred(runs: Runs) -> AuditAnswer:
    by_run = [[each for panel in run.scored if (each := list(_longer(*panel)))] for run in runs]
    every = [longer for panels in by_run for each in panels for longer in each]
    if not every:
        return "no two texts of different lengths were judged with different scores"
    clusters = independent(by_run)
    scores = [2 * sum(each) - len(each) for each in clusters]
    number = resampled_mean(clusters)
    value = number.value or 0.0
    often = part(sum(every), len(every), "comparison")
    sentence = f"of two texts the longer scored higher in {often}"

    def conclude(p: float) -> Conclusion:
        if p > LEVEL or value <= 0.5:
            return "fine", f"{sentence}, {p_statement(p)}"
        level: Severity = "fine" if value <= _LIKES_LENGTH else "check"
        how = f"more than chance explains ({p_statement(p)})"
        return "alarm" if value > _LOVES_LENGTH else level, f"{sentence}, {how}"

    return Pending(unlike_chance(flips(scores), sum(scores)), number, conclude)


def _longer(scores: Mapping[str, int], words: Mapping[str | None, int]) -> Iterator[bool]:
    """For any two texts of a panel with different lengths and scores, whether the longer has more."""
    for one, other in combinations(scores, 2):
        if words[one] != words[other] and scores[one] != scores[other]:
            yield (words[one] > words[other]) == (scores[one] > scores[other])


@question(
    "stopping",
    "A survives more often than judges ranking at random would let it",
    "do not take convergence for quality: let fresh judges compare the last text with the first",
)
def survival(runs: Runs) -> AuditAnswer:
    """How often A survived, against what judges ranking at random give under the same rule for stopping."""
    chances: list[float] = []
    parts, leads, survived = [], [], 0
    for run in runs:
        decided = [
            (each.panel.winner, each.unconfirmed, each.panel.chances_of_a)
            for each in run.passes
            if each.panel and each.panel.chances_of_a and each.panel.valid and each.panel.winner
            if len(each.panel.candidates) > 1
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
        return "no panel that decided for or against A was kept with its ballots"
    expected = fsum(chances)
    sentence = (
        f"A survived {part(survived, len(chances), 'panel')}; "
        f"judges ranking at random would let it survive {expected:.0f}"
    )

    def conclude(p: float) -> Conclusion:
        if p > LEVEL:
            return "check", f"{sentence}, so chance explains it ({p_statement(p)})"
        if survived > expected:
            how = "so it survived more often than chance explains"
            return "fine", f"{sentence}, {how} ({p_statement(p)})"
        return "alarm", f"{sentence}, so being A was a handicap ({p_statement(p)})"

    return Pending(unlike_chance(parts, fsum(leads)), share(survived, len(chances)), conclude)


@question(
    "stopping",
    "A survives more often right after a survival: then a streak means something",
    "ask for evidence with every stop; a streak that a coin could throw is none",
)
def streaks(runs: Runs) -> AuditAnswer:
    courses = []
    for run in runs:
        decided = [each for each in run.passes if each.winner and each.panel]
        winners = [each.winner == "A" for each in decided if not each.unconfirmed]
        courses.append(Course.of(winners, run.settings.k))
    steps = [step for course in courses for step in pairwise(course.survived)]
    after = sum(before for before, _ in steps)
    if not after or after == len(steps):
        return "needs passes after a survival and after a defeat of A"
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
        return Found("check", f"{sentence}; that says nothing, as {reason}", number)
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
            return "check", f"{sentence}{how}; no run ended on a streak"
        return "alarm" if enough else "check", sentence + how

    return Pending(more_than_chance(parts, yes), number, conclude)


@question(
    "stopping",
    "a run converges on panels that put A clearly first",
    "run more passes: a tie has confirmed nothing",
)
def convergence(runs: Runs) -> AuditAnswer:
    ended = [run for run in runs if run.converged is not None]
    converged = [run for run in ended if run.converged]
    if not ended:
        return "the record does not say how runs ended"
    if not converged:
        who = (
            f"none of {many(len(ended), 'run')} converged"
            if ended[1:]
            else "the run did not converge"
        )
        number = Estimate(None, n=0, reason="no run converged")
        return Found("fine", f"{who}, so nothing rests on a streak", number)
    tied = []
    for run in converged:
        last = [each for each in run.passes if not each.unconfirmed][-run.settings.k :]
        if any(each.panel and (each.panel.tied or not each.panel.valid) for each in last):
            tied.append(run.name)
    number = share(len(tied), len(converged))
    verb, which = "rest" if tied[1:] else "rests", f": {listed(tied)}" if tied else ""
    sentence = f"{part(len(tied), len(converged), 'convergence')} {verb} on a tie{which}"
    level: Severity = "check" if tied else "fine"
    return Found("alarm" if len(tied) > 0.2 * len(converged) else level, sentence, number)


@question(
    "stopping",
    "fresh judges, who had no part in choosing it, prefer the text that was chosen to the first draft",
    "ask more fresh judges before relying on the text, or deliver the first draft",
)
def confirmation(runs: Runs) -> AuditAnswer:
    compared = [(run, run.story.confirmation) for run in runs if not run.programs]
    ballots = [(each.prefer, each.judges) for _, each in compared if each and each.judges]
    unchanged = [run for run, each in compared if not each and run.first and run.first == run.last]
    drafts = f"{many(len(unchanged), 'run')} that only had the first draft to deliver"
    exclusion = f"; without {drafts}" if unchanged else ""
    if not ballots:
        return f"no fresh judges compared a chosen text with its first draft{exclusion}"
    prefer, judges = map(sum, zip(*ballots, strict=True))
    number = exact_share(prefer, judges)
    over = f" in {many(len(ballots), 'run')}" if len(ballots) > 1 or unchanged else ""
    sentence = (
        f"{part(prefer, judges, 'fresh judge')} prefer the text that was chosen to the first draft "
        f"(95 % interval {percent_range(number.low or 0, number.high or 0)}){over}{exclusion}"
    )
    # Judges of one run compare the same two texts: over many runs, the runs must bear it out too.
    p = (sign_test(prefer, judges - prefer).p_value or 1.0) / 2
    if len(ballots) >= MANY_RUNS:
        leads = [2 * one - of for one, of in ballots]
        p = max(p, more_than_chance(flips(leads), abs(sum(leads))))

    def conclude(p: float) -> Conclusion:
        if p > LEVEL:
            return "check", f"{sentence}; an even split is not ruled out ({p_statement(p)})"
        if 2 * prefer > judges:
            return "fine", f"{sentence}; judges prefer it ({p_statement(p)})"
        return "alarm", f"{sentence}; they prefer the draft ({p_statement(p)})"

    return Pending(p, number, conclude)


OF_PANELS: tuple[AuditCheck, ...] = (
    *(invalid_ballots, ties),
    *(position, agreement, length_preferred),
    *(survival, streaks, convergence, confirmation),
)
