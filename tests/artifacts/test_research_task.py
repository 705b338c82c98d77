"""A research task is read whole or refused in one sentence."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from autoreason.artifacts.research_task import (
    ResearchFile,
    ResearchTask,
    read_research_task,
    research_of,
)
from autoreason.errors import InvalidInput

GOAL = "Pack the circles as tightly as you can."
HEAD = {"artifact": "pack.py", "evaluate": "evaluate.py:score"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A task's folder."""
    home = tmp_path / "packing"
    (home / "src").mkdir(parents=True)
    (home / "pack.py").write_text("def pack():\n    return 1\n")
    (home / "src" / "one.py").write_text("ONE = 1\n")
    (home / "src" / "two.py").write_text("TWO = 2\n")
    (home / "evaluate.py").write_text("def score(artifact, seed, items):\n    return SECRET\n")
    (home / "items.jsonl").write_text('{"q": "first item"}\n\n{"q": "second item"}\n')
    (home / "sealed.jsonl").write_text('{"q": "third item"}\n')
    return home


def read(folder: Path, **keys: object) -> ResearchFile:
    """The task with these keys in its front matter."""
    head = {**HEAD, **keys}
    text = msgspec.yaml.encode({k: v for k, v in head.items() if v is not None}).decode()
    path = folder / "task.md"
    path.write_text(f"---\n{text}---\n{GOAL}\n")
    return read_research_task(str(path))


def work(result: ResearchFile) -> ResearchTask:
    """What is recorded."""
    research = research_of(result.task)
    assert research is not None
    return research


def refusal(folder: Path, **keys: object) -> str:
    """The sentence that refuses a task; nothing was written."""
    before = sorted(folder.rglob("*"))
    with pytest.raises(InvalidInput) as caught:
        read(folder, **keys)
    assert set(folder.rglob("*")) - set(before) <= {folder / "task.md"}
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_task_names_its_artifact_and_what_measures_it(folder: Path) -> None:
    result = read(
        folder,
        artifact=["pack.py", "src/*.py"],
        items="items.jsonl",
        sealed="sealed.jsonl",
        per_evaluation=1,
        better="lower",
        limits={"seconds": 5},
        guard={"p50_ms": "<= 5"},
        constraints=["pack.py <= 20 kB", "no imports"],
        tolerance="1e-4",
    )
    research = work(result)
    assert result.task.brief == GOAL
    assert list(research.files) == ["pack.py", "src/one.py", "src/two.py"]
    assert (research.items, research.sealed, research.per_evaluation) == (2, 1, 1)
    assert research.limits.seconds == 5
    assert research.tolerance == 1e-4
    assert result.evaluation.items == ({"q": "first item"}, {"q": "second item"})
    assert list(result.evaluation.files) == ["evaluate.py"]


def test_the_record_has_no_item_and_no_evaluator(folder: Path) -> None:
    keys = {"items": "items.jsonl", "sealed": "sealed.jsonl"}
    recorded = msgspec.json.encode(work(read(folder, **keys))).decode()
    assert 'item"' not in recorded
    assert "first" not in recorded
    assert "SECRET" not in recorded
    assert "SECRET" in work(read(folder, show_evaluator=True)).evaluator_source


def test_a_command_brings_the_files_it_names_and_wildcards_leave_out_what_is_hidden(
    folder: Path,
) -> None:
    (folder / "words.bin").write_bytes(b"\xff\x00")
    result = read(folder, evaluate="python3 ./evaluate.py --fast", needs="*.bin")
    assert sorted(result.evaluation.files) == ["evaluate.py", "words.bin"]
    for name in (".git/x.py", "src/__pycache__/one.py", ".hidden.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("X = 1\n")
    files = work(read(folder, artifact=["src/**/*.py"])).files
    assert list(files) == ["src/one.py", "src/two.py"]


@pytest.mark.parametrize(
    ("metric", "timed"),
    [("wall_seconds", True), ("p50_ms", True), ("score", False), ("boss", False)],
)
def test_a_metric_that_reads_as_a_time_is_taken_for_one_and_the_reader_is_told(
    folder: Path, metric: str, timed: bool
) -> None:
    result = read(folder, metric=metric)
    assert work(result).timed is timed
    assert bool(result.notes) is timed
    assert not read(folder, metric=metric, timed=False).notes


def test_a_callers_own_evaluator_needs_no_evaluate_key(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    text = f"---\nartifact: pack.py\n---\n{GOAL}"
    result = read_research_task(text, caller_measures=True)
    assert list(work(result).files) == ["pack.py"]
    with pytest.raises(InvalidInput, match="`evaluate` is not a command"):
        read_research_task(text)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"artifact": None}, "there is no `artifact`"),
        ({"artifact": "lost.py"}, "there is no file lost.py in"),
        ({"artifact": "*.rs"}, "no file matches '*.rs'"),
        ({"artifact": "../pack.py"}, "leads out of the task's folder"),
        ({"artifact": "/etc/passwd"}, "leads out of the task's folder"),
        ({"artifact": "src"}, "there is no file src in"),
        ({"artifact": "*.py"}, "evaluate.py belongs to the task"),
        ({"artifact": ["pack.py", "task.md"]}, "task.md belongs to the task"),
        ({"artifact": 3}, "`artifact` must be a list"),
        ({"evaluate": None}, "`evaluate` is not a command"),
        ({"evaluate": "python lost.py"}, "there is no file lost.py in"),
        ({"evaluate": "lost.py:score"}, "there is no file lost.py in"),
        ({"evaluate": "evaluate.py:rate"}, "that defines a function rate"),
        ({"evaluate": "no-such-program-here x"}, "there is no program no-such-program-here"),
        ({"evaluate": "python pack.py"}, "pack.py belongs to the task or to its measurement"),
        ({"evaluate": "python 'pack.py"}, "every quotation mark closed"),
        ({"better": "maximize"}, "`better` must be 'higher' or 'lower', not 'maximize'"),
        ({"items": "lost.jsonl"}, "there is no file lost.jsonl"),
        ({"items": "empty.jsonl"}, "is empty"),
        ({"items": "broken.jsonl"}, "line 2 cannot be read"),
        ({"items": "items.jsonl", "sealed": "items.jsonl"}, "2 of 2 sealed items are among"),
        ({"items": "items.jsonl", "sealed": "alike.jsonl"}, "number 2 of alike.jsonl"),
        ({"sealed": "sealed.jsonl"}, "`sealed` needs `items`"),
        ({"per_evaluation": 4}, "`per_evaluation` needs `items`"),
        ({"items": "items.jsonl", "per_evaluation": 3}, "there are 2 items"),
        ({"guard": {"p50_ms": "5 or so"}}, "write it like"),
        ({"guard": "p50_ms <= 5"}, "`guard` must be `key: value` pairs"),
        ({"limits": {"seconds": 0}}, "`limits.seconds` must be a number > 0"),
        ({"limits": {"seconds": float("nan")}}, "`limits.seconds` must be"),
        ({"limits": {"processes": 0}}, "`limits.processes` must be a whole number >= 1"),
        ({"limits": {"minutes": 1}}, "unknown key `minutes`; known are seconds, memory_mb"),
        ({"target": float("inf")}, "`target` and `tolerance` must be finite"),
        ({"tolerance": -1}, "`tolerance` must be a number >= 0"),
        ({"colour": "red"}, "unknown key `colour`; known are artifact, evaluate"),
        ({"constraints": "lost.py <= 3 kB"}, "'lost.py' is not in the artifact"),
        ({"constraints": "pack.py <= 3 B"}, "the start breaks a constraint: pack.py has 25 bytes"),
        (
            {"constraints": "pack.py >= 5 kB"},
            "'pack.py >= 5 kB' cannot be checked; write a size as",
        ),
        ({"constraints": "pack.py <= 5"}, "cannot be checked"),
        ({"constraints": "pack.py < 5 lines"}, "cannot be checked"),
        ({"mounts": "data"}, "is not an absolute path"),
        ({"artifact": "knobs.py"}, "knobs.py line 1: the mark cannot be read"),
        ({"mounts": "/"}, "contains the task's folder"),
    ],
)
def test_a_wrong_task_is_refused_in_one_sentence(
    folder: Path, keys: dict[str, object], sentence: str
) -> None:
    (folder / "knobs.py").write_text("X = 3  # tune 5..9\n")
    (folder / "empty.jsonl").write_text("\n \n")
    (folder / "broken.jsonl").write_text('{"a": 1}\n{"a": \n')
    (folder / "alike.jsonl").write_text('{"q": "new"}\n{"q":  "Second   ITEM"}\n')
    assert sentence in refusal(folder, **keys)


def test_links_are_refused_also_on_the_way(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "far.py").write_text("FAR = 1\n")
    (folder / "link.py").symlink_to(tmp_path / "away" / "far.py")
    (folder / "linked").symlink_to(tmp_path / "away")
    assert "link.py is a link" in refusal(folder, artifact="link.py")
    assert "link.py is a link" in refusal(folder, artifact="lin*.py")
    assert "linked is a link" in refusal(folder, artifact="linked/far.py")


def test_files_that_are_no_text_or_too_large_are_refused_unread(folder: Path) -> None:
    (folder / "photo.py").write_bytes(b"\xff\xfe")
    (folder / "zero.py").write_bytes(b"a\0b")
    (folder / "many").mkdir()
    for number in range(11):
        (folder / "many" / f"{number}.txt").write_text("x" * 99_000)
    with (folder / "huge.py").open("wb") as file:
        file.truncate(100_000_000_000)
    os.mkfifo(folder / "pipe.py")
    assert "photo.py is not UTF-8" in refusal(folder, artifact="photo.py")
    assert "zero.py is not UTF-8" in refusal(folder, artifact="zero.py")
    assert "huge.py is over 100 kB" in refusal(folder, artifact="huge.py")
    assert "over 1 MB" in refusal(folder, artifact="many/*.txt")
    assert "there is no file pipe.py" in refusal(folder, artifact="pipe.py")
