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
from autoreason.knowledge.test_results import helps_judge, read_tests
from autoreason.knowledge_records import ShownOutcomes, ShownRecord
from autoreason.models.doubles import ScriptedModel
from autoreason.run.knowledge_study import measure_knowledge, prepare_knowledge_test
from autoreason.run.replay import replay
from autoreason.studies.knowledge_test.knowledge_report import decide
from autoreason.studies.knowledge_test.recorded_pairs import RecordedPairs, shuffle

WORDS = [
    *("sea", "boat", "tower", "lamp", "rope", "fog", "wind"),
    *("tide", "stone", "harbour", "keeper", "stove", "window", "path"),
]
GOOD, BAD = ("free", "secret"), ("update", "news")
JUDGE = "scripted/scripted"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Sixty mailings of two subjects each; a word of the better one tells."""
    rng, lines = random.Random(1), ["subject,sent,opens,campaign,date"]
    for at in range(60):
        day = f"2026-{1 + at // 28:02}-{1 + at % 28:02}"
        for tell, opens in ((GOOD, 600), (BAD, 300)):
            subject = " ".join([*rng.sample(WORDS, 4), rng.choice(tell)])
            lines.append(f"{subject},2000,{opens},c{at},{day}")
    root = tmp_path / "kb"
    root.mkdir()
    (root / "mails.csv").write_text("\n".join(lines))
    return root


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
    assert result.report.leaks == 0
    assert "helps" in result.report.conclusion
    assert helps_judge(folder, JUDGE)
    assert [each.run for each in read_tests(folder)] == [result.run]
    assert replay(result.run, journal=journal).same


def test_judges_that_do_not_are_not(folder: Path, journal: Journal) -> None:
    # It is right more often than a coin, and takes no notice of the records.
    by_letter = answer(lambda text, _well, _badly: -ord(text[-1]))
    result = measure_knowledge(
        folder, ScriptedModel({"judge": by_letter}), pairs=60, seed=3, journal=journal
    )
    (found,) = result.report.judges
    assert found.verdict == "not shown"
    assert found.gain.value == 0
    assert result.report.conclusion.startswith("not shown")
    assert not helps_judge(folder, JUDGE)


def test_what_shuffled_records_give_as_well_is_no_help(folder: Path, journal: Journal) -> None:
    def with_any(text: str, well: str, badly: str) -> float:
        return by_letter(text) if well or badly else 0

    def by_letter(text: str) -> float:
        return float(text.split()[-1] in GOOD)

    model = ScriptedModel({"judge": answer(with_any)})
    result = measure_knowledge(folder, model, pairs=60, seed=3, journal=journal)
    (found,) = result.report.judges
    assert found.p_value is not None
    assert found.p_value < 0.05
    assert found.verdict == "not shown"


def test_few_pairs_are_too_few(folder: Path, journal: Journal) -> None:
    model = ScriptedModel({"judge": answer(by_records)})
    result = measure_knowledge(folder, model, pairs=12, seed=3, journal=journal)
    assert result.report.judges[0].verdict == "too few"


def test_a_folder_without_pairs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "a.md").write_text("The tower has 112 steps.")
    with pytest.raises(InvalidInput, match="no pairs"):
        prepare_knowledge_test(tmp_path, "echo/echo")


def test_nothing_of_a_group_or_after_it_is_shown(folder: Path) -> None:
    prepared = prepare_knowledge_test(folder, "echo/echo", pairs=60, seed=1)
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


def test_records_that_say_nothing_help_in_at_most_one_test_of_twenty() -> None:
    rng = random.Random(7)

    def pair() -> tuple[float, float]:
        skill = rng.choice((0.35, 0.65))
        without, known, placebo = (sum(rng.random() < skill for _ in range(2)) / 2 for _ in "abc")
        return known - without, known - placebo

    def draw() -> str:
        groups = [[pair() for _ in range(2)] for _ in range(40)]
        gains, real = ([[pair[at] for pair in group] for group in groups] for at in (0, 1))
        return decide(gains, real)[0]

    verdicts = [draw() for _ in range(400)]
    # Two-sided at 5 %: so either in 2.5 %, and in more than 20 of 400 once in a thousand times.
    assert verdicts.count("helps") <= 20
    assert verdicts.count("harms") <= 20
