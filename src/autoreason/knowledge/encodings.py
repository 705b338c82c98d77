"""The text of a file, whatever it is encoded in: as it says itself, as kb.toml names it, or by what its signs are."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from itertools import islice
from typing import NamedTuple

from autoreason.errors import InvalidInput

_SAMPLE = 1_000
"""Lines beyond ASCII from which an encoding is recognised."""
_MIN_SHARE = 0.8
"""Of signs beyond ASCII that must be usual in a language for a text to be in it."""
_RUN = re.compile(r"[^\x00-\x7f]+")
_MAX_RUN = 3
"""Signs beyond ASCII in a row, in languages that have few of them."""
_WESTERN = frozenset(
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿŒœŠšŽžŸ€£°ºª«»¿¡§„“”‘’–—…•\u00a0"
)
_WIDE = re.compile("[\u2014\u2018-\u201d\u2026\u3000-\u303f\uff01-\uff5e]")
"""Punctuation of Chinese, Japanese and Korean."""
_KANA, _HANGUL = re.compile("[\u3040-\u30ff]"), re.compile("[\uac00-\ud7a3]")


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
        encoding = named or _tell_encoding(data)
    try:
        # Where UTF-8 is damaged, in a line that a full disk has cut, the rest can be read.
        return DecodedText(data.decode(encoding, _ERRORS.get(encoding, "strict")), encoding)
    except UnicodeError:
        raise InvalidInput(f"it is neither UTF-8 nor {encoding}; {_REMEDY}") from None


def check_encoding(name: str) -> None:
    """Raise ValueError for what is no encoding of texts."""
    try:
        b"text".decode(name or "utf-8", "ignore")
    except (LookupError, ValueError):
        raise ValueError(f"there is no encoding {name!r}") from None


_ERRORS = {"utf-8": "replace"}
_REMEDY = 'name its encoding in kb.toml, such as encoding = "gbk"'


def _tell_encoding(data: bytes) -> str:
    """The encoding in which a text has signs that are usual; refused where none or several will do."""
    lines = islice((line for line in BytesIO(data) if not line.isascii()), _SAMPLE)
    sample = b"".join(lines)
    likely = [name for name, share in _SHARES.items() if share(_decode(sample, name)) >= _MIN_SHARE]
    # One sign or two between Latin letters: nobody writes Chinese so.
    if likely and (len(likely) == 1 or likely[0] in ("utf-8", "cp1252")):
        return likely[0]
    perhaps = f" (it may be {' or '.join(likely)})" if likely else ""
    raise InvalidInput(
        f"it is not UTF-8, and its encoding cannot be recognised{perhaps}; {_REMEDY}"
    )


def _decode(sample: bytes, encoding: str) -> str:
    try:
        return sample.decode(encoding, _ERRORS.get(encoding, "strict"))
    except UnicodeError:
        return ""


def _western_share(text: str) -> float:
    """The share of usual letters, of which there are few in a row."""
    runs = _RUN.findall(text)
    usual = sum(sign in _WESTERN for run in runs if len(run) <= _MAX_RUN for sign in run)
    return usual / max(1, sum(map(len, runs)))


def _share_of(is_usual: Callable[[str], bool]) -> Callable[[str], float]:
    def share(text: str) -> float:
        signs = Counter("".join(_RUN.findall(text)))
        usual = sum(signs[sign] for sign in signs if is_usual(sign))
        return usual / max(1, signs.total())

    return share


def _is_chinese(sign: str) -> bool:
    # These rows of the standard have the 3,755 signs that are in daily use.
    first = sign.encode("gb2312", "ignore")[:1]
    return bool(_WIDE.match(sign)) or (sign >= "\u4e00" and b"\xb0" <= first < b"\xd8")


def _is_japanese(sign: str) -> bool:
    first = sign.encode("cp932", "ignore")[:1]
    is_kanji = sign >= "\u4e00" and b"\x88" <= first < b"\x99"
    return is_kanji or bool(_WIDE.match(sign) or _KANA.match(sign))


def _is_korean(sign: str) -> bool:
    return bool(_WIDE.match(sign) or _HANGUL.match(sign))


_SHARES: dict[str, Callable[[str], float]] = {
    "utf-8": _share_of(lambda sign: sign != "\ufffd"),
    "cp1252": _western_share,
    "gb18030": _share_of(_is_chinese),
    "cp932": _share_of(_is_japanese),
    "cp949": _share_of(_is_korean),
}
"""Encodings that are recognised, by how much of a text is usual in them."""
