"""The page of a run that writes a text: outcome, text, rounds, five views of the record, and the evidence."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import NamedTuple

from autoreason.contract import count_words
from autoreason.events import Slot
from autoreason.exchange import Spent
from autoreason.pages import fragments
from autoreason.pages.course import draw, moments, trace
from autoreason.pages.votes import RULES, map_judges, recount_all
from autoreason.parsing.documents import share_kept
from autoreason.report.numbers import capital, count, listed, money
from autoreason.report.page import fill_page
from autoreason.stats.shares import sign_test
from autoreason.story import CONFIRMATION, RecordedPass, Story
from autoreason.tournament import edits, rounds, statements
from autoreason.tournament.endings import describe_length, short_run, spending, the_draft, took
from autoreason.tournament.voting import QUARTERS
from autoreason.wording import KINDS, SEVERITIES, TextKind, kind_of, numeral


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
    name, paid = short_run(run), spending(spent, seconds)
    # What it took stands below, once.
    costs = (took(story, spent, seconds, name), f"{paid} · {name}", f"{spending(spent, None)}, ")
    left = [reduce(str.removeprefix, costs, line).lstrip(". ") for line in summary]
    said = [each if each.startswith("autoreason ") else capital(each) for each in left if each]
    outcome, *notes = said or [f"Run {run}"]
    limits, drafted, ended = check_limits(story), story.draft, story.delivered
    broken = ended.violations if ended else ()
    rows = statements.evidence(ended.evidence, story, broken, story.origin) if ended else []
    fresh = story.panels.get(CONFIRMATION)
    draft = drafted.text if drafted and drafted.text != story.text else None
    decided = [each.decided for each in story.passes if each.decided]
    known = story.task.knowledge if story.task else None
    chapters = rounds.tell(story)
    return fill_page(
        Path(__file__).parent / "assets/run.html",
        title=story.title or f"Run {run}",
        run=run,
        story=story,
        outcome=outcome,
        notes=notes,
        length=describe_length(story),
        paid=paid,
        fresh=describe_fresh_judges(story),
        fresh_ballots=fresh.ballots if fresh else (),
        draft=draft,
        share_kept=share_kept,
        draft_name=capital(the_draft(drafted).removeprefix("the ")) if drafted else "",
        chapters=chapters,
        contests=any(one.verdict for one in story.passes),
        firsts=Counter(each.ranking[0] for each in story.closing_ballots if each.ranking),
        film=moments(story),
        votes=[*_blind_votes(chapters, story, run)],
        river=trace(story),
        what_if=recount_all(story),
        judges=map_judges(story),
        limits=limits,
        spent_by_role=spent_by_role or {},
        evidence=rows,
        records=statements.records_table(known, story) if known and known.shown else None,
        points=statements.passes_table(decided) if any(e.verdict for e in decided) else None,
        about=about or {},
        pieces=fragments.Fragments(),
        fragments=fragments,
        kinds=KINDS,
        severities=SEVERITIES,
        rules=RULES,
        statements=statements,
        left_out=_left_out,
        name_fresh=partial(rounds.name_compared, story=story),
        rounds=rounds,
        draw=draw,
        money=money,
        count_words=count_words,
        texts_of=texts_of,
        edits=edits,
    )


# ---- outcome ------------------------------------------------------------------------------------


def describe_fresh_judges(story: Story) -> str:
    """Who they are, and how often coins would agree as they do, where an even split is ruled out."""
    panel = story.panels.get(CONFIRMATION)
    if panel is None or not panel.ballots:
        return ""
    said = "Fresh judges were not asked before and do not know which text is the draft."
    asked = Counter(statements.heard(panel.ballots)).items()
    if len(asked) > 1:
        times = [f"{rounds.short_name(name)}, asked {count(n, 'time')}" for name, n in asked]
        said += f" Here: {listed(times)}."
    found = story.delivered.evidence.preference if story.delivered else None
    if found and (found.low > 0.5 or found.high < 0.5):
        chance = sign_test(found.prefer, found.judges - found.prefer).p_value or 1
        said += f" Tossing coins, judges would agree as much once in {1 / chance:,.0f} times."
    return said


# ---- rounds and reviews ----------------------------------------------------------------------


class ShownText(NamedTuple):
    mark: str
    kind: TextKind
    text: str
    points: str = ""
    """In a review, as the next."""
    firsts: int = 0


def texts_of(chapter: rounds.Chapter, story: Story) -> dict[str, ShownText]:
    """Those that judges rank; of a review best first, those of its second stage before others."""
    if isinstance(step := chapter.step, RecordedPass):
        slots: tuple[Slot, ...] = ("A", *step.candidates)
        kinds = {slot: step.kind(slot, first=chapter.first) for slot in slots}
        return {s: ShownText(KINDS[kind].mark, kind, step.text(s)) for s, kind in kinds.items()}
    decided, texts = step.decided, dict[str, ShownText]()
    points = decided.verdict.scores if decided and decided.verdict else {}
    worth = QUARTERS if decided and decided.weights else 1
    firsts = Counter(each.ranking[0] for each in step.last_stage if each.ranking)
    ranked = decided.texts if decided else story.incumbents
    for each in sorted(ranked, key=lambda text: -points.get(text.name, -1)):
        kind: TextKind = "kept" if each.since else "draft"
        name, sign = each.name, str(each.since or KINDS[kind].mark)
        shown = f"{points[name] / worth:g}" if name in points else "–"
        texts[name] = ShownText(sign, kind, each.text, shown, firsts[name])
    return texts


def _blind_votes(
    chapters: Sequence[rounds.Chapter], story: Story, run: str
) -> Iterator[tuple[int, rounds.Chapter, Sequence[tuple[str, str]]]]:
    """Of each round with a vote its texts in an order that says nothing, and what is said to who puts one first.

    Where no round has a vote, three texts of the last review; its number is 0.
    """
    judged = [each for each in chapters if each.step.decided and each.step.decided.verdict]
    contests = [each for each in judged if not each.is_review]
    for each in contests or judged[-1:]:
        assert each.step.decided is not None
        assert each.step.decided.verdict is not None
        number = each.step.number if contests else 0
        slots = sorted(each.step.decided.verdict.scores)
        if each.is_review:
            best = [story.incumbents[0].name, story.origin, *texts_of(each, story)]
            slots = [name for name in dict.fromkeys(best) if name in slots][:3]
        random.Random(f"{run} {number}").shuffle(slots)
        cast = [ballot.ranking for ballot in each.step.ballots if ballot.ranking]
        own = [[name for name in ranking if name in slots] for ranking in cast]
        firsts = [ranking[0] for ranking in own if len(ranking) == len(slots)]
        among = "" if contests else "of these texts, "
        won = str(each.step.decided.winner)
        texts = []
        for slot in slots:
            same = firsts.count(slot)
            some = f"{numeral(same)} of {count(len(firsts), 'judge')}"
            who = "every judge" if same == len(firsts) else some
            so = f"{capital(f'{among}so did {who}')}." if same else "No judge did."
            chose = "" if slot == won else f" The judges together chose {each.describe(won)}."
            texts.append((slot, f"You put {each.describe(slot)} first. {so}{chose}"))
        yield number, each, texts


def _left_out(one: RecordedPass, first: bool) -> Iterator[str]:
    """What else happened to the texts of a round."""
    for slot, ready in one.candidates.items():
        name = KINDS[one.kind(slot, first=first)].the
        if ready.repaired:
            yield f"{name} broke a limit and was sent back once before judges saw it"
        if ready.fresh:
            yield f"{name} was written without seeing the text so far"
    left_out = Counter[tuple[str, str]]()
    for each in one.dropped:
        kind = kind_of(each.slot, first=first, fresh=rounds.is_new_draft(each, one))
        why = statements.violations(each.violations) or statements.DROPPED[each.reason]
        left_out["a new draft" if kind == "new" else KINDS[kind].the, why] += 1
    for (name, why), times in left_out.items():
        again = f" {times} times" if times > 1 else ""
        yield f"{name} was left out{again}: {why}"
    if unfounded := sum(each.dropped for each in one.critiques):
        yield f"{count(unfounded, 'fault')} left out: the words quoted are not in the text"


# ---- limits ----------------------------------------------------------------------------------


class CheckedLimit(NamedTuple):
    rule: str
    kept: bool
    found: str
    """What breaks it, or how long the text is."""


def check_limits(story: Story) -> list[CheckedLimit]:
    """Every limit by itself, with whether the text keeps it; what only its run could tell is as recorded."""
    if story.task is None or story.text is None:
        return []
    recorded = story.delivered.violations if story.delivered else ()
    limits = []
    for rule in story.task.contract.limits():
        # The user's own code ran when the text was delivered, and is not run for a page.
        seen = () if rule.name == "checks" else rule.find(story.text)
        broken = tuple(violation for violation, _ in seen) or tuple(
            x for x in recorded if x.message in rule.broken or x.rule == rule.name == "checks"
        )
        found = statements.violations(broken)
        if not found and rule.name == "words":
            found = f"it has {count_words(story.text):,}"
        limits.append(CheckedLimit(rule.sentence.rstrip("."), not broken, found))
    said = dict.fromkeys(story.task.given.rules(short=True), "keep")
    if any(each.rule == "echo" for each in recorded):
        said["Does not repeat the request."] = "echo"
    for sentence, name in said.items():
        lost = tuple(each for each in recorded if each.rule == name)
        limits.append(CheckedLimit(sentence.rstrip("."), not lost, statements.violations(lost)))
    return limits
