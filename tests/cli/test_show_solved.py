"""`show` and its neighbours on runs that write programs."""

from __future__ import annotations

import sys

import pytest
from tests.cli.inside import Inside
from tests.cli.solving import MadeUpClient, examiner, writes
from tests.cli.test_solve import MODEL, Script, some

__all__ = ["examiner", "writes"]


@pytest.fixture(autouse=True)
def _stage(examiner: type[MadeUpClient], writes: Script) -> None:
    """No program is run, and the model is no model."""


def test_a_table_that_lacks_its_packages_is_one_sentence(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside("solve", some(inside, 12), *MODEL, "--strategy", "single,best_of_n", "-q")
    monkeypatch.setitem(sys.modules, "numpy", None)
    for name in ("power", "paired"):
        monkeypatch.delitem(sys.modules, f"autoreason.stats.{name}", raising=False)
    said = inside("show")
    assert said.status == 2
    assert said.err.splitlines() == [
        "autoreason: intervals and tests need NumPy and SciPy; run `pip install numpy scipy`"
    ]
