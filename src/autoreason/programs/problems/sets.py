"""A set of problems: its content, its broken records, and its digest."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.programs.assignment import difficulty_order
from autoreason.programs.problems.native_format import encode_set
from autoreason.programs.problems.problem import NO_CHECKER, Problem, to_assignment


class BrokenRecord(Struct, frozen=True, kw_only=True):
    """A record that could not be used."""

    line: int
    """From 1."""
    reason: str
    unit: Literal["line", "entry"] = "line"
    """What `line` counts: lines of a file, or entries of a JSON list."""

    def __str__(self) -> str:
        return f"{self.unit} {self.line}: {self.reason}"


class ProblemSet(Struct, frozen=True, kw_only=True):
    """The problems of a file."""

    problems: tuple[Problem, ...]
    broken: tuple[BrokenRecord, ...] = ()
    format: str
    """The format of the records; several joined by commas."""
    digest: str
    """SHA-256 of the problems as `encode_set` writes them."""
    notes: tuple[str, ...] = ()
    """Examples that were left out of problems that are used."""


class Share(Struct, frozen=True, kw_only=True):
    """The problems of one kind and difficulty."""

    kind: str
    difficulty: str
    problems: int
    public_tests: int
    private_tests: int
    without_public_tests: int
    unfair: int
    """Those whose answers cannot be judged."""


def set_digest(problems: Sequence[Problem]) -> str:
    """The digest of a set of problems."""
    return hashlib.sha256(encode_set(problems)).hexdigest()


def find_problem(problems: Sequence[Problem], name: str) -> Problem:
    """The problem of that id; an error with similar ids where there is none."""
    by_id = {problem.id: problem for problem in problems}
    if name in by_id:
        return by_id[name]
    matches = [one for one in by_id if name and name.lower() in one.lower()]
    suggestions = matches or get_close_matches(name, by_id, n=3) or list(by_id)
    ellipsis = " …" if len(suggestions) > 3 else ""
    raise InvalidInput(
        f"no problem {name!r} in this set; there is {', '.join(suggestions[:3])}{ellipsis}"
    )


def split_judgeable(problem_set: ProblemSet) -> tuple[ProblemSet, tuple[str, ...]]:
    """The problems whose answers can be judged, and the ids of the others; an error where there are none."""
    fair = tuple(one for one in problem_set.problems if not to_assignment(one).remark)
    if not fair:
        raise InvalidInput(f"no problem of this set can be judged: {NO_CHECKER}")
    unfair = tuple(one.id for one in problem_set.problems if to_assignment(one).remark)
    return replace(problem_set, problems=fair), unfair


def shares(problems: Sequence[Problem]) -> tuple[Share, ...]:
    """Count problems and tests by kind and difficulty."""
    kinds = {(problem.kind, problem.difficulty) for problem in problems}
    ordered = sorted(kinds, key=lambda which: (which[0], difficulty_order(which[1])))
    return tuple(_share(problems, *which) for which in ordered)


def _share(problems: Sequence[Problem], kind: str, difficulty: str) -> Share:
    group = [one for one in problems if (one.kind, one.difficulty) == (kind, difficulty)]
    return Share(
        kind=kind,
        difficulty=difficulty,
        problems=len(group),
        public_tests=sum(len(one.public_tests) for one in group),
        private_tests=sum(len(one.private_tests) for one in group),
        without_public_tests=sum(not one.public_tests for one in group),
        unfair=sum(bool(to_assignment(one).remark) for one in group),
    )
