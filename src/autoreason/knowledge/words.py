"""A text as words that can be searched and compared, in any script; and what no model should be shown of it."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_ASCII = re.compile(r"[a-z0-9]+")
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer: no spaces between words, or endings that hide them."""
# Vowel signs of Indian scripts are marks, which Python does not count as parts of a word.
_WORD = re.compile(rf"[{_UNSPACED}]+|(?:[^\W_{_UNSPACED}]|[\u0900-\u0963\u0966-\u0dff])+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
MAX_SIMILARITY = 0.8


def split_words(text: str) -> list[str]:
    """The words of a text without case and diacritics; pairs of signs where a script has no spaces."""
    if text.isascii():
        return _ASCII.findall(text.lower())
    parts = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(sign for sign in parts if not unicodedata.combining(sign))
    found = []
    # Composed again: the decomposition takes Korean syllables apart.
    for word in _WORD.findall(unicodedata.normalize("NFC", plain)):
        if _IS_UNSPACED.match(word):
            # The last sign by itself makes every sign the beginning of a word that is indexed.
            found += [word[at : at + 2] for at in range(len(word))]
        else:
            found.append(word)
    return found


_SAYING_NOTHING = (
    "a an and are as at be but by can do for from has have how i if in is it its more my no not of on or our so "
    "than that the their this to us was we what when which who will with you your als am auch auf aus bei bis das "
    "dass dein deine dem den der des die diese dieser du durch ein eine einen einer er es fur haben hat ich ihr "
    "ihre ihren ihrer im ist jetzt kann kein keine man mehr mein mit nach nicht noch nur oder ohne schon sein "
    "sich sie sind uber um und uns unser unsere vom von vor wenn werden wie wir wird zu zum zur al como con de "
    "del el en esta este la las le lo los mas para pero por que se si sin son su sus te tu un una y ya au aux "
    "avec ce ces cette dans elle est et il je les leur mais mes ne nos notre nous ont ou par pas plus pour qui sa "
    "ses sont sur une vos votre vous ao aos com da dos e em na nao nas o os pela pelo sem seu sua uma voce"
)
"""Words that say nothing of what a text is about, in the languages whose columns are known."""
FILLERS = frozenset(_SAYING_NOTHING.split())


def is_single_sign(word: str) -> bool:
    """Whether a word is one sign of a script that is searched by pairs of signs."""
    return len(word) == 1 and bool(_IS_UNSPACED.match(word))


@lru_cache(20_000)
def word_set(text: str) -> frozenset[str]:
    return frozenset(split_words(text))


def plain_text(text: str) -> str:
    """A text as its words alone, for which two copies are the same."""
    return " ".join(split_words(text)) or text


def share(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of the shorter text's words that the other has; 0 where that is over twice as long."""
    short, long = sorted((one, other), key=len)
    if not short or len(long) > 2 * len(short):
        return 0.0
    return len(short & long) / len(short)


def is_too_similar(one: str, other: str) -> bool:
    """Whether knowing how one did gives away how the other did."""
    return share(word_set(one), word_set(other)) > MAX_SIMILARITY


_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff\U000e0000-\U000e007f]")
_READER = r"""(?:ai|llm|gpt|language\ models?|models?|judges?|critics?|graders?|evaluators?|assistants?|chatbots?
    |claude|chatgpt|gemini)"""
_GOODS = r"(?!text|one|candidate|option|version|draft|answer|submission|record|subject|line|mail|message|copy)[a-z]+"
_ADDRESSES_MODEL = re.compile(
    rf"""
    \b(?:ignore|disregard|forget(?!\ the\ rules(?:[.!]|$))|override)\b.{{0,30}}
       \b(?:instructions?|prompts?|rules|context|above|previous|prior)\b
    |\b(?:ignor\w+|desconsider\w+|esque[cç]\w+|olvid\w+|oubli\w+|vergiss|missachte\w*)\b.{{0,30}}
       \b(?:instru[cçk]\w+|anweisung\w*|consignes?|regras|reglas|regeln|anterior\w*|vorherig\w*|prompts?)
    |(?:忽略|无视|無視|忘记|忘掉).{{0,12}}(?:指令|指示|说明|說明|提示|要求|规则)|(?:これまで|以前)の指示を
    |(?:تجاهل|انس|أهمل).{{0,20}}(?:التعليمات|الأوامر|السابقة)
    |\bигнорир\w+.{{0,30}}(?:инструкци|указани)
    |\b(?:system|developer)\ prompts?\b|<\|[a-z_]+\|>|\[/?INST\]|<</?SYS>>|^\W{{0,3}}(?:system|assistant)\s*:
    |\b(?:rank|rate|score|grade|place|judge|choose|pick|prefer)\b.{{0,20}}
       \b(?:text|candidate|option|version|draft|answer|submission|record)s?\b.{{0,20}}
       \b(?:first|highest|top|best|winner)\b
    |\b(?:rank|rate|score|grade)\ (?:this(?!\ {_GOODS}\ 10\ out\ of)|me|it|the\ (?:first|second|third|last|other))\b
       .{{0,20}}\b(?:first|highest|top|best|10)\b
    |\b(?:attention|dear|note\ to|message\ (?:to|for)|instructions?\ (?:to|for)|hey|hello)\s+
       (?:(?:all|the|any|every)\s+)?{_READER}\b
    |\b(?:ai|llm|language)[-\ ]?(?:models?|judges?|graders?|evaluators?|assistants?)\b.{{0,20}}
       \b(?:must|should|shall|reading|please|you)\b
    |\b(?:judges|critics|graders|evaluators)\b\W{{0,3}}(?:must|should|shall|please|you)\b.{{0,40}}
       \b(?:rank|choose|pick|prefer|vote|give|answer|reply|score|award|ignore)\b
    |\b(?:you\ are|act\ as|pretend\ to\ be)\ (?:now\ )?(?:an?|the)\ (?:\w+\ )?{_READER}\b
    |\bas\ an?\ (?:ai|large)\ (?:language\ )?(?:model|assistant)\b
    |\b(?:respond|reply|answer|output)\ (?:only\ )?with\ (?:only\ )?(?:the\ )?(?:word|letter|json|ranking|text)\b
    """,  # noqa: RUF001
    re.IGNORECASE | re.VERBOSE,
)
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
_PHONE = re.compile(
    r"""(?<![\w.,/-])(?:
    (?:\+|00)\d{1,3}[\s./()-]{0,2}(?:\d[\s./()-]{0,2}){6,12}\d
    |\(0?\d{1,4}\)[\s.-]{0,2}(?:\d[\s.-]?){4,9}\d
    |0\d{1,4}[\s./-](?:\d[\s.-]?){4,9}\d
    |(?!1\.\d{3}\.\d{3}\.\d{3}(?!\d))(?:1[\s.-])?\d{3}[\s.-](?!000)\d{3}[\s.-]\d{3,4}
    |0\d{8,11}|\d{10,11}
    )(?![\w]|[.,-]\d)""",
    re.VERBOSE,
)
_STREET = re.compile(
    r"""
    \b\d{1,5}[a-z]?\s+(?:[A-Z][\w'.-]*\s+){1,4}(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct
       |Square|Sq|(?:Way|Place)(?!\s+(?:to|for)\b)|Terrace|Highway|Hwy)\b\.?
    |\b(?:Rua|R\.|Avenida|Av\.|Travessa|Pra[cç]a|Largo|Calle|C/|Plaza|Paseo|Via|Piazza|Corso|Rue|Boulevard|Place)\s
       [^\n,;]{2,40}?[,\s]\s?(?:n\.?[ºo°]\s?)?\d{1,5}\b
    |\b\d{1,4}(?:\s?bis)?,?\s(?:rue|avenue|boulevard|place|chemin|quai)\s[^\n,;.]{2,40}
    |\b[A-ZÄÖÜ][\wäöüß-]*(?:straße|strasse|str\.|weg|platz|allee|gasse|ring|damm|ufer)\s\d{1,4}\s?[a-z]?\b
    |[\u4e00-\u9fff]{2,12}(?:路|街|大道|巷)\s?\d{1,5}\s?[号號]
    """,
    re.VERBOSE,
)
_MASKS = ((_EMAIL, "[e-mail]"), (_PHONE, "[phone]"), (_STREET, "[address]"))


def lines_to_models(text: str) -> list[str]:
    """Lines that seem to speak to a model that reads them, rather than to the text's readers."""
    # Without the tricks that hide a word: invisible signs, other forms of letters.
    lines = ((each, _INVISIBLE.sub("", each)) for each in text.splitlines())
    plain = ((line.strip(), unicodedata.normalize("NFKC", seen)) for line, seen in lines)
    return [line for line, seen in plain if _ADDRESSES_MODEL.search(seen)]


def mask(text: str) -> str:
    """The text with a sign in place of e-mail addresses, telephone numbers and street addresses."""
    for pattern, sign in _MASKS:
        text = pattern.sub(sign, text)
    return text
