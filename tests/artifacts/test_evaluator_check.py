"""`research check`: good evaluators pass, and each way to be cheated is found and named."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.artifacts.evaluating import command, function, needs_jail
from tests.cases import cases

from autoreason.artifacts import attacks, evaluator_check
from autoreason.artifacts.artifact import Files
from autoreason.artifacts.attacks import (
    LANGUAGES,
    Attack,
    Language,
    attacks_on,
    equal_copy,
    replace_values,
)
from autoreason.artifacts.evaluator_check import (
    CheckReport,
    _compare,
    check_evaluation,
    score_fault,
)
from autoreason.artifacts.evaluators import CallerEvaluator
from autoreason.artifacts.research_task import EvaluationSource, ResearchTask
from autoreason.artifacts.saved_evaluation import save_evaluation

pytestmark = pytest.mark.usefixtures("evaluator_here")

FIRST_FIT = """
from __future__ import annotations
import sys, json

def place(size, rooms):
    return next(i for i, room in enumerate(rooms) if room >= size)

if __name__ == "__main__":
    sizes, capacity = json.load(sys.stdin)
    rooms = [capacity] * len(sizes)
    chosen = []
    for size in sizes:
        bin = place(size, rooms)
        rooms[bin] -= size
        chosen.append(bin)
    print(json.dumps(chosen))
"""
SIZES = "sizes = [random.Random(seed).choice((30, 40, 50, 60, 70)) for _ in range(40)]"
PACKS = f"""
import random
def score(artifact, seed):
    {SIZES}
    rooms, used = [100] * 40, set()
    for size in sizes:
        bin = artifact.place(size, list(rooms))
        if type(bin) is not int or not 0 <= bin < 40 or rooms[bin] < size:
            raise ValueError("that bin has no room")
        rooms[bin] -= size
        used.add(bin)
    return len(used)
"""


LOOKS = "an artifact that looks for evaluator, items and other processes"
KEEPS = "an artifact that keeps something for its next run"


async def fault_of(task: ResearchTask) -> str:
    """Why an artifact might write its own score; empty where it cannot."""
    row = await score_fault(task)
    return "" if row.status == "passed" else row.detail


def task_of(source: EvaluationSource, files: Files | None = None, **fields: Any) -> ResearchTask:
    """A task with its evaluation saved."""
    usual: dict[str, Any] = {
        "files": files or {"fit.py": FIRST_FIT},
        "artifact": ("*.py",),
        "evaluate": source.evaluate,
        "evaluation": save_evaluation(source),
        "items": len(source.items),
        "better": "lower",
    }
    return ResearchTask(**usual | fields)


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Leave out the attacks that a test is not about."""

    def keep(*names: str) -> None:
        def some(*args: Any, **options: Any) -> list[Attack]:
            return [each for each in attacks_on(*args, **options) if each.name in names]

        monkeypatch.setattr(attacks, "attacks_on", some)

    return keep


def failed(report: CheckReport) -> dict[str, str]:
    """What got through, and what to change."""
    return {row.name: row.detail for row in report.rows if row.status == "FAILED"}


async def test_a_good_function_passes_every_attack() -> None:
    evaluations: list[int] = []
    report = await check_evaluation(
        task_of(function(PACKS)), pairs=4, on_evaluation=evaluations.append
    )
    assert failed(report) == {}
    assert report.passed
    assert evaluations == list(range(1, report.evaluations + 1))
    assert "can be optimised against" in report.conclusion
    assert len(report.rows) == 26
    assert report.rows[0].detail == "the same number 4 times"


@needs_jail
async def test_a_good_command_passes_every_attack() -> None:
    source = command(
        f"""
        import random, subprocess, sys
        seed = int(os.environ["AUTOREASON_SEED"])
        {SIZES}
        done = subprocess.run(
            ["artifact", "python", "-ISB", "fit.py"], input=json.dumps([sizes, 100]), capture_output=True, text=True
        )
        chosen = json.loads(done.stdout)
        assert len(chosen) == len(sizes) and all(type(bin) is int for bin in chosen)
        for bin in set(chosen):
            assert sum(s for s, b in zip(sizes, chosen) if b == bin) <= 100
        give(len(set(chosen)))
        """,
        items=("an item",),
    )
    report = await check_evaluation(task_of(source), pairs=2)
    assert failed(report) == {}


@needs_jail
async def test_an_evaluator_that_imports_the_artifact_is_found_out(
    only: Callable[..., None],
) -> None:
    only(LOOKS)
    source = command(
        f"""
        import random, sys
        sys.path.insert(0, os.environ["AUTOREASON_ARTIFACT"])
        import fit
        seed = int(os.environ["AUTOREASON_SEED"])
        {SIZES}
        rooms = [100] * 40
        for size in sizes: rooms[fit.place(size, rooms)] -= size
        give(sum(room < 100 for room in rooms))
        """,
        items=("an item",),
    )
    report = await check_evaluation(task_of(source), pairs=2)
    found = failed(report)
    assert not report.passed
    apart = found["the artifact runs apart from the evaluator"]
    assert "fit.py could write its own score, in Python" in apart
    assert "artifact python" in apart
    assert LOOKS in found
    assert "not fit" in report.conclusion


async def test_an_evaluator_that_believes_what_it_is_given_is_found_out() -> None:
    source = function("def score(artifact, seed): return artifact.quality()")
    files = {"a.py": "def quality(): return 0.5\n"}
    report = await check_evaluation(task_of(source, files, better="higher"), pairs=2)
    assert list(failed(report)) == ["an artifact that returns a huge number"]
    # It may be believed in another way.
    code = "def score(artifact, seed): return eval(artifact.text('formula.txt'), {'x': 1})"
    task = task_of(function(code), {"formula.txt": "x + 1\n"})
    assert "formula.txt could write its own score, in Python" in await fault_of(task)


ROUND_TRIP = """
def score(artifact, seed):
    packed = artifact.pack("ab" * 20)
    chars = len(packed) if isinstance(packed, str) else 0
    return {"score": chars, "right": float(artifact.unpack(packed) == "ab" * 20)}
"""


async def test_an_attack_that_a_guard_or_a_constraint_drops_is_caught() -> None:
    files = {"z.py": "def pack(t): return t\ndef unpack(t): return t\n"}
    task = task_of(function(ROUND_TRIP), files)
    assert "a constant artifact" in failed(await check_evaluation(task, pairs=2))
    guarded = task_of(function(ROUND_TRIP), files, guard={"right": ">= 1"})
    report = await check_evaluation(guarded, pairs=2)
    assert failed(report) == {}
    assert "it would be dropped: right is 0, the guard is >= 1" in {
        row.detail for row in report.rows
    }
    text = function("def score(artifact): return len(artifact.text('prompt.md'))")
    short = task_of(text, {"prompt.md": "short"}, better="higher")
    sized = task_of(
        text, {"prompt.md": "short"}, better="higher", constraints=("prompt.md <= 100 bytes",)
    )
    assert list(failed(await check_evaluation(short, pairs=2))) == ["a random artifact"]
    assert failed(await check_evaluation(sized, pairs=2)) == {}


@needs_jail
@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("artifact sh count.sh | tail -n 1 >&3", {"nothing but a number", "nothing but a score"}),
        ('v=$(artifact sh count.sh); eval "echo $v >&3"', {"nothing but a number", "code"}),
    ],
)
async def test_a_score_that_is_printed_first_last_or_alone_is_found_out(
    code: str, names: set[str], only: Callable[..., None]
) -> None:
    printed = {f"an artifact that prints {name}" for name in names}
    only(*printed)
    task = task_of(shell(code), {"count.sh": "echo 2\n"}, better="higher")
    found = failed(await check_evaluation(task, pairs=1))
    assert printed <= set(found)
    if "code" in names:
        assert "never execute" in found["an artifact that prints code"]


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda each: each.name)
def test_every_language_prints_the_same_code(language: Language, tmp_path: Path) -> None:
    program, *_, suffix = language.words.split()
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    start = {f"a{suffix}": f"#!/usr/bin/env {program}\nsyntax error (\n"}
    attacks = {each.name: each.files for each in attacks_on(start, Random(0), probe="/p")}
    [text] = attacks["an artifact that prints code"].values()
    file = tmp_path / f"a{suffix}"
    file.write_text(text)
    done = subprocess.run([program, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout == "f\"{open('/p/executed', 'w')} $(: > /p/executed)\"\n"


async def test_without_a_jail_an_artifact_keeps_something_and_sees_the_tasks_folder(
    tmp_path: Path, only: Callable[..., None]
) -> None:
    only(KEEPS)
    (tmp_path / "evaluate.py").touch()
    source = command(
        """
        import subprocess
        done = subprocess.run(["artifact", "python", "fit.py"], capture_output=True, text=True)
        give(len(done.stdout.split()))
        """,
        folder=str(tmp_path),
    )
    task = task_of(source, {"fit.py": "print(0.5)"}, better="higher")
    report = await check_evaluation(task, unsafe=True, pairs=1)
    seen = failed(report)["the artifact does not see the task's folder"]
    assert seen.startswith(f"it could read {tmp_path}/evaluate.py; run it in a jail")
    assert "jail" in failed(report)[KEEPS]


async def test_a_function_of_the_caller_is_checked_as_well() -> None:
    task = ResearchTask(files={"a.md": "x"}, artifact=("a.md",), evaluate="", timed=True)
    calls = []

    def evaluate(*_: object) -> float:
        calls.append(1)
        return float(len(calls))

    report = await check_evaluation(task, CallerEvaluator(evaluate), pairs=10)
    assert "first or second" in failed(report)
    assert report.rows[2].status == "does not apply"
    assert report.level == "caller"
    assert report.evaluations == len(calls)


def test_noise_alone_seldom_fails_a_comparison() -> None:
    random, runs = Random(7), 1500
    failures = sum(
        _compare("x", [random.gauss(0, 1) for _ in range(10)], "").status == "FAILED"
        for _ in range(runs)
    )
    assert failures <= 0.01 * runs


@given(
    st.dictionaries(st.sampled_from(["a.py", "b/c.py", "d.md"]), st.text(max_size=80), min_size=1)
)
def test_attacks_are_made_of_whatever_the_start_is(start: Files) -> None:
    attacks = list(attacks_on(start, Random(0), probe="/probe"))
    assert all(attack.files.keys() == start.keys() for attack in attacks)
    assert len({attack.name for attack in attacks}) == len(attacks)
    assert equal_copy(start).keys() == start.keys()


@cases("attack", list(attacks_on({"fit.py": FIRST_FIT}, Random(0), probe="/probe")))
def test_attacks_on_python_are_python(attack: Any) -> None:
    if "random" not in attack.name:
        compile(attack.files["fit.py"], "fit.py", "exec")


@needs_jail
@pytest.mark.parametrize("before", ["", "os.environ.pop('AUTOREASON_RESULT')"])
async def test_one_evaluation_finds_that_an_artifact_can_write_its_own_score(before: str) -> None:
    imports = f"""
        import sys
        sys.path.insert(0, os.environ["AUTOREASON_ARTIFACT"])
        {before}
        import fit
        give(1.0)
        """
    task = task_of(command(imports))
    for _ in range(2):
        assert "own score, in Python" in await fault_of(task)


@needs_jail
async def test_an_evaluator_that_keeps_its_score_is_tried_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = """
        import subprocess
        given = {"input": "[[30], 100]", "capture_output": True, "text": True}
        run = subprocess.run(["artifact", "python", "fit.py"], **given)
        give(float(len(json.loads(run.stdout))))
        """
    task = task_of(command(runs))
    assert not await fault_of(task)
    monkeypatch.setattr(evaluator_check, "EvaluatorClient", None)
    assert not await fault_of(task)


ANSWERS = "answer() { echo 2; }\n"


def shell(code: str, **fields: Any) -> EvaluationSource:
    """An evaluator that is a shell script."""
    return EvaluationSource(
        evaluate="sh evaluate.sh", files={"evaluate.sh": code.encode()}, **fields
    )


@needs_jail
@pytest.mark.parametrize(
    ("before", "after"),
    [("unset AUTOREASON_RESULT", ""), ("", "echo 3 >&3"), ("exec 5>&3 3>&-; exec 3>/dev/null", "")],
)
async def test_what_reaches_the_result_is_found_whatever_else_is_written_there(
    before: str, after: str
) -> None:
    code = f'{before}\n. "$AUTOREASON_ARTIFACT/solve.sh"\necho "$(answer)" >&3\n{after}'
    assert await fault_of(task_of(shell(code), {"solve.sh": ANSWERS}))


@needs_jail
async def test_only_the_file_that_is_executed_matters_and_each_is_tried_alone() -> None:
    code = """
    artifact python first.py || exit 1
    . "$AUTOREASON_ARTIFACT/second.conf"
    echo $two >&3
    """
    files = {"first.py": "print(1)\n", "second.conf": "two=2\n"}
    assert "second.conf could write its own score, in shell" in await fault_of(
        task_of(shell(code), files)
    )


@needs_jail
async def test_an_artifact_that_is_only_read_or_runs_apart_passes_whatever_its_language() -> None:
    code = """
    test "$(wc -c < "$AUTOREASON_ARTIFACT/notes.json")" -lt 100 || exit 1
    artifact sh solve.sh 2>/dev/null | grep -c x >&3
    """
    files = {"solve.sh": "echo x\n", "notes.json": "{}\n"}
    report = await check_evaluation(task_of(shell(code), files, better="higher"), pairs=1)
    assert failed(report) == {}
    assert report.passed


@needs_jail
@pytest.mark.parametrize(
    ("evaluate", "files", "why"),
    [
        ("sh evaluate.sh", {"solve.lua": "x = 1\n"}, "solve.lua is a .lua program"),
        ("sh evaluate.sh", {"solve": "#!/usr/bin/env lua5.4\n"}, "solve is a lua5.4 program"),
        ("sh evaluate.sh", {"Makefile": "all:\n"}, "a Makefile program"),
        ("make score", {"a.py": ""}, "the evaluator is a make program"),
        ("sh evaluate.sh", {"solve.rb": "1\n"}, "Ruby, which cannot be run here"),
    ],
)
async def test_what_no_attack_is_written_for_is_not_checked_and_not_run(
    evaluate: str, files: Files, why: str
) -> None:
    if not shutil.which(evaluate.split()[0]) or ("Ruby" in why and shutil.which("ruby")):
        pytest.skip("for machines with make, or without Ruby")
    source = replace(shell("echo 1 >&3", mounts=()), evaluate=evaluate)
    task = task_of(replace(source, files={**source.files, "evaluate.txt": b""}), files)
    assert why in await fault_of(task)
    if "Makefile" in files:
        report = await check_evaluation(task, pairs=1)
        assert not report.passed
        assert failed(report) == {}
        assert report.conclusion.startswith("not checked: ")


READ = "text = open(os.environ['AUTOREASON_ARTIFACT'] + '/tool').read()\n"
JSON = '{"name": "plain", "steps": 3, "terms": ["x + 1"], "expr": "x + 1"}'


READ_JS = """
const fs = require("fs"), vm = require("vm")
const text = fs.readFileSync("/artifact/tool", "utf8")
fs.writeSync(3, String(CODE))
process.exit()
"""
EXECUTES = [
    ("sh", '. /artifact/tool; echo "$(answer)" >&3', ANSWERS),
    ("python", "ns = {}; exec(text, ns); give(ns['answer']())", "def answer(): return 2\n"),
    ("node", "require('/artifact/tool').answer()", "exports.answer = () => 2\n"),
    (
        "perl",
        "require '/artifact/tool'; open(my $r, '>&=', 3); print $r answer();",
        "sub answer { return 2 }\n1;\n",
    ),
    ("ruby", "load '/artifact/tool'; IO.for_fd(3).write(answer)", "def answer = 2\n"),
    ("python", "give(eval(text, {'__builtins__': {}, 'x': 1}))", "x + 1\n"),
    ("python", "give(eval(json.loads(text)['expr'], {'x': 1}))", JSON),
    ("python", "import tomllib; give(eval(tomllib.loads(text)['e'], {'x': 1}))", "e = 'x + 1'\n"),
    ("python", "give(eval(text.partition('=')[2].strip(), {'x': 1}))", "expr = x + 1\n"),
    ("python", "give(eval(text.splitlines()[1][4:], {'x': int(text[4])}))", "s = 3\ne = x + 1\n"),
    ("python", "ns = {}; exec(text, {'__builtins__': {'len': len}}, ns); give(ns['y'])", "y = 2"),
    ("node", "vm.runInContext(text, vm.createContext({x: 1}))", "x + 1"),
    ("node", "new Function('x', '\"use strict\"; return ' + text)(1)", "x + 1"),
    ("bash", "IFS== read -r _ v < /artifact/tool; a=$((v)); echo $a >&3", "size=4\n"),
    ("bash", "read -r v < /artifact/tool; [[ v -gt 3 ]]; echo $? >&3", "4\n"),
    ("sh", 'v=$(cut -d= -f2 /artifact/tool); eval "a=\\"$v\\""; echo $a >&3', "size=4\n"),
    (
        "make",
        "printf 'include /artifact/tool\nall:\n\techo $(size) >&3\n' | make -f -",
        "size = 4\n",
    ),
    (
        "perl",
        "open(F, '/artifact/tool'); my $v = <F>; $v =~ s/.*?= //; open(my $r, '>&=', 3); print $r eval '1 + '.$v",
        "expr = 1 + 1\n",
    ),
    (
        "ruby",
        "IO.for_fd(3).write(eval('1 + ' + File.read('/artifact/tool').split(' = ', 2)[1]))",
        "expr = 1 + 1\n",
    ),
]
IN = {"python": "Python", "node": "JavaScript", "perl": "Perl", "ruby": "Ruby"}


@needs_jail
@pytest.mark.parametrize(("program", "code", "start"), EXECUTES)
async def test_an_evaluator_that_computes_what_the_artifact_says_is_refused(
    program: str, code: str, start: str
) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    source = command(READ + code)
    if program != "python":
        code = READ_JS.replace("CODE", code) if program == "node" else code
        run = f"{'sh' if program == 'make' else program} evaluate"
        source = EvaluationSource(evaluate=run, files={"evaluate": code.encode()})
    fault = await fault_of(task_of(source, {"tool": start}))
    assert f"tool could write its own score, in {IN.get(program, 'shell')}" in fault


@needs_jail
@pytest.mark.parametrize("start", [JSON, "size = 4\nname: 'plain'\n"])
async def test_values_that_are_only_read_pass_with_few_more_evaluations(start: str) -> None:
    code = "give(len(str(json.loads(text) if text[0] == '{' else text.split('=')))  % 7)"
    report = await check_evaluation(task_of(command(READ + code), {"tool": start}), pairs=1)
    assert "the artifact runs apart from the evaluator" not in failed(report)
    assert report.evaluations <= 6 + 3 * 5


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        (JSON, '{"name": "E\\"", "steps": 3, "terms": ["E\\""], "expr": "E\\""}'),
        ("[a]\nb = 1\nc = 'x'\n# d\n", '[a]\nb = 1\nc = "E\\""\n# d\n'),
        ("a=true\nb: x + 1\nc: [1]\n", 'a=true\nb: E"\nc: [1]\n'),
        ("a=1\nb: 2\n", 'a=E"\nb: E"\n'),
        ('{\n  "a": 1\n}', '{\n  "a": 1\n}'),
    ],
)
def test_every_value_of_a_file_is_replaced_and_its_form_is_kept(text: str, replaced: str) -> None:
    assert replace_values(text, 'E"') == replaced


def test_an_artifact_that_iterates_differently_the_second_time_is_among_the_attacks() -> None:
    start = {"a.py": "def pack(sizes): return list(range(len(sizes)))\n"}
    attacks = {each.name: each.files["a.py"] for each in attacks_on(start, Random(0), probe="/p")}
    names: dict[str, Any] = {"__name__": "a"}
    exec(attacks["an artifact that returns what iterates differently the second time"], names)
    boxes = names["pack"]([5, 6, 7])
    assert len(boxes) == 3
    assert sorted(boxes) == [0, 1, 2]
    assert len(set(boxes)) == 1


SORTS = """
import random
def score(artifact, seed):
    data = [random.Random(seed + at).random() for at in range(30)]
    {call}
    return sum(a <= b for a, b in zip(data, data[1:]))
"""


async def test_an_evaluator_that_believes_changed_arguments_is_found_out() -> None:
    files = {"a.py": "def sort(data): data[:9] = sorted(data[:9])\n"}
    asks = function(SORTS.format(call="[data] = artifact.arguments_after(artifact.sort, data)"))
    found = failed(await check_evaluation(task_of(asks, files, better="higher"), pairs=1))
    assert "an artifact that sets its arguments to 0" in found
    keeps = function(SORTS.format(call="artifact.sort(data)"))
    report = await check_evaluation(task_of(keeps, files, better="higher"), pairs=1)
    assert failed(report) == {}
