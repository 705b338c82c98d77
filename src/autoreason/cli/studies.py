"""Runs that judge texts end with a table; this is where it is made and printed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from autoreason.cli import ending, verdicts, words
from autoreason.cli.consoles import stdout_console

if TYPE_CHECKING:
    from autoreason.journal import Journal
    from autoreason.run import Result
    from autoreason.studies.panels.rejudge import Decision


def show(result: Result, journal: Journal, *, as_json: bool = False) -> None:
    """Print what a finished study found."""
    kind = result.story.settings.strategy if result.story.settings else ""
    if kind == "compare":
        _compare(result, journal, as_json)
    elif kind == "solve":
        from autoreason.cli import solved

        solved.show(result, as_json=as_json)
    elif kind == "rejudge":
        _rejudge(result, journal, as_json)
    elif kind == "certify":
        _certify(result, as_json)
    else:
        _judge(result, as_json)


def _judge(result: Result, as_json: bool) -> None:
    from autoreason.studies.panels.results import panel_report

    report = panel_report(result.story)
    task = result.story.task
    assert task is not None
    broken = {
        entry.name: [v.message for v in task.contract.violations(entry.text)]
        for entry in task.entries
    }
    if as_json:
        found = {"conclusion": report.conclusion, "violations": broken, "report": report}
        ending.print_json(_head(result) | found)
        return
    console = stdout_console()
    console.print(verdicts.standings(report))
    console.print()
    console.print(verdicts.win_matrix(report))
    console.print()
    rows = [("", _sentence(report.conclusion)), *verdicts.notes(report)]
    rows += _cut(result)
    rows += [("Contract", f"{name}: {'; '.join(said)}") for name, said in broken.items() if said]
    ending.print_rows([*rows, *_took(result)], console)


def _cut(result: Result) -> list[tuple[str, str]]:
    """What judges were not told: that texts were cut to one length."""
    from autoreason.contract import count_words
    from autoreason.studies.panels.entries import Cut
    from autoreason.tournament.strategy import read_options

    story = result.story
    assert story.settings is not None
    before = read_options(story.settings, Cut).cut_from
    now = {e.name: count_words(e.text) for e in story.task.entries} if story.task else {}
    said = [
        f"{name} from {words_before:,} words to {now[name]:,}"
        for name, words_before in before.items()
    ]
    return [("Cut", "; ".join(said))] if said else []


def _compare(result: Result, journal: Journal, as_json: bool) -> None:
    from autoreason.run.studies import spent_by_part
    from autoreason.studies.compare.report import comparison_report

    report = comparison_report(result.story, spent_by_part(journal, result.run))
    panel = report.panel
    if as_json:
        said = panel.conclusion if panel else None
        ending.print_json(_head(result) | {"conclusion": said, "report": report})
        return
    console = stdout_console()
    console.print(verdicts.entrants(report))
    rows = [("", "Nobody wins: there was nothing to judge")]
    if panel:
        console.print()
        console.print(verdicts.standings(panel))
        console.print()
        console.print(verdicts.win_matrix(panel))
        console.print()
        console.print(verdicts.duels(panel, report.entrants[0].strategy))
        rows = [("", _sentence(panel.conclusion)), *verdicts.notes(panel)]
        if report.judged == 1:
            rows.insert(
                1, ("One repeat", "says something of these texts, nothing of the strategies")
            )
    console.print()
    matched = f"by {report.match}; what each strategy spent is in the table above"
    rows += [("Matched", matched), *(("Left out", said) for said in report.left_out)]
    ending.print_rows([*rows, *_took(result)], console)


def _rejudge(result: Result, journal: Journal, as_json: bool) -> None:
    from autoreason.cli.journals import story_of
    from autoreason.studies.panels.rejudge import RejudgeOptions, decisions
    from autoreason.tournament.strategy import read_options

    assert result.story.settings is not None
    of = read_options(result.story.settings, RejudgeOptions).of
    found = decisions(story_of(journal, of), result.story.panels)
    if as_json:
        listed = [each._asdict() | {"changed": each.changed} for each in found]
        said = {"of": of, "conclusion": _changed(found), "decisions": listed}
        ending.print_json(_head(result) | said)
        return
    console = stdout_console()
    console.print(verdicts.decisions(found))
    console.print()
    ending.print_rows([("", _sentence(_changed(found))), *_took(result)], console)


def _certify(result: Result, as_json: bool) -> None:
    from autoreason.studies.certify.report import certificate_of

    certificate = certificate_of(result.story)
    if as_json:
        found = {"conclusion": result.reason, "verdict": certificate.verdict}
        ending.print_json(_head(result) | found | {"certificate": certificate})
        return
    console = stdout_console()
    if console.is_terminal:
        from rich.markdown import Markdown

        console.print(Markdown(result.text or ""))
    else:
        ending.show_text(result.text or "", bare=True)
    console.print()
    ending.print_rows([("", _sentence(result.reason)), *_took(result)], console)


def keep(result: Result, *, if_lost: bool = False) -> None:
    """Put away what outlives a study that has ended, a judge's certificate; `if_lost`, only where there is none."""
    settings = result.story.settings
    if settings is None or settings.strategy != "certify":
        return
    from datetime import UTC, datetime

    from autoreason.studies.certify import store
    from autoreason.studies.certify.report import certificate_of

    certificate = certificate_of(result.story)
    if if_lost and store.find(certificate.model, certificate.base_url):
        return
    try:
        store.keep(store.Stored(certificate=certificate, run=result.run, date=datetime.now(UTC)))
    except OSError as error:
        said = f"the certificate cannot be kept ({error.strerror}); the run has it"
        print(f"autoreason: {said}: `autoreason show {result.run}`", file=sys.stderr)


def _changed(found: list[Decision]) -> str:
    from autoreason.studies.panels.rejudge import beyond_chance

    judged = [each for each in found if each.verdict]
    changed = sum(each.changed for each in found)
    clear = sum(each.changed for each in beyond_chance(found))
    by = f", {clear or 'none'} of them by a lead beyond chance" if changed else ""
    lost = len(found) - len(judged)
    left_out = f"; {lost} got too few valid ballots to say" if lost else ""
    return (
        f"another panel would have decided {changed} of {len(judged)} "
        f"recorded panels otherwise{by}{left_out}"
    )


def _head(result: Result) -> dict[str, Any]:
    return {
        "run": result.run,
        "status": result.status,
        "calls": result.calls,
        "tokens": result.tokens,
        "cost": result.cost,
        "seed": result.seed,
    }


def _took(result: Result) -> list[tuple[str, str]]:
    cost = words.money(result.cost) if result.cost is not None else "cost unknown"
    took = f"{words.count(result.calls, 'call')}, {words.tokens(result.spent)}, {cost}"
    return [("Took", took), ("More", f"autoreason show {result.run}")]


def _sentence(said: str) -> str:
    return said[0].upper() + said[1:] + "."
