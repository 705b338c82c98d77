"""What no evaluation is spent on, and what is flagged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.artifacts.normal_form import fingerprint, normal_form
from autoreason.artifacts.refusals import ItemWords, refusal
from autoreason.artifacts.tuning import find_knobs

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


def reason(before: str, after: str, name: str = "pack.py") -> str | None:
    """Why a change of one file is refused."""
    return refusal({name: before}, {name: after}, TRIED.get)


@pytest.mark.parametrize(
    ("after", "sentence"),
    [
        (CODE, "changes nothing"),
        (COMMENTED, "only comments or formatting"),
        (CODE.replace("n, seed=3, *,", "n,seed = 3,*,"), "only comments or formatting"),
        (CODE.replace("SEED = 3", "SEED = 4"), "only a seed"),
        (CODE.replace("Random(3)", "Random(-4)"), "only a seed"),
        (CODE.replace("random.seed(3)", "random.seed(4)"), "only a seed"),
        (CODE.replace("    random.seed(3)\n", ""), "only a seed"),
        (CODE.replace("seed=3", "seed=4"), "only a seed"),
        (CODE.replace("random_state=3", "random_state=None"), "only a seed"),
        (CODE.replace('"rng_state": 3', '"rng_state": 4'), "only a seed"),
        (CODE.replace("import random\n", "import random\nSPLIT_SEED = 8\n"), "only a seed"),
    ],
)
def test_a_change_that_is_none_is_refused(after: str, sentence: str) -> None:
    assert sentence in (reason(CODE, after) or "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rate=0.1", "rate=0.2"),
        ('"depth": 3', '"depth": 4'),
        ("Random(3)", "Random(n_items())"),
        ("return fit(n,", "return fit(n + 1,"),
    ],
)
def test_a_change_of_the_program_is_measured(old: str, new: str) -> None:
    assert reason(CODE, CODE.replace(old, new)) is None


@pytest.mark.parametrize(
    ("name", "before", "after", "sentence"),
    [
        ("a.toml", "rate = 1\n# x\n", "rate   =  1", "only comments"),
        ("a.toml", "rate = 1\nseed = 2", "rate = 1\nseed = 3", "only a seed"),
        ("a.json", '{"a": 1, "b": 2}', '{\n"b": 2, "a": 1}', "only comments"),
        ("a.json", '{"a": 1, "fit": [{"seed": 2}]}', '{"a": 1, "fit": [{"seed": 4}]}', "a seed"),
        ("a.yaml", "a: 1 # one\n", "a:   1\n", "only comments"),
        ("a.sh", "# x\nrun --seed 3 --fast\n", "run --seed 4 --fast\n", "only a seed"),
        ("a.c", "int x = 1; \n// y\n", "int x = 1;\n\n", "only comments"),
        ("a.md", "Be kind.\nBe brief.", "Be kind. Be brief.\n", "only comments"),
        ("a.py", "def broken(:\n  x\n", "def broken(:\n\n  x  \n", "only comments"),
    ],
)
def test_other_files_are_compared_by_what_they_mean(
    name: str, before: str, after: str, sentence: str
) -> None:
    assert sentence in (reason(before, after, name) or "")


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.toml", "rate = 1", "rate = 1.0"),
        ("a.yaml", "a: 1", "a: '1'"),
        ("a.yaml", "a: &x [1]\nb: *x", "a: &x [2]\nb: *x"),
        ("a.json", '{"a": 1}', '{"a": true}'),
        ("a.md", "Be kind.", "Be kinder."),
        ("a.c", "#define N 1", "#define N 2"),
        ("a.py", "'''prompt'''\nask(__doc__)", "'''other'''\nask(__doc__)"),
    ],
)
def test_another_value_is_a_change(name: str, before: str, after: str) -> None:
    assert reason(before, after, name) is None


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


@pytest.mark.parametrize(
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
