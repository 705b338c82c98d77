"""What a cell came to, from the result of its run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from autoreason.contract import count_words
from autoreason.events import BallotCast
from autoreason.jobs.job import last_panel
from autoreason.run.result import Result
from autoreason.story import RecordedPass, Story
from autoreason.studies.audit.check_writing import share_kept
from autoreason.studies.lab.lab_suite import Ballot, CellResult
from autoreason.studies.panels.pairwise import votes_by_pair
from autoreason.studies.panels.ranked import STAGE


def measure_cell(result: Result) -> CellResult:
    """The result of a cell's run; without a text and a value where it did not finish within its limit."""
    story = result.story
    cast = [each for one in story.passes for each in one.ballots] + story.playoff_ballots
    decided = [each.decided for each in story.passes if each.decided]
    drops = [one for each in story.passes for one in each.dropped if one.reason != "unlisted"]
    # A tournament that its limit cuts off still delivers; no other strategy does, and limits are the same for all.
    cut_off = story.delivered is not None and story.delivered.ended_by == "budget"
    finished = result.finished and not cut_off
    return CellResult(
        run=result.run,
        status="budget" if cut_off else result.status,
        reason=result.reason,
        finished=finished,
        trajectory=story.trajectory,
        words_by_pass=(story.draft.words, *(each.words for each in decided)) if story.draft else (),
        judged=tuple(_on_ballot(each) for each in story.passes if each.decided),
        challengers=sum(len(each.candidates) for each in story.passes) + len(drops),
        clones=sum(drop.reason == "clone" for drop in drops),
        dropped=len(drops),
        confirmed=(fresh.prefer, fresh.judges) if (fresh := story.confirmation) else None,
        cast=len(cast),
        invalid=sum(each.ranking is None for each in cast),
        ballots=tuple(_ballots(story)),
        spent=result.spent,
        seconds=result.seconds or 0.0,
        **(_product(story) if finished else {}),
    )


def _product(story: Story) -> dict[str, Any]:
    """What a finished cell delivered."""
    if story.writes == "programs":
        return _programs(story)
    if story.writes == "files":
        return _research(story)
    delivered = story.delivered
    text = delivered.text if delivered else None
    ruled = story.task is not None and not story.task.contract.empty
    return {
        "text": text,
        "words": None if text is None else count_words(text),
        "kept_wording": share_kept(story.draft.text, text) if story.draft and text else None,
        "kept_contract": not delivered.violations if delivered and ruled and text else None,
    }


def _research(story: Story) -> dict[str, Any]:
    from autoreason.artifacts import research_statements as statements
    from autoreason.artifacts.research_history import ResearchHistory

    history = ResearchHistory(story)
    end, tested = history.end, history.end_result
    gain = tested.gain if tested else None
    broken = bool(end and end.broken)
    return {
        "value": 0.0 if broken or not end else gain,
        "claimed": statements.loop_gain(history) or 0.0 if history.result else 0.0,
        "kept": len(history.kept),
        "evaluations": history.evaluations,
        "broken": broken,
        "opened": end.opened if end else 0,
    }


def _on_ballot(recorded: RecordedPass) -> tuple[str, ...]:
    return tuple(sorted(recorded.ballots[0].order)) if recorded.ballots else ()


def _programs(story: Story) -> dict[str, Any]:
    from autoreason.programs.assignment import assignments_of
    from autoreason.programs.events import solved_in
    from autoreason.programs.units import units_of

    (solved,) = solved_in(story)
    (unit,) = units_of([solved], {each.id: each for each in assignments_of(story.task)})
    # A problem without a result is missing, not failed.
    return {"passed": unit.solved, "overfitted": unit.passes_public_only, "solved": solved}


def _ballots(story: Story) -> Iterator[Ballot]:
    """The ballots of a panel over finished texts; of pairs one for each judge who kept to a choice."""
    if story.task is None or not story.task.entries:
        return
    if panel := last_panel(story.panels, STAGE):
        yield from (_ballot(each) for each in panel.ballots)
        return
    for (one, other), votes in votes_by_pair(story.panels).items():
        for vote in votes:
            loser = other if vote.winner == one else one
            ranking = (vote.winner, loser) if vote.winner else None
            yield Ballot(order=(one, other), ranking=ranking)


def _ballot(cast: BallotCast) -> Ballot:
    return Ballot(order=cast.order, ranking=cast.ranking)
