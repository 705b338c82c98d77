"""Does this help? Judges that use records are found to, judges that do not are not, and chance is not mistaken."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from autoreason.errors import InvalidInput
from autoreason.exchange import Request
from autoreason.journal import Journal
from autoreason.knowledge.holdout import helps_judge, read_tests
from autoreason.knowledge_records import ShownOutcomes, ShownRecord
from autoreason.models.doubles import ScriptedModel
from autoreason.run.knowledge import measure_knowledge
from autoreason.run.recorded import replay
from autoreason.run.refine import refine
from autoreason.studies.knowledge_test import PairAnswers, RecordedPairs, judge_answers, shuffle

WORDS = [
    *("sea", "boat", "tower", "lamp", "rope", "fog", "wind"),
    *("tide", "stone", "harbour", "keeper", "stove", "window", "path"),
]
GOOD, BAD = ("free", "secret"), ("update", "news")
JUDGE = "scripted/scripted"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Eighty mailings of two subjects each; a word of the better one tells."""
    rng, lines = random.Random(1), ["subject,sent,opens,campaign,date"]
    for at in range(80):
        day = f"2026-{1 + at // 28:02}-{1 + at % 28:02}"
        for tell, opens in ((GOOD, 600), (BAD, 300)):
            subject = " ".join([*rng.sample(WORDS, 4), rng.choice(tell)])
            lines.append(f"{subject},2000,{opens},c{at},{day}")
    root = tmp_path / "kb"
    root.mkdir()
    (root / "mails.csv").write_text("\n".join(lines))
    return root


def test_what_any_file_calls_private_is_put_to_no_judge_elsewhere(folder: Path) -> None:
    secret = (folder / "mails.csv").read_text().splitlines()[-1].partition(",")[0]
    (folder / "secret.csv").write_text(f"text,value,private\n{secret},1,yes\n")

    def texts(model: str) -> str:
        return str(measure_knowledge.prepare(folder, model).task.work)

    assert secret in texts("echo/echo")
    assert secret not in texts("openai/gpt-5")


def answer(score: Callable[[str, str, str], float]) -> Callable[[Request], str]:
    """A judge that ranks by a score of each text, given what did well and badly; equal ones as they come."""

    def judge(request: Request) -> str:
        shown = "\n".join(message.text for message in request.messages)
        texts = re.findall(r"^## (\w+)\n\n<<<TEXT \w+>>>\n(.*?)\n<<<END", shown, re.M | re.S)
        well, badly = (
            " ".join(re.findall(rf"What did {word}:.*?>>>\n(.*?)<<<END", shown, re.S))
            for word in ("well", "badly")
        )
        ranked = sorted(texts, key=lambda each: -score(each[1], well, badly))
        return json.dumps({"reasoning": "so", "ranking": " > ".join(name for name, _ in ranked)})

    return judge


def by_records(text: str, well: str, badly: str) -> float:
    """How many of its telling words are among the good records, less those among the bad."""
    telling = set(text.split()) - set(WORDS)
    return sum(word in well for word in telling) - sum(word in badly for word in telling)


def test_judges_that_use_records_are_helped(folder: Path, journal: Journal) -> None:
    model = ScriptedModel({"judge": answer(by_records)})
    result = measure_knowledge(folder, model, pairs=60, seed=3, journal=journal)
    (found,) = result.report.judges
    assert found.verdict == "helps"
    assert found.pairs == found.groups == 60
    assert "helps" in result.report.conclusion
    assert "Weights" not in str(result.report), "one judge alone has none"
    assert helps_judge(folder, JUDGE)
    assert not helps_judge(folder, "other/judge")
    assert [each.run for each in read_tests(folder)] == [result.run]
    assert replay(result.run, journal=journal).same


@pytest.mark.parametrize(
    ("without", "with_records", "placebo", "groups", "verdict"),
    [
        (0.0, 1.0, 0.0, 60, "helps"),
        (0.0, 1.0, 0.5, 60, "helps"),
        # Shuffled records give as much.
        (0.0, 1.0, 1.0, 60, "not shown"),
        # It is right more often than a coin, and takes no notice of the records.
        (1.0, 1.0, 1.0, 60, "not shown"),
        (1.0, 0.0, 0.0, 60, "harms"),
        (0.0, 1.0, 0.0, 59, "too few"),
    ],
)
def test_records_help_where_they_do_and_shuffled_ones_do_not(
    without: float, with_records: float, placebo: float, groups: int, verdict: str
) -> None:
    answers = [
        PairAnswers(group=f"g{at}", without=without, with_records=with_records, placebo=placebo)
        for at in range(groups)
    ]
    assert judge_answers("a/a", answers, 0).verdict == verdict


def test_a_folder_without_pairs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "a.md").write_text("The tower has 112 steps.")
    with pytest.raises(InvalidInput, match=r"no pair of .* can be tested"):
        measure_knowledge.prepare(tmp_path, "echo/echo")


def test_nothing_of_a_group_or_after_it_is_shown(folder: Path) -> None:
    prepared = measure_knowledge.prepare(folder, "echo/echo", pairs=60, seed=1)
    work = prepared.task.work
    assert isinstance(work, RecordedPairs)
    dates = {
        line.split(",")[0]: line.split(",")[4]
        for line in (folder / "mails.csv").read_text().splitlines()[1:]
    }
    for pair in work.pairs:
        for record in (*pair.known.all, *pair.placebo.all):
            assert dates[record.text] < pair.when
        assert {each.id for each in pair.known.all} == {each.id for each in pair.placebo.all}


def test_a_placebo_has_the_same_texts_and_figures_in_other_company() -> None:
    def record(at: int) -> ShownRecord:
        return ShownRecord(id=f"r{at}", text=f"text {at}", figure=f"{at} %")

    known = ShownOutcomes(well=tuple(map(record, range(4))), badly=tuple(map(record, range(4, 8))))
    moved = shuffle(known, 5)
    assert [each.figure for each in moved.all] == [each.figure for each in known.all]
    assert sorted(each.text for each in moved.all) == sorted(each.text for each in known.all)
    assert moved != known


async def test_judges_are_weighed_by_their_own_votes_and_a_later_run_goes_by_that(
    folder: Path, journal: Journal
) -> None:
    good = ScriptedModel({"judge": answer(by_records)}, address="ollama/good")
    poor = ScriptedModel({"judge": answer(lambda *_: 0)}, address="ollama/poor")
    result = await measure_knowledge.aio(
        folder, good, judge_models=[good, poor], pairs=60, seed=3, journal=journal
    )
    first, second = result.report.judges
    assert first.weight is not None
    assert first.weight > 1 > (second.weight or 0)
    assert second.weight == second.weight_without == first.weight_without
    assert "ollama/poor 0.5 with records, 0.5 without" in " ".join(str(result.report).split())
    prepared = refine.prepare(
        "Write a subject line.",
        "echo/echo",
        judge_models=["ollama/good", "ollama/poor"],
        knowledge=folder,
        judge_outcomes="yes",
    )
    assert prepared.task.knowledge is not None
    assert prepared.task.knowledge.weights == {
        "ollama/good": first.weight,
        "ollama/poor": second.weight,
    }
    alone = refine.prepare("Write.", "ollama/good", knowledge=folder)
    assert alone.task.knowledge is not None
    assert alone.task.knowledge.weights == {}


def test_a_judge_whose_accuracy_falls_is_warned_of() -> None:
    def answers(last: float) -> list[PairAnswers]:
        return [
            PairAnswers(
                group=f"g{at}",
                when=f"2026-01-{at:03}",
                without=0.5,
                with_records=(1.0 if at < 60 else last) if at % 4 else 0.0,
                placebo=0.5,
            )
            for at in range(90)
        ]

    falling, steady = (judge_answers("a/a", answers(last), 0) for last in (0.0, 1.0))
    assert falling.declines
    assert not steady.declines
    assert steady.by_time is not None
    assert steady.by_time[1].value == pytest.approx(0.75, abs=0.03)
