"""Runs the benchmarks and compares what was measured with what was promised."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path

import msgspec

from benchmarks.growth import measure_growth
from benchmarks.host import measure_host
from benchmarks.kills import KillResult, kill_runs
from benchmarks.knowledge import measure_knowledge
from benchmarks.lab import measure_lab
from benchmarks.leases import measure_leases
from benchmarks.many import measure_many
from benchmarks.measure import BUSY, Measure, as_page, as_text, for_information, this_machine
from benchmarks.postgres import measure_postgres
from benchmarks.research import measure_research
from benchmarks.research_kills import kill_research
from benchmarks.sandbox import measure_sandbox
from benchmarks.scaling import measure_scaling
from benchmarks.server import ROOT
from benchmarks.single import measure_idle, measure_startup, measure_streaming
from benchmarks.site import measure_opening, measure_site
from benchmarks.solving import PROBLEMS, measure_solving

_KILLS = 1000
_PAGE = ROOT / "docs" / "benchmarks.md"


def measure_kills() -> list[Measure]:
    """What SIGKILL at random moments costs."""
    return _killed("kills", kill_runs(_KILLS), "calls paid for twice")


def measure_research_kills() -> list[Measure]:
    """The same for research, with an evaluator's process for some."""
    terms = [(1, False, 80), (2, False, 80), (1, True, 20), (2, True, 20)]
    results = [
        kill_research(kills, parallel=parallel, process=process)
        for parallel, process, kills in terms
    ]
    whole = KillResult(*(sum(numbers) for numbers in zip(*map(astuple, results), strict=True)))
    return _killed("research kills", whole, "evaluations taken twice")


def _killed(name: str, killing: KillResult, twice: str) -> list[Measure]:
    kills = f"{killing.kills} kills in {killing.runs} runs"
    return [
        _none(name, f"{kills}: runs that ended otherwise", killing.different),
        _none(name, f"{kills}: {twice}", killing.asked_twice),
        for_information(name, "time it took", f"{killing.seconds:.0f} s"),
    ]


def _none(name: str, what: str, count: int) -> Measure:
    return Measure(
        name=name,
        what=what,
        target="0",
        measured=str(count),
        kept=count == 0,
        raw={"value": count},
    )


BENCHMARKS: dict[str, Callable[..., list[Measure]]] = {
    "idle": measure_idle,
    "startup": measure_startup,
    "host": measure_host,
    "streaming": measure_streaming,
    "many": measure_many,
    "kills": measure_kills,
    "research_kills": measure_research_kills,
    "sandbox": measure_sandbox,
    "solve": measure_solving,
    "research": measure_research,
    "knowledge": measure_knowledge,
    "postgres": measure_postgres,
    "growth": measure_growth,
    "lab": measure_lab,
    "scaling": measure_scaling,
    "leases": measure_leases,
    "site": measure_site,
    "opening": measure_opening,
}


def main() -> int:
    """Run what was named, or all; 1 if a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(BENCHMARKS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there too")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument(
        "--problems", type=int, default=PROBLEMS, metavar="N", help="solve: of how many problems"
    )
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no benchmark {min(unknown)!r}; there are {', '.join(BENCHMARKS)}")
    machine = this_machine()
    print(machine)
    if machine.load > BUSY:
        print(f"warning: the machine is busy (load over {BUSY:g}); trust ratios, not times")
    measures: list[Measure] = []
    for name in arguments.names or BENCHMARKS:
        print(f"▸ {name}", file=sys.stderr, flush=True)
        measures += BENCHMARKS[name](*([arguments.problems] if name == "solve" else []))
    print(f"\n{as_text(measures)}")
    if arguments.json:
        arguments.json.write_bytes(msgspec.json.encode({"machine": machine, "measures": measures}))
    if arguments.write:
        _PAGE.write_text(as_page(measures, machine), encoding="utf-8")
    return int(any(measure.kept is False for measure in measures))


if __name__ == "__main__":
    sys.exit(main())
