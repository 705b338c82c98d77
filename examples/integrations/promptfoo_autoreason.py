"""promptfoo: an assertion that compares outputs with a reference, and a provider that refines."""

from typing import Any

from autoreason import AutoreasonError, judge, refine


async def get_assert(output: Any, context: dict[str, Any]) -> dict[str, Any]:
    """Passes where judges prefer the output to the variable `reference` beyond chance; `config` is for `judge`."""
    given = {"output": output, "reference": context["vars"]["reference"]}
    texts = {name: "" if each is None else str(each) for name, each in given.items()}
    try:
        options = {"pairwise": True, **context.get("config", {})}
        report = (await judge.aio(context["prompt"], texts, **options)).report
    except AutoreasonError as error:
        # What promptfoo's own graders answer where there is no grade: it has no third result.
        return {
            "pass": False,
            "score": 0,
            "reason": f"No score: {error}",
            "metadata": {"graderError": True},
        }
    share = report.duels[0].preferred
    found = {"votes": share.n, "low": share.low, "high": share.high, "abstained": report.abstained}
    return {
        "pass": report.winner == "output",
        "score": share.value,
        "named_scores": {"preferred": share.value},
        "reason": report.sentence,
        "metadata": found,
    }


async def call_api(
    prompt: str, options: dict[str, Any], _context: dict[str, Any]
) -> dict[str, Any]:
    """The prompt as a brief, and the refined text as output; `config` is for `refine`."""
    config = {k: v for k, v in options["config"].items() if k != "basePath"}
    try:
        result = await refine.aio(prompt, **config)
        text = result.delivered_text
    except AutoreasonError as error:
        return {"error": str(error)}
    spent, cost = result.spent, result.cost
    return {
        "output": text,
        "tokenUsage": {"prompt": spent.input, "completion": spent.output, "total": result.tokens},
        "cost": None if cost is None else float(cost),
        "metadata": {"run": result.run, "summary": result.summary()},
    }
