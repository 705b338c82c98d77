"""One run from start to end."""

from autoreason.run.driver import resume, start
from autoreason.run.estimate import RunEstimate, estimate
from autoreason.run.export import export
from autoreason.run.fork import fork
from autoreason.run.preflight import check
from autoreason.run.recall import OnEvent
from autoreason.run.replay import ReplayResult, replay
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
    "estimate",
    "export",
    "fork",
    "replay",
    "resume",
    "start",
    "working_time",
]
