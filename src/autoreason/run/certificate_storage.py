"""A judge's certificate is stored on this machine when its run ends."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from autoreason.events import FINISHED
from autoreason.run.result import Result


def store_certificate(
    result: Result, on_warning: Callable[[str], None] | None = None, *, if_missing: bool = False
) -> None:
    """Store the certificate that a run ended with, if it did; `if_missing`, only where there is none."""
    settings = result.story.settings
    if settings is None or settings.strategy != "certify" or result.status not in FINISHED:
        return
    from autoreason.studies.certify.certificate_files import keep_certificate

    try:
        keep_certificate(result.story, result.run, if_missing=if_missing)
    except OSError as error:
        message = f"the certificate cannot be kept ({error.strerror}); the run has it"
        (on_warning or warnings.warn)(f"{message}: `autoreason show {result.run}`")
