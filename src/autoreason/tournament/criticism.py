"""What is wrong with a text: the limits that code knows it breaks, else what critics find, two at most."""

from __future__ import annotations

from typing import Literal, NamedTuple

from autoreason.events import CritiqueWritten, Problem
from autoreason.exchange import Outcome, Reply
from autoreason.jobs.context import JobContext
from autoreason.parsing.critiques import SCHEMA, describe, read_critique
from autoreason.tournament.writing import fixes

CRITICS = 2


class Findings(NamedTuple):
    """What the critics of a pass came to."""

    outcome: Literal["problems", "none", "unreadable"]
    problems: str = ""
    """As the reviser reads them."""


async def criticise(context: JobContext, number: int, text: str, guidance: str) -> Findings:
    """The limits that a text breaks are enough; without any, or where a person adds guidance, critics are asked too."""
    broken = _find_breaches(context, number, text)
    if broken and not guidance:
        return Findings("problems", broken)
    told = []
    for critic in range(CRITICS):
        made = await _one_critic(context, number, critic, text, guidance)
        context.emit(made)
        told.append(made)
        if made.prose or made.problems:
            found = made.prose or describe(made.problems)
            return Findings("problems", f"{broken}\n{found}".strip())
    if broken:
        return Findings("problems", broken)
    return Findings("none" if all(made.readable for made in told) else "unreadable")


def _find_breaches(context: JobContext, number: int, text: str) -> str:
    """What code has against a text, as the reviser reads it; empty where it keeps its contract."""
    problems = tuple(
        Problem(severity="critical", kind="general", problem=fix) for fix in fixes(context, text)
    )
    if problems:
        context.emit(CritiqueWritten(number=number, critic=0, problems=problems, by_code=True))
    return describe(problems)


async def _one_critic(
    context: JobContext, number: int, critic: int, text: str, guidance: str
) -> CritiqueWritten:
    settings = context.settings
    key = f"pass/{number}/critic/{critic}"
    quoted = settings.quoted_critique
    prompt = context.prompt(
        "critic", key, (text, guidance), text=text, guidance=guidance, quoted=quoted
    )
    request = context.request(
        "critic",
        f"{key}/try/0",
        settings.models.critic,
        prompt,
        temperature=settings.critic_temperature,
        schema=SCHEMA if quoted else None,
    )
    reply = await context.ask(request)
    made = _read(reply, number, critic, text, quoted=quoted)
    if not made.readable:
        reply = await context.ask(
            context.once_more(request, f"{key}/try/1", reply, "critique_again")
        )
        made = _read(reply, number, critic, text, quoted=quoted)
    return made


def _read(reply: Reply, number: int, critic: int, text: str, *, quoted: bool) -> CritiqueWritten:
    unreadable = CritiqueWritten(number=number, critic=critic, readable=False)
    if reply.outcome is not Outcome.OK:
        return unreadable
    if not quoted:
        return CritiqueWritten(number=number, critic=critic, prose=reply.text.strip())
    read = read_critique(reply.text, text, program=False)
    if read is None:
        return unreadable
    return CritiqueWritten(
        number=number, critic=critic, problems=read.problems, dropped=read.dropped
    )
