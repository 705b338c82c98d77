"""What happened: the durable record of every run, in one SQLite file or on a PostgreSQL server."""

from autoreason.journal.codec import (
    CommandKind,
    PendingRequest,
    Question,
    RecordedAnswer,
    RecordedCall,
    RecordedEvent,
    RecordedTime,
    ReplyText,
    RunCommand,
    RunRow,
)
from autoreason.journal.journal import Journal
from autoreason.journal.store import LockOwner

__all__ = [
    "CommandKind",
    "Journal",
    "LockOwner",
    "PendingRequest",
    "Question",
    "RecordedAnswer",
    "RecordedCall",
    "RecordedEvent",
    "RecordedTime",
    "ReplyText",
    "RunCommand",
    "RunRow",
]
