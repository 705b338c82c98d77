"""Users' regular expressions, searched in linear time: RE2 with Python's semantics."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from autoreason.errors import InvalidInput

_TOKEN = re.compile(
    r"""(?P<escape>\\(?:N\{[^}]*\}|x..|u.{4}|U.{8}|0[0-7]{0,2}|[1-3][0-7]{2}|[1-9]\d?|.))
    | (?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])
    | (?P<comment>\(\?\#[^)]*\))
    | (?P<flag>\(\?[aiLmsux]+\))
    | (?P<group>\((?:\?(?:P<\w+>|:|i:))?)(?!\?)
    | (?P<refused>\(\?(?:P[=>]|<?[=!]|[>(])?)
    | (?P<repeat>(?:[*+?]|\{(?:\d+(?:,\d*)?|,\d+)\})[?+]?)
    | (?P<plain>.)""",
    re.VERBOSE | re.DOTALL,
)
_IN_SET = re.compile(r"\\(?:N\{[^}]*\}|x..|u.{4}|U.{8}|[0-7]{1,3}|.)|.", re.DOTALL)
_MARK = "\ufdd0"
"""Put into the text at every word boundary, because RE2 knows those of ASCII only; no text has this character."""
_BOUNDARY = re.compile(r"\b")
_REFUSED = {
    "(?=": "a look-ahead",
    "(?!": "a look-ahead",
    "(?<=": "a look-behind",
    "(?<!": "a look-behind",
    "(?P=": "a back-reference",
    "(?>": "an atomic group",
    "(?(": "a condition",
}
_WORDS: dict[str, Callable[[str], bool]] = {
    "w": lambda sign: sign.isalnum() or sign == "_",
    "s": str.isspace,
    "d": str.isdecimal,
}
_CLASSES = {"w": r"\p{L}\p{N}_", "d": r"\p{Nd}"}
_CONTROLS = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_WHOLE_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.UNICODE


def parsed(source: str) -> re.Pattern[str]:
    """The pattern as Python reads it; one clear sentence where that cannot be done."""
    try:
        return re.compile(source)
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidInput(
            f"/{source}/ is not a regular expression: {error}; correct it or drop the slashes"
        ) from None


class Regex:
    """A pattern in Python's syntax, without what only backtracking can match."""

    def __init__(self, source: str) -> None:
        import re2

        flags = parsed(source).flags
        self._marks = _boundaries(source)
        options: Any = re2.Options()
        options.log_errors = False
        options.never_capture = True
        try:
            self._compiled = re2.compile(_Translation(source, flags, self._marks).text(), options)
        except re2.error as error:
            reason = error.args[0].decode(errors="replace") if error.args else "unknown"
            raise _beyond(source, f"something RE2 cannot search for ({reason})") from None

    def found_in(self, text: str) -> bool:
        """Whether it matches somewhere."""
        text = text.replace(_MARK, "\ufffd")
        if self._marks:
            text = _BOUNDARY.sub(_MARK * self._marks, text)
        return self._compiled.search(text) is not None


def _boundaries(source: str) -> int:
    return sum(token["escape"] == r"\b" for token in _TOKEN.finditer(source))


def _beyond(source: str, what: str) -> InvalidInput:
    return InvalidInput(
        f"/{source}/ has {what}; patterns are searched in linear time, so that none can hang: "
        "write it without, or as several simpler entries"
    )


class _Translation:
    """The same pattern for RE2: Unicode classes spelled out, boundaries as marks in the text."""

    def __init__(self, source: str, flags: int, marks: int) -> None:
        self._source = source
        self._flags = flags
        self._skip = f"{_MARK}{{0,{marks}}}" if marks else ""
        if flags & ~_WHOLE_FLAGS:
            raise _beyond(source, "a flag other than i, m and s")

    def text(self) -> str:
        """All of it."""
        start = "(?i)" if self._flags & re.IGNORECASE else ""
        return start + "".join(
            getattr(self, f"_{token.lastgroup}")(token.group())
            for token in _TOKEN.finditer(self._source)
        )

    def _one(self, signs: str) -> str:
        """An expression for one character, with the marks that may come before it."""
        return f"(?:{self._skip}{signs})" if self._skip else signs

    def _escape(self, token: str) -> str:
        letter = token[1]
        if letter == "b":
            return _MARK
        if letter == "B":
            raise _beyond(self._source, r"\B")
        if letter == "A":
            return r"\A"
        if letter == "Z":
            return self._skip + r"\z"
        if letter in "123456789" and len(token) < 4:
            raise _beyond(self._source, f"a back-reference ({token})")
        return self._one(f"[{_member(token)}]")

    def _set(self, token: str) -> str:
        negated = token.startswith("[^")
        inside = _IN_SET.findall(token[1 + negated : -1])
        signs = "".join(_members(inside))
        return self._one(f"[{'^' + _MARK if negated else ''}{signs}]")

    def _comment(self, _: str) -> str:
        return ""

    def _flag(self, _: str) -> str:
        return ""

    def _group(self, token: str) -> str:
        return "(?i:" if token == "(?i:" else "(?:"

    def _refused(self, token: str) -> str:
        raise _beyond(self._source, _REFUSED.get(token, "a flag within a group other than i"))

    def _repeat(self, token: str) -> str:
        if token.endswith("+") and len(token) > 1:
            raise _beyond(self._source, f"a possessive repeat ({token})")
        greedy = token[:-1] if token.endswith("?") and len(token) > 1 else token
        return greedy.replace("{,", "{0,")

    def _plain(self, token: str) -> str:
        if token == ".":
            return self._one(f"[^{_MARK}]" if self._flags & re.DOTALL else rf"[^{_MARK}\n]")
        if token == "^":
            return "(?m:^)" if self._flags & re.MULTILINE else r"\A"
        if token == "$":
            return self._skip + ("(?m:$)" if self._flags & re.MULTILINE else r"\n?\z")
        return token if token in "|)" else self._one(_literal(token))


def _members(inside: list[str]) -> Iterator[str]:
    """The parts of a set; a hyphen between two others makes a range of them."""
    at = 0
    while at < len(inside):
        yield _member(inside[at])
        at += 1
        if inside[at : at + 1] == ["-"] and at + 1 < len(inside):
            yield "-" + _literal(inside[at + 1])
            at += 2


def _member(token: str) -> str:
    """What one token means inside of a set."""
    letter = token[1:2] if token.startswith("\\") else ""
    if letter and letter in "wds":
        return _CLASSES.get(letter) or _ranges(letter, False)
    if letter and letter in "WDS":
        return _ranges(letter.lower(), True)
    return _literal(token)


def _literal(token: str) -> str:
    """A character as an escape that has no other meaning."""
    return f"\\x{{{_code(token):x}}}"


def _code(token: str) -> int:
    if len(token) == 1:
        return ord(token)
    letter, rest = token[1], token[2:]
    if letter in "xuU":
        return int(rest, 16)
    if letter == "N":
        return ord(unicodedata.lookup(rest[1:-1]))
    if letter.isdecimal():
        return int(token[1:], 8)
    return _CONTROLS.get(letter, ord(letter))


@cache
def _ranges(letter: str, negated: bool) -> str:
    """The characters that Python has in a class, or those it has not."""
    has, parts, start = _WORDS[letter], [], None
    for code in range(0x110001):
        sign = chr(code) if code < 0x110000 else ""
        wanted = bool(sign) and sign != _MARK and has(sign) != negated
        if wanted and start is None:
            start = code
        elif not wanted and start is not None:
            parts.append(f"\\x{{{start:x}}}-\\x{{{code - 1:x}}}")
            start = None
    return "".join(parts)
