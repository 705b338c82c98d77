"""What of an artifact counts: its files without comments, formatting and seeds, so that duplicates are known. Pure."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import tomllib
import warnings
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from autoreason.artifacts.measurement import Files

_SEED_NAME = re.compile(r"\w*(?:seed|random_state|rng)\w*", re.IGNORECASE)
_NAMED_NUMBER = re.compile(
    r"""(?<!\w)(?P<name>\w{1,80})(?P<link>["']?(?:[ \t]{0,20}[:=][ \t]{0,20}|[ \t]{1,20}|\())[-+]?\d{1,80}"""
)
_SEEDING = re.compile(r"\w*(?:seed|rng|RandomState|PRNGKey)\w*|Random")
"""Functions that are given a seed."""
_SEED_WORD = re.compile("seed|rng|random|prngkey", re.IGNORECASE)
"""A part of every name that either of them matches."""
_QUOTE = re.compile("[\"']")
_HASH_COMMENTS = frozenset(
    {".cfg", ".ini", ".jl", ".pl", ".py", ".r", ".rb", ".sh", ".toml", ".yaml", ".yml"}
)
_SLASH_COMMENTS = frozenset(
    {".c", ".cc", ".cpp", ".cu", ".go", ".h", ".hpp", ".java", ".js", ".kt", ".rs", ".swift", ".ts"}
)
_MAX_YAML = 20_000
"""Characters. The reader that is written in C would take more, but crashes on nested brackets."""
_PROSE = frozenset({".md", ".rst", ".txt"})


def normal_form(files: Files, *, seeds: bool = True) -> dict[str, str]:
    """Each file in a form that comments and formatting do not change; `seeds` says whether seeds do."""
    return {path: _normal_file(path, text, seeds) for path, text in files.items()}


def fingerprint(files: Files) -> str:
    """The same for artifacts that differ in comments, formatting and seeds at most."""
    form = json.dumps(normal_form(files, seeds=False), sort_keys=True)
    return hashlib.sha256(form.encode(errors="surrogatepass")).hexdigest()


# Most files of an artifact stay the same from proposal to proposal.
@lru_cache(maxsize=512)
def _normal_file(path: str, text: str, seeds: bool) -> str:
    suffix = PurePosixPath(path).suffix.lower()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if suffix == ".py":
                return _python(text, seeds)
            value = _read_value(suffix, text)
            return json.dumps(
                value if seeds else _without_seeds(value), sort_keys=True, default=repr
            )
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, LookupError):
        # It does not parse, or is no data: what is left are its lines.
        return _lines(suffix, text if seeds else _NAMED_NUMBER.sub(_without_seed, text))


def _without_seed(found: re.Match[str]) -> str:
    seed = _SEED_NAME.fullmatch(found["name"])
    return f"{found['name']}{found['link']}" if seed else found[0]


def _is_plain_yaml(text: str) -> bool:
    """Whether it is read quickly: an anchor can stand for gigabytes, and nested brackets take minutes."""
    return "&" not in text and len(text) <= _MAX_YAML and text.count("[") + text.count("{") <= 1000


def _read_value(suffix: str, text: str) -> Any:
    match suffix:
        case ".json":
            return json.loads(text)
        case ".toml":
            return tomllib.loads(text)
        case ".yaml" | ".yml" if _is_plain_yaml(text):
            from autoreason.bounded_yaml import load_yaml

            return load_yaml(text)
    raise ValueError(suffix)


def _without_seeds(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_seeds(each)
            for key, each in value.items()
            if not (_SEED_NAME.fullmatch(str(key)) and isinstance(each, int | float | str | None))
        }
    return [_without_seeds(each) for each in value] if isinstance(value, list) else value


def _lines(suffix: str, text: str) -> str:
    if suffix in _PROSE:
        return " ".join(text.split())
    mark = "#" if suffix in _HASH_COMMENTS else "//" if suffix in _SLASH_COMMENTS else ""
    lines = (line.rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not (mark and _is_comment(line, mark)))


def _is_comment(line: str, mark: str) -> bool:
    return line.lstrip().startswith(mark) and not line.startswith("#!")


def _python(text: str, seeds: bool) -> str:
    tree: ast.AST = ast.parse(text)
    # Walking a tree takes longer than reading it, and most files have nothing to leave out.
    if "__doc__" not in text and _QUOTE.search(text):
        tree = _Docstrings().visit(tree)
    if not seeds and _SEED_WORD.search(text):
        tree = _Seeds().visit(tree)
    return ast.dump(tree)


class _Docstrings(ast.NodeTransformer):
    """Leaves out texts that stand alone: docstrings, and comments written as one."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        value = node.value
        alone = isinstance(value, ast.Constant) and isinstance(value.value, str)
        return None if alone else self.generic_visit(node)


class _Seeds(ast.NodeTransformer):
    """Leaves out seeds: constants with such a name, and those given to functions that take a seed."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        named = all(_is_seed_name(target) for target in node.targets)
        return None if named and _is_constant(node.value) else self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        constant = node.value is not None and _is_constant(node.value)
        return None if constant and _is_seed_name(node.target) else self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        call = node.value
        if isinstance(call, ast.Call) and _is_seeding(call) and all(map(_is_constant, call.args)):
            return None
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if _is_seeding(node):
            node.args = [each for each in node.args if not _is_constant(each)]
        node.keywords = [
            each
            for each in node.keywords
            if not (each.arg and _SEED_NAME.fullmatch(each.arg) and _is_constant(each.value))
        ]
        return self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        pairs = [
            (key, value)
            for key, value in zip(node.keys, node.values, strict=True)
            if not (
                isinstance(key, ast.Constant)
                and _SEED_NAME.fullmatch(str(key.value))
                and _is_constant(value)
            )
        ]
        node.keys = [key for key, _ in pairs]
        node.values = [value for _, value in pairs]
        return self.generic_visit(node)

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        named = [*node.posonlyargs, *node.args][
            len(node.posonlyargs + node.args) - len(node.defaults) :
        ]
        node.defaults = [
            _blank(name, value) for name, value in zip(named, node.defaults, strict=True)
        ]
        node.kw_defaults = [
            value and _blank(name, value)
            for name, value in zip(node.kwonlyargs, node.kw_defaults, strict=True)
        ]
        return self.generic_visit(node)


def _blank(name: ast.arg, value: ast.expr) -> ast.expr:
    """A default, without its value where it is a seed."""
    seed = _SEED_NAME.fullmatch(name.arg) and _is_constant(value)
    return ast.Constant(value=0) if seed else value


def _is_seeding(call: ast.Call) -> bool:
    return bool(_SEEDING.fullmatch(_name(call.func)))


def _is_seed_name(target: ast.expr) -> bool:
    return bool(_SEED_NAME.fullmatch(_name(target)))


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return node.attr
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return key
    return ""


def _is_constant(node: ast.expr) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.UnaryOp(operand=operand):
            return _is_constant(operand)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(map(_is_constant, parts))
    return False
