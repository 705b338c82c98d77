"""What a run is shown of a folder of records, and where that goes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec import convert
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.knowledge_records import (
    FittedName,
    Knowledge,
    PredictorSeat,
    ShownOutcomes,
    ShownRecord,
    WhenTested,
)
from autoreason.models.open import destination
from autoreason.report.numbers import count
from autoreason.settings import Models, Settings, provider_of, servers
from autoreason.stats.results import Estimate
from autoreason.task import Task


def add_knowledge(
    task: Task,
    folder: str | Path,
    models: Models,
    *,
    judge_outcomes: WhenTested = "tested",
    group: str = "",
    base_url: str | Mapping[str, str] | None = None,
    own: Collection[str] = (),
) -> Task:
    """The task with what is shown of a folder; `own` are addresses of models that the caller brings."""
    from autoreason.knowledge.folder import check_private
    from autoreason.knowledge.index import Index
    from autoreason.knowledge.retrieval import Query, choose_knowledge
    from autoreason.knowledge.test_results import helps_judge, judge_weights

    check_private(folder)
    # Where a model of the caller's sends things is not known.
    private = not own and not destinations(models, base_url)
    with Index.open(folder) as index:
        knowledge = choose_knowledge(index, Query(_known_text(task), group=group, private=private))
    if judge_outcomes == "tested":
        helps = all(helps_judge(folder, judge) for judge in models.judges)
        judge_outcomes = "yes" if helps else "no"
    if judge_outcomes == "no":
        knowledge = replace(knowledge, judges=ShownOutcomes())
    weights = judge_weights(folder, models.judges, with_records=judge_outcomes == "yes")
    return replace(task, knowledge=replace(knowledge, source=str(folder), weights=weights))


def seat_predictor(
    task: Task,
    folder: str | Path,
    when: WhenTested = "tested",
    *,
    group: str = "",
    strategy: str = "autoreason",
) -> tuple[Task, bytes]:
    """The task with a predictor's seat, where one is tested or wanted, and the predictor as it is to be saved."""
    if when == "no" or task.knowledge is None or (when == "tested" and strategy != "autoreason"):
        return task, b""
    if strategy != "autoreason":
        raise InvalidInput(
            f"a predictor has a seat on the panels of a tournament, and {strategy} is none; leave out "
            "`predictor_seat`"
        )
    from autoreason.knowledge.folder import read_folder
    from autoreason.knowledge.predictor import MIN_FITTED, comparable_rows
    from autoreason.knowledge.retrieval import Query, gives_away
    from autoreason.knowledge.ridge import digest_ridge, encode_ridge, fit_for_run
    from autoreason.knowledge.test_results import choose_fitted

    tested = choose_fitted(folder, when)
    if tested is None and when == "tested":
        return task, b""
    query = Query(_known_text(task), group=group)
    rows = [
        (record.text, standing.score)
        for record, standing in comparable_rows(read_folder(folder).records)
        if standing and not gives_away(record, query)
    ]
    if len(rows) <= MIN_FITTED:
        if when == "tested":
            return task, b""
        raise InvalidInput(
            f"{folder} has {len(rows)} outcomes that a predictor may be fitted on; it takes more than {MIN_FITTED}"
        )
    name: FittedName = "words"
    if tested:
        name = convert(tested.judge, FittedName)
    fitted = fit_for_run(name, *zip(*rows, strict=True))
    body = encode_ridge(fitted)
    right = tested.right if tested and tested.right else Estimate(None)
    seat = PredictorSeat(
        predictor=name,
        fit=digest_ridge(body),
        records=fitted.records,
        verdict=tested.verdict if tested else "",
        right=right.value,
        low=right.low,
        high=right.high,
    )
    return replace(task, knowledge=replace(task.knowledge, seat=seat)), body


def _known_text(task: Task) -> str:
    """What is known of a text before it is written."""
    return "\n\n".join(part for part in (task.brief, task.draft) if part)


def withhold_private(task: Task, settings: Settings, own: Collection[str] = ()) -> Task:
    """The task without private records that it was recorded with, unless all models are on this machine."""
    known = task.knowledge
    private = {each.id for each in known.shown if each.private} if known else set()
    if not known or not private or not (own or destinations(settings.models, settings.base_url)):
        return task

    def public(shown: tuple[ShownRecord, ...]) -> tuple[ShownRecord, ...]:
        return tuple(each for each in shown if not each.private)

    def both(lists: ShownOutcomes) -> ShownOutcomes:
        return ShownOutcomes(well=public(lists.well), badly=public(lists.badly))

    number = known.left_out.get("private", 0) + len(private)
    knowledge = replace(
        known,
        facts=public(known.facts),
        style=public(known.style),
        feedback=public(known.feedback),
        critic=both(known.critic),
        judges=both(known.judges),
        left_out=known.left_out | {"private": number},
        withheld=known.withheld + len(private),
    )
    return replace(task, knowledge=knowledge)


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
    written = (
        f"; its texts were written with {count(knowledge.withheld, 'private record')} at hand, "
        "and may repeat what they say"
    )
    return (
        f"{shown} {where}{left if private else ''}{written if away and knowledge.withheld else ''}"
    )


def disclose_texts(task: Task | None, settings: Settings) -> str:
    """Where texts go that were written with private records at hand; empty where they stay, or were not."""
    known, away = task and task.knowledge, destinations(settings.models, settings.base_url)
    private = {each.id for each in known.shown if each.private} if known else set()
    if not known or not away or not (number := len(private) + known.withheld):
        return ""
    return (
        f"the texts of this run go to {' and '.join(away)}; they were written with "
        f"{count(number, 'private record')} at hand, and may repeat what they say"
    )


def destinations(models: Models, base_url: str | Mapping[str, str] | None) -> list[str]:
    """The providers to which anything that these models are asked is sent; none where all stays here."""
    bases = servers(base_url, models.all())
    found = (destination(each, bases.get(provider_of(each))) for each in models.all())
    return [name for name in dict.fromkeys(found) if name]
