"""The live view of a run on a terminal: what has happened, above what is under way."""

from __future__ import annotations

import re
from contextlib import suppress

from rich.console import Console, Group
from rich.live import Live as Redrawn
from rich.text import Text

from autoreason.characters import without_controls
from autoreason.cli.account import Line, describe_method
from autoreason.cli.live import Call, Live, View
from autoreason.report import numbers
from autoreason.tournament import statements

_SPIN, _PLAIN_SPIN = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\"
_SPINS_A_SECOND = 5
_NOISE = re.compile(r'[\s{}\[\]"\\]+')
_MIN_LINES = 3
_MAX_GROUPS = 12
_LEAST_TAIL = 10


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

    def on_stop(self) -> None:
        super().on_stop()
        self.refresh()

    def refresh(self) -> None:
        """Draw once. A terminal that has gone away must not end a run that goes on without it."""
        with suppress(OSError):
            self._redrawn.update(draw(self.live, self.console), refresh=True)


def draw(live: Live, console: Console) -> Group:
    width = console.width
    notice = (
        list(Text(live.waiting(), style="yellow").wrap(console, width)) if live.stopping else []
    )
    above = _header(live, width)
    room = console.height - len(above) - len(notice) - _MIN_LINES
    below = _bar(live, width, room, console.options.ascii_only)
    # A line for those that are not shown, and the one the cursor stands on.
    past = _past(live, max(_MIN_LINES, room - len(below) + _MIN_LINES - 2))
    lines = [*above, *past, *below]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
        line.no_wrap = True
    return Group(*lines, *notice)


def _header(live: Live, width: int) -> list[Text]:
    task, settings = live.story.task, live.story.settings
    if task is None or settings is None:
        return [Text("autoreason  opening…", style="dim")]
    top = Text.assemble(("autoreason", "bold"), "  ", (live.run, "cyan"), "  ", task.title)
    clock = numbers.duration(live.elapsed) if live.elapsed >= 1 else ""
    about = Text(describe_method(live.story))
    about.truncate(max(0, width - len(clock) - 1), overflow="ellipsis", pad=True)
    about.append(f" {clock}")
    about.stylize("dim")
    single = [Text(statements.ONE_VOTE, style="dim")] if settings.judges == 1 else []
    return [top, about, *single, Text()]


def _past(live: Live, room: int) -> list[Text]:
    """What has happened: of passes and panels that have ended how they ended, and the present one whole."""
    present = live.lines[-1].place if live.lines else ""
    shown: list[Line] = []
    hidden = 0
    for line in reversed(live.lines):
        whole = line.place == present or line.kind == "verdict"
        if not (whole if line.place else line.about):
            continue
        if len(shown) == room:
            hidden += 1
        else:
            shown.append(line)
    earlier = [Text(f"{hidden:,} earlier", style="dim")] if hidden else []
    return [*earlier, *(Text(str(line), style=line.style) for line in reversed(shown))]


def _bar(live: Live, width: int, room: int, plain: bool) -> list[Text]:
    spins = _PLAIN_SPIN if plain else _SPIN
    spin = spins[int(live.clock() * _SPINS_A_SECOND) % len(spins)]
    groups = list(live.under_way().items())
    progress = [Text(line, style="dim") for line in live.progress()]
    most = min(_MAX_GROUPS, max(_MIN_LINES, room - len(progress)))
    lines = []
    for name, calls in groups[:most]:
        line = Text.assemble((spin, "cyan"), f" {name}  ", _describe(live, calls))
        tail = _tail(calls[0], width - line.cell_len - 2)
        lines.append(line.append(f"  {tail}" if tail else "", style="dim italic"))
    if len(groups) > most:
        lines.append(Text(f"  and {len(groups) - most:,} more"))
    return [*lines, Text(), *progress]


def _describe(live: Live, calls: list[Call]) -> str:
    age = numbers.duration(max(map(live.age, calls)))
    if trouble := next((call.trouble for call in calls if call.trouble), ""):
        return f"{age}  {trouble}"
    tokens = sum(call.tokens for call in calls)
    return f"{age}  ~{tokens:,} tokens" if tokens else age


def _tail(call: Call, room: int) -> str:
    """The end of what a model is writing; of an answer in JSON, of the value that is being written."""
    tail = _NOISE.sub(" ", without_controls(call.tail.rpartition('": "')[2])).strip()
    if room <= _LEAST_TAIL:
        return ""
    return tail if len(tail) < room else f"…{tail[-(room - 1) :]}"
