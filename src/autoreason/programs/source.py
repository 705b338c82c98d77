"""Reading a program out of what a model wrote. Nothing is run or imported here; Python is only parsed."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from functools import lru_cache
from typing import NamedTuple

_THOUGHT = re.compile(
    r"\A\s*<(think|thinking|thought|reasoning)>(?:.*?</\1>|(?!.*</\1>))", re.DOTALL | re.IGNORECASE
)
_LATE_END = re.compile(r"\A(?:(?!<think).)*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"^([ \t]*(?:(?:[-*+]|\d+[.)])[ \t]+)?)(`{3,}|~{3,})[ \t]*([^`\n]*?)[ \t]*$")
_LANGUAGE = re.compile(r"\{?\.?([A-Za-z]+)")
_PYTHON = ("python", "py")
_CODE_BEGINS = re.compile(
    r"(?:import|from|def|class|if|for|while|try|with|print)\b|[@#]|[A-Za-z_]\w*(?:, ?\w+)* ?=[^=]"
)
_PARSED_MOST = 64 * 1024
"""Characters that are still parsed: what is longer takes too long, and no sandbox will take it."""
_TRIES = 40
_BLANK = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


class _Block(NamedTuple):
    text: str
    marked: bool
    """Said to be Python."""


class _Look(NamedTuple):
    """What makes a block more likely than another to be the program; compared in this order."""

    whole: int
    marked: bool
    parses: bool


def read_program(reply: str, entry_point: str = "") -> str | None:
    """The program in a reply, the last whole one where there are several; None where there is none."""
    said = _LATE_END.sub("", _THOUGHT.sub("", reply, count=1), count=1)
    lines = said.replace("\r\n", "\n").replace("\ufeff", "").split("\n")
    blocks, others = _split(lines)
    blocks = [_trimmed(block, entry_point) for block in blocks]
    if len(blocks) == 1 and blocks[0].marked:
        return blocks[0].text
    best: tuple[_Look, str] | None = None
    for block in blocks:
        look = _look(block, entry_point)
        if look and (best is None or look >= best[0]):
            best = (look, block.text)
    return best[1] if best else _unfenced(others)


@lru_cache(maxsize=256)
def without_comments(program: str) -> str:
    """A program without what its author says of it, so that whoever judges it is not told; docstrings stay."""
    lines = program.split("\n")
    code: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(program).readline):
            (row, column), (last, _) = token.start, token.end
            if token.type == tokenize.COMMENT:
                lines[row - 1] = lines[row - 1][:column].rstrip()
            elif token.type not in _BLANK:
                code.update(range(row, last + 1))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return program
    return "\n".join(line for row, line in enumerate(lines, 1) if row in code)


def same_program(one: str, other: str) -> bool:
    """Whether two programs differ in comments and blank lines at most: clones are never judged."""
    return one == other or without_comments(one) == without_comments(other)


def _split(lines: list[str]) -> tuple[list[_Block], list[str]]:
    """Fenced blocks that may be Python, and the lines outside any; a block that nobody closed goes on to the end."""
    blocks, others = [], []
    at = 0
    while at < len(lines):
        opened = _FENCE.match(lines[at])
        at += 1
        if not opened:
            others.append(lines[at - 1])
            continue
        closing = re.compile(rf"^[ \t]*{re.escape(opened[2][0])}{{{len(opened[2])},}}[ \t]*$")
        end = next((i for i in range(at, len(lines)) if closing.match(lines[i])), len(lines))
        text = _outdented(lines[at:end], len(opened[1]))
        if end == len(lines):
            # The fence may stand at the end of the last line of code.
            text = text.removesuffix(opened[2]).rstrip()
        language = _LANGUAGE.match(opened[3])
        named = language[1].lower() if language else ""
        if text and (not named or named in _PYTHON):
            blocks.append(_Block(text, bool(named)))
        at = end + 1
    return blocks, others


def _outdented(lines: list[str], width: int) -> str:
    """Lines of a block as they stand relative to its fence."""
    out = [line[min(width, len(line) - len(line.lstrip())) :] for line in lines]
    return "\n".join(out).strip("\n").rstrip()


def _trimmed(block: _Block, entry_point: str) -> _Block:
    """Without the prose or the copied test results that may follow a program within its block."""
    if not block.marked or _parsed(block.text):
        return block
    text = _unfenced(block.text.split("\n"))
    tree = _parsed(text) if text else None
    return block._replace(text=text) if text and tree and _wholeness(tree, entry_point) else block


def _look(block: _Block, entry_point: str) -> _Look | None:
    """How much a block looks like the program; None where it is none."""
    tree = _parsed(block.text)
    if tree is None:
        return _Look(0, marked=True, parses=False) if block.marked else None
    if not _does_something(tree):
        return None
    return _Look(_wholeness(tree, entry_point), block.marked, parses=True)


def _unfenced(lines: list[str]) -> str | None:
    """Plain code without a fence, perhaps with prose before and after it."""
    starts = [at for at, line in enumerate(lines) if _CODE_BEGINS.match(line)]
    blank = [at for at, line in enumerate(lines) if not line.strip()]
    tries = 0
    for start in starts:
        for end in [len(lines), *(at for at in reversed(blank) if at > start)]:
            tries += 1
            if tries > _TRIES:
                return None
            text = "\n".join(lines[start:end]).rstrip()
            tree = _parsed(text)
            if tree is not None and _does_something(tree):
                return text
    return None


def _parsed(text: str) -> ast.Module | None:
    if len(text) > _PARSED_MOST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _does_something(tree: ast.Module) -> bool:
    """Whether it is more than data that happens to be Python, such as `3` or `YES`."""
    return any(not isinstance(each, ast.Expr) or _calls(each) for each in tree.body)


def _calls(statement: ast.Expr) -> bool:
    value = statement.value
    return isinstance(value, ast.Call | ast.Await | ast.ListComp)


def _wholeness(tree: ast.Module, entry_point: str) -> int:
    """For a function, whether it is there; for a program, whether it reads and whether it prints."""
    if entry_point:
        return int(entry_point.partition(".")[0] in _defined(tree))
    names = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name():
                names.add(node.id)
            case ast.Attribute():
                names.add(node.attr)
            case ast.alias():
                names.add(node.name)
    return 2 * bool(names & {"print", "stdout", "write"}) + bool(names & {"input", "stdin", "open"})


def _defined(tree: ast.Module) -> set[str]:
    """Names a module has once it was run."""
    found = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Assign():
                found |= {each.id for each in node.targets if isinstance(each, ast.Name)}
            case ast.Import() | ast.ImportFrom():
                found |= {alias.asname or alias.name for alias in node.names}
    return found
