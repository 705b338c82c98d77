"""The redrawn view of a run on a terminal: what came of each round, what is under way, what it waits for."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from rich.console import Console, Group
from rich.live import Live as Redrawn
from rich.text import Text

from autoreason.characters import without_controls
from autoreason.cli.live import (
    Call,
    Live,
    View,
    describe_challengers,
    describe_critique,
    describe_tries,
    describe_written,
)
from autoreason.cli.lookup import is_contest
from autoreason.cli.progress import (
    describe_left,
    describe_progress,
    describe_spending,
    describe_time,
)
from autoreason.keys import Key, pass_key, sub_key
from autoreason.report.numbers import capital, count, duration, shorten
from autoreason.report.table import lay_out
from autoreason.story import CONFIRMATION, DRAFTS, REVIEW, RecordedPass
from autoreason.tournament.challengers import MAX_RIVALS
from autoreason.tournament.rounds import Chapter, describe_faults, name_text
from autoreason.tournament.strategy import find_ending
from autoreason.tournament.voting import writes_synthesis
from autoreason.wording import KINDS, SEVERITIES

if TYPE_CHECKING:
    from autoreason.settings import Settings
    from autoreason.story import Story

_SPIN, _PLAIN_SPIN = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\"
_SPINS_A_SECOND = 5
_MIN_ROUNDS = 2
_NAME = 16
"""Columns of a round's name."""
_LEAST_WORDS = 16
"""Columns below which a judge's words say nothing."""
_STEP = 12
_QUOTE = 60


class Screen(View):
    period = 0.2

    def __init__(self, live: Live, console: Console) -> None:
        super().__init__(live)
        self.on_signal = live.on_signal
        self.console = console
        self._redrawn = Redrawn(
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def open(self) -> None:
        self._redrawn.start()
        self.refresh()

    def close(self) -> None:
        with suppress(OSError):
            self._redrawn.stop()

    def print_note(self, line: str) -> None:
        self.console.print(Text(line, style="dim"))

    def print_rows(self, rows: Sequence[tuple[str, str]]) -> None:
        for label, text in lay_out(rows, self.console.width):
            self.console.print(Text.assemble((label, "dim"), text))

    def on_stop(self) -> None:
        super().on_stop()
        self.refresh()

    def refresh(self) -> None:
        """Draw once. A terminal that has gone away must not end a run that goes on without it."""
        with suppress(OSError):
            self._redrawn.update(draw(self.live, self.console), refresh=True)


def draw(live: Live, console: Console) -> Group:
    spins = _PLAIN_SPIN if console.options.ascii_only else _SPIN
    spin = spins[int(live.clock() * _SPINS_A_SECOND) % len(spins)]
    story = live.story
    rounds = story.settings is not None and story.writes == "text" and is_contest(story)
    lines = _rounds_view(live, console, spin) if rounds else _one_line(live, console, spin)
    notice: list[Text] = []
    if live.stopping:
        notice = [*Text(live.waiting(), style="yellow").wrap(console, console.width)]
    elif story.settings and not story.end:
        lines.append(Text(_describe_keys(live), style="dim"))
    for line in lines:
        line.truncate(console.width, overflow="ellipsis")
        line.no_wrap = True
    return Group(*lines, *notice)


def _describe_keys(live: Live) -> str:
    if live.watched:
        return "Ctrl-C end watching; the run goes on"
    guided = live.story.writes in ("text", "files") and not live.story.is_sampling
    tell = " · in another terminal, autoreason tell: guide, accept" if guided else ""
    return f"Ctrl-C stop, resume later{tell}"


def _one_line(live: Live, console: Console, spin: str) -> list[Text]:
    """What has no rounds of its own to show: how far it is, and what it waits for."""
    line = Text.assemble((spin, "cyan"), " ", describe_progress(live))
    waits = filter(None, (_waiting(live, live.calls.values()), live.batch_progress()))
    below = [Text(f"  {each}", style="yellow") for each in waits]
    return [*line.wrap(console, console.width), *below]


# ---- what came of each round -------------------------------------------------------------------


class RoundLine(NamedTuple):
    """The first draft, a round, a review, or one of several drafts."""

    mark: tuple[str, str]
    """With its colour."""
    name: str
    sentence: str
    words: str = ""
    """A judge's, or a critic's."""


FIRST_DRAFT = (KINDS["draft"].mark, KINDS["draft"].style)


def list_rounds(story: Story, chapters: Iterable[Chapter]) -> list[RoundLine]:
    found: list[RoundLine] = []
    has_judges = False
    if draft := story.draft:
        name = "your draft" if draft.given else KINDS["draft"].name
        found.append(RoundLine(FIRST_DRAFT, name, describe_written(draft)))
    for each in chapters:
        # The first line says whom the numbers count.
        is_known = has_judges and not each.is_review
        sentence = re.sub(" judges?$", "", each.sentence) if is_known else each.sentence
        has_judges = has_judges or "judge" in each.votes
        words = each.reason.words if each.reason and not each.is_review else ""
        if isinstance(one := each.step, RecordedPass) and each.outcome == "rewritten":
            sentence = f"rewritten: {describe_challengers(one, 'B')}"
            faults = [fault for critique in one.critiques for fault in critique.problems]
            # The first of the most serious ones is why it was rewritten.
            faults.sort(key=lambda fault: [*SEVERITIES].index(fault.severity))
            words = faults[0].problem if faults else ""
        if each.kind and each.kind != "kept":
            # The line says already which text it is about.
            words = words.removeprefix(f"[T{KINDS[each.kind].the[1:]}] ")
        found.append(RoundLine(each.mark, each.name.partition(" after")[0], sentence, words))
    return found


def draw_rounds(lines: Sequence[RoundLine], width: int, column: int) -> list[Text]:
    """A line each, with a judge's words where there is room for them."""
    room = width - column - 2
    widest = max((len(each.sentence) for each in lines if each.words), default=0)
    middle = min(widest, room - _LEAST_WORDS) + 2
    drawn = []
    for mark, name, sentence, words in lines:
        line = Text.assemble(mark, f" {name:<{column}}")
        left = room - max(middle, len(sentence) + 2)
        if words and left >= _LEAST_WORDS:
            said = textwrap.shorten(without_controls(words), left - 2, placeholder=" …")
            line.append(f"{sentence:<{middle}}").append(f"“{said}”", style="dim")
        else:
            line.append(shorten(without_controls(sentence), max(1, room)))
        drawn.append(line)
    return drawn


# ---- a text, round by round ------------------------------------------------------------------


class Step(NamedTuple):
    """Something that is done in a round, or before or after all of them."""

    name: str
    state: Literal["done", "under way", "ahead"]
    text: str = ""

    def draw(self, spin: str, width: int) -> Text:
        marks = {"done": ("✓", "green"), "under way": (spin, "cyan"), "ahead": ("·", "dim")}
        return Text.assemble(marks[self.state], f" {self.name:<{width}}", self.text)


def _rounds_view(live: Live, console: Console, spin: str) -> list[Text]:
    present = _present(live, spin)
    batches = live.batch_progress()
    waits = [Text(f"  {batches}", style="yellow")] if batches else []
    left = describe_left(live)
    below = [*waits, Text(), _last_line(live), *[Text(capital(left), style="dim")] * bool(left)]
    room = console.height - len(present) - len(below) - 6 - live.stopping
    above = [_header(live, console.width), Text(), *_past(live, room, console.width)]
    return [*above, *present, *below]


def _header(live: Live, width: int) -> Text:
    story, settings = live.story, live.story.settings
    assert settings is not None
    parts = [*describe_spending(story, live.spent), describe_time(live.elapsed, story)]
    if story.passes:
        parts.append(f"round {story.passes[-1].number} of {settings.passes}")
    state = " · ".join(parts)
    title = Text(story.title, style="bold")
    title.truncate(max(0, width - len(state) - 1), overflow="ellipsis", pad=True)
    return title.append(f" {state}", style="not bold dim")


def _past(live: Live, room: int, width: int) -> list[Text]:
    if live.story.draft is None:
        return []
    room = max(_MIN_ROUNDS, room)
    hidden = sum(not each.is_review for each in live.chapters[:-room])
    draft, *drawn = draw_rounds(list_rounds(live.story, live.chapters[-room:]), width, _NAME)
    earlier = [Text(f"  {count(hidden, 'earlier round')}", style="dim")] if hidden else []
    return [draft, *earlier, *drawn]


def _present(live: Live, spin: str) -> list[Text]:
    story, settings = live.story, live.story.settings
    assert settings is not None
    if story.end:
        return []
    if story.passes and story.passes[-1].decided is None:
        made = _round_steps(live, story.passes[-1], settings)
        drawn = [Text("    ").append_text(each.draw(spin, _STEP)) for each in made]
        return [Text(f"  round {story.passes[-1].number}"), *drawn]
    made = _judging(live, settings) if story.draft else [_drafting(live, settings)]
    made = made or [Step(f"round {len(story.passes) + 1}", "under way")]
    return [each.draw(spin, _NAME) for each in made]


def _drafting(live: Live, settings: Settings) -> Step:
    story, calls = live.story, _asked(live, "author")
    if DRAFTS in story.panels or _asked(live, "judge"):
        return Step("choice of draft", "under way", _votes(live, DRAFTS, settings.panel_judges))
    tried = f"{describe_tries(story.drafts, settings.max_drafts)}; " if story.drafts else ""
    return Step("first draft", "under way", f"{tried}{_describe(live, calls)}")


_ROLES = {
    "critic": ("critic",),
    "rewrite": ("reviser", "author"),
    "merge": ("synthesizer",),
    "judges": ("judge",),
}
"""Who is asked in each step of a round."""


def _round_steps(live: Live, one: RecordedPass, settings: Settings) -> list[Step]:
    """In the order in which they are done; between two calls the next step is on its way."""
    stage = pass_key(one.number)
    found = {
        "critic": _critic(one),
        "rewrite": describe_challengers(one, "B"),
        "merge": describe_challengers(one, "AB"),
        "judges": "",
    }
    asks = {"merge": writes_synthesis(settings), "judges": settings.judges > 0}
    names = [name for name in found if asks.get(name, True)]
    asked = {
        name: [call for role in _ROLES[name] for call in _asked(live, role, sub_key(stage, ""))]
        for name in names
    }
    last = max((at for at, name in enumerate(names) if found[name]), default=-1)
    under_way = [name for name in names if asked[name]] or names[last + 1 : last + 2]
    first = names.index(under_way[0]) if under_way else len(names)
    made = []
    for at, name in enumerate(names):
        text = _votes(live, stage, settings.judges) if name == "judges" else found[name]
        if name in under_way:
            doing = text if name == "judges" else _describe(live, asked[name])
            # A new draft takes the place of what was left out.
            before = f"; {text}" if text and name == "rewrite" else ""
            made.append(Step(name, "under way", f"{doing}{before}"))
        else:
            made.append(Step(name, "done" if found[name] or at < first else "ahead", text))
    return made


def _critic(one: RecordedPass) -> str:
    if not one.critiques:
        return ""
    if len(one.critiques) == 1 and not one.critiques[0].problems:
        return describe_critique(one.critiques[0])
    faults = [fault for each in one.critiques for fault in each.problems]
    worst = shorten(faults[0].quote or faults[0].problem, _QUOTE) if faults else ""
    return f"{describe_faults(one.critiques)}{f': “{worst}”' if worst else ''}"


def _is_reviewed(live: Live) -> bool:
    """Whether a review is under way."""
    reviews = live.story.reviews
    return bool(_asked(live, "judge", REVIEW) or (reviews and reviews[-1].decided is None))


def _rounds_over(live: Live) -> bool:
    story, settings = live.story, live.story.settings
    assert settings is not None
    if story.end or CONFIRMATION in story.panels or _asked(live, "judge", CONFIRMATION):
        return True
    if not story.passes or story.passes[-1].decided is None:
        return False
    if not settings.review_every and (_is_reviewed(live) or story.closing_review):
        return True
    ended = story.streak >= settings.k or len(story.passes) >= settings.passes
    return ended or find_ending(story, settings) is not None


def _judging(live: Live, settings: Settings) -> list[Step]:
    """A review, and after all rounds the fresh judges."""
    story, over, made = live.story, _rounds_over(live), list[Step]()
    voted = story.closing_review or CONFIRMATION in story.panels
    if _is_reviewed(live) or (over and settings.reviewers and not voted):
        made.append(Step("review", "under way", _votes(live, REVIEW, settings.reviewers)))
    if settings.confirmation and over:
        votes = _votes(live, CONFIRMATION, settings.confirmation)
        made.append(Step("fresh judges", "ahead" if made else "under way", votes))
    return made


def _votes(live: Live, stage: str, usual: int) -> str:
    """`2 of 3`: how many rankings there are, of as many as were asked for so far, and what they wait for."""
    story, calls = live.story, _asked(live, "judge", stage)
    ballots = story.closing_ballots if stage == REVIEW else []
    if stage.startswith("pass/"):
        ballots = story.passes[-1].ballots
    elif names := [each for each in story.panels if each.startswith(stage)]:
        ballots = story.panels[names[0]].ballots
    asked = {Key.parse(call.key).number("judge") for call in calls}
    seats = asked | {each.seat for each in ballots}
    in_review = story.reviews[-1].ballots if stage == REVIEW and story.reviews else []
    if any("/older" in each.stage for each in in_review):
        usual = -(-usual // 2)
    firsts = Counter(each.ranking[0] for each in ballots if each.ranking and stage == REVIEW)
    so_far = ", ".join(f"{n} for {name_text(name)}" for name, n in firsts.most_common())
    votes = f"{len(ballots)} of {max(usual, len(seats))}{f': {so_far}' if so_far else ''}"
    return "; ".join(filter(None, (votes, _waiting(live, calls))))


def _asked(live: Live, role: str, under: str = "") -> list[Call]:
    return [call for key, call in live.calls.items() if call.role == role and key.startswith(under)]


def _describe(live: Live, calls: list[Call]) -> str:
    """How far texts are that are being written, why again, and what they wait for."""
    if not calls:
        return ""
    call, words = calls[0], sum(each.words for each in calls if each.role != "critic")
    written = f"{count(words, 'word')} …" if words else duration(max(map(live.age, calls)))
    return "; ".join(filter(None, (_again(call), _waiting(live, calls) or written)))


def _again(call: Call) -> str:
    """Why a text is asked for again, which its key says."""
    key = Key.parse(call.key)
    if key.number("pass") is not None and (number := key.number("draft")) is not None:
        return f"new draft, try {number + 1} of at most {MAX_RIVALS}"
    if "repair" in key.steps:
        return "again: it broke a limit"
    if "rewrite" in key.steps:
        return "again: it mentioned how it was written"
    return "again: the first answer could not be used" if key.number("try") else ""


def _waiting(live: Live, calls: Iterable[Call]) -> str:
    return next(filter(None, (call.waiting(live.clock()) for call in calls)), "")


def _last_line(live: Live) -> Text:
    story, settings = live.story, live.story.settings
    assert settings is not None
    if _rounds_over(live):
        return Text("The rounds are over.", style="dim")
    if _is_reviewed(live):
        return Text("It goes on from the text that judges put first.", style="dim")
    if story.incumbent and not story.incumbent.keeps_contract:
        return Text("The text so far breaks a limit; until one keeps them, no round counts.")
    parts = [f"Kept {count(story.streak, 'time')} in a row; at {settings.k} it stops."]
    if not settings.judges:
        without = f"{count(story.streak, 'round')} in a row without a new text"
        parts = [f"{without}; at {settings.k} it stops."] if story.streak else []
    if settings.review_every and settings.reviewers:
        after = (len(story.trajectory) // settings.review_every + 1) * settings.review_every
        parts.insert(0, f"Next review after round {min(settings.passes, after)}.")
    return Text(" ".join(parts), style="dim")
