"""A scripted agent: it plays a whole run in host mode through the command line, without a model or a network.

    python examples/host_agent.py examples/brief.md

What it hands out are tokens, as a coding agent would hand them to contexts of their own; each question is answered from
its prompt alone.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path

PROGRAM = (str(Path(sys.executable).with_name("autoreason")), "host")
AT_ONCE = 4
_LABELS = re.compile(r"for each of ([A-Z, ]+), one sentence")
_BLANKS = re.compile(r"^[A-Z]{2}: .*\?$", re.MULTILINE)
_THINGS = ("the boat", "the tide", "the lamp", "a guest", "the stairs", "the harbour", "the bell")
_DOES = ("waits for", "comes before", "is near", "belongs to", "answers")


def reply_to(prompt: str) -> str:
    """An answer in the form that a prompt asks for: the same to the same prompt."""

    def draw(about: object, number: int) -> int:
        return int.from_bytes(blake2b(f"{about}/{prompt}".encode()).digest()) % number

    if "in place of every question mark" in prompt:
        return "\n".join(
            line.replace("?", str(draw(line, 20) + 1)) for line in _BLANKS.findall(prompt)
        )
    if "FIRST PLACE: ?" in prompt:
        return f"FIRST PLACE: {('quality', 'length')[draw(0, 2)]}"
    if labels := _LABELS.findall(prompt):
        ranked = sorted(labels[-1].split(", "), key=lambda label: draw(label, 1000))
        reasons = "\n".join(f"{label}: it says what it says." for label in ranked)
        return f"REASONS:\n{reasons}\n\nRANKING: {' > '.join(ranked)}"
    if '{"problems"' in prompt:
        missing = f"It does not say what {_THINGS[draw(0, len(_THINGS))]} is for."
        found = {"severity": "major", "kind": "missing", "quote": "", "problem": missing}
        return json.dumps({"problems": [found]})
    lines = (
        f"{_THINGS[draw(each, 7)].capitalize()} {_DOES[draw(-each, 5)]} {_THINGS[draw(each / 2, 7)]}."
        for each in range(1, 9)
    )
    return " ".join(lines)


def host(*arguments: str, answer: str | None = None) -> str:
    """What a command prints."""
    done = subprocess.run(
        [*PROGRAM, *arguments], input=answer, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def answer(token: str) -> None:
    """What a context of its own does that is given a token: read, answer, end."""
    host("answer", token, answer=reply_to(host("take", token)))


def play(*arguments: str) -> None:
    """Begin a run and see to its questions until it is done."""
    found = json.loads(host("start", *arguments, "--json"))
    while not found["done"]:
        sys.stderr.write(f"{found['run']}: {found['says']}\n")
        with ThreadPoolExecutor(AT_ONCE) as contexts:
            list(contexts.map(answer, found["open"]))
        found = json.loads(host("next", found["run"], "--json"))
    sys.stdout.write(f"{found['text']}\n\n{found['says']}\n")


if __name__ == "__main__":
    play(*sys.argv[1:])
