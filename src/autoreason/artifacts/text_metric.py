"""A metric over texts: an evaluator that a tournament carries as a guard or a judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from autoreason.artifacts.evaluator.saved_evaluation import digest_of
from autoreason.artifacts.measurement import Look, LookOutcome, LookQuery, Measurement
from autoreason.artifacts.research_task import Better, EvaluationSource
from autoreason.artifacts.task_file import read_evaluator
from autoreason.errors import InvalidInput
from autoreason.exchange import Query
from autoreason.tournament.metric import Metric, MetricRole

FILE = "text.md"
"""Where an evaluator finds the text."""


class TextMetric(Metric, Struct, frozen=True, kw_only=True, tag_field="type", tag=True):
    """An evaluator of texts, named by the digest under which it is saved."""

    evaluate: str
    """A command, or `file.py:function`."""
    evaluation: str
    better: Better = "higher"
    role: MetricRole = "guard"

    def query(self, key: str, text: str, seed: int) -> Query[Any]:
        """One look at the text as a file."""
        return LookQuery(key=key, look=Look(files={FILE: text}, seed=seed))

    def read(self, answer: Measurement) -> float | None:
        """Its number, higher is better."""
        if answer.outcome is not LookOutcome.OK or answer.value is None:
            return None
        return answer.value if self.better == "higher" else -answer.value

    def fault(self, answer: Measurement) -> str:
        """What the evaluator says of it."""
        return "" if answer.outcome is LookOutcome.OK else answer.detail or answer.outcome


def read_metric(
    evaluate: str, better: Better, role: MetricRole
) -> tuple[TextMetric, EvaluationSource]:
    """The metric that a command or function of the current folder is, and what is saved of it."""
    try:
        source = read_evaluator(evaluate, Path().resolve())
    except InvalidInput as error:
        text = str(error).replace("`evaluate`", "`metric`")
        # There is no task file, so paths are those of the current folder.
        raise InvalidInput(text.replace("the task's folder", "the current folder")) from None
    digest = digest_of(source)
    return TextMetric(evaluate=evaluate, evaluation=digest, better=better, role=role), source
