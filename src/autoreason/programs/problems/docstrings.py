"""The examples in a function's docstring as asserts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from autoreason.programs.problems.sources import parsed

_PROMPT = re.compile(r"^\s*>>> ?(.*)$")
_BETWEEN = re.compile(r"\s*(?:==>|=>|->|➞|→|==|=|#?\s*(?:should )?returns?:?)\s*")
_BEFORE = re.compile(r"^[\s*\-]*(?:(?:assert|for)\s+)?")


def docstring_of(source: str, function: str) -> str:
    """The docstring of a function; empty where it has none or the source cannot be read."""
    node = _function(parsed(source), function)
    return (ast.get_docstring(node) or "") if node else ""


def other_definitions(source: str, function: str) -> str:
    """What a source holds besides one function: imports, and what else it defines."""
    tree = parsed(source)
    if tree is None:
        return ""
    kept = [node for node in tree.body if node is not _function(tree, function)]
    return "\n\n".join(ast.unparse(node) for node in kept if not isinstance(node, ast.Expr))


def asserted_examples(docstring: str, function: str) -> list[str]:
    """Examples that call the function and show a literal value, each as an assert, each once."""
    found = [*_typed_in(docstring), *_told(docstring, function)]
    asserts = [_as_assert(call, value, function) for call, value in found]
    return list(dict.fromkeys(text for text in asserts if text))


def expectations(asserts: str, name: str) -> dict[str, str]:
    """Calls of a name and the literals they are asserted to equal, wherever they stand in a source."""
    tree = parsed(asserts)
    found: dict[str, str] = {}
    for node in ast.walk(tree) if tree else ():
        match node:
            case ast.Assert(
                test=ast.Compare(
                    left=ast.Call(func=ast.Name(id=called)) as call,
                    ops=[ast.Eq()],
                    comparators=[value],
                )
            ) if called == name:
                literal = _literal(ast.unparse(value))
                if literal is not None:
                    found[_arguments(call)] = literal
    return found


def free_names(source: str) -> set[str]:
    """Names that a source uses and gives no value itself."""
    names = [
        node
        for node in ast.walk(parsed(source) or ast.Module([], []))
        if isinstance(node, ast.Name)
    ]
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    return {node.id for node in names} - bound


def defined_names(source: str) -> set[str]:
    """Names that a source defines, imports or assigns at its top."""
    found: set[str] = set()
    for node in (parsed(source) or ast.Module([], [])).body:
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                found.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found |= {(each.asname or each.name).partition(".")[0] for each in names}
            case _:
                found |= {
                    each.id
                    for each in ast.walk(node)
                    if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
                }
    return found


def _typed_in(docstring: str) -> Iterator[tuple[str, str]]:
    """What is typed at a prompt, and the line that follows."""
    lines = docstring.splitlines()
    for number, line in enumerate(lines):
        if found := _PROMPT.match(line):
            after = lines[number + 1].strip() if number + 1 < len(lines) else ""
            yield found[1].strip(), "" if _PROMPT.match(after) else after


def _told(docstring: str, function: str) -> Iterator[tuple[str, str]]:
    """Lines such as `f(1, 2) == 3`, `f(1, 2) -> 3` or `f(1, 2) returns 3`."""
    for line in docstring.splitlines():
        bare = _BEFORE.sub("", line, count=1)
        if not bare.startswith(f"{function}("):
            continue
        for found in _BETWEEN.finditer(bare):
            value = bare[found.end() :].strip()
            if _call(bare[: found.start()], function) and value:
                yield bare[: found.start()], value.removesuffix(".") if value[-2:] != ".." else ""
                break


def _as_assert(call: str, value: str, function: str) -> str | None:
    """Nothing where the call is no expression or the value no literal."""
    if not value:
        # `>>> f(1) == 2`, with nothing below it.
        known = expectations(f"assert {call}", function)
        return next((f"assert {function}({held}) == {known[held]}" for held in known), None)
    expression, literal = _call(call, function), _literal(value)
    return f"assert {expression} == {literal}" if expression and literal else None


def _call(text: str, function: str) -> str | None:
    """An expression that calls the function, without comments."""
    tree = parsed(text)
    match tree.body if tree else []:
        case [ast.Expr(value=expression)] if any(
            isinstance(node, ast.Name) and node.id == function for node in ast.walk(expression)
        ):
            return ast.unparse(expression)
        case _:
            return None


def _literal(text: str) -> str | None:
    try:
        return repr(ast.literal_eval(text))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _arguments(call: ast.Call) -> str:
    given = [*map(ast.unparse, call.args), *map(ast.unparse, call.keywords)]
    return ", ".join(given)


def _function(tree: ast.Module | None, name: str) -> ast.FunctionDef | None:
    functions = [node for node in (tree.body if tree else []) if isinstance(node, ast.FunctionDef)]
    return next((node for node in functions if node.name == name), None)
