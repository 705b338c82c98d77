"""Repeats that are added to a suite by its rule, and why they were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from autoreason.studies.lab.arm_pairs import ArmPair, compare_arms
from autoreason.studies.lab.arm_values import ArmValues
from autoreason.studies.lab.lab_suite import AddRule, CellFinished, Suite
from autoreason.studies.lab.suite_cells import groups


class AddedRepeats(Struct, frozen=True, kw_only=True):
    """Repeats that were added to a comparison at one time."""

    comparison: str
    repeats: int
    width: float | None
    """How wide its widest interval was before; None where it had none yet."""


def repeats_to_add(rule: AddRule, pairs: Iterable[ArmPair]) -> dict[str, int]:
    """Repeats for each comparison with an interval wider than the rule allows, or none, within the most in all.

    The width of an interval shrinks with the root of the number of repeats.
    """
    more: dict[str, int] = {}
    for pair in pairs:
        needed = rule.repeats
        if (width := _width(pair)) is not None:
            needed = min(needed, ceil(pair.repeats * (width / rule.width) ** 2))
        if needed > pair.repeats:
            more[pair.comparison] = max(more.get(pair.comparison, 0), needed - pair.repeats)
    return more


def add_repeats(suite: Suite, more: dict[str, int]) -> Suite:
    """A suite with more repeats of these comparisons."""
    return replace(suite, additions=(*suite.additions, more))


def additions(suite: Suite, finished: Sequence[CellFinished]) -> Iterator[AddedRepeats]:
    """What was added and why, one after another."""
    before = replace(suite, additions=())
    for more in suite.additions:
        known = {cell.part for group in groups(before) for cells in group for cell in cells}
        cells = [each for each in finished if each.cell.part in known]
        widths: dict[str, list[float | None]] = {}
        for pair in compare_arms(before, ArmValues(before, cells)):
            widths.setdefault(pair.comparison, []).append(_width(pair))
        for name, repeats in more.items():
            found = [width for width in widths[name] if width is not None]
            width = max(found) if len(found) == len(widths[name]) else None
            yield AddedRepeats(comparison=name, repeats=repeats, width=width)
        before = add_repeats(before, more)


def _width(pair: ArmPair) -> float | None:
    low, high = pair.difference.low, pair.difference.high
    return None if low is None or high is None else high - low
