"""The plan, fixed before anything is seen: which commands are run against the server, with which seeds."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from autoreason.events import FINISHED
from autoreason.journal import Journal

SETS = {"humaneval": 11, "mbpp": 12, "stdio": 15}
"""Sets of problems with the seed of each."""
REPEATS = {"humaneval": 2, "mbpp": 2, "stdio": 1, "texts": 1}
"""How often everything is tried; what a small model hardly ever solves shows least for its calls."""
CALLS = (6, 12)
PROGRAMS = ("search", "single")
TEXTS = ("autoreason", "best_of_n")
STYLES = ("reasoned", "holistic")
"""With reasons before the ranking, which is the default, and without."""
_CERTIFICATE_SEED, _TEXT_SEED = 13, 14
_AUTOREASON = (sys.executable, "-m", "autoreason.cli")
_DONE = (0, 1)
"""Statuses of a run that has come to its end, solved or not."""


class Job(NamedTuple):
    """One command, with a journal of its own."""

    name: str
    kind: str
    """`solve`, `compare` or `certify`."""
    arguments: tuple[str, ...]

    def journal(self, out: Path) -> Path:
        """Where it is recorded."""
        return out / f"{self.name}.db"

    def output(self, out: Path) -> Path:
        """What is written when it is over."""
        return out / f"{self.name}.out"


def jobs(options: argparse.Namespace) -> Iterator[Job]:
    """Every command of the plan."""
    model_options = ("-m", options.model, "--base-url", options.base_url)
    if "programs" in options.parts:
        for calls in CALLS:
            for name in options.sets:
                yield _solve(
                    name, options.problems / f"{name}.jsonl", calls, model_options, options
                )
    if "certificate" in options.parts:
        server = ("--base-url", options.base_url, "--seed", str(_CERTIFICATE_SEED + options.seed))
        for style in STYLES:
            arguments = (options.model, *server, "--set", f"style={style}", "--json", "-q")
            yield Job(f"certificate-{style}", "certify", arguments)
    if "texts" in options.parts:
        for folder in options.briefs:
            for brief in sorted(folder.glob("*.md"))[: options.limit]:
                yield _compare(brief, model_options, options)


def _solve(
    name: str,
    problems: Path,
    calls: int,
    model_options: tuple[str, ...],
    options: argparse.Namespace,
) -> Job:
    title = f"{name}-{calls}"
    arguments = (
        *(str(problems), *model_options, "--strategy", ",".join(options.programs)),
        *("--calls", str(calls), "--repeats", _repeats(name, options)),
        *("--seed", str(SETS[name] + options.seed)),
        *("--report", str(options.out / title), "--json", "-q"),
        *(("--limit", str(options.limit)) if options.limit else ()),
    )
    return Job(title, "solve", arguments)


def _repeats(name: str, options: argparse.Namespace) -> str:
    return str(options.repeats or REPEATS[name])


def _compare(brief: Path, model_options: tuple[str, ...], options: argparse.Namespace) -> Job:
    arguments = (
        *(str(brief), *model_options, "--strategies", ",".join(options.texts)),
        *("--repeats", _repeats("texts", options), "--json", "-q", "--no-limits-from-brief"),
        *("--seed", str(_TEXT_SEED + options.seed)),
    )
    return Job(f"text-{brief.parent.parent.name}-{brief.stem}", "compare", arguments)


def missing(planned: Sequence[Job]) -> list[str]:
    """Files of problems that are not there."""
    files = {job.arguments[0] for job in planned if job.kind == "solve"}
    return sorted(name for name in files if not Path(name).exists())


def run(planned: Sequence[Job], out: Path, at_once: int, base_url: str) -> list[Job]:
    """Run what is not over yet, some at once; returns what failed. A second start goes on where this one was."""
    out.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ)
    if urlsplit(base_url).hostname in ("127.0.0.1", "localhost", "::1"):
        # A server of one's own asks for no key, and the provider's usual one should not go there.
        environment["OPENAI_API_KEY"] = "none"
    began = time.monotonic()

    def one(job: Job) -> bool:
        good = job.output(out).exists() or _run(job, out, environment)
        passed = time.monotonic() - began
        print(f"{passed:7.0f} s  {job.name}{'' if good else ' failed'}", file=sys.stderr)
        return good

    with ThreadPoolExecutor(at_once) as pool:
        return [job for job, good in zip(planned, pool.map(one, planned), strict=True) if not good]


def _is_over(path: Path) -> bool:
    with Journal.open(str(path), create=False) as journal:
        return all(row.status in FINISHED for row in journal.runs())


def _run(job: Job, out: Path, environment: dict[str, str]) -> bool:
    journal = ("--journal", str(job.journal(out)))
    started = job.journal(out).exists() and not _is_over(job.journal(out))
    if not started:
        # Over without a word of it: it was killed before it could say how it ended.
        job.journal(out).unlink(missing_ok=True)
    command = ("resume", "last", "--json", "-q") if started else (job.kind, *job.arguments)
    # Certificates choose prompts and warn: those of other runs and of other commands must not count here.
    apart = environment | {"XDG_DATA_HOME": str(out.absolute() / "data" / job.name)}
    with Path(out, f"{job.name}.err").open("ab") as errors:
        done = subprocess.run(
            [*_AUTOREASON, *command, *journal],
            stdout=subprocess.PIPE,
            stderr=errors,
            env=apart,
            check=False,
        )
    if done.returncode in _DONE:
        job.output(out).write_bytes(done.stdout)
    return done.returncode in _DONE
