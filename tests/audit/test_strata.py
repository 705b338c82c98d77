"""Shares compared within groups that were held alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import StratifiedTable

from autoreason.audit.strata import Table, compare

COUNTS = st.integers(0, 30)
TABLES = st.lists(
    st.tuples(st.tuples(COUNTS, COUNTS), st.tuples(COUNTS, COUNTS)), min_size=1, max_size=6
)


@given(TABLES)
def test_the_test_is_that_of_mantel_and_haenszel(tables: list[Table]) -> None:
    found = compare(tables)
    assert found.observed == sum(table[0][0] for table in tables)
    assert found.trials == sum(sum(table[0]) for table in tables)
    usable = [[list(row) for row in table] for table in tables if sum(map(sum, table)) > 1]
    if found.p is None:
        return
    oracle = StratifiedTable(usable).test_null_odds(correction=False)
    assert found.p == pytest.approx(oracle.pvalue, abs=1e-9)


def test_groups_that_differ_do_not_feign_an_effect() -> None:
    rare: Table = ((1, 9), (9, 81))
    common: Table = ((81, 9), (9, 1))
    apart = compare([rare, common])
    assert apart.p == pytest.approx(1)
    assert apart.expected == pytest.approx(apart.observed)
    together: Table = ((82, 18), (18, 82))
    p = compare([together]).p
    assert p is not None
    assert p < 1e-9


def test_one_condition_alone_says_nothing() -> None:
    assert compare([((3, 4), (0, 0))]).p is None
    assert compare([]).p is None
    assert compare([((1, 0), (0, 0))]).expected == 1
