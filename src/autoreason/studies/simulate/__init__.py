"""The tournament in simulated worlds, where the true quality of every text is known."""

from __future__ import annotations

from importlib.util import find_spec

from autoreason.errors import InvalidInput


def need_numpy() -> None:
    """Say how to get NumPy where it is missing."""
    if find_spec("numpy") is None:
        raise InvalidInput("simulations need NumPy; run `pip install numpy`")
