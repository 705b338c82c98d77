"""Checks a user's prompt before anything is spent: its language, its variables, what it shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import TemplateSyntaxError, meta, nodes
from jinja2.sandbox import SandboxedEnvironment

from autoreason.errors import InvalidInput

_SAME: Any = object()


class Variable(NamedTuple):
    """What a prompt may show."""

    meaning: str
    sample: Any
    bare: Any = _SAME
    """Its sample where a run has nothing to put in; the usual one where that cannot be."""


_RECORDS = ({"id": "r0123456789", "text": "Spring tide!", "figure": "12 % of 900"},)

VARIABLES = {
    "better": Variable("which is better: higher or lower", "lower"),
    "boundary": Variable("a mark that sets material apart; drawn from the run's seed", "a1b2"),
    "brief": Variable("what is to be written", "Write about the tide."),
    "candidates": Variable(
        "the texts or programs to rank, in the judge's order; each has `label` and `text`",
        [{"label": "Pike", "text": "Low water."}, {"label": "Quay", "text": "High water."}],
    ),
    "constraints": Variable(
        "what the artifact must keep to, in words; may be empty", ["tide.py <= 20 kB"], []
    ),
    "criteria": Variable(
        "what matters, for critics and judges by name; may be empty", ("plain",), ()
    ),
    "critique": Variable("the problems found, or the author's own feedback", "It is short."),
    "did_badly": Variable("records of what did badly; may be empty", _RECORDS, ()),
    "did_well": Variable("records of what did well; may be empty", _RECORDS, ()),
    "edit": Variable("what a draft may become: free, light or proof", "light", "free"),
    "edit_share": Variable("the share of words that a round of an edit may change", "15 %"),
    "entry_point": Variable("the name to define; empty for a whole program", "add_up", ""),
    "evaluator": Variable("the evaluator's source; may be empty", "def score(tide):", ""),
    "examples": Variable(
        "the public tests; each has `input` and `output`, or `code`",
        [
            {"input": "1 2", "output": "3", "code": ""},
            {"input": "", "output": "", "code": "assert add_up(1, 2) == 3"},
        ],
        [],
    ),
    "facts": Variable("ground truth; none where none was given", "It rains on Sundays.", None),
    "fault": Variable("why a proposal cannot be used", "there is no change in that"),
    "files": Variable(
        "the artifact's files; each has `path` and `text`",
        [{"path": "tide.py", "text": "LEVEL = 3"}, {"path": "tide.toml", "text": "rate = 0.1"}],
    ),
    "findings": Variable("a critic's or analyst's findings; may be empty", "It adds too much.", ""),
    "finished": Variable(
        "whether finished texts are judged, also if they break a limit", True, False
    ),
    "fixes": Variable(
        "those limits, each with its place or how far off it is",
        ["12 words, at most 9 allowed; cut 3 or more"],
    ),
    "form": Variable("the form in which the answer can be read", "End with a ranking."),
    "grades": Variable("whether judges grade the texts and do not rank them", True, False),
    "guards": Variable("other numbers that must hold; may be empty", ["p50_ms <= 5"], []),
    "guidance": Variable("a person's guidance for this pass; may be empty", "Mind the end.", ""),
    "house_style": Variable("records of how the user writes; may be empty", _RECORDS, ()),
    "known_facts": Variable("records of what is true; may be empty", _RECORDS, ()),
    "labels": Variable("the labels to rank", ["Pike", "Quay"]),
    "leaks": Variable("passages that give the text away", ["a revised version"]),
    "ledger": Variable(
        "changes tried, with their effects; may be empty", "trial 1: kept; +0.2", ""
    ),
    "lens": Variable("the one thing a specialist looks at; empty for other judges", "clarity", ""),
    "memory": Variable("the memory limit in MB", 512),
    "metric": Variable("the name of the number that decides", "level_ms"),
    "number": Variable("how many texts to write", 3, 1),
    "patterns": Variable("the paths and globs that may be changed", ["tide.py", "*.toml"]),
    "program": Variable("the current program", "print(3)"),
    "programs": Variable(
        "the two programs to join; each has `text` and `results`",
        [
            {"text": "print(3)", "results": "Test 1: wrong answer."},
            {"text": "print(4)", "results": "Test 1: accepted."},
        ],
    ),
    "quoted": Variable("whether each problem must quote the text", True, False),
    "reader_feedback": Variable("records of what readers said; may be empty", _RECORDS, ()),
    "reasons": Variable("what the judge wrote that is checked; may be empty", "It is dry.", ""),
    "reference": Variable(
        "the first draft, for anchored judges; empty for others and while it is one of the texts",
        "Ebb.",
        "",
    ),
    "results": Variable("what running the program on tests gave", "Test 1: wrong answer.", ""),
    "role": Variable("who is shown the records: author, critic, judge …", "critic", ""),
    "rules": Variable("the contract in plain words; may be empty", ("At most 9 words.",), ()),
    "seconds": Variable("the time limit of a test or an evaluation", 2),
    "split": Variable(
        "what judges said who put the text first and lower; may be empty", ("Hi.", "No."), ()
    ),
    "starter": Variable("code to begin from; may be empty", "def add_up(a, b):", ""),
    "statement": Variable("the problem", "Add two numbers."),
    "style": Variable(
        "reasoned, holistic, specialists, verified, scope_aware or anchored", "reasoned"
    ),
    "subtractive": Variable("whether a synthesis may only cut, and add nothing", True, False),
    "summary": Variable(
        "what the artifact has reached and how much its number varies",
        "It stands at 3 with noise 1",
    ),
    "taken": Variable("texts that are there already; may be empty", ["Low water."], []),
    "text": Variable("the current text", "Low water."),
    "texts": Variable("the two texts to join", ["Low water.", "High water."]),
    "title": Variable("the problem's title; may be empty", "Sums", ""),
    "tried": Variable("a program tried since that did no better; may be empty", "print(5)", ""),
    "violations": Variable("the limits that the text breaks", ["12 words, at most 9 allowed"]),
}

_FULL = {name: each.sample for name, each in VARIABLES.items()}
_BARE = {name: each.sample if each.bare is _SAME else each.bare for name, each in VARIABLES.items()}
SAMPLES = (
    _FULL,
    _BARE,
    *(_BARE | {"style": style} for style in ("holistic", "scope_aware")),
    _FULL | {"style": "specialists"},
)
"""What prompts are given, in the ways that make a difference."""


_NODES = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.CondExpr),
    *(nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.Const, nodes.List, nodes.Tuple),
    *(nodes.Filter, nodes.Keyword, nodes.Test, nodes.Compare, nodes.Operand),
    *(nodes.And, nodes.Or, nodes.Not, nodes.Neg, nodes.Concat, nodes.Add, nodes.Sub, nodes.Div),
)
"""No product, call or name for a sum: nothing by which a few characters become gigabytes."""
_FILTERS = (
    *("abs", "capitalize", "count", "d", "default", "e", "escape", "first", "indent", "int"),
    *("join", "last", "length", "list", "lower", "replace", "reverse", "round", "sort", "string"),
    *("title", "tojson", "trim", "truncate", "unique", "upper", "wordcount"),
)
_LENGTHENING = ("indent", "join", "replace")
_LISTS = tuple(name for name, each in VARIABLES.items() if isinstance(each.sample, list | tuple))
_MAX_ARGUMENT = 20
_LARGEST_ARGUMENT = 10_000
_MAX_DEPTH = 2
_OFFERED = (
    "a prompt may use its variables, conditions, loops over lists and the filters "
    + ", ".join(_FILTERS)
)


def check_override(
    path: Path,
    source: str,
    known: frozenset[str],
    needed: frozenset[str],
    environment: SandboxedEnvironment,
) -> None:
    """Refuse a user's prompt that would fail, leave something out or never end, with the reason.

    `known` are the variables that the built-in prompt takes, `needed` those that it must show.
    """
    try:
        tree = environment.parse(source)
        if any(map(tree.find, (nodes.Include, nodes.Extends, nodes.Import, nodes.FromImport))):
            raise InvalidInput(f"{path} takes in another template; write it whole in one file")
        _check_language(path, tree, 0)
        used = meta.find_undeclared_variables(tree)
    except TemplateSyntaxError as error:
        raise InvalidInput(f"{path} line {error.lineno}: {error.message}; correct it") from None
    if used - known:
        offered = ", ".join(sorted(known)) or "none"
        raise InvalidInput(f"{path}: unknown variable `{min(used - known)}`; known are {offered}")
    # Rendered as a run would: what fails later is paid for, and so is what is never shown.
    for values in SAMPLES:
        sample = {name: values[name] for name in known}
        try:
            shown = environment.from_string(source).render(sample)
        except Exception as error:
            raise InvalidInput(f"{path} cannot be rendered: {error}; correct it") from None
        for name in sorted(needed):
            if any(part.lower() not in shown.lower() for part in _parts(sample, name)):
                meaning = VARIABLES[name.partition(".")[0]].meaning
                raise InvalidInput(
                    f"{path} does not show `{name}` ({meaning}), so no model would see it; "
                    f"`autoreason prompts {path.stem}` shows where the built-in one has it"
                )


def _check_language(path: Path, node: nodes.Node, depth: int) -> None:
    depth += isinstance(node, nodes.For)
    if fault := _fault(node, depth):
        raise InvalidInput(f"{path} line {node.lineno}: {fault}; {_OFFERED}")
    for child in node.iter_child_nodes():
        _check_language(path, child, depth)


def _fault(node: nodes.Node, depth: int) -> str:
    """What about a part of a template could make it grow without limit; empty where nothing can."""
    if not isinstance(node, _NODES):
        what = getattr(node, "operator", None) or type(node).__name__.lower()
        return f"`{what}` is not part of the language of prompts"
    if isinstance(node, nodes.For):
        return _loop_fault(node, depth)
    if isinstance(node, nodes.Filter):
        return _filter_fault(node)
    return ""


def _loop_fault(node: nodes.For, depth: int) -> str:
    if depth > _MAX_DEPTH:
        return f"loops are nested more than {_MAX_DEPTH} deep"
    over = node.iter
    while isinstance(over, nodes.Filter) and over.node is not None:
        over = over.node
    named = isinstance(over, nodes.Name) and over.name in _LISTS
    return (
        ""
        if named or isinstance(over, nodes.List | nodes.Tuple)
        else "a loop over what is not a list"
    )


def _filter_fault(node: nodes.Filter) -> str:
    if node.name not in _FILTERS:
        return f"filter {node.name} is not among those of prompts"
    arguments = [*node.args, *(each.value for each in node.kwargs)]
    if node.dyn_args or node.dyn_kwargs or not all(map(_is_small, arguments)):
        return (
            f"filter {node.name} is given something other than a number up to {_LARGEST_ARGUMENT:,} "
            f"or a text of at most {_MAX_ARGUMENT} characters"
        )
    if node.name == "indent" and any(
        isinstance(each, nodes.Const) and isinstance(each.value, int) and each.value > _MAX_ARGUMENT
        for each in arguments
    ):
        return f"filter indent is given more than {_MAX_ARGUMENT}"
    chain: list[str] = []
    link: nodes.Node | None = node
    while isinstance(link, nodes.Filter):
        chain.append(link.name)
        link = link.node
    if sum(name in _LENGTHENING for name in chain) > 1:
        return f"more than one of the filters {', '.join(_LENGTHENING)} in a row"
    return ""


def _is_small(argument: nodes.Node) -> bool:
    if not isinstance(argument, nodes.Const):
        return False
    value = argument.value
    if isinstance(value, str):
        return len(value) <= _MAX_ARGUMENT
    return value is None or abs(value) <= _LARGEST_ARGUMENT


def _parts(sample: Mapping[str, Any], name: str) -> list[str]:
    """The texts that must be seen where a variable is shown; none where it is empty."""
    name, _, field = name.partition(".")
    value = sample[name]
    if not value:
        return []
    listed: list[Any] = [value] if isinstance(value, str) else value
    return [each[field] if field else each for each in listed]
