"""Grades are read as judges are asked for them, in JSON or in lines, and never guessed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import cases

from autoreason.parsing.ballots import Grades, name_grades, rank_by_grades, read_grades
from autoreason.tournament.judges import grades_schema

steady = settings(derandomize=True, deadline=None)
LABELS = ("BD", "FX", "KV", "ZT")
LONG = "as __plain__ as a *letter* to a friend who is in a hurry"
NAMES = ("accurate", "sounds like us", "at most 80 words", "Köln & Umland", "не длинно", LONG)
numbers = st.one_of(st.integers(1, 20).map(float), st.integers(2, 40).map(lambda half: half / 2))


@st.composite
def ballots(draw: st.DrawFn) -> tuple[Grades, tuple[str, ...]]:
    """What a judge gives some texts on some criteria, or on the whole."""
    labels = draw(st.permutations(LABELS))[: draw(st.integers(2, 4))]
    names = tuple(draw(st.permutations(NAMES))[: draw(st.integers(0, 4))])
    row = st.tuples(*[numbers] * max(1, len(names)))
    return {label: draw(row) for label in labels}, names


Form = Callable[[Grades, Sequence[str]], str]


def as_json(given: Grades, names: Sequence[str]) -> str:
    keys = name_grades([*given], names)
    flat = {key: x for label in given for key, x in zip(keys[label], given[label], strict=True)}
    return json.dumps({"reasoning": "BD is right: it has 3 facts."} | flat)


def in_lines(given: Grades, names: Sequence[str]) -> str:
    _, *lines = grades_schema(names, tuple(given)).plain.rsplit("\n", sum(map(len, given.values())))
    marks = (f"{each:g}" for label in sorted(given) for each in given[label])
    filled = [line.replace("?", mark) for line, mark in zip(lines, marks, strict=True)]
    return "\n".join(["REASONS:", "BD: It has 3 facts.", "", *filled])


FORMS: Mapping[str, Form] = {
    "JSON": as_json,
    "fenced": lambda given, names: f"Here it is:\n\n```json\n{as_json(given, names)}\n```",
    "lines": in_lines,
    "list": lambda given, names: in_lines(given, names).replace("\n", "\n- "),
    "bold": lambda given, names: in_lines(given, names).replace("\nBD", "\n**BD**"),
}


@given(ballots(), st.sampled_from(sorted(FORMS)))
@steady
def test_a_ballot_is_read_back_and_ranks_by_its_sums(
    ballot: tuple[Grades, tuple[str, ...]], form: str
) -> None:
    grades, names = ballot
    found = read_grades(FORMS[form](grades, names), sorted(grades), names)
    assert found == grades
    sums = [sum(grades[label]) for label in rank_by_grades(found)]
    assert sums == sorted(sums, reverse=True)
    assert rank_by_grades(found) == rank_by_grades(grades)


WHOLE = "BD_accurate_1: 14\nBD_short_2: 9\nFX_accurate_1: 3\nFX_short_2: 20"


@cases(
    "text",
    [
        "",
        "BD > FX",
        WHOLE.replace("FX_accurate_1: 3\n", ""),
        *(WHOLE.replace("14", wrong) for wrong in ("21", "0", "-3", "7/10", "14-16", "70%", "7%")),
        f"{WHOLE}\nBD_accurate_1: 12",
        f"{WHOLE}\nWait, I mixed them up.",
        f"<think>{WHOLE}",
    ],
)
def test_what_is_missing_or_in_doubt_is_no_grade(text: str) -> None:
    assert read_grades(WHOLE, ("BD", "FX"), ("accurate", "short"))
    assert read_grades(text, ("BD", "FX"), ("accurate", "short")) is None


def test_grades_have_names_that_every_provider_takes_and_a_form_in_words() -> None:
    (names,) = name_grades(("BD",), (*NAMES, "sounds, like us")).values()
    assert names[:2] == ["BD_accurate_1", "BD_sounds_like_us_2"]
    assert all(name.isascii() and name.replace("_", "").isalnum() for name in names)
    assert len({*names}) == len(names)
    schema = grades_schema(("short",), ("FX", "BD"))
    assert schema.definition["required"] == ["reasoning", "BD_short_1", "FX_short_1"]
    assert "REASONS" in schema.plain
    short = grades_schema((), ("FX", "BD"), reasons=False).plain
    assert short.endswith("\nBD: ?\nFX: ?")
    assert "REASONS" not in short
