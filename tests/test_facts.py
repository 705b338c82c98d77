"""Facts are read as people write them, in five languages, and a rewrite that keeps them raises no alarm."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.growth import assert_linear

from autoreason.facts import (
    FACT_KINDS,
    Fact,
    FactKind,
    compare_facts,
    find_facts,
    find_unstated,
    sentence_of,
)

DATA = Path(__file__).parent / "data" / "facts"
LANGUAGES = ("en", "de", "fr", "es", "it")


def values(text: str, kind: FactKind | None = None) -> list[str]:
    """Normal forms, without weekdays of dates; of a name, what need not be said again is after a tab."""
    found = (fact.value for fact in find_facts(text) if kind in (None, fact.kind))
    return [value.partition("\t")[0] for value in found if not value.endswith("\t")]


@pytest.mark.parametrize("sentence", (DATA / "ways.txt").read_text("utf-8").splitlines())
def test_a_fact_is_the_same_however_it_is_written(sentence: str) -> None:
    frame, *ways = sentence.split(" | ")
    read = {way: values(frame.format(way)) for way in ways}
    assert len(set(map(tuple, read.values()))) == 1, read
    assert len(read[ways[0]]) == 1, read


@pytest.mark.parametrize(
    "text",
    [
        "1. Fetch the water\n2. Boil it\n\n## 3. Serve\n\nSee section 4, figure 2 and [5].",
        "One of them is a “scare quote”, and the other one is not.",
        "**Primary Channel:** talks\n\n# The Last Harbour\n\n- Bring a chair",
        "Adieu, liebe Langeweile",
        "Wenn Sie Fragen zur Rechnung haben, rufen Sie die Verwaltung an. Im Anhang ist der Vertrag.",
        "It is half a million euros and several thousand dollars for a million thanks.",
        "Das sind ein paar tausend Euro, nicht Millionen Euro und keine halbe Million Euro.",
        "We may come, and March on as you like; the march of time is for all of you.",
    ],
)
def test_what_only_looks_like_a_fact_is_none(text: str) -> None:
    assert not find_facts(text)


@pytest.mark.parametrize(
    ("given_text", "later"),
    [
        ("It is on 3 March 2025 for you.", "In 2025 it is on 3 March for you."),
        ("It is on Tuesday, 3 March for you.", "It is that Tuesday, 3 March, for you."),
        ("It is from 3 to 5 March for you.", "It is from 3 March to 5 March for you."),
        ("It is on 03/04/2025 for you.", "It is on 3 April 2025 for you."),
        ("It is on 03/04/2025 for you.", "It is on 4 March 2025 for you."),
        ("It opens at nine for you.", "It opens at 9:00 AM for you."),
        ("It opens at 2:30 for you.", "It opens at 14:30 for you."),
        ("It is a 14-day trial for you.", "It is a trial of 14 full days for you."),
        ("It is 250 EUR for you.", "In euros it is 250 for you."),
        ("She said “keep off the grass” to all.", "Keep off the grass, she said to all."),
        ("I asked Dr. Anna Schmidt for it.", "SCHMIDT'S word is needed for it."),
        ("Run `tally --all` for it.", "Run tally with --all for it."),
        ("Run `x=1` for it.", "Run `x = 1` for it."),
        ("It is half a million euros for you.", "It is 500,000 euros for you."),
        ("It is a thousand times for you, the best of it.", "It is the best of it for you."),
        ("Es sind mehrere tausend Euro für die Gäste.", "Es sind Tausende Euro für die Gäste."),
        ("It is two thirds of it for you.", "It is two-thirds of it for you."),
        ("It is a 20-person team for you.", "It is a twenty-person team for you."),
        ("It is a 1-hour trip for you.", "It is a one-hour trip for you."),
        ("It is a two-way street for you.", "It is a street for you."),
        ("It is a 5-year contract for you.", "It is a five-year contract for you."),
        ("There are 1.2 million cars of it.", "There are 1.2m cars of it."),
        ("There are 1.2m cars of it.", "There are 1.2 million cars of it."),
        ("It is all for you.\n\nJane Smith", "It is all for you.\n\nMrs Smith\n"),
        ("It is it.\n\nProject Timeline\n\nOn.", "It is it.\n\nNew Timeline\n\nOn."),
        ("C'est une facture de sept cents euros.", "C'est une facture de 700 euros."),
        ("C'est une équipe de sept personnes.", "Sept personnes pour une équipe."),
        ("C'est ouvert en sept. pour vous.", "C'est ouvert pour vous en septembre."),
        ("It takes 1 hour for you.", "It takes an hour for you."),
        ("It takes 60 minutes for you.", "It takes an hour for you."),
        ("It takes two weeks for you.", "It takes 14 days for you."),
        ("Es dauert 14 Tage für die Gäste.", "Es dauert zwei Wochen für die Gäste."),
        ("The chance is .05 of it.", "The chance is 0.05 of it."),
        ("It is 5 cents for you.", "It is $0.05 for you."),
        ("It is €0.50 for you.", "It is 50 cents for you."),
        ("Es kostet 1.249 Cent für die Gäste.", "Es kostet 12,49 Euro für die Gäste."),
        ("It was the European Union that paid.", "It was the EU that paid."),
        ("It is between five hundred and two thousand for you.", "It is 500 to 2000 for you."),
        ("It is between forty and one hundred and ten for you.", "It is 40 to 110 for you."),
        ("From £3-4m to €5m–€6m for you.", "From £3-4 million to €5 million–€6 million for you."),
        ("Two hundred and fifty-odd came for it.", "Some 250 came for it."),
        ("Wir haben 3 einfache Regeln für uns.", "Wir haben drei einfache Regeln für uns."),
        ("So said President Emmanuel Macron of France.", "So said Emmanuel Macron of France."),
        ("So said Anna Maria Schmidt of Bonn.", "So said Professor Anna Schmidt of Bonn."),
        ("So said Johann Wolfgang von Goethe.", "So said Goethe, Johann’s son."),
        ("It is the University of Oxford that pays.", "It is Oxford University that pays."),
        ("It is the Federal Republic of Germany that pays.", "It is Germany that pays."),
        ("It is the London School of Economics that pays.", "It is the LSE that pays."),
        ("It is the Technical University of Munich that pays.", "It is the TU Munich that pays."),
        (
            "From twenty to twenty-five of the ten two-day trips.",
            "20 to 25 of the ten two-day trips.",
        ),
    ],
)
def test_less_exact_words_state_a_fact_too(given_text: str, later: str) -> None:
    assert not compare_facts(given_text, later)


@pytest.mark.parametrize(
    ("later", "missing"),
    [
        ("We owe it to Peter Schmidt.", True),
        ("We owe it to Peter Schmidt; Schmidt was in time.", True),
        ("We owe it to Schmidt, or to Dr. A. Schmidt.", False),
        ("We owe it to Anna, as Peter Schmidt says.", False),
        ("We owe it to Mrs Schmidt. SCHMIDT was in time.", False),
    ],
)
def test_a_name_is_another_one_beside_another_first_name(later: str, missing: bool) -> None:
    given_text = "We owe it to Anna Schmidt."
    assert bool(compare_facts(given_text, later)) == missing


@pytest.mark.parametrize(
    ("given_text", "later"),
    [
        ("See https://a.example/my_page/one for it.", "See https://a.example/my_page/two for it."),
        ("Ask at first_last@a.example for it.", "Ask at first_last@b.example for it."),
        ("It is on 3 March 2025 for you.", "It is on 3 March for you."),
        ("It leaves at 9 am for you.", "It leaves at 9 pm for you."),
        ("Der Zug fährt um 9 Uhr für die Gäste.", "Der Zug fährt um 21 Uhr für die Gäste."),
        ("The dose is 5 mg for you.", "The dose is 5 g for you."),
        ("It takes 14 days for you.", "It takes three weeks for you."),
        ("It needs version 3.9 of it.", "It needs version 3.10 of it."),
        ("Run `a < b` for it.", "Run `a > b` for it."),
        ("Run `x == 1` for it.", "Run `x != 1` for it."),
        ("The chance is .05 of it.", "The chance is .5 of it."),
        ("Es kostet 50 Cent für die Gäste.", "Es kostet 50 Euro für die Gäste."),
        ("Es kostet 1.249 Cent für die Gäste.", "Es kostet 1.249 Euro für die Gäste."),
        ("It is a five-year contract for you.", "It is a four-year contract for you."),
        ("It is all, best,\nJane Smith\nDirector", "It is all, best,\nMary Smith\nDirector"),
        ("It is all for you.\n\nJane Smith\n", "It is all for you.\n\nMary Smith"),
        ("It is 50 cents for you.", "It is 50 euros for you."),
        ("It is 50p for you.", "It is 50 pounds for you."),
        ("It was the European Union that paid.", "It was the AU that paid."),
        ("The budget is £2.5m for you.", "The budget is £2.5 for you."),
        ("It is EUR 3 mio. for you.", "It is EUR 3 mrd. for you."),
        ("It is between one hundred and two hundred.", "It is between 100 and 300."),
        ("So said President Emmanuel Macron of France.", "So said Brigitte Macron of France."),
        ("So said President Emmanuel Macron.", "So said President Brigitte Macron."),
        ("Ask Klaus Brandt of Immo Sued GmbH.", "Ask Sabine Brandt of Immo Sued GmbH."),
        (
            "Para los demás habla Ana Gil de Obras Sur.",
            "Para los demás habla Eva Gil de Obras Sur.",
        ),
        ("It was the Bank of England that paid.", "It was the Church of England that paid."),
    ],
)
def test_a_small_change_of_a_fact_is_one(given_text: str, later: str) -> None:
    assert compare_facts(given_text, later)


def test_what_replaces_a_fact_is_named_with_it() -> None:
    draft = "The fee for the course is 250 EUR. It was Anna Schmidt that said so on 3 March."
    later = "The fee for the course is 300 EUR. It was Paula Ricci that said so, with 4 others."
    found = compare_facts(draft, later)
    assert [(old.text, new and new.text) for old, new in found.items()] == [
        ("250 EUR", "300 EUR"),
        ("Anna Schmidt", "Paula Ricci"),
        ("3 March", None),
    ]
    more = ["The fee is 300 EUR. Ask Paula Ricci."]
    (added,) = find_unstated(later, [draft, *more])
    assert added.text == "4"
    assert sentence_of(later, added) == "It was Paula Ricci that said so, with 4 others."
    assert not find_unstated(later, [draft, *more, "There are four of them."])
    assert not compare_facts(draft, draft.replace("250", "300"), kinds=["names"])


@pytest.mark.parametrize(
    ("later", "changed"),
    [
        (
            "- Adults: 5 EUR\n- Children: 12 EUR\n- Dogs: 12 EUR",
            {"12 EUR": "5 EUR", "5 EUR": "12 EUR"},
        ),
        ("- Adults: 12 EUR\n- Children: 5 EUR\n- Dogs: 5 EUR", {"12 EUR": "5 EUR"}),
        ("- Dogs: 12 EUR\n- Adults: €12\n- Children: 5 EUR", {}),
        ("Adults and dogs pay 12 EUR, children 5 EUR", {}),
    ],
)
def test_figures_that_changed_places_are_found(later: str, changed: dict[str, str]) -> None:
    found = compare_facts("- Adults: 12 EUR\n- Children: 5 EUR\n- Dogs: 12 EUR", later)
    assert {old.text: new and new.text for old, new in found.items()} == changed


@pytest.mark.parametrize(
    ("draft", "later", "changed"),
    [
        (
            "Der Eintritt kostet 12,50 Euro, ermäßigt 8 €, und für die Kinder ist er frei.",
            "Der Eintritt kostet 8 €, ermäßigt 12,50 Euro, und für alle Kinder ist er frei.",
            {"12,50 Euro": "8 €", "8 €": "12,50 Euro"},
        ),
        (
            "Das Konzert beginnt am Abend um 20 Uhr, die Kasse ist ab 13 Uhr offen.",
            "Das Konzert beginnt abends um 13 Uhr, die Kasse ist ab 20 Uhr offen.",
            {"20 Uhr": "13 Uhr", "13 Uhr": "20 Uhr"},
        ),
        (
            "Tickets cost 8 pounds, or 12.50 pounds for children.",
            "All tickets cost 12.50 pounds, or 8 pounds for children.",
            {"8 pounds": "12.50 pounds", "12.50 pounds": "8 pounds"},
        ),
        (
            "Tickets cost 8 pounds for adults, and 5 pounds for children.",
            "The tickets cost 5 pounds for children, and 8 pounds for adults.",
            {},
        ),
        ("Doors open at 6 pm, and it ends at 9 pm.", "It ends at 9 pm; doors open at 6 pm.", {}),
        ("Ring Mary on 020 7946 0958.", "Do ring Mary on 020 0958 7946.", "020 7946 0958"),
        ("Die Nummer ist 0621 48 39 20.", "Unsere Nummer: 0621 39 48 20.", "0621 48 39 20"),
        ("Telefon 06321 4839.", "Unser Telefon: 04839 6321.", "06321 4839"),
        ("Ring +44 20 7946 0958.", "Ring 020 7946 0958, please.", {}),
        ("Es ist +49 (0)621 48 39 20.", "Es ist 0621 483920.", {}),
        ("Ring +44 20 7946 0958.", "Ring +49 20 7946 0958.", "+44 20 7946 0958"),
        ("Telefon 0621 48 39 20.", "Unser Telefon: 0621/483920.", {}),
        ("There are 10 000 000 of them.", "There are 10,000,000 of them.", {}),
    ],
)
def test_figures_that_changed_places_are_found_beside_other_changes(
    draft: str, later: str, changed: dict[str, str] | str
) -> None:
    found = {old.text: new and new.text for old, new in compare_facts(draft, later).items()}
    assert list(found) == [changed] if isinstance(changed, str) else found == changed


def test_a_sentence_is_neither_cut_nor_joined_to_its_neighbours() -> None:
    text = "It rains. (In 2.5 Cities it rained on 3 May.) Nobody knew. 250 EUR is a lot for it."
    first, last = "(In 2.5 Cities it rained on 3 May.", "250 EUR is a lot for it."
    assert [sentence_of(text, fact) for fact in find_facts(text)] == [first, first, last]


def test_of_a_very_long_text_the_beginning_is_read() -> None:
    assert values(f"It is 5 km. {'word ' * 100_000}It is 7 km.") == ["5 km"]


def test_one_figure_again_and_again_is_compared_in_time() -> None:
    assert_linear(lambda times: compare_facts("1 km " * times, "2 km " * times), 1500)


ITEMS = st.sampled_from(
    [
        "A ticket is 41.50 EUR for all.",
        "We meet on 7 June 2031 for it.",
        "It was Ada Quill that came.",
        "There are 613 of them.",
        "See https://a.example/b for it.",
        "The sign is “mind the open gate” for all.",
        "Run `frob --now` for it.",
        "It is 88 km to the sea.",
    ]
)


@given(st.lists(ITEMS, unique=True, min_size=1), st.randoms(use_true_random=False))
def test_a_text_loses_what_its_missing_sentences_state(items: list[str], chance: Any) -> None:
    text = " ".join(items)
    mixed = chance.sample(items, len(items))
    assert not compare_facts(text, " ".join(mixed))
    lost = compare_facts(text, " ".join(mixed[1:]))
    assert [(fact.text, new) for fact, new in lost.items()] == [
        (find_facts(mixed[0])[0].text, None)
    ]


@settings(max_examples=50)
@given(st.text())
def test_any_text_states_what_it_states(text: str) -> None:
    assert not compare_facts(text, text)
    for fact in find_facts(text):
        assert text[fact.start : fact.end] == fact.text
        assert fact.kind in FACT_KINDS


@given(st.integers(1, 10**7), st.sampled_from([",", ".", " ", "\u202f", "'"]))
def test_grouping_leaves_a_number_as_it_is(number: int, mark: str) -> None:
    grouped = f"{number:,}".replace(",", mark)
    assert values(f"There are {grouped} of them.", "numbers") == values(
        f"There are {number:,} of them.", "numbers"
    )


@pytest.mark.parametrize(
    "piece",
    [
        "1",
        "1 ",
        "1,",
        "123 ",
        "“a ",
        '" ',
        "' ",
        "([{",
        "` ",
        "```\n",
        "\n",
        "Aa ",
        "a_",
        "a@",
        "a.",
        "/a",
        "A-",
        "3 May ",
        "two ",
        "hundred and ",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    assert_linear(lambda times: find_facts.__wrapped__(piece * times), 1500)


class Letter(NamedTuple):
    """A letter, the same in other words, and the facts in it that a person sees."""

    language: str
    text: str
    again: str
    facts: tuple[tuple[str, str], ...]


def letters() -> Iterator[Letter]:
    for language in LANGUAGES:
        for part in (DATA / f"{language}.txt").read_text(encoding="utf-8").strip().split("\n==\n"):
            text, again, listed = part.split("\n--\n")
            lines = (line.split(": ", 1) for line in listed.splitlines())
            facts = ((kind, fact) for kind, some in lines for fact in some.split(" | "))
            yield Letter(language, text, again, tuple(facts))


@pytest.mark.parametrize(
    "letter", list(letters()), ids=lambda each: f"{each.language}: {each.text[:20]}"
)
def test_the_same_facts_in_other_words_raise_no_alarm(letter: Letter) -> None:
    assert not compare_facts(letter.text, letter.again)
    assert not find_unstated(letter.again, [letter.text])


_WORDS = {
    "nine neun neuf nueve nove": "seven sieben sept siete sette",
    "five fünf cinq cinco cinque": "eight acht huit ocho otto",
    "three drei trois tres tre": "eight acht huit ocho otto",
    "zwölf douze doce dodici": "elf onze once undici",
}
NUMERALS = {
    old: new
    for olds, news in _WORDS.items()
    for old, new in zip(olds.split(), news.split(), strict=True)
}


def altered(kind: str, fact: str, chance: random.Random) -> str:
    """A fact as a careless rewrite would have it: another digit, another name, another word."""
    if kind == "names":
        return chance.choice(["Ulrike Brandt", "Sofia Moreau", "Jonas Keller", "Paula Ricci"])
    if kind == "quotes":
        words = fact.split(" ")
        words[chance.randrange(len(words))] = "xenon"
        return " ".join(words)
    if kind == "links":
        place = chance.choice([at for at, sign in enumerate(fact) if sign.isalnum() and at > 11])
        return f"{fact[:place]}{'z' if fact[place] != 'z' else 'y'}{fact[place + 1 :]}"
    if not (digits := [found.start() for found in re.finditer(r"\d", fact)]):
        return " ".join(NUMERALS.get(word, word) for word in fact.split(" ")).replace("off", "on")
    place = chance.choice(digits)
    return f"{fact[:place]}{8 if fact[place] == '9' else int(fact[place]) + 1}{fact[place + 1 :]}"


def test_nine_of_ten_planted_changes_are_found() -> None:
    chance = random.Random(32)
    planted = [(each, kind, fact) for each in letters() for kind, fact in each.facts]
    found: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    for letter, kind, fact in chance.sample(planted, 150):
        for new in ("", altered(kind, fact, chance)):
            assert new != fact
            difference = compare_facts(letter.text, letter.text.replace(fact, new))
            for group in ("all", kind, letter.language):
                tried[group] += 1
                found[group] += bool(difference)
    assert tried["all"] == 300
    assert all(found[group] >= 0.9 * tried[group] for group in tried), (found, tried)


class Pair(NamedTuple):
    """Two texts of a run, the later one made of the first."""

    key: str
    given: str
    later: str


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def recorded_pairs(folder: Path) -> Iterator[tuple[str, str]]:
    """Texts and what was made of them: in the transcripts, and where a small model went on from what it had."""
    for path in sorted((folder / "transcripts").glob("*.jsonl")):
        for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            if line["type"] == "pass":
                both = (line["version_b"], line["version_ab"])
                yield from ((line["version_a"], new) for new in both if new)
    lines = map(json.loads, (folder / "small_critic.jsonl").read_text("utf-8").splitlines())
    texts = list(dict.fromkeys(line["under_review"] for line in lines if line["source"] == "texts"))
    words = {text: set(text.casefold().split()) for text in texts}
    for place, text in enumerate(texts):
        for new in texts[place + 1 : place + 8]:
            shared = len(words[text] & words[new])
            if 2 * shared >= min(len(words[text]), len(words[new])) and len(words[new]) > 8:
                yield text, new


def drawn_pairs(folder: Path) -> list[Pair]:
    pairs = {
        digest(old, new): Pair(digest(old, new), old, new)
        for old, new in recorded_pairs(folder)
        if old != new
    }
    keys = sorted(pairs)
    random.Random(32).shuffle(keys)
    return [pairs[key] for key in keys[:200]]


def drawn_alarms(pair: Pair) -> set[str]:
    """Keys of four alarms at most, of those that a pair raises."""

    def key(old: Fact, new: Fact | None) -> tuple[str, str]:
        parts = (pair.key, old.kind, old.text)
        return digest(*parts), digest(*parts, new.text if new else "")[:8]

    found = starmap(key, compare_facts(pair.given, pair.later).items())
    return {alarm for _, alarm in sorted(found)[:4]}


def test_alarms_on_real_texts_are_true(shared: Path) -> None:
    """Each was judged by a person: does the later text no longer say this, or say something else?"""
    lines = (DATA / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    judged = {line["pair"]: line for line in map(json.loads, lines)}
    true: Counter[bool] = Counter()
    raised: Counter[bool] = Counter()
    for pair in drawn_pairs(shared / "recorded"):
        line = judged[pair.key]
        alarms = drawn_alarms(pair)
        assert alarms <= line["alarms"].keys(), f"{pair.key} has alarms that nobody has judged"
        # Sixty of the pairs were set aside while the readers were written.
        raised[line["aside"]] += len(alarms)
        true[line["aside"]] += sum(line["alarms"][alarm] for alarm in alarms)
    assert len(judged) == 200
    assert sum(raised.values()) > 400
    assert all(true[aside] >= 0.95 * raised[aside] for aside in (True, False)), (true, raised)
