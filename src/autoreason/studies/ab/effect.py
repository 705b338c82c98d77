"""What runs gain on readers: few of them tested, many judged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from msgspec import Struct
from msgspec.structs import replace

from autoreason.knowledge.standing import one_line
from autoreason.knowledge_records import Record
from autoreason.report.numbers import count, listed, percent_interval, points
from autoreason.stats.power import MIN_MEASURED, prediction_powered_mean
from autoreason.stats.results import Estimate
from autoreason.stats.shares import exact_share
from autoreason.story import CONFIRMATION, Story

_NAMED = 3
"""So many runs of a kind are named in a sentence."""
Values = Mapping[str, Mapping[str, float]]
"""What texts came to by group, more is better."""


class AbEffect(Struct, frozen=True, kw_only=True):
    """How much better results do than first drafts, over runs."""

    tests: int
    """Runs of which both texts were tried on readers."""
    judged: int
    """Further runs, which only fresh judges compared."""
    unchanged: int = 0
    """Runs that delivered their first draft: each gains 0, and the estimates are over them, too."""
    better: Estimate
    """The share of tests in which the result did better."""
    alone: Estimate
    """The gain from tests alone; no interval where they are too few."""
    joined: Estimate
    """From tests and judges (prediction-powered inference); the same where judges do not predict tests."""
    weight: float
    """How far a judgement counts: points for every point of judges who prefer the result."""
    left_out: dict[str, tuple[str, ...]] = {}
    """Runs of which result and draft were not compared, by the reason."""

    @property
    def statement(self) -> str:
        """The effect in a sentence, with what was left out."""
        left = "".join(f"; left out: {_named(runs)}, {why}" for why, runs in self.left_out.items())
        return f"{self._effect}{left}"

    @property
    def _effect(self) -> str:
        tests, judged = count(self.tests, "test"), count(self.judged, "judged run")
        same = count(
            self.unchanged, "more run that delivered its draft", "more that delivered theirs"
        )
        same = f"; {same}, a gain of 0" if self.unchanged else ""
        chance = "true of other runs only where chance chose what was tested"
        if self.joined.low is None:
            won = round((self.better.value or 0) * self.tests)
            share = f", {percent_interval(self.better)}; {chance}" if self.tests else ""
            more = f", and what {judged} add to that," if self.judged else ""
            return (
                f"the result did better than the first draft in {won} of {tests}{share}{same}; what results gain on "
                f"average{more} is said from {MIN_MEASURED} tests on: where few runs carry most of the gain, "
                "fewer tests can miss them all"
            )
        found = f"{points(self.alone)} points over the first draft, from {tests} alone"
        if self.weight:
            found = f"{points(self.joined)} points over the first draft, from {tests} and {judged}; {found}"
        elif self.judged:
            found = (
                f"{found}: {judged} more add nothing, for judges do not predict tests beyond chance"
            )
        return f"{found}{same}{', counted in' if same else ''}; {chance}"


def effect_over_runs(
    stories: Iterable[tuple[str, Story]], records: Iterable[Record], metric: str = "rate"
) -> AbEffect:
    """The effect from named runs whose fresh judges compared result and draft, and from records of those tested.

    Texts that were picked say nothing of others. Runs that wrote the same two texts are one.
    """
    values: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for each in records:
        result = each.result
        if result and result.metric.casefold() == metric.casefold() and each.chosen != "picked":
            sign = 1 if result.better == "higher" else -1
            values[one_line(each.text)][each.group] = sign * result.value
    measured, predicted, unchanged = [], [], 0
    left_out: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
    seen: set[tuple[str, str]] = set()
    for name, story in stories:
        confirmed, texts = story.confirmation, _texts(story)
        is_unchanged = _is_compared(story) and texts[0] == texts[1]
        if not (confirmed or is_unchanged):
            left_out[_why_left_out(story)] += (name,)
            continue
        if texts in seen:
            continue
        seen.add(texts)
        if is_unchanged:
            unchanged += 1
        elif confirmed:
            share = confirmed.prefer / confirmed.judges
            gain = _gain(texts, values)
            if gain is None:
                predicted.append(share)
            else:
                measured.append((gain, share))
    found = prediction_powered_mean(measured, predicted)
    changed = len(measured) + len(predicted)
    # How many are unchanged is known of all, not of those tested: among measurements they would count too much.
    part = changed / (changed + unchanged) if changed else 1.0
    return AbEffect(
        tests=len(measured),
        judged=len(predicted),
        unchanged=unchanged,
        better=exact_share(sum(gain > 0 for gain, _ in measured), len(measured)),
        alone=_scale(found.alone, part),
        joined=_scale(found.joined, part),
        weight=found.weight,
        left_out=dict(left_out),
    )


def _why_left_out(story: Story) -> str:
    """Why no fresh judges compared result and draft."""
    if story.delivered is None:
        return "no text was delivered"
    if story.incumbents and not story.incumbents[0].keeps_contract:
        return "the first draft breaks the contract, so no judge compared it with the result"
    if CONFIRMATION in story.panels:
        return "too few ballots of fresh judges were valid"
    return "no fresh judges were asked (`confirmation`)"


def _named(runs: Sequence[str]) -> str:
    names = list(runs[:_NAMED])
    more = len(runs) - len(names)
    return listed([*names, f"{more:,} more"] if more else names)


def _texts(story: Story) -> tuple[str, str]:
    """The result and the first draft."""
    draft = story.incumbents[0].text if story.incumbents else ""
    return one_line(story.text or ""), one_line(draft)


def _is_compared(story: Story) -> bool:
    """Whether a run has ended and would have asked fresh judges, had its result not been its draft."""
    return bool(story.delivered and story.settings and story.settings.confirmation)


def _scale(found: Estimate, by: float) -> Estimate:
    value, low, high = (
        None if each is None else each * by for each in (found.value, found.low, found.high)
    )
    return replace(found, value=value, low=low, high=high)


def _gain(texts: tuple[str, str], values: Values) -> float | None:
    """What readers made of the result, less of the first draft, over tests of both; None where there is none."""
    result, draft = (values.get(text, {}) for text in texts)
    gains = [result[group] - draft[group] for group in result.keys() & draft.keys()]
    return fmean(gains) if gains else None
