"""Verbs of the library: their options as typed dictionaries, and one function that is called, awaited or prepared."""

from __future__ import annotations

import asyncio
import inspect
import textwrap
import typing
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import wraps
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    get_args,
    get_origin,
)

from msgspec import Meta

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.events import OnEvent
from autoreason.exchange import Effort, Model, OnSignal
from autoreason.fields import FieldDoc, check_call, read_docs, read_hints
from autoreason.files import ServerUrl
from autoreason.job_types import (
    MAX_PARALLEL,
    Advise,
    Certify,
    Instead,
    JobType,
    Lab,
    Research,
    RuleName,
    Solve,
)
from autoreason.journal import Journal
from autoreason.knowledge_records import Chosen, WhenTested
from autoreason.models.pool import ModelPool
from autoreason.run.result import Result, StopSwitch
from autoreason.settings import (
    LIMITS,
    MAX_ALTERNATIVES,
    ROLE_MODELS,
    SETTING_DOCS,
    BallotForm,
    Budget,
    Candidates,
    EditMode,
    Models,
    Protocol,
    Style,
    Voting,
)
from autoreason.task import MetricRole

JournalPlace = Journal | str | Path | ServerUrl | None
"""An open journal, the file or the URL of one, or None for the user's own."""
RecordedRun = str | Result
"""The name of a run, a part of it that no other has, or the result of the run."""
_OnText = Callable[[str], None] | None
_ANY_NUMBER = Meta(ge=1, le=1_000_000)
_Evaluate = Callable[[Path, int, list[Any]], Any]
_Better = Literal["higher", "lower"]


class RunHooks(TypedDict, total=False):
    """Where a run is recorded, and how the process that drives it follows and stops it."""

    journal: Annotated[
        JournalPlace, "An open journal, or the file or URL of one; None: the user's."
    ]
    pool: Annotated[
        ModelPool | None, "Open models; runs that share it share connections and limits."
    ]
    on_ready: Annotated[
        Callable[[], None] | None,
        "Called when every check has passed, before anything is written or asked; may raise.",
    ]
    on_started: Annotated[_OnText, "Called with the run's name once it is in the journal."]
    on_event: Annotated[OnEvent | None, "Called with each event."]
    on_signal: Annotated[OnSignal | None, "Called when a call starts, its text arrives or it ends."]
    on_warning: Annotated[
        _OnText, "Called with what failed beside a whole result; else it is warned."
    ]
    stop_switch: Annotated[StopSwitch | None, "Stops the run at its next call."]


class AskOptions(RunHooks, total=False):
    """How judges are asked; fields of `Settings`, which says what each means."""

    seed: Annotated[int, "All randomness of the run comes from it; drawn where none is given."]
    style: Style
    ballot: BallotForm
    judge_temperature: float | None
    judge_effort: Effort | None
    max_tokens: int
    budget: Budget | Mapping[str, Any]
    base_url: str | dict[str, str] | None
    allow_http: bool
    batch: bool


class PanelOptions(AskOptions, total=False):
    """Who judges, and how votes are counted."""

    judge_models: str | Model | Sequence[str | Model]
    judges: int
    voting: Voting
    prompts: Annotated[str | Path | None, "A folder with prompts in place of the built-in ones."]


class BriefOptions(PanelOptions, total=False):
    """How a brief in words is read."""

    limits_from_brief: Annotated[
        bool, "Whether plain limits in its prose, such as “at most 80 words”, are limits; they are."
    ]


class JudgeOptions(BriefOptions, total=False):
    """Keyword arguments of `judge`."""

    pairwise: Annotated[bool, "All pairs in both orders; who changes with the order abstains."]
    equal_length: Annotated[bool, "Cut all texts to one length, at the end of a sentence."]


class CertifyOptions(AskOptions, total=False):
    """Keyword arguments of `certify`."""

    repeats: int


class KnowledgeTestOptions(AskOptions, total=False):
    """Keyword arguments of `measure_knowledge`."""

    pairs: Annotated[int, _ANY_NUMBER, "How many recorded pairs, of all, are put to the judges."]
    judge_models: Annotated[Sequence[str | Model], "Judges that are tested instead of the model."]


class OutcomeOptions(TypedDict, total=False):
    """Keyword arguments of `add_outcome`."""

    n: Annotated[int | None, "How many the number rests on."]
    se: Annotated[float | None, "Its standard error, where that is known instead."]
    metric: Annotated[str, "What was measured; the folder's main metric unless given."]
    better: Annotated[_Better, "Which numbers are better; `higher` unless given."]
    chosen: Annotated[Chosen, "How it came to be used: `random` or `ab` if drawn, else `picked`."]
    when: Annotated[str | None, "A date; today unless given."]
    audience: Annotated[str, "Who read it."]
    private: Annotated[bool, "Whether only local models may be shown it."]
    note: Annotated[str, "Anything else; the run's name unless given."]
    journal: Annotated[JournalPlace, "An open journal, the file of one, or None for the usual one."]


class RoleOptions(PanelOptions, total=False):
    """Who plays which role, how they are asked, and what every tournament has."""

    author_model: str | Model
    critic_model: str | Model
    synthesizer_model: str | Model
    k: int
    early_stop: bool
    balanced_orders: bool
    tie_order: tuple[str, ...]
    author_temperature: float | None
    critic_temperature: float | None
    author_effort: Effort | None
    critic_effort: Effort | None


class WriteOptions(RoleOptions, total=False):
    """Who writes, and how the tournament over texts works."""

    reviser_models: str | Model | Sequence[str | Model]
    protocol: Protocol
    candidates: Candidates
    blind_revision: bool
    subtractive_synthesis: bool
    critic_facts: bool
    drafts: int
    max_drafts: int
    anyway: bool
    rivals: bool
    passes: int
    required_lead: int
    plateau: int
    plateau_change: float
    quoted_critique: bool
    reviewers: int
    review_texts: int
    ballot_texts: int
    review_every: int
    min_reviews: int
    max_growth: float
    edit: EditMode
    edit_share: float
    confirmation: int


class TaskOptions(WriteOptions, BriefOptions, total=False):
    """What there is besides the brief; a `Task` has its own."""

    draft: Annotated[str | None, "A text to start from; without one the author writes it."]
    facts: Annotated[str | None, "What every role may rely on."]
    contract: Annotated[
        Contract | Mapping[str, Any] | None, "Limits that code checks in all texts."
    ]
    criteria: Annotated[
        str | Sequence[str], "What matters, in your words; critics and judges name them."
    ]


class RefineOptions(TaskOptions, total=False):
    """Keyword arguments of `refine`."""

    alternatives: Annotated[int, Meta(ge=2, le=MAX_ALTERNATIVES), "Different texts to choose from."]
    strategy: str
    strategy_options: dict[str, Any]
    metric: Annotated[str, "A command or `file.py:function` that gives a text a number."]
    metric_better: Annotated[_Better, "Which numbers of the metric are better."]
    metric_role: Annotated[
        MetricRole,
        "A guard leaves out what is worse than A, beyond noise; a judge has one ballot on every panel that chooses.",
    ]
    knowledge: Annotated[str | Path, "A folder of your own records: outcomes, facts and style."]
    knowledge_group: Annotated[
        str, "The campaign or list this text is for; nothing of it is shown."
    ]
    judge_outcomes: Annotated[
        WhenTested,
        "Whether judges are shown outcomes: `tested`, where `knowledge test` says that helps them; `yes` or `no`.",
    ]
    predictor_seat: Annotated[
        WhenTested,
        "Whether a predictor fitted on the outcomes has a seat next to the judges: `tested`, where `knowledge test` "
        "says that it helps; `yes` or `no`.",
    ]


class CompareOptions(TaskOptions, total=False):
    """Keyword arguments of `compare`."""

    strategies: Annotated[Sequence[str], "The first one sets the budget of the others."]
    repeats: Annotated[
        int,
        "How often all are run; without it, until a preference that is the same in all of them can show.",
    ]
    match: Annotated[Literal["calls", "tokens", "cost"], "What all may spend equally much of."]
    allowance: Annotated[Decimal | int, "What each may spend, instead of what the first takes."]
    panel_judges: Annotated[int, "Judges of the panel over what the strategies deliver."]


class AdviseOptions(TaskOptions, total=False):
    """Keyword arguments of `advise`."""

    instead: Instead
    source: str


class SolveOptions(RoleOptions, total=False):
    """Keyword arguments of `solve`."""

    strategy: Annotated[str | Sequence[str], "A name, several, or `all`."]
    calls: int
    repeats: Annotated[int, Meta(ge=1, le=100), "How often every strategy solves every problem."]
    width: Annotated[int, Meta(ge=1, le=MAX_PARALLEL), "Problems worked on at once."]
    ids: Annotated[Sequence[str], "Only these problems of a file."]
    difficulty: Annotated[str, "Only problems of this difficulty."]
    limit: Annotated[int, _ANY_NUMBER, "Only so many problems, the first ones."]
    test_time_limit: Annotated[float, "Processor seconds of a test, instead of the problem's own."]
    test_memory_limit: Annotated[int, "Megabytes of a test, instead of the problem's own."]
    unsafe: Annotated[bool, "Run programs without a sandbox."]


class MeasureOptions(PanelOptions, total=False):
    """What measures, who proposes changes, and what a research run may take."""

    evaluate: Annotated[
        _Evaluate | str | None,
        "A function of the artifact's folder, a seed and the items; or a command or `file.py:function`.",
    ]
    author_model: str | Model
    author_temperature: float | None
    author_effort: Effort | None
    evaluations: int
    parallel: int
    patience: int
    unsafe: bool


class ResearchOptions(MeasureOptions, total=False):
    """Keyword arguments of `research`."""

    rule: RuleName


class CompareRulesOptions(MeasureOptions, total=False):
    """Keyword arguments of `compare_rules`."""

    rules: Annotated[Sequence[RuleName], "Two different ones or more; all three unless given."]
    repeats: Annotated[int, "Runs by each rule."]


class LabOptions(RunHooks, total=False):
    """Keyword arguments of `lab`."""

    named_models: Annotated[Mapping[str, str | Model], "Models for names the suite leaves open."]
    repeats: Annotated[int, "How often each arm does each task, instead of what the suite says."]
    parallel: int
    workers: int
    ray: str
    seed: Annotated[int, "Instead of the suite's; drawn where neither is given."]
    budget: Annotated[
        Budget | Mapping[str, Any], "Over all cells; limits it does not set are the suite's."
    ]
    anyway: Annotated[bool, "Run it even where it is too small to show a difference."]
    base_url: str | dict[str, str] | None
    allow_http: bool
    batch: bool


class ForkOptions(WriteOptions, total=False):
    """Keyword arguments of `fork`: what is different in the new run."""

    model: Annotated[str | Model, "Plays every role that is given no model of its own."]
    contract: Annotated[Mapping[str, Any], "Keys of the contract that change."]
    strategy: str
    strategy_options: dict[str, Any]
    evaluations: int
    patience: int
    evaluate: Annotated[
        _Evaluate | None, "What measures a research run that began with a function."
    ]


class ResumeOptions(RunHooks, total=False):
    """Keyword arguments of `resume`: what is different from here on."""

    model: Annotated[str | Model, "Plays every role that is given no model of its own."]
    author_model: str | Model
    critic_model: str | Model
    synthesizer_model: str | Model
    judge_models: str | Model | Sequence[str | Model]
    passes: int
    max_tokens: int
    budget: Annotated[Budget | Mapping[str, Any], "Limits that it does not set stay as they were."]
    base_url: str | dict[str, str] | None
    allow_http: bool
    batch: Annotated[bool, "Ask in batches from here on; one that does so already goes on with it."]
    evaluate: Annotated[
        _Evaluate | None, "What measures a research run that began with a function."
    ]


JOBS: Mapping[type, type[JobType]] = {
    CertifyOptions: Certify,
    AdviseOptions: Advise,
    SolveOptions: Solve,
    ResearchOptions: Research,
    CompareRulesOptions: Research,
    ForkOptions: Research,
    LabOptions: Lab,
}
"""Whose fields the options are besides those of `Settings`: there they have their sentences and defaults."""

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
K = TypeVar("K")
K_co = TypeVar("K_co", covariant=True)

_RAISES = """    Raises:
        InvalidInput: Something cannot be used; nothing was written and nothing was asked.
        JournalError: The journal cannot be read or written.

"""
"""What a function raises that does not say otherwise."""


class Runnable(typing.Protocol[R_co]):
    """A run with everything decided."""

    async def run_async(self) -> R_co: ...


class Verb(typing.Protocol[P, R_co]):
    """A function that waits for models; `await verb.aio(...)` does the same in an event loop."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    async def aio(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    def options(self) -> str: ...


class Door(typing.Protocol[P, K_co]):
    """A `Verb` whose run can be prepared: looked at, estimated and run later."""

    def __call__(self: Door[P, Runnable[R]], *args: P.args, **kwargs: P.kwargs) -> R: ...

    async def aio(self: Door[P, Runnable[R]], *args: P.args, **kwargs: P.kwargs) -> R: ...

    def prepare(self, *args: P.args, **kwargs: P.kwargs) -> K_co:
        """The run that a call with these arguments would drive."""
        ...

    def options(self) -> str: ...


def door(**defaults: object) -> Callable[[Callable[P, K]], Door[P, K]]:
    """A verb from the function that prepares its run; `defaults` of options that are not those of `Settings`."""

    def build(function: Callable[P, K]) -> Door[P, K]:
        prepare: Any = checked(function)
        prepare.__doc__ = f"The run that `{function.__name__}` with these arguments would drive."

        async def aio(*args: P.args, **kwargs: P.kwargs) -> Any:
            return await prepare(*args, **kwargs).run_async()

        verb = _build(function, aio, defaults)
        verb.prepare, prepare.__signature__ = prepare, verb.__signature__
        return cast(Door[P, K], verb)

    return build


def verb(**defaults: object) -> Callable[[Callable[P, Coroutine[Any, Any, R]]], Verb[P, R]]:
    """A verb from an asynchronous function."""
    return lambda function: _build(function, checked(function), defaults)


def _build(function: Callable[..., Any], aio: Any, defaults: Mapping[str, object]) -> Any:
    """A function that waits for `aio`, with what `help` shows of it."""
    name = function.__name__

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return wait_for(lambda: aio(*args, **kwargs), f"{name}()", f"{name}.aio(...)")

    verb: Any = call
    verb.__doc__ = _with_raises(function)
    verb.aio = aio
    verb.options = lambda: describe_options(verb)
    verb.__signature__ = aio.__signature__ = _signature(function, defaults)
    aio.__name__, aio.__qualname__ = "aio", f"{name}.aio"
    aio.__doc__ = f"Like `{name}`, in an event loop."
    return verb


def _with_raises(function: Callable[..., Any]) -> str:
    doc = function.__doc__ or ""
    return doc if "Raises:" in doc else doc.replace("    Example:", f"{_RAISES}    Example:", 1)


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """A function that refuses arguments which its signature does not allow."""
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        given = signature.bind(*args, **kwargs).arguments
        check_arguments(function, given.pop("options", None), **given)
        return function(*args, **kwargs)

    call.__doc__ = _with_raises(function)
    return call


def check_arguments(
    function: Callable[..., Any],
    options: Mapping[str, object] | None = None,
    /,
    **arguments: object,
) -> None:
    """Refuse what the signature does not allow, for callers without a type checker, and servers next to a pool."""
    for field, name in LIMITS.items():
        if options and name in options:
            raise InvalidInput(f"unknown option `{name}`; give budget=Budget({field}=…)")
    check_call(function, options, **arguments)
    if options and options.get("pool") and (options.get("base_url") or options.get("allow_http")):
        raise InvalidInput("a pool has its own servers; give base_url and allow_http to it")


def wait_for(call: Callable[[], Coroutine[Any, Any, R]], name: str, other: str) -> R:
    """Run a coroutine to its result; `other` is what to await instead of `name` in an event loop."""
    if _is_looping():
        raise InvalidInput(f"{name} cannot wait inside a running event loop; write `await {other}`")
    return asyncio.run(call())


def compute(call: Callable[[], Coroutine[Any, Any, R]]) -> R:
    """Run a coroutine that asks no model to its result, in an event loop or not."""
    if not _is_looping():
        return asyncio.run(call())
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(call())).result()


def _is_looping() -> bool:
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        return True
    return False


def options_class(function: Callable[..., Any]) -> Any:
    """The typed dictionary of a function's options; None where it has none."""
    hints = read_hints(function).values()
    return next((get_args(each)[0] for each in hints if get_origin(each) is Unpack), None)


def _signature(function: Callable[..., Any], defaults: Mapping[str, object]) -> inspect.Signature:
    """The signature with every option by its name, type and default; those that follow a run come last."""
    hints, plain = read_hints(function), inspect.signature(function)
    named = [each for each in plain.parameters.values() if each.kind is not each.VAR_KEYWORD]
    parameters = [each.replace(annotation=hints[each.name]) for each in named]
    returns = hints["return"]
    if hasattr(get_origin(returns) or returns, "run_async"):
        # `PreparedRun[Result]`, or a class below such a one.
        returns = (get_args(returns) or get_args(returns.__orig_bases__[0]))[0]
    if options := options_class(function):
        # Of what changes in another run, None says that it is not given; so it does of what has no default.
        docs = {} if options in (ForkOptions, ResumeOptions) else SETTING_DOCS | _job_docs(options)
        usual = {name: doc.default for name, doc in docs.items() if name != "budget"}
        hints = read_hints(options)
        for name in sorted(hints, key=RunHooks.__annotations__.__contains__):
            default, kind = defaults.get(name, usual.get(name)), inspect.Parameter.KEYWORD_ONLY
            hint = hints[name] | None if default is None else hints[name]
            parameters.append(inspect.Parameter(name, kind, default=default, annotation=hint))
    return inspect.Signature(parameters, return_annotation=returns)


def _job_docs(options: type) -> dict[str, FieldDoc]:
    return read_docs(JOBS[options]) if options in JOBS else {}


def describe_options(function: Any) -> str:
    texts, lines = option_texts(options_class(function)), []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in texts:
            lines += [str(parameter), textwrap.indent(textwrap.fill(texts[name], 96), "    ")]
    return "\n".join(lines)


def option_texts(options: type) -> dict[str, str]:
    """What each option means: in its own words, else in those of the field or the role that it names."""
    roles = {name: read_docs(Models)[role] for name, role in ROLE_MODELS.items()}
    known = SETTING_DOCS | roles | _job_docs(options)
    return {name: doc.sentence or known[name].sentence for name, doc in read_docs(options).items()}
