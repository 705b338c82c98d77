"""`lab` from the command line: plan, run, status, report and add, and the paper beside its data."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.inside import Inside
from tests.run.suites import SUITE

FAST = ("-m", "echo/echo", "--anyway", "--seed", "1")


def write(inside: Inside, text: str = SUITE) -> str:
    return inside.write("suite.yaml", text)


def test_a_suite_is_run_to_its_report(inside: Inside) -> None:
    said = inside("lab", "run", write(inside), *FAST)
    assert said.status == 0
    first, *tests, last = said.out.splitlines()
    assert first == "No difference is shown in 3 planned tests."
    assert [line.endswith("  not shown") for line in tests] == [True] * 3
    assert last.startswith("2 tasks, 20 parts · ")
    assert last.endswith(" · autoreason view last")
    assert "Does revising help?" in inside("show", "--evidence").out
    assert "20 of 20 cells" in said.err or "tides, single 1: " in said.err


def test_a_plan_says_what_it_takes_and_what_it_can_show(inside: Inside) -> None:
    said = inside("lab", "plan", write(inside), "-m", "echo/echo", "--repeats", "9")
    assert said.status == 0
    assert "free of charge; nothing was called" in said.out
    assert "or more prefer one" in said.out
    few = inside("lab", "plan", write(inside), "-m", "echo/echo", "--repeats", "1")
    sentence = " ".join(few.out.split()).partition("Refused ")[2]
    assert sentence.startswith(
        "the suite tides cannot show anything: 2 pairs are too few (even if all agreed, it could be "
        "chance); it takes 7 or more for 3 planned tests; add repeats or tasks, or run it with --anyway"
    )
    vain = inside("lab", "plan", write(inside), "-m", "echo/echo", "--repeats", "1", "--json")
    assert json.loads(vain.out)["cells"] == 10
    refused = inside("lab", "run", write(inside), "-m", "echo/echo", "--repeats", "1")
    assert (vain.status, vain.err) == (refused.status, refused.err)
    assert refused.status == 2
    assert "run it with --anyway" in refused.err


def test_status_report_and_cells_of_a_suite(inside: Inside, tmp_path: Path) -> None:
    inside("lab", "run", write(inside), *FAST, "-q")
    assert "Answers" in inside("show", "--evidence").out
    folder = tmp_path / "report"
    report = inside("show", "--report", str(folder))
    assert report.status == 0
    page = (folder / "report.html").read_text()
    assert '<p class="kick">Suite tides</p>' in page
    about = page.partition("<footer>")[2]
    name = inside.runs()[0]
    assert all(each in about for each in (name, "echo/echo", "Seed: 1", " UTC"))
    assert json.loads((folder / "report.json").read_text())["origin"]["Run"] == name
    own = set(folder.iterdir())
    (folder / "notes.md").write_text("mine")
    (folder / "words-by-pass.svg").write_text("of an earlier report")
    (folder / "report.md").unlink()
    (folder / "report.md").symlink_to(folder / "notes.md")
    assert inside("show", "--report", str(folder)).status == 0
    assert set(folder.iterdir()) == {*own, folder / "notes.md"}
    assert (folder / "notes.md").read_text() == "mine"
    (folder / "report.json").write_text('{"origin": {"Run": "another"}}')
    other = inside("show", "--report", str(folder))
    assert (other.status, other.out) == (2, "")
    assert "is not empty; name a new folder for the report" in " ".join(other.err.split())
    runs = inside("runs")
    assert "1 run:" in runs.out
    assert "comparison: Suite" in runs.out
    cells = json.loads(inside("runs", "--suite", name, "-n", "100", "--json").out)
    assert {cell["run"].partition(".")[0] for cell in cells} == {name}
    by_name = inside("runs", "--suite", "tides", "-n", "100", "--json")
    assert by_name.json == cells
    assert "no run 'winds'" in inside("runs", "--suite", "winds").err
    assert inside("lab", "report", "tide").out == inside("lab", "report", name).out
    (suite,) = json.loads(inside("runs", "--json").out)
    assert sum(cell["calls"] for cell in cells) == suite["calls"]
    assert len(json.loads(inside("runs", "--all", "-n", "100", "--json").out)) == len(cells) + 1
    every = inside("runs", "--all", "-n", "100")
    assert f"{len(cells) + 1} runs:" in every.out
    total = runs.out.splitlines()[-1].partition(": ")[2]
    assert every.out.splitlines()[-1].partition(": ")[2] == total
    alone = inside("runs", "--suite", name, "-n", "100")
    assert alone.out.splitlines()[-1].partition(": ")[2] == total
    shown = inside("show", name, "--evidence")
    assert "Does revising help?" in shown.out
    assert inside("show", f"{name}.0002").status == 0


def test_a_suite_at_its_limit_is_resumed(inside: Inside) -> None:
    paused = inside("lab", "run", write(inside), *FAST, "--call-limit", "20")
    assert paused.status == 3
    assert "autoreason resume" in paused.err
    status = " ".join(inside("show").out.split())
    assert " is paused (budget): " in status
    assert status.endswith(f"autoreason resume {inside.runs()[0]} --call-limit 30")
    run = json.loads(inside("show", "--json").out)["run"]
    stopped = inside("tell", f"{run}.0001", "stop")
    assert (stopped.status, "is a cell" in stopped.err) == (2, True)
    for message in ("accept", "Shorter."):
        assert "writes no text that could be guided" in inside("tell", run, message).sentence
    ended = inside("resume", "last", "--call-limit", "900")
    assert ended.status == 0
    assert "2 tasks, 20 parts" in ended.out


def test_repeats_are_added(inside: Inside) -> None:
    text = SUITE + "add: {width: 0.01, repeats: 3}\n"
    inside("lab", "run", write(inside, text), *FAST, "-q")
    added = inside("lab", "run", "--more")
    assert added.status == 0
    shown = inside("show", "--evidence").out
    assert "by the rule of the suite" in " ".join(shown.split())
    nothing = inside("lab", "run", "--more")
    assert (nothing.status, nothing.out) == (0, "")
    assert "has all repeats that its rule asks for" in " ".join(nothing.err.split())
    assert inside("lab", "run", "--more", "--json").json["run"] == inside.runs()[0]
