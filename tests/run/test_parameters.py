"""The typed keyword arguments of the functions people call."""

from __future__ import annotations

from typing import Any, get_type_hints

import pytest

import autoreason
from autoreason import errors
from autoreason.run import parameters
from autoreason.run.option_docs import read_options
from autoreason.run.parameters import RefineOptions, check_options
from autoreason.settings import PANEL_JUDGES, Models, Settings

BESIDES = {"draft", "facts", "contract", "prompts", *parameters.RunHooks.__annotations__}
"""What is no setting: the task, the prompts, and where a run is recorded and followed."""
DICTIONARIES = [each for name, each in vars(parameters).items() if name.endswith("Options")]


def test_the_settings_of_a_run_can_all_be_given_by_their_names_and_types() -> None:
    fields = get_type_hints(Settings)
    given = get_type_hints(RefineOptions)
    models = {f"{role}_model{'s' * (role == 'judge')}" for role in ("judge", *_writers())}
    names = set(fields) - {"models"}
    assert set(given) == names | models | BESIDES
    assert {name: given[name] for name in names} == {name: fields[name] for name in names}


def _writers() -> set[str]:
    return set(Models.__struct_fields__) - {"judges"}


@pytest.mark.parametrize("dictionary", DICTIONARIES, ids=lambda each: each.__name__)
def test_a_setting_has_the_same_type_wherever_it_can_be_given(dictionary: Any) -> None:
    fields = get_type_hints(Settings)
    different = {"strategy"} if dictionary.__name__ == "SolveOptions" else set()
    for name, kind in get_type_hints(dictionary).items():
        if name in fields and name not in different:
            assert kind == fields[name], name


@pytest.mark.parametrize("dictionary", DICTIONARIES, ids=lambda each: each.__name__)
def test_every_option_says_its_type_and_what_it_means(dictionary: Any) -> None:
    docs = read_options(dictionary)
    assert set(docs) == set(dictionary.__annotations__)
    assert [name for name, doc in docs.items() if not (doc.type and doc.text)] == []


def test_help_shows_every_option_with_its_default() -> None:
    text = " ".join((autoreason.RefineOptions.__doc__ or "").split())
    assert text.startswith("Keyword arguments of `refine` and `estimate`. Options: journal: ")
    assert "passes: int The most passes. [default: 15" in text
    assert text == " ".join((autoreason.RefineOptions.__doc__ or "").split()), "added once"


def test_options_name_the_defaults_of_their_own_function() -> None:
    refined, judged = read_options(RefineOptions), read_options(parameters.JudgeOptions)
    assert (refined["judges"].default, judged["judges"].default) == ("3", str(PANEL_JUDGES))
    assert refined["early_stop"].default == "True; paper: False"
    assert read_options(parameters.SolveOptions)["calls"].default == "6"
    assert read_options(parameters.ResumeOptions)["passes"].default == "", "that of the run"


def test_an_unknown_name_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(errors.InvalidInput, match=r"^unknown option `pases`; known are journal, "):
        check_options({"pases": 3}, RefineOptions)


def test_servers_are_not_given_next_to_a_pool() -> None:
    with pytest.raises(errors.InvalidInput, match="a pool has its own servers"):
        check_options({"pool": object(), "base_url": "http://here.example"}, RefineOptions)
