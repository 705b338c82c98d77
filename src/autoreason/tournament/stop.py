"""When a run is over although A may still lose."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from autoreason.contract import Violation
from autoreason.events import EndedBy
from autoreason.parsing.documents import share_changed
from autoreason.report.numbers import count, percent
from autoreason.settings import Settings
from autoreason.story import Story


class Ending(NamedTuple):
    """What ended a run, and the same in words."""

    ended_by: EndedBy
    reason: str


ShareChanged = Callable[[str, str], float]


def describe_survivals(streak: int) -> str:
    """`A survived 3 passes in a row`."""
    return "A survived a pass" if streak == 1 else f"A survived {streak} passes in a row"


def find_ending(
    story: Story, settings: Settings, changed: ShareChanged = share_changed
) -> Ending | None:
    """What ends a run before A has survived k times: a contract that no text keeps, or a plateau.

    The paper's runs go on whatever their texts break.
    """
    if settings.protocol != "paper" and (why := _contract_never_kept(story)):
        return Ending("contract", why)
    why = _plateau(story, settings, changed)
    return Ending("plateau", why) if why else None


def _plateau(story: Story, settings: Settings, changed: ShareChanged) -> str:
    """Over when so many passes in a row that A lost changed no larger share of its words; its survivals are k's."""
    number, share = settings.plateau, settings.plateau_change
    decided = [(each, each.decided.winner) for each in story.passes if each.decided]
    last = [(each, winner) for each, winner in decided if winner not in (None, "A")][-number:]
    if not number or len(last) < number:
        return ""
    if any(changed(each.incumbent, each.text(winner)) > share for each, winner in last):
        return ""
    which = "the last change" if number == 1 else f"each of the last {number} changes"
    return f"a plateau: {which} was at most {percent(share)} of the words"


def _contract_never_kept(story: Story) -> str:
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
