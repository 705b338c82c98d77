"""Where the demonstrations of research are, and how their files are loaded."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

DEMOS = Path(__file__).parents[2] / "examples" / "research"


def load(path: Path) -> ModuleType:
    """A file of a demonstration as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"demo_{path.parent.name}_{path.stem}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
