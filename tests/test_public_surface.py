"""What `import autoreason` offers: closed, typed, documented, and quick to import."""

from __future__ import annotations

import doctest
import inspect
import pydoc
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from tests.cases import cases

import autoreason
from autoreason import errors, events, extend, testing
from autoreason.exchange import Signal
from autoreason.run.verbs import option_texts, options_class

ROOT = Path(__file__).parents[1]
OFFERED = {name: getattr(autoreason, name) for name in autoreason.__all__}
FUNCTIONS: dict[str, Any] = {
    name: value for name, value in OFFERED.items() if inspect.isfunction(value)
}
EXTEND = {name: value for name, value in vars(extend).items() if not name.startswith("_")}

PREPARED = {
    *("advise", "certify", "compare", "compare_rules", "fork", "judge", "lab"),
    *("measure_knowledge", "refine", "rejudge", "research"),
}
AWAITED = {*PREPARED, "replay", "resume", "solve"}
AT_ONCE = {
    *("add_outcome", "advise_from", "check_knowledge", "evaluate_predictor", "export"),
    *("plan_ab", "read_task", "report_ab", "search_knowledge"),
}
VALUES = {
    *("Budget", "Contract", "Journal", "ModelPool", "Models", "PreparedRun", "Settings"),
    *("StopSwitch", "Task", "__version__"),
}
RESULTS = {
    *("AbPlan", "AbReport", "AdviceReport", "Certificate", "FolderReport"),
    *("KnowledgeReport", "LabPlan", "LabReport", "PanelReport", "PredictorTest", "RejudgeReport"),
    *("ReplayResult", "Report", "ResearchResult", "Result"),
    *("RunEstimate", "SearchReport", "Solution", "StudyResult"),
}
ERRORS = {
    *("AutoreasonError", "BudgetReached", "Interruption", "InvalidInput", "JournalError"),
    *("ProviderFailed", "ReplayMismatch", "RunLocked", "UnknownRun", "UnusableStart"),
}


def test_exactly_these_names_are_offered_and_others_have_modules_of_their_own() -> None:
    assert set(FUNCTIONS) == AWAITED | AT_ONCE
    assert set(OFFERED) == AWAITED | AT_ONCE | VALUES | RESULTS | ERRORS
    assert {name for name in FUNCTIONS if hasattr(FUNCTIONS[name], "aio")} == AWAITED
    assert {name for name in FUNCTIONS if hasattr(FUNCTIONS[name], "prepare")} == PREPARED
    assert testing.__all__ == ["Answer", "EchoModel", "Script", "ScriptedModel"]
    own = [each for each in events.Event.__subclasses__() if each.__module__ == events.__name__]
    assert {events.RunStarted, events.PassDecided, events.Delivered} <= set(own)
    offered = list(EXTEND.values())
    assert [each for each in get_args(Signal) if each not in offered] == []
    assert {"Strategy", "ProgramStrategy", "Model", "Request", "Reply", "CallFailed"} <= set(EXTEND)
    assert not set(EXTEND) & set(OFFERED)


def classes(hint: Any) -> Iterator[type]:
    if isinstance(hint, type):
        yield get_origin(hint) or hint
    for each in hint if isinstance(hint, list | tuple) else get_args(hint):
        yield from classes(each)


@cases("name", sorted({*FUNCTIONS} | {*EXTEND}))
def test_every_class_of_ours_that_a_signature_mentions_is_offered_too(name: str) -> None:
    value = FUNCTIONS.get(name) or EXTEND[name]
    if not (inspect.isfunction(value) or inspect.isclass(value)):
        return
    homes = [*OFFERED.values(), *EXTEND.values(), *vars(events).values(), *vars(errors).values()]
    given = inspect.signature(value).parameters.values() if hasattr(value, "aio") else ()
    found = {each.name: each.annotation for each in given} or get_type_hints(value)
    hints = [hint for name, hint in found.items() if not name.startswith("_")]
    ours = [each for each in classes(hints) if each.__module__.startswith("autoreason")]
    assert [each for each in ours if each not in homes] == []


def test_a_type_checker_sees_what_is_offered_and_refuses_a_wrong_argument(tmp_path: Path) -> None:
    names = sorted(set(OFFERED) - {"__version__"})
    shown = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "docs" / "reference.md").read_text("utf-8"), re.M | re.S
    )
    assert shown
    (tmp_path / "reference.py").write_text("\n".join(shown))
    (tmp_path / "snippet.py").write_text(
        f"import autoreason\nfrom autoreason import {', '.join(names)}, __version__\n"
        f"from autoreason.extend import {', '.join(sorted(EXTEND))}\n"
        "async def answer() -> tuple[str, float]:\n"
        "    found = await autoreason.judge.aio('Write.', {}, judges=3)\n"
        "    prepared = research.prepare('task.md', evaluations=40)\n"
        "    return found.report.conclusion, prepared.run().report.seconds\n"
        "Reply(text='hello', outcome=autoreason.extend.Outcome.OK)\n"
        "autoreason.refine('Write.', 'echo/echo', passes=3).text.split()\n"
        "autoreason.refine('Write.', 'echo/echo', pases=3)\n"
        "autoreason.judge.prepare('Write.', {}, passes=3)\n"
        "autoreason.resume('amber-fox', passes='3')\n"
        "autoreason.nonsense\n"
    )
    files = [str(tmp_path / name) for name in ("reference.py", "snippet.py")]
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    refused = re.findall(r"(\w+)\.py:(\d+): error: ", done.stdout)
    assert refused == [("snippet", str(line)) for line in (7, 10, 11, 12, 13)], done.stdout


@cases("name", sorted(FUNCTIONS))
def test_every_function_says_what_it_takes_returns_and_raises(name: str) -> None:
    function = FUNCTIONS[name]
    parts = (inspect.getdoc(function) or "").split("\n\n")
    heads = [part.partition(":\n")[0] for part in parts[1:] if ":\n" in part]
    assert heads == ["Args", "Returns", "Raises", "Example"]
    arguments = next(part for part in parts if part.startswith("Args"))
    for parameter in inspect.signature(inspect.unwrap(function)).parameters:
        assert f"\n    {parameter}: " in arguments
    for each in inspect.signature(function).parameters.values():
        assert each.annotation not in (Any, "Any", each.empty), each


@cases("name", sorted(AWAITED))
def test_help_shows_every_option_with_its_type_and_default(name: str) -> None:
    function = FUNCTIONS[name]
    signature = inspect.signature(function)
    assert signature == inspect.signature(function.aio)
    assert f"Like `{name}`, in an event loop." == function.aio.__doc__
    if options := options_class(inspect.unwrap(function)):
        assert set(options.__annotations__) <= set(signature.parameters)
        assert f"`print({name}.options())` lists all of them" in " ".join(function.__doc__.split())
        assert all(option_texts(options).values())
        listed = re.findall(r"^(\w+): ", function.options(), re.MULTILINE)
        assert set(listed) == set(options.__annotations__)


def test_defaults_are_those_of_the_function() -> None:
    def default(name: str, option: str) -> Any:
        return inspect.signature(FUNCTIONS[name]).parameters[option].default

    assert (default("refine", "judges"), default("judge", "judges")) == (0, 7)
    assert default("solve", "calls") == 6
    assert default("resume", "passes") is None, "that of the run"
    assert "passes: int = 40" in pydoc.plain(pydoc.render_doc(autoreason.refine))


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (test,) = doctest.DocTestFinder(recurse=False).find(FUNCTIONS[name], name, globs={})
    assert test.examples
    said: list[str] = []
    doctest.DocTestRunner().run(test, out=said.append)
    if name == "solve" and "InvalidInput" in "".join(said):
        pytest.skip("programs cannot be run here")
    assert "".join(said) == ""


@pytest.mark.parametrize(
    ("code", "without"),
    [
        ("", {"aiohttp", "msgspec", "jinja2", "rich", "asyncio", "sqlite3"}),
        ("autoreason.events.Delivered;", {"aiohttp", "rich", "asyncio", "sqlite3"}),
        ("autoreason.refine;", {"aiohttp", "rich", "numpy", "scipy", "click"}),
    ],
)
def test_importing_and_using_it_imports_nothing_heavy(code: str, without: set[str]) -> None:
    script = f"import sys, autoreason; {code} print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", script], text=True)
    assert not without & set(loaded.split())
