"""Prompts are files that say what they take; a user's own are checked before anything is spent."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoreason.errors import InvalidInput
from autoreason.prompts import PromptSet, built_in, load, variables_of


def test_every_prompt_uses_exactly_the_variables_it_states() -> None:
    from jinja2 import Environment, meta

    for name, source in built_in().sources.items():
        used = meta.find_undeclared_variables(Environment().parse(source))
        assert used == variables_of(source), name


def test_prompts_for_programs_state_their_variables_and_are_checked_alike(tmp_path: Path) -> None:
    from jinja2 import Environment, meta

    sources = built_in(code=True).sources
    for name, source in sources.items():
        assert meta.find_undeclared_variables(Environment().parse(source)) == variables_of(source)
        (tmp_path / f"{name}.md").write_text(source)
    assert load(tmp_path, code=True).sources == sources
    (tmp_path / "critic.md").write_text("Look at {{ text }}.")
    with pytest.raises(InvalidInput, match="critic has boundary, program, results"):
        load(tmp_path, code=True)


def test_a_folder_overrides_by_name_and_leaves_the_rest(tmp_path: Path) -> None:
    (tmp_path / "author.md").write_text("Write like Hemingway.")
    prompts = load(tmp_path)
    assert prompts.render("author") == "Write like Hemingway."
    assert prompts.sources["judge"] == built_in().sources["judge"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "critic",
            "Look at {{ txt }}.",
            "unknown variable `txt`; critic has boundary, guidance, quoted, text",
        ),
        ("author", "Use {{ brief }}.", "unknown variable `brief`; author has none"),
        ("critic", "{% if text %}", "mend the template"),
        ("critics", "x", "is no prompt of ours"),
        ("critic", "  ", "is empty"),
        ("critic", "{{ text | nosuch }}", "No filter named 'nosuch'"),
        ("critic", "{{ text.nosuch.thing }}", "cannot be rendered"),
        ("critic", "{% if guidance %}x{% else %}{{ 1 / 0 }}{% endif %}", "cannot be rendered"),
        ("critic", "{{ text.__class__.__mro__ }}", "cannot be rendered"),
        ("judge", "{% for c in candidates %}{{ c.title }}{% endfor %}", "cannot be rendered"),
        ("critic", "{% include 'author.md' %}", "takes in another template"),
        ("critic", "{% if false %}{% extends 'author.md' %}{% endif %}", "takes in another"),
        ("critic", "{% import 'author.md' as a %}", "takes in another"),
        ("critic", "{% from 'author.md' import a %}", "takes in another"),
    ],
)
def test_a_prompt_that_would_fail_later_is_refused_now(
    tmp_path: Path, name: str, content: str, said: str
) -> None:
    (tmp_path / f"{name}.md").write_text(content)
    with pytest.raises(InvalidInput, match=said):
        load(tmp_path)


def test_a_prompt_is_compiled_when_it_is_rendered_or_asked_for() -> None:
    from jinja2 import TemplateSyntaxError

    prompts = PromptSet({"good": "Write {{ text }}.", "bad": "{% if %}"})
    assert prompts.render("good", text="it") == "Write it."
    with pytest.raises(TemplateSyntaxError):
        prompts.compile_all()


def test_a_folder_without_prompts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="has no prompts"):
        load(tmp_path)
    with pytest.raises(InvalidInput, match="no prompt folder"):
        load(tmp_path / "nowhere")


def test_templates_cannot_reach_out_of_the_sandbox() -> None:
    from jinja2.exceptions import SecurityError

    with pytest.raises(SecurityError):
        PromptSet({"critic": "{{ text.__class__.__mro__ }}"}).render("critic", text="x")


def test_every_built_in_prompt_passes_as_an_override(tmp_path: Path) -> None:
    for name, source in built_in().sources.items():
        (tmp_path / f"{name}.md").write_text(source)
    assert load(tmp_path).sources == built_in().sources


def test_a_prompt_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "critic.md").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="is not UTF-8 text"):
        load(tmp_path)
    (tmp_path / "critic.md").unlink()
    (tmp_path / "critic.md").mkdir()
    with pytest.raises(InvalidInput, match="is a folder"):
        load(tmp_path)


def test_a_very_small_author_is_asked_in_few_words_and_judged_like_any_other() -> None:
    usual, small = built_in().sources, built_in(small=True).sources
    assert set(small) == set(usual)
    assert len(small["reviser"]) < len(usual["reviser"]) / 3
    assert small["judge"] == usual["judge"]
    for name, source in small.items():
        assert variables_of(source) <= variables_of(usual[name]), name
