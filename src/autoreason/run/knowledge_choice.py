"""What a run is shown of a folder of records, and where that goes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec.structs import replace

from autoreason.knowledge_records import JudgeOutcomes, Knowledge, ShownOutcomes
from autoreason.models.open import destination
from autoreason.report.numbers import count
from autoreason.settings import Models, provider_of, servers
from autoreason.task import Task


def add_knowledge(
    task: Task,
    folder: str | Path,
    models: Models,
    *,
    judge_outcomes: JudgeOutcomes = "tested",
    group: str = "",
    base_url: str | Mapping[str, str] | None = None,
    own: Collection[str] = (),
) -> Task:
    """The task with what is shown of a folder; `own` are addresses of models that the caller brings."""
    from autoreason.knowledge.index import Index
    from autoreason.knowledge.retrieval import Query, choose_knowledge
    from autoreason.knowledge.test_results import helps_judge, judge_weights

    # Where a model of the caller's sends things is not known.
    private = not own and not destinations(models, base_url)
    text = "\n\n".join(part for part in (task.brief, task.draft) if part)
    with Index.open(folder) as index:
        knowledge = choose_knowledge(index, Query(text, group=group, private=private))
    if judge_outcomes == "tested":
        helps = all(helps_judge(folder, judge) for judge in models.judges)
        judge_outcomes = "yes" if helps else "no"
    if judge_outcomes == "no":
        knowledge = replace(knowledge, judges=ShownOutcomes())
    weights = judge_weights(folder, models.judges, with_records=judge_outcomes == "yes")
    return replace(task, knowledge=replace(knowledge, source=str(folder), weights=weights))


def disclose(
    knowledge: Knowledge, models: Models, base_url: str | Mapping[str, str] | None = None
) -> str:
    """What is sent where, in one sentence."""
    number, away = len(knowledge.shown), destinations(models, base_url)
    shown = f"{count(number, 'record')}, {count(knowledge.words, 'word')} of {knowledge.source}"
    goes, stays = ("goes", "stays") if number == 1 else ("go", "stay")
    where = f"{goes} to {' and '.join(away)}" if away else f"{stays} on this machine"
    private = knowledge.left_out.get("private", 0)
    left = f"; {count(private, 'private record')} {'stays' if private == 1 else 'stay'} here"
    return f"{shown} {where}{left if private else ''}"


def destinations(models: Models, base_url: str | Mapping[str, str] | None) -> list[str]:
    """The providers to which anything that these models are asked is sent; none where all stays here."""
    bases = servers(base_url, models.all())
    found = (destination(each, bases.get(provider_of(each))) for each in models.all())
    return [name for name in dict.fromkeys(found) if name]
