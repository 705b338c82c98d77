"""Suites that are made without a file: strategies on a brief, rules of research on a task, a set of problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from msgspec.structs import asdict, replace

from autoreason.errors import InvalidInput
from autoreason.job_types import Judge, Refine, Research, Solve
from autoreason.plugins import absolute, short
from autoreason.programs.assignment import Assignment, Assignments
from autoreason.report.numbers import count
from autoreason.settings import MAX_JUDGES, Budget, Settings
from autoreason.stats.shares import enough_repeats
from autoreason.strategies import find_strategy
from autoreason.studies.lab.lab_suite import (
    DRAFT,
    OF_PROGRAMS,
    PANEL,
    Measure,
    Suite,
    SuiteArm,
    SuiteComparison,
    SuiteMatch,
    SuitePanel,
    SuiteTask,
    check_match,
)
from autoreason.task import Task

STRATEGIES = ("autoreason", "single", "critique_revise")
MAX_COMPARED = 100
"""Repeats of a comparison."""


def compare_strategies(
    task: Task,
    settings: Settings,
    *,
    strategies: Sequence[str],
    repeats: int | None,
    match: SuiteMatch,
    judges: int,
    prompts: Mapping[str, str],
) -> Suite:
    """Strategies from one shared draft with matched budgets, and in every repeat a panel over what they deliver.

    Without `repeats`, as many as it takes for a preference that is the same in all of them to show.
    """
    names = {short(name): absolute(name) for name in strategies}
    if len(names) < 2 or len(names) < len(strategies):
        raise InvalidInput("a comparison needs two different strategies or more; name them")
    if taken := names.keys() & {DRAFT, PANEL}:
        raise InvalidInput(f"{min(taken)} is the name of other cells; rename that strategy")
    if not 2 <= judges <= MAX_JUDGES:
        raise InvalidInput(f"give the final panel 2 to {MAX_JUDGES} judges, not {judges}")
    for name in names.values():
        find_strategy(name)
    # The comparison's own panels do the confirming.
    own = replace(settings, confirmation=0, budget=Budget())
    panel = replace(own, job=Judge(), judges=judges, max_judges=max(judges, settings.max_judges))
    ruled = ["kept_contract"] if not task.contract.empty else []
    suite = Suite(
        name="compare",
        form="strategies",
        tasks={"brief": SuiteTask(task=task)},
        arms={
            name: SuiteArm(settings=replace(own, job=Refine(strategy=each)))
            for name, each in names.items()
        },
        repeats=check_repeats(repeats, len(names)),
        comparisons=(
            SuiteComparison(
                name="strategies", question="Which do judges prefer?", arms=tuple(names)
            ),
        ),
        measures=("tokens", *ruled),  # type: ignore[arg-type]
        panel=SuitePanel(settings=panel),
        match=match,
        prompts=dict(prompts),
    )
    check_match(suite)
    return suite


def compare_rules(
    task: Task, settings: Settings, *, rules: Sequence[str], repeats: int | None
) -> Suite:
    """Rules of research with the same evaluations and seeds, each compared with each on fresh evaluations."""
    if len(rules) < 2 or len(set(rules)) < len(rules):
        raise InvalidInput("a comparison needs two different rules or more; name them")
    options = asdict(settings.job_as(Research))
    del options["rule"]
    own = replace(settings, confirmation=0, budget=Budget())
    question = "Which gains more on evaluations that decided nothing?"
    return Suite(
        name="rules",
        form="rules",
        tasks={"artifact": SuiteTask(task=task, job="research", terms=options)},
        arms={rule: SuiteArm(settings=replace(own, job=Refine(strategy=rule))) for rule in rules},
        repeats=check_repeats(repeats, len(rules)),
        comparisons=_every_pair(rules, question, "value"),
        measures=("value", "claimed", "kept", "evaluations"),
    )


def solve_problems(
    assignments: Sequence[Assignment],
    settings: Settings,
    *,
    strategies: Sequence[str],
    repeats: int,
    prompts: Mapping[str, str],
) -> Suite:
    """Every problem that can be judged, by every strategy with repeats."""
    names = {short(name): absolute(name) for name in strategies}
    if len(names) < len(strategies):
        raise InvalidInput("name one strategy or several different ones for the problems")
    options = asdict(settings.job_as(Solve))
    broken = options.pop("broken")
    del options["strategy"]
    own = replace(settings, budget=Budget())
    tasks: dict[str, SuiteTask] = {}
    for number, each in enumerate((each for each in assignments if not each.remark), 1):
        name = each.id if each.id not in tasks else f"{each.id} ({number})"
        task = Task(brief=f"Solve {each.title or each.id}", work=Assignments((each,)))
        tasks[name] = SuiteTask(task=task, job="solve", terms=options)
    return Suite(
        name="solve",
        form="problems",
        tasks=tasks,
        arms={
            name: SuiteArm(settings=replace(own, job=Refine(strategy=each)))
            for name, each in names.items()
        },
        repeats=check_repeats(repeats, len(names)),
        comparisons=_every_pair(tuple(names), "Which passes the tests of more problems?", "passed"),
        measures=(*OF_PROGRAMS, "tokens"),
        prompts=dict(prompts),
        broken=tuple(broken),
        unfair=tuple(each for each in assignments if each.remark),
    )


def _every_pair(
    names: Sequence[str], question: str, measure: Measure
) -> tuple[SuiteComparison, ...]:
    return tuple(
        SuiteComparison(
            name=f"{one}-{other}", question=question, arms=(one, other), measure=measure
        )
        for one, other in combinations(names, 2)
    )


def check_repeats(repeats: int | None, arms: int) -> int:
    """How often arms are run that are compared in all pairs."""
    repeats = enough_repeats(arms) if repeats is None else repeats
    if not 1 <= repeats <= MAX_COMPARED:
        raise InvalidInput(f"`repeats` is {repeats}; give a number from 1 to {MAX_COMPARED}")
    return repeats


def few_repeats(suite: Suite, noun: str) -> str:
    """What too few repeats cannot show; empty where there are enough."""
    needed = enough_repeats(len(suite.arms))
    if suite.repeats >= needed:
        return ""
    return (
        f"{count(suite.repeats, 'repeat')} of {len(suite.arms)} {noun} cannot show "
        f"that one of them is best beyond chance; that takes {needed} or more"
    )
