"""Problems that ask for a function: HumanEval and MBPP, in their published forms."""

from __future__ import annotations

import ast
import builtins

from autoreason.errors import InvalidInput
from autoreason.programs.assignment import Example
from autoreason.programs.problems.docstrings import (
    defined_names,
    docstring_of,
    example_asserts,
    expectations,
    free_names,
    other_definitions,
)
from autoreason.programs.problems.native_format import build_problem
from autoreason.programs.problems.problem import Problem
from autoreason.programs.problems.record_fields import Record, record_name, text_field, texts_field
from autoreason.programs.problems.set_sources import parse_python


def read_humaneval(raw: Record) -> Problem:
    """The docstring's examples are public; the `check` function is the one private test."""
    name, prompt = text_field(raw, "entry_point"), text_field(raw, "prompt")
    body = text_field(raw, "canonical_solution" if "canonical_solution" in raw else "solution", "")
    hidden = text_field(raw, "test")
    starter = prompt.strip() + "\n"
    return build_problem(
        {
            "id": str(raw.get("task_id", raw.get("id"))),
            "statement": f"Write the function `{name}`. It does what its docstring says:\n\n"
            f"```python\n{starter}```",
            "title": name,
            "kind": "function",
            "entry_point": name,
            "starter": starter,
            "setup": other_definitions(_stub(raw), name),
            "public_tests": tuple(
                Example(code=example) for example, why in _examples(raw).items() if not why
            ),
            "private_tests": (Example(code=f"{hidden.strip()}\n\ncheck({name})"),),
            "solution": f"{prompt}{body}" if body.strip() else "",
            "source": "HumanEval",
        }
    )


def excluded_examples(raw: Record) -> list[str]:
    """The examples of a HumanEval docstring that are not used as tests, and why."""
    return [
        f"{record_name(raw)}: the example `{example}` {why}"
        for example, why in _examples(raw).items()
        if why
    ]


def _stub(raw: Record) -> str:
    """The prompt as valid Python: its function has no body yet."""
    return f"{text_field(raw, 'prompt').strip()}\n    pass\n"


def _examples(raw: Record) -> dict[str, str]:
    """The docstring's examples as asserts, each with the reason why it cannot be a test, or an empty one."""
    name, stub = text_field(raw, "entry_point"), _stub(raw)
    known = {name, *vars(builtins), *defined_names(other_definitions(stub, name))}
    wanted = expectations(text_field(raw, "test"), "candidate")
    reasons = {}
    for example in example_asserts(docstring_of(stub, name), name):
        unknown = sorted(free_names(example) - known)
        reasons[example] = f"uses `{unknown[0]}`, which nothing defines" if unknown else ""
        if _contradicts(example, name, wanted):
            reasons[example] = "contradicts the tests"
    return reasons


def _contradicts(example: str, name: str, wanted: dict[str, str]) -> bool:
    """Whether an example shows another value than the tests expect: docstrings are not always right."""
    return any(
        ast.literal_eval(wanted[call]) != ast.literal_eval(value)
        for call, value in expectations(example, name).items()
        if call in wanted
    )


def read_mbpp(raw: Record) -> Problem:
    """The first assert is public, the others are private, and so are the full edition's challenge tests."""
    number = raw.get("task_id", raw.get("id"))
    asserts = texts_field(raw, "test_list" if "test_list" in raw else "tests")
    if not asserts:
        raise InvalidInput(f"{record_name(raw)}: it has no tests; give `test_list`")
    # The hand-checked edition changed statements and tests, and not the challenge tests.
    challenges = texts_field(raw, "challenge_test_list") if "text" in raw else []
    solution = text_field(raw, "code" if "code" in raw else "solution", "")
    setup = [*texts_field(raw, "test_imports"), text_field(raw, "test_setup_code", "")]
    name = called_function("\n".join(asserts), solution)
    request = text_field(raw, "text" if "text" in raw else "prompt").strip()
    example = f"\n\nThe function is called `{name}`. This must hold:\n\n```python\n{asserts[0].strip()}\n```"
    return build_problem(
        {
            "id": number if isinstance(number, str) else f"MBPP/{number}",
            "statement": request + example if request else "",
            "title": name,
            "kind": "function",
            "entry_point": name,
            "setup": "\n".join(line for line in setup if line.strip()),
            "public_tests": (Example(code=asserts[0]),),
            "private_tests": tuple(Example(code=one) for one in (*asserts[1:], *challenges)),
            "solution": solution,
            "source": "MBPP",
        }
    )


def called_function(asserts: str, solution: str = "") -> str:
    """The function that tests call: one the solution defines, or the first that is not built in."""
    tree = parse_python(asserts)
    called = [
        node.func.id
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    defined = [name for name in called if f"def {name}(" in solution.replace(" (", "(")]
    unknown = [name for name in called if not hasattr(builtins, name)]
    return next(iter([*defined, *unknown]), "")
