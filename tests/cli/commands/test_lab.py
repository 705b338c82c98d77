"""`lab`: the paper beside its data."""

from __future__ import annotations

from pathlib import Path

from tests.cli.inside import Inside
from tests.conftest import DATA

SAMPLE = str(DATA / "reproduce")


def test_the_paper_is_set_beside_its_data(inside: Inside, tmp_path: Path) -> None:
    done = inside("lab", "reproduce", SAMPLE, "--html", str(tmp_path / "paper.html"))
    assert done.status == 0, done.err
    assert done.out.startswith("Of ")
    assert max(map(len, done.out.splitlines())) <= 120
    assert "Section 4: open tasks" in (tmp_path / "paper.html").read_text("utf-8")


def test_programs_get_every_line(inside: Inside) -> None:
    report = inside("lab", "reproduce", SAMPLE, "--json").json
    assert {line["verdict"] for line in report["lines"]} == {
        "agrees",
        "consistent",
        "differs",
        "no data",
    }
    assert report["unread"]


def test_a_folder_without_results_is_refused_in_a_sentence(inside: Inside, tmp_path: Path) -> None:
    done = inside("lab", "reproduce", str(tmp_path))
    assert done.status == 2
    assert "has no recorded results; name a folder with ballots.jsonl" in " ".join(done.err.split())


def test_help_says_what_the_folder_has(inside: Inside) -> None:
    assert "code_results.jsonl" in inside("lab", "reproduce", "--help").out
    assert "lab reproduce" in inside("lab", "--help").out
