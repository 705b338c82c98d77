"""Who evaluates artifacts: a function of the caller, here; or a saved evaluator, in a process that alone has its items.

The client starts that process, asks for evaluations, and never sees an item.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from secrets import token_hex
from subprocess import SubprocessError
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from autoreason.artifacts import saved_evaluation as saved
from autoreason.artifacts.artifact import Evaluation, EvaluationOutcome, Files, Measurement
from autoreason.artifacts.research_task import EvaluationSource
from autoreason.errors import InvalidInput
from autoreason.programs.examiner.service import Method, ServiceClient, run_service
from autoreason.programs.sandbox import base
from autoreason.programs.sandbox.execution import imported_modules
from autoreason.programs.sandbox.levels import open_sandbox
from autoreason.programs.sandbox.test_driver import DISCONNECTED, RAISED, SCORED

if TYPE_CHECKING:
    from autoreason.artifacts.command_evaluator import CommandEvaluator


Evaluate = Callable[[Path, int, list[Any]], Any]
"""Given the artifact's folder, the seed and the items; returns a number, or a dictionary of numbers."""
_PREFIX = "autoreason-caller-"


class OpenEvaluation(Struct, frozen=True, kw_only=True):
    digest: str
    run: str = field(default_factory=lambda: token_hex(8))
    """Who asks: a run opens a sealed set once, however often it is resumed."""
    start: Files = {}
    """The artifact at the start, whose words are not a sign of copying."""
    unsafe: bool = False
    parallel: int = 1
    guards: tuple[str, ...] = ()
    """Numbers that must hold, which evaluations on sealed items report besides the metric."""
    probe: str = ""
    """A folder that both jails may write to, where attacks leave what they got hold of."""


class EvaluationOpened(Struct, frozen=True, kw_only=True):
    level: str
    reach: saved.Reach


class EvaluatorClient(ServiceClient[EvaluationOpened]):
    """Client of an evaluator in another process, which is started once more if it dies."""

    service = "autoreason.artifacts.evaluators"
    name = "the evaluator"
    subject = "evaluation"
    opened = EvaluationOpened

    async def measure(self, evaluation: Evaluation) -> Measurement:
        return await self.call("measure", evaluation, Measurement)


class _Bench:
    """Evaluates on the items of a source: so many at a time, with their time, and no word of a sealed item."""

    level: str

    def __init__(
        self, source: EvaluationSource, *, parallel: int, run: str, guards: Collection[str] = ()
    ) -> None:
        self.source = source
        self._names = {source.metric, *guards}
        """The numbers on sealed items that may leave: any other name could be an item's text."""
        self.run = run
        """Which run it measures for, where a sealed set is counted as opened."""
        self._slots: asyncio.Queue[int] = asyncio.Queue()
        for slot in range(parallel):
            self._slots.put_nowait(slot)

    async def execute(self, evaluation: Evaluation, items: Sequence[Any], slot: int) -> Measurement:
        """Measure; `TimeoutError` where that takes too long, other errors where the evaluator cannot be run."""
        raise NotImplementedError

    async def measure(self, evaluation: Evaluation) -> Measurement:
        slot = await self._slots.get()
        try:
            found = await self._measure(evaluation, slot)
        finally:
            self._slots.put_nowait(slot)
        if not evaluation.sealed:
            return found
        # What was printed, and names of metrics, could be a part of an item.
        harmless = (EvaluationOutcome.OK, EvaluationOutcome.TIMEOUT, EvaluationOutcome.MEMORY)
        detail = found.detail if found.outcome in harmless else f"{found.outcome} on sealed items"
        metrics = {name: each for name, each in found.metrics.items() if name in self._names}
        return replace(found, tail="", detail=detail, metrics=metrics)

    async def _measure(self, evaluation: Evaluation, slot: int) -> Measurement:
        pool = self.source.sealed if evaluation.sealed else self.source.items
        limits, started, opened = self.source.limits, time.monotonic(), 0
        try:
            if max(evaluation.items, default=-1) >= len(pool):
                raise InvalidInput(f"there are only {len(pool)} items")
            if evaluation.sealed:
                opened = saved.record_opening(pool, self.run)
            found = await self.execute(evaluation, [pool[at] for at in evaluation.items], slot)
        except TimeoutError:
            found = Measurement(outcome=EvaluationOutcome.TIMEOUT)
        except (OSError, InvalidInput, SubprocessError) as error:
            found = Measurement(outcome=EvaluationOutcome.EVALUATOR_ERROR, detail=str(error))
        details = {
            EvaluationOutcome.TIMEOUT: f"it took longer than {limits.seconds:g} s",
            EvaluationOutcome.MEMORY: f"it needed more than {limits.memory_mb} MB of memory",
        }
        return replace(
            found,
            opened=opened,
            seconds=time.monotonic() - started,
            level=self.level,
            detail=details.get(found.outcome, found.detail),
        )


class CallerEvaluator(_Bench):
    """Measures with a function of the caller, in a thread of this process."""

    level = "caller"

    def __init__(
        self,
        evaluate: Evaluate,
        source: EvaluationSource = EvaluationSource(evaluate=""),  # noqa: B008
        *,
        parallel: int = 1,
        run: str = "",
        guards: Collection[str] = (),
    ) -> None:
        check_evaluate(evaluate)
        super().__init__(source, parallel=parallel, run=run, guards=guards)
        self._evaluate = evaluate
        saved.remove_leftovers(_PREFIX)

    async def execute(self, evaluation: Evaluation, items: Sequence[Any], slot: int) -> Measurement:  # noqa: ARG002
        return await asyncio.to_thread(self._call, evaluation, list(items))

    def _call(self, evaluation: Evaluation, items: list[Any]) -> Measurement:
        with saved.locked_folder(_PREFIX) as folder:
            saved.write_files(folder, evaluation.files)
            try:
                value = self._evaluate(folder, evaluation.seed, items)
            except KeyboardInterrupt:
                raise
            except MemoryError:
                return Measurement(outcome=EvaluationOutcome.MEMORY)
            except BaseException as error:
                # Such as SystemExit: an evaluation must not end the caller's program.
                return Measurement(outcome=EvaluationOutcome.FAILED, detail=_explain(error))
        try:
            text = json.dumps(value, default=_as_number)
        except Exception as error:
            return Measurement(outcome=EvaluationOutcome.INVALID, detail=_explain(error))
        return saved.read_measurement(text, self.source.metric)


def check_evaluate(evaluate: Evaluate) -> None:
    """Refuse a function whose value is not a number yet."""
    if any(map(inspect.iscoroutinefunction, (evaluate, type(evaluate).__call__))):
        raise InvalidInput("`evaluate` is an async function; give one that returns the number")


def _explain(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[: saved.TAIL].encode(errors="replace").decode()


def _as_number(value: object) -> float:
    """A number of another library, such as NumPy's, whose booleans have several names."""
    if "bool" in type(value).__name__ or not hasattr(value, "__float__"):
        raise TypeError(f"the evaluator returned a {type(value).__name__}, which is not a number")
    return float(value)


def main() -> None:
    """Serve the client at the other end of standard input, a socket, until it disconnects."""
    if sys.platform == "linux":
        from autoreason.artifacts.command_jail import start_watch

        start_watch()
    run_service(OpenEvaluation, _SavedBench)


class _SavedBench(_Bench):
    """Evaluates by a saved evaluation, in the evaluator's process."""

    def __init__(self, opening: OpenEvaluation) -> None:
        source = saved.load_evaluation(opening.digest)
        super().__init__(source, parallel=opening.parallel, run=opening.run, guards=opening.guards)
        self._start = opening.start
        self._words = saved.ItemWords((*source.items, *source.sealed))
        self._evaluator = _open_evaluator(source, opening)
        self.level = self._evaluator.level
        reach = self._evaluator.reach_of(opening.start) if opening.probe else saved.Reach()
        self.opened = EvaluationOpened(level=self.level, reach=reach)
        self.methods: Mapping[str, Method] = {"measure": (Evaluation, self._answer)}

    async def _answer(self, evaluation: Evaluation) -> Measurement:
        found = await self.measure(evaluation)
        shared = self._words.shared_runs(self._start, evaluation.files)
        return replace(found, shared=len(shared))

    async def execute(self, evaluation: Evaluation, items: Sequence[Any], slot: int) -> Measurement:
        return await self._evaluator.execute(evaluation, items, slot)

    async def close(self) -> None:
        await self._evaluator.close()


def _open_evaluator(
    source: EvaluationSource, opening: OpenEvaluation
) -> FunctionEvaluator | CommandEvaluator:
    if saved.function_of(source.evaluate):
        sandbox = open_sandbox(unsafe=opening.unsafe, workers=opening.parallel)
        return FunctionEvaluator(sandbox, source)
    if sys.platform != "linux":
        raise InvalidInput(
            f"an evaluator that is a command needs Linux, and this is {sys.platform}: use a function "
            "(`evaluate: file.py:function`)"
        )
    from autoreason.artifacts.command_evaluator import CommandEvaluator

    return CommandEvaluator(source, unsafe=opening.unsafe, probe=opening.probe)


class _OpenSession(NamedTuple):
    hints: str
    session: base.Session
    stack: AsyncExitStack


class FunctionEvaluator:
    """A function in one jail of the sandbox, the artifact's Python in another; both forked for every evaluation."""

    def __init__(self, sandbox: base.Sandbox, source: EvaluationSource) -> None:
        self._sandbox, self._source = sandbox, source
        self.level: str = sandbox.level
        self._limits = base.RunLimits(
            seconds=source.limits.seconds,
            memory=source.limits.memory_mb << 20,
            output=saved.MAX_OUTPUT,
        )
        self._evaluator = _python_texts(
            {path: body.decode("utf-8", "replace") for path, body in source.files.items()}
        )
        self._sessions: dict[tuple[int, base.ProgramRole], _OpenSession] = {}

    async def execute(self, evaluation: Evaluation, items: Sequence[Any], slot: int) -> Measurement:
        function = saved.function_of(self._source.evaluate)
        assert function is not None
        request = {
            "evaluator": self._evaluator,
            "file": function[0],
            "function": function[1],
            "files": evaluation.files,
            "seed": evaluation.seed,
            "items": list(items),
        }
        python = _python_texts(evaluation.files)
        evaluator = await self._session(slot, "evaluator", self._evaluator)
        artifact = await self._session(slot, "artifact", python) if python else None
        stdin = json.dumps(request).encode()
        async with asyncio.timeout(self._source.limits.seconds):
            if artifact is None:
                return _read_runs(await evaluator.run(stdin), None, self._source.metric)
            runs = await base.run_jointly(evaluator, stdin, artifact, json.dumps(python).encode())
            return _read_runs(*runs, self._source.metric)

    def reach_of(self, _: Files) -> saved.Reach:
        """The sandbox starts no program and shows no file: only Python could be run beside the function."""
        return saved.Reach(languages=["Python"])

    async def close(self) -> None:
        for opened in self._sessions.values():
            await opened.stack.aclose()
        await self._sandbox.close()

    async def _session(self, slot: int, role: base.ProgramRole, files: Files) -> base.Session:
        """A process that has imported what these files import; most artifacts of a run import the same."""
        # A program of comments: the modules to load before the jail closes, for sources on standard input.
        names = sorted({name for text in files.values() for name in imported_modules(text)})
        hints = "".join(f"# import {name}\n" for name in names[:1000])
        opened = self._sessions.get((slot, role))
        if opened is not None and opened.hints == hints:
            return opened.session
        if opened is not None:
            await opened.stack.aclose()
        stack = AsyncExitStack()
        opening = self._sandbox.open(hints, self._limits, role=role)
        session = await stack.enter_async_context(opening)
        self._sessions[slot, role] = _OpenSession(hints, session, stack)
        return session


def _python_texts(files: Files) -> Files:
    return {path: text for path, text in files.items() if path.endswith(".py")}


def _read_runs(
    evaluator: base.ProgramRun, artifact: base.ProgramRun | None, metric: str
) -> Measurement:
    ends = {run.end_reason for run in (evaluator, artifact) if run is not None}
    try:
        report: dict[str, str] = json.loads(evaluator.stdout)
    except ValueError:
        report = {}
    # The end of what both printed, the artifact first, and of the traceback.
    printed = [artifact.stdout[-saved.TAIL :], artifact.stderr] if artifact else []
    texts = [each.decode(errors="replace") for each in (*printed, evaluator.stderr)]
    tail = "\n".join(filter(None, (*texts, report.get("trace", ""))))[-saved.TAIL :]
    error, exited = report.get("error", ""), evaluator.end_reason == "exit"
    cut = ends & {"broken", "cpu", "wall", "memory"}
    if exited and evaluator.status == SCORED and report and not cut:
        return saved.read_measurement(report["value"], metric, tail)
    detail = ""
    if "broken" in ends:
        outcome = EvaluationOutcome.EVALUATOR_ERROR
        detail = evaluator.detail or (artifact.detail if artifact else "")
    elif ends & {"cpu", "wall"}:
        outcome = EvaluationOutcome.TIMEOUT
    elif "memory" in ends or error.startswith("MemoryError"):
        outcome = EvaluationOutcome.MEMORY
    elif "output" in ends:
        return saved.too_much_printed(tail)
    elif exited and evaluator.status in (RAISED, DISCONNECTED):
        outcome, detail = EvaluationOutcome.FAILED, error
    elif exited and report:
        outcome, detail = EvaluationOutcome.EVALUATOR_ERROR, error
    else:
        detail = f"the evaluator ended by {evaluator.end_reason} {evaluator.status}"
        outcome = EvaluationOutcome.FAILED
    return Measurement(outcome=outcome, detail=detail, tail=tail)
