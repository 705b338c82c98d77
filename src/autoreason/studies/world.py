"""A world: how revisions move the quality of a text, and how judges see it; the luck of runs in it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import pi, sqrt
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from autoreason.errors import InvalidInput
from autoreason.fields import plainly
from autoreason.settings import Share
from autoreason.task import read_text

EffectSize = Annotated[float, Meta(ge=-1_000_000, le=1_000_000)]
"""In units of quality or length, and finite."""
Spread = Annotated[float, Meta(ge=0, le=1_000_000)]
_FOLDER = Path(__file__).parent / "worlds"


class Revision(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What becomes of a text when it is revised against a critique. The first draft has quality 0."""

    gain: EffectSize = 0.0
    """Mean change of quality."""
    pull: Share = 0.0
    """How much of the way back to the author's own level a revision goes."""
    level: EffectSize = 0.0
    """The quality the author writes by itself."""
    spread: Spread = 1.0
    """Standard deviation of the change."""
    growth: EffectSize = 0.0
    """Mean change of length."""
    growth_spread: Spread = 0.0


class Drafts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Drafts in addition to the first, which has quality 0."""

    spread: Spread = 1.0
    """Standard deviation of their quality around the first draft's."""


class Critics(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often critics who must quote find nothing to fix; in prose they always find something."""

    silent: Share = 0.0
    """In a text of quality `at` or better; half way there from the first draft, half as often."""
    at: Annotated[float, Meta(gt=0, le=1_000_000)] = 1.0


class Synthesis(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a synthesis adds to the middle between its two texts."""

    gain: EffectSize = 0.0
    spread: Spread = 0.5


class Judges(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a judge sees instead of the true quality, all in the units of quality."""

    noise: Spread = 1.0
    """Standard deviation of a judge's own error."""
    shared: Spread = 0.0
    """Standard deviation of the error that all judges make alike about a text, as long as it is incumbent."""
    first: EffectSize = 0.0
    """What the first position is worth."""
    last: EffectSize = 0.0
    """What the last position is worth."""
    newer: EffectSize = 0.0
    """What it is worth to have been written in this very pass."""
    lasting: Share = 0.0
    """The share of that which every further pass leaves."""
    longer: EffectSize = 0.0
    """What a unit of length is worth."""


class World(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    about: str
    kind: Literal["help", "drift", "harm"]
    """What revisions do on the whole: they improve, they wander, or they do harm."""
    drafts: Drafts = Drafts()
    revision: Revision = Revision()
    critics: Critics = Critics()
    synthesis: Synthesis = Synthesis()
    judges: Judges = Judges()
    name: str = ""


def built_in_worlds() -> dict[str, Path]:
    """The worlds that come with the library, those where revisions help first."""
    return {path.stem.partition("-")[2]: path for path in sorted(_FOLDER.glob("*.yaml"))}


def load_world(source: str) -> World:
    known = built_in_worlds()
    path = known.get(source, Path(source))
    if not path.suffix and not path.is_file():
        raise InvalidInput(f"no world `{source}`; give a file or one of {', '.join(known)}")
    return read_world(read_text(path, "world"), source if source in known else path.stem, source)


def load_worlds(names: Sequence[str] = ()) -> list[World]:
    """These worlds, each once; without a name every built-in one."""
    return [load_world(name) for name in dict.fromkeys(names or built_in_worlds())]


def read_world(text: str, name: str, source: str) -> World:
    """A world from YAML; what is wrong with it is one sentence about `source`."""
    from autoreason.bounded_yaml import load_yaml

    try:
        world = msgspec.convert(load_yaml(text), World)
        return world if world.name else replace(world, name=name)
    except ValueError as error:
        raise InvalidInput(f"{source} is not a world: {plainly(error, World)}; fix it") from None


Numbers = NDArray[np.float64]
"""One row per run."""
MAX_FINALISTS = 10
_DRAFT, _PASS, _JUDGE, _REVIEW, _ORDER, _CONFIRMATION, _MORE_DRAFTS, _AMONG_DRAFTS = range(8)
_MORE_REVISIONS, _MORE_ERRORS = 8, 9
_UNIT = sqrt(6) / pi
"""The scale at which the standard deviation of a Gumbel error is 1."""


class PassDraws(NamedTuple):
    """The luck of the critics and the authors of one pass."""

    silence: Numbers
    """By critic: silent where it is under the chance of finding nothing."""
    quality: Numbers
    """By challenger, B then AB."""
    length: Numbers
    taste: Numbers
    """By challenger: the error all judges share."""

    def of_run(self, row: int) -> PassDraws:
        return PassDraws(*(numbers[row : row + 1] for numbers in self))


class RandomDraws:
    """The luck of `runs` runs; every method returns the same again."""

    def __init__(self, seed: int, runs: int) -> None:
        self.seed = seed
        self.runs = runs

    def cached(self) -> RandomDraws:
        luck = RandomDraws(self.seed, self.runs)
        for name in (
            *("draft_taste", "further_draft", "draft_judge", "of_pass", "judge"),
            *("review_judge", "confirming_judge", "further_revision", "further_errors"),
        ):
            setattr(luck, name, cache(getattr(self, name)))
        return luck

    def draft_taste(self) -> Numbers:
        """The error all judges share about the first draft."""
        return self._source(_DRAFT).standard_normal(self.runs)

    def further_draft(self, number: int) -> Numbers:
        """By further draft: its quality, and the error all judges share about it."""
        return self._source(_MORE_DRAFTS, number).standard_normal((self.runs, 2))

    def draft_judge(self, seat: int) -> Numbers:
        """The own error of one judge about the drafts, the first one first."""
        return self._errors(MAX_FINALISTS, _AMONG_DRAFTS, seat)

    def of_pass(self, number: int) -> PassDraws:
        source = self._source(_PASS, number)
        normal = source.standard_normal((self.runs, 5))
        silence = source.random((self.runs, 2))
        return PassDraws(silence, normal[:, 0:2], normal[:, 2], normal[:, 3:5])

    def further_revision(self, number: int, reviser: int) -> PassDraws:
        """The luck of another reviser of a pass, the second or the third; the rest of the pass is as it was."""
        first = self.of_pass(number)
        normal = self._source(_MORE_REVISIONS, number, reviser).standard_normal((self.runs, 3))
        quality, taste = first.quality.copy(), first.taste.copy()
        quality[:, 0], taste[:, 0] = normal[:, 0], normal[:, 2]
        return first._replace(quality=quality, length=normal[:, 1], taste=taste)

    def further_errors(self, number: int, seat: int) -> Numbers:
        """The own error of one judge of a pass about a fourth text and a fifth."""
        return self._errors(2, _MORE_ERRORS, number, seat)

    def judge(self, number: int, seat: int) -> Numbers:
        """The own error of one judge of a pass about A, B and AB."""
        return self._errors(3, _JUDGE, number, seat)

    def review_judge(self, after: int, seat: int) -> Numbers:
        """The own error of one judge of a review about its texts, oldest first; 0 is the only one, at the end."""
        return self._errors(MAX_FINALISTS, _REVIEW, seat, *([after] if after else []))

    def confirming_judge(self, seat: int) -> Numbers:
        """The own error of one judge of the confirmation about the first draft and the delivered text."""
        return self._errors(2, _CONFIRMATION, seat)

    def orders(self, number: int, choices: int) -> NDArray[np.int64]:
        """Which of so many schedules of orders the panel of a pass has."""
        return self._source(_ORDER, number).integers(choices, size=self.runs)

    def _errors(self, texts: int, *purpose: int) -> Numbers:
        # Gumbel errors make rankings follow Plackett and Luce, which is what `fit` assumes.
        return self._source(*purpose).gumbel(scale=_UNIT, size=(self.runs, texts))

    def _source(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, *purpose))


Counts = NDArray[np.int64]


class Texts(NamedTuple):
    """One text in each of many runs, or many in one."""

    quality: Numbers
    length: Numbers
    taste: Numbers
    """What all judges wrongly add to its quality."""
    born: Counts
    """The pass it was written in; 0 for the first draft."""

    def worth(self, world: World, number: Counts | int) -> Numbers:
        """What every judge sees in a text during a pass, in any position."""
        judges = world.judges
        fresh = judges.newer * judges.lasting ** (number - self.born)
        return self.quality + self.taste + judges.longer * self.length + fresh


def first_draft(world: World, taste: Numbers) -> Texts:
    """Where every run begins: at quality 0."""
    nothing = np.zeros_like(taste)
    return Texts(nothing, nothing, world.judges.shared * taste, nothing.astype(np.int64))


def further_draft(world: World, luck: Numbers) -> Texts:
    """Another draft, written in addition to the first."""
    first = first_draft(world, luck[:, 1])
    return first._replace(quality=world.drafts.spread * luck[:, 0])


def revise(
    world: World, luck: PassDraws, number: int, text: Texts, *, blind: bool = False
) -> Texts:
    """B: the text after a revision; a blind one starts from the author's own level and the first draft's length."""
    revision, pull = world.revision, world.revision.pull
    if blind:
        text, pull = first_draft(world, text.taste), 1.0
    change = revision.gain + pull * (revision.level - text.quality)
    return Texts(
        text.quality + change + revision.spread * luck.quality[:, 0],
        text.length + revision.growth + revision.growth_spread * luck.length,
        world.judges.shared * luck.taste[:, 0],
        np.full_like(text.born, number),
    )


def synthesize(
    world: World,
    luck: PassDraws,
    number: int,
    one: Texts,
    other: Texts,
    *,
    subtractive: bool = False,
) -> Texts:
    """AB: around the middle between two texts; where it may only cut, not above the better nor longer than either."""
    synthesis = world.synthesis
    quality = (one.quality + other.quality) / 2
    quality = quality + synthesis.gain + synthesis.spread * luck.quality[:, 1]
    length = (one.length + other.length) / 2
    if subtractive:
        quality = np.minimum(quality, np.maximum(one.quality, other.quality))
        length = np.minimum(one.length, other.length)
    return Texts(
        quality, length, world.judges.shared * luck.taste[:, 1], np.full_like(one.born, number)
    )


def share_changed(world: World, one: Numbers, other: Numbers) -> Numbers:
    """The share of words between texts of two qualities: all of them from one spread of revisions on."""
    return np.minimum(np.abs(one - other) / max(world.revision.spread, 1e-9), 1.0)


def finds_nothing(world: World, luck: PassDraws, critic: int, text: Texts) -> NDArray[np.bool_]:
    """Whether a critic who must quote finds nothing."""
    critics = world.critics
    chance = critics.silent * np.clip(text.quality / critics.at, 0.0, 1.0)
    return luck.silence[:, critic] < chance
