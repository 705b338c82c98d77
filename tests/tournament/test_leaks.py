"""A text that tells how it came to be is not judged blind."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from autoreason.tournament.leaks import find_leaks


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


@pytest.mark.parametrize("sign", ["_", "*", "[", "(", "\n", "# ", "a "])
def test_the_work_grows_with_the_length_of_a_degenerate_text_and_no_faster(sign: str) -> None:
    def work(times: int) -> float:
        started = time.process_time()
        find_leaks(sign * times + " was x critique change revision original version ")
        return time.process_time() - started

    # Four times the length is sixteen times the work where every sign is held against every other.
    assert min(work(20_000) for _ in range(3)) < 9 * min(work(5_000) for _ in range(3)) + 0.05
