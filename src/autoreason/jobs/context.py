"""What a job is given: the task, the settings, the prompts, `ask` for requests and `emit` for events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as with_fields
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from autoreason.events import AnyEvent, Recovery
from autoreason.exchange import (
    Ask,
    GuidanceQuery,
    Message,
    Outcome,
    Query,
    Reply,
    Request,
    Role,
    Schema,
    seed_of,
)
from autoreason.jobs.allowance import Allowance
from autoreason.jobs.randomness import boundary, draw
from autoreason.keys import sub_key
from autoreason.prompts import PromptSet
from autoreason.reasoning import reasoning_tokens_for
from autoreason.settings import Settings
from autoreason.task import Task

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
    """What it may spend; None where there is no such limit."""
    recovery: Recovery = field(default_factory=Recovery)
    """What the run was resumed from."""

    @classmethod
    def open(
        cls,
        task: Task,
        settings: Settings,
        prompts: PromptSet,
        ask: Ask,
        emit: Emit,
        recovery: Recovery | None = None,
    ) -> JobContext:
        """The context of a run; where its settings limit what it may spend, replies are counted."""
        allowance = None
        if matched := settings.matched:
            allowance = Allowance(matched.unit, matched.amount)
            ask = counting(ask, allowance)
        return cls(task, settings, prompts, ask, emit, allowance, recovery or Recovery())

    def within(
        self,
        prefix: str,
        emit: Emit,
        *,
        task: Task | None = None,
        settings: Settings | None = None,
        seed_name: str = "",
    ) -> JobContext:
        """The same with keys and a seed of its own, and somebody else who hears of its events.

        What has the same `seed_name` draws alike, and differs only in what it does.
        """

        async def ask(request: Request | Query[Any]) -> Any:
            if isinstance(request, GuidanceQuery):
                # Guidance is for a run that a person follows, not for a step of it.
                return ""
            return await self.ask(replace(request, key=sub_key(prefix, request.key)))

        seed = draw(self.settings.seed, seed_name or prefix).getrandbits(32)
        return with_fields(
            self,
            task=task or self.task,
            settings=replace(settings or self.settings, seed=seed),
            ask=ask,
            emit=emit,
            # Panels that failed are counted by the job, not by its steps.
            recovery=replace(self.recovery, failed_panels=0),
        )

    def request(
        self,
        role: Role,
        key: str,
        model: str,
        prompt: str,
        *,
        temperature: float | None,
        schema: Schema | None = None,
    ) -> Request:
        """A fresh conversation: the stable part first, then what this role is asked."""
        effort = self.settings.effort(role)
        return Request(
            role=role,
            key=key,
            model=model,
            messages=(*self._opening_for(role), *self._records_for(role), Message("user", prompt)),
            max_tokens=self.settings.max_tokens + reasoning_tokens_for(model, effort),
            temperature=temperature,
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

    def prompt(self, name: str, key: str, fenced: tuple[str, ...], /, **variables: Any) -> str:
        """A rendered prompt, with a boundary around texts that none of them contains."""
        mark = boundary(self.settings.seed, key, *fenced)
        return self.prompts.render(name, boundary=mark, **variables)

    @cached_property
    def opening(self) -> tuple[Message, ...]:
        """What every conversation begins with: the same for all, so that a provider may cache it."""
        return self._open(self.task.facts)

    @cached_property
    def _opening_without_facts(self) -> tuple[Message, ...]:
        return self._open(None)

    def _opening_for(self, role: Role) -> tuple[Message, ...]:
        return self.opening if self._knows_facts(role) else self._opening_without_facts

    def _knows_facts(self, role: Role) -> bool:
        return role != "critic" or self.settings.critic_facts

    def _open(self, facts: str | None) -> tuple[Message, ...]:
        task = self.task
        text = self.prompt(
            "task",
            "task",
            (task.brief, facts or ""),
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
            tuple(record.text for record in shown),
            known_facts=facts,
            house_style=style,
            reader_feedback=feedback,
            did_well=outcomes.well,
            did_badly=outcomes.badly,
            # Only problems that are read one by one can be looked up.
            role=role if role != "critic" or self.settings.quoted_critique else "",
        )
        return (Message("user", text, stable=True),)


def counting(ask: Ask, allowance: Allowance) -> Ask:
    """The same `ask`, with every reply counted."""

    async def ask_and_count(request: Request | Query[Any]) -> Any:
        answer = await ask(request)
        if isinstance(answer, Reply):
            allowance.take(answer)
        return answer

    return ask_and_count


def follow_up(request: Request, key: str, answer: str, prompt: str) -> Request:
    """The same conversation, one turn further."""
    turn = (Message("assistant", answer), Message("user", prompt))
    return request.renamed(key, messages=(*request.messages, *turn))


def repeat_request(request: Request, key: str, *, longer: bool) -> Request:
    """The same question once more; with twice the room where the answer was cut off."""
    return request.renamed(key, max_tokens=request.max_tokens * (2 if longer else 1))


def with_history(request: Request, history: Sequence[Message]) -> Request:
    """The same question after an earlier conversation."""
    *opening, question = request.messages
    return replace(request, messages=(*opening, *history, question))
