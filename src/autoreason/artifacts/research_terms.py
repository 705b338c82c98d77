"""The terms of a research run, and what follows from them: its rule, and what its evaluations are for."""

from __future__ import annotations

from msgspec.structs import replace

from autoreason.artifacts.end_test import BudgetPlan, plan_budget
from autoreason.artifacts.keep_rule import KeepRule
from autoreason.artifacts.research_task import ResearchTask
from autoreason.job_types import Research, RuleName


def budget_plan(terms: Research) -> BudgetPlan:
    """How the evaluations are divided; the published greedy loop measures its start once and has no playoff."""
    plan = plan_budget(terms.evaluations)
    return plan if terms.rule != "greedy" else replace(plan, floor=1, playoff=0)


def keep_rule(name: RuleName, research: ResearchTask) -> KeepRule:
    """The rule of a run; the published greedy loop compares one look with the number on record."""
    if name == "greedy":
        return KeepRule(looks=1, drop=0.0, incumbent_least=1, incumbent_ratio=1, incumbent_looks=1)
    rule = KeepRule(drawn=research.draws_items)
    return replace(rule, looks=research.looks) if research.looks else rule
