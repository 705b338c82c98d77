"""Inputs generated from a problem's examples, to compare programs where no right answer is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from autoreason.programs.assignment import Assignment, Input
from autoreason.programs.problems.calls import FunctionCall, find_calls, find_constants
from autoreason.programs.problems.samples import Samples
from autoreason.programs.problems.variation import ValueKinds

_KEEP_TIES_SHARE = 0.85
"""How often a relation between the arguments of all examples is kept."""
_SWAP_SHARE = 0.15
"""How often two arguments are swapped or made equal."""
_DRAWS_PER_INPUT = 10
"""Inputs drawn for each one wanted: many equal another one or an example."""
_MAX_LENGTH = 2000
"""Characters of a generated input, and of the example behind it; all are recorded for every program."""


def make_inputs(assignment: Assignment, seed: int, count: int = 40) -> tuple[Input, ...]:
    """Generate inputs like those of the public tests; none where there are no examples."""
    random = Random(f"{seed} {assignment.id}")
    if assignment.kind == "function":
        calls = [call for call in find_calls(assignment) if len(str(call)) <= _MAX_LENGTH]
        known = {str(call) for call in calls}
        drawn = _vary_calls(calls, find_constants(assignment), count, random)
    else:
        texts = (test.input for test in assignment.public)
        samples = [each for each in texts if each.strip() and len(each) <= _MAX_LENGTH]
        known, drawn = set(samples), _vary_samples(samples, count, random)
    inputs: dict[Input, None] = {}
    for each in drawn:
        if each not in known and len(each) <= _MAX_LENGTH:
            inputs[each] = None
        if len(inputs) == count:
            break
    # The small ones first: a program too slow for one of them is too slow for those that follow, too.
    return tuple(sorted(inputs, key=lambda each: (len(each), each)))


def _vary_samples(samples: Sequence[str], count: int, random: Random) -> Iterator[Input]:
    form = Samples(samples) if samples else None
    for turn in range(_DRAWS_PER_INPUT * count if form else 0):
        assert form is not None
        yield form.vary(turn % len(samples), random)


def _vary_calls(
    calls: Sequence[FunctionCall], constants: Sequence[Any], count: int, random: Random
) -> Iterator[Input]:
    """Edge cases of one argument at a time first, then random variations of some arguments."""
    calls = [call for call in calls if len(call.arguments) == len(calls[0].arguments)]
    if not calls or not calls[0].arguments:
        return
    kinds = ValueKinds([call.arguments for call in calls], constants)
    ties = _find_ties(calls)
    edges = [
        (call, _replace_argument(call.arguments, place, edge))
        for call in calls
        for place, value in enumerate(call.arguments)
        for edge in kinds.edges((place,), value)
    ]
    random.shuffle(edges)
    for call, arguments in edges[: count // 3]:
        yield str(call._replace(arguments=_restore_ties(arguments, ties)))
    for turn in range(_DRAWS_PER_INPUT * count):
        call = calls[turn % len(calls)]
        arguments = call.arguments
        chosen = [place for place in range(len(arguments)) if random.random() < 0.6]
        for place in chosen or [random.randrange(len(arguments))]:
            value = arguments[place]
            for _ in range(random.choice([1, 1, 1, 2])):
                value = kinds.vary((place,), value, random)
            arguments = _replace_argument(arguments, place, value)
        one, other = random.choices(range(len(arguments)), k=2)
        if type(arguments[one]) is type(arguments[other]) and random.random() < _SWAP_SHARE:
            again = arguments[one] if random.random() < 0.5 else arguments[other]
            arguments = _replace_argument(
                _replace_argument(arguments, one, arguments[other]), other, again
            )
        if random.random() < _KEEP_TIES_SHARE:
            arguments = _restore_ties(arguments, ties)
        yield str(call._replace(arguments=arguments))


def _replace_argument(arguments: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*arguments[:place], value, *arguments[place + 1 :])


Tie = tuple[str, int, int]
"""A relation of two arguments: `length`, `within` or `equal`, the dependent one, and the one it depends on."""


def _find_ties(calls: Sequence[FunctionCall]) -> list[Tie]:
    """Relations between the arguments of every example that are unlikely to be chance."""
    places = range(len(calls[0].arguments))
    ties: list[Tie] = []
    for one in places:
        for other in places:
            pairs = [(call.arguments[one], call.arguments[other]) for call in calls]
            if one == other or not all(_has_length(second) for _, second in pairs):
                continue
            if all(_is_integer(first) for first, _ in pairs):
                if all(first == len(second) for first, second in pairs):
                    ties.append(("length", one, other))
                elif all(0 <= first <= len(second) for first, second in pairs):
                    ties.append(("within", one, other))
            elif one > other and all(
                type(first) is type(second) and len(first) == len(second) for first, second in pairs
            ):
                ties.append(("equal", one, other))
    return ties


def _has_length(value: object) -> bool:
    return isinstance(value, str | list | tuple)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _restore_ties(arguments: tuple[Any, ...], ties: Sequence[Tie]) -> tuple[Any, ...]:
    """The arguments with their relations restored."""
    for tie, one, other in sorted(ties):
        value, leading = arguments[one], arguments[other]
        if tie == "equal":
            shorter = min(len(value), len(leading))
            arguments = _replace_argument(
                _replace_argument(arguments, one, value[:shorter]), other, leading[:shorter]
            )
        elif tie == "length":
            arguments = _replace_argument(arguments, one, len(leading))
        else:
            arguments = _replace_argument(arguments, one, max(0, min(value, len(leading))))
    return arguments
