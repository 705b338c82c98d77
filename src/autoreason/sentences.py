"""Where sentences end."""

from __future__ import annotations

import re

SENTENCE_GAP = r"(?<=[.!?…])[\"'”’“»)*_]*\s+(?=[\"'“„«‘(¿¡*_]*[^\Wa-zß-ÿ_])"
"""What is between two of them in a paragraph, once points that end none are hidden."""
_NO_END = r"""(?mx)\b(?:[^\W\d_]\.(?:\s?[^\W\d_]\.)*
    |(?:Dr|Mrs?|Ms|Prof|St|Nr|No|Hr|Fr|Mme|Sra?|Sig|Dott|bzw|ca|vgl|max|mind?)\.
    |(?:^|(?i:im|(?<!\bI[ ])am|beim|de[mnr]|die|das|vom|zu[mr]|ab|bis|seit)[ ])(?:\d{1,2}\.){1,2}(?=\s)
      (?!\s(?:Alle|Auch|Bei|Bitte|Da|Danach|Danke|Dann|Das|Der|Die|Eine?|Es|Für|Ich|Ihr|Nach|Sie|Unser|Wenn|Wer|Wir)\b)
    |(?:\d{1,2}\.){2}(?=\s\(?(?:(?:Mon|Diens|Donners|Frei|Sams|Sonn)tag|Mittwoch))
    |\d+\.(?=[ ](?:Jan|Feb|März|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Jahrh)))"""
"""Compiled when it is first needed, as few commands need it."""


def hide_points(text: str) -> str:
    """The text, as long as it was, without abbreviations, ordinals and dates, whose points end no sentence."""
    return re.sub(_NO_END, lambda found: "X" * len(found[0]), text)
