"""Regular expressions for reading what models write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property

Find = Callable[..., re.Match[str] | None]


class Pattern:
    """A regular expression, compiled when it is first used.

    There are dozens of them, each for a habit of some model; most runs need a few, and the first request
    waits for none.
    """

    def __init__(self, source: str, flags: int = 0) -> None:
        self._source = source
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._source, self._flags)

    @cached_property
    def search(self) -> Find:
        """As `re.Pattern` has it, like all below."""
        return self._compiled.search

    @cached_property
    def match(self) -> Find:
        """At the start."""
        return self._compiled.match

    @cached_property
    def fullmatch(self) -> Find:
        """All of it."""
        return self._compiled.fullmatch

    @cached_property
    def finditer(self) -> Callable[..., Iterator[re.Match[str]]]:
        """Every match."""
        return self._compiled.finditer

    @cached_property
    def findall(self) -> Callable[..., list[str]]:
        """The text of every match, where there are no groups."""
        return self._compiled.findall

    @cached_property
    def sub(self) -> Callable[..., str]:
        """The text with something in place of every match."""
        return self._compiled.sub
