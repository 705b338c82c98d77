"""What changed between two texts, word by word."""

from __future__ import annotations

import re
import sys
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

_WORD = re.compile(r"\n|[^\S\n]+|\w+|[^\w\s]")


class DiffPart(NamedTuple):
    """A piece of text that is in both, only in the old or only in the new text."""

    kind: Literal["same", "gone", "new"]
    text: str


def compare(before: str, after: str) -> list[DiffPart]:
    """The way from one text to the other as stretches of words."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    stretches: list[DiffPart] = []
    for what, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            stretches.append(DiffPart("same", "".join(new[k:m])))
            continue
        stretches += _change("".join(old[i:j]), "".join(new[k:m]))
    return _joined(stretches)


def _joined(stretches: list[DiffPart]) -> list[DiffPart]:
    """Join changes that only white space parts: a diff of single words is unreadable."""
    joined: list[DiffPart] = []
    gone = new = ""
    for place, (kind, text) in enumerate(stretches):
        bridge = (
            kind == "same"
            and text.isspace()
            and "\n" not in text
            and 0 < place < len(stretches) - 1
        )
        if bridge:
            gone, new = gone + text, new + text
        elif kind == "gone":
            gone += text
        elif kind == "new":
            new += text
        else:
            joined += [*_change(gone, new), DiffPart("same", text)]
            gone = new = ""
    return joined + _change(gone, new)


def _change(gone: str, new: str) -> list[DiffPart]:
    pair = (DiffPart("gone", gone), DiffPart("new", new))
    return [stretch for stretch in pair if stretch.text]


def print_changes(before: str, after: str) -> None:
    """In colour on a terminal that has it, else with marks: [-gone-] and {+new+}."""
    from rich.text import Text

    from autoreason.cli.views.console import stdout_console

    console = stdout_console()
    coloured = console.is_terminal and not console.no_color and console.color_system is not None
    marked = {"same": "{}", "gone": "[-{}-]", "new": "{{+{}+}}"}
    styles = {"same": "", "gone": "red strike", "new": "green"}
    if before == after:
        print("nothing changed: the text is the first draft", file=sys.stderr)
    changes = Text()
    for kind, text in compare(before, after):
        changes.append(text if coloured else marked[kind].format(text), style=styles[kind])
    console.print(changes, soft_wrap=True, end="" if changes.plain.endswith("\n") else "\n")
