"""What the page on overfitting shows: two loops that fool themselves, and a test at the end that does not."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.examples.demos import DEMOS, load

PAGE = Path(__file__).parents[2] / "docs" / "overfitting.md"


@pytest.fixture
def overfitting() -> Any:
    """The program behind the page."""
    return load(DEMOS / "overfitting.py")


def test_a_gain_on_one_length_is_seen_by_the_loop_and_not_claimed(overfitting: Any) -> None:
    name, (result,) = next(overfitting.compare_on_lengths(1, 20))
    assert name == "greedy, task.md"
    assert result.report.loop_gain > 1
    assert not result.improved
    assert "do not quote it" in result.conclusion


def test_only_noise_is_claimed_as_a_gain_by_no_end_test(overfitting: Any) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    for _, (result,) in overfitting.compare_on_noise(1, 14):
        assert not result.improved


@pytest.mark.parametrize("what", ["noise", "lengths"])
def test_the_page_names_the_command_of_each_table(
    what: str, overfitting: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, object]] = []

    def compare(name: str, _: int, evaluations: int | None) -> list[object]:
        asked.append((name, evaluations))
        return []

    for name in ("noise", "lengths"):
        monkeypatch.setattr(overfitting, f"compare_on_{name}", partial(compare, name))
    (command,) = (
        line for line in PAGE.read_text("utf-8").splitlines() if f"overfitting.py {what}" in line
    )
    overfitting.main(command.split()[2:])
    assert asked == [(what, None)]
    assert "loop saw" in capsys.readouterr().out
