"""How commands explain themselves: options by heading, in brief or all of them, and errors that name them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli.shared import SHARED, describe_shared, pass_shared
from autoreason.errors import AutoreasonError, InvalidInput
from autoreason.paths import config_file
from autoreason.settings import LIMITS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_SETTING = re.compile(r"`([a-z0-9_.]+)`")
_ADDRESSES = (
    *("model", "author_model", "critic_model", "synthesizer_model", "judge_models", "addresses"),
)


class GroupedOption(click.Option):
    """An option that knows under which heading help shows it."""

    def __init__(
        self,
        *args: Any,
        heading: str = "Options",
        usual: str = "",
        brief: str = "",
        rare: bool = False,
        **attrs: Any,
    ) -> None:
        super().__init__(*args, **attrs)
        self.heading = heading
        self.usual = usual
        """The default as help shows it, unless the command changes a recorded run."""
        self.brief = brief
        """What `--help` says where that is less than `--help-all` does."""
        self.rare = rare
        """Whether only `--help-all` shows it."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """What help shows."""
        record = super().get_help_record(ctx)
        if record is None:
            return None
        in_brief = self.brief and not ctx.meta.get(_ALL)
        usual = "" if isinstance(ctx.command, InheritingCommand) else self.usual
        return record[0], " ".join(
            filter(
                None,
                (
                    self.brief if in_brief else record[1],
                    "Repeatable." if self.multiple and not in_brief else "",
                    f"[default: {usual}]" if usual else "",
                ),
            )
        )


@contextmanager
def _flags_in_errors(command: click.Command) -> Iterator[None]:
    """What the library calls by the name of a parameter, errors of a command call by its flag."""
    try:
        yield
    except AutoreasonError as error:
        besides = error.file_keys if isinstance(error, InvalidInput) else ()
        error.args = (with_flags(command, str(error), besides),)
        raise


def with_flags(command: click.Command, sentence: str, besides: Sequence[str] = ()) -> str:
    """A sentence of the library with the flags of a command in place of parameters, `besides` some."""
    from autoreason.task import FRONT_MATTER

    context = click.get_current_context(silent=True)
    # Keys of a brief or a task may stand in its front matter, where they are named as here.
    given = context and context.params.get("evaluate")
    keys = FRONT_MATTER if given else (*FRONT_MATTER, "evaluate")
    longest = {
        param.name: max(param.opts, key=len)
        for param in (*command.params, *SHARED)
        if isinstance(param, click.Option) and param.name not in keys
    }
    # An option may have a name of its own in the code.
    flags = {flag.lstrip("-").replace("-", "_"): flag for flag in longest.values()} | longest

    def flag(name: re.Match[str]) -> str:
        if name[1] in besides:
            return name[0]
        _, budget, limit = name[1].rpartition("budget.")
        return flags.get(LIMITS.get(limit, limit) if budget else limit, name[0])

    return _SETTING.sub(flag, sentence)


def with_own_flags(sentence: str) -> str:
    """The same for the command that runs now."""
    context = click.get_current_context(silent=True)
    return with_flags(context.command, sentence) if context else sentence


_ALL = "autoreason.all_options"


def _show_all(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


class HelpfulCommand(click.Command):
    """A command whose help shows its options by heading, and whose errors name them."""

    def __init__(
        self, *args: Any, shares: str = "", examples: str = "", details: str = "", **attrs: Any
    ) -> None:
        super().__init__(*args, **attrs)
        self.shares = tuple(shares.split())
        """Options of all commands that mean something here."""
        self.examples = examples
        self.details = details
        """What only `--help-all` says."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options; those not given come from the user's `config.toml`."""
        named = {param.name for param in self.params if isinstance(param, click.Option)}
        wanted = (
            not isinstance(self, InheritingCommand)
            and "model" in named
            and not ctx.resilient_parsing
        )
        # Without such a file, help is shown without loading what would read it.
        if wanted and config_file().exists():
            from autoreason.cli.config import read_config

            found = read_config().defaults()
            ctx.default_map = {name: found[name] for name in found.keys() & named}
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; an error in a setting names the option it came from."""
        with _flags_in_errors(self):
            pass_shared(ctx, self.shares)
            _check_server(ctx.params)
            return super().invoke(ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Its own options, and those of all commands."""
        from click.shell_completion import CompletionItem

        shared = [
            CompletionItem(each.opts[0], help=each.help)
            for each in SHARED
            if each.name in self.shares and each.opts[0].startswith(incomplete or " ")
        ]
        return [*super().shell_complete(ctx, incomplete), *shared]

    @property
    def _rare(self) -> list[click.Parameter]:
        return [each for each in self.params if getattr(each, "rare", False)]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """With `--help-all`, as `--help` is, where that says more."""
        found = super().get_params(ctx)
        if not (self._rare or self.details):
            return found
        *others, last = found
        everything = click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_all,
            help="Show every option and setting.",
            hidden=True,
        )
        return [*others, everything, last]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options by heading, the rare ones and every setting with `--help-all`."""
        whole = bool(ctx.meta.get(_ALL))
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            hidden = not isinstance(param, click.Option) or "--help" in param.opts
            hidden |= getattr(param, "rare", False) and not whole
            if not hidden and (record := param.get_help_record(ctx)):
                sections.setdefault(getattr(param, "heading", "Options"), []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)
        if whole and self.takes_settings:
            with formatter.section("Settings, for --set NAME=VALUE"):
                formatter.write_dl(list(_settings(self)))
        notes = [describe_shared(self.shares)]
        if not whole and (self._rare or self.details):
            others = f"{len(self._rare)} more options" if self._rare else "more"
            others += ", and every setting for --set NAME=VALUE" if self.takes_settings else ""
            notes.append(f"All: --help-all ({others})")
        if any(notes):
            formatter.write_paragraph()
            for note in filter(None, notes):
                formatter.write_text(note)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Examples; with `--help-all` the rest, too."""
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples.strip().splitlines():
                    formatter.write(f"  {line}\n")
        if ctx.meta.get(_ALL) and self.details:
            formatter.write_paragraph()
            formatter.write(f"{self.details.strip()}\n")
        super().format_epilog(ctx, formatter)

    @property
    def takes_settings(self) -> bool:
        """Whether it has `--set`."""
        return any(each.name == "changes" for each in self.params)


def _settings(command: click.Command) -> Iterator[tuple[str, str]]:
    """Every setting that has no option of its own: its value, what it means, its default."""
    from autoreason.cli.settings import settings_of

    named = {each.name for each in command.params}
    for name, (doc, default) in settings_of(command.name or "").items():
        if name not in named:
            shown = f" [default: {default}]" if default else ""
            yield f"{name} {doc.metavar}".strip(), doc.sentence.replace("`", "") + shown


class HelpfulGroup(click.Group):
    """A group whose commands are in the order declared; `default` is the one that needs no name."""

    def __init__(self, *args: Any, default: str = "", **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        self.default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """With the default command where none is named."""
        named = args[:1] and (args[0] in self.commands or args[0] in ctx.help_option_names)
        if self.default and not named and not (args and ctx.resilient_parsing):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """As declared."""
        return list(self.commands)


class InheritingCommand(HelpfulCommand):
    """A command whose options change what an older run had, so that our defaults do not count."""


def _check_server(values: dict[str, Any]) -> None:
    """Refuse a server without a name where models of several providers are given, in whatever options."""
    if not isinstance(values.get("base_url"), str):
        return
    from autoreason.settings import providers_of, servers

    named = [values.get(name) for name in _ADDRESSES]
    flat = [each for one in named for each in (one if isinstance(one, tuple) else (one,)) if each]
    if len(providers_of(flat)) > 1:
        servers(values["base_url"], flat)
