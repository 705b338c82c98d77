"""What the documentation points to is there."""

from __future__ import annotations

import asyncio
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from msgspec import Struct
from tests.cases import cases
from tests.cli.inside import Inside
from tests.run.runs import open_journal
from tests.run.solve_runs import SCRIPT, solve_one

import autoreason
from autoreason import extend
from autoreason.artifacts.acceptance import Effect, EndResult
from autoreason.artifacts.research_history import EndTested, FinalistsMeasured, NoiseMeasured
from autoreason.artifacts.research_report import ResearchReport, TrialRow
from autoreason.artifacts.research_task import TaskKeys
from autoreason.cli.arguments import settings_of
from autoreason.cli.commands.judging import certify
from autoreason.events import Evidence, Preference, Survival, Verdict
from autoreason.exchange import Spent
from autoreason.models.doubles import EchoModel, ScriptedModel
from autoreason.programs.assignment import Assignment, Example, Trial
from autoreason.programs.events import solved_in
from autoreason.programs.problems.problem import BrokenRecord, ProblemShare
from autoreason.run.estimate import DryRun
from autoreason.run.recorded import replay
from autoreason.run.refine import refine
from autoreason.run.research import research
from autoreason.stats import Estimate, Test
from autoreason.studies.audit import Audit
from autoreason.studies.audit_findings import AuditFinding
from autoreason.studies.certificate import Certificate, CertificateFinding
from autoreason.studies.certificate_questions import defect_questions, other_questions
from autoreason.studies.lab_arms import DifficultyShares, LabArm
from autoreason.studies.lab_comparisons import ArmPair
from autoreason.studies.lab_file import ARM_KEYS
from autoreason.studies.lab_report import LabReport, LeftOut
from autoreason.studies.panel_jobs import RejudgeReport
from autoreason.studies.panel_report import EntryDuel, EntryStanding, PanelReport
from autoreason.studies.ratings import (
    Person,
    RatingsReport,
    TaskAgreement,
    TaskResult,
    TextStanding,
)
from autoreason.studies.simulation import (
    Interval,
    SimulationCell,
    SimulationPlan,
    SimulationReport,
    Summary,
)
from autoreason.studies.world import World
from autoreason.task import FRONT_MATTER, read_task

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page for where in ("*.md", "docs/**/*.md", "paper/*.md") for page in ROOT.glob(where)
)
_HEADING = re.compile(r"^#+\s+(.+?)\s*#*$", re.MULTILINE)

_LARGE_FIRST = """\
def pack(sizes, capacity):
    free, boxes = [], [0] * len(sizes)
    for item in sorted(range(len(sizes)), key=lambda item: -sizes[item]):
        fits = [at for at, room in enumerate(free) if room >= sizes[item]]
        if not fits:
            free.append(capacity)
        boxes[item] = fits[0] if fits else len(free) - 1
        free[boxes[item]] -= sizes[item]
    return boxes
"""


def links(page: Path) -> list[str]:
    """Where a page points to, without the web."""
    blocks = MarkdownIt().enable("table").parse(page.read_text("utf-8"))
    pieces = [piece for block in blocks for piece in block.children or []]
    found = [str(piece.attrs.get("href") or piece.attrs.get("src") or "") for piece in pieces]
    return [link for link in found if link and not re.match(r"[a-z][a-z+.-]*:", link)]


def anchors(page: Path) -> set[str]:
    headings = _HEADING.findall(page.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> list[str]:
    lost = []
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            lost.append(link)
    return lost


@cases("page", PAGES)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    assert broken(page) == []


@cases("page", PAGES)
def test_lines_have_at_most_120_columns_unless_they_are_an_address(page: Path) -> None:
    lines = page.read_text("utf-8").splitlines()
    wide = [line for line in lines if len(line) > 120]
    assert [line for line in wide if not re.fullmatch(r" *<?https?://\S+", line)] == []


def test_the_first_example_in_python_prints_what_it_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    example = (ROOT / "docs" / "reference.md").read_text("utf-8").split("```")[1]
    exec(example.removeprefix("python\n"), {})
    assert capsys.readouterr().out.strip() == example.partition("  # ")[2].strip()


def test_every_page_is_in_the_contents_of_the_site_once() -> None:
    conf = (ROOT / "docs" / "conf.py").read_text("utf-8").partition('CONTENTS = """')[2]
    listed = re.findall(r"^[\w/-]+$", conf.partition('"""')[0], re.MULTILINE)
    pages = [str(page.relative_to(ROOT).with_suffix("")) for page in PAGES]
    assert sorted(["README", *listed]) == sorted(pages)


def test_the_reference_lists_by_hand_only_what_is_no_class() -> None:
    page = (ROOT / "docs" / "reference.md").read_text("utf-8")
    listed = re.findall(r"py:data:: (\w+)", page)
    assert listed
    # The docstring of a class is in the reference already.
    assert [name for name in listed if isinstance(getattr(extend, name), type)] == []


# Reading every docstring and writing every page takes as long as the machine is busy.
@pytest.mark.timeout(0)
def test_the_site_is_built_and_its_reference_has_every_public_name(tmp_path: Path) -> None:
    pytest.importorskip("sphinx", reason="needs what `make docs` installs")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going"]
    command += ["-c", "docs", "-d", str(tmp_path / "read"), ".", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "site" / "index.html").is_file()
    reference = (tmp_path / "site" / "docs" / "reference.html").read_text("utf-8")
    missing = [name for name in autoreason.__all__ if f'id="autoreason.{name}"' not in reference]
    assert missing == ["__version__"]


def shown_under(heading: str, file: Path) -> Path:
    """The one program that the page on extensions shows under a heading, as a file."""
    text = (ROOT / "docs" / "extending.md").read_text("utf-8")
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    (shown,) = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    file.write_text(shown)
    return file


async def test_the_strategy_of_ones_own_that_is_shown_can_be_run(tmp_path: Path) -> None:
    file = shown_under("A strategy for texts", tmp_path / "twice.py")
    result = await refine.aio(
        "Write about tides.", EchoModel(), strategy=f"{file}:Twice", journal=tmp_path / "journal.db"
    )
    assert (result.status, result.calls, result.origin) == ("done", 2, "pass 1")


async def test_the_strategy_for_programs_that_is_shown_can_be_run(tmp_path: Path) -> None:
    file = shown_under("A strategy for programs", tmp_path / "patient.py")
    with open_journal(tmp_path) as journal:
        result = await solve_one(journal, ScriptedModel(SCRIPT), f"{file}:Patient")
        assert (await replay.aio(result.run, journal=journal)).same
    (solved,) = solved_in(result.story)
    assert solved.reason == "it passes all 3 public tests"
    assert (solved.attempts, solved.spent.calls) == (4, 4)


def test_help_and_page_say_how_many_questions_a_judge_is_asked() -> None:
    count = len(defect_questions(1)) + len(other_questions(1, 1))
    assert f"asked {count} questions" in str(certify.help)
    page = (ROOT / "docs" / "judging.md").read_text("utf-8")
    assert f"asks a judge {count} questions" in page


def test_every_key_of_briefs_suites_and_research_is_on_its_page() -> None:
    page = (ROOT / "docs" / "writing.md").read_text("utf-8")
    table = page.partition("## Limits")[2].partition("\n\nA text that")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert [key for row in rows for key in re.findall(r"`(\w+)`", row)] == list(FRONT_MATTER)
    page = (ROOT / "docs" / "research.md").read_text("utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    listed = [key for row in rows for key in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(TaskKeys.__struct_fields__)
    page = (ROOT / "docs" / "laboratory.md").read_text("utf-8")
    keys = page.partition("## Keys")[2].partition("## What is run")[0]
    in_help = {*settings_of("run"), "seed", "batch"}
    assert set(ARM_KEYS) <= set(re.findall(r"`(\w+)`", keys)) | in_help, "the page refers to help"


@pytest.mark.skipif(sys.platform != "linux", reason="evaluators are jailed on Linux")
def test_the_research_task_that_is_shown_can_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "research.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    for name in ("task.md", "pack.py", "evaluate.py"):
        text = page.partition(f"`{name}`")[2].partition("```")[2].partition("\n")[2]
        Path(name).write_text(text.partition("```")[0])
    proposal = "HYPOTHESIS: large items first\nEXPECTED: +0.02\n\npack.py\n```python\n{}```\n"
    unsorted = Path("pack.py").read_text().replace("in sizes:", "in sorted(sizes)[::-1]:")
    replies = {
        "trial/1/proposer/try/0": proposal.format(unsorted),
        "author": proposal.format(_LARGE_FIRST),
    }
    result = research("task.md", ScriptedModel(replies), evaluations=40, patience=3)
    assert result.report.trials[0].status == "failed"
    assert result.improved
    assert result.conclusion.startswith("result against start on fresh evaluations +0.0")


@cases(
    ("section", "kinds"),
    [
        ("Numbers", (Estimate, Test, Spent)),
        ("`run`, `resume`, `fork` and `show`", (Evidence, Survival, Preference)),
        ("`judge`", (PanelReport, EntryStanding, EntryDuel)),
        ("`judge` of a run", (RejudgeReport, Verdict)),
        ("`certify`", (Certificate, CertificateFinding)),
        ("`lab`", (LabReport, LabArm, ArmPair, LeftOut, DifficultyShares)),
        ("`audit`", (Audit, AuditFinding)),
        ("`problems`", (Trial, ProblemShare, BrokenRecord, Assignment, Example)),
        (
            "`simulate`",
            (SimulationReport, SimulationPlan, SimulationCell, Summary, World, Interval),
        ),
        ("`rate report`", (RatingsReport, TaskResult, TextStanding, Person, TaskAgreement)),
        ("`research`", (ResearchReport, NoiseMeasured, TrialRow, Effect, FinalistsMeasured)),
        ("`research`", (EndTested, EndResult)),
    ],
)
def test_every_field_of_json_is_on_its_page(section: str, kinds: tuple[type[Struct], ...]) -> None:
    page = (ROOT / "docs" / "json.md").read_text("utf-8")
    for kind in kinds:
        assert set(kind.__struct_fields__) <= {"conclusion", *documented(page, section)}, kind


def documented(page: str, section: str) -> list[str]:
    (text,) = re.findall(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    return re.findall(r"`(\w+)`", text)


def test_every_field_that_research_prints_is_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("knob.txt").write_text("1\n")
    reply = "HYPOTHESIS: more\nEXPECTED: +4\n\nknob.txt\n```\n5\n```\n"
    brief = "---\nartifact: knob.txt\n---\nTurn the knob up."
    options: Any = {"evaluate": lambda folder, *_: float((folder / "knob.txt").read_text())}
    model = ScriptedModel({"author": reply})
    prepared = research.prepare(brief, model, **options)
    dry = DryRun(prepared.task, prepared.settings, prepared.estimate())
    check = asyncio.run(prepared.check_async())
    result = research(brief, model, **options, evaluations=20, patience=2)
    page = (ROOT / "docs" / "json.md").read_text("utf-8")
    for section, printed in (
        ("`research`", result.to_dict()),
        ("`--dry-run`", {**dry.to_dict(), "task": {}, "settings": {}, "request": {}}),
        ("`research check`", check.to_dict()),
    ):
        words = {*documented(page, section), *documented(page, "Every run")}
        assert set(names_in(printed)) <= words, section


def names_in(value: Any) -> Iterator[str]:
    """The names of fields in what was printed; those in `metrics` and `statuses` are the user's own."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield name
            if name not in ("metrics", "statuses"):
                yield from names_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from names_in(each)


def test_the_extensions_that_are_shown_work_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "extending.md").read_text("utf-8")
    part, headings = tmp_path / "part.py", ("A model", "A contract check")
    shown = [shown_under(each, part).read_text("utf-8") for each in headings]
    (tmp_path / "mine.py").write_text("\n\n".join(shown))
    (command,) = re.findall(r"^    autoreason (run .*)$", page, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    arguments = shlex.split(command)
    done = Inside(tmp_path, capsys)(*arguments, "--journal", "j.db", "--seed", "1", "--json")
    assert done.status == 0, done.err


def test_the_example_brief_does_not_accept_a_greeting_in_place_of_its_facts() -> None:
    contract = read_task(str(ROOT / "examples" / "brief.md")).contract
    welcome = "Welcome to Tern Lighthouse. Breakfast is at eight in the lantern room."
    assert contract.violations(welcome) == ()
    assert contract.violations("I'm ready to help. What can I do for you today?") != ()
