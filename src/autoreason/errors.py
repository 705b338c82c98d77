"""Everything that can go wrong, as one tree."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal


class AutoreasonError(Exception):
    """Anything this library raises on purpose."""


class InvalidInput(AutoreasonError):
    """A mistake in the input; the message names it and the fix. Nothing was written."""

    file_keys: tuple[str, ...] = ()
    """Names in the message that stand in a file, and were not given as parameters."""


class UnknownRun(InvalidInput):
    """No run of that name is in the journal."""


class RunLocked(InvalidInput):
    """Another process is writing to this run."""


class StrategyError(InvalidInput):
    """A user's strategy raised something, or ended without a text; what it had paid for is kept."""


class UnusableStart(InvalidInput):
    """The artifact as it is has no number, or breaks a guard; what was measured is kept."""


class JournalError(AutoreasonError):
    """The record is damaged, foreign or too new; it is never overwritten."""


class RecordDamaged(JournalError):
    """The record of one run no longer reads as it was written."""


class WritingFailed(JournalError):
    """Something could not be written to the journal, such as on a full disk; what came before is kept."""


class ReplayMismatch(AutoreasonError):
    """Running the record again differs from the record."""


class Failure(StrEnum):
    """Why a call gave no reply."""

    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    BAD_KEY = "bad_key"
    BAD_REQUEST = "bad_request"
    NO_CREDIT = "no_credit"
    NO_ACCESS = "no_access"
    """The address, a proxy or a block on the way: neither the key nor the request is at fault."""
    BROKEN_REPLY = "broken_reply"

    @property
    def passing(self) -> bool:
        """Whether asking again may help."""
        return self not in ("bad_key", "bad_request", "no_credit", "no_access")


class CallFailed(AutoreasonError):
    """One call to a provider gave no reply: retried by kind, and never a result."""

    def __init__(
        self,
        failure: Failure,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        retry: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.failure = failure
        self.status = status
        self.retry_after = retry_after
        self.retry = retry
        """Whether the provider says that trying again soon helps; None where it does not say."""


class Interruption(AutoreasonError):
    """The run pauses here; what was paid for is kept, and it can be resumed."""

    status: Literal[
        "budget",
        "provider_failed",
        "metric_failed",
        "panel_failed",
        "waiting",
        "stopped",
        "accepted",
    ]
    limit: str | None = None


class BudgetReached(Interruption):
    """The next call could cost more than the limit that was set."""

    status = "budget"

    def __init__(self, message: str, limit: str | None = None) -> None:
        super().__init__(message)
        self.limit = limit
        """The field of `Budget` that was reached."""


class ProviderFailed(Interruption):
    """A provider is out of reach or refuses us."""

    status: Literal["provider_failed", "metric_failed"] = "provider_failed"


class MetricFailed(ProviderFailed):
    """What measures cannot be run, or gives no number where there must be one."""

    status = "metric_failed"


class PanelFailed(Interruption):
    """Panel after panel gave too few valid ballots to decide anything."""

    status = "panel_failed"


class Waiting(Interruption):
    """Nothing is left to do but to wait for answers from outside."""

    status = "waiting"


class Stopped(Interruption):
    """A person asked the run to stop."""

    status = "stopped"


class Accepted(Interruption):
    """A person accepted the incumbent, which ends the run."""

    status = "accepted"
