"""Rules of research against each other: the same task, evaluations and seeds, and the same fresh looks at the end."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from autoreason.artifacts.research_job import Research
from autoreason.artifacts.research_terms import ResearchTerms
from autoreason.errors import InvalidInput
from autoreason.events import JobFinished
from autoreason.exchange import Query
from autoreason.jobs.job import Job, Plans, build_job, read_options, repeat_plans, run_job
from autoreason.jobs.parts import part_context
from autoreason.keys import PartName
from autoreason.report.numbers import count
from autoreason.settings import Settings
from autoreason.task import Task


class RuleComparison(Job):
    """In every repeat a research run by each rule; runs of a repeat share the seeds of all their looks."""

    summary = "rules of research with the same evaluations, on the same fresh looks"
    parts_write = "files"
    common_prompts = Research.common_prompts
    prompts = Research.prompts

    async def run(self) -> JobFinished:
        """One part after another, so that no evaluation disturbs one of another rule."""
        terms = read_options(self.settings, ResearchTerms)
        for number in range(1, terms.repeats + 1):
            for rule in terms.rules:
                context = part_context(
                    self.context,
                    str(PartName(rule, number)),
                    self.emit,
                    self.context.task,
                    _part_settings(self.settings, rule),
                    seed_name=f"repeat/{number}",
                )
                await run_job(build_job(Research, context))
        return self.finish(f"{count(len(terms.rules), 'rule')}, {count(terms.repeats, 'repeat')}")

    @classmethod
    def check(cls, settings: Settings) -> None:
        """There must be two different rules or more."""
        rules = read_options(settings, ResearchTerms).rules
        if len(rules) < 2 or len(set(rules)) < len(rules):
            raise InvalidInput("a comparison needs two different rules or more; name them")

    @classmethod
    def check_task(cls, task: Task, settings: Settings) -> None:
        """As for research."""
        Research.check_task(task, settings)

    @classmethod
    def sample_answer(cls, task: Task, query: Query[Any]) -> Any:
        """As for research."""
        return Research.sample_answer(task, query)

    @classmethod
    def plans(cls, settings: Settings) -> Plans:
        """Calls of as many research runs."""
        terms = read_options(settings, ResearchTerms)
        runs = terms.repeats * len(terms.rules)
        return repeat_plans(Research.plans(_part_settings(settings, terms.rule)), runs)

    @classmethod
    def fit_plans(cls, plans: Plans, task: Task, settings: Settings) -> Plans:
        """As for research."""
        return Research.fit_plans(plans, task, settings)


def _part_settings(settings: Settings, rule: str) -> Settings:
    options = {**settings.strategy_options, "rule": rule, "rivals": (), "repeats": 1}
    return replace(settings, strategy="research", strategy_options=options)
