"""Earlier verdicts, kept in memory within bounds."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256

import msgspec

from autoreason.programs.assignment import CodeVerdict, Example, Trial
from autoreason.programs.problems.problem import Problem, comparison
from autoreason.programs.sandbox.base import RunLimits

_MAX_BYTES = 64 << 20
_BYTES_PER_VERDICT = 500
"""Bytes of a verdict in addition to its texts."""
_encode = msgspec.msgpack.encode


def digest(*parts: object) -> bytes:
    """A digest of everything a verdict depends on."""
    return sha256(_encode(parts)).digest()


def settings_digest(problem: Problem, limits: RunLimits, level: str) -> bytes:
    """A digest of how a problem's tests are run and judged, for any program and test."""
    judging = (problem.kind, problem.setup, problem.entry_point, problem.checker_program)
    return digest(judging, comparison(problem), limits.seconds, limits.memory, level)


class VerdictCache:
    """The latest verdicts by (program, test, limits, comparison, level), except sandbox errors."""

    def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._total_size = 0
        self._trials: OrderedDict[bytes, Trial] = OrderedDict()

    def __len__(self) -> int:
        return len(self._trials)

    def find(self, key: bytes) -> Trial | None:
        """The verdict under a key, if it is still cached."""
        if key in self._trials:
            self._trials.move_to_end(key)
        return self._trials.get(key)

    def store(self, key: bytes, trial: Trial) -> None:
        """Store a verdict; the least recently used ones make room."""
        if trial.verdict is CodeVerdict.SANDBOX_ERROR or key in self._trials:
            return
        self._trials[key] = trial
        self._total_size += _size_of(trial)
        while self._total_size > self._max_bytes:
            _, oldest = self._trials.popitem(last=False)
            self._total_size -= _size_of(oldest)


def cache_key(program: bytes, settings: bytes, test: Example) -> bytes:
    """The key under which a verdict is stored."""
    return digest(program, settings, test)


def _size_of(trial: Trial) -> int:
    texts = (trial.input, trial.expected, trial.got, trial.difference, trial.trace, trial.detail)
    return _BYTES_PER_VERDICT + sum(map(len, texts))
