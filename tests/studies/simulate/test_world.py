"""Worlds are a few lines of YAML, and a mistake in one is one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.studies.world import World, built_in_worlds, load_world, read_world


def test_every_built_in_world_is_loaded_by_its_name_and_an_unknown_one_refused() -> None:
    worlds = [load_world(name) for name in built_in_worlds()]
    assert len(worlds) >= 9
    assert [world.name for world in worlds] == list(built_in_worlds())
    assert all(world.about.endswith(".") for world in worlds)
    assert {world.kind for world in worlds} == {"help", "drift", "harm"}
    with pytest.raises(InvalidInput, match="no world `paradise`; give a file or one of help"):
        load_world("paradise")
    with pytest.raises(InvalidInput, match=r"cannot read world nowhere\.yaml"):
        load_world("nowhere.yaml")


def test_a_world_takes_its_name_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "gloomy.yaml"
    file.write_text("about: x\nkind: harm\n", encoding="utf-8")
    assert load_world(str(file)) == replace(World(about="x", kind="harm"), name="gloomy")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("about: [", "line 1"),
        ("- about", "it must be `key: value` pairs, not a list"),
        ("about: x", "kind"),
        ("about: x\nkind: odd", "kind"),
        ("about: x\nkind: help\njudge: {noise: 1}", "unknown key `judge`"),
        ("about: x\nkind: help\njudges: {nois: 1}", "unknown key `nois` in `judges`"),
        ("about: x\nkind: help\njudges: {noise: -1}", "noise"),
        ("about: x\nkind: help\njudges: {noise: loud}", "noise"),
        ("about: x\nkind: help\njudges: {newer: .inf}", "`judges.newer` must be a number"),
        ("about: x\nkind: help\nrevision: {pull: 2}", "pull"),
        ("about: x\nkind: help\ncritics: {silent: 0.5, at: 0}", "at"),
    ],
)
def test_a_mistake_in_a_world_is_one_sentence_that_names_it(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_world(text, "x", "x.yaml")
    assert message in str(refused.value)
    assert str(refused.value).startswith("x.yaml")
