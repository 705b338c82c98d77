"""The contract is kept by code, whatever a judge may think."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases

from autoreason.contract import Contract, count_words
from autoreason.errors import InvalidInput


def broken(contract: Contract, text: str) -> list[str]:
    return [violation.rule for violation in contract.violations(text)]


def fixes(contract: Contract, text: str) -> list[str]:
    return [fix for _, fix in contract.breaches(text)]


@cases(
    ("contract", "keeps", "breaks"),
    [
        (Contract(max_words=3), "one two three", "one two three four"),
        (Contract(min_words=2), "one two", "one"),
        (Contract(sections=("Risks",)), "# P\n\n## 2. **Risks:**\n\nNo.", "# P\n\nRisks are none."),
        (Contract(sections=("Risks",)), "Risks\n=====\n\nNone.", "```sh\n# Risks\n```\nNone."),
        (Contract(format="json"), "[1]", "NaN"),
        (Contract(format="json"), "null", "[" * 100_000),
        (Contract(must_include=("Lisbon",)), "In Lisbon.", "In Porto."),
        (Contract(must_include=(r"/\d{4}-\d\d/",)), "By 2026-11.", "By winter."),
        (Contract(must_not_include=("synergy",)), "Together.", "With synergy."),
        (Contract(must_not_include=("/(?i)synergy/",)), "Together.", "Synergy!"),
        (Contract(must_not_include=(r"/\btre\b/",)), "C'est être.", "Un, tre."),
        (Contract(format="json"), '{"a": [1]}', '{"a": [1}'),
        (Contract(format="plain"), "Just words.", "# A heading\n\nand **bold** words."),
        (Contract(must_include=("a/b",)), "It is a/b here.", "It is a b here."),
        (Contract(max_characters=4), " Tide\n", "Tides"),
        (Contract(min_sentences=2), "Dr. Lee came. We left at 9 a.m. on 3. Mai.", "Dr. Lee came."),
        (Contract(max_sentences=1), "# So\n\nIt is e.g. “Who? Me!” he said", "One. Two."),
        (Contract(max_sentences=1), "Wir sind am 4. Tag im 2. Stock.", "Es sind 2. Wir gehen."),
        (Contract(max_sentences=1), "Am 24.12. Dienstag ist Ruhe.", "Es ist am 24.12. Danke!"),
        (Contract(max_sentences=1), "Im 2. Stock, ab 3.1. Raum 9.", "I am 24. My name is Bo."),
        (Contract(max_sentences=1), "Das ist der 24.12. (Dienstag).", "Bis 3. Das ist bald."),
        (Contract(max_sentences=1), "24.12. Feier, 27.12. Freitag Ruhe.", "It is 4.5. She did it."),
        (Contract(max_paragraphs=1), "Dear Ann,\n\nCome.\n\n- tea\n\nYours,\nBo", "One.\n\nTwo."),
        (Contract(min_items=2), "- a\n  - b\n1. c\n", "- a\n  - b\n"),
        (Contract(emojis="none"), "Fine ✓ © 1 → 2 ☺", "Fine 🎉"),
        (
            Contract(language="de"),
            "Das Hotel Bellevue hat ab Montag wieder geöffnet, sagt Tom.",
            "The hotel is open again from Monday on, says Tom.",
        ),
        (
            Contract(language="de"),
            "Nice weather, Tom!",
            "Le musée est fermé lundi et mardi pour travaux.",
        ),
    ],
)
def test_a_text_keeps_a_rule_or_breaks_it(contract: Contract, keeps: str, breaks: str) -> None:
    assert broken(contract, keeps) == []
    assert len(broken(contract, breaks)) == 1


def test_a_text_too_short_to_tell_loads_no_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autoreason.contract._load_detector", None)
    assert broken(Contract(language="de"), "Nice weather today, Tom!") == []


def test_no_line_of_a_text_takes_long_to_be_looked_at() -> None:
    contract = Contract(sections=("Risks",), format="plain")
    started = time.process_time()
    for line in ("# a" + " " * 50_000 + "b", "# a" + " #" * 25_000 + "b", "#" * 50_000):
        assert "sections" in broken(contract, line)
    assert count_words("-" * 200_000 + "\n" + "|" * 200_000 + " word") == 1
    assert broken(Contract(format="plain", max_items=9), "- a\n" * 100_000 + "[" * 100_000)
    assert not broken(Contract(format="plain"), "[" * 100_000)
    assert time.process_time() - started < 5


def test_the_rules_read_as_sentences() -> None:
    contract = Contract(max_words=160, must_not_include=("/very/",), format="plain")
    no_match = "Does not contain a match of /very/."
    assert contract.rules() == ("At most 160 words.", no_match, "Is plain text without Markdown.")
    one = Contract(min_items=1, max_items=1, emojis="none", language="fr")
    assert one.rules() == ("Exactly 1 item.", "Has no emojis.", "Is written in French.")
    assert Contract().rules() == ()


@cases(
    ("keys", "said"),
    [
        ({"max_words": 0}, "`max_words` is 0"),
        ({"min_items": 5, "max_items": 2}, "min_items and max_items exclude each other"),
        ({"must_include": ("/(/",)}, "cannot be searched for"),
        (
            {"must_include": ("x",), "must_not_include": ("x",)},
            "must_include and must_not_include exclude each other",
        ),
        ({"sections": (" ",)}, "a text to look for is empty"),
        ({"format": "json", "sections": ("Risks",)}, "format json and sections exclude each other"),
    ],
)
def test_a_contract_that_cannot_be_kept_is_refused(keys: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        Contract(**keys)  # type: ignore[arg-type]


@cases("pattern", ["(a+)+$", "(x+x+)+y"])
def test_a_pattern_that_would_hang_is_an_error_and_not_a_result(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autoreason.contract._SEARCH_SECONDS", 0.1)
    with pytest.raises(InvalidInput, match="cannot be searched for"):
        broken(Contract(must_include=(f"/{pattern}/",)), "a" * 5000 + "x" * 5000 + "b")


_ATOMS = st.sampled_from(
    [
        *("a", "Ü", "é", " ", ".", r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"\.", r"\n"),
        *("[a-c]", "[^a]", r"[\wé-]", r"[\s\S]", r"[^\W]", "[]a]", "[a-c-]", r"\x61", r"\u00e9"),
        *("(?:a|é)", r"(?:\ba)", r"(?:é\b|b)", "(a)", "(?i:É)", r"[^\s.]", "(?!b)", "(?<=a)"),
    ]
)
_REPEATS = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{0,2}", "{,2}", "*?", "+?"])
_PATTERNS = st.tuples(
    st.sampled_from(["", "", "(?i)", "(?m)", "(?s)", "(?ims)"]),
    st.sampled_from(["", "", "^", r"\A", r"\b"]),
    st.lists(st.tuples(_ATOMS, _REPEATS).map("".join), min_size=1, max_size=5).map("".join),
    st.sampled_from(["", "", "$", r"\Z", r"\b"]),
).map("".join)


@given(_PATTERNS, st.text(alphabet="aAbÜüéÉ _.1٣\n-\u2003", max_size=12))
def test_a_pattern_is_found_where_python_finds_it(pattern: str, text: str) -> None:
    found = not broken(Contract(must_include=(f"/{pattern}/",)), text)
    assert found == bool(re.search(pattern, text))


def test_a_fix_says_how_far_off_a_text_is_and_where_the_fault_lies() -> None:
    contract = Contract(
        max_words=5,
        must_include=("Tuesday",),
        must_not_include=("very", r"/\bI\b/"),
        sections=("Risks",),
        format="plain",
    )
    text = "A dark night. It was very **dark** and I slept!\n\nThe end."
    assert fixes(contract, text) == [
        "12 words, at most 5 allowed; cut 7 or more",
        "no heading “Risks”; write the line “## Risks”",
        "“Tuesday” is missing",
        "“very” is there and must not be, in “It was very **dark** and I slept!”",
        r"a match of /\bI\b/ is there and must not be, in “It was very **dark** and I slept!”",
        "it has Markdown, in “It was very **dark** and I slept!”",
    ]
    longer = Contract(max_sentences=1, max_characters=9)
    signs, sentences = fixes(longer, "One. Two. Three.")
    assert signs == "16 characters, at most 9 allowed; cut 7 or more"
    assert sentences == "3 sentences, at most 1 allowed; cut 2 or more"
    assert [each.words_off for each in longer.violations("One. Two. Three.")] == [7, 2]
    exact = Contract(min_words=3, max_words=3)
    assert fixes(exact, "Short.") == ["1 word, at least 3 needed; add 2 or more"]
    assert fixes(exact, "One two three four") == ["4 words, at most 3 allowed; cut 1 or more"]


@given(st.text(), st.lists(st.sampled_from(["a", "b", "/c+/", " "]), unique=True))
def test_there_is_a_fix_for_every_violation_and_it_names_it(text: str, unwanted: list[str]) -> None:
    words = tuple(each for each in unwanted if each.strip())
    contract = Contract(max_words=3, must_not_include=words, sections=("Risks",), format="plain")
    for violation, fix in contract.breaches(text):
        assert fix.startswith(violation.message)


@cases(
    ("text", "words"),
    [
        ("## Risks and costs", 3),
        ("- one\n* two\n+ three", 3),
        ("1. First\n2) Second\n   10. Tenth", 3),
        ("## 2. Costs", 1),
        ("| a | b |\n|---|:-:|\n| 1 | two |", 4),
        ("It costs 5. Or 1. That is all", 8),
        ("One – two & three … ***", 3),
        ("- [x] done\n- [ ] not", 3),
        ("---\n\n___", 0),
        ("In 1999\n2000. came", 4),
        ("会議は 金曜日です", 2),
        ("", 0),
    ],
)
def test_words_are_counted_as_a_person_counts_them(text: str, words: int) -> None:
    assert count_words(text) == words
    assert Contract(min_words=words + 1).violations(text)
    assert not words or not Contract(min_words=words, max_words=words).violations(text)
