"""The report of a research run: every way in which it can end, from events made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from tests.artifacts.knob import research_settings, research_task
from tests.cases import cases

from autoreason.artifacts.acceptance import Effect
from autoreason.artifacts.research_history import (
    EndTested,
    FinalistsMeasured,
    NoiseMeasured,
    TrialDecided,
    figure,
    show_gain,
    signed,
)
from autoreason.artifacts.research_report import ResearchReport, describe_idle, research_report
from autoreason.events import AnyEvent, JobFinished, RunPaused, RunStarted
from autoreason.story import Story, build_story

DONE = JobFinished(reason="200 evaluations used")
EXACT = NoiseMeasured(values=(1.0,) * 3, spread=0.0, seconds=0.1)
NOISE = NoiseMeasured(values=(0.70, 0.71, 0.69, 0.705, 0.695), spread=0.008, seconds=2.0)


def trial(number: int, status: Any = "dropped", **fields: Any) -> TrialDecided:
    """A trial; one that was measured has an effect."""
    known: dict[str, Any] = {"incumbent": 0, "by": "model", "hypothesis": f"idea {number}"}
    if status in ("kept", "dropped"):
        value = 0.02 if status == "kept" else -0.01
        known |= {
            "effect": Effect(value=value, error=0.006, evaluations=3, against=6),
            "values": (0.70 + value,) * 3,
            "changes": {"knob.txt": f"knob = {number}\n"},
            "evaluations": 4,
        }
    return TrialDecided(number=number, status=status, **{"reason": "a reason", **known, **fields})


def end_of(
    result: Sequence[float | None], start: Sequence[float | None], **fields: Any
) -> EndTested:
    """An end test of trial 2 on fresh evaluations."""
    given: dict[str, Any] = {"trial": 2, "sealed": False, **fields}
    return EndTested(result=tuple(result), start=tuple(start), **given)


FRESH = end_of(
    (0.72, 0.73, 0.725, 0.722, 0.731, 0.719, 0.724, 0.729),
    (0.70, 0.70, 0.710, 0.699, 0.702, 0.703, 0.698, 0.707),
)
RAISED = trial(
    1, "kept", effect=Effect(value=2.0, error=0.0, evaluations=1, against=3), values=(3.0,)
)


def story_of(*events: AnyEvent, **task: Any) -> Story:
    """The story of a run with these events."""
    started = RunStarted(
        task=research_task(**task), settings=research_settings(), prompts={}, version="1"
    )
    return build_story([started, *events])


def report_of(*events: AnyEvent, **task: Any) -> ResearchReport:
    """The report on them."""
    return research_report(story_of(*events, **task))


SEARCH = (NOISE, trial(1, "kept"), trial(2, "kept", incumbent=1), trial(3), trial(4, "refused"))


def test_a_gain_is_claimed_from_the_end_test_alone_with_what_the_loop_saw_next_to_it() -> None:
    report = report_of(*SEARCH, FRESH, DONE)
    assert report.conclusion.startswith("result against start on fresh evaluations +0.0226 (0.0")
    saw = "the loop itself saw +0.0200 on the evaluations that chose the result, do not quote it"
    assert saw in report.conclusion
    assert "4 proposals, 2 kept, " not in report.conclusion
    assert "4 proposals, 2 kept; such a test shows" in report.conclusion
    assert "such a test shows a gain of 0.0" in report.conclusion
    assert report.conclusion.endswith(
        " four times in five; "
        "8 pairs would not surely show a result that collapses in fewer than 37 % of evaluations"
    )
    assert report.gain
    assert report.gain.shown


def test_it_ends_in_five_lines_whatever_there_is_to_check() -> None:
    kept = trial(1, "kept", shared=2), trial(2, "kept", incumbent=1)
    *others, first, last = report_of(NOISE, *kept, FRESH, DONE, unchecked="x").summary("took")
    assert len(others) == 3
    assert first.startswith("Check it: the evaluator was not checked: ")
    assert last.startswith("8 pairs would not surely show a result that collapses in fewer than ")
    assert last.endswith(" · more: see show --evidence")


LOST = end_of(FRESH.start, FRESH.result)
GUARD = "p50_ms is 7, the guard is <= 5"
PLAYOFF = FinalistsMeasured(trials=(0, 1, 2), means=(0.71, 0.70, None), evaluations=4, chosen=0)
SEALED = replace(FRESH, sealed=True, opened=1)
NOT_YET = "no end test was made yet, so no gain is claimed"


@cases(
    ("events", "task", "parts"),
    [
        (
            (*SEARCH, end_of((0.71, 0.69, 0.72) * 2, (0.70, 0.705, 0.70) * 2), DONE),
            {},
            ["no gain is shown: result against start on fresh", "such a test shows a gain of "],
        ),
        (
            (*SEARCH, LOST, DONE),
            {},
            ["the result is worse than the start, keep that: result against start on fresh"],
        ),
        (
            (NOISE, trial(1), trial(2, "failed"), DONE),
            {},
            ["no gain: no change was kept, so the result is the start; 2 proposals, none kept"],
        ),
        (
            (*SEARCH, end_of((0.8, None, 0.8, 0.8), (0.7, 0.7, 0.71, 0.7)), DONE),
            {},
            ["no gain is claimed: the result gave no number in 1 of 4 evaluations on fresh"],
        ),
        (
            (*SEARCH, end_of((0.8,) * 4, (0.7, None, 0.71, 0.7)), DONE),
            {},
            ["3 pairs of ev", "1 pair left out, because the start gave no number there"],
        ),
        (
            (*SEARCH, end_of((0.8, 0.8), (None, None)), DONE),
            {},
            ["the start gave no number in 2 evaluations"],
        ),
        (
            (*SEARCH, replace(FRESH, broken=GUARD), DONE),
            {},
            [f"no gain is claimed: the result breaks a guard on fresh evaluations: {GUARD}; "],
        ),
        (
            (*SEARCH, replace(PLAYOFF, broken={2: GUARD}), DONE),
            {},
            [f"in the playoff trial 2 breaks a guard ({GUARD})"],
        ),
        (
            (*SEARCH, PLAYOFF, DONE),
            {},
            ["no gain: in the playoff fresh evaluations preferred", "which is selection"],
        ),
        (
            (*SEARCH, end_of((0.711, 0.712), (0.7, 0.7)), DONE),
            {},
            ["the loop itself saw +0.0200, which is selection, do not quote it"],
        ),
        (
            (*SEARCH, JobFinished(reason="a person accepted the files", status="accepted")),
            {},
            ["trial 2 was accepted by a person before the end test, so no gain is claimed; 4"],
        ),
        ((*SEARCH, SEALED, DONE), {"sealed": 8}, ["result against start on sealed items +0.0226"]),
        (
            (*SEARCH, replace(SEALED, opened=2), DONE),
            {"sealed": 8},
            ["the sealed set has been opened 2 times"],
        ),
        (
            (*SEARCH, LOST, DONE),
            {"better": "lower", "metric": "seconds"},
            ["+0.0226", ") as a fall in seconds; the loop itself saw -0.0200"],
        ),
        ((), {}, ["there is nothing to test yet, so no gain is claimed"]),
        ((NOISE,), {}, ["there is nothing to test yet, so no gain is claimed"]),
        (SEARCH, {}, [NOT_YET]),
        ((*SEARCH, RunPaused(status="budget", reason="$5 used")), {}, [NOT_YET]),
    ],
)
def test_every_end_has_its_sentence(
    events: tuple[AnyEvent, ...], task: dict[str, Any], parts: list[str]
) -> None:
    report = report_of(*events, **task)
    assert all(part in report.conclusion for part in parts)
    assert report.claimed is ("+0.0226" in report.conclusion)
    assert report.to_text()
    ends = (JobFinished, RunPaused)
    assert all(each.line for each in events if not isinstance(each, ends))


def test_what_the_loop_saw_is_the_mean_of_all_evaluations_at_the_result_and_at_the_start() -> None:
    start = dict(enumerate((*NOISE.values, 0.64)))
    first = trial(1, "kept", record=start)
    again = trial(2, incumbent=1, record={3: 0.72, 4: 0.72, 5: 0.72, 8: 0.66, 9: 0.68})
    report = report_of(NOISE, first, again, DONE)
    assert report.loop_gain == pytest.approx(0.70 - 0.69)


def test_without_noise_the_difference_is_exact_and_claims_nothing_of_other_items() -> None:
    end = end_of((3.0,) * 6, (1.0,) * 6, trial=1)
    report = report_of(EXACT, RAISED, end, DONE)
    assert report.conclusion == (
        "result against start on fresh evaluations +2, the same in every one of 6 pairs; "
        "no noise was seen in 19 evaluations; 1 proposal, 1 kept; "
        "6 pairs would not surely show a result that collapses in fewer than 46 % of evaluations"
    )
    assert report.idle == 0
    assert report.claimed
    on_items = report_of(EXACT, RAISED, end, DONE, items=20)
    assert "on the items that chose it: nothing is claimed of others" in on_items.conclusion
    assert not on_items.claimed
    opened = replace(end, sealed=True)
    sealed = report_of(EXACT, RAISED, opened, DONE, items=20, sealed=8)
    assert sealed.claimed
    assert "+2, the same in every one of 6 pairs; " in sealed.conclusion
    five = end_of((3.0,) * 5, (1.0,) * 5, trial=1, sealed=True)
    few = report_of(EXACT, RAISED, five, DONE, items=20, sealed=5)
    assert not few.claimed
    assert few.conclusion.startswith(
        "no gain is claimed: 5 pairs of evaluations, and 6 are needed to show one;"
    )
    assert few.test == "nothing: 5 pairs of evaluations, and 6 are needed to show a gain"


@pytest.mark.parametrize("sealed", [0, 4, 8])
def test_without_noise_a_result_that_is_worse_is_said_to_be_worse(sealed: int) -> None:
    end = end_of((0.0,) * 6, (1.0,) * 6, trial=1, sealed=bool(sealed))
    report = report_of(EXACT, RAISED, end, DONE, items=20, sealed=sealed)
    assert "the result is worse than the start, keep that" in report.conclusion
    assert not report.claimed


@pytest.mark.parametrize(
    "seen",
    [
        trial(2, incumbent=1, values=(3.1, 2.9)),
        trial(2, incumbent=1, values=(2.0,), record={0: 3.0, 1: 3.0, 2: 3.3}),
    ],
)
def test_noise_that_only_trials_saw_is_in_the_interval_of_equal_pairs(seen: TrialDecided) -> None:
    end = end_of((3.0,) * 6, (1.0,) * 6, trial=1)
    report = report_of(EXACT, RAISED, seen, end, DONE)
    assert "exactly" not in report.conclusion
    assert report.gain
    assert report.gain.low < 2.0 < report.gain.high
    assert report.claimed


def test_the_sections_show_noise_search_reasons_playoff_test_and_flags() -> None:
    text = report_of(
        *SEARCH,
        trial(5, "kept", incumbent=2, shared=2),
        trial(6, "guarded", reason="p50_ms is 9, <= 5 is asked for"),
        FRESH,
        DONE,
    ).to_text()
    for expected in (
        "5 evaluations of the start: score 0.7000 on average, spread 0.0080, 2 s each",
        "6 proposals: 3 kept, 1 dropped, 1 refused, 1 guarded; 37 evaluations",
        "1 × a reason",
        "1 × p50_ms is 9",
        "trial 5 was kept and shares 2 runs of eight words with items",
        "gain as measured",
        "without luck",
        "idea 2",
    ):
        assert " ".join(expected.split()) in " ".join(text.split())


def test_kept_changes_are_shown_as_measured_and_shrunken() -> None:
    report = report_of(*SEARCH, *(trial(each) for each in range(5, 30)), FRESH, DONE)
    for row in report.kept:
        assert row.effect
        assert row.shrunken is not None
        assert 0 < row.shrunken < row.effect.value


def test_the_report_is_a_page_with_a_picture_and_plain_values_with_the_claim_first() -> None:
    wicked = trial(5, hypothesis="<script>alert(1)</script>")
    page = report_of(*SEARCH, wicked, FRESH, DONE).to_html()
    assert "What was kept, step by step" in page
    assert "Result against start" in page
    assert "<script>alert" not in page
    assert page.count("idea") >= 6
    markdown = report_of(*SEARCH, wicked, FRESH, DONE).to_markdown()
    assert "± 0.0091" in markdown, "the numbers behind the chart"
    values = report_of(*SEARCH, FRESH, DONE).to_dict()
    assert next(iter(values)) == "conclusion"
    assert values["gain"]["gain"] == pytest.approx(0.0226, abs=0.0005)
    assert values["statuses"] == {"kept": 2, "dropped": 1, "refused": 1}
    assert "knob = 2" not in str(values)


def test_what_is_lost_on_sealed_items_is_not_called_luck() -> None:
    fresh = report_of(*SEARCH, LOST, DONE)
    assert fresh.idle == 2
    assert "without luck" in fresh.to_text()
    sealed = report_of(*SEARCH, replace(LOST, sealed=True, opened=1), DONE, sealed=8)
    assert sealed.idle is None
    assert "did not help" not in sealed.conclusion
    assert "luck" not in sealed.to_text()
    assert "scaled to end test" in sealed.to_text()


@cases(
    ("text", "expected"),
    [
        (show_gain(0.0212, 0.0092, 0.0332), "+0.021 (0.009 to 0.033)"),
        (show_gain(-0.0001, -0.02, 0.0198), "0.000 (-0.020 to 0.020)"),
        (show_gain(1234.5, 1000.2, 1468.8), "+1,234 (1,000 to 1,469)"),
        (show_gain(0.5, 0.5, 0.5), "+0.5"),
        (signed(0.0), "0"),
        (figure(2.635983), "2.63598"),
        (figure(1e-9, 1e-10), "0.00000000100"),
        (figure(1e-14, 1e-15), "1e-14"),
        (figure(2.5e160, 0.1), "2.5e+160"),
        (figure(-0.0), "0"),
        (describe_idle(4, 9, 9), "at least 4 of them probably did not help"),
        (describe_idle(1, 1, 1), "it probably did not help"),
        (describe_idle(1, 1, 3), "the one in the result probably did not help"),
        (describe_idle(1, 5, 9), "at least 1 of the 5 in the result probably did not help"),
    ],
)
def test_numbers_have_the_digits_that_their_uncertainty_leaves(text: str, expected: str) -> None:
    assert text == expected


@pytest.mark.parametrize(("sealed", "items"), [(48, "8 items"), (49, "8 or 9 items")])
def test_the_end_test_says_how_many_sealed_items_a_evaluation_has(sealed: int, items: str) -> None:
    end = end_of((0.7, 0.8, 0.9) * 2, (0.6,) * 3 + (0.7,) * 3, sealed=True, opened=1)
    report = report_of(*SEARCH, end, DONE, sealed=sealed)
    assert report.test.endswith(f"over 6 pairs of evaluations on {items} each, 95 % interval")
