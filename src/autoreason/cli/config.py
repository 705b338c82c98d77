"""The user's own defaults, from `config.toml` in the configuration folder: a model and limits."""

from __future__ import annotations

from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput, plainly
from autoreason.files import open_input
from autoreason.paths import config_file
from autoreason.settings import LIMITS, Budget


class Config(Struct, frozen=True):
    """What new runs start with where no option says otherwise."""

    model: str | None = None
    limits: Budget = Budget()

    def defaults(self) -> dict[str, object]:
        """By the names that options have."""
        limits = {option: getattr(self.limits, name) for name, option in LIMITS.items()}
        found = {"model": self.model, **limits}
        return {name: value for name, value in found.items() if value is not None}


KEYS = (
    'it may contain a line such as model = "provider/model" and, under [limits], '
    "cost, tokens, calls and seconds, such as cost = 1.50"
)
"""What a user may write there."""


def read_config() -> Config:
    """What is there; nothing where there is no file."""
    path = config_file()
    try:
        with open_input(path) as file:
            content = file.read().removeprefix(BOM_UTF8)
    except FileNotFoundError:
        return Config()
    except OSError as error:
        raise InvalidInput(
            f"cannot read {path}: {error.strerror}; correct that, or move it away"
        ) from None
    try:
        raw = msgspec.toml.decode(content)
        found = msgspec.convert(raw, Config, strict=False)
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8; save it as UTF-8") from None
    except msgspec.DecodeError as error:
        raise InvalidInput(f"{path}: {plainly(error)}; {KEYS}") from None
    _check_keys(path, raw)
    if found.model is not None and not found.model.strip():
        raise InvalidInput(f"{path}: `model` is empty; give provider/model or remove the line")
    return found


def _check_keys(path: Path, raw: dict[str, Any]) -> None:
    """Refuse an unknown key: it may be one of ours with a typing error."""
    from difflib import get_close_matches

    known = [*Config.__struct_fields__, *(f"limits.{name}" for name in Budget.__struct_fields__)]
    given = [*raw, *(f"limits.{name}" for name in raw.get("limits", ()))]
    for key in given:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            fix = f"did you mean `{near[0]}`?" if near else KEYS
            raise InvalidInput(f"{path}: unknown key `{key}`; {fix}")
