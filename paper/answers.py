"""What recorded results give for each claim of the paper: rows of its tables, and claims that are not rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from math import comb, erfc, sqrt
from statistics import fmean, stdev
from typing import NamedTuple

from autoreason.report.numbers import UNKNOWN, count, p_statement
from autoreason.stats.ranks import cycles
from autoreason.stats.shares import cohens_h, sign_test
from paper.figures import (
    CONFIDENCE,
    NOTHING,
    Answer,
    Found,
    all_of,
    deviation_of,
    largest,
    majority,
    mean_of,
    mean_within,
    paired_gain,
    percentage,
    smallest,
    tally,
)
from paper.recording import (
    BRIEFS,
    PROBLEMS,
    SONNET_4,
    TASKS,
    PanelLine,
    Recording,
    ResultLine,
    Run,
)

_OPEN_TASKS = [TASKS[f"T{number}"] for number in range(1, 6)]
_MOST_PASSES = 50
"""The largest cap that a run has."""
Results = Mapping[str, ResultLine]
Names = Sequence[str]


def not_recorded(_: Recording) -> Answer:
    """What no file has."""
    return Answer({}, 0)


# ---- panels ------------------------------------------------------------------------------------


def places(names: Names, _: int, recording: Recording) -> Answer:
    """Where autoreason comes in the panels of a table; equals share the best of their places."""
    panels = [recording.panel(f"Table {names[0]}", task) for task in _OPEN_TASKS]
    found = [_place(panel) for panel in panels]
    mean, last = (
        mean_within([_place(panel, last) for panel in panels], 1, 5) for last in (False, True)
    )
    shown = ", ".join(UNKNOWN if place is None else f"{place}" for place in found)
    note = f"its places on T1 to T5 are {shown}"
    if mean.value and last.value and mean != last:
        shared = (mean.value + last.value) / 2
        note += f"; the mean is {shared:.1f} if equals share theirs, {last.value:.1f} if it is the last of them"
    third = tally(None if place is None else place == 3 for place in found)
    here = sum(panel is not None for panel in panels)
    return Answer({"third": third, "place": mean}, here, note)


def dominance(recording: Recording) -> Answer:
    """Task by task, which of two methods has more points."""
    chain = ("autoreason", "critique_and_revise", "harsh_critic", "conservative", "improve_this")
    panels = [panel for task in _OPEN_TASKS if (panel := recording.panel("Table 2", task))]
    values, notes = {}, []
    for one, other in pairwise(chain):
        leads = [panel.points.get(one, 0) - panel.points.get(other, 0) for panel in panels]
        wins, losses = sum(lead > 0 for lead in leads), sum(lead < 0 for lead in leads)
        values[f"{one} > {other}"] = majority(wins, losses, len(_OPEN_TASKS) - len(panels))
        notes.append(f"{one} {wins} to {losses} over {other}")
    return Answer(values, len(panels), ", ".join(notes))


def spread(recording: Recording) -> Answer:
    """How far texts of repeated runs differ, by the panel over them."""
    panel = next(iter(recording.panels_of("Sec 4.5")), None)
    if panel is None:
        return Answer({}, 0)
    points, words = list(panel.points.values()), list(panel.lengths.values())
    return Answer({**_lengths(words, 5), "deviation of points": deviation_of(points, 5)}, 1)


def tier(names: Names, _: int, recording: Recording) -> Answer:
    """How autoreason does against the best of the others, which is the one with most points in all."""
    table, word = names[0], "".join(names[1:])
    tasks = _OPEN_TASKS if table == "2" else BRIEFS.values()
    panels = [recording.panel(f"Table {table}", task, word) for task in tasks]
    here = [panel for panel in panels if panel and panel.points]
    if not here:
        return Answer({}, 0)
    others = {name for panel in here for name in panel.points} - {"autoreason"}
    best = max(sorted(others), key=lambda name: sum(panel.points.get(name, 0) for panel in here))
    judges = max(panel.judges_requested or 0 for panel in here)
    most = judges * max(len(panel.points) for panel in here)
    mine, theirs = (
        mean_within([panel.points.get(name) if panel else None for panel in panels], judges, most)
        for name in ("autoreason", best)
    )
    won = tally(None if panel is None else _place(panel) == 1 for panel in panels)
    note = f"the best other is {best}, and {most} points are the most"
    return Answer({"tasks won": won, "average": mine, "best other": theirs}, len(here), note)


def pitch_of_tiers(recording: Recording) -> Answer:
    """Which task the panels called pitch are about."""
    panels = recording.panels_of("Table 12", "Table 13", "Table 14", "Table 18")
    tasks = [panel.task for panel in panels if "pitch" in panel.panel_id]
    hits = all_of(sum("500" in task for task in tasks), len(tasks), whole=len(tasks) >= 5)
    return Answer({"pitch": hits}, len(tasks), f"they are about {', '.join(sorted(set(tasks)))}")


def equal_length(recording: Recording) -> Answer:
    """All votes of the panels at equal length."""
    cast = [panel.first_place for panel in recording.panels_of("Table 17") if panel.first_place]
    votes, missing = sum(each.get("autoreason", 0) for each in cast), max(0, 4 - len(cast))
    found = Found(votes, votes, votes + 7 * missing, whole=not missing)
    return Answer({"votes": found if cast else NOTHING}, len(cast))


def calls_at_equal_compute(recording: Recording) -> Answer:
    """A text of the same length among single passes says where the text comes from."""
    panel, single = (recording.panel(place, "task_01") for place in ("Discussion", "Table 1"))
    run = recording.run("v1_comparison", "task_01")
    if not (panel and single and run):
        return Answer({}, 0)
    words = panel.lengths.get("autoreason")
    known = [each for name, each in single.lengths.items() if name.startswith("autoreason")]
    calls = Found(run.calls() if words in known else None)
    return Answer(
        {"calls": calls}, 1, f"it is as long as the text of the single pass, {words} words"
    )


def lengths(recording: Recording) -> Answer:
    """Words of the final texts on T1."""
    panel = recording.panel("Table 2", "task_01")
    words = panel.lengths if panel else {}
    if "autoreason" not in words:
        return Answer({}, 0)
    more = [each - words["autoreason"] for each in words.values()]
    longer, shorter = (Found(sum(each * sign > 0 for each in more)) for sign in (1, -1))
    note = ", ".join(f"{name} {each}" for name, each in words.items()) + " words"
    return Answer({"longer": longer, "shorter": shorter}, 1, note)


# ---- runs --------------------------------------------------------------------------------------


def group(names: Names, whole: int, recording: Recording) -> Answer:
    """How some runs end, and how long their texts are."""
    runs = recording.runs_like(names)
    stops = [stop for run in runs if (stop := run.stop())]
    words = [length for run in runs if (length := run.words())]
    missing = [None] * (whole - len(runs))
    of = len(stops) + len(missing)
    voted = [bool(run.end()) and all(line.valid for line in run.end()) for run in runs]
    values = {
        "converged": tally([*(run.stop() is not None for run in runs), *missing]),
        "with ballots": tally([*voted, *missing]),
        "passes": mean_within([*stops, *missing], 1, _MOST_PASSES),
        "deviation": deviation_of(stops, of),
        "fewest": smallest(stops, of),
        "most": largest(stops, of),
        **_lengths(words, whole),
    }
    open_ended = [winner for run in runs if not run.stop() for winner in run.winners]
    notes = [
        describe_runs(runs),
        f"where runs do not converge, A wins {open_ended.count('A')} of {len(open_ended)} passes",
        f"as of a sample, the deviation of words is {stdev(words):.1f}" if len(words) > 1 else "",
    ]
    return Answer(values, len(runs), "; ".join(filter(None, notes if open_ended else notes[::2])))


def speed_of_reasoned_judges(recording: Recording) -> Answer:
    """All comparable runs of T1, of which the paper compares two."""
    from scipy.stats import mannwhitneyu

    passes: dict[str, list[int]] = {"cot": [], "holistic": []}
    for run in recording.runs.values():
        first = run.first
        alike = (first.task, first.panel_size, first.aggregation) == ("task_01", 3, "borda")
        copies = any(flag.startswith("clone") for flag in first.flags)
        if alike and first.k and SONNET_4 in first.author_model and not copies:
            # A run that never stops lasts longer than its cap.
            passes.setdefault(first.judge_style, []).append(run.stop() or len(run.passes) + 1)
    reasoned, holistic = passes["cot"], passes["holistic"]
    here = len(reasoned) + len(holistic)
    if not (reasoned and holistic):
        return Answer({}, here)
    p = float(mannwhitneyu(reasoned, holistic, method="asymptotic").pvalue)
    times = fmean(holistic) / fmean(reasoned)
    shown = [", ".join(map(str, sorted(each))) for each in (reasoned, holistic)]
    note = f"reasoned judges end after {shown[0]} passes, holistic ones after {shown[1]}"
    values = {name: Found(each, whole=here >= 13) for name, each in (("times", times), ("p", p))}
    return Answer(values, here, note)


def points_of_wins(names: Names, whole: int, recording: Recording) -> Answer:
    """With how many points A wins, where two numbers are claimed."""
    low, high, *patterns = names
    runs = recording.runs_like(patterns)
    wins = (line.points for run in runs for line in run.passes if line.winner == "A")
    points = Counter(round(each["A"]) for each in wins if "A" in each)
    inside = points[int(low)] + points[int(high)]
    note = ", ".join(
        f"{count(number, 'time')} {each} points" for each, number in sorted(points.items())
    )
    found = all_of(inside, points.total(), whole=len(runs) >= whole)
    return Answer({"wins": found}, len(runs), note)


def circles(names: Names, whole: int, recording: Recording) -> Answer:
    """Passes without an order that majorities agree on, in so many runs of the first patterns; the last are repeats."""
    expected, *patterns, repeats = names
    runs, others = recording.runs_like(patterns), recording.runs_like([repeats])
    passes, more = (
        [line for run in each for line in run.passes if line.rankings] for each in (runs, others)
    )
    where, again = ([line for line in each if cycles(line.rankings)] for each in (passes, more))
    lacking = int(expected) - len(runs)
    missing = max(lacking, whole - len(passes)) if lacking > 0 else 0
    found = Found(len(where), len(where), len(where) + missing, whole=not missing)
    total = f"{len(where) + len(again)} of {count(len(passes) + len(more), 'pass', 'passes')}"
    notes = [*(f"{line.task} pass {line.number}" for line in where), f"with the repeats {total}"]
    return Answer({"circles": found if passes else NOTHING}, len(passes), "; ".join(notes))


def majority_ties(recording: Recording) -> Answer:
    """How often first places alone decide nothing."""
    run = recording.run("ablations", "aggregation/.*majority")
    if run is None:
        return Answer({}, 0)
    tops = [(line.valid or 0, max(line.points.values())) for line in run.passes if line.points]
    tied, of = sum(line.tied for line in run.passes), len(run.passes)
    unanimous = sum(top == valid > 0 for valid, top in tops)
    note = (
        f"{tied} of {of} passes tied, {tops.count((3, 1))} split three ways, {unanimous} unanimous "
        "among valid ballots"
    )
    return Answer({"frequent": Found(int(3 * tied >= of))}, 1, note)


def survivals(names: Names, whole: int, recording: Recording) -> Answer:
    """When so many survivals in a row would have ended each run; which runs Table 23 has is not all said."""
    k, prefix, *patterns = names
    runs, by_prefix = recording.runs_like(patterns), prefix == "prefix"
    stops = [run.stop(int(k), by_prefix) for run in runs]
    reached = [stop for stop in stops if stop]
    missing = [None] * (whole - len(runs))
    displaced = [
        any(winner[: 1 if by_prefix else None] != "A" for winner in run.winners[stop:])
        for run, stop in zip(runs, stops, strict=True)
        if stop
    ]
    values = {
        "stop": tally([*(stop is not None for stop in stops), *missing]),
        "pass": mean_within([*reached, *missing], int(k), _MOST_PASSES),
        "displaced": percentage(displaced, len(reached) + len(missing)),
    }
    seldom = "runs ended at two survivals, so that more are seldom seen"
    return Answer(values, len(runs), seldom if int(k) > 2 and not by_prefix else "")


def own_orders(recording: Recording) -> Answer:
    """Panels in which all judges saw one order."""
    passes = [line for run in recording.runs.values() for line in run.passes]
    panels = [line for line in passes if line.aggregation != "single_pick" and line.panel_size != 1]
    known = [line for line in panels if line.one_order_for_all_judges is not None]
    shared = [line.experiment for line in known if line.one_order_for_all_judges]
    found = all_of(len(known) - len(shared), len(known), whole=len(known) >= 966)
    note = f"one order for all judges of a pass: {', '.join(sorted(set(shared)))}" if shared else ""
    return Answer({"panels": found}, len(known), note)


# ---- programs ----------------------------------------------------------------------------------


def lead(names: Names, whole: int, recording: Recording) -> Answer:
    """By how many points of a hundred one strategy is ahead of another, and which problems only one solves."""
    one, other = (recording.arm(*name.split("/")) for name in names)
    gained, lost, both = _discordant(one, other)
    if not both:
        return Answer({}, 0)
    points = 100 * (fmean(solved(one)) - fmean(solved(other)))
    differences = [1.0] * gained + [-1.0] * lost + [0.0] * (both - gained - lost)
    usual, wide = (paired_gain(differences, level) for level in (0.95, CONFIDENCE))
    complete = min(len(one), len(other)) >= whole
    missing = 0 if complete else whole - both
    p = sign_test(gained, lost).p_value
    low, high = 100 * (wide.low or 0), 100 * (wide.high or 0)
    values = {
        "lead": Found(points) if complete else Found(points, low, high, whole=False),
        "first": Found(gained, gained, gained + missing, complete),
        "second": Found(lost, lost, lost + missing, complete),
        "p": Found(p, whole=complete),
    }
    interval = f"95 %: {100 * (usual.low or 0):+z.1f} to {100 * (usual.high or 0):+z.1f}"
    note = f"{points:+z.1f} points ({interval}), {gained} problems against {lost}, {p_statement(p)}"
    return Answer(values, both, note)


def without_outage(recording: Recording) -> Answer:
    """Best of six without the row of failures that looks like an outage."""
    best, other = (
        recording.arm("code_best_of_n", strategy, "haiku") for strategy in ("best6", "autoreason")
    )
    block = longest_failure(best.values())
    kept = {name: result for name, result in best.items() if name not in block}
    same = {name: result for name, result in other.items() if name in kept}
    if not (block and same):
        return Answer({}, 0)
    # What is missing is taken to be missing from the row and from the rest alike.
    of = round(PROBLEMS * len(kept) / min(len(best), PROBLEMS))
    gained, lost, _ = _discordant(same, kept)
    values = {
        "best of 6": percentage(solved(kept), of),
        "autoreason": percentage(solved(same), of),
        "p": Found(sign_test(gained, lost).p_value, whole=len(best) >= PROBLEMS),
    }
    left_out = f"left out {count(len(block), 'problem')}, {block[0]} to {block[-1]}"
    note = f"{left_out}; of the others only autoreason solves {gained} and only best of 6 {lost}"
    return Answer(values, len(best), note)


def name_of_haiku_45(recording: Recording) -> Answer:
    """The model of the experiment as it was called."""
    arm = recording.arm("code_haiku45", "autoreason", "")
    models = sorted({each.model for each in arm.values()})
    same = int(all("claude-3-5-haiku" in each for each in models)) if models else None
    return Answer({"name": Found(same)}, len(arm), f"recorded as {', '.join(models)}")


def own_counts(recording: Recording) -> Answer:
    """The tiers of Table 11 added up; its results are not recorded."""
    tiers = {"autoreason": 44 + 29 + 23, "critique": 35 + 31 + 21, "single": 42 + 19 + 21}
    experiments = ("code_haiku", "code_haiku45", "code_best_of_n")
    arms = [solved(recording.arm(each, "single", SONNET_4)) for each in experiments]
    again = ", ".join(f"{100 * fmean(each):.1f}" for each in arms if each)
    note = f"single in other experiments: {again} %" if again else ""
    return Answer({arm: Found(100 * n / PROBLEMS) for arm, n in tiers.items()}, 9, note)


def recovery(_: Recording) -> Answer:
    """McNemar's test on the counts of the paper."""
    corrected = erfc(sqrt((15 - 5 - 1) ** 2 / (15 + 5) / 2))
    note = (
        f"the exact test; by chi-square with continuity, as in Table 10, {p_statement(corrected)}"
    )
    return Answer({"p": Found(sign_test(15, 5).p_value)}, 2, note)


def effect_size(_: Recording) -> Answer:
    """Cohen's h of the counts of the paper."""
    return Answer({"h": Found(cohens_h(33 / 53, 23 / 53))}, 3)


# ---- shared ------------------------------------------------------------------------------------


def describe_runs(runs: Iterable[Run]) -> str:
    """What is to be known of how some runs were judged and how they ended."""
    runs = list(runs)
    passes = [line for run in runs for line in run.passes]
    judged = [(line.panel_size or 0, line.valid) for line in passes]
    asked = sum(size for size, valid in judged if valid is not None)
    lost = sum(max(0, size - valid) for size, valid in judged if valid is not None)
    empty = sum(valid == 0 for _, valid in judged)
    ends = [run.end() for run in runs if run.end()]
    by_chance = sum(any(line.tied or line.valid == 0 for line in end) for end in ends)
    margins = [line.raw_winner != line.winner for line in passes if line.raw_winner]
    copies = any(flag.startswith("clone") for line in passes for flag in line.flags)
    notes = [
        (f"{lost} of {count(asked, 'ballot')} lost", lost),
        (f"{count(empty, 'pass', 'passes')} without a ballot, won by A", empty),
        (f"{by_chance} of {len(ends)} converged on a tie or an empty panel", by_chance),
        (f"a margin decided {count(sum(margins), 'pass', 'passes')}", margins),
        ("what was removed was replaced by a copy of another text", copies),
    ]
    for run in runs:
        cap, n = run.first.pass_cap or 0, len(run.passes)
        notes.append(
            (f"{run.first.run} ended at pass {n}, its cap is {cap}", not run.stop() and n < cap)
        )
    return "; ".join(note for note, holds in notes if holds)


def longest_failure(results: Iterable[ResultLine]) -> list[str]:
    """The problems of the longest row, within a difficulty, on which not one test passes."""

    def number(line: ResultLine) -> tuple[str, int]:
        return line.difficulty, int((re.findall(r"\d{1,18}", line.problem_id) or ["0"])[-1])

    def failed(line: ResultLine) -> tuple[str, bool]:
        return line.difficulty, not (line.public_passed or line.private_passed)

    rows = groupby(sorted(results, key=number), failed)
    failures = [[line.problem_id for line in row] for (_, nothing), row in rows if nothing]
    return max(failures, key=len, default=[])


def solved(arm: Results) -> list[bool]:
    """Which problems were solved; a provider's failure is not a result."""
    return [bool(each.pass_private) for each in arm.values() if each.error is None]


def _discordant(one: Results, other: Results) -> tuple[int, int, int]:
    """Problems that only the first solves, only the second, and that both have a result for."""
    both = [
        (bool(one[name].pass_private), bool(other[name].pass_private))
        for name in one.keys() & other.keys()
        if one[name].error is None and other[name].error is None
    ]
    return both.count((True, False)), both.count((False, True)), len(both)


def _place(panel: PanelLine | None, last: bool = False) -> int | None:
    """The place of autoreason; among equals the best, or the last."""
    points = panel.points if panel else {}
    mine = next((each for name, each in points.items() if name.startswith("autoreason")), None)
    if mine is None:
        return None
    better = sum(each > mine for each in points.values())
    return sum(each >= mine for each in points.values()) if last else better + 1


def _lengths(words: list[int], of: int) -> dict[str, Found]:
    return {
        "shortest": smallest(words, of),
        "longest": largest(words, of),
        "words": mean_of(words, of),
        "deviation of words": deviation_of(words, of),
    }


_TIERS = ("easy", "medium", "hard")


class PanelRow(NamedTuple):
    """What a method has in the panels of a table, by task; first places and words are of a table with one panel."""

    place: str
    tasks: Mapping[str, str]
    method: str
    """A pattern of its name."""

    def find(self, recording: Recording) -> Answer:
        """Its points, their average, and what else the panel has."""
        panels = {label: recording.panel(self.place, task) for label, task in self.tasks.items()}
        points = {
            label: _matching(panel.points if panel else {}, self.method)
            for label, panel in panels.items()
        }
        here = [panel for panel in panels.values() if panel]
        judges = max((panel.judges_requested or 0 for panel in here), default=0)
        most = judges * max((len(panel.points) for panel in here), default=0)
        values = {label: Found(each) for label, each in points.items()}
        values["average"] = mean_within(points.values(), judges, most)
        if len(here) == len(self.tasks) == 1:
            values["first places"] = Found(_matching(here[0].first_place or {}, self.method))
            values["words"] = Found(_matching(here[0].lengths, self.method))
        return Answer(values, len(here), "; ".join(filter(None, map(_lost_ballots, here))))

    def needs(self) -> str:
        """What it is found in."""
        return f"panels of {self.place} on {', '.join(self.tasks.values())}"


class Duel(NamedTuple):
    """Votes for two texts in a panel of two, under two labels."""

    place: str
    one: str
    other: str
    """Patterns of their names."""
    label: str
    other_label: str

    def find(self, recording: Recording) -> Answer:
        """The votes, and how many judges saw the first of the two first."""
        for panel in recording.panels_of(self.place):
            votes = panel.first_place or {}
            one, other = (_matching(votes, name) for name in (self.one, self.other))
            if one is not None and other is not None:
                shown = [each.label_map for each in panel.ballots or [] if each.label_map]
                first = sum(labels[min(labels)] == self.one for labels in shown)
                note = f"{self.one} was shown first to {first} of {len(shown)} judges"
                found = {self.label: Found(one), self.other_label: Found(other)}
                return Answer(found, 1, note if shown else "")
        return Answer({}, 0)

    def needs(self) -> str:
        """What it is found in."""
        return f"its panel in {self.place}"


class RunRow(NamedTuple):
    """A run by its experiment, and a pattern of its name."""

    experiment: str
    name: str

    def find(self, recording: Recording) -> Answer:
        """How long it was, who won, whether it converged, and how long its text is."""
        run = recording.run(self.experiment, self.name)
        if run is None:
            return Answer({}, 0)
        values = {
            **{slot: run.winners.count(slot) for slot in ("A", "AB", "B")},
            "passes": len(run.passes),
            "stop": run.stop(),
            "converged": int(run.stop() is not None),
            "words": run.words(),
            "calls": run.calls(),
        }
        found = {name: Found(each) for name, each in values.items()}
        return Answer(found, 1, describe_runs([run]))

    def needs(self) -> str:
        """What it is found in."""
        return f"its run in {self.experiment}"


class Arm(NamedTuple):
    """A strategy and a model on a set of problems."""

    experiment: str
    strategy: str
    model: str

    def find(self, recording: Recording) -> Answer:
        """Which percentage of problems passes public and private tests; a provider's failure is not a result."""
        found = recording.arm(*self)
        arm, private = list(found.values()), solved(found)
        results = [each for each in arm if each.error is None]
        of = PROBLEMS - (len(arm) - len(results))
        values = {
            "public": percentage([each.pass_public for each in results], of),
            "private": percentage(private, of),
            "from": _percentile(private, 0.025, of),
            "to": _percentile(private, 0.975, of),
        }
        for tier in _TIERS:
            hits = [each.pass_private for each in results if each.difficulty == tier]
            failures = sum(each.difficulty == tier for each in arm) - len(hits)
            values[tier] = percentage(hits, PROBLEMS // len(_TIERS) - failures)
        note = f"{PROBLEMS - of} left out, for which the provider failed" if of < PROBLEMS else ""
        return Answer(values, len(arm), note)

    def needs(self) -> str:
        """What it is found in."""
        return f"results of {self.experiment}, {self.strategy} with {self.model}"


Row = PanelRow | Duel | RunRow | Arm


def _matching(values: Mapping[str, float], pattern: str) -> float | None:
    """What the first name has that a pattern describes."""
    return next((each for name, each in values.items() if re.fullmatch(pattern, name)), None)


def _lost_ballots(panel: PanelLine) -> str:
    valid, asked = panel.judges_valid, panel.judges_requested
    if valid is None or asked is None or valid >= asked:
        return ""
    most = valid * len(panel.methods)
    return f"{panel.task}: {valid} of {asked} ballots are valid, and {most} points are the most"


def _percentile(hits: Sequence[bool], tail: float, of: int) -> Found:
    """The percentage below which so much of a bootstrap lies: binomial, and one problem off in finitely many draws."""
    trials, below = len(hits), 0.0
    if not trials:
        return NOTHING
    share = sum(hits) / trials
    for number in range(trials + 1):
        below += comb(trials, number) * share**number * (1 - share) ** (trials - number)
        if below >= tail:
            break
    if trials < of:
        return Found(100 * number / trials, whole=False)
    low, high = 100 * (number - 1) / trials, 100 * (number + 1) / trials
    return Found(100 * number / trials, low, high)
