"""Artifacts: what edits do to them, what no evaluation is spent on, and their difference as a patch."""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import cases

from autoreason.artifacts.artifact import (
    Files,
    changes_between,
    fingerprint,
    make_patch,
    matches,
    normal_form,
    path_fault,
    with_changes,
)
from autoreason.artifacts.proposals import (
    Edit,
    ProposalError,
    apply_edits,
    count_passages,
    find_knobs,
)
from autoreason.artifacts.proposer import refusal
from autoreason.artifacts.saved_evaluation import ItemWords

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
    # A file keeps its line ends.
    edit = Edit(path="conf/run.toml", search="rate = 0.1\nsteps", text="rate = 0.2\nsteps")
    after = apply_edits(FILES, [edit], ALLOWED)
    assert after["conf/run.toml"] == "rate = 0.2\r\nsteps = 3\r\n"


@cases(
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
        (Edit(path="conf/.toml", text=None), "is not part of the artifact"),
        (Edit(path="src/gone.py", text=None), "there is no src/gone.py to remove"),
    ],
)
def test_an_edit_that_does_not_apply_says_why_in_a_sentence(edit: Edit, sentence: str) -> None:
    with pytest.raises(ProposalError) as caught:
        apply_edits({**FILES, "src/aaa.py": "aaa"}, [edit], ALLOWED)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(ProposalError, match="removes the whole artifact"):
        apply_edits(FILES, [Edit(path=path, text=None) for path in FILES], ALLOWED)


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
    ("text", "search"),
    [
        (PROGRAM, "if item:\ntotal += item"),
        (PROGRAM, "for item in items:\n  if item:"),
        (PROGRAM, "\n"),
        ("if a:\n    go()\nif b:\n        go()\n", "  go()"),
    ],
)
def test_a_passage_that_is_indented_otherwise_or_occurs_twice_is_not(
    text: str, search: str
) -> None:
    with pytest.raises(ProposalError):
        apply_edits({"a.py": text}, [Edit(path="a.py", search=search, text="pass")], ["a.py"])


@pytest.mark.parametrize("search", ["pass\n" * 5_000 + "nope", "  pass\n" * 200_000])
def test_a_passage_of_lines_that_repeat_is_looked_for_in_linear_time(search: str) -> None:
    with pytest.raises(ProposalError, match="no such passage"):
        apply_edits(
            {"a.py": "    pass\n" * 10_000}, [Edit(path="a.py", search=search, text="")], ["a.py"]
        )


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


@cases(
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
    assert "is not the path of a file" in path_fault(f"a/{'x' * 256}")
    assert not path_fault(f"a/{'x' * 255}")


PATCHED_TEXTS = st.lists(
    st.sampled_from(["a\n", "b\n", "\n", "c", " d\r\n", "e\x0c\n", "\u2028f\n", "-- g\n", "@@\n"]),
    max_size=8,
).map("".join)
PATHS = st.sampled_from(["a.py", "b c.txt", "d/e f/g.md", 'q"r.txt', "ü.py", "- h.md"])
PATCHED = st.dictionaries(PATHS, PATCHED_TEXTS, max_size=4)


def write(folder: Path, files: Files) -> None:
    """An artifact on disk."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())


def read(folder: Path) -> Files:
    """The artifact on disk."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes().decode() for path in found}


@settings(max_examples=25)
@given(PATCHED, PATCHED)
def test_git_applies_every_patch(before: Files, after: Files) -> None:
    patch = make_patch(before, after)
    assert bool(patch) is (before != after)
    with TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, before)
        if patch:
            command = ["git", "apply", "--whitespace=nowarn"]
            done = subprocess.run(command, cwd=folder, input=patch.encode(), capture_output=True)
            assert done.returncode == 0, done.stderr.decode()
        assert read(folder) == after


TRIED: dict[str, str] = {}
"""Nothing, so that every artifact is new."""
CODE = '''"""Packs."""
import random
SEED = 3
rng = random.Random(3)

def pack(n, seed=3, *, rate=0.1):
    """All of them."""
    random.seed(3)
    return fit(n, random_state=3, options={"rng_state": 3, "depth": 3})
'''
COMMENTED = CODE.replace('"""All of them."""', '"""Best."""').replace("SEED = 3", "SEED = 3  # !")


def changed(old: str, new: str) -> tuple[str, str, str]:
    """A change of the program."""
    return "pack.py", CODE, CODE.replace(old, new)


@cases(
    ("change", "sentence"),
    [
        (changed("", ""), "changes nothing"),
        (("pack.py", CODE, COMMENTED), "only comments or formatting"),
        (changed("n, seed=3, *,", "n,seed = 3,*,"), "only comments or formatting"),
        (changed("SEED = 3", "SEED = 4"), "only a seed"),
        (changed("Random(3)", "Random(-4)"), "only a seed"),
        (changed("random.seed(3)", "random.seed(4)"), "only a seed"),
        (changed("    random.seed(3)\n", ""), "only a seed"),
        (changed("seed=3", "seed=4"), "only a seed"),
        (changed("random_state=3", "random_state=None"), "only a seed"),
        (changed('"rng_state": 3', '"rng_state": 4'), "only a seed"),
        (changed("import random\n", "import random\nSPLIT_SEED = 8\n"), "only a seed"),
        (("a.toml", "rate = 1\n# x\n", "rate   =  1"), "only comments"),
        (("a.toml", "rate = 1\nseed = 2", "rate = 1\nseed = 3"), "only a seed"),
        (("a.json", '{"fit": [{"seed": 2}]}', '{"fit": [{"seed": 4}]}'), "only a seed"),
        (("a.yaml", "# one\na: 1\n", "a:   1\n"), "only comments"),
        (("a.yaml", "a:\n  b: 1\n", "a:\nb: 1\n"), ""),
        (("a.sh", "# x\nrun --seed 3 --fast\n", "run --seed 4 --fast\n"), "only a seed"),
        (("a.c", "int x = 1; \n// y\n", "int x = 1;\n\n"), "only comments"),
        (("a.md", "Be kind.\nBe brief.", "Be kind. Be brief.\n"), "only comments"),
        (("a.py", "def broken(:\n  x\n", "def broken(:\n\n  x  \n"), "only comments"),
        (changed("rate=0.1", "rate=0.2"), ""),
        (changed('"depth": 3', '"depth": 4'), ""),
        (changed("Random(3)", "Random(n_items())"), ""),
        (changed("return fit(n,", "return fit(n + 1,"), ""),
        (("a.toml", "rate = 1", "rate = 1.0"), ""),
        (("a.yaml", "a: 1", "a: '1'"), ""),
        (("a.yaml", "a: &x [1]\nb: *x", "a: &x [2]\nb: *x"), ""),
        (("a.json", '{"a": 1}', '{"a": true}'), ""),
        (("a.md", "Be kind.", "Be kinder."), ""),
        (("a.c", "#define N 1", "#define N 2"), ""),
        (("a.py", "'''prompt'''\nask(__doc__)", "'''other'''\nask(__doc__)"), ""),
    ],
)
def test_a_change_that_is_none_is_refused_and_any_other_is_measured(
    change: tuple[str, str, str], sentence: str
) -> None:
    name, before, after = change
    found = refusal({name: before}, {name: after}, TRIED.get)
    assert sentence in found if sentence and found else found is None and not sentence


def test_a_change_that_was_tried_is_refused_also_with_another_seed() -> None:
    after = CODE.replace("rate=0.1", "rate=0.2")
    tried = {fingerprint({"pack.py": after}): "trial 7, dropped"}
    again = {"pack.py": f"# once more\n{after.replace('SEED = 3', 'SEED = 5')}"}
    assert refusal({"pack.py": CODE}, again, tried.get) == "it was tried before: trial 7, dropped"


def test_what_is_too_large_is_refused() -> None:
    before = {"pack.py": CODE}
    assert "pack.py is over 100 kB" in (
        refusal(before, {"pack.py": "x" * 100_001}, TRIED.get) or ""
    )
    many = {f"{each}.txt": "y" * 99_000 for each in range(11)}
    assert "over 1 MB" in (refusal(before, many, TRIED.get) or "")
    limits = ["pack.py <= 0.1 kB", "be kind"]
    broken = refusal(before, {"pack.py": CODE + "x = 1\n"}, TRIED.get, limits)
    assert broken == f"pack.py has {len(CODE) + 6} bytes, allowed are 0.1 kB"


@given(
    st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 5), st.text("ab \n", max_size=9)
)
def test_comments_and_blank_lines_never_change_a_fingerprint_and_constants_do(
    one: int, other: int, blank: int, words: str
) -> None:
    def fits(value: int, remark: str) -> dict[str, str]:
        return {"a.py": f"def f( x):\n{remark}    return x + {value}\n"}

    remark = "\n" * blank + "".join(f"    # {line}\n" for line in words.split("\n"))
    assert fingerprint(fits(one, remark)) == fingerprint(fits(one, ""))
    assert normal_form(fits(one, remark)) == normal_form(fits(one, ""))
    assert (fingerprint(fits(one, "")) == fingerprint(fits(other, ""))) is (one == other)


def test_eight_words_shared_with_an_item_are_flagged_unless_the_start_had_them() -> None:
    item = {"question": "How many moons does the planet Neptune have in all?", "answer": 14}
    words = ItemWords([item, "short"])
    copied = {"p.md": "Remember: how many moons does the planet NEPTUNE have, 14."}
    assert words.shared_runs({"p.md": "Answer."}, copied) == (
        "how many moons does the planet neptune have",
    )
    assert words.shared_runs(copied, {"p.md": copied["p.md"] + " So."}) == ()
    assert words.shared_runs({}, {"p.md": "how many moons does the planet Mars have in all"}) == ()
    assert ItemWords([]).shared_runs({}, copied) == ()


@cases(
    ("name", "text"),
    [
        ("a.yaml", "[" * 49_000 + "]" * 49_000),
        ("a.yaml", "[" * 9_000 + "]" * 9_000),
        ("a.json", "[" * 49_000 + "]" * 49_000),
        ("a.toml", "a = " + "[" * 40_000),
        ("a.py", "(" * 49_000),
        ("a.py", "x = " + "+".join("1" * 40_000)),
        ("a.py", "x = " + "9" * 90_000),
        ("a.txt", "seed" * 24_000),
        ("a.txt", "x" * 99_000),
        ("a.py", "x" * 90_000 + " = 3  # tune 1..9"),
    ],
)
def test_hostile_files_have_a_normal_form(name: str, text: str) -> None:
    assert fingerprint({name: text}) != fingerprint({name: "other"})
    assert find_knobs({name: text}) == []
