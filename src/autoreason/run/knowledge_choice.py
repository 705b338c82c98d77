"""What a run is shown of a folder of records, and where that goes."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import convert
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.knowledge_records import (
    FittedName,
    PredictorSeat,
    ShownOutcomes,
    ShownRecord,
    WhenTested,
)
from autoreason.models.pool import Destination, ModelPool, destination
from autoreason.report.numbers import count
from autoreason.run.verbs import RefineOptions
from autoreason.settings import Settings, provider_of, servers
from autoreason.stats import Estimate
from autoreason.task import Task

if TYPE_CHECKING:
    from autoreason.knowledge.index import SearchQuery


def add_knowledge(
    task: Task, settings: Settings, options: RefineOptions, own: Collection[str]
) -> tuple[Task, bytes]:
    """The task with what is shown of a folder, and a predictor with a seat as it is to be saved.

    `own` are addresses of models that the caller brings.
    """
    from autoreason.knowledge.folder import check_private
    from autoreason.knowledge.holdout import helps_judge, judge_weights
    from autoreason.knowledge.index import Index, SearchQuery, choose_knowledge

    folder, judges = options["knowledge"], settings.models.judges
    check_private(folder)
    when = options.get("judge_outcomes", "tested")
    tested = when == "tested" and all(helps_judge(folder, judge) for judge in judges)
    shown = tested or when == "yes"
    # What is known of a text before it is written.
    known = "\n\n".join(filter(None, (task.brief, task.draft)))
    at_home = not destinations(settings, own, options.get("pool"))
    query = SearchQuery(known, group=options.get("knowledge_group", ""), private=at_home)
    with Index.open(folder) as index:
        knowledge = choose_knowledge(index, query, for_judges=shown)
    weights = judge_weights(folder, judges, with_records=shown)
    knowledge = replace(knowledge, source=str(folder), weights=weights)
    seat, fit = _seat(folder, options.get("predictor_seat", "tested"), query, settings.job.name)
    return replace(task, knowledge=replace(knowledge, seat=seat)), fit


def _seat(
    folder: str | Path, when: WhenTested, query: SearchQuery, strategy: str
) -> tuple[PredictorSeat | None, bytes]:
    """A predictor's seat where one is tested or wanted, and the predictor."""
    from autoreason.knowledge.folder import read_folder
    from autoreason.knowledge.holdout import choose_fitted
    from autoreason.knowledge.index import gives_away
    from autoreason.knowledge.predictor import (
        comparable_rows,
        digest_ridge,
        encode_ridge,
        fit_for_run,
    )
    from autoreason.knowledge.standing import MIN_KNOWN

    is_tournament = strategy == "autoreason"
    if when == "yes" and not is_tournament:
        raise InvalidInput(f"{strategy} has no panels for a predictor; leave out `predictor_seat`")
    tested = choose_fitted(folder, when) if is_tournament and when != "no" else None
    if tested is None and when != "yes":
        return None, b""
    known = comparable_rows(read_folder(folder).records)
    rows = [(each.text, own.score) for each, own in known if own and not gives_away(each, query)]
    if len(rows) <= MIN_KNOWN:
        if when == "tested":
            return None, b""
        raise InvalidInput(f"a predictor takes over {MIN_KNOWN} outcomes; {folder} has {len(rows)}")
    name: FittedName = convert(tested.judge, FittedName) if tested else "words"
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
    return seat, body


def withhold_private(
    task: Task, settings: Settings, own: Collection[str] = (), pool: ModelPool | None = None
) -> Task:
    """The task without private records that it was recorded with, unless all models are on this machine."""
    known = task.knowledge
    private = {each.id for each in known.shown if each.private} if known else set()
    if not private or not destinations(settings, own, pool):
        return task
    assert known is not None

    def public(shown: tuple[ShownRecord, ...]) -> tuple[ShownRecord, ...]:
        return tuple(each for each in shown if not each.private)

    lists = {name: public(getattr(known, name)) for name in ("facts", "style", "feedback")}
    outcomes = {
        name: ShownOutcomes(well=public(shown.well), badly=public(shown.badly))
        for name, shown in (("critic", known.critic), ("judges", known.judges))
    }
    left_out = known.left_out | {"private": known.left_out.get("private", 0) + len(private)}
    withheld = known.withheld + len(private)
    changes: dict[str, Any] = {**lists, **outcomes, "left_out": left_out, "withheld": withheld}
    return replace(task, knowledge=replace(known, **changes))


def check_destinations(task: Task, settings: Settings, pool: ModelPool) -> None:
    """Refuse to send private records away by the pool that a run uses; a new run would be without them."""
    from autoreason.studies.knowledge_test import RecordedPairs

    shown = task.knowledge.shown if task.knowledge else ()
    pairs = isinstance(task.work, RecordedPairs) and task.work.private
    private = pairs or any(each.private for each in shown)
    if private and (away := destinations(settings, pool=pool)):
        raise InvalidInput(
            f"this run shows private records, which would go to {_names(away)}; choose models on this machine, "
            "or start a new run or a fork, which leaves the records out"
        )


def disclose_task(task: Task, settings: Settings) -> str:
    """What of the user's records a run sends where, in one sentence; empty where it has none."""
    from autoreason.studies.knowledge_test import RecordedPairs

    known, away = task.knowledge, destinations(settings)
    if isinstance(work := task.work, RecordedPairs):
        texts = {text for pair in work.pairs for text in (pair.better, pair.worse)}
        texts |= {record.text for pair in work.pairs for record in pair.known.all}
        words = sum(len(text.split()) for text in texts)
        shown = f"{count(len(texts), 'text')}, {count(words, 'word')} of {work.source}"
        return f"{shown} {_where(len(texts), away)}{_stays(work.withheld, away)}"
    if known is None or (not away and not known.shown and known.withheld):
        return ""
    number, texts_were = len(known.shown), "its texts were"
    shown = f"{count(number, 'record')}, {count(known.words, 'word')} of {known.source}"
    if not number and known.withheld:
        shown, number, texts_were = "the texts", 2, "they were"
    sent = f"{shown} {_where(number, away)}{_stays(known.left_out.get('private', 0), away)}"
    if not away or not known.withheld:
        return sent
    private = count(known.withheld, "private record")
    return f"{sent}; {texts_were} written with {private} of {known.source} at hand, and may repeat what they say"


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


def destinations(
    settings: Settings, own: Collection[str] = (), pool: ModelPool | None = None
) -> list[Destination]:
    """Where anything that a run asks is sent, each once; none where all stays here. `own` are models as objects."""
    models = settings.models.all()
    bases = {} if pool else servers(settings.base_url, models)

    def find(address: str) -> Destination | None:
        if pool and address not in own:
            return pool.destination(address)
        return destination(address, bases.get(provider_of(address)), is_object=address in own)

    return [each for each in dict.fromkeys(map(find, models)) if each]
