"""The schema of a journal on PostgreSQL, and the statements that it wants in its own words."""

from __future__ import annotations

import re
from functools import cache
from itertools import count
from typing import NamedTuple

from autoreason.journal import sql

SCHEMA = "autoreason"
"""Of its own, so that a database can be shared with other programs."""
_TEXT = 'TEXT COLLATE "C"'
_ID = "id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
_RUN = f"run {_TEXT} NOT NULL REFERENCES runs (id)"

CREATE_TABLES = (
    # Touched with every commit: a new version of the row finds place beside the old one.
    f"""
    CREATE TABLE runs (
        id {_TEXT} PRIMARY KEY,
        title TEXT NOT NULL,
        status TEXT NOT NULL,
        created {_TEXT} NOT NULL,
        updated TEXT NOT NULL,
        version TEXT NOT NULL,
        forked_from TEXT,
        search TEXT,
        uses TEXT,
        rowid BIGINT GENERATED ALWAYS AS IDENTITY
    ) WITH (fillfactor = 50)
    """,
    "CREATE INDEX runs_by_age ON runs (created, rowid)",
    f"""
    CREATE TABLE events (
        {_RUN},
        seq BIGINT NOT NULL,
        type TEXT NOT NULL,
        at TEXT NOT NULL,
        payload TEXT NOT NULL,
        PRIMARY KEY (run, seq)
    )
    """,
    f"""
    CREATE TABLE asked (
        {_ID},
        {_RUN},
        key {_TEXT} NOT NULL,
        role TEXT NOT NULL,
        model TEXT NOT NULL,
        at TEXT NOT NULL
    )
    """,
    "CREATE INDEX asked_by_key ON asked (run, key)",
    f"""
    CREATE TABLE replies (
        {_ID},
        {_RUN},
        key {_TEXT} NOT NULL,
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
    )
    """,
    "CREATE INDEX replies_of_run ON replies (run, id)",
    f"""
    CREATE TABLE commands (
        {_ID},
        {_RUN},
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        at TEXT NOT NULL,
        taken_by TEXT
    )
    """,
    "CREATE INDEX commands_of_run ON commands (run)",
    "CREATE INDEX commands_pending ON commands (run) WHERE taken_by IS NULL",
    # Under its digest: a writer need not ask for a number.
    f"CREATE TABLE pieces (id {_TEXT} PRIMARY KEY, text TEXT NOT NULL)",
    # Who has a run locked, or had when its session was lost.
    f"CREATE TABLE locks (run {_TEXT} PRIMARY KEY, key BIGINT NOT NULL, owner TEXT NOT NULL)",
    # A list of the newest runs need not read past the cells of suites.
    "CREATE INDEX runs_without_cells ON runs (created, rowid) WHERE id NOT LIKE '%.%'",
    "CREATE INDEX runs_by_status ON runs (status, created, rowid) WHERE id NOT LIKE '%.%'",
    # What a session that was lost has committed.
    "CREATE TABLE writers (id BIGINT PRIMARY KEY, batch BIGINT NOT NULL)",
    f"CREATE TABLE schema_version AS SELECT {sql.VERSION} AS version",
)

TABLES = ("runs", "events", "asked", "replies", "commands", "pieces")

# Opening.

FIND = f"""
    SELECT to_regclass('{SCHEMA}.schema_version') IS NOT NULL,
        EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = '{SCHEMA}'),
        EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = '{SCHEMA}')
"""
"""Whether there is a journal, its schema, and any table in that."""
CREATE_SCHEMA = f"CREATE SCHEMA {SCHEMA}"
GET_VERSION = "SELECT version FROM schema_version"
# Fails where nothing can be written: without rights, or on a server that only follows another.
TRY_WRITING = "LOCK TABLE replies IN ROW EXCLUSIVE MODE"
SIZE = "SELECT sum(pg_total_relation_size(name::regclass))::bigint FROM unnest($1::text[]) AS name"

# Locks: of a session, so that the server releases them when it ends.

CREATING = "SELECT pg_advisory_xact_lock($1)"
WRITING = "SELECT pg_advisory_lock_shared($1)"
ALONE = "SELECT pg_try_advisory_lock($1)"
LOCK = """
    INSERT INTO locks (run, key, owner) SELECT ?1, ?2, ?3 WHERE pg_try_advisory_lock(?2)
    ON CONFLICT (run) DO UPDATE SET owner = excluded.owner RETURNING 1
"""
UNLOCK = "SELECT pg_advisory_unlock(?)"
# After the transaction: what was sent is committed, and no row is left locked, before another process can go on.
UNLOCK_AT_END = "SELECT pg_advisory_unlock($1)"
FORGET_OWNER = "DELETE FROM locks WHERE run = ?"
_LOCKED = """
    FROM locks JOIN pg_locks AS active ON active.locktype = 'advisory' AND active.granted
        AND active.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND active.objsubid = 1 AND active.classid = ((key >> 32) & 4294967295)::oid
        AND active.objid = (key & 4294967295)::oid
"""
OWNER = f"SELECT owner {_LOCKED} WHERE run = ?"
IS_OWNER = "SELECT 1 FROM locks WHERE run = $1 AND owner = $2"
LOCKED = f"SELECT run {_LOCKED}"

# Writing.

TOUCH = "UPDATE runs SET updated = $1 WHERE id = ANY($2)"
PIECES = "SELECT id, text FROM pieces WHERE id = ANY($1)"
MARK = """
    INSERT INTO writers (id, batch) VALUES ($1, $2)
    ON CONFLICT (id) DO UPDATE SET batch = excluded.batch
"""
MARKED = "SELECT 1 FROM writers WHERE id = $1 AND batch = $2"
FORGET_WRITER = "DELETE FROM writers WHERE id = $1"


class Bulk(NamedTuple):
    """How to insert many rows with one statement, which takes a fifth of the time."""

    columns: tuple[str, ...]
    statement: str
    """Given the rows as JSON."""


def _bulk(table: str, end: str = "", **columns: str) -> Bulk:
    types = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    return Bulk(
        tuple(columns),
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(columns)}"
        f" FROM json_to_recordset($1::json) AS new ({types}) {end}",
    )


_BIG = "bigint"
_CALL = {"run": "text", "key": "text", "role": "text", "model": "text"}
_USAGE = dict.fromkeys(("input", "output", "cache_read", "cache_write", "reasoning"), _BIG)
BULKS = {
    sql.INSERT_EVENT: _bulk("events", run="text", seq=_BIG, type="text", at="text", payload="text"),
    sql.INSERT_ASKED: _bulk("asked", **_CALL, at="text"),
    sql.INSERT_REPLY: _bulk(
        "replies",
        **_CALL,
        outcome="text",
        **_USAGE,
        cost="text",
        seconds="double precision",
        at="text",
        request="text",
        reply="text",
    ),
}
# In one order everywhere, so that two processes that store the same pieces never wait for each other.
PIECES_BULK = _bulk("pieces", "ORDER BY id ON CONFLICT DO NOTHING", id="text", text="text")

_SPENT = f"""
    SELECT count(r.id), coalesce(sum(r.input), 0), coalesce(sum(r.output), 0),
        coalesce(sum(r.cache_read), 0), coalesce(sum(r.cache_write), 0),
        coalesce(sum(r.reasoning), 0), count(r.id) - count(r.input + r.output),
        coalesce(sum(r.cost::numeric), 0), count(r.id) - count(r.cost), coalesce(sum(r.seconds), 0)
    FROM replies AS r WHERE {{which}} AND r.role IN {sql.ROLES}
"""
_RUN_ROWS = f"""
    SELECT run.*, EXISTS (SELECT 1 FROM runs WHERE {sql.CELLS_OF_RUN}), spent.*
    FROM (SELECT {sql.RUN_COLUMNS}, rowid AS place FROM runs {{which}}) AS run
    CROSS JOIN LATERAL ({_SPENT.format(which="r.run = run.id")}) AS spent
    ORDER BY run.created DESC, run.place DESC
"""
_DIFFERENT = {
    sql.RUNS: _RUN_ROWS.format(which=sql.THESE_RUNS),
    sql.SPENT: _SPENT.format(which="r.run = ?"),
    sql.CELLS_SPENT: _SPENT.format(which=sql.IS_CELL.format(column="r.run", suite="?1")),
    sql.PIECE: "SELECT decode(id, 'hex'), text FROM pieces WHERE id = ?",
    # The server checks both by itself.
    sql.INTEGRITY: "SELECT 'ok'",
    sql.FOREIGN_KEYS: "SELECT 1 WHERE false",
}
_PLACEHOLDER = re.compile(r"\?(\d*)")


@cache
def translate(statement: str) -> str:
    """A statement of `sql` as PostgreSQL understands it."""
    numbers = count(1)
    own = _DIFFERENT.get(statement, statement)
    return _PLACEHOLDER.sub(
        lambda found: f"${found[1] or next(numbers)}",
        own.replace("value FROM json_each(?)", "json_array_elements_text(?::json)"),
    )
