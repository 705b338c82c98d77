"""What was tried and what came of it, as the proposer reads it: bounded, however long the run is. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from autoreason.artifacts.trial_events import Effect, TrialDecided
from autoreason.report.numbers import count

_RECENT = 20
_MAX_LEDGER = 24_000
"""Characters."""
_MAX_WORDS = 240
_MAX_TAIL = 400
_NORMAL = 1.96


def ledger_text(trials: Sequence[TrialDecided], limit: int = _MAX_LEDGER) -> str:
    """Every keep and the last twenty trials, the latest last; the oldest are left out where there are too many."""
    recent = trials[-_RECENT:]
    entries = [_entry(trial, tail=True) for trial in recent]
    older = [trial for trial in trials[:-_RECENT] if trial.status == "kept"]
    entries = [*(_entry(trial, tail=False) for trial in older), *entries]
    shown: list[str] = []
    room = limit
    for entry in reversed(entries):
        room -= len(entry) + 1
        if room < 0:
            break
        shown.append(entry)
    left_out = len(trials) - len(shown)
    head = [f"{count(left_out, 'earlier trial')} left out"] if left_out else []
    return "\n".join([*head, *reversed(shown)])


def effect_in_words(effect: Effect) -> str:
    """A gain with its interval of 95 %."""
    reach = _NORMAL * effect.error
    between = f" ({effect.value - reach:+.3g} to {effect.value + reach:+.3g})" if reach else ""
    return f"{effect.value:+.3g}{between}"


def _entry(trial: TrialDecided, *, tail: bool) -> str:
    against = f"trial {trial.incumbent}" if trial.incumbent else "the start"
    parts = [f"trial {trial.number}, on {against}: {trial.status}"]
    if trial.effect:
        parts.append(f"{effect_in_words(trial.effect)} in {count(trial.effect.looks, 'look')}")
    else:
        parts.append(_shorten(trial.reason, _MAX_WORDS))
    idea = _shorten(trial.hypothesis, _MAX_WORDS) or ", ".join(trial.changes)
    expected = f" (expected {_shorten(trial.expected, 60)})" if trial.expected else ""
    lines = ["; ".join(parts), f"  {idea}{expected}"]
    if tail and trial.tail.strip():
        output = trial.tail.strip()[-_MAX_TAIL:].splitlines()
        lines += ["  output:", *(f"  | {line}" for line in output)]
    return "\n".join(lines)


def _shorten(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"
