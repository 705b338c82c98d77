"""Strategies for programs by name: built in, or a class of the user's own."""

from __future__ import annotations

from autoreason.errors import InvalidInput
from autoreason.plugins import is_own
from autoreason.programs.program_strategy import ProgramStrategy
from autoreason.strategies.registry import BUILT_IN, find_strategy

DEFAULT = "search"
PROGRAM_STRATEGIES = {
    "search": "autoreason.programs.search:Search",
    "single": "autoreason.programs.fresh_attempts:SingleProgram",
    "best_of_n": "autoreason.programs.fresh_attempts:BestOfNPrograms",
    "critique_revise": "autoreason.programs.program_revision:CritiqueRevisePrograms",
    "analyse_revise": "autoreason.programs.program_revision:AnalyseRevisePrograms",
    "tournament": "autoreason.programs.contest:ProgramTournament",
}
"""Each imported when it is first used."""
EVERY = "all"


def strategies_named(names: str) -> tuple[str, ...]:
    """Parse `all`, one name, or several names separated by commas."""
    if names == EVERY:
        return tuple(PROGRAM_STRATEGIES)
    return tuple(name.strip() for name in names.split(",") if name.strip())


def find_program_strategy(name: str) -> type[ProgramStrategy]:
    """The class of that name; an error where there is none, or where it writes texts."""
    built_in = ", ".join(PROGRAM_STRATEGIES)
    if not is_own(name) and name not in (*PROGRAM_STRATEGIES, *BUILT_IN):
        raise InvalidInput(
            f"no strategy {name!r} for programs; there are {built_in}, or name your own as file.py:Class"
        )
    kind = find_strategy(name, PROGRAM_STRATEGIES, ProgramStrategy.__name__)
    if not issubclass(kind, ProgramStrategy):
        raise InvalidInput(
            f"{name} writes texts, not programs; take {built_in}, or a subclass of autoreason.extend.ProgramStrategy"
        )
    return kind
