"""A set of problems, an examiner that runs nothing, and a model that writes what a test wants."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace
from tests.programs.stage import PROBLEM, MadeUpExaminer, fenced, program

from autoreason.errors import InvalidInput
from autoreason.exchange import OnSignal, Reply, Request
from autoreason.models.doubles import EchoModel, ScriptedModel
from autoreason.programs.assignment import Examination, Examined

WRITERS = ("author", "reviser", "synthesizer")
WrittenText = Callable[[Request], str]


class MadeUpClient(MadeUpExaminer):
    """An examiner's client as the command line opens it; a file says how many problems it has."""

    opened: ClassVar[list[dict[str, Any]]] = []
    reply: SimpleNamespace
    closed = False

    @classmethod
    async def open(cls, source: Path | str, **options: Any) -> MadeUpClient:
        """`3 problems` and one line for each that is broken."""
        cls.opened.append(options)
        client = cls()
        first, *broken = _lines(source)
        if first == "no sandbox" and not options["unsafe"]:
            raise InvalidInput("there is no sandbox on this machine; or use --unsafe")
        count = int(first) if first.isdigit() else 1
        assignments = tuple(
            replace(
                PROBLEM,
                id=f"p{n}",
                statement=f"{PROBLEM.statement} Problem number {n}.",
                difficulty="hard" if n % 2 else "easy",
            )
            for n in range(1, count + 1)
            if not options.get("only") or f"p{n}" in options["only"]
        )
        client.reply = SimpleNamespace(
            digest="0" * 16,
            assignments=assignments,
            broken=tuple(broken),
            level="none" if options["unsafe"] else "landlock",
        )
        return client

    async def examine(self, examination: Examination) -> Examined:
        return replace(await super().examine(examination), level=self.reply.level)

    async def close(self) -> None:
        """Nothing to let go of."""
        self.closed = True


def _lines(source: Path | str) -> list[str]:
    return source.read_text().splitlines() if isinstance(source, Path) else ["4"]


@pytest.fixture
def examiner(monkeypatch: pytest.MonkeyPatch) -> type[MadeUpClient]:
    """In place of the process that knows the tests."""
    client = type("Client", (MadeUpClient,), {"opened": []})
    monkeypatch.setattr("autoreason.programs.examiner.process.ExaminerClient", client)
    return client


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> Callable[[WrittenText], None]:
    echo = EchoModel.ask

    def script(written: WrittenText) -> None:
        async def ask(
            self: EchoModel, request: Request, on_signal: OnSignal | None = None
        ) -> Reply:
            if request.role not in WRITERS:
                return await echo(self, request, on_signal)
            return await ScriptedModel([fenced(written(request))]).ask(request, on_signal)

        monkeypatch.setattr(EchoModel, "ask", ask)

    script(lambda request: program(3, request.key))
    return script
