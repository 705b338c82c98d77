"""The settings of a run: protocol, models, panel, stopping, budget. Recorded with every run."""

import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, Self, get_args

import msgspec
from msgspec import Meta, Struct

from autoreason.errors import InvalidInput, plainly
from autoreason.exchange import Effort, Role
from autoreason.plugins import absolute, is_in_file
from autoreason.type_hints import check_fields

Protocol = Literal["robust", "paper"]
Candidates = Literal["B+AB", "B", "AB"]
"""Who opposes A in a pass."""
_OWN_MODEL = re.compile(r"(.*\.py:[^\W\d]\w*)/(.+)")
STYLES = ("reasoned", "holistic", "specialists", "verified", "scope_aware", "anchored")

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
PANEL_JUDGES = 7
"""Judges of a panel over finished texts, where nothing else is asked for."""
MAX_JUDGES = 99
MAX_DRAFTS = 10
"""As many texts as a judge is asked to rank."""
MAX_REVISERS = 3
"""With A and AB five texts: the most whose rankings a ballot's schema lists one by one."""
MAX_PASSES = 1000
ROLE_MODELS = (
    *("author_model", "critic_model", "synthesizer_model"),
    *("judge_models", "reviser_models"),
)
"""Options that give a role of `Models` a model of its own."""
Temperature = Annotated[float, Meta(ge=0, le=2)]


class Models(Struct, frozen=True, kw_only=True):
    """Which model plays which role, as `provider/model`; empty where a job has no such role."""

    author: str = ""
    """Who writes and revises."""
    critic: str = ""
    """Who looks for problems."""
    synthesizer: str = ""
    """Who joins A and B into AB."""
    judges: tuple[str, ...]
    """Who judges; several make a mixed panel, taken in turn, seat by seat."""
    revisers: tuple[str, ...] = ()
    """Who revises in a tournament instead of the author; several, three at most, write B1, B2 … side by side, and AB
    joins A with one of them, by turns. No published run had several."""

    def __post_init__(self) -> None:
        for role in ("author", "critic", "synthesizer"):
            msgspec.structs.force_setattr(self, role, _absolute_address(getattr(self, role)))
        for role in ("judges", "revisers"):
            addresses = tuple(map(_absolute_address, getattr(self, role)))
            msgspec.structs.force_setattr(self, role, addresses)
        if len(self.revisers) > MAX_REVISERS:
            raise InvalidInput(
                f"`reviser_models` are {len(self.revisers)}; give {MAX_REVISERS} at most"
            )

    @classmethod
    def everywhere(cls, address: str) -> Self:
        """One model for all roles."""
        return cls(author=address, critic=address, synthesizer=address, judges=(address,))

    @classmethod
    def judging(cls, *addresses: str) -> Self:
        """Judges alone."""
        return cls(judges=addresses)

    def all(self) -> tuple[str, ...]:
        """Every address, once, in a stable order."""
        addresses = (self.author, self.critic, self.synthesizer, *self.judges, *self.revisers)
        return tuple(dict.fromkeys(filter(None, addresses)))


class Budget(Struct, frozen=True, kw_only=True):
    """Hard limits over the whole run, resumes included; None is no limit."""

    cost: Decimal | None = None
    """Most US dollars; needs models with known prices."""
    tokens: int | None = None
    """Most tokens, read and written."""
    calls: int | None = None
    """Most calls to models."""
    seconds: float | None = None
    """Longest time at work; replies under way are waited for, retries are not, and pauses do not count."""


def limit_remedy(value: Decimal | float | None) -> str:
    """What to give in place of a limit that is none; empty where there is nothing to change."""
    if value is None:
        return ""
    finite = value.is_finite() if isinstance(value, Decimal) else -math.inf < value < math.inf
    if not finite:
        return "give a finite number"
    return "give more than 0" if value <= 0 else ""


def read_budget(limits: Budget | Mapping[str, Any]) -> Budget:
    """A budget, also from its limits by name."""
    if isinstance(limits, Budget):
        return limits
    unknown = set(limits) - set(Budget.__struct_fields__)
    if unknown:
        raise InvalidInput(
            f"`budget` has no limit `{min(unknown)}`; known are {', '.join(Budget.__struct_fields__)}"
        )
    try:
        return msgspec.convert(dict(limits), Budget)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"`budget`: {plainly(error)}; change it") from None


Unit = Literal["calls", "tokens", "cost"]


class Matched(Struct, frozen=True):
    """What an arm may spend next to the first one of its suite, or as all of them may."""

    unit: Unit
    amount: Decimal


class Settings(Struct, frozen=True, kw_only=True):
    """Everything about a run that is not its task; the help of the command line quotes these sentences."""

    models: Models
    seed: int
    """All randomness of the run comes from it; sent on where a model takes one."""
    protocol: Protocol = "robust"
    """`robust`, or `paper`, the published procedure."""
    strategy: str = "autoreason"
    """`autoreason`, or a rival: `single`, `conservative`, `improve`, `harsh`, `critique_revise` and `self_refine`, in
    which no one judges, `best_of_n`, in which a panel chooses a draft; or your own, `file.py:Class`."""
    strategy_options: dict[str, Any] = {}
    """What only this strategy understands, such as n=4 for `best_of_n`."""
    matched: Matched | None = None
    """What a strategy may spend before it begins another pass; set for the cells of a suite that matches budgets."""

    drafts: Annotated[int, Meta(ge=1, le=MAX_DRAFTS)] = 1
    """Drafts that keep the contract before the passes begin; of several a panel chooses one. A draft that is
    given stands alone."""
    max_drafts: Annotated[int, Meta(ge=1, le=MAX_DRAFTS)] = 1
    """The most drafts written for that."""
    rivals: bool = False
    """Whether a fresh draft opposes A where the critique brings no challenger; False in records that do not say."""
    strict_length: bool = False
    """Whether a text that breaks as many limits as A may be no further from the limits of length; False in records
    that do not say."""
    strict_echo: bool = False
    """Whether to repeat a sentence about the contract is to repeat the request, and keeps no limit; False in records
    that do not say."""
    candidates: Candidates = "B+AB"
    """Who opposes A: the revision B and the synthesis AB, B alone, or AB alone, for which B is written but not judged.
    The paper showed judges a clone in place of what it left out, in one run each, so its data say nothing."""
    blind_revision: bool = False
    """Revisions are written from task and critique alone, without seeing A, as one account of the method has it; in
    every published run their authors saw A."""
    subtractive_synthesis: bool = False
    """A synthesis may only leave out: code checks that each sentence is what remains of a paragraph of A or B. In the
    paper's two runs A won none and one of 17 passes; neither was run to its end."""
    critic_facts: bool = True
    """Whether critics are shown the task's facts. In the paper's one case such a critic found all four invented claims
    in the first pass; no run without them is published."""
    k: Annotated[int, Meta(ge=1, le=MAX_PASSES)] = 3
    """Survivals of A in a row that end the run; a tie counts neither way, in `paper` as one. Of 17 runs of the paper 13
    end with 2, at pass 12.5 on average."""
    passes: Annotated[int, Meta(ge=1, le=MAX_PASSES)] = 15
    """The most passes."""
    judges: Annotated[int, Meta(ge=1, le=MAX_JUDGES)] = 3
    """Judges a panel starts with."""
    single_judge: bool = False
    """One judge decides each pass. One vote is no panel: nothing can be claimed from it. The paper's runs took 7 passes
    with one judge, 18 (and 23 and 24) with three, 6 with seven."""
    extra_judges: Annotated[int, Meta(ge=0, le=MAX_JUDGES)] = 3
    """Judges added while the vote is close; 0 adds none."""
    max_judges: Annotated[int, Meta(ge=2, le=MAX_JUDGES)] = 6
    """The largest a panel may grow."""
    close_margin: Annotated[int, Meta(ge=0, le=1000)] = 2
    """A vote is close when the best challenger is within this many points of A."""
    early_stop: bool = True
    """Do not ask a judge whose vote can no longer change the outcome."""
    balanced_orders: bool = True
    """Candidates appear in every position equally often; otherwise each judge's order is drawn at random."""
    style: str = "reasoned"
    """How judges are asked: `reasoned`, `holistic`, `specialists`; `verified`, where a second judge checks that a first
    place is not for length alone; `scope_aware`, to weigh whether a text stays within the task; `anchored`, next to the
    first draft as a reference; or your own, `file.py:name`. In the paper's data A wins 1 of 15 passes verified, 4 of 35
    scope-aware, 4 of 25 anchored and 6 of 50 reasoned; holistic runs are as long as reasoned ones (p = 0.83)."""
    voting: str = "borda"
    """How ballots are counted: `borda`, `majority`, `copeland`, `instant_runoff`, or your own, `file.py:name`. On the
    paper's ballots borda and duels agree in 371 of 375 passes; majority was tied in 1 of 25."""
    required_lead: Annotated[int, Meta(ge=1, le=1000)] = 1
    """Points by which a challenger must lead A to take its place; 1 is any lead. With 2 two of the paper's runs
    converged, one on plain ties, one where two leads were too small."""
    plateau: Annotated[int, Meta(ge=0, le=MAX_PASSES)] = 0
    """Small changes in a row, survivals aside, that end the run; 0 never does. The paper's own plateau rule ended
    none: A won 2 of 35 passes."""
    plateau_change: Annotated[float, Meta(ge=0, le=1)] = 0.1
    """The share of words in which the winner of such a pass differs from A at most."""
    stop_rules: tuple[str, ...] = ()
    """Rules of your own, from the run's story to why it is over."""
    tie_order: tuple[str, ...] = ("A", "AB", "B")
    """Who wins equal scores. A is always first, the paper's conservative tiebreak: 18 of its 50 convergences rest on a
    tie or on no ballot. Then the synthesis, being the smaller step away from A."""
    quoted_critique: bool = True
    """The critic must quote the text for each problem, and code looks the quote up; otherwise free prose."""
    playoff: Annotated[int, Meta(ge=0, le=MAX_JUDGES)] = 5
    """Judges of the final panel over former incumbents; 0 is no playoff."""
    playoff_texts: Annotated[int, Meta(ge=2, le=10)] = 5
    """The most texts that the final panel ranks."""
    confirmation: Annotated[int, Meta(ge=0, le=MAX_JUDGES)] = 9
    """Fresh judges who compare the delivered text with the first draft; with 0 nothing can be claimed."""
    max_inconclusive: Annotated[int, Meta(ge=1, le=MAX_PASSES)] = 2
    """Inconclusive passes in a row that end the run as failed."""

    max_tokens: Annotated[int, Meta(ge=16, le=1_000_000)] = 4096
    """Most tokens of one reply, reasoning aside; a text that is cut off is asked for once more with twice as much."""
    author_temperature: Temperature | None = 0.8
    """Temperature of authors."""
    critic_temperature: Temperature | None = 0.8
    """Temperature of critics."""
    judge_temperature: Temperature | None = 0.3
    """Temperature of judges."""
    author_effort: Effort | None = None
    """How much authors reason."""
    critic_effort: Effort | None = None
    """How much critics reason."""
    judge_effort: Effort | None = None
    """How much judges reason."""
    budget: Budget = Budget()
    """Limits over the whole run, resumes included."""
    base_url: str | dict[str, str] | None = None
    """The server to ask instead of the provider's own; its key goes there. With several providers, say whose it is."""
    allow_http: bool = False
    """Send keys over plain http to other machines too; anyone on the way can read them."""
    batch: bool = False
    """Ask through the provider's batch interface: half the price, and every reply may take hours."""

    @property
    def ties_survive(self) -> bool:
        """Whether A survives a pass after which it stays without a lead, as the paper has it."""
        return self.protocol == "paper"

    def effort(self, role: Role) -> Effort | None:
        """How much a role reasons before it answers."""
        if role == "judge":
            return self.judge_effort
        return self.critic_effort if role == "critic" else self.author_effort

    def __post_init__(self) -> None:
        try:
            self._check()
        except (AttributeError, TypeError):
            # Looked at only now: every run has many settings, nearly all of the right types.
            check_fields(self)
            raise

    def _check(self) -> None:
        # Code of the user's own is recorded so that it is found again from another folder.
        for name in ("style", "voting"):
            msgspec.structs.force_setattr(self, name, absolute(getattr(self, name)))
        stop_rules = tuple(map(absolute, self.stop_rules))
        msgspec.structs.force_setattr(self, "stop_rules", stop_rules)
        _check_ranges(msgspec.structs.asdict(self))
        if self.confirmation == 1:
            raise InvalidInput("`confirmation` is 1; one judge is no panel, give 0 or 2 and more")
        if self.subtractive_synthesis and self.candidates == "B":
            raise InvalidInput(
                "`subtractive_synthesis` is set and `candidates` is B, without a synthesis; leave one of them out"
            )
        self._check_single_judge()
        if self.style == "anchored" and not self.models.author:
            raise InvalidInput(
                "`style` is anchored, which shows judges a run's first draft, and there is none; give another"
            )
        self._check_maximum("judges")
        self._check_maximum("drafts")
        if sorted(self.tie_order) != ["A", "AB", "B"] or self.tie_order[0] != "A":
            raise InvalidInput(
                f"`tie_order` is {'>'.join(self.tie_order)}; give A>AB>B or A>B>AB (A, the incumbent, wins ties)"
            )
        self._pair_servers()
        for name in Budget.__struct_fields__:
            value = getattr(self.budget, name)
            if remedy := limit_remedy(value):
                raise InvalidInput(f"`budget.{name}` is {value}; {remedy} or leave it out")

    def _check_single_judge(self) -> None:
        if self.judges > 1:
            return
        if not self.single_judge:
            by_name = ", or ask for one by name with `single_judge`" if self.models.author else ""
            raise InvalidInput(f"`judges` is 1; one vote is no panel: give 2 or more{by_name}")
        if self.extra_judges:
            raise InvalidInput(
                f"`extra_judges` is {self.extra_judges} next to a single judge; give 0, or more `judges`"
            )

    def _check_maximum(self, name: str) -> None:
        minimum, maximum = getattr(self, name), getattr(self, f"max_{name}")
        if maximum < minimum:
            raise InvalidInput(
                f"`max_{name}` ({maximum}) is under `{name}` ({minimum}); raise it or lower `{name}`"
            )

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
                raise InvalidInput(
                    "the base URL contains a user name, a key or a query, which would be recorded; "
                    "put the key into the provider's variable or the key file"
                )
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
    """The providers that are asked at a server, each once, in this order."""
    found = dict.fromkeys(map(provider_of, addresses))
    return tuple(
        name for name in found if name not in (*INSIDE, *THROUGH_LITELLM) and not is_in_file(name)
    )


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
                raise InvalidInput(
                    f"`base_url` is given for {name}, which no model here uses; "
                    f"in use: {', '.join(used)}"
                )
        return base_url
    if len(used) > 1:
        raise InvalidInput(
            f"`base_url` does not say whose server it is, and {' and '.join(used)} are in use; "
            f"say whose it is: `base_url` {used[0]}=URL"
        )
    return {used[0]: base_url}


_RANGES = {
    name: (meta.ge, meta.le)
    for name, kind in Settings.__annotations__.items()
    # An optional number has its range inside: `Temperature | None`.
    for member in (kind, *get_args(kind))
    for meta in getattr(member, "__metadata__", ())
}


def _check_ranges(values: Mapping[str, Any]) -> None:
    for name, (low, high) in _RANGES.items():
        value = values.get(name)
        if isinstance(value, int | float) and not low <= value <= high:
            # A single judge is for runs with an author; a panel over finished texts has two or more.
            least = 2 if name == "judges" and not values["models"].author else low
            raise InvalidInput(f"`{name}` is {value}; give a number from {least} to {high}")


ROBUST: dict[str, Any] = {
    "max_drafts": MAX_DRAFTS,
    "rivals": True,
    "strict_length": True,
    "strict_echo": True,
}
"""What new runs set in addition to the defaults, which are those of older records."""
PAPER: dict[str, Any] = {
    "k": 2,
    "extra_judges": 0,
    "early_stop": False,
    "balanced_orders": False,
    "quoted_critique": False,
    "playoff": 0,
    "confirmation": 0,
    "tie_order": ("A", "B", "AB"),
    "strict_length": True,
    "strict_echo": True,
}
"""Where the published procedure differs from our defaults. The safety rules apply to both."""

DEPARTURES: dict[Protocol, tuple[str, ...]] = {
    "robust": (),
    "paper": (
        "a panel below its quorum decides nothing; the paper counted an empty panel as a win for A",
        "a ballot is a full ranking, asked for once more and then from another judge; the paper took partial ones",
        "labels are drawn for each judge; the paper's were the positions",
        "authors send their notes apart from the text, and leaks are sent back; the paper judged both together",
        "a text that was cut off is never judged; the paper did not look",
        "a failed call pauses the run; the paper went on without it",
        "critic, authors and judges all see the task; some of the paper's did not",
        "what code knows to break the contract is the critique; the paper knew no contract",
        "texts that break more of the contract than another, and clones of another text, are not judged",
        "the prompts are our own",
    ),
}
"""Where a protocol differs from the publication, for the record."""


def single_judge_changes(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes that ask for a single judge, with what goes with it."""
    whole = {"judges": 1, "extra_judges": 0, **changes}
    if whole["judges"] != 1:
        raise InvalidInput(
            f"`single_judge` and `judges` {whole['judges']} contradict each other; give one of them"
        )
    return whole


_DEFAULTS = {field.name: field.default for field in msgspec.structs.fields(Settings)}


def make_settings(
    models: Models, seed: int, protocol: Protocol = "robust", **changes: Any
) -> Settings:
    """Settings of a protocol with changes; anything out of range is one clear sentence."""
    base = PAPER if protocol == "paper" else ROBUST
    chosen = {**base, **{name: value for name, value in changes.items() if value is not None}}
    if chosen.get("single_judge"):
        chosen = single_judge_changes(chosen)
    for name in ("judges", "drafts"):
        maximum = f"max_{name}"
        if isinstance(chosen.get(name), int) and changes.get(maximum) is None:
            chosen[maximum] = max(chosen[name], base.get(maximum, _DEFAULTS[maximum]))
    if DEFAULT_MODEL in models.all():
        chosen = {**FOR_THE_EMBEDDED_MODEL, **chosen}
    unknown = set(chosen) - set(Settings.__struct_fields__)
    if unknown:
        raise InvalidInput(
            f"unknown setting `{min(unknown)}`; known are {', '.join(Settings.__struct_fields__)}"
        )
    fields = {"models": models, "seed": seed, "protocol": protocol, **chosen}
    try:
        return msgspec.convert(fields, Settings, from_attributes=True)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, InvalidInput):
            raise error.__cause__ from None
        _check_ranges(fields)
        raise InvalidInput(f"{plainly(error)}; change it") from None
