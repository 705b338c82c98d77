"""`models`, `prompts` and `doctor`: what there is to work with, and whether this machine is ready."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from autoreason.cli import options
from autoreason.cli.announcement import pull_weights, weights_state
from autoreason.cli.command import Command, Group, Output, with_flags
from autoreason.cli.lookup import when
from autoreason.cli.options import group, option, setting
from autoreason.errors import AutoreasonError, InvalidInput
from autoreason.files import config_file
from autoreason.models.examples import with_examples
from autoreason.report import numbers
from autoreason.report.numbers import UNKNOWN
from autoreason.settings import BY_PROGRAM, DEFAULT_MODEL, provider_of, servers

if TYPE_CHECKING:
    from autoreason.models.providers import Provider
    from autoreason.models.wire import Check
    from autoreason.programs.sandbox.levels import DetectedLevel
    from autoreason.report.table import Tone

_INSIDE = "in this process"
_ECHO = {
    "key": "not needed",
    "message": "echo/echo makes answers up, for trials",
    "server": _INSIDE,
}
_LOGIN = {"key": "not needed", "message": "the program's login"}
_LEAST_SERVER = 32
"""Columns that show nearly all of them whole next to the names of keys."""
_STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}
_LEAST_ROOM = 30
_SANDBOXES = {
    "landlock": "Landlock and a filter of system calls",
    "seccomp": "a filter of system calls alone",
    "none": "programs are not run here without --unsafe",
}


# ---- models ------------------------------------------------------------------------------------


@click.group(cls=Group, default="list")
@with_examples
def models() -> None:
    """Show providers, keys and local models; list and pull.

    A model's address is provider/model. Keys come from the environment or from the key file; they
    are never shown. Without a command, what there is is listed.

    \b
      autoreason models --certificates
      autoreason models check {model} {local}
      autoreason models check my/model --base-url http://127.0.0.1:8000/v1
      autoreason models pull
    """


@models.command("list", shares="as_json")
@click.argument("model", required=False)
@group("Options", option("--certificates", "What was measured of judges, or of MODEL."))
def list_models(model: str | None, certificates: bool) -> Output:
    """Show providers, keys and local models; or certificates of judges."""
    if certificates:
        return _certificates(model)
    if model:
        raise InvalidInput(f"`autoreason models check {model}` says whether {model} can be used")
    return _list()


@models.command(shares="as_json")
@click.argument("addresses", metavar="MODEL...", nargs=-1, required=True)
@group("Options", options.server_option, setting("allow_http"))
def check(
    addresses: tuple[str, ...], base_url: str | dict[str, str] | None, allow_http: bool | None
) -> Output:
    """Reach models without spending a token.

    Exit status 1 where any of them cannot be used.
    """
    import asyncio

    from autoreason.models.pool import ModelPool

    pool = ModelPool(servers(base_url, addresses), allow_http=bool(allow_http))

    async def reach() -> list[Check]:
        try:
            return await pool.check_all(addresses)
        finally:
            await pool.close()

    checks = asyncio.run(reach())
    failed = any(check.problem for check in checks)
    return Output(checks, [_describe_check(each) for each in checks], status=1 if failed else 0)


def _describe_check(check: Check) -> str:
    parts = (
        ("reachable", check.reachable),
        ("no key sent", check.key_sent is False),
        ("key accepted", check.key_accepted),
        ("model known", check.model_known),
    )
    runs = "by a program" if provider_of(check.address) in BY_PROGRAM else _INSIDE
    status = ", ".join(name for name, true in parts if true) or f"runs {runs}"
    if check.problem:
        status = with_flags(check.problem)
    return f"{'fail' if check.problem else 'ok  '}  {check.address}  {status}"


@models.command()
@click.argument("model", default="smollm2")
@group("Options", option("--sha256 DIGITS", "What an address must give.", default=""))
def pull(model: str, sha256: str) -> None:
    """Fetch a model that runs in this process, once, and check it.

    MODEL is a name of `autoreason models`, the address of a .gguf file with its --sha256, or
    hf:owner/repo/file.gguf for a public file of the Hugging Face hub, which names the SHA-256 itself.
    A pull that was interrupted goes on where it ended.
    """

    from autoreason.models.local import model_file

    pull_weights(model_file(model, sha256))


def _list() -> Output:
    from autoreason.cli.config import read_config
    from autoreason.cli.console import stdout_console
    from autoreason.models.local import local_models
    from autoreason.models.programs import PROGRAMS
    from autoreason.models.providers import PROVIDERS, key_file
    from autoreason.report.table import Column, Table, words, wrap

    default = read_config().model or DEFAULT_MODEL
    weights, inside = weights_state(), list(local_models())
    remote = PROVIDERS.values()
    rows = [
        {"provider": "echo", **_ECHO},
        *({"provider": each.name, **_key(each), "server": each.base()} for each in remote),
        *({"provider": name, **_LOGIN, "server": each.command} for name, each in PROGRAMS.items()),
    ]
    value = {
        "default": default,
        "local": {"ready": weights.ready, "state": weights.status},
        "local_models": [row._asdict() for row in inside],
        "providers": rows,
        "key_file": str(key_file()),
        "config_file": str(config_file()),
    }
    local = {"provider": "local", "key": "", "message": weights.status, "server": _INSIDE}
    tones: dict[str, Tone] = {"set": "good", "unusable": "warning"}
    table = Table(
        [*words("provider", "key"), Column("server", figures=False, least=_LEAST_SERVER)],
        [(row["provider"], row["message"], row["server"]) for row in (local, *rows)],
        tones={row["message"]: tones[row["key"]] for row in rows if row["key"] in tones},
    )
    note = (
        f"The default is {default}, whatever keys are set; choose with -m provider/model. Keys may also "
        f"be in {key_file()}, and your own default model and limits in {config_file()}."
    )
    lines = ["", *wrap(note, stdout_console().width), "", f"Models that run {_INSIDE}:"]
    for row in inside:
        fix = "" if row.here else f"not here: autoreason models pull {row.name}"
        fix = f"no engine: {weights.fix}" if weights.status == "no engine" else fix
        memory = f"{row.memory} of memory" if row.memory else ""
        about = (row.title, f"{row.bytes // 1_000_000:,} MB", memory, row.licence)
        lines.append(f"local/{row.name}  {fix or 'here'}")
        lines.append(f"  {', '.join(filter(None, about))}")
        lines += [f"  good for {row.good_for}"] if row.good_for else []
    return Output(value, [table, *lines])


def _key(provider: Provider) -> dict[str, str]:
    """Whether there is a key, never which."""

    from autoreason.models.providers import find_key

    names = " or ".join(provider.key_variables)
    try:
        found = find_key(provider.name, provider.key_variables, needed=False)
    except InvalidInput as problem:
        return {"key": "unusable", "message": str(problem)}
    if found:
        return {"key": "set", "message": f"{names} set"}
    if provider.needs_key:
        return {"key": "missing", "message": f"{names} not set"}
    return {"key": "not needed", "message": "none needed"}


def _certificates(model: str | None) -> Output:
    from autoreason.report.table import Column, Table, words
    from autoreason.studies.certificate import all_certificates

    wanted = [one for one in all_certificates() if model in (None, one.certificate.model)]
    value = [stored.to_dict() for stored in wanted]
    if not wanted:
        if model:
            raise InvalidInput(f"no certificate; make one with `autoreason certify {model}`")
        return Output(value, notes=["no certificates; make one with `autoreason certify MODEL`"])
    rows = []
    for stored in wanted:
        one = stored.certificate
        judge = f"{one.model} at {one.base_url}" if one.base_url else one.model
        failed = ", ".join(one.failed) or UNKNOWN
        rows.append((judge, one.verdict, when(stored.date), stored.run, failed))
    spare = (Column("when", figures=False, spare=1), Column("run", figures=False, spare=2))
    columns = [*words("judge", "verdict"), *spare, *words("failed")]
    return Output(value, [Table(columns, rows, tones={"failed": "bad"})])


# ---- prompts -----------------------------------------------------------------------------------


@click.command(cls=Command, paged=True, shares="as_json")
@click.argument("name", required=False)
@group(
    "Which prompts",
    option("--programs", "The prompts for programs, which `solve` uses."),
    option("--research", "The prompts for artifacts, which `research` uses."),
    option("--small", "The prompts in few words, which small models get."),
)
@group(
    "Output",
    option("--export DIR", "Write the prompts there, to be changed.", name="folder"),
    option("--force", "With --export: overwrite prompts that are there."),
)
def prompts(
    name: str | None, folder: Path | None, force: bool, programs: bool, research: bool, small: bool
) -> Output:
    """Show the prompts and their variables, or export them.

    Without NAME all prompts are listed with the variables each takes; those it must show have a
    star. With NAME that prompt is shown as it stands, and what each of its variables contains.

    Each role has one Markdown file, a Jinja template. Files in a folder of your own, given with
    --prompts, take the place of ours by name; keep only those you change.

    \b
      autoreason prompts
      autoreason prompts judge --small
      autoreason prompts --export mine
      autoreason run brief.md --prompts mine
    """
    from autoreason.prompts import SMALL, load
    from autoreason.report.table import Table, words

    if programs and research:
        raise InvalidInput("--programs and --research are two sets of prompts; name one of them")
    writes = "programs" if programs else "files" if research else None
    chosen = load(SMALL if small else None, writes=writes)
    if folder is not None:
        if name:
            raise InvalidInput("--export writes all prompts; leave the name out")
        chosen.write(folder, force=force)
        written = numbers.count(len(chosen.sources), "prompt")
        return Output({"written": list(chosen.sources)}, notes=[f"{written} written to {folder}"])
    if name is None:
        found = {name: _variables(source) for name, source in chosen.sources.items()}
        named = {
            name: ", ".join(f"{each['name']}{'*' * each['required']}" for each in variables)
            for name, variables in found.items()
        }
        rows = [(name, variables or "-") for name, variables in named.items()]
        return Output(found, [Table(words("prompt", "variables"), rows, headings=False)])
    source = chosen.only([name]).sources[name]
    variables = _variables(source)
    width = max((len(each["name"]) for each in variables), default=0)
    lines = [
        f"{each['name']:{width}}  {each['meaning']}{' (required)' if each['required'] else ''}"
        for each in variables
    ]
    shown = source.partition("-#}\n")[2].removesuffix("\n")
    value = {"name": name, "variables": variables, "source": source}
    return Output(value, [*lines, *([""] if lines else []), shown])


def _variables(source: str) -> list[dict[str, Any]]:
    from autoreason.prompts import takes
    from autoreason.prompts.overrides import VARIABLES

    taken = takes(source)
    required = {name.partition(".")[0] for name in taken.required}
    return [
        {"name": name, "required": name in required, "meaning": VARIABLES[name].meaning}
        for name in sorted(taken.all, key=lambda name: (name not in required, name))
    ]


# ---- doctor ------------------------------------------------------------------------------------


class Finding(NamedTuple):
    level: Literal["ok", "warn", "fail"]
    message: str
    fix: str = ""


@click.command(cls=Command, shares="as_json journal")
def doctor(journal: str | None) -> Output:
    """Check this machine and say how to fix it.

    Nothing is called and nothing is written; `autoreason runs check` reads every record. Exit status 1
    where something must be fixed first.
    """
    import platform

    from autoreason.programs.sandbox.levels import find_level

    weights = weights_state()
    checks: dict[str, Callable[[], Finding]] = {
        "python": lambda: Finding("ok", f"{platform.python_version()} at {sys.executable}"),
        "sandbox": lambda: sandbox_finding(find_level()),
        "jail": lambda: jail_finding(_jail_problem()),
        "journal": lambda: _journal(journal),
        "keys": _keys,
        "defaults": _defaults,
        "local model": lambda: Finding("ok" if weights.ready else "warn", *weights[1:]),
    }
    findings: dict[str, Finding] = {}
    for about, check in checks.items():
        try:
            findings[about] = check()
        except AutoreasonError as problem:
            findings[about] = Finding("fail", with_flags(str(problem)))
    value = [{"about": about, **found._asdict()} for about, found in findings.items()]
    failed = any(found.level == "fail" for found in findings.values())
    return Output(value, list(_finding_lines(findings)), status=1 if failed else 0)


def _finding_lines(findings: dict[str, Finding]) -> Iterator[Any]:
    from rich.text import Text

    from autoreason.cli.console import stdout_console
    from autoreason.report.table import wrap

    console = stdout_console()
    for about, (level, *said) in findings.items():
        head = Text.assemble((f"{level:<5}", _STYLES[level]), (f"{about:<13}", "bold"))
        sentence = "; ".join(filter(None, said))
        # A file has no columns to keep to.
        room = max(_LEAST_ROOM, console.width - len(head))
        for line in wrap(sentence, room) if console.is_terminal else [sentence]:
            yield head + Text(line)
            head = Text(" " * len(head))


def sandbox_finding(found: DetectedLevel) -> Finding:
    whose = "each test" if found.namespaces else "each core"
    inside = f"namespaces for {whose}, {_SANDBOXES['landlock']}"
    message = f"{found.level}: {_SANDBOXES.get(found.level, inside)}"
    if found.reasons:
        message += f"; no better because {' and '.join(found.reasons)}"
    fix = "use Linux; on Windows, WSL" if found.level == "none" else ""
    well = found.level in ("bubblewrap", "landlock")
    return Finding("ok" if well else "warn", message, fix)


def _jail_problem() -> str:
    if sys.platform != "linux":
        return f"a jail needs Linux, and this is {sys.platform}"
    from autoreason.artifacts.command_jail import jail_problem

    return jail_problem()


def jail_finding(problem: str) -> Finding:
    if not problem:
        return Finding("ok", "commands that evaluate for `research` run in bubblewrap")
    message = f"commands do not evaluate for `research` here without --unsafe: {problem}"
    return Finding("warn", message, "a function (`evaluate: file.py:function`) does")


def _journal(url: str | None) -> Finding:
    from autoreason.journal import Journal, sqlite
    from autoreason.journal.journal import open_store

    with Journal.open(url, create=False) as book:
        place, runs = book.place, book.count()
    store = open_store(place)
    there = store.exists()
    if not isinstance(place, Path):
        if there:
            store.open_writer().close()
    else:
        held = place if there else next(up for up in place.parents if up.exists())
        if not (sqlite.is_writable(place) if there else os.access(held, os.W_OK)):
            message = f"{held} is read-only: runs in it can be read, and none started"
            return Finding("fail", message, "allow writing there, or name another with --journal")
    if not there:
        return Finding("ok", f"{place}, created by the first run")
    return Finding(
        "ok", f"{place}, {numbers.count(runs, 'run')}, {numbers.megabytes(store.size())}"
    )


def _keys() -> Finding:
    from autoreason.models.providers import PROVIDERS, find_key

    found = [
        each.name
        for each in PROVIDERS.values()
        if find_key(each.name, each.key_variables, needed=False)
    ]
    if found:
        return Finding("ok", f"for {', '.join(found)}")
    return Finding("warn", "none", "set one to use a hosted model, see `autoreason models`")


def _defaults() -> Finding:
    from autoreason.cli.config import KEYS, read_config

    read_config()
    path = config_file()
    return Finding("ok", str(path) if path.exists() else f"none in {path}; {KEYS}")
