"""Ways to choose are tried on the same draws, and show no gain where behaviour says nothing."""

from __future__ import annotations

from random import Random
from statistics import fmean

from benchmarks.real.offline import (
    Seen,
    Step,
    any_right,
    as_text,
    by_behaviour,
    first_passing,
    play,
)

from autoreason.programs.assignment import Observation, Observed


def step(program: str, *, passes: bool = True, right: bool = False, problem: str = "p") -> Step:
    """One attempt."""
    private = "accepted" if right else "wrong_answer"
    tests = {"public": int(passes), "public_total": 1, "private": private}
    return Step(set="mbpp", problem=problem, kind="fresh", program=program, **tests)  # type: ignore[arg-type]


def seen(*steps: Step) -> Seen:
    """Programs do what their first letter says."""
    return {
        (each.problem, each.program): Observed(
            observations=(Observation(value=each.program[:1]),) * 3
        )
        for each in steps
    }


def test_single_stops_at_the_first_that_passes_and_behaviour_waits_for_company() -> None:
    last = [step("b2"), step("b3")]
    drawn = [step("a", passes=False), step("b"), *(step(f"c{n}") for n in range(4)), *last]
    single = first_passing(drawn, {})
    assert (single.attempt, single.calls) == (drawn[1], 2)
    chosen = by_behaviour(drawn, seen(*drawn))
    assert chosen.attempt is not None
    assert (chosen.attempt.program[:1], chosen.calls) == ("c", 6)


def test_where_nothing_passes_every_way_delivers_the_first_program() -> None:
    drawn = [step("", passes=False), step("a", passes=False), step("b", passes=False)]
    for way in (first_passing, by_behaviour, any_right):
        assert way(drawn, seen(*drawn)).attempt == drawn[1]
    known = [step("a"), step("b", right=True), step("c")]
    assert any_right(known, {}).attempt == known[1]


def recorded(informative: bool) -> tuple[dict[str, list[Step]], Seen]:
    """Problems of which most attempts behave alike; whether those are right, or just anybody."""
    random = Random(3)
    found: dict[str, list[Step]] = {}
    for number in range(60):
        name = f"problem {number}"
        behaviours = random.choices("aabcd", k=12)
        found[name] = [
            step(
                f"{each}{place}",
                right=each == "a" if informative else random.random() < 0.4,
                problem=name,
            )
            for place, each in enumerate(behaviours)
        ]
    return found, seen(*(each for attempts in found.values() for each in attempts))


def test_choosing_by_behaviour_gains_where_that_tells_and_nothing_where_it_does_not() -> None:
    gains = {}
    for informative in (True, False):
        played = play(*recorded(informative), budget=6, draws=10)
        first, chosen = played["first that passes"], played["by behaviour"]
        gains[informative] = fmean(
            one.right - other.right for one, other in zip(chosen, first, strict=True)
        )
        assert " points, p " in as_text(6, played)
    assert gains[True] > 0.1
    assert abs(gains[False]) < 0.05
