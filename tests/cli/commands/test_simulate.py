"""`simulate`: protocols in worlds, judges from ballots, and one sentence for every mistake."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from tests.cli.conftest import FAST, Shell
from tests.cli.test_startup import HEAVY, imported
from tests.studies.simulate.test_fit import recorded_panels

from autoreason.artifacts import rule_search
from autoreason.cli.group import cli

QUICK = ("simulate", "--fast", "--runs", "20", "--world", "help")


def test_the_help_loads_nothing_heavy() -> None:
    assert imported("simulate", "--help").isdisjoint({*HEAVY, "numpy"})


def test_the_table_has_a_line_for_every_protocol(quick_shell: Shell) -> None:
    done = quick_shell(*QUICK, "--world", "harm-new", "--set", "k=1", "--set", "playoff=9")
    assert done.returncode == 0, done.stderr
    for line in ("help: Revisions help", "harm-new:", "paper ", "robust k=1 playoff=9 ", "20 runs"):
        assert line in done.stdout
    assert "quality" in done.stdout


def test_programs_get_the_same_as_json_and_a_picture_is_drawn(quick_shell: Shell) -> None:
    drawn = ("--plot", "c.svg", "--html", "c.html")
    done = quick_shell(*QUICK, "--json", "--budget", "40", *drawn, "--protocol", "paper")
    told = json.loads(done.stdout)
    (cell,) = told["cells"]
    assert (cell["world"], cell["protocol"]) == ("help", "paper")
    assert cell["summary"]["calls"]["value"] <= 40
    assert told["worlds"][0]["judges"]["noise"] == 1.5
    svg = (quick_shell.home / "c.svg").read_text("utf-8")
    assert svg.startswith("<svg")
    assert svg in (quick_shell.home / "c.html").read_text("utf-8")


def test_keep_rules_are_searched(quick_shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_search, "OTHER_CASES", rule_search.OTHER_CASES[7:8])
    more = ("--runs", "2", "--tries", "1", "--evaluations", "20", "--json", "-q")
    done = quick_shell("simulate", "search", "--research", *more)
    assert done.returncode == 0, done.stderr
    assert "race, the default" in [rule["name"] for rule in json.loads(done.stdout)["rules"]]


@pytest.mark.parametrize(
    "options",
    [("--tries", "5"), ("--evaluations", "50"), ("--research", "--calls", "90")],
)
def test_options_of_the_other_search_are_refused(quick_shell: Shell, options: tuple[str]) -> None:
    done = quick_shell("simulate", "search", *options)
    assert done.returncode == 2
    assert "leave them out" in done.stderr


def test_the_tournament_itself_is_played_unless_asked_otherwise(quick_shell: Shell) -> None:
    slow = quick_shell(
        "simulate", "--runs", "3", "--world", "help", "--protocol", "paper", "--json"
    )
    assert json.loads(slow.stdout)["plan"]["fast"] is False
    assert json.loads(slow.stdout)["cells"][0]["summary"]["runs"] == 3


def test_judges_are_fitted_to_a_file_and_their_world_is_played(quick_shell: Shell) -> None:
    lines = [
        {
            "experiment": "e",
            "run": panel.run,
            "judge_model": "m",
            "judges": [{"order": vote.order, "ranking": vote.ranking} for vote in panel.votes],
        }
        for panel in recorded_panels(30, first=1.0)
    ]
    (quick_shell.home / "b.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    done = quick_shell("simulate", "--fit", "b.jsonl", "-o", "mine.yaml")
    assert done.returncode == 0, done.stderr
    assert "standing first" in done.stdout
    assert "90 ballots of 30 panels in 3 runs" in done.stdout
    played = quick_shell("simulate", "--fast", "--runs", "5", "--world", "mine.yaml")
    assert "mine: Judges as in b.jsonl." in played.stdout


def test_a_run_of_the_journal_that_is_too_short_to_fit_says_so(quick_shell: Shell) -> None:
    assert quick_shell("run", "Write about tides and boats", *FAST, "-q").returncode == 0
    done = quick_shell("simulate", "--fit", "last")
    assert done.returncode == 2
    assert "too few to fit" in done.stderr


def test_a_search_shows_the_best_beside_those_we_know() -> None:
    from autoreason.studies.simulate import protocol_search
    from autoreason.studies.simulate.grid import PAPER, Grid

    small = Grid((PAPER.bench,), (1, 2), (5,), (0, 5), (3,))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol_search.search_protocols, "__defaults__", (None, small))
        said = CliRunner().invoke(
            cli, ["simulate", "search", "--runs", "20", "--calls", "60", "--world", "help", "-q"]
        )
    assert said.exception is None
    for word in ("as published", "the default", "regret", "4 protocols tried"):
        assert word in said.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--world", "paradise"), "no world `paradise`"),
        (("--world", "none.yaml"), "no world at none.yaml"),
        (("--set", "k"), "write it like k=3"),
        (("--set", "colour=red"), "`colour` makes no difference"),
        (("--set", "k=0"), "`k` is 0"),
        (("--set", "voting=copeland", "--fast"), "--fast, --plot and --html count by borda only"),
        (("--judge-model", "m"), "belong to --fit"),
        (("--fit", "none.jsonl"), "no ballots at none.jsonl"),
        (("--fit", "no-such-run"), "no-such-run"),
        (("--plot", "no/where.svg"), "no folder no for --plot"),
    ],
)
def test_a_mistake_is_one_sentence_and_status_2(
    quick_shell: Shell, arguments: tuple[str, ...], said: str
) -> None:
    done = quick_shell("simulate", "--runs", "2", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_long_study_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from autoreason.cli.views import progress_line

    monkeypatch.setattr(progress_line, "_SECONDS_BETWEEN_LINES", 0)
    with progress_line.ProgressLine("done", quiet=False) as progress:
        progress(1, 4)
    assert "1 of 4 done" in capsys.readouterr().err
    with progress_line.ProgressLine("done", quiet=True) as progress:
        progress(1, 4)
    assert capsys.readouterr().err == ""


def test_the_seed_is_all_chance_there_is(shell: Shell, quick_shell: Shell) -> None:
    once, again, other = (
        run(*QUICK, "--protocol", "paper", "--seed", seed, "--json").stdout
        for run, seed in ((shell, "5"), (quick_shell, "5"), (quick_shell, "6"))
    )
    assert once == again != other


def test_keep_rules_are_tried_on_one_budget(quick_shell: Shell) -> None:
    done = quick_shell("simulate", "--research", "--runs", "3", "--evaluations", "30", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["evaluations"] == 30
    assert {cell["rule"] for cell in report["cells"]} >= {"greedy", "independent", "race"}
    assert report["fixed_set"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--research", "--world", "help"), "--research goes with --evaluations"),
        (("--evaluations", "30"), "--evaluations belongs to --research"),
        (("--research", "--evaluations", "9"), "give 16 or more"),
    ],
)
def test_options_of_keep_rules_and_of_protocols_do_not_mix(
    quick_shell: Shell, arguments: tuple[str, ...], message: str
) -> None:
    done = quick_shell("simulate", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
