"""Which prompts a run uses."""

from __future__ import annotations

from pathlib import Path

from autoreason.paths import certificates_folder
from autoreason.prompts import PromptSet, load
from autoreason.settings import DEFAULT_MODEL, Settings


def choose_prompts(
    settings: Settings, folder: Path | None = None, *, writes: str | None = None
) -> PromptSet:
    """The user's prompts, and the built-in ones for the rest: the short ones where the author is known to need them.

    Where that is not known beforehand, the run finds out (`Strategy.begin_pass`). What a judge failed in says nothing
    about authors: a failed certificate changes the judges' prompt alone.
    """
    author = settings.models.author or settings.models.judges[0]
    prompts = load(folder, small=author == DEFAULT_MODEL, writes=writes)
    return prompts.with_short_judge() if _fails_as_judge(settings) else prompts


def _fails_as_judge(settings: Settings) -> bool:
    """Whether a judge of the panel failed its certificate in something that depends on how it is asked."""
    if not certificates_folder().is_dir():
        return False
    # Certificates need imports that few commands use.
    from autoreason.studies.certify.certificate_files import find_certificate
    from autoreason.studies.certify.properties import BALLOTS, DEFECTS

    judges = dict.fromkeys(settings.models.judges)
    stored = [find_certificate(judge, settings.server_of(judge)) for judge in judges]
    failed = {name for each in stored if each for name in each.certificate.failed}
    # Other failures, such as a preference for the first position, say nothing about prompts.
    return not failed.isdisjoint((BALLOTS.name, DEFECTS.name))
