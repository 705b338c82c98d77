"""The five views of a run as its page shows them: film, blind vote, river, what if, judges."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, product
from typing import NamedTuple

from markupsafe import Markup

from autoreason.pages.film import moments
from autoreason.pages.fragments import Fragments
from autoreason.pages.judge_map import MEASURES, JudgeMap, is_beyond, map_judges
from autoreason.pages.recount import RULES, TIES, Choice, Recount, WhatIf, recount_all
from autoreason.pages.river import Birth, River, draw, trace
from autoreason.report.charts import Interval, interval_chart
from autoreason.report.numbers import count, percent_interval
from autoreason.stats import Estimate
from autoreason.story import Story
from autoreason.tournament.rounds import describe_text, is_first_draft
from autoreason.wording import KINDS, TextKind, kind_of, numeral


class Views(NamedTuple):
    """What the views show; None where a run has nothing for one."""

    film: Sequence[FilmRow]
    votes: Sequence[BlindRound]
    river: RiverView | None
    what_if: WhatIfView | None
    judges: JudgesView | None


class FilmRow(NamedTuple):
    sentence: str
    kind: TextKind
    caption: str
    fragment: str
    round: int | None
    ballots: int


class BlindRound(NamedTuple):
    """Texts to rank before one looks, in an order that says nothing."""

    number: int
    texts: Sequence[tuple[str, TextKind, str, str]]
    """Slots, kinds, names and fragments."""
    said: Mapping[str, str]
    """By the slot that a reader puts first: how many judges did so."""


class RiverView(NamedTuple):
    sentence: str
    drawing: Markup
    sources: Sequence[tuple[TextKind, str, int, int]]
    blocks: Sequence[tuple[str, Sequence[tuple[Birth, str]]]]
    gone: Sequence[tuple[str, Sequence[str]]]


class WhatIfView(NamedTuple):
    judges: Sequence[tuple[str, int]]
    rules: Sequence[str]
    ties: Sequence[str]
    ks: Sequence[int]
    chosen: tuple[int, int, int, int]
    outcomes: Sequence[Recount]
    places: str
    """For each choice, in the order of its fields, which of the outcomes it has."""


class JudgesView(NamedTuple):
    findings: Sequence[str]
    charts: Sequence[tuple[str, Markup]]
    table: Sequence[tuple[str, ...]]


def make_views(story: Story, pieces: Fragments, run: str) -> Views:
    return Views(
        film=[*_film(story, pieces)],
        votes=[*_blind_rounds(story, pieces, run)],
        river=_river_view(river) if (river := trace(story)) else None,
        what_if=_what_if_view(found) if (found := recount_all(story)) else None,
        judges=_judges_view(found_judges) if (found_judges := map_judges(story)) else None,
    )


def _film(story: Story, pieces: Fragments) -> Iterator[FilmRow]:
    for each in moments(story):
        if each.problems:
            fragment = pieces.marked(each.text, each.problems)
        elif each.before is not None and each.before != each.text:
            fragment = pieces.change(each.before, each.text)
        else:
            fragment = pieces.text(each.text)
        name = KINDS[each.kind].name
        where = f", round {each.round}" if each.round else ""
        words = pieces.words(each.text)
        caption = f"{name[:1].upper()}{name[1:]}{where} · {words}"
        yield FilmRow(each.sentence, each.kind, caption, fragment, each.round, each.ballots)


def _blind_rounds(story: Story, pieces: Fragments, run: str) -> Iterator[BlindRound]:
    for one in story.passes:
        verdict, first = one.verdict, is_first_draft(one, story)
        if verdict is None or one.decided is None:
            continue
        slots = sorted(verdict.scores)
        random.Random(f"{run} {one.number}").shuffle(slots)
        rankings = [ballot.ranking for ballot in one.ballots if ballot.ranking]
        said = {}
        for slot in slots:
            same = sum(ranking[0] == slot for ranking in rankings)
            whole = f"{numeral(same)} of {count(len(rankings), 'judge')}"
            who = "every judge" if same == len(rankings) else whole
            so = f"So did {who}." if same else "No judge did."
            name = describe_text(slot, first=first)
            won = describe_text(str(one.decided.winner), first=first)
            chose = "" if slot == one.decided.winner else f" The judges together chose {won}."
            said[slot] = f"You put {name} first. {so}{chose}"
        texts = [
            (
                slot,
                kind_of(slot, first=first),
                describe_text(slot, first=first),
                pieces.text(one.text(slot)),  # type: ignore[arg-type]
            )
            for slot in slots
        ]
        yield BlindRound(one.number, texts, said)


def _river_view(river: River) -> RiverView:
    result = river.result
    old = sum(not river.birth(each).number for each in result)
    verb = "is" if old == 1 else "are"
    said = f"{numeral(old) if old else 'none'} of the {len(result)} sentences and headings"
    sentence = f"{said[:1].upper()}{said[1:]} of the result {verb} from the first draft."
    if alive := sum(river.birth(each).lost for each in result):
        were, live = ("was", "lives") if alive == 1 else ("were", "live")
        sentence += (
            f" {numeral(alive).capitalize()} {were} born in a text that lost, and {live} on."
        )
    blocks = []
    for _, block in groupby(result, key=lambda each: each.block):
        rows = [*block]
        runs = [
            (birth, " ".join(_without_marks(each.text) for each in run))
            for birth, run in groupby(rows, key=river.birth)
        ]
        blocks.append((rows[0].block_kind, runs))
    return RiverView(
        sentence=sentence,
        drawing=Markup(draw(river)),
        sources=[
            (each.birth.kind, each.birth.name, each.taken, each.left) for each in river.sources
        ],
        blocks=blocks,
        gone=river.gone,
    )


def _without_marks(text: str) -> str:
    return text.replace("**", "").replace("__", "").replace("`", "")


def _what_if_view(found: WhatIf) -> WhatIfView:
    names = ["", *(name for name, _ in found.judges)]
    outcomes = list(dict.fromkeys(found.recounts.values()))
    places = {each: at for at, each in enumerate(outcomes)}
    every = (Choice(*each) for each in product(names, found.rules, TIES, found.ks))
    chosen = found.recorded
    return WhatIfView(
        judges=found.judges,
        rules=[RULES[rule] for rule in found.rules],
        ties=TIES,
        ks=found.ks,
        chosen=(
            0,
            found.rules.index(chosen.rule),
            TIES.index(chosen.ties),
            found.ks.index(chosen.k),
        ),
        outcomes=outcomes,
        places=" ".join(str(places[found.recounts[choice]]) for choice in every),
    )


_SWAYED = {
    "agrees": "Prefers the same of two texts as another judge",
    "first_shown": "Puts the text first that it was shown first",
    "longer": "Prefers the longer of two texts",
}


def _judges_view(found: JudgeMap) -> JudgesView:
    charts = []
    for name, chance, *_ in MEASURES:
        rows = []
        for row in found.rows:
            share: Estimate = getattr(row, name)
            beyond = is_beyond(share, chance)
            rows.append(
                Interval(row.name, share, percent_interval(share), "shown" if beyond else "")
            )
        chart = interval_chart(_SWAYED[name], rows, middle=chance)
        charts.append((_SWAYED[name], Markup(chart.html)))
    table = [
        (row.name, str(row.ballots), *(percent_interval(getattr(row, name)) for name in _SWAYED))
        for row in found.rows
    ]
    return JudgesView(found.findings, charts, table)
