"""Rules of research compared on one task: the run with its report."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack, cast, get_args

from autoreason.artifacts.research_terms import RuleName
from autoreason.exchange import Model
from autoreason.run.lab import PreparedLab, prepare_suite
from autoreason.run.parameters import CompareRulesOptions, ResearchOptions, check_arguments
from autoreason.run.reports import StudyResult
from autoreason.run.research import prepare_research
from autoreason.run.sync import wait_for
from autoreason.settings import DEFAULT_MODEL
from autoreason.studies.lab.lab_report import LabReport
from autoreason.studies.lab.made_suites import compare_rules as rules_suite
from autoreason.studies.lab.made_suites import few_repeats
from autoreason.studies.panels.panel_report import require_statistics
from autoreason.task import Task


def compare_rules(
    task: str | Path | Task,
    model: str | Model = DEFAULT_MODEL,
    **options: Unpack[CompareRulesOptions],
) -> StudyResult[LabReport]:
    r"""Compare rules of research on one task: in every repeat one run by each, with the same evaluations.

    Args:
        task: A research task as a file or as text, or a `Task` of a recorded run.
        model: Proposes changes, and judges where the task has judges.
        options: See `CompareRulesOptions`; evaluations are those of each run.

    Returns:
        Its `report` has the gain of every rule on looks that decided nothing next to what the loop
        itself saw, paired tests, and one sentence that says which rule is better, or that none is
        shown to be; a run that paused has none yet, as with `judge`.

    Raises:
        InvalidInput: Something cannot be used; nothing was written.
        JournalError: The journal cannot be read or written.

    Example:
        >>> from pathlib import Path
        >>> from autoreason import compare_rules
        >>> from autoreason.testing import ScriptedModel
        >>> _ = Path("knob.txt").write_text("1\n")
        >>> reply = "HYPOTHESIS: more is better\nEXPECTED: +4\n\nknob.txt\n```\n5\n```\n"
        >>> result = compare_rules(
        ...     "---\nartifact: knob.txt\n---\nTurn the knob up.",
        ...     ScriptedModel({"author": reply}),
        ...     evaluate=lambda folder, seed, items: float((folder / "knob.txt").read_text()),
        ...     rules=["race", "greedy"],
        ...     evaluations=20,
        ...     patience=2,
        ... )
        >>> [(each.arm, each.means["value"]) for each in result.report.arms]
        [('race', 4.0), ('greedy', 4.0)]
    """
    return wait_for(lambda: compare_rules_async(task, model, **options), "compare_rules")


async def compare_rules_async(
    task: str | Path | Task,
    model: str | Model = DEFAULT_MODEL,
    **options: Unpack[CompareRulesOptions],
) -> StudyResult[LabReport]:
    """Like `compare_rules`, in an event loop."""
    return await prepare_compare_rules(task, model, **options).run_async()


def prepare_compare_rules(
    task: str | Path | Task,
    model: str | Model = DEFAULT_MODEL,
    **options: Unpack[CompareRulesOptions],
) -> PreparedLab:
    r"""The run that `compare_rules` with the same arguments would drive.

    Args:
        task: A research task as a file or as text, or a `Task` of a recorded run.
        model: Proposes changes.
        options: See `CompareRulesOptions`.

    Returns:
        The run, to be looked at, estimated and run.

    Raises:
        InvalidInput: Something cannot be used.

    Example:
        >>> from pathlib import Path
        >>> from autoreason import prepare_compare_rules
        >>> _ = Path("knob.txt").write_text("1\n")
        >>> task = "---\nartifact: knob.txt\n---\nTurn the knob up."
        >>> prepared = prepare_compare_rules(
        ...     task, "echo/echo", evaluate=lambda folder, seed, items: 0.0, repeats=2
        ... )
        >>> prepared.notes
        ('2 repeats of 3 rules cannot show that one of them is best beyond chance; that takes 7 or more',)
    """
    check_arguments(prepare_compare_rules, options, task=task, model=model)
    require_statistics()
    rules, repeats = options.pop("rules", get_args(RuleName)), options.pop("repeats", 1)
    prepared = prepare_research(task, model, **cast(ResearchOptions, options))
    suite = rules_suite(prepared.task, prepared.settings, rules=rules, repeats=repeats)
    notes = [*prepared.notes, few_repeats(suite, "rules")]
    # One after another: evaluations of one rule must not disturb those of another.
    return prepare_suite(
        suite, prepared, notes, 1, evaluators=(prepared,), evaluate=prepared.evaluate
    )
