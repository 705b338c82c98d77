"""`judge`: a table, one plain sentence, and exit statuses that say what to do."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.cli.inside import Inside
from tests.cli.server import Server
from tests.tournament.stage import cut_off

from autoreason.exchange import Reply
from autoreason.models import doubles
from autoreason.models.pool import ModelPool

TEXTS = {
    "alpha.md": "Alpha tides come twice a day. Boats wait for them.",
    "beta.md": "Beta tides are slow.",
    "gamma.md": "Gamma boats leave when the water is high.",
}
PANEL = ("-m", "echo/echo", "--seed", "7", "--judges", "3")


@pytest.fixture
def texts(inside: Inside) -> tuple[str, ...]:
    """Three files."""
    return tuple(inside.write(name, text) for name, text in TEXTS.items())


def deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judges who answer with nothing that could be read."""

    async def ask(*_: object) -> Reply:
        return cut_off("Well")

    monkeypatch.setattr(doubles.EchoModel, "ask", ask)


def test_a_panel_ends_with_a_table_and_one_sentence(inside: Inside, texts: tuple[str, ...]) -> None:
    said = inside("judge", "Write about tides", *texts, *PANEL)
    assert said.status == 0
    assert all(name in said.out for name in TEXTS)
    assert re.search(r"(?m)^(No winner|\w+\.md wins)", said.out)
    assert "autoreason show" in said.out
    assert "judge 1: " in said.err


def test_the_report_is_a_page_too_and_the_same_once_more_with_show(
    inside: Inside, texts: tuple[str, ...]
) -> None:
    inside("judge", "Write about tides", *texts, *PANEL, "-q", "--html", "one.html")
    again = inside("show", "--short", "--html", "two.html")
    one, two = (inside.folder / name for name in ("one.html", "two.html"))
    assert one.read_text("utf-8") == two.read_text("utf-8")
    assert '<p class="conclusion">' in one.read_text("utf-8")
    assert all(name in one.read_text("utf-8") for name in TEXTS)
    assert "written to two.html" in again.err


def test_a_page_shows_a_whole_run(inside: Inside) -> None:
    inside("run", "Write about tides.", "-m", "echo/echo", "--seed", "1", "--passes", "1", "-q")
    for part in ("--text", "--diff", "--pass=1"):
        done = inside("show", part, "--html", "page.html")
        assert (done.status, (inside.folder / "page.html").exists()) == (2, False)
        assert "--html go alone or with --json" in done.sentence


def test_programs_get_everything_as_one_object(inside: Inside, texts: tuple[str, ...]) -> None:
    said = inside("judge", "Write about tides", *texts, *PANEL, "--json", "-q")
    found = said.json
    assert {"run", "status", "calls", "tokens", "cost", "seed", "conclusion", "report"} <= set(
        found
    )
    assert (found["status"], found["calls"], found["seed"]) == ("done", 3, 7)
    report = found["report"]
    assert {each["name"] for each in report["standings"]} == set(TEXTS)
    assert sum(each["points"] for each in report["standings"]) == 3 * 6
    assert report["ballots"] == 3
    assert set(report["wins"]) == set(TEXTS)
    shown = inside("show", found["run"], "--json").json
    assert shown == found


def test_the_contract_of_the_brief_is_checked_in_every_text(
    inside: Inside, texts: tuple[str, ...]
) -> None:
    brief = inside.write("brief.md", "---\nmax_words: 6\n---\nWrite about tides.\n")
    found = inside("judge", brief, *texts, *PANEL, "--json", "-q").json
    broken = {name for name, said in found["report"]["violations"].items() if said}
    assert broken == {"alpha.md", "gamma.md"}


def test_pairs_are_judged_in_both_orders(inside: Inside, texts: tuple[str, ...]) -> None:
    found = inside("judge", "Write about tides", *texts, *PANEL, "--pairwise", "--json", "-q").json
    assert found["calls"] == 3 * 3 * 2
    assert found["report"]["ballots"] + found["report"]["abstained"] == 9


def test_in_pairs_there_are_as_many_judges_as_were_asked_for_and_who_flips_is_not_invalid(
    inside: Inside, texts: tuple[str, ...]
) -> None:
    said = inside("judge", "Write about tides", *texts, *PANEL, "--pairwise")
    shown = inside("show", "last")
    for lines in (said.err, shown.out):
        assert set(re.findall(r"judge (\d+)", lines)) == {"1", "2", "3"}
        assert "not valid" not in lines
        assert "of 3 judges prefer the same text in both orders" in " ".join(lines.split())
    assert said.err.count(", order reversed") == 9
    assert "no invalid ballots" in said.out
    assert "first places  " not in said.out


def test_texts_are_cut_alike_where_that_is_asked_for(
    inside: Inside, texts: tuple[str, ...]
) -> None:
    said = inside("judge", "Write about tides", *texts, *PANEL, "--equal-length", "--json", "-q")
    words = {each["name"]: each["words"] for each in said.json["report"]["standings"]}
    assert words["alpha.md"] == 6
    assert words["beta.md"] == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("alpha.md",), "2 to 10 texts, not 1"),
        ((), "no run 'Write about tides'"),
        (("alpha.md", "alpha.md"), "alpha.md is named twice"),
        (("alpha.md", "copy.md"), "are the same text"),
        (("alpha.md", "empty.md"), "empty"),
        (("alpha.md", "beta.md", "--judges", "1"), "judges is 1"),
        (("alpha.md", "beta.md", "--judge-model", "nobody/none"), "nobody"),
    ],
)
@pytest.mark.usefixtures("texts")
def test_what_cannot_be_judged_is_one_sentence_and_writes_nothing(
    inside: Inside, arguments: tuple[str, ...], said: str
) -> None:
    inside.write("copy.md", f" {TEXTS['alpha.md']}\n\n")
    inside.write("empty.md", " \n")
    refused = inside("judge", "Write about tides", *arguments, "-m", "echo/echo")
    assert refused.status == 2
    assert said in refused.sentence
    assert not inside.journal_exists


@pytest.mark.parametrize("more", [(), ("--pairwise",)])
def test_a_text_over_the_window_is_refused_before_anything_is_spent(
    inside: Inside, texts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    monkeypatch.setattr(ModelPool, "window", lambda *_: 2000)
    long = inside.write("long.md", "Delta " * 3000)
    refused = inside("judge", "Write about tides", *texts, long, *PANEL, *more)
    assert refused.status == 2
    assert "needs about" in refused.err
    assert not inside.journal_exists


def test_dead_judges_are_exit_5_and_the_table_comes_with_resume(
    inside: Inside, texts: tuple[str, ...]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        deaf(patch)
        failed = inside("judge", "Write about tides", *texts, *PANEL, "-q")
    assert failed.status == 5
    assert "autoreason resume" in failed.sentence
    resumed = inside("resume")
    assert resumed.status == 0
    assert all(name in resumed.out for name in TEXTS)
    assert "3 votes counted, of echo/echo, asked 3 times" in resumed.out


def test_a_budget_pauses_a_panel_and_resume_prints_the_table(
    inside: Inside, texts: tuple[str, ...]
) -> None:
    paused = inside("judge", "Write about tides", *texts, *PANEL, "--token-limit", "4800", "-q")
    assert paused.status == 3
    shown = inside("show")
    assert shown.status == 0
    assert "autoreason resume" in shown.out
    resumed: Any = inside("resume", "--token-limit", "90000", "--json", "-q").json
    assert (resumed["status"], resumed["calls"]) == ("done", 3)
    assert inside("runs", "--json").json[0]["strategy"] == "judge"
    finished = inside("resume", resumed["run"])
    assert finished.status == 2
    assert f"`autoreason show {resumed['run']}` shows its result" in finished.sentence


def test_a_provider_that_fails_is_exit_4_and_resume_prints_the_table(
    inside: Inside, texts: tuple[str, ...], server: Server
) -> None:
    server.gate.set()
    server.broken_from = 3
    panel = ("-m", "test/slow", "--base-url", server.url, "--judges", "4")
    failed = inside("judge", "Write about tides", *texts, *panel, "-q")
    assert failed.status == 4
    assert "autoreason resume" in failed.sentence
    server.broken_from = None
    asked = server.asked
    resumed = inside("resume", "--json", "-q").json
    assert (resumed["status"], resumed["report"]["ballots"]) == ("done", 4)
    assert server.asked - asked <= 2


def test_a_dry_run_says_what_a_panel_takes_and_calls_nothing(
    inside: Inside, texts: tuple[str, ...]
) -> None:
    said = inside("judge", "Write about tides", *texts, *PANEL, "--dry-run")
    assert "calls      3 to 12, most likely about 3" in said.out
    assert "panel      3 judges, each ranks 3 texts\nlimits     none\nseed       7\n\n" in said.out
    for word in ("protocol", "contract", "changed", "strategy"):
        assert word not in said.out.partition("First prompt")[0]
    assert not inside("runs").out


@pytest.mark.parametrize("command", ["texts", "run"])
def test_a_dry_run_refuses_what_the_run_would(
    inside: Inside, texts: tuple[str, ...], command: str
) -> None:
    inside("run", "Write about tides.", "-m", "echo/echo", "--seed", "1", "--passes", "1", "-q")
    arguments = ("Write about tides", *texts) if command == "texts" else ("last",)
    wrong = ("judge", *arguments, *PANEL, "--set", "style=nope")
    refused, dry = inside(*wrong), inside(*wrong, "--dry-run")
    assert (dry.status, dry.out, dry.err) == (refused.status, refused.out, refused.err)
    assert "`style` is 'nope'; give 'reasoned', " in dry.sentence


@pytest.mark.parametrize(("options", "least"), [((), 3), (("--pairwise",), 18)])
def test_a_limit_that_no_panel_fits_into_is_refused_before_anything_is_asked(
    inside: Inside, texts: tuple[str, ...], options: tuple[str, ...], least: int
) -> None:
    judge = ("judge", "Write about tides", *texts, *PANEL, *options, "--call-limit")
    needed = (
        f"--call-limit is {least - 1}, and this run needs at least {least}; "
        "give so many, or lower --judges"
    )
    assert inside(*judge, str(least - 1)).sentence == needed
    assert not inside.journal_exists
    assert needed in inside(*judge, str(least - 1), "--dry-run").err
    assert inside(*judge, str(least), "-q").status == 0


RUN = ("-m", "echo/echo", "--seed", "1", "--passes", "2", "-q")
SMALL_PANEL = ("-m", "echo/echo", "--judges", "2", "--seed", "3")


@pytest.fixture
def run(inside: Inside) -> str:
    """A recorded run."""
    assert inside("run", "Write about tides and boats", *RUN).status == 0
    return inside.runs()[0]


def test_every_decision_is_shown_beside_the_recorded_one(inside: Inside, run: str) -> None:
    said = inside("judge", run, *SMALL_PANEL)
    assert said.status == 0
    assert "pass 1" in said.out
    assert "playoff" in said.out
    assert "nother panel would have decided" in said.out


def test_programs_get_the_decisions_and_only_judges_were_asked(inside: Inside, run: str) -> None:
    found = inside("judge", run, *SMALL_PANEL, "--json", "-q").json
    assert found["rejudged_run"] == run
    stages = [each["stage"] for each in found["decisions"]]
    assert stages[-1] == "playoff"
    assert found["calls"] == 2 * len(stages)
    for each in found["decisions"]:
        assert each["changed"] == (each["new_winner"] != each["recorded_winner"])
    assert inside("show", found["run"], "--json").json == found
    listed = inside("runs", "--json").json
    assert [each["strategy"] for each in listed] == ["rejudge", "autoreason"]


def test_votes_are_counted_as_the_run_counted_them(inside: Inside) -> None:
    assert inside("run", "Write about tides", *RUN, "--set", "voting=copeland").status == 0
    paused = inside("judge", "last", *SMALL_PANEL, "--token-limit", "4800", "-q")
    assert paused.status == 3
    assert inside("show", "--json").json["settings"]["voting"] == "copeland"


@pytest.mark.parametrize("strategy", ["single", "improve"])
def test_a_run_without_panels_is_one_sentence(inside: Inside, strategy: str) -> None:
    assert inside("run", "Write about tides", *RUN, "--strategy", strategy).status == 0
    refused = inside("judge", "last", *SMALL_PANEL)
    assert refused.status == 2
    assert "has no pass over texts that a panel decided" in refused.sentence
    assert len(inside.runs()) == 1
