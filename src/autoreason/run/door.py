"""Verbs of the library: each is one typed function, which can be called, awaited and, mostly, prepared."""

from __future__ import annotations

import asyncio
import inspect
import textwrap
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar, Unpack, cast, get_args, get_origin

from autoreason.errors import InvalidInput
from autoreason.fields import check_call, read_docs, read_hints
from autoreason.run.parameters import JOBS, ForkOptions, ResumeOptions, RunHooks
from autoreason.settings import LIMITS, ROLE_MODELS, SETTING_DOCS, Models

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
K = TypeVar("K")
K_co = TypeVar("K_co", covariant=True)

_WIDTH = 96


class Runnable(Protocol[R_co]):
    """A run with everything decided."""

    async def run_async(self) -> R_co:
        """Drive it to its end or a pause."""
        ...


class Verb(Protocol[P, R_co]):
    """A function that waits for models; `await verb.aio(...)` does the same in an event loop."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Wait for the result."""
        ...

    async def aio(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """The same, in an event loop."""
        ...

    def options(self) -> str:
        """Every option, with its type, its default and what it means."""
        ...


class Door(Protocol[P, K_co]):
    """A `Verb` whose run can be prepared: looked at, estimated and run later."""

    def __call__(self: Door[P, Runnable[R]], *args: P.args, **kwargs: P.kwargs) -> R:
        """Wait for the result."""
        ...

    async def aio(self: Door[P, Runnable[R]], *args: P.args, **kwargs: P.kwargs) -> R:
        """The same, in an event loop."""
        ...

    def prepare(self, *args: P.args, **kwargs: P.kwargs) -> K_co:
        """The run that a call with these arguments would drive."""
        ...

    def options(self) -> str:
        """Every option, with its type, its default and what it means."""
        ...


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


def verb(
    **defaults: object,
) -> Callable[[Callable[P, Coroutine[Any, Any, R]]], Verb[P, R]]:
    """A verb from an asynchronous function."""

    def build(function: Callable[P, Coroutine[Any, Any, R]]) -> Verb[P, R]:
        begin = checked(function)

        async def aio(*args: P.args, **kwargs: P.kwargs) -> R:
            return await begin(*args, **kwargs)

        return cast(Verb[P, R], _build(function, aio, defaults))

    return build


def _build(function: Callable[..., Any], aio: Any, defaults: Mapping[str, object]) -> Any:
    """A function that waits for `aio`, with what `help` shows of it."""
    name = function.__name__

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return wait_for(lambda: aio(*args, **kwargs), f"{name}()", f"{name}.aio(...)")

    verb: Any = call
    verb.aio = aio
    verb.options = lambda: describe_options(verb)
    verb.__signature__ = aio.__signature__ = _signature(function, defaults)
    aio.__name__, aio.__qualname__ = "aio", f"{name}.aio"
    aio.__doc__ = f"Like `{name}`, in an event loop."
    return verb


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """A function that refuses arguments which its signature does not allow."""
    signature = inspect.signature(function)
    rest = next(
        (each.name for each in signature.parameters.values() if each.kind is each.VAR_KEYWORD), ""
    )

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        given = signature.bind(*args, **kwargs).arguments
        options = given.pop(rest, None)
        check_arguments(function, options, **given)
        return function(*args, **kwargs)

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
    """Run a coroutine that asks no model to its result, wherever that is needed."""
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
    parameters = [
        each.replace(annotation=hints[each.name])
        for each in plain.parameters.values()
        if each.kind is not each.VAR_KEYWORD
    ]
    returns = hints["return"]
    if hasattr(get_origin(returns) or returns, "run_async"):
        # `PreparedRun[Result]`, or a class below such a one.
        returns = (get_args(returns) or get_args(returns.__orig_bases__[0]))[0]
    if options := options_class(function):
        usual = {} if options in (ForkOptions, ResumeOptions) else _usual(options)
        hints = read_hints(options)
        for name in sorted(hints, key=RunHooks.__annotations__.__contains__):
            default, hint = defaults.get(name, usual.get(name)), hints[name]
            parameters.append(
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=default,
                    annotation=hint | None if default is None else hint,
                )
            )
    return inspect.Signature(parameters, return_annotation=returns)


def _usual(options: type) -> dict[str, Any]:
    """The defaults of settings and of the job's fields; of the others None says that they are not given."""
    docs = SETTING_DOCS | (read_docs(JOBS[options]) if options in JOBS else {})
    return {name: doc.default for name, doc in docs.items() if name != "budget"}


def describe_options(function: Any) -> str:
    """Every option of a verb, with its type, its default and what it means."""
    texts, lines = option_texts(options_class(function)), []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in texts:
            lines += [str(parameter), textwrap.indent(textwrap.fill(texts[name], _WIDTH), "    ")]
    return "\n".join(lines)


def option_texts(options: type) -> dict[str, str]:
    """What each option means: in its own words, else in those of the field or the role that it names."""
    roles = {name: read_docs(Models)[role] for name, role in ROLE_MODELS.items()}
    known = SETTING_DOCS | roles | (read_docs(JOBS[options]) if options in JOBS else {})
    own = read_docs(options)
    return {name: doc.sentence or known[name].sentence for name, doc in own.items()}
