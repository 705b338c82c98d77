"""An edit applies exactly or says why it does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.artifacts.artifact import (
    Edit,
    ProposalError,
    apply_edits,
    changes_between,
    count_passages,
    with_changes,
)
from autoreason.artifacts.artifact_paths import matches, path_fault

FILES = {"pack.py": "a = 1\nb = 2\nb = 2\n", "conf/run.toml": "rate = 0.1\r\nsteps = 3\r\n"}
ALLOWED = ("pack.py", "conf/*.toml", "src/**/*.py")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
ARTIFACTS = st.dictionaries(st.sampled_from(["a.py", "b.txt", "c/d e.md"]), TEXTS)


def test_edits_are_applied_in_their_order() -> None:
    edits = [
        Edit(path="pack.py", search="a = 1", text="a = 3"),
        Edit(path="pack.py", search="a = 3\n", text=""),
        Edit(path="src/x/new.py", text="NEW = 1\n"),
        Edit(path="conf/run.toml", text=None),
    ]
    assert apply_edits(FILES, edits, ALLOWED) == {
        "pack.py": "b = 2\nb = 2\n",
        "src/x/new.py": "NEW = 1\n",
    }


def test_a_file_keeps_its_line_ends() -> None:
    edit = Edit(path="conf/run.toml", search="rate = 0.1\nsteps", text="rate = 0.2\nsteps")
    after = apply_edits(FILES, [edit], ALLOWED)
    assert after["conf/run.toml"] == "rate = 0.2\r\nsteps = 3\r\n"


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (
            Edit(path="pack.py", search="c = 1", text=""),
            "has no such passage, beginning with 'c = 1'",
        ),
        (Edit(path="pack.py", search="b = 2", text=""), "occurs 2 times in pack.py"),
        (Edit(path="pack.py", search=" \n", text=""), "is empty"),
        (Edit(path="src/aaa.py", search="aa", text=""), "occurs 2 times in src/aaa.py"),
        (Edit(path="conf/no.toml", search="a", text="b"), "there is no conf/no.toml"),
        (Edit(path="evaluate.py", text=""), "evaluate.py is not part of the artifact"),
        (Edit(path="../pack.py", text=""), "leads out of the task's folder"),
        (Edit(path="/pack.py", text=""), "is not relative"),
        (Edit(path="conf/.toml", text=None), "is not part of the artifact"),
        (Edit(path="src/gone.py", text=None), "there is no src/gone.py to remove"),
    ],
)
def test_an_edit_that_does_not_apply_says_why_in_a_sentence(edit: Edit, sentence: str) -> None:
    with pytest.raises(ProposalError) as caught:
        apply_edits({**FILES, "src/aaa.py": "aaa"}, [edit], ALLOWED)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


PROGRAM = """\
def count(items):
    total = 0
    for item in items:
        if item:
            total += item
    return total
"""


@pytest.mark.parametrize(
    ("search", "text", "line"),
    [
        ("if item:\n    total += item\n", "if item > 1:\n    total += 1\n", "        if item > 1:"),
        (
            "  if item:\n      total += item",
            "  if item > 1:\n      total += 1",
            "            total += 1",
        ),
        ("total = 0\nfor item in items:", "total = 1\nfor item in items:", "    total = 1"),
        (
            "        total += item\nreturn total",
            "        total -= item\nreturn -total",
            "    return -total",
        ),
    ],
)
def test_a_passage_that_lacks_only_its_margin_is_found_where_it_is_the_only_one(
    search: str, text: str, line: str
) -> None:
    edit = Edit(path="a.py", search=search, text=text)
    changed = apply_edits({"a.py": PROGRAM}, [edit], ["a.py"])["a.py"]
    assert line in changed.splitlines()
    assert len(changed.splitlines()) == len(PROGRAM.splitlines())


@pytest.mark.parametrize(
    "search", ["if item:\ntotal += item", "for item in items:\n  if item:", "\n"]
)
def test_a_passage_that_is_indented_otherwise_is_not(search: str) -> None:
    with pytest.raises(ProposalError):
        apply_edits({"a.py": PROGRAM}, [Edit(path="a.py", search=search, text="pass")], ["a.py"])


@pytest.mark.parametrize("search", ["pass\n" * 5_000 + "nope", "  pass\n" * 200_000])
def test_a_passage_of_lines_that_repeat_is_looked_for_in_linear_time(search: str) -> None:
    with pytest.raises(ProposalError, match="no such passage"):
        apply_edits(
            {"a.py": "    pass\n" * 10_000}, [Edit(path="a.py", search=search, text="")], ["a.py"]
        )


def test_a_passage_without_its_margin_that_occurs_twice_is_refused() -> None:
    twice = "if a:\n    go()\nif b:\n        go()\n"
    with pytest.raises(ProposalError, match=r"no such passage|occurs 2 times"):
        apply_edits({"a.py": twice}, [Edit(path="a.py", search="  go()", text="stop()")], ["a.py"])


@pytest.mark.parametrize("path", ["path/of/pack.py", "src/pack.py"])
def test_a_path_in_another_folder_means_the_only_file_of_its_name(path: str) -> None:
    edit = Edit(path=path, search="a = 1", text="a = 3")
    assert apply_edits(FILES, [edit], ALLOWED)["pack.py"].startswith("a = 3")


def test_a_new_file_is_no_other_of_its_name_and_of_two_none_is_meant() -> None:
    assert "src/pack.py" in apply_edits(FILES, [Edit(path="src/pack.py", text="")], ALLOWED)
    whole = Edit(path="path/of/pack.py", text="a = 3\n")
    assert apply_edits(FILES, [whole], ALLOWED)["pack.py"] == "a = 3\n"
    for edit in (whole, Edit(path="path/of/pack.py", search="a = 1", text="")):
        with pytest.raises(ProposalError):
            apply_edits({**FILES, "src/pack.py": "a = 1\n"}, [edit], ALLOWED)
    with pytest.raises(ProposalError):
        apply_edits(FILES, [Edit(path="path/of/pack.py", text=None)], ALLOWED)


def test_an_artifact_cannot_be_removed_whole() -> None:
    edits = [Edit(path=path, text=None) for path in FILES]
    with pytest.raises(ProposalError, match="removes the whole artifact"):
        apply_edits(FILES, edits, ALLOWED)


@given(ARTIFACTS, ARTIFACTS)
def test_recorded_changes_lead_from_one_artifact_to_the_other_and_back(
    one: dict[str, str], other: dict[str, str]
) -> None:
    assert with_changes(one, changes_between(one, other)) == other
    assert with_changes(other, changes_between(other, one)) == one
    assert changes_between(one, one) == {}


@given(TEXTS, TEXTS.filter(str.strip), TEXTS.filter(str.strip), TEXTS)
def test_the_inverse_of_a_replacement_gives_the_start(
    before: str, old: str, new: str, after: str
) -> None:
    files = {"a.txt": before + old + after}
    changed = before + new + after
    if (
        count_passages(files["a.txt"], old) != 1
        or count_passages(changed, new) != 1
        or "\r" in changed + old
    ):
        return
    there = apply_edits(files, [Edit(path="a.txt", search=old, text=new)], ["a.txt"])
    assert there == {"a.txt": changed}
    assert apply_edits(there, [Edit(path="a.txt", search=new, text=old)], ["a.txt"]) == files


@given(st.text(max_size=20))
def test_a_path_that_is_allowed_stays_in_its_folder(path: str) -> None:
    if not path_fault(path):
        assert not path.startswith("/")
        assert ".." not in path.split("/")
        assert "\0" not in path


@pytest.mark.parametrize(
    ("path", "pattern", "fits"),
    [
        ("a.py", "*.py", True),
        ("x/a.py", "*.py", False),
        ("x/a.py", "**/*.py", True),
        ("a.py", "**/*.py", True),
        ("x/y/a.txt", "x/**", True),
        ("x/.git/a.py", "x/**/*.py", False),
        (".env", "*", False),
        (".env", ".env", True),
        ("a1.py", "a[0-9].py", True),
        ("a.py", "b.py", False),
    ],
)
def test_patterns_mean_what_shells_mean(path: str, pattern: str, fits: bool) -> None:
    assert matches(path, [pattern]) is fits


def test_a_name_that_no_file_can_have_is_a_fault_of_its_path() -> None:
    assert path_fault(f"a/{'x' * 256}") == "has a name that is too long for a file"
    assert not path_fault(f"a/{'x' * 255}")
