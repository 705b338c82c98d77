"""A run as files and as a patch."""

from __future__ import annotations

import re
import subprocess
from contextlib import suppress
from pathlib import Path

import msgspec

from autoreason.artifacts.artifact import make_patch
from autoreason.artifacts.research_history import TrialDecided, deliverable
from autoreason.errors import InvalidInput
from autoreason.events import BallotCast, CritiqueWritten
from autoreason.journal import Journal
from autoreason.programs.assignment import assignments_of
from autoreason.programs.events import program_files, solved_in
from autoreason.report.report import usable, write_folder
from autoreason.run.record import name_and_journal, use_journal
from autoreason.run.verbs import JournalPlace, RecordedRun, checked
from autoreason.story import RecordedPass, Story
from autoreason.studies.advice_measures import PilotFinished
from autoreason.studies.lab_suite import CellFinished
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
            raise InvalidInput(
                f"{folder} is not empty; name a new folder, or set `force` to write into it"
            )
    write_folder(folder, files)
    return [folder / name for name in files]


def _files(run: str, story: Story, journal: Journal) -> dict[str, str]:
    return {**_texts(story), **_calls(run, journal), "run.json": _run_json(run, story, journal)}


def make_result_patch(run: str, folder: Path, *, journal: JournalPlace = None) -> str:
    """What a research run changed, as a patch for `git apply`; paths are those of the folder's repository."""
    with use_journal(journal) as book:
        run = book.find(run).id
        result = deliverable(book.story(run))
    if result is None:
        raise InvalidInput(f"{run} is not a research run; name a folder to export it to")
    if result.files == result.start:
        raise InvalidInput(f"{run} has kept no change, so there is nothing to hand over")
    prefix = _prefix_in_repository(folder)
    if prefix is not None and not any((folder / path).exists() for path in result.start):
        # The paths would be those of another folder.
        raise InvalidInput(
            f"{folder.resolve()} has no file of the artifact; name the task's FOLDER"
        )
    return make_patch(result.start, result.files, prefix or "")


def _prefix_in_repository(folder: Path) -> str | None:
    """Where a folder is in its repository; None where it is in none, or git is not there."""
    command = ["git", "rev-parse", "--show-prefix"]
    with suppress(OSError):
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        return done.stdout.decode().strip() if done.returncode == 0 else None
    return None


def _texts(story: Story) -> dict[str, str]:
    files: dict[str, str] = {}
    if story.task:
        files["brief.md"] = story.task.brief
        if story.task.facts:
            files["facts.md"] = story.task.facts
        files["contract.json"] = _pretty(story.task.contract)
    if story.settings:
        files["settings.json"] = _pretty(story.settings)
    files |= {f"prompts/{name}.md": source for name, source in story.prompts.items()}
    if story.draft:
        files["draft.md"] = story.draft.text
    files |= {f"drafts/{each.number:02}.md": each.text for each in story.drafts}
    for recorded in story.passes:
        files |= {
            f"passes/{recorded.number:02}/{name}": text for name, text in _pass(recorded).items()
        }
    for ballot in story.playoff_ballots:
        files[f"playoff/ballot_{ballot.seat + 1}.md"] = _ballot(ballot)
    if story.playoff:
        files["playoff/verdict.json"] = _pretty(story.playoff)
        files |= {f"playoff/{_file_name(t.name)}.md": t.text for t in story.playoff.texts}
    files |= _panels(story)
    for each in story.of(PilotFinished):
        texts = {"draft": each.draft, "final": each.text}
        files |= {f"pilot/{each.number}/{name}.md": text for name, text in texts.items() if text}
    # Problems as every role saw them.
    for assigned in assignments_of(story.task) if story.task else ():
        files[f"problems/{_file_name(assigned.id)}.md"] = assigned.statement
    if solved := solved_in(story):
        files |= program_files(solved) | {"solved.json": _pretty(solved)}
    files |= _artifact(story)
    if story.text:
        files["final.py" if solved else "final.md"] = story.text
    return files


def _artifact(story: Story) -> dict[str, str]:
    result = deliverable(story)
    if result is None:
        return {}
    files = {f"start/{path}": text for path, text in result.start.items()}
    files |= {f"result/{path}": text for path, text in result.files.items()}
    if patch := make_patch(result.start, result.files):
        files["result.patch"] = patch
    files["trials.json"] = _pretty(story.of(TrialDecided))
    return files


def _panels(story: Story) -> dict[str, str]:
    files = {}
    for entry in story.task.entries if story.task else ():
        place = f"{_folder(entry.stage)}/" if entry.stage else ""
        files[f"texts/{place}{_file_name(entry.name).removesuffix('.md')}.md"] = entry.text
    for stage, panel in story.panels.items():
        folder = f"panels/{_folder(stage)}"
        files |= {f"{folder}/ballot_{b.seat + 1}.md": _ballot(b) for b in panel.ballots}
        if panel.decided:
            files[f"{folder}/verdict.json"] = _pretty(panel.decided)
    return files


def _folder(address: str) -> str:
    return "/".join(_file_name(step).lstrip(".") or "_" for step in address.split("/"))


def _pass(recorded: RecordedPass) -> dict[str, str]:
    files = {"A.md": recorded.incumbent}
    if recorded.guidance:
        files["guidance.md"] = recorded.guidance
    for critique in recorded.critiques:
        name = "contract.md" if critique.by_code else f"critique_{critique.critic + 1}.md"
        files[name] = _critique(critique)
    for slot, ready in recorded.candidates.items():
        files[f"{slot}.md"] = ready.text
        if ready.notes:
            files[f"{slot}.notes.md"] = ready.notes
    for number, dropped in enumerate(recorded.dropped, 1):
        why = f"dropped: {dropped.reason}\n{dropped.detail}\n"
        text = f"{why}\n{dropped.text}" if dropped.text else why
        files[f"dropped_{number}_{dropped.slot}.md"] = text
    files |= {f"ballot_{ballot.seat + 1}.md": _ballot(ballot) for ballot in recorded.ballots}
    if recorded.decided:
        files["verdict.json"] = _pretty(recorded.decided)
    return files


def _critique(critique: CritiqueWritten) -> str:
    if critique.prose:
        return critique.prose
    if not critique.readable:
        return "The critic's answer could not be read."
    lines = [
        f"- **{p.severity}** "
        + (f"> {p.quote}\n  " if p.quote else "(missing) " * (p.kind == "missing"))
        + p.problem
        for p in critique.problems
    ]
    if critique.dropped:
        lines.append(
            f"\n{critique.dropped} more quoted words that are not in the text and were dropped."
        )
    return "\n".join(lines) or "Nothing to fix."


def _ballot(ballot: BallotCast) -> str:
    shown = ", ".join(
        f"{label} was {name}" for label, name in zip(ballot.labels, ballot.order, strict=True)
    )
    ranking = " > ".join(ballot.ranking) if ballot.ranking else "no valid ballot"
    shown += "; next to the first draft" if ballot.anchored else ""
    text = (
        f"# {ranking}\n\nJudge: {ballot.model}. In order of showing: {shown}.\n\n{ballot.reasoning}"
    )
    if ballot.check is None:
        return text
    return f"{text}\n\nChecked by {ballot.check.model}: {length_check(ballot)}.\n\n{ballot.check.reasoning}"


def _calls(run: str, journal: Journal) -> dict[str, str]:
    files = {}
    for call in journal.calls(run):
        messages = "\n\n".join(
            f"## {each.speaker}\n\n{each.text}" for each in call.request.messages
        )
        reply = call.reply
        tokens = f"{reply.usage.total} tokens" if reply.usage.metered else "tokens unknown"
        head = f"{reply.model} · {reply.outcome} · {tokens} · {reply.seconds:.1f} s"
        files[f"calls/{_file_name(call.request.key)}.md"] = (
            f"{head}\n\n{messages}\n\n## reply\n\n{reply.text}"
        )
    return files


def _run_json(run: str, story: Story, journal: Journal) -> str:
    spent = journal.spent(run)
    return _pretty(
        {
            "run": run,
            "status": story.status,
            "reason": story.reason,
            "version": story.version,
            "forked_from": story.forked_from,
            "departures": story.departures,
            "trajectory": story.trajectory,
            "passes": len(story.trajectory),
            "calls": spent.calls,
            "tokens": spent.tokens,
            "cost": spent.cost,
            "seed": story.settings.seed if story.settings else None,
            "origin": story.end.origin if story.end else None,
            "evidence": story.delivered.evidence if story.delivered else None,
            "text": story.text,
        }
    )


_JSON = msgspec.json.Encoder(decimal_format="number")


def _pretty(value: object) -> str:
    return msgspec.json.format(_JSON.encode(value), indent=2).decode()


def _file_name(key: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "_", key)
