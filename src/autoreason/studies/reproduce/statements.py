"""Claims that are no row of a table: each function finds in recorded results what one of them rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from math import comb, erfc, sqrt
from statistics import fmean, pstdev, stdev

from autoreason.report.numbers import UNKNOWN, count, p_statement
from autoreason.stats.elections import cycles
from autoreason.stats.shares import cohens_h, mcnemar, paired_gain
from autoreason.studies.reproduce.figures import (
    CONFIDENCE,
    Answer,
    Found,
    all_of,
    deviation_of,
    exactly,
    largest,
    majority,
    mean_of,
    mean_within,
    percentage,
    smallest,
    tally,
)
from autoreason.studies.reproduce.recording import (
    BRIEFS,
    OPEN,
    PROBLEMS,
    SONNET_4,
    SONNET_46,
    TASKS,
    PanelLine,
    PassLine,
    Recording,
    ResultLine,
    Run,
)

_OPEN_TASKS = [TASKS[f"T{number}"] for number in range(1, 6)]
_ROLES = 3
"""Calls of a pass that are not a judge's: critic, revision, synthesis."""
_TRAJECTORIES = 17
_MOST_PASSES = 50
"""The largest cap that a run has."""
Results = Mapping[str, ResultLine]


def not_recorded(_: Recording) -> Answer:
    """What no file has."""
    return Answer({}, 0)


# ---- Section 4 ---------------------------------------------------------------------------------


def third_places(recording: Recording) -> Answer:
    """Where one pass of autoreason comes."""
    places = [_place(recording.panel("Table 1", task)) for task in _OPEN_TASKS]
    shown = ", ".join(UNKNOWN if place is None else f"{place}" for place in places)
    hits = tally(None if place is None else place == 3 for place in places)
    return Answer({"third": hits}, _known(places), f"its places on T1 to T5 are {shown}")


def calls_of_a_pass(recording: Recording) -> Answer:
    """Texts written and judges asked in a single pass."""
    runs = recording.runs_of("v1_comparison")
    calls = {_calls(run.first) for run in runs}
    note = "critic, revision, synthesis and the judges"
    return Answer({"calls": exactly(max(calls, default=None))}, len(runs), note)


def average_place(recording: Recording) -> Answer:
    """The mean place, equals sharing the best of their places."""
    panels = [recording.panel("Table 2", task) for task in _OPEN_TASKS]
    best, worst = (
        [_place(panel) for panel in panels],
        [_place(panel, last=True) for panel in panels],
    )
    note = ""
    if best != worst:
        last = mean_within(worst, 1, 5).value or 0
        shared = (last + (mean_within(best, 1, 5).value or 0)) / 2
        note = f"if equals share their places {shared:.1f}, if autoreason is last among equals {last:.1f}"
    return Answer({"place": mean_within(best, 1, 5)}, _known(best), note)


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
    values = {"times": fmean(holistic) / fmean(reasoned), "p": p}
    shown = [", ".join(map(str, sorted(each))) for each in (reasoned, holistic)]
    note = f"reasoned judges end after {shown[0]} passes, holistic ones after {shown[1]}"
    return Answer(
        {name: Found(each, whole=here >= 13) for name, each in values.items()}, here, note
    )


def points_of_survivals(recording: Recording) -> Answer:
    """With how many points A wins, by the style of the judges."""
    styles = {
        "reasoned": (_reasoned(recording), 2, (8, 9)),
        "holistic": (recording.runs_of(*OPEN), 10, (6, 7)),
    }
    values, notes = {}, []
    for style, (runs, whole, expected) in styles.items():
        wins = (line.points for run in runs for line in run.passes if line.winner == "A")
        points = Counter(round(each["A"]) for each in wins if each)
        inside = sum(points[each] for each in expected)
        values[style] = all_of(inside, points.total(), whole=len(runs) >= whole)
        notes += [
            f"{style} " + ", ".join(f"{n} times {each}" for each, n in sorted(points.items()))
        ]
    return Answer(values, sum(len(runs) for runs, _, _ in styles.values()), "; ".join(notes))


def repeats_sonnet_4(recording: Recording) -> Answer:
    """Five runs of one task."""
    runs = recording.runs_of("monte_carlo")
    words = _words(runs)
    note = f"the deviation as of a sample {stdev(words):.1f}" if len(words) > 1 else ""
    return Answer({"converged": _converged(runs, 5), **_lengths(words, 5)}, len(runs), note)


def repeats_sonnet_46(recording: Recording) -> Answer:
    """Five runs of the limited policy, and the panel over their texts."""
    runs = recording.runs_of("mc_constrained_s46")
    panel = next(iter(recording.panels_of("Sec 4.5")), None)
    words = list(panel.lengths.values()) if panel else _words(runs)
    values = {"converged": _converged(runs, 5), **_lengths(words, 5)}
    if panel and panel.points:
        values["points"] = exactly(pstdev(panel.points.values()))
    return Answer(values, len(runs), f"A wins {_survived(runs)}")


def seeds(recording: Recording) -> Answer:
    """Three runs of every task."""
    runs = recording.runs_of("multi_seed")
    stops, words = [stop for run in runs if (stop := run.stop())], _words(runs)
    of = len(stops) if len(runs) >= 15 else 15
    values = {
        "converged": _converged(runs, 15),
        "passes": mean_within([*stops, *[None] * (of - len(stops))], 1, _MOST_PASSES),
        "deviation": deviation_of(stops, of),
        "fewest": smallest(stops, of),
        "most": largest(stops, of),
        "words": mean_of(words, 15),
        "deviation of words": deviation_of(words, 15),
    }
    return Answer(values, len(runs), describe_runs(runs))


def circles(recording: Recording) -> Answer:
    """Passes without an order that majorities agree on."""
    first, repeats = recording.runs_of(*OPEN[:2]), recording.runs_of(OPEN[2])
    passes, others = (
        [line for run in runs for line in run.passes if line.rankings] for runs in (first, repeats)
    )
    hits = [bool(cycles(line.rankings)) for line in passes]
    missing = max(5 - len(first), 91 - len(hits)) if len(first) < 5 else 0
    where = [
        f"{line.task} pass {line.number}" for line, hit in zip(passes, hits, strict=True) if hit
    ]
    total = sum(hits) + sum(bool(cycles(line.rankings)) for line in others)
    among = f"with the repeats {total} of {count(len(passes) + len(others), 'pass', 'passes')}"
    return Answer(
        {"circles": tally([*hits, *[None] * missing])}, len(hits), "; ".join([*where, among])
    )


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


# ---- Sections 5 and 6 --------------------------------------------------------------------------


def limited_scope(recording: Recording) -> Answer:
    """Runs of Sonnet 4.6 on tasks with limits."""
    runs = [
        run
        for run in recording.runs.values()
        if SONNET_46 in run.first.author_model
        and run.first.task.endswith(("_constrained", "pitch_500w"))
    ]
    others = [run for run in runs if not run.stop()]
    note = f"in those that do not, A wins {_survived(others)}"
    return Answer({"converged": _converged(runs, 8)}, len(runs), note)


def intervals(recording: Recording) -> Answer:
    """Percentiles of the bootstrap, which for a share are those of a binomial distribution."""
    values, here = {}, 0
    for strategy in ("autoreason", "critique", "single"):
        solved = _solved(recording.arm("code_s46", strategy, SONNET_46))
        here = len(solved)
        for end, tail in (("from", 0.025), ("to", 0.975)):
            if solved:
                share = _percentile(sum(solved), here, tail)
                values[f"{strategy} {end}"] = Found(100 * share, whole=here >= PROBLEMS)
    return Answer(values, here)


def discordant(recording: Recording) -> Answer:
    """Problems that one of two strategies solves."""
    arms = [recording.arm("code_s46", strategy, SONNET_46) for strategy in ("autoreason", "single")]
    gained, lost, both = _discordant(*arms)
    if not both:
        return Answer({}, 0)
    missing = max(0, PROBLEMS - both)
    counts = [Found(each, each, each + missing, not missing) for each in (gained, lost)]
    p = Found(mcnemar(gained, lost).p_value, whole=not missing)
    return Answer({"autoreason": counts[0], "single": counts[1], "p": p}, both)


def own_counts(recording: Recording) -> Answer:
    """The tiers of Table 11 added up; its results are not recorded."""
    tiers = {"autoreason": 44 + 29 + 23, "critique": 35 + 31 + 21, "single": 42 + 19 + 21}
    experiments = ("code_haiku", "code_haiku45", "code_best_of_n")
    arms = [_solved(recording.arm(each, "single", SONNET_4)) for each in experiments]
    again = ", ".join(f"{100 * fmean(solved):.1f}" for solved in arms if solved)
    note = f"single in other experiments: {again} %" if again else ""
    return Answer({arm: exactly(100 * n / PROBLEMS) for arm, n in tiers.items()}, 9, note)


def recovery(_: Recording) -> Answer:
    """McNemar's test on the counts of the paper."""
    corrected = erfc(sqrt((15 - 5 - 1) ** 2 / (15 + 5) / 2))
    note = (
        f"the exact test; by chi-square with continuity, as in Table 10, {p_statement(corrected)}"
    )
    return Answer({"p": exactly(mcnemar(15, 5).p_value)}, 2, note)


def effect_size(_: Recording) -> Answer:
    """Cohen's h of the counts of the paper."""
    return Answer({"h": exactly(cohens_h(33 / 53, 23 / 53))}, 3)


# ---- Section 7 ---------------------------------------------------------------------------------


def tier(table: str, word: str, recording: Recording) -> Answer:
    """How autoreason does against the best of the others, which is the one with most points in all."""
    tasks = _OPEN_TASKS if table == "2" else BRIEFS.values()
    panels = [recording.panel(f"Table {table}", task, word) for task in tasks]
    here = [panel for panel in panels if panel and panel.points]
    if not here:
        return Answer({}, 0)
    others = {name for panel in here for name in panel.points} - {"autoreason"}
    best = max(sorted(others), key=lambda name: sum(panel.points.get(name, 0) for panel in here))
    judges = max(panel.judges_requested or 0 for panel in here)
    most = judges * max(len(panel.points) for panel in here)
    by_name = [
        [panel.points.get(name) if panel else None for panel in panels]
        for name in ("autoreason", best)
    ]
    wins = [None if panel is None else _place(panel) == 1 for panel in panels]
    values = {
        "tasks won": tally(wins),
        "average": mean_within(by_name[0], judges, most),
        "best other": mean_within(by_name[1], judges, most),
    }
    return Answer(values, len(here), f"the best other is {best}, and {most} points are the most")


def pitch_of_tiers(recording: Recording) -> Answer:
    """Which task the panels called pitch are about."""
    panels = recording.panels_of("Table 12", "Table 13", "Table 14", "Table 18")
    tasks = [panel.task for panel in panels if "pitch" in panel.panel_id]
    hits = all_of(sum("500" in task for task in tasks), len(tasks), whole=len(tasks) >= 5)
    return Answer({"pitch": hits}, len(tasks), f"they are about {', '.join(sorted(set(tasks)))}")


def haiku_judges(recording: Recording) -> Answer:
    """What the ends of runs with weak judges rest on."""
    runs = recording.runs_of("judge_ablation")
    voted = [bool(run.end()) and all(line.valid for line in run.end()) for run in runs]
    hits = tally([*voted, *[None] * (3 - len(runs))])
    return Answer({"runs": hits}, len(runs), describe_runs(runs))


def majority_ties(recording: Recording) -> Answer:
    """How often first places alone decide nothing."""
    run = recording.run("ablations", "aggregation/.*majority")
    if run is None:
        return Answer({}, 0)
    tops = [(line.valid, max(line.points.values())) for line in run.passes if line.points]
    tied = sum(line.tied for line in run.passes)
    unanimous = sum(top == valid > 0 for valid, top in tops if valid)
    note = (
        f"{tied} tied of {count(len(run.passes), 'pass', 'passes')}, {tops.count((3, 1))} split three ways, "
        f"{unanimous} unanimous among valid ballots"
    )
    return Answer({"frequent": exactly(int(3 * tied >= len(run.passes)))}, 1, note)


def equal_length(recording: Recording) -> Answer:
    """All votes of the panels at equal length."""
    cast = [panel.first_place for panel in recording.panels_of("Table 17") if panel.first_place]
    if not cast:
        return Answer({}, 0)
    votes, missing = sum(each.get("autoreason", 0) for each in cast), max(0, 4 - len(cast))
    return Answer({"votes": Found(votes, votes, votes + 7 * missing, not missing)}, len(cast))


def calls_of_haiku(recording: Recording) -> Answer:
    """Calls of the runs whose texts are compared with best of six."""
    runs = {
        brief: recording.run("small_vs_big", f"{brief}/haiku35")
        for brief in ("pitch", "policy", "gtm")
    }
    calls = {brief: exactly(sum(map(_calls, run.passes))) for brief, run in runs.items() if run}
    return Answer(calls, len(calls), "critic, revision, synthesis and judges of every pass")


def without_outage(recording: Recording) -> Answer:
    """Best of six without the row of failures that looks like an outage."""
    best, other = (
        recording.arm("code_best_of_n", strategy, "haiku") for strategy in ("best6", "autoreason")
    )
    block = longest_failure(best.values())
    kept = {name: result for name, result in best.items() if name not in block}
    same = {name: result for name, result in other.items() if name in kept}
    if not (kept and same):
        return Answer({}, 0)
    # What is missing is taken to be missing from the row and from the rest alike.
    of = round(PROBLEMS * len(kept) / min(len(best), PROBLEMS))
    gained, lost, _ = _discordant(same, kept)
    p = mcnemar(gained, lost).p_value
    values = {
        "best of 6": percentage(_solved(kept), of),
        "autoreason": percentage(_solved(same), of),
        "p": Found(p, whole=len(best) >= PROBLEMS),
    }
    note = (
        f"left out {count(len(block), 'problem')}, {block[0]} to {block[-1]}; of the others only autoreason "
        f"solves {gained} and only best of 6 {lost}"
    )
    return Answer(values, len(best), note if block else "")


def leads_haiku(recording: Recording) -> Answer:
    """Autoreason against others, Haiku 3.5."""
    one = recording.arm("code_haiku", "autoreason", "haiku")
    single = recording.arm("code_haiku", "single", "haiku")
    best = recording.arm("code_best_of_n", "best6", "haiku")
    return _leads({"single": (one, single), "best of 6": (one, best)})


def leads(recording: Recording) -> Answer:
    """Autoreason against a single pass, by model."""
    models = {
        "Haiku 3.5": ("code_haiku", "haiku"),
        "Haiku 4.5": ("code_haiku45", "haiku"),
        "Sonnet 4.6": ("code_s46", SONNET_46),
    }
    arms = {
        label: (recording.arm(where, "autoreason", model), recording.arm(where, "single", model))
        for label, (where, model) in models.items()
    }
    return _leads(arms)


def lead_of_sonnet_4(_: Recording) -> Answer:
    """The p that the paper gives for all problems."""
    p = p_statement(mcnemar(15, 5).p_value)
    return Answer({}, 0, f"the 15 against 5 recoveries of Sec 6, a part of the problems, give {p}")


# ---- discussion and appendices -----------------------------------------------------------------


def survivals(k: str, prefix: str, recording: Recording) -> Answer:
    """When so many survivals in a row would have ended each of the runs of Table 23."""
    runs, as_a = _trajectories(recording), bool(prefix)
    stops = [run.stop(int(k), as_a) for run in runs]
    reached = [stop for stop in stops if stop]
    missing = max(0, _TRAJECTORIES - len(runs))
    of = _TRAJECTORIES if missing else len(reached)
    displaced = [
        any(winner[: 1 if as_a else None] != "A" for winner in run.winners[stop:])
        for run, stop in zip(runs, stops, strict=True)
        if stop
    ]
    values = {
        "stop": tally([*(stop is not None for stop in stops), *[None] * missing]),
        "pass": mean_within([*reached, *[None] * missing], int(k), _MOST_PASSES),
        "displaced": percentage(displaced, of),
    }
    seldom = "runs ended at two survivals, so that more are seldom seen"
    return Answer(values, len(runs), seldom if int(k) > 2 and not as_a else "")


def calls_at_equal_compute(recording: Recording) -> Answer:
    """A text of the same length among single passes says where the text comes from."""
    panel, single = (recording.panel(place, "task_01") for place in ("Discussion", "Table 1"))
    run = recording.run("v1_comparison", "task_01")
    if not (panel and single and run):
        return Answer({}, int(panel is not None))
    words = panel.lengths.get("autoreason")
    known = [each for name, each in single.lengths.items() if name.startswith("autoreason")]
    if words not in known:
        return Answer({}, 1)
    note = f"it is the text of the single pass, {words} words"
    return Answer({"calls": exactly(sum(map(_calls, run.passes)))}, 1, note)


def lengths(recording: Recording) -> Answer:
    """Words of the final texts on T1."""
    panel = recording.panel("Table 2", "task_01")
    words = panel.lengths if panel else {}
    if "autoreason" not in words:
        return Answer({}, 0)
    more = [each - words["autoreason"] for each in words.values()]
    values = {"longer": sum(each > 0 for each in more), "shorter": sum(each < 0 for each in more)}
    note = ", ".join(f"{name} {each}" for name, each in words.items()) + " words"
    return Answer({name: exactly(each) for name, each in values.items()}, 1, note)


def name_of_haiku_45(recording: Recording) -> Answer:
    """The model of the experiment as it was called."""
    arm = recording.arm("code_haiku45", "autoreason", "")
    models = sorted({each.model for each in arm.values()})
    same = int(all("claude-3-5-haiku" in each for each in models)) if models else None
    return Answer({"name": exactly(same)}, len(arm), f"recorded as {', '.join(models)}")


def own_orders(recording: Recording) -> Answer:
    """Panels in which all judges saw one order."""
    passes = [line for run in recording.runs.values() for line in run.passes]
    known = [
        line
        for line in passes
        if line.aggregation != "single_pick"
        and (line.panel_size or 0) > 1
        and line.one_order_for_all_judges is not None
    ]
    shared = [line.experiment for line in known if line.one_order_for_all_judges]
    found = all_of(len(known) - len(shared), len(known), whole=len(known) >= 966)
    note = f"one order for all judges of a pass: {', '.join(sorted(set(shared)))}" if shared else ""
    return Answer({"panels": found}, len(known), note)


# ---- shared ------------------------------------------------------------------------------------


def describe_runs(runs: Sequence[Run]) -> str:
    """What is to be known of how some runs were judged and how they ended."""
    passes = [line for run in runs for line in run.passes]
    judged = [(line.panel_size, line.valid) for line in passes if line.panel_size]
    asked = sum(size for size, valid in judged if valid is not None)
    lost = sum(max(0, size - valid) for size, valid in judged if valid is not None)
    empty = sum(valid == 0 for _, valid in judged)
    ends = [run.end() for run in runs if run.end()]
    by_chance = sum(any(line.tied or line.valid == 0 for line in end) for end in ends)
    overruled = sum(line.raw_winner not in (None, line.winner) for line in passes)
    notes = {
        f"{lost} of {count(asked, 'ballot')} lost": lost,
        f"{count(empty, 'pass', 'passes')} without a ballot, won by A": empty,
        f"{by_chance} of {len(ends)} converged on a tie or an empty panel": by_chance,
        f"a margin decided {count(overruled, 'pass', 'passes')}": any(
            line.raw_winner for line in passes
        ),
        "what was removed was replaced by a copy of another text": any(
            flag.startswith("clone") for line in passes for flag in line.flags
        ),
    }
    for run in runs:
        cap = run.first.pass_cap or 0
        unfinished = not run.stop() and len(run.passes) < cap
        notes[f"{run.first.run} ended at pass {len(run.passes)}, its cap is {cap}"] = unfinished
    return "; ".join(note for note, holds in notes.items() if holds)


def longest_failure(results: Iterable[ResultLine]) -> list[str]:
    """The problems of the longest row, within a difficulty, on which not one test passes."""

    def number(line: ResultLine) -> tuple[str, int]:
        return line.difficulty, int("".join(filter(str.isdigit, line.problem_id)) or 0)

    def failed(line: ResultLine) -> tuple[str, bool]:
        return line.difficulty, not (line.public_passed or line.private_passed)

    rows = groupby(sorted(results, key=number), failed)
    failures = [[line.problem_id for line in row] for (_, nothing), row in rows if nothing]
    return max(failures, key=len, default=[])


def _trajectories(recording: Recording) -> list[Run]:
    """The runs of Table 23: which two limited tasks and three remedies it has is not said; these give its figures."""
    names = (
        *(("constrained_s4", ".*"), ("s46_v3", "constrained")),
        *(("s46_remedy", name) for name in ("margin", "scope.*", "plateau")),
    )
    others = [run for name in names if (run := recording.run(*name))]
    return [*recording.runs_of(*OPEN), *_reasoned(recording), *others]


def _reasoned(recording: Recording) -> list[Run]:
    names = (("judge_variants", "cot"), ("cot_task02", ".*"))
    return [run for name in names if (run := recording.run(*name))]


def _place(panel: PanelLine | None, last: bool = False) -> int | None:
    """The place of autoreason; among equals the best, or the last."""
    points = panel.points if panel else {}
    mine = next((each for name, each in points.items() if name.startswith("autoreason")), None)
    if mine is None:
        return None
    better = sum(each > mine for each in points.values())
    return sum(each >= mine for each in points.values()) if last else better + 1


def _leads(arms: Mapping[str, tuple[Results, Results]]) -> Answer:
    """By how many points of a hundred the first of two strategies is ahead."""
    values, here, notes = {}, 0, []
    for label, (one, other) in arms.items():
        gained, lost, both = _discordant(one, other)
        if not both:
            continue
        lead = 100 * (fmean(_solved(one)) - fmean(_solved(other)))
        differences = [1.0] * gained + [-1.0] * lost + [0.0] * (both - gained - lost)
        ends = {}
        for level in (0.95, CONFIDENCE):
            gain = paired_gain(differences, level)
            ends[level] = (100 * (gain.low or 0), 100 * (gain.high or 0))
        values[label] = Found(lead, *ends[CONFIDENCE], whole=min(len(one), len(other)) >= PROBLEMS)
        here = max(here, both)
        low, high = ends[0.95]
        p = p_statement(mcnemar(gained, lost).p_value)
        notes.append(f"{label} {lead:+.1f} (95 %: {low:+.1f} to {high:+.1f}), {p}")
    return Answer(values, here, "; ".join(notes))


def _discordant(one: Results, other: Results) -> tuple[int, int, int]:
    """Problems that only the first solves, only the second, and that both have a result for."""
    both = [
        (bool(one[name].pass_private), bool(other[name].pass_private))
        for name in one.keys() & other.keys()
        if one[name].error is None and other[name].error is None
    ]
    return both.count((True, False)), both.count((False, True)), len(both)


def _solved(arm: Results) -> list[bool]:
    """Which problems were solved; a provider's failure is no result."""
    return [bool(each.pass_private) for each in arm.values() if each.error is None]


def _percentile(successes: int, trials: int, tail: float) -> float:
    """The share below which so much of a bootstrap lies."""
    share, below = successes / trials, 0.0
    for hits in range(trials):
        below += comb(trials, hits) * share**hits * (1 - share) ** (trials - hits)
        if below >= tail:
            return hits / trials
    return 1.0


def _calls(line: PassLine) -> int:
    return _ROLES + (line.panel_size or 0)


def _survived(runs: Iterable[Run]) -> str:
    winners = [winner for run in runs for winner in run.winners]
    return f"{winners.count('A')} of {count(len(winners), 'pass', 'passes')}"


def _converged(runs: Sequence[Run], of: int) -> Found:
    return tally([*(run.stop() is not None for run in runs), *[None] * (of - len(runs))])


def _lengths(words: Sequence[int], of: int) -> dict[str, Found]:
    ends = {"shortest": smallest(words, of), "longest": largest(words, of)}
    return {**ends, "deviation": deviation_of(words, of)}


def _words(runs: Iterable[Run]) -> list[int]:
    return [words for run in runs if (words := run.words())]


def _known(values: Iterable[object]) -> int:
    return sum(value is not None for value in values)
