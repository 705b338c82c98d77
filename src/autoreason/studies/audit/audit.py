"""The audit: every check of some runs, and the conclusion in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.report.numbers import count
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, Tone, words
from autoreason.studies.audit import (
    check_ballots,
    check_judges,
    check_programs,
    check_stopping,
    check_texts,
)
from autoreason.studies.audit.audited_record import Runs, panels_of
from autoreason.studies.audit.findings import (
    GROUPS,
    LEVELS,
    AuditFinding,
    AuditResult,
    PendingFinding,
    listed,
    settle,
)

Check = Callable[[Runs], AuditResult]

CHECKS: tuple[Check, ...] = (
    check_ballots.invalid_ballots,
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
_PANEL_CHECKS = CHECKS[: CHECKS.index(check_judges.longer_preferred)]
"""Questions about panels, whatever they judged."""


class Audit(Report, Struct, frozen=True, kw_only=True):
    """The findings about some runs, with a conclusion."""

    runs: int
    passes: int
    panels: int
    ballots: int | None
    """Valid ballots; None where no panel is recorded with their number."""
    tested: int
    """Questions that were put to a test; their p-values are corrected for that (Holm 1979)."""
    conclusion: str
    findings: tuple[AuditFinding, ...]

    heading = "An audit"

    def sections(self) -> list[Section]:
        """How much was audited, then each question by its group, the worst first."""
        sections = [Section(sentences=[("", f"{self._size()}.")])]
        for group in GROUPS:
            rows = [finding for finding in self.findings if finding.group == group]
            rows.sort(key=lambda finding: LEVELS.index(finding.level))
            if rows:
                sections.append(Section(group.capitalize(), tables=[_table(rows)]))
        if self.tested:
            tested = count(self.tested, "question")
            note = f"Chance was tested in {tested}; p-values are corrected for that (Holm)."
            sections.append(Section(sentences=[("", note)]))
        return sections

    def _size(self) -> str:
        parts = [
            count(self.runs, "run"),
            count(self.passes, "pass", "passes"),
            count(self.panels, "panel"),
        ]
        if self.ballots is not None:
            parts.append(count(self.ballots, "valid ballot"))
        return ", ".join(parts)


_TONES: dict[str, Tone] = {"alarm": "bad", "look": "warning", "fine": "good", "unknown": "muted"}


def _table(findings: Sequence[AuditFinding]) -> Table:
    """One row per question: the finding, and where it is not fine what is normal and what to do."""
    rows = [
        (
            each.level,
            each.name,
            (each.statement, *([f"normal: {each.normal}", f"do: {each.fix}"] if each.fix else [])),
        )
        for each in findings
    ]
    return Table(words("level", "question", "finding"), rows, tones=_TONES, headings=False)


def audit_runs(runs: Runs) -> Audit:
    """Run every check over these runs."""
    if not runs:
        raise InvalidInput("there is nothing to audit; name a run or a record")
    results = [check(runs) for check in CHECKS if _applies(check, runs)]
    findings = settle(results)
    panels = list(panels_of(runs))
    valid = [panel.valid for panel in panels if panel.valid is not None]
    return Audit(
        runs=len(runs),
        passes=sum(len(run.passes) for run in runs),
        panels=len(panels),
        ballots=sum(valid) if valid else None,
        tested=sum(isinstance(each, PendingFinding) for each in results),
        conclusion=conclude(findings),
        findings=findings,
    )


def _applies(check: Check, runs: Runs) -> bool:
    """Whether a question makes sense of what these runs wrote."""
    texts = any(run.programs is None for run in runs)
    if check in _PANEL_CHECKS:
        # Where programs are written a panel is the exception.
        return texts or any(panels_of(runs))
    if check.__module__ == check_programs.__name__:
        return any(run.programs is not None for run in runs)
    return texts or check == check_stopping.outages


def conclude(findings: Sequence[AuditFinding]) -> str:
    """One sentence: whether the record can be relied on."""
    levels = Counter(finding.level for finding in findings)
    alarms = [finding.name for finding in findings if finding.level == "alarm"]
    looks = [finding.name for finding in findings if finding.level == "look"]
    unanswered = levels["unknown"]
    unknown = f"; {unanswered} of {len(findings)} questions it cannot answer" if unanswered else ""
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
