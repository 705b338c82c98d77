"""The models we name as examples can be asked, and cost what we say."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import click
import pytest

from autoreason.cli.group import cli
from autoreason.models import examples, prices
from autoreason.models.pool import open_model
from autoreason.models.providers import PROVIDERS

ROOT = Path(__file__).parents[2]
_EXAMPLES = [each for each in (ROOT / "examples").rglob("*") if each.suffix in (".md", ".py")]
PAGES = sorted(
    [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.md")]
)
SOURCES = sorted((ROOT / "src").rglob("*.py"))

RETIRED = {
    "claude-sonnet-4-5": date(2026, 11, 30),
    "gpt-5": date(2026, 12, 11),
    "gpt-5-mini": date(2026, 12, 11),
    "gpt-4.1": date(2027, 1, 14),
}
"""Models with an announced last day that somebody might still want to name."""

_ADDRESS = re.compile(rf"(?<![\w/.])(?:{'|'.join(PROVIDERS)})/[a-z0-9][\w.:-]*")
_NAME = re.compile(r"(?<![\w/.-])(?:claude|gpt|gemini|grok|kimi|glm)-[a-z0-9][\w.-]*")


def addresses(text: str) -> set[str]:
    """Every address of a model at a provider we know."""
    return set(_ADDRESS.findall(text))


@pytest.mark.parametrize("address", examples.ALL)
def test_an_example_has_a_price_and_no_last_day(address: str) -> None:
    assert prices.rates(address) is not None
    assert address.partition("/")[2] not in RETIRED


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_no_other_models(page: Path) -> None:
    text = page.read_text("utf-8")
    assert addresses(text) <= set(examples.ALL)
    assert _NAME.findall(text) == []


def test_the_source_names_them_in_one_place() -> None:
    naming = {path.name for path in SOURCES if addresses(path.read_text("utf-8"))}
    assert naming == {"examples.py"}


def commands(group: click.Group, ctx: click.Context) -> dict[str, click.Command]:
    """All of them, also those within groups."""
    found: dict[str, click.Command] = {}
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None
        found[name] = command
        if isinstance(command, click.Group):
            found |= {f"{name} {each}": it for each, it in commands(command, ctx).items()}
    return found


def test_help_names_the_examples_and_no_other_models() -> None:
    ctx = click.Context(cli)
    shown = cli.get_help(ctx)
    for name, command in commands(cli, ctx).items():
        shown += command.get_help(click.Context(command, info_name=name))
    assert addresses(shown) == set(examples.ALL)
    assert not re.search(r"\{(model|other|cheap|local)\}", shown)


def test_an_address_that_is_none_is_answered_with_the_examples() -> None:
    with pytest.raises(Exception, match=re.escape(", ".join(examples.ALL))):
        open_model("sonnet")
