"""What changed between two texts, word by word."""

from __future__ import annotations

import re
import sys
from difflib import SequenceMatcher

_WORD = re.compile(r"\S+[^\S\n]*|\s")
_MARKS = {"same": "{}", "gone": "[-{}-]", "new": "{{+{}+}}"}
_STYLES = {"same": "", "gone": "red strike", "new": "green"}


def compare(before: str, after: str) -> list[tuple[str, str]]:
    """The way from one text to the other: stretches of words that are the `same`, `gone` or `new`."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    stretches = []
    for what, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone = [] if what == "equal" else [("gone", "".join(old[i:j]))]
        stretches += [*gone, ("same" if what == "equal" else "new", "".join(new[k:m]))]
    return [stretch for stretch in stretches if stretch[1]]


def print_changes(before: str, after: str) -> None:
    """In colour on a terminal that has it, else with marks: [-gone-] and {+new+}."""
    from rich.text import Text

    from autoreason.cli.views.console import stdout_console

    console = stdout_console()
    coloured = console.is_terminal and not console.no_color and console.color_system is not None
    if before == after:
        print("nothing changed: the text is the first draft", file=sys.stderr)
    changes = Text()
    for kind, text in compare(before, after):
        shown = text if coloured else _MARKS[kind].format(text.rstrip())
        changes.append(shown, style=_STYLES[kind])
        changes.append("" if coloured else text[len(text.rstrip()) :])
    console.print(changes, soft_wrap=True, end="" if changes.plain.endswith("\n") else "\n")
