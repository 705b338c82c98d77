"""A program is read out of whatever form a model chose; data, shells and prose are none."""

from __future__ import annotations

import ast
from textwrap import indent

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases

from autoreason.programs.examination import read_program, same_program, without_comments

ADD = "a, b = map(int, input().split())\nprint(a + b)"
BLOCK = f"```python\n{ADD}\n```"


@cases(
    "reply",
    [
        BLOCK,
        f"```py\n{ADD}\n```",
        f"```Python3\n{ADD}\n```\n",
        f'```python title="add.py"\n{ADD}\n```',
        f"``` {{.python}}\n{ADD}\n```",
        f"```\n{ADD}\n```",
        f"~~~python\n{ADD}\n~~~",
        f"````python\n{ADD}\n````",
        f"Here you are:\n\n{BLOCK}\n\nIt runs in O(1).",
        f"Here you are:\r\n\r\n```python\r\n{ADD.replace(chr(10), chr(13) + chr(10))}\r\n```",
        f"```python\n{ADD}",
        f"```python\n{ADD}```",
        ADD,
        f"This is the program:\n\n{ADD}\n\nIt adds both numbers, as asked.",
        f"1. Read the numbers.\n2. The program:\n\n   ```python\n{indent(ADD, '   ')}\n   ```",
        f"- ```python\n{indent(ADD, '  ')}\n  ```",
        f"<think>\nPerhaps ```python\nprint(1)\n```?\n</think>\n{BLOCK}",
        f"Let me see ...\n</think>\n\n{BLOCK}",
        f"<think>{BLOCK}",
        f"```python\nprint(0)\n```\nNo, that is wrong. Rather:\n{BLOCK}",
        f"{BLOCK}\nRun it like this:\n```bash\npython add.py < input.txt\n```",
        f"{BLOCK}\nInput:\n```\n3 4\n```\nOutput:\n```\n7\n```",
        f"{BLOCK}\nInput:\n```text\na = 3\n```",
        f"{BLOCK}\nThe heart of it is this:\n```python\na + b\n```",
        f"{BLOCK}\nTo try it:\n```python\nassert 3 + 4 == 7\n```",
        f"In C++:\n```cpp\nint main() {{}}\n```\nIn Python:\n{BLOCK}",
        f"The output is\n```\n7\n```\nfrom this:\n\n{ADD}",
    ],
)
def test_the_program_is_found_in_whatever_form_it_comes(reply: str) -> None:
    assert read_program(reply) == ADD


@cases(
    "reply",
    [
        "",
        "I am sorry, I cannot help with that.",
        "The answer is 42.",
        "```\n3 4\n```",
        "```\nYES\n```",
        "```text\nprint(1)\n```",
        "```bash\npython3 main.py\n```",
        "```cpp\nint main() { return 0; }\n```",
        "```python\n```",
        "Sort the list, then take the first. This is fast enough.",
    ],
)
def test_what_is_no_program_is_none(reply: str) -> None:
    assert read_program(reply) is None


@pytest.mark.parametrize("fence", ["```", ""])
@pytest.mark.parametrize(
    "after",
    [
        "0 of 2 tests passed.\n\nTest 1: wrong answer.\nTest:\nassert add(1, 2) == 3",
        "This adds both numbers, as asked.",
    ],
)
def test_what_follows_a_program_within_its_block_is_none_of_it(after: str, fence: str) -> None:
    code = "def add(a, b):\n    return a + b"
    assert read_program(f"```python\n{code}\n\n{after}\n{fence}", "add") == code


def test_of_several_blocks_the_fitting_one_is_taken_with_its_indentation() -> None:
    assert read_program(f"{BLOCK}\n\nor\n\n```python\nprint(...\n```") == ADD
    wanted = "def add(a, b):\n    return a + b"
    reply = f"```python\n{wanted}\n```\nUse it so:\n```python\nprint(add(int(input()), 2))\n```"
    assert read_program(reply, "add") == wanted
    method = "class Solution:\n    def add(self, a, b):\n        return a + b"
    reply = f"```python\n{method}\n```\n```python\nprint(Solution().add(1, 2))\n```"
    assert read_program(reply, "Solution.add") == method
    assert read_program("```python\nprint(1\n```") == "print(1"
    code = "def f():\n    if True:\n        return 1\nprint(f())"
    assert read_program(f"```python\n{code}\n```") == code


@pytest.mark.parametrize(
    "hostile",
    ["(" * 5000, "-" * 50_000 + "1", "a" + ".b" * 20_000, "[" * 300 + "]" * 300, "x = '\x00'"],
)
def test_what_would_break_a_parser_does_not_break_us(hostile: str) -> None:
    assert read_program(f"```python\n{hostile}\n```") == hostile
    read_program(hostile)
    without_comments(hostile)


def test_nothing_is_run_or_imported(capsys: pytest.CaptureFixture[str]) -> None:
    read_program('```python\nimport this\nprint("run")\nraise SystemExit\n```')
    assert capsys.readouterr().out == ""


def test_very_long_programs_are_taken_as_they_are_said_to_be() -> None:
    long = "x = 1\n" * 30_000 + "print(x)"
    assert read_program(f"```python\n{long}\n```") == long


names = st.sampled_from(["a", "b", "total", "n"])
lines = st.one_of(
    st.builds("{} = {}".format, names, st.integers()),
    st.builds(
        "print({}, '{}')".format, names, st.sampled_from(["#", "x", "```", "# not a comment"])
    ),
    st.builds("for {} in range(3):\n    print({})".format, names, names),
)
programs = st.lists(lines, min_size=1, max_size=8).map(lambda many: "\n".join([*many, "print(1)"]))


@given(
    programs, st.sampled_from(["", "Here:\n\n", "So be it.\n"]), st.sampled_from(["", "\nDone."])
)
def test_any_fenced_program_comes_back_letter_by_letter(
    program: str, before: str, after: str
) -> None:
    assert read_program(f"{before}~~~~python\n{program}\n~~~~{after}") == program


@given(st.text(max_size=300))
def test_any_reply_at_all_can_be_read(reply: str) -> None:
    found = read_program(reply)
    assert found is None or found.strip()


@given(programs)
def test_taking_comments_away_changes_nothing_else(program: str) -> None:
    commented = "# made by hand\n\n" + program.replace("\n", "  # why\n\n", 1) + "\n# the end"
    assert ast.dump(ast.parse(without_comments(commented))) == ast.dump(ast.parse(program))
    assert same_program(commented, program)
    assert "made by hand" not in without_comments(commented)


def test_texts_inside_a_program_are_not_touched_and_indentation_tells_programs_apart() -> None:
    text = 'x = """\n# one\n\ntwo\n"""\nprint(x)'
    assert without_comments(text) == text
    assert not same_program(text, text.replace("\n\n", "\n"))
    one = "for i in x:\n    f()\ng()"
    other = "for i in x:\n    f()\n    g()"
    assert not same_program(one, other)
