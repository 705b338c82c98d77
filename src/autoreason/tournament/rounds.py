"""A run in rounds and reviews, for people: what came of each, how judges voted, and one judge's own words for why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from autoreason.events import CandidateReady
from autoreason.report.changes import split_sentences
from autoreason.report.numbers import capital, count, listed, shorten, without_folder
from autoreason.story import RecordedPass, RecordedReview, Story
from autoreason.tournament.statements import DROPPED, violations
from autoreason.wording import BECOME, KINDS, SEVERITIES, TextKind

if TYPE_CHECKING:
    from autoreason import events

_LABEL = re.compile(r"^\W*(?:reasons?|reasoning|analysis|explanation)\W*:\W*", re.IGNORECASE)
_SAID = 240
_VERDICT = re.compile(r"^\W*(?:ranking|final ranking|order)\W", re.IGNORECASE)
_NOUN = r"(?:(?:the\s+)?(?:text|version|candidate|draft|option|response|document|proposal)\s+)?"


class Reason(NamedTuple):
    """What a judge wrote, with what texts are in place of the names this judge knew them by."""

    words: str
    judge: str


class Chapter(NamedTuple):
    """A round or a review, as people read it."""

    step: RecordedPass | RecordedReview
    describe: Callable[[str], str]
    """What the texts are called that its judges rank."""
    first: bool
    """Whether the text so far was still the first draft."""
    left: events.Incumbent | None = None
    """The text that stands after it; None where it is under way, as is all that follows."""
    kind: TextKind | None = None
    """Of the text that won a round, where a vote or a rule decided; `kept` where none beat the text so far."""
    outcome: str = "under way"
    """`rewritten`, `a new draft won on points`, `kept`, `the text of round 3 is put first by 4 of 7 judges`."""
    votes: str = ""
    """Of a round: `3 of 5 judges`, `first places split 3 to 3`; empty where none voted."""
    reason: Reason | None = None
    note: str = ""
    """How a text won where as many judges put another first, and whether it was given up."""

    @property
    def number(self) -> int:
        return self.step.number

    @property
    def is_review(self) -> bool:
        return isinstance(self.step, RecordedReview)

    @property
    def back(self) -> bool:
        """Whether the run went back to an earlier text."""
        step = self.step
        return isinstance(step, RecordedReview) and step.decided is not None and step.decided.back

    @property
    def name(self) -> str:
        return f"review after round {self.number}" if self.is_review else f"round {self.number}"

    @property
    def place(self) -> str:
        """`r3`, `review5`: where it is on a page."""
        return f"{'review' if self.is_review else 'r'}{self.number}"

    @property
    def mark(self) -> tuple[str, str]:
        """With its colour on a terminal."""
        if self.left and self.is_review:
            return ("←" if self.back else "✓"), "cyan"
        return (KINDS[self.kind].mark, KINDS[self.kind].style) if self.kind else ("?", "yellow")

    @property
    def sentence(self) -> str:
        """`the rewrite won, 3 of 3 judges`."""
        return f"{self.outcome}, {self.votes}" if self.votes else self.outcome


def tell(story: Story) -> list[Chapter]:
    """Rounds and reviews, in order; the last may be under way."""
    found: list[Chapter] = []
    for step, left in zip_longest(story.steps, story.left):
        found.append(_chapter(story, step, left))
        if left and found[-1].back:
            for at, each in enumerate(found):
                is_new = each.number > left.since and each.kind not in (None, "kept")
                if is_new and "Given up" not in each.note:
                    gone = f"{each.note} Given up in the review after round {step.number}."
                    found[at] = each._replace(note=gone.lstrip())
    return found


def tell_last(story: Story) -> Chapter:
    """The last of them alone."""
    left = story.left[-1] if len(story.left) == len(story.steps) else None
    return _chapter(story, story.steps[-1], left)


def _chapter(
    story: Story, step: RecordedPass | RecordedReview, left: events.Incumbent | None
) -> Chapter:
    rule = story.settings.voting if story.settings else ""
    if isinstance(step, RecordedReview):
        return _review(step, left, rule)
    first = story.draft is not None and step.incumbent == story.draft.text
    return _round(step, left, first, rule)


def _review(step: RecordedReview, left: events.Incumbent | None, rule: str) -> Chapter:
    describe, decided = name_text, step.decided
    if decided is None or left is None:
        return Chapter(step, describe, first=False)
    note, back = "", f": back to {describe(left.name)}" if decided.back else ""
    outcome = f"too few rankings could be read{back or '; the latest text stays'}"
    if winner := decided.winner:
        firsts = [ballot.ranking[0] for ballot in step.last_stage if ballot.ranking]
        own = firsts.count(winner)
        by = f" by {own} of {count(len(firsts), 'judge')}" if own else ""
        votes = f" {_WON.get(rule, 'in the vote')}" if 2 * own < len(firsts) else by
        how = explain_win(decided.verdict, step.last_stage, rule, describe)
        if how and not decided.weights:
            votes, note = f" {_WON[rule]}", f"It {how}"
        elif (verdict := decided.verdict) and verdict.tied:
            most = verdict.scores[winner]
            equal = (name for name, points in verdict.scores.items() if points == most)
            others = [describe(name) for name in equal if name != winner]
            note = f"{capital(listed(others))} came equal: a tie goes to the latest."
        outcome = f"{describe(winner)} is put first{votes}{': back to it' if back else ''}"
    reason = _reason(decided.winner, step.last_stage, describe)
    return Chapter(step, describe, False, left, "kept", outcome, reason=reason, note=note)


def name_text(name: str) -> str:
    """`the text of round 3`, `draft 3`: one of the texts that judges of a review rank."""
    if name.startswith("pass "):
        return f"the text of round {name.split()[1]}"
    return KINDS["draft"].the if name == "draft" else name


def describe_back(story: Story) -> str:
    """`; a review went back to the text of round 6`; empty where the text of the last round stays."""
    chosen = story.chosen if story.passes else None
    if chosen is None or chosen.text == story.passes[-1].incumbent:
        return ""
    return f"; a review went back to {name_text(chosen.name)}"


def name_origin(text: events.Incumbent) -> str:
    """`round 3`, `first draft`."""
    return f"round {text.since}" if text.since else KINDS["draft"].name


def _round(one: RecordedPass, left: events.Incumbent | None, first: bool, rule: str) -> Chapter:
    describe, decided = (lambda slot: KINDS[one.kind(slot, first=first)].the), one.decided
    if decided is None:
        return Chapter(one, describe, first)
    kind: TextKind | None = None
    if decided.outcome == "inconclusive":
        outcome = f"undecided: {decided.reason or 'too few votes could be counted'}"
    elif decided.winner is None or decided.winner == "A":
        kind, outcome = "kept", _kept(decided, one, rule)
    else:
        kind = one.kind(decided.winner, first=first)
        outcome = f"{'a new draft' if kind == 'new' else KINDS[kind].the} won"
        if not one.ballots:
            outcome = "written anew" if kind == "new" else "rewritten"
        if decided.verdict and decided.verdict.tied:
            outcome += f", equal {_WON.get(rule, 'in the vote')} and the smaller change"
    note = ""
    if how := explain_win(decided.verdict, one.ballots, rule, describe):
        note, outcome = f"It {how}", outcome if decided.violations else f"{outcome} {_WON[rule]}"
    reason = _reason(decided.winner, one.ballots, describe)
    return Chapter(one, describe, first, left, kind, outcome, _votes(one), reason, note)


def _kept(decided: events.PassDecided, one: RecordedPass, rule: str) -> str:
    if decided.violations:
        return f"kept, does not count: the text breaks a limit ({violations(decided.violations)})"
    if decided.outcome == "unconfirmed":
        return f"kept, does not count: no text was ahead {_WON.get(rule, '')}".rstrip()
    if decided.outcome == "unopposed":
        reasons = dict.fromkeys(DROPPED[each.reason] for each in one.dropped)
        if found_nothing(one):
            return f"kept: {no_fault([one])}"
        return f"kept: no rewrite could stand ({'; '.join(reasons) or decided.reason})"
    if (verdict := decided.verdict) and verdict.margin <= 0:
        tie = f"equal {_WON.get(rule, 'in the vote')}, and a tie keeps the text so far"
        return f"kept: {tie if verdict.margin == 0 else 'no text led it by enough'}"
    return "kept"


def no_fault(rounds: Iterable[RecordedPass]) -> str:
    """That critics found nothing in these rounds, or nothing that is there."""
    found = [each for one in rounds for each in one.critiques]
    where = ["the text"] * any(each.dropped for each in found)
    where += ["the records"] * any(each.miscited for each in found)
    named = f"named no fault that is in {' or '.join(where)}"
    return f"critics {named if where else 'found nothing to fix'}"


def found_nothing(one: RecordedPass) -> bool:
    """Whether a round has no rewrite because its critics named no fault that stood."""
    return bool(one.critiques) and not any(each.problems or each.prose for each in one.critiques)


def is_new_draft(event: CandidateReady | events.CandidateDropped, one: RecordedPass) -> bool:
    """Whether a text of a round was written without seeing the text so far, because no rewrite could stand."""
    if isinstance(event, CandidateReady):
        return event.fresh
    # Those that were left out do not say so; a rewrite, where there was one, is tried before them.
    rewritten = not found_nothing(one) and all(each.slot != "B1" for each in one.dropped)
    first = next((each for each in one.dropped if each.slot == "B"), None)
    return event.slot == "B" and not (rewritten and first is event)


_WON = {"borda": "on points", "copeland": "head to head", "instant_runoff": "in the runoff"}
"""How a text wins that most first places alone would not let win."""


def explain_win(
    verdict: events.Verdict | None,
    ballots: Iterable[events.BallotCast],
    rule: str,
    describe: Callable[[str], str],
) -> str:
    """`won on points, …`, where judges alone decided and as many of them put another text first."""
    firsts = Counter(ballot.ranking[0] for ballot in ballots if ballot.ranking)
    if not firsts or not verdict or verdict.margin <= 0 or verdict.code or rule not in _WON:
        return ""
    own = firsts.pop(verdict.winner, 0)
    most = max(firsts, key=firsts.__getitem__, default="")
    if firsts[most] < own or not most:
        return ""
    points = f", {verdict.scores[verdict.winner]} to {verdict.scores[most]}: every place counts"
    how = f"{_WON[rule]}{points if rule == 'borda' else ''}"
    return f"won {how}, though {'more' if firsts[most] > own else 'as many'} judges put {describe(most)} first."


def _votes(one: RecordedPass) -> str:
    """How many judges put the winner first; where others have as many, how first places were split."""
    firsts = Counter(ballot.ranking[0] for ballot in one.ballots if ballot.ranking)
    winner = one.decided.winner if one.decided else None
    if not firsts or winner is None:
        return ""
    if all(number < firsts[winner] for name, number in firsts.items() if name != winner):
        return f"{firsts[winner]} of {count(firsts.total(), 'judge')}"
    return f"first places split {' to '.join(str(number) for _, number in firsts.most_common())}"


def _reason(
    winner: str | None, ballots: Iterable[events.BallotCast], describe: Callable[[str], str]
) -> Reason | None:
    """What one judge said for the winner; where the text was kept, against what challenged it."""
    for ballot in ballots:
        if not winner or not ballot.ranking or ballot.ranking[0] != winner:
            continue
        about = ballot.ranking[-1] if winner == "A" else winner
        if said := _sentence_about(ballot, (about, winner)):
            return Reason(unblind(said, ballot, describe), ballot.model)
    return None


def describe_split(story: Story) -> tuple[str, ...]:
    """What a judge of the last vote said who put its winner first, and one who did not, unless two thirds put it first.

    Only sentences about this text alone are taken, of judges who saw no reference: what a critic reads could stand
    there of the text before as well as of its challenger.
    """
    last = story.steps[-1] if story.steps else None
    if not last or not last.decided or not (winner := last.decided.winner):
        return ()
    cast = last.last_stage if isinstance(last, RecordedReview) else last.ballots
    sides: dict[bool, list[str]] = {True: [], False: []}
    for each in cast:
        if each.ranking and not each.anchored:
            side = sides[each.ranking[0] == winner]
            words = "" if any(side) else _sentence_about(each, [winner], alone=True)
            side.append(shorten(unblind(words, each, lambda _: "this text"), _SAID))
    both = tuple("".join(side) for side in sides.values())
    return both if len(sides[True]) < 2 * len(sides[False]) and all(both) else ()


def _sentence_about(ballot: events.BallotCast, names: Iterable[str], *, alone: bool = False) -> str:
    """The first sentence that is about one of the texts, the first name first; or about it `alone`."""
    labels = dict(zip(ballot.order, ballot.labels, strict=True))
    sentences = split_sentences(ballot.reasoning)
    for own in (labels[name] for name in names if name in labels):
        others = [label for label in ballot.labels if label != own]
        # Most sentences of a long reasoning are not about it, and that is quick to see.
        some = (each for each in sentences if own in each and ">" not in each)
        said = (_LABEL.sub("", each.strip()) for each in some if not _VERDICT.match(each))
        about = [each for each in said if re.search(rf"\b{re.escape(own)}\b", each)]
        without = [each for each in about if not any(label in each for label in others)]
        if found := without or ([] if alone else about):
            return found[0]
    return ""


def unblind(text: str, ballot: events.BallotCast, describe: Callable[[str], str]) -> str:
    """A judge's words with `[the rewrite]` and the like in place of the names that this judge was given."""
    for name, label in zip(ballot.order, ballot.labels, strict=True):
        known = rf"(?P<at>\[)?\b{re.escape(label)}\b(?(at)\])"
        known = rf"(?P<before>^|[.!?]\s+|\n)?(?<!\w){_NOUN}[*_\"“]*{known}[*_\"”]*"
        means = describe(name)

        def named(found: re.Match[str], means: str = means) -> str:
            before = found["before"]
            return f"[{means}]" if before is None else f"{before}[{capital(means)}]"

        if label.casefold() in text.casefold():
            text = re.sub(known, named, text, flags=re.IGNORECASE)
    return text


def name_compared(name: str, story: Story) -> str:
    """`the first draft` or `the result`: one of the two texts that fresh judges compare."""
    chosen = BECOME if story.is_draft_preferred else "the result"
    return KINDS["draft"].the if name == "draft" else chosen


def describe_faults(critiques: Sequence[events.CritiqueWritten]) -> str:
    """`3 faults, 2 serious`."""
    faults = [fault for each in critiques for fault in each.problems]
    if not faults:
        return "a critique in prose" if any(each.prose for each in critiques) else "no fault"
    serious = sum(SEVERITIES[each.severity] == "serious" for each in faults)
    return f"{count(len(faults), 'fault')}{f', {serious} serious' if serious else ''}"


def short_name(model: str) -> str:
    """A model's name without its provider; of one in a file, or made by code in one, without its folder."""
    name = without_folder(model)
    if ".py:" in name:
        return name
    return name.rstrip("/").rpartition("/")[2].removesuffix(".gguf") or model
