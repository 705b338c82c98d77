"""The planned tests of a suite: two arms by a measure, with interval, effect and corrected p-value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

from msgspec import Struct
from msgspec.structs import replace

from autoreason.stats.results import BEYOND_CHANCE, Estimate, Test
from autoreason.stats.shares import cohens_h, holm
from autoreason.studies.lab.arm_values import ArmValues, Unit
from autoreason.studies.lab.lab_suite import SHARES, Measure, Suite, SuiteComparison


class ArmPair(Struct, frozen=True, kw_only=True):
    """Two arms of a comparison."""

    comparison: str
    question: str
    measure: Measure
    first: str
    second: str
    first_mean: float | None
    second_mean: float | None
    """Over the same pairs as the difference; None for `preferred`, which only a pair has."""
    difference: Estimate
    """First less second; intervals are simultaneous for all that was planned. Preferences run from -1 to 1."""
    effect: float | None
    """Cohen's h of shares, else the difference in standard deviations of differences."""
    test: Test
    p_value_adjusted: float | None
    """Corrected for every planned test (Holm)."""
    units: int
    """Tasks times repeats that both arms have a result of."""
    missing: int
    """Those that one of them, or their panel, has none of."""
    repeats: int
    same: int = 0
    """Units in which both delivered the same text, which judges were not shown and which counts half for each."""
    at_limit: int = 0
    """Missing units in which an arm reached the limit of a cell."""

    @property
    def shown(self) -> bool:
        """Whether chance alone would seldom give as much."""
        return self.p_value_adjusted is not None and self.p_value_adjusted <= BEYOND_CHANCE


def compare_arms(suite: Suite, values: ArmValues) -> list[ArmPair]:
    """Every planned test, corrected for all of them."""
    from autoreason.stats.resampling import cluster_bootstrap, permutation_test

    # As strict as the correction of the tests: a reader looks at the widest difference.
    confidence = 1 - BEYOND_CHANCE / max(1, len(suite.pairs))
    found = []
    for comparison, second in suite.pairs:
        first, measure = comparison.arms[0], comparison.measure
        known = [values.of(arm, measure) for arm in (first, second)]
        same = 0
        if measure == "preferred":
            differences = values.preferences(first, second, comparison.arms)
            same = values.same_texts(first, second, comparison.arms)
        else:
            both = known[0].keys() & known[1].keys()
            differences = {u: known[0][u] - known[1][u] for u in sorted(both)}
        repeats = suite.repeats_of(comparison)
        clusters = _clusters(differences, suite)
        means = [_mean({u: each[u] for u in differences if u in each}, suite) for each in known]
        limited = values.at_limit(first).keys() | values.at_limit(second).keys()
        planned = max(len(known[0]), len(known[1]), _measured_tasks(suite, measure) * repeats)
        found.append(
            ArmPair(
                comparison=comparison.name,
                question=comparison.question,
                measure=measure,
                first=first,
                second=second,
                first_mean=means[0],
                second_mean=means[1],
                difference=cluster_bootstrap(clusters, confidence, bounded=measure in SHARES),
                effect=_effect(comparison, means, list(differences.values())),
                test=permutation_test(list(map(fmean, clusters))),
                p_value_adjusted=None,
                units=len(differences),
                missing=planned - len(differences),
                repeats=repeats,
                same=same,
                at_limit=0 if measure == "converged" else len(limited),
            )
        )
    corrected = holm([each.test.p_value for each in found])
    return [replace(each, p_value_adjusted=p) for each, p in zip(found, corrected, strict=True)]


def _measured_tasks(suite: Suite, measure: Measure) -> int:
    """How many tasks a measure is planned for: a contract is kept only where there is one."""
    tasks = suite.tasks.values()
    if measure != "kept_contract":
        return len(tasks)
    return sum(not each.task.contract.empty for each in tasks)


def _clusters(values: Mapping[Unit, float], suite: Suite) -> list[list[float]]:
    """Values by task, or one by one where there are too few tasks to speak of others."""
    if not suite.many_tasks:
        return [[value] for value in values.values()]
    by_task: dict[str, list[float]] = {}
    for (task, _), value in values.items():
        by_task.setdefault(task, []).append(value)
    return list(by_task.values())


def _mean(values: Mapping[Unit, float], suite: Suite) -> float | None:
    """As a difference is one: each task counts alike, however many of its cells have a result."""
    return fmean(map(fmean, _clusters(values, suite))) if values else None


def _effect(
    comparison: SuiteComparison, means: Sequence[float | None], differences: Sequence[float]
) -> float | None:
    if not differences:
        return None
    if comparison.measure == "preferred":
        return cohens_h((1 + fmean(differences)) / 2, 0.5)
    first, second = means
    if comparison.measure in SHARES and first is not None and second is not None:
        return cohens_h(first, second)
    spread = stdev(differences) if len(differences) > 1 else 0.0
    return fmean(differences) / spread if spread else None
