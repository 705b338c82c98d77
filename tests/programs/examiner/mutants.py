"""Programs broken on purpose, each in one way whose verdict is known or can be found by plain Python."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator

from autoreason.programs.assignment import CodeVerdict

_AT_THE_END = """import atexit as _atexit, os as _os, sys as _sys
_atexit.register(_os._exit, 1)
_atexit.register(lambda: _sys.stdout.flush())
"""
CERTAIN: dict[str, tuple[str, CodeVerdict]] = {
    "crash": ("raise RuntimeError('broken on purpose')\n", CodeVerdict.RUNTIME_ERROR),
    "loop": ("while True: pass\n", CodeVerdict.TIME_LIMIT),
    "memory": ("_ = [bytearray(1 << 30) for _ in range(8)]\n", CodeVerdict.MEMORY_LIMIT),
    "output": ("while True: print('x' * 4096)\n", CodeVerdict.OUTPUT_LIMIT),
    "status": (_AT_THE_END, CodeVerdict.RUNTIME_ERROR),
}
"""What is put before a right program, and the verdict that follows whatever the program is."""

_RUN_TOGETHER = """import builtins as _builtins
def print(*args, **named): _builtins.print(*args, **(named | {"end": ""}))
"""
_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


def broken_for_certain(program: str) -> Iterator[tuple[str, str, CodeVerdict]]:
    """Each way's name, the program broken in it, and the verdict it must get."""
    for name, (before, verdict) in CERTAIN.items():
        yield name, before + program, verdict


def broken_perhaps(program: str) -> Iterator[tuple[str, str]]:
    """Each way's name and the program changed in it; some are still right, and some never end."""
    yield "newline", _RUN_TOGETHER + program
    for name, change in (("off by one", _off_by_one), ("operator", _other_operator)):
        changed = _changed(program, change)
        if changed is not None:
            yield name, changed


def _changed(program: str, change: Callable[[ast.AST], bool]) -> str | None:
    """The program with its last place changed at which that can be done: nearest to the answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(program)
    for node in reversed(list(ast.walk(tree))):
        if change(node):
            return ast.unparse(tree)
    return None


def _off_by_one(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        node.value += 1
        return True
    return False


def _other_operator(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in _SWAPPED:
        node.op = _SWAPPED[type(node.op)]()  # type: ignore[assignment]
        return True
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPPED:
        node.ops[0] = _SWAPPED[type(node.ops[0])]()  # type: ignore[call-overload]
        return True
    return False
