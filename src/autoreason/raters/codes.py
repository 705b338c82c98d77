"""Codes under which people know the texts: easy to say, without a meaning."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product

from autoreason.errors import InvalidInput

_USUAL = "bdfgklmnprt"
_RARE = "vwzxj"
_VOWELS = "aiou"
_MEANT = (
    "baja bizo bova bozo buxo buzi diva dixi dova doxa doxi fava favo foxi gaza giza goza jaga"
    " jago jaka jako jana jani jari jaro java jiga jigo jima jimi jimo jiva jiza jizu jobo jodi"
    " jodo joga jogo jota judo juga jugo jura kaja kavu kaza kiva kiwi kova koza kuja lava lavo"
    " laza lazo lixo loza luxa luxo maja maxi mazo mixo mojo moxa mozo naja navi navo nazi nivo"
    " nova novo nozi pazi pija pijo pivo pixa piza pizo puja pujo puva puvi puzo raja raju razo"
    " rizo roja rojo rova ruzo taxa taxi tiza toxo tuza vada vadi vaga vagi vago vaji vati vato"
    " vida viki vila vili vina vino vita vito voda vola vora vuka vulo wada wagi wago waka wali"
    " wapo wiki wino xana xota zaka zako zapo zara zina zita zito zona zoro zulu zuni"
)
"""Words of some language, names, and what is better left unsaid."""


def _letters(code: tuple[str, ...]) -> bool:
    first, _, second, _ = code
    return first != second and (first in _RARE or second in _RARE)


_CODES = tuple(
    "".join(code).upper()
    for code in product(_USUAL + _RARE, _VOWELS, _USUAL + _RARE, _VOWELS)
    if _letters(code) and "".join(code) not in _MEANT
)
"""One rare letter at least: few words of any language look like that."""


def draw_codes(count: int, texts: Iterable[str], rng: random.Random) -> tuple[str, ...]:
    """Codes that occur in none of the texts, each unlike the others, with a first letter of its own while there is one."""
    written = [text.upper() for text in texts]
    drawn: list[str] = []
    for code in rng.sample(_CODES, len(_CODES)):
        if len(drawn) == count:
            break
        free = _free_letters(drawn)
        if code[0] in free and _unlike(code, drawn) and not any(code in text for text in written):
            drawn.append(code)
    if len(drawn) < count:
        raise InvalidInput(
            f"no {count} codes are left that occur in none of the texts; make two packets of them"
        )
    return tuple(drawn)


def _free_letters(drawn: Sequence[str]) -> set[str]:
    """Letters that begin the fewest codes so far."""
    times = Counter({letter: 0 for letter in (_USUAL + _RARE).upper()})
    times.update(code[0] for code in drawn)
    return {letter for letter, count in times.items() if count == min(times.values())}


def _unlike(code: str, others: Sequence[str]) -> bool:
    """Whether a code differs from each of the others in two letters or more."""
    return all(sum(a != b for a, b in zip(code, other, strict=True)) > 1 for other in others)
