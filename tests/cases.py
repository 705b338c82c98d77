"""Many cases of one statement as one test: what pytest does around a test takes longer than most cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from typing import Any


def cases(names: str | tuple[str, ...], table: Iterable[Any]) -> Callable[[Any], Any]:
    """Like `parametrize`, for cases that need no fixtures of their own; the one that fails is named."""
    columns = (names,) if isinstance(names, str) else names
    rows = [dict(zip(columns, (row,) if len(columns) == 1 else row, strict=True)) for row in table]
    assert rows

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def every(**fixtures: Any) -> None:
            __tracebackhide__ = True
            for case in rows:
                try:
                    test(**case, **fixtures)
                except BaseException as error:
                    error.add_note(f"case: {case!r:.2000}")
                    raise

        taken = signature(test)
        rest = [each for each in taken.parameters.values() if each.name not in columns]
        every.__signature__ = taken.replace(parameters=rest)  # type: ignore[attr-defined]
        return every

    return decorate
