"""Distinguishes too deep from too large: Python raises MemoryError for both. Standard library only."""

from __future__ import annotations

import linecache
import sys
from itertools import islice
from types import TracebackType

DEEP_FRAMES = 2000
"""More frames than a program can have without raising the recursion limit."""
TOO_NESTED = "the source is nested too deeply to be parsed"
_PARSING_CALLS = ("eval(", "exec(", "compile(")


def as_recursion_error(error: BaseException) -> BaseException:
    """The same exception, or a RecursionError for a MemoryError caused by depth."""
    if type(error) is not MemoryError:
        return error
    depth, last = 0, error.__traceback__
    while last is not None and last.tb_next is not None:
        depth, last = depth + 1, last.tb_next
    if depth > DEEP_FRAMES:
        message = f"out of memory, {depth:,} calls deep"
    elif last is not None and _parses(last) and _has_room():
        message = TOO_NESTED
    else:
        return error
    return RecursionError(message).with_traceback(error.__traceback__)


def _parses(trace: TracebackType) -> bool:
    """Whether the call at this point, which has no frame of its own, parses source."""
    code = trace.tb_frame.f_code
    if (tree := sys.modules.get("ast")) is not None and code is tree.parse.__code__:
        return True
    line, _, start, end = next(islice(code.co_positions(), trace.tb_lasti // 2, None))
    if line is None:
        return False
    return (
        linecache.getline(code.co_filename, line)
        .encode()[start:end]
        .decode(errors="replace")
        .startswith(_PARSING_CALLS)
    )


def _has_room() -> bool:
    """Whether at most half of the memory has been in use; True where that is not known."""
    try:
        import resource
    except ImportError:
        return True
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return limit == resource.RLIM_INFINITY or 2 * peak <= limit
