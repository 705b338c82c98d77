"""Inspect AI: a scorer that compares answers with targets, and a solver that refines answers."""

from typing import Any

import inspect_ai.model as inspect
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from autoreason import AutoreasonError, judge, refine
from autoreason.extend import OnSignal, Outcome, Reply, Request


class InspectModel:
    """Asks through Inspect, which logs and counts every call."""

    def __init__(self, model: inspect.Model) -> None:
        self.model, self.address = model, f"inspect/{model}"

    async def ask(self, request: Request, _on_signal: OnSignal | None = None) -> Reply:
        said = [(f"ChatMessage{each.speaker.title()}", each.text) for each in request.in_words()]
        messages = [getattr(inspect, kind)(content=text) for kind, text in said]
        limits = {"max_tokens": request.max_tokens, "temperature": request.temperature}
        output = await self.model.generate(messages, config=inspect.GenerateConfig(**limits))
        ended = {"max_tokens": Outcome.TRUNCATED, "content_filter": Outcome.REFUSED}
        return Reply(text=output.completion, outcome=ended.get(output.stop_reason, Outcome.OK))

    async def close(self) -> None: ...


@scorer(metrics=[mean(), stderr()])
def preferred(model: str | None = None, **options: Any) -> Scorer:
    """The share of votes for the answer against the target; options are those of `judge`."""

    async def score(state: TaskState, target: Target) -> Score:
        texts = {"answer": state.output.completion, "target": target.text}
        grader = InspectModel(inspect.get_model(model, role="grader"))
        try:
            result = await judge.aio(state.input_text, texts, grader, pairwise=True, **options)
            share = result.report.duels[0].preferred.value
        except AutoreasonError as error:
            reason = "grader_failed" if texts["answer"].strip() else "no_response"
            return Score.unscored(reason=reason, explanation=str(error))
        return Score(value=share, explanation=result.sentence, metadata=result.to_dict())

    return score


@solver
def refined(model: str | None = None, **options: Any) -> Solver:
    """Refines the answer so far, or writes one; options are those of `refine`."""

    async def solve(state: TaskState, _generate: Generate) -> TaskState:
        asked, draft = InspectModel(inspect.get_model(model)), state.output.completion or None
        result = await refine.aio(state.input_text, asked, draft=draft, **options)
        state.output = inspect.ModelOutput.from_content(asked.address, result.delivered_text)
        state.messages = [*state.messages[: -1 if draft else None], state.output.message]
        return state

    return solve
