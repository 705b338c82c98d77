"""Preference pairs: judges' decisions between two texts, in the format that preference tuning reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal, NamedTuple

from autoreason.errors import InvalidInput
from autoreason.events import BallotCast
from autoreason.jobs.context import JobContext
from autoreason.journal import Journal
from autoreason.keys import PAIR, Key, pass_key, try_key
from autoreason.prompts import PromptSet
from autoreason.report.numbers import count
from autoreason.story import Story
from autoreason.studies.panel_jobs import votes

Format = Literal["text", "chat"]


@dataclass(frozen=True)
class TrainingPair:
    prompt: str
    chosen: str
    rejected: str
    chosen_votes: int
    rejected_votes: int
    run: str
    stages: tuple[str, ...]
    """Every panel that compared the two; their votes are added up."""
    chosen_name: str
    rejected_name: str
    author: str | None
    """None where the run judged texts that came with its task."""
    judges: tuple[str, ...]
    seed: int

    def as_object(self, layout: Format = "text") -> dict[str, Any]:
        texts = {"prompt": self.prompt, "chosen": self.chosen, "rejected": self.rejected}
        fields: dict[str, Any] = dict(texts)
        if layout == "chat":
            speakers = ("user", "assistant", "assistant")
            for speaker, (part, text) in zip(speakers, texts.items(), strict=True):
                fields[part] = [{"role": speaker, "content": text}]
        return fields | {
            "votes": {"chosen": self.chosen_votes, "rejected": self.rejected_votes},
            "margin": self.chosen_votes - self.rejected_votes,
            "provenance": {
                "run": self.run,
                "stage": " + ".join(self.stages),
                "chosen": self.chosen_name,
                "rejected": self.rejected_name,
                "models": {"author": self.author, "judges": list(self.judges)},
                "seed": self.seed,
            },
        }


@dataclass
class Pairs:
    pairs: list[TrainingPair] = field(default_factory=list)
    runs: int = 0
    panels: int = 0
    undecided: int = 0
    """Panels with too few valid ballots for a verdict."""
    merged: int = 0
    """Comparisons of two texts that an earlier panel of the run had compared already."""
    ties: int = 0
    below_agreement: int = 0
    """Pairs on which fewer judges agreed than were asked for."""
    not_won: int = 0
    """Pairs whose chosen text won no panel, where only winners were asked for."""
    in_breach: int = 0
    """Pairs whose chosen text breaks the contract that the other keeps: the prompt asks for the contrary."""

    @property
    def counts(self) -> dict[str, int]:
        return {**vars(self), "pairs": len(self.pairs)}

    @property
    def conclusion(self) -> str:
        counts = (
            (self.merged, "repeated comparison", "added to the first"),
            (self.ties, "tie", "left out"),
            (self.below_agreement, "pair", "below the agreement asked for"),
            (self.not_won, "pair", "whose chosen text won no panel"),
            (self.in_breach, "pair", "whose chosen text breaks the contract that the other keeps"),
            (self.undecided, "panel", "without a verdict"),
        )
        source = f"{count(self.panels, 'panel')} of {count(self.runs, 'run')}"
        left_out = [f"{count(number, noun)} {what}" for number, noun, what in counts if number]
        return "; ".join([f"{count(len(self.pairs), 'pair')} from {source}", *left_out])


class _NamedText(NamedTuple):
    name: str
    """The name it has in the whole run."""
    text: str


class _Panel(NamedTuple):
    stage: str
    texts: dict[str, _NamedText]
    """By the name on the ballot."""
    winner: str
    ballots: list[BallotCast]


@dataclass
class _Duel:
    texts: tuple[_NamedText, _NamedText]
    votes: list[int] = field(default_factory=lambda: [0, 0])
    stages: list[str] = field(default_factory=list)
    judges: dict[str, None] = field(default_factory=dict)
    winners: set[str] = field(default_factory=set)

    @property
    def by_votes(self) -> tuple[_NamedText, _NamedText]:
        first, second = self.texts
        return (second, first) if self.votes[1] > self.votes[0] else (first, second)


def find_pairs(
    runs: Iterable[str], *, journal: Journal, min_agreement: float = 0.0, winner_only: bool = False
) -> Pairs:
    """Every pair of texts that the panels of these runs decided by a majority.

    Where several panels of a run compared the same two texts, their votes are added up to one pair.
    """
    if not 0 <= min_agreement <= 1:
        raise InvalidInput(f"an agreement of {min_agreement} is not a share; give one from 0 to 1")
    result = Pairs()
    # What a suite wrote and judged is in its cells.
    with_cells = (each for run in runs for each in (run, *(row.id for row in journal.cells(run))))
    for run in with_cells:
        story = journal.story(run)
        panels = list(_panels(story))
        duels = _duels(panels)
        result.runs += 1
        result.panels += len(panels)
        ended = [*(each.decided for each in story.passes if each.ballots)]
        finished = [each.decided for each in story.panels.values()]
        undecided = [each and each.verdict is None for each in (*ended, *finished)]
        result.undecided += sum(map(bool, undecided))
        reviews = [each.decided for each in story.reviews]
        result.undecided += sum(each is not None and each.winner is None for each in reviews)
        result.merged += sum(len(duel.stages) - 1 for duel in duels)
        prompt = prompt_of(story) if duels else ""
        breaches = story.task.violations if story.task else lambda _: ()
        for duel in duels:
            behind, ahead = sorted(duel.votes)
            if ahead == behind:
                result.ties += 1
            elif ahead < min_agreement * (ahead + behind):
                result.below_agreement += 1
            elif winner_only and duel.by_votes[0].text not in duel.winners:
                result.not_won += 1
            elif [bool(breaches(each.text)) for each in duel.by_votes] == [True, False]:
                result.in_breach += 1
            else:
                assert story.settings is not None
                chosen, rejected = duel.by_votes
                result.pairs.append(
                    TrainingPair(
                        prompt=prompt,
                        chosen=chosen.text,
                        rejected=rejected.text,
                        chosen_votes=ahead,
                        rejected_votes=behind,
                        run=run,
                        stages=tuple(duel.stages),
                        chosen_name=chosen.name,
                        rejected_name=rejected.name,
                        author=story.settings.models.author or None,
                        judges=tuple(duel.judges),
                        seed=story.settings.seed,
                    )
                )
    return result


def _panels(story: Story) -> Iterator[_Panel]:
    entries, names = story.task.entries if story.task else (), dict[str, str]()
    for passed in story.passes:
        decided = passed.decided
        texts = {"A": _NamedText(names.get(passed.incumbent, "draft"), passed.incumbent)}
        for slot, candidate in passed.candidates.items():
            texts[slot] = _NamedText(f"pass {passed.number} {slot}", candidate.text)
        if decided and decided.winner:
            if decided.verdict:
                yield _Panel(pass_key(passed.number), texts, decided.winner, passed.ballots)
            names.setdefault(texts[decided.winner].text, texts[decided.winner].name)
    for review in story.reviews:
        if review.decided and review.decided.winner:
            texts = {each.name: _NamedText(each.name, each.text) for each in review.decided.texts}
            for ballots in review.stages:
                yield _Panel(ballots[0].stage, texts, review.decided.winner, ballots)
    for stage, recorded in story.panels.items():
        if recorded.verdict:
            judged = [each for each in entries if each.stage in ("", stage)]
            texts = {each.name: _NamedText(each.name, each.text) for each in story.incumbents}
            texts |= {each.name: _NamedText(each.name, each.text) for each in judged}
            ballots = recorded.ballots
            if Key.parse(stage).head == PAIR:
                # A judge who saw two texts both ways round has one vote, and none where the order decided it.
                ballots = [ballots[2 * vote.judge] for vote in votes(ballots) if vote.winner]
            yield _Panel(stage, texts, recorded.verdict.winner, ballots)


def _duels(panels: Iterable[_Panel]) -> list[_Duel]:
    duels: dict[frozenset[str], _Duel] = {}
    for panel in panels:
        valid = [(ballot.model, ballot.ranking) for ballot in panel.ballots if ballot.ranking]
        # The texts on the ballot: an incumbent that broke its contract was not.
        slots = {slot for _, ranking in valid for slot in ranking}
        if not slots <= panel.texts.keys():
            # A panel over texts that are not in this record.
            continue
        for one, other in combinations(sorted(panel.texts[slot] for slot in slots), 2):
            if one.text == other.text:
                continue
            duel = duels.setdefault(frozenset((one.text, other.text)), _Duel((one, other)))
            duel.stages.append(panel.stage)
            if panel.winner in slots:
                duel.winners.add(panel.texts[panel.winner].text)
            for model, ranking in valid:
                ranked = [panel.texts[slot].text for slot in ranking]
                first, second = (ranked.index(each.text) for each in duel.texts)
                duel.votes[first > second] += 1
                duel.judges[model] = None
    return list(duels.values())


def prompt_of(story: Story) -> str:
    assert story.task is not None
    assert story.settings is not None
    prompts = PromptSet(story.prompts)
    # Nothing is asked here.
    context = JobContext(story.task, story.settings, prompts, None, lambda _: None)  # type: ignore[arg-type]
    request = context.request("author", try_key("draft", 0), "", "")
    return next(
        message.text for message in request.messages if message.stable and message.speaker == "user"
    )
