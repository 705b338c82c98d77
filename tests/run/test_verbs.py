"""The typed keyword arguments of the functions people call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, Unpack, get_args, get_origin, get_type_hints

import pytest

import autoreason
from autoreason import errors
from autoreason.run import verbs
from autoreason.run.recorded import resumed_settings
from autoreason.run.verbs import RefineOptions, check_arguments
from autoreason.settings import SETTING_DOCS, Budget, Models
from autoreason.testing import EchoModel

BESIDES = {
    *("draft", "facts", "alternatives", "contract", "criteria", "limits_from_brief", "prompts"),
    *("judge_outcomes", "knowledge", "knowledge_group", "predictor_seat"),
    *("metric", "metric_better", "metric_role"),
    *verbs.RunHooks.__annotations__,
}
"""What is not a setting: the task, the prompts, and where a run is recorded and followed."""
DICTIONARIES = [each for name, each in vars(verbs).items() if name.endswith("Options")]


def test_the_settings_of_a_run_can_all_be_given_by_their_names_and_types() -> None:
    fields = {name: doc.type for name, doc in SETTING_DOCS.items()}
    given = get_type_hints(RefineOptions)
    models = {*(f"{role}_model" for role in _writers()), "judge_models", "reviser_models"}
    # What is matched is decided by a suite.
    names = set(fields) - {"models", "matched"}
    assert set(given) == names | models | BESIDES
    names -= {"budget"}
    assert {name: given[name] for name in names} == {name: fields[name] for name in names}


def _writers() -> set[str]:
    return set(Models.__struct_fields__) - {"judges", "revisers", "hosts"}


@pytest.mark.parametrize("dictionary", DICTIONARIES, ids=lambda each: each.__name__)
def test_a_setting_has_the_same_type_wherever_it_can_be_given(dictionary: Any) -> None:
    fields = {name: doc.type for name, doc in SETTING_DOCS.items()}
    different = {"budget", *(["strategy"] if dictionary.__name__ == "SolveOptions" else [])}
    for name, kind in get_type_hints(dictionary).items():
        if name in fields and name not in different:
            assert kind == fields[name], name


def test_an_unknown_name_is_refused_with_the_one_that_was_meant_or_all_there_are() -> None:
    for name, said in (("pases", r"did you mean `passes`\?$"), ("zzz", "known are journal, ")):
        with pytest.raises(errors.InvalidInput, match=f"^unknown option `{name}`; {said}"):
            check_arguments(inspect.unwrap(autoreason.refine), {name: 3})


def test_a_budget_may_be_a_dict_and_a_judge_one_name() -> None:
    texts = {"a": "One.", "b": "Two."}
    limits = {"calls": 9, "cost": 0.5}
    prepare = autoreason.judge.prepare
    settings = prepare("Write.", texts, judge_models="echo/echo", budget=limits).settings
    assert settings.models.judges == ("echo/echo",)
    assert settings.budget == Budget(calls=9, cost=Decimal("0.5"))
    one = prepare("Write.", texts, judge_models=EchoModel())
    assert one.settings.models.judges == ("echo/echo",)
    resumed = resumed_settings(settings, {"budget": {"calls": 20}})
    assert resumed.budget == Budget(calls=20, cost=Decimal("0.5"))
    wrong: list[tuple[Any, str]] = [
        ({"call": 9}, "`budget`: unknown option `call`; did you mean `calls`"),
        ({"calls": "9"}, "`calls` must be a whole number, not text"),
    ]
    for budget, said in wrong:
        with pytest.raises(errors.InvalidInput, match=said):
            autoreason.refine.prepare("Write.", budget=budget)


def test_servers_are_not_given_next_to_a_pool_and_a_limit_is_in_the_budget() -> None:
    options = {"pool": autoreason.ModelPool(), "base_url": "http://here.example"}
    with pytest.raises(errors.InvalidInput, match="a pool has its own servers"):
        check_arguments(inspect.unwrap(autoreason.refine), options)
    with pytest.raises(errors.InvalidInput, match=r"give budget=Budget\(calls=…\)"):
        autoreason.research("task.md", "echo/echo", call_limit=3)  # type: ignore[call-arg]


FUNCTIONS = {
    name: each
    for name in autoreason.__all__
    if inspect.isfunction(each := getattr(autoreason, name))
}
PREPARING = {name: each.prepare for name, each in FUNCTIONS.items() if hasattr(each, "prepare")}
USUAL: dict[str, Any] = {
    "brief": "Write.",
    "task": "Write.",
    "texts": {"a": "One.", "b": "Two."},
    "run": "no-such-run",
    "runs": ["no-such-run"],
    "folder": "nowhere",
    "group": "spring",
    "knowledge": "nowhere",
    "results": "nowhere.csv",
    "value": 0.5,
    "problem": "nowhere.json",
    "source": "Write.",
    "suite": "nowhere.yaml",
    "text": "Tea.",
    "model": "echo/echo",
}


def _hints(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Every parameter of a function, keyword arguments among them, with its type."""
    for name, hint in get_type_hints(inspect.unwrap(function)).items():
        if get_origin(hint) is Unpack:
            yield from get_type_hints(get_args(hint)[0]).items()
        elif name != "return":
            yield name, hint


async def _call(function: Callable[..., Any], **changes: Any) -> None:
    parameters = inspect.signature(inspect.unwrap(function)).parameters
    # A number of texts, not texts, where they need not be given.
    usual = {
        name: USUAL[name]
        for name, parameter in parameters.items()
        if name in USUAL and (name != "texts" or parameter.default is parameter.empty)
    }
    found = function(**(usual | changes))
    if inspect.isawaitable(found):
        await found


@pytest.mark.parametrize("name", FUNCTIONS)
async def test_what_is_of_no_type_is_refused_with_the_name_of_its_parameter(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = FUNCTIONS[name]
    monkeypatch.setenv("AUTOREASON_JOURNAL", str(tmp_path / "journal.db"))
    for parameter, _hint in _hints(function):
        for wrong in (object(), [object()], {object(): object()}):
            with pytest.raises(errors.InvalidInput, match=rf"`[a-z ]*{parameter}\b") as raised:
                # It could not wait within the event loop of a test.
                await _call(getattr(function, "aio", function), **{parameter: wrong})
            assert "; give " in str(raised.value)
    assert not (tmp_path / "journal.db").exists()


NONSENSE: list[Any] = [
    *(None, 5, -1, 0, 1.5, float("nan"), True, "", "nonsense", "\ud800", b"nonsense"),
    *([], {}, [5], ["nonsense"], {"a": 5}, {"a": "nonsense"}, EchoModel),
    *("x\0y", "x" * 10_000, ["\ud800"], 10**400, Decimal("sNaN"), Decimal("1E+400")),
]


@pytest.mark.parametrize("name", PREPARING)
async def test_nonsense_is_understood_or_refused_by_an_error_of_ours(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUTOREASON_JOURNAL", str(tmp_path / "journal.db"))
    result = await autoreason.refine.aio("Write.", "echo/echo", passes=1)
    for parameter, _hint in _hints(PREPARING[name]):
        for wrong in NONSENSE:
            changes = {"run": result.run} if "fork" in name else {}
            with suppress(errors.AutoreasonError):
                await _call(PREPARING[name], **{**changes, parameter: wrong})


@pytest.mark.parametrize("wrong", ["x\0y", "\ud800", "x" * 10_000])
@pytest.mark.parametrize(
    ("name", "parameter"), [("replay", "journal"), ("resume", "journal"), ("export", "folder")]
)
async def test_what_can_name_no_file_is_refused(
    name: str, parameter: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOREASON_JOURNAL", str(tmp_path / "journal.db"))
    result = await autoreason.refine.aio("Write.", "echo/echo", passes=1)
    changes = {"run": result, parameter: wrong}
    with pytest.raises(errors.AutoreasonError):
        await _call(getattr(FUNCTIONS[name], "aio", FUNCTIONS[name]), **changes)


async def test_the_result_of_a_run_stands_for_the_run_in_its_journal(tmp_path: Path) -> None:
    file = tmp_path / "journal.db"
    options: Any = {"passes": 1, "judges": 3, "reviewers": 0, "confirmation": 0, "journal": file}
    result = await autoreason.refine.aio("Write.", "echo/echo", **options, budget={"calls": 2})
    result = await autoreason.resume.aio(result, budget=autoreason.Budget(calls=99))
    assert result.finished
    assert (await autoreason.replay.aio(result)).same
    assert autoreason.export(result, tmp_path / "exported")
    assert (await autoreason.fork.aio(result)).journal == file
    await autoreason.rejudge.aio(result, "echo/echo", judges=2)
    with autoreason.Journal.open(str(file), create=False) as journal:
        assert len(journal.runs()) == 3
