"""A brief is a file, standard input or the words themselves."""

from __future__ import annotations

import io
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.characters import without_controls
from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.events import JobFinished
from autoreason.story import Story
from autoreason.task import Task, read_task, split_front_matter


def write(folder: Path, text: str | bytes, name: str = "brief.md") -> str:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def test_a_file_is_read_with_its_front_matter(tmp_path: Path) -> None:
    front = "max_words: 120\nsections: Risks\nmust_include: [Lisbon, /\\d+/]\n"
    # A fact in a list may have a colon.
    front += "facts:\n  - Price: 5 EUR\n  - It rains."
    task = read_task(write(tmp_path, f"---\n{front}\n---\n\n# Plan\n\nWrite it.\n"))
    assert (task.brief, task.title) == ("# Plan\n\nWrite it.", "Plan")
    limits = {"sections": ("Risks",), "must_include": ("Lisbon", r"/\d+/")}
    assert task.contract == Contract(max_words=120, **limits)  # type: ignore[arg-type]
    assert task.facts == "- Price: 5 EUR\n- It rains."


@pytest.mark.parametrize(
    ("written", "criteria"),
    [
        ("accurate", ("accurate",)),
        ("[accurate, short]", ("accurate", "short")),
        ("\n- accurate\n- like us: short  sentences", ("accurate", "like us: short sentences")),
        ("\n  accurate:\n  like us: short sentences", ("accurate", "like us: short sentences")),
        ("[accurate, open at 9:00, open at 9:30]", ("accurate", "open at 9:00", "open at 9:30")),
    ],
)
def test_criteria_are_a_text_or_a_list_and_flags_add_to_them(
    tmp_path: Path, written: str, criteria: tuple[str, ...]
) -> None:
    source = write(tmp_path, f"---\ncriteria: {written}\n---\nWrite it.")
    assert read_task(source).criteria == criteria
    assert read_task(source, criteria=["kind"]).criteria == (*criteria, "kind")
    assert read_task(source, criteria=["kind", criteria[0]]).criteria == (*criteria, "kind")
    assert Task(brief="x", criteria=criteria).criterion_names[0] == "accurate"


def test_what_must_stay_is_said_in_the_brief_and_a_draft_is_kept_unless_that_is_declined(
    tmp_path: Path,
) -> None:
    for written, kept in (
        ("true", ("all",)),
        ("false", ()),
        ("strict", ("strict",)),
        ("[dates, links]", ("dates", "links")),
    ):
        assert read_task(f"---\nkeep: {written}\n---\nWrite it.").contract.keep == kept
    draft = Path(write(tmp_path, "It costs 250 EUR.", "draft.md"))
    assert read_task("Write it.").contract.keep is None
    assert read_task("Write it.", draft=draft).contract.keep == ("draft",)
    assert read_task("Write it.", draft=draft, contract={"keep": False}).contract.keep == ()


def test_options_come_before_front_matter_and_both_before_limits_in_prose() -> None:
    brief = "---\nmax_words: 120\nmin_words: 20\n---\nWrite it."
    given: dict[str, Any] = {"max_words": 80, "sections": ()}
    assert read_task(brief, contract=given).contract == Contract(min_words=20, max_words=80)
    brief = "---\nmax_words: 60\n---\nWrite at most 80 words in three sentences."
    assert read_task(brief).contract == Contract(max_words=60, min_sentences=3, max_sentences=3)
    given = {"max_words": 70, "max_sentences": 2}
    assert read_task(brief, contract=given).contract == Contract(max_words=70, max_sentences=2)
    assert read_task(brief, limits_from_brief=False).contract == Contract(max_words=60)


def test_words_are_a_brief_with_front_matter_or_without() -> None:
    # Some only look like something else.
    looks = ("~nosuchuser hello", "~ is a tilde", "字" * 200, "--- is a rule\nmax_words: no")
    for brief in (*looks, "---\nA: b", "Write a haiku.", "Write it.\n\n---\n\nAnd then more."):
        assert read_task(brief) == Task(brief=brief)
    task = read_task("---\r\nmax_words: 9\r\n---\r\nWrite\r\nit.")
    assert (task.brief, task.contract.max_words) == ("Write\nit.", 9)


def test_standard_input_is_a_brief_and_draft_and_facts_come_from_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("Schreib über Köln.".encode())))
    assert read_task("-").brief == "Schreib über Köln."
    draft, facts = write(tmp_path, "A draft.", "draft.md"), write(tmp_path, "A fact.", "facts.md")
    task = read_task("Write it.", draft=Path(draft), facts=Path(facts))
    assert (task.draft, task.facts) == ("A draft.", "A fact.")
    task = read_task("---\nfacts:\n  - Price: 5 EUR\n  - It rains.\n---\nWrite it.")
    assert task.facts == "- Price: 5 EUR\n- It rains."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("   \n\n", "is empty"),
        ("\u200b\u2060 \ufeff\n", "is empty"),
        ("---\nmax_words: 3\n---\n", "is empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "not UTF-8 text"),
        (b"text\x00text", "binary file"),
        ("---\nmax_words: [\n---\nWrite.", r"is not YAML \(line 3"),
        ("---\n- a\n---\nWrite.", "must be `key: value` lines"),
        ("---\nmax_word: 3\n---\nWrite.", "unknown key `max_word`"),
        ("---\nmax_words: many\n---\nWrite.", "`max_words` must be a whole number, not text"),
        ("---\nkeep: [colours]\n---\nWrite.", "'strict', not 'colours'"),
        ("---\nmax_words: 2\nmin_words: 3\n---\nWrite.", "min_words"),
        ("---\nfacts: 3\n---\nWrite.", "`facts` must be text"),
        ("---\ncriteria: [a, 3]\n---\nWrite.", "`criteria` must be text"),
        ("---\ncriteria:\n---\nWrite.", "`criteria` must be text"),
        ("---\ncriteria: ['', a]\n---\nWrite.", "each with a name of its own"),
        ("---\ncriteria: {kind: [to all]}\n---\nWrite.", "`criteria` must be text"),
        ("---\ncriteria: [kind, 'Kind: to all']\n---\nWrite.", "each with a name of its own"),
        ("---\ncriteria: '🔥: hot'\n---\nWrite.", "each with a name of its own"),
        (f"---\ncriteria: {[*'abcdefghijklm']}\n---\nWrite.", "at most 12 `criteria`"),
        (f"---\ncriteria: {'a' * 201}\n---\nWrite.", "of at most 200 characters"),
        ("---\nfacts: 2024-99-99\n---\nWrite.", "is not YAML"),
        (f"---\nmax_words: {'9' * 5000}\n---\nWrite.", "is not YAML"),
        (f"---\nsections: {'[' * 3000}\n---\nWrite.", "is not YAML"),
        ("---\nmax_words: !!int ''\n---\nWrite.", "is not YAML"),
        ('---\nfacts: "\\ud800"\n---\nWrite.', "`facts` contains a null or half of a character"),
        ("---\nmax_words: 20\nWrite it.", "no --- at its end"),
        ("---\nmax_words: 100\nmax_words: 200\n---\nExplain.", "`max_words` is given twice"),
    ],
)
def test_a_brief_that_cannot_be_used_is_one_clear_sentence(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message) as raised:
        read_task(write(tmp_path, content))
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there_is_no_literal_brief(tmp_path: Path) -> None:
    for source in ("missing.md", "./missing", "some/where.txt", "brief v2.docx", "x.pdf"):
        with pytest.raises(InvalidInput, match="cannot read brief"):
            read_task(source)
    with pytest.raises(InvalidInput, match="cannot read draft ~nosuchuser/x"):
        read_task("Write it.", draft=Path("~nosuchuser/x"))
    with pytest.raises(InvalidInput, match="Is a directory"):
        read_task(str(tmp_path))


def test_a_brief_that_cannot_be_written_down_is_refused() -> None:
    for brief in ("x \udcff", "x \0 y"):
        with pytest.raises(InvalidInput, match="contains a null"):
            read_task(brief)
    with pytest.raises(InvalidInput, match="`must_include` contains"):
        read_task("Write it.", contract={"must_include": ["\udcff"]})


def test_a_word_that_forgets_the_ending_of_a_file_is_no_brief(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "brief.md").write_text("Write about tides.")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=r"name brief\.md, or say more"):
        read_task("brief")
    assert read_task("tides").brief == "tides"


@given(st.text())
def test_nothing_in_a_shown_text_steers_or_reorders_what_is_seen(text: str) -> None:
    shown = without_controls(text)
    assert not any(unicodedata.category(sign) == "Cc" and sign not in "\n\t" for sign in shown)
    assert not any(unicodedata.bidirectional(sign) in _REORDERING for sign in shown)
    assert without_controls(shown) == shown
    assert without_controls("a\u200e\u200f\u061c\u202e") == "a<U+200E><U+200F><U+061C><U+202E>"
    assert Task(brief="# \x1b[31mRed\x07 \x9b2Jtide\x7f").title == "[31mRed 2Jtide"


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("The tides, explained", "The tides, explained"),
        ("Here is your text", "Explain a tide to a child"),
        ("Sunday opening", "Sunday opening"),
        ("", "Explain a tide to a child"),
    ],
)
def test_a_run_is_called_by_its_heading_unless_that_only_fills_a_line(
    heading: str, title: str
) -> None:
    story = Story(task=Task(brief="Explain a tide to a child", draft="# Opening on Sundays"))
    story.end = JobFinished(status="done", reason="", text=f"# {heading}\n\nIt rises.")
    assert story.title == title


_REORDERING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def test_keys_that_come_from_merged_anchors_are_not_given_twice() -> None:
    shared = (
        "a: &a {seconds: 1}\nb: {in: &b {<<: *a, seconds: 2}}\nc: {<<: *b, seconds: 3}\nd: {<<: *b}"
    )
    keys, _ = split_front_matter("brief", f"---\n{shared}\n---\n", ("a",))
    assert (keys["c"], keys["d"]) == ({"seconds": 3}, {"seconds": 2})
