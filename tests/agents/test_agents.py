"""What subagents of coding agents are sent in a whole tournament (recorded; with `--all` by the real programs)."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from tests.agents.real_agents import AGENTS, TASK
from tests.cases import cases
from tests.conftest import DATA
from tests.models.alone import ROOT, alone, output_alone

PLUGIN = ROOT / "src/autoreason/agents/plugin"
OWN_TOOLS = {
    # Stands for tools that it may not load.
    "claude-code": {"DeferredToolPlaceholder"},
    "claude-code-workflow": set(),
    "gemini-cli": {"complete_task"},
}


def check(program: str, found: Any) -> None:
    """A run to its end by tokens alone; what its answerers were told, and which tools they had."""
    assert (found["status"], "DONE" in found["said"]) == ("capped", True)
    assert found["calls"] >= 6
    answerers = [each for each in found["sent"] if each["answers"]]
    agent = AGENTS[program]
    for each in answerers:
        told = "\n".join(each["told"])
        assert re.search(r"^ *Token: [a-z0-9]{14}$", told, re.MULTILINE)
        # The one who hands out tokens has the user's words; they do not reach those who answer.
        assert TASK not in told
        assert "brief" not in told
        if program in OWN_TOOLS:
            assert {*each["tools"]} - OWN_TOOLS[program] == {agent.take, agent.answer}
    # It was there to be seen.
    of_main = [each["canaries"] for each in found["sent"] if not each["answers"]]
    assert of_main[0] == ["CANARY-PROJECT", "CANARY-USER"]
    seen = {*map(tuple, (each["canaries"] for each in answerers))}
    blind = program.startswith("claude-code")
    assert seen == {() if blind else ("CANARY-PROJECT", "CANARY-USER")}
    # What a check of the host found in the same session; the script of the loop makes none.
    checked = (
        {} if program.endswith("workflow") else {"host/agent": "not seen" if blind else "seen"}
    )
    assert found["found"] == checked
    row = f"| {program.removesuffix('-workflow')} | {'no' if blind else 'yes'} |"
    assert row in (ROOT / "docs/host.md").read_text()


@cases("program", [*AGENTS])
def test_answerers_get_a_token_and_two_tools(program: str) -> None:
    check(program, json.loads((DATA / f"programs/{program}-subagents.json").read_text()))


@pytest.mark.slow
@pytest.mark.parametrize("program", AGENTS)
def test_subagents_of_the_real_program_answer_a_whole_run(program: str, tmp_path: Path) -> None:
    found = alone("tests.agents.real_agents", program, tmp_path / program)
    if os.environ.get("AUTOREASON_RECORD"):
        kept = json.dumps(found).replace(str(tmp_path / program), "/folder")
        (DATA / f"programs/{program}-subagents.json").write_text(f"{kept}\n")
    check(program, found)


@pytest.mark.slow
@cases("place", [".", "src/autoreason/agents/plugin"])
def test_claude_code_finds_no_fault_in_the_plugin(place: str, tmp_path: Path) -> None:
    command = ("node", "SCRIPT", "plugin", "validate", "--strict", str(ROOT / place))
    assert "Validation passed" in output_alone("claude-code", tmp_path, *command)
