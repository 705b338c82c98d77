"""The cluster bootstrap: the mean of means, wider with fewer clusters, and never a point by chance."""

from __future__ import annotations

import numpy as np
import pytest

from autoreason.stats.bootstrap import cluster_bootstrap


def test_every_cluster_counts_once_however_often_it_was_tried() -> None:
    assert cluster_bootstrap([[1.0, 1.0, 1.0, 1.0], [0.0]]).value == 0.5


@pytest.mark.parametrize("bounded", [False, True])
def test_one_cluster_has_no_interval_and_none_no_value(*, bounded: bool) -> None:
    assert cluster_bootstrap([], bounded=bounded).value is None
    alone = cluster_bootstrap([[0.0, 1.0]], bounded=bounded)
    assert (alone.value, alone.low) == (0.5, None)
    assert alone.reason.endswith("clusters or more, there is one cluster")


def test_two_clusters_of_values_without_bounds_have_no_interval() -> None:
    found = cluster_bootstrap([[-2.0], [5.0]])
    assert (found.value, found.low, found.high, found.n) == (1.5, None, None, 2)
    assert found.reason == "an interval needs three clusters or more, there are 2 clusters"
    assert cluster_bootstrap([[-1.0], [0.5]], bounded=True).low is not None


@pytest.mark.parametrize(
    "data", [[[-2.0]] * 5, [[0.0, 0.0], [0.0], [0.0]], [[0.3], [0.1 + 0.2]] * 2]
)
def test_values_that_are_all_the_same_have_no_interval(data: list[list[float]]) -> None:
    found = cluster_bootstrap(data)
    assert found.value == pytest.approx(data[0][0])
    assert (found.low, found.high, found.n) == (None, None, len(data))
    assert found.reason == "all values are the same, which does not say how far others would differ"


def test_the_same_data_give_the_same_interval() -> None:
    data = [[1.0, 2.0], [3.0], [0.5, 0.1]]
    assert cluster_bootstrap(data) == cluster_bootstrap(data)


def test_bounded_differences_that_are_all_the_same_keep_an_interval() -> None:
    found = cluster_bootstrap([[1.0]] * 5, bounded=True)
    assert found.value == 1.0
    assert found.low is not None
    assert found.low < 1.0
    assert found.high == 1.0


@pytest.mark.parametrize(("clusters", "members"), [(4, 1), (8, 3), (20, 2)])
def test_intervals_contain_the_truth_as_often_as_they_say(clusters: int, members: int) -> None:
    rng = np.random.default_rng(clusters)
    missed = 0
    for _ in range(300):
        level = rng.standard_normal(clusters)[:, None]
        data = (level + rng.standard_normal((clusters, members))).tolist()
        found = cluster_bootstrap(data)
        assert found.low is not None
        assert found.high is not None
        missed += not found.low <= 0 <= found.high
    assert missed <= 300 * 0.05 + 4 * (300 * 0.05 * 0.95) ** 0.5
