"""Which column of a table is what: by the words of its name, in several languages, and by what is in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from typing import Any, Literal

from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.knowledge.encodings import check_encoding
from autoreason.knowledge.values import PERIODS, guess_date_format, is_missing, is_rate, read_date

_NUMERIC = re.compile(r"[\s\u00a0\d.,'’%+eE-]+")
_DATES = 50
"""Values by which it is seen whether a column has dates."""
_YES, _NO = (
    frozenset(words.split())
    for words in (
        "approved accepted approve accept yes y true 1 good published sim ja si oui",
        "rejected declined reject decline no n false 0 bad nao nein non",
    )
)


class Columns(Struct, frozen=True, forbid_unknown_fields=True):
    """Which column is what, by its name; empty where there is none. Some may also be the value itself."""

    text: str = ""
    value: str = ""
    """A rate or another number; where there are `count` and `n`, for lines in which they are missing."""
    count: str = ""
    """How many opened, clicked or bought."""
    n: str = ""
    """Of how many."""
    se: str = ""
    group: str | tuple[str, ...] = ""
    """Also several; `month` and `week` are those of the date where no column has the name."""
    when: str = ""
    audience: str = ""
    verdict: str = ""
    score: str = ""
    pair: str = ""
    private: str = ""
    note: str = ""
    metric: str = ""
    better: str = ""
    chosen: str = ""
    encoding: str = ""
    """No column: what the table is encoded in where it is not UTF-8."""

    def __post_init__(self) -> None:
        check_encoding(self.encoding)

    def named(self) -> dict[str, Any]:
        """Those that are known."""
        return {name: column for name in self.__struct_fields__ if (column := getattr(self, name))}

    def shown(self) -> dict[str, str]:
        """The same in words."""
        group = {"group": " and ".join(self.group_parts)} if self.group else {}
        return {**self.named(), **group}

    @property
    def group_parts(self) -> tuple[str, ...]:
        """What groups are made of."""
        return tuple(filter(None, [self.group] if isinstance(self.group, str) else self.group))


_CONSTANTS = ("metric", "better", "chosen")
_LISTS = "list*, liste*, audience*, segment*, newsletter, zielgruppe*, verteiler*, publico*"
_METRICS = {
    "open rate": "open*, offnung*, geoffnet*, apertur*, abiert*, abert*, ouvert*, 打开数, 開封数",
    "click rate": "click*, klick*, geklickt*, clic*, cliq*, ctr, 点击数",
    "conversion rate": "conver*, konver*, purchas*, signup*, successes",
}
"""What readers do, the preferred first; a column counts it or, where its name says so, is the rate itself."""
_WORDS = {
    "text": "text, subject line, email subject, subject, subject*, betreff*, asunto*, assunto*, objet*, sujet*, "
    "标题, 主题, 件名, headline*, uberschrift*, titular*, message, ad copy, copy, body, content, titel, titulo, titre, "
    "title, description, name",
    "n": "n, sample size, impress*, einblendung*, delivered, deliver*, zugestellt*, entreg*, delivr*, livr*, 送达数, "
    "sent, sends, emails sent, total sent, versendet*, versandt*, verschickt*, gesendet*, enviad*, envoy*, 发送数, "
    "配信数, recipient*, empfang*, destinat*, visitors, views, sessions, users",
    "rate": "rate, result",
    "se": "se, standard error, stderr, std error",
    "group": "group, gruppe, grupo, groupe, test, test id, ab test, a b test, experiment, experiment id, topic, "
    f"prompt, campaign, campaign name, campaign id, campanha, kampagne, kampagnenname, campana, campagne, {_LISTS}",
    "when": "when, send* date*, sent*, send time, versand*, versendet*, verschickt*, gesendet*, envoi*, envoy*, "
    "envio*, enviad*, publish*, date, date*, datum*, fecha*, data, data*, 日期, 日付, day, tag, week, woche, semaine, "
    "semana, month, monat, mois, mes, timestamp, zeitpunkt*, time, created at",
    "audience": _LISTS,
    "verdict": "verdict, decision, approved, status",
    "score": "score, rating, mark, nota",
    "private": "private, confidential",
    "note": "note, notes, comment, comments",
    "chosen": "chosen, how chosen",
}
"""What people and tools call columns, the likeliest first: a whole name, or, with stars, how words of it begin."""
_ABOUT_OTHERS = re.compile(
    r"\b(?:id|url|link|preview|vorschau|preheader|length|forwarded|weitergeleitet|not|nicht|no|non|nao|last|first|letzte|"
    r"erste|time|weekday|wochentag|type|status|cost|revenue|umsatz|modified|updated|mobile|desktop|bot|machine)\b"
)
_SEEN = "impress*, einblendung*, views, visitors, sessions, users"
"""What is clicked rather than opened."""


class MissingColumn(InvalidInput):
    """A table has no column of a name that was given."""


def plain_name(header: str) -> str:
    """A name as its words, without case and diacritics."""
    plain = unicodedata.normalize("NFKD", header.casefold())
    letters = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return " ".join(re.findall(r"[^\W_]+", letters))


def _find_phrase(header: str, phrases: str) -> int | None:
    """Which of some phrases a column is called by, the first that fits; None where none does."""
    name = plain_name(header)
    about_others = _ABOUT_OTHERS.search(name)

    def fits(phrase: str) -> bool:
        if "*" not in phrase:
            return name == phrase
        # German makes one word of several: a long stem may be anywhere in one.
        return not about_others and all(
            re.search(stem if len(stem) > 4 else rf"\b{stem}", name)
            for stem in phrase.replace("*", "").split()
        )

    return next((at for at, phrase in enumerate(phrases.split(", ")) if fits(phrase)), None)


@lru_cache(1000)
def find_metric(header: str) -> str:
    """What a column is about: `open rate`, `click rate`, `conversion rate`; empty where that is none or several."""
    found = [name for name, words in _METRICS.items() if _find_phrase(header, words) is not None]
    return found[0] if len(found) == 1 else ""


def read_verdict(value: object) -> Literal["approved", "rejected"] | None:
    """What a cell decides; None where that is nothing."""
    said = plain_name(str(value))
    return "approved" if said in _YES else "rejected" if said in _NO else None


class ColumnGuess:
    """Which column is what, by the columns' names and by what is in them."""

    def __init__(self, sample: Sequence[Mapping[str, Any]], given: Columns) -> None:
        self._sample = sample
        self.headers = list(dict.fromkeys(key for cells in sample for key in cells))
        self._chosen = given.named()
        if self.headers:
            self._check(given)

    def _check(self, given: Columns) -> None:
        """Refuse columns that are not there; parts of a group may be any word that is not nearly one's name."""
        named = {plain_name(header): header for header in reversed(self.headers)}
        if given.group:
            parts = (named.get(plain_name(part), part) for part in given.group_parts)
            self._chosen["group"] = tuple(parts)
        for role, column in self._chosen.items():
            for part in column if role == "group" else [column]:
                near = get_close_matches(part, self.headers, 1, 0.8)
                free = part in PERIODS or not near if role == "group" else role in _CONSTANTS
                if part not in self.headers and not free and role != "encoding":
                    hint = f"; did you mean {near[0]!r}?" if near else ""
                    raise MissingColumn(
                        f"there is no column {part!r}, which kb.toml names for {role}{hint}"
                    )

    def columns(self) -> Columns:
        """What is given, and guesses for the rest."""
        texts = sorted(self._candidates("text"), key=self._has_numbers)
        self._choose("text", texts or self._longest_texts())
        self._choose_result()
        for role in ("verdict", "pair", "private", "note", *_CONSTANTS):
            self._choose(role, self._candidates(role))
        self._choose("when", filter(self._has_dates, self._candidates("when")))
        # A column in which every row differs groups nothing.
        self._choose("group", filter(self._repeats, self._candidates("group")))
        self._choose("audience", self._candidates("audience"))
        if "verdict" in self._chosen and not self._has_verdicts(self._chosen["verdict"]):
            del self._chosen["verdict"]
        return Columns(**self._chosen)

    def _choose_result(self) -> None:
        self._choose("n", (each for each in self._numeric("n") if not _is_rate(each)))
        # A thing that is seen is clicked, a mail is opened.
        seen = _find_phrase(self._chosen.get("n", ""), _SEEN) is not None
        metrics = sorted(_METRICS, key=lambda each: seen and each == "open rate")

        def order(header: str) -> tuple[int, bool, bool, int]:
            """What counts each reader once comes first, then the shorter name."""
            name, metric = plain_name(header), metrics.index(find_metric(header))
            once = re.search("unique|eindeutig|unic", name)
            return metric, not once, "total" in name, len(name.split())

        known = [each for each in self._free() if find_metric(each) and self._has_numbers(each)]
        results = sorted(known, key=order)
        if "n" in self._chosen and "value" not in self._chosen:
            self._choose("count", (each for each in results if not _is_rate(each)))
        rates = list(filter(_is_rate, results))
        if "count" in self._chosen:
            metric = find_metric(self._chosen["count"])
            self._choose("value", (each for each in rates if find_metric(each) == metric))
        else:
            self._choose("value", [*self._numeric("value"), *rates, *self._numeric("rate")])
        for role in ("se", "score"):
            self._choose(role, self._numeric(role))

    def _choose(self, role: str, among: Iterable[str]) -> None:
        for first in islice(among, 1):
            self._chosen.setdefault(role, first)

    def _free(self) -> list[str]:
        taken = [column for other, column in self._chosen.items() if other != "audience"]
        return [each for each in self.headers if each not in taken]

    def _candidates(self, role: str) -> list[str]:
        phrases = _WORDS.get(role, role)
        found = [(_find_phrase(each, phrases), len(each.split()), each) for each in self._free()]
        fitting = [(at, words, each) for at, words, each in found if at is not None]
        return [each for *_, each in sorted(fitting, key=lambda each: each[:2])]

    def _numeric(self, role: str) -> list[str]:
        return list(filter(self._has_numbers, self._candidates(role)))

    def _known(self, header: str) -> list[Any]:
        values = (cells.get(header) for cells in self._sample)
        return [value for value in values if not is_missing(value)]

    def _has_numbers(self, header: str) -> bool:
        values = self._known(header)
        numbers = [each for each in values if not isinstance(each, str) or _NUMERIC.fullmatch(each)]
        signs = [each for each in values if isinstance(each, str) and not each.strip().isdigit()]
        return len(numbers) * 2 > len(values) and not _are_dates(signs)

    def _has_dates(self, header: str) -> bool:
        # 1, 2, 3 are weeks of some year, and 1254 is a count.
        return _are_dates([each for each in self._known(header) if len(str(each)) > 5])

    def _longest_texts(self) -> list[str]:
        """Columns of words by their length, the longest first."""
        lengths = {
            header: sum(len(str(value)) for value in self._known(header))
            for header in self.headers
            if not self._has_numbers(header)
        }
        return sorted(lengths, key=lengths.__getitem__, reverse=True)

    def _repeats(self, header: str) -> bool:
        values = self._known(header)
        return len(set(map(str, values))) < len(values)

    def _has_verdicts(self, header: str) -> bool:
        values = self._known(header)
        return len(list(filter(read_verdict, values))) * 2 > len(values)


def _is_rate(header: str) -> bool:
    return is_rate(header) or "%" in header


def _are_dates(values: Sequence[object]) -> bool:
    """Whether most of some values are dates."""
    form = guess_date_format(values[:_DATES], day_first=False)
    dates = []
    for each in values[:_DATES]:
        with suppress(ValueError):
            dates.append(read_date(each, form))
    return len(dates) * 2 > len(values[:_DATES])
