"""Rules of research compared on one task: the run with its report."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack, get_args

from autoreason.artifacts.research_terms import ResearchTerms, RuleName
from autoreason.artifacts.rule_comparison import RuleComparison
from autoreason.artifacts.rule_comparison_report import RuleComparisonReport, few_repeats
from autoreason.exchange import Model
from autoreason.run.door import door, field_defaults
from autoreason.run.parameters import CompareRulesOptions
from autoreason.run.reports import StudyResult
from autoreason.run.research import TERMS, PreparedMeasuring, measuring_parts
from autoreason.settings import DEFAULT_MODEL
from autoreason.task import Task


@door(rules=get_args(RuleName), repeats=1, **field_defaults(ResearchTerms, *TERMS))
def compare_rules(
    task: str | Path | Task,
    model: str | Model = DEFAULT_MODEL,
    **options: Unpack[CompareRulesOptions],
) -> PreparedMeasuring[StudyResult[RuleComparisonReport]]:
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
        >>> [(each.rule, each.gains) for each in result.report.rules]
        [('race', {1: 4.0}), ('greedy', {1: 4.0})]
    """
    rules, repeats = options.get("rules", get_args(RuleName)), options.get("repeats", 1)
    own = {"rule": rules[0], "rivals": tuple(rules[1:]), "repeats": repeats} if rules else {}
    parts = measuring_parts("research_rules", task, model, options, own)
    RuleComparison.check(parts["settings"])
    if few := few_repeats(repeats, len(rules)):
        parts["notes"] += (few,)
    return PreparedMeasuring(**parts)
