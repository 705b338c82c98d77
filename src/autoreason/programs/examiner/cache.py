"""Verdicts that were given before, kept in memory within bounds."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256

import msgspec

from autoreason.assignment import CodeVerdict, Example, Trial
from autoreason.programs.problems.problem import Problem, comparison
from autoreason.programs.sandbox.base import RunLimits

_ROOM = 64 << 20
_EACH = 500
"""Bytes of a verdict besides its texts."""
_encode = msgspec.msgpack.encode


def digest_of(*parts: object) -> bytes:
    """One digest of everything a verdict depends on."""
    return sha256(_encode(parts)).digest()


def manner_of(problem: Problem, limits: RunLimits, level: str) -> bytes:
    """How a problem's tests are held and judged, whatever the program and the test."""
    how = (problem.kind, problem.setup, problem.entry_point, problem.checker_program)
    return digest_of(how, comparison(problem), limits.seconds, limits.memory, level)


class VerdictCache:
    """The verdicts given last, by (program, test, limits, comparison, level); what is no result is not kept."""

    def __init__(self, room: int = _ROOM) -> None:
        self._room = room
        self._taken = 0
        self._kept: OrderedDict[bytes, Trial] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, key: bytes) -> Trial | None:
        """The verdict under a key, if it is still here."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def keep(self, key: bytes, trial: Trial) -> None:
        """Keep a verdict; the one longest unused makes room."""
        if trial.verdict is CodeVerdict.SANDBOX_ERROR or key in self._kept:
            return
        self._kept[key] = trial
        self._taken += _size(trial)
        while self._taken > self._room:
            _, oldest = self._kept.popitem(last=False)
            self._taken -= _size(oldest)


def key_of(program: bytes, manner: bytes, test: Example) -> bytes:
    """Under which a verdict is kept."""
    return digest_of(program, manner, test)


def _size(trial: Trial) -> int:
    texts = (trial.input, trial.expected, trial.got, trial.difference, trial.trace, trial.detail)
    return _EACH + sum(map(len, texts))
