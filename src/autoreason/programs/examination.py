"""A program read from a model's reply, run as a query, recorded and free of charge, and its results for a model."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from autoreason.errors import Interruption, InvalidInput
from autoreason.exchange import Query
from autoreason.jobs.context import JobContext
from autoreason.programs.assignment import (
    Assignment,
    CodeVerdict,
    Examination,
    Examined,
    Example,
    Input,
    Observed,
    Probe,
    Trial,
    Which,
    assignments_of,
)

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


class _CodeBlock(NamedTuple):
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


def _split(lines: list[str]) -> tuple[list[_CodeBlock], list[str]]:
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
        # Indented relative to its fence.
        width = len(opened[1])
        own = [line[min(width, len(line) - len(line.lstrip())) :] for line in lines[at:end]]
        text = "\n".join(own).strip("\n").rstrip()
        if end == len(lines):
            # The closing fence may be at the end of the last line of code.
            text = text.removesuffix(opened[2]).rstrip()
        language = _LANGUAGE.match(opened[3])
        named = language[1].lower() if language else ""
        if text and (not named or named in _PYTHON):
            blocks.append(_CodeBlock(text, bool(named)))
        at = end + 1
    return blocks, others


def _trim(block: _CodeBlock, entry_point: str) -> _CodeBlock:
    """The block without prose or copied test results after the program."""
    if not block.is_python or _parse(block.text):
        return block
    text = _find_unfenced(block.text.split("\n"))
    if text and (tree := _parse(text)) and _completeness(tree, entry_point):
        return block._replace(text=text)
    return block


def _rank_block(block: _CodeBlock, entry_point: str) -> _Rank | None:
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


class ExaminationQuery(Query[Examined], frozen=True, kw_only=True):
    """The result of a program on tests."""

    kind = "examination"
    examination: Examination


class ProbeQuery(Query[Observed], frozen=True, kw_only=True):
    """What a program does on inputs without known answers."""

    kind = "observation"
    probe: Probe


class Examiner(Protocol):
    """Runs programs and knows the tests."""

    async def examine(self, examination: Examination) -> Examined:
        """Run one program on the public or the private tests of a problem."""
        ...

    async def observe(self, probe: Probe) -> Observed:
        """Run one program on inputs without known answers."""
        ...


class NotExamined(Interruption):
    """The tests could not be run, which says nothing about the program."""

    status = "provider_failed"


async def examine(
    context: JobContext, key: str, program: str, which: Which, *, every: bool = False
) -> Examined:
    """The result of a program on the tests; raises `NotExamined` where there is none."""
    problem = assignments_of(context.task)[0].id
    examination = Examination(problem=problem, program=program, which=which, every=every)
    examined = await context.ask(ExaminationQuery(key=key, examination=examination))
    if examined.verdict is CodeVerdict.SANDBOX_ERROR:
        trial = examined.failed
        reason = trial.detail if trial and trial.detail else "the reason is not known"
        raise NotExamined(f"the {which} tests could not be run: {reason}")
    return examined


async def observe(context: JobContext, key: str, program: str, inputs: Sequence[Input]) -> Observed:
    problem = assignments_of(context.task)[0].id
    probe = Probe(problem=problem, program=program, inputs=tuple(inputs))
    observed = await context.ask(ProbeQuery(key=key, probe=probe))
    if any(each.failure == CodeVerdict.SANDBOX_ERROR for each in observed.observations):
        raise NotExamined("the program could not be run on further inputs: the sandbox failed")
    return observed


class ExaminerService:
    """An examiner that answers the queries of a run."""

    def __init__(self, examiner: Examiner) -> None:
        self._examiner = examiner

    async def answer(self, query: Query[Any]) -> Any:
        match query:
            case ExaminationQuery():
                return await self._examiner.examine(query.examination)
            case ProbeQuery():
                return await self._examiner.observe(query.probe)
        raise InvalidInput(f"an examiner has no answer to a {type(query).__name__}; ask a model")


_MAX_SHOWN = 3
_MAX_DATA = 1500
_MAX_TRACE = 3000
_HEAD_SHARE = 0.6
_NONDETERMINISTIC = (CodeVerdict.TIME_LIMIT, CodeVerdict.MEMORY_LIMIT)
"""How far a program gets before these limits varies, and the same seed must give the same request."""


def feedback(examined: Examined, assignment: Assignment) -> str:
    """The results of a program on the public tests, for a model that repairs it."""
    if examined.verdict is CodeVerdict.NO_CODE:
        return "There was no program in the answer."
    failing = [each for each in examined.trials if each.verdict is not CodeVerdict.ACCEPTED]
    parts = [f"{examined.passed} of {examined.total} tests passed."]
    if examined.run < examined.total:
        parts[0] += " The first failure ended it; the other tests were not run."
    parts += [_describe_trial(trial, assignment) for trial in failing[:_MAX_SHOWN]]
    if len(failing) > _MAX_SHOWN:
        rest = ", ".join(f"{each.number} ({_name(each)})" for each in failing[_MAX_SHOWN:])
        parts.append(f"Failing as well: test {rest}.")
    return "\n\n".join(parts)


def shorten(text: str, max_length: int = _MAX_DATA) -> str:
    text = text.rstrip("\n")
    if len(text) <= max_length:
        return text
    head = int(max_length * _HEAD_SHARE)
    tail = max_length - head
    cut = f"[... {len(text) - max_length:,} characters left out ...]"
    return f"{text[:head]}\n{cut}\n{text[-tail:]}"


def unstated_tests(assignment: Assignment) -> tuple[Example, ...]:
    """Public tests that the statement does not show, with long data shortened."""

    def plain(text: str) -> str:
        return " ".join(text.split())

    statement = plain(assignment.statement)
    return tuple(
        Example(input=shorten(test.input), output=shorten(test.output), code=shorten(test.code))
        for test in assignment.public
        if any(plain(part) not in statement for part in (test.code, test.input, test.output))
    )


def _describe_trial(trial: Trial, assignment: Assignment) -> str:
    lines = [f"Test {trial.number}: {_describe_verdict(trial, assignment)}."]
    if assignment.kind == "function":
        lines += _data("Test", trial.input)
    else:
        lines += _data("Input", trial.input)
        lines += _data("Expected", trial.expected)
    if trial.verdict not in _NONDETERMINISTIC:
        lines += _data("Got", trial.got)
    if trial.verdict is CodeVerdict.WRONG_ANSWER and not trial.got.strip():
        lines += ["Nothing was printed."] if assignment.kind == "stdio" else []
    if trial.difference:
        lines.append(f"First difference: {trial.difference}")
    if trial.trace.strip() and trial.verdict is not CodeVerdict.TIME_LIMIT:
        trace = trial.trace.strip()
        if len(trace) > _MAX_TRACE:
            trace = "[...]\n" + trace[-_MAX_TRACE:].partition("\n")[2]
        lines += ["Traceback:", trace]
    return "\n".join(lines)


def _data(what: str, text: str) -> Sequence[str]:
    return (f"{what}:", shorten(text)) if text.strip() else ()


def _name(trial: Trial) -> str:
    return trial.verdict.value.replace("_", " ")


def _describe_verdict(trial: Trial, assignment: Assignment) -> str:
    """A verdict with its limit, and nothing that was measured."""
    match trial.verdict:
        case CodeVerdict.TIME_LIMIT:
            return (
                f"time limit: {assignment.seconds:g} s of processor time are allowed, and by the clock "
                "little more than three times that"
            )
        case CodeVerdict.MEMORY_LIMIT:
            return f"memory limit: more than {assignment.memory_mb} MB were asked for"
        case CodeVerdict.OUTPUT_LIMIT:
            return "output limit: far more was printed than the answer can have"
        case CodeVerdict.RUNTIME_ERROR:
            return "runtime error" + (f": {trial.detail}" if trial.detail else "")
    return _name(trial)
