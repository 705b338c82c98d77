"""The files of a suite's report: pages to read, and the numbers behind them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from autoreason.report.table import to_csv
from autoreason.studies.lab.lab_suite import CellFinished

if TYPE_CHECKING:
    from autoreason.studies.lab.lab_report import LabReport

_OWN = re.compile(
    r"report\.(html|md|json)|(comparisons|arms|failures|trees|cells)\.csv|plot-\d+\.svg"
)
"""Names of the files of a report."""
_FIELDS = (
    *("run", "status", "reason", "finished", "words", "value", "passed", "kept_contract"),
    "challengers",
    *("clones", "dropped", "cast", "invalid", "overfitted", "kept_wording", "seconds"),
)


def report_files(found: LabReport, cells: Sequence[CellFinished]) -> dict[str, str]:
    """All files of a report, by name."""
    plots = {plot.title: plot for section in found.sections() for plot in section.plots}
    names = {title: f"plot-{at}.svg" for at, title in enumerate(plots, 1)}
    encoded = msgspec.json.encode(msgspec.to_builtins(found.to_dict()))
    return {
        "report.html": found.to_html(),
        "report.md": found.to_markdown(found.about(), names),
        "report.json": msgspec.json.format(encoded, indent=2).decode(),
        "comparisons.csv": _comparisons(found),
        "arms.csv": _arms(found),
        "failures.csv": _failures(found),
        "trees.csv": _trees(found),
        "cells.csv": _cells(cells),
        **{names[title]: plot.svg for title, plot in plots.items()},
    }


def earlier_files(folder: Path, runs: Collection[str]) -> list[Path]:
    """The files of an earlier report on one of these runs; none where a folder has no such report."""
    try:
        earlier = msgspec.json.decode((folder / "report.json").read_bytes(), type=_Earlier)
    except (OSError, msgspec.MsgspecError):
        return []
    if earlier.origin.get("Run") not in runs:
        return []
    return [each for each in folder.iterdir() if _OWN.fullmatch(each.name)]


class _Earlier(msgspec.Struct):
    """What a report says of its run."""

    origin: dict[str, str] = {}


def _comparisons(found: LabReport) -> str:
    """One row per planned test."""
    names = (
        *("comparison", "first_arm", "second_arm", "measure", "first", "second"),
        *("difference", "difference_low", "difference_high", "effect", "p", "p_corrected"),
        *("units", "missing"),
    )
    rows = [
        (
            *(each.comparison, each.first, each.second, each.measure),
            *(each.first_mean, each.second_mean),
            *(each.difference.value, each.difference.low, each.difference.high),
            *(each.effect, each.test.p_value, each.p_value_adjusted, each.units, each.missing),
        )
        for each in found.pairs
    ]
    return to_csv(names, rows)


def _arms(found: LabReport) -> str:
    """One row per arm."""
    measures = list(dict.fromkeys(name for arm in found.arms for name in arm.means))
    rows = [
        (
            *(each.arm, each.cells, each.finished),
            *(each.means.get(name) for name in measures),
            each.quality,
        )
        for each in found.arms
    ]
    return to_csv(("arm", "cells", "finished", *measures, "quality"), rows)


def _failures(found: LabReport) -> str:
    """One row for each mode of the taxonomy and each arm."""
    rows = [
        (each.mode, arm.arm, each.cells if each.of else None, each.of, each.under_condition)
        for arm in found.arms
        for each in arm.failures
    ]
    return to_csv(("mode", "arm", "cells", "of", "under_condition"), rows)


def _trees(found: LabReport) -> str:
    """The numbers behind all trees: one row for each dot."""
    rows = [
        (
            *(tree.task, tree.arm, len(node.way), " ".join(node.way), node.drift, node.words),
            *(_list(each) for each in (node.repeats, node.beaten, node.ended, node.converged)),
        )
        for tree in found.trees
        for node in tree.nodes
    ]
    names = ("task", "arm", "pass", "winners", "drift", "words", "repeats", "beaten", "ended")
    return to_csv((*names, "converged"), rows)


def _cells(cells: Sequence[CellFinished]) -> str:
    """One row per cell."""
    rows = [
        (
            *(each.cell.number, each.cell.kind, each.cell.task, each.cell.repeat),
            _list(each.cell.arms),
            *(getattr(each.result, name) for name in _FIELDS),
            _list(each.result.trajectory),
            _list(each.result.words_by_pass),
            *(getattr(each.result.spent, name) for name in ("calls", "tokens", "cost")),
        )
        for each in sorted(cells, key=lambda each: each.cell.number)
    ]
    names = ("cell", "kind", "task", "repeat", "arms", *_FIELDS, "trajectory", "words_by_pass")
    return to_csv((*names, "calls", "tokens", "cost"), rows)


def _list(items: Sequence[object]) -> str:
    return " ".join(map(str, items))
