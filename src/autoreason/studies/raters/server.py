"""The rating page on this machine: what it serves, to whom, and how clicks come in."""

from __future__ import annotations

import asyncio
import errno
import hmac
import os
import secrets
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from autoreason.errors import InvalidInput
from autoreason.studies.raters import packet as packets
from autoreason.studies.raters import sealed_key
from autoreason.studies.raters.build import instructions
from autoreason.studies.raters.markdown import render
from autoreason.studies.raters.packet import Packet
from autoreason.studies.raters.reading_plan import plan
from autoreason.studies.raters.rubric import RUBRIC, SCORES
from autoreason.studies.raters.session import Desk, DeskOccupied, OnMessage
from autoreason.studies.raters.sheets import MAX_COMMENT_LENGTH, Click, Sheet, steps_in
from autoreason.studies.raters.storage import MAX_NAME_LENGTH, check_name

HERE = "127.0.0.1"
USUAL_PORT = 7447
_PAGE = Path(__file__).parent / "page"
_SCRIPTS = ("page.js", "steps.js", "parts.js", "desk.js")
_FILES = {"/": "index.html"} | {f"/{name}": name for name in ("page.css", *_SCRIPTS)}
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
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
    """Serves one packet on this machine."""

    def __init__(
        self, folder: Path, *, rater: str | None = None, on_message: OnMessage = print
    ) -> None:
        self._packet = packets.read_packet(folder)
        if opened := sealed_key.opening(folder):
            raise InvalidInput(
                f"the key of {folder} was opened on {opened.at.astimezone():%d %B %Y, %H:%M}, so no one"
                f" can rate it blind any more; see `autoreason rate report {folder}`"
            )
        self._folder = folder
        self._rater = check_name(rater) if rater is not None else None
        self._texts = _rendered(folder, self._packet)
        self._desk = Desk(folder, self._packet, on_message)
        self._token = secrets.token_urlsafe(24)
        self._hosts: frozenset[str] = frozenset()
        self._runner = web.AppRunner(self._app(), access_log=None)

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
                raise _no_port(chosen, error) from None
        bound = self._runner.addresses[0][1]
        self._hosts = frozenset({f"{HERE}:{bound}", f"localhost:{bound}"})
        return f"http://{HERE}:{bound}/"

    async def stop(self) -> None:
        """Answer no more."""
        await self._runner.cleanup()

    def _app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard], client_max_size=_MAX_BODY)
        app.router.add_get("/api/state", self._state)
        app.router.add_post("/api/sit", self._sit)
        app.router.add_post("/api/click", self._click)
        app.router.add_post("/api/leave", self._leave)
        app.router.add_post("/api/clear", self._clear)
        for path in _FILES:
            app.router.add_get(path, _file)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer only our own page, and say what went wrong as one sentence."""
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
        """Why a request does not come from our page; nothing where it does."""
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

    async def _state(self, request: web.Request) -> web.Response:
        return self._show(request)

    async def _sit(self, request: web.Request) -> web.Response:
        name = await _read(request, _Name)
        self._desk.sit(_browser(request), self._rater or name.rater)
        return self._show(request)

    async def _click(self, request: web.Request) -> web.Response:
        clicked: Click = await _read(request, Click)
        self._desk.click(_browser(request), clicked)
        return _answer({"saved": True})

    async def _leave(self, request: web.Request) -> web.Response:
        self._desk.leave(_browser(request))
        return self._show(request)

    async def _clear(self, request: web.Request) -> web.Response:
        self._desk.clear()
        return self._show(request)

    def _show(self, request: web.Request) -> web.Response:
        """Everything the page needs to know now."""
        sheet = self._desk.sheet(_browser(request))
        sitting = self._desk.session
        at_desk = sitting and {
            "rater": sitting.sheet.rater,
            "since": sitting.since,
            "last": sitting.last,
        }
        return _answer(
            {
                "token": self._token,
                "instructions": self._texts[packets.INSTRUCTIONS],
                "rubric": [line._asdict() for line in RUBRIC],
                "scores": SCORES,
                "max_name_length": MAX_NAME_LENGTH,
                "max_comment_length": MAX_COMMENT_LENGTH,
                "texts": sum(len(task.codes) for task in self._packet.tasks),
                "tasks": len(self._packet.tasks),
                "steps": steps_in(self._packet),
                "rater": self._rater,
                "desk": at_desk,
                "sheet": sheet and self._sheet(sheet),
            }
        )

    def _sheet(self, sheet: Sheet) -> dict[str, Any]:
        tasks = self._packet.tasks
        return {
            "rater": sheet.rater,
            "plan": plan(self._packet, sheet.seat),
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


def _rendered(folder: Path, packet: Packet) -> dict[str, str]:
    """Every brief and text as the page shows it; damage is found before rating starts."""
    texts = {name: render(packets.read_part(folder, packet, name)) for name in packet.files}
    return texts | {packets.INSTRUCTIONS: render(instructions())}


def _no_port(port: int, error: OSError) -> InvalidInput:
    if error.errno == errno.EADDRINUSE:
        return InvalidInput(f"port {port} is in use; name another `port`, or leave it out")
    return InvalidInput(
        f"cannot listen on port {port}: {os.strerror(error.errno or 0)}; name another `port`"
    )


async def _file(request: web.Request) -> web.Response:
    path = _PAGE / _FILES[request.path]
    return web.Response(text=path.read_text("utf-8"), content_type=_TYPES[path.suffix])


async def _read(request: web.Request, kind: Any) -> Any:
    if request.content_type != "application/json":
        raise InvalidInput("only JSON is understood here")
    try:
        return msgspec.json.decode(await request.read(), type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise InvalidInput("this page and the server do not fit together; load it again") from None


def _browser(request: web.Request) -> str:
    return request.headers.get("X-Browser", "")


def _answer(value: Any, status: int = 200) -> web.Response:
    body = msgspec.json.encode(value)
    return web.Response(body=body, status=status, content_type="application/json")
