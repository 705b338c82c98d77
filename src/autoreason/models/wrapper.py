"""The base class of layers: a model around another one."""

from __future__ import annotations

from autoreason.exchange import Model


class WrapperModel:
    """A model around another one; what it adds is in its `ask`."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def address(self) -> str:
        """`provider/model`."""
        return self._model.address

    async def close(self) -> None:
        """Close the model within."""
        await self._model.close()
