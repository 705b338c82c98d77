"""No revision at all: one draft, or the best of several."""

from __future__ import annotations

import re

from msgspec import Struct

from autoreason.errors import InvalidInput, PanelFailed
from autoreason.events import Delivered
from autoreason.jobs.attempts import panel_attempts
from autoreason.jobs.job import Plan, read_options
from autoreason.jobs.tasks import use_in_order
from autoreason.keys import pass_key
from autoreason.report.numbers import count
from autoreason.settings import MAX_DRAFTS, Settings
from autoreason.story import Story
from autoreason.tournament.authors import MissingText, WrittenText
from autoreason.tournament.confirmation import confirm
from autoreason.tournament.drafts import write_draft
from autoreason.tournament.judges import JUDGE_PROMPTS, JUDGE_SETTINGS, seat_calls
from autoreason.tournament.plan import MAX_CALLS_PER_TEXT
from autoreason.tournament.playoff import run_playoff
from autoreason.tournament.stop import Ending
from autoreason.tournament.strategy import Strategy

_PASS = re.compile(r"\bpass(?= \d)")


class Single(Strategy):
    """The author's first answer."""

    summary = "one draft, delivered as it is"
    prompts = ()
    used_settings = ()

    async def run(self) -> Delivered:
        """Write it and be done."""
        await self.write_draft()
        return self.deliver("done", Ending("drafts", "one draft was asked for"))

    @classmethod
    def plans(cls, settings: Settings) -> tuple[Plan, Plan, Plan]:  # noqa: ARG003
        """One text."""
        return {"author": 1}, {"author": 1}, {"author": MAX_CALLS_PER_TEXT}


class Samples(Struct, frozen=True, kw_only=True):
    """How many drafts are written."""

    n: int = 6

    def __post_init__(self) -> None:
        if not 2 <= self.n <= MAX_DRAFTS:
            raise InvalidInput(f"n is {self.n}; give a number of drafts from 2 to {MAX_DRAFTS}")


def sample_count(settings: Settings) -> int:
    """How many drafts `best_of_n` writes."""
    return read_options(settings, Samples).n


def name_drafts(text: str) -> str:
    """The text with `draft 3` where `best_of_n` recorded a draft as `pass 3`."""
    return _PASS.sub("draft", text)


def sampled_draft(story: Story, number: int) -> str:
    """`draft 6 of 8`: what a pass of `best_of_n` is; within a comparison the budget decides how many there are."""
    of = f" of {sample_count(story.settings)}" if story.settings else ""
    return f"draft {number}{of}"


class BestOfN(Strategy):
    """Independent drafts, and a blind panel that picks one of them."""

    summary = "independent drafts (option n, default 6), the best by a blind panel"
    prompts = JUDGE_PROMPTS
    options_type = Samples
    used_settings = (*JUDGE_SETTINGS, "playoff", "confirmation", "protocol")

    async def run(self) -> Delivered:
        """Write them all, then run the panel."""
        await self.write_draft()
        if self.context.allowance and self.context.allowance.limited:
            await self._write_what_fits()
        else:
            await self._write_at_once(sample_count(self.settings))
        drafts = self.story.incumbents
        for attempt in panel_attempts(self.context):
            winner = await run_playoff(self.context, drafts, MAX_DRAFTS, attempt)
            if self.story.playoff is None or self.story.playoff.verdict:
                await confirm(self.context, drafts[0], winner)
                chosen = Ending("drafts", f"the best of {count(len(drafts), 'draft')}")
                return self.deliver("done", chosen, winner)
        raise PanelFailed(f"too few ballots were valid to choose among {len(drafts)} drafts")

    async def _write_at_once(self, n: int) -> None:
        """All the others at once."""
        numbers = range(2, n + 1)
        drafts = [write_draft(self.context, pass_key(number, "author")) for number in numbers]
        # All have arrived before the first is used: an error here must not lose the others.
        written: list[WrittenText | MissingText] = []
        await use_in_order(drafts, written.append)
        for number, each in zip(numbers, written, strict=True):
            self.begin_pass(number)
            self.take(number, each)

    async def _write_what_fits(self) -> None:
        """One after another, as many as the allowance permits and a judge can rank."""
        for number in range(2, MAX_DRAFTS + 1):
            if not self.affords_another(_judges(self.settings) * seat_calls(self.settings).usual):
                return
            self.begin_pass(number)
            self.take(number, await write_draft(self.context, pass_key(number, "author")))

    @classmethod
    def plans(cls, settings: Settings) -> tuple[Plan, Plan, Plan]:
        """The drafts and the panels; none where no two drafts differ and keep the contract."""
        n = sample_count(settings)
        judges, calls = _judges(settings), seat_calls(settings)
        return (
            {"author": n, "judge": 0},
            {"author": n, "judge": judges * calls.usual},
            {"author": n * MAX_CALLS_PER_TEXT, "judge": judges * calls.most},
        )

    @classmethod
    def check(cls, settings: Settings) -> None:
        """Its option, and a panel to choose with."""
        super().check(settings)
        if not settings.playoff:
            raise InvalidInput("best_of_n needs a panel to choose with; set `playoff` to 2 or more")


def _judges(settings: Settings) -> int:
    """Those who choose, and those who confirm."""
    return settings.playoff + settings.confirmation
