"""Commands: what all of them share, how they explain themselves, and what becomes of what they find."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from autoreason.errors import AutoreasonError, InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

    from autoreason.journal import Journal

RECORDED = "as_json html progress journal"
"""What every command that records a run shares with all others."""
REPORT = "as_json html"
"""What every command that prints a report does."""
SUMMARY = f"{REPORT} evidence"
"""What every command does that prints the summary of one and records no run, whose `show` has the rest."""
EXIT_STATUSES = """
Exit status:
  0    done: a text is delivered, a problem solved, a gain shown;
       or questions to a model host/NAME wait for their answers
  1    not solved; of research, no gain to claim
  2    something given cannot be used; nothing was written
  3    a limit is reached; the best text so far is on standard output
  4    the provider failed, or the metric or evaluator
  5    judges failed: too few rankings could be read, round after round
  6    the text breaks a limit (with --fail-on-contract); of research,
       the start has no number or breaks a guard
  7    the journal could not be written, such as on a full disk
  130  stopped
After 3, 4, 5, 7 and 130 `autoreason resume` goes on; nothing is paid for twice.
"""
_SETTING = re.compile(r"`([a-z0-9_.]+)`")
_OF_RUNS = re.compile(
    r"autoreason (?:audit|export|fork|host next|resume|runs(?! \w)|show|tell|view)\b"
)
_HELP_ALL = "autoreason.help_all"
"""What a context of click has where `--help-all` is given."""


# ---- options that are the same everywhere ------------------------------------------------------


def _check_page(_ctx: click.Context, _param: click.Parameter, given: str | None) -> Path | None:
    """Refuse a file that cannot be written before anything is spent."""
    if given is None:
        return None
    from pathlib import Path

    from autoreason.files import check_output

    check_output(Path(given), "--html")
    return Path(given)


SHARED = {
    "as_json": click.Option(["--json", "as_json"], is_flag=True, help="Print JSON for programs."),
    "html": click.Option(
        ["--html"],
        metavar="FILE",
        callback=_check_page,
        help="Also write the report there, as a page for a browser.",
    ),
    "evidence": click.Option(
        ["--evidence"],
        is_flag=True,
        help="All of it, in the words of the paper: votes, intervals, tests, what was left out.",
    ),
    "progress": click.Option(
        ["--progress"],
        type=click.Choice(["live", "lines", "none"]),
        metavar="live|lines|none",
        help="A live view, a line per step, or nothing, which -q is too. [default: live on a terminal]",
    ),
    "journal": click.Option(
        ["--journal"],
        metavar="URL",
        help="The journal: a file, or postgresql://user@host/database. "
        "[default: AUTOREASON_JOURNAL or your data folder]",
    ),
}
"""Declared once, for every command that says it understands them."""
_SHOWN = ("as_json", "html", "evidence")
"""How results are shown, which is not the business of the function that finds them."""


def shared(name: str) -> Any:
    """What was given for one of them to the command that runs now."""
    context = click.get_current_context()
    return context.params.get(name, context.meta.get(name))


def open_journal(url: str | None) -> Journal:
    """The journal as it is; an absent one is empty."""
    from autoreason.journal import Journal

    return Journal.open(url, create=False)


# ---- what becomes of what a command finds ------------------------------------------------------


class Output(NamedTuple):
    """What a command found that is not a report: a value for programs, lines for people."""

    value: Any
    lines: Sequence[Any] = ()
    """Sentences and tables for standard output."""
    notes: Sequence[str] = ()
    """Sentences for standard error."""
    status: int = 0


def print_message(*sentences: str) -> None:
    """Each sentence on standard error, on a terminal in lines of whole words."""
    from autoreason.characters import without_controls

    for sentence in sentences:
        text = without_controls(in_journal(sentence))
        if sys.stderr.isatty():
            import shutil

            from autoreason.report.table import wrap

            width = shutil.get_terminal_size().columns
            text = "\n".join("\n".join(wrap(line, width)) for line in text.split("\n"))
        print(text, file=sys.stderr, flush=True)


# ---- help --------------------------------------------------------------------------------------


def with_flags(sentence: str, besides: Sequence[str] = ()) -> str:
    """A sentence of the library with the flags of the command in place of parameters, `besides` some."""
    from autoreason.settings import LIMITS
    from autoreason.task import FRONT_MATTER

    context = click.get_current_context()
    # Keys of a brief or a task may stand in its front matter, where they are named as here.
    keys = FRONT_MATTER if context.params.get("evaluate") else (*FRONT_MATTER, "evaluate")
    longest = {
        param.name: max(param.opts, key=len)
        for param in context.command.params
        if isinstance(param, click.Option) and param.name not in keys
    }
    # An option may have a name of its own in the code.
    flags = {flag.lstrip("-").replace("-", "_"): flag for flag in longest.values()} | longest

    if (typed := re.match(r"unknown setting `(\w+)`", sentence)) and typed[1] in flags:
        return f"{typed[1]} is an option of its own, not a setting; give {flags[typed[1]]}"

    def flag(name: re.Match[str]) -> str:
        if name[1] in besides:
            return name[0]
        _, budget, limit = name[1].rpartition("budget.")
        return flags.get(LIMITS.get(limit, limit) if budget else limit, name[0])

    return _SETTING.sub(flag, sentence)


def in_journal(sentence: str) -> str:
    """A sentence whose commands look where this one does, if --journal says where."""
    context = click.get_current_context(silent=True)
    if not context or not (url := shared("journal")):
        return sentence
    from shlex import quote

    from autoreason.files import hide_password

    return _OF_RUNS.sub(lambda found: f"{found[0]} --journal {quote(hide_password(url))}", sentence)


def _show_all(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[_HELP_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


class Command(click.Command):
    """A command whose help shows its options by heading, and whose errors name them."""

    def __init__(
        self,
        *args: Any,
        shares: str = "",
        examples: str = "",
        details: str = "",
        paged: bool = False,
        inherits: bool = False,
        **attrs: Any,
    ) -> None:
        super().__init__(*args, **attrs)
        names = shares.replace("book", "journal").split()
        self.shared = [option for name, option in SHARED.items() if name in names]
        """Options of all commands that mean something here."""
        self.opens_journal = "book" in shares
        """Whether its function is given the journal, opened."""
        self.examples = examples
        self.details = details
        """What only `--help-all` says."""
        self.paged = paged
        """Whether what it prints may be longer than a screen."""
        self.inherits = inherits
        """Whether its options change what an older run had, so that our defaults do not count."""
        self.rare = sum(getattr(each, "rare", False) for each in self.params)
        self.params += self.shared
        if self.rare or details:
            flags: dict[str, Any] = {
                "is_flag": True,
                "is_eager": True,
                "expose_value": False,
                "hidden": True,
            }
            self.params.append(click.Option(["--help-all"], callback=_show_all, **flags))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options; those not given come from the user's `config.toml`."""
        named = {param.name for param in self.params if isinstance(param, click.Option)}
        if not self.inherits and "model" in named and not ctx.resilient_parsing:
            from autoreason.cli.config import read_config

            found = read_config().defaults()
            ctx.default_map = {name: found[name] for name in found.keys() & named}
        if SHARED["progress"] in self.shared:
            end = args.index("--") if "--" in args else len(args)
            quiet = ["--progress=none" if each == "-q" else each for each in args[:end]]
            args = [*quiet, *args[end:]]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> int:
        """Run it and have what it found shown; an error in a setting names the option it came from."""
        try:
            ctx.meta.update((name, ctx.params.pop(name, None)) for name in _SHOWN)
            if (page := shared("html")) and page == ctx.params.get("output"):
                raise InvalidInput(f"--html and -o both name {page}; give each a file of its own")
            if self.opens_journal:
                ctx.meta["journal"] = ctx.params.pop("journal")
                ctx.params["book"] = ctx.with_resource(open_journal(ctx.meta["journal"]))
            _check_server(ctx.params)
            with paging() if self.paged and not shared("as_json") else nullcontext():
                return int(ctx.find_root().obj(super().invoke(ctx), ctx.params))
        except AutoreasonError as error:
            besides = error.file_keys if isinstance(error, InvalidInput) else ()
            error.args = (in_journal(with_flags(str(error), besides)),)
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        whole = bool(ctx.meta.get(_HELP_ALL))
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.params:
            shown = whole or not (param in self.shared or getattr(param, "rare", False))
            shown = shown and isinstance(param, click.Option)
            if shown and (record := param.get_help_record(ctx)):
                other = "As in other commands" if param in self.shared else "Options"
                sections.setdefault(getattr(param, "heading", other), []).append(record)
        takes_settings = any(each.name == "changes" for each in self.params)
        if whole and takes_settings:
            sections["Settings, for --set NAME=VALUE"] = list(self._settings())
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)
        if whole:
            return
        names = [f"{each.opts[0]} {each.metavar or ''}".strip() for each in self.shared]
        notes = [f"Also: {', '.join(names)}"] if names else []
        if self.rare or self.details:
            others = f"{self.rare} other options" if self.rare else "more"
            settings = ", and every setting of the method" if takes_settings else ""
            notes.append(f"--help-all: {others}{settings}")
        if notes:
            formatter.write_paragraph()
            for note in notes:
                formatter.write_text(note)

    def _settings(self) -> Iterator[tuple[str, str]]:
        from autoreason.cli.arguments import settings_of

        named = {each.name for each in self.params}
        for name, (doc, default) in settings_of(self.name or "").items():
            if name not in named:
                shown = f" [default: {default}]" if default else ""
                yield f"{name} {doc.metavar}".strip(), doc.sentence.replace("`", "") + shown

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples.strip().splitlines():
                    formatter.write(f"  {line}\n")
        if ctx.meta.get(_HELP_ALL) and self.details:
            formatter.write_paragraph()
            formatter.write(f"{self.details.strip()}\n")
        super().format_epilog(ctx, formatter)


class Group(click.Group):
    """A group whose commands are in the order declared; `default` is the one that needs no name."""

    command_class = Command

    def __init__(self, *args: Any, default: str = "", **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        self.default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = args[:1] and (args[0] in self.commands or args[0] in ctx.help_option_names)
        if self.default and not named and not (args and ctx.resilient_parsing):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)


def _check_server(values: dict[str, Any]) -> None:
    """Refuse a server without a name where models of several providers are given, in whatever options."""
    if not isinstance(values.get("base_url"), str):
        return
    from autoreason.settings import providers_of, servers

    names = ("model", "author_model", "critic_model", "synthesizer_model", "judge_models")
    named = [values.get(name) for name in (*names, "addresses")]
    flat = [each for one in named for each in (one if isinstance(one, tuple) else (one,)) if each]
    if len(providers_of(flat)) > 1:
        servers(values["base_url"], flat)


# ---- pages -------------------------------------------------------------------------------------


@contextmanager
def paging() -> Iterator[None]:
    """Show what is printed through a pager, if it is longer than the terminal."""
    import io
    import os
    import shutil

    class TerminalBuffer(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = sys.stdout
    if not terminal.isatty() or os.environ.get("TERM") == "dumb" or os.environ.get("NO_PAGER"):
        yield
        return
    sys.stdout = printed = TerminalBuffer()
    try:
        yield
    finally:
        sys.stdout = terminal
        text = printed.getvalue()
        if text.count("\n") < shutil.get_terminal_size((80, 24)).lines:
            terminal.write(text)
            terminal.flush()
        else:
            click.echo_via_pager(text, color=True)
