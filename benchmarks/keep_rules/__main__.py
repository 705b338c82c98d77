"""Keep rules of `autoreason research` in worlds where the true effect of every change is known.

    python -m benchmarks.keep_rules study --runs 2000
    python -m benchmarks.keep_rules search

`study` plays greedy, repeats, races and others at equal budgets. `search` tunes families of rules in six
worlds, each with as many tries, and plays the best of each with fresh luck where nothing was chosen.
"""

from __future__ import annotations

from argparse import Namespace
from functools import partial

from paper.command import add_output, add_runs, make_parser, show

from autoreason.report.report import Report
from autoreason.studies.simulation import OnSimulated
from benchmarks.keep_rules.search import search_rules
from benchmarks.keep_rules.study import study_rules


def main() -> None:
    """The command line."""
    parser = make_parser("benchmarks.keep_rules", __doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    study, search = (commands.add_parser(name) for name in ("study", "search"))
    for each in (study, search):
        each.add_argument(
            "--evaluations", type=int, default=200, help="that a run may make; default: 200"
        )
        add_runs(each, 200)
        add_output(each)
    search.add_argument(
        "--tries", type=int, default=40, help="settings of each family; default: 40"
    )
    show(arguments := parser.parse_args(), "done", partial(_work, arguments))


def _work(arguments: Namespace, progress: OnSimulated) -> Report:
    evaluations, runs, seed = arguments.evaluations, arguments.runs, arguments.seed
    if arguments.command == "study":
        return study_rules(evaluations, runs, seed, progress)
    return search_rules(evaluations, arguments.tries, runs, seed, progress)


if __name__ == "__main__":
    main()
