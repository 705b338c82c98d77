"""The terms of a research run, and what follows from them: its rule, and what its evaluations are for."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from autoreason.artifacts.end_test import MIN_EVALUATIONS, BudgetPlan, plan_budget
from autoreason.artifacts.keep_rule import KeepRule
from autoreason.artifacts.research_task import ResearchTask

RuleName = Literal["race", "greedy", "independent"]


class ResearchTerms(Struct, frozen=True, kw_only=True):
    """How a research run works."""

    evaluations: Annotated[
        int,
        Meta(ge=MIN_EVALUATIONS, le=100_000),
        "Evaluations in all: noise floor, races, playoff and end test.",
    ] = 200
    rule: Annotated[
        RuleName,
        "`race`; or a rival: `greedy` keeps what beats the record in one look, `independent` proposes from the "
        "start.",
    ] = "race"
    parallel: Annotated[int, Meta(ge=1, le=64), "Proposals and looks under way at once."] = 1
    patience: Annotated[
        int, Meta(ge=1, le=10_000), "Proposals in a row without a keep that end the search."
    ] = 25
    unsafe: Annotated[bool, "Evaluators may be run without a jail where there is none."] = False
    unchecked: Annotated[bool, "Begin even where the artifact could write its own score."] = False
    output: Annotated[
        str,
        "The folder that the command line writes changed files to, also after a pause; empty is a patch.",
    ] = ""

    @property
    def plan(self) -> BudgetPlan:
        """How the evaluations are divided; the published greedy loop measures its start once and has no playoff."""
        plan = plan_budget(self.evaluations)
        return plan if self.rule != "greedy" else replace(plan, floor=1, playoff=0)


def keep_rule(name: RuleName, research: ResearchTask) -> KeepRule:
    """The rule of a run; the published greedy loop compares one look with the number on record."""
    if name == "greedy":
        return KeepRule(looks=1, drop=0.0, incumbent_least=1, incumbent_ratio=1, incumbent_looks=1)
    rule = KeepRule(drawn=research.draws_items)
    return replace(rule, looks=research.looks) if research.looks else rule
