"""Values compared with type hints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta
from tests.cases import cases

from autoreason import Budget, InvalidInput
from autoreason.exchange import Model
from autoreason.fields import check_type, plainly
from autoreason.studies.lab_file import SuiteKeys
from autoreason.testing import EchoModel

RIGHT: list[tuple[object, Any]] = [
    ("text", str),
    (5, int),
    (5, float),
    (5, Decimal),
    (5, Annotated[int, Meta(ge=1)] | None),
    (None, int | None),
    (["a"], tuple[str, ...]),
    (("a",), Sequence[str]),
    ({"a": 1}, Mapping[str, Any]),
    ("calls", Literal["calls", "tokens"]),
    (print, Callable[[str], None]),
    (EchoModel(), str | Model),
    ("echo/echo", str | Model),
    (Path("here"), str | Path),
    ("not\udcffUTF-8.md", str | Path),
    ("a\0b", str),
    (Budget(calls=5), Budget),
]
HALF = "contains a null or half of a character; give UTF-8 text"
TEXTS = "give a dict with names as keys and text as values"
WRONG: list[tuple[object, Any, str]] = [
    (5, str, "`x` is 5; give text"),
    (True, int, "`x` is True; give a whole number"),
    (1.5, int | None, "`x` is 1.5; give a whole number"),
    (float("nan"), float, "`x` is nan; give a number"),
    (Decimal("NaN"), Decimal, "`x` is Decimal('NaN'); give a Decimal"),
    (1.5, Decimal | int, "`x` is 1.5; give a Decimal or a whole number"),
    ("abc", Sequence[str], "`x` is 'abc'; give a list of text"),
    (["a", 5], Sequence[str | Model], "`x` is a list; give a list of text or a model object"),
    ({"a": 5}, Mapping[str, str], f"`x` is a dict; {TEXTS}"),
    ([], dict[str, str], f"`x` is a list; {TEXTS}"),
    ([], Mapping[str, Any], "`x` is a list; give a dict"),
    ("all", Literal["calls", "tokens"], "`x` is 'all'; give 'calls' or 'tokens'"),
    (5, Callable[[], None], "`x` is 5; give a function"),
    (EchoModel, str | Model, "`x` is a type; give text or a model object"),
    ({"calls": 5}, Budget, "`x` is a dict; give a Budget"),
    (b"bytes" * 20, str, "`x` is a bytes; give text"),
    ("long" * 20, int, "`x` is a str; give a whole number"),
    (Decimal("sNaN"), Decimal, "`x` is Decimal('sNaN'); give a Decimal"),
    (10**400, float, "`x` is an int; give a number"),
    ("a\ud800", str, f"`x` {HALF}"),
    (["a\ud800"], Sequence[str], f"`x` {HALF}"),
    ("a\ud800", str | Path, f"`x` {HALF}"),
    (Path("a\0b"), str | Path, "`x` is a PosixPath; give text or a path"),
]


@cases(("value", "hint"), RIGHT)
def test_a_value_of_its_type_is_accepted(value: object, hint: Any) -> None:
    check_type("x", value, hint)


@cases(("value", "hint", "message"), WRONG)
def test_a_value_of_another_type_is_refused_with_what_to_give(
    value: object, hint: Any, message: str
) -> None:
    with pytest.raises(InvalidInput) as raised:
        check_type("x", value, hint)
    assert str(raised.value) == message


@given(
    st.recursive(
        st.none() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_whatever_a_value_is_it_is_accepted_or_refused(value: object) -> None:
    for _, hint in RIGHT:
        with suppress(InvalidInput):
            check_type("x", value, hint)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"match": "x"}, "`match` must be 'calls', 'tokens' or 'cost', not 'x'"),
        ({"match": {"by": "x"}}, "`match.by` must be 'calls', 'tokens' or 'cost', not 'x'"),
        ({"measures": ["x"]}, "`measures[0]` must be 'preferred', 'words', "),
    ],
)
def test_a_choice_in_a_file_is_refused_with_the_choices(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.convert({"name": "s", "tasks": {"t": 1}, "arms": {"a": 1}} | keys, SuiteKeys)
    assert plainly(raised.value, SuiteKeys).startswith(said)
