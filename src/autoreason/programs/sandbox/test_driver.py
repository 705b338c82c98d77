"""Tests that call a program in another jail, and an evaluator that calls an artifact. Standard library only.

The exit status is the verdict, and only the caller decides it.
"""

from __future__ import annotations

import ast
import builtins
import dis
import importlib
import inspect
import json
import linecache
import math
import os
import sys
import traceback

# Not from `hashlib`: every process of the sandbox would carry OpenSSL along.
from _blake2 import blake2b
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from importlib.machinery import ModuleSpec
from itertools import takewhile
from types import CodeType, FunctionType, ModuleType
from typing import Any, NoReturn

from autoreason.programs.sandbox.execution import IMPORTABLE
from autoreason.programs.sandbox.rpc import (
    MAX_TEXT,
    ProgramClient,
    RemoteHandle,
    TestsAborted,
    cache_source,
    failure_trace,
    serve_names,
    trace_of,
)

MAX_VALUE_TEXT = 200
"""Characters of a value that are kept as they are; longer ones are replaced by a digest."""
DIGITS = 6
"""Significant digits in which fractions must agree."""
_INTEGER_TOLERANCE = 1e-9
"""Relative distance at which a number counts as an integer."""


def record(calls: Sequence[Callable[[], object]]) -> None:
    """Make each call and write its result at once: the next call may end the process."""
    for call in calls:
        try:
            entry = ["value", shorten(canonical(call()))]
        except Exception as error:
            entry = ["failure", type(error).__name__]
        os.write(1, json.dumps(entry).encode() + b"\n")


def shorten(text: str) -> str:
    """A text of bounded length, different for different texts."""
    if len(text) <= MAX_VALUE_TEXT:
        return text
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32)
    return f"{text[: MAX_VALUE_TEXT // 2]}… {digest.hexdigest()}"


def canonical(value: object) -> str:
    """A plain value as text: `1`, `1.0` and `True` alike, sets in order, numbers within the usual tolerance."""
    match value:
        case None | str() | bytes() | bytearray() | range():
            return repr(value)
        case int() | float():
            return number_text(value)
        case complex():
            imaginary = f" {number_text(value.imag)}j" if value.imag else ""
            return number_text(value.real) + imaginary
        case list():
            return f"[{', '.join(map(canonical, value))}]"
        case tuple():
            return f"({', '.join(map(canonical, value))},)"
        case set() | frozenset():
            return f"{{{', '.join(sorted(map(canonical, value)))}}}"
        case dict():
            items = (f"{canonical(key)}: {canonical(each)}" for key, each in value.items())
            return f"{{{', '.join(sorted(items))}}}"
    return f"<{type(value).__name__}>"


def number_text(value: float, digits: int = DIGITS) -> str:
    """A number as text: integers exact, others to this many significant digits."""
    if isinstance(value, int):
        # Not in decimals: for a long integer that takes long, and Python refuses.
        return str(int(value)) if value.bit_length() <= 1024 else hex(value)
    if not math.isfinite(value):
        return str(value)
    whole = round(value)
    if abs(value - whole) <= _INTEGER_TOLERANCE * max(1.0, abs(value)):
        return number_text(whole)
    return f"{value:.{digits}g}"


PASSED = SCORED = 0
FAILED = 10
"""An assertion failed, or the tests raised an exception over a value of the program."""
RAISED = 11
"""The program raised an exception the tests did not expect, or lacks what they call; or an evaluator raised one."""
DISCONNECTED = 12
"""The program ended early, or sent an invalid message."""
UNUSABLE = 13
"""Tests or evaluator cannot be run: a module that cannot be imported, a function that is not there."""
OUT_OF_MEMORY = 14
"""The program ran out of memory, or one of its values is too large."""
_USES = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS")
_TESTS, _SETUP = "tests.py", "setup.py"
"""File names in tracebacks; the latter where the tests are sent separately from their setup."""


def drive(code: CodeType, channel: int) -> NoReturn:
    """Run the tests against the program at the other end, report what failed, and exit with the verdict."""
    client = ProgramClient(channel)
    wanted, tests_source = json.loads(sys.stdin.read())
    sys.stdout = sys.stderr
    status, error = PASSED, None
    try:
        name = _SETUP if tests_source else _TESTS
        cache_source(name, "".join(linecache.getlines(code.co_filename)))
        codes = [_with_file_name(code, name)]
        if tests_source:
            # Tests that are too long to be sent as a program.
            cache_source(_TESTS, tests_source)
            codes.append(compile(tests_source, _TESTS, "exec", dont_inherit=True))
        names = _build_globals(codes, client, wanted)
        for each in codes:
            exec(each, names)
    except BaseException as raised:
        status, error = _status_of(raised, client), raised
    if client.tests_error or client.program_error:
        status = UNUSABLE if client.tests_error else DISCONNECTED
    # The verdict is valid even where no report can be written.
    with suppress(BaseException):
        sys.stderr.flush()
        os.write(1, json.dumps(_report(error, client)).encode())
    os._exit(status)


def _with_file_name(code: CodeType, name: str) -> CodeType:
    """The same code under that file name, so that its lines are not taken for the program's."""
    inner = (_with_file_name(c, name) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=name, co_consts=tuple(inner))


def _build_globals(
    codes: list[CodeType], client: ProgramClient, always: list[str]
) -> dict[str, object]:
    """The globals of the tests: names that neither Python nor the tests define come from the program."""
    # A main module: `unittest` and the usual guard check its name.
    module = ModuleType("__main__")
    module.__file__ = _TESTS
    sys.modules["__main__"] = module
    sys.argv = [_TESTS]
    # Every module has names with two underscores.
    named = {name for code in codes for name in _used(code) if not name.startswith("__")}
    unknown = named - set(vars(builtins)) - set(always)
    modules = unknown & sys.stdlib_module_names
    for name in modules & IMPORTABLE:
        # The tests may only have a variable of that name; and a module that is not loaded yet cannot be.
        with suppress(Exception):
            module.__dict__[name] = importlib.import_module(name)
    module.__dict__.update(client.names(sorted(unknown - modules | set(always))))
    return module.__dict__


def _used(code: CodeType) -> Iterator[str]:
    """Global names that the code reads somewhere; not attributes, not names that are only assigned."""
    remaining = set(code.co_names)
    for step in dis.get_instructions(code) if remaining else ():
        if step.opname in _USES and step.argval in remaining:
            remaining.remove(step.argval)
            yield step.argval
            if not remaining:
                break
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _used(constant)


def _status_of(error: BaseException, client: ProgramClient) -> int:
    match error:
        case SystemExit(code=code):
            # A remote object never means success, and is not asked.
            return PASSED if code is None or (isinstance(code, int) and code == 0) else FAILED
        case MemoryError():
            return OUT_OF_MEMORY
        case ImportError() if trace_of(error) is None:
            client.tests_error = f"{error}"
            return UNUSABLE
        case NameError(name=str(name)) if name in sys.stdlib_module_names and not trace_of(error):
            client.tests_error = f"the tests use `{name}` without importing it"
            return UNUSABLE
        case NameError() if type(error) is NameError:
            return RAISED
    return FAILED if trace_of(error) is None else RAISED


def _report(error: BaseException | None, client: ProgramClient) -> dict[str, str]:
    if error is None and not client.program_error:
        return {}
    called, got = client.close()
    # Tests that left with a status have printed the reason.
    left = isinstance(error, SystemExit) and isinstance(error.code, int)
    missing = isinstance(error, NameError) and trace_of(error) is None and error.name
    return {
        "called": called,
        "got": got,
        "trace": "" if error is None or left else failure_trace(error),
        "line": _line(error),
        "reason": client.tests_error
        or client.program_error
        or (f"it defines no {missing}" if missing else ""),
    }


def _line(error: BaseException | None) -> str:
    frames = traceback.extract_tb(error.__traceback__) if error else []
    lines = [frame.line for frame in frames if frame.filename in (_TESTS, _SETUP)]
    return (lines[-1] or "")[:MAX_TEXT] if lines else ""


class SourceFinder:
    """Imports modules from texts by their paths, as from a folder.

    Without the base classes of `importlib.abc`, whose imports every process would carry along.
    """

    def __init__(self, files: Mapping[str, str]) -> None:
        python = {path: text for path, text in files.items() if path.endswith(".py")}
        folders = [path.split("/")[:-1] for path in python]
        levels = zip(*folders, strict=False)
        shared = len(list(takewhile(lambda parts: len(set(parts)) == 1, levels)))
        self._modules = {
            ".".join(path.removesuffix(".py").removesuffix("/__init__").split("/")[shared:]): path
            for path in python
        }
        self._files = python
        sys.meta_path.insert(0, self)

    @property
    def names(self) -> list[str]:
        return sorted(self._modules)

    def name_of(self, path: str) -> str:
        return next(name for name, each in self._modules.items() if each == path)

    def defined_in(self, module: str) -> set[str]:
        """The functions, classes and constants of a module, without running it."""
        try:
            body = ast.parse(self._files[self._modules[module]]).body
        except (SyntaxError, ValueError, RecursionError):
            return set()
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        targets = [
            target for each in body if isinstance(each, ast.Assign) for target in each.targets
        ]
        return {
            *(each.name for each in body if isinstance(each, kinds)),
            *(each.id for each in targets if isinstance(each, ast.Name)),
        }

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Where a module comes from; a folder of modules is a package."""
        file = self._modules.get(fullname)
        inside = any(each.startswith(f"{fullname}.") for each in self._modules)
        if file is None and not inside:
            return None
        return ModuleSpec(fullname, self, origin=file, is_package=inside)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None: ...

    def exec_module(self, module: ModuleType) -> None:
        path = self._modules.get(module.__name__)
        if path is not None:
            source = self._files[path]
            cache_source(path, source)
            module.__file__ = path
            exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)


class ArtifactNames(dict[str, Any]):
    """What an evaluator can ask of an artifact: its modules by name, and names that one module alone defines."""

    def __init__(self, files: Mapping[str, str]) -> None:
        super().__init__()
        self._finder = SourceFinder(files)

    def __contains__(self, name: object) -> bool:
        names = self._finder.names
        if len(names) == 1:
            return hasattr(importlib.import_module(names[0]), str(name))
        return any(each.partition(".")[0] == name for each in names) or bool(self._home(str(name)))

    def __getitem__(self, name: str) -> object:
        names = self._finder.names
        if len(names) == 1:
            return getattr(importlib.import_module(names[0]), name)
        if not any(each.partition(".")[0] == name for each in names):
            return getattr(importlib.import_module(self._home(name)), name)
        for each in names:
            # A module of a package is an attribute of it only once it has been imported.
            if each.partition(".")[0] == name:
                importlib.import_module(each)
        return importlib.import_module(name)

    def _home(self, name: str) -> str:
        homes = [each for each in self._finder.names if name in self._finder.defined_in(each)]
        return homes[0] if len(homes) == 1 else ""


def serve_artifact(_: CodeType, channel: int) -> None:
    """Answer requests for an artifact's modules; its files are on standard input."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    serve_names(ArtifactNames(json.loads(sys.stdin.read())), channel)


class ArtifactObject(RemoteHandle):
    """A function, class, module or other object of the artifact: not a value, since it could differ each time."""

    def __getattr__(self, name: str) -> object:
        vars(self)[name] = value = super().__getattr__(name)
        return value

    def _refuse(self, *_: object) -> NoReturn:
        kind = self._remote_client.query("type", self, str)
        raise TypeError(
            f"the artifact returned a {kind}, which is not a plain value; return numbers, texts, "
            "lists, tuples, sets and dictionaries of exactly these types"
        )

    __iter__ = __len__ = __bool__ = __getitem__ = _refuse


class ArtifactClient(ProgramClient):
    """Values of an artifact, each copied once; what it does to its arguments stays with it."""

    handle = ArtifactObject

    def apply_changes(self, passed: dict[Any, object], changed: Any) -> None:
        """Leave the evaluator's own objects as they are."""


class Artifact:
    """The artifact as an evaluator sees it: its texts, and functions that run in another jail."""

    def __init__(self, files: dict[str, str], client: ArtifactClient) -> None:
        self.files = files
        self._client = client

    def arguments_after(self, function: ArtifactObject, *arguments: object) -> list[object]:
        """Call a function of the artifact, and return copies of its arguments as it left them."""
        after = self._client.request("arguments_after", function, list(arguments))
        if type(after) is not list or len(after) != len(arguments):
            raise TypeError("the artifact returned other arguments than it was given")
        return after

    def text(self, path: str) -> str:
        return self.files[path]

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        if not any(path.endswith(".py") for path in self.files):
            raise AttributeError(f"the artifact has no Python file that could define {name}")
        names = self._client.names([name])
        if name not in names:
            several = sum(path.endswith(".py") for path in self.files) > 1
            how = (
                f" in one file alone; write `artifact.NAME.{name}`, with the file's name" * several
            )
            raise AttributeError(f"the artifact defines no {name}{how}")
        vars(self)[name] = names[name]
        return names[name]


def score(_: CodeType, channel: int) -> NoReturn:
    """Call the evaluator's function, which is on standard input with its arguments, and write what it returns."""
    request = json.loads(sys.stdin.read())
    sys.stdout = sys.stderr
    client = ArtifactClient(channel)
    status, report = UNUSABLE, {}
    try:
        module = SourceFinder(request["evaluator"]).name_of(request["file"])
        function = getattr(importlib.import_module(module), request["function"])
        values = (Artifact(request["files"], client), request["seed"], request["items"])
        status = RAISED
        value = function(*values[: _arity(function)])
        report["value"] = json.dumps(value, default=_as_number)
        status = SCORED
    except BaseException as error:
        report["error"] = _explain(error, client)
        report["trace"] = failure_trace(error)
    if client.program_error:
        status = DISCONNECTED
    elif client.tests_error:
        status = UNUSABLE
    with suppress(BaseException):
        sys.stderr.flush()
    view = memoryview(json.dumps(report).encode())
    while view:
        view = view[os.write(1, view) :]
    os._exit(status)


def _arity(function: Any) -> int:
    """How many of artifact, seed and items a function takes."""
    if type(function) is FunctionType and not function.__dict__:
        # The long way is for what is decorated; it alone would take a tenth of a short evaluation.
        code = function.__code__
        return 3 if code.co_flags & inspect.CO_VARARGS else code.co_argcount
    kinds = [each.kind for each in inspect.signature(function).parameters.values()]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return 3 if inspect.Parameter.VAR_POSITIONAL in kinds else sum(k in positional for k in kinds)


def _as_number(value: object) -> float:
    if isinstance(value, Fraction) or type(value).__name__ == "Decimal":
        return float(value)  # type: ignore[arg-type]
    raise TypeError(f"the evaluator returned a {type(value).__name__}, which is not a number")


def _explain(error: BaseException, client: ProgramClient) -> str:
    if isinstance(error, TestsAborted):
        return client.program_error or client.tests_error
    # Of the artifact's own exceptions only the type is certain.
    return "".join(traceback.format_exception_only(error)).strip()[-MAX_TEXT:]
