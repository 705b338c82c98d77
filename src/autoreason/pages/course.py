"""The course of a run: as a film, moment by moment, and as a river of the sentences that its texts have."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import groupby, pairwise, zip_longest
from typing import NamedTuple

from autoreason.characters import in_markup
from autoreason.events import (
    BallotCast,
    CandidateDropped,
    CandidateReady,
    CritiqueProblem,
    DraftWritten,
    Slot,
)
from autoreason.report.changes import MARKS, split_blocks, split_sentences, words_of
from autoreason.report.numbers import capital, count
from autoreason.story import CONFIRMATION, DRAFTS, RecordedPass, Story
from autoreason.tournament.endings import the_draft
from autoreason.tournament.rounds import (
    Chapter,
    describe_faults,
    is_new_draft,
    name_origin,
    short_name,
    tell,
)
from autoreason.tournament.statements import dropped
from autoreason.wording import BECOME, KINDS, TextKind, kind_of, numeral

# ---- the film: each moment with what was known then and no more ----------------------------------

_WRITTEN_IN_ORDER: tuple[Slot, ...] = ("B", "B1", "B2", "B3", "AB")


class Moment(NamedTuple):
    """Something that happened, and the text to look at then."""

    sentence: str
    kind: TextKind
    text: str
    before: str | None = None
    """What the text is compared with."""
    round: int | None = None
    is_cast: bool = False
    """Whether a ranking of the round, or of the review, comes in."""
    problems: tuple[CritiqueProblem, ...] = ()
    """What the critic has marked in the text."""
    called: str = ""
    """The text, where its kind does not say which it is."""
    place: str = ""
    """Where the page has the round or the review."""

    @property
    def caption(self) -> str:
        """`Rewrite, round 2`."""
        name = capital(self.called or KINDS[self.kind].name)
        return f"{name}, round {self.round}" if self.round else name


def moments(story: Story) -> list[Moment]:
    """Every moment of a run so far; a run that goes on adds moments and changes none."""
    found, so_far = [*_drafts(story)], Moment("", "draft", story.draft.text if story.draft else "")
    for each in tell(story):
        if not isinstance(each.step, RecordedPass):
            among = "Of all drafts" if story.is_sampling else "In the review"
            found += _review(each, so_far._replace(place=each.place), among)
        elif story.is_sampling:
            found += (_draft(each.number, one) for one in each.step.candidates.values())
        else:
            found += _round(each, each.step)
        if each.left:
            so_far = so_far._replace(kind="kept", text=each.left.text)
    return [*found, *_last_panels(story)]


def _draft(number: int, written: DraftWritten | CandidateReady) -> Moment:
    sentence = f"Draft {number} is written: {count(written.words, 'word')}."
    return Moment(sentence, "draft", written.text, called=f"draft {number}")


def _drafts(story: Story) -> Iterator[Moment]:
    yield from (_draft(each.number, each) for each in story.drafts)
    among = story.panels.get(DRAFTS)
    for ballot in among.ballots if among else ():
        yield Moment(_vote(ballot, str), "draft", story.drafts[0].text, called="draft 1")
    if draft := story.draft:
        said = "The first draft is written"
        if draft.given or draft.of > 1:
            said = "It begins with your draft" if draft.given else f"Draft {draft.number} is taken"
        yield Moment(f"{said}: {count(draft.words, 'word')}.", "draft", draft.text)


def _vote(ballot: BallotCast, name: Callable[[str], str]) -> str:
    first = f"puts {name(ballot.ranking[0])} first" if ballot.ranking else "cannot be read"
    return f"{short_name(ballot.model)} {first}."


def _round(chapter: Chapter, one: RecordedPass) -> Iterator[Moment]:
    first, kind = chapter.first, one.kind("A", first=chapter.first)
    so_far = Moment("", kind, one.incumbent, round=one.number, place=chapter.place)
    if one.guidance:
        yield so_far._replace(sentence=f"You ask the critic to look at: {one.guidance}")
    for critique in one.critiques:
        who = "A program that checks limits" if critique.by_code else "The critic"
        who = "Another critic" if critique.critic else who
        faults = describe_faults([critique]) if critique.readable else "nothing that can be read"
        yield so_far._replace(sentence=f"{who} finds {faults}.", problems=critique.problems)
    left = [each for each in one.dropped if each.reason == "contract" and not each.text]
    """Candidates that left the ballot; their texts are where they stood."""
    fresh = [each for each in one.candidates.values() if each.fresh]
    written = [each for each in one.candidates.values() if not each.fresh]
    # Revisions come before the merge; where none could be used, new drafts were tried after it.
    steps: list[CandidateDropped | CandidateReady] = [e for e in one.dropped if e not in left]
    if written:
        steps = sorted([*steps, *written], key=lambda each: _WRITTEN_IN_ORDER.index(each.slot))
    for step in (*steps, *fresh, *left):
        kind = kind_of(step.slot, first=first, fresh=is_new_draft(step, one))
        name = KINDS[kind].name
        if isinstance(step, CandidateReady):
            said = f"A {name} is written: {count(step.words, 'word')}."
            yield so_far._replace(sentence=said, kind=kind, text=step.text, before=one.incumbent)
        else:
            article = "The" if step in left else "A"
            yield so_far._replace(sentence=f"{article} {name} is {dropped(step)}.")
    for ballot in one.ballots:
        yield so_far._replace(sentence=_vote(ballot, chapter.describe), is_cast=True)
    if decided := one.decided:
        row = f": {numeral(decided.streak)} in a row" if decided.survived else ""
        last = so_far._replace(sentence=f"{capital(chapter.sentence)}{row}.")
        if decided.winner == "A":
            last = last._replace(kind="kept")
        elif decided.winner:
            kind, text = one.kind(decided.winner, first=False), one.text(decided.winner)
            last = last._replace(kind=kind, text=text, before=one.incumbent)
        yield last


def _review(chapter: Chapter, so_far: Moment, among: str) -> Iterator[Moment]:
    for ballot in chapter.step.ballots:
        yield so_far._replace(sentence=f"{among}, {_vote(ballot, chapter.describe)}", is_cast=True)
    if chapter.left:
        end = so_far._replace(sentence=f"{capital(chapter.sentence)}.")
        yield end._replace(text=chapter.left.text, before=so_far.text) if chapter.back else end


def _last_panels(story: Story) -> Iterator[Moment]:
    last = story.incumbent
    if last is None:
        return
    chosen, first = story.chosen or last, story.incumbents[0]
    fresh = story.panels.get(CONFIRMATION)
    for ballot in fresh.ballots if fresh else ():
        prefers = KINDS["draft"].the if first.name in (ballot.ranking or ())[:1] else BECOME
        said = f"prefers {prefers}" if ballot.ranking else "cannot be read"
        sentence = f"{short_name(ballot.model)}, asked for the first time, {said}."
        yield Moment(sentence, "kept", chosen.text, first.text)
    if story.delivered:
        kind: TextKind = "draft" if story.delivered.origin == "draft" else "kept"
        given = f"{capital(the_draft(story.draft))} is delivered."
        sentence = given if kind == "draft" else "This is the result."
        yield Moment(sentence, kind, story.delivered.text, first.text, called="result")


# ---- the river: the round in which a sentence was born, and that in which it went ----------------

_MOST_SENTENCES = 4_000
"""Over all texts, beyond which nothing is traced: a drawing of more says nothing."""


class Birth(NamedTuple):
    """The text in which a sentence was first written."""

    number: int
    """The round; 0 is the first draft."""
    kind: TextKind
    lost: bool
    """Whether that text did not win its round, or a review went back behind it."""

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


class TextState(NamedTuple):
    """The text as it stood after a round that changed it, or a review that went back."""

    name: str
    sentences: Sequence[Sentence]


class River(NamedTuple):
    columns: Sequence[TextState]
    births: dict[str, Birth]

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
            found += f" {capital(numeral(alive))} {were} born in a text left behind, and {live} on."
        return found

    @property
    def sources(self) -> list[tuple[Birth, int, int]]:
        """Texts that sentences came from, with how many came, and how many of them are still there."""
        ever = {each.key for column in self.columns for each in column.sentences}
        taken = Counter(self.births[words] for words, _ in ever)
        left = Counter(map(self.birth, self.result))
        return [(birth, taken[birth], left[birth]) for birth in sorted(taken)]

    @property
    def gone(self) -> Iterator[tuple[str, Sequence[str]]]:
        """What went, under the name of the column in which it was no longer there."""
        for before, after in pairwise(self.columns):
            there = {each.key for each in after.sentences}
            if went := [each.text for each in before.sentences if each.key not in there]:
                yield after.name, went

    def runs(self, block: Sequence[Sentence]) -> Iterator[tuple[Birth, str]]:
        """Neighbours of one birth, joined."""
        for birth, run in groupby(block, key=self.birth):
            yield birth, " ".join(MARKS.sub("", each.text) for each in run)


def trace(story: Story) -> River | None:
    """The sentences of every text that stood at some time; None where there is one text, or far too much of it."""
    if story.draft is None or story.is_sampling:
        return None
    texts = [("First draft", 0, story.draft.text)]
    for step in tell(story):
        if (left := step.left) and (step.back or left.since == step.number != texts[-1][1]):
            name = f"Back to {name_origin(left)}" if step.back else f"Round {step.number}"
            texts.append((name, step.number, left.text))
    if story.text is not None and story.text != texts[-1][2]:
        texts.append(("Result", texts[-1][1], story.text))
    split = cache(_sentences)
    columns = [TextState(name, split(text)) for name, _, text in texts]
    if len(texts) < 2 or sum(len(each.sentences) for each in columns) > _MOST_SENTENCES:
        return None
    written = [(Birth(0, "draft", lost=False), texts[0][2])]
    line = {each.since for each in story.incumbents}
    for one in story.passes:
        won = one.decided.winner if one.decided and one.number in line else None
        for slot, ready in one.candidates.items():
            birth = Birth(one.number, one.kind(slot, first=False), lost=slot != won)
            written.append((birth, ready.text))
    # What no recorded text has, such as a result that was edited, is as old as its column.
    written += [(Birth(number, "kept", lost=False), text) for _, number, text in texts]
    births: dict[str, Birth] = {}
    for birth, text in written:
        for each in split(text):
            births.setdefault(each.key[0], birth)
    return River(columns, births)


def _sentences(text: str) -> list[Sentence]:
    seen: Counter[str] = Counter()
    found = []
    for at, block in enumerate(split_blocks(text)):
        for each in split_sentences(block.text):
            words = words_of(each) or each
            found.append(Sentence(each.rstrip(), at, block.kind, (words, seen[words])))
            seen[words] += 1
    return found


# ---- drawn --------------------------------------------------------------------------------------

_WIDE, _LEAST, _MOST = 900, 132, 220
"""Of the drawing, and of a column with its bands at least and at most."""
_HEIGHT, _TOP, _GAP = 330, 26, 2
"""In all, of the names above, and between two bars."""
_MOST_COLUMNS = 40
"""Beyond which the texts of some rounds are left out, but for the last."""


def draw(river: River) -> str:
    """The river as SVG: a column for each text, a bar for each sentence, a band to where it lives on."""
    columns = [*river.columns[: -1 : -(-len(river.columns) // _MOST_COLUMNS)], river.columns[-1]]
    most = max(1, *(len(each.sentences) for each in columns))
    step = round(min(_MOST, max(_LEAST, _WIDE / len(columns))))
    width = step * len(columns) - step // 2
    names, bars, bands = "", defaultdict[str, str](str), defaultdict[str, str](str)
    # A sentence is one high; a bar is four wide, and a band six.
    for at, ((name, here), after) in enumerate(zip_longest(columns, columns[1:])):
        names += f'<text x="{at * step}" y="14">{in_markup(name)}</text>'
        there = {each.key: row for row, each in enumerate(after.sentences if after else ())}
        downs = (there[e.key] - y if e.key in there else None for y, e in enumerate(here))
        kinds, top = (river.birth(each).kind for each in here), 0
        # Neighbours that stay beside each other have one band; that of those that go is short.
        for (kind, down), run in groupby(zip(kinds, downs, strict=True)):
            high, wide = len([*run]), 1 if down is None else 6
            to, back = f"h{wide}", f"h-{wide}"
            if down:
                to, back = f"c3 0 3 {down} 6 {down}", f"c-3 0-3 {-down}-6 {-down}"
            bars[kind] += f"M{10 * at + 2} {top}v{high}"
            bands[kind] += f"M{10 * at + 4} {top}{to}v{high}{back}z" if after else ""
            top += high
    gap = min(_GAP * most / (_HEIGHT - _TOP), 1 / 3)
    dashes = f'stroke-width="4" stroke-dasharray="{1 - gap:.3f} {gap:.3f}"'
    paths = "".join(f'<path class="{kind} band" d="{path}"/>' for kind, path in bands.items())
    paths += "".join(f'<path class="{kind}" {dashes} d="{path}"/>' for kind, path in bars.items())
    scale = f"translate(0 {_TOP}) scale({step / 10} {(_HEIGHT - _TOP) / most:.4f})"
    return (
        f'<svg class="river" viewBox="0 0 {width} {_HEIGHT}" width="{width}" role="img" '
        f'aria-label="Sentences of the text after each round that changed it, by where they come '
        f'from">{names}<g transform="{scale}">{paths}</g></svg>'
    )
