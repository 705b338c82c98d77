"""What a job works with: its context, its randomness, and concurrent work."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, TypeVar

from autoreason.events import AnyEvent, Recovery
from autoreason.exchange import Ask, Message, Outcome, Reply, Request, Role, Schema, seed_of
from autoreason.jobs.allowance import Allowance
from autoreason.prompts import PromptSet
from autoreason.reasoning import reasoning_tokens_for
from autoreason.settings import Settings
from autoreason.task import Task

BOUNDARY = r"(?<!\w)[0-9a-f]{16}(?!\w)"
"""Matches every boundary, so that a copy of one is recognised in a model's text."""


def draw(seed: int, purpose: str) -> random.Random:
    """A fresh source of randomness for one purpose."""
    return random.Random(f"{seed}/{purpose}")


def boundary(seed: int, purpose: str, *texts: str, attempt: int = 0) -> str:
    """A mark that none of the texts contains and no author could have guessed."""
    mark = blake2b(f"{seed}/{purpose}/{attempt}".encode(), digest_size=8).hexdigest()
    if any(mark in text for text in texts):
        return boundary(seed, purpose, *texts, attempt=attempt + 1)
    return mark


T = TypeVar("T")


async def use_in_order(work: list[Coroutine[Any, Any, T]], use: Callable[[T], object]) -> None:
    """Use results in the order of the work, as soon as those before are used; all ends before a failure is raised.

    Calls next to the one that failed are paid for, so they are awaited and recorded.
    """
    tasks = [asyncio.ensure_future(item) for item in work]
    failure: Exception | None = None
    try:
        for task in tasks:
            try:
                result = await task
            except Exception as raised:
                failure = failure or raised
            else:
                if not failure:
                    use(result)
        if failure:
            raise failure
    finally:
        await cancel(tasks)


async def cancel(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel tasks and wait until they have ended: what they record later could conflict with other records."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


Emit = Callable[[AnyEvent], None]


@dataclass(frozen=True)
class JobContext:
    """Everything a job may use."""

    task: Task
    settings: Settings
    prompts: PromptSet
    ask: Ask
    emit: Emit
    allowance: Allowance | None = None
    """What this part of a run may spend; None where there is no such limit."""
    shared_draft: bool = False
    """Whether the task's draft was written by the author, for several strategies to begin from."""
    recovery: Recovery = field(default_factory=Recovery)
    """What the run was resumed from."""

    def request(
        self,
        role: Role,
        key: str,
        model: str,
        prompt: str,
        *,
        schema: Schema | None = None,
        history: Sequence[Message] = (),
    ) -> Request:
        """A conversation: the stable part first, then what came before, then what this role is asked."""
        effort = self.settings.effort(role)
        opening = self.opening if self._knows_facts(role) else self._opening_without_facts
        return Request(
            role=role,
            key=key,
            model=model,
            messages=(*opening, *self._records_for(role), *history, Message("user", prompt)),
            max_tokens=self.settings.max_tokens + reasoning_tokens_for(model, effort),
            temperature=self.settings.temperature(role),
            effort=effort,
            schema=schema,
            seed=seed_of(self.settings.seed, key),
        )

    def second_request(
        self, request: Request, key: str, reply: Reply, prompt: str, **variables: Any
    ) -> Request:
        """The same question again; after an unreadable answer with its form stated in words.

        A server may accept a schema and ignore it, so that the model never saw the form.
        """
        if reply.outcome is not Outcome.OK:
            return repeat_request(request, key, longer=reply.needs_room)
        form = request.schema.plain if request.schema else ""
        return follow_up(
            request, key, reply.text, self.prompts.render(prompt, form=form, **variables)
        )

    def prompt(self, name: str, key: str, /, **variables: Any) -> str:
        """A rendered prompt, with a boundary around texts that none of them contains."""
        mark = boundary(self.settings.seed, key, repr(variables))
        return self.prompts.render(name, boundary=mark, **variables)

    @cached_property
    def opening(self) -> tuple[Message, ...]:
        """What every conversation begins with: the same for all, so that a provider may cache it."""
        return self._open(self.task.facts)

    @cached_property
    def _opening_without_facts(self) -> tuple[Message, ...]:
        return self._open(None)

    def _knows_facts(self, role: Role) -> bool:
        return role != "critic" or self.settings.critic_facts

    def _open(self, facts: str | None) -> tuple[Message, ...]:
        task = self.task
        text = self.prompt(
            "task",
            "task",
            brief=task.brief,
            facts=facts,
            rules=task.contract.rules(),
            # Texts of recorded passes have a stage, and kept their contract to be judged.
            finished=any(not entry.stage for entry in task.entries),
        )
        return self.begin(text)

    def begin(self, text: str) -> tuple[Message, ...]:
        """The messages that begin a conversation about what a text says."""
        return (
            Message("system", self.prompts.render("system"), stable=True),
            Message("user", text, stable=True),
        )

    def _records_for(self, role: Role) -> tuple[Message, ...]:
        """What a role is shown of the user's records: nothing that would tell an author what judges look at."""
        knowledge = self.task.knowledge
        if knowledge is None:
            return ()
        outcomes = knowledge.outcomes_for(role)
        style = () if role == "judge" else knowledge.style
        feedback = knowledge.feedback if role == "critic" else ()
        facts = knowledge.facts if self._knows_facts(role) else ()
        shown = (*facts, *style, *feedback, *outcomes.all)
        if not shown:
            return ()
        text = self.prompt(
            "knowledge",
            "knowledge",
            known_facts=facts,
            house_style=style,
            reader_feedback=feedback,
            did_well=outcomes.well,
            did_badly=outcomes.badly,
            # Only problems that are read one by one can be looked up.
            role=role if role != "critic" or self.settings.quoted_critique else "",
        )
        return (Message("user", text, stable=True),)


def follow_up(request: Request, key: str, answer: str, prompt: str) -> Request:
    """The same conversation, one turn further."""
    turn = (Message("assistant", answer), Message("user", prompt))
    return request.renamed(key, messages=(*request.messages, *turn))


def repeat_request(request: Request, key: str, *, longer: bool) -> Request:
    """The same question once more; with twice the room where the answer was cut off."""
    return request.renamed(key, max_tokens=request.max_tokens * (2 if longer else 1))
