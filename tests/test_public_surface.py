"""What `import autoreason` offers: closed, typed, documented, and quick to import."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import autoreason
from autoreason import testing

ROOT = Path(__file__).parents[1]
OFFERED = {name: getattr(autoreason, name) for name in autoreason.__all__}
FUNCTIONS = {name: value for name, value in OFFERED.items() if inspect.isfunction(value)}
WITH_EXAMPLES = sorted(name for name in FUNCTIONS if not name.endswith("_async"))

CALLED = {
    *("advise", "advise_from", "prepare_advise"),
    *("certify", "compare", "compare_rules", "estimate", "export", "fork", "judge", "read_task"),
    *("lab", "plan_lab", "refine", "rejudge", "replay", "reproduce", "research", "resume", "solve"),
    *("prepare_certify", "prepare_compare", "prepare_fork", "prepare_judge", "prepare_refine"),
    *("prepare_rejudge", "prepare_research", "prepare_compare_rules"),
    *("add_outcome", "check_knowledge", "evaluate_predictor", "search_knowledge"),
    *("measure_knowledge", "plan_ab", "prepare_knowledge_test", "report_ab"),
}
WITHOUT_WAITING = {
    "add_outcome",
    "advise_from",
    "check_knowledge",
    "evaluate_predictor",
    "export",
    "plan_ab",
    "read_task",
    "report_ab",
    "reproduce",
    "search_knowledge",
    *(name for name in CALLED if name[:8] == "prepare_"),
}
"""Functions that wait for nothing, and so have no twin for an event loop."""


def test_exactly_these_functions_are_offered() -> None:
    twins = {f"{name}_async" for name in CALLED - WITHOUT_WAITING}
    assert set(FUNCTIONS) == CALLED | twins


@pytest.mark.parametrize(
    "name",
    [
        *("Budget", "Contract", "Journal", "JobContext", "Message", "Model", "ModelPool", "Models"),
        *("Outcome", "ProgramStrategy", "Reply", "Request", "Result", "Settings", "Solution"),
        *("Story", "Strategy", "Task", "Usage", "Violation", "AnyEvent", "Signal", "StopSwitch"),
        *("Audit", "Certificate", "PanelReport", "RejudgeReport"),
        *("SolveReport", "RunEstimate", "PreparedRun", "__version__"),
    ],
)
def test_what_people_build_on_is_offered(name: str) -> None:
    assert OFFERED[name] is not None


def test_every_event_signal_and_error_is_offered() -> None:
    offered = list(OFFERED.values())
    for each in (*get_args(autoreason.AnyEvent), *get_args(autoreason.Signal)):
        assert each in offered
    assert [each for each in errors(autoreason.AutoreasonError) if each not in offered] == []


def errors(root: type[Exception]) -> Iterator[type[Exception]]:
    """An error and those below it that are not private."""
    if root.__module__ == "autoreason.errors":
        yield root
    for each in root.__subclasses__():
        yield from errors(each)


def test_models_for_tests_have_a_module_of_their_own() -> None:
    assert testing.__all__ == ["Answer", "EchoModel", "Script", "ScriptedModel"]
    for name in ("EchoModel", "ScriptedModel", "borda", "read_ranking"):
        assert not hasattr(autoreason, name)


def classes(hint: Any) -> Iterator[type]:
    """Every class that a type mentions."""
    if isinstance(hint, type):
        yield get_origin(hint) or hint
    for each in hint if isinstance(hint, list | tuple) else get_args(hint):
        yield from classes(each)


def mentioned(value: Any) -> Iterator[type]:
    """Our classes that the signature of a function or the fields of a class mention."""
    for name, hint in get_type_hints(value).items():
        if not name.startswith("_"):
            yield from (each for each in classes(hint) if each.__module__[:10] == "autoreason")


@pytest.mark.parametrize("name", sorted(OFFERED))
def test_every_class_of_ours_that_a_name_mentions_is_offered_too(name: str) -> None:
    value = OFFERED[name]
    if inspect.isfunction(value) or inspect.isclass(value):
        offered = list(OFFERED.values())
        assert [each for each in mentioned(value) if each not in offered] == []


def test_no_argument_of_a_function_is_untyped() -> None:
    for name, function in FUNCTIONS.items():
        for parameter in inspect.signature(function).parameters.values():
            assert parameter.annotation not in (Any, "Any", parameter.empty), name


def test_a_type_checker_sees_what_is_offered_and_refuses_a_wrong_argument(tmp_path: Path) -> None:
    names = sorted(set(OFFERED) - {"__version__"})
    snippet = tmp_path / "snippet.py"
    snippet.write_text(
        f"import autoreason\nfrom autoreason import {', '.join(names)}, __version__\n"
        "autoreason.refine('Write.', 'echo/echo', passes=3)\n"
        "autoreason.refine('Write.', 'echo/echo', pases=3)\n"
        "autoreason.judge('Write.', {}, passes=3)\n"
        "autoreason.resume('amber-fox', passes='3')\n"
        "autoreason.nonsense\n"
    )
    command = [sys.executable, "-m", "mypy", "--no-error-summary", str(snippet)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    refused = re.findall(r"snippet\.py:(\d+): error: ", done.stdout)
    assert refused == ["4", "5", "6", "7"], done.stdout


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_says_what_it_takes_returns_and_raises(name: str) -> None:
    function = FUNCTIONS[name]
    text = inspect.getdoc(function) or ""
    if name.endswith("_async"):
        assert text == f"Like `{name.removesuffix('_async')}`, in an event loop."
        twin = inspect.signature(FUNCTIONS[name.removesuffix("_async")])
        assert inspect.signature(function) == twin
        return
    parts = text.split("\n\n")
    assert [part.partition("\n")[0] for part in parts if part[-1] != "."][-1:] == ["Example:"]
    heads = [part.partition(":\n")[0] for part in parts[1:] if ":\n" in part]
    assert heads == ["Args", "Returns", "Raises", "Example"]
    arguments = parts[1 if parts[1].startswith("Args") else 2]
    for parameter in inspect.signature(function).parameters:
        assert f"\n    {parameter}: " in arguments


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_every_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (test,) = doctest.DocTestFinder(recurse=False).find(FUNCTIONS[name], name, globs={})
    assert test.examples
    said: list[str] = []
    doctest.DocTestRunner().run(test, out=said.append)
    if name == "solve" and "InvalidInput" in "".join(said):
        pytest.skip("programs cannot be run here")
    assert "".join(said) == ""


def test_importing_it_imports_nothing_heavy() -> None:
    code = "import sys, autoreason; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"aiohttp", "msgspec", "jinja2", "rich", "asyncio", "sqlite3"} & set(
        done.stdout.split()
    )


def test_using_it_imports_nothing_that_only_tables_need() -> None:
    code = "import sys, autoreason; autoreason.refine; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"aiohttp", "rich", "numpy", "scipy", "click"} & set(done.stdout.split())
