"""The modes of failure that the paper names, diagnosed from the record of each cell. A sign is no proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from autoreason.programs.task import assignments_of
from autoreason.studies.audit.check_ballots import invalid_level
from autoreason.studies.audit.check_texts import has_drifted
from autoreason.studies.lab.arm_values import ArmValues, Unit
from autoreason.studies.lab.lab_suite import CellResult, Suite, draft_settings

_FEW_SURVIVALS = 0.2
_Seen = Iterator[tuple[bool, bool | None]]
"""For each cell that can show a mode: whether it has the sign, and whether the paper's condition is met, if known."""


class LabFailure(Struct, frozen=True, kw_only=True):
    """A mode of failure in the cells of one arm."""

    mode: str
    """As the paper's last table calls it."""
    cells: int
    """Cells with its sign."""
    of: int
    """Cells whose record can show it."""
    under_condition: int | None
    """Cells with its sign and the condition that the paper names; None where the record does not say."""


class FailureMode(Struct, frozen=True, kw_only=True):
    """A row of the paper's taxonomy, and how a record shows it."""

    name: str
    condition: str
    """The paper's."""
    sign: str
    unknown: str
    """Why no cell of an arm can show it."""
    not_recorded: str = ""
    """What the record does not say."""
    see: Callable[[Suite, str, ArmValues], _Seen]


def diagnose(suite: Suite, arm: str, values: ArmValues) -> tuple[LabFailure, ...]:
    """Every mode, with the cells of an arm that have its sign."""
    found = []
    for mode in MODES:
        seen = list(mode.see(suite, arm, values))
        met = [condition for sign, condition in seen if sign]
        under = sum(map(bool, met)) if seen and None not in met else None
        found.append(
            LabFailure(mode=mode.name, cells=len(met), of=len(seen), under_condition=under)
        )
    return tuple(found)


def _worse_than_draft(suite: Suite, arm: str, values: ArmValues) -> _Seen:
    preferences = _preferences_to_draft(suite, arm, values)
    for unit, each in values.cells[arm].items():
        if unit in preferences:
            yield preferences[unit] < 0, not each.cast
        elif each.confirmed:
            prefer, judges = each.confirmed
            yield 2 * prefer < judges, not each.cast


def _preferences_to_draft(suite: Suite, arm: str, values: ArmValues) -> Mapping[Unit, float]:
    """How far panels prefer an arm to its own draft, which an arm without a pass delivers that began from the same."""
    return {
        unit: preference
        for arms in suite.judged
        for draft in arms
        if arm in arms and draft != arm and suite.arms[draft].settings.strategy == "single"
        for unit, preference in values.preferences(arm, draft, arms).items()
        if _same_draft(suite, unit[0], arm, draft)
    }


def _same_draft(suite: Suite, task: str, *names: str) -> bool:
    """Whether arms begin from one draft: the task's, or one that they share."""
    arms = [suite.arms[name] for name in names]
    wanted = [draft_settings(arm.settings) for arm in arms]
    shared = all(arm.shared_draft for arm in arms) and wanted.count(wanted[0]) == len(wanted)
    return shared or suite.tasks[task].task.draft is not None


def _drift(suite: Suite, arm: str, values: ArmValues) -> _Seen:
    for (task, _), each in values.cells[arm].items():
        words = each.words_by_pass
        if len(words) > 1:
            far = has_drifted(words[-1] / max(1, words[0]), each.kept_wording)
            yield far or _synthesis_dominates(each), suite.tasks[task].task.contract.empty


def _synthesis_dominates(cell: CellResult) -> bool:
    judged = [winner for winner, slots in zip(cell.trajectory, cell.judged, strict=False) if slots]
    few = judged.count("A") < _FEW_SURVIVALS * len(judged)
    return len(judged) > 1 and few and 2 * judged.count("AB") > len(judged)


def _overfitting(suite: Suite, arm: str, values: ArmValues) -> _Seen:
    for (task, _), each in values.cells[arm].items():
        private = any(one.private for one in assignments_of(suite.tasks[task].task))
        if each.passed is not None and private:
            yield bool(each.overfitted), None


def _no_convergence(suite: Suite, arm: str, values: ArmValues) -> _Seen:
    if suite.arms[arm].settings.strategy != "autoreason":
        return
    for each in (*values.cells[arm].values(), *values.at_limit(arm).values()):
        if each.trajectory:
            broken = bool(each.cast) and invalid_level(each.invalid, each.cast) == "alarm"
            yield each.status in ("capped", "budget"), broken
    failed = values.failed[arm].values()
    yield from ((True, True) for each in failed if each.status == "panel_failed")


def _too_weak(_suite: Suite, arm: str, values: ArmValues) -> _Seen:
    for each in values.cells[arm].values():
        if each.challengers:
            # Too few different texts is the sign itself.
            weak = 2 * each.clones >= each.challengers
            yield weak, weak


MODES = (
    FailureMode(
        name="Self-correction unreliability",
        condition="no external signal",
        sign="independent judges prefer the draft that a text began from",
        unknown="no panel compared texts with the drafts that they began from",
        see=_worse_than_draft,
    ),
    FailureMode(
        name="Drift / synthesis dominance",
        condition="unconstrained scope",
        sign="a text less than half or more than one and a half times as long as its draft, or "
        "with hardly any of its wording; or A survives fewer than one pass in five while AB wins most",
        unknown="no text was revised",
        see=_drift,
    ),
    FailureMode(
        name="Overfitting to visible feedback",
        condition="shallow revision loop",
        sign="a program passes the public tests and fails private ones",
        unknown="no programs with private tests",
        not_recorded="whether a revision loop was too shallow",
        see=_overfitting,
    ),
    FailureMode(
        name="No convergence",
        condition="broken judge pipeline",
        sign="the most passes or the limit of the cell were reached, or a panel failed",
        unknown="not a tournament",
        see=_no_convergence,
    ),
    FailureMode(
        name="Model too weak",
        condition="insufficient generation diversity",
        sign="half of all challengers or more repeat another text",
        unknown="no challengers were written",
        not_recorded="whether a stronger model would have written other texts, or the task admits no others",
        see=_too_weak,
    ),
)
"""In the paper's order."""
