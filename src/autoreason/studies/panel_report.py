"""The report of a panel over finished texts: standings, agreement, position, length, and the winner."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import combinations
from statistics import fmean, mode
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from autoreason.contract import count_words
from autoreason.events import BallotCast
from autoreason.job_types import Judge
from autoreason.jobs.job import last_panel
from autoreason.report.charts import Chart, ChartRow, ChartVerdict, interval_chart
from autoreason.report.numbers import (
    UNKNOWN,
    agreement,
    by_chance,
    count,
    decimal,
    describe_losers,
    interval,
    jury,
    listed,
    longer,
    p_statement,
    p_value,
    percent,
    percent_interval,
    positions,
    taste_for_length,
    without_folder,
)
from autoreason.report.page import SideBySide, Try, Version, VersionTone
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, figures, words
from autoreason.stats import BEYOND_CHANCE, Estimate, Test, ranks
from autoreason.stats.ranks import TiedRanking
from autoreason.stats.shares import (
    clustered_share,
    even_share_test,
    group_values,
    longer_preferred,
    sign_test,
)
from autoreason.story import Story
from autoreason.studies.panel_jobs import STAGE, duels_of, votes_by_pair
from autoreason.tournament.evidence import chance_of_win


class CountedBallot(Struct, frozen=True, kw_only=True):
    ranking: tuple[tuple[str, ...], ...]
    """Best first; texts that are one and the same share a place."""
    cluster: int
    """Ballots of one repeat are not independent."""


class EntryStanding(Struct, frozen=True, kw_only=True):
    name: str
    words: int
    points: float
    mean_points: Estimate
    """Points per ballot; the intervals are simultaneous for all texts, so that of the best is valid too."""
    first_places: float
    """First places; shared ones count in parts."""


class EntryDuel(Struct, frozen=True, kw_only=True):
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

    @property
    def votes(self) -> str:
        """`12 of 21`."""
        return f"{self.wins} of {self.wins + self.losses}"

    def is_shown(self, wins_by_chance: float) -> bool:
        """Whether it is beyond chance, after what a winner takes of the 5 %."""
        p = self.p_value_adjusted
        return p is not None and p + wins_by_chance <= BEYOND_CHANCE

    def seen_from(self, name: str) -> EntryDuel:
        if name == self.first:
            return self
        return replace(
            self,
            first=self.second,
            second=self.first,
            wins=self.losses,
            losses=self.wins,
            preferred=self.preferred.changed(lambda share: 1 - share),
        )


class JudgedText(Struct, frozen=True, kw_only=True):
    name: str
    text: str


class JudgeRanking(Struct, frozen=True, kw_only=True):
    model: str
    ranking: tuple[str, ...] | None
    """Best first; None where the ballot was not valid."""


class PanelReport(Report, Struct, frozen=True, kw_only=True):
    """Everything a panel can show; None is unknown, never zero."""

    standings: tuple[EntryStanding, ...]
    wins: dict[str, dict[str, int]]
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
    cycles: tuple[tuple[str, ...], ...]
    agreement: float | None
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
    words_before_cut: dict[str, int] = {}
    """Words of the texts that were cut to the length of the shortest, before that."""
    judges: tuple[str, ...] = ()
    """The model of every judge who was asked."""
    pairwise: bool = False
    """Judges saw two texts at a time; the text with the most votes leads."""
    clustered: bool = False
    """What is inferred rests on whole repeats."""
    texts: tuple[JudgedText, ...] = ()
    """What was judged; none where panels of several tries are counted together."""
    rankings: tuple[JudgeRanking, ...] = ()
    """What each judge answered, in the order in which they were asked."""

    heading = "Texts judged blind"

    @property
    def conclusion(self) -> str:
        if self.winner:
            return f"{self.winner} wins: {self._lead()}"
        leaders = self.leaders
        lose = describe_losers(self.losers)
        if len(leaders) > 1:
            return f"no winner{lose}: {listed(leaders)} are equal"
        return f"no winner beyond chance{lose}: {leaders[0]} leads, but {self._lead()}"

    def _lead(self) -> str:
        first, second = self.standings[:2]
        if self.winner and (self.chance or 0.0) > BEYOND_CHANCE:
            return f"all of {count(self.ballots, 'ranking')} put it first"
        if self.chance is not None:
            ahead = count(abs(round(first.points - second.points)), "point")
            return by_chance(f"a lead of {ahead} or more", self.chance)
        duel = _between(self.duels, first.name, second.name)
        worth = "are more than chance gives" if self.winner else "could be chance"
        pairs = f", corrected for {len(self.duels)} pairs" if len(self.duels) > 1 else ""
        return (
            f"its {count(duel.wins, 'vote')} to {duel.losses} against {second.name} {worth} "
            f"({p_statement(duel.p_value_adjusted)}{pairs})"
        )

    def summary(self, took: str = "") -> list[str]:
        """Which text judges prefer, how the others stand, and who judged; or what so many judges could show."""
        names = self.names()
        lines = [self._preferred()]
        if self.winner and names[2:]:
            others = [duel for duel in self.duels if self.winner not in (duel.first, duel.second)]
            shown = any((duel.p_value_adjusted or 1.0) <= BEYOND_CHANCE for duel in others)
            rest = "more is in --evidence" if shown else "between these nothing is shown"
            lines.append(f"Then {', then '.join(names[1:])}; {rest}.")
        elif not self.winner:
            lines.append(self._could_show())
        lines += self.taste_for_length()
        if broken := self.violations.get(names[0]):
            lines.append(f"{names[0]} breaks a limit: {'; '.join(broken)}.")
        all_ = "All judges" if len({*self.judges}) == 1 else "Judges"
        who = f"{all_} are {jury(self.judges)}" if self.judges else ""
        return [*lines, " · ".join(filter(None, [who, took]))]

    def _preferred(self) -> str:
        first, second = self.standings[:2]
        rankings = count(self.ballots, "ranking")
        duel = _between(self.duels, first.name, second.name)
        votes = f"{duel.votes} votes"
        firsts = decimal(first.first_places)
        if self.winner:
            votes = f"{votes} prefer it to {second.name}"
            return f"Judges prefer {self.winner}: " + (
                f"{votes}." if self.pairwise else f"{firsts} of {rankings} put it first."
            )
        if self.leaders[1:]:
            return f"No text is shown to be preferred: {listed(self.leaders)} are equal."
        often = first.first_places == max(each.first_places for each in self.standings)
        by = "" if often else "placed best on average, and "
        lead = f"{by}first in {firsts} of {rankings}"
        if self.pairwise:
            lead = f"with {votes} against {second.name}"
        lose = ""
        if losers := self.losers:
            lose = f" {listed(losers)} {'are' if losers[1:] else 'is'} shown to be behind."
        return f"No text is shown to be preferred: {first.name} leads, {lead}.{lose}"

    def taste_for_length(self, name: Callable[[str], str] = str) -> list[str]:
        """A line where the text in the lead is much longer than the next, and judges like length."""
        first, second = self.standings[:2]
        if self.leaders[1:]:
            return []
        than = name(second.name)
        return taste_for_length(first.words, second.words, self.longer_preferred, than)

    def _could_show(self) -> str:
        """About how many it takes, by the test of a pair."""
        level = BEYOND_CHANCE / len(self.duels)

        def needed(votes: int) -> int:
            majorities = range(votes // 2 + 1, votes + 1)
            tests = ((n, sign_test(n, votes - n).p_value or 1.0) for n in majorities)
            return next((n for n, p in tests if p <= level), 0)

        votes, more = self.detectable.n, 3 * max(3, len(self.judges))
        now, later = needed(votes), 0 if self.pairwise else needed(more)
        cast = count(votes, "vote" if self.pairwise else "ranking")
        raised = f"; with --judges {more} about {later}" if later else ""
        if now:
            return f"To tell two texts apart takes about {now} of {cast}{raised}."
        can = "show a favourite only by a wide lead" if self.wins_by_chance else "show no favourite"
        return f"{cast} can {can}{raised}{' must agree' if later else ''}."

    @property
    def leaders(self) -> list[str]:
        """The text with the most points or votes; several where they are equal."""
        return _leaders(self.standings, self.pairwise)

    @property
    def losers(self) -> list[str]:
        """Texts that are shown to be behind another; 5 % is for these and the winner together."""
        behind = {duel.behind for duel in self.duels if duel.is_shown(self.wins_by_chance)}
        return [name for name in self.names() if name in behind]

    def sections(self) -> list[Section]:
        return [Section(tables=[standings(self), win_matrix(self)]), Section(sentences=notes(self))]

    def page_sections(self) -> list[Section]:
        found = [Section("How judges placed them", charts=[standings_chart(self)])]
        if self.texts:
            texts = {each.name: each.text for each in self.texts}
            tones: dict[int, VersionTone] = {1: "first", 2: "second"}
            versions = [
                Version(
                    *(each.name, texts[each.name], str(at)),
                    f"place {at} · {count(each.words, 'word')}",
                    tones.get(at, ""),
                )
                for at, each in enumerate(self.standings, 1)
            ]
            beside = SideBySide([Try("", "", versions)], base=self.standings[0].name)
            found.append(Section("The texts", texts=beside))
        if self.rankings:
            rows = [
                (f"{at}. {each.model}", " > ".join(each.ranking or ["no valid answer"]))
                for at, each in enumerate(self.rankings, 1)
            ]
            table = Table(words("judge", "the texts, best first"), rows)
            found.append(Section("The rankings", tables=[table]))
        every = duel_chart(self, "How often judges prefer one text to another", self.duels)
        found.append(Section("All pairs", charts=[every], folded=True))
        names = ("Points and votes", "How it was counted")
        counted = zip(names, self.sections(), strict=True)
        return found + [each._replace(title=name, folded=True) for name, each in counted]

    def names(self) -> list[str]:
        return [each.name for each in self.standings]


def standings(found: PanelReport) -> Table:
    firsts = [] if found.pairwise else ["first places"]
    # Over several tries these are the lengths of those that were judged, and others are said elsewhere.
    sizes = [] if found.clustered else ["words"]
    rows = []
    for each in found.standings:
        shown = (decimal(each.points), interval(each.mean_points))
        length = (f"{each.words:,}" for _ in sizes)
        rows.append((each.name, *length, *shown, *(decimal(each.first_places) for _ in firsts)))
    heads = [*sizes, "points", "per ballot (95 % for all)", *firsts]
    return Table([*words(""), *figures(*heads)], rows)


def win_matrix(found: PanelReport) -> Table:
    names = found.names()
    rows = []
    for one in names:
        above = found.wins.get(one, {})
        rows.append((one, *(UNKNOWN if each == one else f"{above.get(each, 0)}" for each in names)))
    return Table([*words("above"), *figures(*names)], rows)


def duels(found: PanelReport, against: str) -> Table:
    rows = []
    for each in duels_with(found, against):
        ps = map(p_value, (each.test.p_value, each.p_value_adjusted))
        votes = (str(each.wins), str(each.losses), percent_interval(each.preferred))
        rows.append((each.second, *votes, *ps))
    heads = ("won", "lost", "preferred (95 % for all pairs)", "p", "p, corrected")
    return Table([*words(f"{against} against"), *figures(*heads)], rows)


def duel_chart(found: PanelReport, title: str, pairs: Sequence[EntryDuel]) -> Chart:
    """How often judges prefer one text to another, with intervals that hold for all pairs."""
    rows = []
    for each in pairs:
        shown = each.is_shown(found.wins_by_chance)
        verdict: ChartVerdict = "" if not shown else "good" if each.wins > each.losses else "bad"
        ahead = each.second if each.behind == each.first else each.first
        said = f"judges prefer {ahead}" if shown else "not shown"
        if each.preferred.low is None:
            said = f"{said}; no interval, {each.preferred.reason}"
        label = f"{each.first} against {each.second}"
        rows.append(
            ChartRow(label, each.preferred, f"{percent_interval(each.preferred)}: {said}", verdict)
        )
    first, *others = {each.first for each in pairs}
    sides = ("judges prefer the other", f"judges prefer {'the first' if others else first}")
    note = f"{DOT_AND_LINE} for all pairs together). A line that crosses the middle shows nothing."
    if found.chance:
        note += " The points say who wins; what that leaves of 5 % is for pairs."
    return interval_chart(title, rows, sides=sides, note=note)


def standings_chart(found: PanelReport) -> Chart:
    """What judges gave each text; which of them wins is said by the conclusion alone."""
    last, rivals = (0, 1) if found.pairwise else (1, len(found.standings) - 1)
    best = last + rivals
    rows = []
    for each in found.standings:
        won, points = each.name == found.winner, each.mean_points
        said = f"{percent_interval(points)} of votes"
        if not found.pairwise:
            places = points.changed(lambda each: best + 1 - each)
            said = f"place {interval(places)} on average"
        said += ": the winner" * won
        rows.append(ChartRow(each.name, points, said, "good" if won else ""))
    return interval_chart(
        "Votes for each text" if found.pairwise else "The place judges gave each text",
        rows,
        sides=("last for all judges", "first for all judges"),
        middle=last + rivals / 2,
        middle_label="what a text gets if judges see no difference",
        scale=(last, best),
        show=percent if found.pairwise else lambda points: f"{best + 1 - points:.3g}",
        note=f"{DOT_AND_LINE} for all texts together).",
    )


DOT_AND_LINE = "The dot is what was seen, the line how far it can be off (95 %"


def duels_with(found: PanelReport, against: str) -> list[EntryDuel]:
    return [duel.seen_from(against) for duel in found.duels if against in (duel.first, duel.second)]


def notes(found: PanelReport) -> list[tuple[str, str]]:
    noun, share = "repeat" if found.clustered else "vote", found.detectable
    position = positions(found.positions)
    if position:
        position += f"; {p_statement(found.position_test.p_value)}"
    if position and (shown := sum(found.positions)) < found.ballots:
        votes = f"{shown} of {count(found.ballots, 'vote')}"
        position += f"; over panels of {len(found.positions)} texts only, with {votes}"
    of = f", of {jury(found.judges)}" if found.judges else ""
    flipped = "left out because the judge flipped with the order"
    abstained = f"; {found.abstained} {flipped}" if found.abstained else ""
    invalid = count(found.invalid, "invalid ballot") if found.invalid else "no invalid ballots"
    rows = [
        ("Agreement", agreement(found.agreement)),
        ("Position", position or f"unknown: {found.position_test.reason}"),
        ("Length", longer(found.longer_preferred, count(found.longer_preferred.n, noun))),
        ("Ballots", f"{count(found.ballots, 'vote')} counted{of}{abstained}; {invalid}"),
    ]
    if found.cycles:
        circles = "; ".join(" > ".join(cycle) for cycle in found.cycles)
        rows.append(("Circle", f"majorities go round in a circle: {circles}"))
    could = "can show nothing: even if all agreed it could be chance"
    if share.value is not None:
        could = (
            f"can show a majority of {percent(share.value)} or more four times out of five; "
            "a smaller one would mostly be missed"
        )
    rows.append(("Power", f"{count(share.n, noun)} {could}"))
    if found.words_before_cut:
        now = {each.name: each.words for each in found.standings}
        before = [(name, n) for name, n in found.words_before_cut.items() if n != now[name]]
        cut = [f"{name} from {n:,} words to {now[name]:,}" for name, n in before]
        rows.append(("Cut", "; ".join(cut) or "nothing: all texts have the same length"))
    broken = {name: rules for name, rules in found.violations.items() if rules}
    return rows + [("Contract", f"{name}: {'; '.join(rules)}") for name, rules in broken.items()]


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
    from autoreason.stats.power import detectable_share

    rankings = [ballot.ranking for ballot in judged]
    clusters = [ballot.cluster for ballot in judged]
    repeats = len(set(clusters))
    units: Sequence[Hashable] = clusters if clustered else range(len(judged))
    noun = "repeat" if clustered else "ballot"
    every_duel = _duels(list(words), rankings, units, noun)
    ordered = _standings(words, rankings, units, noun, pairwise=pairwise)
    top = _between(every_duel, ordered[0].name, ordered[1].name)
    p = chance
    if p is None and top.wins > top.losses:
        p = top.p_value_adjusted
    # Judges who agree on all places leave a small lead: that all put one text first is a claim of its own.
    agreed = float(len(words)) ** (1 - len(judged))
    if chance is not None and wins_by_chance + agreed <= BEYOND_CHANCE:
        wins_by_chance += agreed
        p = agreed if ordered[0].first_places == len(judged) else p
    is_won = p is not None and p <= BEYOND_CHANCE and len(_leaders(ordered, pairwise)) == 1
    counts, test = positions_of(ballots)
    lengths = lengths or dict.fromkeys(clusters, words)
    return PanelReport(
        standings=ordered,
        wins={one: dict(row) for one, row in ranks.win_matrix(rankings).items()},
        duels=every_duel,
        ballots=len(judged),
        invalid=sum(ballot.ranking is None for ballot in ballots),
        repeats=repeats,
        winner=ordered[0].name if is_won else None,
        chance=chance,
        wins_by_chance=wins_by_chance,
        cycles=tuple(ranks.cycles(rankings)),
        agreement=_agreement(rankings, clusters),
        positions=counts,
        position_test=test,
        longer_preferred=longer_preferred(
            (unit, score, lengths[ballot.cluster][one] - lengths[ballot.cluster][other])
            for unit, ballot in zip(units, judged, strict=True)
            for one, other, score in ranks.games([ballot.ranking])
        ),
        # What the decision at the top could have shown, with the correction that it has to pass.
        detectable=detectable_share(
            repeats if clustered else top.wins + top.losses,
            alpha=BEYOND_CHANCE / (len(every_duel) if chance is None else 1),
        ),
        abstained=abstained,
        judges=tuple(without_folder(ballot.model) for ballot in ballots if ballot.model),
        pairwise=pairwise,
        clustered=clustered,
    )


def _standings(
    words: Mapping[str, int],
    rankings: Sequence[TiedRanking],
    units: Sequence[Hashable],
    noun: str,
    *,
    pairwise: bool,
) -> tuple[EntryStanding, ...]:
    last = 0 if pairwise else 1
    firsts = ranks.first_places(rankings)
    scored = [ranks.borda([ranking]) for ranking in rankings]
    rivals = max(map(len, scored), default=1) - 1
    found = []
    for name, length in words.items():
        at = [number for number, points in enumerate(scored) if name in points]
        points = [scored[number][name] + last - 1 for number in at]
        mean_points = Estimate(None, reason="no valid ballot ranks it")
        if points:
            # A ballot sets a text against each of its rivals. A reader looks at the first line, the best of
            # them all, so the intervals must be simultaneous (Bonferroni).
            shares = [(units[n], (p - last) / rivals) for n, p in zip(at, points, strict=True)]
            level = 1 - BEYOND_CHANCE / len(words)
            beaten = clustered_share(group_values(shares * rivals), level, noun)
            value = fmean(points)
            mean_points = replace(beaten, value=value)
            if beaten.low is not None and beaten.high is not None:
                low, high = (last + rivals * end for end in (beaten.low, beaten.high))
                mean_points = replace(mean_points, low=min(low, value), high=max(high, value))
        total, first = sum(points), firsts.get(name, 0)
        found.append(
            EntryStanding(
                name=name, words=length, points=total, mean_points=mean_points, first_places=first
            )
        )
    return tuple(sorted(found, key=lambda each: (-_merit(each, pairwise), -each.points)))


def _merit(standing: EntryStanding, pairwise: bool) -> float:
    """What texts are ordered by: the votes in pairs, where abstentions must not help, else points per ballot.

    A text that some of the ballots lack must not fall behind for that.
    """
    return standing.points if pairwise else standing.mean_points.value or 0


def _leaders(ordered: Sequence[EntryStanding], pairwise: bool) -> list[str]:
    best = _merit(ordered[0], pairwise)
    return [each.name for each in ordered if _merit(each, pairwise) == best]


def _duels(
    names: Sequence[str], rankings: Sequence[TiedRanking], units: Sequence[Hashable], noun: str
) -> tuple[EntryDuel, ...]:
    places = [
        {name: at for at, place in enumerate(ranks.levels(ranking)) for name in place}
        for ranking in rankings
    ]
    found = []
    every = list(combinations(names, 2))
    # Bonferroni: interval and test are corrected alike, so that a p beyond chance is an interval without one half.
    level = BEYOND_CHANCE / max(1, len(every))
    for one, other in every:
        met = [(u, p) for u, p in zip(units, places, strict=True) if one in p and other in p]
        leads = [(unit, place[other] - place[one]) for unit, place in met]
        tries = group_values((unit, float(lead > 0)) for unit, lead in leads if lead)
        wins, losses = sum(lead > 0 for _, lead in leads), sum(lead < 0 for _, lead in leads)
        # Of single ballots the interval is that of the sign test.
        test = even_share_test(tries, level) if noun == "repeat" else sign_test(wins, losses)
        p = None if test.p_value is None else min(1.0, len(every) * test.p_value)
        found.append(
            EntryDuel(
                first=one,
                second=other,
                wins=wins,
                losses=losses,
                preferred=clustered_share(tries, 1 - level, noun),
                test=test,
                p_value_adjusted=p,
            )
        )
    return tuple(found)


def _between(every: Sequence[EntryDuel], one: str, other: str) -> EntryDuel:
    return next(d for d in every if {d.first, d.second} == {one, other}).seen_from(one)


def _agreement(rankings: Sequence[TiedRanking], clusters: Sequence[int]) -> float | None:
    """Judges of the same repeat are compared; those of different ones saw different texts."""
    taus = []
    for found in group_values(zip(clusters, rankings, strict=True)):
        # Those who delivered the same text share its place: each text once.
        same_repeat = [[place[0] for place in ranks.levels(ranking)] for ranking in found]
        if any(set(each) != set(same_repeat[0]) for each in same_repeat):
            return None
        tau = ranks.agreement(same_repeat)
        if tau is not None:
            taus.append(tau)
    return fmean(taus) if taus else None


def positions_of(ballots: Sequence[BallotCast]) -> tuple[tuple[int, ...], Test]:
    """First places by position, and whether they could be equal; fair only where orders were drawn or balanced."""
    from autoreason.stats.resampling import equal_shares

    valid = [(ballot.order, ballot.ranking) for ballot in ballots if ballot.ranking]
    if not valid:
        return (), Test(None, reason="no ballot was valid")
    # Shares by position can only be added up over panels of one size: the usual one.
    usual = mode(len(order) for order, _ in valid)
    places = [order.index(ranking[0]) for order, ranking in valid if len(order) == usual]
    counts = tuple(places.count(at) for at in range(usual))
    return counts, equal_shares(counts)


def panel_report(story: Story) -> PanelReport:
    assert story.task is not None
    rules = story.task.violations
    broken = {e.name: tuple(v.message for v in rules(e.text)) for e in story.task.entries}
    words = {entry.name: count_words(entry.text) for entry in story.task.entries}
    cut_from = story.job.cut_from if isinstance(story.job, Judge) else {}
    rankings: list[tuple[tuple[str, ...], ...]]
    known: dict[str, Any] = {}
    if panel := last_panel(story.panels, STAGE):
        ballots = panel.ballots
        rankings = [tuple((n,) for n in ballot.ranking) for ballot in ballots if ballot.ranking]
        if panel.verdict and story.settings:
            wins = chance_of_win(len(rankings), len(words), story.settings.voting)
            known = {"chance": panel.verdict.chance, "wins_by_chance": wins}
    else:
        duels = votes_by_pair(story.panels)
        ballots = [ballot for duel in duels_of(story.panels) for ballot in duel.ballots]
        rankings = [
            ((vote.winner,), (other if vote.winner == one else one,))
            for (one, other), votes in duels.items()
            for vote in votes
            if vote.winner
        ]
        flipped = sum(vote.flipped for votes in duels.values() for vote in votes)
        known = {"abstained": flipped, "pairwise": True}
    judged = [CountedBallot(ranking=ranking, cluster=0) for ranking in rankings]
    return replace(
        report(judged, words, ballots, **known),
        violations=broken,
        texts=tuple(JudgedText(name=e.name, text=e.text) for e in story.task.entries),
        rankings=tuple(
            JudgeRanking(model=without_folder(e.model), ranking=e.ranking) for e in ballots
        ),
        # A suite records the lengths of all arms, also of one whose text is judged under another's name.
        words_before_cut={name: cut_from[name] for name in broken if name in cut_from},
    )
