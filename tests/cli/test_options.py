"""Options say and take what the fields of settings say: a default, a type or a sentence stands in one place."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner
from tests.cli.test_help import COMMANDS

from autoreason import judge
from autoreason.cli.__main__ import cli
from autoreason.cli.arguments import settings_of
from autoreason.settings import (
    LIMITS,
    PANEL_JUDGES,
    ROLE_MODELS,
    SETTING_DOCS,
    Budget,
    Models,
    Settings,
    SuiteMatch,
    make_settings,
)
from autoreason.studies.lab_suite import STRATEGIES


def options_of(name: str) -> dict[str, click.Option]:
    params = COMMANDS[name,].params
    return {each.name or "": each for each in params if isinstance(each, click.Option)}


def shown_by(name: str) -> dict[str, str]:
    """What help says of each setting of a command, and of each option."""
    context = click.Context(COMMANDS[name,])
    records = {option: each.get_help_record(context) for option, each in options_of(name).items()}
    shown = {option: " ".join(record) for option, record in records.items() if record}
    for each, (doc, default) in settings_of(name).items():
        shown.setdefault(each, f"{doc.sentence} [default: {default}]")
    return shown


def test_every_setting_of_a_run_is_an_option_or_can_be_set() -> None:
    offered = {*options_of("run"), *settings_of("run")}
    missing = {*SETTING_DOCS, *ROLE_MODELS} - offered
    assert missing == {"models", "budget", "matched"}
    assert offered >= {"limit", *LIMITS.values()}
    assert set(LIMITS) == set(Budget.__struct_fields__)


def test_every_option_and_every_setting_is_explained() -> None:
    for command in ("run", "compare", "judge", "certify", "solve", "resume", "fork", "research"):
        for name, shown in shown_by(command).items():
            assert len(shown.replace("[default: ]", "").split()) > 2, (command, name)


@pytest.mark.parametrize("protocol", ["robust", "paper"])
def test_help_names_the_defaults_of_a_new_run(protocol: Any) -> None:
    shown = shown_by("run")
    settings = make_settings(Models.everywhere("echo/echo"), 1, protocol)
    for name in settings_of("run").keys() & {*Settings.__struct_fields__} - {"protocol", "seed"}:
        value = getattr(settings, name)
        if value is None or value == {} or (value is False and name in options_of("run")):
            continue
        text = repr(">".join(value)) if isinstance(value, tuple) else str(value)
        usual = text == str(getattr(make_settings(settings.models, 1), name))
        text = text.lower() if isinstance(value, bool) else text
        where = f"[default: {text}" if protocol == "robust" or usual else f"paper: {text}"
        assert where in shown[name], name


def test_help_names_what_the_embedded_model_gets_instead_and_the_defaults_of_studies() -> None:
    embedded = make_settings(Models.everywhere("local/smollm2"), 1)
    assert f"local/smollm2: {embedded.max_tokens}]" in shown_by("run")["max_tokens"]
    assert f"[default: {PANEL_JUDGES}]" in shown_by("judge")["judges"]
    compared = shown_by("compare")
    assert f"[default: {PANEL_JUDGES}]" in compared["panel_judges"]
    assert f"[default: {SuiteMatch().by}]" in compared["match"]
    said = CliRunner().invoke(cli, ["compare", "--help"], terminal_width=200).output
    assert f"[default: {','.join(STRATEGIES)}]" in said
    assert judge.prepare("Write.", {"a": "One.", "b": "Two."}).settings.judges == PANEL_JUDGES
