"""Rows of the paper's tables, found in recorded results: a method's panels, a run, a strategy over programs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import comb
from typing import NamedTuple

from autoreason.studies.reproduce.figures import NOTHING, Answer, Found, mean_within, percentage
from autoreason.studies.reproduce.recording import PROBLEMS, PanelLine, Recording
from autoreason.studies.reproduce.single_claims import describe_runs, solved

_TIERS = ("easy", "medium", "hard")


class PanelRow(NamedTuple):
    """What a method has in the panels of a table, by task; first places and words are of a table with one panel."""

    place: str
    tasks: Mapping[str, str]
    method: str
    """A pattern of its name."""

    def find(self, recording: Recording) -> Answer:
        """Its points, their average, and what else the panel has."""
        panels = {label: recording.panel(self.place, task) for label, task in self.tasks.items()}
        points = {
            label: _matching(panel.points if panel else {}, self.method)
            for label, panel in panels.items()
        }
        here = [panel for panel in panels.values() if panel]
        judges = max((panel.judges_requested or 0 for panel in here), default=0)
        most = judges * max((len(panel.points) for panel in here), default=0)
        values = {label: Found(each) for label, each in points.items()}
        values["average"] = mean_within(points.values(), judges, most)
        if len(here) == len(self.tasks) == 1:
            values["first places"] = Found(_matching(here[0].first_place or {}, self.method))
            values["words"] = Found(_matching(here[0].lengths, self.method))
        return Answer(values, len(here), "; ".join(filter(None, map(_lost_ballots, here))))

    def needs(self) -> str:
        """What it is found in."""
        return f"panels of {self.place} on {', '.join(self.tasks.values())}"


class Duel(NamedTuple):
    """Votes for two texts in a panel of two, under two labels."""

    place: str
    one: str
    other: str
    """Patterns of their names."""
    label: str
    other_label: str

    def find(self, recording: Recording) -> Answer:
        """The votes, and how many judges saw the first of the two first."""
        for panel in recording.panels_of(self.place):
            votes = panel.first_place or {}
            one, other = (_matching(votes, name) for name in (self.one, self.other))
            if one is not None and other is not None:
                shown = [each.label_map for each in panel.ballots or [] if each.label_map]
                first = sum(labels[min(labels)] == self.one for labels in shown)
                note = f"{self.one} was shown first to {first} of {len(shown)} judges"
                found = {self.label: Found(one), self.other_label: Found(other)}
                return Answer(found, 1, note if shown else "")
        return Answer({}, 0)

    def needs(self) -> str:
        """What it is found in."""
        return f"its panel in {self.place}"


class RunRow(NamedTuple):
    """A run by its experiment, and a pattern of its name."""

    experiment: str
    name: str

    def find(self, recording: Recording) -> Answer:
        """How long it was, who won, whether it converged, and how long its text is."""
        run = recording.run(self.experiment, self.name)
        if run is None:
            return Answer({}, 0)
        values = {
            **{slot: run.winners.count(slot) for slot in ("A", "AB", "B")},
            "passes": len(run.passes),
            "stop": run.stop(),
            "converged": int(run.stop() is not None),
            "words": run.words(),
            "calls": run.calls(),
        }
        found = {name: Found(each) for name, each in values.items()}
        return Answer(found, 1, describe_runs([run]))

    def needs(self) -> str:
        """What it is found in."""
        return f"its run in {self.experiment}"


class Arm(NamedTuple):
    """A strategy and a model on a set of problems."""

    experiment: str
    strategy: str
    model: str

    def find(self, recording: Recording) -> Answer:
        """Which percentage of problems passes public and private tests; a provider's failure is no result."""
        found = recording.arm(*self)
        arm, private = list(found.values()), solved(found)
        results = [each for each in arm if each.error is None]
        of = PROBLEMS - (len(arm) - len(results))
        values = {
            "public": percentage([each.pass_public for each in results], of),
            "private": percentage(private, of),
            "from": _percentile(private, 0.025, of),
            "to": _percentile(private, 0.975, of),
        }
        for tier in _TIERS:
            hits = [each.pass_private for each in results if each.difficulty == tier]
            failures = sum(each.difficulty == tier for each in arm) - len(hits)
            values[tier] = percentage(hits, PROBLEMS // len(_TIERS) - failures)
        note = f"{PROBLEMS - of} left out, for which the provider failed" if of < PROBLEMS else ""
        return Answer(values, len(arm), note)

    def needs(self) -> str:
        """What it is found in."""
        return f"results of {self.experiment}, {self.strategy} with {self.model}"


Row = PanelRow | Duel | RunRow | Arm


def _matching(values: Mapping[str, float], pattern: str) -> float | None:
    """What the first name has that a pattern describes."""
    return next((each for name, each in values.items() if re.fullmatch(pattern, name)), None)


def _lost_ballots(panel: PanelLine) -> str:
    valid, asked = panel.judges_valid, panel.judges_requested
    if valid is None or asked is None or valid >= asked:
        return ""
    most = valid * len(panel.methods)
    return f"{panel.task}: {valid} of {asked} ballots are valid, and {most} points are the most"


def _percentile(hits: Sequence[bool], tail: float, of: int) -> Found:
    """The percentage below which so much of a bootstrap lies: binomial, and one problem off in finitely many draws."""
    trials, below = len(hits), 0.0
    if not trials:
        return NOTHING
    share = sum(hits) / trials
    for number in range(trials + 1):
        below += comb(trials, number) * share**number * (1 - share) ** (trials - number)
        if below >= tail:
            break
    if trials < of:
        return Found(100 * number / trials, whole=False)
    low, high = 100 * (number - 1) / trials, 100 * (number + 1) / trials
    return Found(100 * number / trials, low, high)
