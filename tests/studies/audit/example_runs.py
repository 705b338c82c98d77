"""Runs that never were: their stories, built by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from autoreason.contract import Contract
from autoreason.events import (
    BallotCast,
    CandidateReady,
    CritiqueProblem,
    CritiqueWritten,
    DraftReady,
    Incumbent,
    PanelDecided,
    PassDecided,
    ReviewDecided,
    Status,
    Verdict,
)
from autoreason.settings import Models, make_settings
from autoreason.story import CONFIRMATION, RecordedPanel, RecordedPass, RecordedReview, Story
from autoreason.studies.audit_findings import AuditCheck, AuditedRun, AuditFinding, find
from autoreason.task import Task
from autoreason.tournament.voting import count_votes

SLOTS = ("A", "B", "AB")
ORDERS = (("A", "B", "AB"), ("B", "AB", "A"), ("AB", "A", "B"))
TEXTS = {
    "A": "We open the library in May.",
    "B": "The library opens in May, by the river.",
    "AB": "In May we open a library.",
}


def vote(*ranking: str, order: Sequence[str] = SLOTS, judge: str = "one/judge") -> BallotCast:
    """A ballot; without a ranking, an invalid one."""
    labels = tuple(str(place + 1) for place in range(len(order)))
    return BallotCast(
        stage="pass/1",
        seat=0,
        model=judge,
        order=tuple(order),
        labels=labels,
        ranking=ranking or None,
    )


def verdict_of(votes: Sequence[BallotCast]) -> Verdict | None:
    """What these votes come to, with a tie to A."""
    cast = [each.ranking for each in votes if each.ranking]
    if not cast:
        return None
    tally = count_votes("borda", cast, sorted(cast[0]))
    return Verdict(
        winner=tally.winner,
        scores=tally.scores,
        margin=0,
        chance=1.0,
        tied=tally.tied,
        ballots=len(cast),
        invalid=len(votes) - len(cast),
        agreement=None,
    )


def judged(
    *votes: BallotCast,
    number: int = 1,
    texts: Mapping[str, str] = TEXTS,
    words: Mapping[str, int] | None = None,
    **changes: Any,
) -> RecordedPass:
    if words:
        texts = {slot: "word " * length for slot, length in words.items()}
    verdict = verdict_of(votes)
    decided = PassDecided(
        number=number,
        outcome=changes.pop("outcome", "decided"),
        winner=changes.pop("winner", verdict.winner if verdict else None),
        streak=0,
        words=0,
        verdict=changes.pop("verdict", verdict),
    )
    candidates: Any = {
        slot: CandidateReady(number=number, slot=slot, text=text, words=0)  # type: ignore[arg-type]
        for slot, text in texts.items()
        if slot != "A"
    }
    return RecordedPass(
        number, texts["A"], candidates=candidates, ballots=list(votes), decided=decided, **changes
    )


def won_by(winner: str, number: int = 1, **changes: Any) -> RecordedPass:
    """A pass that three judges with orders of their own give to one text."""
    rest = [slot for slot in SLOTS if slot != winner]
    return judged(*(vote(winner, *rest, order=order) for order in ORDERS), number=number, **changes)


def critique(problems: int, invented: int = 0) -> CritiqueWritten:
    """So many problems with a quote, and so many quotes that are not in the text."""
    found = CritiqueProblem(severity="major", kind="quote", problem="It is weak.")
    return CritiqueWritten(number=1, critic=0, problems=(found,) * problems, dropped=invented)


def run(
    *passes: RecordedPass,
    name: str = "a run",
    k: int = 2,
    status: Status = "capped",
    texts: tuple[str, str] | None = None,
    confirmed: tuple[int, int] | None = None,
    preferred: tuple[int, int] | None = None,
    brief: str = "Write.",
    contract: Contract | None = None,
    author: str = "one/author",
    **changes: Any,
) -> AuditedRun:
    """A run of these passes; `texts` are the first draft and what was delivered."""
    story = Story(status=status, passes=list(passes))
    draft, last = texts or ("", "")
    if texts or confirmed:
        story.draft = DraftReady(text=draft, words=0, given=False)
        story.incumbents = [
            Incumbent(name=name, since=0, text=text, keeps_contract=True)
            for name, text in (("draft", draft), ("pass 1 B", last))
        ]
    if confirmed:
        prefer, judges = confirmed
        ballots = [
            vote(*sorted(("draft", "pass 1 B"), reverse=at < prefer), order=("draft", "pass 1 B"))
            for at in range(judges)
        ]
        decided = PanelDecided(stage=CONFIRMATION, verdict=verdict_of(ballots))
        story.panels[CONFIRMATION] = RecordedPanel(CONFIRMATION, ballots, decided)
    if preferred:
        whole = verdict_of([vote("A", "B", order=("A", "B"))] * preferred[1])
        chosen = ReviewDecided(texts=(), winner=None, verdict=whole, preferred=preferred[0])
        story.reviews.append(RecordedReview(decided=chosen))
    settings = make_settings(Models.everywhere(author), 1, "paper")
    return AuditedRun(
        name=name,
        story=story,
        task=Task(brief=brief, contract=contract or Contract()),
        settings=replace(settings, k=k),
        **changes,
    )


def trajectory(winners: str, k: int = 2, **changes: Any) -> AuditedRun:
    """A run by its winners, such as `S B A A` with S for the synthesis."""
    won = ["AB" if letter == "S" else letter for letter in winners.split()]
    usual: Status = "converged" if won[-k:] == ["A"] * k else "capped"
    passes = (won_by(winner, number) for number, winner in enumerate(won, 1))
    return run(*passes, k=k, status=changes.pop("status", usual), **changes)


def finding_of(question: AuditCheck, runs: Sequence[AuditedRun]) -> AuditFinding:
    """What one question finds, asked alone."""
    (finding,) = find([question], runs)
    return finding
