"""The table of leases: what every worker holds of what all of them share, in transactions that exclude each other."""

from __future__ import annotations

from collections.abc import Callable, Collection
from copy import deepcopy
from typing import TypeVar

from autoreason.journal import sql
from autoreason.journal.store import Connection, Store
from autoreason.journal.writer import Writer

T = TypeVar("T")
Rows = dict[str, dict[str, str]]
"""By account and holder, what is held."""
Decide = Callable[[Rows, float], T]
"""Reads rows, changes them in place and returns something, given the time on the clock that all workers share."""


class LeaseTable:
    """Rows that a worker may lose, and writes again: commits do not wait for the disk."""

    def __init__(self, store: Store) -> None:
        self._writer = Writer(store.open_leases(), store)

    async def update(self, accounts: Collection[str], decide: Decide[T]) -> T:
        """Change the rows of some accounts, while nobody else does; undone together with what is raised."""
        listed = sql.as_list(accounts)

        def change(connection: Connection) -> T:
            time, rows = (
                connection.execute(sql.LEASE_TIME),
                connection.execute(sql.LEASES, (listed,)),
            )
            ((now,),) = time.fetchall()
            before: Rows = {account: {} for account in accounts}
            for account, holder, held in rows.fetchall():
                before[account][holder] = held
            after = deepcopy(before)
            result = decide(after, float(now))
            for account, held in after.items():
                old = before[account]
                new = [(account, each, held[each]) for each in held if held[each] != old.get(each)]
                connection.executemany(sql.SET_LEASE, new)
                gone = [(account, each) for each in old if each not in held]
                connection.executemany(sql.END_LEASE, gone)
            return result

        return await self._writer.commit("", change)

    async def holders(self) -> list[tuple[str, str]]:
        """Every account with everyone who has a row of it."""
        return await self._writer.commit(
            "", lambda connection: connection.execute(sql.HOLDERS).fetchall()
        )

    def close(self) -> None:
        """End the connection."""
        self._writer.close()
