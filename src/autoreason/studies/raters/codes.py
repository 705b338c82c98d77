"""Codes under which people know the texts: easy to say, without a meaning."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from itertools import product

from autoreason.errors import InvalidInput

_USUAL = "bdfgklmnprt"
_RARE = "vwzxj"
_VOWELS = "aiou"
_WORDS = (
    "baja bizo bova bozo buxo buzi diva dixi dova doxa doxi fava favo foxi gaza giza goza jaga"
    " jago jaka jako jana jani jari jaro java jiga jigo jima jimi jimo jiva jiza jizu jobo jodi"
    " jodo joga jogo jota judo juga jugo jura kaja kavu kaza kiva kiwi kova koza kuja lava lavo"
    " laza lazo lixo loza luxa luxo maja maxi mazo mixo mojo moxa mozo naja navi navo nazi nivo"
    " nova novo nozi pazi pija pijo pivo pixa piza pizo puja pujo puva puvi puzo raja raju razo"
    " rizo roja rojo rova ruzo taxa taxi tiza toxo tuza vada vadi vaga vagi vago vaji vati vato"
    " vida viki vila vili vina vino vita vito voda vola vora vuka vulo wada wagi wago waka wali"
    " wapo wiki wino xana xota zaka zako zapo zara zina zita zito zona zoro zulu zuni"
)
"""Words of some language, names, and words that may offend."""


def _letters(code: tuple[str, ...]) -> bool:
    first, _, second, _ = code
    return first != second and (first in _RARE or second in _RARE)


_CODES = tuple(
    "".join(code).upper()
    for code in product(_USUAL + _RARE, _VOWELS, _USUAL + _RARE, _VOWELS)
    if _letters(code) and "".join(code) not in _WORDS
)
"""One rare letter at least: few words of any language look like that."""


def draw_codes(count: int, texts: Iterable[str], rng: random.Random) -> tuple[str, ...]:
    """Codes that occur in none of the texts, unlike each other and with first letters as different as can be."""
    upper_texts = [text.upper() for text in texts]
    shuffled = rng.sample(_CODES, len(_CODES))
    codes: list[str] = []
    first_letters: Counter[str] = Counter()
    # In the first round one code for each first letter, in the second another, and so on.
    for max_uses, code in product(range(1, count + 1), shuffled):
        if len(codes) == count:
            break
        unused = first_letters[code[0]] < max_uses and all(_unlike(code, other) for other in codes)
        if unused and not any(code in text for text in upper_texts):
            codes.append(code)
            first_letters[code[0]] += 1
    if len(codes) < count:
        raise InvalidInput(
            f"no {count} codes are left that occur in none of the texts; split them into two packets"
        )
    return tuple(codes)


def _unlike(code: str, other: str) -> bool:
    """Whether two codes differ in two letters or more."""
    return sum(a != b for a, b in zip(code, other, strict=True)) > 1
