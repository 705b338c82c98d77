"""arms.py ARM SEED OUT BRIEFS...: all briefs at once under one arm; one line of JSON a run."""

import asyncio, json, sys, time
from pathlib import Path
from autoreason import read_task, refine

ARMS = {
    "today": {},
    "fixed": dict(
        judges=3,
        candidates="B+AB",
        k=50,
        passes=50,
        max_growth=100.0,
        review_every=0,
        review_texts=5,
        reviewers=7,
    ),
    "judged": dict(
        judges=1,
        candidates="B",
        k=50,
        passes=20,
        review_every=5,
        review_texts=9,
        reviewers=7,
        min_reviews=3,
        min_trend=0.5,
        max_growth=0.5,
    ),
    "chain": dict(
        judges=0,
        candidates="B",
        passes=20,
        review_every=5,
        review_texts=9,
        reviewers=7,
        min_reviews=3,
        min_trend=0.5,
        max_growth=0.5,
    ),
}
arm, seed, out, *briefs = sys.argv[1:]
MODEL, URL = (
    (sys.argv[-1], None)
    if "/" in sys.argv[-1] and not Path(sys.argv[-1]).exists()
    else ("openai/qwen", "http://127.0.0.1:8077/v1")
)
briefs = [b for b in briefs if Path(b).exists()]


def row(brief, result, seconds):
    s = result.story
    reviews = getattr(s, "reviews", None)
    cast = [(len(b.order), b.ranking is not None) for r in (reviews or []) for b in r.ballots]
    if reviews is None:
        cast = [(len(b.order), b.ranking is not None) for b in s.playoff_ballots]
    end = s.delivered
    return dict(
        arm=arm,
        seed=int(seed),
        brief=Path(brief).stem,
        status=s.status,
        ended_by=end and end.ended_by,
        reason=s.reason,
        rounds=len(s.passes),
        outcomes=[p.decided.outcome + ":" + str(p.decided.winner) for p in s.passes if p.decided],
        calls=result.spent.calls,
        draft_words=s.draft and s.draft.words,
        words=end and end.words,
        origin=s.origin,
        draft_broken=bool(s.draft and s.draft.violations),
        broken=[v.message for v in end.violations] if end else None,
        dropped=[d.reason for p in s.passes for d in p.dropped],
        pass_ballots=[(len(b.order), b.ranking is not None) for p in s.passes for b in p.ballots],
        review_ballots=cast,
        trends=[r.decided.trend for r in reviews if r.decided] if reviews else [],
        backs=[r.decided.back for r in reviews if r.decided] if reviews else [],
        text=s.text,
        draft=s.draft and s.draft.text,
        seconds=seconds,
    )


async def one(brief, file):
    began = time.monotonic()
    try:
        extra = {"base_url": URL} if URL else {}
        result = await refine.aio(
            read_task(brief),
            MODEL,
            seed=int(seed),
            confirmation=0,
            budget={"calls": 66},
            journal=f"{out}/{arm}-{seed}-{Path(brief).stem}.db",
            **extra,
            **ARMS[arm],
        )
        line = row(brief, result, time.monotonic() - began)
    except Exception as error:
        line = dict(arm=arm, seed=int(seed), brief=Path(brief).stem, error=repr(error))
    file.write(json.dumps(line) + "\n")
    file.flush()


async def main():
    with open(f"{out}/{arm}-{seed}.jsonl", "w") as file:
        await asyncio.gather(*(one(b, file) for b in briefs))


asyncio.run(main())
