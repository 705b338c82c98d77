"""Every kind of job by name."""

from __future__ import annotations

from autoreason.jobs.job import Job, Product
from autoreason.plugins import load, short
from autoreason.settings import Settings
from autoreason.strategies.registry import find_strategy

OTHER_JOBS: dict[str, str] = {
    "judge": "autoreason.studies.panels.panel_jobs:RankedPanel",
    "judge_pairs": "autoreason.studies.panels.panel_jobs:PairwisePanel",
    "rejudge": "autoreason.studies.panels.rejudge:Rejudge",
    "certify": "autoreason.studies.certify.certificate:Certification",
    "knowledge_test": "autoreason.studies.knowledge_test:KnowledgeTest",
    "advise": "autoreason.studies.advise.advice_job:AdviceJob",
    "solve": "autoreason.programs.solve_job:Solve",
    "research": "autoreason.artifacts.research_job:Research",
    "lab": "autoreason.studies.lab.lab_job:Lab",
}
"""Jobs that are no strategies, each imported when it is used."""


_LABELS = {"judge_pairs": "judge, pairwise"}


def job_label(strategy: str) -> str:
    """The name of a job as people read it."""
    return _LABELS.get(strategy) or short(strategy)


def job_class(settings: Settings) -> type[Job]:
    """The job a run's settings name."""
    if settings.strategy not in OTHER_JOBS:
        return find_strategy(settings.strategy)
    kind = load("strategy", settings.strategy, OTHER_JOBS)
    assert isinstance(kind, type)
    assert issubclass(kind, Job)
    return kind


def written_by(settings: Settings | None) -> Product | None:
    """What a run writes, without importing its job; None where it judges what others have written."""
    if settings is None or settings.strategy not in OTHER_JOBS:
        return "text"
    products: dict[str, Product] = {"solve": "programs", "research": "files"}
    return products.get(settings.strategy)
