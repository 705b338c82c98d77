"""`certify`: a judge is measured once, and a run that seats it afterwards says what it failed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import BRIEF, FAST, NO_END, Shell
from tests.cli.inside import Inside
from tests.cli.server import Server
from tests.patience import PATIENCE, until
from tests.studies.certify.judges import stored

from autoreason.cli.runner import warn_of_failed_judges
from autoreason.journal import Journal
from autoreason.prompts import built_in
from autoreason.settings import Models, make_settings
from autoreason.studies.certificate import PROPERTIES, write_certificate

ECHO = ("certify", "echo/echo", "--seed", "7")
QUESTIONS = 180


def certificates(home: Path) -> list[Path]:
    return sorted((home / "data" / "autoreason" / "certificates").glob("*"))


def recorded(shell: Shell) -> int:
    if not shell.journal.exists():
        return 0
    with Journal.open(str(shell.journal), create=False) as journal:
        return sum(len(journal.replies(row.id)) for row in journal.runs(1))


def test_a_certificate_is_printed_and_kept(inside: Inside) -> None:
    done = inside(*ECHO)
    assert done.status == 0
    assert "Whether the judge is good enough is not known; not shown: planted defects" in done.out
    assert "echo/echo, asked " in done.out
    evidence = inside("show", "--evidence").out
    for each in PROPERTIES:
        assert f"\n{each.name} " in evidence
    assert "further questions would not decide it" in " ".join(evidence.split())
    assert "defect recipe: judge 1:" in done.err
    assert [path.name for path in certificates(inside.folder)] == ["echo%2Fecho.json"]
    assert "echo/echo  not shown" in inside("models", "--certificates", "echo/echo").out


def test_a_run_that_seats_a_judge_that_failed_says_so_in_one_line(inside: Inside) -> None:
    write_certificate(stored("echo/echo"))
    done = inside("run", BRIEF, *FAST, "-q", "--call-limit", "4", *NO_END)
    line = (
        "autoreason: warning: as a judge, echo/echo failed position; "
        "see `autoreason models --certificates echo/echo`"
    )
    assert done.err.splitlines()[0] == line
    assert inside("resume", "--call-limit", "500", "-q").err.splitlines() == [line]
    for name in ("one.md", "two.md"):
        (inside.folder / name).write_text(f"A text in {name}.\n")
    judged = inside("judge", BRIEF, "one.md", "two.md", "-m", "echo/echo", "-q")
    assert (judged.status, judged.err.splitlines()) == (0, [line])


def test_the_warning_says_where_judges_are_asked_in_fewer_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_certificate(stored("a/one"))
    settings = make_settings(Models.everywhere("a/one"), 7)
    for prompts in (built_in(), built_in().with_short_judge()):
        warn_of_failed_judges(settings, prompts)
    usual, short = capsys.readouterr().err.splitlines()
    assert short == f"{usual}; judges are asked in fewer words"


def test_a_killed_certification_goes_on_and_pays_for_nothing_twice(
    shell: Shell, server: Server
) -> None:
    server.held_from = 40
    running = shell.start("certify", "test/slow", "--base-url", server.url, "-q")
    until(lambda: server.asked >= 40 and recorded(shell) == 39)
    running.kill()
    running.wait(PATIENCE)
    server.gate.set()
    # What was on its way when it was killed still arrives.
    server.settle()
    asked = server.asked
    assert recorded(shell) == 39
    assert certificates(shell.home) == []
    done = shell("resume", "-q")
    assert done.returncode == 0
    assert "test/slow, asked " in done.stdout
    assert server.asked - asked == QUESTIONS - 39
    assert len(certificates(shell.home)) == 1
    assert shell("models", "--certificates", "test/slow").returncode == 0
