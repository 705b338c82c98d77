"""A plan for an A/B test: texts under codes, an equal random split, and how many readers it takes."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from pathlib import Path
from random import Random
from typing import ClassVar

import msgspec
from msgspec import Struct

from autoreason.contract import count_words
from autoreason.errors import InvalidInput, plainly
from autoreason.files import write
from autoreason.knowledge_records import Chosen
from autoreason.parsing.documents import same_text
from autoreason.report.numbers import count, listed, shorten
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, figures, to_csv, words
from autoreason.stats.power import MAX_SAMPLE, sample_size
from autoreason.story import Story
from autoreason.studies.raters.codes import draw_codes

FILE = "ab.json"
RESULTS = "results.csv"
MAX_ARMS = 10
_DRAWN = 5
"""One arm in so many is drawn at random, so that not only winners are ever tried."""


class Arm(Struct, frozen=True, kw_only=True):
    """One text of the test."""

    code: str
    text: str
    origin: str
    """Where in the run it comes from."""
    chosen: Chosen
    """`ab` where the run's panels chose it, `random` where it was drawn."""
    propensity: float = 1.0
    """How likely it was to be an arm."""


@dataclass(frozen=True, repr=False)
class AbPlan(Report):
    """What to send to whom, and when it is enough."""

    heading: ClassVar[str] = "A/B test"
    run: str
    arms: tuple[Arm, ...]
    """In an order that says nothing; the one to compare with is `control`."""
    control: str
    """The code of the first draft; of the delivered text where that is not an arm."""
    base: float
    lift: float
    sample: int
    """Readers in each arm."""
    unchanged: bool = False
    """Whether the run delivered its first draft, so that no arm but the control was ever delivered."""
    broken: tuple[str, ...] = ()
    """Codes of texts that break the run's contract."""

    @property
    def conclusion(self) -> str:
        """How many readers it takes."""
        return (
            f"send each of {count(len(self.arms), 'text')} to {self.sample:,} readers drawn at random, "
            f"{self.sample * len(self.arms):,} in all; that shows a rate {self.lift * 100:g} % above "
            f"{self.base * 100:g} % four times out of five"
        )

    def sections(self) -> list[Section]:
        """The texts by code; where they come from is in the plan's file, not here."""
        columns = [*words("code"), *figures("words"), *words("text")]
        rows = [(arm.code, str(count_words(arm.text)), shorten(arm.text, 60)) for arm in self.arms]
        sentences = [
            ("Split", "equal and at random, reader by reader; nobody knows which is which"),
            ("Drawn", f"{sum(arm.chosen == 'random' for arm in self.arms)} of them at random"),
        ]
        if self.unchanged:
            only = (
                "the run delivered its first draft: its gain is 0, and the other texts were dropped"
            )
            sentences.insert(0, ("Unchanged", only))
        if self.broken:
            texts = f"{len(self.broken)} of {count(len(self.arms), 'text')}"
            breaks = "breaks" if len(self.broken) == 1 else "break"
            which = f"{texts} {breaks} the run's contract: {listed(self.broken)}"
            sentences.insert(0, ("Contract", which))
        return [Section(sentences=sentences, tables=[Table(columns, rows)])]

    def write(self, folder: str | Path) -> list[Path]:
        """The plan, one file for each text, and a table to fill in; returns what was written."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / FILE).exists():
            raise InvalidInput(f"{folder} has a plan already; name another folder")
        files = {
            folder / FILE: msgspec.json.format(msgspec.json.encode(self)).decode(),
            folder / RESULTS: to_csv(
                ("code", "n", "count"), [(arm.code, None, None) for arm in self.arms]
            ),
            **{folder / f"{arm.code}.md": arm.text for arm in self.arms},
        }
        for path, text in files.items():
            write(path, text)
        return list(files)


def plan_of(
    story: Story, run: str, arms: int = 3, *, base: float = 0.2, lift: float = 0.1, seed: int = 0
) -> AbPlan:
    """A test of the delivered text against the first draft and others of a run."""
    if not 2 <= arms <= MAX_ARMS:
        raise InvalidInput(f"`arms` is {arms}; give a number from 2 to {MAX_ARMS}")
    texts = _texts(story)
    if len(texts) < 2:
        has = "one text" if texts else "no text"
        raise InvalidInput(f"run {run} has {has}, and a test compares two; name another run")
    if len(texts) < arms:
        raise InvalidInput(
            f"run {run} has {len(texts)} texts that differ; give {len(texts)} arms or fewer"
        )
    rng = Random(seed)
    origins = list(texts)
    drawn = ceil(arms / _DRAWN) if arms > 2 else 0
    picked = origins[: arms - drawn]
    rest = origins[len(picked) :]
    chosen = [*picked, *rng.sample(rest, drawn)]
    codes = draw_codes(arms, texts.values(), rng)
    found = [
        Arm(
            code=code,
            text=texts[origin],
            origin=origin,
            chosen="ab" if origin in picked else "random",
            propensity=1.0 if origin in picked else drawn / len(rest),
        )
        for code, origin in zip(codes, chosen, strict=True)
    ]
    delivered = found[0].code
    if not 0 < base < 1:
        raise InvalidInput(f"`base` is {base:g}; give a share between 0 and 1")
    if not lift > 0:
        raise InvalidInput(f"`lift` is {lift:g}; give a share above 0, such as 0.1")
    if base * (1 + lift) >= 1:
        raise InvalidInput(
            f"a rate of {base:g} that rises by {lift:g} of itself is 1 or more; give a smaller `base` or `lift`"
        )
    try:
        sample = sample_size(base, lift, arms - 1)
    except ValueError:
        raise InvalidInput(
            f"a rise of {lift:g} of a rate of {base:g} takes more than {MAX_SAMPLE:,} readers to find; "
            "give a larger `base` or `lift`"
        ) from None
    found.sort(key=lambda arm: arm.code)
    return AbPlan(
        run=run,
        arms=tuple(found),
        control=next((arm.code for arm in found if arm.origin == "draft"), delivered),
        base=base,
        lift=lift,
        sample=sample,
        unchanged=bool(story.incumbents and same_text(story.incumbents[0].text, story.text or "")),
        broken=tuple(arm.code for arm in found if story.task.contract.violations(arm.text))
        if story.task
        else (),
    )


def read_plan(folder: Path) -> AbPlan:
    """The plan of a folder."""
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=AbPlan)
    except OSError:
        raise InvalidInput(
            f"there is no {FILE} in {folder.resolve()}; name the plan's folder, "
            "or make one with `autoreason knowledge ab-plan`"
        ) from None
    except msgspec.MsgspecError as error:
        raise InvalidInput(f"{folder / FILE} is damaged: {plainly(error)}") from None


def _texts(story: Story) -> dict[str, str]:
    """Texts of a run that differ: what was delivered, the first draft, then the others, the latest first."""
    found: dict[str, str] = {}

    def add(origin: str, text: str | None) -> None:
        if text and not any(same_text(text, other) for other in found.values()):
            found[origin] = text

    add(story.origin or "delivered", story.text)
    add("draft", story.incumbents[0].text if story.incumbents else None)
    for each in reversed(story.passes):
        for slot, candidate in each.candidates.items():
            add(f"pass {each.number}, {slot}", candidate.text)
    for draft in story.drafts:
        add(f"draft {draft.number}", draft.text)
    return found
