"""How commands explain themselves: options by heading, documented by their fields, and errors that name them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from autoreason.cli.fields import LIMITS
from autoreason.errors import AutoreasonError, InvalidInput
from autoreason.field_docs import Field
from autoreason.paths import config_file

_SETTING = re.compile(r"`([a-z0-9_.]+)`")
_ADDRESSES = (
    *("model", "author_model", "critic_model", "synthesizer_model", "judge_models"),
    *("reviser_models", "addresses"),
)


class GroupedOption(click.Option):
    """An option that knows under which heading help shows it."""

    def __init__(self, *args: Any, heading: str = "Options", **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        self.heading = heading


class FieldOption(GroupedOption):
    """An option for a field, which says in help what the field says of itself."""

    def __init__(
        self,
        *args: Any,
        field: Field,
        hint: str = "",
        usual: Callable[[], str] | None = None,
        **attrs: Any,
    ) -> None:
        super().__init__(*args, **attrs)
        self.field = field
        self.hint = hint
        own = attrs.get("default")
        self.usual = usual or (field.default_text if own is None else lambda: str(own))
        self.own_help, self.own_metavar = self.help, self.metavar

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """What help shows; the field is read only now, so that a run does not pay for it."""
        doc = self.field.read_doc()
        default = "" if isinstance(ctx.command, InheritingCommand) else self.usual()
        sentences = (
            self.own_help or doc.description,
            self.hint,
            "Repeatable." if self.multiple else "",
            f"[default: {default}]" if default else "",
        )
        self.help = " ".join(filter(None, sentences))
        self.metavar = self.own_metavar or self.field.read_metavar()
        return super().get_help_record(ctx)


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
        for param in command.params
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


class HelpfulCommand(click.Command):
    """A command whose help shows its options by heading, and whose errors name them."""

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
            _check_server(ctx.params)
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options by heading."""
        format_options(self, ctx, formatter)


class HelpfulGroup(click.Group):
    """A group whose help shows its options by heading, then its commands in the order declared."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; an error in a setting names the option it came from."""
        with _flags_in_errors(self):
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options by heading, then the commands."""
        format_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """As declared."""
        return list(self.commands)


class InheritingCommand(HelpfulCommand):
    """A command whose options change what an older run had, so that our defaults do not count."""


def format_options(
    command: click.Command, ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """Headings in the order in which the options were declared."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
        if record:
            sections.setdefault(getattr(param, "heading", "Options"), []).append(record)
    for heading, records in sections.items():
        with formatter.section(heading):
            formatter.write_dl(records)


def _check_server(values: dict[str, Any]) -> None:
    """Refuse a server without a name where models of several providers are given, in whatever options."""
    if not isinstance(values.get("base_url"), str):
        return
    from autoreason.settings import providers_of, servers

    named = [values.get(name) for name in _ADDRESSES]
    flat = [each for one in named for each in (one if isinstance(one, tuple) else (one,)) if each]
    if len(providers_of(flat)) > 1:
        servers(values["base_url"], flat)
