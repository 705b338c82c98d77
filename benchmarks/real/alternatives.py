"""How many different short texts can be had, and how unlike may they have to be? `alternatives` on a real model.

    python -m benchmarks.real.alternatives --base-url http://127.0.0.1:8077/v1 --model openai/qwen --out out/

Fixed before anything was seen: three texts for each of eight briefs (headlines, subject lines, slogans, names), three
seeds. An arm is the share of words in which two texts differ at least, in place of 40 %; the rule about openings stays.
Another share is better if it is larger and no more than two runs fewer have three texts, with at most a quarter more
calls; or if it is smaller, where under 80 % of runs have three, and at least three runs more do. All else describes.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import fmean
from unittest.mock import patch

import msgspec
from msgspec import Struct

from autoreason import read_task, refine
from autoreason.errors import AutoreasonError
from autoreason.parsing.documents import share_changed

WANTED = 3
ARMS = (0.0, 0.2, 0.4, 0.6, 0.8)
PRESENT = 0.4
SEEDS = (940, 941, 942)
_WORD = re.compile(r"\w+")


class ChoiceRun(Struct, frozen=True, kw_only=True):
    """What there is to choose from."""

    brief: str
    seed: int
    error: str = ""
    texts: list[str] = []
    """Delivered, those that break a limit left out."""
    written: list[str] = []
    """Every text that keeps its limits, with those that were too much like another, in order."""
    calls: int = 0


def alike(least: float, one: str, other: str) -> bool:
    """The rule of short texts, for any share of words."""
    begin, begins = (_WORD.findall(text.casefold())[:3] for text in (one, other))
    return begin == begins or share_changed(one, other) < least


async def run_one(path: Path, least: float, seed: int, options: argparse.Namespace) -> ChoiceRun:
    """One run, and what was written for it."""
    task = read_task(path)
    journal = options.out / f"{least}-{path.stem}-{seed}.db"
    asked = {"base_url": options.base_url, "seed": seed, "journal": journal}
    try:
        result = await refine.aio(task, options.model, alternatives=WANTED, **asked)
    except AutoreasonError as error:
        return ChoiceRun(brief=path.stem, seed=seed, error=str(error))
    story = result.story
    written = [story.draft.text] if story.draft else []
    for one in story.passes:
        written += [each.text for each in one.candidates.values()]
        written += [each.text for each in one.dropped]
    delivered = (each.text for each in result.alternatives)
    return ChoiceRun(
        brief=path.stem,
        seed=seed,
        texts=[text for text in delivered if not task.violations(text)],
        written=[text for text in written if text and not task.violations(text)],
        calls=result.calls,
    )


def could_choose(row: ChoiceRun, least: float) -> bool:
    """Whether enough of what was written would be left by another share."""
    kept: list[str] = []
    for text in row.written:
        kept += [] if any(alike(least, text, other) for other in kept) else [text]
    return len(kept) >= WANTED


def as_table(arms: dict[float, list[ChoiceRun]]) -> str:
    """One row an arm, as Markdown."""
    heads = ("must differ", "three texts", "three of what 40 % recorded")
    lines: list[tuple[str, ...]] = [
        (*heads, "words that differ", "pairs that begin alike", "calls", "failed")
    ]
    lines.append(("---",) * len(lines[0]))
    for least, every in arms.items():
        rows = [row for row in every if not row.error]
        pairs = [pair for row in rows for pair in combinations(row.texts, 2)]
        if not pairs:
            continue
        apart = [share_changed(*pair) for pair in pairs]
        begin = sum(a.casefold().split()[:1] == b.casefold().split()[:1] for a, b in pairs)
        three = sum(len(row.texts) == WANTED for row in rows)
        could = sum(could_choose(row, least) for row in arms[PRESENT])
        of, calls = f" of {len(rows)}", f"{fmean(row.calls for row in rows):.1f}"
        cells = (f"{least:.0%}", f"{three}{of}", f"{could} of {len(arms[PRESENT])}")
        spread = (f"{fmean(apart):.0%}", f"{begin} of {len(pairs)}")
        lines.append((*cells, *spread, calls, str(len(every) - len(rows))))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


async def run_arm(least: float, options: argparse.Namespace) -> list[ChoiceRun]:
    """All briefs with all seeds at once."""
    briefs = sorted(Path(__file__).parent.glob("short/*.md"))
    runs = (run_one(path, least, seed, options) for path in briefs for seed in SEEDS)
    return await asyncio.gather(*runs)


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real.alternatives")
    parser.add_argument("--base-url", help="the server's address, ending in /v1")
    parser.add_argument("--model", required=True, help="such as openai/qwen")
    parser.add_argument("--out", type=Path, required=True, help="where runs and results are put")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    arms = {}
    for least in ARMS:
        file = Path(options.out, f"{least}.jsonl")
        if not file.exists():
            with patch("autoreason.strategies.too_alike", partial(alike, least)):
                rows = asyncio.run(run_arm(least, options))
            file.write_bytes(msgspec.json.Encoder().encode_lines(rows))
        arms[least] = msgspec.json.Decoder(ChoiceRun).decode_lines(file.read_bytes())
    print(as_table(arms))


if __name__ == "__main__":
    main()
