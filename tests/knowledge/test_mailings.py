"""A folder as people have it is understood without a word, and what it can show is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.knowledge.mailings import (
    EXPORT,
    GERMAN,
    TESTS,
    write_export,
    write_german,
    write_mailings,
)

from autoreason.knowledge.folder import KnowledgeFolder, append_outcomes, import_table, read_folder
from autoreason.knowledge.folder_report import FolderReport, check_knowledge
from autoreason.knowledge.holdout import PredictorTest, evaluate_predictor
from autoreason.knowledge.index import Index, SearchQuery, retrieve


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_mailings(tmp_path_factory.mktemp("kb"))


@pytest.fixture(scope="module")
def content(folder: Path) -> KnowledgeFolder:
    return read_folder(folder)


@pytest.fixture(scope="module")
def checked(folder: Path) -> FolderReport:
    return check_knowledge(folder)


@pytest.fixture(scope="module")
def tested(folder: Path) -> PredictorTest:
    return evaluate_predictor(folder, "words")


def one_line(report: FolderReport) -> str:
    return " ".join(report.to_text(160).split())


def test_every_column_is_understood_and_no_line_lost_but_sum_and_average(
    content: KnowledgeFolder,
) -> None:
    columns = {each.file: each.columns for each in content.files}
    assert columns[EXPORT] == {
        "text": "Subject",
        "value": "Open Rate",
        "count": "Unique Opens",
        "n": "Successful Deliveries",
        "group": "List and month",
        "when": "Send Date",
    }
    assert columns[GERMAN] == {
        "text": "Betreff",
        "value": "Öffnungsrate",
        "count": "Öffnungen (eindeutig)",
        "n": "Zugestellt",
        "group": "month",
        "when": "Versanddatum",
        "encoding": "cp1252",
    }
    assert columns[TESTS] == {"text": "Subject", "count": "Opens", "n": "Sent", "group": "Test"}
    assert {each.result.metric for each in content.records if each.result} == {"open rate"}
    assert content.problems == (
        f"{GERMAN}, line 14: 'Summe' is a summary row, not a text",
        f"{GERMAN}, line 15: 'Ø gesamt' is a summary row, not a text",
    )
    assert len(content.records) == 220 + 12 + 4 + 2


def test_lists_that_run_side_by_side_are_tested_by_month(
    checked: FolderReport, tested: PredictorTest
) -> None:
    assert tested.verdict == "helps"
    assert (tested.right.value or 0) > 0.75
    assert tested.groups > 20
    shown = one_line(checked)
    assert 'kb.toml can say so, under [columns]: group = ["List", "month"]' in shown


def test_check_counts_the_pairs_that_the_test_uses(
    folder: Path, checked: FolderReport, tested: PredictorTest
) -> None:
    by_similarity = evaluate_predictor(folder, "retrieval")
    assert checked.pairs == tested.pairs == by_similarity.pairs > 100
    assert checked.paired_groups == tested.groups == by_similarity.groups
    assert checked.untested == tested.unanswered > 0
    assert f": {checked.pairs + checked.untested:,} pairs of texts differ clearly" in one_line(
        checked
    )


def test_check_begins_with_the_best_and_the_worst_texts_of_each_group(
    checked: FolderReport, content: KnowledgeFolder
) -> None:
    apart = [each.ends[0].lift - each.ends[-1].lift for each in checked.ranked if each.is_share]
    assert apart == sorted(apart, reverse=True)
    group = checked.ranked[0]
    own = [each.text for each in content.records if each.group == group.group]
    assert group.group.startswith(("Kunden, 2025", "Interessenten, 2025", "Presse, 2025"))
    assert {end.text for end in group.ends} <= {*own}
    assert group.texts == len(own)
    assert [end.end for end in group.ends] == ["best", "worst"]
    best, worst = group.ends
    assert best.lift > 0 > worst.lift
    text, page = checked.to_text(120), checked.to_html()
    assert text.index(best.text) < text.index(worst.text) < text.index(EXPORT)
    assert text.index("Power") < text.index("line 14")
    assert f"{group.group}: open rate of {group.texts} texts, {group.readers:,} readers" in page
    assert page.index("What can be tested") < page.index("The other groups")
    assert all(each.group in page for each in checked.ranked)
    header, first, *_ = checked.summary()[1:]
    assert header.startswith("Best and worst by group (over its mean")
    assert first.endswith(f" points in {group.group}: {best.text}")


def test_a_text_is_ranked_within_its_own_test_and_only_where_its_readers_are_known(
    tmp_path: Path,
) -> None:
    table = "Test;Betreff;Zugestellt;Öffnungen;Öffnungsrate\n"
    high = "".join(f"t1;High {at};6000;{1900 - at * 60};\n" for at in range(5))
    low = "".join(f"t2;Low {at};2000;{300 - at * 40};\n" for at in range(3))
    (tmp_path / "mails.csv").write_text(f"{table}{high}{low}t2;Nobody;;;62 %\n", "utf-8")
    report = check_knowledge(tmp_path)
    shown = {each.group: [(end.end, end.text) for end in each.ends] for each in report.ranked}
    assert shown == {
        "t1": [("best", "High 0"), ("worst", "High 4")],
        "t2": [("best", "Low 0"), ("worst", "Low 2")],
    }
    assert report.unranked == 1
    assert report.summary()[-1] == "To check: 1 result without a number of readers: not ranked"
    ends = [end for each in report.to_dict()["ranked"] for end in each["ends"]]
    assert [end["lift"] > 0 for end in ends] == [True, False] * 2
    assert report.summary()[1] == "Best and worst by Test (over its mean, adjusted for luck):"


@pytest.mark.parametrize("mailing", ["", "Mailing"])
def test_what_was_sent_on_one_day_is_ranked_together(tmp_path: Path, mailing: str) -> None:
    lines = [f"{mailing or 'Sonst'};Versanddatum;Betreff;Zugestellt;Öffnungsrate"]
    for day in range(1, 14):
        # Every line of the last mailing does better than all others of that month.
        for place in range(5):
            rate = 20 + 10 * (day == 13) + place
            lines.append(f"M{day};{day:02}.01.2025;Betreff {day} {place};12.098;{rate},0 %")
    (tmp_path / "export.csv").write_text("\n".join(lines), encoding="utf-8")
    ranked = check_knowledge(tmp_path).ranked
    assert len(ranked) == 13
    for each in ranked:
        assert each.ends[0].text.endswith(" 4"), each
        assert each.ends[-1].text.endswith(" 0"), each


def test_two_metrics_are_never_on_one_list(tmp_path: Path) -> None:
    write_export(tmp_path / EXPORT, subjects=60)
    write_german(tmp_path / GERMAN, opens=False)
    checked = check_knowledge(tmp_path)
    warning = f"{GERMAN} measures click rate, most records open rate; they are not compared ("
    assert warning in one_line(checked)
    metrics = {each.group: each.metric for each in checked.ranked}
    assert metrics[GERMAN] == "click rate"
    assert metrics["Kunden"] == "open rate"
    with Index.open(tmp_path) as index:
        found = retrieve(index, SearchQuery("Was trägst du in Größe 40 im Herbst?"))
    assert all(each.figure.startswith("open rate") for each in found.critic.all)
    assert found.left_out["measured by another metric"] == 12


def test_the_grouping_can_be_stated(tmp_path: Path) -> None:
    write_export(tmp_path / EXPORT, subjects=120)
    guessed = read_folder(tmp_path)
    (tmp_path / "kb.toml").write_text('[columns]\ngroup = ["list", "month"]\n')
    assert read_folder(tmp_path).records == guessed.records
    (tmp_path / "kb.toml").write_text('[columns]\ngroup = ["list", "week"]\n')
    assert {each.group for each in read_folder(tmp_path).records} >= {"Kunden, 2025-W01"}
    (tmp_path / "kb.toml").write_text('[columns]\ngroup = "mailings"\n')
    constant = read_folder(tmp_path)
    assert {each.group for each in constant.records} == {"mailings"}
    assert constant.files[0].columns["group"] == "mailings"
    (tmp_path / "kb.toml").write_text('[columns]\ngroup = "Lists"\n')
    (problem,) = read_folder(tmp_path).problems
    assert "no column 'Lists', which kb.toml names for group; did you mean 'List'?" in problem


def test_many_texts_a_week_are_grouped_by_week(tmp_path: Path) -> None:
    write_export(tmp_path / EXPORT, subjects=240, days=90)
    assert read_folder(tmp_path).files[0].columns["group"] == "List and week"


def test_monthly_exports_are_grouped_like_one_of_a_year(tmp_path: Path) -> None:
    write_export(tmp_path / EXPORT, subjects=90)
    header, *lines = (tmp_path / EXPORT).read_text("utf-8-sig").splitlines()
    whole = {each.text: each.group for each in read_folder(tmp_path).records}
    (tmp_path / EXPORT).unlink()
    for at in range(3):
        part = [header, *lines[at * 30 : at * 30 + 30]]
        (tmp_path / f"part{at}.csv").write_text("\n".join(part))
    assert {each.text: each.group for each in read_folder(tmp_path).records} == whole


def test_what_is_imported_is_grouped_like_its_table(tmp_path: Path) -> None:
    def groups() -> list[tuple[str, str]]:
        return sorted((each.text, each.group) for each in read_folder(kb).records)

    (kb := tmp_path / "kb").mkdir()
    write_export(tmp_path / EXPORT, subjects=120)
    whole = sorted((each.text, each.group) for each in read_folder(tmp_path / EXPORT).records)
    assert import_table(tmp_path / EXPORT, kb)[1:3] == (120, 0)
    assert groups() == whole
    assert check_knowledge(kb).summary()[1].startswith("Best and worst by group (")
    assert check_knowledge(kb).pairs == check_knowledge(tmp_path / EXPORT).pairs > 60
    stated = '[columns]\ngroup = ["List", "month"]\n'
    (kb / "kb.toml").write_text(stated)
    assert groups() == whole
    (kb / "kb.toml").write_text('[columns]\ngroup = "Send Weekday"\n')
    assert import_table(tmp_path / EXPORT, kb)[1:] == (120, 120, {})
    assert {group for _, group in groups()} >= {"Monday", "Sunday"}
    (kb / "kb.toml").write_text(stated)
    assert import_table(tmp_path / EXPORT, kb)[2] == 120
    assert groups() == whole


def test_records_that_were_not_imported_keep_the_group_they_were_given(tmp_path: Path) -> None:
    write_export(tmp_path / EXPORT, subjects=120)
    records = read_folder(tmp_path / EXPORT).records
    given = [replace(each, group=each.audience, source="") for each in records]
    (kb := tmp_path / "kb").mkdir()
    append_outcomes(kb, given)
    (kb / "kb.toml").write_text('[columns]\ngroup = ["List", "month"]\n')
    for _ in range(2):
        assert {each.group for each in read_folder(kb).records} == {
            *("Kunden", "Interessenten", "Presse")
        }
        (kb / "kb.toml").unlink(missing_ok=True)


def test_a_text_that_was_sent_twice_says_what_was_pooled(tmp_path: Path) -> None:
    (tmp_path / "mails.csv").write_text(
        "Subject,List,Unique Opens,Delivered\n"
        "Dein Tee,News,323,1285\nDein Tee,News,1016,3540\nDie Ernte,News,900,4500\n"
    )
    with Index.open(tmp_path) as index:
        found = {
            each.text: each.figure for each in retrieve(index, SearchQuery("Tee Ernte")).critic.all
        }
        found |= {
            each.text: each.figure for each in retrieve(index, SearchQuery("Tee Ernte")).judges.all
        }
    assert found["Dein Tee"].startswith(
        "open rate, sent twice: 25.1 and 28.7 %, together 27.8 % of 4,825; group 24 %; adjusted 2"
    )
    assert found["Die Ernte"].startswith("open rate 20 % of 4,500; group 24 %; adjusted ")
