"""What proposers write, read in any form they use, and constants that are marked."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.cases import cases
from tests.growth import assert_linear

from autoreason.artifacts.proposals import (
    Edit,
    ProposalError,
    ScoredPoint,
    TuningQuery,
    Value,
    apply_edits,
    check_knobs,
    find_knobs,
    read_proposal,
    set_knobs,
    suggest,
)
from autoreason.artifacts.proposer import observe
from autoreason.artifacts.research_history import TrialDecided, TrialStatus
from autoreason.errors import InvalidInput

FILES = {"pack.py": "a = 1\nb = 2\n", "conf/run.toml": "rate = 0.1\n", "Makefile": "all:\n"}
ONE = {"pack.py": "a = 1\n"}
SEARCH = "<<<<<<< SEARCH\na = 1\n=======\na = 3\n>>>>>>> REPLACE"
REPLACED = Edit(path="pack.py", search="a = 1", text="a = 3")


def test_a_reply_in_the_form_that_is_asked_for() -> None:
    reply = f"""HYPOTHESIS: A larger a packs
more tightly.
EXPECTED: +0.02

pack.py
```python
{SEARCH}
```

conf/run.toml
```toml
rate = 0.2
```

REMOVE Makefile
"""
    proposal = read_proposal(reply, FILES)
    assert proposal.hypothesis == "A larger a packs more tightly."
    assert proposal.expected == "+0.02"
    assert proposal.edits == (
        REPLACED,
        Edit(path="conf/run.toml", text="rate = 0.2\n"),
        Edit(path="Makefile", text=None),
    )


@cases(
    "reply",
    [
        f"pack.py\n{SEARCH}",
        f"**`pack.py`**\n\n```\n{SEARCH}\n```",
        f"### File: `pack.py`\n\nChange the constant:\n\n```python\n{SEARCH}\n```\nThat is all.",
        f"```python pack.py\n{SEARCH}\n```",
        f"```python:pack.py\n{SEARCH}\n```",
        f"```\npack.py\n{SEARCH}\n```",
        f"1. pack.py:\n~~~~py\n{SEARCH}\n~~~~",
        f"<think>pack.py\n```\nno\n```\n</think>\npack.py\n```\n{SEARCH}\n```",
        f"```\npack.py\n```\n```python\n{SEARCH}\n```",
        f"```\npack.py\n```\n\n{SEARCH}",
        f"pack.py\n```\n{SEARCH.replace('=======', '<<<<<<< REPLACE')}\n```",
        f"pack.py\n```\n{SEARCH.replace('>>>>>>>', '=======')}\n```",
        f"pack.py\n```\n{SEARCH.replace('>>>>>>> REPLACE', '')}```",
        "pack.py\n```\n" + SEARCH.replace(">>>>>>>", "```\n>>>>>>>") + "\n```",
        f"```python\n# for example\nx = 1\n```\npack.py\n```\n{SEARCH}\n```\nDone.",
        f"pack.py\r\n```\r\n{SEARCH}\r\n```".replace("\n", "\r\n").replace("\r\r", "\r"),
    ],
)
def test_models_mark_blocks_in_many_ways(reply: str) -> None:
    assert read_proposal(reply, FILES).edits == (REPLACED,)


def test_blocks_follow_each_other_and_of_one_file_the_path_may_be_missing() -> None:
    second = SEARCH.replace("a =", "b =")
    for between in ("\n", "\n```\n\n```python\n", "\n```\nAnd also:\npack.py\n```\n"):
        edits = read_proposal(f"pack.py\n```\n{SEARCH}{between}{second}\n```", FILES).edits
        assert [edit.search for edit in edits] == ["a = 1", "b = 1"]
    whole = (Edit(path="pack.py", text="a = 4\n"),)
    assert read_proposal("Here it is:\n```python\na = 4\n```", ONE).edits == whole
    assert read_proposal(SEARCH, ONE).edits == (REPLACED,)


@pytest.mark.parametrize(
    "reply",
    [
        "```\npath/of/the/file\n```\n```python\na = 4\n```",
        "```python\npack.py\na = 4\n```",
        "pack.py\n```\n\nsome/pack.py\na = 4\n```",
        "```\n<<<FILE 9f>>>\na = 4\n<<<END FILE 9f>>>\n```",
        "```\n<<<<<<< FILE 9f\na = 4\n```",
    ],
)
def test_what_is_around_a_file_is_no_part_of_it(reply: str) -> None:
    (edit,) = read_proposal(reply, ONE).edits
    assert (edit.path, edit.text) == ("pack.py", "a = 4\n")


OUTSIDE = (
    *("../evil.txt", "../pack.py", "a/../../pack.py", "/etc/evil.txt", "/etc/passwd", "~/evil.txt"),
    *(".git/hooks/post-checkout", ".git/hooks/pack.py", "src/.git/config.py", "C:\\evil.txt"),
    *("..\\pack.py", "~/.ssh/config", "/pack.py"),
)


@cases("path", OUTSIDE)
@cases(
    "form",
    [
        "PATH\n```\na = 4\n```",
        "**`PATH`**\n\n```python\na = 4\n```",
        "1. PATH:\n```\na = 4\n```",
        "### File: `PATH`\n```\na = 4\n```",
        "```python PATH\na = 4\n```",
        "```PATH\na = 4\n```",
        "```\nPATH\na = 4\n```",
        "```\nPATH\n```\n```python\na = 4\n```",
        f"PATH\n{SEARCH}",
        f"```\nPATH\n{SEARCH}\n```",
        f"PATH\n```\n{SEARCH}\n```",
        "PATH\n" + SEARCH.replace("a = 1\n", ""),
        "REMOVE PATH",
    ],
)
@cases("files", [ONE, FILES])
def test_a_path_outside_the_folder_is_refused_and_never_means_another_file(
    path: str, form: str, files: dict[str, str]
) -> None:
    with pytest.raises(ProposalError, match=r"leads out|git's own|not part|not the path"):
        apply_edits(files, read_proposal(form.replace("PATH", path), files).edits, ["*.py", "**/*"])


def test_lines_that_a_file_had_before_or_that_name_another_file_stay() -> None:
    named = {"list.txt": "list.txt\n<<<<<<< LEFT\n", "pack.py": ""}
    for body in ("list.txt\n<<<<<<< LEFT\nb.txt\n", "pack.py\n", "b.txt\n"):
        (edit,) = read_proposal(f"list.txt\n```\n{body}```", named).edits
        assert edit.text == body


def test_a_new_file_is_a_whole_file_in_as_many_fences_as_it_takes_or_an_empty_search() -> None:
    empty = SEARCH.replace("a = 1\n", "")
    for reply in ("src/new.py\n```python\na = 3\n```", f"src/new.py\n{empty}"):
        assert read_proposal(reply, FILES).edits == (Edit(path="src/new.py", text="a = 3\n"),)
    body = "Say:\n```\nhello\n```\n"
    edits = read_proposal(f"prompt.md\n````markdown\n{body}````", FILES).edits
    assert edits == (Edit(path="prompt.md", text=body),)


@pytest.mark.parametrize(
    "text",
    [
        "## Hypothesis\nFewer steps suffice.\n\n## Expected effect\n-3 ms\n",
        "**Hypothesis:** Fewer steps suffice.\n**Expected effect:** -3 ms\n",
        "- hypothesis: Fewer steps suffice.\n- expected: -3 ms",
        "Fewer steps suffice.\n\nExpected gain: -3 ms",
    ],
)
def test_fields_are_found_however_they_are_marked(text: str) -> None:
    proposal = read_proposal(f"{text}\n\npack.py\n{SEARCH}", FILES)
    assert (proposal.hypothesis, proposal.expected) == ("Fewer steps suffice.", "-3 ms")
    long = f"HYPOTHESIS: \x1b[31m{'long ' * 1000}\npack.py\n{SEARCH}"
    hypothesis = read_proposal(long, FILES).hypothesis
    assert len(hypothesis) <= 600
    assert "\x1b" not in hypothesis


@cases(
    ("reply", "sentence"),
    [
        ("", "there is no change in that"),
        ("I would raise the rate to 0.021.", "there is no change in that"),
        ("```python\na = 4\n```", "no path says which file"),
        (SEARCH, "no path says which file"),
        (f"pack.py\n{SEARCH[:18]}", "has no line of `=======`"),
        (f"pack.py\n{SEARCH[:-12]}", "has no line of `>>>>>>> REPLACE`"),
        ("pack.py\n```\n" + SEARCH.replace("=======\n", "") + "\n```", "has no line of `=======`"),
        ("pack.py\n```\n<<<<<<< SEARCH\na = 1\n```\n", "has no line of `=======`"),
        ("pack.py\n```\n<<<<<<< SEARCH\na = 1\n=======\n```\n", "has no line of `>>>>>>>"),
        (f"pack.py\n{SEARCH[:-16]}\nThat is all.", "has no line of `>>>>>>> REPLACE`"),
        (f"pack.py\n{SEARCH[:-16]}\n{SEARCH}", "has no line of `>>>>>>> REPLACE`"),
        ("pack.py\n```\n<<<<<<< LEDGER 1\na = 3\n```", "pack.py would have a mark in it"),
        ("pack.py\n```python\na = 4\n", "the block of pack.py has no end"),
        ("pack.py\n```diff\n-a = 1\n+a = 2\n```", "a diff cannot be applied"),
        ("pack.py\n```python\na = 4\n# ... rest of the code ...\n```", "it leaves parts out"),
        ("pack.py\n```python\na = 4\n# existing code\n```", "it leaves parts out"),
    ],
)
def test_what_cannot_be_read_is_answered_with_one_sentence(reply: str, sentence: str) -> None:
    with pytest.raises(ProposalError) as caught:
        read_proposal(reply, FILES)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


MARKS = ["```", "```python", "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "pack.py", "a = 1", ""]
MARKS += ["<<<FILE 1>>>", "<<<<<<< REPLACE", "======= REPLACE", "path/of/pack.py", "path/of"]


@given(st.lists(st.sampled_from([*MARKS, "REMOVE pack.py", "hypothesis: x", "a.b"])))
def test_rubbish_is_read_or_refused_and_nothing_else(lines: list[str]) -> None:
    try:
        proposal = read_proposal("\n".join(lines), FILES)
    except ProposalError:
        return
    assert proposal.edits


# Byte order marks, which some models write, are not a part of any passage.
@given(
    st.text(
        st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff"), max_size=60
    )
)
@example("…  \u200b")
def test_what_is_to_be_replaced_is_read_exactly(text: str) -> None:
    if any(mark in text for mark in ("=====", ">>>>>", "<<<<<")):
        return
    for last in (">>>>>>> REPLACE\n", *([] if text.lstrip().startswith(("`", "~")) else [""])):
        reply = f"pack.py\n```\n<<<<<<< SEARCH\n  x {text}\n=======\n{text} y\n{last}```"
        (edit,) = read_proposal(reply, FILES).edits
        assert (edit.search, edit.text) == (f"  x {text}", f"{text} y")


@cases(
    ("before", "repeated", "after"),
    [
        ("```", " " * 5, "x`"),
        ("", "```x\n", ""),
        ("", "```\n", ""),
        ("pack.py\n```\n", " " * 5, "x\n```"),
        ("", "*" * 5, ""),
        ("", "a." * 5, ""),
        ("", "a/" * 5, ""),
        ("", "hypothesis ", ""),
        ("", "<<<<<<< SEARCH\n", ""),
        ("", "pack.py\n", ""),
        ("", "```\npack.py\n```\n", ""),
        ("", f"pack.py\n```\n{SEARCH}\n```\n", ""),
        ("", f"```\n{SEARCH}\n", ""),
        ("HYPOTHESIS: x\n", "and so on\n", ""),
        ("HYPOTHESIS:\n", "\n" * 10, ""),
        ("HYPOTHESIS: x\n\npack.py\n```\n", "x = 1\n" * 3, "```\n"),
    ],
)
def test_hostile_replies_are_read_in_linear_time(before: str, repeated: str, after: str) -> None:
    def read(times: int) -> None:
        with contextlib.suppress(ProposalError):
            read_proposal(before + repeated * times + after, FILES)

    assert_linear(read, 2_000)


MARKED = {
    "train.py": (
        "RATE = 0.01  # tune 1e-4..1e-1 log\n"
        "STEPS: int = 8 # tune 1..64 int\n"
        "model = fit(\n    kind='tree',  # tune tree|forest\n    depth=3,  # deep\n)\n"
    ),
    "run.yaml": "alpha: 0.5   # tune 0..1\n",
    "run.toml": 'mode = "a"  # tune a|b\nnote = "x"\n',
    "notes.md": "x = 3  # tune 1..5\n",
}


def test_marked_constants_are_found_with_what_they_may_be_and_replaced_exactly() -> None:
    found = {knob.name: knob for knob in find_knobs(MARKED)}
    assert list(found) == ["mode", "alpha", "RATE", "STEPS", "kind"]
    assert (found["RATE"].value, found["RATE"].low, found["RATE"].log) == (0.01, 1e-4, True)
    assert (found["STEPS"].value, found["STEPS"].whole) == (8, True)
    assert found["kind"].choices == ("tree", "forest")
    assert not found["alpha"].whole
    after = apply_edits(MARKED, set_knobs(MARKED, ("b", 0.25, 0.02, 8, "forest")), tuple(MARKED))
    train = MARKED["train.py"].replace("0.01", "0.02").replace("'tree'", "'forest'")
    assert after["train.py"] == train
    assert after["run.yaml"] == "alpha: 0.25   # tune 0..1\n"
    assert after["run.toml"] == 'mode = "b"  # tune a|b\nnote = "x"\n'


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=5))
def test_each_constant_is_set_whatever_its_neighbours_are(pairs: list[tuple[int, int]]) -> None:
    text = "".join(f"x = {old}  # tune 1..3\n" for old, _ in pairs)
    wanted = tuple(new for _, new in pairs)
    edits = set_knobs({"a.py": text}, wanted)
    after = apply_edits({"a.py": text}, edits, ("a.py",))
    assert tuple(knob.value for knob in find_knobs(after)) == wanted


@cases(
    "line",
    [
        "x = 3  # tune",
        "x = 3  # tune 5",
        "x = 3  # tune 4..9",
        "x = 3  # tune 5..1",
        "x = 3  # tune 0..9 log",
        "x = 'c'  # tune a|b",
        "x = f(3)  # tune 1..9",
        "return 3  # tune 1..9",
        "x = 3  # tune 1..9 quickly",
    ],
)
def test_a_mark_that_cannot_be_read_is_refused_at_the_start_and_no_knob_later(line: str) -> None:
    files = {"a.py": f"\n{line}\n"}
    assert find_knobs(files) == []
    if line.endswith("tune"):
        assert check_knobs(files) == ""
        return
    with pytest.raises(InvalidInput, match=r"a.py line 2: the mark cannot be read; write `# tune"):
        check_knobs(files)


def trial(number: int, text: str, value: float, status: TrialStatus = "dropped") -> TrialDecided:
    """A trial that gave a file another text."""
    return TrialDecided(
        number=number,
        incumbent=0,
        by="model",
        status=status,
        reason="",
        changes={"a.py": text},
        values=(value, value + 2),
    )


def test_trials_of_models_and_of_the_optimiser_are_one_ledger() -> None:
    start = {"a.py": "x = 3  # tune 1..9\n"}
    trials = [
        trial(1, "x = 5  # tune 1..9\n", 1.0, "kept"),
        trial(2, "y = 4\nx = 3  # tune 1..9\n", 2.0),
        trial(3, "x = 5\n", 3.0),
        trial(4, "x = 5  # tune 1..99\n", 4.0),
    ]
    knobs = find_knobs(start)
    expected = (ScoredPoint((5,), 2.0), ScoredPoint((3,), 3.0))
    assert observe(knobs, start, trials, higher=True) == expected
    assert [each.score for each in observe(knobs, start, trials, higher=False)] == [-2.0, -3.0]


def search(score: Callable[[tuple[Value, ...]], float], turns: int, seed: int) -> list[ScoredPoint]:
    """What an optimiser tries when it sees the scores."""
    knobs = tuple(find_knobs({"a.py": "x = 0.5  # tune 0..1\nn = 3  # tune 1..9\n"}))
    seen: list[ScoredPoint] = []
    for turn in range(turns):
        query = TuningQuery(key="t", knobs=knobs, observations=tuple(seen), seed=seed + turn)
        values = suggest(query)
        assert values == suggest(query)
        assert all(knob.allows(value) for knob, value in zip(knobs, values, strict=True))
        seen.append(ScoredPoint(values, score(values)))
    return seen


def test_the_optimiser_learns_from_the_ledger_and_repeats_itself() -> None:
    pytest.importorskip("optuna", reason="needs the extra `tune`")

    def score(values: tuple[Value, ...]) -> float:
        x, n = map(float, values)
        return -abs(x - 0.8) - abs(n - 7) / 9

    seen = [each.score for each in search(score, 40, 5)]
    assert sum(seen[-10:]) > sum(seen[:10])


def test_without_the_extra_there_is_one_sentence_and_no_tuning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    monkeypatch.setattr("autoreason.artifacts.proposals.find_spec", lambda _: None)
    assert "pip install '.[tune]'" in check_knobs(MARKED)
    assert check_knobs({"a.py": "x = 1\n"}) == ""
    knobs = tuple(find_knobs(MARKED))
    assert suggest(TuningQuery(key="t", knobs=knobs)) == ()
