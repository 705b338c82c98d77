"""Sentences on standard error."""

from __future__ import annotations

import shutil
import sys

from autoreason.characters import without_controls
from autoreason.report.table import wrap


def print_message(sentence: str) -> None:
    """Print one sentence, on a terminal in lines of whole words."""
    text = without_controls(sentence)
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        text = "\n".join("\n".join(wrap(line, width)) for line in text.split("\n"))
    print(text, file=sys.stderr, flush=True)
