"""What a run is shown of a folder of records, and where that goes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import convert
from msgspec.structs import replace

from autoreason.errors import InvalidInput, JournalError
from autoreason.knowledge_records import (
    FittedName,
    Knowledge,
    PredictorSeat,
    ShownOutcomes,
    ShownRecord,
    WhenTested,
)
from autoreason.models.pool import Destination, ModelPool, destination
from autoreason.report.numbers import count
from autoreason.run.record import use_journal
from autoreason.run.verbs import JournalPlace
from autoreason.settings import Models, Settings, provider_of, servers
from autoreason.stats import Estimate
from autoreason.story import Story
from autoreason.task import Task

if TYPE_CHECKING:
    from autoreason.studies.knowledge_test import RecordedPairs


def add_knowledge(
    task: Task,
    folder: str | Path,
    models: Models,
    *,
    judge_outcomes: WhenTested = "tested",
    group: str = "",
    base_url: str | Mapping[str, str] | None = None,
    own: Collection[str] = (),
    pool: ModelPool | None = None,
) -> Task:
    """The task with what is shown of a folder; `own` are addresses of models that the caller brings."""
    from autoreason.knowledge.folder import check_private
    from autoreason.knowledge.holdout import helps_judge, judge_weights
    from autoreason.knowledge.index import Index, Query, choose_knowledge

    check_private(folder)
    private = not destinations(models, base_url, own, pool)
    if judge_outcomes == "tested":
        helps = all(helps_judge(folder, judge) for judge in models.judges)
        judge_outcomes = "yes" if helps else "no"
    query = Query(_known_text(task), group=group, private=private)
    with Index.open(folder) as index:
        knowledge = choose_knowledge(index, query, for_judges=judge_outcomes == "yes")
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
    from autoreason.knowledge.holdout import choose_fitted
    from autoreason.knowledge.index import Query, gives_away
    from autoreason.knowledge.predictor import (
        comparable_rows,
        digest_ridge,
        encode_ridge,
        fit_for_run,
    )
    from autoreason.knowledge.standing import MIN_KNOWN

    tested = choose_fitted(folder, when)
    if tested is None and when == "tested":
        return task, b""
    query = Query(_known_text(task), group=group)
    rows = [
        (record.text, standing.score)
        for record, standing in comparable_rows(read_folder(folder).records)
        if standing and not gives_away(record, query)
    ]
    if len(rows) <= MIN_KNOWN:
        if when == "tested":
            return task, b""
        raise InvalidInput(
            f"{folder} has {len(rows)} outcomes that a predictor may be fitted on; it takes more than {MIN_KNOWN}"
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


def withhold_private(
    task: Task, settings: Settings, own: Collection[str] = (), pool: ModelPool | None = None
) -> Task:
    """The task without private records that it was recorded with, unless all models are on this machine."""
    known = task.knowledge
    private = {each.id for each in known.shown if each.private} if known else set()
    if not private or not destinations(settings.models, settings.base_url, own, pool):
        return task
    assert known is not None

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


def check_destinations(task: Task, settings: Settings, pool: ModelPool) -> None:
    """Refuse to send private records away by the pool that a run uses; a new run would be without them."""
    from autoreason.studies.knowledge_test import RecordedPairs

    shown = task.knowledge.shown if task.knowledge else ()
    pairs = isinstance(task.work, RecordedPairs) and task.work.private
    private = pairs or any(each.private for each in shown)
    if private and (away := destinations(settings.models, None, pool=pool)):
        raise InvalidInput(
            "this run shows its models private records, which only models on this machine may be shown, and "
            f"they would go to {_names(away)}; choose such models, or start a new run or a fork with these, "
            "which leaves the records out"
        )


def disclose_task(task: Task, settings: Settings) -> str:
    """What of the user's records a run sends where, in one sentence; empty where it has none."""
    from autoreason.studies.knowledge_test import RecordedPairs

    known = task.knowledge
    if isinstance(task.work, RecordedPairs):
        return _disclose_pairs(task.work, settings)
    stays = known and not known.shown and not destinations(settings.models, settings.base_url)
    if known is None or (stays and known.withheld):
        return ""
    return disclose(known, settings.models, settings.base_url)


def disclose(
    knowledge: Knowledge, models: Models, base_url: str | Mapping[str, str] | None = None
) -> str:
    """What is sent where, in one sentence."""
    number, away = len(knowledge.shown), destinations(models, base_url)
    shown = f"{count(number, 'record')}, {count(knowledge.words, 'word')} of {knowledge.source}"
    texts = "its texts"
    if not number and knowledge.withheld:
        shown, number, texts = "the texts", 2, "they"
    private = knowledge.left_out.get("private", 0)
    at_hand = f"{count(knowledge.withheld, 'private record')} of {knowledge.source} at hand"
    written = f"; {texts} were written with {at_hand}, and may repeat what they say"
    return (
        f"{shown} {_where(number, away)}{_stays(private, away)}"
        f"{written if away and knowledge.withheld else ''}"
    )


def _disclose_pairs(work: RecordedPairs, settings: Settings) -> str:
    texts = {text for pair in work.pairs for text in (pair.better, pair.worse)}
    texts |= {record.text for pair in work.pairs for record in pair.known.all}
    words = sum(len(text.split()) for text in texts)
    away = destinations(settings.models, settings.base_url)
    number = len(texts)
    shown = f"{count(number, 'text')}, {count(words, 'word')} of {work.source}"
    return f"{shown} {_where(number, away)}{_stays(work.withheld, away)}"


def _where(number: int, away: Collection[Destination]) -> str:
    goes, stays = ("goes", "stays") if number == 1 else ("go", "stay")
    return f"{goes} to {_names(away)}" if away else f"{stays} on this machine"


def _stays(private: int, away: Collection[Destination]) -> str:
    if not private:
        return ""
    left = f"; {count(private, 'private record')} {'stays' if private == 1 else 'stay'} here"
    near = [each for each in away if each.may_be_local]
    hint = f" (if {_names(near)} runs the model itself, call the model vllm/NAME)"
    return left + hint if near and len(near) == len(away) else left


def _names(destinations: Collection[Destination]) -> str:
    return " and ".join(each.name for each in destinations)


def find_origin(texts: Collection[str], place: JournalPlace) -> Knowledge | None:
    """Private records that runs of a journal were shown which wrote one of these texts, counted; None without."""
    wanted = {text.strip() for text in texts}
    found: list[Knowledge] = []
    with use_journal(place) as journal:
        for row in journal.iter_runs():
            # A run that cannot be read is named by `runs check`, and must not keep others from being judged.
            with suppress(JournalError):
                task = journal.task(row.id)
                known = task and task.knowledge
                if known and known.origin() and wanted & _written(journal.story(row.id)):
                    found.append(known)
    return Knowledge(
        source=" and ".join(dict.fromkeys(each.source for each in found)),
        digest="",
        facts=tuple(record for each in found for record in each.shown),
        # Forks of one run left out the same.
        withheld=max((each.withheld for each in found), default=0),
    ).origin()


def _written(story: Story) -> set[str]:
    """Every text that a run wrote."""
    texts = [
        story.text,
        *(each.text for each in story.drafts),
        *(each.text for each in story.incumbents),
        *(each.text for one in story.passes for each in one.candidates.values()),
    ]
    return {text.strip() for text in texts if text}


def destinations(
    models: Models,
    base_url: str | Mapping[str, str] | None,
    own: Collection[str] = (),
    pool: ModelPool | None = None,
) -> list[Destination]:
    """Where anything that these models are asked is sent, each once; none where all stays here."""
    bases = {} if pool else servers(base_url, models.all())

    def find(address: str) -> Destination | None:
        if pool and address not in own:
            return pool.destination(address)
        return destination(address, bases.get(provider_of(address)), is_object=address in own)

    return [each for each in dict.fromkeys(map(find, models.all())) if each]
