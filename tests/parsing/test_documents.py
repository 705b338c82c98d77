"""Only the document becomes a candidate, and nothing in it gives away how it was written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases
from tests.growth import assert_linear
from tests.tournament.stage import Answer, play

from autoreason.contract import Contract
from autoreason.events import CandidateDropped, DraftReady
from autoreason.parsing import _LazyPattern, ballots, critiques, documents, pattern, rankings
from autoreason.parsing.documents import (
    Document,
    find_additions,
    find_echo,
    find_leaks,
    find_sentences,
    read_document,
    read_list,
    same_text,
    too_alike,
    without_opener,
)
from autoreason.prompts import PromptSet, built_in
from autoreason.task import read_task


@cases(
    ("reply", "text", "notes"),
    [
        ("<document>\nHello.\n</document>\n<notes>\nCut.\n</notes>", "Hello.", "Cut."),
        ("<document>\nHello.\n</document>\nHope it helps.", "Hello.", ""),
        ("Hello.\n<notes>\nCut.", "Hello.", "Cut."),
        ("Hello.\n<notes>Cut.</notes>\n", "Hello.", "Cut."),
        ("Hello. <notes>Cut.</notes>", "Hello.", "Cut."),
        ("Tags look like <notes>x</notes>", "Tags look like <notes>x</notes>", ""),
        ("Use the <notes> element.\n\nMore.", "Use the <notes> element.\n\nMore.", ""),
        ("The <document> tag wraps.\n\nEnd.", "The <document> tag wraps.\n\nEnd.", ""),
        ("A\n<notes>\nx\n</notes>\nB", "A\n<notes>\nx\n</notes>\nB", ""),
        ("<notes>Cut.</notes>\n\nHello.", "Hello.", "Cut."),
        ("<notes>A</notes>\n" * 9999 + "Hello.", "<notes>A</notes>\n" * 9998 + "Hello.", "A"),
        (
            "<notes>Hello.</notes> is how notes look.",
            "<notes>Hello.</notes> is how notes look.",
            "",
        ),
        ("Hello.", "Hello.", ""),
        ("Hello.\n<notes>\nCut.\n</notes>", "Hello.", "Cut."),
        ("```markdown\n# Hello\n```", "# Hello", ""),
        ("<document>\n```\nHello.\n```\n</document>", "Hello.", ""),
        ("<DOCUMENT>Hello.</DOCUMENT>", "Hello.", ""),
        (
            "<document>\nUse <document> tags </document> well.\n</document>",
            "Use <document> tags </document> well.",
            "",
        ),
        ("<<<TEXT 4e0c1f2a3b4d5e6f>>>\nHello.\n<<<END TEXT 4e0c1f2a3b4d5e6f>>>", "Hello.", ""),
        ("<<<TEXT 4e0c1f2a3b4d5e6f>>\n\nHello.\n<notes>\nCut.\n</notes>", "Hello.", "Cut."),
        ("Hello.\n<<<END TEXT FS 4e0c1f2a3b4d5e6f>>>\n", "Hello.", ""),
        ("<<<TEXT 4e0c1f2a3b4d5e6f>>>", "", ""),
        (
            "One.\n<<<END TEXT 4e0c1f2a3b4d5e6f>>>\n\n<<<TEXT 4e0c1f2a3b4d5e6f>>>\nTwo.",
            "One.\n\nTwo.",
            "",
        ),
        ("TEXT 4e0c1f2a3b4d5e6f\nHello.\n4e0c1f2a3b4d5e6f", "Hello.", ""),
        ("The trace is 4e0c1f2a3b4d5e6f.", "The trace is 4e0c1f2a3b4d5e6f.", ""),
        ("", "", ""),
    ],
)
def test_document_and_notes_are_kept_apart(reply: str, text: str, notes: str) -> None:
    assert read_document(reply) == Document(text, notes)


def test_a_code_block_inside_a_document_stays() -> None:
    text = "```python\nx = 1\n```\n\nand\n\n```python\ny = 2\n```"
    assert read_document(f"<document>\n{text}\n</document>").text == text


@given(st.text(alphabet=st.characters(exclude_characters="<>`", exclude_categories=["Cs", "Cc"])))
def test_any_document_comes_back_as_it_was(text: str) -> None:
    assert (
        read_document(f"<document>\n{text}\n</document>\n<notes>\nx\n</notes>").text == text.strip()
    )


def test_clones_differ_in_white_space_at_most() -> None:
    assert same_text("a  b\n\nc", "a b c")
    assert not same_text("a b c", "a b c.")


@cases(
    "text",
    [
        "Here is the revised version:\n\nDear all,",
        "Here's my improved draft of the plan.\n\n# Plan",
        "Sure! Below is the text you asked for.\n\nDear all,",
        "**Revised Proposal**\n\nDear all,",
        "<<<TEXT 88035e678418922d>>\nDear all,",
        "Dear all,\n\n4e0c1f2a3b4d5e6f",
        "TEXT FS 4e0c1f2a3b4d5e6f: Dear all,",
        "Dear all,\n<<<END TEXT 4e0c1f2a3b4d5e6f>>>\n<<<TEXT 4e0c1f2a3b4d5e6f>>>\nDear all,",
        "Here's the welcome note:\n\nDear all,",
        "I've rewritten the note.\n\nDear all,",
        "Dear all,\n\n## Changes made\n\n- Cut the middle.",
        "Dear all,\n\nChangelog:\n- Cut the middle.",
        "Dear all. This addresses the critique that it was long.",
        "Dear all. Unlike the original version, we start in May.",
        "This synthesis combines both proposals.",
        "Dear all,\n\nThis revised text provides what was missing.",
        "Dear all,\n\nHere is the edited version:\n\nDear all,",
        "We keep the pricing of Version A here.",
        "Dear all,\n\n*[Fixes: missing date]*",
        "Dear all,\n\nThis sentence has been edited for grammar and clarity.",
        "Dear all. The text was rewritten to be more concise.",
        'Dear all,\n\n(major) "the budget": vague, missing',
    ],
)
def test_what_gives_a_text_away_is_found(text: str) -> None:
    assert find_leaks(text)


@cases(
    "text",
    [
        "Here is the plan for May: we open on Monday.",
        "# Revision control at Acme\n\nWe use Git.",
        "The critique of pure reason is a book.",
        "Version 2 of the API drops the old endpoint.",
        "This text is short.",
        "The bill has been revised for clarity. The text was rewritten by the committee in May.",
        "First draft a plan, then text a friend about version b of it.",
        "The card is 4111111111111111 and the commit 4e0c1f2a3b4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f.",
        "As critics have noted, the film is long.",
        "We changed the locks. Changes take effect on Monday.",
    ],
)
def test_ordinary_prose_is_left_alone(text: str) -> None:
    assert find_leaks(text) == ()


def test_wording_and_codes_of_the_task_itself_are_no_leak() -> None:
    text = "# 2.0\n\n## Changelog\n\n- Faster."
    assert find_leaks(text)
    assert find_leaks(text, "Write release notes with a changelog.") == ()
    text = "The trace is 4e0c1f2a3b4d5e6f."
    assert find_leaks(text) == ("4e0c1f2a3b4d5e6f",)
    assert find_leaks(text, "Explain the trace 4e0c1f2a3b4d5e6f.") == ()


def test_recorded_revisions_leak_as_often_as_the_audit_found_and_first_drafts_never(
    shared: Path,
) -> None:
    leaking = total = 0
    for name in ("v2_task01", "constrained_s4_task01"):
        text = (shared / "recorded" / "transcripts" / f"{name}.jsonl").read_text("utf-8")
        run, *passes = map(json.loads, text.splitlines())
        assert find_leaks(run["initial_a"], run["task_prompt"]) == ()
        total += len(passes)
        leaking += sum(bool(find_leaks(p["version_b"], run["task_prompt"])) for p in passes)
    # The audit counted 59 % over all revisions.
    assert 0.5 < leaking / total < 0.7


@cases("sign", ["_", "*", "[", "(", "\n", "# ", "a ", "a", "1"])
def test_the_work_grows_with_the_length_of_a_degenerate_text_and_no_faster(sign: str) -> None:
    end = " was x critique change revision original version "
    assert_linear(lambda times: find_leaks(sign * times + end), 5_000)


@pytest.mark.parametrize("kept", ["", "Dear all,"])
def test_blank_lines_after_an_announcement_are_walked_once(kept: str) -> None:
    opener = "Sure, here is the text:"
    assert_linear(lambda times: without_opener(opener + "\n" * times + kept), 5_000)


def test_a_long_brief_is_read_once_however_many_leaks_there_are() -> None:
    def work(lines: int) -> None:
        text = "".join(f"Changes made {at}\n" for at in range(lines))
        assert len(find_leaks(text, "We open in May. " * lines)) == lines

    assert_linear(work, 400)


def test_only_a_line_that_announces_what_follows_is_taken_off() -> None:
    assert without_opener("Sure, here is the text:\n\n---\n\nDear all,") == "Dear all,"
    for text in (
        "Here is the plan:\n\nWe open on Monday.",
        "Here is the revised text:",
        "Sure, here we are. Come in!\n\nDear all,",
        "Dear all,\n\nHere is the revised text:\n\nWe open.",
    ):
        assert without_opener(text) == text
    wanted = "Begin with “Here is the revised text of the statutes”."
    kept = "Here is the revised text of the statutes:\n\nArticle 1."
    assert without_opener(kept, wanted) == kept


def test_recorded_texts_of_a_small_model_that_repeat_our_words_are_found(shared: Path) -> None:
    lines = (shared / "recorded" / "small_critic.jsonl").read_text("utf-8").splitlines()
    replies = [json.loads(line) for line in lines]
    texts = {each["under_review"] for each in replies if each["source"] == "texts"}
    briefs = (shared / "bench" / "real_model" / "briefs").glob("*.md")
    rules = tuple({rule for path in briefs for rule in read_task(str(path)).contract.rules()})
    announced = [text for text in texts if text.startswith(("Sure, here", "Here is the revised"))]
    assert announced
    assert all(without_opener(text) != text for text in announced)
    repeated = [text for text in texts if "Contains “" in text and "limits" not in text]
    assert repeated
    assert all(find_sentences(text, rules) for text in repeated)


PROMPTS = built_in().with_small()
REAL = [
    'These words are about the notice and no part of it, so its readers must not see them: "25"',
    "Passport, charger <notes>Checked by a program that throws out any text that breaks one: x</notes>",
    "The text breaks 2 of the limits that a program checks:\n\n- 176 words",
    "# Your part: revise it\n\n## Decided\n\nThe club has bought four clocks.",
    "# Open\n\nWhat must change: The budget is not settled.",
]


@pytest.mark.parametrize("text", REAL)
def test_the_words_of_a_request_are_found_in_a_text(text: str) -> None:
    assert find_echo(text, PROMPTS)


def test_what_the_task_says_itself_is_no_echo() -> None:
    assert find_echo(REAL[2], PROMPTS, REAL[2]) == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The library will be closed on Tuesday for cleaning and opens again on Wednesday at nine.",
        "Answer with care. Prefer the concrete. The text is short. Rank them. Write it well.",
        "# Steps\n\n1. Fill the kettle.\n\n# You need\n\n- Vinegar",
    ],
)
def test_a_text_of_its_own_is_none(text: str) -> None:
    assert find_echo(text, PROMPTS) == ""


@given(st.text(), st.text(max_size=40))
def test_it_is_found_wherever_it_stands_and_is_a_part_of_the_text(before: str, after: str) -> None:
    prompts = PromptSet(
        {"a": "{{ x }} Write one two three four five six seven eight words {{ y }}"}
    )
    text = f"{before} Write one, two three\nfour FIVE six seven {after}"
    found = find_echo(text, prompts)
    assert found
    assert found in text


@given(st.text(), st.text())
def test_what_a_task_may_say_does_not_depend_on_what_was_searched_before(
    before: str, after: str
) -> None:
    prompts = PromptSet({"a": "Write one two three four five six seven words"})
    text = f"{before}\nWrite one two three four five six seven\n{after}"
    assert [bool(find_echo(text, prompts, *allowed)) for allowed in ((), (text,), ())] == [
        True,
        False,
        True,
    ]


async def test_a_revision_that_repeats_the_request_is_not_judged_nor_a_repair_taken() -> None:
    played = await play({"reviser": REAL[1]}, passes=1, max_drafts=1)
    dropped = [each for each in played.of(CandidateDropped) if each.slot == "B"]
    assert [each.reason for each in dropped] == ["contract"]
    assert "repeats the request and does not belong in the text" in dropped[0].detail
    short = {"draft/try/0": "Too short.", "draft/repair": REAL[1]}
    played = await play(short, contract=Contract(min_words=5), passes=1, max_drafts=1)
    (ready,) = played.of(DraftReady)
    assert ready.text == "Too short."


async def test_another_draft_is_written_in_place_of_one_that_gives_itself_away() -> None:
    asked = "I understand that the text needs work. Please provide the original text."
    script = {"draft/try/0": asked, "draft/rewrite": asked, "drafts/2/try/0": "A text of its own."}
    played = await play(script, passes=1, max_drafts=3)
    (ready,) = played.of(DraftReady)
    assert (ready.text, ready.number, ready.of) == ("A text of its own.", 2, 2)


WELCOME = Contract(
    min_words=8,
    max_words=300,
    sections=("Rooms",),
    must_include=("Tern Lighthouse", "/(?i)breakfast/"),
    must_not_include=("please", r"/\d+ stars/"),
)
COMPLAINT = "A match of /(?i)breakfast/ is missing, but you can add Tern Lighthouse to your answer."


@pytest.mark.parametrize("text", ["Too short.", "please, 5 stars " * 200])
def test_every_sentence_about_a_broken_limit_is_known_in_a_text_that_repeats_it(text: str) -> None:
    sentences = WELCOME.sentences()
    for said in (*(fix for _, fix in WELCOME.breaches(text)), *WELCOME.rules()):
        for line in (f"- {said}", f"- (critical) {said.upper()}", f"Welcome. {said}"):
            assert find_sentences(line, sentences), line
        assert not find_sentences(f"- {said}", sentences, f"Write about “{said}”"), said


@cases(
    "text",
    [
        COMPLAINT,
        "/(?i)breakfast/ is missing.",
        'Change this text: - "tern lighthouse" is missing',
        "#### Critical: “Tern Lighthouse” is missing",
        '**Critical** - "Tern Lighthouse" is missing.',
        "Come in! At least 8 words. At most 300 words.",
        "- **Contains “Tern Lighthouse.”**",
        "“A match of /(?i)breakfast/ is missing” repeats the request",
    ],
)
def test_it_is_known_in_other_marks_and_next_to_other_words(text: str) -> None:
    assert find_sentences(text, WELCOME.sentences())


@cases(
    "text",
    [
        "Welcome to Tern Lighthouse! Breakfast is at eight.",
        "The word “Tern Lighthouse” is missing from the old sign.",
        "“Tern Lighthouse” is missing from some maps.",
        "The sign (left) contains “Tern Lighthouse”, and **the other** contains “Tern Lighthouse” too.",
        "`/(?i)breakfast/` finds the word however it is written: “Breakfast” contains a match of /(?i)breakfast/.",
        "Where a match of /(?i)breakfast/ is missing, grep prints nothing.",
        "Send us at most 300 words. At least 8 words of yours will be read aloud.",
    ],
)
def test_prose_that_has_its_words_is_not_taken_for_it(text: str) -> None:
    assert not find_sentences(text, WELCOME.sentences())


def test_no_recorded_text_of_a_strong_model_is_taken_for_it(shared: Path) -> None:
    briefs = (shared / "bench" / "real_model" / "briefs").glob("*.md")
    said = tuple(each for path in briefs for each in read_task(str(path)).contract.sentences())
    texts = [
        text
        for path in (shared / "recorded" / "transcripts").glob("*.jsonl")
        for line in path.read_text("utf-8").splitlines()
        for text in json.loads(line).values()
        if isinstance(text, str)
    ]
    assert len(texts) > 200
    assert not [text for text in texts if find_sentences(text, said)]


async def test_a_text_that_repeats_what_is_said_of_a_broken_limit_does_not_keep_it() -> None:
    contract = Contract(must_include=("Tern Lighthouse", "/(?i)breakfast/"))
    script: dict[str, Answer] = {
        "draft/try/0": "Welcome to Tern Lighthouse!",
        "draft/repair": COMPLAINT,
    }
    script |= {"drafts/2/try/0": COMPLAINT, "drafts/2/repair": COMPLAINT, "reviser": COMPLAINT}
    given: dict[str, Any] = {"contract": contract, "passes": 1, "max_drafts": 2, "rivals": False}
    given["anyway"] = True
    played = await play(script, **given)
    (ready,) = played.of(DraftReady)
    assert (ready.text, len(ready.violations)) == ("Welcome to Tern Lighthouse!", 1)
    sent_back = next(each for each in played.requests if each.key == "drafts/2/repair")
    assert "is missing” repeats the request and does not belong" in sent_back.messages[-1].text
    (dropped,) = (each for each in played.of(CandidateDropped) if each.slot == "B")
    assert [each.rule for each in dropped.violations] == ["must_include", "echo"]
    explained = await play(script, brief=f"Explain “{COMPLAINT}”", **given)
    assert explained.of(DraftReady)[0].text == COMPLAINT


async def test_a_text_that_repeats_it_to_the_end_is_not_said_to_keep_its_contract() -> None:
    text = f"{COMPLAINT} Breakfast at 8."
    script: dict[str, Answer] = dict.fromkeys(("author", "reviser", "synthesizer"), text)
    given: dict[str, Any] = {
        "contract": Contract(must_include=("/(?i)breakfast/",)),
        "passes": 1,
        "max_drafts": 1,
    }
    delivered = (await play(script, **given)).delivered
    assert [each.rule for each in delivered.violations] == ["echo"]


ONE = """\
# The ferry

The ferry leaves at nine, and it costs two pounds. Dogs
may come along. Bring a coat: it is cold on deck.

- tickets at the pier
- no cards
"""
OTHER = "Boats go twice a day.\n\nThe pier is **closed** on Sundays; call Ms. Dunn."


@cases(
    "cut",
    [
        ONE,
        OTHER,
        "The ferry costs two pounds.",
        "The ferry leaves at nine, dogs may come along.",
        "Boats go twice a day. It is cold on deck.",
        "It is cold on deck.\n\nThe ferry leaves at nine!",
        "* NO CARDS\n* twice a day\n* Tickets",
        "The pier is closed; call Dunn.",
        "the ferry leaves\nat nine",
        "",
    ],
)
def test_words_may_be_left_out_and_sentences_moved(cut: str) -> None:
    assert find_additions(cut, ONE, OTHER) == ()


@cases(
    ("text", "added"),
    [
        ("The ferry leaves at ten.", "The ferry leaves at ten."),
        ("The ferry leaves at nine. It is free.", "It is free."),
        ("At nine the ferry leaves.", "At nine the ferry leaves."),
        ("Boats leave at nine.", "Boats leave at nine."),
        ("Boats go twice a day, so call Ms. Dunn.", "Boats go twice a day, so call Ms."),
        ("Dogs may come. No cards, no dogs.", "No cards, no dogs."),
    ],
)
def test_a_word_that_is_not_there_in_this_order_is_an_addition(text: str, added: str) -> None:
    assert find_additions(text, ONE, OTHER) == (added,)


WORDS = st.lists(st.sampled_from(["tea", "two", "not", "pier", "nine"]), min_size=1, max_size=9)


@given(WORDS, WORDS)
def test_what_is_found_is_what_a_search_of_all_cuts_does_not_find(
    source: list[str], words: list[str]
) -> None:
    cuts: set[tuple[str, ...]] = {()}
    for word in source:
        cuts |= {(*cut, word) for cut in cuts}
    assert bool(find_additions(" ".join(words), " ".join(source))) == (tuple(words) not in cuts)


def test_every_pattern_is_compiled_when_it_is_used() -> None:
    with pytest.raises(re.error):
        pattern("(").search("")
    modules = (ballots, critiques, documents, rankings)
    values = [value for module in modules for value in vars(module).values()]
    signs = [sign for _, sign in documents._SIGNS]
    ours = [each for each in [*values, *ballots._VERDICTS, *signs] if type(each) is _LazyPattern]
    assert len(ours) > 40
    for each in ours:
        assert each.search("") is None or each.match("") is not None


A_LIST = ["Read on Sundays", "Don’t knock, we are open"]


@cases(
    ("reply", "texts"),
    [
        (json.dumps({"texts": A_LIST}), A_LIST),
        (json.dumps(A_LIST), A_LIST),
        (json.dumps({"texts": [f"{n}. {text}" for n, text in enumerate(A_LIST, 1)]}), A_LIST),
        (json.dumps(["Sunday 9: doors open", A_LIST[0]]), ["Sunday 9: doors open", A_LIST[0]]),
        (json.dumps({"1": A_LIST[0], "2": A_LIST[1]}), A_LIST),
        ("1. Read on Sundays\n2. Don’t knock, we are open", A_LIST),
        ("1) “Read on Sundays”\n2) “Don’t knock, we are open”", A_LIST),
        ("- Read on Sundays\n- Don’t knock, we are open\n", A_LIST),
        ("* **Read on Sundays**\n\n* **Don’t knock, we are open**", A_LIST),
        (
            "Here are two:\n\nHeadline 1: Read on Sundays\nHeadline 2: Don’t knock, we are open",
            A_LIST,
        ),
        ("**1.** Read on Sundays\n**2.** Don’t knock, we are open\n\nTell me which!", A_LIST),
        ("Here are two:\nRead on Sundays\nDon’t knock, we are open", A_LIST),
        ("Read on Sundays", A_LIST[:1]),
        ("1. Top 10: books\n2. Sunday 12: we open", ["Top 10: books", "Sunday 12: we open"]),
        ("1. Read\n- on Sundays\n2. Stay\n\nWhy:\n1. Short", ["Read\n- on Sundays", "Stay"]),
        (
            "1. She said “read”\n2. 2 for 1 – “today” only",
            ["She said “read”", "2 for 1 – “today” only"],
        ),
        ("1. Two lines\n   of one text\n2. Another", ["Two lines\n   of one text", "Another"]),
        ("[1, 2]", []),
        ("", []),
    ],
)
def test_a_list_is_read_whatever_marks_its_items(reply: str, texts: list[str]) -> None:
    assert read_list(reply) == texts


def test_texts_that_begin_like_an_item_of_a_list_stay_whole() -> None:
    texts = [
        "Ab 6. Dezember: Lindenhof auch sonntags geöffnet",
        "Top 10: Bücher für den Herbst",
        "Am 24. Dezember bis 13 Uhr offen",
        "Sunday 12: we open",
        "Sunday 1: we open",
        "iPhone 17: now in stock",
        "1. Advent: wir haben offen",
    ]
    for each in texts:
        assert read_list(each) == read_list(json.dumps({"texts": [each]})) == [each]
    assert read_list("\n".join(texts)) == read_list(json.dumps(texts)) == texts


@cases(
    ("one", "other", "alike"),
    [
        ("Read on Sundays", "read on  Sundays!", True),
        ("Your library now opens on Sundays", "Now open on Sundays: your library", True),
        ("The library opens early", "The library opens for those who work", True),
        ("The library opens early", "The door opens for those who work", False),
        ("Read on Sundays", "Bring the children, leave with dragons", False),
        ("日曜も開館、本と過ごす", "日曜も開館、静かな朝", True),
        (" ".join(map(str, range(60))), " ".join(map(str, range(12, 72))), True),
        (" ".join(map(str, range(60))), " ".join(map(str, range(24, 84))), False),
        # Longer texts may have the same heading.
        (" ".join(map(str, range(60))), "0 1 2 " + " ".join(map(str, range(70, 130))), False),
    ],
)
def test_texts_are_too_alike_by_their_words_or_by_how_short_ones_begin(
    one: str, other: str, alike: bool
) -> None:
    assert too_alike(one, other) == too_alike(other, one) == alike
