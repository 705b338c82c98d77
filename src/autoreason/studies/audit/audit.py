"""The audit: every question about some runs, and the conclusion in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.report.numbers import count
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, Tone, words
from autoreason.studies.audit import check_panels, check_writing
from autoreason.studies.audit.audited_run import Runs, panels_of
from autoreason.studies.audit.findings import GROUPS, LEVELS, AuditFinding, Question, find, listed

OF_PANELS = (
    check_panels.invalid_ballots,
    check_panels.below_quorum,
    check_panels.ballot_form,
    check_panels.ties,
    check_panels.position,
    check_panels.judges_agree,
)
"""Questions about panels, whatever they judged."""
OF_TEXTS = (
    check_panels.longer_preferred,
    check_panels.survival,
    check_panels.streaks,
    check_panels.convergence,
    check_panels.novelty,
    check_panels.playoff,
    check_panels.confirmation,
    check_writing.leaks,
    check_writing.contract,
    check_writing.length_swings,
    check_writing.drift,
    check_writing.critics,
)
OF_PROGRAMS = (check_writing.no_program, check_writing.repeated)
OF_CALLS = (check_writing.outages, check_writing.cut_replies)

_TONES: dict[str, Tone] = {"alarm": "bad", "look": "warning", "fine": "good", "unknown": "muted"}


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
        size = [
            count(self.runs, "run"),
            count(self.passes, "pass", "passes"),
            count(self.panels, "panel"),
            *([] if self.ballots is None else [count(self.ballots, "valid ballot")]),
        ]
        sections = [Section(sentences=[("", f"{', '.join(size)}.")])]
        for group in GROUPS:
            found = [finding for finding in self.findings if finding.group == group]
            found.sort(key=lambda finding: LEVELS.index(finding.level))
            # Where it is not fine, also what is normal and what to do.
            rows = [
                (
                    e.level,
                    e.name,
                    (e.statement, f"normal: {e.normal}", f"do: {e.fix}")[: 3 if e.fix else 1],
                )
                for e in found
            ]
            table = Table(words("level", "question", "finding"), rows, tones=_TONES, headings=False)
            if rows:
                sections.append(Section(group.capitalize(), tables=[table]))
        if self.tested:
            tested = count(self.tested, "question")
            note = f"Chance was tested in {tested}; p-values are corrected for that (Holm)."
            sections.append(Section(sentences=[("", note)]))
        return sections


def audit_runs(runs: Runs) -> Audit:
    """Ask these runs every question that makes sense of them."""
    if not runs:
        raise InvalidInput("there is nothing to audit; name a run")
    panels = list(panels_of(runs))
    texts = any(not run.programs for run in runs)
    # Where programs are written a panel is the exception.
    questions: tuple[Question, ...] = OF_PANELS if texts or panels else ()
    questions += OF_TEXTS if texts else ()
    questions += OF_PROGRAMS if any(run.programs for run in runs) else ()
    findings = find((*questions, *OF_CALLS), runs)
    return Audit(
        runs=len(runs),
        passes=sum(len(run.passes) for run in runs),
        panels=len(panels),
        ballots=sum(panel.valid for panel in panels) if panels else None,
        tested=sum(each.p_value_adjusted is not None for each in findings),
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
