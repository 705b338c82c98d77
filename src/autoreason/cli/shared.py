"""Options that are the same everywhere: declared once, and understood before or behind a command's name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from autoreason.errors import InvalidInput

FILE = click.Path(path_type=Path)
FILE.name = "file"


def _check_page(_ctx: click.Context, _param: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a file that cannot be written before anything is spent."""
    if path is not None:
        from autoreason.files import check_output

        check_output(path, "--html")
    return path


SHARED = (
    click.Option(["--json", "as_json"], is_flag=True, help="Print JSON for programs."),
    click.Option(
        ["--html"],
        type=FILE,
        metavar="FILE",
        callback=_check_page,
        help="Also write the report there, as a page for a browser.",
    ),
    click.Option(
        ["--progress"],
        type=click.Choice(["live", "lines", "none"]),
        metavar="live|lines|none",
        help="A live view, a line per step, or nothing, which -q is too. [default: live on a terminal]",
    ),
    click.Option(
        ["--journal"],
        metavar="URL",
        help="The journal: a file, or postgresql://user@host/database. "
        "[default: AUTOREASON_JOURNAL or your data folder]",
    ),
)
_BY_FLAG = {each.opts[0]: each for each in SHARED}


def shared_options(command: Any) -> Any:
    """Declare them on the root of all commands."""
    command.__click_params__ = [*reversed(SHARED), *getattr(command, "__click_params__", [])]
    return command


def gather_shared(ctx: click.Context, arguments: list[str]) -> list[str]:
    """The arguments with these options first, wherever they were given."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    first, rest = [], []
    words = iter(arguments[:end])
    for given in words:
        word = "--progress=none" if given == "-q" else given
        option = _BY_FLAG.get(word.partition("=")[0])
        if option is None:
            rest.append(word)
            continue
        first.append(word)
        if "=" not in word and not option.is_flag:
            value = next(words, None)
            if value is None:
                ctx.fail(f"Option {word!r} requires an argument.")
            first.append(value)
    return [*first, *rest, *arguments[end:]]


def pass_shared(ctx: click.Context, understood: tuple[str, ...]) -> None:
    """Give a command those that it understands; refuse the others where they were given."""
    root = ctx.find_root()
    for option in SHARED:
        assert option.name is not None
        if option.name in understood:
            ctx.params[option.name] = root.params.get(option.name)
        elif root.get_parameter_source(option.name) is ParameterSource.COMMANDLINE:
            raise InvalidInput(
                f"{option.opts[0]} means nothing to `{ctx.command_path}`; leave it out"
            )


def describe_shared(understood: tuple[str, ...]) -> str:
    """`Also: --json, --html FILE`, as the help of a command ends."""
    names = [
        f"{each.opts[0]} {each.metavar}" if each.metavar else each.opts[0]
        for each in SHARED
        if each.name in understood
    ]
    return f"Also: {', '.join(names)}" if names else ""
