"""Run every suite of the paper with any model, within one budget; a second start goes on where the first was.

    python -m paper -m MODEL --cost 20 --out paper-results/
    python -m paper -m MODEL -m strong=MODEL -m weak=MODEL --hours 10 --out paper-results/

Suites with fewer calls come first, so that a budget answers as many questions as it can. Each has its journal and,
once it is done, its report in the folder. A suite that the budget ended is continued by the same command with a
larger one. What is limited is the sum over all suites and all starts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from autoreason import Budget, Journal, Result, lab, resume
from autoreason.errors import AutoreasonError, InvalidInput, UnknownRun
from autoreason.events import AnyEvent
from autoreason.run.cells import find_suite_run, report_of
from autoreason.run.record import recorded_result
from autoreason.studies.lab_suite import CellFinished
from paper.command import make_parser

SUITES = Path(__file__).parent / "suites"


def recorded(journal: Path) -> Result | None:
    """The run of the suite that this journal is for, as far as it has come."""
    if not journal.is_file():
        return None
    with Journal(journal) as book, suppress(UnknownRun):
        row, *_ = find_suite_run(None, book)
        return recorded_result(row, book.story(row.id), book)
    return None


def left_of(budget: Budget, others: Iterable[Result]) -> Budget | None:
    """The limits of a suite, after what all others took; None where one of them leaves nothing."""
    results = list(others)
    used = {
        "cost": sum((result.cost or 0 for result in results), Decimal(0)),
        "calls": sum(result.calls for result in results),
        "seconds": sum(result.seconds or 0 for result in results),
    }
    limits = {
        name: getattr(budget, name) - taken
        for name, taken in used.items()
        if getattr(budget, name) is not None
    }
    return None if any(limit <= 0 for limit in limits.values()) else Budget(**limits)


def run_suites(
    suites: Sequence[Path], models: dict[str, str], budget: Budget, out: Path, **options: Any
) -> int:
    """Run them, those with fewer calls first; 0 where all are done."""
    plans = {
        suite: lab.prepare(suite, **_models(suite, models), **options).plan() for suite in suites
    }
    results = {suite: recorded(out / f"{suite.stem}.db") for suite in suites}
    for suite in sorted(
        suites, key=lambda suite: ((calls := plans[suite].calls) and calls.likely) or 0
    ):
        plan = plans[suite]
        result, journal = results[suite], out / f"{suite.stem}.db"
        if result and result.finished:
            continue
        limits = left_of(
            budget, (each for other, each in results.items() if each and other != suite)
        )
        if limits is None:
            print(f"{suite.stem}: the budget is spent")
            continue
        calls = f"{plan.calls.likely:,}" if plan.calls else "an unknown number of"
        print(f"{suite.stem}: {plan.cells:,} cells, about {calls} calls", flush=True)
        hooks: dict[str, Any] = {"journal": journal, "budget": limits, "on_event": _follow}
        try:
            if result:
                results[suite] = result = resume(result.run, **hooks)
            else:
                given = _models(suite, models) | options | hooks
                results[suite] = result = lab(suite, **given)
        except InvalidInput as error:
            # What is left may be too little for this suite and enough for another.
            print(f"{suite.stem}: {error}", flush=True)
            continue
        _write_report(journal, out / suite.stem)
        print(f"{suite.stem}: {result.sentence}", flush=True)
    done = sum(bool(result and result.finished) for result in results.values())
    print(f"{done} of {len(suites)} suites are done; reports are in {out}")
    return 0 if done == len(suites) else 3


def _models(suite: Path, models: dict[str, str]) -> dict[str, Any]:
    """The model of a suite, and those that it leaves open by name."""
    names = yaml.safe_load(suite.read_text("utf-8")).get("models", [])
    named = {name: models[name] for name in names if name in models}
    return {"model": models.get("")} | ({"named_models": named} if named else {})


def _follow(event: AnyEvent) -> None:
    if isinstance(event, CellFinished):
        print(f"  {event.line}", file=sys.stderr, flush=True)


def _write_report(journal: Path, file: Path) -> None:
    """What there is of it, as a page and as Markdown."""
    with Journal(journal) as book, suppress(AutoreasonError):
        report = report_of(None, journal=book).report
        file.with_suffix(".html").write_text(report.to_html(), "utf-8")
        file.with_suffix(".md").write_text(report.to_markdown(), "utf-8")


def main() -> int:
    """The command line."""
    parser = make_parser("paper", __doc__)
    parser.add_argument(
        *("-m", "--model"),
        action="append",
        required=True,
        metavar="[NAME=]MODEL",
        help="plays every role; strong= and weak= for the suites about models of different strength",
    )
    parser.add_argument("--cost", type=Decimal, help="most US dollars, all suites together")
    parser.add_argument("--calls", type=int, help="most calls")
    parser.add_argument("--hours", type=float, help="longest time at work")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--repeats", type=int, help="instead of what the suites say, to try it")
    parser.add_argument("--anyway", action="store_true", help="also what could show nothing")
    parser.add_argument(
        "suites", nargs="*", metavar="SUITE", help="names, such as single_pass; default: all"
    )
    arguments = parser.parse_args()
    models: dict[str, str] = {}
    for given in arguments.model:
        name, equals, model = given.partition("=")
        models[name if equals else ""] = model if equals else given
    seconds = arguments.hours * 3600 if arguments.hours else None
    budget = Budget(cost=arguments.cost, calls=arguments.calls, seconds=seconds)
    options = {"repeats": arguments.repeats, "anyway": arguments.anyway or bool(arguments.repeats)}
    names = arguments.suites or sorted(path.stem for path in SUITES.glob("*.yaml"))
    arguments.out.mkdir(parents=True, exist_ok=True)
    try:
        suites = [SUITES / f"{name}.yaml" for name in names]
        return run_suites(suites, models, budget, arguments.out, **options)
    except AutoreasonError as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    sys.exit(main())
