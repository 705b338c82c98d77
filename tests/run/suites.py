"""Small suites on a journal of their own, for the tests of this room."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from autoreason.exchange import OnSignal, Reply, Request
from autoreason.journal import Journal
from autoreason.models.doubles import EchoModel
from autoreason.run.lab import lab
from autoreason.run.result import StudyResult
from autoreason.studies.lab_report import LabReport

SUITE = """\
name: tides
seed: 3
tasks:
  tides: Explain tides.
  wind: Explain the wind.
arms:
  single: {strategy: single}
  revised: {strategy: critique_revise, passes: 1}
  contest: {passes: 2, k: 1, judges: 3, candidates: B+AB, reviewers: 0}
repeats: 2
panel: {judges: 3}
measures: [words, passes, converged]
comparisons:
  - name: revising
    question: Does revising help?
    arms: [revised, single]
  - name: length
    question: Do contests make texts longer?
    arms: [contest, single, revised]
    measure: words
"""
SMALL = """\
name: small
seed: 3
tasks: {tides: Explain tides.}
arms:
  single: {strategy: single}
  revised: {strategy: critique_revise, passes: 1}
repeats: 1
panel: {judges: 3}
comparisons:
  - {name: revising, question: Does revising help, arms: [revised, single]}
"""


class CountedModel(EchoModel):
    """An echo that counts what it is asked; something may happen before it is asked once more."""

    def __init__(self, happen: Callable[[int], object] = bool) -> None:
        self.asked: list[str] = []
        self._happen = happen

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        self._happen(len(self.asked))
        self.asked.append(request.role)
        return await super().ask(request, on_signal)


def write_suite(folder: Path, text: str = SUITE) -> Path:
    path = folder / "suite.yaml"
    path.write_text(text)
    return path


def write_knob(folder: Path) -> list[Path]:
    """A research task that turns a knob."""
    contents = {
        "task.md": "---\nartifact: knob.txt\nevaluate: evaluate.py:score\n---\nTurn the knob.\n",
        "knob.txt": "knob = 0\n",
        "evaluate.py": "def score(artifact, seed, items):\n"
        "    return {'score': float(artifact.text('knob.txt').split()[-1])}\n",
    }
    for name, content in contents.items():
        (folder / name).write_text(content)
    return [folder / name for name in contents]


async def run_suite(
    folder: Path, journal: Journal, text: str = SUITE, **options: Any
) -> StudyResult[LabReport]:
    """A suite from the start, on a model that counts."""
    options = {"anyway": True, "model": CountedModel(), **options}
    return await lab.aio(write_suite(folder, text), journal=journal, **options)
