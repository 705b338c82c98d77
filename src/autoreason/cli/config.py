"""The user's own defaults, from `config.toml` in the configuration folder: a model and limits."""

from __future__ import annotations

from decimal import Decimal

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput, plainly
from autoreason.places import config_file


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """The most that a new run may take, unless an option says otherwise."""

    cost: Decimal | None = None
    tokens: int | None = None
    calls: int | None = None


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """What new runs begin with where no option says otherwise."""

    model: str | None = None
    limits: Limits = Limits()

    def defaults(self) -> dict[str, object]:
        """By the names that options have."""
        limits = {f"max_{name}": getattr(self.limits, name) for name in Limits.__struct_fields__}
        found = {"model": self.model, **limits}
        return {name: value for name, value in found.items() if value is not None}


def read_config() -> Config:
    """What is there; nothing where there is no file."""
    path = config_file()
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return Config()
    except OSError as error:
        raise InvalidInput(
            f"cannot read {path}: {error.strerror}; correct that, or move it away"
        ) from None
    try:
        found = msgspec.toml.decode(content, type=Config, strict=False)
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8; save it as UTF-8") from None
    except msgspec.DecodeError as error:
        raise InvalidInput(
            f"{path}: {plainly(error)}; it may hold `model` and, under [limits], `cost`, `tokens` "
            "and `calls`"
        ) from None
    if found.model is not None and not found.model.strip():
        raise InvalidInput(f"{path}: `model` is empty; give provider/model or remove the line")
    return found
