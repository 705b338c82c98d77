"""`autoreason doctor`: is this machine ready, and if not, what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

import click

from autoreason.cli.help import HelpfulCommand
from autoreason.errors import AutoreasonError

if TYPE_CHECKING:
    from autoreason.paths import ServerUrl
    from autoreason.programs.sandbox.levels import DetectedLevel

Level = Literal["ok", "warn", "fail"]
_NEEDED = ("aiohttp", "click", "Jinja2", "msgspec", "numpy", "PyYAML", "rich", "scipy")
_STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}
_LEAST_ROOM = 30
_NARROW = 60


class Finding(NamedTuple):
    """The result of one check of this machine."""

    about: str
    level: Level
    message: str
    fix: str = ""


@click.command(cls=HelpfulCommand, shares="as_json journal")
def doctor(journal: str | None, as_json: bool) -> int:
    """Check this machine and say how to fix it.

    Nothing is called and nothing is written. With --journal, every record of that journal is read
    too, and runs that are damaged are named; `autoreason runs check` does it for the usual one.
    Exit status 1 where something must be fixed first.
    """
    from autoreason.cli.views.outcome import print_json

    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        _python,
        _packages,
        _sandbox,
        _jail,
        lambda: _journal(journal),
        _keys,
        _config,
        _local,
        _terminal,
    )
    findings = [finding for check in checks for finding in check()]
    if as_json:
        print_json([finding._asdict() for finding in findings])
    else:
        _print(findings)
    return 1 if any(finding.level == "fail" for finding in findings) else 0


def _print(findings: list[Finding]) -> None:
    from rich.text import Text

    from autoreason.cli.views.console import stdout_console
    from autoreason.report.table import wrap

    console = stdout_console()
    for about, level, message, fix in findings:
        head = Text.assemble((f"{level:<5}", _STYLES[level]), (f"{about:<13}", "bold"))
        sentence = f"{message}; {fix}" if fix else message
        room = max(_LEAST_ROOM, console.width - len(head))
        # A file has no columns to keep to.
        lines = wrap(sentence, room) if console.is_terminal else [sentence]
        for line in lines:
            console.print(head + Text(line), soft_wrap=True)
            head = Text(" " * len(head))


def _python() -> Iterator[Finding]:
    import sys

    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("python", "ok", f"{version} at {sys.executable}")


def _packages() -> Iterator[Finding]:
    from importlib.metadata import PackageNotFoundError, version

    found, missing = [], []
    for name in _NEEDED:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        fix = f"pip install {' '.join(missing)}"
        yield Finding("dependencies", "fail", f"missing {', '.join(missing)}", fix)
    else:
        yield Finding("dependencies", "ok", ", ".join(found))


def _sandbox() -> Iterator[Finding]:
    from autoreason.programs.sandbox.levels import find_level

    yield sandbox_finding(find_level())


def sandbox_finding(found: DetectedLevel) -> Finding:
    """How well programs are isolated here, why not better, and what would help."""
    level: Level = "ok" if found.level in _ISOLATE_WELL else "warn"
    message = f"{found.level}: {_sandboxes(found)}"
    if found.reasons:
        message += f"; no better because {' and '.join(found.reasons)}"
    fix = "use Linux; on Windows, WSL" if found.level == "none" else ""
    return Finding("sandbox", level, message, fix)


def _jail() -> Iterator[Finding]:
    import sys

    if sys.platform != "linux":
        yield jail_finding(f"a jail needs Linux, and this is {sys.platform}")
        return
    from autoreason.artifacts.evaluator.command_jail import jail_problem

    yield jail_finding(jail_problem())


def jail_finding(problem: str) -> Finding:
    """Whether commands that evaluate artifacts can be jailed here, and what would help."""
    if not problem:
        return Finding("jail", "ok", "commands that evaluate for `research` run in bubblewrap")
    message = f"commands do not evaluate for `research` here without --unsafe: {problem}"
    return Finding("jail", "warn", message, "a function (`evaluate: file.py:function`) does")


_ISOLATE_WELL = ("bubblewrap", "landlock")


def _sandboxes(found: DetectedLevel) -> str:
    match found.level:
        case "bubblewrap":
            whose = "each test" if found.namespaces else "each core"
            return f"namespaces for {whose}, Landlock and a filter of system calls"
        case "landlock":
            return "Landlock and a filter of system calls"
        case "seccomp":
            return "a filter of system calls alone"
        case "none":
            return "programs are not run here without --unsafe"


def _server(place: ServerUrl, runs: int) -> Finding:
    from autoreason.journal.location import open_store
    from autoreason.report import numbers

    store = open_store(place)
    if not store.exists():
        return Finding("journal", "ok", f"{place}, created by the first run")
    store.open_writer().close()
    size = numbers.megabytes(store.size())
    return Finding("journal", "ok", f"{place}, {numbers.count(runs, 'run')}, {size}")


def _journal(url: str | None) -> Iterator[Finding]:
    import os

    from autoreason.journal import Journal, sqlite
    from autoreason.paths import ServerUrl
    from autoreason.report import numbers

    try:
        with Journal.open(url, create=False) as book:
            path, runs = book.place, book.count()
        if isinstance(path, ServerUrl):
            yield _server(path, runs)
            return
    except AutoreasonError as problem:
        yield Finding("journal", "fail", str(problem))
        return
    place = path if path.exists() else next(up for up in path.parents if up.exists())
    writable = sqlite.is_writable(path) if path.exists() else os.access(place, os.W_OK)
    if not writable:
        message = f"{place} is read-only: runs in it can be read, and none started"
        yield Finding(
            "journal", "fail", message, "allow writing there, or name another with --journal"
        )
    elif path.exists():
        size = numbers.megabytes(path.stat().st_size)
        yield Finding("journal", "ok", f"{path}, {numbers.count(runs, 'run')}, {size}")
    else:
        yield Finding("journal", "ok", f"{path}, created by the first run")
    if url is not None and path.exists():
        yield from _records(url)


def _records(url: str) -> Iterator[Finding]:
    """Every record of a journal that was named."""
    from autoreason.cli.commands.runs import examine
    from autoreason.report import numbers

    _, runs, damages = examine(url)
    for damage in damages:
        yield Finding("records", "fail", damage.what)
    if not damages:
        yield Finding("records", "ok", f"every record of {numbers.count(runs, 'run')} can be read")


def _keys() -> Iterator[Finding]:
    from autoreason.models.providers import PROVIDERS, find_key

    found = []
    try:
        for each in PROVIDERS.values():
            if find_key(each.name, each.key_variables, needed=False):
                found.append(each.name)
    except AutoreasonError as problem:
        yield Finding("keys", "fail", str(problem))
        return
    if found:
        yield Finding("keys", "ok", f"for {', '.join(found)}")
    else:
        yield Finding(
            "keys", "warn", "none", "set one to use a hosted model, see `autoreason models`"
        )


def _config() -> Iterator[Finding]:
    from autoreason.cli.config import KEYS, read_config
    from autoreason.paths import config_file

    try:
        read_config()
    except AutoreasonError as problem:
        yield Finding("defaults", "fail", str(problem))
    else:
        there = config_file().exists()
        message = str(config_file()) if there else f"none in {config_file()}; {KEYS}"
        yield Finding("defaults", "ok", message)


def _local() -> Iterator[Finding]:
    from autoreason.cli.embedded import weights_state

    state = weights_state()
    yield Finding("local model", "ok" if state.ready else "warn", state.status, state.fix)


def _terminal() -> Iterator[Finding]:
    import os
    import sys

    from autoreason.cli.views.console import stderr_console

    console = stderr_console()
    if not console.is_terminal or console.is_dumb_terminal:
        yield Finding("terminal", "ok", "none that can redraw: a line per step")
    elif console.width < _NARROW:
        message = f"{console.width} columns"
        yield Finding("terminal", "warn", message, f"the live view likes {_NARROW} or more")
    else:
        colour = "without colour" if os.environ.get("NO_COLOR") else "in colour"
        message = f"{console.width} by {console.height}, {colour}, {sys.stderr.encoding}"
        yield Finding("terminal", "ok", message)
