"""The settings of a run: protocol, models, panel, stopping, budget. Recorded with every run."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar, get_origin

import msgspec
from msgspec import Meta, Struct

from autoreason.errors import InvalidInput
from autoreason.exchange import Effort, Role
from autoreason.fields import (
    FieldDoc,
    check_fields,
    check_known,
    check_ranges,
    describe,
    make_struct,
    read_docs,
)
from autoreason.job_types import AnyJob, JobType, Judge, Refine
from autoreason.plugins import absolute, is_own

Protocol = Literal["robust", "paper"]
Candidates = Literal["B+AB", "B", "AB"]
"""Who opposes A in a pass."""
Style = Literal["reasoned", "holistic", "specialists", "verified", "scope_aware", "anchored"]
BallotForm = Literal["ranked", "graded"]
Voting = Literal["borda", "majority", "copeland", "instant_runoff"]
EditMode = Literal["free", "light", "proof"]
Blindness = Literal["seen", "not seen", "not tested", "one context"]
_OWN_MODEL = re.compile(r"(.*\.py:[^\W\d]\w*|[\w.]+:[^\W\d]\w*)/(.+)")

DEFAULT_MODEL = "local/smollm2"
"""Never one that costs money: a key in the environment does not change it."""
FOR_THE_EMBEDDED_MODEL: dict[str, Any] = {
    "max_tokens": 320,
    "author_temperature": 0.3,
    "critic_temperature": 0.3,
}
"""It is very small: it fills whatever room it has, and rambles at a high temperature."""
INSIDE = ("local", "echo")
"""Providers that run in this process."""
THROUGH_LITELLM = ("litellm", "bedrock", "vertex", "azure")
"""Providers whose servers and keys LiteLLM knows."""
HOST = "host"
"""The provider of models that are answered from outside, by an agent or a person."""
BY_PROGRAM = ("claude-code", "codex", "gemini-cli")
"""Command lines of the user's own, which log in by themselves."""
PANEL_JUDGES = 7
"""Judges of a panel over finished texts, where nothing else is asked for."""
_FEW_JUDGES = 3
MAX_JUDGES = 99
MAX_DRAFTS = 10
"""As many texts as a judge is asked to rank."""
MAX_ALTERNATIVES = 7
MAX_REVISERS = 3
"""With A and AB five texts: the most whose rankings a ballot's schema lists one by one."""
MAX_PASSES = 1000
ROLE_MODELS = {
    "author_model": "author",
    "critic_model": "critic",
    "synthesizer_model": "synthesizer",
    "judge_models": "judges",
    "reviser_models": "revisers",
}
"""Options that give a role of `Models` a model of its own."""
ANY_GROWTH = 100.0
Temperature = Annotated[float, Meta(ge=0, le=2)]
Share = Annotated[float, Meta(ge=0, le=1)]
J = TypeVar("J", bound=JobType)


class Models(Struct, frozen=True, kw_only=True):
    """Which model plays which role, as `provider/model`; empty where a job has no such role."""

    author: Annotated[str, "Who writes and revises."] = ""
    critic: Annotated[str, "Who looks for problems."] = ""
    synthesizer: Annotated[str, "Who joins A and B into AB."] = ""
    judges: Annotated[
        tuple[str, ...], "Who judges; several make a mixed panel, taken in turn, seat by seat."
    ]
    revisers: Annotated[
        tuple[str, ...],
        "Who revises in a tournament instead of the author; several, three at most, write B1, B2 … by turns, or "
        "side by side where a pass has judges, and AB joins A with one of them, by turns.",
    ] = ()
    hosts: Annotated[
        dict[str, Blindness],
        "Whether contexts of a host see a project's instructions, by the latest check where the run began; or that "
        "one context answers everything.",
    ] = {}

    def __post_init__(self) -> None:
        for role in ("author", "critic", "synthesizer"):
            msgspec.structs.force_setattr(self, role, _absolute_address(getattr(self, role)))
        for role in ("judges", "revisers"):
            addresses = tuple(map(_absolute_address, getattr(self, role)))
            msgspec.structs.force_setattr(self, role, addresses)
        if len(self.revisers) > MAX_REVISERS:
            raise InvalidInput(f"`reviser_models` are too many; give {MAX_REVISERS} at most")

    @classmethod
    def everywhere(cls, address: str) -> Self:
        """One model for all roles."""
        return cls(author=address, critic=address, synthesizer=address, judges=(address,))

    @classmethod
    def judging(cls, *addresses: str) -> Self:
        """Judges alone."""
        return cls(judges=addresses)

    def outside(self) -> tuple[str, ...]:
        """Those that are answered from outside."""
        return tuple(each for each in self.all() if provider_of(each) == HOST)

    def all(self) -> tuple[str, ...]:
        """Every address, once, in a stable order."""
        addresses = (self.author, self.critic, self.synthesizer, *self.judges, *self.revisers)
        return tuple(dict.fromkeys(filter(None, addresses)))


class Budget(Struct, frozen=True, kw_only=True):
    """Hard limits over the whole run, resumes included; None is unlimited."""

    cost: Annotated[Decimal | None, "Most US dollars; needs models with known prices."] = None
    tokens: Annotated[int | None, "Most tokens, read and written."] = None
    calls: Annotated[int | None, "Most calls to models."] = None
    seconds: Annotated[
        float | None,
        "Longest time at work; replies under way are waited for, retries are not, and pauses do not count.",
    ] = None

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            cost: Decimal | float | None = None,
            tokens: int | None = None,
            calls: int | None = None,
            seconds: float | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        cost: object = self.cost
        if isinstance(cost, int | float):
            msgspec.structs.force_setattr(self, "cost", Decimal(str(cost)))


LIMITS = {
    "cost": "cost_limit",
    "tokens": "token_limit",
    "calls": "call_limit",
    "seconds": "time_limit",
}
"""What the command line calls the fields of a `Budget`."""


_MOST = 10**12
"""More dollars than JSON can count to the cent."""


def limit_remedy(value: Decimal | float | None) -> str:
    if value is None:
        return ""
    finite = value.is_finite() if isinstance(value, Decimal) else -math.inf < value < math.inf
    if not finite:
        return "give a finite number"
    return "give more than 0" if value <= 0 else f"give at most {_MOST:,}" if value > _MOST else ""


def read_budget(limits: Budget | Mapping[str, Any]) -> Budget:
    if isinstance(limits, Budget):
        return limits
    return make_struct(Budget, limits, "`budget`: ")


Unit = Literal["calls", "tokens", "cost"]


class Matched(Struct, frozen=True):
    """What an arm may spend next to the first one of its suite, or as all of them may."""

    unit: Unit
    amount: Decimal


class SuiteMatch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all arms may spend equally much of; a pass that would not fit is not begun."""

    by: Annotated[Unit, "What all may spend equally much of."] = "calls"
    amount: Annotated[
        Decimal | None,
        "What each may spend, its draft not counted, instead of what the first takes for the same task and repeat.",
    ] = None


class Settings(Struct, frozen=True, kw_only=True):
    """What a run does, and how; the help of the command line quotes these sentences."""

    job: AnyJob = Refine()
    models: Models
    seed: Annotated[
        int, "All randomness of the run comes from it; sent on where a model takes one."
    ]
    protocol: Annotated[Protocol, "`robust`, or `paper`, the published procedure."] = "robust"
    matched: Annotated[
        Matched | None, "What it may spend before another pass; set by suites that match budgets."
    ] = None

    drafts: Annotated[
        int,
        Meta(ge=1, le=MAX_DRAFTS),
        "Drafts that keep the contract before the passes begin; of several a panel chooses one.",
    ] = 1
    max_drafts: Annotated[int, Meta(ge=1, le=MAX_DRAFTS), "The most drafts written for that."] = (
        MAX_DRAFTS
    )
    anyway: Annotated[
        bool,
        "Whether a run goes on where no draft keeps a limit of the contract, which else ends it.",
    ] = False
    rivals: Annotated[
        bool, "Whether a fresh draft opposes A where the critique brings no challenger."
    ] = True
    candidates: Annotated[
        Candidates,
        "Who opposes A: the revision B and the synthesis AB, B alone, or AB alone, for which B is not judged.",
    ] = "B"
    blind_revision: Annotated[
        bool, "Revisions are written from task and critique alone, without seeing A."
    ] = False
    subtractive_synthesis: Annotated[
        bool,
        "A synthesis may only leave out: code checks that each sentence is what remains of a paragraph of A or B.",
    ] = False
    critic_facts: Annotated[bool, "Whether critics are shown the task's facts."] = True
    k: Annotated[
        int,
        Meta(ge=1, le=MAX_PASSES),
        "Stop after A wins this many passes in a row; a tie counts neither way, in `paper` as a win.",
    ] = 3
    passes: Annotated[int, Meta(ge=1, le=MAX_PASSES), "The most passes."] = 40
    judges: Annotated[
        int,
        Meta(ge=0, le=MAX_JUDGES),
        "Judges of a pass; with 0 a revision takes A's place unseen, up to the next review.",
    ] = 0
    early_stop: Annotated[
        bool, "Do not ask a judge whose vote can no longer change the outcome."
    ] = True
    balanced_orders: Annotated[
        bool, "Candidates appear in every position equally often; else orders are drawn at random."
    ] = True
    style: Annotated[
        Style,
        "How judges are asked: `reasoned`, `holistic`, `specialists`; `verified`, where a second judge checks that "
        "a first place is not for length alone; `scope_aware`, to weigh whether a text stays within the task; "
        "`anchored`, next to the first draft as a reference.",
    ] = "reasoned"
    ballot: Annotated[
        BallotForm,
        "What judges are asked for: a ranking; or, as an experiment, a grade from 1 to 20 for each text on each "
        "criterion, from which the ranking follows.",
    ] = "ranked"
    voting: Annotated[
        Voting, "How ballots are counted: `borda`, `majority`, `copeland` or `instant_runoff`."
    ] = "borda"
    required_lead: Annotated[
        int,
        Meta(ge=1, le=1000),
        "Points by which a challenger must lead A to take its place; 1 is any lead.",
    ] = 1
    plateau: Annotated[
        int,
        Meta(ge=0, le=MAX_PASSES),
        "Stop after this many small changes in a row, not counting passes that A wins; 0 never stops.",
    ] = 0
    plateau_change: Annotated[
        Share, "A change is small where the winner differs from A in at most this share of words."
    ] = 0.1
    tie_order: Annotated[
        tuple[str, ...],
        "Who wins equal scores: A, always; then the synthesis, being the smaller step away from A.",
    ] = ("A", "AB", "B")
    quoted_critique: Annotated[
        bool, "The critic quotes the text for each problem, and code looks it up; else free prose."
    ] = True
    reviewers: Annotated[
        int,
        Meta(ge=0, le=MAX_JUDGES),
        "Judges of a review, who rank texts from the first draft to the latest; 0 for none.",
    ] = 7
    review_texts: Annotated[int, Meta(ge=3, le=10), "The most texts that a review ranks."] = 9
    ballot_texts: Annotated[
        int,
        Meta(ge=3, le=10),
        "The most texts that one judge ranks; more are reviewed in two stages, the older half first.",
    ] = 10
    review_every: Annotated[
        int,
        Meta(ge=0, le=MAX_PASSES),
        "Passes from one review to the next; with 0 there is one, at the end.",
    ] = 5
    min_reviews: Annotated[
        int,
        Meta(ge=2, le=MAX_PASSES),
        "From this review on, one that puts the same text first as the review before ends the run.",
    ] = 3
    max_growth: Annotated[
        float,
        Meta(ge=0, le=ANY_GROWTH),
        "The share of the first draft's words by which a text may be longer, unless critics miss something in A.",
    ] = 0.5
    edit: Annotated[
        EditMode,
        "`light`: your draft with few words changed; `proof`: corrected, a third of them; `free`: any text.",
    ] = "free"
    edit_share: Annotated[Share, "Share of words an `edit` may change; half in a round."] = 0.3
    confirmation: Annotated[
        int,
        Meta(ge=0, le=MAX_JUDGES),
        "Fresh judges who compare the delivered text with the first draft; with 0 there is no evidence.",
    ] = 9

    max_tokens: Annotated[
        int,
        Meta(ge=16, le=1_000_000),
        "Most tokens of one reply, reasoning aside; a text that is cut off is asked for again with twice as much.",
    ] = 4096
    author_temperature: Annotated[Temperature | None, "Temperature of authors."] = 0.8
    critic_temperature: Annotated[Temperature | None, "Temperature of critics."] = 0.8
    judge_temperature: Annotated[Temperature | None, "Temperature of judges."] = 0.3
    author_effort: Annotated[Effort | None, "How much authors reason."] = None
    critic_effort: Annotated[Effort | None, "How much critics reason."] = None
    judge_effort: Annotated[Effort | None, "How much judges reason."] = None
    budget: Annotated[Budget, "Limits over the whole run, resumes included."] = Budget()
    base_url: Annotated[
        str | dict[str, str] | None,
        "The server to ask instead of the provider's own; its key goes there. Of several providers, say whose.",
    ] = None
    allow_http: Annotated[
        bool, "Send keys over plain http to other machines too; anyone on the way can read them."
    ] = False
    batch: Annotated[
        bool, "Ask through the provider's batches: half the price; every reply may take hours."
    ] = False

    def job_as(self, kind: type[J]) -> J:
        """The job, which is of this kind."""
        assert isinstance(self.job, kind), self.job
        return self.job

    @property
    def panel_judges(self) -> int:
        """Judges who choose among drafts, or wherever tests and numbers do not decide."""
        return self.judges or _FEW_JUDGES

    @property
    def ties_survive(self) -> bool:
        """Whether A survives a pass after which it stays without a lead, as the paper has it."""
        return self.protocol == "paper"

    @property
    def edit_shares(self) -> tuple[float, float]:
        """The shares of words that may change in a round and in sum."""
        most = self.edit_share / (3 if self.edit == "proof" else 1)
        return most / 2, most

    def effort(self, role: Role) -> Effort | None:
        """How much a role reasons before it answers."""
        own = {"judge": self.judge_effort, "critic": self.critic_effort}
        return own.get(role, self.author_effort)

    def temperature(self, role: Role) -> float | None:
        """How freely a role answers."""
        own = {"judge": self.judge_temperature, "critic": self.critic_temperature}
        return own.get(role, self.author_temperature)

    def __post_init__(self) -> None:
        try:
            self._check()
        except (AttributeError, TypeError):
            # Looked at only now: every run has many settings, nearly all of the right types.
            check_fields(self)
            raise

    def _check(self) -> None:
        check_ranges(Settings, msgspec.structs.asdict(self))
        if self.confirmation == 1:
            raise InvalidInput("`confirmation` is 1; one judge is not a panel, give 0, 2 or more")
        if self.subtractive_synthesis and self.candidates == "B":
            raise InvalidInput("`subtractive_synthesis` needs AB among `candidates`; drop one")
        if not self.judges and self.candidates != "B":
            raise InvalidInput("without `judges`, `candidates` can only be B; give one of them")
        if self.judges < 2 and isinstance(self.job, Judge):
            raise InvalidInput(
                f"`judges` is {self.judges}; one vote is not a panel: give 2 or more"
            )
        if self.reviewers == 1:
            raise InvalidInput("`reviewers` is 1; one vote is not a panel: give 0, 2 or more")
        if self.style == "anchored" and not self.models.author:
            raise InvalidInput("`style` is anchored, but there is no first draft; give another")
        is_refining = isinstance(self.job, Refine) and not self.job.is_tournament
        is_unseen = self.blind_revision or not self.quoted_critique
        if self.edit != "free" and (is_refining or is_unseen):
            needs = "the usual `strategy`, `quoted_critique` and no `blind_revision`"
            raise InvalidInput(f"`edit` takes {needs}; drop one")
        if self.max_drafts < self.drafts:
            raise InvalidInput(f"`max_drafts` is under `drafts` ({self.drafts}); change one")
        if sorted(self.tie_order) != ["A", "AB", "B"] or self.tie_order[0] != "A":
            raise InvalidInput("`tie_order` is not A>AB>B or A>B>AB; give one of them")
        self._pair_servers()
        for name in Budget.__struct_fields__:
            value = getattr(self.budget, name)
            if remedy := limit_remedy(value):
                raise InvalidInput(f"`budget.{name}` is {value}; {remedy} or leave it out")

    def server_of(self, address: str) -> str | None:
        """The server a model is asked at; None where it is the provider's own."""
        if isinstance(self.base_url, str):
            return self.base_url
        return (self.base_url or {}).get(provider_of(address))

    def _pair_servers(self) -> None:
        """Record which provider a URL belongs to, so that a change of models cannot give it to another one."""
        given = self.base_url
        for url in given.values() if isinstance(given, dict) else filter(None, [given]):
            if "@" in url.partition("://")[2].partition("/")[0] or "?" in url or "#" in url:
                raise InvalidInput("`base_url` has a key or a query; put keys into the key file")
        used = providers_of(self.models.all())
        if given and isinstance(given, str) and len(used) == 1:
            msgspec.structs.force_setattr(self, "base_url", {used[0]: given})


def provider_of(address: str) -> str:
    """The provider that an address names; for a model of the user's own `file.py:Name`."""
    own = _OWN_MODEL.fullmatch(address)
    return own[1] if own else address.partition("/")[0]


def _absolute_address(address: str) -> str:
    own = _OWN_MODEL.fullmatch(address)
    return f"{absolute(own[1])}/{own[2]}" if own else address


def providers_of(addresses: Iterable[str]) -> tuple[str, ...]:
    found = dict.fromkeys(map(provider_of, addresses))
    without = (*INSIDE, *THROUGH_LITELLM, *BY_PROGRAM, HOST)
    return tuple(name for name in found if name not in without and not is_own(name))


def servers(
    base_url: str | Mapping[str, str] | None, addresses: Iterable[str]
) -> Mapping[str, str]:
    """Base URLs by provider; one without a provider is refused where several are in use."""
    if not base_url:
        return {}
    used = providers_of(addresses)
    if not used:
        raise InvalidInput("no model here is asked at a server; leave `base_url` out")
    if not isinstance(base_url, str):
        for name in base_url:
            if name not in used:
                raise InvalidInput(f"`base_url` of {name}, which no model here uses; leave it out")
        return base_url
    if len(used) > 1:
        raise InvalidInput(f"say whose server it is: `base_url` {used[0]}=URL")
    return {used[0]: base_url}


SETTING_DOCS: dict[str, FieldDoc] = {
    **read_docs(Refine),
    **{name: doc for name, doc in read_docs(Settings).items() if name != "job"},
}
"""Everything that can be set for a run which writes a text."""


PAPER: dict[str, Any] = {
    "max_drafts": 1,
    "rivals": False,
    "candidates": "B+AB",
    "k": 2,
    "passes": 15,
    "judges": 3,
    "early_stop": False,
    "balanced_orders": False,
    "quoted_critique": False,
    "max_growth": ANY_GROWTH,
    "reviewers": 0,
    "review_every": 0,
    "confirmation": 0,
    "tie_order": ("A", "B", "AB"),
}
"""Where the published procedure differs from our defaults; `paper/README.md` says what we do otherwise all the same."""


def make_settings(
    models: Models, seed: int, protocol: Protocol = "robust", **changes: Any
) -> Settings:
    """Settings of a protocol with changes; anything out of range is one clear sentence."""
    base = PAPER if protocol == "paper" else {}
    chosen = {**base, **{name: value for name, value in changes.items() if value is not None}}
    drafts = chosen.get("drafts")
    if isinstance(drafts, int) and changes.get("max_drafts") is None:
        chosen["max_drafts"] = max(drafts, base.get("max_drafts", MAX_DRAFTS))
    if DEFAULT_MODEL in models.all():
        chosen = {**FOR_THE_EMBEDDED_MODEL, **chosen}
    fields = {"models": models, "seed": seed, "protocol": protocol, **chosen}
    check_known(fields, ("job", *SETTING_DOCS), "unknown setting")
    own = {name: fields.pop(name) for name in Refine.__struct_fields__ if name in fields}
    return make_struct(Settings, {"job": make_struct(Refine, own)} | fields)


def describe_default(name: str, show: Callable[[Any], str]) -> str:
    """The default of a setting, and where the paper or the embedded model has another."""
    usual = SETTING_DOCS[name].default
    others = {"paper": PAPER, DEFAULT_MODEL: FOR_THE_EMBEDDED_MODEL}
    differing = (f"{who}: {show(own[name])}" for who, own in others.items() if name in own)
    return "; ".join((show(usual), *differing))


def read_changes(given: Iterable[str], known: Mapping[str, FieldDoc]) -> dict[str, Any]:
    """Settings written as NAME=VALUE, or strategy_options.NAME=VALUE, each read by its type."""
    changes: dict[str, Any] = {}
    for change in given:
        name, equals, text = (part.strip() for part in change.partition("="))
        option = name.removeprefix("strategy_options.")
        if not (equals and option and text):
            raise InvalidInput(f"{change!r} sets nothing; write it like k=3")
        if name in changes or option in changes.get("strategy_options", {}):
            raise InvalidInput(f"`{name}` is set twice; set it once")
        if option != name and "strategy_options" in known:
            changes.setdefault("strategy_options", {})[option] = text
        else:
            check_known([name], list(known), "unknown setting")
            changes[name] = _read_value(name, text, known[name])
    return changes


def _read_value(name: str, text: str, doc: FieldDoc) -> Any:
    if name == "tie_order":
        return tuple(slot.strip().upper() for slot in text.split(">"))
    for kind in doc.alternatives:
        value = text.split(",") if get_origin(kind) is tuple else text
        try:
            return msgspec.convert(value, kind, strict=False)
        except msgspec.ValidationError:
            continue
    raise InvalidInput(f"`{name}` is {text!r}; give {describe(doc.type)}")
