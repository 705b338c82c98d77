"""The tables of a run of the plan, next to those of an earlier one."""

from __future__ import annotations

from collections.abc import Sequence

from autoreason.stats import Estimate
from benchmarks.real.results import Arm, Gain, Results


def as_page(results: Results, previous: Results | None) -> str:
    """Everything as Markdown."""
    parts = [f"# {results.model}, autoreason {results.version}"]
    if results.programs:
        parts += ["## Programs: share of problems solved", _arms(results, previous, "programs")]
        parts += ["Difference in points:", _gains(results.program_gains)]
    if results.texts:
        parts += ["## Texts: share that keeps its contract", _arms(results, previous, "texts")]
        parts += ["Difference in points:", _gains(results.text_gains)]
        share = results.judged / results.passes if results.passes else 0.0
        parts.append(f"Judges decided {results.judged} of {results.passes} passes ({share:.0%}).")
    if results.certificates:
        names = dict.fromkeys(name for each in results.certificates for name in each.findings)
        rows = [
            [name, *(each.findings.get(name, "") for each in results.certificates)]
            for name in names
        ]
        rows.append(["conclusion", *(each.conclusion for each in results.certificates)])
        head = ["", *(each.style for each in results.certificates)]
        parts += ["## The judge's certificate, by how it is asked", _table(head, rows)]
    return "\n\n".join(parts) + "\n"


def _arms(results: Results, previous: Results | None, field: str) -> str:
    arms: Sequence[Arm] = getattr(results, field)
    before: dict[tuple[str, str], Arm] = (
        {(arm.group, arm.strategy): arm for arm in getattr(previous, field)} if previous else {}
    )
    head = ["", "strategy", "share", "calls", *(["before", "calls"] if before else [])]
    rows = []
    for arm in arms:
        row = [arm.group, arm.strategy, _share(arm.kept), f"{arm.calls:.1f}"]
        if before:
            old = before.get((arm.group, arm.strategy))
            row += [_share(old.kept), f"{old.calls:.1f}"] if old else ["", ""]
        rows.append(row)
    return _table(head, rows)


def _gains(gains: Sequence[Gain]) -> str:
    rows = [
        [gain.group, f"{gain.one} - {gain.other}", _points(gain.difference), _p(gain.p)]
        for gain in gains
    ]
    return _table(["", "strategies", "difference", "p"], rows)


def _share(estimate: Estimate) -> str:
    return _with_interval(estimate, ".1%")


def _points(estimate: Estimate) -> str:
    return _with_interval(estimate, "+.1%").replace("%", "")


def _with_interval(estimate: Estimate, form: str) -> str:
    if estimate.value is None:
        return ""
    value = format(estimate.value, form)
    if estimate.low is None or estimate.high is None:
        return value
    return f"{value} ({format(estimate.low, form)} to {format(estimate.high, form)})"


def _p(p: float | None) -> str:
    return "" if p is None else f"{p:.4f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
