"""The rating page on this machine: what it serves, to whom, and how clicks come in."""

from __future__ import annotations

import asyncio
import errno
import hmac
import os
import secrets
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from autoreason.errors import InvalidInput
from autoreason.report.page import render
from autoreason.studies import rating_packet as packets

OnMessage = Callable[[str], None]


class DeskOccupied(InvalidInput):
    """Another person is at the desk, or this browser no longer is."""


@dataclass
class RatingSession:
    browser: str
    page: packets.OpenSheet
    last: datetime


HERE = "127.0.0.1"
USUAL_PORT = 7447
_PAGE = Path(__file__).parent / "rating_page"
_SCRIPTS = ("page.js", "steps.js", "parts.js", "desk.js")
_FILES = {"/": "index.html"} | {f"/{name}": name for name in ("page.css", *_SCRIPTS)}
_MAX_BODY = 256 * 1024
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    def __init__(
        self, folder: Path, *, rater: str | None = None, on_message: OnMessage = print
    ) -> None:
        self._packet = packets.read_packet(folder)
        if opened := packets.opening(folder):
            raise InvalidInput(
                f"the key of {folder} was opened on {opened.at.astimezone():%d %B %Y, %H:%M}, so no one"
                f" can rate it blind any more; see `autoreason rate report {folder}`"
            )
        self._folder = folder
        self._rater = packets.check_name(rater) if rater is not None else None
        # Every brief and text as the page shows it: damage is found before rating starts.
        self._texts = {
            name: render(packets.read_part(folder, self._packet, name))
            for name in self._packet.files
        }
        self._texts[packets.INSTRUCTIONS] = render(packets.instructions())
        self._session: RatingSession | None = None
        self._on_message = on_message
        self._token = secrets.token_urlsafe(24)
        self._hosts: frozenset[str] = frozenset()
        app = web.Application(middlewares=[self._guard], client_max_size=_MAX_BODY)
        app.router.add_get("/api/state", self._show)
        app.router.add_post("/api/{what:sit|click|leave|clear}", self._act)
        for path in _FILES:
            app.router.add_get(path, _file)
        self._runner = web.AppRunner(app, access_log=None)

    async def start(self, port: int | None) -> str:
        """Begin to answer, and say where: on the port given, else the usual one, else a free one."""
        await self._runner.setup()
        for chosen in (USUAL_PORT, 0) if port is None else (port,):
            try:
                site = web.TCPSite(self._runner, HERE, chosen)
                await site.start()
                break
            except OSError as error:
                if error.errno == errno.EADDRINUSE and port is None and chosen:
                    continue
                await self._runner.cleanup()
                why = os.strerror(error.errno or 0)
                raise InvalidInput(
                    f"cannot listen on port {chosen}: {why}; name another `port`, or leave it out"
                ) from None
        bound = self._runner.addresses[0][1]
        self._hosts = frozenset({f"{HERE}:{bound}", f"localhost:{bound}"})
        return f"http://{HERE}:{bound}/"

    async def stop(self) -> None:
        await self._runner.cleanup()

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            if fault := self._fault(request):
                response: web.StreamResponse = _answer({"error": fault, "stale": True}, 403)
            else:
                response = await handler(request)
        except DeskOccupied as occupied:
            response = _answer({"error": str(occupied)}, 409)
        except InvalidInput as mistake:
            response = _answer({"error": str(mistake)}, 400)
        except OSError as error:
            response = _answer({"error": f"cannot save: {error.strerror}"}, 507)
        except web.HTTPException as other:
            response = _answer({"error": other.reason}, other.status)
        response.headers.update(_HEADERS)
        return response

    def _fault(self, request: web.Request) -> str:
        # A foreign name that leads to this machine, or a page of another site.
        if request.host not in self._hosts:
            return f"this page is only served at {' and '.join(sorted(self._hosts))}"
        if request.method not in ("GET", "HEAD"):
            origin = request.headers.get("Origin")
            if origin is not None and origin.removeprefix("http://") not in self._hosts:
                return "this request comes from another site"
            if not hmac.compare_digest(request.headers.get("X-Token", ""), self._token):
                return "this page is from before the server was started; load it again"
        return ""

    async def _act(self, request: web.Request) -> web.Response:
        what = request.match_info["what"]
        kind = {"sit": _Name, "click": packets.Click}.get(what)
        given: Any = await _read(request, kind) if kind else None
        session, here = self._session, self._at_desk(request)
        if what == "sit":
            if session and not here:
                raise DeskOccupied(f"{session.page.sheet.rater} is rating now, in another window")
            now = datetime.now(UTC)
            page = packets.open_sheet(self._folder, self._packet, self._rater or given.rater, now)
            self._session = RatingSession(request.headers.get("X-Browser", ""), page, now)
            self._say("sits down")
        elif what == "click":
            if session is None or not here:
                raise DeskOccupied("this window is no longer at the desk; nothing was saved here")
            before, session.last = here.answered(self._packet), datetime.now(UTC)
            session.page.add(given, session.last)
            if isinstance(given, packets.FinishClick):
                self._say("has finished")
            elif here.answered(self._packet) != before:
                self._say("goes on")
            return _answer({"saved": True})
        elif here or (session and what == "clear"):
            # Anyone frees the desk where a person left without saying so.
            self._say("leaves" if here else "has left")
            self._session = None
        return await self._show(request)

    def _at_desk(self, request: web.Request) -> packets.Sheet | None:
        """The sheet of the person at the desk, if it is in this browser."""
        session = self._session
        is_here = session and session.browser == request.headers.get("X-Browser", "")
        return session.page.sheet if session and is_here else None

    def _say(self, what: str) -> None:
        assert self._session
        sheet = self._session.page.sheet
        done = f"{sheet.answered(self._packet)} of {packets.steps_in(self._packet)} steps done"
        self._on_message(f"{sheet.rater} {what}: {done}")

    async def _show(self, request: web.Request) -> web.Response:
        sheet, sitting = self._at_desk(request), self._session
        at_desk = sitting and {"rater": sitting.page.sheet.rater, "last": sitting.last}
        return _answer(
            {
                "token": self._token,
                "instructions": self._texts[packets.INSTRUCTIONS],
                "rubric": [
                    {"name": line, "question": about} for line, about in packets.RUBRIC.items()
                ],
                "scores": packets.SCORES,
                "max_name_length": packets.MAX_NAME_LENGTH,
                "max_comment_length": packets.MAX_COMMENT_LENGTH,
                "texts": sum(len(task.codes) for task in self._packet.tasks),
                "tasks": len(self._packet.tasks),
                "steps": packets.steps_in(self._packet),
                "rater": self._rater,
                "desk": at_desk,
                "sheet": sheet and self._sheet(sheet),
            }
        )

    def _sheet(self, sheet: packets.Sheet) -> dict[str, Any]:
        tasks = self._packet.tasks
        return {
            "rater": sheet.rater,
            "plan": packets.plan(self._packet, sheet.seat),
            "briefs": [self._texts[packets.brief_file(number)] for number in range(len(tasks))],
            "texts": {
                code: self._texts[packets.text_file(number, code)]
                for number, task in enumerate(tasks)
                for code in task.codes
            },
            "scores": sheet.scores,
            "rankings": [sheet.rankings.get(number, ()) for number in range(len(tasks))],
            "comments": {code or str(task): text for (task, code), text in sheet.comments.items()},
            "step": sheet.step,
            "finished": sheet.finished,
        }


async def serve_packet(
    folder: Path,
    *,
    port: int | None,
    rater: str | None,
    ready: Callable[[str], None],
    on_message: OnMessage,
) -> None:
    """Serve a packet until it is stopped; `ready` is called with the address."""
    server = Server(folder, rater=rater, on_message=on_message)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stopped.set)
    try:
        ready(await server.start(port))
        await stopped.wait()
    finally:
        await server.stop()


class _Name(msgspec.Struct):
    rater: str


async def _file(request: web.Request) -> web.StreamResponse:
    return web.FileResponse(_PAGE / _FILES[request.path])


async def _read(request: web.Request, kind: Any) -> Any:
    if request.content_type != "application/json":
        raise InvalidInput("only JSON is understood here")
    try:
        return msgspec.json.decode(await request.read(), type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise InvalidInput("this page and the server do not fit together; load it again") from None


def _answer(value: Any, status: int = 200) -> web.Response:
    body = msgspec.json.encode(value)
    return web.Response(body=body, status=status, content_type="application/json")
