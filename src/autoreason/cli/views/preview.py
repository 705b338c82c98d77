"""`--dry-run`: what would be done, without doing any of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli.help import with_flags
from autoreason.cli.views.message import print_message
from autoreason.cli.views.outcome import show_report
from autoreason.errors import InvalidInput
from autoreason.run.dry_run import DryRun
from autoreason.run.lab import PreparedLab

if TYPE_CHECKING:
    from autoreason.run.prepared import PreparedRun
    from autoreason.run.research import MeasuredStart


def dry_run(
    prepared: PreparedRun[Any],
    *,
    as_json: bool,
    html: Path | None = None,
    measured: MeasuredStart | None = None,
) -> int:
    """Print estimate, settings and first prompt; of a suite its plan."""
    if isinstance(prepared, PreparedLab):
        show_report(prepared.plan(), as_json=as_json, html=html)
        warn_of_refusal(prepared)
        return 0
    estimate, noise = prepared.estimate(), None
    if measured:
        estimate, noise = replace(estimate, request=measured.request), measured.noise
    report = DryRun(prepared.task, prepared.settings, estimate, noise=noise)
    show_report(report, as_json=as_json, html=html)
    warn_of_refusal(prepared)
    return 0


def warn_of_refusal(prepared: PreparedRun[Any]) -> None:
    """Say why a real run would be refused, as far as that is known without reaching a model."""
    try:
        prepared.check_models()
    except InvalidInput as refusal:
        refused = with_flags(click.get_current_context().command, str(refusal))
        print_message(f"autoreason: a real run would be refused: {refused}")
