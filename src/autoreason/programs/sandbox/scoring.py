"""An evaluator's function in one jail, an artifact's modules in another. Standard library only.

The evaluator calls the artifact as tests call a program; its value leaves by a descriptor that only its own jail has.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from importlib.machinery import ModuleSpec
from itertools import takewhile
from types import CodeType, FunctionType, ModuleType
from typing import Any, NoReturn

from autoreason.programs.sandbox.rpc import (
    MAX_TEXT,
    ProgramClient,
    RemoteHandle,
    TestsAborted,
    cache_source,
    failure_trace,
    serve_names,
)

SCORED = 0
RAISED = 10
"""The evaluator's function raised an exception, its own or the artifact's."""
DISCONNECTED = 12
"""The artifact ended early, or sent an invalid message."""
UNUSABLE = 13
"""The evaluator cannot be run: a module that cannot be imported, a function that is not there."""


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
    """A function, class, module or other object of the artifact: no value, since it could be another at every look."""

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
    _write(json.dumps(report).encode())
    os._exit(status)


def _arity(function: Any) -> int:
    """How many of artifact, seed and items a function takes."""
    if type(function) is FunctionType and not function.__dict__:
        # The long way is for what is decorated; it alone would take a tenth of a short look.
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


def _write(body: bytes) -> None:
    view = memoryview(body)
    while view:
        view = view[os.write(1, view) :]
