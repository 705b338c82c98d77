"""Distinct short names for all clubs, each one of its two, or NO."""

from __future__ import annotations


def check(input: str, output: str, expected: str) -> bool | str:
    """The word is the one recorded; after YES nobody keeps a first choice that another club had to give up."""
    word, *names = output.split() or [""]
    if word != expected.split()[0]:
        return f"not {word or 'nothing'}"
    if word == "NO":
        return not names
    _, *words = input.split()
    firsts = [team[:3] for team in words[::2]]
    seconds = [team[:2] + town[0] for team, town in zip(words[::2], words[1::2], strict=True)]
    if len(names) != len(firsts) or len(set(names)) != len(names):
        return f"{len(firsts)} distinct names are wanted"
    kept: set[str] = set()
    given_up: set[str] = set()
    for name, first, second in zip(names, firsts, seconds, strict=True):
        if name not in (first, second):
            return f"{name} is no name for that club"
        # Where both are the same, it may pass for either, and as the second it is in nobody's way.
        (given_up if name == second else kept).add(first)
    return not kept & given_up
