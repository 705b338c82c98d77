"""One run from start to end."""

from autoreason.run.driver import start
from autoreason.run.estimate import RunEstimate, estimate_run
from autoreason.run.export import export
from autoreason.run.fork import fork, fork_async
from autoreason.run.options import RunHooks
from autoreason.run.preflight import check
from autoreason.run.prepared import PreparedRun
from autoreason.run.recall import OnEvent
from autoreason.run.refine import estimate, estimate_async, refine, refine_async
from autoreason.run.replay import ReplayResult, replay, replay_async
from autoreason.run.result import Result, StopSwitch
from autoreason.run.resume import resume, resume_async
from autoreason.run.working_time import WorkingTime, working_time

__all__ = [
    "OnEvent",
    "PreparedRun",
    "ReplayResult",
    "Result",
    "RunEstimate",
    "RunHooks",
    "StopSwitch",
    "WorkingTime",
    "check",
    "estimate",
    "estimate_async",
    "estimate_run",
    "export",
    "fork",
    "fork_async",
    "refine",
    "refine_async",
    "replay",
    "replay_async",
    "resume",
    "resume_async",
    "start",
    "working_time",
]
