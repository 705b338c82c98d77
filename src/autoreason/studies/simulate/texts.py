"""What is true of texts, and how a world derives new ones from them; one number per run throughout."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoreason.studies.simulate.random_draws import Numbers, PassDraws
from autoreason.studies.simulate.world import World

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


def enter_texts(table: Texts, columns: Counts, texts: Texts) -> None:
    """Write each run's text into its column of a table with one row per run."""
    rows = np.arange(len(columns))
    for all_values, values in zip(table, texts, strict=True):
        all_values[rows, columns] = values


def pick_texts(table: Texts, rows: Counts, columns: Counts) -> Texts:
    """Some texts of some runs, by row."""
    at = rows[:, None], columns
    return Texts(table.quality[at], table.length[at], table.taste[at], table.born[at])


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
        quality,
        length,
        world.judges.shared * luck.taste[:, 1],
        np.full_like(one.born, number),
    )


def share_changed(world: World, one: Numbers, other: Numbers) -> Numbers:
    """The share of words between texts of two qualities: all of them from one spread of revisions on."""
    return np.minimum(np.abs(one - other) / max(world.revision.spread, 1e-9), 1.0)


def finds_nothing(world: World, luck: PassDraws, critic: int, text: Texts) -> NDArray[np.bool_]:
    """Whether a critic who must quote finds nothing."""
    critics = world.critics
    chance = critics.silent * np.clip(text.quality / critics.at, 0.0, 1.0)
    return luck.silence[:, critic] < chance
