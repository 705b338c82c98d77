"""A run as files, as a patch and as a branch."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.artifacts.knob import Meter, research_settings, research_task, turning
from tests.run.runs import Looping, scripted, start_run
from tests.studies.lab.rivals import compared, comparing
from tests.tournament.stage import document

from autoreason.artifacts.research_history import deliverable
from autoreason.artifacts.research_task import research_of
from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.job_types import Judge
from autoreason.journal import Journal
from autoreason.run.export import commit_result, export, make_result_patch
from autoreason.studies.panel_jobs import make_entries
from autoreason.task import Task
from autoreason.tournament.challengers import MAX_RIVALS


def exported(run: str, folder: Path, journal: Journal) -> set[str]:
    """The files of a run, as they are called in its folder."""
    return {str(path.relative_to(folder)) for path in export(run, folder, journal=journal)}


async def test_everything_is_there_by_pass(journal: Journal, tmp_path: Path) -> None:
    model = scripted({"pass/1/reviser/try/0": document("Second text.", "I cut the middle.")})
    result = await start_run(journal, model)
    folder = tmp_path / "out"
    files = exported(result.run, folder, journal)
    in_passes = ["01/A", "01/B", "01/B.notes", "01/AB", "01/critique_1", "01/ballot_1"]
    assert {f"passes/{name}.md" for name in in_passes} <= files
    assert {"brief.md", "settings.json", "prompts/judge.md", "draft.md", "run.json"} <= files
    assert {"passes/02/verdict.json", "calls/pass_1_judge_0_try_0.md", "final.md"} <= files
    assert (folder / "final.md").read_text() == "First text.\n"
    assert "I cut the middle." in (folder / "passes/01/B.notes.md").read_text()
    summary = json.loads((folder / "run.json").read_text())
    assert summary.keys() - result.to_dict().keys() == {"version", "forked_from", "trajectory"}
    assert result.to_dict().keys() <= summary.keys()
    assert (summary["status"], summary["trajectory"]) == ("converged", ["A", "A"])
    assert "coffee machine" in (folder / "calls/pass_1_judge_0_try_0.md").read_text()


async def test_tokens_that_were_not_counted_are_unknown(journal: Journal, tmp_path: Path) -> None:
    result = await start_run(journal, Looping())
    folder = tmp_path / "out"
    export(result.run, folder, journal=journal)
    assert json.loads((folder / "run.json").read_text())["tokens"] is None
    (first, *_) = (folder / "calls").iterdir()
    assert "tokens unknown" in first.read_text().splitlines()[0]


async def test_dropped_candidates_are_all_kept_with_the_reason(
    journal: Journal, tmp_path: Path
) -> None:
    task = Task(brief="Write.", contract=Contract(max_words=4))
    model = scripted({"reviser": document("Second text of very many words.")})
    result = await start_run(journal, model, task=task)
    export(result.run, tmp_path / "out", journal=journal)
    files = sorted((tmp_path / "out" / "passes" / "01").glob("dropped_*.md"))
    said = [file.read_text() for file in files]
    assert said[0].startswith("dropped: contract")
    assert "Second text of very many words." in said[0]
    assert [each.splitlines()[0] for each in said[-MAX_RIVALS:]] == ["dropped: clone"] * MAX_RIVALS


async def test_a_folder_with_something_in_it_is_left_alone_and_one_that_cannot_be_written_named(
    journal: Journal, tmp_path: Path
) -> None:
    result = await start_run(journal, scripted())
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="is not empty"):
        export(result.run, tmp_path, journal=journal)
    export(result.run, tmp_path, journal=journal, force=True)
    assert (tmp_path / "mine.txt").read_text() == "mine"
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file" / "out", tmp_path / "file"):
        with pytest.raises(InvalidInput, match=r"cannot write .*; name another folder"):
            export(result.run, folder, journal=journal, force=True)


async def test_a_comparison_is_there_cell_by_cell(journal: Journal, tmp_path: Path) -> None:
    result, _ = await compared(journal, comparing("critique_revise", "single", repeats=1, passes=1))
    folder = tmp_path / "out"
    files = exported(result.run, folder, journal)
    arms = {f"{arm}/1/final.md" for arm in ("critique_revise", "single")}
    panel = {f"panel/1/panels/panel/{name}" for name in ("ballot_1.md", "verdict.json")}
    wanted = {"critique_revise/1/passes/01/B.md", *arms, *panel}
    assert {f"brief/{name}" for name in wanted} <= files


async def test_a_panel_is_there_with_its_texts(journal: Journal, tmp_path: Path) -> None:
    entries = make_entries({"a.md": "First text.", "../b": "Second text."})
    task = Task(brief="Write one sentence.", entries=entries)
    result = await start_run(journal, scripted(), task=task, changes={"job": Judge(), "judges": 2})
    folder = tmp_path / "out"
    files = exported(result.run, folder, journal)
    texts = {"texts/a.md", "texts/.._b.md"}
    assert texts | {"panels/panel/ballot_2.md", "panels/panel/verdict.json"} <= files


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    return subprocess.check_output(["git", *who, *arguments], cwd=folder, text=True).strip()


async def turned(journal: Journal, by: float, patience: int = 25, **task: Any) -> str:
    """A run whose proposer always turns the knob by so much."""
    chosen = research_settings(patience=patience)
    options: dict[str, Any] = {"task": research_task(**task), "settings": chosen}
    result = await start_run(journal, turning(lambda _: by), **options, service=Meter())
    return result.run


@pytest.fixture
async def run(journal: Journal) -> str:
    """A run that kept three changes."""
    return await turned(journal, 1.0, target=3.0)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the start of the artifact in a folder of it; that folder."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "a@example.org")
    folder = tmp_path / "repository" / "my task"
    folder.mkdir(parents=True)
    git(folder.parent, "init", "-q")
    research = research_of(research_task())
    assert research is not None
    for path, text in research.files.items():
        (folder / path).write_text(text)
    git(folder.parent, "add", ".")
    git(folder.parent, "commit", "-qm", "start")
    return folder


def result_of(journal: Journal, run: str) -> dict[str, str]:
    result = deliverable(journal.story(run))
    assert result is not None
    return result.files


def test_the_patch_applies_where_the_task_is_and_not_elsewhere(
    journal: Journal, run: str, repository: Path, tmp_path: Path
) -> None:
    patch = make_result_patch(run, repository, journal=journal)
    applied = ["git", "apply"]
    subprocess.run(applied, cwd=repository.parent, input=patch.encode(), check=True)
    for path, text in result_of(journal, run).items():
        assert (repository / path).read_text() == text
    with pytest.raises(InvalidInput, match="has no file of the artifact; name the task's FOLDER"):
        make_result_patch(run, repository.parent, journal=journal)
    assert make_result_patch(run, tmp_path, journal=journal).startswith("diff --git a/knob.txt")


def test_a_branch_is_one_commit_on_head_and_nothing_else_changes(
    journal: Journal, run: str, repository: Path
) -> None:
    (repository / "other.txt").write_text("mine")
    git(repository, "add", "other.txt")
    state, head = ("status", "--porcelain"), ("rev-parse", "HEAD")
    before = (git(repository, *state), git(repository, *head))
    commit = commit_result(run, "found/it", repository, journal=journal)
    assert git(repository, "rev-parse", "found/it") == commit
    assert git(repository, "rev-parse", "found/it^") == before[1]
    assert (git(repository, *state), git(repository, *head)) == before
    for path, text in result_of(journal, run).items():
        assert git(repository, "show", f"found/it:./{path}") == text.strip()
    assert run in git(repository, "log", "-1", "--format=%B", "found/it")
    for name in ("found/it", "no..name", "@{-1}", "-x", "HEAD"):
        with pytest.raises(InvalidInput, match="git branch failed: "):
            commit_result(run, name, repository, journal=journal)


def test_a_branch_is_refused_where_head_is_not_the_start(
    journal: Journal, run: str, repository: Path, tmp_path: Path
) -> None:
    (path,) = result_of(journal, run)
    (repository / path).write_text("knob = 9\n")
    git(repository, "commit", "-qam", "moved on")
    with pytest.raises(InvalidInput, match="at HEAD is not as the run started"):
        commit_result(run, "found", repository, journal=journal)
    git(repository, "rm", "-q", path)
    git(repository, "commit", "-qm", "gone")
    repository.mkdir(exist_ok=True)
    (tmp_path / "elsewhere").mkdir()
    folders = (repository, "does not exist in 'HEAD'"), (tmp_path / "elsewhere", "not a git repo")
    for folder, why in (*folders, (tmp_path / "nowhere", "No such file")):
        with pytest.raises(InvalidInput, match=why):
            commit_result(run, "found", folder, journal=journal)
    assert "found" not in git(repository.parent, "branch", "--list")


def test_an_export_has_start_result_patch_and_trials(
    journal: Journal, run: str, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    export(run, folder, journal=journal)
    (path,) = result_of(journal, run)
    assert "knob = 0" in (folder / "start" / path).read_text()
    assert "knob = 3" in (folder / "result" / path).read_text()
    assert "+knob = 3" in (folder / "result.patch").read_text()
    trials = json.loads((folder / "trials.json").read_text())
    assert [each["status"] for each in trials] == ["kept"] * 3


async def test_other_runs_and_those_without_a_keep_have_nothing_to_hand_over(
    journal: Journal,
) -> None:
    text = await start_run(journal)
    with pytest.raises(InvalidInput, match="is not a research run"):
        make_result_patch(text.run, Path(), journal=journal)
    kept_none = await turned(journal, -1.0, patience=2)
    with pytest.raises(InvalidInput, match="has kept no change"):
        make_result_patch(kept_none, Path(), journal=journal)
