"""Where each sentence of a text comes from: the round in which it was born, and that in which it went."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from autoreason.characters import in_markup
from autoreason.pages.film import is_sampling
from autoreason.report.changes import MARKS, split_blocks, split_sentences
from autoreason.report.numbers import capital
from autoreason.story import Story
from autoreason.wording import KINDS, TextKind, kind_of, numeral

_SIGNS = re.compile(r"[^\w\s]")
_MOST_SENTENCES, _LONGEST = 4_000, 1_000_000
"""Over all texts, and characters of them, beyond which nothing is traced: a drawing of more says nothing."""


class Birth(NamedTuple):
    """The text in which a sentence was first written."""

    number: int
    """The round; 0 is the first draft."""
    kind: TextKind
    lost: bool
    """Whether that text did not win its round."""

    @property
    def name(self) -> str:
        the = KINDS[self.kind].the
        return f"round {self.number}, {the}" if self.number else "the first draft"


class Sentence(NamedTuple):
    text: str
    block: int
    block_kind: str
    key: tuple[str, int]
    """Its words, and which of several with the same words it is."""


class Column(NamedTuple):
    """The text as it stood after a round that changed it."""

    name: str
    number: int
    sentences: Sequence[Sentence]


class Source(NamedTuple):
    """A text that sentences were taken from."""

    birth: Birth
    taken: int
    """Sentences that came into the text from it."""
    left: int
    """Those still there in the end."""


class River(NamedTuple):
    columns: Sequence[Column]
    births: dict[str, Birth]
    sources: Sequence[Source]
    gone: Sequence[tuple[str, Sequence[str]]]
    """What went, under the name of the column in which it was no longer there."""

    def birth(self, sentence: Sentence) -> Birth:
        return self.births[sentence.key[0]]

    @property
    def result(self) -> Sequence[Sentence]:
        return self.columns[-1].sentences

    @property
    def sentence(self) -> str:
        """How much of the result is old, and how much was rescued."""
        old = sum(not self.birth(each).number for each in self.result)
        said = f"{numeral(old) if old else 'none'} of the {len(self.result)} sentences and headings"
        found = f"{capital(said)} of the result {'is' if old == 1 else 'are'} from the first draft."
        if alive := sum(self.birth(each).lost for each in self.result):
            were, live = ("was", "lives") if alive == 1 else ("were", "live")
            found += f" {capital(numeral(alive))} {were} born in a text that lost, and {live} on."
        return found

    def runs(self, block: Sequence[Sentence]) -> Iterator[tuple[Birth, str]]:
        """Neighbours of one birth, joined."""
        for birth, run in groupby(block, key=self.birth):
            yield birth, " ".join(MARKS.sub("", each.text) for each in run)


def trace(story: Story) -> River | None:
    """The sentences of every text that stood at some time; None where there is one text, or far too much of it."""
    if story.draft is None or len(story.incumbents) < 2 or is_sampling(story):
        return None
    texts = [(f"Round {each.since}", each.since, each.text) for each in story.incumbents]
    texts[0] = ("First draft", 0, story.incumbents[0].text)
    if story.text is not None and story.text != texts[-1][2]:
        texts.append(("Result", texts[-1][1], story.text))
    if sum(len(text) for *_, text in texts) > _LONGEST:
        return None
    columns = [Column(name, number, _sentences(text)) for name, number, text in texts]
    if sum(len(each.sentences) for each in columns) > _MOST_SENTENCES:
        return None
    births = _births(story)
    for column in columns:
        # What no recorded text has, such as a result that was edited, is as old as its column.
        for each in column.sentences:
            births.setdefault(each.key[0], Birth(column.number, "kept", lost=False))
    gone = []
    for before, after in pairwise(columns):
        there = {each.key for each in after.sentences}
        if went := [each.text for each in before.sentences if each.key not in there]:
            gone.append((after.name, went))
    return River(columns, births, _sources(columns, births), gone)


def _births(story: Story) -> dict[str, Birth]:
    births: dict[str, Birth] = {}
    for each in _sentences(story.incumbents[0].text):
        births.setdefault(each.key[0], Birth(0, "draft", lost=False))
    for one in story.passes:
        won = one.decided.winner if one.decided else None
        for slot, candidate in one.candidates.items():
            birth = Birth(one.number, kind_of(slot, first=False), lost=slot != won)
            for each in _sentences(candidate.text):
                births.setdefault(each.key[0], birth)
    return births


def _sources(columns: Sequence[Column], births: dict[str, Birth]) -> list[Source]:
    ever = {each.key for column in columns for each in column.sentences}
    taken = Counter(births[key[0]] for key in ever)
    left = Counter(births[each.key[0]] for each in columns[-1].sentences)
    return [Source(birth, taken[birth], left[birth]) for birth in sorted(taken)]


def _sentences(text: str) -> list[Sentence]:
    seen: Counter[str] = Counter()
    found = []
    for at, block in enumerate(split_blocks(text)):
        for each in split_sentences(block.text):
            words = " ".join(_SIGNS.sub("", each.lower()).split()) or each
            found.append(Sentence(each, at, block.kind, (words, seen[words])))
            seen[words] += 1
    return found


# ---- drawn --------------------------------------------------------------------------------------

_WIDE, _LEAST, _MOST = 900, 132, 420
"""Of the drawing, and of a column with its bands at least and at most."""
_TOP, _BAR, _GAP = 26, 56, 2
"""Of the names above, of a bar, and between two bars."""
_HEIGHT = 330
_ONE_BY_ONE = 600
"""Sentences up to which each has a bar of its own; beyond, neighbours of one birth share one."""


def draw(river: River) -> str:
    """The river as SVG: a column for each text, a bar for each sentence, a band to where it lives on."""
    most = max(1, *(len(each.sentences) for each in river.columns))
    line = (_HEIGHT - _TOP) / most
    alone = sum(len(each.sentences) for each in river.columns) <= _ONE_BY_ONE
    step = round(min(_MOST, max(_LEAST, _WIDE / len(river.columns))))
    width = step * (len(river.columns) - 1) + _BAR + 40
    parts = []
    for at, column in enumerate(river.columns):
        x = at * step
        after = river.columns[at + 1].sentences if at + 1 < len(river.columns) else None
        there = {each.key: place for place, each in enumerate(after or ())}
        for rows in _runs(column.sentences, river, there, alone=alone):
            kind = river.birth(column.sentences[rows[0]]).kind
            y, height = _TOP + rows[0] * line, len(rows) * line - min(_GAP, line / 3)
            parts.append(
                f'<rect class="{kind}" x="{x}" y="{y:.1f}" width="{_BAR}" height="{height:.1f}"/>'
            )
            if after is None:
                continue
            lands = there.get(column.sentences[rows[0]].key)
            y2 = None if lands is None else _TOP + lands * line
            parts.append(_band(kind, x + _BAR, x + step, (y, y2), height))
        parts.append(f'<text x="{x}" y="14">{in_markup(column.name)}</text>')
    about = (
        "Sentences of the text after each round that changed it, by where they were first written"
    )
    return (
        f'<svg class="river" viewBox="0 0 {width} {_HEIGHT}" width="{width}" role="img" '
        f'aria-label="{about}">{"".join(parts)}</svg>'
    )


def _runs(
    sentences: Sequence[Sentence],
    river: River,
    there: dict[tuple[str, int], int],
    *,
    alone: bool,
) -> Iterator[list[int]]:
    """Neighbours of one birth that go the same way, as one; where `alone`, each by itself."""

    def way(at: int) -> object:
        lands = there.get(sentences[at].key)
        same_way = None if lands is None else lands - at
        return at if alone else (river.birth(sentences[at]), same_way)

    for _, rows in groupby(range(len(sentences)), key=way):
        yield list(rows)


def _band(
    kind: TextKind, x1: float, x2: float, ends: tuple[float, float | None], height: float
) -> str:
    y1, y2 = ends
    if y2 is None:
        path = f"M{x1} {y1:.1f}l20 {height / 2:.1f}l-20 {height / 2:.1f}z"
        return f'<path class="{kind} gone" d="{path}"/>'
    mid = (x1 + x2) / 2
    path = (
        f"M{x1} {y1:.1f}C{mid} {y1:.1f} {mid} {y2:.1f} {x2} {y2:.1f}v{height:.1f}"
        f"C{mid} {y2 + height:.1f} {mid} {y1 + height:.1f} {x1} {y1 + height:.1f}z"
    )
    return f'<path class="{kind} band" d="{path}"/>'
