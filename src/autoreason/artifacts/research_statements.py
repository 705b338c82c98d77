"""What happens in research, and what it shows, in plain sentences."""

from __future__ import annotations

from math import floor, inf, isfinite, log10
from statistics import mean
from typing import TYPE_CHECKING

from autoreason.artifacts.end_test import MIN_PAIRS
from autoreason.report.numbers import count, duration, shorten

if TYPE_CHECKING:
    from autoreason.artifacts.end_test import EndResult
    from autoreason.artifacts.research_history import ResearchHistory
    from autoreason.artifacts.research_task import ResearchTask
    from autoreason.artifacts.trial_events import (
        Effect,
        EndTested,
        FinalistsMeasured,
        NoiseMeasured,
        TrialDecided,
    )

_NORMAL = 1.96
_MAX_DIGITS = 12
_LONG = 1e15
"""From here on numbers are written with a power of ten."""
_MAX_IDEA = 100
WORSE = "the result is worse than the start, keep that"
SELECTION = "which is selection, do not quote it"
_NO_SELECTION = "on the evaluations that chose the result, do not quote it"
"""Said where the end test shows no less, so that selection has not flattered it."""


def figure(value: float, reach: float = 0.0) -> str:
    """A number with as many digits as its uncertainty leaves; six where there is none."""
    digits = max(0, 1 - floor(log10(reach))) if reach and isfinite(reach) else inf
    if digits > _MAX_DIGITS or abs(value) >= _LONG:
        return f"{value:z.6g}"
    return f"{value:z,.{digits}f}"


def signed(value: float, reach: float = 0.0) -> str:
    """The same with its sign."""
    text = figure(value, reach)
    return text if text.startswith("-") or not text.strip("0.,") else f"+{text}"


def gain(value: float, low: float, high: float) -> str:
    """`+0.021 (0.009 to 0.033)`."""
    reach = (high - low) / 2
    if not reach or not isfinite(reach):
        return signed(value)
    return f"{signed(value, reach)} ({figure(low, reach)} to {figure(high, reach)})"


def effect(found: Effect) -> str:
    """An effect with its interval of 95 %."""
    reach = _NORMAL * found.error
    return gain(found.value, found.value - reach, found.value + reach)


def noise_floor(event: NoiseMeasured, metric: str = "") -> str:
    """What looks at the start gave, and how much they differ."""
    looks = count(len(event.values), "evaluation")
    takes = f"{duration(event.seconds)} each"
    average = mean(event.values)
    metric = f"{metric} " if metric else ""
    if len(event.values) == 1:
        return f"one evaluation of the start: {metric}{figure(average)}, {takes}"
    if not event.spread:
        shows = "on items drawn anew, which may be chance" if event.drawn else "no noise was seen"
        return f"{looks} of the start all gave {metric}{figure(average)}: {shows}, {takes}"
    return (
        f"{looks} of the start: {metric}{figure(average, event.spread)} on average, "
        f"spread {figure(event.spread, event.spread)}, {takes}"
    )


def decision(event: TrialDecided) -> str:
    """What became of a proposal."""
    if event.effect is None or event.status in ("failed", "guarded"):
        return _with_reason(event.status, event.reason)
    return f"{event.status}: {effect(event.effect)}, {count(event.effect.looks, 'look')}"


def reason_beside(status: str, reason: str) -> str:
    """Why a proposal was decided so, where its status is said beside it."""
    return _with_reason(status, reason).removeprefix(f"{status}: ")


def _with_reason(status: str, reason: str) -> str:
    # Reasons are in the record as proposers read them, "it failed: ..." among them.
    return f"{status}: {reason}".replace("failed: it failed", "failed")


def idea(event: TrialDecided) -> str:
    """What a proposal tries, in one line."""
    return shorten(event.hypothesis, _MAX_IDEA) or shorten(
        ", ".join(event.changes) or "no change", _MAX_IDEA
    )


def artifact(trial: int) -> str:
    """The artifact after a trial, in words."""
    return f"trial {trial}" if trial else "the start"


def finalists(event: FinalistsMeasured) -> str:
    """Which of the finalists fresh looks prefer."""
    known = [each for each in event.means if each is not None]
    apart = max(known) - min(known) if known else 0.0
    means = ", ".join(
        f"{artifact(trial)} {'no number' if value is None else figure(value, apart / 10)}"
        + (f", which breaks a guard ({event.broken[trial]})" if trial in event.broken else "")
        for trial, value in zip(event.trials, event.means, strict=True)
    )
    looks = count(event.looks, "fresh evaluation")
    return f"{artifact(event.chosen)} chosen, by {looks} each: {means}"


def where_tested(event: EndTested) -> str:
    """On what the end test was made."""
    return "sealed items" if event.sealed else "fresh evaluations"


def end_test(history: ResearchHistory) -> str:
    """What the end test shows."""
    event, found = history.end, history.end_result
    assert event is not None
    if found is None:
        return f"nothing: {no_number(event)}"
    if event.broken:
        return f"nothing: {_breaks(event)}"
    pairs = count(found.n, "pair")
    if found.deterministic:
        return f"{_against(history, found)}, the same in every one of {pairs}"
    if not isfinite(found.low):
        return f"nothing: {_too_few(found)} a gain"
    return f"{_against(history, found)} over {pairs}{_looks_of(history)}, 95 % interval"


def _looks_of(history: ResearchHistory) -> str:
    """How many sealed items one look has; empty of fresh ones."""
    assert history.end is not None
    if not history.end.sealed:
        return ""
    least, more = divmod(history.research.sealed, len(history.end.start))
    items = count(least, "item") if not more else f"{least} or {least + 1} items"
    return f" of looks at {items} each"


def no_number(event: EndTested) -> str:
    """Why an end test has no result."""
    failures = sum(value is None for value in event.result)
    looks = count(
        len(event.result),
        f"evaluation on {where_tested(event)}",
        "evaluations on " + where_tested(event),
    )
    if failures:
        return f"the result gave no number in {failures} of {looks}"
    return f"the start gave no number in {looks}"


def _breaks(event: EndTested) -> str:
    return f"the result breaks a guard on {where_tested(event)}: {event.broken}"


def _against(history: ResearchHistory, found: EndResult) -> str:
    assert history.end is not None
    start = f"{_start(history)}," if history.forked_from else "start"
    text = f"result against {start} on {where_tested(history.end)} {gain(found.gain, found.low, found.high)}"
    return f"{text}{_unit(history.research)}"


def _start(history: ResearchHistory) -> str:
    """What a claim is against, which is not what a fork's patch leads from."""
    fork = f" of this fork, which is the result of {history.forked_from}"
    return f"the start{fork if history.forked_from else ''}"


def _unit(research: ResearchTask) -> str:
    return f" as a fall in {research.metric}" if research.better == "lower" else ""


def conclusion(history: ResearchHistory, ending: str, *, accepted: bool = False) -> str:
    """What is claimed of a run that has ended, and on what it rests; else that nothing is."""
    tried = _tried(history)
    if accepted:
        return (
            f"{artifact(history.result)} was accepted by a person before the end test, "
            f"so no gain is claimed; {tried}{_loop_gain(history)}"
        )
    if ending:
        none = "no end test was made yet" if history.kept else "there is nothing to test yet"
        return f"{ending}; {none}, so no gain is claimed; {tried}"
    if history.end is None:
        return f"{_only_start(history)}; {tried}"
    return "; ".join(filter(None, [_claim(history), tried, _idle(history), *_remarks(history)]))


def _only_start(history: ResearchHistory) -> str:
    broken = history.playoff.broken if history.playoff else {}
    if broken:
        guards = ", ".join(
            f"{artifact(trial)} breaks a guard ({broken[trial]})" for trial in broken
        )
        return f"no gain: in the playoff {guards}, so the result is {_start(history)}{_loop_gain(history)}"
    if history.kept:
        return (
            "no gain: in the playoff, fresh evaluations preferred the start to what was kept, "
            f"so the result is {_start(history)}{_loop_gain(history)}"
        )
    if not history.trials and history.research.target is not None:
        return (
            f"{_start(history)}{',' if history.forked_from else ''} reaches the target of "
            f"{figure(history.research.target)} already, "
            "so nothing was asked and it is the result"
        )
    return f"no gain: no change was kept, so the result is {_start(history)}"


def _claim(history: ResearchHistory) -> str:
    """The one number that is claimed, or why none is; and what the loop itself saw."""
    assert history.end is not None
    found, saw = history.end_result, _loop_gain(history)
    if found is None:
        return f"no gain is claimed: {no_number(history.end)}{saw}"
    if history.end.broken:
        return f"no gain is claimed: {_breaks(history.end)}{saw}"
    if not isfinite(found.low):
        worse = ", and there the result is worse than the start, keep that" if found.worse else ""
        return f"no gain is claimed: {_too_few(found)} one{worse}{saw}"
    against = _against(history, found)
    if found.deterministic:
        return _exact(history, found, against)
    if found.shown:
        return f"{against}{saw}"
    if found.worse:
        return f"{WORSE}: {against}{saw}"
    return f"no gain is shown: {against}{saw}"


def _too_few(found: EndResult) -> str:
    return f"{count(found.n, 'pair')} of evaluations, and {MIN_PAIRS} are needed to show"


def _exact(history: ResearchHistory, found: EndResult, against: str) -> str:
    """A claim without chance; on the items that chose the result it is none about others."""
    always = f"{against}, the same in every one of {count(found.n, 'pair')}"
    if found.gain <= 0:
        return f"{WORSE if found.worse else 'no gain'}: {always}"
    if not history.claimed:
        return (
            f"{always}, but on the items that chose it: "
            "nothing is claimed of others; name `sealed` items in the task"
        )
    if history.research.sealed:
        # Every look had items of its own, so that equal numbers do not show that there is no noise.
        return always
    looks = count(history.evaluations, "evaluation")
    return f"{always}; no noise was seen in {looks}"


def _loop_gain(history: ResearchHistory) -> str:
    """What the loop itself saw of the result, which was chosen for it."""
    seen = loop_gain(history)
    if seen is None:
        return ""
    found = history.end_result
    less = found is not None and seen <= found.gain
    saw = f"; the loop itself saw {signed(seen, history.spread or abs(seen))}"
    return f"{saw} {_NO_SELECTION}" if less else f"{saw}, {SELECTION}"


def loop_gain(history: ResearchHistory) -> float | None:
    """All looks of the search at the result against those at the start; None where nothing was kept."""
    kept = [trial for trial in history.kept if trial.number == history.result] or history.kept[-1:]
    if not kept or not kept[0].values or history.noise is None:
        return None
    # What no later trial was compared with has the looks it was kept for.
    seen = history.looks_at(kept[0].number).values() or kept[0].values
    start = history.looks_at(0).values() or history.noise.values
    # Rounded once each: equal numbers differ by nothing.
    return history.research.sign * (mean(seen) - mean(start))


def _tried(history: ResearchHistory) -> str:
    kept = len(history.kept)
    return f"{count(len(history.trials), 'proposal')}, {kept if kept else 'none'} kept"


def _idle(history: ResearchHistory) -> str:
    """How many keeps do nothing at least, as far as this noise lets one say."""
    trials = history.delivered.trials
    if history.idle is None or not any(each.effect and each.effect.error for each in trials):
        return ""
    return idle_keeps(history.idle, len(trials), len(history.kept))


def idle_keeps(idle: int, used: int, kept: int) -> str:
    """How many of the keeps in the result do nothing or harm, in words; empty where it may be none."""
    if not idle:
        return ""
    if used == 1:
        return f"{'it' if kept == 1 else 'the one in the result'} probably did not help"
    them = "them" if used == kept else f"the {used} in the result"
    return f"at least {idle} of {them} probably did not help"


def _remarks(history: ResearchHistory) -> list[str]:
    assert history.end is not None
    found, event = history.end_result, history.end
    remarks = []
    if found and not found.deterministic and isfinite(found.least):
        least = figure(found.least, found.least)
        remarks.append(f"such a test shows a gain of {least} four times in five")
    if history.claimed and found:
        pairs = count(found.n, "pair")
        rare = f"in fewer than {100 * found.unseen:.0f} % of evaluations"
        remarks.append(f"{pairs} would not surely show a result that collapses {rare}")
    if found and found.n < len(event.start):
        missing = len(event.start) - found.n
        remarks.append(f"{count(missing, 'pair')} left out, because the start gave no number there")
    if event.opened > 1:
        remarks.append(f"the sealed set has been opened {event.opened} times")
    if history.unchecked:
        remarks.append("the evaluator was not checked: the artifact may have written its own score")
    return remarks
