"""The claims of the paper, read from `claims.txt`, each with the function that finds it in recorded results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from autoreason.studies.reproduce import rows, single_claims
from autoreason.studies.reproduce.figures import Answer
from autoreason.studies.reproduce.recording import PROBLEMS, TASKS, Recording

_FILE = Path(__file__).with_name("claims.txt")


class Claim(NamedTuple):
    """A claim of the paper, where it stands, and what it rests on."""

    section: str
    ref: str
    about: str
    figures: Mapping[str, str]
    """As the paper prints them; an empty one is not in the paper."""
    find: Callable[[Recording], Answer]
    """What the data give for these figures."""
    unit: str
    whole: int
    """How many of these it rests on in the paper."""
    needs: str
    """What is missing where there are no data."""


@cache
def read_claims() -> tuple[Claim, ...]:
    """All claims, in the order of the paper."""
    return tuple(_claims(_FILE.read_text("utf-8")))


def _claims(text: str) -> Iterator[Claim]:
    section, head = "", [""]
    for line in text.partition("\n\n")[2].splitlines():
        parts = line.strip().split(" | ")
        if line.startswith("== "):
            section = line[3:]
        elif line.startswith(" "):
            yield _row(section, head, *parts)
        elif len(parts) > 4:
            ref, about, how, rests, figures, *needs = parts
            unit, whole = rests.split()
            name, *names = how.split()
            find = getattr(single_claims, name)
            find = partial(find, names, int(whole)) if names else find
            pairs = (each.rpartition(" ") for each in figures.split(", "))
            paper = {each: _given(value) for each, _, value in pairs}
            yield Claim(section, ref, about, paper, find, unit, int(whole), *needs or [""])
        else:
            head = parts


def _row(section: str, head: list[str], name: str, where: str, figures: str) -> Claim:
    ref, about, kind, columns = head
    names = [column.replace("_", " ") for column in columns.split()]
    paper = dict(zip(names, map(_given, figures.split()), strict=True))
    row: rows.Row
    unit, whole = "run", 1
    if kind == "runs":
        row = rows.RunRow(*where.split())
    elif kind == "programs":
        row, unit, whole = rows.Arm(*where.split()), "problem", PROBLEMS
    elif kind == "duels":
        row, unit = rows.Duel(ref, *where.split(), *names), "panel"
    else:
        tasks = kind.removeprefix("panels of ").split()
        labels = names if len(tasks) > 1 else ["points"]
        row = rows.PanelRow(
            ref, {a: TASKS.get(b, b) for a, b in zip(labels, tasks, strict=False)}, where
        )
        unit, whole = "panel", len(tasks)
    return Claim(section, ref, f"{about}, {name}", paper, row.find, unit, whole, row.needs())


def _given(word: str) -> str:
    return "" if word == "-" else word
