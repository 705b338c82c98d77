"""Preference pairs: judges' decisions between two texts, in the format that preference tuning reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal, NamedTuple

from autoreason.errors import InvalidInput
from autoreason.events import BallotCast
from autoreason.exchange import Query, Request
from autoreason.jobs.context import JobContext
from autoreason.journal import Journal
from autoreason.keys import PartName
from autoreason.prompts import PromptSet
from autoreason.report.numbers import count
from autoreason.story import RecordedPanel, RecordedPass, Story
from autoreason.studies.panels.pairwise import votes
from autoreason.task import Entry

Format = Literal["text", "chat"]


@dataclass(frozen=True)
class TrainingPair:
    """Two texts for one prompt, and the judges who preferred either."""

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

    @property
    def agreement(self) -> float:
        """The share of judges who prefer the chosen text."""
        return self.chosen_votes / (self.chosen_votes + self.rejected_votes)

    def as_object(self, layout: Format = "text") -> dict[str, Any]:
        """One line of the file: plain strings, or lists of messages."""
        texts = {"prompt": self.prompt, "chosen": self.chosen, "rejected": self.rejected}
        fields: dict[str, Any] = dict(texts)
        if layout == "chat":
            speakers = {"prompt": "user", "chosen": "assistant", "rejected": "assistant"}
            fields = {
                part: [{"role": speakers[part], "content": text}] for part, text in texts.items()
            }
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


@dataclass(frozen=True)
class Pairs:
    """The pairs of some runs, and what was left out."""

    pairs: tuple[TrainingPair, ...]
    runs: int
    panels: int
    """Panels with a verdict."""
    undecided: int
    """Panels with too few valid ballots for a verdict."""
    merged: int
    """Comparisons of two texts that an earlier panel of the run had compared already."""
    ties: int
    """Pairs that as many judges preferred one way as the other."""
    below: int
    """Pairs on which fewer judges agreed than were asked for."""
    not_won: int
    """Pairs whose chosen text won no panel, where only winners were asked for."""

    @property
    def conclusion(self) -> str:
        """How many pairs there are, from where, and what was left out."""
        counts = (
            (self.merged, "repeated comparison", "added to the first"),
            (self.ties, "tie", "left out"),
            (self.below, "pair", "below the agreement asked for"),
            (self.not_won, "pair", "whose chosen text won no panel"),
            (self.undecided, "panel", "without a verdict"),
        )
        source = f"{count(self.panels, 'panel')} of {count(self.runs, 'run')}"
        left_out = [f"{count(number, noun)} {what}" for number, noun, what in counts if number]
        return "; ".join([f"{count(len(self.pairs), 'pair')} from {source}", *left_out])


class _Panel(NamedTuple):
    stage: str
    names: dict[str, str]
    """The texts on the ballot under the names they have in the whole run."""
    texts: dict[str, str]
    winner: str
    ballots: list[BallotCast]


@dataclass
class _Duel:
    """Two texts of a run, and the votes of all its panels on them."""

    names: tuple[str, str]
    texts: tuple[str, str]
    votes: list[int] = field(default_factory=lambda: [0, 0])
    stages: list[str] = field(default_factory=list)
    judges: dict[str, None] = field(default_factory=dict)
    winners: set[str] = field(default_factory=set)


def find_pairs(
    runs: Iterable[str],
    *,
    journal: Journal,
    min_agreement: float = 0.0,
    winner_only: bool = False,
) -> Pairs:
    """Every pair of texts that the panels of these runs decided by a majority.

    Where several panels of a run compared the same two texts, their votes are added up to one pair.
    """
    if not 0 <= min_agreement <= 1:
        raise InvalidInput(f"an agreement of {min_agreement} is no share; give one from 0 to 1")
    pairs: list[TrainingPair] = []
    counts = dict.fromkeys(("runs", "panels", "undecided", "merged", "ties", "below", "not_won"), 0)
    for run in runs:
        story = journal.story(run)
        counts["runs"] += 1
        panels = list(_panels(story))
        duels = _duels(panels)
        counts["panels"] += len(panels)
        counts["undecided"] += _undecided(story)
        counts["merged"] += sum(len(duel.stages) - 1 for duel in duels)
        prompt = prompt_of(story) if duels else ""
        for duel in duels:
            exclusion = _exclusion(duel, min_agreement, winner_only)
            if exclusion:
                counts[exclusion] += 1
            else:
                pairs.append(_pair(run, story, duel, prompt))
    return Pairs(tuple(pairs), **counts)


def _panels(story: Story) -> Iterator[_Panel]:
    """Panels with a verdict: those of the run itself, and those of its parts."""
    yield from _panels_of_story(story, story.task.entries if story.task else ())
    for name, part in story.parts.items():
        for panel in _panels_of_story(part, _sibling_entries(story, name)):
            yield _within(name, panel)


def _sibling_entries(story: Story, part: str) -> tuple[Entry, ...]:
    """What the other parts next to one delivered: a panel that is a part judges those."""
    repeat = PartName.parse(part).repeat
    delivered = {PartName.parse(name): each.text for name, each in story.parts.items()}
    return tuple(
        Entry(name=name.name, text=text)
        for name, text in delivered.items()
        if name.repeat == repeat and text is not None
    )


def _panels_of_story(story: Story, entries: Sequence[Entry]) -> Iterator[_Panel]:
    """Those of the passes, the playoff, and those over finished texts."""
    yield from _panels_of_passes(story)
    if story.playoff and story.playoff.winner:
        texts = {incumbent.name: incumbent.text for incumbent in story.playoff.texts}
        yield _over("playoff", texts, story.playoff.winner, story.playoff_ballots)
    for stage, recorded in story.panels.items():
        if recorded.decided and recorded.decided.verdict:
            finished = {incumbent.name: incumbent.text for incumbent in story.incumbents}
            finished |= {e.name: e.text for e in entries if e.stage in ("", stage)}
            yield _over(stage, finished, recorded.decided.verdict.winner, _one_per_judge(recorded))


def _one_per_judge(panel: RecordedPanel) -> list[BallotCast]:
    """A judge who saw two texts both ways round has one vote, and none where the order decided it."""
    if not panel.stage.startswith("pair/"):
        return panel.ballots
    return [panel.ballots[2 * vote.judge] for vote in votes(panel.ballots) if vote.winner]


def _within(part: str, panel: _Panel) -> _Panel:
    """The same panel under names that include its part."""
    return _Panel(
        f"{part}/{panel.stage}",
        {slot: f"{part}: {name}" for slot, name in panel.names.items()},
        {f"{part}: {name}": text for name, text in panel.texts.items()},
        f"{part}: {panel.winner}",
        panel.ballots,
    )


def _panels_of_passes(story: Story) -> Iterator[_Panel]:
    incumbent = "draft"
    for recorded in story.passes:
        names: dict[str, str] = {
            slot: f"pass {recorded.number} {slot}" for slot in recorded.candidates
        }
        names["A"] = incumbent
        decided = recorded.decided
        if decided and decided.verdict and decided.winner:
            texts = {names[slot]: recorded.text(slot) for slot in ("A", *recorded.candidates)}
            stage = f"pass/{recorded.number}"
            yield _Panel(stage, names, texts, names[decided.winner], recorded.ballots)
        if decided and decided.winner:
            incumbent = names[decided.winner]


def _over(stage: str, texts: dict[str, str], winner: str, ballots: list[BallotCast]) -> _Panel:
    return _Panel(stage, {name: name for name in texts}, texts, winner, ballots)


def _undecided(story: Story) -> int:
    passes = sum(_has_no_verdict(recorded) for recorded in story.passes)
    finished = sum(bool(p.decided and p.decided.verdict is None) for p in story.panels.values())
    playoff = bool(story.playoff and story.playoff.winner is None)
    return passes + finished + playoff + sum(map(_undecided, story.parts.values()))


def _has_no_verdict(recorded: RecordedPass) -> bool:
    return bool(recorded.ballots and recorded.decided and recorded.decided.verdict is None)


def _duels(panels: Iterable[_Panel]) -> list[_Duel]:
    duels: dict[frozenset[str], _Duel] = {}
    for panel in panels:
        valid = [(ballot, ballot.ranking) for ballot in panel.ballots if ballot.ranking]
        if any(name not in panel.names for _, ranking in valid for name in ranking):
            # A panel over texts that are not in this record.
            continue
        # The texts on the ballot: an incumbent that broke its contract was not.
        names = sorted({panel.names[slot] for _, ranking in valid for slot in ranking})
        for one, other in combinations(names, 2):
            texts = (panel.texts[one], panel.texts[other])
            if texts[0] == texts[1]:
                continue
            duel = duels.setdefault(frozenset(texts), _Duel((one, other), texts))
            duel.stages.append(panel.stage)
            duel.winners |= {panel.texts[name] for name in names if name == panel.winner}
            for ballot, ranking in valid:
                ranked = [panel.texts[panel.names[slot]] for slot in ranking]
                behind = ranked.index(duel.texts[0]) > ranked.index(duel.texts[1])
                duel.votes[behind] += 1
                duel.judges[ballot.model] = None
    return list(duels.values())


def _exclusion(
    duel: _Duel, min_agreement: float, winner_only: bool
) -> Literal["ties", "below", "not_won"] | None:
    one, other = duel.votes
    if one == other:
        return "ties"
    if max(one, other) < min_agreement * (one + other):
        return "below"
    if winner_only and duel.texts[other > one] not in duel.winners:
        return "not_won"
    return None


def _pair(run: str, story: Story, duel: _Duel, prompt: str) -> TrainingPair:
    assert story.settings is not None
    ahead = int(duel.votes[1] > duel.votes[0])
    behind = 1 - ahead
    return TrainingPair(
        prompt=prompt,
        chosen=duel.texts[ahead],
        rejected=duel.texts[behind],
        chosen_votes=duel.votes[ahead],
        rejected_votes=duel.votes[behind],
        run=run,
        stages=tuple(duel.stages),
        chosen_name=duel.names[ahead],
        rejected_name=duel.names[behind],
        author=story.settings.models.author or None,
        judges=tuple(duel.judges),
        seed=story.settings.seed,
    )


def prompt_of(story: Story) -> str:
    """The task as the authors of a run read it: the brief with its facts and the rules of its contract."""
    assert story.task is not None
    assert story.settings is not None
    context = JobContext(
        story.task, story.settings, PromptSet(story.prompts), _refuse, lambda _: None
    )
    request = context.request("author", "draft/try/0", "", "", temperature=None)
    return next(
        message.text for message in request.messages if message.stable and message.speaker == "user"
    )


async def _refuse(request: Request | Query[Any]) -> Any:
    raise AssertionError(f"nothing is asked here, not even {request.key}")


def count_pairs(pairs: Pairs) -> Mapping[str, int]:
    """The counts for programs."""
    return {
        "pairs": len(pairs.pairs),
        "runs": pairs.runs,
        "panels": pairs.panels,
        "undecided": pairs.undecided,
        "merged": pairs.merged,
        "ties": pairs.ties,
        "below_agreement": pairs.below,
        "not_won": pairs.not_won,
    }
