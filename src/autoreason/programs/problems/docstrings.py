"""The examples in a function's docstring as asserts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from autoreason.programs.problems.set_sources import parse_python

_PROMPT = re.compile(r"^\s*>>> ?(.*)$")
_SEPARATOR = re.compile(r"\s*(?:==>|=>|->|➞|→|==|=|#?\s*(?:should )?returns?:?)\s*")
_PREFIX = re.compile(r"^[\s*\-]*(?:(?:assert|for)\s+)?")


def docstring_of(source: str, function: str) -> str:
    """The docstring of a function; empty where it has none or the source cannot be read."""
    node = _function(parse_python(source), function)
    return (ast.get_docstring(node) or "") if node else ""


def other_definitions(source: str, function: str) -> str:
    """The imports and definitions of a source other than one function."""
    tree = parse_python(source)
    if tree is None:
        return ""
    nodes = [node for node in tree.body if node is not _function(tree, function)]
    return "\n\n".join(ast.unparse(node) for node in nodes if not isinstance(node, ast.Expr))


def example_asserts(docstring: str, function: str) -> list[str]:
    """Examples that call the function and show a literal value, each as an assert, each once."""
    result = [*_prompt_examples(docstring), *_inline_examples(docstring, function)]
    asserts = [_as_assert(call, value, function) for call, value in result]
    return list(dict.fromkeys(text for text in asserts if text))


def expectations(asserts: str, name: str) -> dict[str, str]:
    """Calls of a name and the literals they are asserted to equal, anywhere in a source."""
    tree = parse_python(asserts)
    result: dict[str, str] = {}
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
                    result[_arguments(call)] = literal
    return result


def free_names(source: str) -> set[str]:
    """Names that a source uses but does not assign."""
    names = [
        node
        for node in ast.walk(parse_python(source) or ast.Module([], []))
        if isinstance(node, ast.Name)
    ]
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    return {node.id for node in names} - bound


def defined_names(source: str) -> set[str]:
    """Names that a source defines, imports or assigns at its top."""
    result: set[str] = set()
    for node in (parse_python(source) or ast.Module([], [])).body:
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                result.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                result |= {(each.asname or each.name).partition(".")[0] for each in names}
            case _:
                result |= {
                    each.id
                    for each in ast.walk(node)
                    if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
                }
    return result


def _prompt_examples(docstring: str) -> Iterator[tuple[str, str]]:
    """The input at each prompt, and the line that follows."""
    lines = docstring.splitlines()
    for number, line in enumerate(lines):
        if result := _PROMPT.match(line):
            after = lines[number + 1].strip() if number + 1 < len(lines) else ""
            yield result[1].strip(), "" if _PROMPT.match(after) else after


def _inline_examples(docstring: str, function: str) -> Iterator[tuple[str, str]]:
    """Lines such as `f(1, 2) == 3`, `f(1, 2) -> 3` or `f(1, 2) returns 3`."""
    for line in docstring.splitlines():
        bare = _PREFIX.sub("", line, count=1)
        if not bare.startswith(f"{function}("):
            continue
        for result in _SEPARATOR.finditer(bare):
            value = bare[result.end() :].strip()
            if _call(bare[: result.start()], function) and value:
                yield bare[: result.start()], value.removesuffix(".") if value[-2:] != ".." else ""
                break


def _as_assert(call: str, value: str, function: str) -> str | None:
    """An assert; None where the call is not an expression or the value not a literal."""
    if not value:
        # `>>> f(1) == 2`, with nothing below it.
        known = expectations(f"assert {call}", function)
        return next(
            (f"assert {function}({arguments}) == {known[arguments]}" for arguments in known), None
        )
    expression, literal = _call(call, function), _literal(value)
    return f"assert {expression} == {literal}" if expression and literal else None


def _call(text: str, function: str) -> str | None:
    """An expression that calls the function, without comments."""
    tree = parse_python(text)
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
    arguments = [*map(ast.unparse, call.args), *map(ast.unparse, call.keywords)]
    return ", ".join(arguments)


def _function(tree: ast.Module | None, name: str) -> ast.FunctionDef | None:
    functions = [node for node in (tree.body if tree else []) if isinstance(node, ast.FunctionDef)]
    return next((node for node in functions if node.name == name), None)
