"""A text that tells how it came to be is not judged blind."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from autoreason.parsing.documents import find_leaks, without_opener
from autoreason.task import read_task


@pytest.mark.parametrize(
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
        "We keep the pricing of Version A here.",
        "Dear all,\n\n*[Fixes: missing date]*",
        "Dear all,\n\nThis sentence has been edited for grammar and clarity.",
        "Dear all. The text was rewritten to be more concise.",
    ],
)
def test_what_gives_a_text_away_is_found(text: str) -> None:
    assert find_leaks(text)


@pytest.mark.parametrize(
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


def test_wording_that_the_task_itself_uses_is_no_leak() -> None:
    text = "# 2.0\n\n## Changelog\n\n- Faster."
    assert find_leaks(text)
    assert find_leaks(text, "Write release notes with a changelog.") == ()


def test_a_code_of_the_task_itself_is_no_boundary() -> None:
    text = "The trace is 4e0c1f2a3b4d5e6f."
    assert find_leaks(text) == ("4e0c1f2a3b4d5e6f",)
    assert find_leaks(text, "Explain the trace 4e0c1f2a3b4d5e6f.") == ()


def test_recorded_revisions_leak_as_often_as_the_audit_found_and_first_drafts_never(
    shared: Path,
) -> None:
    leaking = total = 0
    for name in ("v2_task01", "constrained_s4_task01"):
        lines = (
            (shared / "recorded" / "transcripts" / f"{name}.jsonl").read_text("utf-8").splitlines()
        )
        run, *passes = [json.loads(line) for line in lines]
        assert find_leaks(run["initial_a"], run["task_prompt"]) == ()
        total += len(passes)
        leaking += sum(bool(find_leaks(p["version_b"], run["task_prompt"])) for p in passes)
    # The audit counted 59 % over all revisions.
    assert 0.5 < leaking / total < 0.7


@pytest.mark.parametrize("sign", ["_", "*", "[", "(", "\n", "# ", "a ", "a", "1"])
def test_the_work_grows_with_the_length_of_a_degenerate_text_and_no_faster(sign: str) -> None:
    def work(times: int) -> float:
        started = time.process_time()
        find_leaks(sign * times + " was x critique change revision original version ")
        return time.process_time() - started

    # Four times the length is sixteen times the work where every sign is held against every other.
    assert min(work(20_000) for _ in range(3)) < 9 * min(work(5_000) for _ in range(3)) + 0.05


@pytest.mark.parametrize("kept", ["", "Dear all,"])
def test_blank_lines_after_an_announcement_are_walked_once(kept: str) -> None:
    def work(times: int) -> float:
        started = time.process_time()
        without_opener("Sure, here is the text:" + "\n" * times + kept)
        return time.process_time() - started

    assert min(work(20_000) for _ in range(3)) < 9 * min(work(5_000) for _ in range(3)) + 0.05


def test_a_long_brief_is_read_once_however_many_leaks_there_are() -> None:
    def work(lines: int) -> float:
        text = "".join(f"Changes made {at}\n" for at in range(lines))
        started = time.process_time()
        assert len(find_leaks(text, "We open in May. " * lines)) == lines
        return time.process_time() - started

    assert min(work(1_600) for _ in range(3)) < 9 * min(work(400) for _ in range(3)) + 0.05


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
    assert all(find_leaks(text, rules=rules) for text in repeated)
