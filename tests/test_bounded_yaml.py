"""YAML from anybody: what a few aliases stand for is bounded, wherever YAML is read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autoreason.bounded_yaml import load_yaml
from autoreason.errors import InvalidInput
from autoreason.knowledge.folder import read_folder
from autoreason.studies.lab_file import MarkedYaml
from autoreason.studies.world import read_world
from autoreason.task import split_front_matter

SOURCE = Path(__file__).parents[1] / "src" / "autoreason"


def bomb(levels: int = 9) -> str:
    """A few hundred bytes that stand for 9 to the power of the levels."""
    lines = ["x0: &x0 [" + ", ".join("x" * 9) + "]"]
    for at in range(1, levels):
        lines.append(f"x{at}: &x{at} [" + ", ".join([f"*x{at - 1}"] * 9) + "]")
    return "\n".join(lines)


def test_aliases_that_stand_for_too_much_are_refused_and_others_are_read() -> None:
    with pytest.raises(ValueError, match=r"line \d: aliases stand for more than 10,000 values"):
        load_yaml(bomb())
    with pytest.raises(ValueError, match="aliases stand for more than"):
        load_yaml(re.sub(r"\[(.*)\]", lambda found: "{" + in_a_mapping(found[1]) + "}", bomb()))
    assert len(load_yaml("\n".join(f"- {each}" for each in range(11_000)))) == 11_000


def in_a_mapping(items: str) -> str:
    return ", ".join(f"{at}: {each}" for at, each in enumerate(items.split(", ")))


def test_aliases_are_read_as_what_they_stand_for_unless_they_are_part_of_themselves() -> None:
    assert load_yaml("a: &a [1, 2]\nb: [*a, *a]\nc: {<<: {d: *a}}") == {
        "a": [1, 2],
        "b": [[1, 2], [1, 2]],
        "c": {"d": [1, 2]},
    }
    for text in ("a: &a [*a]", "a: &a {b: *a}"):
        with pytest.raises(ValueError, match="line 1: an alias is part of itself"):
            load_yaml(text)


def test_a_suite_a_brief_a_world_and_a_record_refuse_them_by_name(tmp_path: Path) -> None:
    front = f"---\nnote: 1\n{bomb()}\n---\nText."
    with pytest.raises(InvalidInput, match=r"^s\.yaml is not valid YAML: line 5: aliases stand"):
        MarkedYaml("s.yaml", bomb())
    with pytest.raises(InvalidInput, match=r"^b\.md: the front matter .* \(line 7: aliases stand"):
        split_front_matter("b.md", front, ())
    with pytest.raises(InvalidInput, match=r"^w\.yaml is not a world: line 5: aliases"):
        read_world(bomb(), "w", "w.yaml")
    (tmp_path / "approved").mkdir()
    (tmp_path / "approved" / "x.md").write_text(front)
    (problem,) = read_folder(tmp_path).problems
    assert problem.startswith("approved/x.md: the front matter is not YAML (line 7: aliases")


def test_nothing_else_loads_yaml() -> None:
    loading = re.compile(r"yaml\.(safe_load|load|SafeLoader\()")
    found = [path.name for path in SOURCE.rglob("*.py") if loading.search(path.read_text("utf-8"))]
    assert found == ["bounded_yaml.py"]
