"""What happens in a tournament, and what it shows, in plain sentences."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from autoreason.contract import count_words
from autoreason.keys import PAIR, Key, judge_of
from autoreason.report.numbers import (
    UNKNOWN,
    agreement,
    by_chance,
    count,
    decimal,
    jury,
    listed,
    longer,
    percent,
    percent_interval,
    percent_range,
    positions,
    shorten,
)
from autoreason.report.table import Column, Table, figures, words
from autoreason.stats import Estimate
from autoreason.story import ALTERNATIVES, CONFIRMATION
from autoreason.tournament.voting import SLOT_NAMES
from autoreason.wording import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoreason import events
    from autoreason.contract import Violation
    from autoreason.knowledge_records import Knowledge
    from autoreason.settings import Models, Settings
    from autoreason.story import Story
    from autoreason.task import Metric, Task

ONE_VOTE = "one judge in each round; one vote carries no evidence, so the rounds prove nothing"
UNJUDGED = "none: no judge read this text; `autoreason judge` compares it with others"
_SAID = 6
"""Breaches of a text in one sentence; its record has them all."""
ENDINGS = {
    "running": "not finished",
    "converged": "converged",
    "capped": "ended",
    "done": "done",
    "accepted": "accepted by a person",
    "budget": "paused at the budget",
    "stopped": "stopped",
    "waiting": "waiting",
    "panel_failed": "paused: the panel failed",
    "provider_failed": "paused: the provider failed",
    "metric_failed": "paused: the metric failed",
}
NOT_BLIND = "not blind: one context wrote and judged"


def outside(models: Models) -> dict[str, str]:
    """What is known of models that were answered from outside, and what is not."""
    said = []
    for each in models.outside():
        found = models.hosts.get(each, "not tested")
        sees = NOT_BLIND if found == "one context" else f"project instructions {found}"
        said.append(f"{each}, as its host states it; temperature not controlled; {sees}")
    return {"Model": ". ".join(said)} if said else {}


def winners(trajectory: tuple[str, ...], most: int = 15) -> str:
    """`AB B A A`: the winner of each pass; of many passes only the last, as `… B A A`."""
    shown = " ".join(trajectory[-most:])
    return f"… {shown}" if len(trajectory) > most else shown


def scores(points: dict[str, int]) -> str:
    """`A 6 · AB 8 · B 4`: the slots in their usual order, other texts by points."""
    usual = [slot for slot in SLOT_NAMES if slot in points]
    others = sorted(points.keys() - SLOT_NAMES.keys(), key=lambda name: -points[name])
    return " · ".join(f"{name} {points[name]}" for name in (*usual, *others))


def lead(verdict: events.Verdict) -> str:
    if verdict.tied:
        return f"a tie at the top, which goes to {verdict.winner}"
    if verdict.margin < 0:
        behind = f"{count(-verdict.margin, 'point')} behind"
        return f"{behind}, and a challenger needs a lead of {verdict.required_lead}"
    return f"{count(verdict.margin, 'point')} ahead; {by_chance('as much', verdict.chance)}"


def ballots(verdict: events.Verdict) -> str:
    cast = count(verdict.ballots, "ballot")
    cast += "".join(f" and the {name}'s" for name in code_voters(verdict))
    return f"{cast}, {verdict.invalid} not valid" if verdict.invalid else cast


def code_voters(verdict: events.Verdict) -> list[str]:
    return [name for name, ballot in verdict.code.items() if ballot.ranking]


def decided(event: events.PassDecided, k: int | None = None) -> str:
    if event.outcome == "inconclusive":
        return f"inconclusive ({event.reason or 'too few valid ballots'}); A stays"
    if event.outcome == "unjudged":
        return f"accepted without a vote, {count(event.words, 'word')}"
    row = f"; {survivals(event.streak, k)}" if event.survived else ""
    if event.outcome == "unconfirmed":
        still = f", still {survivals(event.streak, k)}" if event.streak else ""
        row = f"; that confirms nothing{still}"
    if event.violations:
        row = f"; does not count: breaks the contract ({violations(event.violations)})"
    if event.verdict is None:
        # As it was recorded, it does not say that what critics named may have been left out.
        why = event.reason.replace("found nothing to fix", "named no fault that is there")
        return f"{event.winner} is unopposed ({why or 'no challenger'}){row}"
    verb = "survives" if event.survived else "stays" if event.winner == "A" else "wins"
    worth = f"{lead(event.verdict)} ({ballots(event.verdict)})"
    return f"{event.winner} {verb}, {scores(event.verdict.scores)}: {worth}{row}"


def panel(event: events.PanelDecided) -> str:
    verdict = event.verdict
    is_pair = Key.parse(event.stage).head == PAIR
    if verdict is None:
        none = "no judge prefers the same text in both orders"
        return none if is_pair else "too few valid ballots to decide anything"
    first = "a tie at the top" if verdict.tied else f"{verdict.winner} leads"
    votes = ballots(verdict)
    if is_pair:
        judges = count(verdict.ballots + verdict.invalid, "judge")
        votes = f"{verdict.ballots} of {judges} prefer the same text in both orders"
    return f"{first}, {scores(verdict.scores)} ({votes})"


def survivals(streak: int, k: int | None) -> str:
    return f"survival {streak} of {k} in a row" if k else f"survival {streak} in a row"


def draft(event: events.DraftReady | events.DraftWritten, of: int = 1) -> str:
    chosen = f"; number {event.number} of {of} drafts" if of > 1 else ""
    breaks = f"{of} tries, none keeps the contract" if of > 1 else "breaks the contract"
    broken = f"; {breaks}: {violations(event.violations)}" if event.violations else ""
    return f"{count(event.words, 'word')}{chosen}{broken}"


def first_draft(found: events.DraftReady | None) -> str:
    return "the draft it began from" if found and found.of > 1 else "the first draft"


def critique(event: events.CritiqueWritten) -> str:
    if event.by_code:
        return f"{count(len(event.problems), 'limit')} of the contract broken, found by code"
    if not event.readable:
        return "a critique that could not be read"
    if event.prose:
        return f"a critique of {count(count_words(event.prose), 'word')}"
    if not event.problems:
        return left_out(event, "no problem") or "found nothing to criticise"
    found = Counter[str](problem.severity for problem in event.problems)
    parts = [f"{found[each]} {each}" for each in SEVERITIES if found[each]]
    return f"{count(found.total(), 'problem')}: {', '.join(parts)}{left_out(event)}"


def left_out(event: events.CritiqueWritten, found: str = "") -> str:
    """How many problems do not count, and why, behind what was `found`; empty where all count."""
    reasons = {
        "quotes what is not in the text": event.dropped,
        "cites what is not in the records": event.miscited,
        "takes more than an edit": len(event.withheld),
    }
    said = "; ".join(f"{number} left out: {why}" for why, number in reasons.items() if number)
    return f"{found} ({said})" if said else ""


_NO_CRITIC = "nobody: no critic was asked"


def _has_critics(story: Story | None) -> bool:
    """Whether critics were asked, or may still be: a run may end with its drafts."""
    return not (story and story.end) or any(one.critiques for one in story.passes)


def knowledge(found: Knowledge, story: Story) -> str:
    if found.shown and not (_has_critics(story) or found.facts or found.style or found.judges.all):
        return f"{count(len(found.shown), 'record')} of {found.source}, shown to {_NO_CRITIC}"
    judged = "" if found.judges.all else "; judges were shown no outcomes"
    unlike = f"; {unlike_records(found)}" if found.unlike else ""
    return f"{count(len(found.shown), 'record')} of {found.source}{judged}{unlike}"


def unlike_records(found: Knowledge) -> str:
    """That no outcome is similar to the brief; empty where one is."""
    if not found.unlike:
        return ""
    return f"none of the {count(found.unlike, 'outcome')} is similar to the brief: the strongest are shown"


def records_table(found: Knowledge, story: Story | None = None) -> Table:
    """The records that a run shows, with what became of them and who sees them."""
    asked = _has_critics(story)
    shown = {
        "all": found.facts,
        "authors and critics" if asked else "authors": found.style,
        "critics" if asked else _NO_CRITIC: (*found.feedback, *found.critic.all),
        "judges": found.judges.all,
    }
    rows = [
        (each.id, shorten(each.text, 60), each.figure, each.group, who)
        for who, records in shown.items()
        for each in records
    ]
    sizes = {"record": (1, 0), "text": (0, 26), "result": (0, 30), "group": (), "shown to": ()}
    return Table([Column(name, False, *each) for name, each in sizes.items()], rows)


def written_with(story: Story) -> list[str]:
    """How many records a run was shown, in one line for its ending; nothing without any."""
    known = story.task.knowledge if story.task else None
    if known is None or not known.digest:
        return []
    cast, note = _code_ballots("predictor", story), ""
    if cast and not any(each.ranking for each in cast):
        note = f"; the predictor voted in 0 of {count(len(cast), 'decision')}"
    elif known.unlike:
        note = ", none of them similar to the brief"
    if (said := knowledge(known, story)).endswith(_NO_CRITIC):
        return [f"{said}."]
    return [f"Written with {count(len(known.shown), 'record')}{note}."]


def candidate(event: events.CandidateReady) -> str:
    notes = {
        "a fresh draft": event.fresh,
        f"breaks the contract: {violations(event.violations)}": event.violations,
        "repaired to keep the contract": event.repaired and not event.violations,
        "rewritten because it mentioned how it was written": event.rewritten,
        f"still mentions how it was written: {', '.join(event.leaks)}": event.leaks,
    }
    return "; ".join((count(event.words, "word"), *(each for each in notes if notes[each])))


DROPPED = {
    "truncated": "it did not come to an end",
    "refused": "the model refused",
    "empty": "the reply was empty",
    "clone": "it is the same as another text",
    "contract": "it breaks a limit",
    "leak": "it says that it is a rewrite",
    "tests": "it does not pass more public tests",
    "metric": "the metric calls it worse than the text so far",
    "number": "the metric gives it no number",
    "added": "it adds what is in neither of the two texts",
    "longer": "it is much longer, and nothing was missing",
    "changed": "it is more than an edit",
    "alike": "it is too much like another text",
    "unlisted": "it was written for the merge alone",
}


def dropped(event: events.CandidateDropped) -> str:
    detail = violations(event.violations) or event.detail
    if event.reason == "clone" and detail:
        return f"left out: it is {detail}"
    return f"left out: {DROPPED[event.reason]}{f' ({detail})' if detail else ''}"


def metric(found: Metric, story: Story) -> str:
    if found.role == "judge":
        return f"{found.evaluate} {_code_votes('metric', story)}"
    reasons = [each.reason for one in story.passes for each in one.dropped]
    worse, without = reasons.count("metric"), reasons.count("number")
    candidates = worse + without + sum(len(one.candidates) for one in story.passes)
    more = f", and {without} for which it gave no number" if without else ""
    return f"{found.evaluate} left out {worse} of {count(candidates, 'candidate')} as worse than A{more}"


def predictor_seat(task: Task, settings: Settings) -> str:
    """That a predictor fills one of the seats, and how often it was right about past pairs; empty where none does."""
    seat = task.knowledge.seat if task.knowledge else None
    if seat is None or not settings.job.is_tournament:
        return ""
    sits = "among the judges who choose sits a predictor"
    fitted = f"{sits} fitted on {seat.records:,} of your outcomes ({seat.predictor})"
    if seat.right is None:
        return f"{fitted}, and no test says how often it is right"
    right = percent_interval(Estimate(seat.right, seat.low, seat.high))
    doubt = "" if seat.verdict == "helps" else f"; its test: {seat.verdict}"
    return f"{fitted}, right on {right} of past pairs{doubt}"


def predictor(story: Story) -> str:
    known = story.task and story.settings and predictor_seat(story.task, story.settings)
    return f"{known}; it {_code_votes('predictor', story)}" if known else ""


def _code_votes(seat: str, story: Story) -> str:
    cast = _code_ballots(seat, story)
    voted = sum(each.ranking is not None for each in cast)
    reasons = Counter(_why_no_vote(each, seat) for each in cast if not each.ranking)
    abstained = "".join(f", in {number} not: {why}" for why, number in reasons.items())
    return (
        f"voted in {voted} of {count(len(cast), 'decision')}{abstained}; its votes choose "
        "and are not evidence, and chance is that of judges ranking at random next to it"
    )


def _code_ballots(seat: str, story: Story) -> list[events.CodeBallot]:
    verdicts = [each.verdict for each in story.steps]
    verdicts += [each.verdict for each in story.panels.values()]
    return [each.code[seat] for each in verdicts if each and seat in each.code]


def _why_no_vote(event: events.CodeBallot, seat: str) -> str:
    if None not in event.values.values():
        return "two texts had the same number"
    # A predictor gives none to what is unlike all that it was fitted on.
    unlike = "a text was far longer or shorter than all it knows"
    return unlike if seat == "predictor" else "a text had no number"


def code_ballot(event: events.CodeBallot, seat: str) -> str:
    return " > ".join(event.ranking) if event.ranking else f"no vote: {_why_no_vote(event, seat)}"


def ballot(event: events.BallotCast) -> str:
    lens = f" ({event.lens})" if event.lens else ""
    lens += " (shown the first draft)" if event.anchored else ""
    again = f", asked {event.asked} times" if event.asked > 1 else ""
    vote = " > ".join(event.ranking) if event.ranking else "no valid ballot"
    marks = [f"{name} {' '.join(f'{x:g}' for x in row)}" for name, row in event.grades.items()]
    vote += f" (grades: {', '.join(marks)})" if marks else ""
    judge, is_reversed = judge_of(event.stage, event.seat)
    vote += ", order reversed" if is_reversed else ""
    checked = f"; {length_check(event)}" if event.check else ""
    return f"judge {judge}{lens}: {vote}{again}{checked}"


def heard(cast: Sequence[events.BallotCast]) -> list[str]:
    """The model of each ballot, without models of which none could be read."""
    read = {each.model for each in cast if each.ranking}
    return [each.model for each in cast if each.model in read]


def length_check(event: events.BallotCast) -> str:
    if event.check is None or event.ranking is None:
        return "no one checked its first place"
    if event.check.only_length is None:
        return "the check of its first place could not be read"
    first, second = event.first_ranking[:2] if event.first_ranking else event.ranking[:2]
    if not event.check.only_length:
        return f"checked, {first} is not first for its length alone"
    return f"{first} was first, for its length alone by the check, and goes behind {second}"


def violations(broken: tuple[Violation, ...]) -> str:
    said = [violation.message for violation in broken]
    return "; ".join([*said[:_SAID], *[f"{len(said) - _SAID} more"] * (len(said) > _SAID)])


def none_keeps(story: Story) -> str:
    """`; none of 11 texts kept them all`; empty where one did, or there is but one."""
    texts = story.breaches
    return f"; none of {len(texts)} texts kept them all" if texts[1:] and all(texts) else ""


def contract(task: Task, broken: tuple[Violation, ...]) -> str:
    if broken:
        return f"broken: {violations(broken)}"
    return f"kept: {' '.join(task.rules(short=True))}" if task.limited else "none was set"


def survival(found: events.Survival | None) -> str:
    if found is None or not found.panels:
        return "no panel sat, so nothing is known"
    usual = decimal(found.expected)
    panels = f"A survived {found.survived} of {count(found.panels, 'panel')}"
    sentence = f"{panels}; judges ranking at random would let it survive {usual}"
    if not found.chance:
        # In fewer passes than that no judges can.
        return sentence
    row = f"{found.required_streak} times in a row" if found.required_streak > 1 else "once"
    return f"{sentence}, and {row} within as many passes in {percent(found.chance)} of runs"


def review(decided: events.ReviewDecided, draft: events.DraftReady | None = None) -> str:
    if decided.winner is None or decided.verdict is None:
        before = "the run goes back to where the review before left it"
        return f"too few valid ballots, so that {before if decided.back else 'the last A stays'}"
    texts = count(len(decided.texts), "text")
    chosen = f"{decided.winner} was chosen among {texts}{weights(decided)}"
    if decided.preferred is None:
        return chosen
    above = f"{decided.preferred} of {count(decided.verdict.ballots, 'ballot')} put it above"
    return f"{chosen}; {above} {first_draft(draft)}, which is not evidence, because these judges chose it"


def reviews(story: Story) -> str:
    """`5 reviews, trend 0.81, 0.64, 0.22: 1 is later texts always before earlier ones; it went back once`."""
    decided = [each.decided for each in story.reviews if each.decided]
    trends = ", ".join(f"{trend:.2f}" for trend in story.trends)
    back = sum(each.back for each in decided)
    went = f"; it went back {count(back, 'time')}" if back else ""
    scale = "1 is later texts always before earlier ones, 0 no order"
    return f"{count(len(decided), 'review')}, trend {trends or 'unknown'} ({scale}){went}"


def weights(decided: events.ReviewDecided) -> str:
    if not decided.weights:
        return ""
    each = listed([f"{judge} {weight:g}" for judge, weight in decided.weights.items()])
    return f", ballots weighted by how often judges were right about your records ({each})"


def length(story: Story) -> str:
    from autoreason.tournament.evidence import longer_preferred_in

    more = count_words(story.text or "") - story.draft.words if story.draft else 0
    share = longer_preferred_in(story)
    if more <= 0 or share.value is None or story.settings is None:
        return ""
    remedy = "model share its taste; a mixed jury (two or more --judge-model) is the remedy"
    if len({*story.settings.models.judges}) > 1:
        remedy = "models share what all of them like; only other models, or people, do not"
    return (
        f"{count(more, 'word')} more than {first_draft(story.draft)}; on these ballots "
        f"{longer(share, count(share.n, 'ballot'))}; fresh judges of the same {remedy}"
    )


def preference(
    found: events.Preference | None,
    origin: str = "",
    draft: events.DraftReady | None = None,
    asked: str = "",
) -> str:
    """How many judges who chose nothing prefer the delivered text to the draft that the passes began with."""
    first = first_draft(draft)
    if origin == "draft":
        return f"{first} itself is what was delivered"
    if found is None and draft and draft.violations:
        return f"{first} breaks the contract, so no judge compared the two"
    if found is None or not found.judges:
        none = f"no fresh judges compared the delivered text with {first}"
        return f"{'too few ballots of fresh judges were valid' if asked else none}, so nothing can be claimed"
    judges = f"{found.prefer} of {count(found.judges, 'fresh judge')}{asked}"
    interval = f"95 % interval {percent_range(found.low, found.high)}"
    even = "an even split is ruled out" if found.low > 0.5 else "an even split is not ruled out"
    shows = "they prefer the draft" if found.high < 0.5 else even
    return f"{judges} prefer the delivered text to {first} ({interval}); {shows}"


def standing(found: events.Alternative) -> str:
    """`before another 83 % (60 to 96) of the time`."""
    share = percent_interval(Estimate(found.share, found.low, found.high))
    known = found.share is not None
    return f"before another {share} of the time" if known else "not ranked by fresh judges"


def evidence(
    found: events.Evidence, story: Story, broken: tuple[Violation, ...], origin: str = ""
) -> list[tuple[str, str]]:
    if found.ballots + found.invalid or found.survival or found.unopposed:
        survived = found.survival or not found.ballots
        judged = [("Survival", survival(found.survival))] if survived else []
        if story.settings and story.settings.judges == 1:
            judged.append(("Panel", ONE_VOTE))
        judged.append(("Agreement", agreement(found.agreement)))
        if len(story.reviews) > 1:
            judged.append(("Reviews", reviews(story)))
        if story.closing_review:
            judged.append(("Review", review(story.closing_review, story.draft)))
        several = story.alternatives
        fresh = story.panels.get(ALTERNATIVES if several else CONFIRMATION)
        cast = fresh.ballots if fresh else []
        asked = f" ({jury(heard(cast) or [each.model for each in cast])})" if cast else ""
        compared = preference(found.preference, origin, story.draft, asked)
        if story.is_draft_preferred:
            compared = f"fresh judges{asked} preferred {first_draft(story.draft)}, which is therefore delivered"
        if several:
            shares = "; ".join(f"{each.name} {standing(each)}" for each in several.texts)
            compared = f"fresh judges{asked} put them: {shares} (95 % for all)"
        judged.append(("Confirmation", compared))
        judged += [("Length", taste)] if (taste := length(story)) else []
    else:
        judged = [("Evidence", UNJUDGED)]
    rules = [("Contract", contract(story.task, broken))] if story.task else []
    position = positions(found.first_places)
    rows = [*judged, *([("Position", position)] if position else []), *rules]
    leaks = "none found: no candidate has a known sign of how it was written"
    if found.leaks:
        leaks = f"{count(found.leaks, 'candidate')} with a leak went to a panel"
    rows.append(("Leaks", leaks))
    if found.ties:
        voted = story.settings and story.settings.judges and not story.settings.ties_survive
        worth = ", which confirms nothing" if voted else ""
        rows.append(("Ties", f"{count(found.ties, 'panel')} had a tie at the top{worth}"))
    invalid = f"{found.invalid} of {found.ballots + found.invalid} ballots not valid"
    counted = (
        (found.inconclusive, "pass", "passes", "inconclusive"),
        (found.unopposed, "pass", "passes", "unopposed"),
        (found.dropped_quotes, "criticism", "", "with a made-up quote"),
        (found.miscited, "criticism", "", "with a made-up record or figure"),
    )
    left_out = [invalid] if found.invalid else []
    left_out += [f"{count(n, one, several)} {what}" for n, one, several, what in counted if n]
    left_out += _dropped_texts(story)
    return [*rows, ("Left out", "; ".join(left_out))] if left_out else rows


def _dropped_texts(story: Story) -> list[str]:
    """`AB in 12 of 12 passes`, for candidates that never came to a ballot in a pass although they were to."""
    found: Counter[str] = Counter()
    for each in story.passes:
        dropped = {text.slot for text in each.dropped if text.reason != "unlisted"}
        found.update(dropped - each.candidates.keys())
    return [f"{slot} in {found[slot]} of {len(story.passes)} passes" for slot in sorted(found)]


def passes_table(passes: Sequence[events.PassDecided]) -> Table:
    measured = figures("margin", "by chance", "ballots", "words")
    columns = [*figures("pass"), *words("winner", "points"), *measured]
    rows = []
    for each in passes:
        judged = [UNKNOWN] * 4
        if verdict := each.verdict:
            margin = "tie" if verdict.tied else str(verdict.margin)
            cast = " + ".join([str(verdict.ballots), *code_voters(verdict)])
            judged = [scores(verdict.scores), margin, percent(verdict.chance), cast]
        rows.append((str(each.number), each.winner or "inconclusive", *judged, f"{each.words:,}"))
    return Table(columns, rows)
