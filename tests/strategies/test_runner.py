"""A strategy of one's own that goes wrong is told in one sentence; nothing is lost by it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.run.leaving import Breaking, left_after_every_call
from tests.run.runs import TASK, lend, settings, start_run
from tests.strategies.test_leaving import SCRIPT

from autoreason.errors import InvalidInput, StrategyError
from autoreason.journal import Journal
from autoreason.prompts import built_in
from autoreason.run.prepared import check

BODY = """
from autoreason.extend import Strategy

class Mine(Strategy):
    prompts = ()

{methods}
"""
GOOD = """
    async def run(self):
        await self.write_draft()
        return self.deliver("done", "mine is done")
"""


def plug_in(folder: Path, methods: str) -> str:
    """The name of a strategy with these methods."""
    file = folder / "mine.py"
    file.write_text(BODY.format(methods=methods))
    return f"{file}:Mine"


async def test_a_strategy_of_ones_own_is_run_like_any_other(
    journal: Journal, tmp_path: Path
) -> None:
    name = plug_in(tmp_path, GOOD)
    ended = await left_after_every_call(journal, TASK, settings(strategy=name), SCRIPT)
    assert (ended.status, ended.reason) == ("done", "mine is done")


EARLY = {
    "raises when it is made": (
        f"    def __init__(self, context):\n        raise ValueError('not today')\n{GOOD}",
        "raised ValueError (not today) at mine.py:8; correct it",
    ),
    "forgets to be made": (
        f"    def __init__(self, context):\n        pass\n{GOOD}",
        "super().__init__",
    ),
    "raises at once": (
        "    async def run(self):\n        raise ValueError('not today')",
        "raised ValueError (not today) at mine.py:8; correct it",
    ),
    "ends without a text": ("    async def run(self):\n        return None", "self.deliver"),
    "is not asynchronous": ("    def run(self):\n        return 3", "raised TypeError"),
    "leaves at once": (
        "    async def run(self):\n        import sys\n        sys.exit(7)",
        "raised SystemExit (7) at mine.py:9; correct it",
    ),
    "fails in a group of tasks": (
        "    async def run(self):\n        raise ExceptionGroup('two', [KeyError('shelf')])",
        "raised KeyError ('shelf')",
    ),
    "has no way to run": ("    pass", "does not define `run`"),
    "cannot say what it checks": (
        f"    @classmethod\n    def check(cls, settings):\n        raise KeyError('size')\n{GOOD}",
        "raised KeyError",
    ),
    "knows no options": (GOOD, "has no option `size`"),
}


@pytest.mark.parametrize("wrong", EARLY)
async def test_what_is_wrong_from_the_start_is_refused_before_anything_is_written(
    journal: Journal, tmp_path: Path, wrong: str
) -> None:
    methods, message = EARLY[wrong]
    chosen = settings(strategy=plug_in(tmp_path, methods), strategy_options={"size": 3})
    if wrong != "knows no options":
        chosen = settings(strategy=plug_in(tmp_path, methods))
    model = Breaking(SCRIPT)
    with pytest.raises(InvalidInput) as refused:
        await check(TASK, chosen, lend(model), built_in())
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not journal.runs()
    assert not model.asked


async def test_a_text_that_was_never_emitted_is_not_delivered(
    journal: Journal, tmp_path: Path
) -> None:
    name = plug_in(
        tmp_path,
        """
    async def run(self):
        from autoreason.events import JobFinished
        await self.write_draft()
        return JobFinished(reason="in secret", text=self.incumbent.text)
""",
    )
    with pytest.raises(StrategyError, match=r"self\.deliver"):
        await start_run(journal, Breaking(SCRIPT), settings=settings(strategy=name))


ODD_END = """
    async def run(self):
        await self.write_draft()
        return self.deliver("banana", "that is not a way to end")
"""
TWICE = """
    async def run(self):
        await self.write_draft()
        await self.write(1, "Better!")
        await self.write(1, "Better still!")
"""


@pytest.mark.parametrize(
    ("methods", "message"), [(ODD_END, "converged, capped or done"), (TWICE, "its own key")]
)
async def test_what_no_record_could_hold_is_refused_before_it_is_written(
    journal: Journal, tmp_path: Path, methods: str, message: str
) -> None:
    chosen = settings(strategy=plug_in(tmp_path, methods))
    model = Breaking(SCRIPT)
    with pytest.raises(InvalidInput, match=message):
        await start_run(journal, model, settings=chosen)
    (row,) = journal.runs()
    assert row.status == "stopped"
    assert row.spent.calls == len(model.asked)
