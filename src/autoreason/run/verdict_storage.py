"""What later runs go by is stored when a run ends: a judge's certificate, the verdict on a folder of records."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from autoreason.events import FINISHED
from autoreason.run.result import Result


def store_verdict(
    result: Result, on_warning: Callable[[str], None] | None = None, *, if_missing: bool = False
) -> None:
    """Store what a run ended with, if that is a verdict; `if_missing`, only where there is none."""
    settings = result.story.settings
    if settings is None or result.status not in FINISHED:
        return
    try:
        if settings.strategy == "certify":
            from autoreason.studies.certify.certificate_files import keep_certificate

            keep_certificate(result.story, result.run, if_missing=if_missing)
        elif settings.strategy == "knowledge_test" and not if_missing:
            from autoreason.studies.knowledge_test.verdict_file import keep_verdicts

            keep_verdicts(result.story, result.run)
    except OSError as error:
        what = "certificate" if settings.strategy == "certify" else "verdict"
        message = f"the {what} cannot be kept ({error.strerror}); the run has it"
        (on_warning or warnings.warn)(f"{message}: `autoreason show {result.run}`")
