"""Whole runs in memory, of authors, critics and judges who do anything that a model may do."""

from __future__ import annotations

import asyncio
import json
import random
from base64 import b64decode
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import cache
from typing import Any
from zlib import decompress

from msgspec.structs import replace
from tests.tournament.stage import UNSEEN, USUAL, Answer, document, play, shown_texts, vote

from autoreason.contract import Contract
from autoreason.events import AnyEvent, RunStarted
from autoreason.exchange import Request, Spent
from autoreason.run.result import Result
from autoreason.settings import Models
from autoreason.story import Story, build_story
from autoreason.task import Task

JUDGES = ("birds/lark", "birds/heron", "birds/wren")
SENTENCES = (
    "We ask for 410 euros.",
    "The library is closed on Sundays!",
    "Heating comes **on top**.",
    "Who pays, and when?",
    "<script>alert('no')</script> stays a sentence.",
    "A line with `code` and “quotes” in it.",
    "Nobody was asked.",
    "After six months we stop.",
    "نص من اليمين \u202eevil\u202c.",
    "Zero\u200bwidth.",
)


def write(rng: random.Random) -> str:
    lines = [f"# {rng.choice(('Sunday opening', 'A proposal', 'Nothing <b>bold</b>'))}", ""]
    for _ in range(rng.randrange(1, 5)):
        chosen = rng.sample(SENTENCES, rng.randrange(1, 4))
        shape = rng.randrange(3)
        lines += [f"## Part {rng.randrange(3)}", ""] if not shape else []
        lines += [f"- {each}" for each in chosen] if shape == 1 else [" ".join(chosen)]
        lines.append("")
    return "\n".join(lines)


def random_script(seed: int, flaws: float = 0.1) -> dict[str, Answer]:
    """Anything that may happen; `flaws` is how often an answer cannot be used."""
    rng = random.Random(seed)

    def flawed(answer: Callable[[Request], str]) -> Answer:
        return lambda request: "" if rng.random() < flaws else answer(request)

    def criticise(request: Request) -> str:
        text = next(iter(shown_texts(request).values()), "")
        lines = [line for line in text.splitlines() if len(line) > 3] or ["nothing"]
        quotes = [rng.choice(lines), ""]
        problems = [
            {
                "severity": rng.choice(("critical", "major", "minor")),
                "kind": "quote" if quote else "missing",
                "quote": quote,
                "problem": "It is <i>weak</i>.",
            }
            for quote in rng.sample(quotes, rng.randrange(3))
        ]
        return json.dumps({"problems": problems})

    def judge(request: Request) -> str:
        labels = [*shown_texts(request)]
        if not labels:
            return "I have said it already."
        rng.shuffle(labels)
        said = rng.choice(["", f"{labels[0]} is clear. {labels[-1]} is <b>not</b>."])
        return json.dumps({"reasoning": said, "ranking": " > ".join(labels)})

    return {
        "author": lambda _: document(write(rng)),
        "critic": flawed(criticise),
        "reviser": flawed(lambda _: document(write(rng))),
        "synthesizer": flawed(lambda _: document(write(rng))),
        "judge": flawed(judge),
    }


LINE = UNSEEN | {"confirmation": 9, "protocol": "robust", "required_lead": 1, "k": 3}


def unseen(rng: random.Random) -> dict[str, Any]:
    """Rounds without a vote, and reviews in one stage or two."""
    return LINE | {
        "passes": rng.choice((3, 7, 9)),
        "review_every": rng.choice((1, 2, 3)),
        "reviewers": rng.choice((2, 3, 7)),
        "ballot_texts": rng.choice((3, 4, 10)),
        "min_reviews": rng.choice((2, 9)),
        "review_texts": rng.choice((4, 9)),
    }


def _say(request: Request) -> str:
    """A judge who likes the text of round 3 best, then later ones, and says why."""
    shown = shown_texts(request)
    liked = {label: (" 3." in text, text) for label, text in shown.items()}
    first, *_, last = ranked = sorted(shown, key=liked.__getitem__, reverse=True)
    said = f"{first} says who pays. {last} does not."
    return json.dumps({"reasoning": said, "ranking": " > ".join(ranked)})


BACK: dict[str, Answer] = {
    **USUAL,
    "author": document("# Sundays\n\nWe open on Sundays."),
    "reviser": lambda request: document(
        f"# Sundays\n\nWe open on Sundays.\n\nWritten in round {request.key.split('/')[1]}."
    ),
    "judge": _say,
}
"""A run whose reviews put the text of round 3 first, so that it goes back to it."""
BACK_SETTINGS = LINE | {"passes": 7, "review_every": 5, "reviewers": 7, "voting": "borda"}


def _write_anew(request: Request) -> str:
    """A draft of its own; of those that are to take the place of a rewrite, the first is empty."""
    if request.key.startswith(("pass/1/draft/0", "pass/2/draft/0")):
        return ""
    return document(f"Written for {request.key.replace('/', ' ')}.")


WITHOUT_REWRITES: dict[str, Answer] = {
    **USUAL,
    "author": _write_anew,
    "reviser": lambda request: document(next(iter(shown_texts(request).values()))),
    "judge": vote("pass 2", "pass 1", "draft try"),
}
"""A run whose rewrites are the text that they are made from, so that new drafts take their place."""
CONTESTED, REVIEWED = range(16), range(16, 24)
SEEDS = (*CONTESTED, *REVIEWED)
"""Runs of all kinds: with ties, invalid rankings, texts that break limits, several rules, one judge and more; those
of the second kind have no votes in their rounds, and reviews between them."""


@cache
def random_events(seed: int) -> list[AnyEvent]:
    """The events of a whole run, the start included."""
    return play_events(seed)


def play_events(
    seed: int, script: Mapping[str, Answer] | None = None, **changes: Any
) -> list[AnyEvent]:
    """The same, with a script or settings of one's own."""
    rng = random.Random(seed)
    judges = JUDGES[: rng.choice((1, 3))]
    models = replace(Models.everywhere("birds/author"), judges=judges)
    options: dict[str, Any] = {
        "k": rng.choice((1, 2, 3)),
        "passes": rng.choice((1, 4, 8)),
        "voting": rng.choice(("borda", "majority", "copeland", "instant_runoff")),
        "protocol": rng.choice(("robust", "robust", "paper")),
        "required_lead": rng.choice((1, 1, 2)),
    } | changes
    if seed in REVIEWED and "strategy" not in changes:
        options |= unseen(rng) | changes
    if options["protocol"] == "paper":
        # Its own rules say what it may have.
        options = {name: options[name] for name in ("k", "passes", "protocol")} | changes
    limits = rng.choice((Contract(), Contract(max_words=60, sections=("Part 1",))))
    contract = Contract() if script else limits
    flaws = options.pop("flaws", rng.choice((0.0, 0.2)))
    script = script or random_script(seed, flaws)
    brief = options.pop("brief", "Write a proposal to the council.")
    run = play(script, brief=brief, contract=contract, models=models, seed=seed, **options)
    # In a thread of its own: a browser has a loop in this one.
    with ThreadPoolExecutor(1) as pool:
        played = pool.submit(asyncio.run, run).result()
    assert played.settings is not None
    started = RunStarted(
        task=Task(brief=brief, contract=contract), settings=played.settings, prompts={}, version="0"
    )
    return [started, *played.events]


def random_story(seed: int) -> Story:
    return build_story(random_events(seed))


def play_story(seed: int, script: Mapping[str, Answer] | None = None, **changes: Any) -> Story:
    return build_story(play_events(seed, script, **changes))


def unpack(page: str) -> list[list[str]]:
    """The blocks of HTML that a page shows when they are opened, and its parts, which name them."""
    packed = page.partition('id="packed">')[2].partition("<")[0]
    rows: list[list[str]] = json.loads(decompress(b64decode(packed)))
    return rows


def result_of(story: Story, **changes: Any) -> Result:
    fields: dict[str, Any] = {
        "run": "20261118-amber-fox",
        "status": story.status,
        "reason": story.reason or "under way",
        "spent": Spent(calls=40, input=9000, output=3000, known_cost=Decimal("0.26")),
        "story": story,
        "seconds": 192.0,
        "spent_by_role": {"author": Spent(calls=1), "judge": Spent(calls=39)},
    }
    return Result(**(fields | changes))
