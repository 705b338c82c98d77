"""Every statement the journal sends to SQLite, and its schema.

PostgreSQL is sent the same, but for what `postgres_sql` has in its own words.
"""

from __future__ import annotations

from typing import NamedTuple, get_args

from autoreason.exchange import Role

ROLES = get_args(Role)
"""What models are asked to be; any other value in the same column is the kind of a query."""
APPLICATION_ID = int.from_bytes(b"aure", "big")
"""In the header of every journal, so that no other database is mistaken for one."""

TABLES = ("runs", "events", "asked", "replies", "commands", "pieces")

VERSION = 1
"""Of the record: its tables, and the events and replies in them."""
SCHEMA = (
    """
    CREATE TABLE runs (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        status TEXT NOT NULL,
        created TEXT NOT NULL,
        updated TEXT NOT NULL,
        version TEXT NOT NULL,
        forked_from TEXT,
        search TEXT,
        uses TEXT
    )
    """,
    "CREATE INDEX runs_by_age ON runs (created)",
    """
    CREATE TABLE events (
        run TEXT NOT NULL REFERENCES runs (id),
        seq INTEGER NOT NULL,
        type TEXT NOT NULL,
        at TEXT NOT NULL,
        payload TEXT NOT NULL,
        PRIMARY KEY (run, seq)
    )
    """,
    """
    CREATE TABLE asked (
        id INTEGER PRIMARY KEY,
        run TEXT NOT NULL REFERENCES runs (id),
        key TEXT NOT NULL,
        role TEXT NOT NULL,
        model TEXT NOT NULL,
        at TEXT NOT NULL
    )
    """,
    "CREATE INDEX asked_by_key ON asked (run, key)",
    # Small columns come before the two large ones: SQLite then reads them without the rest.
    """
    CREATE TABLE replies (
        id INTEGER PRIMARY KEY,
        run TEXT NOT NULL REFERENCES runs (id),
        key TEXT NOT NULL,
        role TEXT NOT NULL,
        model TEXT NOT NULL,
        outcome TEXT NOT NULL,
        input INTEGER,
        output INTEGER,
        cache_read INTEGER,
        cache_write INTEGER,
        reasoning INTEGER,
        cost TEXT,
        seconds REAL NOT NULL,
        at TEXT NOT NULL,
        request TEXT NOT NULL,
        reply TEXT NOT NULL,
        UNIQUE (run, key)
    )
    """,
    # Covers the sums, so that listing runs never reads a reply.
    """
    CREATE INDEX replies_spent ON replies (
        run, role, input, output, cache_read, cache_write, reasoning, cost, seconds
    )
    """,
    """
    CREATE TABLE commands (
        id INTEGER PRIMARY KEY,
        run TEXT NOT NULL REFERENCES runs (id),
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        at TEXT NOT NULL,
        taken_by TEXT
    )
    """,
    "CREATE INDEX commands_pending ON commands (run, kind) WHERE taken_by IS NULL",
    """
    CREATE TABLE pieces (
        id INTEGER PRIMARY KEY,
        digest BLOB NOT NULL UNIQUE,
        text TEXT NOT NULL
    )
    """,
    # A list of the newest runs need not read past the cells of suites.
    "CREATE INDEX runs_without_cells ON runs (created) WHERE id NOT LIKE '%.%'",
    "CREATE INDEX runs_by_status ON runs (status, created) WHERE id NOT LIKE '%.%'",
)

# The file itself.

USE_WAL = "PRAGMA journal_mode = WAL"
GET_VERSION = "PRAGMA user_version"
SET_VERSION = f"PRAGMA user_version = {VERSION}"
GET_APPLICATION = "PRAGMA application_id"
ALLOW_SHORTER = "PRAGMA writable_schema = ON"
SET_APPLICATION = f"PRAGMA application_id = {APPLICATION_ID}"
TABLE_NAMES = "SELECT name FROM sqlite_master WHERE type = 'table'"
# The file is renamed into place when it is complete, so it need not survive a crash before.
FOR_CREATION = ("PRAGMA synchronous = OFF", "PRAGMA journal_mode = MEMORY")
FOR_READING = ("PRAGMA query_only = ON",)
FOR_WRITING = (
    "PRAGMA synchronous = FULL",
    # On macOS only this reaches the disk itself; on other systems it does nothing.
    "PRAGMA fullfsync = ON",
    "PRAGMA foreign_keys = ON",
)
INTEGRITY = "PRAGMA integrity_check"
FOREIGN_KEYS = "PRAGMA foreign_key_check"
VACUUM = "VACUUM"
CHECKPOINT = "PRAGMA wal_checkpoint(TRUNCATE)"
BEGIN = "BEGIN IMMEDIATE"
# Milliseconds.
LOOK_OFTEN = "PRAGMA busy_timeout = 2"
WAIT_LONG = "PRAGMA busy_timeout = 5000"
COMMIT = "COMMIT"
ROLLBACK = "ROLLBACK"

# Runs.

_SPENT = """
    count(r.id), total(r.input), total(r.output), total(r.cache_read), total(r.cache_write),
    total(r.reasoning), count(r.id) - count(r.input + r.output),
    exact_sum(r.cost), count(r.id) - count(r.cost), total(r.seconds)
"""
RUN_COLUMNS = "id, title, status, created, updated, version, forked_from"
_RUN_ROWS = f"""
    SELECT run.*, EXISTS (SELECT 1 FROM runs WHERE {{cells}}), {_SPENT}
    FROM (SELECT {RUN_COLUMNS}, rowid AS place FROM runs {{which}}) AS run
    LEFT JOIN replies AS r ON r.run = run.id AND r.role IN {ROLES}
    GROUP BY run.id
    ORDER BY run.created DESC, run.place DESC
"""
INSERT_RUN = f"INSERT INTO runs ({RUN_COLUMNS}) VALUES (?, ?, 'running', ?, ?, ?, ?)"
SET_STATUS = "UPDATE runs SET status = ? WHERE id = ?"
TOUCH_RUN = "UPDATE runs SET updated = ? WHERE id = ?"
DESCRIBE_RUN = "UPDATE runs SET search = coalesce(?, search), uses = ? WHERE id = ?"
THESE_RUNS = "WHERE id IN (SELECT value FROM json_each(?))"
IS_CELL = "{column} > {suite} || '.' AND {column} < {suite} || '/'"
"""Names that begin with a suite's and a dot; the slash comes next after the dot, in order of their bytes."""
CELLS_OF_RUN = IS_CELL.format(column="id", suite="run.id")
RUNS = _RUN_ROWS.format(which=THESE_RUNS, cells=CELLS_OF_RUN)
NO_CELL = "id NOT LIKE '%.%'"
A_CELL = IS_CELL.format(column="id", suite="?")
IN_STATE = "status IN (SELECT value FROM json_each(?))"
OR_LIVE = f"({IN_STATE} OR id IN (SELECT value FROM json_each(?)))"
FOUND = r"(search IS NULL OR search LIKE ? ESCAPE '\')"
USED = r"(uses IS NULL OR uses LIKE ? ESCAPE '\')"


def page_of_runs(*conditions: str) -> str:
    """The names of runs to which all of this applies, the newest first."""
    wanted = " AND ".join(conditions) or "true"
    return f"SELECT id FROM runs WHERE {wanted} ORDER BY created DESC, rowid DESC LIMIT ? OFFSET ?"


SETTINGS = """
    SELECT payload FROM events
    WHERE run = ? AND type IN ('RunStarted', 'RunResumed') ORDER BY seq DESC LIMIT 1
"""
STARTED = "SELECT payload FROM events WHERE run = ? AND type = 'RunStarted'"
COUNT_RUNS = "SELECT count(*) FROM runs"
DELETE_RUN = (
    *(f"DELETE FROM {table} WHERE run = ?" for table in ("commands", "asked", "replies", "events")),
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
SPENT = f"SELECT {_SPENT} FROM replies AS r WHERE r.run = ? AND r.role IN {ROLES}"
CELLS_SPENT = f"""
    SELECT {_SPENT} FROM replies AS r
    WHERE {IS_CELL.format(column="r.run", suite="?1")} AND r.role IN {ROLES}
"""

# Events.

INSERT_EVENT = "INSERT INTO events VALUES (?, ?, ?, ?, ?)"
LAST_SEQ = "SELECT coalesce(max(seq), 0) FROM events WHERE run = ?"
EVENTS = "SELECT seq, at, payload FROM events WHERE run = ? AND seq > ? ORDER BY seq"
OUTLINE = """
    SELECT seq, at, payload FROM events
    WHERE run = ? AND type <> 'CellFinished' AND seq > ? ORDER BY seq
"""
# Quotes within a text are escaped, and no piece reaches beyond a text.
CELLS_DONE = """
    SELECT count(*), coalesce(sum(CASE WHEN payload LIKE '%"finished":false%' THEN 1 ELSE 0 END), 0)
    FROM events WHERE run = ? AND type = 'CellFinished'
"""
ENDED_CELLS = "SELECT payload FROM events WHERE run = ? AND type = 'CellFinished'"
CELL_IDS = f"SELECT id FROM runs WHERE {IS_CELL.format(column='id', suite='?1')}"

# Requests and replies.

INSERT_ASKED = "INSERT INTO asked (run, key, role, model, at) VALUES (?, ?, ?, ?, ?)"
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
INSERT_REPLY = """
    INSERT INTO replies (
        run, key, role, model, outcome, input, output, cache_read, cache_write, reasoning,
        cost, seconds, at, request, reply
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
REPLIES = f"""
    SELECT key, request, reply FROM replies WHERE run = ? AND role IN {ROLES} ORDER BY id
"""
REPLY_TEXTS = f"""
    SELECT key, role, outcome, CASE role WHEN ?2 THEN reply END FROM replies
    WHERE run = ?1 AND role IN {ROLES} ORDER BY id
"""
ANSWERS = f"""
    SELECT key, role, request, reply FROM replies
    WHERE run = ? AND role NOT IN {ROLES} ORDER BY id
"""
# Of a suite's cells, the last reply of every ten seconds.
TIMES = f"""
    SELECT at, CASE WHEN type IN ('RunStarted', 'RunResumed') THEN 1 ELSE 0 END, seq AS place
    FROM events WHERE run = ?1 UNION ALL
    SELECT at, 0, id FROM replies WHERE run = ?1 UNION ALL
    SELECT max(at), 0, max(id) FROM replies WHERE {IS_CELL.format(column="run", suite="?1")}
    GROUP BY substr(at, 1, 18) ORDER BY place
"""
CALLS = f"""
    SELECT id, at, request, reply FROM replies
    WHERE run = ? AND id > ? AND role IN {ROLES} ORDER BY id
"""

# Long texts, stored once.

# SQLite counts it up where tables change or the file is rewritten, which `compact` does too.
GET_GENERATION = "PRAGMA schema_version"
SET_GENERATION = "PRAGMA schema_version = {}"
FIND_PIECE = "SELECT id FROM pieces WHERE digest = ?"
INSERT_PIECE = "INSERT INTO pieces (digest, text) VALUES (?, ?)"
PIECES = "SELECT id, text FROM pieces WHERE id IN ({})"
PIECE = "SELECT digest, text FROM pieces WHERE id = ?"
PIECE_IDS = "SELECT id FROM pieces"
DROP_PIECE = "DELETE FROM pieces WHERE id = ?"
STORED = """
    SELECT payload, '' FROM events WHERE run = ? UNION ALL
    SELECT request, reply FROM replies WHERE run = ?
"""
PACKED = ("SELECT payload FROM events", "SELECT request, reply FROM replies")
"""Everything that may refer to pieces."""

# Commands from another terminal.

INSERT_COMMAND = "INSERT INTO commands (run, kind, text, at) VALUES (?, ?, ?, ?)"
PENDING = """
    SELECT id, kind, text, at FROM commands
    WHERE run = ? AND taken_by IS NULL ORDER BY id
"""
ACCEPTED = "SELECT 1 FROM commands WHERE run = ? AND kind = 'accept' LIMIT 1"
COMMANDED = "SELECT DISTINCT run FROM commands WHERE taken_by IS NULL"
TAKE = "UPDATE commands SET taken_by = ? WHERE id = ?"

# Copying runs to another journal.

RUN_ROW = f"SELECT {RUN_COLUMNS} FROM runs WHERE id = ?"
COPY_RUN = f"INSERT INTO runs ({RUN_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"


class CopiedTable(NamedTuple):
    """How the rows of a run in one table are copied, a few at a time."""

    read: str
    """Given the run and the position after which to go on; a row begins with its own position."""
    write: str
    """Given the run and what follows a row's position."""
    packed: int
    """Columns at the end that refer to pieces."""


_AFTER = "WHERE run = ? AND id > ? ORDER BY id LIMIT 500"
COPIED_TABLES = (
    CopiedTable(
        "SELECT seq, seq, type, at, payload FROM events"
        " WHERE run = ? AND seq > ? ORDER BY seq LIMIT 500",
        INSERT_EVENT,
        1,
    ),
    CopiedTable(f"SELECT id, key, role, model, at FROM asked {_AFTER}", INSERT_ASKED, 0),
    CopiedTable(
        "SELECT id, key, role, model, outcome, input, output, cache_read, cache_write, reasoning,"
        f" cost, seconds, at, request, reply FROM replies {_AFTER}",
        INSERT_REPLY,
        2,
    ),
    CopiedTable(
        f"SELECT id, kind, text, at, taken_by FROM commands {_AFTER}",
        "INSERT INTO commands (run, kind, text, at, taken_by) VALUES (?, ?, ?, ?, ?)",
        0,
    ),
)
