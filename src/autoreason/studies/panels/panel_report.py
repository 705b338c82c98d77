"""The report of a panel over finished texts: standings, agreement, position, length, and the winner."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from statistics import fmean, mode

from msgspec import Struct
from msgspec.structs import replace

from autoreason.events import BallotCast
from autoreason.report.numbers import by_chance, describe_losers, listed, p_statement
from autoreason.report.numbers import count as counted
from autoreason.report.report import Report, Section
from autoreason.stats import ranks
from autoreason.stats.ranks import Concordance, Ranking, agreement, kendalls_w
from autoreason.stats.results import BEYOND_CHANCE, Estimate, Test
from autoreason.stats.shares import clustered_share, even_share_test, sign_test


class CountedBallot(Struct, frozen=True, kw_only=True):
    """One valid ballot, in the names of what is compared."""

    ranking: tuple[tuple[str, ...], ...]
    """Best first; texts that are one and the same share a place."""
    cluster: int
    """Ballots of one repeat are not independent."""


class EntryStanding(Struct, frozen=True, kw_only=True):
    """The result of one text."""

    name: str
    words: int
    points: float
    mean_points: Estimate
    """Points per ballot; the intervals are simultaneous for all texts, so that of the best is valid too."""
    first_places: float
    """First places; shared ones count in parts."""


class EntryDuel(Struct, frozen=True, kw_only=True):
    """Two texts against each other over all ballots."""

    first: str
    second: str
    wins: int
    losses: int
    preferred: Estimate
    """Share of ballots with a preference that prefer `first`; the intervals are simultaneous for all duels."""
    test: Test
    p_value_adjusted: float | None
    """The test's p times the number of pairs: 0.05 or less exactly where the interval leaves out one half."""

    @property
    def behind(self) -> str | None:
        """The text that fewer ballots prefer; None where neither has fewer."""
        if self.wins == self.losses:
            return None
        return self.second if self.wins > self.losses else self.first

    def seen_from(self, name: str) -> EntryDuel:
        """The same duel with this text as `first`."""
        if name == self.first:
            return self
        share = self.preferred
        value, low, high = (
            None if end is None else 1 - end for end in (share.value, share.high, share.low)
        )
        return replace(
            self,
            first=self.second,
            second=self.first,
            wins=self.losses,
            losses=self.wins,
            preferred=replace(share, value=value, low=low, high=high),
        )


class PanelReport(Report, Struct, frozen=True, kw_only=True):
    """Everything a panel can show; None is unknown, never zero."""

    standings: tuple[EntryStanding, ...]
    """The best first."""
    wins: dict[str, dict[str, int]]
    """How many ballots put one text above another."""
    duels: tuple[EntryDuel, ...]
    ballots: int
    invalid: int
    repeats: int
    winner: str | None
    """None where there is no winner beyond chance."""
    chance: float | None
    """Probability of at least this lead if judges ranked at random."""
    wins_by_chance: float = 0.0
    """How often such judges give a winner; what is then left of 5 % is for losers. 0 where duels decide."""
    condorcet_winner: str | None
    cycles: tuple[tuple[str, ...], ...]
    agreement: float | None
    """Mean Kendall tau between judges."""
    concordance: Estimate
    concordance_test: Test
    positions: tuple[int, ...]
    """First places by the position a text was shown at."""
    position_test: Test
    longer_preferred: Estimate
    """How often the longer of two texts is preferred; its n counts ballots, or repeats."""
    detectable: Estimate
    """The smallest majority that so many judges, or repeats, would show."""
    abstained: int = 0
    """Pairs of ballots whose judge flipped with the order."""
    violations: dict[str, tuple[str, ...]] = {}
    """Rules of the contract that each text breaks."""
    words_before_cut: dict[str, int] = {}
    """Words of the texts that were cut to the length of the shortest, before that."""
    judges: tuple[str, ...] = ()
    """The model of every judge who was asked."""
    pairwise: bool = False
    """Judges saw two texts at a time; the text with the most votes leads."""
    clustered: bool = False
    """What is inferred rests on whole repeats."""

    heading = "A blind panel"

    @property
    def conclusion(self) -> str:
        """The winner, or that there is none beyond chance: one plain sentence."""
        if self.winner:
            return f"{self.winner} wins: {self._lead()}"
        leaders = _leaders(self.standings, self.pairwise)
        lose = describe_losers([each.name for each in self.standings if self._is_beaten(each.name)])
        if len(leaders) > 1:
            return f"no winner{lose}: {listed(leaders)} are equal"
        return f"no winner beyond chance{lose}: {leaders[0]} leads, but {self._lead()}"

    def _is_beaten(self, name: str) -> bool:
        return any(
            duel.behind == name
            and duel.p_value_adjusted is not None
            and duel.p_value_adjusted + self.wins_by_chance <= BEYOND_CHANCE
            for duel in self.duels
        )

    def sections(self) -> list[Section]:
        """Standings, the matrix of wins, and notes."""
        from autoreason.studies.panels.panel_tables import notes, standings, win_matrix

        return [Section(tables=[standings(self), win_matrix(self)]), Section(sentences=notes(self))]

    def names(self) -> list[str]:
        """Those of the texts."""
        return [each.name for each in self.standings]

    def _lead(self) -> str:
        first, second = self.standings[:2]
        if self.chance is not None:
            ahead = counted(abs(round(first.points - second.points)), "point")
            return by_chance(f"a lead of {ahead} or more", self.chance)
        duel = _between(self.duels, first.name, second.name)
        worth = "are more than chance gives" if self.winner else "could be chance"
        pairs = f", corrected for {len(self.duels)} pairs" if len(self.duels) > 1 else ""
        return (
            f"its {counted(duel.wins, 'vote')} to {duel.losses} against {second.name} {worth} "
            f"({p_statement(duel.p_value_adjusted)}{pairs})"
        )


def report(
    judged: Sequence[CountedBallot],
    words: Mapping[str, int],
    ballots: Sequence[BallotCast],
    *,
    chance: float | None = None,
    wins_by_chance: float = 0.0,
    clustered: bool = False,
    abstained: int = 0,
    pairwise: bool = False,
    lengths: Mapping[int, Mapping[str, int]] | None = None,
) -> PanelReport:
    """Fold ballots into a report; `chance` of the lead is the panel's own, or else the duel at the top decides.

    `ballots` are those cast, for what position and order did to them. In `pairwise` ballots the second place
    earns nothing. Where ballots are `clustered`, whatever is inferred rests on clusters, even if
    there is only one; `lengths` are those of the texts of each, where they are not `words`.
    """
    rankings = [ballot.ranking for ballot in judged]
    clusters = [ballot.cluster for ballot in judged]
    repeats = len(set(clusters))
    units: Sequence[Hashable] | None = clusters if clustered else None
    duels = _duels(list(words), rankings, units)
    standings = _standings(words, rankings, units, pairwise=pairwise)
    concordance = _concordance(rankings, repeats)
    position = _positions(ballots)
    return PanelReport(
        standings=standings,
        wins={one: dict(row) for one, row in ranks.win_matrix(rankings).items()},
        duels=duels,
        ballots=len(judged),
        invalid=sum(ballot.ranking is None for ballot in ballots),
        repeats=repeats,
        winner=_winner(standings, duels, chance, pairwise=pairwise),
        chance=chance,
        wins_by_chance=wins_by_chance,
        condorcet_winner=ranks.condorcet_winner(rankings),
        cycles=tuple(ranks.cycles(rankings)),
        agreement=_agreement(rankings, clusters),
        concordance=concordance.w,
        concordance_test=concordance.test,
        positions=position[0],
        position_test=position[1],
        longer_preferred=_longer(judged, lengths or dict.fromkeys(clusters, words), units),
        detectable=_detectable(standings, duels, repeats if clustered else None, chance),
        abstained=abstained,
        judges=tuple(ballot.model for ballot in ballots if ballot.model),
        pairwise=pairwise,
        clustered=clustered,
    )


def _standings(
    words: Mapping[str, int],
    rankings: Sequence[Ranking],
    units: Sequence[Hashable] | None,
    *,
    pairwise: bool,
) -> tuple[EntryStanding, ...]:
    last = 0 if pairwise else 1
    firsts = ranks.first_places(rankings)
    # A reader looks at the first line, the best of them all, so the intervals must be simultaneous (Bonferroni).
    confidence = 1 - BEYOND_CHANCE / len(words)
    unknown = Estimate(None, reason="no valid ballot ranks it")
    scored = [ranks.borda([ranking]) for ranking in rankings]
    rivals = max(map(len, scored), default=1) - 1
    standings = []
    for name, count in words.items():
        ballots = [at for at, points in enumerate(scored) if name in points]
        points = [scored[at][name] + last - 1 for at in ballots]
        # A ballot sets a text against each of its rivals.
        tries = [[(each - last) / rivals] * rivals for each in points]
        beaten = _share(tries, [units[at] for at in ballots] if units else None, confidence)
        standings.append(
            EntryStanding(
                name=name,
                words=count,
                points=sum(points),
                mean_points=_points(fmean(points), beaten, last, rivals) if points else unknown,
                first_places=firsts.get(name, 0),
            )
        )
    return tuple(sorted(standings, key=lambda each: (-_merit(each, pairwise), -each.points)))


def _merit(standing: EntryStanding, pairwise: bool) -> float:
    """What texts are ordered by: the votes in pairs, where abstentions must not help, else points per ballot.

    A text that some of the ballots lack must not fall behind for that.
    """
    return standing.points if pairwise else standing.mean_points.value or 0


def _leaders(standings: Sequence[EntryStanding], pairwise: bool) -> list[str]:
    """The texts that no other is ahead of."""
    best = _merit(standings[0], pairwise)
    return [each.name for each in standings if _merit(each, pairwise) == best]


def _points(value: float, beaten: Estimate, last: int, rivals: int) -> Estimate:
    """Points per ballot, from the share of rivals beaten."""
    if beaten.low is None or beaten.high is None:
        return replace(beaten, value=value)
    low, high = (last + rivals * end for end in (beaten.low, beaten.high))
    return replace(beaten, value=value, low=min(low, value), high=max(high, value))


def _share(
    tries: Sequence[Sequence[float]],
    units: Sequence[Hashable] | None,
    confidence: float = 1 - BEYOND_CHANCE,
) -> Estimate:
    """A share over ballots, or over whole repeats of them; a single one has no interval."""
    share = clustered_share(_together(tries, units), confidence)
    if share.n != 1:
        return share
    noun = "repeat" if units else "ballot"
    reason = f"an interval needs two {noun}s or more, there is one {noun}"
    return replace(share, low=None, high=None, reason=reason)


def _together(
    tries: Sequence[Sequence[float]], units: Sequence[Hashable] | None
) -> list[list[float]]:
    together: dict[Hashable, list[float]] = {}
    for unit, each in zip(units or range(len(tries)), tries, strict=True):
        together.setdefault(unit, []).extend(each)
    return list(together.values())


def _duels(
    names: Sequence[str], rankings: Sequence[Ranking], units: Sequence[Hashable] | None
) -> tuple[EntryDuel, ...]:
    places = [_places(ranking) for ranking in rankings]
    duels = []
    every = list(combinations(names, 2))
    # Bonferroni: interval and test are corrected alike, so that a p beyond chance is an interval without one half.
    level = BEYOND_CHANCE / max(1, len(every))
    for one, other in every:
        met = [at for at, place in enumerate(places) if one in place and other in place]
        signs = [_sign(places[at][other] - places[at][one]) for at in met]
        tries = [[float(s > 0)] if s else [] for s in signs]
        wins, losses = signs.count(1), signs.count(-1)
        clusters = [units[at] for at in met] if units else None
        # Of single ballots the interval is that of the sign test.
        test = (
            even_share_test(_together(tries, clusters), level)
            if clusters
            else sign_test(wins, losses)
        )
        duels.append(
            EntryDuel(
                first=one,
                second=other,
                wins=wins,
                losses=losses,
                preferred=_share(tries, clusters, 1 - level),
                test=test,
                p_value_adjusted=None
                if test.p_value is None
                else min(1.0, len(every) * test.p_value),
            )
        )
    return tuple(duels)


def _winner(
    standings: Sequence[EntryStanding],
    duels: Sequence[EntryDuel],
    chance: float | None,
    *,
    pairwise: bool,
) -> str | None:
    """The leader, if chance alone would seldom give as much."""
    first, second = standings[0], standings[1]
    if len(_leaders(standings, pairwise)) > 1:
        return None
    if chance is None:
        duel = _between(duels, first.name, second.name)
        chance = duel.p_value_adjusted if duel.wins > duel.losses else None
    return first.name if chance is not None and chance <= BEYOND_CHANCE else None


def _between(duels: Sequence[EntryDuel], one: str, other: str) -> EntryDuel:
    return next(d for d in duels if {d.first, d.second} == {one, other}).seen_from(one)


def _detectable(
    standings: Sequence[EntryStanding],
    duels: Sequence[EntryDuel],
    repeats: int | None,
    chance: float | None,
) -> Estimate:
    """What the decision at the top could have shown, with the correction that it has to pass."""
    from autoreason.stats.power import detectable_share

    duel = _between(duels, standings[0].name, standings[1].name)
    units = duel.wins + duel.losses if repeats is None else repeats
    alpha = BEYOND_CHANCE if chance is not None else BEYOND_CHANCE / len(duels)
    return detectable_share(units, alpha=alpha)


def _agreement(rankings: Sequence[Ranking], clusters: Sequence[int]) -> float | None:
    """Judges of the same repeat are compared; those of different ones saw different texts."""
    taus = []
    for cluster in dict.fromkeys(clusters):
        same_repeat = [_texts(r) for r, c in zip(rankings, clusters, strict=True) if c == cluster]
        if any(set(each) != set(same_repeat[0]) for each in same_repeat):
            return None
        tau = agreement(same_repeat)
        if tau is not None:
            taus.append(tau)
    return sum(taus) / len(taus) if taus else None


def _texts(ranking: Ranking) -> list[str]:
    """What a judge ranked, each text once: those who delivered the same one share its place."""
    return [place[0] for place in ranks.levels(ranking)]


def _positions(ballots: Sequence[BallotCast]) -> tuple[tuple[int, ...], Test]:
    from autoreason.stats.resampling import position_effect

    valid = [(ballot.order, ballot.ranking) for ballot in ballots if ballot.ranking]
    if not valid:
        return (), Test(None, reason="no ballot was valid")
    # Shares by position can only be added up over panels of one size: the usual one.
    usual = mode(len(order) for order, _ in valid)
    valid = [each for each in valid if len(each[0]) == usual]
    effect = position_effect([order for order, _ in valid], [ranking for _, ranking in valid])
    return effect.counts, effect.test


def _longer(
    judged: Sequence[CountedBallot],
    lengths: Mapping[int, Mapping[str, int]],
    units: Sequence[Hashable] | None,
) -> Estimate:
    from autoreason.stats.shares import longer_preferred

    wins, differences, ballots = [], [], []
    for at, ballot in enumerate(judged):
        words = lengths[ballot.cluster]
        for one, other, score in ranks.games([ballot.ranking]):
            wins.append(score)
            differences.append(words[one] - words[other])
            ballots.append(units[at] if units else at)
    return longer_preferred(wins, differences, clusters=ballots)


def _places(ranking: Ranking) -> dict[str, int]:
    return {name: at for at, place in enumerate(ranks.levels(ranking)) for name in place}


def _concordance(rankings: Sequence[Ranking], repeats: int) -> Concordance:
    """Kendall's W, where every ballot ranks the same texts."""
    texts = [_texts(ranking) for ranking in rankings]
    if repeats > 1 or any(set(each) != set(texts[0]) for each in texts):
        reason = "not every ballot ranks the same texts"
        return Concordance(Estimate(None, reason=reason), Test(None, reason=reason))
    return kendalls_w([[float(each.index(name)) for name in texts[0]] for each in texts])


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
