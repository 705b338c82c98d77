"""When a run is over: rules over its story, which can be combined."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from autoreason.contract import Violation
from autoreason.events import EndedBy
from autoreason.parsing.documents import share_changed
from autoreason.plugins import load_function, short
from autoreason.report.numbers import count, percent
from autoreason.settings import Settings
from autoreason.story import Story

StopRule = Callable[[Story], str]
"""Why the run is over, by its story so far; empty while it is not."""


class Ending(NamedTuple):
    """What ended a run, and the same in words."""

    ended_by: EndedBy
    reason: str


ShareChanged = Callable[[str, str], float]
"""The share of words in which two texts differ."""


def survivals(streak: int) -> StopRule:
    """Over when the incumbent has survived so many passes in a row."""

    def rule(story: Story) -> str:
        return describe_survivals(streak) if story.streak >= streak else ""

    return rule


def describe_survivals(streak: int) -> str:
    """`A survived 3 passes in a row`."""
    return "A survived a pass" if streak == 1 else f"A survived {streak} passes in a row"


def passes(number: int) -> StopRule:
    """Over after so many passes."""

    def rule(story: Story) -> str:
        run = "1 pass was run" if number == 1 else f"{number} passes were run"
        return run if len(story.passes) >= number else ""

    return rule


def plateau(number: int, share: float, changed: ShareChanged = share_changed) -> StopRule:
    """Over when so many passes in a row that A lost changed no larger share of its words; its survivals are k's."""

    def rule(story: Story) -> str:
        decided = [(each, each.decided.winner) for each in story.passes if each.decided]
        last = [(each, winner) for each, winner in decided if winner not in (None, "A")][-number:]
        if len(last) < number:
            return ""
        if any(changed(each.incumbent, each.text(winner)) > share for each, winner in last):
            return ""
        which = "the last change" if number == 1 else f"each of the last {number} changes"
        return f"a plateau: {which} was at most {percent(share)} of the words"

    return rule


def contract_never_kept(story: Story) -> str:
    """Over when, after the drafts and a pass, no text keeps the contract and one of its limits was kept by none.

    Limits that were each kept by some text may still come together, and a length that some text was half as far from
    may still be reached: on a real model most such runs get there.
    """
    breaches = story.breaches
    if not any(each.decided and each.decided.winner for each in story.passes) or not all(breaches):
        return ""
    first, *others = ({_limit(each): each for each in broken} for broken in breaches)
    never = [
        broken.message
        for name, broken in first.items()
        if all(name in each and 2 * each[name].words_off >= broken.words_off for each in others)
    ]
    if not never:
        return ""
    return f"none of {count(len(breaches), 'text')} kept the contract: {'; '.join(never)}"


def _limit(broken: Violation) -> str:
    """Which limit it is; the message of some differs from text to text."""
    is_named = broken.rule in ("sections", "must_include", "must_not_include")
    return broken.message if is_named else broken.rule


def any_of(*rules: StopRule) -> StopRule:
    """Over as soon as one of the rules says so."""
    return lambda story: next(filter(None, (rule(story) for rule in rules)), "")


def all_of(*rules: StopRule) -> StopRule:
    """Over when all of the rules say so."""

    def rule(story: Story) -> str:
        reasons = [each(story) for each in rules]
        return " and ".join(reasons) if reasons and all(reasons) else ""

    return rule


def chosen_rules(
    settings: Settings, changed: ShareChanged = share_changed
) -> Callable[[Story], Ending | None]:
    """A contract that is never kept, a plateau, where one is set, and the user's own rules: any of them ends the run.

    The paper's runs go on whatever their texts break.
    """
    rules: list[tuple[EndedBy, StopRule]] = []
    if settings.protocol != "paper":
        rules.append(("contract", contract_never_kept))
    if settings.plateau:
        rules.append(("plateau", plateau(settings.plateau, settings.plateau_change, changed)))
    rules += [("rule", _load(name)) for name in settings.stop_rules]

    def find_ending(story: Story) -> Ending | None:
        return next((Ending(by, why) for by, rule in rules if (why := rule(story))), None)

    return find_ending


def _load(name: str) -> StopRule:
    function = load_function("stop_rules", name, "a story", str | bool | None)

    def rule(story: Story) -> str:
        reason = function(story)
        if not reason:
            return ""
        return f"{short(name)} stopped it: {reason}" if isinstance(reason, str) else short(name)

    return rule
