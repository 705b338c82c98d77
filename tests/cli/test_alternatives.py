"""Several texts to choose from, as a user has them: on standard output, in a file, and as arms of a test."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Shell
from tests.cli.inside import Inside

MODEL = """
import json
from tests.strategies.test_alternatives import SCRIPT
from autoreason.testing import ScriptedModel

class Model(ScriptedModel):
    def __init__(self, address):
        super().__init__(SCRIPT, address=address)
"""
RUN = ("run", "A headline for Sundays", "-m", "model.py:Model/any", "--seed", "7")
BEST = [
    "Free coffee and ten thousand stories",
    "Bring the children, leave with dragons",
    "Your quietest hour has a door",
]


def test_all_texts_are_handed_over_and_become_the_arms_of_a_test(shell: Shell) -> None:
    (shell.home / "model.py").write_text(MODEL)
    said = shell(*RUN, "--alternatives", "3", PYTHONPATH=str(Path(__file__).parents[2]))
    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines() == BEST
    assert "Judges prefer the first of 3 texts: fresh judges put the first before" in said.stderr
    assert "what changed" not in said.stderr
    assert "draft 6 of 6" in said.stderr
    planned = shell("knowledge", "ab-plan", "last", "--to", "test", "--json")
    arms = json.loads(planned.stdout)["arms"]
    assert {each["text"] for each in arms} == {*BEST}
    assert {each["chosen"] for each in arms} == {"ab"}
    assert "Drawn" not in shell("knowledge", "ab-plan", "last").stdout


def test_views_and_files_have_every_text(inside: Inside, tmp_path: Path) -> None:
    inside.write("model.py", MODEL)
    files = ("-o", "best.txt", "--html", "best.html")
    assert inside(*RUN, "--alternatives", "3", *files).status == 0
    assert (tmp_path / "best.txt").read_text().splitlines() == BEST
    page = (tmp_path / "best.html").read_text()
    assert "To choose from" in page
    assert "Judges who do not know which is which ranked them." in page
    assert "by itself" not in page, "one request wrote several"
    shown = inside("show").out
    places = [shown.index(text[:12]) for text in BEST]
    assert places == sorted(places)
    assert "before another 100 % (" in shown
    assert inside("show", "--text").out.splitlines() == BEST
    assert "models       model.py:Model/any · " in inside("show", "--evidence").out
    assert inside("export", "last", "files").status == 0
    assert (tmp_path / "files" / "final.md").read_text().splitlines() == BEST
    listed = json.loads(inside("show", "--json").out)["alternatives"]["texts"]
    assert [each["text"] for each in listed] == BEST
    inside("fork", "last", "--strategy", "single")
    assert inside("show", "--text").out.strip() == BEST[0]
