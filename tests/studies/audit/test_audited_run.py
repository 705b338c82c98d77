"""Our own runs, read from the journal and audited."""

from __future__ import annotations

import pytest
from tests.journal.samples import create_run
from tests.run.runs import scripted, settings, start_run
from tests.studies.lab.rivals import compared, comparing
from tests.tournament.stage import critique, cut_off, document

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.job_types import Certify, Judge
from autoreason.journal import Journal
from autoreason.models.doubles import EchoModel
from autoreason.studies.audit import audit_runs
from autoreason.studies.audit_findings import AuditedRun, AuditFinding, read_run
from autoreason.task import Entry, Task


def finding(run: AuditedRun, name: str) -> AuditFinding:
    (found,) = [each for each in audit_runs([run]).findings if each.name == name]
    return found


async def test_a_run_is_read_with_all_its_contents_and_its_last_panels(journal: Journal) -> None:
    result = await start_run(journal, scripted())
    (run,) = read_run(result.run, journal)
    assert (run.name, run.converged) == (result.run, True)
    assert (run.first, run.last) == ("First text.", "First text.")
    assert [each.winner for each in run.passes] == ["A", "A"]
    audited = run.passes[0]
    assert set(audited.texts) == {"A", "B", "AB"}
    assert audited.panel is not None
    assert finding(run, "convergence").level == "fine"
    assert run.outcomes.total() == result.calls
    result = await start_run(journal, EchoModel(), changes={"passes": 3, "seed": 6})
    (run,) = read_run(result.run, journal)
    assert result.story.closing_review is not None
    review, confirmation = run.finals
    assert review.ballots == result.story.closing_ballots
    assert confirmation.ballots == result.story.panels["confirmation"].ballots
    assert len(list(run.panels)) == len(run.passes) + 2
    assert review.verdict == result.story.closing_review.verdict


async def test_only_the_ballots_of_seats_that_are_always_asked_are_a_sample(
    journal: Journal,
) -> None:
    result = await start_run(journal, EchoModel(), changes={"passes": 6, "seed": 5, "k": 6})
    (run,) = read_run(result.run, journal)
    panels = [each.panel for each in run.passes if each.panel]
    sizes = {panel.seats for panel in panels}
    assert len(sizes) > 1, "no panel asked more judges than another"
    for panel in panels:
        assert len(panel.sample) == panel.always_asked == min(sizes)
        assert panel.chances_of_a is not None
    for final in run.finals:
        assert len(final.sample) == final.seats


async def test_a_panel_that_failed_is_no_win_for_a(journal: Journal) -> None:
    result = await start_run(journal, scripted({"judge": "I cannot decide."}))
    (run,) = read_run(result.run, journal)
    assert result.status == "panel_failed"
    assert finding(run, "invalid ballots").level == "alarm"
    assert "paused" in finding(run, "outages").statement


async def test_cut_replies_invented_quotes_and_what_is_kept_off_the_ballot_are_counted(
    journal: Journal,
) -> None:
    invented = (
        '{"problems": [{"severity": "major", "kind": "quote", "quote": "nowhere", "problem": "x"}]}'
    )
    task = Task(brief="Write.", contract=Contract(max_words=5))
    script = {
        "pass/1/critic/0/try/0": invented,
        "pass/1/critic/1/try/0": critique("No example."),
        "pass/1/reviser/try/0": cut_off("Half a"),
        "reviser": document("Second text of far too many words."),
        "synthesizer": document("First  text."),
    }
    result = await start_run(journal, scripted(script), task=task)
    (run,) = read_run(result.run, journal)
    assert finding(run, "cut off replies").statement.startswith("1 of ")
    assert "invented 1 of 1 quote" in finding(run, "critics").statement
    assert ("B", "contract") in [(d.slot, d.reason) for d in run.story.passes[0].dropped]
    assert finding(run, "contract").level == "fine"


async def test_each_cell_of_a_comparison_is_audited_and_its_panels_are_panels(
    journal: Journal,
) -> None:
    result, _ = await compared(journal, comparing("critique_revise", "single", repeats=1))
    cells = read_run(result.run, journal)
    assert [each.name for each in cells] == [row.id for row in journal.cells(result.run)]
    found = audit_runs(cells)
    assert (found.runs, found.panels) == (4, 1)


async def test_questions_decide_nothing_and_given_texts_were_not_written_to_keep_limits(
    journal: Journal,
) -> None:
    asked = settings("echo/echo", job=Certify(model="echo/echo", suite=2))
    result = await start_run(journal, settings=asked)
    (run,) = read_run(result.run, journal)
    assert any(panel.seats == 1 for panel in run.panels)
    assert not any(panel.winner for panel in run.panels)
    assert finding(run, "invalid ballots").level == "fine"
    assert finding(run, "ties").level == "unknown"
    entries = (Entry(name="long", text="A text of five words."), Entry(name="short", text="Two."))
    task = Task(brief="Write.", contract=Contract(min_words=9), entries=entries)
    result = await start_run(journal, task=task, changes={"job": Judge()})
    (run,) = read_run(result.run, journal)
    assert finding(run, "contract").level == "unknown"


def test_a_run_killed_at_once_is_one_clear_sentence(journal: Journal) -> None:
    create_run(journal, "20260101-empty-run", "Nothing", "0")
    with pytest.raises(InvalidInput, match="killed before anything was recorded"):
        read_run("20260101-empty-run", journal)
