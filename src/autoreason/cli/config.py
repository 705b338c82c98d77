"""The user's defaults for new runs, from `config.toml`."""

from __future__ import annotations

from codecs import BOM_UTF8

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.fields import plainly
from autoreason.files import config_file, open_input
from autoreason.settings import LIMITS, Budget


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """What new runs start with where no option says otherwise."""

    model: str | None = None
    limits: Budget = Budget()

    def defaults(self) -> dict[str, object]:
        limits = {option: getattr(self.limits, name) for name, option in LIMITS.items()}
        found = {"model": self.model, **limits}
        return {name: value for name, value in found.items() if value is not None}


KEYS = (
    'it may contain a line such as model = "provider/model" and, under [limits], '
    "cost, tokens, calls and seconds, such as cost = 1.50"
)


def read_config() -> Config:
    path = config_file()
    try:
        with open_input(path) as file:
            content = file.read().removeprefix(BOM_UTF8)
        raw = msgspec.toml.decode(content)
        found = msgspec.convert(raw, Config, strict=False)
    except FileNotFoundError:
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read {path}: {error}; correct that, or move it away") from None
    except msgspec.DecodeError as error:
        raise InvalidInput(f"{path}: {plainly(error, Config)}; {KEYS}") from None
    if unknown := {*raw.get("limits", ())} - {*Budget.__struct_fields__}:
        raise InvalidInput(f"{path}: unknown key `{min(unknown)}`; {KEYS}")
    return found
