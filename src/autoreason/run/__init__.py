"""One run from start to end."""

from autoreason.run.driver import resume, start
from autoreason.run.estimate import Estimate, estimate
from autoreason.run.export import export
from autoreason.run.fork import fork
from autoreason.run.preflight import check
from autoreason.run.recall import OnEvent
from autoreason.run.replay import Replayed, replay
from autoreason.run.result import Result, Switch
from autoreason.run.working_time import Worked, worked

__all__ = [
    "Estimate",
    "OnEvent",
    "Replayed",
    "Result",
    "Switch",
    "Worked",
    "check",
    "estimate",
    "export",
    "fork",
    "replay",
    "resume",
    "start",
    "worked",
]
