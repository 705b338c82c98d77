"""Autoreason makes a language model's draft as good as it can get, and knows when to stop."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autoreason.contract import Contract as Contract
    from autoreason.contract import Violation as Violation
    from autoreason.errors import AutoreasonError as AutoreasonError
    from autoreason.errors import BudgetReached as BudgetReached
    from autoreason.errors import CallFailed as CallFailed
    from autoreason.errors import InvalidInput as InvalidInput
    from autoreason.errors import JournalError as JournalError
    from autoreason.errors import PanelFailed as PanelFailed
    from autoreason.errors import ProviderFailed as ProviderFailed
    from autoreason.exchange import Message as Message
    from autoreason.exchange import Model as Model
    from autoreason.exchange import Outcome as Outcome
    from autoreason.exchange import Reply as Reply
    from autoreason.exchange import Request as Request
    from autoreason.exchange import Usage as Usage
    from autoreason.journal import Journal as Journal
    from autoreason.models.pool import ModelPool as ModelPool
    from autoreason.models.testing import EchoModel as EchoModel
    from autoreason.models.testing import ScriptedModel as ScriptedModel
    from autoreason.parsing.ballots import read_ranking as read_ranking
    from autoreason.programs.strategy import ProgramStrategy as ProgramStrategy
    from autoreason.run.refine import refine as refine
    from autoreason.run.refine import refine_async as refine_async
    from autoreason.run.result import Result as Result
    from autoreason.run.solve import Solution as Solution
    from autoreason.run.solve import solve as solve
    from autoreason.run.solve import solve_async as solve_async
    from autoreason.run.studies import compare as compare
    from autoreason.run.studies import compare_async as compare_async
    from autoreason.run.studies import judge as judge
    from autoreason.run.studies import judge_async as judge_async
    from autoreason.settings import Budget as Budget
    from autoreason.settings import Settings as Settings
    from autoreason.task import Task as Task
    from autoreason.task import read_task as read_task
    from autoreason.tournament.evidence import chance_of_margin as chance_of_margin
    from autoreason.tournament.orders import balanced_orders as balanced_orders
    from autoreason.tournament.strategy import Strategy as Strategy
    from autoreason.tournament.voting import borda as borda
    from autoreason.version import __version__ as __version__

# Imported when first named, so that `import autoreason` and the command line's help stay quick.
_HOMES = {
    "AutoreasonError": "errors",
    "Budget": "settings",
    "BudgetReached": "errors",
    "CallFailed": "errors",
    "Contract": "contract",
    "EchoModel": "models.testing",
    "InvalidInput": "errors",
    "Journal": "journal",
    "JournalError": "errors",
    "Message": "exchange",
    "Model": "exchange",
    "ModelPool": "models.pool",
    "Outcome": "exchange",
    "PanelFailed": "errors",
    "ProgramStrategy": "programs.strategy",
    "ProviderFailed": "errors",
    "Reply": "exchange",
    "Request": "exchange",
    "Result": "run.result",
    "ScriptedModel": "models.testing",
    "Settings": "settings",
    "Solution": "run.solve",
    "Strategy": "tournament.strategy",
    "Task": "task",
    "Usage": "exchange",
    "Violation": "contract",
    "__version__": "version",
    "balanced_orders": "tournament.orders",
    "borda": "tournament.voting",
    "chance_of_margin": "tournament.evidence",
    "compare": "run.studies",
    "compare_async": "run.studies",
    "judge": "run.studies",
    "judge_async": "run.studies",
    "read_ranking": "parsing.ballots",
    "read_task": "task",
    "refine": "run.refine",
    "refine_async": "run.refine",
    "solve": "run.solve",
    "solve_async": "run.solve",
}

__all__ = sorted(_HOMES)

# Kinds of events and of work that a journal finds by name, so that its room knows none of them.
_register = import_module("autoreason.extensions").register
_register("autoreason.programs.events", "ProgramExamined", "Solved")
_register("autoreason.programs.task", "Assignments")


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'autoreason' has no attribute {name!r}")
    module = import_module(f"autoreason.{home}")
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
