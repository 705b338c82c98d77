"""What people said, as tables and sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from autoreason.cli.commands.runs import when
from autoreason.cli.views import outcome
from autoreason.cli.views.console import stdout_console
from autoreason.report import numbers
from autoreason.studies.raters.rubric import LINES
from autoreason.tournament import statements

if TYPE_CHECKING:
    from rich.console import Console

    from autoreason.stats.results import Estimate
    from autoreason.studies.raters.agreement import AgreementWithPanel
    from autoreason.studies.raters.results import Person, Report, Standing, TaskResult


def emit(report: Report) -> None:
    """The whole report."""
    console = stdout_console()
    outcome.print_rows(_opening(report), console)
    for number, task in enumerate(report.tasks, 1):
        title = f"Task {number}: {task.title}" if len(report.tasks) > 1 else task.title
        _heading(f"{title} ({task.source})" if task.source else title, console)
        _tables(task.texts, console)
        console.print()
        outcome.print_rows([("Order", _concordance(task))], console)
    if report.together:
        _heading("Over all tasks", console)
        _tables(report.together, console)
    _heading("Agreement", console)
    outcome.print_rows(_agreement(report), console)
    _comments(report, console)


def _heading(title: str, console: Console) -> None:
    console.print()
    console.print(Text(title, style="bold"))


def _opening(report: Report) -> list[tuple[str, str]]:
    rows = [
        ("Key", f"opened {when(report.opened)}; seed {report.seed}"),
        ("People", "; ".join(_person(person) for person in report.people)),
        ("Intervals", "95 %, wide enough to hold for all texts of a column together"),
    ]
    if report.changed:
        files = ", ".join(report.changed)
        rows.append(("Warning", f"changed after the key was opened, so not blind: {files}"))
    return rows


def _person(person: Person) -> str:
    if person.answered == person.steps:
        return f"{person.name} rated everything"
    if not person.answered and not person.finished:
        return f"{person.name} completed nothing"
    how = "left some open" if person.finished else "stopped half-way"
    return f"{person.name} {how}, {person.answered} of {person.steps} steps complete"


def _tables(texts: tuple[Standing, ...], console: Console) -> None:
    places = _table("text", "code", "mean place", "Borda", "first places")
    scores = _table("score", *LINES)
    for text in texts:
        points = "-" if text.borda is None else f"{text.borda:g}"
        firsts = f"{text.firsts} of {text.rankings}"
        places.add_row(_name(text), text.code or "-", _spread(text.place), points, firsts)
        scores.add_row(_name(text), *(_spread(text.scores[line]) for line in LINES))
    console.print(places)
    console.print()
    console.print(scores)


def _name(text: Standing) -> Text:
    return Text(text.name, overflow="ellipsis", no_wrap=True)


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(first, max_width=28)
    for name in others:
        table.add_column(name, no_wrap=True)
    return table


def _spread(found: Estimate) -> str:
    """`4.2 ±0.6`, or both ends where they are not equally far; a dash where nothing is known."""
    if found.value is None:
        return "-"
    if found.low is None or found.high is None:
        return f"{found.value:.1f}"
    below, above = found.value - found.low, found.high - found.value
    if abs(below - above) < 0.05:
        return f"{found.value:.1f} ±{above:.1f}"
    return f"{found.value:.1f} ({found.low:.1f}–{found.high:.1f})"


def _concordance(task: TaskResult) -> str:
    ranked = numbers.count(len(task.rankings), "whole ranking")
    if len(task.rankings) < 2:
        return f"{ranked}; agreement is unknown, because it takes two"
    if task.concordance.value is None:
        return f"{ranked}; agreement is unknown: {task.concordance.reason}"
    chance = ""
    if task.chance.p is not None:
        chance = (
            f"; people ranking at random agree as much {numbers.percent(task.chance.p)} of the time"
        )
    by_chance = f"1 full, {1 / len(task.rankings):.2f} by chance"
    return f"{ranked}, Kendall's W {task.concordance.value:.2f} ({by_chance}){chance}"


def _agreement(report: Report) -> list[tuple[str, str]]:
    taus = [task.agreement for task in report.tasks if task.agreement is not None]
    rows = []
    if taus:
        tau = sum(taus) / len(taus)
        same = numbers.percent((1 + tau) / 2)
        said = (
            f"shown two texts, two people prefer the same one {same} of the time "
            f"(tau {tau:.2f}; chance is 50 %)"
        )
        rows.append(("People", said))
    rows.append(("Scores", f"Krippendorff's alpha (1 full, 0 chance): {_alphas(report)}"))
    return [*rows, *_panel(report.panel)] if report.panel else rows


def _alphas(report: Report) -> str:
    known = [f"{line} {a.value:.2f}" for line, a in report.alpha.items() if a.value is not None]
    unknown: dict[str, list[str]] = {}
    for line, alpha in report.alpha.items():
        if alpha.value is None:
            unknown.setdefault(alpha.reason, []).append(line)
    lost = [f"{', '.join(lines)} unknown ({reason})" for reason, lines in unknown.items()]
    return "; ".join([", ".join(known), *lost] if known else lost)


def _panel(found: AgreementWithPanel) -> list[tuple[str, str]]:
    rows = []
    for number, task in enumerate(found.tasks, 1):
        of = f"task {number}: " if len(found.tasks) > 1 else ""
        order = statements.ranking(sorted(task.panel, key=lambda name: -task.panel[name]))
        tau = "unknown" if task.tau.value is None else f"{task.tau.value:.2f}"
        judges = numbers.count(task.judges, "judge")
        rows.append(("Panel", f"{of}{order} by {judges}; tau with the order of the people {tau}"))
    pairs = found.pairs
    if pairs.value is None:
        return [*rows, ("Pairs", "unknown: nobody ranked two texts that the panel tells apart")]
    interval = (
        f" (95 % interval {pairs.low * 100:.0f} to {numbers.percent(pairs.high)})"
        if pairs.low is not None and pairs.high is not None
        else " (one person only, so no interval)"
    )
    tied = (
        f"; {numbers.count(found.tied, 'pair')} left out, tied on the panel" if found.tied else ""
    )
    said = f"shown two texts, a person agrees with the panel {numbers.percent(pairs.value)} of the time"
    return [*rows, ("Pairs", f"{said}{interval}{tied}")]


def _comments(report: Report, console: Console) -> None:
    said = [
        (person.name, f"{about}: {' '.join(text.split())}")
        for person in report.people
        for about, text in person.comments.items()
    ]
    if said:
        _heading("Comments", console)
        for name, sentence in said:
            console.print(Text.assemble((f"{name} on ", "dim"), sentence))
