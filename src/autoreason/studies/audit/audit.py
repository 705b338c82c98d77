"""The audit: every look at some runs, and what it comes to in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.report.numbers import count
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table, Tone
from autoreason.studies.audit import (
    check_ballots,
    check_judges,
    check_programs,
    check_stopping,
    check_texts,
)
from autoreason.studies.audit.findings import (
    GROUPS,
    LEVELS,
    Finding,
    Found,
    OpenFinding,
    listed,
    settle,
)
from autoreason.studies.audit.record import AuditedRun

Check = Callable[[Sequence[AuditedRun]], Found]

CHECKS: tuple[Check, ...] = (
    check_ballots.lost_ballots,
    check_ballots.empty_panels,
    check_ballots.below_quorum,
    check_ballots.partial_rankings,
    check_ballots.ballot_form,
    check_ballots.ties,
    check_judges.position,
    check_judges.one_order,
    check_judges.judges_agree,
    check_judges.concordance,
    check_judges.longer_preferred,
    check_stopping.survival,
    check_stopping.streaks,
    check_stopping.convergence,
    check_stopping.novelty,
    check_stopping.playoff,
    check_stopping.confirmation,
    check_stopping.outages,
    check_texts.cut_texts,
    check_texts.leaks,
    check_texts.clones,
    check_texts.contract,
    check_texts.length_swings,
    check_texts.drift,
    check_texts.critics,
    check_programs.cut_replies,
    check_programs.no_program,
    check_programs.repeated,
)
_OF_PANELS = CHECKS[: CHECKS.index(check_judges.longer_preferred)]
"""What is asked of panels, whatever they judged."""


class Audit(Report, Struct, frozen=True, kw_only=True):
    """What some runs show about themselves."""

    runs: int
    parts: int
    """Parts of these runs that are audited by themselves, such as the strategies of a comparison."""
    passes: int
    panels: int
    ballots: int | None
    """Valid ballots; None where no panel says how many it had."""
    tested: int
    """Questions that were put to a test; their p-values are corrected for that (Holm 1979)."""
    conclusion: str
    findings: tuple[Finding, ...]

    heading = "An audit"

    def sections(self) -> list[Section]:
        """How much was audited, then each question by its group, the worst first."""
        found = [Section(sentences=[("", f"{self._size()}.")])]
        for group in GROUPS:
            rows = [finding for finding in self.findings if finding.group == group]
            rows.sort(key=lambda finding: LEVELS.index(finding.level))
            if rows:
                found.append(Section(group.capitalize(), tables=[_table(rows)]))
        if self.tested:
            tested = count(self.tested, "question")
            note = f"Chance was tested in {tested}; p-values are corrected for that (Holm)."
            found.append(Section(sentences=[("", note)]))
        return found

    def _size(self) -> str:
        parts = [
            count(self.runs, "run"),
            *([count(self.parts, "part")] if self.parts else []),
            count(self.passes, "pass", "passes"),
            count(self.panels, "panel"),
        ]
        if self.ballots is not None:
            parts.append(count(self.ballots, "valid ballot"))
        return ", ".join(parts)


_TONES: dict[str, Tone] = {"alarm": "bad", "look": "warning", "fine": "good", "unknown": "muted"}


def _table(findings: Sequence[Finding]) -> Table:
    """A row per question: what was found, and where it is not fine what is normal and what to do."""
    columns = [Column(name, figures=False) for name in ("level", "question", "finding")]
    rows = [
        (
            each.level,
            each.name,
            (each.said, *([f"normal: {each.normal}", f"do: {each.fix}"] if each.fix else [])),
        )
        for each in findings
    ]
    return Table(columns, rows, tones=_TONES, headings=False)


def examine(runs: Sequence[AuditedRun]) -> Audit:
    """Every look at these runs."""
    if not runs:
        raise InvalidInput("there is nothing to audit; name a run or a record")
    found = [check(runs) for check in CHECKS if _asked(check, runs)]
    findings = settle(found)
    panels = [panel for run in runs for panel in run.panels]
    valid = [panel.valid for panel in panels if panel.valid is not None]
    return Audit(
        runs=sum(not run.part for run in runs),
        parts=sum(run.part for run in runs),
        passes=sum(len(run.passes) for run in runs),
        panels=len(panels),
        ballots=sum(valid) if valid else None,
        tested=sum(isinstance(each, OpenFinding) for each in found),
        conclusion=conclude(findings),
        findings=findings,
    )


def _asked(check: Check, runs: Sequence[AuditedRun]) -> bool:
    """Whether a question makes sense of what these runs wrote."""
    texts = any(run.programs is None for run in runs)
    if check in _OF_PANELS:
        # Where programs are written a panel is the exception.
        return texts or any(panel for run in runs for panel in run.panels)
    if check.__module__ == check_programs.__name__:
        return any(run.programs is not None for run in runs)
    return texts or check == check_stopping.outages


def conclude(findings: Sequence[Finding]) -> str:
    """One sentence: what stands in the way of relying on the record."""
    levels = Counter(finding.level for finding in findings)
    alarms = [finding.name for finding in findings if finding.level == "alarm"]
    looks = [finding.name for finding in findings if finding.level == "look"]
    silent = levels["unknown"]
    unknown = f"; {silent} of {len(findings)} questions it cannot answer" if silent else ""
    if alarms:
        what = "the alarm is" if len(alarms) == 1 else f"{len(alarms)} alarms are"
        return (
            f"Do not rely on this record before {what} dealt with: {listed(alarms, 12)}{unknown}."
        )
    if looks:
        return f"Nothing alarming, but look at {listed(looks, 12)}{unknown}."
    if levels["fine"]:
        return f"Nothing speaks against this record{unknown}."
    return "This record says too little about itself to be judged."
