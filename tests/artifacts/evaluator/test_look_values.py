"""Only a finite number that can be computed with is a value."""

from __future__ import annotations

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from autoreason.artifacts.evaluator.look_values import MAX_RESULT_BYTES, read_measurement
from autoreason.artifacts.measurement import MAX_VALUE

JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["score", "items", "x", "\x1b"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON)
def test_a_value_is_a_finite_number_or_there_is_a_sentence(result: object) -> None:
    read = read_measurement(json.dumps(result), "score")
    decides = result.get("score") if isinstance(result, dict) else result
    usable = type(decides) in (int, float) and abs(decides) <= MAX_VALUE  # type: ignore[arg-type]
    assert (read.value is not None) == usable
    assert bool(read.detail) != usable
    assert all(math.isfinite(each**2) for each in (*read.metrics.values(), *read.by_item))
    assert all(name.isprintable() for name in read.metrics)


@given(st.binary(max_size=40))
def test_whatever_is_written_is_read_without_an_error(written: bytes) -> None:
    read = read_measurement(written, "score")
    assert (read.value is None) == bool(read.detail)


def test_large_results_and_many_metrics_are_cut() -> None:
    assert "1 MB" in read_measurement(b"1" * (MAX_RESULT_BYTES + 1), "score").detail
    many = read_measurement(json.dumps({str(n): n for n in range(500)} | {"score": 1}), "score")
    assert (many.value, len(many.metrics)) == (1.0, 64)


def test_one_number_for_each_item_is_read_only_where_all_are_numbers() -> None:
    assert read_measurement('{"score": 1, "items": [1, 2.5]}', "score").by_item == (1.0, 2.5)
    assert read_measurement('{"score": 1, "items": [1, null]}', "score").by_item == ()
