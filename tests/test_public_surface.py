"""What `import autoreason` offers, so that it cannot drift unnoticed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import autoreason

OFFERED = [
    "AutoreasonError",
    "Budget",
    "BudgetReached",
    "CallFailed",
    "Contract",
    "EchoModel",
    "InvalidInput",
    "Journal",
    "JournalError",
    "Message",
    "Model",
    "ModelPool",
    "Outcome",
    "PanelFailed",
    "ProgramStrategy",
    "ProviderFailed",
    "Reply",
    "Request",
    "Result",
    "ScriptedModel",
    "Settings",
    "Solution",
    "Strategy",
    "Task",
    "Usage",
    "Violation",
    "__version__",
    "balanced_orders",
    "borda",
    "chance_of_margin",
    "compare",
    "compare_async",
    "judge",
    "judge_async",
    "read_ranking",
    "read_task",
    "refine",
    "refine_async",
    "solve",
    "solve_async",
]


def test_exactly_these_names_are_offered() -> None:
    assert autoreason.__all__ == OFFERED
    for name in OFFERED:
        assert getattr(autoreason, name) is not None


def test_type_checkers_see_the_same_names() -> None:
    source = Path(autoreason.__file__).read_text("utf-8")
    names = {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("autoreason.")
        for alias in node.names
    }
    assert names == set(OFFERED)


def test_importing_it_imports_nothing_heavy() -> None:
    code = "import sys, autoreason; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"aiohttp", "msgspec", "jinja2", "rich", "asyncio", "sqlite3"} & set(
        done.stdout.split()
    )
