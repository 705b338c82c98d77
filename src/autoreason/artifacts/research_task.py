"""A research task: the goal in prose, and in its front matter what is improved, and against what."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from autoreason.artifacts.measurement import Files
from autoreason.task import Task, Work

Better = Literal["higher", "lower"]


class LookLimits(Struct, frozen=True, kw_only=True):
    """What one look may use."""

    seconds: Annotated[float, Meta(gt=0, le=86_400)] = 60.0
    """By the clock; then every process of the look is killed."""
    memory_mb: Annotated[int, Meta(ge=16, le=1_000_000)] = 2048
    processes: Annotated[int, Meta(ge=1, le=10_000)] = 64
    disk_mb: Annotated[int, Meta(ge=1, le=100_000)] = 256
    """What the look may write, in a folder that is removed after it."""


class EvaluationSource(Struct, frozen=True, kw_only=True):
    """The evaluator's files with the items it measures on; none is recorded, and its own process alone opens it."""

    evaluate: str
    """A command, or `file.py:function`; its files are among `files`."""
    files: dict[str, bytes] = {}
    """By path, relative to the task's folder: what `evaluate` names and what `needs` adds."""
    items: tuple[Any, ...] = ()
    """Values of JSON lines, or lines of text."""
    sealed: tuple[Any, ...] = ()
    limits: LookLimits = LookLimits()
    metric: str = "score"
    mounts: tuple[str, ...] = ()
    """Folders and files of the system that a look may read, by absolute path."""
    folder: str = ""
    """The task's own, which no artifact sees."""


class ResearchTask(Work, Struct, frozen=True, kw_only=True, tag_field="type", tag=True):
    """What is improved and how it is measured; the evaluator's own files are named by their digest alone."""

    name = "research tasks"

    files: Files
    """The artifact at the start."""
    origin: Files = {}
    """Of a fork: the artifact at the start of the first run, which is on disk; empty where that is the start."""
    artifact: tuple[str, ...]
    """Paths and globs that a proposal may write to."""
    evaluate: str
    """A command, or `file.py:function`."""
    evaluation: str = ""
    """The digest under which evaluator, items and sealed set are saved; empty where the caller measures."""
    better: Better = "higher"
    metric: str = "score"
    """Which number decides where the evaluator returns several."""
    timed: bool = False
    """The number is a time: looks are taken one at a time, in turn with the incumbent's."""
    items: int = 0
    """How many items there are."""
    per_look: int = 0
    """Items drawn for each look; 0 is all of them, a fixed set."""
    sealed: int = 0
    """How many sealed items there are."""
    opened: int = 0
    """How often this sealed set was opened before this run."""
    limits: LookLimits = LookLimits()
    constraints: tuple[str, ...] = ()
    """In words, for the proposer; sizes such as `pack.py <= 20 kB` are checked by code."""
    guard: dict[str, str] = {}
    """Other numbers that must hold, such as `{"p50_ms": "<= 5"}`; decided before the metric."""
    looks: int | None = None
    """The most looks at a candidate; None is the default."""
    tolerance: float = 0.0
    """A gain that is no more than this is none."""
    target: float | None = None
    """The run ends when the incumbent's mean reaches it."""
    judge: str = ""
    """What blind judges are asked to prefer where the metric cannot tell; empty is no judges."""
    evaluator_source: str = ""
    """The evaluator's source, where the task lets the proposer read it."""

    @property
    def sign(self) -> int:
        """What a number is multiplied by so that higher is better."""
        return 1 if self.better == "higher" else -1

    @property
    def draws_items(self) -> bool:
        """Whether items are drawn anew for every look, because there are more than a look takes."""
        return 0 < self.per_look < self.items


def research_of(task: Task | None) -> ResearchTask | None:
    """The research a task asks for; None where it asks for something else."""
    work = task.work if task else None
    return work if isinstance(work, ResearchTask) else None
