"""`export --pairs`: preference pairs as a file or a stream."""

from __future__ import annotations

import json

from tests.cli.conftest import BRIEF, FAST, Shell
from tests.journal.samples import create_run

from autoreason.events import PassStarted
from autoreason.journal import Journal


def test_pairs_go_to_standard_output_and_the_summary_beside_it(finished: Shell) -> None:
    done = finished("export", "--pairs", "-")
    assert done.returncode == 0
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines
    assert f"{len(lines)} pairs from " in done.stderr
    for line in lines:
        assert set(line) == {"prompt", "chosen", "rejected", "votes", "margin", "provenance"}
        assert BRIEF in line["prompt"]
        assert line["chosen"] != line["rejected"]
        assert line["votes"]["chosen"] > line["votes"]["rejected"]


def test_pairs_go_to_a_file_and_the_summary_is_for_programs_too(finished: Shell) -> None:
    done = finished("export", "last", "--pairs", "pairs.jsonl", "--chat", "--json")
    lines = (finished.home / "pairs.jsonl").read_text("utf-8").splitlines()
    assert json.loads(done.stdout)["pairs"] == len(lines)
    assert json.loads(lines[0])["chosen"][0]["role"] == "assistant"
    assert "written to pairs.jsonl" in done.stderr


def test_all_runs_can_be_taken_and_a_damaged_one_hides_none(finished: Shell) -> None:
    assert finished("run", BRIEF, *FAST, "--seed", "8", "-q").returncode == 0
    with Journal.open(str(finished.journal), create=False) as journal:
        create_run(journal, "29991231-bad-run", "Torn")
        journal.append("29991231-bad-run", PassStarted(number=1, words=3))
    assert "29991231-bad-run is left out" in finished("export", "--all", "--pairs", "-").stderr
    runs = {json.loads(line)["provenance"]["run"] for line in _lines(finished, "--all")}
    assert len(runs) == 2
    assert _lines(finished, *sorted(runs)) == _lines(finished, "--all")


def _lines(shell: Shell, *arguments: str) -> list[str]:
    return sorted(shell("export", *arguments, "--pairs", "-").stdout.splitlines())


def test_where_nobody_voted_the_file_is_empty(paused: Shell) -> None:
    done = paused("export", "--pairs", "pairs.jsonl")
    assert done.returncode == 0
    assert done.stderr.startswith("0 pairs from 0 panels of 1 run")
    assert (paused.home / "pairs.jsonl").read_bytes() == b""
