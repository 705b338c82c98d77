"""DSPy: a metric that compares answers with the examples', and a module that refines what a program answers."""

from collections.abc import Callable, Mapping
from typing import Any

import dspy

from autoreason import judge, refine


def preferred(field: str, model: str, **options: Any) -> Callable[..., float]:
    """The share of votes for a prediction's field against the example's; options are those of `judge`."""

    def metric(example: dspy.Example, prediction: dspy.Prediction, trace: Any = None) -> float:
        texts = {"prediction": prediction[field], "example": example[field]}
        # What keeps a panel from a result is raised: DSPy counts it as an error.
        report = judge(brief_of(example.inputs()), texts, model, pairwise=True, **options).report
        if trace is not None:
            return report.winner == "prediction"
        return report.duels[0].preferred.value

    return metric


class Refined(dspy.Module):
    """A program whose answer is refined in one field; options are those of `refine`."""

    def __init__(self, program: dspy.Module, field: str, model: str, **options: Any) -> None:
        super().__init__()
        self.program, self.field, self.model, self.options = program, field, model, options

    def forward(self, **inputs: Any) -> dspy.Prediction:
        answer = self.program(**inputs)
        draft, options = answer[self.field], self.options
        result = refine(brief_of(inputs), self.model, draft=draft, **options)
        answer[self.field] = result.delivered_text
        return answer

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        answer = await self.program.acall(**inputs)
        draft, options = answer[self.field], self.options
        result = await refine.aio(brief_of(inputs), self.model, draft=draft, **options)
        answer[self.field] = result.delivered_text
        return answer


def brief_of(inputs: Mapping[str, Any]) -> str:
    return "\n\n".join(f"{name}: {value}" for name, value in dict(inputs).items())
