"""Whole runs on a journal of their own, for the tests of this room."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from tests.tournament.stage import CONTESTS, USUAL

from autoreason.exchange import REPEATS, Model, OnSignal, Outcome, Reply, Request, Usage
from autoreason.journal import Journal
from autoreason.models.doubles import EchoModel, ScriptedModel
from autoreason.models.pool import ModelPool
from autoreason.programs.examination import ExaminerService
from autoreason.run.driver import resume, start
from autoreason.run.result import Result
from autoreason.run.verbs import RunHooks
from autoreason.settings import Budget, Models, Settings, make_settings
from autoreason.task import Task

TASK = Task(brief="Write a note about the new coffee machine.\n\nKeep it short and kind.")


def settings(
    address: str = "scripted/scripted", seed: int = 7, k: int = 2, **changes: Any
) -> Settings:
    """Settings with one model for all roles: contests, and two survivals end a run."""
    contests = {} if changes.get("protocol") == "paper" else CONTESTS
    return make_settings(Models.everywhere(address), seed, **{"k": k, **contests, **changes})


def limited(calls: int) -> dict[str, Any]:
    return {"budget": Budget(calls=calls), "reviewers": 0, "confirmation": 0}


def scripted(script: Mapping[str, Any] | None = None, **options: Any) -> ScriptedModel:
    """The usual short run (A survives twice), with some answers of its own."""
    usual: dict[str, Any] = dict(USUAL)
    usual.update(script or {})
    return ScriptedModel(usual, **options)


class Looping(EchoModel):
    """A model whose replies are all left as a loop, so that their accounts never come."""

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        whole = await super().ask(request, on_signal)
        return replace(whole, outcome=Outcome.TRUNCATED, finish=REPEATS, usage=Usage())


def lend(model: Model) -> ModelPool:
    pool = ModelPool()
    pool.add({model.address: model})
    return pool


async def start_run(journal: Journal, model: Model | None = None, **options: Any) -> Result:
    """A run from the start, on the echo model unless another is given."""
    model = model or EchoModel()
    chosen = options.pop("settings", None) or settings(model.address, **options.pop("changes", {}))
    hooks = _hooks(options, model)
    return await start(options.pop("task", TASK), chosen, journal, hooks, **options)


async def go_on(journal: Journal, run: str, model: Model | None = None, **options: Any) -> Result:
    """The same run taken up again."""
    return await resume(run, journal, _hooks(options, model or EchoModel()), **options)


def _hooks(options: dict[str, Any], model: Model) -> RunHooks:
    """The hooks among the options; a test gives an examiner as it is."""
    if examiner := options.pop("examiner", None):
        options["service"] = ExaminerService(examiner)
    names = [name for name in options if name in RunHooks.__annotations__]
    return {**{name: options.pop(name) for name in names}, "pool": lend(model)}  # type: ignore[typeddict-item]


def open_journal(folder: Path) -> Journal:
    return Journal.open(str(folder / "journal.db"), create=True)
