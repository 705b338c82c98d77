"""API keys: where they are found, and how they stay out of sight."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from autoreason.errors import InvalidInput
from autoreason.paths import config_folder


class Secret:
    """A value that is used but never shown."""

    __slots__ = ("_prefix", "_value")

    def __init__(self, value: str, prefix: str = "") -> None:
        self._value = value
        self._prefix = prefix

    def after(self, prefix: str) -> Secret:
        """The same secret, to be sent behind a word such as `Bearer `."""
        return Secret(self._value, prefix)

    def reveal(self) -> str:
        """What goes over the wire."""
        return self._prefix + self._value

    def hide(self, text: str) -> str:
        """The text without the secret."""
        return text.replace(self._value, "[key]")

    def __repr__(self) -> str:
        return "Secret(…)"


def key_file() -> Path:
    """Where keys may be written down."""
    return config_folder() / "keys.toml"


def find_key(provider: str, variables: Iterable[str], *, needed: bool) -> Secret | None:
    """The key for a provider: from the environment, else from the key file."""
    names = tuple(variables)
    for name in names:
        value = os.environ.get(name, "").strip()
        if value:
            return _checked(value, f"the variable {name}")
    path = key_file()
    file_values = _read(path)
    for name in (*names, provider):
        value = file_values.get(name, "").strip()
        if value:
            return _checked(value, f"{name} in {path}")
    if needed:
        raise InvalidInput(
            f"{provider} needs an API key: set {' or '.join(names)},"
            f' or write `{names[0]} = "…"` into {path} (readable by you alone).'
        )
    return None


def _read(path: Path) -> dict[str, str]:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _unreadable(path, error) from None
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InvalidInput(
            f"the key file {path} can be read by others on this machine; run `chmod 600 {path}`"
        )
    # Most keys are in the environment.
    import tomllib

    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # The parser's message could quote the line, and the line is a key.
        where = getattr(error, "lineno", None)
        line = f" (line {where})" if where else ""
        raise InvalidInput(
            f'The key file {path} is not valid TOML{line}; each line reads NAME = "key".'
        ) from None
    except OSError as error:
        raise _unreadable(path, error) from None
    return {name: value for name, value in content.items() if isinstance(value, str)}


def _unreadable(path: Path, error: OSError) -> InvalidInput:
    return InvalidInput(
        f"the key file {path} cannot be read: {error.strerror}; fix that, or move it away"
    )


def _checked(value: str, where: str) -> Secret:
    """Refuse what no HTTP header can carry, without repeating it."""
    if not (value.isascii() and value.isprintable()):
        raise InvalidInput(
            f"the key in {where} contains characters that no API key has; copy it again"
        )
    return Secret(value)
