"""What each arm of a suite did: shares and means, quality, passes, and the paper's failure modes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from statistics import fmean
from typing import Literal, NamedTuple

from msgspec import Struct

from autoreason.exchange import Spent
from autoreason.programs.assignment import assignments_of, difficulty_order
from autoreason.report.charts import Lines, Point, Series, colours, line_chart
from autoreason.report.numbers import UNKNOWN, count, decimal, percent, percent_interval
from autoreason.report.report import Section
from autoreason.report.table import Figure, Table, figures, words
from autoreason.stats import Estimate
from autoreason.stats.shares import clustered_share
from autoreason.studies.audit import has_drifted
from autoreason.studies.audit_panels import invalid_level
from autoreason.studies.lab_comparisons import ArmValues, cluster, figure
from autoreason.studies.lab_suite import SHARES, Measure, Suite, draft_settings
from autoreason.wording import in_words

_FEW_SURVIVALS = 0.2
_Seen = Iterator[tuple[bool, bool | None]]
"""For each cell that can show a mode: whether it has the sign, and whether the paper's condition is met, if known."""


class LabFailure(Struct, frozen=True, kw_only=True):
    mode: str
    cells: int
    of: int
    """Cells whose record can show it."""
    under_condition: int | None
    """Cells with its sign and the condition that the paper names; None where the record does not say."""


class FailureMode(NamedTuple):
    name: str
    """As the paper has it, in JSON."""
    called: str
    see: Callable[[Suite, str, ArmValues], _Seen]
    sign: str


def diagnose(suite: Suite, arm: str, values: ArmValues) -> tuple[LabFailure, ...]:
    found = []
    for name, _, see, _ in MODES:
        seen = list(see(suite, arm, values))
        met = [condition for sign, condition in seen if sign]
        under = sum(map(bool, met)) if seen and None not in met else None
        found.append(LabFailure(mode=name, cells=len(met), of=len(seen), under_condition=under))
    return tuple(found)


def _worse_than_draft(suite: Suite, arm: str, values: ArmValues) -> _Seen:
    # How far panels prefer an arm to its own draft, which an arm without a pass delivers that began from the same.
    preferences = {
        unit: preference
        for arms in suite.judged
        for draft in arms
        if arm in arms and draft != arm and suite.arms[draft].settings.job.name == "single"
        for shared in (_share_draft(suite, arm, draft),)
        for unit, preference in values.preferences(arm, draft, arms).items()
        if shared or suite.tasks[unit[0]].task.draft is not None
    }
    for unit, each in values.cells[arm].items():
        if unit in preferences:
            yield preferences[unit] < 0, not each.cast
        elif each.confirmed:
            prefer, judges = each.confirmed
            yield 2 * prefer < judges, not each.cast


def _share_draft(suite: Suite, *names: str) -> bool:
    one, other = (suite.arms[name] for name in names)
    alike = draft_settings(one.settings) == draft_settings(other.settings)
    return alike and one.shared_draft and other.shared_draft


def _drift(suite: Suite, arm: str, values: ArmValues) -> _Seen:
    for (task, _), each in values.cells[arm].items():
        words = each.words_by_pass
        passes = zip(each.trajectory, each.judged, strict=False)
        judged = [winner for winner, slots in passes if slots]
        few = judged.count("A") < _FEW_SURVIVALS * len(judged)
        merged = len(judged) > 1 and few and 2 * judged.count("AB") > len(judged)
        if len(words) > 1:
            far = has_drifted(words[-1] / max(1, words[0]), each.kept_wording)
            yield far or merged, not suite.tasks[task].task.limited


def _overfitting(_suite: Suite, arm: str, values: ArmValues) -> _Seen:
    for each in values.cells[arm].values():
        if each.solved and each.solved.passed_private is not None:
            yield bool(each.solved.overfitted), None


def _no_convergence(suite: Suite, arm: str, values: ArmValues) -> _Seen:
    if not suite.arms[arm].settings.job.is_tournament:
        return
    for each in (*values.cells[arm].values(), *values.at_limit(arm).values()):
        if each.trajectory:
            broken = bool(each.cast) and invalid_level(each.invalid, each.cast) == "alarm"
            yield each.status in ("capped", "budget"), broken
    failed = values.failed[arm].values()
    yield from ((True, True) for each in failed if each.status == "panel_failed")


def _too_weak(_suite: Suite, arm: str, values: ArmValues) -> _Seen:
    for each in values.cells[arm].values():
        if each.challengers:
            # Too few different texts is the sign itself.
            weak = 2 * each.clones >= each.challengers
            yield weak, weak


MODES = (
    FailureMode(
        *("Self-correction unreliability", "worse than its draft", _worse_than_draft),
        "independent judges prefer the draft that a text began from",
    ),
    FailureMode(
        *("Drift / synthesis dominance", "far from its draft", _drift),
        "a text less than half or more than one and a half times as long as its draft, or with hardly any "
        "of its wording; or it is kept in fewer than one round in five while merges win most",
    ),
    FailureMode(
        *("Overfitting to visible feedback", "right only where it could see", _overfitting),
        "a program passes the public tests and fails private ones",
    ),
    FailureMode(
        *("No convergence", "did not settle", _no_convergence),
        "the most rounds or its limit were reached, or judges came to no answer",
    ),
    FailureMode(
        *("Model too weak", "writes the same again", _too_weak),
        "half of all rewrites and merges or more repeat another text",
    ),
)
_QUALITIES: dict[Measure, str] = {
    "passed": "the share of problems whose tests are passed",
    "value": "the mean gain",
    "preferred": "the share of votes against each of the others, on average",
}


class DifficultyShares(Struct, frozen=True, kw_only=True):
    difficulty: str
    arm: str
    problems: int
    """Those with a verdict."""
    shares: dict[str, Estimate]


class LabArm(Struct, frozen=True, kw_only=True):
    arm: str
    cells: int
    finished: int
    at_limit: int
    """Cells that reached their own limit: they did not converge, and no other figure includes them."""
    means: dict[str, float | None]
    """By measure; None where nothing is known."""
    shares: dict[str, Estimate]
    """Of the same those that are shares, with their intervals over tasks, or where these are few over pairs."""
    verdicts: dict[str, int] = {}
    """How the programs handed in ended, by private tests where there are any."""
    spent: Spent
    """By all its cells, those without a result included; not by shared drafts."""
    quality: float | None
    converged_by_pass: tuple[float, ...] = ()
    """Share of its tournaments that had converged after so many passes."""
    words_by_pass: tuple[float, ...] = ()
    failures: tuple[LabFailure, ...] = ()


def describe_arm(
    suite: Suite, arm: str, values: ArmValues, quality_by: Measure | Literal[""]
) -> LabArm:
    cells = values.cells[arm]
    everything = [*cells.values(), *values.failed[arm].values()]
    means: dict[str, float | None] = {}
    shares: dict[str, Estimate] = {}
    for measure in measures_of(suite, arm):
        known = values.of(arm, measure)
        means[measure] = fmean(known.values()) if known else None
        if measure in SHARES:
            shares[measure] = clustered_share(cluster(known, suite))
    judged = (each.solved for each in cells.values() if each.solved)
    contests = [each for each in cells.values() if each.words_by_pass and each.trajectory]
    at_limit = list(values.at_limit(arm).values())
    is_contest = suite.arms[arm].settings.job.is_tournament
    ended = [*contests, *at_limit] if is_contest else []
    ends = [len(each.trajectory) for each in ended if each.status == "converged"]
    lengths = [each.words_by_pass for each in contests]
    return LabArm(
        arm=arm,
        cells=len(everything),
        finished=len(cells),
        at_limit=len(at_limit),
        means=means,
        shares=shares,
        verdicts=dict(Counter(each.verdict for each in judged if each.passed is not None)),
        spent=reduce(Spent.joined, (each.spent for each in everything), Spent()),
        quality=_quality(arm, values, quality_by),
        converged_by_pass=tuple(
            sum(end <= n for end in ends) / len(ended)
            for n in range(1, max((len(each.trajectory) for each in ended), default=0) + 1)
        ),
        words_by_pass=tuple(
            fmean(each[min(n, len(each) - 1)] for each in lengths)
            for n in range(max(map(len, lengths), default=0))
        ),
        failures=diagnose(suite, arm, values),
    )


def measures_of(suite: Suite, arm: str) -> list[Measure]:
    compared = (each.measure for each in suite.comparisons if arm in each.arms)
    found: dict[Measure, None] = dict.fromkeys(("words", "calls", "cost"))
    found |= dict.fromkeys((*suite.measures, *compared))
    return [each for each in found if each != "preferred"]


def shares_by_difficulty(suite: Suite, values: ArmValues) -> Iterator[DifficultyShares]:
    """Shares of problems, easy ones first; none where all have the same difficulty."""
    tiers: dict[str, set[str]] = {}
    for name, task in suite.tasks.items():
        for each in assignments_of(task.task):
            tiers.setdefault(each.difficulty, set()).add(name)
    for tier in sorted(tiers, key=difficulty_order) if len(tiers) > 1 else ():
        for arm in suite.arms:
            shares: dict[str, Estimate] = {}
            for measure in measures_of(suite, arm):
                known = values.of(arm, measure) if measure in SHARES else {}
                own = {unit: value for unit, value in known.items() if unit[0] in tiers[tier]}
                if own:
                    shares[measure] = clustered_share(cluster(own, suite))
            problems = len({task for task, _ in values.of(arm, "passed")} & tiers[tier])
            name = tier or "unrated"
            yield DifficultyShares(difficulty=name, arm=arm, problems=problems, shares=shares)


def quality_measure(values: ArmValues) -> Measure | Literal[""]:
    for measure in _QUALITIES:
        if any(_quality(arm, values, measure) is not None for arm in values.suite.arms):
            return measure
    return ""


def _quality(arm: str, values: ArmValues, by: Measure | Literal[""]) -> float | None:
    # The most that were judged together: a share of votes against other rivals says something else.
    arms = max(values.suite.judged, key=len, default=())
    if not by or (by == "preferred" and arm not in arms):
        return None
    if by != "preferred":
        known = list(values.of(arm, by).values())
    else:
        found = [values.preferences(arm, other, arms) for other in arms if other != arm]
        known = [(1 + preference) / 2 for each in found for preference in each.values()]
    return fmean(known) if known else None


def share(shares: Mapping[str, Estimate], name: str) -> Figure | None:
    found = shares.get(name)
    return Figure(found, percent_interval(found)) if found else None


def arms_table(arms: Sequence[LabArm], quality_by: str, name: Callable[[str], str]) -> Table:
    measures = _known_measures(arms)
    judged = [quality_by] if quality_by and quality_by not in measures else []
    rows = []
    for each in arms:
        values = (share(each.shares, n) or figure(n, each.means.get(n)) for n in measures)
        quality = figure(quality_by, each.quality)
        rows.append((name(each.arm), each.cells, each.finished, *values, *[quality] * len(judged)))
    return Table(
        [*words(""), *figures("tries", "finished", *map(in_words, (*measures, *judged)))], rows
    )


def _known_measures(arms: Sequence[LabArm]) -> list[str]:
    known = (name for arm in arms for name, mean in arm.means.items() if mean is not None)
    return list(dict.fromkeys(known))


_MEASURES = {
    "passed": "by private tests, or by public ones where a problem has no others",
    "overfitted": "of the programs that pass every public test, those that fail a private one",
    "recovered": "of the problems whose first attempt failed a public test, those passed in the end",
    "value": "the gain of the result on evaluations that decided nothing",
    "claimed": "what the loop itself saw of its result, which is selection, do not quote it",
}


def arm_notes(arms: Sequence[LabArm], quality_by: str, clusters: str) -> Iterator[tuple[str, str]]:
    for each in filter(lambda arm: arm.at_limit, arms):
        known = each.means.get("converged") is not None
        counted = ", which counts as not settled" if known else ""
        tries = count(each.at_limit, "try that reached its limit", "tries that reached their limit")
        yield each.arm, f"without {tries}{counted}; the others took less"
    measured = _known_measures(arms)
    explained = {in_words(each): text for each, text in _MEASURES.items() if each in measured}
    if quality_by and quality_by not in measured:
        explained[in_words(quality_by)] = _QUALITIES[quality_by]  # type: ignore[index]
    yield from explained.items()
    if any(each in SHARES for each in measured):
        over = "tasks" if clusters == "task" else "tasks in repeats"
        yield "in brackets", f"as far off as luck can carry it (95 %, over {over})"


def passes_sections(arms: Sequence[LabArm]) -> Iterator[Section]:
    title = "Share of tries that had settled, round by round"
    if converged := {each.arm: each.converged_by_pass for each in arms if each.converged_by_pass}:
        yield _by_pass("When they settled", title, converged, percent, 1)
    if lengths := {each.arm: each.words_by_pass for each in arms if each.words_by_pass}:
        yield _by_pass("Length", "Words of the text after each round", lengths, decimal, 0)


def _by_pass(
    heading: str,
    title: str,
    lines: Mapping[str, Sequence[float]],
    show: Callable[[float], str],
    first: int,
) -> Section:
    longest = max(map(len, lines.values()))
    rows, series = [], []
    for (arm, line), shade in zip(lines.items(), colours(list(lines)).values(), strict=True):
        rows.append((arm, *(Figure(y, show(y)) for y in line), *[""] * (longest - len(line))))
        points = [Point(n, y, f"{arm}, round {n}: {show(y)}") for n, y in enumerate(line, first)]
        series.append(Series(arm, shade, points))
    numbers = [str(first + n) for n in range(longest)]
    table = Table([*words(""), *figures(*numbers)], rows)
    highest = max(1.0, *(value for line in lines.values() for value in line))
    axes = Lines(series, "round", show=show, y_range=(0, highest))
    return Section(heading, charts=[line_chart(title, table, axes)], detail=True)


def failures_section(arms: Sequence[LabArm]) -> Section:
    rows = []
    for at, mode in enumerate(MODES):
        counts: list[str] = []
        for found in (arm.failures[at] for arm in arms):
            known = found.cells and found.under_condition is not None
            met = f" ({found.under_condition})" if known else ""
            counts.append(f"{found.cells} of {found.of}{met}" if found.of else UNKNOWN)
        if {*counts} != {UNKNOWN}:
            rows.append((mode.called, mode.sign, *counts))
    how = (
        "tries that show the sign, of those that could; in brackets those that also meet the "
        "paper's condition, where the record says so"
    )
    notes = [("Counts", how), ("Caution", "a sign is not proof, and a try may show several")]
    heads = words("", "sign in the record")
    table = Table([*heads, *figures(*(arm.arm for arm in arms))], rows)
    return Section("Signs of failure", notes, [table], detail=True)
