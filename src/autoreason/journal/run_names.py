"""Names of runs: easy to type, and matched by a part of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from random import SystemRandom

from autoreason.errors import InvalidInput, UnknownRun

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}(\.[0-9]{1,7})?")
_NEWEST = re.compile(r"@([1-9][0-9]{0,8})")
_SHOWN = 5

_ADJECTIVES = (
    "agile amber azure bold brave bright brisk calm candid clear clever cool coral crisp dapper"
    " deep eager early fair fleet fond frank fresh gentle glad golden grand green happy hardy"
    " honest ivory jolly keen kind light lively loyal lucid lunar mellow merry mild misty modest"
    " neat nimble noble opal patient plain proud quick quiet rapid ruby sage silver smooth snowy"
    " solar spry steady sunny swift tidy vivid warm wise witty"
)
_ANIMALS = (
    "ant badger bat bear beaver bee bison boar cat civet cod cow crab crane crow deer dingo dove"
    " duck eagle eel egret elk emu falcon finch fox frog gecko gnu goat goose gull hare hawk heron"
    " horse ibex ibis jay kite kiwi koala lark lemur lion llama lynx mole moose moth mouse newt"
    " okapi orca oryx otter owl panda perch pika puma quail raven robin seal shrew sloth snail"
    " stork swan tapir tern tiger toad trout vole wasp whale wolf wombat wren yak zebra"
)


def new_name(is_used: Callable[[str], bool]) -> str:
    """A name such as `20261115-amber-fox` that is not used yet."""
    # Not from the run's seed: two runs of one seed need two names.
    chance = SystemRandom()
    today = datetime.now().astimezone().strftime("%Y%m%d")
    for attempt in range(1000):
        name = f"{today}-{chance.choice(_ADJECTIVES.split())}-{chance.choice(_ANIMALS.split())}"
        if attempt >= 10:
            name += str(chance.randrange(2, 10_000))
        if not is_used(name):
            return name
    raise InvalidInput("no free name for a run is left today; start it with another journal")


def check_name(name: str) -> None:
    """Refuse an invalid name of a run; names become file names."""
    if not _ID.fullmatch(name):
        raise InvalidInput(f"{name!r} cannot name a run; use up to 80 letters, digits, - and _")


def age_of(given: str) -> int | None:
    """Which of the newest runs is meant by `last` or `@2`; None where a name is given."""
    back = _NEWEST.fullmatch("@1" if given == "last" else given)
    return int(back[1]) if back else None


def cell_name(suite: str, number: int) -> str:
    """The name of a cell's run: that of its suite, a dot and the number."""
    return f"{suite}.{number:04}"


def suite_name(cell: str) -> str:
    """The suite that a cell belongs to; empty for any other run."""
    return cell.rpartition(".")[0]


def owning_run(run: str) -> str:
    """The run that is resumed and stopped: the suite of a cell, and any other run itself."""
    return suite_name(run) or run


def is_cell(name: str) -> bool:
    return "." in name


def refuse_cell(run: str, command: str) -> None:
    """Refuse a command to a cell: models, limits and end of all cells are decided by their suite."""
    if not (suite := suite_name(run)):
        return
    fix = (
        f"give the suite: `autoreason {command} {suite}`"
        if command in ("resume", "stop")
        else f"`autoreason fork {run}` starts a run of its own from the cell's text"
    )
    raise InvalidInput(f"{run} is a cell, which only its suite may change; {fix}")


def match_name(given: str, newest_first: Sequence[str]) -> str:
    """The run named by a whole name, its beginning, its last words, `last` or `@2`; for these, the newest will do."""
    if given in newest_first:
        return given
    if age := age_of(given):
        if age <= (count := len(newest_first)):
            return newest_first[age - 1]
        there = f"are only {count}" if count else "is none"
        raise UnknownRun(f"no run {given!r}, there {there}; see `autoreason runs`")
    found = [
        name
        for name in newest_first
        if given and (name.startswith(given) or name.endswith(f"-{given}"))
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UnknownRun(f"no run {given!r}{_nearest(given, newest_first)}; see `autoreason runs`")
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    raise InvalidInput(f"{given!r} could be {', '.join(found[:_SHOWN])}{more}; give more of it")


def _nearest(given: str, names: Sequence[str]) -> str:
    # Only a mistyped name needs it.
    from difflib import get_close_matches

    near = get_close_matches(given, names, n=1)
    if not near:
        # People remember the words rather than the date.
        words = {name.partition("-")[2]: name for name in reversed(names)}
        near = [words[word] for word in get_close_matches(given, words, n=1)]
    return f", the nearest is {near[0]}" if near else ""
