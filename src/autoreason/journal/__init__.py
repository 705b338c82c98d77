"""What happened: the durable record of every run, in one SQLite file."""

from autoreason.journal.journal import Journal
from autoreason.journal.locks import Holder
from autoreason.journal.records import (
    Answer,
    Asked,
    Call,
    Command,
    CommandKind,
    Recorded,
    RecordedReply,
    RunRow,
)

__all__ = [
    "Answer",
    "Asked",
    "Call",
    "Command",
    "CommandKind",
    "Holder",
    "Journal",
    "Recorded",
    "RecordedReply",
    "RunRow",
]
