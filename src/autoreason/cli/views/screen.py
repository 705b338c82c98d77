"""The live view of a run on a terminal."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live as Redrawn
from rich.text import Text

from autoreason.characters import without_controls
from autoreason.cli.views.live import CELL, Live
from autoreason.cli.views.steps import Call, State, Step
from autoreason.cli.views.view import View
from autoreason.report import numbers
from autoreason.tournament import statements

if TYPE_CHECKING:
    from autoreason.story import RecordedPass

_SPIN = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_SPINS_A_SECOND = 5
_MARKS = {"waiting": ("·", "dim"), "done": ("✓", "green"), "failed": ("✗", "yellow")}
_PLAIN_MARKS = {"waiting": ".", "done": "+", "failed": "!"}
_NOISE = re.compile(r'[\s{}\[\]"\\]+')
_INDENT = 2
_NAME = 13
_VERDICT = 42
_MIN_PASSES = 3
_AROUND_PASSES = 4
"""A blank line, the draft, a word on earlier passes, and the line the cursor stands on."""
_AROUND_STEPS = 6
"""Blank lines, the stage, what would end it, what it took, and the line the cursor stands on."""


_EARLIER = {False: ("earlier pass", "earlier passes"), True: ("earlier draft", "")}


class Screen(View):
    """Redraws the state of a run a few times a second."""

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
        """Take the lower part of the terminal."""
        self._redrawn.start()
        self.refresh()

    def close(self) -> None:
        """Give the terminal back, clean."""
        with suppress(OSError):
            self._redrawn.stop()

    def print_note(self, line: str) -> None:
        """Print it above the view."""
        self.console.print(Text(line, style="dim"))

    def on_stop(self) -> None:
        """Show at once what is still waited for."""
        super().on_stop()
        self.refresh()

    def refresh(self) -> None:
        """Draw once. A terminal that has gone away must not end a run that goes on without it."""
        with suppress(OSError):
            self._redrawn.update(draw(self.live, self.console), refresh=True)


def draw(live: Live, console: Console) -> Group:
    """The whole view as lines that fit the terminal."""
    width = console.width
    notice = (
        list(Text(live.waiting(), style="yellow").wrap(console, width)) if live.stopping else []
    )
    above = _header(live, width)
    left = console.height - len(above) - len(notice) - _AROUND_STEPS
    below = _present(live, width, left, console.options.ascii_only)
    room = console.height - len(above) - len(below) - len(notice) - _AROUND_PASSES
    lines = [*above, *_trajectory(live, max(_MIN_PASSES, room)), *below]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
        line.no_wrap = True
    return Group(*lines, *notice)


def _present(live: Live, width: int, room: int, plain: bool) -> list[Text]:
    """What is going on now, what would end it and what it took."""
    lines = [Text(), Text(live.stage, style="bold")] if live.stage else []
    steps = live.steps(room)
    widest = max((len(step.name) + 2 for step in steps), default=0)
    column = max(_NAME, min(widest, width // 2))
    lines += [_step(live, step, width, plain, column) for step in steps]
    lines += _seats(live, live.seats(), width, plain)
    return [
        *lines,
        Text(),
        *(
            Text(line, style="dim")
            for line in (live.batch_progress(), live.needs(), live.budget())
            if line
        ),
    ]


def _header(live: Live, width: int) -> list[Text]:
    task, settings = live.story.task, live.story.settings
    if task is None or settings is None:
        return [Text("autoreason  opening…", style="dim")]
    top = Text.assemble(("autoreason", "bold"), "  ", (live.run, "cyan"), "  ", task.title)
    clock = numbers.duration(live.elapsed) if live.elapsed >= 1 else ""
    how = settings.protocol if live.contest else settings.job.label
    about = Text(f"{', '.join(settings.models.all())} · {how} · seed {settings.seed}")
    about.truncate(max(0, width - len(clock) - 1), overflow="ellipsis", pad=True)
    about.append(f" {clock}")
    about.stylize("dim")
    single = [Text(statements.ONE_VOTE, style="dim")] if settings.judges == 1 else []
    return [top, about, *single]


def _trajectory(live: Live, room: int) -> list[Text]:
    passes = [each for each in live.story.passes if each.decided]
    draft = live.story.draft
    if draft is None:
        return []
    origin = "given" if draft.given else "written"
    lines = [
        Text(f"{'':{_INDENT}}draft  {origin}, {statements.draft(draft, draft.of)}", style="dim")
    ]
    hidden = len(passes) - room
    if hidden > 0:
        lines.append(
            Text(
                f"{'':{_INDENT}}{numbers.count(hidden, *_EARLIER[live.sampling])}",
                style="dim",
            )
        )
    shown = passes[max(0, hidden) :]
    show = _sample if live.sampling else _pass
    return [Text(), *lines, *(show(each, live) for each in shown)]


def _sample(each: RecordedPass, live: Live) -> Text:
    """`draft 6 of 8  written, 312 words`."""
    from autoreason.strategies.rivals import sampled_draft

    text = "".join(map(statements.dropped, each.dropped))
    for ready in each.candidates.values():
        text = f"written, {statements.candidate(ready)}"
    return Text(f"{'':{_INDENT}}{sampled_draft(live.story, each.number)}  {text}", style="dim")


def _pass(each: RecordedPass, live: Live) -> Text:
    """`1  AB  A 4 · AB 8 · B 6  +2  312 words`."""
    decided, settings = each.decided, live.story.settings
    assert decided is not None
    assert settings is not None
    line = Text(f"{'':{_INDENT}}{each.number:>3}  ")
    line.append(f"{decided.winner or '?':<3}", style="yellow" if decided.winner is None else "bold")
    verdict = decided.verdict
    if verdict:
        margin = f"{verdict.margin:+}"
        lead = f"{margin:<4}{numbers.percent(verdict.chance):>5} by chance"
        line.append(f" {statements.scores(verdict.scores):<20}")
        line.append(f" {'tie' if verdict.tied else lead:<20}", style="dim")
    else:
        why = Text(f" {decided.reason or decided.outcome}", style="dim")
        why.truncate(_VERDICT, overflow="ellipsis", pad=True)
        line.append_text(why)
    line.append(f"{numbers.count(decided.words, 'word'):>12}", style="dim")
    if decided.winner == "A" and live.contest:
        row = statements.uncounted(decided) or f"{decided.streak} of {settings.k}"
        line.append(f"  {row}", style="green" if decided.survived else "yellow")
    for name, ballot in (verdict.code if verdict else {}).items():
        line.append(f"  {name} {statements.code_ballot(ballot)}", style="dim")
    return line


def _step(live: Live, step: Step, width: int, plain: bool, column: int = _NAME) -> Text:
    name = step.name if len(step.name) < column else f"{step.name[: column - 2]}…"
    line = _mark(live, step.state, plain).append(f" {name:<{column}}")
    if not step.calls:
        return line.append(step.text)
    call = step.calls[0]
    if live.study:
        what = "evaluations " if live.researching else "tests "
        calls = f"{numbers.count(len(step.calls), 'call')} " if call.model else what
        line.append("" if call.role == CELL else f"{call.within}, {calls}").append("under way, ")
    line.append(_progress(live, call))
    room = width - line.cell_len - 2
    if call.tail and room > 10:
        # Of an answer in JSON, the value that is being written.
        tail = _NOISE.sub(" ", without_controls(call.tail.rpartition('": "')[2])).strip()
        cut = Text(
            tail[-(room - 1) :] if len(tail) < room else f"…{tail[-(room - 1) :]}",
            style="dim italic",
        )
        line.append("  ").append_text(cut)
    return line


def _progress(live: Live, call: Call) -> str:
    age = numbers.duration(live.age(call))
    if call.trouble:
        return f"{age}  {call.trouble}"
    return f"{age}  ~{call.tokens:,} tokens" if call.tokens else age


def _mark(live: Live, state: State, plain: bool) -> Text:
    if state == "working":
        frame = int(live.clock() * _SPINS_A_SECOND)
        spin = "|/-\\"[frame % 4] if plain else _SPIN[frame % len(_SPIN)]
        return Text(f"{'':{_INDENT}}").append(spin, style="cyan")
    mark, style = _MARKS[state]
    return Text(f"{'':{_INDENT}}").append(_PLAIN_MARKS[state] if plain else mark, style=style)


def _seats(live: Live, seats: list[Step], width: int, plain: bool) -> list[Text]:
    """The panel in as few lines as fit."""
    if not seats:
        expected = live.contest and live.stage.startswith("pass")
        return [_step(live, Step("judges", "waiting"), width, plain)] if expected else []
    state: State = "working" if any(seat.state == "working" for seat in seats) else "done"
    cells = [_seat(live, seat) for seat in seats]
    widest = max(cell.cell_len for cell in cells) + 3
    margin = _INDENT + 2 + _NAME
    abreast = max(1, (width - margin) // widest)
    lines = []
    for start in range(0, len(cells), abreast):
        first = start == 0
        line = (
            _mark(live, state, plain).append(f" {'judges':<{_NAME}}")
            if first
            else Text(" " * margin)
        )
        for cell in cells[start : start + abreast]:
            line.append_text(cell).append(" " * (widest - cell.cell_len))
        lines.append(line)
    return lines


def _seat(live: Live, seat: Step) -> Text:
    cell = Text(f"{seat.name} ", style="dim")
    if seat.calls:
        call = seat.calls[0]
        return cell.append(f"… {call.trouble or numbers.duration(live.age(call))}")
    return Text.assemble(cell, (seat.text, "yellow" if seat.state == "failed" else "default"))
