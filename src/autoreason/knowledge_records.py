"""Records: what is known of earlier texts, facts and style, and what of it a run shows to whom."""

from __future__ import annotations

import hashlib
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from autoreason.contract import count_words

RecordKind = Literal["outcome", "verdict", "fact", "style", "feedback"]
"""What a record says: how a text did, what a person decided, what is true, how we write, what a reader said."""
Chosen = Literal["random", "ab", "picked", "unknown"]
"""How a text came to have an outcome: only the first two say something about texts in general."""
CHOSEN: tuple[Chosen, ...] = get_args(Chosen)
WhenTested = Literal["tested", "yes", "no"]
"""Whether outcomes have a say: where a `knowledge test` says that it helps, always, or never."""
FittedName = Literal["words", "embeddings"]
"""What outcomes are predicted from."""
FITTED: tuple[FittedName, ...] = get_args(FittedName)


class RecordedOutcome(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A number that the world gave a text."""

    metric: str
    value: float
    n: int | None = None
    """How many it rests on: mails sent, impressions; None where nobody says."""
    se: float | None = None
    """Its standard error, where that is known instead."""
    better: Literal["higher", "lower"] = "higher"


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One text and what is known of it, as its owner wrote it down."""

    text: str
    kind: RecordKind
    result: RecordedOutcome | None = None
    verdict: Literal["approved", "rejected"] | None = None
    score: float | None = None
    """A person's mark, higher is better."""
    group: str = ""
    """The test, campaign or list within which results can be compared; empty where it has none."""
    pair: str = ""
    """Where a verdict is about two texts: the name of the two in their group, which are compared with no others."""
    when: str = ""
    """A date, as YYYY-MM-DD with or without a time; empty where nobody says."""
    audience: str = ""
    source: str = ""
    """File and line."""
    chosen: Chosen = "unknown"
    private: bool = False
    allowed: bool = False
    """Shown although lines of it address a model: its owner says so."""
    note: str = ""

    @property
    def id(self) -> str:
        """A short name that depends on what it says and not on where it stands."""
        said = (
            self.text,
            self.kind,
            # All of its fields: a default is left out only where it is the very object of the class.
            self.result and msgspec.structs.astuple(self.result),
            self.verdict,
            self.score,
            self.group,
            self.pair,
            self.when,
        )
        return "r" + hashlib.sha256(msgspec.json.encode(said)).hexdigest()[:10]


class ShownRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record as a model is shown it."""

    id: str
    text: str
    """Perhaps cut, with addresses and numbers masked."""
    figure: str = ""
    """What became of it, in words: `open rate 38 % of 2,100; group 24 %`; `approved`."""
    group: str = ""
    """For people; models are not shown it."""
    private: bool = False
    """Only for models on this machine."""


class ShownOutcomes(Struct, frozen=True, kw_only=True):
    """The two short lists that are argued from."""

    well: tuple[ShownRecord, ...] = ()
    badly: tuple[ShownRecord, ...] = ()

    @property
    def all(self) -> tuple[ShownRecord, ...]:
        return self.well + self.badly


class PredictorSeat(Struct, frozen=True, kw_only=True):
    """A predictor fitted on outcomes, with a seat on the panels of a run that choose."""

    predictor: FittedName
    fit: str
    """The digest under which it is saved on this machine."""
    records: int
    """Outcomes it is fitted on."""
    verdict: str = ""
    """Of its last test; empty where it was not tested."""
    right: float | None = None
    """Share of recorded pairs about which it was right, their group left out; with its 95 % interval."""
    low: float | None = None
    high: float | None = None


class Knowledge(Struct, frozen=True, kw_only=True):
    """What a run shows of a folder of records; chosen once, before its first call, and recorded with its task."""

    source: str
    """The folder, as it was named."""
    digest: str
    """Of all records it had."""
    facts: tuple[ShownRecord, ...] = ()
    """For authors, critics and judges."""
    style: tuple[ShownRecord, ...] = ()
    """For authors and critics."""
    feedback: tuple[ShownRecord, ...] = ()
    """What readers said; for critics."""
    critic: ShownOutcomes = ShownOutcomes()
    judges: ShownOutcomes = ShownOutcomes()
    """Other records than the critic's; none where it is not shown that they help."""
    seat: PredictorSeat | None = None
    """None where no predictor votes."""
    weights: dict[str, float] = {}
    """How much a ballot of each judge counts in the review, by how often it was right about pairs of the folder; none
    unless every judge was tested."""
    left_out: dict[str, int] = {}
    """How many were left out, and why: `private`, `addresses a model`, `same group`, `later`, `too similar`,
    `measured by another metric`, `no better and no worse than its group`."""
    unlike: int = 0
    """How many outcomes the folder has, where none is similar to brief and draft, so that those which say most are
    shown; else 0."""
    withheld: int = 0
    """Private records that an earlier run showed and this one does not: texts it begins with, or judges, were written
    with them."""

    @property
    def shown(self) -> tuple[ShownRecord, ...]:
        return (*self.facts, *self.style, *self.feedback, *self.critic.all, *self.judges.all)

    def origin(self) -> Knowledge | None:
        """What a panel over texts written with it has to know: private records, counted; None without."""
        private = len({each.id for each in self.shown if each.private}) + self.withheld
        return Knowledge(source=self.source, digest="", withheld=private) if private else None

    @property
    def words(self) -> int:
        return sum(count_words(record.text) for record in self.shown)

    def outcomes_for(self, role: str) -> ShownOutcomes:
        """What a role argues from; authors argue from nothing, so that nobody writes to the judges' examples."""
        return {"critic": self.critic, "judge": self.judges}.get(role, ShownOutcomes())
