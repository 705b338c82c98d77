"""Inputs made from a problem's own examples, to see what programs do where nobody knows the right answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from autoreason.assignment import Assignment, Input
from autoreason.programs.problems.calls import Call, find_calls, find_constants
from autoreason.programs.problems.samples import Samples
from autoreason.programs.problems.variation import Kinds

_MOSTLY = 0.85
"""How often what holds between the arguments of all examples is kept."""
_SELDOM = 0.15
"""How often two arguments change places or become the same."""
_TRIES = 10
"""Inputs drawn for each that is wanted: many are like another, or like an example."""
_LONGEST = 2000
"""Characters of an input made, and of one it is made from; of many programs and inputs everything is recorded."""


def make_inputs(assignment: Assignment, seed: int, count: int = 40) -> tuple[Input, ...]:
    """Inputs like those of the public tests; none where nothing is known of what goes in."""
    random = Random(f"{seed} {assignment.id}")
    if assignment.kind == "function":
        calls = [call for call in find_calls(assignment) if len(str(call)) <= _LONGEST]
        known = {str(call) for call in calls}
        drawn = _vary_calls(calls, find_constants(assignment), count, random)
    else:
        inputs = (test.input for test in assignment.public)
        samples = [each for each in inputs if each.strip() and len(each) <= _LONGEST]
        known, drawn = set(samples), _vary_samples(samples, count, random)
    made: dict[Input, None] = {}
    for each in drawn:
        if each not in known and len(each) <= _LONGEST:
            made[each] = None
        if len(made) == count:
            break
    # The small ones first: what takes too long for one of them takes too long for those that follow, too.
    return tuple(sorted(made, key=lambda each: (len(each), each)))


def _vary_samples(samples: Sequence[str], count: int, random: Random) -> Iterator[Input]:
    form = Samples(samples) if samples else None
    for turn in range(_TRIES * count if form else 0):
        assert form is not None
        yield form.vary(turn % len(samples), random)


def _vary_calls(
    calls: Sequence[Call], constants: Sequence[Any], count: int, random: Random
) -> Iterator[Input]:
    """Edge cases of one argument at a time first, then whatever comes of varying some of them."""
    calls = [call for call in calls if len(call.arguments) == len(calls[0].arguments)]
    if not calls or not calls[0].arguments:
        return
    kinds = Kinds([call.arguments for call in calls], constants)
    ties = _ties(calls)
    edges = [
        (call, _with(call.arguments, place, edge))
        for call in calls
        for place, value in enumerate(call.arguments)
        for edge in kinds.edges((place,), value)
    ]
    random.shuffle(edges)
    for call, arguments in edges[: count // 3]:
        yield str(call._replace(arguments=_tied(arguments, ties)))
    for turn in range(_TRIES * count):
        call = calls[turn % len(calls)]
        arguments = call.arguments
        chosen = [place for place in range(len(arguments)) if random.random() < 0.6]
        for place in chosen or [random.randrange(len(arguments))]:
            value = arguments[place]
            for _ in range(random.choice([1, 1, 1, 2])):
                value = kinds.vary((place,), value, random)
            arguments = _with(arguments, place, value)
        one, other = random.choices(range(len(arguments)), k=2)
        if type(arguments[one]) is type(arguments[other]) and random.random() < _SELDOM:
            again = arguments[one] if random.random() < 0.5 else arguments[other]
            arguments = _with(_with(arguments, one, arguments[other]), other, again)
        if random.random() < _MOSTLY:
            arguments = _tied(arguments, ties)
        yield str(call._replace(arguments=arguments))


def _with(arguments: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*arguments[:place], value, *arguments[place + 1 :])


Tie = tuple[str, int, int]
"""What holds between two arguments: `length`, `within` or `equal`, the one that follows, and the one it follows."""


def _ties(calls: Sequence[Call]) -> list[Tie]:
    """What holds between the arguments of every example, and hardly by chance."""
    places = range(len(calls[0].arguments))
    found: list[Tie] = []
    for one in places:
        for other in places:
            pairs = [(call.arguments[one], call.arguments[other]) for call in calls]
            if one == other or not all(_sized(second) for _, second in pairs):
                continue
            if all(_whole(first) for first, _ in pairs):
                if all(first == len(second) for first, second in pairs):
                    found.append(("length", one, other))
                elif all(0 <= first <= len(second) for first, second in pairs):
                    found.append(("within", one, other))
            elif one > other and all(
                type(first) is type(second) and len(first) == len(second) for first, second in pairs
            ):
                found.append(("equal", one, other))
    return found


def _sized(value: object) -> bool:
    return isinstance(value, str | list | tuple)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _tied(arguments: tuple[Any, ...], ties: Sequence[Tie]) -> tuple[Any, ...]:
    """The arguments with what holds between them restored."""
    for tie, one, other in sorted(ties):
        value, leading = arguments[one], arguments[other]
        if tie == "equal":
            shorter = min(len(value), len(leading))
            arguments = _with(_with(arguments, one, value[:shorter]), other, leading[:shorter])
        elif tie == "length":
            arguments = _with(arguments, one, len(leading))
        else:
            arguments = _with(arguments, one, max(0, min(value, len(leading))))
    return arguments
