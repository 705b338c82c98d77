"""Marked constants are found, replaced exactly, and searched by an optimiser."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.artifacts.artifact import apply_edits
from autoreason.artifacts.trial_events import TrialDecided, TrialStatus
from autoreason.artifacts.tuning import (
    Observation,
    TuningQuery,
    Value,
    check_knobs,
    find_knobs,
    observe,
    set_knobs,
    suggest,
)
from autoreason.errors import InvalidInput

FILES = {
    "train.py": (
        "RATE = 0.01  # tune 1e-4..1e-1 log\n"
        "STEPS: int = 8 # tune 1..64 int\n"
        "model = fit(\n    kind='tree',  # tune tree|forest\n    depth=3,  # deep\n)\n"
    ),
    "run.yaml": "alpha: 0.5   # tune 0..1\n",
    "run.toml": 'mode = "a"  # tune a|b\nnote = "x"\n',
    "notes.md": "x = 3  # tune 1..5\n",
}


def test_marked_constants_are_found_with_what_they_may_be() -> None:
    found = {knob.name: knob for knob in find_knobs(FILES)}
    assert list(found) == ["mode", "alpha", "RATE", "STEPS", "kind"]
    assert (found["RATE"].value, found["RATE"].low, found["RATE"].log) == (0.01, 1e-4, True)
    assert (found["STEPS"].value, found["STEPS"].whole) == (8, True)
    assert found["kind"].choices == ("tree", "forest")
    assert not found["alpha"].whole


def test_values_are_replaced_exactly() -> None:
    edits = set_knobs(FILES, ("b", 0.25, 0.02, 8, "forest"))
    after = apply_edits(FILES, edits, tuple(FILES))
    assert after["train.py"] == FILES["train.py"].replace("0.01", "0.02").replace(
        "'tree'", "'forest'"
    )
    assert after["run.yaml"] == "alpha: 0.25   # tune 0..1\n"
    assert after["run.toml"] == 'mode = "b"  # tune a|b\nnote = "x"\n'


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=5))
def test_each_constant_is_set_whatever_its_neighbours_are(pairs: list[tuple[int, int]]) -> None:
    text = "".join(f"x = {old}  # tune 1..3\n" for old, _ in pairs)
    wanted = tuple(new for _, new in pairs)
    edits = set_knobs({"a.py": text}, wanted)
    after = apply_edits({"a.py": text}, edits, ("a.py",))
    assert tuple(knob.value for knob in find_knobs(after)) == wanted


@pytest.mark.parametrize(
    "line",
    [
        "x = 3  # tune",
        "x = 3  # tune 5",
        "x = 3  # tune 4..9",
        "x = 3  # tune 5..1",
        "x = 3  # tune 0..9 log",
        "x = 'c'  # tune a|b",
        "x = f(3)  # tune 1..9",
        "return 3  # tune 1..9",
        "x = 3  # tune 1..9 quickly",
    ],
)
def test_a_mark_that_cannot_be_read_is_refused_at_the_start_and_no_knob_later(line: str) -> None:
    files = {"a.py": f"\n{line}\n"}
    assert find_knobs(files) == []
    if line.endswith("tune"):
        assert check_knobs(files) == ""
        return
    with pytest.raises(InvalidInput, match=r"a.py line 2: the mark cannot be read; write `# tune"):
        check_knobs(files)


def trial(number: int, text: str, value: float, status: TrialStatus = "dropped") -> TrialDecided:
    """A trial that gave a file another text."""
    return TrialDecided(
        number=number,
        incumbent=0,
        by="model",
        status=status,
        reason="",
        changes={"a.py": text},
        values=(value, value + 2),
    )


def test_trials_of_models_and_of_the_optimiser_are_one_ledger() -> None:
    start = {"a.py": "x = 3  # tune 1..9\n"}
    trials = [
        trial(1, "x = 5  # tune 1..9\n", 1.0, "kept"),
        trial(2, "y = 4\nx = 3  # tune 1..9\n", 2.0),
        trial(3, "x = 5\n", 3.0),
        trial(4, "x = 5  # tune 1..99\n", 4.0),
    ]
    knobs = find_knobs(start)
    expected = (Observation((5,), 2.0), Observation((3,), 3.0))
    assert observe(knobs, start, trials, higher=True) == expected
    assert [each.score for each in observe(knobs, start, trials, higher=False)] == [-2.0, -3.0]


def search(score: Callable[[tuple[Value, ...]], float], turns: int, seed: int) -> list[Observation]:
    """What an optimiser tries when it sees the scores."""
    knobs = tuple(find_knobs({"a.py": "x = 0.5  # tune 0..1\nn = 3  # tune 1..9\n"}))
    seen: list[Observation] = []
    for turn in range(turns):
        query = TuningQuery(key="t", knobs=knobs, observations=tuple(seen), seed=seed + turn)
        values = suggest(query)
        assert values == suggest(query)
        assert all(knob.allows(value) for knob, value in zip(knobs, values, strict=True))
        seen.append(Observation(values, score(values)))
    return seen


def test_the_optimiser_learns_from_the_ledger_and_repeats_itself() -> None:
    pytest.importorskip("optuna", reason="needs the extra `tune`")

    def score(values: tuple[Value, ...]) -> float:
        x, n = map(float, values)
        return -abs(x - 0.8) - abs(n - 7) / 9

    seen = [each.score for each in search(score, 40, 5)]
    assert sum(seen[-10:]) > sum(seen[:10])


def test_without_the_extra_there_is_one_sentence_and_no_tuning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    monkeypatch.setattr("autoreason.artifacts.tuning.find_spec", lambda _: None)
    assert "pip install '.[tune]'" in check_knobs(FILES)
    assert check_knobs({"a.py": "x = 1\n"}) == ""
    knobs = tuple(find_knobs(FILES))
    assert suggest(TuningQuery(key="t", knobs=knobs)) == ()
