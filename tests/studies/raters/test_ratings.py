"""Ratings are counted right, and what is not known is not made up."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.cli import made_up
from tests.studies.raters.conftest import LETTER, Study

from autoreason.errors import InvalidInput
from autoreason.story import build_story
from autoreason.studies.rating_packet import (
    LINES,
    CommentClick,
    OpenSheet,
    RankingClick,
    ScoreClick,
    StepClick,
    open_sheet,
    opening,
    unseal,
)
from autoreason.studies.ratings import (
    Rankings,
    RatingsReport,
    TextStanding,
    conclude,
    read_panel,
    read_votes,
    votes_report,
)

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


class Rater:
    """Somebody who says what a test wants, by the names of the texts."""

    def __init__(self, study: Study, name: str) -> None:
        self.page: OpenSheet = open_sheet(study.folder, study.packet, name, NOW)
        key = unseal((study.folder / "key.sealed").read_bytes())
        self._codes = [{name: code for code, name in task.names.items()} for task in key.tasks]

    def rank(self, *names: str, task: int = 0) -> None:
        self.page.add(RankingClick(task, tuple(self._codes[task][name] for name in names)), NOW)

    def score(self, name: str, score: int, *lines: str, task: int = 0) -> None:
        for line in lines or LINES:
            self.page.add(ScoreClick(self._codes[task][name], line, score), NOW)

    def comment(self, name: str, text: str, task: int = 0) -> None:
        self.page.add(CommentClick(task, self._codes[task][name], text), NOW)


@pytest.fixture
def raters(study: Study) -> tuple[Rater, Rater, Rater]:
    """Three people who rank c first and disagree on the rest."""
    anna, ben, cleo = (Rater(study, name) for name in ("Anna", "Ben", "Cleo"))
    anna.rank("c.md", "a.md", "b.md")
    ben.rank("c.md", "b.md", "a.md")
    cleo.rank("c.md", "a.md", "b.md")
    for rater, scores in ((anna, (3, 2, 5)), (ben, (2, 3, 5)), (cleo, (4, 2, 4))):
        for name, score in zip(("a.md", "b.md", "c.md"), scores, strict=True):
            rater.score(name, score)
    return anna, ben, cleo


def by_name(report: RatingsReport, task: int = 0) -> dict[str, TextStanding]:
    return {text.name: text for text in report.tasks[task].texts}


@pytest.mark.usefixtures("raters")
def test_places_points_and_first_places_are_those_of_the_rankings(study: Study) -> None:
    report = conclude(study.folder)
    assert [text.name for text in report.tasks[0].texts] == ["c.md", "a.md", "b.md"]
    texts = by_name(report)
    assert [texts[name].borda for name in ("a.md", "b.md", "c.md")] == [5, 4, 9]
    assert [texts[name].first_places for name in ("a.md", "b.md", "c.md")] == [0, 0, 3]
    assert texts["a.md"].mean_place.value == pytest.approx(7 / 3)
    assert report.tasks[0].agreement == pytest.approx((1 / 3 + 1 + 1 / 3) / 3)
    assert 0 < (report.alpha["overall"].value or 0) < 1
    overall = texts["c.md"].scores["overall"]
    assert overall.value == pytest.approx(14 / 3)
    assert 1 < (overall.low or 0) < 14 / 3 < (overall.high or 0) <= 5


def test_a_rater_who_stopped_half_way_counts_for_what_they_did(study: Study) -> None:
    anna, ben = Rater(study, "Anna"), Rater(study, "Ben")
    anna.rank("a.md", "b.md", "c.md")
    anna.score("a.md", 4)
    ben.score("a.md", 2, "clarity")
    ben.rank("b.md")
    ben.comment("b.md", "Too long.")
    ben.comment("c.md", "  ")
    report = conclude(study.folder)
    scores = by_name(report)["a.md"].scores
    assert (scores["clarity"].value, scores["clarity"].n) == (3, 2)
    assert (scores["overall"].value, scores["overall"].n) == (4, 1)
    assert scores["overall"].low is None
    unknown = by_name(report)["b.md"]
    assert (unknown.scores["overall"].value, report.tasks[0].agreement) == (None, None)
    assert report.people[1].comments == {"b.md": "Too long."}
    assert len(report.tasks[0].rankings) == 1
    assert [(person.answered, person.finished) for person in report.people] == [
        (2, False),
        (0, False),
    ]


def test_nothing_is_opened_where_no_one_has_rated(study: Study) -> None:
    open_sheet(study.folder, study.packet, "Anna", NOW).add(StepClick(1), NOW)
    with pytest.raises(InvalidInput, match="no one has rated"):
        conclude(study.folder)
    assert opening(study.folder) is None


def test_ratings_changed_after_the_opening_are_pointed_out(
    study: Study, raters: tuple[Rater, Rater, Rater]
) -> None:
    conclude(study.folder)
    raters[1].rank("b.md", "c.md", "a.md")
    assert conclude(study.folder).changed_files == ("rater-02.jsonl",)
    (study.folder / "ratings" / "rater-01.jsonl").unlink()
    assert conclude(study.folder).changed_files == ("rater-01.jsonl", "rater-02.jsonl")


def test_tasks_with_texts_of_the_same_names_are_counted_together(tmp_path: Path) -> None:
    study = Study(tmp_path / "pairs", LETTER, LETTER)
    for name in ("Anna", "Ben"):
        rater = Rater(study, name)
        rater.rank("a.md", "b.md")
        rater.rank("b.md", "a.md", task=1)
        rater.score("a.md", 5)
        rater.score("a.md", 3, task=1)
    together = {text.name: text for text in conclude(study.folder).over_all_tasks}
    assert set(together) == {"a.md", "b.md"}
    assert together["a.md"].scores["overall"].value == 4
    # Two tasks, not four ratings, are what the figure rests on.
    assert together["a.md"].scores["overall"].n == 2
    assert (together["a.md"].first_places, together["a.md"].rankings) == (2, 4)
    assert together["a.md"].mean_place.value == 1.5


@pytest.mark.usefixtures("raters")
def test_people_are_compared_with_a_panel_pair_by_pair(study: Study) -> None:
    panel = [(("c.md", "a.md", "b.md"), ("c.md", "a.md", "b.md"))]
    found = conclude(study.folder, panel=panel).panel
    assert found is not None
    assert found.tasks[0].tau.value == 1
    # Ben has one of his three pairs the other way round.
    assert found.pairs.value == pytest.approx(8 / 9)
    assert found.pairs.n == 3
    assert found.pairs.low is not None
    # Three persons who all agreed could be chance.
    assert found.pairs.low < 0.5
    tied = conclude(study.folder, panel=[(panel[0][0], ("c.md", "b.md", "a.md"))]).panel
    assert tied is not None
    assert (tied.tied, tied.pairs.value) == (3, 1)


@pytest.mark.usefixtures("raters")
@pytest.mark.parametrize(
    ("panel", "message"),
    [
        ([(("a.md", "b.md"),)], "it must rank a.md, b.md, c.md, each once"),
        ([(("a.md", "a.md", "b.md"),)], "each once"),
        ([(), ()], "the packet has 1"),
    ],
)
def test_a_panel_that_ranked_other_texts_is_refused(
    study: Study, panel: list[Rankings], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        conclude(study.folder, panel=panel)


def test_a_panel_is_read_from_a_file_and_what_is_not_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "panel.json"
    path.write_text('{"rankings": [["a", "b"], ["b", "a"]]}')
    assert read_panel(path) == (("a", "b"), ("b", "a"))
    for contents in ("{", '{"rankings": [[1]]}', '{"ranks": []}', '{"rankings": []}'):
        path.write_text(contents)
        with pytest.raises(InvalidInput, match="names of texts, best first"):
            read_panel(path)


def test_votes_saved_on_the_page_of_a_run_are_compared_with_its_judges(tmp_path: Path) -> None:
    story = build_story(made_up.whole_run())
    path = tmp_path / "votes.json"
    votes = '{"run": "amber-fox", "rater": "Me", "saved": "2026-05-01T12:00:00Z", "rounds": [%s]}'
    path.write_text(votes % '{"round": 1, "ranking": ["AB", "B", "A"]}')
    report = votes_report(read_votes(path), story)
    assert report.tasks[0].rankings == (("the merge", "the rewrite", "the first draft"),)
    assert report.panel is not None
    assert report.panel.tasks[0].judges == 3
    for wrong in ('{"round": 9, "ranking": ["A", "B"]}', '{"round": 1, "ranking": ["A", "B"]}', ""):
        path.write_text(votes % wrong)
        with pytest.raises(InvalidInput, match="round"):
            votes_report(read_votes(path), story)
    path.write_text("[]")
    with pytest.raises(InvalidInput, match="no votes"):
        read_votes(path)
