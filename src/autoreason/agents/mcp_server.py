"""An MCP server on standard input and output: a coding agent starts runs, hands out questions, reads results."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from decimal import Decimal
from functools import partial
from hashlib import sha256
from itertools import islice
from typing import Annotated, Any

import mcp_types as types
import msgspec
from mcp import MCPError, stdio_server
from mcp.server.lowlevel import Server
from msgspec import Meta
from msgspec.structs import asdict, replace

from autoreason.errors import AutoreasonError, InvalidInput, RunLocked
from autoreason.fields import check_fields, check_known, make_struct
from autoreason.journal import Journal
from autoreason.journal.listing import select_runs
from autoreason.models.budget import BudgetTracker, CostBound, Reservation
from autoreason.models.pool import ModelPool
from autoreason.models.providers import rates
from autoreason.programs.examiner.examiner import select_tests, try_program
from autoreason.programs.problems.formats import read_one
from autoreason.report.numbers import without_folder
from autoreason.report.report import plain_values
from autoreason.run import host
from autoreason.run.prepared import PreparedRun, reported_result
from autoreason.run.record import recorded_result, task_and_settings
from autoreason.run.recorded import resume, tell
from autoreason.run.refine import refine
from autoreason.run.result import Result, StopSwitch
from autoreason.run.solve import ProgramReport
from autoreason.run.studies import judge
from autoreason.run.verbs import RefineOptions, option_texts
from autoreason.settings import HOST, LIMITS, PANEL_JUDGES, Budget, Settings, provider_of
from autoreason.version import __version__

_INSTRUCTIONS = """\
Autoreason improves a text in blind tournaments (`refine`), or ranks texts blind (`judge`). No key is needed: contexts
of yours answer. Each token that `refine`, `judge` and `next` give is one question for one fresh context, such as a
subagent, that is given the token alone, calls `take`, then `answer`, and ends. Hand out all tokens at once. Carry
tokens only, never a text or words of your own, or judges are not blind. Then call `next`, again and again until it
says `done`. `result` has the text, and a summary of the evidence, which is to be passed on as it is. If you cannot
start fresh contexts, say `one_context`."""
_PATIENCE = 20.0
"""Seconds for which a call waits until a run has nothing left but questions; clients give up after 60."""
_GRACE = 1.0
"""Seconds for which replies under way are waited for at the end; clients kill a server after two."""
_RESOURCE = re.compile(r"autoreason://run/([\w.@-]+)/(text|report)", re.ASCII)
_log = logging.getLogger(__name__)

_Count = Annotated[int, Meta(ge=1, le=1_000_000)]
_SENTENCES = option_texts(RefineOptions) | {
    "brief": "What the text is for, what it is to say and to whom: the words themselves, not a file.",
    "call_limit": "The most questions it may ask; 60 are enough for three rounds.",
    "model": "host/NAME where contexts of yours answer, and NAME is what they are; else provider/model.",
    "limits": 'What code checks in every text, such as {"max_words": 200, "sections": ["Risks"]}.',
    "rounds": "At most so many; three where contexts of yours write.",
    "one_context": "Where you cannot start fresh contexts: nothing is blind then, and all says so.",
    "key": "Words that are new for each run: the same call with the same key is the same run.",
    "texts": "2 to 10 texts by name; judges do not see the names.",
    "judges": "How many rank them.",
    "run": "A run's name, a part of it that no other has, or `last`.",
    "token": "As it was given to you.",
    "page": "Of a long one this page.",
    "text": "All of the answer.",
    "search": "What the title or the name contains.",
    "message": "`stop`, `accept` (end with the text it has), or what the next critic is to look at.",
    "problem": "`id`, `statement` and `public_tests` with `input` and `output`; or of HumanEval, MBPP …",
    "program": "In Python.",
}


class Spending(BudgetTracker):
    """What all runs of a server may spend together."""

    async def reserve(self, upper: CostBound) -> Reservation:
        # What has no price here is answered from outside.
        return await super().reserve(upper._replace(cost=upper.cost or Decimal(0)))


class Tools:
    """The tools; each public method is one, with its signature and docstring as agents see them."""

    def __init__(self, journal: Journal, cost_limit: Decimal | None = None) -> None:
        self._journal = journal
        self._spending = None if cost_limit is None else Spending(Budget(cost=cost_limit))
        self._under_way: dict[asyncio.Task[None], StopSwitch] = {}

    async def refine(
        self,
        brief: str,
        call_limit: _Count,
        model: str = f"{HOST}/agent",
        judge_models: tuple[str, ...] = (),
        draft: str | None = None,
        facts: str | None = None,
        criteria: tuple[str, ...] = (),
        limits: dict[str, Any] | None = None,
        rounds: _Count | None = None,
        one_context: bool = False,
        key: str = "",
    ) -> Any:
        """Write a text, or improve a draft, in blind tournaments that end when judges see no gain.

        Gives a token for each question; see to them, then call `next`. With a provider's model it goes on by itself:
        `status` says how far it is.
        """
        if "checks" in (limits or {}):
            raise InvalidInput("`limits` cannot name code; leave `checks` out")
        chosen: Any = {**host.DEFAULTS} if provider_of(model) == HOST else {}
        chosen |= {"passes": rounds} if rounds else {}
        chosen |= {"draft": draft, "facts": facts, "criteria": criteria, "contract": limits}
        chosen |= {"judge_models": judge_models, "budget": Budget(calls=call_limit)}
        return await self._start(refine.prepare(brief, model, **chosen), key, one_context)

    async def judge(
        self,
        brief: str,
        texts: dict[str, str],
        call_limit: _Count,
        model: str = f"{HOST}/agent",
        judge_models: tuple[str, ...] = (),
        judges: _Count = PANEL_JUDGES,
        one_context: bool = False,
        key: str = "",
    ) -> Any:
        """Let a blind panel say which text is best. As with `refine`, see to the tokens, then call `next`."""
        chosen: Any = {"judge_models": judge_models, "budget": Budget(calls=call_limit)}
        prepared = judge.prepare(brief, texts, model, judges=judges, **chosen)
        return await self._start(prepared, key, one_context)

    async def next(self, run: str) -> Any:
        """Take in the answers to a run's questions; gives the next tokens, until `done` is true.

        Tokens that a context has taken are not listed; without an answer they are free again after 15 minutes. A run
        that was interrupted goes on.
        """
        row = self._journal.find(run)
        if row.has_cells:
            raise InvalidInput(f"run {row.id} is a suite, with which a person goes on")
        if host.can_go_on(row.id, self._journal):
            _, settings = task_and_settings(row.id, self._journal.story(row.id))
            # Another process may be quicker.
            with suppress(RunLocked):
                await self._drive(partial(resume.aio, row.id), settings)
        return self._standing(self._result(row.id))

    async def take(self, token: str, page: _Count = 1) -> str:
        """The question of a token, as one prompt; it is yours for 15 minutes. Do what it asks, then `answer`."""
        prompt = host.take(self._journal, token, page)
        if prompt.page == prompt.pages:
            return prompt.text
        more = f"`take` the next one before you answer: page {prompt.page + 1}"
        return f"{prompt.text}\n\n[Page {prompt.page} of {prompt.pages}; {more}]"

    async def answer(self, token: str, text: str) -> str:
        """Record the answer to a question; one that cannot be read is refused, and may be given anew."""
        host.answer(self._journal, token, text)
        return "recorded"

    async def status(self, run: str) -> Any:
        """How far a run is, and what it took; null is unknown."""
        found = self._result(run)
        spent = {name: getattr(found, name) for name in ("calls", "tokens", "cost")}
        return self._standing(found) | {"rounds": found.passes, **spent}

    async def result(self, run: str) -> Any:
        """The text of a run, or the report on what was judged; and the evidence. Not while its questions wait."""
        found = self._unhidden(run)
        summary = [*map(_of_tools, found.summary())]
        return self._standing(found) | {"summary": summary, "text": self._text(found)}

    async def tell(self, run: str, message: str) -> str:
        """Guide, accept or stop a run."""
        return _of_tools(tell(self._journal, self._journal.find(run), message))

    async def search_runs(self, search: str = "") -> Any:
        """The newest twenty runs that are recorded here."""
        rows = islice(select_runs(self._journal, search=search or None), 20)
        return {"runs": [{"run": row.id, "title": row.title, "status": row.state} for row in rows]}

    async def check_program(self, problem: dict[str, Any], program: str) -> Any:
        """Run a program on the tests of a problem, in a sandbox; no model is asked."""
        _, found = read_one(problem)
        tests = select_tests(found, public_only=False)
        tried = await try_program(found, program, tests, every=True, emit=lambda _: None)
        return ProgramReport(found, tried).to_dict()

    async def _start(self, prepared: PreparedRun[Any], key: str, one_context: bool) -> Any:
        """Begin a run, or go on with the one that a call with this key has begun."""
        if one_context:
            prepared = prepared.in_one_context()
        digest = sha256(key.encode()).hexdigest()[:16]
        name = f"key-{digest}" if key else self._journal.new_run_id()
        while not self._journal.has(name):
            try:
                await self._drive(replace(prepared, name=name).run_async, prepared.settings)
                return self._standing(self._result(name))
            except RunLocked:
                # Another call with this key is about to begin it.
                await asyncio.sleep(0.05)
            except InvalidInput:
                if not self._journal.has(name):
                    raise
        task, settings = task_and_settings(name, self._journal.story(name))
        models, alone = settings.models, "one context" in settings.models.hosts.values()
        if (task, models.all(), alone) != (
            prepared.task,
            prepared.settings.models.all(),
            one_context and bool(models.outside()),
        ):
            raise InvalidInput("`key` was given for something else; give each run a key of its own")
        return await self.next(name)

    async def _drive(self, drive: Callable[..., Awaitable[Result]], settings: Settings) -> None:
        """Work on a run until only questions are left; in the background where none are asked."""
        self._check_models(settings)
        switch, pool = StopSwitch(), ModelPool.of(settings)
        pool.budget = self._spending
        hooks: Any = {"journal": self._journal, "pool": pool, "stop_switch": switch}
        began: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def note(_: object) -> None:
            # Before its first event it may turn out that it cannot go on.
            if not began.done():
                began.set_result(None)

        async def work() -> None:
            try:
                await drive(**hooks, on_event=note)
            finally:
                await pool.close()

        task = asyncio.create_task(work())
        self._under_way[task] = switch
        task.add_done_callback(self._under_way.pop)
        either: set[asyncio.Future[None]] = {task, began}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if any(provider_of(each) == HOST for each in settings.models.all()):
            await asyncio.wait({task}, timeout=_PATIENCE)
        if task.done():
            task.result()

    def _check_models(self, settings: Settings) -> None:
        """Refuse what may cost money, unless the user has set a limit and it can be kept."""
        for address in settings.models.all():
            rate = rates(address)
            is_free = provider_of(address) == HOST or (rate and not (rate.input or rate.output))
            if not is_free and (self._spending is None or rate is None):
                said = f"{without_folder(address)} may cost money; name {HOST}/agent, or, where the"
                raise InvalidInput(f"{said} server has a limit of cost, a model with a known price")

    async def _close(self) -> None:
        """Stop what is under way, which can be resumed."""
        for switch in self._under_way.values():
            switch.stop(_GRACE, "the server that drove it ended")
        await asyncio.gather(*self._under_way, return_exceptions=True)

    def _result(self, run: str) -> Result:
        row = self._journal.find(run)
        story = self._journal.story(row.id)
        return reported_result(recorded_result(row, story, self._journal), self._journal)

    def _unhidden(self, run: str) -> Result:
        """The same, unless a context that is to judge could read there which text leads."""
        found = self._result(run)
        asked = () if found.finished else self._journal.questions(found.run)
        if any(each.answer is None for each in asked):
            raise InvalidInput(
                "judges could read it here while questions wait; see to these first, or `tell` the run to accept"
            )
        return found

    def _standing(self, found: Result) -> dict[str, Any]:
        """How far a run is, without its text: who hands out tokens does not need it."""
        standing = host.standing(found, self._journal)
        return plain_values(replace(standing, text=None, says=_of_tools(standing.says)))

    def _text(self, found: Result) -> str | None:
        if found.finished and not found.story.writes:
            return found.to_markdown(found.about())
        return host.standing(found, self._journal).text or found.story.text

    async def _list_resources(self, _: object) -> types.ListResourcesResult:
        """What the newest runs came to that have ended; others can be read as well."""
        found = [
            types.Resource(uri=f"autoreason://run/{row.id}/{form}", name=f"{form}: {row.title}")
            for row in self._journal.runs()
            for form in ("text", "report")
            if row.finished
        ]
        return types.ListResourcesResult(resources=found)

    async def _read(self, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        if not (named := _RESOURCE.fullmatch(asked.uri)):
            raise InvalidInput("there is no such resource; read autoreason://run/RUN/report")
        found = self._unhidden(named[1])
        text = self._text(found) if named[2] == "text" else found.to_markdown(found.about())
        if text is None:
            raise InvalidInput(f"run {found.run} has no text yet; ask again once it has")
        content = types.TextResourceContents(uri=asked.uri, text=text)
        return types.ReadResourceResult(contents=[content])

    async def _call(self, asked: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            check_known([asked.name], [*ARGUMENTS], "unknown tool")
            given = make_struct(ARGUMENTS[asked.name], asked.arguments or {}, part="argument")
            check_fields(given)
            found = await getattr(self, asked.name)(**asdict(given))
        except Exception as error:
            content = [types.TextContent(text=self._explain(error))]
            return types.CallToolResult(content=[*content], is_error=True)
        plain = None if isinstance(found, str) else plain_values(found)
        text = json.dumps(plain, ensure_ascii=False) if plain else found
        content = [types.TextContent(text=text)]
        return types.CallToolResult(content=[*content], structured_content=plain)

    def _explain(self, error: Exception) -> str:
        """What a client may know of it."""
        if not isinstance(error, AutoreasonError):
            _log.error("a request failed", exc_info=error)
            return "this failed by an error of autoreason; the log of its server says which"
        return _of_tools(str(error).replace(str(self._journal.place), "the journal"))


# ---- the protocol ------------------------------------------------------------------------------


def _arguments_of(method: Callable[..., Any]) -> Any:
    """The arguments of a tool as a struct."""
    _, *parameters = inspect.signature(method, eval_str=True).parameters.values()
    fields: list[Any] = [
        (each.name, each.annotation, *([] if each.default is each.empty else [each.default]))
        for each in parameters
    ]
    return msgspec.defstruct(method.__name__, fields, forbid_unknown_fields=True)


ARGUMENTS = {
    name: _arguments_of(method) for name, method in vars(Tools).items() if not name.startswith("_")
}


def _describe(name: str) -> types.Tool:
    schema = msgspec.json.schema_components([ARGUMENTS[name]])[1][name]
    for argument, found in schema["properties"].items():
        found["description"] = _SENTENCES[argument]
    says = inspect.getdoc(getattr(Tools, name))
    return types.Tool(name=name, description=says, input_schema=schema)


_RENAMED = {"passes": "rounds", "judge_model": "judge_models", "contract": "limits"}
_RENAMED |= {f"budget.{name}": limit for name, limit in LIMITS.items()}
_TOOL_OF = {"host next": "next", "resume": "next", "show": "result", "runs": "search_runs"}
_COMMAND = re.compile(rf"`autoreason ({'|'.join(_TOOL_OF)})(?: [\w.@]\S*)?(?: --text)?`")
_PARAMETER = re.compile(r"`autoreason [^`]*`|`([a-z_.]+)`|(?<=[ (])--([a-z-]+)|^(contract)(?=:)")
_HAS = {*ARGUMENTS, *(name for each in ARGUMENTS.values() for name in each.__struct_fields__)}
_HAS_NOT = "|".join(sorted({*option_texts(RefineOptions)} - _HAS))
_NOT_HERE = re.compile(rf"[;,] [^;,.`]*`(?:{_HAS_NOT})`[^;,.]*")


def _of_tools(said: str) -> str:
    """A sentence for people with the tools and their arguments in place of commands and options, and no others."""

    def rename(found: re.Match[str]) -> str:
        name = (found[1] or found[2] or found[3] or "").replace("-", "_")
        return f"`{_RENAMED.get(name, name)}`" if name else found[0]

    said = _COMMAND.sub(lambda found: f"`{_TOOL_OF[found[1]]}`", said)
    said = re.sub(r"(show )?--evidence", "autoreason://run/RUN/report", said)
    return _NOT_HERE.sub("", _PARAMETER.sub(rename, said))


async def serve(journal: Journal, cost_limit: Decimal | None = None) -> None:
    """Serve the client on standard input and output until it leaves."""
    tools = Tools(journal, cost_limit)

    async def list_tools(*_: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[*map(_describe, ARGUMENTS)])

    def plainly(handle: Callable[[Any], Awaitable[Any]]) -> Any:
        async def answer(_: object, asked: Any) -> Any:
            try:
                return await handle(asked)
            except Exception as error:
                raise MCPError(types.INVALID_PARAMS, tools._explain(error)) from None

        return answer

    server: Server[Any] = Server(
        "autoreason",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=plainly(tools._call),
        on_list_resources=plainly(tools._list_resources),
        on_read_resource=plainly(tools._read),
    )
    try:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        await tools._close()
