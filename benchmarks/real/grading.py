"""Do grades judge better than rankings on a real model? The same questions by both, and by both with criteria.

    python -m benchmarks.real.grading --base-url http://127.0.0.1:8077/v1 --model openai/qwen --out out/

Fixed before anything was seen: the 24 pairs of the certificate, of which one text is spoiled, `--judges` ballots each
in balanced orders, the same labels in all arms, others for each pair; seeds from 2200. What decides is the share of
ballots that put the sound text first (a half where labels decide between equal sums), pair by pair, `graded` less
`ranked`: grading becomes a default only if the 95 % interval of that difference is above 0 with criteria or without
them (p by permutation, corrected for the two), and no smaller share of ballots can be read, beyond 5 points. All else
describes: ties that labels decide, first places of the text shown first, tokens. Then a certificate by each. A second
start with the same folder asks only for arms without a file.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from paper.figures import paired_gain

from autoreason import certify, judge
from autoreason.events import BallotCast
from autoreason.settings import BallotForm
from autoreason.stats.resampling import permutation_test
from autoreason.studies.certificate_questions import SpoiledPair, pairs

CRITERIA = (
    "right: no statement contradicts the facts or another",
    "complete: nothing that the task asks for is missing",
    "in its limits: length, sections and wording are as the task says",
    "to the point: no sentence says nothing",
)
ARMS: dict[str, tuple[BallotForm, tuple[str, ...]]] = {
    "ranked": ("ranked", ()),
    "graded": ("graded", ()),
    "ranked, criteria": ("ranked", CRITERIA),
    "graded, criteria": ("graded", CRITERIA),
}
_DECIDED = (("graded", "ranked"), ("graded, criteria", "ranked, criteria"))


class JudgedPair(Struct, frozen=True, kw_only=True):
    """What the ballots on a pair came to."""

    name: str
    ballots: int
    readable: int
    first_try: int
    right: float
    """Ballots that put the sound text first; of equal sums half a ballot."""
    shown_first: int
    """Ballots that put the text first that was shown first."""
    tied: int
    """Ballots with equal sums, whose order labels decided."""
    calls: int
    tokens: int | None

    @property
    def share(self) -> float:
        """Of ballots that can be read, those that are right; half where there are none."""
        return self.right / self.readable if self.readable else 0.5


def judged_pair(
    name: str, ballots: Sequence[BallotCast], calls: int, tokens: int | None
) -> JudgedPair:
    """The ballots on a pair, counted."""
    cast = [each for each in ballots if each.ranking]
    firsts = [(each.ranking or ("",))[0] for each in cast]
    sums = [[sum(marks) for marks in each.grades.values()] for each in cast]
    ties = [len(set(each)) < len(each) for each in sums]
    right = [0.5 if tied else one == "sound" for one, tied in zip(firsts, ties, strict=True)]
    return JudgedPair(
        name=name,
        ballots=len(ballots),
        readable=len(cast),
        first_try=sum(each.asked == 1 for each in cast),
        right=sum(right),
        shown_first=sum(one == each.order[0] for one, each in zip(firsts, cast, strict=True)),
        tied=sum(ties),
        calls=calls,
        tokens=tokens,
    )


async def run_arm(arm: str, options: argparse.Namespace) -> list[JudgedPair]:
    """All pairs at once."""
    ballot, criteria = ARMS[arm]

    async def one(number: int, pair: SpoiledPair) -> JudgedPair:
        result = await judge.aio(
            replace(pair.task, criteria=criteria),
            {"sound": pair.sound, "spoiled": pair.spoiled},
            options.model,
            judges=options.judges,
            base_url=options.base_url,
            # Else every pair would have the same labels, which decide where sums are equal.
            seed=options.seed + number,
            ballot=ballot,
            journal=options.out / f"{arm.replace(', ', '-')}-{pair.name}.db",
        )
        panel = [each for panel in result.story.panels.values() for each in panel.ballots]
        return judged_pair(pair.name, panel, result.calls, result.tokens)

    return await asyncio.gather(*(one(number, pair) for number, pair in enumerate(pairs())))


def as_table(arms: dict[str, list[JudgedPair]]) -> str:
    """One row an arm, and the differences that decide, as Markdown."""
    heads = ("arm", "sound text first", "read", "at first try", "shown first", "ties")
    lines = [(*heads, "calls", "tokens a ballot"), ("---",) * 8]
    for arm, rows in arms.items():
        count = {name: sum(getattr(row, name) for row in rows) for name in _COUNTED}
        read, cast = count["readable"], count["ballots"]
        shares = (f"{count[name]:g} of {read}" for name in ("right", "first_try", "shown_first"))
        right, first_try, shown = shares
        tokens = [row.tokens for row in rows if row.tokens is not None]
        each = f"{sum(tokens) / cast:.0f}" if tokens and cast else "unknown"
        middle = (right, f"{read} of {cast}", first_try, shown, str(count["tied"]))
        lines.append((arm, *middle, str(count["calls"]), each))
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n\n".join([table, *(_difference(arms, *each) for each in _DECIDED)])


_COUNTED = ("readable", "ballots", "right", "first_try", "shown_first", "tied", "calls")


def _difference(arms: dict[str, list[JudgedPair]], one: str, other: str) -> str:
    if not arms.keys() >= {one, other}:
        return f"{one} less {other}: not asked"
    by = [a.share - b.share for a, b in zip(arms[one], arms[other], strict=True)]
    gain, p = paired_gain(by), permutation_test(by).p_value
    ends = (100 * (end or 0) for end in (gain.value, gain.low, gain.high))
    value, low, high = (f"{end:+.1f}" for end in ends)
    corrected = "unknown" if p is None else f"{min(1.0, len(_DECIDED) * p):.3f}"
    read = [fmean(row.readable / row.ballots for row in arms[each]) for each in (one, other)]
    said = f"{one} less {other}: {value} points ({low} to {high}), p {corrected} corrected for two"
    return f"{said}; read {100 * (read[0] - read[1]):+.1f} points"


def run_all(options: argparse.Namespace) -> dict[str, list[JudgedPair]]:
    """The arms that have no file yet, then certificates by rankings and by grades."""
    arms = {}
    for arm in ARMS:
        file = Path(options.out, f"{arm.replace(', ', '-')}.jsonl")
        if not file.exists():
            rows = asyncio.run(run_arm(arm, options))
            file.write_bytes(msgspec.json.Encoder().encode_lines(rows))
        arms[arm] = msgspec.json.Decoder(JudgedPair).decode_lines(file.read_bytes())
    forms: tuple[BallotForm, ...] = ("ranked", "graded")
    for form in forms if options.certificates else ():
        file = Path(options.out, f"certificate-{form}.txt")
        if not file.exists():
            found = certify(
                options.model,
                base_url=options.base_url,
                seed=options.seed,
                ballot=form,
                journal=options.out / f"certificate-{form}.db",
            )
            file.write_text(f"{form}: {found.report}\n", "utf-8")
        print(file.read_text("utf-8"))
    return arms


def parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.real.grading",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--base-url", help="the server's address, ending in /v1")
    parser.add_argument("--model", required=True, help="such as openai/qwen")
    parser.add_argument("--out", type=Path, required=True, help="where runs and results are put")
    parser.add_argument("--judges", type=int, default=8, help="ballots a pair; default: 8")
    parser.add_argument("--seed", type=int, default=2200, help="default: 2200")
    parser.add_argument("--no-certificates", dest="certificates", action="store_false")
    return parser


def main() -> None:
    """Ask what is missing, and print the table."""
    options = parser().parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    print(as_table(run_all(options)))


if __name__ == "__main__":
    main()
