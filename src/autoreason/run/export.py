"""A run as files, as a patch and as a branch."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from autoreason.artifacts.artifact import make_patch
from autoreason.artifacts.research_history import Deliverable, TrialDecided, deliverable
from autoreason.errors import InvalidInput
from autoreason.events import BallotCast, Event
from autoreason.files import is_word_file, write
from autoreason.journal import Journal
from autoreason.parsing.critiques import describe
from autoreason.programs.assignment import assignments_of
from autoreason.programs.events import program_files, solved_in
from autoreason.report.changes import to_criticmarkup, to_patch
from autoreason.report.report import pretty_json, usable, write_folder
from autoreason.run.record import name_and_journal, recorded_result, use_journal
from autoreason.run.verbs import JournalPlace, RecordedRun, checked
from autoreason.run.word_files import write_word_file
from autoreason.story import RecordedPass, Story
from autoreason.studies.advice_measures import PilotFinished
from autoreason.studies.lab_suite import CellFinished
from autoreason.task import Task
from autoreason.tournament.edits import find_reasons
from autoreason.tournament.statements import length_check


@checked
def export(
    run: RecordedRun, folder: str | Path, *, journal: JournalPlace = None, force: bool = False
) -> list[Path]:
    """Write a run's texts and record into a folder, as files that need no other program to be read.

    Args:
        run: The run's name, a part of it that no other has, or its result.
        folder: Where to; it is created.
        journal: An open journal, the file of one, or None for the result's or the user's own.
        force: Write into a folder that is not empty.

    Returns:
        The files: brief, settings, prompts, every text, critique and ballot by pass, every call,
        `final.md` and `run.json`; of a suite those of each cell in a folder of its own.

    Example:
        >>> from autoreason import export, refine
        >>> result = refine("Explain tides.", "echo/echo", passes=1)
        >>> "brief.md" in [file.name for file in export(result.run, "tides")]
        True
    """
    folder = Path(folder)
    name, journal = name_and_journal(run, journal)
    with use_journal(journal) as book:
        run = book.find(name).id
        story = book.story(run)
        files = _files(run, story, book)
        for ended in story.of(CellFinished):
            if ended.result.run and book.has(ended.result.run):
                cell = _files(ended.result.run, book.story(ended.result.run), book)
                place = _folder(f"{ended.cell.task}/{ended.cell.title}/{ended.cell.repeat}")
                files |= {f"{place}/{path}": text for path, text in cell.items()}
    with usable(folder):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())) and not force:
            raise InvalidInput(f"{folder} is not empty; name a new folder, or set `force`")
    write_folder(folder, files)
    return [folder / name for name in files]


def export_changes(story: Story, file: Path) -> list[str]:
    """Write what changed since the first draft as suggestions, in the form that the file names. Returns losses."""
    if story.writes != "text" or not story.draft or story.text in (None, story.draft.text):
        raise InvalidInput("the run has changed no draft; name one in which there is a suggestion")
    before, after = story.draft.text, story.text or ""
    if is_word_file(file):
        return write_word_file(after, file, story.task, before)
    if file.suffix.lower() == ".md":
        write(file, to_criticmarkup(before, after, find_reasons(story)))
    elif file.suffix.lower() in (".patch", ".diff"):
        given = (story.task and story.task.draft) or ""
        # What a run works with lacks the white space around it in the user's file.
        given = given if given.strip() == before else f"{before}\n"
        write(file, to_patch(given, given.replace(before, after, 1)))
    else:
        raise InvalidInput(f"{file} is none of .patch, .diff, .md and .docx; name one of those")
    return []


def _files(run: str, story: Story, journal: Journal) -> dict[str, str]:
    more = {name: getattr(story, name) for name in ("version", "forked_from", "trajectory")}
    summary = recorded_result(journal.row(run), story, journal).to_dict() | more
    return {**_texts(story), **_calls(run, journal), "run.json": pretty_json(summary)}


def make_result_patch(run: str, folder: Path, *, journal: JournalPlace = None) -> str:
    """What a research run changed, as a patch for `git apply`; paths are those of the folder's repository."""
    _, _, result = _delivered(run, journal)
    prefix = None
    with suppress(InvalidInput):
        prefix = _git(folder, "rev-parse", "--show-prefix")
    if prefix is not None and not any((folder / path).exists() for path in result.start):
        # The paths would be those of another folder.
        raise InvalidInput(f"{folder} has no file of the artifact; name the task's FOLDER")
    return make_patch(result.start, result.files, prefix or "")


def commit_result(run: str, branch: str, folder: Path, *, journal: JournalPlace = None) -> str:
    """A new branch of the folder's repository: HEAD and one commit with what a research run changed."""
    run, task, result = _delivered(run, journal)
    ideas = [f"- {each.hypothesis or f'trial {each.number}'}" for each in result.trials]
    message = "\n".join([task.title if task else run, "", f"Result of run {run}:", "", *ideas])
    git = partial(_git, folder)
    prefix = git("rev-parse", "--show-prefix")
    for path, text in result.start.items():
        blob = git("hash-object", f"--path={path}", "--stdin", text=text)
        if git("rev-parse", f"HEAD:{prefix}{path}") != blob:
            raise InvalidInput(
                f"{path} at HEAD is not as the run started from it; name the task's FOLDER where this is "
                "another, commit the start, or move to the commit that has it"
            )
    with tempfile.TemporaryDirectory() as scratch:
        in_index = partial(git, index=str(Path(scratch, "index")))
        in_index("read-tree", "HEAD")
        in_index("apply", "--cached", text=make_patch(result.start, result.files, prefix))
        tree = in_index("write-tree")
    commit = git("commit-tree", tree, "-p", "HEAD", "-m", message)
    git("branch", "--no-track", "--", branch, commit)
    return commit


def _git(folder: Path, *arguments: str, text: str = "", index: str = "") -> str:
    """What git answers; where it refuses, its own last words are the reason."""
    env = {**os.environ, "LC_ALL": "C"} | ({"GIT_INDEX_FILE": index} if index else {})
    command, asked = ["git", "-C", str(folder), *arguments], text.encode()
    try:
        done = subprocess.run(command, env=env, input=asked, capture_output=True, check=False)
    except FileNotFoundError:
        raise InvalidInput("git is not installed; install it") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        raise InvalidInput(f"git {arguments[0]} failed: {lines[-1].removeprefix('fatal: ')}")
    return done.stdout.decode().strip()


def _delivered(run: str, journal: JournalPlace) -> tuple[str, Task | None, Deliverable]:
    with use_journal(journal) as book:
        run = book.find(run).id
        story = book.story(run)
    result = deliverable(story)
    if result is None:
        raise InvalidInput(f"{run} is not a research run; name a folder to export it to")
    if result.files == result.start:
        raise InvalidInput(f"{run} has kept no change, so there is nothing to hand over")
    return run, story.task, result


def _texts(story: Story) -> dict[str, str]:
    """Every text by its path; what a run does not have is left out."""
    task, draft = story.task, story.draft
    files: dict[str, str | None] = {
        "brief.md": task.brief if task else "",
        "facts.md": task.facts if task else "",
        "contract.json": pretty_json(task.contract) if task else "",
        "criteria.md": "\n".join(f"- {each}" for each in task.criteria) if task else "",
        "settings.json": pretty_json(story.settings) if story.settings else "",
        "draft.md": draft.text if draft else "",
    }
    files |= {f"prompts/{name}.md": source for name, source in story.prompts.items()}
    files |= {f"drafts/{each.number:02}.md": each.text for each in story.drafts}
    for recorded in story.passes:
        place = f"passes/{recorded.number:02}"
        files |= {f"{place}/{name}": text for name, text in _pass(recorded).items()}
    for review in story.reviews:
        after = review.decided.after if review.decided else 0
        place = f"reviews/{after:02}" if after else "review"
        files |= _ballots(f"{place}/", review.ballots, review.decided)
        for each in review.decided.texts if review.decided else ():
            files[f"{place}/{_file_name(each.name)}.md"] = each.text
    for entry in task.entries if task else ():
        place = f"texts/{_folder(entry.stage)}/" if entry.stage else "texts/"
        files[f"{place}{_file_name(entry.name).removesuffix('.md')}.md"] = entry.text
    for stage, panel in story.panels.items():
        files |= _ballots(f"panels/{_folder(stage)}/", panel.ballots, panel.decided)
    for pilot in story.of(PilotFinished):
        place = f"pilot/{pilot.number}"
        files |= {f"{place}/draft.md": pilot.draft, f"{place}/final.md": pilot.text}
    # Problems as every role saw them.
    for assigned in assignments_of(task) if task else ():
        files[f"problems/{_file_name(assigned.id)}.md"] = assigned.statement
    if solved := solved_in(story):
        files |= program_files(solved) | {"solved.json": pretty_json(solved)}
    if result := deliverable(story):
        files |= {f"start/{path}": text for path, text in result.start.items()}
        files |= {f"result/{path}": text for path, text in result.files.items()}
        files["result.patch"] = make_patch(result.start, result.files)
        files["trials.json"] = pretty_json(story.of(TrialDecided))
    files["final.py" if solved else "final.md"] = story.output
    return {path: text for path, text in files.items() if text}


def _folder(address: str) -> str:
    return "/".join(_file_name(step).lstrip(".") or "_" for step in address.split("/"))


def _pass(recorded: RecordedPass) -> dict[str, str]:
    files = {"A.md": recorded.incumbent, "guidance.md": recorded.guidance}
    for critique in recorded.critiques:
        name = "contract.md" if critique.by_code else f"critique_{critique.critic + 1}.md"
        nothing = "Nothing to fix." if critique.readable else "It could not be read."
        files[name] = critique.prose or describe(critique.problems) or nothing
    for slot, ready in recorded.candidates.items():
        files |= {f"{slot}.md": ready.text, f"{slot}.notes.md": ready.notes}
    for number, each in enumerate(recorded.dropped, 1):
        why = f"dropped: {each.reason}\n{each.detail}\n\n{each.text}"
        files[f"dropped_{number}_{each.slot}.md"] = why
    return files | _ballots("", recorded.ballots, recorded.decided)


def _ballots(place: str, ballots: Sequence[BallotCast], decided: Event | None) -> dict[str, str]:
    files = {f"{place}ballot_{each.seat + 1}.md": _ballot(each) for each in ballots}
    return files | ({f"{place}verdict.json": pretty_json(decided)} if decided else {})


def _ballot(ballot: BallotCast) -> str:
    names = zip(ballot.labels, ballot.order, strict=True)
    shown = ", ".join(f"{label} was {name}" for label, name in names)
    ranking = " > ".join(ballot.ranking) if ballot.ranking else "no valid ballot"
    shown += "; next to the first draft" if ballot.anchored else ""
    by = ballot.check
    checked = f"Checked by {by.model}: {length_check(ballot)}.\n\n{by.reasoning}" if by else ""
    about = f"Judge: {ballot.model}. In order of showing: {shown}."
    return "\n\n".join(filter(None, (f"# {ranking}", about, ballot.reasoning, checked)))


def _calls(run: str, journal: Journal) -> dict[str, str]:
    files = {}
    for call in journal.calls(run):
        reply, asked = call.reply, call.request.messages
        messages = "\n\n".join(f"## {each.speaker}\n\n{each.text}" for each in asked)
        tokens = f"{reply.usage.total} tokens" if reply.usage.metered else "tokens unknown"
        head = f"{reply.model} · {reply.outcome} · {tokens} · {reply.seconds:.1f} s"
        path = f"calls/{_file_name(call.request.key)}.md"
        files[path] = f"{head}\n\n{messages}\n\n## reply\n\n{reply.text}"
    return files


def _file_name(key: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "_", key)
