"""The audit: every check of some runs, and the conclusion in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.report.numbers import count
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, Tone, words
from autoreason.studies.audit import check_judging, check_stopping, check_writing
from autoreason.studies.audit.audited_run import Runs, panels_of
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

OF_PANELS: tuple[Check, ...] = (
    check_judging.invalid_ballots,
    check_judging.empty_panels,
    check_judging.below_quorum,
    check_judging.ballot_form,
    check_judging.ties,
    check_judging.position,
    check_judging.one_order,
    check_judging.judges_agree,
    check_judging.concordance,
)
"""Questions about panels, whatever they judged."""
OF_TEXTS: tuple[Check, ...] = (
    check_judging.longer_preferred,
    check_stopping.survival,
    check_stopping.streaks,
    check_stopping.convergence,
    check_stopping.novelty,
    check_stopping.playoff,
    check_stopping.confirmation,
    check_stopping.outages,
    check_writing.cut_texts,
    check_writing.leaks,
    check_writing.clones,
    check_writing.contract,
    check_writing.length_swings,
    check_writing.drift,
    check_writing.critics,
)
OF_PROGRAMS: tuple[Check, ...] = (
    check_writing.cut_replies,
    check_writing.no_program,
    check_writing.repeated,
)


class Audit(Report, Struct, frozen=True, kw_only=True):
    """The findings about some runs, with a conclusion."""

    runs: int
    passes: int
    panels: int
    ballots: int | None
    """Valid ballots; None where there was no panel."""
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
        raise InvalidInput("there is nothing to audit; name a run")
    panels = list(panels_of(runs))
    texts = any(not run.programs for run in runs)
    # Where programs are written a panel is the exception.
    checks = OF_PANELS if texts or panels else ()
    checks += OF_TEXTS if texts else (check_stopping.outages,)
    checks += OF_PROGRAMS if any(run.programs for run in runs) else ()
    results = [check(runs) for check in checks]
    findings = settle(results)
    return Audit(
        runs=len(runs),
        passes=sum(len(run.passes) for run in runs),
        panels=len(panels),
        ballots=sum(panel.valid for panel in panels) if panels else None,
        tested=sum(isinstance(each, PendingFinding) for each in results),
        conclusion=conclude(findings),
        findings=findings,
    )


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
