"""`research`: an artifact, an evaluator and a proposer, in processes of their own."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.cli.inside import Inside
from tests.patience import PATIENCE

from autoreason.cli import console
from autoreason.files import config_file
from autoreason.journal import Journal

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="evaluators are jailed on Linux"),
    pytest.mark.usefixtures("evaluator_here"),
]

EVALUATOR = """
import random

def score(artifact, seed, items):
    noise = random.Random(seed).gauss(0, 0.01)
    level = artifact.level()
    if type(level) is not float or abs(level) > 100:
        raise ValueError("no level")
    return {"score": level + noise, "size": len(artifact.text("knob.py"))}
"""
PROPOSER = """
import re
from autoreason.testing import ScriptedModel

def answer(request):
    shown = request.messages[-1].text
    level = float(re.findall(r"return (-?[0-9.]+)", shown)[-1])
    number = int(request.key.split("/")[1])
    level += 0.5 if number % 3 == 1 else -0.5
    code = f"def level():\\n    return {level}\\n"
    return f"HYPOTHESIS: trial {number} turns the knob\\nEXPECTED: more\\n\\nknob.py\\n```python\\n{code}```\\n"

def Proposer(address):
    return ScriptedModel(answer, address=address)
"""
TASK = "---\nartifact: knob.py\nevaluate: evaluate.py:score\n---\nTurn the knob.\n"
MODEL = ("-m", "proposer.py:Proposer/any", "--seed", "7")


JUDGE = ("--judge-model", "echo/echo")


def prepare(folder: Path, task: str = TASK) -> str:
    (folder / "knob.py").write_text("def level():\n    return 0.0\n")
    (folder / "evaluate.py").write_text(EVALUATOR)
    (folder / "proposer.py").write_text(PROPOSER)
    (folder / "task.md").write_text(task)
    return "task.md"


@pytest.fixture
def task(inside: Inside) -> str:
    return prepare(inside.folder)


def test_a_run_prints_a_patch_and_a_claim_and_leaves_the_files_alone(
    shell: Shell, quick_shell: Shell
) -> None:
    prepare(shell.home)
    done = shell("research", "task.md", *MODEL, "--evaluations", "40", "--patience", "5")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("diff --git a/knob.py b/knob.py\n")
    assert "-    return 0.0\n" in done.stdout
    assert "noise: 3 evaluations of the start: " in done.stderr
    assert "trial 1 kept: +0.5" in done.stderr
    end = one_line(done.stderr)
    assert "measured on evaluations that decided nothing. Score " in end
    assert re.search(r" Score rose by [\d.]+ \([\d.]+ to [\d.]+\), measured on", end)
    assert re.search(r"\d+ changes tried, \d+ kept\. Patch: \d+ lines\.", end)
    assert (shell.home / "knob.py").read_text() == "def level():\n    return 0.0\n"
    subprocess.run(["git", "init", "-q"], cwd=shell.home, check=True)
    subprocess.run(["git", "apply"], input=done.stdout, text=True, cwd=shell.home, check=True)
    assert "return 0.0" not in (shell.home / "knob.py").read_text()
    assert quick_shell("show", "--diff").stdout == done.stdout
    assert "return" in quick_shell("show", "--text").stdout
    assert quick_shell("runs", "check", "last").returncode == 0


def test_the_files_go_to_a_folder_and_the_report_to_a_page_to_json_and_to_what_lists_it(
    inside: Inside, task: str
) -> None:
    more = ("--evaluations", "40", "--patience", "3", "-o", "out/better", "--html", "page.html")
    said = inside("research", task, *MODEL, *more, "--json", "-q")
    assert said.status == 0
    found = said.json
    assert found["conclusion"].startswith("result against start on fresh evaluations +")
    assert found["report"]["gain"]["gain"] > 0
    assert found["patch"].startswith("diff --git")
    assert "return 0.0" not in Path("out/better/knob.py").read_text()
    assert "What was kept, step by step" in Path("page.html").read_text()
    assert "kept " in inside("runs").out
    (row,) = inside("runs", "--json").json
    assert row["strategy"] == "research"
    assert row["trials"] >= row["kept"] > 0
    shown = inside("show", "--evidence").out
    assert "trial 1 kept +0.5" in shown
    assert "Noise" in shown
    refused = inside("judge", "last", *JUDGE).err
    assert "has no round and no review of texts that a panel decided" in refused
    assert "no judge voted in it" in inside("audit", "last").err
    assert inside("show", "--json").json["report"]["statuses"]["kept"] == row["kept"]
    assert inside("export", "last", "--patch").out == inside("show", "--diff").out


def test_nothing_kept_ends_with_status_1_and_nothing_on_standard_output(
    inside: Inside, task: str
) -> None:
    worse = PROPOSER.replace("0.5 if number % 3 == 1 else -0.5", "-0.5 * number")
    inside.write("proposer.py", worse)
    said = inside("research", task, *MODEL, "--evaluations", "40", "--patience", "3", "-q")
    assert said.status == 1
    assert said.out == ""
    no_gain = "autoreason: no gain: no change was kept, so the result is the start"
    assert one_line(said.err).startswith(no_gain)
    shown = inside("show", "--diff")
    assert shown.out == ""
    assert shown.err == "nothing changed: the files are those it began with\n"


@pytest.mark.parametrize(
    ("front", "evaluator"),
    [
        ("guard: {size: '<= 5'}", EVALUATOR),
        ("better: higher", EVALUATOR.replace("level + noise", "'none'")),
    ],
)
def test_a_start_without_a_number_or_that_breaks_a_guard_has_a_status_of_its_own(
    inside: Inside, task: str, front: str, evaluator: str
) -> None:
    inside.write("task.md", TASK.replace("artifact:", f"{front}\nartifact:"))
    inside.write("evaluate.py", evaluator)
    said = inside("research", task, *MODEL, "--evaluations", "20")
    assert said.status == 6
    assert "the artifact as it is" in said.err


@pytest.mark.parametrize(
    ("output", "nothing"), [(("-o", "."), "nothing is written to ."), ((), "nothing is printed")]
)
def test_a_result_that_the_end_test_finds_worse_goes_nowhere_unless_it_is_exported(
    inside: Inside, task: str, output: tuple[str, ...], nothing: str
) -> None:
    inside.write("items.jsonl", "1\n2\n3\n")
    inside.write("sealed.jsonl", "".join(f"{each}\n" for each in range(100, 108)))
    falls = EVALUATOR.replace("level + noise", "level if min(items) < 100 else -level")
    inside.write("evaluate.py", falls)
    front = "items: items.jsonl\nsealed: sealed.jsonl\nartifact:"
    inside.write("task.md", TASK.replace("artifact:", front))
    terms = ("--evaluations", "20", "--patience", "3", *output)
    said = inside("research", task, *MODEL, *terms)
    assert said.status == 1
    assert said.out == ""
    assert (inside.folder / "knob.py").read_text() == "def level():\n    return 0.0\n"
    stated = one_line(said.err)
    assert "he result is worse than the start, keep that: result against start" in stated
    assert f"{nothing}, because the end test found the result worse than the start" in stated
    assert "--patch` has it all the same" in stated
    assert "Use it" not in stated
    patch = inside("export", "last", "--patch")
    assert patch.out.startswith("diff --git")
    assert patch.err == "the end test found this result worse than the start; keep that\n"


def test_a_limit_before_anything_was_kept_pauses_with_status_3_and_resume_goes_on(
    inside: Inside, task: str
) -> None:
    inside.write("proposer.py", PROPOSER.replace("% 3 == 1", "% 3 == 2"))
    said = inside("research", task, *MODEL, "--evaluations", "20", "--call-limit", "1")
    assert said.status == 3
    assert "There is nothing to test yet, so no gain is claimed." in one_line(said.err)
    assert inside("resume", "last", "--call-limit", "50").status == 0


def test_at_a_stop_the_end_test_is_made_and_the_patch_is_printed(
    shell: Shell, quick_shell: Shell
) -> None:
    prepare(shell.home)
    slow = EVALUATOR.replace("    noise", "    import time; time.sleep(0.02)\n    noise")
    (shell.home / "evaluate.py").write_text(slow)
    running = shell.start(
        *("research", "task.md", *MODEL, "--evaluations", "400", "--progress", "lines"),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert running.stderr
    lines = []
    for line in running.stderr:
        lines.append(line)
        if "trial 1 kept" in line:
            break
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=PATIENCE)
    said = one_line("".join(lines) + err)
    assert running.returncode == 0, said
    assert out.startswith("diff --git")
    assert "the end test follows, which asks no model" in said
    assert "Score rose by 0.5" in said
    assert re.search(r"The search ended early: .*; autoreason fork \S+ goes on\.", said)
    assert "unusable reply" not in said
    assert quick_shell("runs", "check", "last").returncode == 0
    again = quick_shell("resume", "last")
    assert again.returncode == 2
    assert "is finished (done); `autoreason fork" in one_line(again.stderr)
    patch = quick_shell("export", "last", "--patch")
    assert patch.stdout == out


def test_a_run_that_is_killed_in_the_end_test_after_a_limit_ends_as_if_it_had_not_been(
    shell: Shell, quick_shell: Shell
) -> None:
    prepare(shell.home)
    research = ("research", "task.md", *MODEL, "--evaluations", "400", "--call-limit", "2")
    whole = shell(*research, "--progress", "lines")
    assert whole.stdout.startswith("diff --git")
    assert "the end test follows, which asks no model" in one_line(whole.stderr)
    slow = EVALUATOR.replace("    noise", "    import time; time.sleep(0.03)\n    noise")
    (shell.home / "evaluate.py").write_text(slow)
    running = shell.start(*research, "-q", stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    with Journal.open(str(shell.journal), create=False) as journal:
        first = journal.runs()[0].id
        while not any(
            key.startswith("playoff/")
            for row in journal.runs()
            if row.id != first
            for key in journal.answers(row.id)
        ):
            assert running.poll() is None
            time.sleep(0.02)
    running.kill()
    running.wait()
    done = shell("resume", "--progress", "lines", "--call-limit", "500")
    assert (done.returncode, done.stdout) == (whole.returncode, whole.stdout), done.stderr
    assert "2 calls" in one_line(done.stderr)
    assert quick_shell("runs", "check", "last").returncode == 0


def test_check_says_whether_an_evaluator_is_fit_and_what_it_is_at(
    inside: Inside, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A user's defaults do not keep anyone from a check.
    config_file().parent.mkdir(parents=True, exist_ok=True)
    config_file().write_text('model = "echo/echo"\n[limits]\ncost = 5\n')
    with monkeypatch.context() as patch:
        patch.setattr(console, "_SECONDS_BETWEEN_LINES", 0)
        said = inside("research", "check", task, "--seed", "3")
    assert said.status == 0, said.out + said.err
    assert "attacking the evaluator: evaluation 12, " in said.err
    assert "This evaluator can be optimised against: " in said.out
    assert "all passed" in said.out
    wrong = "def score(artifact, seed, items):\n    return len(artifact.text('knob.py'))\n"
    inside.write("evaluate.py", wrong.replace("return ", "return -"))
    said = inside("research", "check", task)
    assert said.status == 1
    assert "FAILED" in said.out
    assert not inside.journal_exists


def test_a_run_that_pauses_says_how_its_files_get_into_their_folder(
    inside: Inside, task: str
) -> None:
    inside.write("proposer.py", PROPOSER.replace("    shown = ", "    shown = None + "))
    said = inside("research", task, *MODEL, "--evaluations", "40", "-o", "out", "-q")
    assert said.status == 4
    assert "will write the files to out" in said.err
    folder = inside.folder / "out"
    prepare(inside.folder)
    said = inside("resume", "--progress", "lines")
    assert said.status == 0, said.err
    assert f"the changed files will be written to {folder}" in one_line(said.err)
    assert "return 0.0" not in (folder / "knob.py").read_text()
    assert not said.out


def test_a_folder_that_can_no_longer_be_written_costs_nothing_but_the_files(
    inside: Inside, task: str
) -> None:
    Path("out").mkdir()
    late = "    import os; os.path.lexists('out/knob.py') or os.symlink('../x.py', 'out/knob.py')\n"
    inside.write("proposer.py", PROPOSER.replace("    shown = ", f"{late}    shown = "))
    said = inside("research", task, *MODEL, "--evaluations", "40", "--patience", "3", "-o", "out")
    assert said.status == 1
    assert "Score rose by " in said.err
    assert "out/knob.py is a link" in one_line(said.err)
    assert f"see `autoreason export {inside.runs()[0]} --patch`" in one_line(said.err)
    assert not Path("x.py").exists()


def test_a_run_that_is_killed_goes_on_and_measures_nothing_twice(
    shell: Shell, quick_shell: Shell
) -> None:
    prepare(shell.home)
    slow = EVALUATOR.replace("    noise", "    import time; time.sleep(0.05)\n    noise")
    (shell.home / "evaluate.py").write_text(slow)
    running = shell.start(
        *("research", "task.md", *MODEL, "--evaluations", "60", "--progress", "lines"),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    assert running.stderr
    deadline = time.monotonic() + PATIENCE
    for line in running.stderr:
        assert time.monotonic() < deadline
        if "trial 3 " in line:
            break
    running.kill()
    running.wait()
    running.stderr.close()
    assert "Interrupted" in quick_shell("runs").stdout
    done = shell("resume", "--progress", "lines")
    assert done.returncode == 0, done.stderr
    assert "trial 1 kept" not in done.stderr
    assert quick_shell("runs", "check", "last").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere.md",), "cannot read task nowhere.md"),
        (("check",), "give one task"),
        (("task.md", "--rule", "race,greedy", "--repeats", "0"), "give a number from 1"),
        (("lost.md",), "lost.md: `evaluate`: there is no file lost.py"),
        (("task.md", "more.md"), "give one task"),
        (("task.md", "--measure"), "--measure goes with --dry-run"),
        (("task.md", "-o", "knob.py"), "cannot write to knob.py: "),
        (("task.md", "-o", "/proc/x"), "cannot write to /proc/x"),
        (("task.md", "-o", "linked"), "linked/knob.py is a link; remove it"),
        (("task.md", "--evaluate", "nothing.py:score"), "--evaluate: there is no file nothing.py"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_and_nothing_is_written(
    inside: Inside, task: str, arguments: tuple[str, ...], sentence: str
) -> None:
    del task
    (inside.folder / "linked").mkdir()
    (inside.folder / "linked/knob.py").symlink_to("../elsewhere.py")
    inside.write("lost.md", TASK.replace("evaluate.py", "lost.py"))
    model = () if arguments == ("check",) else MODEL
    said = inside("research", *arguments, *model)
    assert said.status == 2
    assert sentence in said.sentence
    assert not inside.journal_exists


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_several_rules_are_compared(inside: Inside, task: str) -> None:
    done = inside(
        *("research", task, *MODEL, "--rule", "race,greedy", "--repeats", "2"),
        *("--evaluations", "20", "--patience", "3"),
    )
    assert done.status == 0, done.err
    assert "on fresh evaluations, in 2 repeats" in done.out
    assert "2 repeats of 2 rules cannot show that one of them is best" in done.err
    assert "race – greedy" in inside("show", "--evidence").out
