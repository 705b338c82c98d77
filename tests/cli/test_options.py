"""Options say and take what the fields of settings say: a default, a type or a sentence stands in one place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import click
import msgspec
import pytest
from click.testing import CliRunner
from tests.cli.inside import Inside

from autoreason import field_docs, prepare_judge
from autoreason.cli.fields import LIMITS
from autoreason.cli.group import cli
from autoreason.cli.help import FieldOption
from autoreason.contract import Contract
from autoreason.exchange import Effort
from autoreason.field_docs import Field
from autoreason.programs.solve_job import SolveTerms
from autoreason.settings import (
    PANEL_JUDGES,
    ROBUST,
    Budget,
    Models,
    Settings,
    make_settings,
)
from autoreason.studies.lab.lab_suite import SuiteMatch
from autoreason.studies.lab.made_suites import STRATEGIES

WITHOUT_OPTION = {
    *("models", "budget", "matched"),  # which have options of their own
    *(
        "rivals",
        "strict_length",
        "strict_echo",
        "early_stop",
        "balanced_orders",
        "quoted_critique",
    ),  # which make up a protocol
    *("playoff_texts", "max_inconclusive"),  # which no user has asked for
}
STRUCTS: tuple[type[msgspec.Struct], ...] = (
    Settings,
    Budget,
    Models,
    Contract,
    SuiteMatch,
    SolveTerms,
)


def described() -> Iterator[tuple[Field, msgspec.structs.FieldInfo]]:
    """Every field that an option may be for, by what the source and by what msgspec says."""
    for struct in STRUCTS:
        for info in msgspec.structs.fields(struct):
            yield Field(struct.__module__, struct.__name__, info.name), info


def options_of(name: str) -> list[FieldOption]:
    """The options of a command that are for fields."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return [each for each in command.params if isinstance(each, FieldOption)]


def shown_by(name: str, *owners: str) -> dict[str, str]:
    """What help says of each field for which a command has an option of the same name."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    context = click.Context(command)
    records = {
        each.field.name: each.get_help_record(context)
        for each in options_of(name)
        if each.field.owner in owners
    }
    return {name: " ".join(record) for name, record in records.items() if record}


def test_what_is_read_from_the_source_is_what_holds() -> None:
    for field, info in described():
        if isinstance(info.default, str | int | float | tuple | None):
            assert field.read_doc().default == info.default, field


def test_every_field_that_is_an_option_is_documented() -> None:
    for command in ("run", "compare", "judge", "rejudge", "certify", "solve", "resume", "fork"):
        for option in options_of(command):
            assert option.own_help or option.field.read_doc().description, option.field


def test_every_setting_has_an_option_or_has_none_on_purpose() -> None:
    offered = {each.field.name for each in options_of("run") if each.field.owner == "Settings"}
    assert offered | WITHOUT_OPTION == set(Settings.__struct_fields__)
    assert not offered & WITHOUT_OPTION
    contract = {each.field.name for each in options_of("run") if each.field.owner == "Contract"}
    assert contract == set(Contract.__struct_fields__)
    limits = {
        each.field.name: each.name for each in options_of("run") if each.field.owner == "Budget"
    }
    assert limits == LIMITS
    assert set(limits) == set(Budget.__struct_fields__)


def test_options_are_named_after_their_fields() -> None:
    special = {"author_effort": {"effort", "author_effort"}}
    for option in options_of("run"):
        if option.field.owner in ("Settings", "Contract"):
            assert option.name in special.get(option.field.name, {option.field.name})


def test_flags_are_true_or_false_and_lists_are_repeatable() -> None:
    types = {(field.owner, field.name): info.type for field, info in described()}
    for option in options_of("run"):
        kind = types[option.field.owner, option.field.name]
        assert option.is_flag == (kind is bool), option.name
        if option.multiple:
            assert kind == tuple[str, ...] or option.name in ("base_url", "strategy_options")


@pytest.mark.parametrize("protocol", ["robust", "paper"])
def test_help_names_the_defaults_of_a_new_run(protocol: Any) -> None:
    shown = shown_by("run", "Settings")
    settings = make_settings(Models.everywhere("echo/echo"), 1, protocol)
    for name in shown.keys() - {"protocol", "seed", "author_effort"}:
        value = getattr(settings, name)
        if not value and (value is None or not isinstance(value, int) or isinstance(value, bool)):
            assert "[default" not in shown[name]
            continue
        text = repr(">".join(value)) if isinstance(value, tuple) else str(value)
        usual = text == str(ROBUST.get(name, getattr(make_settings(settings.models, 1), name)))
        where = f"[default: {text}" if protocol == "robust" or usual else f"paper: {text}"
        assert where in shown[name], name


def test_help_names_what_the_embedded_model_gets_instead() -> None:
    embedded = make_settings(Models.everywhere("local/smollm2"), 1)
    assert f"local/smollm2: {embedded.max_tokens}]" in shown_by("run", "Settings")["max_tokens"]


def test_help_of_a_study_names_its_own_defaults() -> None:
    for command in ("judge", "rejudge"):
        assert f"[default: {PANEL_JUDGES}]" in shown_by(command, "Settings")["judges"]
    assert f"[default: {SuiteMatch().by}]" in shown_by("compare", "SuiteMatch")["by"]
    said = CliRunner().invoke(cli, ["compare", "--help"], terminal_width=200).output
    assert f"[default: {','.join(STRATEGIES)}]" in said
    assert f"[default: {PANEL_JUDGES}]" in said
    assert prepare_judge("Write.", {"a": "One.", "b": "Two."}).settings.judges == PANEL_JUDGES


def test_every_level_of_reasoning_is_named() -> None:
    (effort,) = (each for each in options_of("run") if each.name == "effort")
    assert effort.own_help is not None
    assert effort.own_help.endswith(f": {', '.join(get_args(Effort))}.")


def test_a_run_reads_no_documentation(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("documentation is read only for help")

    monkeypatch.setattr(field_docs, "_sources", refuse)
    done = inside(
        "run", "hi", "-m", "echo/echo", "--judges", "4", "--tie-order", "a>b>ab", "--dry-run"
    )
    assert done.status == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--judges", "many"), "'many' is not a valid integer"),
        (("--protocol", "strict"), "'strict' is not one of 'robust', 'paper'"),
        (("--effort", "huge"), "'huge' is not one of 'none', 'minimal'"),
        (("--cost-limit", "much"), "'much' is not a sum of money"),
        (("--time-limit", "soon"), "'soon' is no time"),
        (("--format", "rtf"), "'rtf' is not one of 'markdown', 'plain', 'json'"),
        (("--judge-temperature", "hot"), "'hot' is not a valid float"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_by_its_option(
    inside: Inside, arguments: tuple[str, str], said: str
) -> None:
    refused = inside("run", "hi", "-m", "echo/echo", *arguments)
    assert refused.status == 2
    assert arguments[0] in refused.err
    assert said in refused.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("runs -n 0", "-n is 0; give a number from 1 to 1000000"),
        ("pairs --min-agreement 1.5", "--min-agreement is 1.5; give a number from 0.0 to 1.0"),
        ("pairs --min-agreement nan", "--min-agreement is nan; give a number from 0.0 to 1.0"),
        ("simulate --runs 1", "--runs is 1; give a number from 2 to 1000000"),
        ("simulate --seed -1", "--seed is -1; give 0 or more"),
        ("simulate split --calls 41", "--calls is 41; give a number from 3 to 40"),
        ("rate serve x --port 70000", "--port is 70000; give a number from 1 to 65535"),
        ("run x -m echo/echo --judges 0", "--judges is 0; give a number from 1 to 99"),
    ],
)
def test_a_number_out_of_range_is_refused_in_one_way_by_every_command(
    inside: Inside, arguments: str, said: str
) -> None:
    refused = inside(*arguments.split())
    assert (refused.status, refused.sentence) == (2, said)
