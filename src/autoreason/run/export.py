"""Export: a run as a folder that a person can read."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import msgspec

from autoreason.errors import InvalidInput
from autoreason.events import BallotCast, CritiqueWritten
from autoreason.exchange import Message, for_readers, is_model
from autoreason.journal import Journal
from autoreason.story import Pass, Story, tell_all


def export(run: str, folder: Path, *, journal: Journal, force: bool = False) -> list[Path]:
    """Write brief, settings, prompts, every text, critique and ballot by pass, `final.md` and `run.json`."""
    story = tell_all([item.event for item in journal.events(run)])
    files = _texts(story) | _calls(run, journal)
    files["run.json"] = _run_json(run, story, journal)
    try:
        return _write(files, folder, force)
    except OSError as error:
        raise InvalidInput(
            f"cannot write {error.filename or folder}: {error.strerror}; name another folder"
        ) from None


def _write(files: dict[str, str], folder: Path, force: bool) -> list[Path]:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())) and not force:
        raise InvalidInput(
            f"{folder} is not empty; name a new folder, or use --force to write into it"
        )
    made: list[Path] = []
    try:
        for name, text in files.items():
            path = folder / name
            made += [up for up in (path, *path.parents) if not up.exists()]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text if text.endswith("\n") else text + "\n", "utf-8")
    except OSError:
        _remove(made)
        raise
    return [folder / name for name in files]


def _remove(made: list[Path]) -> None:
    """Take away what an export wrote that cannot be finished, the deepest first."""
    for path in sorted(set(made), key=lambda path: len(path.parts), reverse=True):
        with suppress(OSError):
            path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)


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
    for held in story.passes:
        files |= {f"passes/{held.number:02}/{name}": text for name, text in _pass(held).items()}
    for ballot in story.playoff_ballots:
        files[f"playoff/ballot_{ballot.seat + 1}.md"] = _ballot(ballot)
    if story.playoff:
        files["playoff/verdict.json"] = _pretty(story.playoff)
        files |= {f"playoff/{_file_name(t.name)}.md": t.text for t in story.playoff.texts}
    files |= _panels(story)
    for part, within in story.parts.items():
        files |= {f"{_folder(part)}/{name}": text for name, text in _texts(within).items()}
    files |= _programs(story)
    if story.text:
        files["final.py" if story.solved else "final.md"] = story.text
    return files


def _programs(story: Story) -> dict[str, str]:
    """The problems as everybody saw them, what was handed in for them, and what came of it."""
    from autoreason.programs.report_files import programs

    assigned = story.task.assignments if story.task else ()
    files = {f"problems/{_file_name(each.id)}.md": each.statement for each in assigned}
    files |= programs(story.solved)
    if story.solved:
        files["solved.json"] = _pretty(story.solved)
    return files


def _panels(story: Story) -> dict[str, str]:
    """Finished texts and what judges made of them."""
    files = {}
    for entry in story.task.entries if story.task else ():
        place = f"{_folder(entry.stage)}/" if entry.stage else ""
        files[f"texts/{place}{_file_name(entry.name).removesuffix('.md')}.md"] = entry.text
    for stage, panel in story.panels.items():
        folder = f"panels/{_folder(stage)}"
        files |= {f"{folder}/ballot_{b.seat + 1}.md": _ballot(b) for b in panel.ballots}
        if panel.held:
            files[f"{folder}/verdict.json"] = _pretty(panel.held)
    return files


def _folder(address: str) -> str:
    """An address as folders within folders."""
    return "/".join(_file_name(step).lstrip(".") or "_" for step in address.split("/"))


def _pass(held: Pass) -> dict[str, str]:
    files = {"A.md": held.incumbent}
    if held.guidance:
        files["guidance.md"] = held.guidance
    for made in held.critiques:
        name = "contract.md" if made.by_code else f"critique_{made.critic + 1}.md"
        files[name] = _critique(made)
    for slot, ready in held.candidates.items():
        files[f"{slot}.md"] = ready.text
        if ready.notes:
            files[f"{slot}.notes.md"] = ready.notes
    for number, dropped in enumerate(held.dropped, 1):
        why = f"dropped: {dropped.reason}\n{dropped.detail}\n"
        text = f"{why}\n{dropped.text}" if dropped.text else why
        files[f"dropped_{number}_{dropped.slot}.md"] = text
    files |= {f"ballot_{ballot.seat + 1}.md": _ballot(ballot) for ballot in held.ballots}
    if held.decided:
        files["verdict.json"] = _pretty(held.decided)
    return files


def _critique(made: CritiqueWritten) -> str:
    if made.prose:
        return made.prose
    if not made.readable:
        return "The critic's answer could not be read."
    lines = [
        f"- **{p.severity}** "
        + (f"> {p.quote}\n  " if p.quote else "(missing) " * (p.kind == "missing"))
        + p.problem
        for p in made.problems
    ]
    if made.dropped:
        lines.append(
            f"\n{made.dropped} more quoted words that are not in the text and were dropped."
        )
    return "\n".join(lines) or "Nothing to mend."


def _ballot(ballot: BallotCast) -> str:
    shown = ", ".join(
        f"{label} was {name}" for label, name in zip(ballot.labels, ballot.order, strict=True)
    )
    ranking = " > ".join(ballot.ranking) if ballot.ranking else "no valid ballot"
    return (
        f"# {ranking}\n\nJudge: {ballot.model}. In order of showing: {shown}.\n\n{ballot.reasoning}"
    )


def _calls(run: str, journal: Journal) -> dict[str, str]:
    """Every prompt as it was sent and what came back."""
    files = {}
    for call in journal.calls(run):
        if not is_model(call.request.role):
            continue
        asked = "\n\n".join(_said(message) for message in call.request.messages)
        reply = call.reply
        tokens = f"{reply.usage.total} tokens" if reply.usage.metered else "tokens unknown"
        head = f"{reply.model} · {reply.outcome} · {tokens} · {reply.seconds:.1f} s"
        files[f"calls/{_file_name(for_readers(call.request.key))}.md"] = (
            f"{head}\n\n{asked}\n\n## reply\n\n{reply.text}"
        )
    return files


def _said(message: Message) -> str:
    return f"## {message.speaker}\n\n{message.text}"


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
            "origin": story.delivered.origin if story.delivered else None,
            "evidence": story.delivered.evidence if story.delivered else None,
            "text": story.text,
        }
    )


def _pretty(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _file_name(key: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "_", key)
