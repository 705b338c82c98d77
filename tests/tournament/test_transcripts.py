"""The original experiments, driven through our loop by a model that answers from the recording."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.tournament.stage import Played, play, shown_texts

from autoreason.events import PassDecided
from autoreason.exchange import Request
from autoreason.parsing.documents import read_document, same_text


class Recording:
    """A model that knows only what was said in the recorded run."""

    def __init__(self, path: Path) -> None:
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        self.run: dict[str, Any] = lines[0]
        self.passes: list[dict[str, Any]] = lines[1:]

    def answer(self, request: Request) -> str:
        if request.role == "author":
            return str(self.run["initial_a"])
        recorded = self.passes[int(request.key.split("/")[1]) - 1]
        if request.role == "judge":
            return self._ballot(request, recorded)
        part = {"critic": "critique", "reviser": "version_b", "synthesizer": "version_ab"}[
            request.role
        ]
        return str(recorded[part])

    def _ballot(self, request: Request, recorded: dict[str, Any]) -> str:
        """The recorded ranking, under the names this judge was shown."""
        names = {}
        for slot, part in (("A", "version_a"), ("B", "version_b"), ("AB", "version_ab")):
            text = read_document(recorded[part]).text
            names[slot] = next(
                label for label, shown in shown_texts(request).items() if same_text(shown, text)
            )
        seat = int(request.key.split("/")[3])
        ranking = recorded["judges"][seat]["ranking"]
        return "Considered.\n\nRANKING: " + ", ".join(names[slot] for slot in ranking)

    async def drive(self, **changes: Any) -> Played:
        roles = ("author", "critic", "reviser", "synthesizer", "judge")
        return await play(
            dict.fromkeys(roles, self.answer),
            brief=self.run["task_prompt"],
            protocol="paper",
            tie_order=tuple(self.run["tie_order"].split(">")),
            **changes,
        )


async def test_every_recorded_winner_comes_out_again(records: Path) -> None:
    for path in sorted((records / "recorded" / "transcripts").glob("*.jsonl")):
        recording = Recording(path)
        total = len(recording.passes)
        played = await recording.drive(k=total + 1, passes=total)
        decided = [(d.winner, d.verdict and d.verdict.scores) for d in played.of(PassDecided)]
        assert decided == [(p["winner"], p["scores"]) for p in recording.passes], path.stem


async def test_the_first_task_stops_at_pass_fifteen(shared: Path) -> None:
    recording = Recording(shared / "recorded" / "transcripts" / "v2_task01.jsonl")
    played = await recording.drive(k=2, passes=len(recording.passes))
    assert played.delivered is not None
    assert played.delivered.status == "converged"
    assert len(played.of(PassDecided)) == 15
