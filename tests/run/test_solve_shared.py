"""Whole runs over real problems, in a real sandbox: wrong programs first, known-correct ones later."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.programs.stage import critique, fenced
from tests.run.runs import lend, open_journal
from tests.run.solve_runs import NAMES, judged

from autoreason.errors import InvalidInput
from autoreason.exchange import QueryStarted, Request, Signal
from autoreason.journal import Journal
from autoreason.models.doubles import ScriptedModel
from autoreason.models.local import pull
from autoreason.programs.examination import ExaminationQuery
from autoreason.programs.examiner.process import ExaminerClient
from autoreason.run.recorded import replay, resume
from autoreason.run.solution import Solution
from autoreason.run.solve import solve

_VERDICTS = {"WA": "wrong_answer", "RE": "runtime_error"}


@dataclass(frozen=True)
class Opened:
    """A set as a run sees it, and the records it was made from."""

    path: Path
    records: Sequence[dict[str, Any]]

    def script(self) -> dict[str, Any]:
        def write(request: Request) -> str:
            shown = "".join(message.text for message in request.messages)
            record = next(each for each in self.records if each["statement"].strip() in shown)
            first = request.key.startswith("draft/")
            return fenced(_wrong(record)["code"] if first else record["solution"])

        writers = dict.fromkeys(("author", "reviser", "synthesizer"), write)
        return {**writers, "critic": critique("It misses a case."), "judge": judged}

    async def solve(self, journal: Journal, strategies: Sequence[str] = NAMES, **more: Any) -> Any:
        model = ScriptedModel(self.script())
        options: dict[str, Any] = {"strategy": list(strategies), "seed": 7, **more}
        return await solve.aio(self.path, model, journal=journal, **options)


def _wrong(record: dict[str, Any]) -> dict[str, Any]:
    """A mutant that does not just run until its time is up."""
    return next(each for each in record["wrong_solutions"] if each["verdict"] in _VERDICTS)


def _same(program: str | None, source: str) -> bool:
    """Whether a program is what was written, line by line, whatever ends the lines."""
    written = source.replace("\r\n", "\n").strip()
    return program is not None and program.split("\n") == written.split("\n")


def _quick(record: dict[str, Any]) -> bool:
    return record["max_test_s"] < 0.1 and any(
        each["verdict"] in _VERDICTS for each in record["wrong_solutions"]
    )


async def opened(shared: Path, folder: Path, number: int) -> Opened:
    """The first quick problems of the shared ones, as the examiner hands them out."""
    lines = (shared / "problems" / "stdio.jsonl").read_text("utf-8").splitlines()
    records = list(filter(_quick, map(json.loads, lines)))[:number]
    path = folder / "problems.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), "utf-8")
    try:
        client = await ExaminerClient.open(path)
    except InvalidInput as error:
        pytest.skip(f"programs cannot be run here: {error}")
    await client.close()
    return Opened(path, records)


@pytest.mark.timeout(240)
async def test_real_problems_by_every_strategy(
    journal: Journal, shared: Path, tmp_path: Path
) -> None:
    given = await opened(shared, tmp_path, 3)
    result = await given.solve(journal)
    assert (result.status, len(result.solved)) == ("done", 3 * len(NAMES))
    for unit in result.solved:
        record = given.records[int(unit.part.split("/")[0]) - 1]
        wrong = _wrong(record)
        assert unit.private
        assert unit.private.level not in ("", "none")
        if wrong["passes_public"] and unit.strategy == "search":
            # It goes on, and what it finds may agree more.
            assert any(_same(unit.program, code) for code in (wrong["code"], record["solution"]))
        elif wrong["passes_public"]:
            assert _same(unit.program, wrong["code"])
            assert unit.attempts == 1
            assert unit.private.verdict == _VERDICTS[wrong["verdict"]]
        else:
            assert _same(unit.program, record["solution"])
            assert unit.private.verdict == "accepted"
            assert unit.first
            assert unit.first.verdict != "accepted"
    runs = [result.run, *(row.id for row in journal.cells(result.run))]
    assert_nothing_private_is_recorded(journal, runs, given)
    for run in runs:
        assert (await replay.aio(run, journal=journal)).same


def strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            yield from strings(list(value.values()))
        case list() | tuple():
            for each in value:
                yield from strings(each)


def assert_nothing_private_is_recorded(
    journal: Journal, runs: Sequence[str], given: Opened
) -> None:
    """No private test stands in a prompt, a reply or an event, but for what the statement shows anyway."""
    said = ""
    for run in runs:
        calls = journal.calls(run)
        said += "\n".join(message.text for call in calls for message in call.request.messages)
        said += "\n".join(text for each in journal.answers(run).values() for text in strings(each))
        said += "\n".join(repr(item.event) for item in journal.events(run))
    private = strings([record["private_tests"] for record in given.records])
    secrets = [line for text in private for line in text.splitlines() if len(line) > 25]
    shown = "\n".join(record["statement"] for record in given.records)
    shown += "\n".join(strings([record["public_tests"] for record in given.records]))
    hidden = [line for line in secrets if line not in shown]
    assert len(hidden) > 5
    assert not [line for line in hidden if line in said]


def _killed_over(folder: Path, given: Opened, program: int) -> None:
    """Let a child work, and die as a program is run: the first, the second, as told."""
    begun = 0

    def hear(sign: Signal) -> None:
        nonlocal begun
        begun += isinstance(sign, QueryStarted) and sign.kind == ExaminationQuery.kind
        if begun == program:
            asyncio.get_running_loop().call_later(0.01, os.kill, os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        try:
            with open_journal(folder) as journal:
                asyncio.run(given.solve(journal, ("tournament", "single"), width=2, on_signal=hear))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_a_set_killed_while_programs_run_goes_on_where_it_was(shared: Path, tmp_path: Path) -> None:
    given = asyncio.run(opened(shared, tmp_path, 4))
    _killed_over(tmp_path, given, 6)
    with open_journal(tmp_path) as journal:
        run = journal.runs()[0].id
        before = sum(len(journal.replies(row.id)) for row in journal.cells(run))
        assert before
        model = ScriptedModel(given.script())
        result = asyncio.run(resume.aio(run, journal=journal, pool=lend(model)))
        assert isinstance(result, Solution)
        assert result.status == "done"
        assert before + len(model.requests) == result.calls, "nothing is asked twice"
        assert [unit.part for unit in result.solved] == [
            f"{n}/{name}/1" for n in range(1, 5) for name in ("tournament", "single")
        ]
        assert all(unit.private for unit in result.solved)
        assert asyncio.run(replay.aio(run, journal=journal)).same


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        ({"id": "x"}, "^problem 'x': `statement` is missing"),
        ({"id": "x", "solution": print}, "^the problem cannot be written as JSON"),
    ],
)
async def test_a_mapping_that_is_not_a_problem_is_refused_without_naming_a_file(
    problem: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        await solve.aio(problem, ScriptedModel({}))


@pytest.mark.timeout(400)
@pytest.mark.slow
async def test_easy_problems_on_the_embedded_model(journal: Journal, tmp_path: Path) -> None:
    try:
        pull()
    except InvalidInput as error:
        pytest.skip(f"the embedded model cannot be fetched here: {error}")
    path = tmp_path / "easy.jsonl"
    path.write_text("\n".join(map(json.dumps, EASY)), "utf-8")
    options: dict[str, Any] = {"strategy": "tournament", "calls": 1, "max_tokens": 48}
    result = await solve.aio(path, "local/smollm2", journal=journal, **options)
    assert result.status == "done"
    assert [unit.problem for unit in result.solved] == [each["id"] for each in EASY]
    assert all(unit.spent.calls == 1 for unit in result.solved)
    assert (await replay.aio(result.run, journal=journal)).same


EASY = [
    {
        "id": "hello",
        "statement": "Print the word hello.",
        "public_tests": [["", "hello\n"]],
        "private_tests": [["ignored\n", "hello\n"]],
    },
    {
        "id": "double",
        "statement": "Read one integer and print twice that integer.",
        "public_tests": [["4\n", "8\n"]],
        "private_tests": [["-3\n", "-6\n"], ["0\n", "0\n"]],
    },
]
