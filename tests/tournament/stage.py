"""A tournament on a stage of its own: scripted answers in, the whole story out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from autoreason.contract import Contract
from autoreason.errors import Interruption
from autoreason.events import (
    AnyEvent,
    Delivered,
    JobFinished,
    PassDecided,
    Recovery,
    Verdict,
)
from autoreason.exchange import Outcome, Query, Reply, Request
from autoreason.jobs.context import JobContext
from autoreason.knowledge_records import Knowledge
from autoreason.prompts import PromptSet, built_in
from autoreason.settings import Models, Settings, make_settings
from autoreason.strategies import job_class
from autoreason.task import Entry, Task, Work

E = TypeVar("E")
Answer = str | Reply | Callable[[Any], Any]

_TEXT = re.compile(
    r"^(?:## (\S+)\n\n)?<<<TEXT ([0-9a-f]{16})>>>\n(.*?)\n<<<END TEXT \2>>>",
    re.MULTILINE | re.DOTALL,
)


def shown_texts(request: Request) -> dict[str, str]:
    """What a judge is shown: label to text, in order."""
    return {label: text for label, _, text in _TEXT.findall(request.messages[-1].text)}


def critique(*problems: str) -> str:
    """A critic's answer with one `missing` problem for each given sentence."""
    listed = [{"severity": "major", "kind": "missing", "quote": "", "problem": p} for p in problems]
    return json.dumps({"problems": listed})


def vote(*best_first: str) -> Callable[[Request], str]:
    """A judge who ranks texts by which of the given words they contain."""

    def ballot(request: Request) -> str:
        shown = shown_texts(request)
        labels = sorted(shown, key=lambda label: _place(shown[label], best_first))
        return json.dumps({"reasoning": "so it is", "ranking": " > ".join(labels)})

    return ballot


def grade(by_word: Mapping[str, Sequence[int]], *keys: str) -> Callable[[Request], str]:
    """A judge who grades texts by the first of the given words that they contain, by these keys of its criteria."""

    def ballot(request: Request) -> str:
        grades: dict[str, int] = {}
        for label, text in shown_texts(request).items():
            marks = next(marks for word, marks in by_word.items() if word in text)
            grades |= dict(zip([f"{label}_{key}" for key in keys] or [label], marks, strict=True))
        return json.dumps({"reasoning": "so it is"} | grades)

    return ballot


def _place(text: str, best_first: tuple[str, ...]) -> int:
    return next((i for i, word in enumerate(best_first) if word in text), len(best_first))


def document(text: str, notes: str = "") -> str:
    """An author's answer."""
    return f"<document>\n{text}\n</document>\n<notes>\n{notes}\n</notes>"


@dataclass
class Played:
    """What a run on stage told and asked."""

    events: list[AnyEvent] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    settings: Settings | None = None
    end: Delivered | JobFinished | None = None
    interruption: Interruption | None = None

    @property
    def delivered(self) -> Delivered:
        """The end of a strategy."""
        assert isinstance(self.end, Delivered), self.interruption
        return self.end

    @property
    def decided(self) -> list[PassDecided]:
        """How the passes ended."""
        return self.of(PassDecided)

    @property
    def verdicts(self) -> list[Verdict]:
        """What panels found in passes."""
        return [each.verdict for each in self.decided if each.verdict]

    def of(self, kind: type[E]) -> list[E]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def asked(self, role: str) -> list[Request]:
        """The requests to one role."""
        return [request for request in self.requests if request.role == role]


CONTESTS: dict[str, Any] = {
    "judges": 3,
    "candidates": "B+AB",
    "passes": 15,
    "max_growth": 100.0,
    "reviewers": 5,
    "review_texts": 5,
    "review_every": 0,
}
"""A vote in every pass, one review at the end, and texts of any length."""
UNSEEN: dict[str, Any] = {"judges": 0, "candidates": "B", "review_texts": 9, "confirmation": 0}
"""Passes without a vote."""

USUAL: dict[str, Answer] = {
    "author": document("First text."),
    "critic": critique("It lacks an example."),
    "reviser": lambda request: document(f"Second text, made in {request.key.split('/')[1]}."),
    "synthesizer": lambda request: document(f"Third text, made in {request.key.split('/')[1]}."),
    "judge": vote("First", "Second", "Third"),
}


async def play(
    script: Mapping[str, Answer] | None = None,
    *,
    brief: str = "Write one sentence.",
    draft: str | None = None,
    facts: str | None = None,
    contract: Contract | None = None,
    criteria: tuple[str, ...] = (),
    entries: tuple[Entry, ...] = (),
    work: Work | None = None,
    knowledge: Knowledge | None = None,
    seed: int = 7,
    protocol: Any = "robust",
    k: int = 2,
    recovery: Recovery | None = None,
    prompts: PromptSet | None = None,
    **changes: Any,
) -> Played:
    """Hold a run with scripted answers, by key or else by role: contests, and two survivals end it."""
    changes = changes if protocol == "paper" else CONTESTS | changes
    answers = {**USUAL, **(script or {})}
    played = Played()

    async def ask(request: Request | Query[Any]) -> Any:
        if isinstance(request, Query):
            # No guidance, and enough of everything, unless the script has it otherwise.
            answer = answers.get(request.key, answers.get(request.kind, ""))
            return answer(request) if callable(answer) else answer
        played.requests.append(request)
        answer = answers.get(request.key, answers[request.role])
        said = answer(request) if callable(answer) else answer
        if isinstance(said, Reply):
            return said
        return Reply(outcome=Outcome.OK, text=said, model=request.model)

    models = changes.pop("models", None) or Models.everywhere("scripted/x")
    settings = played.settings = make_settings(models, seed, protocol, k=k, **changes)
    given: Any = {"draft": draft, "facts": facts, "entries": entries, "work": work}
    given |= {"criteria": criteria, "knowledge": knowledge}
    task = Task(brief=brief, contract=contract or Contract(), **given)
    emit, recovered = played.events.append, recovery or Recovery()
    context = JobContext(task, settings, prompts or built_in(), ask, emit, recovery=recovered)
    try:
        played.end = await job_class(settings.job)(context).run()
    except Interruption as interruption:
        played.interruption = interruption
    return played


def cut_off(text: str = "Half a", finish: str = "length") -> Reply:
    """A reply that hit its limit."""
    return Reply(outcome=Outcome.TRUNCATED, text=text, model="scripted/x", finish=finish)
