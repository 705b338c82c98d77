"""Which prompts a run uses."""

from __future__ import annotations

from pathlib import Path

from autoreason.paths import certificates_folder
from autoreason.prompts import PromptSet, built_in, load
from autoreason.settings import DEFAULT_MODEL, Settings


def choose_prompts(
    settings: Settings, folder: Path | None = None, *, writes: str | None = None
) -> PromptSet:
    """The user's prompts, and the built-in ones for the rest: the short ones where the author needs them.

    Where that is not known beforehand, the run finds out (`Strategy.begin_pass`).
    """
    return load(folder, small=needs_few_words(settings), writes=writes)


def shortened_for_author(settings: Settings, prompts: PromptSet) -> bool:
    """Whether the author gets the short prompts because it needs them, and not a user's own or those for programs."""
    short = built_in(small=True).sources["author"]
    return prompts.sources.get("author") == short and needs_few_words(settings)


def needs_few_words(settings: Settings) -> bool:
    """Whether the author, or a judge where there is none, is known to need the short prompts.

    It is known by its name or its certificate.
    """
    author = settings.models.author or settings.models.judges[0]
    if author == DEFAULT_MODEL or not certificates_folder().is_dir():
        return author == DEFAULT_MODEL
    # Certificates need imports that few commands use.
    from autoreason.studies.certify.certificate_files import find_certificate
    from autoreason.studies.certify.properties import BALLOTS, DEFECTS

    stored = find_certificate(author, settings.server_of(author))
    # Other failures, such as a preference for the first position, say nothing about prompts.
    return stored is not None and bool(
        {BALLOTS.name, DEFECTS.name} & set(stored.certificate.failed)
    )
