"""Simulated critics, authors and judges behind `ask`: they know the texts, and nothing of the tournament."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from autoreason.exchange import Outcome, Query, Reply, Request
from autoreason.keys import Key
from autoreason.prompts import PromptSet
from autoreason.story import DRAFTS
from autoreason.studies.simulate.random_draws import PassDraws, RandomDraws
from autoreason.studies.simulate.texts import (
    Texts,
    finds_nothing,
    first_draft,
    further_draft,
    revise,
    share_changed,
    synthesize,
)
from autoreason.studies.simulate.world import World

PROMPTS = PromptSet(
    {
        "system": "",
        "task": "",
        "author": "",
        "critic": "{{ text }}",
        "reviser": "{{ text }}",
        "blind_reviser": "",
        "synthesizer": "{{ texts | join(' ') }}",
        "judge": "{% for one in candidates %}{{ one.label }} {{ one.text }} {% endfor %}",
    }
)
"""Just the texts, which are single words: `t0`, `t1`, in the order in which they were written."""

_LAST_STAGES = ("playoff", "confirmation")
_PROBLEM = '{"problems": [{"severity": "major", "kind": "quote", "quote": "%s", "problem": "It is weak."}]}'


class Cast:
    """The critics, authors and judges of one simulated run."""

    def __init__(
        self, world: World, luck: RandomDraws, row: int, *, subtractive: bool = False
    ) -> None:
        self.world = world
        self._subtractive = subtractive
        self._luck = luck
        self._row = row
        self._texts: dict[str, Texts] = {}
        self._number = 0
        self.calls: Counter[int | str] = Counter()
        """By pass, or by the stage that comes after them; the first draft is pass 0."""

    def quality(self, text: str) -> float:
        """How good a text really is."""
        return float(self._texts[text].quality[0])

    def share_changed(self, one: str, other: str) -> float:
        """In which share of their words two texts differ."""
        return float(
            share_changed(self.world, *(self._texts[text].quality for text in (one, other)))[0]
        )

    async def ask(self, request: Request | Query[Any]) -> Any:
        """Answer as the world has it."""
        if isinstance(request, Query):
            # There is no guidance, and the budget is enough for everything.
            return ""
        key = Key.parse(request.key)
        stage = key.head
        self._number = key.number("pass") or self._number
        self.calls[stage if stage in _LAST_STAGES else self._number] += 1
        shown = request.messages[-1].text.split()
        match request.role:
            case "author":
                text = self._keep(self._draft(key.number(DRAFTS) or 1))
            case "critic":
                text = self._criticise(
                    shown[0], key.number("critic") or 0, quoted=bool(request.schema)
                )
            case "reviser":
                luck = self._revising(key.number("reviser") or 1)
                start = self._texts[shown[0] if shown else "t0"]
                text = self._keep(revise(self.world, luck, self._number, start, blind=not shown))
            case "synthesizer":
                one, other = map(self._texts.__getitem__, shown)
                text = self._keep(
                    synthesize(*self._writing, one, other, subtractive=self._subtractive)
                )
            case _:
                text = self._vote(shown, stage, key.number("judge") or 0)
        return Reply(outcome=Outcome.OK, text=text, model=request.model)

    def _draft(self, number: int) -> Texts:
        only = slice(self._row, self._row + 1)
        if number > 1:
            return further_draft(self.world, self._luck.further_draft(number)[only])
        return first_draft(self.world, self._luck.draft_taste()[only])

    @property
    def _writing(self) -> tuple[World, PassDraws, int]:
        return self.world, self._luck.of_pass(self._number).of_run(self._row), self._number

    def _revising(self, reviser: int) -> PassDraws:
        """The luck of one of the revisers of a pass."""
        if reviser == 1:
            return self._writing[1]
        return self._luck.further_revision(self._number, reviser).of_run(self._row)

    def _keep(self, text: Texts) -> str:
        name = f"t{len(self._texts)}"
        self._texts[name] = text
        return name

    def _criticise(self, text: str, critic: int, *, quoted: bool) -> str:
        """A problem, or none; every critique in prose counts as one."""
        world, luck, _ = self._writing
        if quoted and finds_nothing(world, luck, critic, self._texts[text])[0]:
            return '{"problems": []}'
        return _PROBLEM % text if quoted else "It is weak."

    def _vote(self, shown: list[str], stage: str, seat: int) -> str:
        judges = self.world.judges
        labels, texts = shown[0::2], shown[1::2]
        match stage:
            case "drafts":
                errors = self._luck.draft_judge(seat)
            case "playoff":
                errors = self._luck.finalist_judge(seat)
            case "confirmation":
                errors = self._luck.confirming_judge(seat)
            case _:
                errors = self._luck.judge(self._number, seat)
                if len(texts) > errors.shape[1]:
                    more = self._luck.further_errors(self._number, seat)
                    errors = np.hstack((errors, more))
        oldest_first = sorted(texts, key=lambda text: int(text[1:]))
        views = {}
        for position, (label, text) in enumerate(zip(labels, texts, strict=True)):
            worth = float(self._texts[text].worth(self.world, self._number)[0])
            worth += judges.noise * errors[self._row, oldest_first.index(text)]
            worth += judges.first * (position == 0) + judges.last * (position == len(texts) - 1)
            views[label] = worth
        best_first = sorted(views, key=views.__getitem__, reverse=True)
        return f'{{"reasoning": "", "ranking": "{" > ".join(best_first)}"}}'
