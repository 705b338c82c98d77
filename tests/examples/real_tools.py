"""The real tools with their models for tests, and our adapters inside them.

`python -m tests.examples.real_tools TOOL FILE` runs an example of the page, where only the loopback can be reached.
"""

from __future__ import annotations

import asyncio
import math
import runpy
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from examples.host_agent import reply_to


def inspect(path: str) -> None:
    """Evaluate the task of a file, and print what Inspect says of its scores."""
    from inspect_ai import eval as evaluate
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def answer(messages: list[Any], *_: object) -> ModelOutput:
        # Without these the model for tests would fetch what counts tokens.
        usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        output = ModelOutput.from_content("mockllm", reply_to(messages[-1].text))
        return output.model_copy(update={"usage": usage})

    model = get_model("mockllm/model", custom_outputs=answer)
    roles = {"grader": get_model("mockllm/grader", custom_outputs=answer)}
    task = runpy.run_path(path)["tides"]()
    (log,) = evaluate(task, model=model, model_roles=roles, display="none", log_dir="logs")
    assert log.status == "success", log.error
    (found,) = log.results.scores
    means = " ".join(f"{name} {each.value:.3f}" for name, each in found.metrics.items())
    print(
        f"{found.name}: {means}, scored {found.scored_samples}, unscored {found.unscored_samples}"
    )
    for sample in log.samples:
        assert sample.output.completion == sample.messages[-1].text
        score = sample.scores["preferred"]
        print(f"{score.value:.2f} {score.reason or ''} {score.explanation}")


def dspy(path: str) -> None:
    """Run a program of a file, await its module, and compare an answer with itself."""
    from dspy import Evaluate

    names = runpy.run_path(path)
    awaited = asyncio.run(names["refined"].acall(question="Explain tides."))
    assert awaited.answer == names["refined"](question="Explain tides.").answer
    alike = names["sample"].copy(answer=names["ANSWER"])
    evaluate = Evaluate(devset=[alike], metric=names["metric"], failure_score=float("nan"))
    assert math.isnan(evaluate(names["program"]).score)


def llm(*arguments: str) -> None:
    """The command line of llm, with one model more."""
    import llm
    from llm.cli import cli
    from llm.plugins import pm

    def execute(_: object, prompt: Any, **__: object) -> Iterator[str]:
        yield reply_to(prompt.prompt)

    async def execute_async(_: object, prompt: Any, **__: object) -> AsyncIterator[str]:
        yield reply_to(prompt.messages[-1].parts[-1].text)

    mock = type("Mock", (llm.Model,), {"model_id": "mock", "execute": execute})
    asked = type("AsyncMock", (llm.AsyncModel,), {"model_id": "mock", "execute": execute_async})

    def register_models(register: Any) -> None:
        register(mock(), asked())

    pm.register(
        type("Mocks", (), {"register_models": staticmethod(llm.hookimpl(register_models))})()
    )
    cli(arguments)


RUN: dict[str, Callable[..., None]] = {"inspect": inspect, "dspy": dspy, "llm": llm}

if __name__ == "__main__":
    RUN[sys.argv[1]](*sys.argv[2:])
