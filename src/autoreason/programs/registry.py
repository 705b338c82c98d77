"""Ways to a program by name: our own, those of installed packages, and one's own class in one's own file."""

from __future__ import annotations

from autoreason.errors import InvalidInput
from autoreason.programs.strategy import ProgramStrategy
from autoreason.strategies.registry import BUILT_IN, find_strategy, installed_strategies

DEFAULT = "search"
PROGRAM_STRATEGIES = {
    "search": "autoreason.programs.search:Search",
    "single": "autoreason.programs.sampling:Single",
    "best_of_n": "autoreason.programs.sampling:BestOfN",
    "critique_revise": "autoreason.programs.revision:CritiqueRevise",
    "analyse_revise": "autoreason.programs.revision:AnalyseRevise",
    "tournament": "autoreason.programs.contest:Tournament",
}
"""Each imported when it is asked for."""
EVERY = "all"


def strategies_named(given: str) -> tuple[str, ...]:
    """Names out of `all`, one name, or several with commas between."""
    if given == EVERY:
        return tuple(PROGRAM_STRATEGIES)
    return tuple(name.strip() for name in given.split(",") if name.strip())


def find_program_strategy(name: str) -> type[ProgramStrategy]:
    """The class behind a name; one clear sentence where there is none, or where it writes texts."""
    ours = ", ".join(PROGRAM_STRATEGIES)
    if (
        name not in PROGRAM_STRATEGIES
        and ":" not in name
        and name not in (*BUILT_IN, *installed_strategies())
    ):
        raise InvalidInput(
            f"no strategy {name!r} for programs; there are {ours}, or name your own as file.py:Class"
        )
    kind = find_strategy(name, PROGRAM_STRATEGIES, ProgramStrategy.__name__)
    if not issubclass(kind, ProgramStrategy):
        raise InvalidInput(
            f"{name} writes texts, not programs; take {ours}, or a subclass of autoreason.ProgramStrategy"
        )
    return kind
