"""A suite: its tasks, its arms, its comparisons, and the cells they make, in the order in which they are run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import combinations
from itertools import count as count_from
from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import asdict, replace

from autoreason.errors import InvalidInput
from autoreason.events import Event, Status
from autoreason.exchange import Query, Spent
from autoreason.fields import make_struct
from autoreason.job_types import Judge, Refine, Research, Solve
from autoreason.jobs.context import draw
from autoreason.keys import CellName, sub_key
from autoreason.models.providers import rates
from autoreason.plugins import absolute, short
from autoreason.programs.assignment import Assignment, Assignments, assignments_of
from autoreason.programs.events import Solved, describe_solved
from autoreason.report.numbers import count
from autoreason.settings import (
    MAX_JUDGES,
    MAX_PASSES,
    Budget,
    Matched,
    Models,
    Settings,
    SuiteMatch,
)
from autoreason.stats.shares import enough_repeats
from autoreason.strategies import find_strategy
from autoreason.studies.panel_jobs import cut_to_equal_length, distinct, panel_job
from autoreason.task import Task, Work
from autoreason.wording import in_words

_OfPrograms = Literal[
    "passed", "passed_public", "passed_private", "overfitted", "recovered", "attempts"
]
_OfResearch = Literal["value", "claimed", "kept", "evaluations"]
_OfTexts = Literal[
    "preferred", "words", "calls", "tokens", "cost", "seconds", "passes", "converged"
]
Measure = Literal[_OfTexts, "kept_contract", _OfPrograms, _OfResearch]
OF_PROGRAMS: tuple[Measure, ...] = get_args(_OfPrograms)
OF_RESEARCH: tuple[Measure, ...] = get_args(_OfResearch)
SHARES = ("preferred", "converged", "kept_contract", *OF_PROGRAMS[:-1])
"""Measures that lie between 0 and 1, and whose differences lie between -1 and 1."""
Form = Literal["suite", "strategies", "rules", "problems"]
MAX_REPEATS = 1000
MAX_AMOUNT = 1_000_000_000
MANY_TASKS = 6
"""From so many tasks on a comparison speaks of tasks like these; with fewer, of these tasks."""
CellKind = Literal["draft", "arm", "panel"]
DRAFT: Literal["draft"] = "draft"
PANEL: Literal["panel"] = "panel"
_ONLY = "brief"


class SuiteTask(Struct, frozen=True, kw_only=True):
    task: Task
    job: str = ""
    """The job that does it, `solve` or `research`; empty where an arm's strategy writes a text."""
    terms: dict[str, Any] = {}


class SuiteArm(Struct, frozen=True, kw_only=True):
    settings: Settings
    shared_draft: bool = True
    terms: dict[str, Any] = {}


class SuitePanel(Struct, frozen=True, kw_only=True):
    settings: Settings
    equal_length: bool = False
    pairwise: bool = False


class SuiteComparison(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is compared, and for which question; the first arm with each of the others."""

    name: str
    question: str
    arms: tuple[str, ...]
    measure: Measure = "preferred"


class AddRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    width: Annotated[float, Meta(gt=0, le=MAX_AMOUNT)]
    repeats: Annotated[int, Meta(ge=1, le=MAX_REPEATS)]


class Suite(Struct, frozen=True, kw_only=True):
    """Everything about a suite but its seed and the budget of the whole, which are the run's."""

    name: str
    tasks: dict[str, SuiteTask]
    arms: dict[str, SuiteArm]
    repeats: int
    comparisons: tuple[SuiteComparison, ...] = ()
    measures: tuple[Measure, ...] = ()
    panel: SuitePanel | None = None
    match: SuiteMatch | None = None
    form: Form = "suite"
    """What it was made for, which its report concludes on."""
    prompts: dict[str, str] = {}
    """Those of all cells; empty where each has the built-in ones for its models."""
    broken: tuple[str, ...] = ()
    """Lines of a set of problems that could not be read, and why: `line 17: no statement`."""
    unfair: tuple[Assignment, ...] = ()
    add: AddRule | None = None
    added: dict[str, int] = {}

    def repeats_of(self, comparison: SuiteComparison) -> int:
        return self.repeats + self.added.get(comparison.name, 0)

    def arm_repeats(self, arm: str) -> int:
        own = [self.repeats_of(each) for each in self.comparisons if arm in each.arms]
        return max(own, default=self.repeats)

    @property
    def many_tasks(self) -> bool:
        """Whether there are enough tasks to speak of tasks like these; known before the first call."""
        return len(self.tasks) >= MANY_TASKS

    @property
    def judged(self) -> list[tuple[str, ...]]:
        sets = [each.arms for each in self.comparisons if each.measure == "preferred"]
        return [arms for at, arms in enumerate(sets) if set(arms) not in map(set, sets[:at])]

    @property
    def pairs(self) -> list[tuple[SuiteComparison, str]]:
        """Every planned test: a comparison, and the arm that its first one is compared with."""
        return [(each, arm) for each in self.comparisons for arm in each.arms[1:]]


class SuiteWork(Work, Struct, frozen=True, tag_field="type", tag=True):
    name = "suites"

    suite: Suite


def suite_of(task: Task | None) -> Suite | None:
    work = task.work if task else None
    return work.suite if isinstance(work, SuiteWork) else None


class Cell(Struct, frozen=True, kw_only=True):
    """One task by one arm, once; or a draft that arms share, or a panel over what they delivered."""

    number: int
    """From 1; its run is named after it."""
    kind: CellKind
    task: str
    repeat: int
    arms: tuple[str, ...]
    """The arm; the arms that begin from the draft; the arms that the panel compares."""
    part: str
    """What it is called in keys: `3/tournament/2`, which is the third task in the second repeat."""

    @property
    def title(self) -> str:
        return CellName.parse(self.part).name

    @property
    def name(self) -> str:
        """What people call it: `letter, tournament 2`; of a comparison `try 2, refining`."""
        if self.task == _ONLY:
            what = {DRAFT: "first draft", PANEL: "judges"}.get(self.kind) or in_words(self.arms[0])
            return f"try {self.repeat}, {what}"
        arms = DRAFT if self.kind == DRAFT else "/".join(self.arms)
        return f"{'judges of ' * (self.kind == PANEL)}{self.task}, {arms} {self.repeat}"


class Ballot(Struct, frozen=True, kw_only=True):
    order: tuple[str, ...]
    ranking: tuple[str, ...] | None


class CellResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a cell. None is unknown, never zero."""

    worded = ("reason",)
    run: str
    """Empty where there was nothing to run."""
    status: Status
    reason: str
    text: str | None = None
    words: int | None = None
    value: float | None = None
    """The gain of research on evaluations that decided nothing; None where one gave no number.

    It is 0 where the start is the result, or has to stay because the result breaks a guard there.
    """
    claimed: float | None = None
    """The gain that research itself saw of its result; 0 where nothing was kept."""
    kept: int | None = None
    evaluations: int | None = None
    broken: bool = False
    opened: int = 0
    """How often the sealed set of research has been opened, by this cell and before it."""
    solved: Solved | None = None
    kept_contract: bool | None = None
    trajectory: tuple[str, ...] = ()
    words_by_pass: tuple[int, ...] = ()
    """Of the first draft, then after each pass."""
    judged: tuple[tuple[str, ...], ...] = ()
    """Candidates on the ballot of each pass; none where there was no panel."""
    challengers: int = 0
    clones: int = 0
    """Those that repeated another text and were not judged."""
    dropped: int = 0
    kept_wording: float | None = None
    """Share of the draft's wording that is in the text delivered."""
    confirmed: tuple[int, int] | None = None
    """Fresh judges of its own who prefer the text to its draft, of how many."""
    cast: int = 0
    invalid: int = 0
    """Ballots without a vote, of those cast."""
    ballots: tuple[Ballot, ...] = ()
    spent: Spent = Spent()
    seconds: float = 0.0
    finished: bool = True
    """False where it came to no result: it is left out and named, and is never a zero."""


class CellQuery(Query[CellResult], frozen=True, kw_only=True):
    kind = "cell"
    free = False
    cell: Cell
    texts: dict[str, str] = field(default_factory=dict)
    """The draft it begins from, or what it judges, by arm."""
    amount: Decimal | None = None
    attempt: int = 0

    @classmethod
    def of(
        cls, cell: Cell, texts: dict[str, str] | None = None, amount: Decimal | None = None
    ) -> CellQuery:
        return cls(key=sub_key(cell.part, "cell"), cell=cell, texts=texts or {}, amount=amount)


class CellFinished(Event, frozen=True, kw_only=True):
    cell: Cell
    result: CellResult
    judged_as: dict[str, str] = field(default_factory=dict)
    """Of a panel: for each arm the one whose text, the same as its own, was judged."""

    @property
    def of_cell(self) -> str:
        return self.cell.part

    @property
    def line(self) -> str:
        result = self.result
        what = "done" if result.words is None else count(result.words, "word")
        if result.solved or not result.finished:
            left_out = f"left out: {result.reason}"
            what = describe_solved(result.solved) if result.solved else left_out
        return f"{self.cell.name}: {what}"


def draft_settings(settings: Settings) -> Settings:
    """What the shared draft of an arm depends on, and nothing else."""
    names = ("seed", "max_tokens", "author_temperature", "author_effort", "budget", "batch")
    models = Models.everywhere(settings.models.author)
    return Settings(
        models=models,
        job=Refine(strategy="single"),
        base_url=servers_of(settings.base_url, models),
        allow_http=settings.allow_http,
        **{name: getattr(settings, name) for name in names},
    )


def check_match(suite: Suite) -> None:
    if suite.match is None:
        return
    by, amount = suite.match.by, suite.match.amount
    # No call is a part of one.
    least = Decimal("0.000001") if by == "cost" else 1
    if amount is not None and not (amount.is_finite() and least <= amount <= MAX_AMOUNT):
        span = f"{least} or more, at most {MAX_AMOUNT:,}"
        raise InvalidInput(f"the amount to match is {amount}; give {span}")
    if suite.add or any(each.job for each in suite.tasks.values()):
        other = "`add`" if suite.add else "tasks that are not texts"
        raise InvalidInput(f"`match` does not go with {other}; leave one of them out")
    if amount is None and next(iter(suite.arms.values())).settings.job.name == "single":
        raise InvalidInput(
            "single spends nothing but the draft, so no arm could match it; "
            "name another one first or give an amount"
        )
    addresses = {each for arm in suite.arms.values() for each in arm.settings.models.all()}
    prices = [each.input + each.output if (each := rates(one)) else None for one in addresses]
    if by == "cost" and (None in prices or not any(prices)):
        raise InvalidInput(
            "budgets cannot be matched by cost where models cost nothing or a price is not known; "
            "match calls or tokens"
        )


def servers_of(
    base_url: str | Mapping[str, str] | None, models: Models
) -> dict[str, str] | str | None:
    if base_url is None or isinstance(base_url, str):
        return base_url
    used = {address.partition("/")[0] for address in models.all()}
    return {name: url for name, url in base_url.items() if name in used} or None


def prepare_cell(suite: Suite, query: CellQuery, seed: int) -> tuple[Task, Settings]:
    cell = query.cell
    task = suite.tasks[cell.task].task
    # Arms of a repeat draw alike, so that they differ only in what they do.
    chance = cell.part if cell.kind == PANEL else f"{cell.task}/{cell.repeat}"
    own_seed = draw(seed, chance).getrandbits(32)
    if cell.kind == PANEL:
        panel = suite.panel
        assert panel is not None
        entries = distinct(panel_texts(panel, query.texts))
        job = panel_job(query.texts, pairwise=panel.pairwise, equal_length=panel.equal_length)
        settings = replace(panel.settings, seed=own_seed, job=job)
        return replace(task, draft=None, entries=entries), settings
    settings = replace(suite.arms[cell.arms[0]].settings, seed=own_seed)
    if cell.kind == DRAFT:
        return task, draft_settings(settings)
    if DRAFT in query.texts:
        task = replace(task, draft=query.texts[DRAFT])
    if suite.match and query.amount is not None:
        # The amount ends it, not the number of passes; a tournament may end before.
        passes = settings.passes if settings.job.is_tournament else MAX_PASSES
        matched = Matched(suite.match.by, query.amount)
        settings = replace(settings, matched=matched, passes=passes)
    return task, job_settings(suite, cell.task, cell.arms[0], settings)


def job_settings(suite: Suite, task: str, arm: str, settings: Settings) -> Settings:
    """An arm's settings for one of the tasks: where another job does it, the strategy is one of its options."""
    given = suite.tasks[task]
    if not given.job:
        return settings
    name, terms = settings.job.name, {**given.terms, **suite.arms[arm].terms}
    job: Solve | Research
    if given.job == "solve":
        job = make_struct(Solve, {"strategy": name, "k": settings.k, **terms})
    else:
        job = make_struct(Research, {"rule": name, **terms})
    return replace(settings, job=job)


def set_of(task: SuiteTask) -> str:
    return str(task.terms.get("set", "")) if task.job == "solve" else ""


def arm_runs(suite: Suite) -> Iterator[tuple[str, Task, Settings]]:
    """Every arm with every task, once; of a set of problems with the longest."""
    longest: dict[str, tuple[int, str]] = {}
    for task, given in suite.tasks.items():
        length = sum(len(each.statement) for each in assignments_of(given.task))
        key = set_of(given) or task
        if key not in longest or length > longest[key][0]:
            longest[key] = (length, task)
    for _, task in longest.values():
        for name, arm in suite.arms.items():
            yield name, suite.tasks[task].task, job_settings(suite, task, name, arm.settings)


def panel_texts(panel: SuitePanel, texts: Mapping[str, str]) -> Mapping[str, str]:
    return cut_to_equal_length(texts) if panel.equal_length and texts else texts


class CellGroup(NamedTuple):
    """The cells of one task in one repeat, each kind after the other."""

    drafts: list[Cell]
    arms: list[Cell]
    panels: list[Cell]

    def draft_of(self, arm: str) -> Cell | None:
        return next((cell for cell in self.drafts if arm in cell.arms), None)


def groups(suite: Suite) -> Iterator[CellGroup]:
    """Repeat by repeat, so that a suite that is stopped early has run all tasks and arms equally often."""
    numbers = count_from(1)
    for repeat, titled in _repeats(suite):
        for at, task in enumerate(suite.tasks, 1):
            group = CellGroup([], [], [])
            drafted = needs_draft(suite.tasks[task])
            for cells, (kind, titles) in zip(group, titled.items(), strict=True):
                for title, names in titles.items() if drafted or kind != DRAFT else ():
                    number, part = next(numbers), str(CellName(title, repeat, problem=at))
                    cells.append(
                        Cell(
                            number=number,
                            kind=kind,
                            task=task,
                            repeat=repeat,
                            arms=names,
                            part=part,
                        )
                    )
            yield group


def _repeats(suite: Suite) -> Iterator[tuple[int, dict[CellKind, dict[str, tuple[str, ...]]]]]:
    """For each repeat, the arms of its cells of each kind, by their title; all tasks have the same."""
    for repeat in range(1, max(map(suite.arm_repeats, suite.arms)) + 1):
        arms = [arm for arm in suite.arms if suite.arm_repeats(arm) >= repeat]
        due = [set(each.arms) for each in suite.comparisons if suite.repeats_of(each) >= repeat]
        panels = _titled(PANEL, suite.judged)
        yield (
            repeat,
            {
                DRAFT: _titled(DRAFT, _shared_drafts(suite, arms)),
                "arm": {arm: (arm,) for arm in arms},
                PANEL: {title: names for title, names in panels.items() if set(names) in due},
            },
        )


def _titled(kind: str, cells: Sequence[tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """`draft`, or `draft-1` and `draft-2` where there are several."""
    titles = [kind] if len(cells) == 1 else [f"{kind}-{n}" for n in range(1, len(cells) + 1)]
    return dict(zip(titles, cells, strict=True))


def _shared_drafts(suite: Suite, arms: Sequence[str]) -> list[tuple[str, ...]]:
    """Arms by the draft they share, which depends on who writes it and how."""
    together: dict[bytes, tuple[str, ...]] = {}
    for arm in arms:
        if suite.arms[arm].shared_draft:
            key = msgspec.json.encode(draft_settings(suite.arms[arm].settings))
            together[key] = (*together.get(key, ()), arm)
    return list(together.values())


def all_cells(suite: Suite) -> Iterator[Cell]:
    return (cell for group in groups(suite) for kind in group for cell in kind)


def count_cells(suite: Suite) -> int:
    """How many cells there are; a panel over texts that are all the same is none in the end."""
    numbers = Counter[CellKind]()
    for _, titled in _repeats(suite):
        numbers.update({kind: len(titles) for kind, titles in titled.items()})
    drafted = sum(map(needs_draft, suite.tasks.values()))
    return numbers[DRAFT] * drafted + (numbers["arm"] + numbers[PANEL]) * len(suite.tasks)


def needs_draft(task: SuiteTask) -> bool:
    """Whether a first draft of it is written, which arms may share."""
    return not task.job and task.task.draft is None


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
    # The comparison's own panels do the confirming.
    own = replace(settings, confirmation=0, budget=Budget())
    arms = _arms(strategies, own, "strategies")
    if taken := arms.keys() & {DRAFT, PANEL}:
        raise InvalidInput(f"{min(taken)} is a name that every suite uses; rename that strategy")
    if not 2 <= judges <= MAX_JUDGES:
        raise InvalidInput(f"give the final panel 2 to {MAX_JUDGES} judges, not {judges}")
    for arm in arms.values():
        find_strategy(arm.settings.job.name)
    panel = replace(own, job=Judge(), judges=judges)
    question = "Which do judges prefer?"
    compared = SuiteComparison(name="strategies", question=question, arms=tuple(arms))
    suite = Suite(
        name="compare",
        form="strategies",
        tasks={_ONLY: SuiteTask(task=task)},
        arms=arms,
        repeats=check_repeats(repeats, len(arms)),
        comparisons=(compared,),
        measures=("tokens", "kept_contract") if task.limited else ("tokens",),
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
    options = asdict(settings.job_as(Research))
    del options["rule"]
    arms = _arms(rules, replace(settings, confirmation=0, budget=Budget()), "rules")
    question = "Which gains more on evaluations that decided nothing?"
    return Suite(
        name="rules",
        form="rules",
        tasks={"artifact": SuiteTask(task=task, job="research", terms=options)},
        arms=arms,
        repeats=check_repeats(repeats, len(arms)),
        comparisons=_every_pair(arms, question, "value"),
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
    options = asdict(settings.job_as(Solve))
    broken = options.pop("broken")
    del options["strategy"]
    arms = _arms(strategies, replace(settings, budget=Budget()), "strategies", at_least=1)
    tasks: dict[str, SuiteTask] = {}
    for number, each in enumerate((each for each in assignments if not each.remark), 1):
        name = each.id if each.id not in tasks else f"{each.id} ({number})"
        task = Task(brief=f"Solve {each.title or each.id}", work=Assignments((each,)))
        tasks[name] = SuiteTask(task=task, job="solve", terms=options)
    return Suite(
        name="solve",
        form="problems",
        tasks=tasks,
        arms=arms,
        repeats=check_repeats(repeats, len(arms)),
        comparisons=_every_pair(arms, "Which passes the tests of more problems?", "passed"),
        measures=(*OF_PROGRAMS, "tokens"),
        prompts=dict(prompts),
        broken=tuple(broken),
        unfair=tuple(each for each in assignments if each.remark),
    )


def _arms(
    names: Sequence[str], settings: Settings, noun: str, at_least: int = 2
) -> dict[str, SuiteArm]:
    """An arm for each strategy or rule, under its short name."""
    arms = {
        short(name): SuiteArm(settings=replace(settings, job=Refine(strategy=absolute(name))))
        for name in names
    }
    if len(arms) < max(at_least, len(names)):
        some = "one or several" if at_least == 1 else "two or more"
        raise InvalidInput(f"name {some} {noun}, each once")
    return arms


def _every_pair(
    arms: Iterable[str], question: str, measure: Measure
) -> tuple[SuiteComparison, ...]:
    return tuple(
        SuiteComparison(name="-".join(pair), question=question, arms=pair, measure=measure)
        for pair in combinations(arms, 2)
    )


def check_repeats(repeats: int | None, arms: int) -> int:
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
