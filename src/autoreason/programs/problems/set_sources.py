"""Foreign Python source: parsed, never run."""

from __future__ import annotations

import ast
import warnings


def parse_python(source: str) -> ast.Module | None:
    """The syntax tree of a source; None where it is not Python."""
    try:
        with warnings.catch_warnings():
            # Warnings about escapes in foreign source are nothing the user can fix.
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def compile_error(source: str) -> str | None:
    """Why a source cannot be compiled, without quoting it; None where it can."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "<source>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"line {error.lineno} is not valid Python" if error.lineno else "not valid Python"
    except (ValueError, RecursionError, MemoryError):
        return "it is too much for Python to read"
    return None
