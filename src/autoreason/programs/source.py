"""Reads the program in a model's reply. Nothing is run or imported here; Python is only parsed."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from functools import lru_cache
from typing import NamedTuple

_REASONING = re.compile(
    r"\A\s*<(think|thinking|thought|reasoning)>(?:.*?</\1>|(?!.*</\1>))", re.DOTALL | re.IGNORECASE
)
_LATE_REASONING_END = re.compile(r"\A(?:(?!<think).)*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"^([ \t]*(?:(?:[-*+]|\d+[.)])[ \t]+)?)(`{3,}|~{3,})[ \t]*([^`\n]*?)[ \t]*$")
_LANGUAGE = re.compile(r"\{?\.?([A-Za-z]+)")
_PYTHON = ("python", "py")
_CODE_BEGINS = re.compile(
    r"(?:import|from|def|class|if|for|while|try|with|print)\b|[@#]|[A-Za-z_]\w*(?:, ?\w+)* ?=[^=]"
)
_MAX_PARSED = 64 * 1024
"""Characters of a source that is parsed: a longer one takes too long, and no sandbox accepts it."""
_MAX_TRIES = 40
_BLANK = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


class _Block(NamedTuple):
    text: str
    is_python: bool


_Rank = tuple[int, bool, bool]
"""How likely a block is the program: how complete it is, whether the fence says Python, and whether it parses."""


def read_program(reply: str, entry_point: str = "") -> str | None:
    """The program in a reply, the last complete one where there are several; None where there is none."""
    lines = without_reasoning(reply).split("\n")
    blocks, others = _split(lines)
    blocks = [_trim(block, entry_point) for block in blocks]
    if len(blocks) == 1 and blocks[0].is_python:
        return blocks[0].text
    ranked = [(rank, block.text) for block in blocks if (rank := _rank_block(block, entry_point))]
    # The last one among equals.
    best = max(reversed(ranked), key=lambda each: each[0], default=None)
    return best[1] if best else _find_unfenced(others)


def without_reasoning(reply: str) -> str:
    text = _LATE_REASONING_END.sub("", _REASONING.sub("", reply, count=1), count=1)
    return text.replace("\r\n", "\n").replace("\ufeff", "")


@lru_cache(maxsize=256)
def without_comments(program: str) -> str:
    """A program without comments, so that judges do not read its author's claims; docstrings stay."""
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
    """Fenced blocks that may be Python, and the lines outside any; an unclosed block ends at the end."""
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
        text = _dedent(lines[at:end], len(opened[1]))
        if end == len(lines):
            # The closing fence may be at the end of the last line of code.
            text = text.removesuffix(opened[2]).rstrip()
        language = _LANGUAGE.match(opened[3])
        named = language[1].lower() if language else ""
        if text and (not named or named in _PYTHON):
            blocks.append(_Block(text, bool(named)))
        at = end + 1
    return blocks, others


def _dedent(lines: list[str], width: int) -> str:
    out = [line[min(width, len(line) - len(line.lstrip())) :] for line in lines]
    return "\n".join(out).strip("\n").rstrip()


def _trim(block: _Block, entry_point: str) -> _Block:
    """The block without prose or copied test results after the program."""
    if not block.is_python or _parse(block.text):
        return block
    text = _find_unfenced(block.text.split("\n"))
    tree = _parse(text) if text else None
    return (
        block._replace(text=text) if text and tree and _completeness(tree, entry_point) else block
    )


def _rank_block(block: _Block, entry_point: str) -> _Rank | None:
    tree = _parse(block.text)
    if tree is None:
        return (0, True, False) if block.is_python else None
    if not _has_effect(tree):
        return None
    return _completeness(tree, entry_point), block.is_python, True


def _find_unfenced(lines: list[str]) -> str | None:
    starts = [at for at, line in enumerate(lines) if _CODE_BEGINS.match(line)]
    blank = [at for at, line in enumerate(lines) if not line.strip()]
    tries = 0
    for start in starts:
        for end in [len(lines), *(at for at in reversed(blank) if at > start)]:
            tries += 1
            if tries > _MAX_TRIES:
                return None
            text = "\n".join(lines[start:end]).rstrip()
            tree = _parse(text)
            if tree is not None and _has_effect(tree):
                return text
    return None


def _parse(text: str) -> ast.Module | None:
    if len(text) > _MAX_PARSED:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _has_effect(tree: ast.Module) -> bool:
    """Whether it is more than data that is valid Python, such as `3` or `YES`."""
    return any(
        not isinstance(each, ast.Expr)
        or isinstance(each.value, ast.Call | ast.Await | ast.ListComp)
        for each in tree.body
    )


def _completeness(tree: ast.Module, entry_point: str) -> int:
    """For a function, whether it is defined; for a program, whether it reads and prints."""
    if entry_point:
        return int(entry_point.partition(".")[0] in _defined_names(tree))
    names = {
        getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "name", None)
        for node in ast.walk(tree)
    }
    return 2 * bool(names & {"print", "stdout", "write"}) + bool(names & {"input", "stdin", "open"})


def _defined_names(tree: ast.Module) -> set[str]:
    names = set()
    for node in tree.body:
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {each.id for each in targets if isinstance(each, ast.Name)}
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {alias.asname or alias.name for alias in aliases}
    return names
