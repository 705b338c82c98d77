"""The schema and every statement of the journal, once for SQLite and PostgreSQL, and what differs between them.

Statements are written for SQLite; `for_postgres` translates them. In a file, long values are
compressed: `packed` and `plain` are functions of our connections. PostgreSQL compresses by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import count
from typing import get_args

import msgspec

from autoreason.exchange import Role

ROLES = get_args(Role)
"""What models are asked to be; any other value in the same column is the kind of a query."""
APPLICATION_ID = int.from_bytes(b"aure", "big")
"""In the header of every journal, so that no other database is mistaken for one."""
VERSION = 1
TABLES = ("runs", "texts", "events", "asked", "replies", "commands", "questions")


# The schema.

_SCHEMA = """
    CREATE TABLE runs (
        id {name} PRIMARY KEY,
        title TEXT NOT NULL,
        status TEXT NOT NULL,
        created {name} NOT NULL,
        updated TEXT NOT NULL,
        version TEXT NOT NULL,
        forked_from TEXT,
        search TEXT,
        uses TEXT{rowid}
    ){half_full};
    CREATE INDEX runs_by_age ON runs (created{by_rowid});
    CREATE INDEX runs_without_cells ON runs (created{by_rowid}) WHERE id NOT LIKE '%.%';
    CREATE INDEX runs_by_status ON runs (status, created{by_rowid}) WHERE id NOT LIKE '%.%';
    CREATE TABLE texts (
        run {name} NOT NULL,
        digest {name} NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (run, digest)
    );
    CREATE TABLE events (
        run {name} NOT NULL REFERENCES runs (id),
        seq BIGINT NOT NULL,
        type TEXT NOT NULL,
        at TEXT NOT NULL,
        payload TEXT NOT NULL,
        PRIMARY KEY (run, seq)
    );
    CREATE TABLE asked (
        id {number} PRIMARY KEY,
        run {name} NOT NULL REFERENCES runs (id),
        key {name} NOT NULL,
        role TEXT NOT NULL,
        model TEXT NOT NULL,
        at TEXT NOT NULL
    );
    CREATE INDEX asked_by_key ON asked (run, key);
    CREATE TABLE replies (
        id {number} PRIMARY KEY,
        run {name} NOT NULL REFERENCES runs (id),
        key {name} NOT NULL,
        role TEXT NOT NULL,
        model TEXT NOT NULL,
        outcome TEXT NOT NULL,
        input BIGINT,
        output BIGINT,
        cache_read BIGINT,
        cache_write BIGINT,
        reasoning BIGINT,
        cost TEXT,
        seconds DOUBLE PRECISION NOT NULL,
        at TEXT NOT NULL,
        request TEXT NOT NULL,
        reply TEXT NOT NULL,
        UNIQUE (run, key)
    );
    CREATE INDEX replies_of_run ON replies (run, {sums});
    CREATE TABLE commands (
        id {number} PRIMARY KEY,
        run {name} NOT NULL REFERENCES runs (id),
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        at TEXT NOT NULL,
        taken_by TEXT
    );
    CREATE INDEX commands_of_run ON commands (run);
    CREATE INDEX commands_pending ON commands (run) WHERE taken_by IS NULL;
    CREATE TABLE questions (
        id {number} PRIMARY KEY,
        run {name} NOT NULL REFERENCES runs (id),
        key {name} NOT NULL,
        token {name} NOT NULL UNIQUE,
        held_until DOUBLE PRECISION,
        times BIGINT NOT NULL,
        request TEXT NOT NULL,
        answer TEXT,
        UNIQUE (run, key)
    )
"""
"""Small columns come before large ones: SQLite then reads them without the rest."""
_IN_SQLITE = {
    "name": "TEXT",
    "number": "INTEGER",
    "rowid": "",
    "by_rowid": "",
    "half_full": "",
    # Covers the sums, so that listing runs never reads a reply.
    "sums": "role, input, output, cache_read, cache_write, reasoning, cost, seconds",
}
_IN_POSTGRES = {
    "name": 'TEXT COLLATE "C"',
    "number": "BIGINT GENERATED ALWAYS AS IDENTITY",
    "rowid": ", rowid BIGINT GENERATED ALWAYS AS IDENTITY",
    "by_rowid": ", rowid",
    # Touched with every commit: a new version of the row finds place beside the old one.
    "half_full": " WITH (fillfactor = 50)",
    "sums": "id",
}


def schema(*, postgres: bool = False) -> list[str]:
    return _SCHEMA.format(**(_IN_POSTGRES if postgres else _IN_SQLITE)).split(";")


COLUMNS = {
    "texts": "run text, digest text, text text",
    "events": "run text, seq bigint, type text, at text, payload text",
    "asked": "run text, key text, role text, model text, at text",
    "replies": "run text, key text, role text, model text, outcome text, input bigint,"
    " output bigint, cache_read bigint, cache_write bigint, reasoning bigint, cost text,"
    " seconds double precision, at text, request text, reply text",
    "commands": "run text, kind text, text text, at text, taken_by text",
    "questions": "run text, key text, token text, held_until double precision, times bigint,"
    " request text, answer text",
}
"""What is recorded of a run, in order, with the types of PostgreSQL."""
_AGAIN = {"texts": " ON CONFLICT DO NOTHING"}
_PACKED = {
    *(("texts", "text"), ("events", "payload"), ("replies", "request"), ("replies", "reply")),
    ("questions", "request"),
}


def columns_of(table: str) -> list[str]:
    return [column.split()[0] for column in COLUMNS[table].split(", ")]


def _insert_into(table: str) -> str:
    names = columns_of(table)
    values = ", ".join("packed(?)" if (table, name) in _PACKED else "?" for name in names)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values}){_AGAIN.get(table, '')}"


def rows_of(table: str) -> str:
    names = columns_of(table)
    position = {"events": "seq", "texts": "digest"}.get(table, "id")
    values = ", ".join(f"plain({name})" if (table, name) in _PACKED else name for name in names)
    return f"SELECT {values} FROM {table} WHERE run = ? ORDER BY {position}"


INSERT = {table: _insert_into(table) for table in COLUMNS}


def as_list(names: Iterable[str]) -> str:
    return msgspec.json.encode(list(names)).decode()


# Runs.

RUN_COLUMNS = "id, title, status, created, updated, version, forked_from"
_SUMS = """
    count(r.id), total(r.input), total(r.output), total(r.cache_read), total(r.cache_write),
    total(r.reasoning), count(r.id) - count(r.input + r.output),
    exact_sum(r.cost), count(r.id) - count(r.cost), total(r.seconds)
"""
_IN_LIST = "IN (SELECT value FROM json_each(?))"
_IS_CELL = "{column} > {suite} || '.' AND {column} < {suite} || '/'"
"""Names that begin with a suite's and a dot; the slash comes next after the dot, in order of their bytes."""
RUNS = f"""
    SELECT {RUN_COLUMNS}, EXISTS (
        SELECT 1 FROM runs AS cell WHERE {_IS_CELL.format(column="cell.id", suite="run.id")}
    )
    FROM runs AS run WHERE id {_IN_LIST} ORDER BY created DESC, rowid DESC
"""
SPENT = f"""
    SELECT r.run, {_SUMS} FROM replies AS r
    WHERE r.run {_IN_LIST} AND r.role IN {ROLES} GROUP BY r.run
"""
SPENT_BY_ROLE = f"""
    SELECT r.role, {_SUMS} FROM replies AS r WHERE r.run = ? AND r.role IN {ROLES} GROUP BY r.role
"""
CELLS_SPENT = f"""
    SELECT '', {_SUMS} FROM replies AS r
    WHERE {_IS_CELL.format(column="r.run", suite="?1")} AND r.role IN {ROLES}
"""
INSERT_RUN = f"INSERT INTO runs ({RUN_COLUMNS}, search, uses) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
RUN_ROW = f"SELECT {RUN_COLUMNS}, search, uses FROM runs WHERE id = ?"
SET_STATUS = "UPDATE runs SET status = ? WHERE id = ?"
SET_TITLE = "UPDATE runs SET title = ?, search = ? || search WHERE id = ? AND title <> ?"
SET_USES = "UPDATE runs SET uses = ? WHERE id = ?"
TOUCH_RUN = "UPDATE runs SET updated = ? WHERE id = ?"
NO_CELL = "id NOT LIKE '%.%'"
A_CELL = _IS_CELL.format(column="id", suite="?")
IN_STATE = f"status {_IN_LIST}"
OR_LIVE = f"({IN_STATE} OR id {_IN_LIST})"
FOUND = r"search LIKE ? ESCAPE '\'"
USED = r"uses LIKE ? ESCAPE '\'"


def page_of_runs(*conditions: str) -> str:
    """The names of runs to which all of this applies, the newest first."""
    wanted = " AND ".join(conditions) or "true"
    return f"SELECT id FROM runs WHERE {wanted} ORDER BY created DESC, rowid DESC LIMIT ? OFFSET ?"


SETTINGS = """
    SELECT plain(payload) FROM events
    WHERE run = ? AND type IN ('RunStarted', 'RunResumed') ORDER BY seq DESC LIMIT 1
"""
STARTED = "SELECT plain(payload) FROM events WHERE run = ? AND type = 'RunStarted'"
COUNT_RUNS = "SELECT count(*) FROM runs"
DELETE_RUN = (
    *(f"DELETE FROM {table} WHERE run = ?" for table in COLUMNS),
    "DELETE FROM runs WHERE id = ?",
)
RUN_IDS = "SELECT id FROM runs ORDER BY created DESC, rowid DESC"
HAS_RUN = "SELECT 1 FROM runs WHERE id = ?"
FORKS = "SELECT id FROM runs WHERE forked_from = ? ORDER BY created, rowid"
STAMPS = """
    SELECT id, (SELECT max(seq) FROM events WHERE run = runs.id),
        (SELECT max(id) FROM replies WHERE run = runs.id), (SELECT max(id) FROM asked WHERE run = runs.id)
    FROM runs ORDER BY created, rowid
"""

# Events.

LAST_SEQ = "SELECT coalesce(max(seq), 0) FROM events WHERE run = ?"
EVENTS = "SELECT seq, at, plain(payload) FROM events WHERE run = ? AND seq > ? ORDER BY seq"
OUTLINE = """
    SELECT seq, at, plain(payload) FROM events
    WHERE run = ? AND type <> 'CellFinished' AND seq > ? ORDER BY seq
"""
LAST_EVENTS = f"""
    SELECT run, plain(payload) FROM events JOIN (
        SELECT id, created, rowid AS place FROM runs
        WHERE {NO_CELL} AND {IN_STATE} AND uses = ? ORDER BY created DESC, rowid DESC LIMIT ?
    ) AS newest ON run = id
    WHERE seq = (SELECT max(seq) FROM events AS own WHERE own.run = id AND own.type = ?)
    ORDER BY created DESC, place DESC
"""
DELIVERED = "SELECT plain(payload) FROM events WHERE run = ? AND type = 'Delivered'"
ENDED_CELLS = "SELECT plain(payload) FROM events WHERE run = ? AND type = 'CellFinished'"
CELL_IDS = f"SELECT id FROM runs WHERE {_IS_CELL.format(column='id', suite='?1')}"

# Requests and replies.

IN_FLIGHT = """
    SELECT key, role, model, at FROM asked
    WHERE id IN (
        SELECT max(id) FROM asked AS a
        WHERE a.run = ? AND NOT EXISTS (
            SELECT 1 FROM replies AS r WHERE r.run = a.run AND r.key = a.key
        )
        GROUP BY a.key
    )
    ORDER BY id
"""
REPLY_TEXTS = f"""
    SELECT key, role, outcome, CASE role WHEN ?2 THEN plain(reply) END FROM replies
    WHERE run = ?1 AND role IN {ROLES} ORDER BY id
"""
ANSWERS = f"""
    SELECT key, role, plain(request), plain(reply) FROM replies
    WHERE run = ? AND role NOT IN {ROLES} ORDER BY id
"""
# Of a suite's cells, the last reply of every ten seconds.
TIMES = f"""
    SELECT at, CASE WHEN type IN ('RunStarted', 'RunResumed') THEN 1 ELSE 0 END, seq
    FROM events WHERE run = ?1 UNION ALL
    SELECT at, 0, id FROM replies WHERE run = ?1 UNION ALL
    SELECT max(at), 0, max(id) FROM replies WHERE {_IS_CELL.format(column="run", suite="?1")}
    GROUP BY substr(at, 1, 18)
"""
CALLS = f"""
    SELECT id, at, plain(request), plain(reply) FROM replies
    WHERE run = ? AND id > ? AND role IN {ROLES} ORDER BY id
"""

ALL_TEXTS = "SELECT digest, plain(text) FROM texts WHERE run = ?"
TEXTS = f"SELECT digest, plain(text) FROM texts WHERE run = ? AND digest {_IN_LIST}"

# Commands from another terminal.

PENDING = """
    SELECT id, kind, text, at FROM commands
    WHERE run = ? AND taken_by IS NULL ORDER BY id
"""
COMMANDED = "SELECT DISTINCT run FROM commands WHERE taken_by IS NULL"
MARK_TAKEN = "UPDATE commands SET taken_by = ? WHERE id = ?"

# Questions that are answered from outside.

_IS_REPLIED = """
    EXISTS (SELECT 1 FROM replies AS r WHERE r.run = questions.run AND r.key = questions.key)
"""
_QUESTION = f"""
    SELECT token, run, key, held_until, times, answer, {_IS_REPLIED},
        (SELECT status FROM runs WHERE id = questions.run)
    FROM questions
"""
QUESTION_OF = f"{_QUESTION} WHERE run = ? AND key = ?"
QUESTION = f"{_QUESTION} WHERE token = ?"
# The comment locks the row on PostgreSQL, where two may read it at once.
LOCK_QUESTION = f"{QUESTION} /* FOR UPDATE */"
QUESTIONS = f"""
    {_QUESTION} WHERE (run = ?1 OR {_IS_CELL.format(column="run", suite="?1")})
    AND NOT {_IS_REPLIED} ORDER BY id
"""
REQUEST = "SELECT plain(request) FROM questions WHERE token = ?"
TAKE_QUESTION = "UPDATE questions SET held_until = ?, times = times + 1 WHERE token = ?"
ANSWER_QUESTION = "UPDATE questions SET answer = ? WHERE token = ?"
DROP_QUESTION = "DELETE FROM questions WHERE run = ? AND key = ?"
FREE_QUESTION = "UPDATE questions SET times = 0 WHERE token = ?"

# Leases of workers.

CREATE_LEASES = """
    CREATE TABLE IF NOT EXISTS leases (
        account TEXT NOT NULL, holder TEXT NOT NULL, held TEXT NOT NULL, PRIMARY KEY (account, holder)
    )
"""
LEASE_TIME = "SELECT clock()"
"""First in a transaction: on PostgreSQL, it waits until no other process changes leases."""
LEASES = f"SELECT account, holder, held FROM leases WHERE account {_IN_LIST}"
HOLDERS = "SELECT account, holder FROM leases"
SET_LEASE = """
    INSERT INTO leases (account, holder, held) VALUES (?, ?, ?)
    ON CONFLICT (account, holder) DO UPDATE SET held = excluded.held
"""
END_LEASE = "DELETE FROM leases WHERE account = ? AND holder = ?"

# What PostgreSQL has other words for.

_LEASE_LOCK = 0x6C65617365

_TRANSLATIONS = (
    (r"value FROM json_each\((\?\d*)\)", r"json_array_elements_text(\1::json)"),
    (r"\b(?:plain|packed)\(([\w?]+)\)", r"\1"),
    (r"\btotal\(([\w.]+)\)", r"coalesce(sum(\1), 0)"),
    (r"/\* (FOR UPDATE) \*/", r"\1"),
    (r"\bexact_sum\(([\w.]+)\)", r"coalesce(sum(\1::numeric), 0)"),
    (
        r"^SELECT clock\(\)$",
        "SELECT extract(epoch FROM clock_timestamp()) FROM"
        # What is lost with the server's memory is written again; a process that stops here keeps nobody waiting.
        " set_config('synchronous_commit', 'off', true) AS a,"
        " set_config('idle_in_transaction_session_timeout', '10s', true) AS b,"
        f" pg_advisory_xact_lock({_LEASE_LOCK})",
    ),
)


@cache
def for_postgres(statement: str) -> str:
    for sqlite, postgres in _TRANSLATIONS:
        statement = re.sub(sqlite, postgres, statement)
    numbers: Iterator[int] = count(1)
    return re.sub(r"\?(\d*)", lambda found: f"${found[1] or next(numbers)}", statement)


BULK_INSERT = {
    INSERT[table]: (
        columns_of(table),
        f"INSERT INTO {table} ({', '.join(columns_of(table))}) SELECT {', '.join(columns_of(table))}"
        f" FROM json_to_recordset($1::json) AS new ({COLUMNS[table]}){_AGAIN.get(table, '')}",
    )
    for table in ("texts", "events", "asked", "replies")
}
"""On PostgreSQL, how to insert many rows at once, given as JSON, which takes a fifth of the time."""
