"""Runs the benchmarks and compares what was measured with what was promised."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from benchmarks.kills import kill_runs
from benchmarks.many import measure_many
from benchmarks.measure import BUSY, Measure, as_page, as_text, for_information, this_machine
from benchmarks.sandbox import measure_sandbox
from benchmarks.server import ROOT
from benchmarks.single import measure_idle, measure_startup, measure_streaming
from benchmarks.solving import PROBLEMS, measure_solving

_KILLS = 1000
_PAGE = ROOT / "docs" / "benchmarks.md"


def measure_kills() -> list[Measure]:
    """What SIGKILL at random moments costs."""
    killing = kill_runs(_KILLS)
    kills = f"{killing.kills} kills in {killing.runs} runs"
    return [
        _none("kills", f"{kills}: runs that ended otherwise", killing.different),
        _none("kills", f"{kills}: calls paid for twice", killing.asked_twice),
        for_information("kills", "time it took", f"{killing.seconds:.0f} s"),
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
    "streaming": measure_streaming,
    "many": measure_many,
    "kills": measure_kills,
    "sandbox": measure_sandbox,
    "solve": measure_solving,
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
