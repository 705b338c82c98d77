"""Sets of problems read from files: the native format, HumanEval, MBPP, CodeContests and LiveCodeBench."""

from __future__ import annotations

import ast
import base64
import builtins
import pickletools
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.fields import plainly
from autoreason.files import open_input
from autoreason.programs.assignment import Example
from autoreason.programs.problems.problem import (
    MAX_ID_LENGTH,
    MAX_SECONDS,
    MEMORY_RANGE_MB,
    BrokenRecord,
    Problem,
    ProblemSet,
    allows_any_case,
    check_problem,
    find_function,
    parse_python,
    set_digest,
    stated_checker,
)

RawRecord = dict[str, Any]
T = TypeVar("T")
_NAME_FIELDS = ("id", "task_id", "question_id", "name")


def record_name(raw: RawRecord) -> str:
    name = next((raw[key] for key in _NAME_FIELDS if isinstance(raw.get(key), str | int)), None)
    return "a problem without an id" if name is None else f"problem {str(name)[:MAX_ID_LENGTH]!r}"


def read_record(raw: RawRecord, kind: type[T], fields: RawRecord | None = None) -> T:
    """A record, or its fields in another form, as a typed value; the field that is wrong is named."""
    given = raw if fields is None else fields
    try:
        return msgspec.convert({k: v for k, v in given.items() if v is not None}, kind)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{record_name(raw)}: {plainly(error, kind)}; correct it") from None


class _HumanEval(Struct, kw_only=True):
    task_id: str = ""
    id: str = ""
    prompt: str
    entry_point: str
    test: str
    canonical_solution: str = ""
    solution: str = ""


def read_humaneval(raw: RawRecord) -> Problem:
    """The docstring's examples are public; the `check` function is the one private test.

    An example that contradicts that test, or uses a name that nothing defines, is not a test.
    """
    record = read_record(raw, _HumanEval)
    name, body = record.entry_point, record.canonical_solution or record.solution
    starter = record.prompt.strip() + "\n"
    # The function has no body yet.
    tree = parse_python(f"{starter}    pass\n")
    function = find_function(tree, name)
    others = [each for each in tree.body if each is not function and not isinstance(each, ast.Expr)]
    setup = "\n\n".join(map(ast.unparse, others))
    known = {name, *vars(builtins), *compile(setup, "setup", "exec").co_names}
    expected = expectations(record.test, "candidate")
    examples = [
        example
        for example in example_asserts(ast.get_docstring(function) or "" if function else "", name)
        if _free_names(example) <= known
        and not any(
            ast.literal_eval(expected[call]) != ast.literal_eval(value)
            for call, value in expectations(example, name).items()
            if call in expected
        )
    ]
    return check_problem(
        Problem(
            id=record.task_id or record.id,
            statement=f"Write the function `{name}`. It does what its docstring says:\n\n"
            f"```python\n{starter}```",
            title=name,
            kind="function",
            entry_point=name,
            starter=starter,
            setup=setup,
            public_tests=tuple(Example(code=example) for example in examples),
            private_tests=(Example(code=f"{record.test.strip()}\n\ncheck({name})"),),
            solution=f"{record.prompt}{body}" if body.strip() else "",
            source="HumanEval",
        )
    )


_PROMPT = re.compile(r"^\s*>>> ?(.*)$")
_SEPARATOR = re.compile(r"\s*(?:==>|=>|->|➞|→|==|=|#?\s*(?:should )?returns?:?)\s*")
_PREFIX = re.compile(r"^[\s*\-]*(?:(?:assert|for)\s+)?")


def example_asserts(docstring: str, function: str) -> list[str]:
    """Examples that call the function and show a literal value, each as an assert, each once."""
    asserts: dict[str, None] = {}
    for call, value in (*_prompt_examples(docstring), *_inline_examples(docstring, function)):
        if value:
            expression, literal = _expression(call, function), _literal(value)
            if expression and literal:
                asserts[f"assert {expression} == {literal}"] = None
        else:
            # `>>> f(1) == 2`, with nothing below it.
            for arguments, known in expectations(f"assert {call}", function).items():
                asserts[f"assert {function}({arguments}) == {known}"] = None
    return list(asserts)


def _prompt_examples(docstring: str) -> Iterator[tuple[str, str]]:
    """The input at each prompt, and the line that follows."""
    lines = [*docstring.splitlines(), ""]
    for line, after in pairwise(lines):
        if prompt := _PROMPT.match(line):
            yield prompt[1].strip(), "" if _PROMPT.match(after) else after.strip()


def _inline_examples(docstring: str, function: str) -> Iterator[tuple[str, str]]:
    """Lines such as `f(1, 2) == 3`, `f(1, 2) -> 3` or `f(1, 2) returns 3`."""
    for line in docstring.splitlines():
        bare = _PREFIX.sub("", line, count=1)
        for separator in _SEPARATOR.finditer(bare) if bare.startswith(f"{function}(") else ():
            call, value = bare[: separator.start()], bare[separator.end() :].strip()
            if value and not value.endswith("..") and _expression(call, function):
                yield call, value.removesuffix(".")
                break


def expectations(asserts: str, name: str) -> dict[str, str]:
    """Calls of a name and the literals they are asserted to equal, anywhere in a source."""
    found: dict[str, str] = {}
    for node in ast.walk(parse_python(asserts)):
        match node:
            case ast.Assert(
                test=ast.Compare(
                    left=ast.Call(func=ast.Name(id=called)) as call,
                    ops=[ast.Eq()],
                    comparators=[value],
                )
            ) if called == name and (literal := _literal(ast.unparse(value))):
                found[", ".join(map(ast.unparse, (*call.args, *call.keywords)))] = literal
    return found


def _expression(text: str, function: str) -> str | None:
    match parse_python(text).body:
        case [ast.Expr(value=expression)]:
            names = (node.id for node in ast.walk(expression) if isinstance(node, ast.Name))
            return ast.unparse(expression) if function in names else None
    return None


def _literal(text: str) -> str | None:
    try:
        return repr(ast.literal_eval(text))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _free_names(source: str) -> set[str]:
    names = [node for node in ast.walk(parse_python(source)) if isinstance(node, ast.Name)]
    assigned = {each.id for each in names if not isinstance(each.ctx, ast.Load)}
    return {each.id for each in names} - assigned


class _MBPP(Struct, kw_only=True):
    task_id: int | str = ""
    id: int | str = ""
    text: str = ""
    """The request, in the full edition."""
    prompt: str = ""
    test_list: list[str] = []
    tests: list[str] = []
    challenge_test_list: list[str] = []
    test_imports: list[str] = []
    test_setup_code: str = ""
    code: str = ""
    solution: str = ""


def read_mbpp(raw: RawRecord) -> Problem:
    """The first assert is public, the others are private, and so are the full edition's challenge tests."""
    record = read_record(raw, _MBPP)
    number = record.task_id or record.id
    asserts = record.test_list or record.tests
    if not asserts:
        raise InvalidInput(f"{record_name(raw)}: it has no tests; give `test_list`")
    # The hand-checked edition changed statements and tests, and not the challenge tests.
    challenges = record.challenge_test_list if record.text else []
    solution, request = record.code or record.solution, (record.text or record.prompt).strip()
    name = called_function("\n".join(asserts), solution)
    example = f"\n\nThe function is called `{name}`. This must hold:\n\n```python\n{asserts[0].strip()}\n```"
    setup = [*record.test_imports, record.test_setup_code]
    return check_problem(
        Problem(
            id=number if isinstance(number, str) else f"MBPP/{number}",
            statement=request + example if request else "",
            title=name,
            kind="function",
            entry_point=name,
            setup="\n".join(line for line in setup if line.strip()),
            public_tests=(Example(code=asserts[0]),),
            private_tests=tuple(Example(code=one) for one in (*asserts[1:], *challenges)),
            solution=solution,
            source="MBPP",
        )
    )


def called_function(asserts: str, solution: str = "") -> str:
    """The function that tests call: one the solution defines, or the first that is not built in."""
    called = [
        node.func.id
        for node in ast.walk(parse_python(asserts))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    defined = [name for name in called if f"def {name}(" in solution.replace(" (", "(")]
    unknown = [name for name in called if not hasattr(builtins, name)]
    return next(iter([*defined, *unknown]), "")


class _Pairs(Struct):
    input: list[str] = []
    output: list[str] = []


class _Solutions(Struct):
    language: list[int] = []
    solution: list[str] = []


class _Duration(Struct):
    seconds: float = 0
    nanos: float = 0


class _Contest(Struct, kw_only=True):
    name: str
    description: str
    public_tests: _Pairs = msgspec.field(default_factory=_Pairs)
    private_tests: _Pairs = msgspec.field(default_factory=_Pairs)
    generated_tests: _Pairs = msgspec.field(default_factory=_Pairs)
    source: int = 0
    difficulty: int = 0
    solutions: _Solutions = msgspec.field(default_factory=_Solutions)
    time_limit: _Duration = msgspec.field(default_factory=_Duration)
    memory_limit_bytes: int = 0
    cf_rating: int = 0
    cf_tags: list[str] = []
    input_file: str = ""
    output_file: str = ""


_SOURCES = ("", "CodeChef", "Codeforces", "HackerEarth", "Code Jam", "AtCoder", "Aizu")
_DIFFICULTIES = ("", "easy", "medium", "hard", "harder", "hardest", "", *"ABCDEFGHIJKLMNOPQRSTUV")
_MEDIUM, _HARD = 1400, 2000
"""Ratings at Codeforces from which a problem is no longer easy, or medium."""
_PYTHON3 = 3
_STREAMS = ("", "stdin", "stdout", "standard input", "standard output")
_SECONDS, _MEGABYTES = 10.0, 512
"""The least limits: contests set theirs for compiled languages."""
_TITLE = re.compile(r"^\d+_[A-Z]\w*\.\s+")


def read_contest(raw: RawRecord) -> Problem:
    record = read_record(raw, _Contest)
    if any(file not in _STREAMS for file in (record.input_file, record.output_file)):
        raise InvalidInput(f"{record_name(raw)}: it uses files; only streams are judged")
    limit = record.time_limit.seconds + record.time_limit.nanos / 1e9
    memory = int(max(record.memory_limit_bytes / 1_000_000, _MEGABYTES))
    rating = record.cf_rating
    difficulty = "easy" if rating < _MEDIUM else "medium" if rating < _HARD else "hard"
    solutions = zip(record.solutions.language, record.solutions.solution, strict=False)
    private, generated = record.private_tests, record.generated_tests
    return check_problem(
        Problem(
            id=record.name,
            statement=record.description,
            title=_TITLE.sub("", record.name),
            difficulty=difficulty if rating else _at(_DIFFICULTIES, record.difficulty),
            time_limit_s=min(max(limit, _SECONDS), MAX_SECONDS),
            memory_limit_mb=min(memory, MEMORY_RANGE_MB[1]),
            public_tests=_examples(raw, record.public_tests),
            private_tests=(*_examples(raw, private), *_examples(raw, generated)),
            checker=stated_checker(record.description),
            ignore_case=allows_any_case(record.description),
            solution=next((each for language, each in solutions if language == _PYTHON3), ""),
            tags=tuple(filter(None, record.cf_tags)),
            source="/".join(filter(None, ("CodeContests", _at(_SOURCES, record.source)))),
        )
    )


def _at(names: tuple[str, ...], number: int) -> str:
    return names[number] if 0 <= number < len(names) else ""


def _examples(raw: RawRecord, tests: _Pairs) -> tuple[Example, ...]:
    if len(tests.input) != len(tests.output):
        raise InvalidInput(f"{record_name(raw)}: some tests have no output; correct it")
    pairs = zip(tests.input, tests.output, strict=True)
    return tuple(Example(input=entered, output=printed) for entered, printed in pairs)


MAX_UNPACKED_BYTES = 256 << 20
_HARMLESS_OPCODES = frozenset({"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"})
_TEXT_OPCODES = frozenset({"UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"})
_TYPING = re.compile(
    r"\b(?:Any|Callable|DefaultDict|Deque|Dict|Iterator|List|Optional|Set|Tuple|Union)\b"
)


class _LiveCodeBench(Struct, kw_only=True):
    question_id: str
    question_content: str
    question_title: str = ""
    platform: str = ""
    difficulty: str = ""
    starter_code: str = ""
    public_test_cases: str = ""
    private_test_cases: str = ""
    metadata: str = "{}"


class _TestCase(Struct):
    input: str = ""
    output: str = ""
    testtype: str = "stdin"


class _Metadata(Struct):
    func_name: str = ""


def read_livecodebench(raw: RawRecord) -> Problem:
    """Read a record: tests public and private as given; a function is a method of `Solution`."""
    record = read_record(raw, _LiveCodeBench)
    name, question = record_name(raw), record.question_content
    public = _unpack_tests(name, "public_test_cases", record.public_test_cases)
    private = _unpack_tests(name, "private_test_cases", record.private_test_cases)
    problem = Problem(
        id=record.question_id,
        statement=question,
        title=record.question_title,
        difficulty=record.difficulty,
        source="/".join(filter(None, ("LiveCodeBench", record.platform))),
    )
    if not any(test.testtype == "functional" for test in (*public, *private)):
        tests = [
            tuple(Example(input=test.input, output=test.output) for test in each)
            for each in (public, private)
        ]
        fields: RawRecord = {"checker": stated_checker(question)}
        fields["ignore_case"] = allows_any_case(question)
    else:
        method = _decode(record.metadata, _Metadata)
        if method is None or not method.func_name.isidentifier():
            raise InvalidInput(f"{name}: no `func_name` in `metadata`; name the method there")
        starter = record.starter_code
        if needed := sorted(set(_TYPING.findall(starter))):
            starter = f"from typing import {', '.join(needed)}\n\n\n{starter}"
        shown = f":\n\n```python\n{starter.rstrip()}\n```" if starter.strip() else "."
        wanted = f"Write the class `Solution` with the method `{method.func_name}`{shown}"
        tests = [
            tuple(_function_test(name, test, method.func_name) for test in each)
            for each in (public, private)
        ]
        fields = {"kind": "function", "entry_point": "Solution", "starter": starter}
        fields["statement"] = f"{question}\n\n{wanted}"
    fields |= {"public_tests": tests[0], "private_tests": tests[1]}
    return check_problem(msgspec.structs.replace(problem, **fields))


def _unpack_tests(name: str, field: str, value: str) -> list[_TestCase]:
    """Tests from JSON, or from packed JSON: pickled, compressed and in base64."""
    if not value:
        return []
    tests = _decode(value, list[_TestCase])
    if tests is None:
        tests = _decode(_unpack(value), list[_TestCase])
    if tests is None:
        raise InvalidInput(f"{name}: `{field}` cannot be unpacked; fetch the record again")
    return tests


def _unpack(packed: str) -> str:
    """The text that was pickled. Nothing is unpickled: a pickle of anything but one text is refused."""
    try:
        engine = zlib.decompressobj()
        data = engine.decompress(base64.b64decode(packed, validate=True), MAX_UNPACKED_BYTES)
        steps = [(step.name, argument) for step, argument, _ in pickletools.genops(data)]
    except (ValueError, zlib.error):
        return ""
    texts = [str(value) for name, value in steps if name in _TEXT_OPCODES]
    harmless = {name for name, _ in steps} <= _TEXT_OPCODES | _HARMLESS_OPCODES
    return texts[0] if engine.eof and len(texts) == 1 and harmless else ""


def _function_test(name: str, test: _TestCase, method: str) -> Example:
    """A test of a function: one argument per line, each as JSON like the expected value."""
    lines = [line for line in test.input.split("\n") if line.strip()]
    try:
        *arguments, wanted = (repr(msgspec.json.decode(each)) for each in (*lines, test.output))
    except (msgspec.DecodeError, RecursionError):
        raise InvalidInput(f"{name}: values of a test are not JSON; correct it") from None
    return Example(code=f"assert Solution().{method}({', '.join(arguments)}) == {wanted}")


def _decode(source: str, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(source, type=kind)
    except (msgspec.DecodeError, RecursionError):
        return None


MAX_FILE_BYTES = 1 << 30

FIELDS = Problem.__struct_fields__
_OTHER_TEST_FIELDS = ("tests", "test", "test_cases")
_COMPRESSED_MAGIC = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"PK\x03\x04")


def read_native(raw: RawRecord) -> Problem:
    """Read a problem as people write it: tests as pairs, objects or asserts, implied fields left out."""
    name = record_name(raw)
    for key in (each for each in raw if each not in FIELDS):
        similar = get_close_matches(key, FIELDS, n=1, cutoff=0.85)
        if similar or key in _OTHER_TEST_FIELDS:
            wanted = f"`{similar[0]}`" if similar else "`public_tests` or `private_tests`"
            raise InvalidInput(f"{name}: unknown field `{key}`; did you mean {wanted}?")
    fields = {key: value for key, value in raw.items() if key in FIELDS and value is not None}
    if isinstance(fields.get("difficulty"), int | float):
        fields["difficulty"] = str(fields["difficulty"])
    for field in ("public_tests", "private_tests"):
        if isinstance(tests := fields.get(field), list):
            fields[field] = [
                _native_test(test, f"{name}: `{field}[{n}]`") for n, test in enumerate(tests)
            ]
    tests = [test for field in ("public_tests", "private_tests") for test in fields.get(field, ())]
    if fields.get("entry_point") or any(isinstance(t, dict) and "code" in t for t in tests):
        fields.setdefault("kind", "function")
    if "tolerance" in fields:
        fields.setdefault("checker", "float")
    if fields.get("checker_program"):
        fields.setdefault("checker", "special")
    return check_problem(read_record(raw, Problem, fields))


def _native_test(test: Any, where: str) -> Any:
    match test:
        case str(code):
            return {"code": code}
        case [str(entered), str(printed)]:
            return {"input": entered, "output": printed}
        case {**fields} if fields and set(fields) <= {"input", "output", "code"}:
            return fields
    raise InvalidInput(
        f"{where} is not a test; give [input, output], an object with `input` and `output`, "
        "or, for a function, an assert"
    )


FORMATS: tuple[tuple[str, set[str], Callable[[RawRecord], Problem]], ...] = (
    ("autoreason", {"statement"}, read_native),
    ("LiveCodeBench", {"question_content"}, read_livecodebench),
    ("CodeContests", {"description", "name"}, read_contest),
    ("HumanEval", {"entry_point", "prompt"}, read_humaneval),
    ("MBPP", {"test_list"}, read_mbpp),
    ("MBPP", {"tests", "prompt"}, read_mbpp),
    ("autoreason", {"id"}, read_native),
)
"""Formats, the fields by which their records are known, and how they are read; the first that fits counts."""
_KNOWN_FORMATS = ", ".join(sorted({name for name, _, _ in FORMATS}))

_Entry = tuple[int, Any, str, Literal["line", "entry"]]
"""Its number, what was read, why it could not be, and what the number counts."""


def format_of(record: RawRecord) -> str | None:
    return next((name for name, fields, _ in FORMATS if fields <= record.keys()), None)


def read_problems(source: Path | str) -> ProblemSet:
    """The problems of a file, or of standard input for `-`; broken records are left out and listed."""
    name = _name_of(source)
    problems: dict[str, Problem] = {}
    first: dict[str, str] = {}
    broken, formats = [], set()
    for number, record, reason, unit in _entries(_read(source), name):
        try:
            if reason:
                raise InvalidInput(reason)
            format_name, problem = read_one(record)
            if where := first.get(problem.id):
                raise InvalidInput(f"the id {problem.id!r} is taken by {where}; give it another")
        except InvalidInput as error:
            broken.append(BrokenRecord(line=number, reason=str(error), unit=unit))
            continue
        formats.add(format_name)
        problems[problem.id], first[problem.id] = problem, f"{unit} {number}"
    if not problems:
        why = f"; the first: {broken[0]}" if broken else ""
        raise InvalidInput(f"{name} has no usable problem{why}")
    usable = tuple(problems.values())
    return ProblemSet(
        problems=usable,
        broken=tuple(broken),
        format=", ".join(sorted(formats)),
        digest=set_digest(usable),
    )


def read_one(record: Any) -> tuple[str, Problem]:
    """The format of a record, and the problem that it is."""
    for name, fields, read in FORMATS:
        if isinstance(record, dict) and fields <= record.keys():
            return name, read(record)
    raise InvalidInput(f"this is not a problem in a known format; known are {_KNOWN_FORMATS}")


def read_program(source: str) -> str:
    try:
        return _read(source).decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{_name_of(source)} is not UTF-8 text; save it as UTF-8") from None


def _name_of(source: Path | str) -> str:
    return "standard input" if str(source) == "-" else str(source)


def _read(source: Path | str) -> bytes:
    name = _name_of(source)
    try:
        if str(source) == "-":
            data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        else:
            with open_input(Path(source).expanduser()) as file:
                data = file.read(MAX_FILE_BYTES + 1)
    except (OSError, RuntimeError) as error:
        # The latter where a leading ~ names a user that does not exist.
        why = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(f"cannot read {name}: {why}; name a file") from None
    if len(data) > MAX_FILE_BYTES:
        raise InvalidInput(f"{name} is over {MAX_FILE_BYTES >> 30} GiB; split it")
    if data.startswith(_COMPRESSED_MAGIC):
        raise InvalidInput(f"{name} is compressed; unpack it, or pipe it through zcat to `-`")
    return data.removeprefix(b"\xef\xbb\xbf")


def _entries(data: bytes, name: str) -> Iterator[_Entry]:
    """One JSON object, a list of them, or one on each line."""
    text = data.strip()
    if not text:
        raise InvalidInput(f"{name} is empty; give problems as JSON, one per line or in a list")
    head, _, rest = text.partition(b"\n")
    by_line = rest and isinstance(_decode_json(head)[0], dict)
    whole, reason = (None, "") if by_line else _decode_json(text)
    if isinstance(whole, list):
        for number, record in enumerate(whole, 1):
            yield number, record, "", "entry"
    elif isinstance(whole, dict):
        yield 1, whole, "", "line"
    elif name.endswith(".json") and not by_line:
        raise InvalidInput(f"{name} is {reason or 'not a JSON object'}; correct it")
    else:
        for number, line in enumerate(data.split(b"\n"), 1):
            if line.strip():
                record, reason = _decode_json(line)
                yield number, record, reason and "this is not valid JSON; correct it", "line"


def _decode_json(data: bytes) -> tuple[Any, str]:
    try:
        return msgspec.json.decode(data), ""
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return None, f"not valid JSON ({error})"
