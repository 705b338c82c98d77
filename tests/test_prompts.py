"""Prompts are files that say what they take; a user's own are checked before anything is spent."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoreason.errors import InvalidInput
from autoreason.prompts import built_in, load, variables_of


def test_every_prompt_uses_exactly_the_variables_it_states() -> None:
    from jinja2 import Environment, meta

    for name, source in built_in().sources.items():
        used = meta.find_undeclared_variables(Environment().parse(source))
        assert used == variables_of(source), name


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
    ],
)
def test_a_prompt_that_would_fail_later_is_refused_now(
    tmp_path: Path, name: str, content: str, said: str
) -> None:
    (tmp_path / f"{name}.md").write_text(content)
    with pytest.raises(InvalidInput, match=said):
        load(tmp_path)


def test_a_folder_without_prompts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="has no prompts"):
        load(tmp_path)
    with pytest.raises(InvalidInput, match="no prompt folder"):
        load(tmp_path / "nowhere")


def test_templates_cannot_reach_out_of_the_sandbox(tmp_path: Path) -> None:
    from jinja2.exceptions import SecurityError

    (tmp_path / "critic.md").write_text("{{ text.__class__.__mro__ }}")
    with pytest.raises(SecurityError):
        load(tmp_path).render("critic", text="x", boundary="b", guidance="", quoted=True)
