"""What authors and critics are asked for: a complete text within its contract, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from textwrap import shorten
from typing import Literal, NamedTuple

from msgspec import structs

from autoreason.contract import Breach, Violation
from autoreason.events import CritiqueProblem, CritiqueWritten, Excess, NoText
from autoreason.exchange import Message, Outcome, Reply, Request, Role
from autoreason.jobs.context import JobContext, follow_up, repeat_request
from autoreason.keys import pass_key, sub_key, try_key
from autoreason.parsing.critiques import critique_schema, describe, read_critique, split_cited
from autoreason.parsing.documents import (
    LIST,
    Document,
    find_additions,
    find_echo,
    find_leaks,
    find_sentences,
    read_document,
    read_list,
    without_opener,
)

ENDLESS = "it repeats itself without end"
_QUOTED = 80
_SHOWN = 5


class WrittenText(NamedTuple):
    text: str
    notes: str
    rewritten: bool
    repaired: bool
    leaks: tuple[str, ...]
    violations: tuple[Violation, ...]


class MissingText(NamedTuple):
    reason: NoText
    detail: str


async def write(
    context: JobContext,
    role: Role,
    key: str,
    prompt: str,
    *,
    model: str = "",
    history: Sequence[Message] = (),
) -> WrittenText | MissingText:
    """Ask the author, or this model, for a text; send it back once for a leak and once for a breach of contract.

    To go too far beyond the texts it is made of is a breach, too, where there is a remedy.
    """
    model = model or context.settings.models.author
    request = context.request(role, try_key(key, 0), model, prompt, history=history)
    draft = await _request_whole(context, request, key)
    if isinstance(draft, MissingText):
        return draft
    leaks = leaks_in(context, draft.text)
    rewritten = bool(leaks)
    if leaks:
        prompt = context.prompts.render("fix_leak", text=draft.text, leaks=leaks)
        draft = await _send_back(context, request, sub_key(key, "rewrite"), draft, prompt)
    excess, found = context.find_excess(draft.text), breaches(context, draft.text)
    beyond = [excess] if excess and excess.remedy else []
    repaired = bool(found or beyond)
    if repaired:
        prompt = context.prompts.render(
            "fix_contract",
            text=draft.text,
            violations=[v.message for v, _ in found] + [each.detail for each in beyond],
            fixes=[fix for _, fix in found] + [f"{e.detail}; {e.remedy}" for e in beyond],
        )
        draft = await _send_back(context, request, sub_key(key, "repair"), draft, prompt)
    if rewritten or repaired:
        leaks = leaks_in(context, draft.text)
        found = breaches(context, draft.text)
    broken = tuple(violation for violation, _ in found)
    return WrittenText(draft.text, draft.notes, rewritten, repaired, leaks, broken)


async def write_several(
    context: JobContext, key: str, prompt: str
) -> Sequence[WrittenText | MissingText]:
    """Short texts by the author in one reply, of which none is sent back; or why there is none."""
    model = context.settings.models.author
    request = context.request("author", try_key(key, 0), model, prompt, schema=LIST)
    reply = await _request_whole(context, request, key)
    if isinstance(reply, MissingText):
        return [reply]
    return [
        WrittenText(each, "", False, False, leaks_in(context, each), violations(context, each))
        for each in read_list(reply.text)
    ] or [MissingText("empty", "no text came back")]


def violations(context: JobContext, text: str) -> tuple[Violation, ...]:
    """Every limit that a text breaks; repeating the request counts as one, although no task states it."""
    return tuple(violation for violation, _ in breaches(context, text))


def breaches(context: JobContext, text: str) -> list[Breach]:
    """The same, with what breaks each of those limits, and where, for the author who is to fix it."""
    task, sources, own = context.task, _sources(context), text
    repeated = find_sentences(text, task.sentences(), *sources, *task.contract.must_include)
    # To quote a pattern of the contract may be to match it.
    for each in reversed(repeated):
        own = f"{own[: each.start()]}\n{own[each.end() :]}"
    found = task.breaches(text, own, context.said)
    echo = find_echo(text, context.prompts, *sources)
    if echo or repeated:
        message = f"“{echo or repeated[0][0]}” repeats the request and does not belong in the text"
        found.append((Violation("echo", message), message))
    return found


def find_addition(text: str, sources: Sequence[str]) -> Excess | None:
    """That a text says what its sources do not."""
    added = find_additions(text, *sources)
    if not added:
        return None
    quoted = ", ".join(f"“{shorten(each, _QUOTED, placeholder=' …')}”" for each in added[:_SHOWN])
    more = f" and {len(added) - _SHOWN} more" if len(added) > _SHOWN else ""
    return Excess("added", f"{quoted}{more} cannot be cut from either text", "leave it out")


async def _request_whole(context: JobContext, request: Request, key: str) -> Document | MissingText:
    reply = await context.ask(request)
    if reply.outcome is not Outcome.OK or not _read_text(context, reply.text).text:
        reply = await context.ask(repeat_request(request, try_key(key, 1), reply))
    document = _read_text(context, reply.text)
    match reply.outcome:
        case Outcome.TRUNCATED if not reply.needs_room:
            return MissingText("truncated", ENDLESS)
        case Outcome.TRUNCATED:
            return MissingText("truncated", "cut off twice, the second time with twice the room")
        case Outcome.REFUSED:
            return MissingText("refused", reply.finish or "the model declined")
        case Outcome.OK if document.text:
            return document
    return MissingText("empty", "no text came back")


async def _send_back(
    context: JobContext, request: Request, key: str, draft: Document, prompt: str
) -> Document:
    """The text after one request to fix it; unchanged where the new one is incomplete or worse."""
    reply = await context.ask(follow_up(request, key, draft.text, prompt))
    text = _read_text(context, reply.text).text
    before, after = _faults(context, draft.text), _faults(context, text)
    worse = any(now > then for now, then in zip(after, before, strict=True))
    if reply.outcome is not Outcome.OK or not text or worse:
        return draft
    return Document(text, draft.notes)


def _read_text(context: JobContext, reply: str) -> Document:
    """The document of a reply, without a line that announces it."""
    document = read_document(reply)
    text = without_opener(document.text, *_sources(context))
    return document if text == document.text else Document(read_document(text).text, document.notes)


def _faults(context: JobContext, text: str) -> tuple[int, int, int]:
    broken = violations(context, text)
    echoes = sum(each.rule == "echo" for each in broken)
    return len(broken) - echoes, echoes, len(leaks_in(context, text))


def leaks_in(context: JobContext, text: str) -> tuple[str, ...]:
    """What gives a text away as one that a model was asked for."""
    return find_leaks(text, *_sources(context))


def _sources(context: JobContext) -> tuple[str, ...]:
    task = context.task
    return task.brief, task.facts or "", task.draft or "", "\n".join(task.criteria)


async def revise(
    context: JobContext, key: str, text: str, problems: str, *, model: str = "", blind: bool = False
) -> WrittenText | MissingText:
    """A better text for the task, by an author who sees the old one and its problems; `blind`, only its problems."""
    role, shown = ("blind_reviser", {}) if blind else ("reviser", {"text": text})
    prompt = context.prompt(role, key, critique=problems, **shown)
    return await write(context, "reviser", key, prompt, model=model)


def reviser_key(number: int, slot: str = "B") -> str:
    """The key of a pass's revision: `pass/3/reviser`, for B2 `pass/3/reviser/2`."""
    return pass_key(number, "reviser", *slot[1:])


CRITICS = 2
CRITIC_SETTINGS = ("critic_model", "critic_temperature", "critic_effort", "quoted_critique")


class CritiqueResult(NamedTuple):
    outcome: Literal["problems", "none", "unreadable"]
    problems: str = ""
    """As the reviser reads them."""
    missing: bool = False
    """Whether something is to be added."""


async def criticise(
    context: JobContext, number: int, text: str, guidance: str, split: Sequence[str] = ()
) -> CritiqueResult:
    """The limits that a text breaks are enough; without any, or where a person adds guidance, critics are asked too.

    `split` is what a judge said of the text who put it first, and one who put it lower.
    """
    broken = partial(CritiqueProblem, severity="critical", kind="general")
    problems = tuple(broken(problem=fix) for _, fix in breaches(context, text))
    listed = describe(problems)
    if problems:
        context.emit(CritiqueWritten(number=number, critic=0, problems=problems, by_code=True))
    critiques = []
    for critic in range(CRITICS if guidance or not problems else 0):
        quoted = context.settings.quoted_critique
        key = critic_key(number, critic)
        said = {"criteria": context.task.criterion_names, "split": split}
        prompt = context.prompt("critic", key, text=text, guidance=guidance, quoted=quoted, **said)
        critique = await ask_critic(
            context, number, critic, text, prompt, quoted=quoted, program=False
        )
        if context.settings.edit != "free":
            beyond = tuple(each for each in critique.problems if each.kind == "missing")
            within = tuple(each for each in critique.problems if each not in beyond)
            critique = structs.replace(critique, problems=within, withheld=beyond)
        context.emit(critique)
        critiques.append(critique)
        if critique.prose or critique.problems:
            described = critique.prose or describe(critique.problems)
            missing = any(each.kind == "missing" for each in critique.problems)
            return CritiqueResult("problems", f"{listed}\n{described}".strip(), missing)
    if listed:
        return CritiqueResult("problems", listed)
    all_readable = all(critique.readable for critique in critiques)
    return CritiqueResult("none" if all_readable else "unreadable")


def critic_key(number: int, critic: int) -> str:
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
    criteria = context.task.criterion_names
    key, schema = critic_key(number, critic), critique_schema(criteria) if quoted else None
    model = context.settings.models.critic
    request = context.request("critic", try_key(key, 0), model, prompt, schema=schema)

    def read(reply: Reply) -> CritiqueWritten:
        written = partial(CritiqueWritten, number=number, critic=critic)
        if reply.outcome is Outcome.OK and not quoted:
            return written(prose=reply.text.strip())
        is_whole = reply.outcome is Outcome.OK
        parsed = read_critique(reply.text, text, program, criteria) if is_whole else None
        if parsed is None:
            return written(readable=False)
        problems, miscited = parsed.problems, 0
        if knowledge := context.task.knowledge:
            records = (*knowledge.facts, *knowledge.feedback, *knowledge.critic.all)
            problems, miscited = split_cited(problems, records)
        return written(problems=problems, dropped=parsed.dropped, miscited=miscited)

    reply = await context.ask(request)
    critique = read(reply)
    if not critique.readable and may_repeat():
        again = context.second_request(request, try_key(key, 1), reply, "critique_again")
        critique = read(await context.ask(again))
    return critique
