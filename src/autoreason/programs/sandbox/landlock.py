"""Landlock: a process that may open no file, reach no port and signal no other process. Standard library only."""

from __future__ import annotations

import ctypes

from autoreason.programs.sandbox import kernel

_CREATE, _RESTRICT = 444, 446  # the same on every machine
_VERSION = 1

_FILES = ((1, 13), (2, 14), (3, 15), (5, 16))
"""From which version on how many kinds of access to files are known."""
_PORTS = 4
_SCOPES = 6


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


def version() -> int:
    """The version of Landlock in this kernel; an OSError where it has none."""
    return kernel.syscall(_CREATE, "landlock_create_ruleset", 0, 0, _VERSION)


def create_ruleset() -> int:
    """Create a ruleset (a descriptor) that handles every access this kernel knows and allows none."""
    kernel_version = version()
    kinds = max(count for since, count in _FILES if since <= kernel_version)
    rules = _Ruleset(
        (1 << kinds) - 1,
        3 if kernel_version >= _PORTS else 0,
        3 if kernel_version >= _SCOPES else 0,
    )
    # An older kernel refuses a structure that is longer than its own.
    size = 24 if kernel_version >= _SCOPES else 16 if kernel_version >= _PORTS else 8
    return kernel.syscall(_CREATE, "landlock_create_ruleset", ctypes.addressof(rules), size)


def restrict(ruleset: int) -> None:
    """Restrict this process, and every one it starts, to a ruleset for good."""
    kernel.syscall(_RESTRICT, "landlock_restrict_self", ruleset, 0)
