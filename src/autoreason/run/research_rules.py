"""Rules of research compared on one task: the run with its report."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack, cast, get_args

from autoreason.exchange import Model
from autoreason.job_types import RuleName
from autoreason.run.door import door
from autoreason.run.lab import PreparedLab, prepare_suite
from autoreason.run.parameters import CompareRulesOptions, ResearchOptions
from autoreason.run.research import research
from autoreason.settings import DEFAULT_MODEL
from autoreason.studies.lab.made_suites import compare_rules as rules_suite
from autoreason.studies.lab.made_suites import few_repeats
from autoreason.task import Task


@door(rules=get_args(RuleName), repeats=1)
def compare_rules(
    task: str | Path | Task,
    model: str | Model = DEFAULT_MODEL,
    **options: Unpack[CompareRulesOptions],
) -> PreparedLab:
    r"""Compare rules of research on one task: in every repeat one run by each, with the same evaluations.

    Args:
        task: A research task as a file or as text, or a `Task` of a recorded run.
        model: Proposes changes, and judges where the task has judges.
        options: Which `rules`, how many `repeats`, and `evaluations`, which are those of each run; the rest as for
            `research`. `print(compare_rules.options())` lists all of them.

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
    rules, repeats = options.pop("rules", get_args(RuleName)), options.pop("repeats", 1)
    prepared = research.prepare(task, model, **cast(ResearchOptions, options))
    suite = rules_suite(prepared.task, prepared.settings, rules=rules, repeats=repeats)
    notes = [*prepared.notes, few_repeats(suite, "rules")]
    # One after another: evaluations of one rule must not disturb those of another.
    return prepare_suite(
        suite, prepared, notes, 1, evaluators=(prepared,), evaluate=prepared.evaluate
    )
