"""A run's texts tried on real readers: from the plan to what is known afterwards."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from textwrap import wrap
from typing import Any

import pytest

from autoreason import refine
from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.events import CandidateReady, Incumbent
from autoreason.journal import Journal
from autoreason.knowledge.folder import read_folder
from autoreason.run.knowledge import plan_ab, report_ab
from autoreason.run.result import Result
from autoreason.stats.power import sample_size
from autoreason.story import RecordedPass, Story
from autoreason.studies.ab import AbPlan, plan_of, read_plan, report_of
from autoreason.task import Task


@pytest.fixture
def result(journal: Journal) -> Result:
    return refine("Explain tides.", "echo/echo", passes=4, k=9, seed=2, journal=journal)


@pytest.fixture
def plan(result: Result, journal: Journal, tmp_path: Path) -> AbPlan:
    found = plan_ab(result, texts=3, base=0.2, lift=0.2, journal=journal)
    found.write(tmp_path / "test")
    return found


def fill_in(folder: Path, counts: dict[str, tuple[int, int]]) -> Path:
    lines = ["code,n,count", *(f"{code},{n},{count}" for code, (count, n) in counts.items())]
    (folder / "results.csv").write_text("\n".join(lines))
    return folder / "results.csv"


def test_a_plan_is_blind_complete_and_not_written_over(
    plan: AbPlan, result: Result, tmp_path: Path
) -> None:
    assert read_plan(tmp_path / "test") == plan
    assert len({arm.text for arm in plan.arms}) == 3
    assert {arm.chosen for arm in plan.arms} == {"ab", "random"}
    assert sum(arm.chosen == "random" for arm in plan.arms) == 1
    assert result.text in {arm.text for arm in plan.arms}
    for arm in plan.arms:
        assert (tmp_path / "test" / f"{arm.code}.md").read_text().strip() == arm.text.strip()
    shown = plan.to_markdown()
    assert all(arm.origin not in shown for arm in plan.arms if arm.origin.startswith("pass"))
    assert f"{plan.sample:,} readers" in plan.conclusion
    with pytest.raises(InvalidInput, match="has a plan already"):
        plan.write(str(tmp_path / "test"))


def test_a_plan_of_a_run_that_delivered_its_draft_says_so() -> None:
    def said(story: Story) -> dict[str, str]:
        return dict(plan_of(story, "run", 2).sections()[0].sentences)

    assert "First draft" not in said(told("draft 0", "pass 1 B 0"))
    story = told("draft 0")
    lost = CandidateReady(number=1, slot="B", text="pass 1 B 0", words=4)
    story.passes = [RecordedPass(1, story.text or "", candidates={"B": lost})]
    assert "texts that it did not keep" in said(story)["First draft"]


def test_texts_that_begin_alike_are_shown_from_where_they_differ() -> None:
    begun = "# Tides\n\nTwice a day the moon, which is far away, pulls all of the"
    plan = plan_of(told(f"{begun} sea.", f"{begun} air."), "run", 2, base=0.2, lift=0.2)
    rows = plan.sections()[0].tables[0].rows
    assert {row[2] for row in rows} == {"… the sea.", "… the air."}
    wins = {arm.code: (500 - 100 * (arm.code == plan.control), 2000) for arm in plan.arms}
    report = report_of(plan, wins)
    assert "“… the air.” does better than " in report.conclusion
    assert "“… the sea.”: +" in report.conclusion
    table = report.sections()[0].tables[0].to_text(80)
    assert re.search(r" 25.0 % \(.* to .*\)  \+5.0 \(\+.* to \+.*\)  better\n", table)


def test_the_better_text_is_found_and_its_outcome_handed_on(plan: AbPlan, tmp_path: Path) -> None:
    others = [arm.code for arm in plan.arms if arm.code != plan.control]
    size = plan.sample
    counts = {
        plan.control: (round(0.2 * size), size),
        others[0]: (round(0.3 * size), size + 7),
        others[1]: (round(0.2 * size), size - 5),
    }
    kb = tmp_path / "kb"
    kb.mkdir()
    report = report_ab(fill_in(tmp_path / "test", counts), knowledge=kb, metric="Opens")
    texts = {arm.code: " ".join(arm.text.lstrip("# ").split())[:15] for arm in plan.arms}
    assert re.match(f"{others[0]} “.*” does better than {plan.control} “.*”: ", report.conclusion)
    assert len(wrap(report.sentence, 80)) <= 3
    rates = next(row[4] for row in report.sections()[0].tables[0].rows if row[0] == others[0])
    assert re.fullmatch(r"29\.9 % \(\d\d\.\d to \d\d\.\d\)", str(rates))
    for shown in (report.to_markdown(), report.to_html(), str(report)):
        assert not re.search(r"\bpass \d|“#", shown)
    for shown in (report.to_markdown(), report.to_html()):
        assert all(text.partition("\n")[0] in shown for text in texts.values())
    records = read_folder(kb).records
    assert len(records) == 3
    assert {record.chosen for record in records} == {"ab", "random"}
    assert len({record.group for record in records}) == 1
    same = report_ab(tmp_path / "test" / "results.csv", knowledge=kb, metric="opens")
    assert (same.metric, len(read_folder(kb).records)) == ("", 3)
    more = {code: (count + 20, n + 20) for code, (count, n) in counts.items()}
    again = report_ab(fill_in(tmp_path / "test", more), knowledge=kb, metric="opens")
    assert (again.appended, again.replaced) == (3, 3)
    assert "3 appended to the folder; 3 of an earlier report" in str(again)
    readers = {record.result.n for record in read_folder(kb).records if record.result}
    assert readers == {n for _, n in more.values()}


def test_what_was_counted_is_called_as_in_the_folder(plan: AbPlan, tmp_path: Path) -> None:
    file = fill_in(tmp_path / "test", {arm.code: (1000, 5000) for arm in plan.arms})
    (kb := tmp_path / "kb").mkdir()

    def said(metric: str = "") -> tuple[str, str]:
        report = report_ab(file, knowledge=kb, metric=metric)
        return next(each.result.metric for each in report.records if each.result), report.metric

    assert said() == ("rate", "")
    mails = ["subject,Öffnungen,sent", *(f"{at},{at},100" for at in range(30))]
    (kb / "mails.csv").write_text("\n".join(mails))
    taken = f"taken to be 'open rate', as in most outcomes of {kb}; if it is another, say"
    assert said() == ("open rate", f"{taken} --metric")
    assert {each.result.metric for each in read_folder(kb).records if each.result} == {"open rate"}
    assert said("Öffnungsrate") == ("open rate", "")
    assert said("Gain")[1].startswith(f"most outcomes of {kb} are called 'open rate' and this one")
    # Numbers that are not shares, and those of which fewer are better, are something else.
    for rules in ("better = 'lower'", "[columns]\nvalue = 'sent'"):
        (kb / "kb.toml").write_text(rules)
        assert said()[0] == "rate"
    file.write_text(file.read_text().replace("count", "Klicks"))
    assert said()[0] == "click rate"


def earlier_tests(kb: Path, tests: int, **changes: Any) -> None:
    """A folder of other tests in which texts hardly differ beyond chance."""
    kb.mkdir()
    rng = random.Random(6)
    lines = (
        {
            "text": f"{test} {arm}",
            "kind": "outcome",
            "result": {"metric": "Opens", "value": rng.gauss(0.2, 0.012), "n": 2000},
            "group": f"test {test}",
            **changes,
        }
        for test in range(tests)
        for arm in range(4)
    )
    (kb / "outcomes.jsonl").write_text("\n".join(map(json.dumps, lines)))


@pytest.mark.parametrize(
    ("tests", "changes", "known"),
    [(20, {}, 60), (19, {}, 57), (30, {"chosen": "picked"}, 0), (30, {"group": ""}, 0)],
)
def test_a_rate_is_expected_as_far_as_other_tests_say_how_far_texts_differ(
    plan: AbPlan, tmp_path: Path, tests: int, changes: dict[str, str], known: int
) -> None:
    earlier_tests(tmp_path / "kb", tests, **changes)
    counts = {arm.code: (400 + 60 * (arm.code != plan.control), 2000) for arm in plan.arms}
    file = fill_in(tmp_path / "test", counts)
    report = report_ab(file, knowledge=tmp_path / "kb", metric="opens")
    assert report.comparisons == known
    # The same test, looked at again, is not another test.
    assert report_ab(file, knowledge=tmp_path / "kb", metric="opens").comparisons == known
    expected = [arm.shrunken for arm in report.arms if arm.code != plan.control]
    said = report.to_markdown()
    if known < 60:
        assert expected == [None, None]
        assert "takes 60 comparisons in other tests of a folder" in said
        assert "expect " not in report.conclusion
    else:
        assert all(0.21 < (each or 0) < 0.227 for each in expected)
        assert "winners are lucky" in said


def test_a_text_that_does_worse_is_named_and_others_are_undecided(
    plan: AbPlan, tmp_path: Path
) -> None:
    worse, other = (arm for arm in plan.arms if arm.code != plan.control)
    counts = {plan.control: (1200, 6000), worse.code: (800, 6000), other.code: (1210, 6050)}
    report = report_ab(fill_in(tmp_path / "test", counts))
    assert "none is shown to do better than" in report.conclusion
    assert re.search(f"; {worse.code} “[^”]*” does worse$", report.conclusion)
    verdicts = {row[0]: row[-1] for row in report.sections()[0].tables[0].rows}
    assert verdicts == {plan.control: "control", worse.code: "worse", other.code: "undecided"}


def test_an_uneven_split_is_called_that_and_an_unequal_one_hands_nothing_on(
    plan: AbPlan, tmp_path: Path
) -> None:
    sizes = [plan.sample, plan.sample, round(0.95 * plan.sample)]
    counts = {arm.code: (n // 5, n) for arm, n in zip(plan.arms, sizes, strict=True)}
    said = str(report_ab(fill_in(tmp_path / "test", counts)))
    assert f"{sizes[2]:,} to {sizes[0]:,} readers of a text, uneven and not alarming" in said
    even = {arm.code: (800, 4000) for arm in plan.arms}
    said = str(report_ab(fill_in(tmp_path / "test", even)))
    assert "4,000 readers of each text" in said
    assert "uneven" not in said
    codes = [arm.code for arm in plan.arms]
    counts = {code: (400, 2000 - 300 * at) for at, code in enumerate(codes)}
    kb = tmp_path / "kb"
    kb.mkdir()
    report = report_ab(fill_in(tmp_path / "test", counts), knowledge=kb)
    assert "not split equally" in report.conclusion
    assert not any(word in str(report) for word in ("xpected", "worse", "better", "points", "p <"))
    assert {(arm.difference, arm.shrunken) for arm in report.arms} == {(None, None)}
    assert report.records == ()
    assert list(kb.iterdir()) == []


def test_semicolons_small_letters_and_a_mark_of_a_spreadsheet_are_read(
    plan: AbPlan, tmp_path: Path
) -> None:
    file = tmp_path / "test" / "results.csv"
    lines = ["code;n;count", *(f"{arm.code.lower()};5900;1422" for arm in plan.arms), ";;"]
    file.write_text("\r\n".join(lines), "utf-8-sig")
    assert {(arm.count, arm.n) for arm in report_ab(file).arms} == {(1422, 5900)}
    assert "Read as" not in str(report_ab(file))
    lines = [f"{arm.code};{at};5.900;1.422" for at, arm in enumerate(plan.arms)]
    head = "Variante;Betreff;Zugestellt;Öffnungen (eindeutig)"
    for total in ("SUMME;;17.700;4.266", ";Gesamt:;17.700;4.266", "Durchschnitt;;5.900;1.422"):
        file.write_text("\n".join([head, *lines, total]), "cp1252")
        found = report_ab(file)
        assert {(arm.count, arm.n) for arm in found.arms} == {(1422, 5900)}
        read = "n Zugestellt, count Öffnungen (eindeutig); left out: line 5, a summary row"
        assert ("Read as", read) in found.sections()[-1].sentences


def test_a_test_that_is_read_before_its_plan_is_reached_says_so(
    plan: AbPlan, tmp_path: Path
) -> None:
    for counts in ((200, 300, 200), (200, 200, 200), (300, 200, 200)):
        first = [plan.control, *(a.code for a in plan.arms if a.code != plan.control)]
        found = {code: (number, 1000) for code, number in zip(first, counts, strict=True)}
        said = report_ab(fill_in(tmp_path / "test", found)).conclusion
        assert said.endswith(
            f"; read early, at 1,000 of {plan.sample:,} planned readers of each text"
        )
    for share in (94, 96):
        found = {arm.code: (200, plan.sample * share // 100) for arm in plan.arms}
        said = report_ab(fill_in(tmp_path / "test", found)).conclusion
        assert ("read early" in said) is (share < 95)


SHARES = ("24.1 %", "0.241", '"0,241"', "-3")


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("code,n,count\nAAAA,10,2", "AAAA is not in both plan and results"),
        ("code,n,count\n", "is not in both plan and results"),
        ("code,n,count\nAAAA,,\n", "line 2: n of AAAA is empty; correct it"),
        ("code,n,count\n,10,2\n", "line 2: there is no code"),
        ("code,n,count\nAAAA,10,2\nAAAA,10,2\n", "line 3: AAAA is there twice"),
        ("code,sent,opens\nAAAA,10,12\n", r"AAAA has more opens \(12\) than sent \(10\)"),
        *((f"code,n,count\nAAAA,5900,{share}\n", "2: count of AAAA: '") for share in SHARES),
        ("code,n,count\nAAAA,5900,1,422\n", "csv: line 2: it has more cells than columns; quote"),
        ("Code,Seen,Liked\nAAAA,10,2\n", "give a table with the columns code, n and count"),
    ],
)
def test_results_that_do_not_fit_are_one_sentence(
    plan: AbPlan, tmp_path: Path, lines: str, says: str
) -> None:
    assert plan.arms
    file = tmp_path / "test" / "results.csv"
    file.write_text(lines)
    with pytest.raises(InvalidInput, match=says):
        report_ab(file)


def test_a_run_with_too_few_texts_or_no_end_is_refused(result: Result, journal: Journal) -> None:
    with pytest.raises(InvalidInput, match=r"has \d different texts; give 2 to \d for `texts`"):
        plan_ab(result, texts=10, journal=journal)
    with pytest.raises(InvalidInput, match="give 2 to"):
        plan_ab(result, texts=1, journal=journal)
    for story in (Story(), told("draft 0")):
        with pytest.raises(
            InvalidInput, match=r"short has [01] different texts?; name another run"
        ):
            plan_of(story, "short", 2)
    paused = refine("Explain tides.", "echo/echo", seed=2, journal=journal, budget={"tokens": 6000})
    assert not paused.finished
    with pytest.raises(InvalidInput, match="has no result yet"):
        plan_ab(paused, texts=2, journal=journal)


@pytest.mark.parametrize(
    ("base", "lift"), [(0.2, 1e-17), (1e-300, 0.1), (0.2, -0.5), (0.9, 0.5), (1.2, 0.1)]
)
def test_rates_that_cannot_be_are_one_sentence(
    result: Result, journal: Journal, base: float, lift: float
) -> None:
    with pytest.raises(InvalidInput, match=r"give `base` and `lift` as shares|write 0.012 or 1.2%"):
        plan_ab(result, texts=2, base=base, lift=lift, journal=journal)


def test_a_plan_for_the_readers_there_are_says_what_they_can_show() -> None:
    story = told("draft 0", "pass 1 B 0")
    found = plan_of(story, "run", 2, base=0.2, readers=6001)
    assert "to 3,000 readers drawn at random, 6,000 in all" in found.conclusion
    assert f"rise from 20 to {20 * (1 + found.lift):.3g} % four times" in found.conclusion
    assert sample_size(0.2, found.lift) <= 3000 < sample_size(0.2, found.lift - 0.01)
    with pytest.raises(InvalidInput, match="90 readers of 2 texts show no rise"):
        plan_of(story, "run", 2, base=0.2, readers=90)


def told(*texts: str) -> Story:
    """A run with these incumbents, the first draft first."""
    return Story(
        incumbents=[Incumbent(name=text, since=0, text=text, keeps_contract=True) for text in texts]
    )


def test_texts_that_break_a_limit_are_not_offered() -> None:
    story = told("draft 0", "Tides")
    lost = CandidateReady(number=1, slot="B", text="too many words", words=3)
    story.passes = [RecordedPass(1, "draft 0", candidates={"B": lost})]
    story.task = Task(brief="Tides.", contract=Contract(max_words=2))
    assert {arm.text for arm in plan_of(story, "run", 2).arms} == {"draft 0", "Tides"}
    with pytest.raises(InvalidInput, match="2 different texts within its limits; give 2 to 2"):
        plan_of(story, "run", 3)
    story.task = Task(brief="Tides.", contract=Contract(min_words=2))
    with pytest.raises(InvalidInput, match="the text of run run breaks a limit of its brief"):
        plan_of(story, "run", 2)
