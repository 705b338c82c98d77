"""The text of a file, whatever it is encoded in: as it says itself, as kb.toml names it, or as its letters say."""

from __future__ import annotations

import codecs
import re
from io import BytesIO
from itertools import islice
from typing import NamedTuple

from autoreason.errors import InvalidInput

_ENCODINGS = ["cp1252", "gb18030", "big5hkscs", "cp932", "euc_jp", "cp949", "cp1251", "cp1256"]
"""What mail and campaign tools write."""
_SAMPLE = 1_000
"""Lines beyond ASCII from which an encoding is recognised."""
_MIN_SHARE = 0.8
"""Of signs beyond ASCII that must be whole for a text to be UTF-8, or usual for it to be Western."""
_RUN = re.compile(r"[^\x00-\x7f]+")
_MAX_RUN = 3
"""Signs beyond ASCII in a row, in languages that have few of them."""
_WESTERN = frozenset(
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿŒœŠšŽžŸ€£°ºª«»¿¡§„“”‘’–—…•\u00a0"
)


class DecodedText(NamedTuple):
    """A text, and what it was encoded in."""

    text: str
    encoding: str
    """Empty for UTF-8."""


def decode_text(data: bytes, named: str = "") -> DecodedText:
    """The text of a file; `named` is what it is encoded in where it is not UTF-8."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return DecodedText(data.decode("utf-16", "replace"), "utf-16")
    if b"\0" in data[:1000]:
        even, odd = data[:1000:2].count(0), data[1:1000:2].count(0)
        if max(even, odd) * 3 < len(data[:1000]):
            raise InvalidInput("it is a binary file")
        encoding = "utf-16-be" if even > odd else "utf-16-le"
        return DecodedText(data.decode(encoding, "replace"), encoding)
    try:
        return DecodedText(data.decode("utf-8-sig"), "")
    except UnicodeDecodeError:
        encoding = named or _recognise(data)
    try:
        # Where UTF-8 is damaged, in a line that a full disk has cut, the rest can be read.
        errors = "replace" if encoding == "utf-8" else "strict"
        return DecodedText(data.decode(encoding, errors), encoding)
    except UnicodeError:
        raise InvalidInput(f"it is neither UTF-8 nor {encoding}; {_REMEDY}") from None


def check_encoding(name: str) -> None:
    """Raise ValueError for what is not an encoding of texts."""
    try:
        b"text".decode(name or "utf-8", "ignore")
    except (LookupError, ValueError):
        raise ValueError(f"there is no encoding {name!r}") from None


_REMEDY = 'name its encoding in kb.toml, such as encoding = "gbk"'


def _recognise(data: bytes) -> str:
    """The encoding in which a text reads best; refused where several are equally good."""
    from charset_normalizer import from_bytes

    lines = islice((line for line in BytesIO(data) if not line.isascii()), _SAMPLE)
    sample = b"".join(lines)
    signs = "".join(_RUN.findall(sample.decode("utf-8", "replace")))
    if signs.count("\ufffd") <= (1 - _MIN_SHARE) * len(signs):
        return "utf-8"
    # One letter or two between Latin ones say little, and Chinese is not written so.
    runs = _RUN.findall(sample.decode("cp1252", "replace"))
    usual = sum(sign in _WESTERN for run in runs if len(run) <= _MAX_RUN for sign in run)
    if usual >= _MIN_SHARE * sum(map(len, runs)):
        return "cp1252"
    found = from_bytes(sample, cp_isolation=_ENCODINGS)
    best = [each.encoding for each in found if each.chaos <= found[0].chaos]
    if len(best) == 1:
        return best[0]
    perhaps = f" (it may be {' or '.join(best)})" if best else ""
    raise InvalidInput(
        f"it is not UTF-8, and its encoding cannot be recognised{perhaps}; {_REMEDY}"
    )
