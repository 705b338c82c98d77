"""The end of a run in three lines, for people: do fresh judges prefer it, why it stopped, what it took.

A fourth line is there only if something must be checked, a fifth only if something went wrong.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from autoreason.contract import count_words
from autoreason.exchange import Spent
from autoreason.facts import FACT_KINDS
from autoreason.report import numbers
from autoreason.report.numbers import capital, count, jury, listed, money, roughly, taste_for_length
from autoreason.report.report import add_warnings
from autoreason.story import ALTERNATIVES, CONFIRMATION, Story
from autoreason.tournament import statements
from autoreason.tournament.edits import undecided
from autoreason.tournament.evidence import longer_preferred_in
from autoreason.tournament.rounds import describe_back, found_nothing, name_text, no_fault
from autoreason.tournament.statements import DROPPED, first_draft, heard, violations, written_with
from autoreason.wording import BECOME, KINDS

if TYPE_CHECKING:
    from autoreason import events

_RESUME = re.compile(r"[;,][^;,]*`autoreason resume.*", re.DOTALL)
NOT_ASKED = "Whether fresh judges prefer it to {} was not asked{}."


def summarize(
    story: Story, *, run: str, spent: Spent, seconds: float | None, resume: str = "", new: str = ""
) -> list[str]:
    """The lines of a run, finished or not; `resume` is the command that goes on with it, `new` what to check."""
    name = short_run(run)
    first = [f"{capital(not_blind(story))}."] if not_blind(story) else []
    if story.end is None:
        return [*first, *_paused(story, spent, seconds, name, resume)]
    paid = f"{spending(spent, seconds)} · {name}"
    if story.delivered is None:
        return [*first, f"{capital(story.reason)}.", paid]
    if not story.passes and story.delivered.ended_by == "contract":
        return [*first, *_not_refined(story, story.delivered, paid), *filter(None, [new])]
    left = undecided(story)
    decide = f"Would need your decision (1 of {len(left)}): {left[0]}" if left else ""
    check = [". ".join(filter(None, [new, decide]))] if new or decide else []
    lines = [*first, *_preference(story, story.delivered), took(story, spent, seconds, name)]
    return add_warnings(lines, [*check, *_warnings(story, story.delivered)])


def not_blind(story: Story) -> str:
    """That judges had no contexts of their own; empty where they were."""
    models = story.settings.models if story.settings else None
    alone = models and "one context" in map(models.hosts.get, models.judges)
    return statements.NOT_BLIND if alone else ""


def to_check(story: Story) -> str:
    """What the text states that is not from its person, who alone can know whether it is true."""
    found = sorted(story.new_facts, key=lambda each: FACT_KINDS.index(each.kind))
    shown = [each.text for each in found[:4]] + [f"{len(found) - 4} more"] * (len(found) > 4)
    return f"Not from you, please check: {' · '.join(shown)}" if found else ""


def short_run(run: str) -> str:
    """`solar-vole`: a run's name without its day, which finds it as well."""
    day, _, rest = run.partition("-")
    return rest if day.isdigit() and rest else run


def the_draft(draft: events.DraftReady | None) -> str:
    """What the result is compared with."""
    return "your draft" if draft and draft.given else first_draft(draft)


def _several(story: Story, found: events.AlternativesRanked) -> list[str]:
    """Whether judges prefer the first of several texts, and what became of the others that were written."""
    number, review = len(found.texts), story.closing_review
    how = "Judges prefer the first of" if found.leads else "Too close to call which is best of"
    place = statements.standing(found.texts[0])
    lead = f"{how} {number} texts: fresh judges put the first {place}."
    if found.texts[0].share is None:
        lead = "Their order is that of the judges who chose them: fresh judges gave none."
    if number == found.wanted and review:
        return [lead, f"Judges asked before chose from {len(review.texts)} different texts."]
    left = Counter(each.reason for one in story.passes for each in one.dropped)
    left["contract"] += sum(not each.keeps_contract for each in story.incumbents)
    why = [f"{n} left out ({DROPPED[reason]})" for reason, n in left.items() if n]
    few = f"You have {number} of {found.wanted} texts: {listed(why or ['no other was written'])}."
    return [few, lead] if number > 1 else [few]


def _preference(story: Story, delivered: events.Delivered) -> list[str]:
    if story.alternatives:
        return _several(story, story.alternatives)
    draft, stopped = the_draft(story.draft), _stopped(story, delivered)
    if delivered.origin != "draft" or not story.draft:
        return [preference(story, delivered.evidence.preference), stopped]
    if (fresh := story.confirmation) and story.is_draft_preferred:
        prefer = f"{fresh.judges - fresh.prefer} of {count(fresh.judges, 'fresh judge')}"
        return [f"You have {draft}: {prefer} prefer it to {BECOME}.", stopped]
    if delivered.ended_by == "drafts" and not story.closing_review:
        return [f"You have {draft}, as it was written: {delivered.reason}."]
    won = any(winner not in ("A", "?") for winner in story.trajectory)
    if won and (review := story.closing_review):
        put = f"the last review put it first of {len(review.texts)} texts"
        unread = "too few rankings of the review could be read"
        return [f"You have {draft}: {unread if review.winner is None else put}.", stopped]
    if not story.trajectory:
        return [f"You have {draft}: {stopped[0].lower()}{stopped[1:]}"]
    kept = f"You have {draft}: in {count(len(story.trajectory), 'round')} {_nothing_beat(story)}."
    return [kept, *([] if delivered.ended_by == "survivals" else [stopped])]


def preference(story: Story, found: events.Preference | None) -> str:
    """Whether judges who chose nothing prefer the result; never more than their answers show."""
    draft = the_draft(story.draft)
    if found is None or not found.judges:
        why = ""
        if story.draft and story.draft.violations:
            if story.delivered and not story.delivered.violations:
                return f"It keeps its limits, unlike {draft}."
            why = f": {draft} breaks its limits"
        elif story.panels.get(CONFIRMATION):
            return f"Whether fresh judges prefer it to {draft} is unknown: too few of their answers could be read."
        return NOT_ASKED.format(draft, why)
    judges = count(found.judges, "fresh judge")
    close = ""
    if found.low <= 0.5 <= found.high:
        close = "Too few to tell: " if found.prefer in (0, found.judges) else "Too close to call: "
    if 2 * found.prefer < found.judges:
        return f"{close}{found.judges - found.prefer} of {judges} prefer {draft} to it."
    return f"{close}{found.prefer} of {judges} prefer it to {draft}."


def _nothing_beat(story: Story, last: int = 0, it: str = "it") -> str:
    """That nothing beat a text in the last rounds it was kept in, or why nothing could."""
    kept = [one for one in story.passes if one.decided and one.decided.winner == "A"][-last:]
    opposed = [one for one in kept if one.decided and one.decided.outcome != "unopposed"]
    if kept and not opposed:
        if all(map(found_nothing, kept)):
            return no_fault(kept)
        if story.settings is None or story.settings.judges:
            return f"there was no rival for {it}"
        reasons = [{each.reason for each in one.dropped} - {"clone"} for one in kept]
        why = "; ".join(DROPPED[each] for each in sorted({*chain(*reasons)}))
        return f"no rewrite could stand ({why})" if all(reasons) else "there was no new text"
    kinds = {one.kind(slot, first=False) for one in opposed for slot in one.candidates}
    without = len(kept) - len(opposed)
    some = f", {without} of them without a rival" if last and without else ""
    names = [f"no {KINDS[kind].name}" for kind in KINDS if kind in kinds]
    return f"{listed(names or ['nothing'])} beat {it}{some}"


def _stopped(story: Story, delivered: events.Delivered) -> str:
    after = f"Stopped after {count(len(story.trajectory), 'round')}"
    settings = story.settings
    k = settings.k if settings and settings.job.is_tournament else 0
    row = f"{k} times in a row" if k > 1 else "once"
    match delivered.ended_by:
        case "survivals" if k:
            is_last = not story.passes or story.passes[-1].incumbent == delivered.text
            it = "it" if is_last else "the text so far"
            return f"{after}: {row} {_nothing_beat(story, k, it)}{describe_back(story)}."
        case "passes":
            judged = settings and settings.judges and k and not settings.review_every
            open_end = f"; it was not yet kept {row}" if judged else ""
            return f"{after}, the most allowed{open_end}."
        case "budget" | "allowance":
            return f"{after}: another would not fit the limits of the run."
        case "person":
            # Replies on their way may have ended a review after that.
            review, text = story.closing_review, name_text(delivered.origin)
            chose = ", which the last review chose" if review and review.winner else ""
            return f"{after}: you accepted {text}{chose}."
        case "contract":
            return f"{after}: no text keeps its limits."
        case "drafts" if story.closing_review:
            return f"Judges chose it from {count(len(story.incumbents), 'draft')}."
        case _:
            return f"{after if story.trajectory else 'Done'}: {delivered.reason}."


def _paused(story: Story, spent: Spent, seconds: float | None, name: str, resume: str) -> list[str]:
    where = _round_of(story)
    within = f", in {where}" if where else ""
    last = [took(story, spent, seconds, name)]
    last += [f"{resume}   goes on; nothing is paid twice"] if resume else []
    if story.status == "budget":
        budget, name_of = story.settings.budget if story.settings else None, story.limit or ""
        amount = getattr(budget, name_of, None)
        limit = describe_limit(name_of, amount) if amount is not None else ""
        text = f" You have {name_text(story.origin)}." if story.origin else ""
        # Behind the limit of time, a reason has what the provider answered last instead of a reply.
        failed = story.reason.partition("; ")[2] if story.limit == "seconds" else ""
        waiting = f", while {failed}" if failed else ""
        head = f"Paused at your limit{f' of {limit}' if limit else ''}{within}{waiting}.{text}"
        if story.reason.startswith("a pass takes"):
            head = f"Paused: a round would not fit your limit of {limit}.{text}"
        # Of drafts no one is made from another.
        rounds = story.passes and not story.is_sampling
        asked = [NOT_ASKED.format(the_draft(story.draft), " yet")] if rounds else []
        return [head, *asked, *last]
    if story.status == "waiting":
        return [f"{capital(story.reason)}.", took(story, spent, seconds, name)]
    if story.status == "stopped":
        return [f"Stopped{within.removeprefix(',')}, as you asked.", *last]
    if story.status == "running":
        ended = f"Not finished{within}: its process ended before it did."
        return [ended if resume else f"Under way{within}.", *last]
    after = f" after {roughly(seconds)}" if seconds else ""
    at = f" {capital(where)}." if where else ""
    goes_on = [f"{resume} goes on"] if resume else []
    return [
        # Reasons end with the command as well.
        f"Paused{after}: {_RESUME.sub('', story.reason).rstrip('.')}.{at}",
        " · ".join([f"{spending(spent, None)}, all kept", name, *goes_on]),
    ]


def _round_of(story: Story) -> str:
    if not story.passes:
        return "" if story.draft is None else "round 1"
    if story.is_sampling:
        return f"draft {story.passes[-1].number}"
    most = f" of {story.settings.passes}" if story.settings else ""
    return f"round {story.passes[-1].number}{most}"


def describe_limit(name: str, amount: Any) -> str:
    """`$3.00`, `50 calls`: a limit of a budget in words."""
    show: dict[str, Callable[[Any], str]] = {"cost": money, "seconds": roughly}
    return show[name](amount) if name in show else count(amount, name.removesuffix("s"))


def _not_refined(story: Story, delivered: events.Delivered, spending: str) -> list[str]:
    drafts = count(max(len(story.drafts), story.draft.of if story.draft else 1), "draft")
    return [
        f"Not refined: {drafts}, none keeps the limits ({violations(delivered.violations)}).",
        f"{spending}. This is the draft that comes closest.",
        "Change the model or the limit; --anyway refines it all the same.",
    ]


def took(story: Story, spent: Spent, seconds: float | None, name: str) -> str:
    """`144 → 171 words · limits kept · 62 calls, $0.27, 4 min · solar-vole`."""
    limits = limits_of(story)
    parts = [describe_length(story), f"limits {limits}" if limits else ""]
    return " · ".join([*filter(None, parts), spending(spent, seconds), name])


def describe_length(story: Story) -> str:
    """`144 → 171 words`; empty where there is no text."""
    if story.text is None:
        return ""
    first = None if story.is_sampling else story.draft
    change = f"{first.words:,} → " if first and first.text != story.text else ""
    return f"{change}{count(count_words(story.text), 'word')}"


def limits_of(story: Story) -> Literal["kept", "broken"] | None:
    """As it was recorded: a check of the user's own may be gone by now. None without a text or a limit."""
    # A text that repeats the request breaks one that no task states.
    if story.delivered and story.delivered.violations:
        return "broken"
    if story.text is None or story.task is None or not story.task.limited:
        return None
    kept = story.delivered or (story.chosen and story.chosen.keeps_contract)
    return "kept" if kept else "broken"


def spending(spent: Spent, seconds: float | None) -> str:
    """`62 calls, $0.27, 4 min`."""
    cost = "cost unknown" if spent.cost is None else money(spent.cost)
    time = [roughly(seconds)] if seconds is not None else []
    return ", ".join([count(spent.calls, "call"), cost, *time])


def _warnings(story: Story, delivered: events.Delivered) -> list[str]:
    lines: list[str] = []
    if delivered.violations:
        none = statements.none_keeps(story)
        lines.append(f"It breaks a limit: {violations(delivered.violations)}{none}.")
    found = delivered.evidence.preference
    fresh = story.panels.get(ALTERNATIVES if story.alternatives else CONFIRMATION)
    if fresh and (story.alternatives or (found and found.judges)):
        models = heard(fresh.ballots)
        others = {each.model for each in fresh.ballots} - {*models}
        if len({*models}) == 1:
            unread = f"no answer of {' or '.join(map(numbers.without_folder, sorted(others)))} could be read"
            alone = unread if others else "no other model was asked"
            lines.append(f"All judges are {jury(models)}: {alone}.")
        if found and story.draft and story.text:
            words = count_words(story.text)
            lines += taste_for_length(words, story.draft.words, longer_preferred_in(story))
    return lines if lines[1:] else [*lines, *written_with(story)]
