"""Python that others wrote: read, and never run."""

from __future__ import annotations

import ast
import warnings


def parsed(source: str) -> ast.Module | None:
    """Its syntax tree; None where it is no Python."""
    try:
        with warnings.catch_warnings():
            # What Python thinks of somebody's escapes is nothing our user can mend.
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def fault(source: str) -> str | None:
    """Why it cannot be compiled, without a word of what is in it; None where it can."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "<source>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"line {error.lineno} is not valid Python" if error.lineno else "not valid Python"
    except (ValueError, RecursionError, MemoryError):
        return "it is too much for Python to read"
    return None
