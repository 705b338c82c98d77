"""Grades are read as judges write them, and never guessed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import cases

from autoreason.parsing.grades import Grades, json_keys, read_grades
from autoreason.tournament.judges import grades_schema, rank_by_grades

steady = settings(derandomize=True, deadline=None)
LABELS = ("BD", "FX", "KV", "ZT")
NAMES = ("accurate", "sounds like us", "short", "at most 80 words", "Köln & Umland", "не длинно")
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
    keyed = {label: dict(zip(json_keys(names), row, strict=False)) for label, row in given.items()}
    plain = {label: row[0] for label, row in given.items()}
    return json.dumps({"reasoning": "BD is right.", "grades": keyed if names else plain})


def by_criterion(given: Grades, names: Sequence[str]) -> str:
    if not names:
        return as_json(given, names)
    turned = {
        name: {label: row[at] for label, row in given.items()} for at, name in enumerate(names)
    }
    return json.dumps({"grades": turned}, indent=2, ensure_ascii=False)


def in_lines(given: Grades, names: Sequence[str]) -> str:
    rows = {
        label: ", ".join(f"{name} {x:g}" for name, x in zip(names, row, strict=False))
        for label, row in given.items()
    }
    said = "\n".join(f"{label}: {rows[label] or f'{row[0]:g}'}" for label, row in given.items())
    return f"REASONS:\nBD: It has 3 facts, and it is short.\n\nGRADES:\n{said}"


def below_headings(given: Grades, names: Sequence[str]) -> str:
    if not names:
        return in_lines(given, names)
    parts = (
        "\n".join([f"**{label}**", *(f"- {n}: {x:g}/20" for n, x in zip(names, row, strict=True))])
        for label, row in given.items()
    )
    return "\n\n".join(parts)


def as_table(given: Grades, names: Sequence[str]) -> str:
    heads = ["text", *(names or ["grade"])]
    rows = ([label, *(f"{x:g}" for x in row)] for label, row in given.items())
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows))


def as_turned_table(given: Grades, names: Sequence[str]) -> str:
    rows = [
        [name, *(f"{row[at]:g}" for row in given.values())]
        for at, name in enumerate(names or ["grade"])
    ]
    if not names:
        return as_table(given, names)
    heads = [["criterion", *given], ["---"] * (len(given) + 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (*heads, *rows))


FORMS: Mapping[str, Form] = {
    "JSON": as_json,
    "fenced": lambda given, names: f"Here it is:\n\n```json\n{as_json(given, names)}\n```",
    "criteria first": by_criterion,
    "lines": in_lines,
    "headings": below_headings,
    "table": as_table,
    "turned table": as_turned_table,
}


@given(ballots(), st.sampled_from(sorted(FORMS)))
@steady
def test_every_form_of_a_ballot_is_read_back(
    ballot: tuple[Grades, tuple[str, ...]], form: str
) -> None:
    grades, names = ballot
    assert read_grades(FORMS[form](grades, names), sorted(grades), names) == grades


@given(ballots(), st.data())
@steady
def test_the_order_in_which_texts_are_shown_or_graded_does_not_change_their_ranking(
    ballot: tuple[Grades, tuple[str, ...]], data: st.DataObject
) -> None:
    grades, names = ballot
    order = data.draw(st.permutations(sorted(grades)))
    shuffled = {label: grades[label] for label in order}
    found = read_grades(in_lines(shuffled, names), order, names)
    assert found is not None
    assert rank_by_grades(found) == rank_by_grades(grades)
    sums = [sum(grades[label]) for label in rank_by_grades(grades)]
    assert sums == sorted(sums, reverse=True)


WHOLE = "BD: accurate 14, short 9\nFX: accurate 3, short 20"


@cases(
    "text",
    [
        "",
        "BD > FX",
        "BD: accurate 14, short 9",
        "BD: accurate 14\nFX: accurate 3",
        WHOLE.replace("20", "21"),
        WHOLE.replace("3", "0"),
        WHOLE.replace("14", "14.3"),
        WHOLE.replace("14", "7/10"),
        WHOLE.replace("14", "14-16"),
        WHOLE.replace("14", "70%"),
        f"{WHOLE}\nBD: accurate 12",
        f"{WHOLE}\nWait, I mixed them up.",
        f"{WHOLE}\nHere 1 is the best.",
        f"{WHOLE.replace('20', '10')}\nRANKING: FX > BD",
        "<think>BD: accurate 14, short 9\nFX: accurate 3, short 20",
        "BD is accurate: 3 mistakes. It is short: 2 pages.\nFX: accurate 3, short 20",
    ],
)
def test_what_is_missing_or_in_doubt_is_no_grade(text: str) -> None:
    assert read_grades(WHOLE, ("BD", "FX"), ("accurate", "short"))
    assert read_grades(text, ("BD", "FX"), ("accurate", "short")) is None


def test_a_schema_has_keys_that_every_provider_takes_and_says_the_form_in_words() -> None:
    schema = grades_schema(NAMES, ("FX", "BD"))
    by_text = schema.definition["properties"]["grades"]
    assert by_text["required"] == ["BD", "FX"]
    keys = by_text["properties"]["BD"]["required"]
    assert keys[:2] == ["accurate", "sounds_like_us"]
    assert all(key.isascii() and key.replace("_", "").isalnum() for key in keys)
    assert len({*keys}) == len(NAMES)
    assert "REASONS" in schema.plain
    assert "\nBD: accurate ?, sounds like us ?" in schema.plain
    short = grades_schema((), ("FX", "BD"), reasons=False).plain
    assert short.endswith("\nBD: ?\nFX: ?")
    assert "REASONS" not in short
