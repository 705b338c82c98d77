"""A run that never was: events and signals for the views."""

from __future__ import annotations

from decimal import Decimal

from msgspec.structs import replace
from tests.tournament.stage import CONTESTS

from autoreason.contract import Contract, Violation
from autoreason.events import (
    AnyEvent,
    BallotCast,
    CandidateDropped,
    CandidateReady,
    CritiqueProblem,
    CritiqueWritten,
    Delivered,
    DraftReady,
    Evidence,
    Incumbent,
    PassDecided,
    PassStarted,
    Preference,
    ReviewDecided,
    RunStarted,
    Slot,
    Survival,
    Verdict,
)
from autoreason.settings import Budget, Models, Settings
from autoreason.task import Task

MODELS = Models.everywhere("anthropic/claude-sonnet-4")
BUDGET = Budget(cost=Decimal("1.50"), calls=120)
SETTINGS = Settings(models=MODELS, seed=4711, **CONTESTS | {"k": 2, "budget": BUDGET})
UNSEEN = Settings(models=MODELS, seed=4711, budget=BUDGET, review_every=2)
TASK = Task(
    brief="A one-page proposal for the town's new library\n\nWrite to the council.",
    contract=Contract(max_words=500),
)
DRAFT = "We should build a library.\nIt should be near the river.\n"
STARTED = RunStarted(task=TASK, settings=SETTINGS, prompts={}, version="0.1.0")
DRAFTED = DraftReady(text=DRAFT, words=11, given=False)


def verdict(a: int, ab: int, b: int, *, chance: float = 0.41, ballots: int = 3) -> Verdict:
    points = {"A": a, "AB": ab, "B": b}
    first, second, _ = sorted(points.values(), reverse=True)
    winner = next(slot for slot in ("A", "AB", "B") if points[slot] == first)
    return Verdict(
        winner=winner,
        scores=points,
        margin=first - second,
        chance=chance,
        tied=first == second,
        ballots=ballots,
        invalid=0,
        agreement=0.46,
    )


def ballot(stage: str, seat: int, *ranked: str) -> BallotCast:
    order = tuple(sorted(ranked)) if "draft" in ranked else ("A", "AB", "B")
    return BallotCast(
        stage=stage,
        seat=seat,
        model="anthropic/claude-sonnet-4",
        order=order,
        labels=("P", "Q", "R")[: len(order)],
        ranking=ranked or None,
    )


def critique(number: int) -> CritiqueWritten:
    return CritiqueWritten(
        number=number,
        critic=0,
        problems=(
            CritiqueProblem(
                severity="critical", kind="quote", problem="No cost.", quote="build a library"
            ),
            CritiqueProblem(
                severity="minor", kind="missing", problem="Nobody is asked to do anything."
            ),
        ),
        dropped=1,
    )


def challengers(number: int) -> list[AnyEvent]:
    return [
        CandidateReady(
            number=number,
            slot="B",
            text=f"Build the library by the river, for 2 million. ({number})",
            words=9,
            repaired=True,
        ),
        CandidateReady(
            number=number, slot="AB", text=f"A library near the river. ({number})", words=6
        ),
    ]


def a_pass(number: int, winner: Slot, streak: int, points: Verdict) -> list[AnyEvent]:
    stage = f"pass/{number}"
    return [
        PassStarted(number=number, words=11),
        critique(number),
        *challengers(number),
        ballot(stage, 0, "AB", "A", "B"),
        ballot(stage, 1, "A", "AB", "B"),
        ballot(stage, 2, "AB", "B", "A"),
        PassDecided(
            number=number,
            outcome="decided",
            winner=winner,
            streak=streak,
            words=9,
            verdict=points,
            survival_chance=0.4,
        ),
    ]


def unseen_pass(number: int) -> list[AnyEvent]:
    """A pass whose revision takes its place without a vote."""
    revision, _ = challengers(number)
    ended = PassDecided(number=number, outcome="unjudged", winner="B", streak=0, words=9)
    return [PassStarted(number=number, words=11), critique(number), revision, ended]


def back() -> list[AnyEvent]:
    """A review after the second pass that goes back to the first."""
    texts = [Incumbent(name="draft", since=0, text=DRAFT, keeps_contract=True)]
    for number in (1, 2):
        each = challengers(number)[0]
        assert isinstance(each, CandidateReady)
        texts.append(
            Incumbent(name=f"pass {number}", since=number, text=each.text, keeps_contract=True)
        )
    found = replace(verdict(6, 8, 4, ballots=7), winner="pass 1")
    decided = ReviewDecided(
        texts=tuple(texts), winner="pass 1", verdict=found, preferred=7, after=2, back=True
    )
    votes = [ballot("review/2", seat, "pass 1", "pass 2", "draft") for seat in range(7)]
    return [*votes, decided]


EVIDENCE = Evidence(
    survival=Survival(panels=3, survived=2, expected=1.2, chance=0.35, required_streak=2),
    agreement=0.46,
    preference=Preference(judges=7, prefer=6, low=0.49, high=0.97),
    ballots=16,
    invalid=1,
    first_places=(5, 2, 2),
    ties=0,
    inconclusive=0,
    unopposed=0,
    dropped_quotes=3,
    leaks=0,
)
DELIVERED = Delivered(
    status="converged",
    reason="A survived 2 passes in a row",
    text="A library near the river. (1)",
    origin="pass 1 AB",
    words=6,
    violations=(),
    evidence=EVIDENCE,
)
BROKEN = (Violation("max_words", "612 words, at most 500 allowed"),)
LOST = CandidateDropped(number=1, slot="AB", reason="contract", violations=BROKEN, text="…")


def review() -> list[AnyEvent]:
    texts = (
        Incumbent(name="draft", since=0, text=DRAFT, keeps_contract=True),
        Incumbent(
            name="pass 1 AB", since=1, text="A library near the river. (1)", keeps_contract=True
        ),
    )
    points = {"draft": 8, "pass 1 AB": 13}
    last = replace(verdict(8, 13, 0, chance=0.06, ballots=7), winner="pass 1 AB", scores=points)
    votes = [ballot("review", seat, "pass 1 AB", "draft") for seat in range(6)]
    return [
        *votes,
        ballot("review", 6, "draft", "pass 1 AB"),
        ReviewDecided(texts=texts, winner="pass 1 AB", verdict=last, preferred=6),
    ]


def whole_run() -> list[AnyEvent]:
    return [
        STARTED,
        DRAFTED,
        *a_pass(1, "AB", 0, verdict(6, 8, 4)),
        *a_pass(2, "A", 1, verdict(8, 6, 4)),
        *a_pass(3, "A", 2, verdict(9, 5, 4, chance=0.08)),
        *review(),
        DELIVERED,
    ]
