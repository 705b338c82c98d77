"""One run from start to end."""

from autoreason.run.driver import start
from autoreason.run.estimate import RunEstimate, estimate_run
from autoreason.run.export import export
from autoreason.run.preflight import check
from autoreason.run.recall import OnEvent
from autoreason.run.replay import ReplayResult, replay_async
from autoreason.run.result import Result, StopSwitch
from autoreason.run.working_time import WorkingTime, working_time

__all__ = [
    "OnEvent",
    "ReplayResult",
    "Result",
    "RunEstimate",
    "StopSwitch",
    "WorkingTime",
    "check",
    "estimate_run",
    "export",
    "replay_async",
    "start",
    "working_time",
]
