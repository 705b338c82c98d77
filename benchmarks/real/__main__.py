"""Run the plan on any OpenAI-compatible server: does the default beat asking again?

    python -m benchmarks.real --base-url http://127.0.0.1:8077/v1 --model openai/qwen --out out/

A second start with the same folder goes on where the first was, and pays for nothing twice.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import msgspec

from autoreason.version import __version__
from benchmarks.real.page import as_page
from benchmarks.real.plan import PROGRAMS, SETS, TEXTS, jobs, missing, run
from benchmarks.real.results import (
    Results,
    arms,
    gains,
    pooled,
    read_certificates,
    read_programs,
    read_texts,
)

_HERE = Path(__file__).parent
_SHARED = _HERE.parents[2] / "shared"


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.real",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--base-url", required=True, help="the server's address, ending in /v1")
    parser.add_argument("--model", required=True, help="such as openai/qwen")
    parser.add_argument(
        "--out", type=Path, required=True, help="where journals and results are put"
    )
    parser.add_argument(
        "--parts", type=_names, default=("programs", "texts", "certificate"), metavar="NAMES"
    )
    parser.add_argument("--sets", type=_names, default=tuple(SETS), metavar="NAMES")
    parser.add_argument("--problems", type=Path, default=_SHARED / "problems", metavar="DIR")
    parser.add_argument(
        *("--briefs", "-b"),
        type=Path,
        action="append",
        metavar="DIR",
        help="folder of briefs with contracts, repeatable; default: the one next to this program",
    )
    parser.add_argument("--programs", type=_names, default=PROGRAMS, metavar="STRATEGIES")
    parser.add_argument("--texts", type=_names, default=TEXTS, metavar="STRATEGIES")
    parser.add_argument("--repeats", type=int, help="of everything; default: the plan's own")
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="added to the seeds of the plan; another number makes an independent run",
    )
    parser.add_argument(
        "--limit",
        type=int,
        help="only the first problems of each set and the first briefs of each folder",
    )
    parser.add_argument(
        "--at-once",
        type=int,
        default=4 * (os.cpu_count() or 1),
        help="commands running at once; default: four for each processor of this machine",
    )
    parser.add_argument(
        "--previous", type=Path, help="results.json of an earlier run, shown alongside"
    )
    parser.add_argument(
        "--only-report", action="store_true", help="ask nothing; read what there is"
    )
    return parser


def main() -> int:
    """Run, read, print; 1 where a command failed."""
    options = parser().parse_args()
    options.briefs = options.briefs or [_HERE / "briefs"]
    planned = list(jobs(options))
    if absent := missing(planned):
        names = ", ".join(absent)
        sys.exit(f"no problems at {names}: name their folder with --problems, or other --parts")
    failed = (
        [] if options.only_report else run(planned, options.out, options.at_once, options.base_url)
    )
    programs = read_programs(planned, options.out)
    every = [*programs, *pooled(programs)]
    texts, passes, judged = read_texts(planned, options.out)
    results = Results(
        model=options.model,
        version=__version__,
        programs=arms(every),
        program_gains=gains(every, options.programs),
        texts=arms(texts),
        text_gains=gains(texts, options.texts),
        passes=passes,
        judged=judged,
        certificates=read_certificates(planned, options.out),
    )
    Path(options.out, "results.json").write_bytes(
        msgspec.json.format(msgspec.json.encode(results), indent=2)
    )
    previous = (
        msgspec.json.decode(options.previous.read_bytes(), type=Results)
        if options.previous
        else None
    )
    page = as_page(results, previous)
    Path(options.out, "results.md").write_text(page, "utf-8")
    print(page)
    for job in failed:
        print(f"{job.name} failed: see {options.out / job.name}.err", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
