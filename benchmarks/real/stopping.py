"""When should a run end? Ways to end one on a real model, over briefs with limits, at equal calls.

    python -m benchmarks.real.stopping --base-url http://127.0.0.1:8077/v1 --model openai/qwen --out out/

One line of JSON for each run is put into the folder, a file for each arm; a second start with the same folder asks only
for arms without a file. Then a table: whose texts keep their limits, after how many calls and rounds.
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

from autoreason import read_task, refine
from autoreason.errors import AutoreasonError
from autoreason.events import BallotCast
from autoreason.run.result import Result
from autoreason.settings import ANY_GROWTH, MAX_PASSES

_NEVER: dict[str, Any] = {"k": MAX_PASSES, "passes": 50}
_REVIEWS: dict[str, Any] = {"review_every": 5, "reviewers": 7, "passes": 20, "min_reviews": 3}
_CONTESTS: dict[str, Any] = {
    "judges": 3,
    "candidates": "B+AB",
    "max_growth": ANY_GROWTH,
    "review_every": 0,
    "review_texts": 5,
}
ARMS: dict[str, dict[str, Any]] = {
    "survivals": _CONTESTS | {"k": 3, "passes": 15, "reviewers": 5},
    "fixed": _CONTESTS | _NEVER | {"reviewers": 7},
    "judged": _REVIEWS | {"judges": 1, "k": MAX_PASSES},
    "reviews": _REVIEWS,
}
"""Three judges until A survives three times; the same until the calls are spent; one judge, or none, with reviews."""


class StoppedRun(Struct, frozen=True, kw_only=True):
    """How a run ended."""

    brief: str
    error: str = ""
    status: str = ""
    ended_by: str | None = None
    rounds: int = 0
    calls: int = 0
    words: int | None = None
    """None where it was paused before it delivered."""
    draft_words: int = 0
    broken: list[str] = []
    """Limits that the text breaks."""
    trends: list[float | None] = []
    ballots: dict[int, tuple[int, int]] = {}
    """By how many texts a judge ranked: ballots that could be read, of how many."""


def stopped_run(brief: Path, result: Result) -> StoppedRun:
    """What is counted of a run."""
    story, end = result.story, result.story.delivered
    panels = [each.ballots for each in story.passes] + [each.ballots for each in story.reviews]
    return StoppedRun(
        brief=brief.stem,
        status=story.status,
        ended_by=end.ended_by if end else None,
        rounds=len(story.passes),
        calls=result.spent.calls,
        words=end.words if end else None,
        draft_words=story.draft.words if story.draft else 0,
        broken=[each.message for each in result.violations],
        trends=[each.decided.trend for each in story.reviews if each.decided],
        ballots=_count_readable([ballot for each in panels for ballot in each]),
    )


def _count_readable(ballots: Sequence[BallotCast]) -> dict[int, tuple[int, int]]:
    sizes = sorted({len(each.order) for each in ballots})
    by_size = {size: [each for each in ballots if len(each.order) == size] for size in sizes}
    return {
        size: (sum(each.ranking is not None for each in cast), len(cast))
        for size, cast in by_size.items()
    }


async def run_arm(
    arm: str, briefs: Sequence[Path], options: argparse.Namespace
) -> list[StoppedRun]:
    """All briefs at once."""

    async def one(brief: Path) -> StoppedRun:
        try:
            result = await refine.aio(
                read_task(brief, limits_from_brief=False),
                options.model,
                base_url=options.base_url,
                seed=options.seed,
                budget={"calls": options.calls},
                journal=options.out / f"{arm}-{brief.stem}.db",
                confirmation=0,
                **ARMS[arm],
            )
        except AutoreasonError as error:
            return StoppedRun(brief=brief.stem, error=str(error))
        return stopped_run(brief, result)

    return await asyncio.gather(*map(one, briefs))


def as_table(arms: dict[str, list[StoppedRun]]) -> str:
    """One row an arm, as Markdown."""
    heads = ("arm", "keeps its contract", "calls", "rounds", "median length", "longest", "ballots")
    lines = [heads, ("---",) * len(heads)]
    for arm, rows in arms.items():
        over = [row for row in rows if row.words is not None]
        growth = [(row.words or 0) / row.draft_words for row in over if row.draft_words] or [0.0]
        read, cast = (sum(n[at] for row in rows for n in row.ballots.values()) for at in (0, 1))
        means = (fmean(n) for n in ([row.calls for row in rows], [row.rounds for row in rows]))
        lengths = (f"{value:.2f}" for value in (median(growth), max(growth)))
        kept = f"{sum(not row.broken for row in over)} of {len(over)}"
        lines.append((arm, kept, *(f"{mean:.1f}" for mean in means), *lengths, f"{read} of {cast}"))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.real.stopping",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--base-url", help="the server's address, ending in /v1")
    parser.add_argument("--model", required=True, help="such as openai/qwen")
    parser.add_argument("--out", type=Path, required=True, help="where runs and results are put")
    own = Path(__file__).parent / "briefs"
    parser.add_argument("--briefs", type=Path, nargs="+", default=[own], metavar="DIR")
    parser.add_argument("--arms", nargs="+", default=[*ARMS], choices=ARMS, metavar="NAME")
    parser.add_argument("--calls", type=int, default=66, help="the most of a run; default: 66")
    parser.add_argument("--seed", type=int, default=900, help="default: 900")
    return parser


def main() -> None:
    """Run what is missing, and print the table."""
    options = parser().parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    briefs = [path for folder in options.briefs for path in sorted(folder.glob("*.md"))]
    arms = {}
    for arm in options.arms:
        file = Path(options.out, f"{arm}.jsonl")
        if not file.exists():
            rows = asyncio.run(run_arm(arm, briefs, options))
            file.write_bytes(msgspec.json.Encoder().encode_lines(rows))
        arms[arm] = msgspec.json.Decoder(StoppedRun).decode_lines(file.read_bytes())
    print(as_table(arms))


if __name__ == "__main__":
    main()
