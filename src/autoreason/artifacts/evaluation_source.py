"""What measures, as it is read from a task's folder: only the evaluator's process ever opens it again."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from autoreason.artifacts.research_task import LookLimits


class EvaluationSource(Struct, frozen=True, kw_only=True):
    """The evaluator's files with the items it measures on; none of it is recorded."""

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
