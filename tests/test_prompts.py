"""Prompts are files that say what they take; a user's own are checked before anything is spent."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import Environment, meta

from autoreason.errors import InvalidInput
from autoreason.prompts import built_in, load, takes
from autoreason.prompts.overrides import VARIABLES


def test_every_prompt_uses_what_it_requires_and_nothing_it_does_not_state(tmp_path: Path) -> None:
    for name, source in (*built_in().sources.items(), *built_in(small=True).sources.items()):
        used = meta.find_undeclared_variables(Environment().parse(source))
        required = {each.partition(".")[0] for each in takes(source).required}
        assert required <= used <= takes(source).all, name
    for name, source in built_in().sources.items():
        (tmp_path / f"{name}.md").write_text(source)
    assert load(tmp_path).sources == built_in().sources


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("programs", "critic", "known are boundary, program, results"),
        ("files", "proposer", "known are boundary, files, guidance, ledger, summary"),
    ],
)
def test_prompts_for_programs_and_files_state_their_variables_and_are_checked_alike(
    tmp_path: Path, kind: str, name: str, message: str
) -> None:
    sources = built_in(writes=kind).sources
    for each, source in sources.items():
        assert meta.find_undeclared_variables(Environment().parse(source)) == takes(source).all
        (tmp_path / f"{each}.md").write_text(source)
    assert load(tmp_path, writes=kind).sources == sources
    (tmp_path / f"{name}.md").write_text("Look at {{ text }}.")
    with pytest.raises(InvalidInput, match=message):
        load(tmp_path, writes=kind)


def test_a_folder_overrides_by_name_and_leaves_the_rest(tmp_path: Path) -> None:
    (tmp_path / "author.md").write_text("Write like Hemingway.")
    prompts = load(tmp_path)
    assert prompts.render("author") == "Write like Hemingway."
    assert prompts.sources["judge"] == built_in().sources["judge"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("critic", "Look at {{ txt }}.", "unknown variable `txt`; known are boundary, criteria, "),
        ("author", "Use {{ brief }}.", "unknown variable `brief`; known are none"),
        ("critic", "{% if text %}", "line 1: .*; correct it"),
        ("critics", "x", "is not the name of a prompt"),
        ("critic", "  ", "is empty"),
        ("critic", "{{ text | nosuch }}", "filter nosuch is not among"),
        ("critic", "{{ text.__class__.__mro__ }}", "cannot be rendered"),
        ("judge", "{% for c in candidates %}{{ c.title }}{% endfor %}", "cannot be rendered"),
        ("critic", "{% include 'author.md' %}", "takes in another template"),
        ("critic", "{% import 'author.md' as a %}", "takes in another"),
        ("judge", "{{ candidates | length }} texts", "does not show `candidates.label`"),
        ("task", "{{ brief }}", "does not show `facts`"),
        ("task", "Write. {{ facts }} {{ rules }}", "does not show `brief`"),
        ("reviser", "{{ text }} {% if critique %}is bad{% endif %}", "does not show `critique`"),
        ("synthesizer", "{{ texts[0] }}", "does not show `texts`"),
        ("author", '{{ "x" * 300000000 }}', "line 1: `[*]` is not part of the language"),
        ("author", "{{ 9 ** 9 ** 9 ** 9 }}", "`[*][*]` is not part"),
        ("author", '{{ "%999999999d" % 1 }}', "`%` is not part"),
        ("author", '{{ "x".center(999999999) }}', "`call` is not part"),
        ("author", '{{ "x" | center(999999999) }}', "filter center is not among"),
        ("author", '{{ "x" | indent(999999999, true) }}', "filter indent is given something"),
        ("critic", "{{ text | replace('', text) }}", "filter replace is given something"),
        ("critic", "{{ text|join('0123456789')|join('0123456789') }}", "more than one of"),
        ("critic", "{% for a in text %}{% for b in text %}x{% endfor %}{% endfor %}", "not a list"),
        ("author", "{% for a in range(99999) %}x{% endfor %}", "a loop over what is not a list"),
        ("author", "{% set x = 'x' %}{% set x = x ~ x %}{{ x }}", "`assign` is not part"),
        ("author", "{% macro m() %}x{% endmacro %}{{ m() }}", "`macro` is not part"),
        ("author", "\n\n{% with x = 'x' %}{{ x }}{% endwith %}", "line 3: `with` is not part"),
    ],
)
def test_a_prompt_that_would_fail_later_is_refused_now(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / f"{name}.md").write_text(content)
    with pytest.raises(InvalidInput, match=message):
        load(tmp_path)


def test_a_prompt_may_say_a_thing_once_more_shorter_or_in_another_order(tmp_path: Path) -> None:
    (tmp_path / "judge.md").write_text(
        "{{ candidates | length }}: {% for c in candidates | reverse %}{{ loop.index }}. {{ c.label }}\n"
        "{{ c.text | trim | indent(2) }}{{ ', ' if not loop.last }}{% endfor %}"
        "{% for c in candidates %}{{ c.text | truncate(20) | upper }}{% endfor %}"
    )
    shown = [{"label": "P", "text": "One."}, {"label": "Q", "text": "Two."}]
    rendered = load(tmp_path).render("judge", candidates=shown)
    assert rendered == "2: 1. Q\nTwo., 2. P\nOne.ONE.TWO."


def test_a_prompt_for_a_very_small_author_needs_no_more_than_ours_shows(tmp_path: Path) -> None:
    shown = "Better, please: {% for f in fixes %}{{ f }}{% endfor %}"
    (tmp_path / "fix_contract.md").write_text(shown)
    assert load(tmp_path, small=True).render("fix_contract", fixes=["x"]) == "Better, please: x"
    (tmp_path / "reviser.md").write_text("Better, please: {{ text }}")
    for small in (True, False):
        with pytest.raises(InvalidInput, match="does not show `critique`"):
            load(tmp_path, small=small)


def test_a_folder_without_prompts_that_can_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no prompt folder"):
        load(tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match="has no prompts"):
        load(tmp_path)
    (tmp_path / "critic.md").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="is not UTF-8 text"):
        load(tmp_path)
    (tmp_path / "critic.md").unlink()
    (tmp_path / "critic.md").mkdir()
    with pytest.raises(InvalidInput, match="Is a directory"):
        load(tmp_path)


def test_a_very_small_author_is_asked_in_few_words_and_judged_like_any_other() -> None:
    usual, small = built_in().sources, built_in(small=True).sources
    assert set(small) == set(usual)
    assert len(small["reviser"]) < len(usual["reviser"]) / 3
    assert small["judge"] == usual["judge"]
    for name, source in small.items():
        assert takes(source).all <= takes(usual[name]).all, name


def test_every_variable_is_documented_and_none_that_no_prompt_takes() -> None:
    kinds = ("text", "programs", "files")
    sources = [each for kind in kinds for each in built_in(writes=kind).sources.values()]
    assert frozenset[str]().union(*(takes(source).all for source in sources)) == set(VARIABLES)
