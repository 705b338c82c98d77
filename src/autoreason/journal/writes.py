"""Everything that can be written to a journal, each as a function run in the writer's transaction."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from autoreason.errors import InvalidInput, JournalError, ReplayMismatch, UnknownRun
from autoreason.exchange import GuidanceQuery
from autoreason.journal import sql
from autoreason.journal.codec import answer_row
from autoreason.journal.connections import Change, Connection, Row
from autoreason.journal.rows import Command, CommandKind, unescape
from autoreason.settings import Settings

GUIDE: tuple[CommandKind, ...] = ("guide",)


def begin_run(row: Row, first_event: Row, settings: Settings) -> Change[None]:
    """A new run and its first event, in one transaction."""

    def change(connection: Connection) -> None:
        try:
            connection.execute(sql.INSERT_RUN, row)
        except connection.IntegrityError:
            raise InvalidInput(f"run {row[0]} exists already; choose another name") from None
        add_event(first_event)(connection)
        describe_run(row[0], settings, row[1])(connection)

    return change


def describe_run(run: str, settings: Settings, title: str | None = None) -> Change[object]:
    """What lists look for: the title, casefolded, with the name; the strategy and the models."""
    search = None if title is None else f"{title}\n{run}".casefold()
    uses = "\n".join((settings.strategy, *settings.models.all()))
    return lambda connection: connection.execute(sql.DESCRIBE_RUN, (search, uses, run))


def set_status(run: str, status: str) -> Change[None]:
    """A run's status."""

    def change(connection: Connection) -> None:
        connection.execute(sql.SET_STATUS, (status, run))

    return change


def delete_run(run: str) -> Change[None]:
    """Delete a run and its records; texts it shares with other runs are left to `compact`."""

    def change(connection: Connection) -> None:
        for statement in sql.DELETE_RUN:
            connection.execute(statement, (run,))

    return change


def add_event(row: Row) -> Change[None]:
    """An event at its position in the run."""

    def change(connection: Connection) -> None:
        try:
            *small, payload = row
            connection.execute(sql.INSERT_EVENT, (*small, connection.put(payload)))
        except connection.IntegrityError as error:
            _refuse_unknown_run(connection, error, row[0])
            raise JournalError(
                f"event {row[1]} of {row[0]} was written by another process; lock the run to write"
            ) from None

    return change


def add_request(row: Row) -> Change[None]:
    """A request that was sent."""
    return _insert(sql.INSERT_ASKED, row)


def add_command(row: Row) -> Change[None]:
    """A command typed in another terminal."""
    return _insert(sql.INSERT_COMMAND, row)


def add_reply(row: Row) -> Change[None]:
    """A reply; a second one under the same key is refused."""

    def change(connection: Connection) -> None:
        try:
            *small, request, reply = row
            stored = connection.put(request), connection.put(reply)
            connection.execute(sql.INSERT_REPLY, (*small, *stored))
        except connection.IntegrityError as error:
            _refuse_unknown_run(connection, error, row[0])
            if connection.violation(error) != "duplicate":
                raise
            raise ReplayMismatch(
                f"{row[0]} has a reply to {row[1]} already; nothing is paid for twice"
            ) from None

    return change


def answer_with_guidance(run: str, query: GuidanceQuery) -> Change[str]:
    """Answer a query with all pending guidance; marked as taken in the same transaction."""

    def change(connection: Connection) -> str:
        guides = pending(connection, run, GUIDE)
        text = "\n\n".join(guide.text for guide in guides)
        add_reply(answer_row(run, query, text))(connection)
        _mark_taken(connection, guides, query.key)
        return text

    return change


def take(run: str, kinds: Collection[CommandKind], by: str) -> Change[Command | None]:
    """Mark commands as taken; returns the last of them."""

    def change(connection: Connection) -> Command | None:
        commands = pending(connection, run, kinds)
        _mark_taken(connection, commands, by)
        return commands[-1] if commands else None

    return change


def pending(connection: Connection, run: str, kinds: Collection[CommandKind]) -> list[Command]:
    """Pending commands, oldest first."""
    return [
        Command(number, kind, unescape(text), datetime.fromisoformat(at))
        for number, kind, text, at in connection.execute(sql.PENDING, (run,))
        if kind in kinds
    ]


def _mark_taken(connection: Connection, commands: list[Command], by: str) -> None:
    connection.executemany(sql.TAKE, [(by, command.id) for command in commands])


def _insert(statement: str, row: Row) -> Change[None]:
    def change(connection: Connection) -> None:
        try:
            connection.execute(statement, row)
        except connection.IntegrityError as error:
            _refuse_unknown_run(connection, error, row[0])
            raise

    return change


def _refuse_unknown_run(connection: Connection, error: Exception, run: str) -> None:
    if connection.violation(error) == "unknown run":
        raise UnknownRun(f"no run {run!r}; see `autoreason runs`") from None
