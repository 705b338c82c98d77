"""The model that comes with us: what to expect of it, and fetching its weights."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

import click

from autoreason.errors import InvalidInput
from autoreason.settings import DEFAULT_MODEL

if TYPE_CHECKING:
    from autoreason.models.local import DownloadProgress, ModelFile
    from autoreason.settings import Settings

_ENGINE = "xllamacpp"
_SIZE = "about 100 MB"
_MEGABYTE = 1_000_000


class Weights(NamedTuple):
    ready: bool
    status: str
    fix: str = ""


def weights_state() -> Weights:
    from autoreason.models.local import is_pulled, weights_path

    if find_spec(_ENGINE) is None:
        return Weights(False, "no engine", f"pip install {_ENGINE}")
    if not is_pulled():
        return Weights(False, f"weights not here ({_SIZE})", "autoreason models pull")
    return Weights(True, f"weights ready ({weights_path().stat().st_size // _MEGABYTE} MB)")


def require_weights(settings: Settings) -> None:
    """Refuse to start without the weights, where they are needed; on a terminal, offer them first."""
    if DEFAULT_MODEL not in settings.models.all():
        return
    from autoreason.models.local import LocalModel

    on_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if on_terminal and find_spec(_ENGINE) and not weights_state().ready:
        question = f"The weights of {DEFAULT_MODEL} ({_SIZE}) are not here yet. Fetch them now?"
        if not click.confirm(question, default=True, err=True):
            raise InvalidInput("no model to ask; choose one with -m, see `autoreason models`")
        pull_weights()
    LocalModel(DEFAULT_MODEL).check()


def pull_weights(model: ModelFile | None = None) -> None:
    from autoreason.cli.console import ProgressLine
    from autoreason.models.local import SMOLLM2, address_of, pull

    wanted = model or SMOLLM2
    with ProgressLine() as line:

        def show(progress: DownloadProgress) -> None:
            done, total = progress.done // _MEGABYTE, (progress.total or 0) // _MEGABYTE
            line.show(f"MB {progress.doing}" if total > 1 else progress.doing, done, total)

        path = pull(wanted, show)
    print(f"weights of {address_of(wanted)} ready at {path}", file=sys.stderr)
