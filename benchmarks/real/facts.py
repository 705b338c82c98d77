"""Do facts survive? Drafts and briefs that state facts, refined with and without a check of facts, on a real model.

    python -m benchmarks.real.facts --base-url http://127.0.0.1:8077/v1 --model openai/qwen --out out/

Arms: `free` (`--no-keep`) and `kept` (the default of drafts; of briefs `--keep all`), and for drafts alone `light`, the
same with `--edit light`: `--arms kept light --briefs --seeds 930 931`. One line of JSON for each run is put into the
folder; a second start asks only for what is missing. What is lost is counted by the same code as in a run.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from autoreason import read_task, refine
from autoreason.contract import count_words
from autoreason.errors import AutoreasonError
from autoreason.task import Task
from autoreason.tournament.edits import count_changed

_HERE = Path(__file__).parent
ARMS: dict[str, Any] = {"free": {}, "kept": {}, "light": {"edit": "light"}}
_RULE = "keep"


class FactRun(Struct, frozen=True, kw_only=True):
    """What became of the facts of one task."""

    task: str
    seed: int
    error: str = ""
    lost: list[str] = []
    """Facts of draft, facts and brief that the delivered text does not state, or states otherwise."""
    added: int = 0
    broken: list[str] = []
    """Other limits that it breaks."""
    is_draft: bool = False
    """Whether the first draft was delivered."""
    calls: int = 0
    growth: float = 1.0
    """Words of the text for each of the first draft."""
    changed: float = 0.0
    """Words that are another, gone or new, for each of the first draft."""


def tasks(drafts: Path, briefs: Sequence[Path]) -> dict[str, Task]:
    """Drafts with the brief next to them, and briefs alone."""
    given = {
        path.stem: read_task(path, draft=path.with_suffix(".draft.txt"))
        for path in sorted(drafts.glob("*.md"))
    }
    alone = [path for folder in briefs for path in sorted(folder.glob("*.md"))]
    return given | {path.stem: read_task(path) for path in alone}


async def run_one(
    name: str, task: Task, arm: str, seed: int, options: argparse.Namespace
) -> FactRun:
    """One run, and what its text states of what was given."""
    everything = ("draft",) if task.draft else ("all",)
    strict = replace(task, contract=replace(task.contract, keep=everything))
    free = replace(task, contract=replace(task.contract, keep=()))
    try:
        result = await refine.aio(
            free if arm == "free" else strict,
            options.model,
            base_url=options.base_url,
            seed=seed,
            journal=options.out / f"{arm}-{name}-{seed}.db",
            **ARMS[arm],
        )
        text = result.text
    except AutoreasonError as error:
        return FactRun(task=name, seed=seed, error=str(error))
    broken = strict.violations(text)
    first = result.story.draft
    words, changed = count_changed(first.text if first else text, text)
    return FactRun(
        task=name,
        seed=seed,
        lost=[each.message for each in broken if each.rule == _RULE],
        added=len(result.story.new_facts),
        broken=[each.message for each in broken if each.rule != _RULE],
        is_draft=first is not None and first.text == text,
        calls=result.spent.calls,
        growth=count_words(text) / max(1, first.words) if first else 1.0,
        changed=changed / words,
    )


def as_table(arms: dict[str, list[FactRun]], kind: str) -> str:
    """One row an arm, as Markdown."""
    heads: tuple[str, ...] = (
        kind,
        "lost or changed a fact",
        "facts lost",
        "added",
        "other limits kept",
    )
    heads += ("first draft delivered", "calls", "median length")
    heads += ("words changed", "at most", "failed")
    lines: list[tuple[str, ...]] = [heads, ("---",) * len(heads)]
    for arm, every in arms.items():
        rows = [row for row in every if not row.error]
        if not rows:
            continue
        counts = (
            sum(bool(row.lost) for row in rows),
            sum(len(row.lost) for row in rows),
            sum(row.added for row in rows),
            sum(not row.broken for row in rows),
            sum(row.is_draft for row in rows),
        )
        of = f" of {len(rows)}"
        cells = (f"{counts[0]}{of}", str(counts[1]), str(counts[2]), f"{counts[3]}{of}")
        calls, length = fmean(row.calls for row in rows), median(row.growth for row in rows)
        middle = (f"{counts[4]}{of}", f"{calls:.1f}", f"{length:.2f}")
        changed = [row.changed for row in rows]
        last = (f"{median(changed):.0%}", f"{max(changed):.0%}", str(len(every) - len(rows)))
        lines.append((arm, *cells, *middle, *last))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.real.facts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--base-url", help="the server's address, ending in /v1")
    parser.add_argument("--model", required=True, help="such as openai/qwen")
    parser.add_argument("--out", type=Path, required=True, help="where runs and results are put")
    parser.add_argument("--drafts", type=Path, default=_HERE / "drafts", metavar="DIR")
    briefs = [_HERE / "briefs"]
    parser.add_argument("--briefs", type=Path, nargs="*", default=briefs, metavar="DIR")
    parser.add_argument("--arms", nargs="+", default=["free", "kept"], choices=ARMS, metavar="NAME")
    parser.add_argument("--seeds", type=int, nargs="+", default=[920, 921, 922])
    return parser


async def run_arm(arm: str, options: argparse.Namespace) -> list[FactRun]:
    """Every task with every seed, at once."""
    found = tasks(options.drafts, options.briefs)
    runs = [
        run_one(name, task, arm, seed, options)
        for name, task in found.items()
        for seed in options.seeds
    ]
    return await asyncio.gather(*runs)


def main() -> None:
    """Run what is missing, and print the tables."""
    options = parser().parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    arms = {}
    for arm in options.arms:
        file = Path(options.out, f"{arm}.jsonl")
        if not file.exists():
            rows = asyncio.run(run_arm(arm, options))
            file.write_bytes(msgspec.json.Encoder().encode_lines(rows))
        arms[arm] = msgspec.json.Decoder(FactRun).decode_lines(file.read_bytes())
    drafts = {path.stem for path in options.drafts.glob("*.md")}
    for kind, wanted in (("drafts", True), ("briefs", False)):
        chosen = {
            arm: [row for row in rows if (row.task in drafts) == wanted]
            for arm, rows in arms.items()
        }
        print(as_table(chosen, kind), "\n")


if __name__ == "__main__":
    main()
