"""The page of a run that writes a text: outcome, text, rounds, five views of the record, and the evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from markupsafe import Markup

from autoreason.characters import in_markup
from autoreason.contract import HEADING, Contract, count_words, heading_text
from autoreason.events import BallotCast, CritiqueProblem, Slot
from autoreason.exchange import Spent
from autoreason.pages.film import is_sampling, name_text
from autoreason.pages.fragments import Fragments
from autoreason.pages.views import make_views
from autoreason.report.changes import share_left
from autoreason.report.numbers import count, money, shorten
from autoreason.report.page import fill_page
from autoreason.stats.shares import sign_test
from autoreason.story import CONFIRMATION, RecordedPass, Story
from autoreason.strategies import name_drafts
from autoreason.tournament import statements
from autoreason.tournament.endings import short_run, spending, the_draft, took
from autoreason.tournament.rounds import (
    Round,
    describe_text,
    is_first_draft,
    judges_named,
    rounds_of,
    short_name,
    unblind,
)
from autoreason.wording import KINDS, SEVERITIES, TextKind, kind_of

ASSETS = Path(__file__).parent / "assets"
_LITTLE_LEFT = 0.4
"""Of the draft's words in the result, below which a comparison word by word is hard to read."""
_LONG = 200_000
"""Characters beyond which two texts are not compared."""
_ROLES = {
    "author": "First draft",
    "critic": "Critics",
    "reviser": "Rewrites",
    "synthesizer": "Merges",
    "judge": "Judges",
}
_PLACES = ("1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th")


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
    pieces = Fragments()
    facts = took(story, spent, seconds, short_run(run))
    outcome, *others = [line for line in summary if line != facts] or [f"Run {run}"]
    views, limits = make_views(story, pieces, run), check_limits(story)
    title = page_title(story) or f"Run {run}"
    return fill_page(
        ASSETS / "run.html",
        title=title,
        outcome=outcome,
        lead=others[0] if others else "",
        notes=[line.removesuffix(": see show --evidence.") for line in others[1:]],
        facts=_facts(story, limits, spending(spent, seconds)),
        fresh=describe_fresh_judges(story),
        texts=_texts(story, pieces),
        source=story.text or "",
        brief=pieces.text(story.task.brief) if story.task and story.task.brief else "",
        begun=_begun(story),
        rounds=[] if is_sampling(story) else [*_rounds(story, pieces)],
        drafts=[*_drafts(story, pieces)] if is_sampling(story) else [],
        limits=limits,
        costs=[*_costs(spent_by_role or {})],
        total=spending(spent, seconds),
        evidence=_evidence(story),
        fresh_reasons=_fresh_reasons(story),
        about=dict(about or {}),
        run=run,
        kinds=KINDS,
        places=_PLACES,
        views=views,
        pieces=pieces,
    )


def page_title(story: Story) -> str:
    """The first heading of the text; of one without headings the first words of the brief."""
    if found := HEADING.search(story.text or ""):
        return shorten(heading_text(found[2]), 80)
    return story.task.title.rstrip(".") if story.task else ""


# ---- outcome ------------------------------------------------------------------------------------


def _facts(story: Story, limits: Sequence[Limit], took: str) -> list[str]:
    facts = []
    if story.text is not None:
        before = story.draft.words if story.draft and story.draft.text != story.text else None
        words = count(count_words(story.text), "word")
        facts.append(f"{before:,} → {words}" if before is not None else words)
    if limits:
        broken = sum(not each.kept for each in limits)
        kept = f"all {len(limits)} limits kept" if len(limits) > 1 else "its limit kept"
        facts.append(f"{broken} of {count(len(limits), 'limit')} broken" if broken else kept)
    return [*facts, took]


def describe_fresh_judges(story: Story) -> str:
    """Who they are, and how often coins would agree as they do, where an even split is ruled out."""
    panel = story.panels.get(CONFIRMATION)
    if panel is None or not panel.ballots:
        return ""
    said = (
        "Fresh judges were not asked before and do not know which text is the draft. "
        f"Here: {judges_named(panel.ballots)}."
    )
    found = story.delivered.evidence.preference if story.delivered else None
    if found and (found.low > 0.5 or found.high < 0.5):
        chance = sign_test(found.prefer, found.judges - found.prefer).p_value or 1
        said += f" Tossing coins, judges would agree as much once in {1 / chance:,.0f} times."
    return said


# ---- the text -----------------------------------------------------------------------------------


class Tab(NamedTuple):
    """One way to look at the text."""

    name: str
    title: str
    shown: Sequence[tuple[str, TextKind, str]]
    """Captions, kinds and fragments, side by side."""
    note: str = ""


def _texts(story: Story, pieces: Fragments) -> list[Tab]:
    if story.text is None:
        return []
    result, draft = story.text, story.draft.text if story.draft else None
    name = "Result" if story.delivered else "Text so far"
    kind: TextKind = "draft" if draft == result else "kept"
    tabs = [Tab("result", name, [("", kind, pieces.text(result))])]
    if draft is None or draft == result:
        return tabs
    first = the_draft(story.draft).removeprefix("the ")
    first = first[:1].upper() + first[1:]
    sides = [
        (f"{caption}, {pieces.words(text)}", side, pieces.text(text))
        for caption, side, text in ((first, "draft", draft), (name, kind, result))
    ]
    note = ""
    if max(len(draft), len(result)) <= _LONG and share_left(draft, result) < _LITTLE_LEFT:
        note = (
            "Little of the draft is left. Side by side is easier to read; "
            "the rounds below show each step by itself."
        )
    return [
        *tabs,
        Tab("draft", first, [("", "draft", pieces.text(draft))]),
        Tab("changes", "What changed", [("", kind, pieces.change(draft, result))], note),
        Tab("sides", "Side by side", sides),  # type: ignore[arg-type]
    ]


# ---- the rounds ---------------------------------------------------------------------------------


class Fault(NamedTuple):
    """What a critic found."""

    where: str
    """The words it quotes; `Missing` where it is about what is not there."""
    quoted: bool
    problem: str
    weight: str


class Vote(NamedTuple):
    """One judge's ranking, as a column of the grid."""

    judge: str
    ranking: Sequence[tuple[TextKind, str]]


class RoundView(NamedTuple):
    """A round as the page shows it."""

    told: Round
    kind: TextKind
    guidance: str
    faults: Sequence[Fault]
    prose: Sequence[Markup]
    votes: Sequence[Vote]
    texts: Sequence[tuple[TextKind, str]]
    """What stood to be voted on, with its words."""
    left_out: Sequence[str]
    folded: Sequence[tuple[str, str, str]]
    """What opens below it: a title, a fragment and a note."""

    @property
    def short(self) -> str:
        """`rewrite won`, in the strip."""
        said = self.told.outcome.partition(",")[0].partition(":")[0].removeprefix("the ")
        return said.replace(" was taken without a vote", " taken")

    @property
    def label(self) -> str:
        """The grid in words, for those who do not see it."""
        return "; ".join(
            f"{vote.judge}: {', then '.join(name for _, name in vote.ranking) or 'no ranking'}"
            for vote in self.votes
        )


def _rounds(story: Story, pieces: Fragments) -> Iterator[RoundView]:
    told = {each.number: each for each in rounds_of(story)}
    for one in story.passes:
        first = is_first_draft(one, story)
        now = told.get(one.number) or Round(one.number, None, "under way", "", None)
        yield RoundView(
            told=now,
            kind=now.kind or "draft",
            guidance=one.guidance,
            faults=[_fault(each) for each in _problems(one)],
            prose=[pieces[pieces.text(each.prose)] for each in one.critiques if each.prose],
            votes=[_vote(ballot, first=first) for ballot in one.ballots],
            texts=[*_on_ballot(one, pieces, first=first)],
            left_out=[*_left_out(one, first=first)],
            folded=[*_folded(one, pieces, first=first)],
        )


def _drafts(story: Story, pieces: Fragments) -> Iterator[tuple[str, str, str]]:
    """Drafts to choose from: a name, how judges took it, and its text."""
    firsts = Counter(each.ranking[0] for each in story.playoff_ballots if each.ranking)
    for each in story.incumbents:
        name = name_text(each.name, story)
        took = f"first for {firsts[each.name]} of {count(firsts.total(), 'judge')}"
        parts = [pieces.words(each.text), *([took] if firsts else [])]
        chosen = ["chosen"] if story.delivered and each.name == story.origin else []
        yield f"{name[:1].upper()}{name[1:]}", ", ".join([*parts, *chosen]), pieces.text(each.text)


def _problems(one: RecordedPass) -> list[CritiqueProblem]:
    return [problem for critique in one.critiques for problem in critique.problems]


def _fault(problem: CritiqueProblem) -> Fault:
    where = problem.quote or ("Missing" if problem.kind == "missing" else "")
    return Fault(where, bool(problem.quote), problem.problem, SEVERITIES[problem.severity])


def _vote(ballot: BallotCast, *, first: bool) -> Vote:
    return Vote(
        short_name(ballot.model),
        [
            (kind_of(name, first=first), describe_text(name, first=first))
            for name in ballot.ranking or ()
        ],
    )


def _on_ballot(
    one: RecordedPass, pieces: Fragments, *, first: bool
) -> Iterator[tuple[TextKind, str]]:
    slots: tuple[Slot, ...] = ("A", *one.candidates)
    for slot in slots:
        name = describe_text(slot, first=first).removeprefix("the ")
        yield kind_of(slot, first=first), f"{name}, {pieces.words(one.text(slot))}"


def _left_out(one: RecordedPass, *, first: bool) -> Iterator[str]:
    for slot, ready in one.candidates.items():
        name = describe_text(slot, first=first)
        if ready.repaired:
            yield f"{name} broke a limit and was sent back once before judges saw it"
        if ready.fresh:
            yield f"{name} is a new draft, written without a look at the text so far"
    for each in one.dropped:
        name = describe_text(each.slot, first=first)
        yield f"{name} was left out: {statements.DROPPED[each.reason]}"
    for dropped in (each.dropped for each in one.critiques if each.dropped):
        yield f"{count(dropped, 'fault')} left out: the words quoted are not in the text"


def _folded(one: RecordedPass, pieces: Fragments, *, first: bool) -> Iterator[tuple[str, str, str]]:
    if one.ballots:
        yield "Judges’ reasons", pieces.add(_reasons(one.ballots, first=first)), ""
    won = one.decided.winner if one.decided else None
    so_far = describe_text("A", first=first)
    for slot, ready in one.candidates.items():
        name = describe_text(slot, first=first)
        taken = "it took its place" if slot == won else "it was not taken"
        note = f"Against {so_far}; {taken}."
        yield f"What {name} changed", pieces.change(one.incumbent, ready.text), note
    if any(problem.quote for problem in _problems(one)):
        yield "The critic’s marks in the text", pieces.marked(one.incumbent, _problems(one)), ""


def _reasons(ballots: Sequence[BallotCast], *, first: bool) -> Markup:
    rows = []
    for ballot in ballots:
        said = unblind(ballot.reasoning.strip(), ballot, first=first) or "gave no reason"
        lens = f", asked to look at {ballot.lens}" if ballot.lens else ""
        check = f" ({statements.length_check(ballot)})" if ballot.check else ""
        who = in_markup(f"{short_name(ballot.model)}{lens}{check}")
        rows.append(f'<p class="why"><b>{who}</b> {in_markup(said)}</p>')
    return Markup("\n".join(rows))


def _begun(story: Story) -> tuple[str, str] | None:
    if story.draft is None:
        return None
    name = the_draft(story.draft).removeprefix("the ")
    return name[:1].upper() + name[1:], count(story.draft.words, "word")


# ---- limits, cost, evidence ---------------------------------------------------------------------


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


def _costs(spent: Mapping[str, Spent]) -> Iterator[tuple[str, str, str]]:
    for role, name in _ROLES.items():
        if role in spent:
            yield name, f"{spent[role].calls:,}", money(spent[role].cost)


class EvidencePart(NamedTuple):
    title: str
    rows: Sequence[tuple[str, str]]
    table: Markup | None = None


def _evidence(story: Story) -> list[EvidencePart]:
    parts = []
    if ended := story.delivered:
        rows = statements.evidence(ended.evidence, story, ended.violations, story.origin)
        if is_sampling(story):
            rows = [(label, name_drafts(text)) for label, text in rows]
        parts.append(EvidencePart("What the judges show, and what they do not", rows))
    decided = [each.decided for each in story.passes if each.decided]
    if any(each.verdict for each in decided):
        table = Markup(statements.passes_table(decided).to_html())
        parts.append(EvidencePart("Every round in points", [], table))
    return parts


def _fresh_reasons(story: Story) -> Markup | None:
    panel = story.panels.get(CONFIRMATION)
    return _reasons(panel.ballots, first=True) if panel and panel.ballots else None
