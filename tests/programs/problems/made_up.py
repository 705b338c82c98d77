"""Records in every format, of our own making."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from typing import Any

Record = dict[str, Any]


def own(**changes: Any) -> Record:
    """A problem as people write it."""
    record = {
        "id": "double",
        "statement": "Print twice the number that is read.",
        "public_tests": [["2\n", "4\n"]],
        "private_tests": [["5\n", "10\n"], ["0\n", "0\n"]],
    }
    return {key: value for key, value in (record | changes).items() if value is not None}


def contest(**changes: Any) -> Record:
    """A record of CodeContests as its data set has it."""
    record = {
        "name": "12_B. Twice the Tide",
        "description": "Print twice the number that is read.",
        "public_tests": {"input": ["2\n"], "output": ["4\n"]},
        "private_tests": {"input": ["5\n"], "output": ["10\n"]},
        "generated_tests": {"input": ["0\n"], "output": ["0\n"]},
        "source": 2,
        "difficulty": 8,
        "solutions": {"language": [2, 3], "solution": ["int main(){}", "print(2*int(input()))"]},
        "time_limit": {"seconds": 2, "nanos": 500_000_000},
        "memory_limit_bytes": 256_000_000,
        "cf_rating": 0,
        "cf_tags": ["math", ""],
        "input_file": "",
        "output_file": "",
    }
    return record | changes


def humaneval(**changes: Any) -> Record:
    """A record of HumanEval."""
    record = {
        "task_id": "HumanEval/900",
        "prompt": "import math\n\n\ndef half(n: int) -> int:\n"
        '    """The half, rounded down.\n    >>> half(5)\n    2\n    >>> half(8)\n    5\n    """\n',
        "entry_point": "half",
        "canonical_solution": "    return math.floor(n / 2)\n",
        "test": "def check(candidate):\n    assert candidate(8) == 4\n    assert candidate(3) == 1\n",
    }
    return record | changes


def mbpp(**changes: Any) -> Record:
    """A record of MBPP's full edition."""
    record = {
        "task_id": 900,
        "text": "Write a function to round a root.",
        "code": "import math\ndef root(n):\n    return math.sqrt(n)",
        "test_list": ["assert math.isclose(root(4), 2.0)", "assert root(9) == 3"],
        "test_setup_code": "import math",
        "challenge_test_list": ["assert root(0) == 0"],
    }
    return record | changes


def livecodebench(**changes: Any) -> Record:
    """A record of LiveCodeBench that asks for a program."""
    tests = [{"input": "2\n", "output": "4\n", "testtype": "stdin"}]
    record = {
        "question_title": "Twice",
        "question_content": "Print twice the number that is read.",
        "question_id": "abc900_a",
        "platform": "atcoder",
        "difficulty": "easy",
        "starter_code": "",
        "public_test_cases": json.dumps(tests),
        "private_test_cases": packed([{"input": "5\n", "output": "10\n", "testtype": "stdin"}]),
        "metadata": "{}",
    }
    return record | changes


def method(**changes: Any) -> Record:
    """A record of LiveCodeBench that asks for a method."""
    test = {"input": '[1, 2]\n"a"', "output": "null", "testtype": "functional"}
    record = {
        "starter_code": "class Solution:\n    def pick(self, xs: List[int], s: str) -> Optional[int]:\n",
        "public_test_cases": json.dumps([test]),
        "private_test_cases": packed([test | {"input": '[]\n""', "output": "true"}]),
        "metadata": '{"func_name": "pick"}',
    }
    return livecodebench(**(record | changes))


def packed(tests: object) -> str:
    """Private tests as LiveCodeBench packs them."""
    return pickled(json.dumps(tests))


def pickled(value: object, protocol: int | None = None) -> str:
    """Any value, packed the same way."""
    return base64.b64encode(zlib.compress(pickle.dumps(value, protocol))).decode()
