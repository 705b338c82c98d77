"""The report of a suite: its numbers, and the sentences, tables and plots that show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from operator import attrgetter
from statistics import fmean

from msgspec import Struct
from msgspec.structs import astuple, replace

from autoreason.events import BallotCast
from autoreason.exchange import Spent
from autoreason.programs.assignment import CodeVerdict
from autoreason.programs.events import describe_level, program_files
from autoreason.report.numbers import capital, count, listed, percent_interval
from autoreason.report.report import NOTHING_KNOWN, Report, Section
from autoreason.report.table import Table, figures, words
from autoreason.settings import SuiteMatch
from autoreason.stats import BEYOND_CHANCE
from autoreason.story import Story
from autoreason.studies.lab_arms import (
    DifficultyShares,
    LabArm,
    arm_notes,
    arms_table,
    describe_arm,
    failures_section,
    passes_sections,
    quality_measure,
    share,
    shares_by_difficulty,
)
from autoreason.studies.lab_comparisons import (
    ArmPair,
    ArmValues,
    answer,
    compare_arms,
    compare_recovery,
    comparisons_table,
    describe_finding,
    in_points,
    in_units,
    pair_charts,
    size_of,
    turned,
)
from autoreason.studies.lab_suite import (
    MANY_TASKS,
    OF_PROGRAMS,
    AddRule,
    CellFinished,
    Form,
    Suite,
    count_cells,
    suite_of,
)
from autoreason.studies.lab_tries import (
    SuiteTry,
    TrajectoryTree,
    TreeNode,
    find_tries,
    side_by_side,
    trajectory_trees,
)
from autoreason.studies.panel_report import (
    CountedBallot,
    EntryDuel,
    PanelReport,
    duel_chart,
    duels,
    duels_with,
    notes,
    report,
    standings,
    win_matrix,
)
from autoreason.wording import in_words

_HEADINGS = {
    "strategies": "A comparison of strategies",
    "rules": "Rules of research",
    "problems": "Programs",
}
_MAX_NAMED, _MAX_LEFT_OUT, _MAX_SHOWN = 5, 20, 3


class LeftOut(Struct, frozen=True, kw_only=True):
    kind: str
    """`cell`; of a set of problems also `line` and `problem`."""
    reason: str
    items: tuple[str, ...]
    runs: tuple[str, ...] = ()

    def __str__(self) -> str:
        named = ", ".join([*self.items, *self.runs][:_MAX_NAMED])
        number = len(self.items)
        more = f" and {number - _MAX_NAMED:,} more" if number > _MAX_NAMED else ""
        noun = "part" if self.kind == "cell" else self.kind
        return f"{count(number, noun)}: {self.reason} ({named}{more})"


class LabReport(Report, Struct, frozen=True, kw_only=True):
    """A suite in numbers."""

    suite: str
    tasks: int
    repeats: int
    cells: int
    planned: int
    """Cells that the suite has; fewer have ended where it is not over."""
    pairs: tuple[ArmPair, ...]
    recovery: tuple[ArmPair, ...] = ()
    """Of problems, the same where the first attempt of both arms failed."""
    arms: tuple[LabArm, ...]
    by_difficulty: tuple[DifficultyShares, ...] = ()
    panels: dict[str, PanelReport]
    """Standings, agreement, position and length, by the arms that were judged together."""
    judged: int
    same_texts: int = 0
    """Panels that had nothing to judge, because all arms delivered the same text."""
    left_out: tuple[LeftOut, ...]
    spent: Spent
    trees: tuple[TrajectoryTree, ...]
    """Who won each pass, for every task and every arm that is a tournament."""
    tries: tuple[SuiteTry, ...] = ()
    """Every task in every repeat: what each arm delivered, its place with the judges, and its run."""
    clusters: str
    """What was drawn again, and whose signs were flipped: `task`, or `pair`, a task in a repeat by both arms."""
    quality_by: str
    """What quality is: the share of problems `passed`, the mean `value`, or the share of votes by which an arm is
    `preferred` to its rivals in one panel; empty where there is nothing of it."""
    added: dict[str, int] = {}
    """Repeats that were added to a comparison by the rule of the suite."""
    add: AddRule | None = None
    broken: int = 0
    """Results of research that break a guard at the end, and count as no gain."""
    opened: int = 0
    """How often a sealed set has been opened, by these cells and before them."""
    sandbox: dict[str, int] = {}
    """How many programs were run in each level of the sandbox."""
    match: SuiteMatch | None = None
    form: Form = "suite"
    origin: dict[str, str] = {}
    """Run, models, seed and start, as a page shows them."""

    @property
    def heading(self) -> str:  # type: ignore[override]
        return _HEADINGS.get(self.form) or f"Suite {self.suite}"

    @property
    def conclusion(self) -> str:
        """Who wins, or how many questions have an answer; nothing before all cells have ended."""
        ended, tests = self.cells, count(len(self.pairs), "planned test")
        if ended < self.planned:
            so_far = f"unfinished: {ended:,} of {count(self.planned, 'part')} have ended"
            return f"{so_far}, and nothing is concluded before all have"
        if self.form == "strategies":
            return self.panel.conclusion if self.panel else "no winner: there was nothing to judge"
        if self.form != "suite":
            return _contest(self)
        if not self.pairs:
            parts = count(ended, "part")
            return f"the suite {self.suite} is done, with {parts} and no comparisons to answer"
        if not (shown := sum(each.shown for each in self.pairs)):
            return f"no difference is shown beyond chance in {tests}"
        return f"{shown} of {tests} {'shows' if shown == 1 else 'show'} a difference beyond chance"

    @property
    def panel(self) -> PanelReport | None:
        """The one panel that strategies are compared by."""
        return next(iter(self.panels.values()), None) if self.form == "strategies" else None

    def summary(self, took: str = "") -> list[str]:
        """What is shown, what is not, and on what it rests."""
        lines = [self.sentence]
        basis = f"{count(self.tasks, 'task')}, {count(self.cells, 'part')}"
        if self.cells == self.planned:
            if panel := self.panel:
                one = "; one says nothing of strategies" if self.judged == 1 else ""
                rankings = f"{count(panel.ballots, 'ranking')}{one}"
                lines = summarize_panel(panel, self.name)
                of = f"{self.judged} of " if self.judged < self.repeats else ""
                basis = f"{of}{count(self.repeats, 'repeat')}, {rankings}"
                if self.same_texts:
                    why = "all texts were the same, so that there was nothing to judge"
                    lines.append(f"In {count(self.same_texts, 'repeat')} {why}.")
                kept = ((each.arm, each.shares.get("kept_contract")) for each in self.arms)
                broken = [
                    f"{self.name(arm)} in {round(share.n * (1 - share.value))} of {share.n}"
                    for arm, share in kept
                    if share and share.value not in (None, 1)
                ]
                lines += [f"Limits are broken by {listed(broken)} tries."] if broken else []
            elif self.form == "suite" and self.pairs:
                lines = [self.sentence.replace(" beyond chance", ""), *_pair_lines(self.pairs)]
                if same := sum(each.same for each in self.pairs):
                    of = count(sum(each.units for each in self.pairs), "pair")
                    lines.append(f"In {same:,} of {of} both texts are the same, which counts half.")
            elif self.form == "problems":
                basis = count(self.tasks, "problem")
        if self.left_out:
            number = sum(len(each.items) for each in self.left_out)
            lines.append(f"{count(number, 'part')} left out: see --evidence.")
        return [*lines, " · ".join(filter(None, [basis, took]))]

    @property
    def winner(self) -> str:
        """The arm that is shown to be ahead of every other; empty where none is."""
        wins = Counter(each.ahead for each in self.pairs if each.shown)
        return next((a.arm for a in self.arms if wins[a.arm] == len(self.arms) - 1 > 0), "")

    def names(self) -> Sequence[str]:
        return [self.suite, *(each.arm for each in self.arms)]

    def about(self) -> Mapping[str, str]:
        return self.origin

    def sections(self) -> list[Section]:
        models = [(name, said) for name, said in self.origin.items() if name == "Model"]
        last = [Section(sentences=models)] if models else []
        return [*_results(self, _arms_section(self)), *_details(self), *last]

    def page_sections(self) -> list[Section]:
        """The charts that answer what was asked, the texts, what it cost; all else is evidence."""
        evidence = [
            each._replace(folded=True, title=each.title or "Method, and what was left out")
            for each in (*_results(self), *_details(self))
        ]
        return [*_charts(self), *_tries(self), _arms_section(self, self.name), *evidence]

    def name(self, arm: str) -> str:
        """A strategy in words; in a suite people have named what they compare themselves."""
        return in_words(arm) if self.form == "strategies" else arm

    def data(self) -> list[Table]:
        rows = []
        for tree in self.trees:
            for node in tree.nodes:
                values = (tuple(map(str, v)) if isinstance(v, tuple) else v for v in astuple(node))
                rows.append((tree.task, tree.arm, len(node.way), *values))
        return [Table(words("task", "arm", "pass", *TreeNode.__struct_fields__), rows, "trees")]


def lab_report(
    story: Story,
    origin: Mapping[str, str] = NOTHING_KNOWN,
    texts: Mapping[str, str] = NOTHING_KNOWN,
) -> LabReport:
    """The report on what is recorded of a suite; `texts` are those delivered, by the part of their cell."""
    suite = suite_of(story.task)
    assert suite is not None
    finished = sorted(story.of(CellFinished), key=lambda each: each.cell.number)
    values = ArmValues(suite, finished)
    quality_by = quality_measure(values)
    spent = reduce(Spent.joined, (each.result.spent for each in finished), Spent())
    solved = [each.result.solved for each in finished if each.result.solved]
    return LabReport(
        suite=suite.name,
        tasks=len(suite.tasks),
        repeats=suite.repeats,
        cells=len(finished),
        planned=count_cells(suite),
        # Strategies are all compared with each other, by the panels' own tests.
        pairs=() if suite.form == "strategies" else tuple(compare_arms(suite, values)),
        recovery=tuple(compare_recovery(suite, values)),
        arms=tuple(describe_arm(suite, arm, values, quality_by) for arm in suite.arms),
        by_difficulty=tuple(shares_by_difficulty(suite, values)),
        panels=_panels(suite, values),
        judged=sum(bool(each.result.ballots) for each in values.panels),
        same_texts=sum(not each.result.run and each.result.finished for each in values.panels),
        left_out=tuple(_find_left_out(suite, finished)),
        spent=spent,
        trees=tuple(trajectory_trees(suite, finished)),
        tries=tuple(find_tries(suite, finished, values, texts)),
        clusters="task" if suite.many_tasks else "pair",
        quality_by=quality_by,
        added=suite.added,
        add=suite.add,
        broken=sum(each.result.broken for each in finished),
        opened=max((each.result.opened for each in finished), default=0),
        sandbox=dict(Counter(each.level for each in solved if each.level)),
        match=suite.match,
        form=suite.form,
        origin=dict(origin),
    )


_CELL = ("run", "status", "reason", "finished", "words", "value", "kept_contract")
_PROGRAM = ("difficulty", *OF_PROGRAMS, "verdict", "level", "missing")
_PASSES = (*("challengers", "clones", "dropped", "cast", "invalid", "kept_wording", "seconds"),)


def lab_files(found: LabReport, cells: Sequence[CellFinished]) -> dict[str, str]:
    rows, no_program = [], [None] * len(_PROGRAM)
    for each in sorted(cells, key=lambda each: each.cell.number):
        cell, result = each.cell, each.result
        rows.append(
            (
                *(cell.number, cell.kind, cell.task, cell.repeat, cell.arms),
                *attrgetter(*_CELL)(result),
                *(attrgetter(*_PROGRAM)(result.solved) if result.solved else no_program),
                *attrgetter(*_PASSES)(result),
                *(result.trajectory, tuple(map(str, result.words_by_pass))),
                *(result.spent.calls, result.spent.tokens, result.spent.cost),
            )
        )
    names = ("cell", "kind", "task", "repeat", "arms", *_CELL, *_PROGRAM, *_PASSES, "trajectory")
    columns = words(*names, "words_by_pass", "calls", "tokens", "cost")
    solved = [
        replace(program, part=each.cell.part, repeat=each.cell.repeat)
        for each in cells
        if (program := each.result.solved)
    ]
    return found.to_files() | {"cells.csv": Table(columns, rows).to_csv()} | program_files(solved)


def _find_left_out(suite: Suite, finished: Sequence[CellFinished]) -> Iterator[LeftOut]:
    for line in suite.broken:
        name, _, why = line.partition(": ")
        yield LeftOut(kind="line", reason=why or "it cannot be read", items=(name,))
    by_reason: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for each in suite.unfair:
        by_reason.setdefault(("problem", each.remark), []).append((each.id, ""))
    for cell in finished:
        result = cell.result
        why = result.solved.missing if result.solved else ""
        if not result.finished or why:
            reason = why or result.reason
            by_reason.setdefault(("cell", reason), []).append((cell.cell.part, result.run))
    for (kind, why), found in by_reason.items():
        items, runs = zip(*found, strict=True)
        yield LeftOut(kind=kind, reason=why, items=items, runs=tuple(filter(None, runs)))


def _panels(suite: Suite, values: ArmValues) -> dict[str, PanelReport]:
    found = {}
    for arms in suite.judged:
        judged, cast, lengths = [], [], {}
        for at, each in enumerate(values.panels):
            if set(each.cell.arms) != set(arms) or not each.result.ballots:
                continue
            groups: dict[str, tuple[str, ...]] = {}
            for arm, entry in each.judged_as.items():
                groups[entry] = (*groups.get(entry, ()), arm)
            unit = (each.cell.task, each.cell.repeat)
            lengths[at] = {arm: values.cells[arm][unit].words or 0 for arm in each.judged_as}
            for seat, ballot in enumerate(each.result.ballots):
                if ballot.ranking:
                    places = tuple(groups[name] for name in ballot.ranking)
                    judged.append(CountedBallot(ranking=places, cluster=at))
                order, ranking = ballot.order, ballot.ranking
                seen = BallotCast(
                    stage="", seat=seat, model="", order=order, labels=(), ranking=ranking
                )
                cast.append(seen)
        known = {arm: [e[arm] for e in lengths.values() if arm in e] for arm in arms}
        words = {arm: round(fmean(each)) for arm, each in known.items() if each}
        if judged and len(words) > 1:
            pairwise = bool(suite.panel and suite.panel.pairwise)
            found[" / ".join(arms)] = report(
                judged,
                words,
                # In pairs every text stood in both places.
                [] if pairwise else cast,
                clustered=True,
                pairwise=pairwise,
                lengths=lengths,
            )
    return found


def _contest(found: LabReport) -> str:
    if found.form == "rules":
        where = "sealed items" if found.opened else "fresh evaluations"
        noun, where = "rule", f"{where}, in {count(found.repeats, 'repeat')}"
    else:
        noun, where = "strategy", count(found.tasks, "problem")
    known = {each.arm: share for each in found.arms if (share := each.shares.get("passed"))}
    if found.form == "problems" and not any(each.n for each in known.values()):
        return "nothing was scored, so nothing is known"
    if not found.pairs:
        ((arm, share),) = known.items()
        return f"{arm} passes the tests of {percent_interval(share)} of {where}"
    findings = "; ".join(describe_finding(turned(each)) for each in found.pairs if each.shown)
    if found.winner:
        return f"{found.winner} wins on {where}: {findings}"
    if findings:
        return f"no {noun} is shown to be better than all others on {where}, but {findings}"
    could_show, detectable = "", found.pairs[0].detectable
    if detectable:
        units, size = count(detectable.n, found.clusters), in_points(detectable)
        shows = f"{units} show a difference of {size} or more four times out of five, and mostly miss a smaller one"
        could_show = f"; {detectable.reason if detectable.value is None else shows}"
    return f"no {noun} is shown to be better on {where}{could_show}"


def summarize_panel(panel: PanelReport, name: Callable[[str], str] = str) -> list[str]:
    """The strategy in the lead against every other."""
    first = panel.standings[0].name
    ahead: list[str] = []
    others: list[EntryDuel] = []
    for each in duels_with(panel, first):
        shown = each.behind == each.second and (each.p_value_adjusted or 1.0) <= BEYOND_CHANCE
        others += [] if shown else [each]
        ahead += [f"{name(each.second)} in {each.votes}"] if shown else []
    if not ahead and panel.leaders[1:]:
        return [f"Too close to call: {listed([*map(name, panel.leaders)])} are equal."]
    if not ahead:
        votes = listed([f"{name(each.second)} in {each.votes}" for each in others])
        lines = [f"Too close to call: {name(first)} leads, preferred to {votes} rankings."]
    else:
        lines = [f"Judges prefer {name(first)} to {listed(ahead)} rankings."]
        against = [f"{name(each.second)} ({each.votes})" for each in others]
        lines += [f"Against {listed(against)} it is too close to call."] if against else []
    return [*lines, *panel.taste_for_length(name)]


def _pair_lines(pairs: Sequence[ArmPair]) -> list[str]:
    """The planned tests, as many as a person reads, in columns."""
    shown = sorted(pairs, key=lambda each: not each.shown)[:_MAX_SHOWN]
    names = [f"{each.first} against {each.second}" for each in shown]
    sizes = [*map(size_of, shown)]
    wide, wider = max(map(len, names)), max(map(len, sizes))
    lines = [
        f"  {name:<{wide}}  {size:<{wider}}  {'shown' if each.shown else 'not shown'}"
        for name, size, each in zip(names, sizes, shown, strict=True)
    ]
    more = len(pairs) - len(shown)
    return [*lines, *([f"  and {more} more: see --evidence"] if more else [])]


def _results(found: LabReport, *arms: Section) -> list[Section]:
    parts = []
    rows: list[tuple[str, str]] = []
    if found.pairs:
        answers: list[tuple[str, str]] = []
        for each in found.pairs:
            if (each.comparison, each.question) not in answers:
                answers.append((each.comparison, each.question))
            answers.append((f"  {each.second}", answer(each, found.clusters)))
        table = comparisons_table(found.pairs, found.clusters)
        parts = [Section("Answers", answers), Section("Comparisons", [*_columns(found)], [table])]
        rows = _method(found)
    parts += arms
    if found.form == "strategies":
        panels, rows = _panel_section(found)
        parts += panels
    rows += [("Left out", str(each)) for each in found.left_out[:_MAX_LEFT_OUT]]
    if more := len(found.left_out[_MAX_LEFT_OUT:]):
        rows.append(("Left out", f"and {more} more reasons"))
    return [*parts, *_program_sections(found), Section(sentences=rows)]


def _arms_section(found: LabReport, name: Callable[[str], str] = str) -> Section:
    about = [*arm_notes(found.arms, found.quality_by, found.clusters)]
    if found.opened:
        times = count(found.opened, "time")
        about.append(("sealed", f"the sealed set has been opened {times}, each end test counted"))
    if found.broken:
        results = count(found.broken, "result breaks", "results break")
        about.append(("guards", f"{results} a guard on these evaluations, which is not a gain"))
    table = arms_table(found.arms, found.quality_by, name)
    return Section("What each came to", about, [table])


def _charts(found: LabReport) -> Iterator[Section]:
    """The one plot that answers the question; of several questions one for each."""
    panel = found.panel
    if found.cells < found.planned:
        # Nothing is concluded before all have ended.
        return
    if panel:
        first = panel.standings[0].name
        title = f"{capital(found.name(first))} against each of the others"
        pairs = [
            replace(each, first=found.name(first), second=found.name(each.second))
            for each in duels_with(panel, first)
        ]
        chart = duel_chart(panel, title, pairs)
        yield Section("How often judges prefer it", charts=[chart])
    elif found.pairs:
        yield Section("What was asked", charts=list(pair_charts(found.pairs)))


def _tries(found: LabReport) -> Iterator[Section]:
    if not found.tries:
        return
    arms = [each.arm for each in found.arms]
    readable = found.form not in ("problems", "rules")
    base = next((arm for arm in ("single", arms[-1]) if arm in arms), "") if readable else ""
    mark = {
        "problems": "✓: the program passes its tests.",
        "rules": "The gain of the result on evaluations that decided nothing.",
    }.get(found.form, "The number is a text's place with the judges of its try; · is none.")
    how = f"{mark} Choose one to read it; each names the run that it is from."
    yield Section(
        "Every try", [("", how)], texts=side_by_side(found.tries, base=base, name=found.name)
    )


def _panel_section(found: LabReport) -> tuple[list[Section], list[tuple[str, str]]]:
    unit, panel = found.match.by if found.match else "calls", found.panel
    called = "; ".join(f"{each.arm}: {found.name(each.arm)}" for each in found.arms)
    matched = f"by {unit}, the most that each may take after its draft"
    rows: list[tuple[str, str]] = [("Matched", matched), ("Called", called)]
    if panel is None:
        return [], rows
    alone = "one was judged: it says something about its texts, nothing about the strategies"
    rows = [*([("Repeats", alone)] if found.judged == 1 else []), *notes(panel), *rows]
    tables = [standings(panel), win_matrix(panel), duels(panel, found.arms[0].arm)]
    return [Section("Votes", tables=tables)], rows


def _program_sections(found: LabReport) -> Iterator[Section]:
    if found.by_difficulty:
        names = ("passed_public", "passed", "recovered")
        rows = [
            (each.difficulty, each.arm, each.problems, *(share(each.shares, n) for n in names))
            for each in found.by_difficulty
        ]
        heads = figures("problems", "passed public", "passed", "recovered")
        few = all(each.problems < _MAX_NAMED for each in found.by_difficulty)
        table = Table([*words("difficulty", ""), *heads], rows)
        yield Section("By difficulty", tables=[table], detail=few)
    if any(each.units for each in found.recovery):
        table = comparisons_table(found.recovery, found.clusters)
        yield Section("Where the first attempt of both failed", tables=[table], detail=True)
    if any(each.verdicts for each in found.arms):
        given = {name for each in found.arms for name, n in each.verdicts.items() if n}
        known = [name for name in CodeVerdict if name in given]
        counts = [(each.arm, *(each.verdicts.get(n, 0) for n in known)) for each in found.arms]
        heads = figures(*(name.replace("_", " ") for name in known))
        levels = [("Sandbox", describe_level(level)) for level in found.sandbox]
        yield Section("Verdicts", levels, [Table([*words(""), *heads], counts)])


def _columns(found: LabReport) -> Iterator[tuple[str, str]]:
    if any(each.measure == "preferred" for each in found.pairs):
        points = "of preferred: the share of votes for the first minus that for the second"
        yield "points", points
    if any(each.effect is not None for each in found.pairs):
        effect = (
            "how large the difference is, whatever its unit: of shares and votes Cohen's h, else the mean "
            "difference in standard deviations of the differences; 0.2 is small, 0.5 medium, 0.8 large"
        )
        yield "effect", effect
    if any(each.detectable for each in found.pairs):
        times = f"{found.clusters}s show four times out of five at the corrected level"
        alike = "where they differ as often as these do"
        yield "could show", f"the smallest difference that so many {times}, {alike}"


def _method(found: LabReport) -> list[tuple[str, str]]:
    many, enough = found.clusters == "task", f"with results of {MANY_TASKS} tasks or more"
    resampled = "tasks, then repeats" if many else "pairs (a task in a repeat, by both)"
    found_of = [each.difference.n for each in found.pairs if each.difference.value is not None]
    speaks = many and max(found_of, default=0) >= MANY_TASKS
    which = "tasks like these" if speaks else "these tasks only"
    together, tests = "95 % for all planned tests together", count(len(found.pairs), "planned test")
    rows = [
        ("Applies to", f"{which}: {enough} they extend to others"),
        ("Intervals", f"{together}; bootstrap over {resampled}, with Student's t"),
        *(
            ("No interval", f"{each.comparison}, {each.first} – {each.second}: {reason}")
            for each in found.pairs
            if (reason := each.difference.reason)
        ),
        ("Tests", f"permutation of signs by {found.clusters}, corrected for {tests} (Holm)"),
    ]
    for name, repeats in found.added.items():
        assert found.add is not None
        measure = next(pair.measure for pair in found.pairs if pair.comparison == name)
        why = f"it had no interval of {in_units(measure, found.add.width)} or less"
        rows.append(
            ("Added", f"{count(repeats, 'repeat')} to {name} by the rule of the suite: {why}")
        )
    return rows


def _details(found: LabReport) -> Iterator[Section]:
    # Those of strategies are in the method already.
    for arms, panel in () if found.panel else found.panels.items():
        # What could be shown is said by the plan, for the tests that were planned.
        rows = [row for row in notes(panel) if row[0] != "Power"]
        yield Section(f"Judges of {arms}", rows, detail=True)
    yield from passes_sections(found.arms)
    if any(each.of for arm in found.arms for each in arm.failures):
        yield failures_section(found.arms)
