"""`show` and `export`: what happened in a run, and what is left of it in files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli.command import RECORDED, Command, print_message, shared
from autoreason.cli.lookup import (
    complete_run,
    find_run,
    find_text_runs,
    run_argument,
    warn_left_out,
)
from autoreason.cli.options import group, option
from autoreason.errors import InvalidInput
from autoreason.job_types import Lab
from autoreason.report import numbers

if TYPE_CHECKING:
    from autoreason.journal import Journal, RunRow
    from autoreason.run.result import Result
    from autoreason.story import Story


@click.command(cls=Command, paged=True, shares=f"{RECORDED} book evidence")
@run_argument(required=False)
@group(
    "What to show",
    option("--round N", "One round, with its texts and the judges' reasons.", name="number"),
    option("--text", "Only the text, or the files of research, as they are.", name="text_only"),
    option("--diff", "What changed since the first draft, word by word; of research, a patch."),
    option("--report DIR", "Write it there, as HTML, Markdown, JSON, CSV and LaTeX, with plots."),
    option("--follow", "Watch a run that is under way until it ends; Ctrl-C only leaves it."),
)
def show(
    run: str | None,
    number: int | None,
    text_only: bool,
    diff: bool,
    report: Path | None,
    follow: bool,
    book: Journal,
    progress: str | None,
) -> int:
    """Show what happened in a run, or follow it live.

    RUN is a run's name or a part of it, last, or @2 for the one before; without one, the newest, or
    with --follow the one that is live. Of a suite that is under way: how far it is. On a terminal,
    what is longer than a screen goes through $PAGER (less, unless set; NO_PAGER=1 for none).

    \b
      autoreason show --text > text.md
      autoreason show amber-fox --diff
      autoreason show amber-fox --round 2
    """
    from autoreason.cli.outcome import show_report
    from autoreason.cli.transcript import print_round
    from autoreason.run.cells import lab_status
    from autoreason.run.record import recorded_result, task_and_settings

    views = (number is not None, text_only, diff, shared("evidence"), report is not None, follow)
    if sum(views) + shared("as_json") > 1 or (shared("html") and any(views)):
        raise InvalidInput(
            "--round, --text, --diff, --evidence, --report, --follow and --json show different things: "
            "give one; --html goes alone or with --json"
        )
    if follow:
        from autoreason.cli.runner import follow as follow_run

        return follow_run(book, find_run(book, run, lambda row: row.live, "live run").id, progress)
    row = find_run(book, run)
    story = book.story(row.id)
    task_and_settings(row.id, story)
    result = recorded_result(row, story, book)
    if report is not None:
        _write_report(book, result, report)
    elif number is not None:
        print_round(book, row, story, number)
    elif text_only or diff:
        _show_text(row, story, diff=diff)
    elif isinstance(story.job, Lab) and story.end is None:
        show_report(lab_status(row.id, journal=book))
    else:
        _show_whole(book, row, result)
    return 0


def _show_whole(book: Journal, row: RunRow, result: Result) -> None:
    from autoreason.cli.outcome import print_json, write_page
    from autoreason.cli.transcript import print_evidence, print_overview
    from autoreason.programs.events import solved_in
    from autoreason.run.prepared import reported_result, store_verdict

    story, html = result.story, shared("html")
    reported = story.writes != "text" and (
        story.end is not None or bool(solved_in(story)) or story.writes == "files"
    )
    if reported:
        # A certificate whose process died before it was kept is kept now.
        store_verdict(result, lambda line: print_message(f"autoreason: {line}"), if_missing=True)
        result = reported_result(result, book)
    if shared("as_json"):
        print_json(result.to_dict() if reported else as_object(row, result))
    elif shared("evidence"):
        print_evidence(book, row, result)
    elif html is None:
        print_overview(row, result)
    # Last, so that a page that cannot be written takes nothing else with it.
    write_page(result, html)


def _write_report(book: Journal, result: Result, folder: Path) -> None:
    from autoreason.report.report import check_folder, write_folder
    from autoreason.run.cells import report_of
    from autoreason.run.prepared import reported_result

    if isinstance(result.story.job, Lab):
        found = report_of(result.run, journal=book)
        files, runs = found.files(), found.runs
    else:
        files, runs = reported_result(result, book).to_files(), ()
    check_folder(folder, runs)
    write_folder(folder, files, runs)
    print_message(f"written to {folder}")


def _show_text(row: RunRow, story: Story, *, diff: bool) -> None:
    from autoreason.cli.outcome import show_text
    from autoreason.cli.transcript import print_changes
    from autoreason.tournament.edits import find_reasons

    if story.writes == "files":
        from autoreason.artifacts.artifact import as_text, make_patch
        from autoreason.artifacts.research_history import deliverable

        delivered = deliverable(story)
        assert delivered is not None
        files = make_patch(delivered.start, delivered.files) if diff else as_text(delivered.files)
        if files:
            show_text(files, bare=True)
        elif diff:
            print_message("nothing changed: the files are those it began with")
        return
    if not story.text:
        none = f"run {row.id} has no text{'' if story.end else ' yet'}"
        raise InvalidInput(f"{none}; `autoreason show {row.id}` has the rest")
    if not diff:
        show_text(story.output or "", bare=True, prose=story.writes == "text")
    elif story.draft is None:
        raise InvalidInput(f"run {row.id} has no first draft to compare with; see --text")
    else:
        reasons = find_reasons(story) if story.writes == "text" else {}
        print_changes(story.draft.text, story.text, reasons)


_OF_ROW = ("created", "updated", "version", "forked_from", "spent")
_OF_STORY = (*("trajectory", "text", "task", "settings", "drafts", "draft", "passes", "reviews"),)


def as_object(row: RunRow, result: Result) -> dict[str, Any]:
    from autoreason.pages.fragments import find_quotes
    from autoreason.tournament.edits import undecided

    story = result.story
    faults = ((e, [p for each in e.critiques for p in each.problems]) for e in story.passes)
    return {
        "run": row.id,
        "title": story.title,
        "summary": result.summary(),
        **{name.lower(): said for name, said in result.asked().items()},
        "status": row.state,
        "reason": story.reason,
        **{name: getattr(row, name) for name in _OF_ROW},
        "cost": row.spent.cost,
        "spent_by_role": result.spent_by_role,
        **{name: getattr(story, name) for name in _OF_STORY},
        "not_from_you": story.new_facts,
        "quotes": {e.number: find_quotes(e.incumbent, found) for e, found in faults},
        "undecided": undecided(story),
        "confirmation": story.panels.get("confirmation"),
        "alternatives": story.alternatives,
        "delivered": story.delivered,
    }


@click.command(cls=Command, shares="as_json book")
@click.argument("given", nargs=-1, metavar="[RUN]... [FOLDER]", shell_complete=complete_run)
@group(
    "Files",
    option("--site DIR", "Write a list of runs and a page for each there, for any web server."),
    option("--force", "Write into a folder that is not empty."),
    option("--changes FILE", "Changes as suggestions: .patch (for LF), .md (CriticMarkup), .docx."),
    option("--patch", "Print what a research run changed, for `git apply`."),
    option("--branch NAME", "Commit what a research run changed, to a new branch on HEAD."),
)
@group(
    "Pairs for preference tuning",
    option("--pairs FILE", "Write what judges preferred there; - is standard output."),
    option("--all", "Of every run in the journal; also with --site.", name="every"),
    option(
        "--min-agreement SHARE",
        "Least share of judges who prefer the chosen text. [default: any majority]",
        type=click.FloatRange(0, 1),
        default=0.0,
    ),
    option("--winner-only", "Only pairs whose chosen text won its vote."),
    option("--chat", "Lists of messages instead of plain strings."),
)
def export(
    given: tuple[str, ...],
    site: Path | None,
    force: bool,
    patch: bool,
    branch: str | None,
    changes: Path | None,
    book: Journal,
    **pairs: Any,
) -> None:
    """Write runs into files: a folder, a site, a patch, pairs.

    Brief, settings and prompts, every text, critique and vote by round, every call as it was made,
    the final text and run.json: files that can be read without autoreason.

    With --site, index.html lists the runs named (or --all) and those whose pages are in DIR already;
    each has its page at runs/NAME.html, and writing it again replaces it.

    With --patch and --branch, FOLDER is the task's folder, by default the current one. Neither
    touches the files there; a branch needs the artifact at HEAD as it was at the start.

    With --pairs, one JSON object a line with prompt, chosen and rejected, as DPO trainers read them;
    with votes, margin and where they are from besides. A pair is two texts of which most judges
    of a run, over all its rounds, prefer one; ties are left out. Votes are counts, not evidence:
    judges who toss coins make majorities, too. Without RUN, the newest run.

    \b
      autoreason export amber-fox ./amber-fox
      autoreason export --site public --all
      autoreason export amber-fox --pairs pairs.jsonl
      autoreason export --all --min-agreement 0.6 --chat --pairs - > pairs.jsonl
      autoreason export amber-fox --changes changes.docx
      autoreason export amber-fox --patch | git apply
      autoreason export amber-fox --branch packing
    """
    from autoreason.artifacts.research_history import ResearchHistory
    from autoreason.run.export import commit_result, export, export_changes, make_result_patch

    if patch + bool(branch) + force + bool(pairs["pairs"]) + bool(site) + bool(changes) > 1:
        raise InvalidInput(
            "--site, --changes, --patch, --branch, --pairs and --force exclude each other; choose one"
        )
    chooses = shared("as_json"), pairs["min_agreement"], pairs["winner_only"], pairs["chat"]
    if not pairs["pairs"] and (any(chooses) or (pairs["every"] and not site)):
        raise InvalidInput("--json and what chooses pairs go with --pairs FILE; leave them out")
    if site:
        _write_site(book, given, site, every=pairs["every"])
        return
    if pairs["pairs"]:
        _write_pairs(book, given, pairs)
        return
    if len(given) not in ((1,) if changes else (1, 2) if patch or branch else (2,)):
        raise InvalidInput("give one run, and a folder, --changes, --patch or --branch NAME")
    row, folder = book.find(given[0]), Path(given[-1] if len(given) == 2 else "")
    if changes:
        print_message(*export_changes(book.story(row.id), changes), f"written to {changes}")
        return
    if branch:
        commit = commit_result(row.id, branch, folder, journal=book)
        print_message(f"{row.id} is commit {commit[:10]} on branch {branch}")
    elif patch:
        sys.stdout.buffer.write(make_result_patch(row.id, folder, journal=book).encode())
    else:
        files = export(row.id, folder, journal=book, force=force)
        print_message(f"{numbers.count(len(files), 'file')} of {row.id} written to {folder}")
        return
    found = ResearchHistory(book.story(row.id)).end_result
    if found is not None and found.worse:
        print_message("the end test found this result worse than the start; keep that")


def _write_site(book: Journal, runs: tuple[str, ...], folder: Path, *, every: bool) -> None:
    from autoreason.cli.console import ProgressLine
    from autoreason.run.site import write_site

    if every == bool(runs):
        raise InvalidInput("name the runs of the site, or give --all for every one")
    rows = book.runs(None) if every else [book.find(name) for name in runs]
    with ProgressLine("pages") as progress:
        site = write_site(folder, rows, book, progress)
    for run, why in site.left_out.items():
        warn_left_out(run, why)
    print_message(f"{numbers.count(site.pages, 'page')} and a list written to {site.listing}")


def _write_pairs(book: Journal, runs: tuple[str, ...], values: dict[str, Any]) -> None:
    import msgspec

    from autoreason.cli.outcome import print_json
    from autoreason.files import check_output, write
    from autoreason.studies.pairs import find_pairs

    pairs: Path = values["pairs"]
    printed = pairs == Path("-")
    if shared("as_json") and printed:
        raise InvalidInput("--json is the summary of a file that is written; name one with --pairs")
    if not printed:
        check_output(pairs, "--pairs")
    wanted = {name: values[name] for name in ("min_agreement", "winner_only")}
    found = find_pairs(find_text_runs(book, runs, values["every"]), journal=book, **wanted)
    objects = [pair.as_object("chat" if values["chat"] else "text") for pair in found.pairs]
    lines = msgspec.json.Encoder().encode_lines(objects)
    if printed:
        sys.stdout.write(lines.decode())
    else:
        write(pairs, lines)
    where = "" if printed else f"; written to {pairs}"
    print_message(f"{found.conclusion}{where}")
    if shared("as_json"):
        print_json(found.counts)
