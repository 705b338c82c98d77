"""Values that take long to compute, computed by one of the processes that run the tests."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Hashable
from fcntl import LOCK_EX, flock
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")


FOLDER = "AUTOREASON_TESTS_FOLDER"
"""The variable that names where one run of the tests keeps them; `conftest.py` makes the folder and removes it."""


def once(make: Callable[P, T]) -> Callable[P, T]:
    """Like `functools.cache`, over all processes of a run of the tests."""

    anything = cast("Callable[..., T]", make)

    @cache
    def value(*arguments: Hashable) -> T:
        what = f"{make.__module__} {make.__qualname__} {arguments}"
        path = Path(os.environ[FOLDER], sha256(what.encode()).hexdigest())
        with path.with_suffix(".lock").open("w") as lock:
            flock(lock, LOCK_EX)
            if not path.exists():
                path.write_bytes(pickle.dumps(anything(*arguments)))
        return cast(T, pickle.loads(path.read_bytes()))

    return cast("Callable[P, T]", value)
