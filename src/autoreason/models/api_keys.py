"""API keys: where they are found, and how they stay out of sight."""

from __future__ import annotations

import os
import re
import stat
from base64 import b64encode
from collections.abc import Iterable
from difflib import SequenceMatcher
from pathlib import Path

from autoreason.errors import InvalidInput
from autoreason.files import open_input
from autoreason.paths import config_folder

_HIDDEN = "[key]"
_SHORTEST = 8
"""Letters of a key that is one: what is shorter, such as `none`, is part of other words."""
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")
_ALIKE = 0.72
"""Of the names of two providers none are so much."""


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
        """The text without the secret: as it is, percent-encoded, or in base64, whatever surrounds it there."""
        if len(self._value) < _SHORTEST:
            return text
        signs = (f"(?:%{ord(sign):02x}|{re.escape(sign)})" for sign in self._value)
        text = re.sub("".join(signs), _HIDDEN, text, flags=re.IGNORECASE)
        ends = [self._value[start:] for start in range(3)]
        forms = [b64encode(end[: len(end) // 3 * 3].encode()).decode() for end in ends]

        def hide_coded(word: re.Match[str]) -> str:
            plain = word[0].replace("-", "+").replace("_", "/")
            return _HIDDEN if any(form in plain for form in forms) else word[0]

        return _BASE64.sub(hide_coded, text)

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
    for name in file_values:
        stem = name.lower().removesuffix("_api_key")
        if provider not in stem and SequenceMatcher(None, stem, provider).ratio() >= _ALIKE:
            raise InvalidInput(f"{path}: unknown name `{name}`; did you mean `{provider}`?")
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
        with open_input(path) as file:
            content = tomllib.loads(file.read().decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # The parser's message could quote the line, and the line is a key.
        where = getattr(error, "lineno", None)
        line = f" (line {where})" if where else ""
        raise InvalidInput(
            f'The key file {path} is not valid TOML{line}; each line reads NAME = "key".'
        ) from None
    except OSError as error:
        raise _unreadable(path, error) from None
    for name, value in content.items():
        if not isinstance(value, str):
            raise InvalidInput(f'{path}: `{name}` is no key; each line reads NAME = "key"')
    return content


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
