"""`run --strategy`: ours by name, one's own by file, and whatever is wrong in one sentence."""

from __future__ import annotations

import pytest
from tests.cli.inside import Inside

from autoreason.strategies import BUILT_IN

BRIEF = "Write about tides and boats"
FAST = ("-m", "echo/echo", "--seed", "7", "--rounds", "2", "-q")

GOOD = """
from autoreason.extend import Strategy

class Mine(Strategy):
    prompts = ("improve",)

    async def run(self):
        await self.write_draft()
        {middle}
        return self.deliver("done", "mine is done")
"""


@pytest.mark.parametrize("strategy", BUILT_IN)
def test_every_strategy_is_run_listed_shown_and_resumed(
    inside: Inside, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With nothing to set aside for its end, a run can be paused at any call.
    asked: tuple[str, ...] = ("run", BRIEF, *FAST, "--strategy", strategy)
    asked += ("--set", "confirmation=0")
    asked += ("--set", "reviewers=0") if strategy == "autoreason" else ()
    whole = inside(*asked)
    assert whole.status == 0
    assert whole.out.startswith("# ")
    listed = inside("runs", "--json").json
    assert listed[0]["strategy"] == strategy
    monkeypatch.setenv("COLUMNS", "200")
    assert listed[0]["title"] in inside("runs").out
    monkeypatch.delenv("COLUMNS")
    assert inside("show").status == 0
    shown = inside("show", "--evidence")
    assert strategy == "autoreason" or strategy in shown.out
    assert inside("show", "--text").out == whole.out
    found = inside("show", "--json").json
    assert found["settings"]["job"]["strategy"] == strategy
    calls = found["spent"]["calls"]
    if calls > 1:
        paused = inside(*asked, "--call-limit", str(calls - 1))
        assert paused.status == 3
        resumed = inside("resume", "--call-limit", str(calls), "-q")
        assert (resumed.status, resumed.out) == (0, whole.out)
    assert inside("runs", "check", "last").status == 0


def test_a_strategy_of_ones_own_that_fails_goes_on_elsewhere_once_put_right(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside.write("mine.py", GOOD.format(middle="raise LookupError('no such shelf')"))
    failed = inside("run", BRIEF, *FAST, "--strategy", "mine.py:Mine")
    assert failed.status == 2
    assert "raised LookupError (no such shelf) at mine.py:9" in failed.sentence
    assert "autoreason resume" in failed.sentence

    (inside.folder / "elsewhere").mkdir()
    monkeypatch.chdir(inside.folder / "elsewhere")
    again = inside("resume", "-q")
    assert again.status == 2
    assert "no such shelf" in again.sentence
    assert inside("show", "--text").out.startswith("# ")

    (inside.folder / "mine.py").write_text(GOOD.format(middle="pass"))
    resumed = inside("resume", "-q")
    assert resumed.status == 0
    assert resumed.out.startswith("# ")
    assert inside("show", "--json").json["spent"]["calls"] == 1


def test_a_record_can_be_read_though_its_strategy_is_gone(inside: Inside) -> None:
    inside.write("mine.py", GOOD.format(middle=""))
    assert inside("run", BRIEF, *FAST, "--strategy", "mine.py:Mine").status == 0
    (inside.folder / "mine.py").unlink()
    assert inside("runs").status == inside("show").status == 0
    assert "mine.py:Mine" in inside("show", "--evidence").out
    replayed = inside("runs", "check", "last")
    assert replayed.status == 2
    assert "cannot be loaded: FileNotFoundError" in replayed.sentence


def test_a_replay_of_a_strategy_that_draws_at_random_names_the_likely_cause(inside: Inside) -> None:
    source = GOOD.format(middle="import sys; sys.again = not getattr(sys, 'again', False)")
    inside.write("mine.py", source.replace('"done"', '("done", "capped")[sys.again]'))
    assert inside("run", BRIEF, *FAST, "--strategy", "mine.py:Mine").status == 0
    replayed = inside("runs", "check", "last")
    assert replayed.status == 1
    assert "it must draw from `self.settings.seed` alone" in replayed.out


def test_a_strategy_that_leaves_the_process_is_named_with_its_line(inside: Inside) -> None:
    inside.write("mine.py", GOOD.format(middle="raise SystemExit(7)"))
    left = inside("run", BRIEF, *FAST, "--strategy", "mine.py:Mine")
    assert left.status == 2
    assert "raised SystemExit (7) at mine.py:9" in left.sentence
