"""The page of a run that writes a text: outcome, text, rounds, five views of the record, and the evidence."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from autoreason.contract import Contract, count_words
from autoreason.exchange import Spent
from autoreason.pages.film import moments, name_text
from autoreason.pages.fragments import LONGEST, Fragments
from autoreason.pages.judge_map import map_judges
from autoreason.pages.recount import RULES, TIES, recount_all
from autoreason.pages.river import draw, trace
from autoreason.report.changes import share_left
from autoreason.report.numbers import capital, count, money
from autoreason.report.page import fill_page
from autoreason.stats.shares import sign_test
from autoreason.story import CONFIRMATION, RecordedPass, Story
from autoreason.strategies import name_drafts
from autoreason.tournament import statements
from autoreason.tournament.endings import describe_length, short_run, spending, the_draft, took
from autoreason.tournament.rounds import (
    Round,
    describe_text,
    explain_win,
    is_first_draft,
    is_new_draft,
    judges_named,
    rounds_of,
    short_name,
    unblind,
)
from autoreason.wording import KINDS, SEVERITIES, kind_of, numeral

_LITTLE_LEFT = 0.4
"""Of the draft's words in the result, below which a comparison word by word is hard to read."""
_ROLES = {
    "author": "Drafts",
    "critic": "Critics",
    "reviser": "Rewrites",
    "synthesizer": "Merges",
    "judge": "Judges",
}
_FUNCTIONS: dict[str, Any] = {
    each.__name__: each for each in (describe_text, draw, money, name_text, short_name, unblind)
}
"""Those by which the template names things."""


def run_page(
    story: Story,
    *,
    run: str,
    summary: Sequence[str],
    spent: Spent,
    seconds: float | None = None,
    spent_by_role: Mapping[str, Spent] | None = None,
    about: Mapping[str, str] | None = None,
) -> str:
    """One self-contained file; `summary` are the lines that end the run."""
    facts = took(story, spent, seconds, short_run(run))
    outcome, *notes = [line for line in summary if line != facts] or [f"Run {run}"]
    limits, drafted, ended = check_limits(story), story.draft, story.delivered
    rows: Sequence[tuple[str, str]] = ()
    if ended:
        rows = statements.evidence(ended.evidence, story, ended.violations, story.origin)
    if story.is_sampling:
        rows = [(label, name_drafts(text)) for label, text in rows]
    fresh = story.panels.get(CONFIRMATION)
    draft = drafted.text if drafted and drafted.text != story.text else None
    result = story.text or ""
    short = draft is not None and max(len(draft), len(result)) <= LONGEST
    decided = [each.decided for each in story.passes if each.decided]
    over = {each.number: each for each in rounds_of(story)}
    known = story.task.knowledge if story.task else None
    under_way = Round(0, None, "under way", "", None)
    return fill_page(
        Path(__file__).parent / "assets/run.html",
        title=story.title or f"Run {run}",
        run=run,
        story=story,
        outcome=outcome,
        notes=notes,
        facts=[*_facts(story, limits), spending(spent, seconds)],
        fresh=describe_fresh_judges(story),
        fresh_ballots=fresh.ballots if fresh else (),
        draft=draft,
        draft_name=capital(the_draft(drafted).removeprefix("the ")) if drafted else "",
        little_left=short and share_left(draft or "", result) < _LITTLE_LEFT,
        rounds=[
            (over.get(one.number, under_way), one, is_first_draft(one, story))
            for one in story.passes
        ],
        sampling=story.is_sampling,
        firsts=Counter(each.ranking[0] for each in story.closing_ballots if each.ranking),
        won=_won_last(story),
        film=moments(story),
        votes=[*_blind_votes(story, run)],
        river=trace(story),
        what_if=recount_all(story),
        judges=map_judges(story),
        limits=limits,
        spent_by_role=spent_by_role or {},
        evidence=rows,
        records=statements.records_table(known) if known and known.shown else None,
        points=statements.passes_table(decided) if any(e.verdict for e in decided) else None,
        about=about or {},
        pieces=Fragments(),
        kinds=KINDS,
        severities=SEVERITIES,
        roles=_ROLES,
        rules=RULES,
        ties=TIES,
        statements=statements,
        left_out=_left_out,
        **_FUNCTIONS,
    )


# ---- outcome ------------------------------------------------------------------------------------


def _facts(story: Story, limits: Sequence[Limit]) -> Iterator[str]:
    if words := describe_length(story):
        yield words
    if limits:
        broken = sum(not each.kept for each in limits)
        kept = f"all {len(limits)} limits kept" if len(limits) > 1 else "its limit kept"
        yield f"{broken} of {count(len(limits), 'limit')} broken" if broken else kept


def describe_fresh_judges(story: Story) -> str:
    """Who they are, and how often coins would agree as they do, where an even split is ruled out."""
    panel = story.panels.get(CONFIRMATION)
    if panel is None or not panel.ballots:
        return ""
    said = "Fresh judges were not asked before and do not know which text is the draft."
    if len({each.model for each in panel.ballots}) > 1:
        said += f" Here: {judges_named(panel.ballots)}."
    found = story.delivered.evidence.preference if story.delivered else None
    if found and (found.low > 0.5 or found.high < 0.5):
        chance = sign_test(found.prefer, found.judges - found.prefer).p_value or 1
        said += f" Tossing coins, judges would agree as much once in {1 / chance:,.0f} times."
    return said


def _won_last(story: Story) -> str:
    """`draft 3 won on points, …`, where more judges of the last vote put another text first."""
    last, name = story.closing_review, partial(name_text, story=story)
    if last is None or story.settings is None or last.weights:
        return ""
    how = explain_win(last.verdict, story.closing_ballots, story.settings.voting, name)
    return f"{name(last.winner or '')} {how}" if how else ""


# ---- the rounds ---------------------------------------------------------------------------------


def _blind_votes(
    story: Story, run: str
) -> Iterator[tuple[RecordedPass, bool, list[tuple[str, str]]]]:
    """Rounds to judge before one looks: slots in an order that says nothing, and what to say to who puts one first."""
    for one in story.passes:
        verdict, first = one.verdict, is_first_draft(one, story)
        if verdict is None or one.decided is None:
            continue
        slots = sorted(verdict.scores)
        random.Random(f"{run} {one.number}").shuffle(slots)
        firsts = [ballot.ranking[0] for ballot in one.ballots if ballot.ranking]
        describe = partial(describe_text, first=first, one=one)
        won = describe(str(one.decided.winner))
        shown = []
        for slot in slots:
            same = firsts.count(slot)
            some = f"{numeral(same)} of {count(len(firsts), 'judge')}"
            who = "every judge" if same == len(firsts) else some
            so = f"So did {who}." if same else "No judge did."
            chose = "" if slot == one.decided.winner else f" The judges together chose {won}."
            shown.append((slot, f"You put {describe(slot)} first. {so}{chose}"))
        yield one, first, shown


def _left_out(one: RecordedPass, first: bool) -> Iterator[str]:
    """What else happened to the texts of a round."""
    for slot, ready in one.candidates.items():
        name = describe_text(slot, first=first, one=one)
        if ready.repaired:
            yield f"{name} broke a limit and was sent back once before judges saw it"
        if ready.fresh:
            yield f"{name} was written without a look at the text so far"
    left_out = Counter[tuple[str, str]]()
    for each in one.dropped:
        kind = kind_of(each.slot, first=first, fresh=is_new_draft(each, one))
        why = statements.violations(each.violations) or statements.DROPPED[each.reason]
        left_out["a new draft" if kind == "new" else KINDS[kind].the, why] += 1
    for (name, why), times in left_out.items():
        again = f" {times} times" if times > 1 else ""
        yield f"{name} was left out{again}: {why}"
    if unfounded := sum(each.dropped for each in one.critiques):
        yield f"{count(unfounded, 'fault')} left out: the words quoted are not in the text"


# ---- limits ----------------------------------------------------------------------------------


class Limit(NamedTuple):
    rule: str
    kept: bool
    found: str
    """What breaks it, or how long the text is."""


def check_limits(story: Story) -> list[Limit]:
    """Every limit by itself, with whether the text keeps it."""
    if story.task is None or story.text is None:
        return []
    limits, contract, text = [], story.task.contract, story.text
    for name in Contract.__struct_fields__:
        value = getattr(contract, name)
        for one in value if isinstance(value, tuple) else filter(None, [value]):
            only = {name: (one,) if isinstance(value, tuple) else one}
            single = msgspec.structs.replace(Contract(), **only)
            if name == "checks":
                # The user's own code ran when the text was delivered, and is not run for a page.
                broken = story.delivered.violations if story.delivered else ()
                broken = tuple(each for each in broken if each.rule == "checks")
            else:
                broken = single.violations(text)
            found = statements.violations(broken)
            if not found and name.endswith("_words"):
                found = f"it has {count_words(text):,}"
            limits.append(Limit(single.rules()[0].rstrip("."), not broken, found))
    return limits
