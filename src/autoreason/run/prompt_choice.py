"""Which prompts a run uses."""

from __future__ import annotations

from pathlib import Path

from autoreason.paths import certificates_folder
from autoreason.prompts import PromptSet, load
from autoreason.settings import DEFAULT_MODEL, Settings


def choose_prompts(
    settings: Settings, folder: Path | None = None, *, code: bool = False
) -> PromptSet:
    """The user's own, and beside them ours: in few words where the author is known to need that.

    What is not known beforehand an author shows within the run (`Strategy.begin_pass`).
    """
    return load(folder, small=needs_few_words(settings), code=code)


def needs_few_words(settings: Settings) -> bool:
    """Whether the author is known, by its name or its certificate, to need the short prompts."""
    author = settings.models.author
    if author == DEFAULT_MODEL or not certificates_folder().is_dir():
        return author == DEFAULT_MODEL
    # Reading a certificate takes what few commands need.
    from autoreason.studies.certify.properties import BALLOTS, DEFECTS
    from autoreason.studies.certify.store import find

    stored = find(author, settings.server_of(author))
    # Other failings, such as a taste for what stands first, say nothing of how a model is to be asked.
    return stored is not None and bool(
        {BALLOTS.name, DEFECTS.name} & set(stored.certificate.failed)
    )
