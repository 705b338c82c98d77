"""The way in and the one place where errors become sentences and exit statuses."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO

import click

from autoreason.cli.command import print_message
from autoreason.cli.group import cli
from autoreason.errors import (
    AutoreasonError,
    InvalidInput,
    JournalError,
    UnusableStart,
    WritingFailed,
)

UNUSABLE_START = 6
NOT_WRITTEN = 7
INTERRUPTED = 130
BROKEN_PIPE = 141


def main() -> None:
    # A start keeps nearly all it creates: at Python's 700 objects, garbage is looked for ninety times in vain.
    gc.set_threshold(100_000)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        # A stream that the caller has closed is None: nothing is read from it or printed there.
        if getattr(sys, name) is None:
            # Not to be closed, like the streams that Python opens itself.
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nowhere, mode, encoding="utf-8", closefd=False))
    # What was typed is UTF-8 also where the locale says that all text is ASCII.
    typed = [os.fsencode(each).decode("utf-8", "surrogateescape") for each in sys.argv[1:]]
    status = run_cli(typed)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _abandon(stream)
    # All is closed; on its way out Python would look through every object for garbage, several times.
    gc.freeze()
    sys.exit(status)


def run_cli(arguments: list[str]) -> int:
    """The exit status of one command."""
    if isinstance(sys.stdout, TextIOWrapper):
        # A pipe carries the text as it is, whatever the locale; a terminal shows what it can.
        encoding = sys.stdout.encoding if sys.stdout.isatty() else "utf-8"
        sys.stdout.reconfigure(encoding=encoding, errors="replace")
    try:
        _start_log()
        _refuse_empty(arguments)
        status = cli.main(arguments, prog_name="autoreason", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as mistake:
        with suppress(OSError):
            mistake.show()
        return mistake.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _print_error("interrupted", INTERRUPTED)
    except WritingFailed as error:
        return _print_error(str(error), NOT_WRITTEN)
    except (InvalidInput, JournalError) as error:
        status = UNUSABLE_START if isinstance(error, UnusableStart) else 2
        return _print_error(str(error), status)
    except AutoreasonError as error:
        return _print_error(str(error), 1)
    except BrokenPipeError:
        _abandon(sys.stdout)
        return BROKEN_PIPE
    except OSError as error:
        if error.filename:
            return _print_error(f"cannot use {error.filename}: {error.strerror}; name another", 2)
        return _print_error(f"cannot write to standard output: {error.strerror or error}", 1)
    return status if isinstance(status, int) else 0


def _start_log() -> None:
    level = os.environ.get("AUTOREASON_LOG", "")
    if not level:
        return
    if level.lower() not in ("debug", "info"):
        raise InvalidInput(f"AUTOREASON_LOG is `{level}`; set it to debug or info, or unset it")
    import logging

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.getLogger("autoreason")
    log.setLevel(level.upper())
    log.addHandler(handler)


def _refuse_empty(arguments: list[str]) -> None:
    """An empty name is a variable that was not set, never a wish for the default."""
    for before, given in zip(["autoreason", *arguments], arguments, strict=False):
        option, equals, value = given.partition("=")
        inside = equals and option.startswith("--")
        if not (value if inside else given).strip():
            raise InvalidInput(
                f"what is given after {option if inside else before} is empty; give a value or leave it out "
                "(perhaps a variable of your shell is not set)"
            )


def _abandon(stream: TextIO) -> None:
    """Its reader has left: write nothing to it again, not even on the way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _print_error(sentence: str, status: int) -> int:
    with suppress(OSError):
        print_message(f"autoreason: {sentence}")
    return status


if __name__ == "__main__":
    main()
