"""What is wrong with a text: the limits that code knows it breaks, else what up to two critics find."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

from autoreason.events import CritiqueProblem, CritiqueWritten
from autoreason.exchange import Outcome, Reply
from autoreason.jobs.context import JobContext
from autoreason.keys import pass_key, try_key
from autoreason.parsing.citations import split_cited
from autoreason.parsing.critiques import SCHEMA, describe, read_critique
from autoreason.tournament.authors import fixes

CRITICS = 2
CRITIC_SETTINGS = ("critic_model", "critic_temperature", "critic_effort", "quoted_critique")
"""What every critic's request depends on."""


class CritiqueResult(NamedTuple):
    """What the critics of a pass found."""

    outcome: Literal["problems", "none", "unreadable"]
    problems: str = ""
    """As the reviser reads them."""


async def criticise(context: JobContext, number: int, text: str, guidance: str) -> CritiqueResult:
    """The limits that a text breaks are enough; without any, or where a person adds guidance, critics are asked too."""
    breaches = _contract_problems(context, number, text)
    if breaches and not guidance:
        return CritiqueResult("problems", breaches)
    critiques = []
    for critic in range(CRITICS):
        quoted = context.settings.quoted_critique
        prompt = context.prompt(
            "critic",
            critic_key(number, critic),
            (text, guidance),
            text=text,
            guidance=guidance,
            quoted=quoted,
        )
        critique = await ask_critic(
            context, number, critic, text, prompt, quoted=quoted, program=False
        )
        context.emit(critique)
        critiques.append(critique)
        if critique.prose or critique.problems:
            described = critique.prose or describe(critique.problems)
            return CritiqueResult("problems", f"{breaches}\n{described}".strip())
    if breaches:
        return CritiqueResult("problems", breaches)
    return CritiqueResult(
        "none" if all(critique.readable for critique in critiques) else "unreadable"
    )


def _contract_problems(context: JobContext, number: int, text: str) -> str:
    """The limits a text breaks, as the reviser reads them; empty where it keeps its contract."""
    problems = tuple(
        CritiqueProblem(severity="critical", kind="general", problem=fix)
        for fix in fixes(context, text)
    )
    if problems:
        context.emit(CritiqueWritten(number=number, critic=0, problems=problems, by_code=True))
    return describe(problems)


def critic_key(number: int, critic: int) -> str:
    """The key of what a critic of a pass is asked."""
    return pass_key(number, "critic", critic)


async def ask_critic(
    context: JobContext,
    number: int,
    critic: int,
    text: str,
    prompt: str,
    *,
    quoted: bool = True,
    program: bool | None = None,
    may_repeat: Callable[[], bool] = lambda: True,
) -> CritiqueWritten:
    """What one critic finds in a text or a program; asked again where it cannot be read and that is allowed."""
    settings, key = context.settings, critic_key(number, critic)
    request = context.request(
        "critic",
        try_key(key, 0),
        settings.models.critic,
        prompt,
        temperature=settings.critic_temperature,
        schema=SCHEMA if quoted else None,
    )
    reply = await context.ask(request)
    read = partial(_read_critique, context, number=number, critic=critic, text=text, quoted=quoted)
    critique = read(reply, program=program)
    if not critique.readable and may_repeat():
        reply = await context.ask(
            context.second_request(request, try_key(key, 1), reply, "critique_again")
        )
        critique = read(reply, program=program)
    return critique


def _read_critique(
    context: JobContext,
    reply: Reply,
    *,
    number: int,
    critic: int,
    text: str,
    quoted: bool,
    program: bool | None,
) -> CritiqueWritten:
    unreadable = CritiqueWritten(number=number, critic=critic, readable=False)
    if reply.outcome is not Outcome.OK:
        return unreadable
    if not quoted:
        return CritiqueWritten(number=number, critic=critic, prose=reply.text.strip())
    parsed = read_critique(reply.text, text, program=program)
    if parsed is None:
        return unreadable
    problems, miscited = parsed.problems, 0
    if knowledge := context.task.knowledge:
        problems, miscited = split_cited(
            problems, (*knowledge.facts, *knowledge.feedback, *knowledge.critic.all)
        )
    return CritiqueWritten(
        number=number, critic=critic, problems=problems, dropped=parsed.dropped, miscited=miscited
    )
