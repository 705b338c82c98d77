"""Research that is measured by a function of the caller."""

from __future__ import annotations

from msgspec.structs import replace

from autoreason.artifacts.evaluation_service import EvaluationService
from autoreason.artifacts.evaluator.caller import CallerEvaluator, Evaluate
from autoreason.artifacts.evaluator.saved_evaluation import SavedEvaluation
from autoreason.artifacts.research_task import EvaluationSource, research_of
from autoreason.artifacts.research_terms import ResearchTerms
from autoreason.errors import InvalidInput
from autoreason.jobs.job import read_options
from autoreason.settings import Settings
from autoreason.task import Task


def caller_evaluator(
    task: Task, settings: Settings, evaluate: Evaluate, source: EvaluationSource, run: str = ""
) -> CallerEvaluator:
    """The caller's function over the items of a task."""
    research = research_of(task)
    assert research is not None
    source = replace(source, metric=research.metric)
    parallel = read_options(settings, ResearchTerms).parallel
    guards = tuple(research.guard)
    return CallerEvaluator(evaluate, source, parallel=parallel, run=run, guards=guards)


def caller_service(
    task: Task, settings: Settings, evaluate: Evaluate | None, run: str
) -> EvaluationService | None:
    """What measures a run that goes on; None where its own evaluator is saved, or it measures nothing."""
    research = research_of(task)
    if research is None or research.evaluate:
        if evaluate:
            raise InvalidInput(f"run {run} needs no `evaluate`; leave it out")
        return None
    if evaluate is None:
        raise InvalidInput(
            f"run {run} is measured by a Python function, which is not recorded; go on from Python with "
            f'`autoreason.resume("{run}", evaluate=function)`'
        )
    source = SavedEvaluation(research.evaluation).source
    return EvaluationService(caller_evaluator(task, settings, evaluate, source, run))
